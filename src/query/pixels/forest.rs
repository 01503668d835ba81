//! The longest span of each bucket by one forest query per bucket: for buckets of many rows, whose blocks mostly stay
//! packed.

use super::{first_in, push};
use crate::query::buckets::{Buckets, Cell, RowCount};
use crate::query::cursor::{BlockSummary, LaneCursor, LanePosition, LongestRow};
use crate::store::{LaneKind, Span};

/// Appends the longest span of each bucket.
pub(super) fn longest(cursor: &mut LaneCursor<'_>, buckets: Buckets, cells: &mut Vec<Cell>) {
    let is_spans = cursor.lane().info().kind == LaneKind::Spans;
    // The position before the first row of a bucket, and the span that may reach into it from before. Rows of a lane do
    // not overlap, so only the previous row can.
    let mut edge: Option<(LanePosition, Option<LongestSpan>)> = None;
    let mut ahead =
        Ahead { summaries: [BlockSummary::Nothing; Ahead::BUCKETS], first: buckets.first, end: buckets.first };
    let mut bucket = buckets.first;
    while bucket < buckets.end() {
        let start_ns = buckets.start_ns(bucket);
        if is_spans && let Some(longest) = ahead.longest(cursor, buckets, bucket) {
            let unfinished = cursor.lane().is_unfinished(longest.row);
            let span = Span { unfinished, ..longest.span };
            push(cells, bucket, 1, longest.row, &span, RowCount::Many);
            cursor.count.queries += 1;
            (bucket, edge) = (bucket + 1, None);
            continue;
        }
        let (from, before) = edge.take().unwrap_or_else(|| {
            let from = cursor.first_from(start_ns);
            (from, answer_before(cursor, from, is_spans))
        });
        let next_bucket = match cursor.times_at(from) {
            Some((start_ns, _)) => buckets.bucket_at(start_ns).min(buckets.end()),
            None => buckets.end(),
        };
        if next_bucket > bucket {
            // No span starts before `next_bucket`, so only the previous one can be there.
            if let Some(before) = before.filter(|before| before.end_ns() > start_ns) {
                let covered_to = (buckets.bucket_at(before.end_ns() - 1) + 1).min(next_bucket);
                push_answer(cursor, cells, bucket, (covered_to - bucket) as u32, before, RowCount::default());
                cursor.count.queries += 1;
            }
            (bucket, edge) = (next_bucket, Some((from, before)));
            continue;
        }
        let to = first_in(cursor, buckets, bucket + 1);
        let longest = if is_spans { cursor.longest(from, to) } else { Some((from, 0)) };
        let reaching = before.filter(|before| before.end_ns() > start_ns);
        let answer = match (longest, reaching) {
            (Some((_, dur_ns)), Some(before)) if before.dur_ns >= dur_ns => Some(before),
            (Some((position, dur_ns)), _) => {
                cursor.times_at(position).map(|(start_ns, _)| LongestSpan { position, start_ns, dur_ns })
            }
            (None, reaching) => reaching,
        };
        if let Some(answer) = answer {
            push_answer(cursor, cells, bucket, 1, answer, RowCount::from_count(to.row - from.row));
        }
        cursor.count.queries += 1;
        (bucket, edge) = (bucket + 1, Some((to, answer_before(cursor, to, is_spans))));
    }
}

/// The summaries of the next buckets, computed ahead of use: the blocks to unpack are then prefetched together instead
/// of one by one.
struct Ahead {
    summaries: [BlockSummary; Self::BUCKETS],
    /// Bucket of the first of `summaries`.
    first: i64,
    /// Bucket after the last computed one.
    end: i64,
}

impl Ahead {
    /// The prefetched blocks, 16 of half a kilobyte, take a quarter of the first-level cache.
    const BUCKETS: usize = 16;

    /// Returns the longest span of a bucket, if at least two start in it and at most its edge blocks must be unpacked.
    fn longest(&mut self, cursor: &mut LaneCursor<'_>, buckets: Buckets, bucket: i64) -> Option<LongestRow> {
        if bucket >= self.end {
            self.first = bucket;
            self.end = bucket.saturating_add(Self::BUCKETS as i64).min(buckets.end());
            let mut edge = cursor.block_before(buckets.start_ns(bucket));
            for (summary, bucket) in self.summaries.iter_mut().zip(self.first..self.end) {
                let end_ns = buckets.start_ns(bucket + 1);
                // No bucket ends after a row at `i64::MAX`.
                *summary = if end_ns < i64::MAX {
                    cursor.summary(&mut edge, buckets.start_ns(bucket), end_ns)
                } else {
                    BlockSummary::Nothing
                };
            }
        }
        let summary = self.summaries[(bucket - self.first) as usize];
        cursor.longest_with_edges(summary, buckets.start_ns(bucket), buckets.start_ns(bucket + 1))
    }
}

/// A span that may represent a bucket.
#[derive(Clone, Copy)]
struct LongestSpan {
    position: LanePosition,
    start_ns: i64,
    dur_ns: u64,
}

impl LongestSpan {
    fn end_ns(&self) -> i64 {
        self.start_ns.saturating_add_unsigned(self.dur_ns)
    }
}

fn answer_before(cursor: &mut LaneCursor<'_>, position: LanePosition, is_spans: bool) -> Option<LongestSpan> {
    let position = cursor.step_back(position)?;
    let (start_ns, value) = cursor.times_at(position)?;
    Some(LongestSpan { position, start_ns, dur_ns: if is_spans { value } else { 0 } })
}

/// Adds an answer. Reads its name only if the previous cell has another row.
fn push_answer(
    cursor: &mut LaneCursor<'_>,
    cells: &mut Vec<Cell>,
    bucket: i64,
    bucket_count: u32,
    answer: LongestSpan,
    rows: RowCount,
) {
    let row = answer.position.row;
    let last_name = cells.last().filter(|last| last.row == row).map(|last| last.name);
    let name = last_name.unwrap_or_else(|| cursor.name_at(answer.position));
    let unfinished = cursor.lane().is_unfinished(row);
    let span = Span { start_ns: answer.start_ns, dur_ns: answer.dur_ns, name, unfinished, ..Span::default() };
    push(cells, bucket, bucket_count, row, &span, rows);
}
