//! The longest span, or the range of a counter, for each bucket of a view: what a frame draws.
//!
//! The slow answer for spans: for each bucket, among the spans that touch it, the longest, the first of equals. A span
//! touches a bucket if it shares time with it or starts in it. Zoomed out this is read from the lane's pyramid, nearer
//! it is asked of the forest, and where a bucket has but a few rows these are passed over in order; all three give the
//! same answer. Work is bounded by the buckets, whatever the lane holds.

mod forest;
mod in_order;

use super::buckets::{Buckets, Cell, CounterCell, RowCount};
use super::cursor::{LaneCursor, LanePosition, ReadCount};
use super::snapshot::Snapshot;
use crate::store::overview::OverviewBucket;
use crate::store::{LaneIdx, Span};

/// Up to this many rows a bucket, a pass over them is faster than a question a bucket: `benches/pixels` shows both.
const IN_ORDER_ROWS: u64 = 48;

/// Appends the longest span of each bucket, in order of time; buckets without a span have no cell, and neighbouring
/// buckets with the same answer share one. For lanes of instants: the first instant of each bucket.
///
/// Returns the work it took.
pub fn longest(snapshot: &Snapshot, lane: LaneIdx, buckets: Buckets, cells: &mut Vec<Cell>) -> ReadCount {
    let mut cursor = LaneCursor::new(snapshot.store(), lane);
    if from_overview(&mut cursor, buckets, cells) {
        return cursor.count;
    }
    let from = cursor.first_from(buckets.start_ns(buckets.first));
    let to = first_in(&mut cursor, buckets, buckets.end());
    if to.row - from.row <= IN_ORDER_ROWS * u64::from(buckets.count) {
        in_order::longest(&mut cursor, buckets, from, cells);
    } else {
        forest::longest(&mut cursor, buckets, cells);
    }
    cursor.count
}

/// The same as [`longest`], asked of the forest even where the pyramid would do: for tests and measurements.
pub fn longest_from_forest(snapshot: &Snapshot, lane: LaneIdx, buckets: Buckets, cells: &mut Vec<Cell>) -> ReadCount {
    let mut cursor = LaneCursor::new(snapshot.store(), lane);
    forest::longest(&mut cursor, buckets, cells);
    cursor.count
}

/// The same as [`longest`], by a pass over the rows: for tests and measurements.
pub fn longest_in_order(snapshot: &Snapshot, lane: LaneIdx, buckets: Buckets, cells: &mut Vec<Cell>) -> ReadCount {
    let mut cursor = LaneCursor::new(snapshot.store(), lane);
    let from = cursor.first_from(buckets.start_ns(buckets.first));
    in_order::longest(&mut cursor, buckets, from, cells);
    cursor.count
}

/// Appends the values that a counter takes in each bucket, in order of time, from the bucket of its first value on.
/// Buckets in which no value starts share a cell with that before if nothing else differs.
///
/// Returns the work it took.
pub fn counter(snapshot: &Snapshot, lane: LaneIdx, buckets: Buckets, cells: &mut Vec<CounterCell>) -> ReadCount {
    let mut cursor = LaneCursor::new(snapshot.store(), lane);
    let mut from = cursor.first_from(buckets.start_ns(buckets.first));
    let mut held = from.row.checked_sub(1).and_then(|row| cursor.row(row)).map(|row| f64::from_bits(row.value));
    let mut bucket = buckets.first;
    while bucket < buckets.end() {
        let next = cursor.row_at(from);
        // Up to the bucket of the next value, nothing changes.
        let next_bucket = next.map_or(buckets.end(), |row| buckets.bucket_at(row.start_ns).min(buckets.end()));
        if next_bucket > bucket {
            if let Some(value) = held {
                let bucket_count = (next_bucket - bucket) as u32;
                cells.push(CounterCell { first_bucket: bucket, bucket_count, min: value, max: value, last: value });
            }
            bucket = next_bucket;
            continue;
        }
        let to = first_in(&mut cursor, buckets, bucket + 1);
        let range = cursor.min_max(from, to);
        let last =
            to.row.checked_sub(1).and_then(|row| cursor.row(row)).map_or(range.max, |row| f64::from_bits(row.value));
        let held_value = held.unwrap_or(f64::NAN);
        cells.push(CounterCell {
            first_bucket: bucket,
            bucket_count: 1,
            min: range.min.min(held_value),
            max: range.max.max(held_value),
            last,
        });
        cursor.count.queries += 1;
        held = Some(last);
        from = to;
        bucket += 1;
    }
    cursor.count
}

/// The place before the first row that starts in `bucket` or later; beyond the end of time, the end of the lane.
fn first_in(cursor: &mut LaneCursor<'_>, buckets: Buckets, bucket: i64) -> LanePosition {
    if i128::from(bucket) << buckets.width_log2 > i128::from(i64::MAX) {
        let rows = cursor.lane().rows();
        return cursor.position_of(rows);
    }
    cursor.first_from(buckets.start_ns(bucket))
}

/// Replaces `out` by how many rows start in each bucket.
pub(crate) fn starts(snapshot: &Snapshot, lane: LaneIdx, buckets: Buckets, out: &mut Vec<u64>) {
    let mut cursor = LaneCursor::new(snapshot.store(), lane);
    out.clear();
    if let Some((level, shift)) =
        cursor.lane().overview(buckets.width_log2).map(|level| (level, buckets.width_log2 - level.width_log2))
    {
        out.resize(buckets.count as usize, 0);
        for (number, found) in (level.first..).zip(level.buckets) {
            let place = usize::try_from((number >> shift) - buckets.first).ok();
            if let Some(count) = place.and_then(|place| out.get_mut(place)) {
                *count += u64::from(found.rows);
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

/// The same by a pass over the rows: most lanes of a trace with very many have few, and no search for each bucket then.
fn count_starts(cursor: &mut LaneCursor<'_>, buckets: Buckets, from: LanePosition, out: &mut Vec<u64>) {
    out.resize(buckets.count as usize, 0);
    let mut at = from;
    while let Some(block) = cursor.rows_from(at) {
        for &start_ns in block.starts {
            let place = usize::try_from(buckets.bucket_at(start_ns) - buckets.first).ok();
            let Some(count) = place.and_then(|place| out.get_mut(place)) else { return };
            *count += 1;
        }
        at = block.end;
    }
}

/// Answers from the pyramid; returns false if the lane has none that is fine enough.
fn from_overview(cursor: &mut LaneCursor<'_>, buckets: Buckets, cells: &mut Vec<Cell>) -> bool {
    let Some(level) = cursor.lane().overview(buckets.width_log2) else { return false };
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
        // Above the coarsest level, a view's bucket takes what is left of the level's.
        let bucket = number >> shift;
        let next = ((bucket + 1) << shift).min(end);
        let of_bucket = &level.buckets[(number - level.first) as usize..(next - level.first) as usize];
        let found = of_bucket.iter().copied().reduce(OverviewBucket::combine);
        if let Some(found) = found.filter(|found| !found.is_empty()) {
            let span = Span { start_ns: found.start_ns, dur_ns: found.dur_ns, name: found.name, ..Span::default() };
            let unfinished = cursor.lane().is_unfinished(found.row);
            push(cells, bucket, 1, found.row, &Span { unfinished, ..span }, RowCount::from_count(found.rows.into()));
        }
        cursor.count.queries += 1;
        number = next;
    }
    true
}

/// Adds an answer, to the last cell if that is its neighbour and has the same.
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
