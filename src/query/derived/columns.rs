//! The columns of a view of a derived track. Each costs two searches that start where the previous one ended, and some
//! nodes of each level. A run without points is one column.

use super::points::{DerivedSeries, PointSummary, ShownValue};
use super::running::PointMeaning;
use crate::query::buckets::{Buckets, CounterCell};

/// Amount of work for columns; repeats exactly for the same query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ColumnWork {
    pub(crate) probes: u64,
    pub(crate) nodes: u64,
}

/// A position between points that moves forward.
#[derive(Debug, Clone, Copy, Default)]
struct PointCursor {
    next: usize,
}

impl PointCursor {
    /// Advances to the first point after `last_ns` by galloping search.
    fn pass(&mut self, series: &DerivedSeries, last_ns: i64, work: &mut ColumnWork) -> usize {
        let points = series.points();
        let (mut low, mut step) = (self.next, 1);
        let mut is_before = |index: usize| {
            work.probes += 1;
            points.get(index).is_some_and(|point| point.ts_ns <= last_ns)
        };
        while is_before(low + step - 1) {
            (low, step) = (low + step, step * 2);
        }
        // The first later point is at one of these indices, including the last.
        let (mut start, mut end) = (low, (low + step - 1).min(points.len()));
        while start < end {
            let middle = start.midpoint(end);
            if is_before(middle) { start = middle + 1 } else { end = middle }
        }
        self.next = start;
        start
    }
}

impl DerivedSeries {
    /// Replaces `out` by the columns of a view; neighbours of equal value are merged. A column of durations exists only
    /// if a span starts in it. For counts and sums, the minimum and maximum equal the value of the column.
    ///
    /// Equivalent to [`Self::value`] of each column.
    pub(crate) fn columns(&self, buckets: Buckets, out: &mut Vec<CounterCell>) -> ColumnWork {
        out.clear();
        let mut work = ColumnWork::default();
        let mut cursor = PointCursor::default();
        if let Some(before_ns) = buckets.start_ns(buckets.first).checked_sub(1) {
            cursor.pass(self, before_ns, &mut work);
        }
        let mut bucket = buckets.first;
        while bucket < buckets.end() {
            let first = cursor.next;
            let next_ns = self.points().get(first).map(|point| point.ts_ns);
            let (start_ns, last_ns) = (buckets.start_ns(bucket), buckets.last_ns(bucket));
            let (end, run) = if next_ns.is_some_and(|next_ns| next_ns <= last_ns) {
                (cursor.pass(self, last_ns, &mut work), 1)
            } else {
                // Nothing changes up to the column of the next point.
                let end = next_ns.map_or(buckets.end(), |next_ns| buckets.bucket_at(next_ns).min(buckets.end()));
                (first, (end - bucket).max(1))
            };
            let summary = self.between((first, end), (start_ns, last_ns), &mut work);
            if let Some(PointSummary { least: min, most: max }) = summary {
                let run = u32::try_from(run).unwrap_or(u32::MAX);
                let cell =
                    CounterCell { first_bucket: bucket, bucket_count: run, sampled_ns: None, min, max, last: max };
                match out.last_mut().filter(|last| last.end_bucket() == bucket && last.min == min && last.max == max) {
                    Some(last) => last.bucket_count += run,
                    None => out.push(cell),
                }
            }
            bucket += run;
        }
        work
    }

    /// Returns the smallest and largest value in a closed time range. For durations, `None` means that no span starts
    /// in it.
    #[must_use]
    pub(crate) fn value(&self, (start_ns, last_ns): (i64, i64), work: &mut ColumnWork) -> Option<(f64, f64)> {
        let mut cursor = PointCursor::default();
        let first = start_ns.checked_sub(1).map_or(0, |before_ns| cursor.pass(self, before_ns, work));
        let end = cursor.pass(self, last_ns, work);
        let PointSummary { least, most } = self.between((first, end), (start_ns, last_ns), work)?;
        Some((least, most))
    }

    /// Returns the time of the first point at or after `ts_ns`.
    #[must_use]
    pub(super) fn first_point(&self, ts_ns: i64) -> Option<i64> {
        let next = self.points().partition_point(|point| point.ts_ns < ts_ns);
        self.points().get(next).map(|point| point.ts_ns)
    }

    fn between(
        &self,
        (first, end): (usize, usize),
        (start_ns, last_ns): (i64, i64),
        work: &mut ColumnWork,
    ) -> Option<PointSummary> {
        let value_before = |index: usize| index.checked_sub(1).map_or(0, |index| self.points()[index].value);
        // The width is 64 bits plus one.
        let width_ns = || (i128::from(last_ns) - i128::from(start_ns) + 1) as f64;
        match self.meaning {
            PointMeaning::RowsSoFar => {
                let rows = (value_before(end) - value_before(first)) as f64;
                let is_rate = self.shown == ShownValue::PerSecond;
                Some(PointSummary::from_value(if is_rate { rows * 1e9 / width_ns() } else { rows }))
            }
            PointMeaning::Open | PointMeaning::Level => {
                let summary = self.summary(first..end, &mut work.nodes);
                let starts_then = self.points().get(first).is_some_and(|point| first < end && point.ts_ns == start_ns);
                let before = match self.meaning {
                    PointMeaning::Level => f64::from_bits(value_before(first)),
                    _ => value_before(first) as f64,
                };
                let before = PointSummary::from_value(before);
                Some(if starts_then { summary } else { self.meaning.combine(before, summary) })
            }
            PointMeaning::OpenTime => {
                let open_ns = self.open_until(end, last_ns, 1) - self.open_until(first, start_ns, 0);
                Some(PointSummary::from_value(open_ns as f64 * 100.0 / width_ns()))
            }
            PointMeaning::Longest => (first < end).then(|| {
                let longest = self.summary(first..end, &mut work.nodes).most;
                PointSummary::from_value(longest)
            }),
            PointMeaning::Durations => match self.shown {
                ShownValue::Quantile(percent) => self.quantile(first..end, percent, &mut work.nodes),
                ShownValue::Plain | ShownValue::PerSecond => None,
            },
            PointMeaning::Sum => Some(self.summary(first..end, &mut work.nodes)),
        }
    }

    /// Sums the time of open spans up to `more_ns` after `ts_ns`, a time after the first `points` points.
    fn open_until(&self, points: usize, ts_ns: i64, more_ns: u64) -> u128 {
        let Some(index) = points.checked_sub(1) else { return 0 };
        let (point_ns, time_ns) = (self.points()[index].ts_ns, self.open_time_ns(index));
        // After the last point no span is open.
        let Some(next) = self.points().get(points) else { return time_ns };
        let open = (self.open_time_ns(points) - time_ns) / u128::from(next.ts_ns.abs_diff(point_ns).max(1));
        time_ns + open * (u128::from(ts_ns.abs_diff(point_ns)) + u128::from(more_ns))
    }
}
