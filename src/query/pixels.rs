//! The longest span, or the range of a counter, for each bucket of a view: the input of a frame.
//!
//! Defined for spans as: for each bucket, among the spans that touch it, the longest, the first one on ties. A span
//! touches a bucket if it shares time with it or starts in it. Zoomed out, the lane's pyramid answers; closer, the
//! forest; for buckets of few rows, a scan in order. All three give the same answer. Work is bounded by the number of
//! buckets, for any number of rows.

mod forest;
mod in_order;

use super::buckets::{Buckets, Cell, CounterCell, RowCount};
use super::cursor::{LaneCursor, LanePosition, ReadCount};
use super::snapshot::Snapshot;
use crate::store::overview::OverviewBucket;
use crate::store::{LaneIdx, Span};

/// Up to this many rows per bucket, a scan is faster than a query per bucket; `benches/pixels` measures both.
const IN_ORDER_ROWS: u64 = 48;

/// Appends the longest span of each bucket, in time order. Buckets without a span have no cell; neighbouring buckets
/// with the same answer share one. For lanes of instants, appends the first instant of each bucket.
///
/// Returns the amount of work.
pub fn longest(snapshot: &Snapshot, lane: LaneIdx, buckets: Buckets, cells: &mut Vec<Cell>) -> ReadCount {
    let mut cursor = LaneCursor::new(snapshot.store(), lane);
    if from_overview(&mut cursor, buckets, cells) {
        return cursor.count;
    }
    fetch_extents(&cursor, buckets);
    let from = cursor.first_from(buckets.start_ns(buckets.first));
    let to = first_in(&mut cursor, buckets, buckets.end());
    if to.row - from.row <= IN_ORDER_ROWS * u64::from(buckets.count) {
        in_order::longest(&mut cursor, buckets, from, cells);
    } else {
        forest::longest(&mut cursor, buckets, cells);
    }
    cursor.count
}

/// Computes [`longest`] from the forest even where the pyramid would do, for tests and benchmarks.
pub fn longest_from_forest(snapshot: &Snapshot, lane: LaneIdx, buckets: Buckets, cells: &mut Vec<Cell>) -> ReadCount {
    let mut cursor = LaneCursor::new(snapshot.store(), lane);
    forest::longest(&mut cursor, buckets, cells);
    cursor.count
}

/// Computes [`longest`] by a scan of the rows, for tests and benchmarks.
pub fn longest_in_order(snapshot: &Snapshot, lane: LaneIdx, buckets: Buckets, cells: &mut Vec<Cell>) -> ReadCount {
    let mut cursor = LaneCursor::new(snapshot.store(), lane);
    let from = cursor.first_from(buckets.start_ns(buckets.first));
    in_order::longest(&mut cursor, buckets, from, cells);
    cursor.count
}

/// Appends the values that a counter takes in each bucket, in time order, from the bucket of its first value on. A
/// bucket in which no value starts shares the previous cell if nothing else differs.
///
/// Returns the amount of work.
pub fn counter(snapshot: &Snapshot, lane: LaneIdx, buckets: Buckets, cells: &mut Vec<CounterCell>) -> ReadCount {
    let mut cursor = LaneCursor::new(snapshot.store(), lane);
    fetch_extents(&cursor, buckets);
    let mut from = cursor.first_from(buckets.start_ns(buckets.first));
    let mut current_value =
        from.row.checked_sub(1).and_then(|row| cursor.row(row)).map(|row| f64::from_bits(row.value));
    let mut bucket = buckets.first;
    while bucket < buckets.end() {
        let next = cursor.row_at(from);
        // Nothing changes up to the bucket of the next value.
        let next_bucket = next.map_or(buckets.end(), |row| buckets.bucket_at(row.start_ns).min(buckets.end()));
        if next_bucket > bucket {
            if let Some(value) = current_value {
                let bucket_count = (next_bucket - bucket) as u32;
                let [min, max, last] = [value; 3];
                cells.push(CounterCell { first_bucket: bucket, bucket_count, sampled_ns: None, min, max, last });
            }
            bucket = next_bucket;
            continue;
        }
        let to = first_in(&mut cursor, buckets, bucket + 1);
        let range = cursor.min_max(from, to);
        let last_row = to.row.checked_sub(1).and_then(|row| cursor.row(row));
        let last = last_row.map_or(range.max, |row| f64::from_bits(row.value));
        // A value that starts with the bucket leaves no time in the bucket to the previous value.
        let starts_then = next.is_some_and(|row| row.start_ns == buckets.start_ns(bucket));
        let held_value = current_value.filter(|_| !starts_then).unwrap_or(f64::NAN);
        cells.push(CounterCell {
            first_bucket: bucket,
            bucket_count: 1,
            sampled_ns: last_row.map(|row| row.start_ns),
            min: range.min.min(held_value),
            max: range.max.max(held_value),
            last,
        });
        cursor.count.queries += 1;
        current_value = Some(last);
        from = to;
        bucket += 1;
    }
    cursor.count
}

/// Starts to read the extents that an answer reads. If a bucket has more than half an extent, it may read only some.
fn fetch_extents(cursor: &LaneCursor<'_>, buckets: Buckets) {
    let (start_ns, end_ns) = (buckets.start_ns(buckets.first), buckets.start_ns(buckets.end()));
    cursor.lane().fetch_extents(start_ns, end_ns, buckets.count as usize / 2);
}

/// Returns the position before the first row that starts in `bucket` or later; past the end of time, the end of the
/// lane.
fn first_in(cursor: &mut LaneCursor<'_>, buckets: Buckets, bucket: i64) -> LanePosition {
    if i128::from(bucket) << buckets.width_log2 > i128::from(i64::MAX) {
        let rows = cursor.lane().rows();
        return cursor.position_of(rows);
    }
    cursor.first_from(buckets.start_ns(bucket))
}

/// Replaces `out` by the number of rows that start in each bucket.
pub(crate) fn starts(snapshot: &Snapshot, lane: LaneIdx, buckets: Buckets, out: &mut Vec<u64>) {
    let mut cursor = LaneCursor::new(snapshot.store(), lane);
    out.clear();
    if let Some(level) = cursor.lane().overview(buckets.width_log2, buckets.first..buckets.end()) {
        let shift = buckets.width_log2 - level.width_log2;
        out.resize(buckets.count as usize, 0);
        for (number, bucket) in (level.first..).zip(level.buckets) {
            let index = usize::try_from((number >> shift) - buckets.first).ok();
            if let Some(count) = index.and_then(|index| out.get_mut(index)) {
                *count += u64::from(bucket.rows);
            }
        }
        return;
    }
    let from = cursor.first_from(buckets.start_ns(buckets.first));
    let to = first_in(&mut cursor, buckets, buckets.end());
    if to.row - from.row <= IN_ORDER_ROWS * u64::from(buckets.count) {
        count_starts(&mut cursor, buckets, from, out);
        return;
    }
    let mut row = from.row;
    out.extend((buckets.first..buckets.end()).map(|bucket| {
        let from = std::mem::replace(&mut row, first_in(&mut cursor, buckets, bucket + 1).row);
        row - from
    }));
}

/// Counts starts by a scan of the rows: in a trace with very many lanes most have few rows, where searching per bucket
/// costs more.
fn count_starts(cursor: &mut LaneCursor<'_>, buckets: Buckets, from: LanePosition, out: &mut Vec<u64>) {
    out.resize(buckets.count as usize, 0);
    let mut at = from;
    while let Some(block) = cursor.rows_from(at) {
        for &start_ns in block.starts {
            let index = usize::try_from(buckets.bucket_at(start_ns) - buckets.first).ok();
            let Some(count) = index.and_then(|index| out.get_mut(index)) else { return };
            *count += 1;
        }
        at = block.end;
    }
}

/// Answers from the pyramid. Returns false if the lane has none that is fine enough, or a damaged one.
fn from_overview(cursor: &mut LaneCursor<'_>, buckets: Buckets, cells: &mut Vec<Cell>) -> bool {
    let level = cursor.lane().overview(buckets.width_log2, buckets.first..buckets.end());
    let Some(level) = level else { return false };
    let shift = buckets.width_log2 - level.width_log2;
    let first = (buckets.first << shift).max(level.first);
    let end = i64::try_from(i128::from(buckets.end()) << shift).unwrap_or(i64::MAX);
    let end = end.min(level.first + level.buckets.len() as i64);
    if first >= end {
        return true;
    }
    let range = (first - level.first) as usize..(end - level.first) as usize;
    cursor.count.bytes += size_of_val(&level.buckets[range.clone()]) as u64;
    let mut number = first;
    while number < end {
        // Above the coarsest level, a bucket of the view merges several of the level.
        let bucket = number >> shift;
        let next = ((bucket + 1) << shift).min(end);
        let of_bucket = &level.buckets[(number - level.first) as usize..(next - level.first) as usize];
        let whole = of_bucket.iter().copied().reduce(OverviewBucket::combine);
        if let Some(whole) = whole.filter(|whole| !whole.is_empty()) {
            let span = Span { start_ns: whole.start_ns, dur_ns: whole.dur_ns, name: whole.name, ..Span::default() };
            let unfinished = cursor.lane().is_unfinished(whole.row);
            push(cells, bucket, 1, whole.row, &Span { unfinished, ..span }, RowCount::from_count(whole.rows.into()));
        }
        cursor.count.queries += 1;
        number = next;
    }
    true
}

/// Adds an answer, merged into the last cell if that is adjacent and equal.
fn push(cells: &mut Vec<Cell>, bucket: i64, bucket_count: u32, row: u64, span: &Span, rows: RowCount) {
    let cell = Cell {
        first_bucket: bucket,
        bucket_count,
        row,
        start_ns: span.start_ns,
        end_ns: span.end_ns(),
        name: span.name,
        unfinished: span.unfinished,
        first_rows: rows,
        last_rows: RowCount::default(),
    };
    if !cells.last_mut().is_some_and(|last| last.extend(&cell)) {
        cells.push(cell);
    }
}

#[cfg(test)]
mod tests;
