//! The forms of a counter: its values above zero, its values on a fitted scale, changes, or rates. A column with
//! samples has the net change since the last sample before it. A rate is this change divided by the time between the
//! last samples of both columns, and holds up to the end of the column. A rate needs samples on both sides.
//!
//! The changes equal the differences between the last values of consecutive buckets with a sample.

use serde::{Deserialize, Serialize};

use crate::model::TrackIdx;
use crate::query::{Buckets, CounterCell};
use crate::scene::counters::Scale;

/// The displayed numbers of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum CounterForm {
    #[default]
    Value,
    /// The sampled values, on a scale from the least to the most in view: small changes of a large value are visible.
    Fitted,
    /// The difference to the previous sample.
    Change,
    /// The change per second.
    Rate,
}

impl CounterForm {
    pub(crate) const ALL: [Self; 4] = [Self::Value, Self::Fitted, Self::Change, Self::Rate];

    /// Returns the form of a track. `chosen` is in the order of [`Self::sort`], since a frame has many rows.
    #[must_use]
    pub(crate) fn for_track(track: TrackIdx, chosen: &[(TrackIdx, Self)]) -> Self {
        let at = chosen.binary_search_by_key(&track, |(known, _)| *known);
        at.map(|at| chosen[at].1).unwrap_or_default()
    }

    /// Sorts the chosen forms by track.
    pub(crate) fn sort(chosen: &mut Vec<(TrackIdx, Self)>) {
        chosen.sort_by_key(|(track, _)| *track);
        chosen.dedup_by_key(|(track, _)| *track);
    }

    /// Formats a range of numbers in this form. `unit` belongs to the values.
    #[must_use]
    pub(crate) fn range_text(self, [least, most]: [String; 2], unit: &str) -> String {
        let space = if unit.is_empty() { "" } else { " " };
        match self {
            Self::Value | Self::Fitted => format!("{least} to {most}{space}{unit}"),
            Self::Change => format!("change {least} to {most}{space}{unit}"),
            Self::Rate => format!("{least} to {most} {unit}/s"),
        }
    }

    /// Returns the scale of a row with numbers between `min` and `max`.
    #[must_use]
    pub(crate) fn scale(self, min: f64, max: f64) -> Scale {
        match self {
            Self::Fitted => Scale::fitted(min, max),
            Self::Value | Self::Change | Self::Rate => Scale::for_values(min, max),
        }
    }

    /// Returns the cells of a counter in this form, in time order.
    #[must_use]
    pub(crate) fn cells(self, values: &[CounterCell]) -> Vec<CounterCell> {
        if matches!(self, Self::Value | Self::Fitted) {
            return values.to_vec();
        }
        let mut cells = Vec::new();
        let mut push = |first_bucket: i64, end: i64, value: f64| {
            if let Some(bucket_count) = u32::try_from(end - first_bucket).ok().filter(|&count| count > 0) {
                let [min, max, last] = [value; 3];
                cells.push(CounterCell { first_bucket, bucket_count, sampled_ns: None, min, max, last });
            }
        };
        // The last sample, its time, and the end of its bucket.
        let mut before: Option<(f64, i64, i64)> = None;
        for cell in values {
            let Some(sampled_ns) = cell.sampled_ns else {
                if self == Self::Change && before.is_some() {
                    push(cell.first_bucket, cell.end_bucket(), 0.0);
                }
                continue;
            };
            if let Some((value, before_ns, since)) = before.filter(|_| cell.last.is_finite()) {
                let change = cell.last - value;
                if self == Self::Change {
                    push(cell.first_bucket, cell.end_bucket(), change);
                } else {
                    let passed_ns = (i128::from(sampled_ns) - i128::from(before_ns)).max(1) as f64;
                    push(since.min(cell.first_bucket), cell.end_bucket(), change * 1e9 / passed_ns);
                }
            }
            before = cell.last.is_finite().then_some((cell.last, sampled_ns, cell.end_bucket()));
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

    /// Oracle: computes the cells of samples by a loop over all buckets of eight nanoseconds. Buckets without a sample
    /// form runs of at most `longest_run`: tiles cut them, also to a single bucket.
    fn values(samples: &[(i64, f64)], buckets: i64, longest_run: u32) -> Vec<CounterCell> {
        let mut cells: Vec<CounterCell> = Vec::new();
        for bucket in 0..buckets {
            let within: Vec<(i64, f64)> = samples.iter().filter(|(ts, _)| ts >> 3 == bucket).copied().collect();
            let held = samples.iter().rfind(|(ts, _)| *ts >> 3 < bucket).map(|(_, value)| *value);
            let all = || within.iter().map(|(_, value)| *value).chain(held);
            let Some(last) = within.last().map(|(_, value)| *value).or(held) else { continue };
            let (min, max) = (all().fold(f64::MAX, f64::min), all().fold(f64::MIN, f64::max));
            let sampled_ns = within.last().map(|(ts, _)| *ts);
            match cells.last_mut() {
                Some(run) if sampled_ns.or(run.sampled_ns).is_none() && run.bucket_count < longest_run => {
                    run.bucket_count += 1;
                }
                _ => cells.push(CounterCell { first_bucket: bucket, bucket_count: 1, sampled_ns, min, max, last }),
            }
        }
        cells
    }

    proptest! {
        #[test]
        fn changes_and_rates_are_those_of_the_last_samples_of_buckets_however_runs_are_cut(
            steps in proptest::collection::vec((prop_oneof![0i64..9, 0i64..60], -50i32..50), 1..60),
            longest_run in 1u32..5,
        ) {
            let mut ts = 0;
            let samples: Vec<(i64, f64)> = steps.iter().map(|&(step, value)| {
                ts += step;
                (ts, f64::from(value))
            }).collect();
            let cells = values(&samples, (ts >> 3) + 3, longest_run);
            let mut ends: Vec<(i64, f64)> = Vec::new();
            for &(at, value) in &samples {
                ends.retain(|(before, _)| *before >> 3 != at >> 3);
                ends.push((at, value));
            }
            let found = CounterForm::Change.cells(&cells);
            let mut changes: Vec<(i64, f64)> = Vec::new();
            for cell in &found {
                changes.extend((cell.first_bucket..cell.end_bucket()).map(|bucket| (bucket, cell.last)));
            }
            let change_in = |bucket: i64| {
                let pair = ends.windows(2).find(|pair| pair[1].0 >> 3 == bucket);
                (bucket, pair.map_or(0.0, |pair| pair[1].1 - pair[0].1))
            };
            let first_bucket = (ends[0].0 >> 3) + 1;
            prop_assert_eq!(changes, (first_bucket..(ts >> 3) + 3).map(change_in).collect::<Vec<_>>());
            let rates = CounterForm::Rate.cells(&cells);
            let rates: Vec<_> = rates.iter().map(|cell| (cell.first_bucket, cell.end_bucket(), cell.last)).collect();
            let expected = ends.windows(2).map(|pair| {
                let [(from_ns, from), (to_ns, to)] = [pair[0], pair[1]];
                ((from_ns >> 3) + 1, (to_ns >> 3) + 1, (to - from) * 1e9 / (to_ns - from_ns) as f64)
            });
            prop_assert_eq!(rates, expected.collect::<Vec<_>>());
            prop_assert_eq!(&CounterForm::Fitted.cells(&cells), &cells);
            prop_assert_eq!(CounterForm::Value.cells(&cells), cells);
        }
    }

    #[test]
    fn neither_the_first_value_nor_one_that_is_not_finite_has_a_change() {
        let cell = |first_bucket, last| {
            let (min, max, sampled_ns) = (last, last, Some(first_bucket));
            CounterCell { first_bucket, bucket_count: 1, sampled_ns, min, max, last }
        };
        let buckets = Buckets { first: 0, count: 9, width_log2: 0 };
        let values = [cell(0, 4.0), cell(1, 6.0), cell(2, f64::NAN), cell(3, 1.0), cell(4, -1.0)];
        let found = CounterForm::Change.cells(&values);
        assert_eq!(found.iter().map(|cell| (cell.first_bucket, cell.last)).collect::<Vec<_>>(), [(1, 2.0), (4, -2.0)]);
        assert_eq!(range_in(&found, buckets), Some((-2.0, 2.0)));
        assert_eq!(range_in(&found, Buckets { count: 2, ..buckets }), Some((2.0, 2.0)));
        assert_eq!(range_in(&[], buckets), None);
        let rates = CounterForm::Rate.cells(&values);
        assert_eq!(rates[0].last, 2e9);
    }
}
