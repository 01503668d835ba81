//! A sketch of a distribution of durations in little memory: exact for few durations, else counted in buckets of a
//! logarithmic scale.
//!
//! An octave has 32 buckets, so a quantile from buckets has an error of at most 1/32. The sketches of parts add up to
//! the sketch of the whole, in any order.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::log_scale::{FINEST_BUCKETS, FINEST_LOG2, bucket_bounds, bucket_of};

/// Number of durations that are stored exactly: all of a rare name, where single durations matter.
const EXACT_MAX: usize = 128;

/// The distribution of some durations.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Sketch {
    /// The durations, in any order. Most of a million names have one span or two, so these need no allocation.
    Exact(SmallVec<[u64; 2]>),
    /// Counts of consecutive buckets, for more than [`EXACT_MAX`] durations.
    Counted {
        /// Index of the first bucket.
        first: usize,
        /// Number of durations per bucket.
        counts: Vec<u32>,
    },
}

/// A bar of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SketchBar {
    /// Smallest duration that counts for the bar, whether or not there is one.
    pub(crate) least_ns: u64,
    pub(crate) most_ns: u64,
    pub(crate) count: u64,
}

/// Compares durations independent of the order in which they were added.
impl PartialEq for Sketch {
    fn eq(&self, other: &Self) -> bool {
        let sorted = |values: &[u64]| {
            let mut values = values.to_vec();
            values.sort_unstable();
            values
        };
        match (self, other) {
            (Self::Exact(ours), Self::Exact(theirs)) => sorted(ours) == sorted(theirs),
            (Self::Counted { first, counts }, Self::Counted { first: others_first, counts: others }) => {
                first == others_first && counts == others
            }
            _ => false,
        }
    }
}

impl Eq for Sketch {}

impl Default for Sketch {
    fn default() -> Self {
        Self::Exact(SmallVec::new())
    }
}

impl Sketch {
    pub(crate) fn add(&mut self, dur_ns: u64) {
        match self {
            Self::Exact(values) if values.len() < EXACT_MAX => values.push(dur_ns),
            Self::Exact(_) => {
                self.count_all();
                self.add(dur_ns);
            }
            Self::Counted { first, counts } => {
                let bucket = bucket_of(dur_ns, FINEST_LOG2);
                match counts.get_mut(bucket.wrapping_sub(*first)) {
                    Some(count) => *count = count.saturating_add(1),
                    None => add_to(first, counts, bucket, 1),
                }
            }
        }
    }

    /// Returns whether it is a possible sum of durations, which decoded bytes may not be.
    #[must_use]
    pub(crate) fn is_valid(&self) -> bool {
        match self {
            Self::Exact(values) => values.len() <= EXACT_MAX,
            Self::Counted { first, counts } => first.checked_add(counts.len()).is_some_and(|end| end <= FINEST_BUCKETS),
        }
    }

    /// Adds the durations of another sketch.
    pub(crate) fn merge(&mut self, other: Self) {
        match other {
            Self::Exact(values) => values.into_iter().for_each(|value| self.add(value)),
            Self::Counted { first: others_first, counts: others } => {
                self.count_all();
                let Self::Counted { first, counts } = self else { return };
                for (bucket, count) in (others_first..).zip(others) {
                    if count > 0 {
                        add_to(first, counts, bucket, count);
                    }
                }
            }
        }
    }

    /// Returns the number of durations.
    #[must_use]
    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::Exact(values) => values.len() as u64,
            Self::Counted { counts, .. } => counts.iter().map(|&count| u64::from(count)).sum(),
        }
    }

    /// Returns the maximum relative error of a quantile; 0 if all durations are stored.
    #[must_use]
    pub(crate) fn error(&self) -> f64 {
        match self {
            Self::Exact(_) => 0.0,
            Self::Counted { .. } => 1.0 / f64::from(1u32 << FINEST_LOG2),
        }
    }

    /// Returns a quantile, for `part` of 0 to 1; `None` without durations.
    #[must_use]
    pub(crate) fn quantile(&self, part: f64) -> Option<u64> {
        match self {
            Self::Exact(values) => {
                let mut values = values.clone();
                values.sort_unstable();
                values.get(rank(values.len() as u64, part) as usize).copied()
            }
            Self::Counted { first, counts } => {
                let total: u64 = counts.iter().map(|&count| u64::from(count)).sum();
                let mut left = rank(total, part);
                for (bucket, &count) in (*first..).zip(counts) {
                    if left < u64::from(count) {
                        let (least, most) = bucket_bounds(bucket, FINEST_LOG2);
                        return Some(least + (most - least) / 2);
                    }
                    left -= u64::from(count);
                }
                None
            }
        }
    }

    /// Returns the durations as bars of a logarithmic scale, with `2^bars_per_octave_log2` bars per octave, up to 32.
    /// They reach from the first non-empty bar to the last, including empty ones.
    #[must_use]
    pub(crate) fn bars(&self, bars_per_octave_log2: u32) -> Vec<SketchBar> {
        let mut counted = self.clone();
        counted.count_all();
        let Self::Counted { first, counts } = counted else { return Vec::new() };
        let shift = FINEST_LOG2.saturating_sub(bars_per_octave_log2);
        let mut bars: Vec<SketchBar> = Vec::new();
        let mut last = None;
        for (bucket, &count) in (first..).zip(&counts) {
            let bar = bucket >> shift;
            if last != Some(bar) {
                let (least_ns, _) = bucket_bounds(bar << shift, FINEST_LOG2);
                let (_, most_ns) = bucket_bounds(((bar + 1) << shift) - 1, FINEST_LOG2);
                bars.push(SketchBar { least_ns, most_ns, count: 0 });
                last = Some(bar);
            }
            if let Some(bar) = bars.last_mut() {
                bar.count += u64::from(count);
            }
        }
        let is_empty = |bar: &SketchBar| bar.count == 0;
        let end = bars.iter().rposition(|bar| !is_empty(bar)).map_or(0, |last| last + 1);
        bars.truncate(end);
        bars.drain(..bars.iter().position(|bar| !is_empty(bar)).unwrap_or(0));
        bars
    }

    /// Calls `each` with buckets of the finest scale and their counts; a bucket may occur several times.
    pub(crate) fn each_bucket(&self, mut each: impl FnMut(usize, u64)) {
        match self {
            Self::Exact(values) => values.iter().for_each(|&value| each(bucket_of(value, FINEST_LOG2), 1)),
            Self::Counted { first, counts } => {
                let filled = (*first..).zip(counts).filter(|(_, count)| **count > 0);
                filled.for_each(|(bucket, &count)| each(bucket, count.into()));
            }
        }
    }

    /// Returns the heap memory of the sketch.
    #[cfg(test)]
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Self::Exact(values) if !values.spilled() => 0,
            Self::Exact(values) => values.capacity() * size_of::<u64>(),
            Self::Counted { counts, .. } => counts.capacity() * size_of::<u32>(),
        }
    }

    fn count_all(&mut self) {
        let Self::Exact(values) = self else { return };
        let values = std::mem::take(values);
        let (mut first, mut counts) = (0, Vec::new());
        values.into_iter().for_each(|value| add_to(&mut first, &mut counts, bucket_of(value, FINEST_LOG2), 1));
        *self = Self::Counted { first, counts };
    }
}

/// Returns the index of a quantile among `count` sorted durations, for `part` of 0 to 1.
#[must_use]
pub(crate) fn rank(count: u64, part: f64) -> u64 {
    ((count as f64 * part).ceil() as u64).clamp(1, count.max(1)) - 1
}

fn add_to(first: &mut usize, counts: &mut Vec<u32>, bucket: usize, count: u32) {
    if counts.is_empty() {
        *first = bucket;
    }
    if bucket < *first {
        counts.splice(0..0, std::iter::repeat_n(0, *first - bucket));
        *first = bucket;
    }
    let position = bucket - *first;
    if position >= counts.len() {
        counts.resize(position + 1, 0);
    }
    counts[position] = counts[position].saturating_add(count);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_sorted_durations(
            values in proptest::collection::vec((0u32..60, any::<u64>()), 0..600),
            part in 0.0f64..=1.0,
            cut in 0usize..600,
        ) {
            let values: Vec<u64> = values.into_iter().map(|(shift, value)| value >> shift).collect();
            let (left, right) = values.split_at(cut.min(values.len()));
            let sketch = |values: &[u64]| {
                let mut sketch = Sketch::default();
                values.iter().for_each(|&value| sketch.add(value));
                sketch
            };
            let mut merged = sketch(right);
            merged.merge(sketch(left));
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let rank = ((values.len() as f64 * part).ceil() as usize).max(1) - 1;
            let expected = sorted.get(rank).copied();
            let found = merged.quantile(part);
            prop_assert_eq!(found, sketch(&values).quantile(part), "the order does not matter");
            match (found, expected) {
                (Some(found), Some(expected)) if values.len() <= EXACT_MAX => prop_assert_eq!(found, expected),
                (Some(found), Some(expected)) => prop_assert!(found.abs_diff(expected) <= expected / 32),
                (found, expected) => prop_assert_eq!(found, expected),
            }
            for octave in 0..=5 {
                let bars = merged.bars(octave);
                prop_assert!(bars.windows(2).all(|pair| pair[0].most_ns + 1 == pair[1].least_ns));
                prop_assert_eq!(bars.iter().map(|bar| bar.count).sum::<u64>(), values.len() as u64);
                let width = 1 << (FINEST_LOG2 - octave);
                for bar in bars {
                    prop_assert!(bucket_of(bar.least_ns, FINEST_LOG2).is_multiple_of(width), "whole buckets");
                    prop_assert!((bucket_of(bar.most_ns, FINEST_LOG2) + 1).is_multiple_of(width), "whole buckets");
                    let within = values.iter().filter(|value| (bar.least_ns..=bar.most_ns).contains(value)).count();
                    prop_assert_eq!(bar.count, within as u64);
                }
            }
        }
    }
}
