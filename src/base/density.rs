//! A coarse histogram of events over time while a trace is being parsed, shown before anything is sorted. One thread
//! writes it, another reads it. It is approximate at the edges of buckets.

use std::sync::{Arc, Mutex, PoisonError};

/// Limit for the buckets: a pixel or two each on a screen, and 4 KiB to copy.
const BUCKETS_MAX: usize = 512;

/// A shared histogram of times. Clones refer to the same data.
#[derive(Debug, Clone, Default)]
pub(crate) struct Density(Arc<Mutex<Histogram>>);

/// Counts in neighbouring buckets of equal width.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Histogram {
    /// Index of the first bucket: bucket `b` covers `[b << width_log2, (b + 1) << width_log2)` nanoseconds.
    pub(crate) first: i64,
    /// Binary logarithm of the bucket width in nanoseconds.
    pub(crate) width_log2: u32,
    /// Number of events per bucket.
    pub(crate) counts: Vec<u64>,
}

impl Density {
    /// Counts the times of some events, in any order.
    pub(crate) fn add(&self, times_ns: impl Iterator<Item = i64>) {
        let mut histogram = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        times_ns.for_each(|ts_ns| histogram.add(ts_ns));
    }

    /// Returns a copy of the current counts.
    #[must_use]
    pub(crate) fn histogram(&self) -> Histogram {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Histogram {
    /// Returns the time from the first bucket to the end of the last, in nanoseconds.
    #[must_use]
    pub(crate) fn span_ns(&self) -> u64 {
        let buckets = self.counts.len() as u128;
        u64::try_from(buckets << self.width_log2).unwrap_or(u64::MAX)
    }

    /// Resamples the counts to `columns` columns of equal width.
    ///
    /// A bucket wider than a column counts in each of its columns; narrower ones are summed.
    #[must_use]
    pub(crate) fn columns(&self, columns: usize) -> Vec<u64> {
        let mut out = vec![0; columns];
        let buckets = self.counts.len();
        for (bucket, &count) in self.counts.iter().enumerate() {
            let first = bucket * columns / buckets;
            let end = ((bucket + 1) * columns / buckets).max(first + 1);
            out.iter_mut().take(end).skip(first).for_each(|column| *column += count);
        }
        out
    }

    fn add(&mut self, ts_ns: i64) {
        if self.counts.is_empty() {
            self.first = ts_ns >> self.width_log2;
        }
        loop {
            let bucket = ts_ns >> self.width_log2;
            // Ends and differences of 64-bit numbers may need 65 bits.
            let end = (i128::from(self.first) + self.counts.len() as i128).max(i128::from(bucket) + 1);
            let needed = end - i128::from(self.first.min(bucket));
            if needed <= BUCKETS_MAX as i128 {
                break;
            }
            self.halve();
        }
        let bucket = ts_ns >> self.width_log2;
        if bucket < self.first {
            let missing = usize::try_from(self.first - bucket).unwrap_or(0);
            self.counts.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = bucket;
        }
        let position = usize::try_from(bucket - self.first).unwrap_or(0);
        if position >= self.counts.len() {
            self.counts.resize(position + 1, 0);
        }
        self.counts[position] += 1;
    }

    /// Doubles the width of the buckets.
    fn halve(&mut self) {
        let first = self.first >> 1;
        let mut counts = Vec::with_capacity(BUCKETS_MAX);
        for (offset, &count) in self.counts.iter().enumerate() {
            // No bucket follows the very last one.
            let bucket = self.first + offset as i64;
            let position = usize::try_from((bucket >> 1) - first).unwrap_or(0);
            counts.resize(counts.len().max(position + 1), 0);
            counts[position] += count;
        }
        *self = Self { first, width_log2: self.width_log2 + 1, counts };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_event_is_missing_from_the_columns_whether_there_are_more_or_fewer_of_them() {
        let density = Density::default();
        density.add((0..100).chain(150..151));
        let histogram = density.histogram();
        assert_eq!(histogram.columns(7).iter().sum::<u64>(), 101);
        assert!(histogram.columns(400).iter().all(|&count| count <= 1));
        assert!(histogram.columns(400)[399] > 0, "the last bucket reaches to the last column");
        assert!(histogram.columns(0).is_empty());
        assert_eq!(Histogram::default().columns(3), [0, 0, 0]);
    }

    #[test]
    fn every_event_is_in_its_bucket_whatever_the_order_and_the_range() {
        for times in [
            vec![5i64, 1, 9, 1_000_000, -3, 7],
            vec![i64::MIN, i64::MAX, 0, -1],
            vec![i64::MAX, i64::MIN],
            vec![i64::MAX - 1, i64::MAX, 0],
            (0..5000).map(|k| 1_700_000_000_000_000_000 + (k * 7919) % 100_003).collect(),
        ] {
            let density = Density::default();
            density.add(times.iter().copied());
            let Histogram { first, width_log2, counts } = density.histogram();
            assert!(counts.len() <= BUCKETS_MAX);
            for (bucket, count) in (first..).zip(counts) {
                let expected = times.iter().filter(|&&ts_ns| ts_ns >> width_log2 == bucket).count();
                assert_eq!(count, expected as u64, "bucket {bucket} of width 2^{width_log2}");
            }
        }
    }
}
