//! Quantiles of the durations of a run of points: exact for few points, else from logarithmic histograms with an error
//! of at most 1/32. The file has a cumulative histogram per run of points, so a column costs two of them, plus the
//! points at its edges.

use std::ops::Range;

use super::histograms::{STRIDE, count};
use super::points::{DerivedSeries, PointSummary};
use crate::base::log_scale::{FINEST_BUCKETS, FINEST_LOG2, bucket_bounds};

/// Number of durations up to which they are sorted instead.
pub(super) const EXACT_MAX: usize = 4096;

/// Returns the 1-based rank of a percentile among `count` sorted durations.
fn rank(count: usize, percent: u8) -> usize {
    // A count times 99 fits `u128`.
    (count as u128 * u128::from(percent)).div_ceil(100) as usize
}

impl DerivedSeries {
    /// Returns the percentile of the durations of some points; for many points, the bounds of its bucket. `work` counts
    /// the points and histograms read.
    ///
    /// Equivalent to sorting all durations.
    pub(super) fn quantile(&self, range: Range<usize>, percent: u8, work: &mut u64) -> Option<PointSummary> {
        let points = self.points().get(range.clone())?;
        let index = rank(points.len(), percent).checked_sub(1)?;
        if points.len() <= EXACT_MAX {
            *work += points.len() as u64;
            let mut durations: Vec<u64> = points.iter().map(|point| point.value).collect();
            return Some(PointSummary::from_value(*durations.select_nth_unstable(index).1 as f64));
        }
        let mut counts = vec![0u64; FINEST_BUCKETS];
        let (first, end) = (range.start.div_ceil(STRIDE), range.end / STRIDE);
        let until = |run: usize| {
            let at = run.checked_sub(1)? * FINEST_BUCKETS;
            self.histograms().get(at..at + FINEST_BUCKETS)
        };
        let is_covered = first < end && until(end).is_some();
        let (left, right) = if is_covered { (first * STRIDE, end * STRIDE) } else { (range.start, range.start) };
        if is_covered {
            counts.copy_from_slice(until(end)?);
            if let Some(before) = until(first) {
                counts.iter_mut().zip(before).for_each(|(count, before)| *count = count.saturating_sub(*before));
            }
            *work += 2;
        }
        for edge in [range.start..left, right..range.end] {
            *work += edge.len() as u64;
            count(&self.points()[edge], &mut counts);
        }
        let mut before = 0;
        let bucket = counts.iter().position(|&count| {
            before += count;
            before > index as u64
        })?;
        let (least, most) = bucket_bounds(bucket, FINEST_LOG2);
        Some(PointSummary { least: least as f64, most: most as f64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_the_first_that_so_many_of_a_hundred_do_not_exceed() {
        let ranks = [(0, 50), (1, 1), (1, 99), (2, 50), (3, 50), (100, 99), (101, 99)];
        let slow = |count: usize, percent: u8| {
            (1..=count).find(|&rank| rank * 100 >= count * usize::from(percent)).unwrap_or(0)
        };
        for (count, percent) in ranks {
            assert_eq!(rank(count, percent), slow(count, percent), "{count} {percent}");
        }
        assert!(rank(usize::MAX, 99) < usize::MAX);
    }
}
