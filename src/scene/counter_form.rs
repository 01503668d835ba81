//! Counters as changes or rates instead of values. A column with a sample has the net change since the previous sample.
//! A rate is this change divided by the time since then, and holds for that time. A rate needs samples on both sides.
//!
//! The changes equal the differences between the last values of consecutive buckets with a sample.

use serde::{Deserialize, Serialize};

use crate::model::TrackIdx;
use crate::query::{Buckets, CounterCell};

/// The displayed numbers of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum CounterForm {
    /// The sampled values.
    #[default]
    Value,
    /// The difference to the previous sample.
    Change,
    /// The change per second.
    Rate,
}

impl CounterForm {
    pub(crate) const ALL: [Self; 3] = [Self::Value, Self::Change, Self::Rate];

    /// Returns the form of a track, from the chosen ones.
    #[must_use]
    pub(crate) fn of(track: TrackIdx, chosen: &[(TrackIdx, Self)]) -> Self {
        chosen.iter().find(|(known, _)| *known == track).map(|(_, form)| *form).unwrap_or_default()
    }

    /// Formats a range of numbers in this form. `unit` is that of the values.
    #[must_use]
    pub(crate) fn range_text(self, [least, most]: [String; 2], unit: &str) -> String {
        let space = if unit.is_empty() { "" } else { " " };
        match self {
            Self::Value => format!("{least} to {most}{space}{unit}"),
            Self::Change => format!("change {least} to {most}{space}{unit}"),
            Self::Rate => format!("{least} to {most} {unit}/s"),
        }
    }

    /// Returns the cells of a counter in this form, in time order.
    #[must_use]
    pub(crate) fn cells(self, buckets: Buckets, values: &[CounterCell]) -> Vec<CounterCell> {
        if self == Self::Value {
            return values.to_vec();
        }
        let bucket_ns = 2f64.powi(buckets.width_log2.cast_signed());
        let mut cells = Vec::new();
        let mut push = |first_bucket: i64, end: i64, value: f64| {
            if let Some(bucket_count) = u32::try_from(end - first_bucket).ok().filter(|&count| count > 0) {
                cells.push(CounterCell { first_bucket, bucket_count, min: value, max: value, last: value });
            }
        };
        // The value at the end of the last bucket with a sample, and the end of that bucket.
        let mut before: Option<(f64, i64)> = None;
        for cell in values {
            // A cell of several buckets has no sample.
            if cell.bucket_count > 1 {
                if self == Self::Change && before.is_some() {
                    push(cell.first_bucket, cell.end_bucket(), 0.0);
                }
                continue;
            }
            if let Some((value, since)) = before.filter(|_| cell.last.is_finite()) {
                let change = cell.last - value;
                let first = if self == Self::Rate { since.min(cell.first_bucket) } else { cell.first_bucket };
                let passed_ns = (cell.end_bucket() - first) as f64 * bucket_ns;
                push(first, cell.end_bucket(), if self == Self::Rate { change * 1e9 / passed_ns } else { change });
            }
            before = cell.last.is_finite().then_some((cell.last, cell.end_bucket()));
        }
        cells
    }
}

/// Returns the minimum and maximum of the cells that touch `buckets`.
#[must_use]
pub(crate) fn range_in(cells: &[CounterCell], buckets: Buckets) -> Option<(f64, f64)> {
    let in_view = cells.iter().filter(|cell| cell.first_bucket < buckets.end() && cell.end_bucket() > buckets.first);
    in_view.filter(|cell| cell.min.is_finite() && cell.max.is_finite()).fold(None, |range, cell| {
        let (min, max) = range.unwrap_or((cell.min, cell.max));
        Some((min.min(cell.min), max.max(cell.max)))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Oracle: computes the cells of samples by a loop over all buckets of eight nanoseconds.
    fn values(samples: &[(i64, f64)], buckets: i64) -> Vec<CounterCell> {
        let mut cells: Vec<CounterCell> = Vec::new();
        for bucket in 0..buckets {
            let within: Vec<f64> =
                samples.iter().filter(|(ts, _)| ts >> 3 == bucket).map(|(_, value)| *value).collect();
            let held = samples.iter().rfind(|(ts, _)| *ts >> 3 < bucket).map(|(_, value)| *value);
            let all = || within.iter().copied().chain(held);
            let Some(last) = within.last().copied().or(held) else { continue };
            let (min, max) = (all().fold(f64::MAX, f64::min), all().fold(f64::MIN, f64::max));
            match cells.last_mut().filter(|_| within.is_empty()) {
                Some(run) if run.bucket_count > 1 => run.bucket_count += 1,
                // A single bucket has a sample, unlike a run of buckets.
                _ => cells.push(CounterCell { first_bucket: bucket, bucket_count: 1, min, max, last }),
            }
        }
        cells
    }

    proptest! {
        #[test]
        fn changes_and_rates_are_those_of_the_last_values_of_buckets(
            steps in proptest::collection::vec((0i64..12, -50i32..50), 1..60),
        ) {
            // A sample in each bucket, or gaps of at least three buckets: shorter gaps are not runs.
            let mut ts = 0;
            let samples: Vec<(i64, f64)> = steps.iter().map(|&(step, value)| {
                ts += if step < 9 { step % 9 } else { 40 };
                (ts, f64::from(value))
            }).collect();
            let mut cells = values(&samples, (ts >> 3) + 3);
            // The run after the last sample of a bucket, as the store gives it.
            let mut merged: Vec<CounterCell> = Vec::new();
            for cell in cells.drain(..) {
                let has_sample = samples.iter().any(|(at, _)| *at >> 3 == cell.first_bucket);
                let follows_run = merged.last().is_some_and(|run| !samples.iter().any(|(at, _)| *at >> 3 == run.first_bucket));
                match merged.last_mut() {
                    Some(run) if !has_sample && follows_run => run.bucket_count += cell.bucket_count,
                    _ => merged.push(cell),
                }
            }
            let buckets = Buckets { first: 0, count: 1000, width_log2: 3 };
            let mut ends: Vec<(i64, f64)> = Vec::new();
            for &(at, value) in &samples {
                ends.retain(|(bucket, _)| *bucket != at >> 3);
                ends.push((at >> 3, value));
            }
            let changes: Vec<(i64, f64)> = ends.windows(2).map(|pair| (pair[1].0, pair[1].1 - pair[0].1)).collect();
            let found = CounterForm::Change.cells(buckets, &merged);
            for (bucket, change) in &changes {
                let cell = found.iter().find(|cell| (cell.first_bucket..cell.end_bucket()).contains(bucket));
                prop_assert_eq!(cell.map(|cell| cell.last), Some(*change), "bucket {}", bucket);
            }
            let rates = CounterForm::Rate.cells(buckets, &merged);
            for (pair, (bucket, change)) in ends.windows(2).zip(&changes) {
                let cell = rates.iter().find(|cell| cell.end_bucket() == bucket + 1).expect("a rate");
                prop_assert_eq!((cell.first_bucket, cell.last), (pair[0].0 + 1, change * 1e9 / ((bucket - pair[0].0) as f64 * 8.0)));
            }
            prop_assert_eq!(rates.len(), changes.len());
            prop_assert_eq!(CounterForm::Value.cells(buckets, &merged), merged);
        }
    }

    #[test]
    fn values_that_are_no_numbers_have_no_change_and_neither_has_the_first() {
        let cell = |first_bucket, last| CounterCell { first_bucket, bucket_count: 1, min: last, max: last, last };
        let buckets = Buckets { first: 0, count: 9, width_log2: 0 };
        let values = [cell(0, 4.0), cell(1, 6.0), cell(2, f64::NAN), cell(3, 1.0), cell(4, -1.0)];
        let found = CounterForm::Change.cells(buckets, &values);
        assert_eq!(found.iter().map(|cell| (cell.first_bucket, cell.last)).collect::<Vec<_>>(), [(1, 2.0), (4, -2.0)]);
        assert_eq!(range_in(&found, buckets), Some((-2.0, 2.0)));
        assert_eq!(range_in(&found, Buckets { count: 2, ..buckets }), Some((2.0, 2.0)));
        assert_eq!(range_in(&[], buckets), None);
        let rates = CounterForm::Rate.cells(buckets, &values);
        assert_eq!(rates[0].last, 2e9);
    }
}
