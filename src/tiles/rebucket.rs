//! Converts answers to another bucket width: exact for buckets twice as wide, and approximate for narrower ones, to be
//! drawn until the exact answers arrive.

use std::ops::Range;

use crate::query::{Cell, CounterCell, RowCount};

/// The cell of one bucket, or of a run of buckets.
pub(crate) trait TileCell: Copy + Send + Sync + 'static {
    /// Merges cells into buckets twice as wide, given all buckets of the narrower width in time order. The result
    /// equals a query for the wide buckets.
    fn wider(cells: impl Iterator<Item = Self>) -> Vec<Self>;

    /// Returns the replacement for the buckets `within`, which are `levels` halvings narrower; `None` if the cell
    /// covers none.
    fn narrower(&self, levels: u32, within: Range<i64>) -> Option<Self>;
}

impl TileCell for Cell {
    fn wider(cells: impl Iterator<Item = Self>) -> Vec<Self> {
        let mut wide: Vec<Self> = Vec::new();
        for cell in cells {
            let (first, last) = (cell.first_bucket >> 1, (cell.end_bucket() - 1) >> 1);
            for bucket in first..=last {
                let none = RowCount::default();
                let from_first = if bucket == first { cell.first_rows } else { none };
                let from_last = if bucket == last { cell.last_rows } else { none };
                let first_rows = from_first.plus(from_last);
                put(&mut wide, Self { first_bucket: bucket, bucket_count: 1, first_rows, last_rows: none, ..cell });
            }
        }
        wide
    }

    fn narrower(&self, levels: u32, within: Range<i64>) -> Option<Self> {
        let (first_bucket, bucket_count) = run(self.first_bucket..self.end_bucket(), levels, within)?;
        Some(Self { first_bucket, bucket_count, ..*self })
    }
}

/// Merges a narrow bucket into the wide bucket that contains it: the longer span wins, the first one on ties.
fn put(wide: &mut Vec<Cell>, cell: Cell) {
    let Some(last) = wide.last_mut() else { return wide.push(cell) };
    if last.end_bucket() <= cell.first_bucket {
        if !last.extend(&cell) {
            wide.push(cell);
        }
        return;
    }
    // The current wide bucket is the last of the previous run.
    let is_one = last.bucket_count == 1;
    let shared = if is_one { &mut last.first_rows } else { &mut last.last_rows };
    let rows = shared.plus(cell.first_rows);
    *shared = rows;
    if last.row == cell.row || last.dur_ns() >= cell.dur_ns() {
        return;
    }
    // The bucket, with the rows that start in it, moves from the previous span to this one.
    if is_one {
        wide.pop();
    } else {
        last.bucket_count -= 1;
        last.last_rows = RowCount::default();
    }
    wide.push(Cell { first_rows: rows, ..cell });
}

impl TileCell for CounterCell {
    fn wider(cells: impl Iterator<Item = Self>) -> Vec<Self> {
        let mut wide: Vec<Self> = Vec::new();
        for cell in cells {
            let (first, end) = (cell.first_bucket >> 1, ((cell.end_bucket() - 1) >> 1) + 1);
            let mut from = first;
            if let Some(last) = wide.last_mut().filter(|last| last.end_bucket() > first) {
                // The first bucket of the cell has the start of the previous cell.
                if last.bucket_count > 1 {
                    last.bucket_count -= 1;
                    let split = Self { first_bucket: first, bucket_count: 1, ..*last };
                    wide.push(split);
                }
                if let Some(shared) = wide.last_mut() {
                    shared.min = shared.min.min(cell.min);
                    shared.max = shared.max.max(cell.max);
                    shared.last = cell.last;
                    shared.sampled_ns = cell.sampled_ns.or(shared.sampled_ns);
                }
                from = first + 1;
            }
            if let Ok(bucket_count @ 1..) = u32::try_from(end - from) {
                wide.push(Self { first_bucket: from, bucket_count, ..cell });
            }
        }
        wide
    }

    fn narrower(&self, levels: u32, within: Range<i64>) -> Option<Self> {
        let (first_bucket, bucket_count) = run(self.first_bucket..self.end_bucket(), levels, within)?;
        Some(Self { first_bucket, bucket_count, ..*self })
    }
}

/// Returns the part of some buckets that is `within`, as a first bucket and a count, in buckets `levels` halvings
/// narrower.
fn run(buckets: Range<i64>, levels: u32, within: Range<i64>) -> Option<(i64, u32)> {
    // The shifts cannot overflow: both ends are near the ends of a view at the narrower width.
    let first = (buckets.start << levels).max(within.start);
    let end = (buckets.end << levels).min(within.end);
    let count = u32::try_from(end.checked_sub(first)?).ok()?;
    (count > 0).then_some((first, count))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::NameIdx;
    use crate::query::Buckets;

    /// Returns one cell per run of buckets, by a plain scan over sorted spans `(start, dur)` that do not overlap.
    fn scan(buckets: Buckets, spans: &[(i64, i64)]) -> Vec<Cell> {
        let mut cells: Vec<Cell> = Vec::new();
        for bucket in buckets.first..buckets.end() {
            let (from, to) = (buckets.start_ns(bucket), buckets.start_ns(bucket + 1));
            let touches =
                |&(start, dur): &(i64, i64)| (start < to && start + dur > from) || (from..to).contains(&start);
            let touching: Vec<usize> = (0..spans.len()).filter(|&row| touches(&spans[row])).collect();
            let Some(&row) = touching.iter().rev().max_by_key(|&&row| spans[row].1) else { continue };
            let rows = spans.iter().filter(|span| (from..to).contains(&span.0)).count() as u64;
            let cell = Cell {
                first_bucket: bucket,
                bucket_count: 1,
                row: row as u64,
                start_ns: spans[row].0,
                end_ns: spans[row].0 + spans[row].1,
                name: NameIdx(0),
                unfinished: false,
                first_rows: RowCount::from_count(rows),
                last_rows: RowCount::default(),
            };
            if !cells.last_mut().is_some_and(|last| last.extend(&cell)) {
                cells.push(cell);
            }
        }
        cells
    }

    /// A bucket, the time of its last change, and its smallest, largest and last value.
    type CounterBucket = (i64, Option<i64>, [f64; 3]);

    /// Returns the buckets of a counter with these changes, by a plain scan.
    fn scan_counter(buckets: Buckets, changes: &[(i64, i64)]) -> Vec<CounterBucket> {
        let mut values = Vec::new();
        for bucket in buckets.first..buckets.end() {
            let (from, to) = (buckets.start_ns(bucket), buckets.start_ns(bucket + 1));
            let starts_then = changes.iter().any(|change| change.0 == from);
            let before = changes.iter().rev().find(|change| change.0 < from);
            let held = before.filter(|_| !starts_then).map(|change| change.1);
            let within: Vec<_> = changes.iter().filter(|change| (from..to).contains(&change.0)).collect();
            let taken: Vec<i64> = held.into_iter().chain(within.iter().map(|change| change.1)).collect();
            if let (Some(&min), Some(&max), Some(&last)) = (taken.iter().min(), taken.iter().max(), taken.last()) {
                let changed_ns = within.last().map(|change| change.0);
                values.push((bucket, changed_ns, [min, max, last].map(|value| value as f64)));
            }
        }
        values
    }

    fn by_bucket(cells: &[CounterCell]) -> Vec<CounterBucket> {
        let buckets = |cell: &CounterCell| cell.first_bucket..cell.end_bucket();
        let of_bucket = |cell: &CounterCell, bucket| (bucket, cell.sampled_ns, [cell.min, cell.max, cell.last]);
        cells.iter().flat_map(|cell| buckets(cell).map(move |bucket| of_bucket(cell, bucket))).collect()
    }

    proptest! {
        #[test]
        fn wider_buckets_equal_a_query_for_them(
            steps in prop::collection::vec((0_i64..60, prop_oneof![0_i64..9, 0_i64..200]), 1..60),
            base in -500_i64..500,
        ) {
            let mut now_ns = base;
            let spans: Vec<(i64, i64)> = steps
                .iter()
                .map(|&(gap, dur)| {
                    let start = now_ns + gap;
                    now_ns = start + dur;
                    (start, dur)
                })
                .collect();
            let narrow = Buckets { first: -256, count: 2048, width_log2: 3 };
            let wide = Buckets { first: -128, count: 1024, width_log2: 4 };
            prop_assert_eq!(Cell::wider(scan(narrow, &spans).into_iter()), scan(wide, &spans));
        }

        #[test]
        fn wider_buckets_of_a_counter_equal_a_query_for_them(
            steps in prop::collection::vec((1_i64..200, -5_i64..5), 1..60),
        ) {
            let mut now_ns = 0;
            let changes: Vec<(i64, i64)> = steps.iter().map(|&(gap, value)| { now_ns += gap; (now_ns, value) }).collect();
            let narrow = Buckets { first: 0, count: 1024, width_log2: 4 };
            let wide = Buckets { first: 0, count: 512, width_log2: 5 };
            let mut cells: Vec<CounterCell> = Vec::new();
            for (first_bucket, sampled_ns, [min, max, last]) in scan_counter(narrow, &changes) {
                match cells.last_mut().filter(|run| sampled_ns.or(run.sampled_ns).is_none()) {
                    Some(run) => run.bucket_count += 1,
                    None => cells.push(CounterCell { first_bucket, bucket_count: 1, sampled_ns, min, max, last }),
                }
            }
            prop_assert_eq!(by_bucket(&CounterCell::wider(cells.into_iter())), scan_counter(wide, &changes));
        }

        #[test]
        fn a_narrower_answer_covers_the_same_time_and_no_more_than_is_wanted(
            first in -100_i64..100, count in 1_u32..50, levels in 0_u32..6, from in -4000_i64..4000, len in 0_i64..4000,
        ) {
            let cell = CounterCell { first_bucket: first, bucket_count: count, sampled_ns: Some(7), min: 0.0, max: 0.0, last: 0.0 };
            let covered = |bucket: i64| (first..first + i64::from(count)).contains(&(bucket >> levels));
            let expected: Vec<i64> = (from..from + len).filter(|&bucket| covered(bucket)).collect();
            let found = cell.narrower(levels, from..from + len);
            let found: Vec<i64> = found.iter().flat_map(|cell| cell.first_bucket..cell.end_bucket()).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
