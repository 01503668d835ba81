//! The longest span of each bucket by one scan of the rows. Used if buckets have so few rows that nearly every block
//! must be unpacked. One query per bucket would search the same blocks again and again.

use super::push;
use crate::model::NameIdx;
use crate::query::buckets::{Buckets, Cell, RowCount};
use crate::query::cursor::{LaneCursor, LanePosition};
use crate::store::{LaneKind, Span};

/// Appends the longest span of each bucket. `from` is the position before the first row that starts in the first bucket
/// or later.
pub(super) fn longest(cursor: &mut LaneCursor<'_>, buckets: Buckets, from: LanePosition, cells: &mut Vec<Cell>) {
    let is_spans = cursor.lane().info().kind == LaneKind::Spans;
    let dur_of = |value| if is_spans { value } else { 0 };
    let before = cursor.step_back(from).and_then(|position| {
        let (start_ns, value) = cursor.times_at(position)?;
        Some(ScannedRow { row: position.row, start_ns, dur_ns: dur_of(value), name: cursor.name_at(position) })
    });
    let lane = cursor.lane();
    let unfinished_row = lane.rows().checked_sub(1).filter(|&row| lane.is_unfinished(row));
    let mut pass = BucketPass {
        buckets,
        cells,
        unfinished_row,
        bucket: buckets.first,
        before,
        longest: None,
        rows: 0,
        queries: 0,
    };
    let mut at = from;
    'blocks: while let Some(block) = cursor.rows_from(at) {
        let passed = |slot: usize| ScannedRow {
            row: block.first_row + slot as u64,
            start_ns: block.starts[slot],
            dur_ns: dur_of(block.values[slot]),
            name: block.name(slot),
        };
        let mut slot = 0;
        while let Some(&start_ns) = block.starts.get(slot) {
            let bucket = buckets.bucket_at(start_ns);
            if bucket >= buckets.end() {
                break 'blocks;
            }
            let first = slot;
            let (rest, last_ns) = (&block.starts[first..], buckets.last_ns(bucket));
            let (mut longest, mut longest_value) = (first, block.values[first]);
            for (&start_ns, &value) in rest.iter().zip(&block.values[first..]) {
                if start_ns > last_ns {
                    break;
                }
                // Both are assigned together, so that the compiler emits conditional moves instead of a branch.
                (longest, longest_value) = if value > longest_value { (slot, value) } else { (longest, longest_value) };
                slot += 1;
            }
            // A row other than a span has no length, so the first row represents the bucket.
            let longest = if is_spans { longest } else { first };
            pass.push_rows(bucket, (slot - first) as u64, passed(first).row, passed(longest), passed(slot - 1));
        }
        at = block.end;
    }
    pass.finish();
    cursor.count.queries += pass.queries;
}

/// A scanned row, as far as its cell needs it.
#[derive(Clone, Copy)]
struct ScannedRow {
    row: u64,
    start_ns: i64,
    dur_ns: u64,
    name: NameIdx,
}

/// The state of a scan.
struct BucketPass<'a> {
    buckets: Buckets,
    cells: &'a mut Vec<Cell>,
    unfinished_row: Option<u64>,
    /// First bucket without a cell.
    bucket: i64,
    /// Last scanned row. Spans of a lane do not overlap, so only it may reach into later buckets.
    before: Option<ScannedRow>,
    /// The longest span that touches `bucket`, if a row starts in it.
    longest: Option<ScannedRow>,
    /// Rows that start in `bucket`.
    rows: u64,
    queries: u64,
}

impl BucketPass<'_> {
    /// Adds the next rows, all of one block, which start in `bucket`.
    fn push_rows(&mut self, bucket: i64, rows: u64, first_row: u64, longest: ScannedRow, last: ScannedRow) {
        // Across a gap of damaged rows, nothing reaches over.
        let before = self.before.filter(|before| before.row + 1 == first_row);
        if bucket > self.bucket || self.rows == 0 {
            self.close(bucket, before);
            self.longest = before.filter(|before| before.end_ns() > self.buckets.start_ns(bucket));
        }
        self.rows += rows;
        if self.longest.is_none_or(|row| longest.dur_ns > row.dur_ns) {
            self.longest = Some(longest);
        }
        self.before = Some(last);
    }

    /// Emits the cells of the buckets before `next`: the bucket in which rows start, and the buckets that `before`
    /// reaches into.
    fn close(&mut self, next: i64, before: Option<ScannedRow>) {
        if self.rows > 0
            && let Some(longest) = self.longest.take()
        {
            self.push(self.bucket, 1, longest, RowCount::from_count(self.rows));
            self.bucket += 1;
        }
        self.rows = 0;
        let reached = before.filter(|before| before.end_ns() > self.buckets.start_ns(self.bucket));
        if let Some(before) = reached
            && self.bucket < next
        {
            let covered_to = (self.buckets.bucket_at(before.end_ns() - 1) + 1).min(next);
            self.push(self.bucket, (covered_to - self.bucket) as u32, before, RowCount::default());
        }
        self.bucket = next;
    }

    fn finish(&mut self) {
        self.close(self.buckets.end(), self.before);
    }

    fn push(&mut self, bucket: i64, bucket_count: u32, answer: ScannedRow, rows: RowCount) {
        let unfinished = self.unfinished_row == Some(answer.row);
        let span =
            Span { start_ns: answer.start_ns, dur_ns: answer.dur_ns, name: answer.name, unfinished, ..Span::default() };
        push(self.cells, bucket, bucket_count, answer.row, &span, rows);
        self.queries += 1;
    }
}

impl ScannedRow {
    fn end_ns(&self) -> i64 {
        self.start_ns.saturating_add_unsigned(self.dur_ns)
    }
}
