//! How many events there are over time, coarsely, while a capture is still being parsed: something to see before anything is
//! sorted. Written by one thread, looked at by another; never exact to the bucket's edge, and never more than a picture.

use std::sync::{Arc, Mutex, PoisonError};

/// Buckets at most: a pixel or two each on a screen, and 4 KiB to copy for a picture.
const BUCKETS_MAX: usize = 512;

/// A shared histogram of times. Clones see the same.
#[derive(Debug, Clone, Default)]
pub struct Density(Arc<Mutex<Histogram>>);

/// Counts in neighbouring buckets of equal width.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    /// The number of the first bucket: bucket `b` covers `[b << width_log2, (b + 1) << width_log2)` nanoseconds.
    pub first: i64,
    /// The binary logarithm of the width of a bucket in nanoseconds.
    pub width_log2: u32,
    /// Events in each.
    pub counts: Vec<u64>,
}

impl Density {
    /// Counts the times of some events, in any order.
    pub fn add(&self, times_ns: impl Iterator<Item = i64>) {
        let mut histogram = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        times_ns.for_each(|ts_ns| histogram.add(ts_ns));
    }

    /// The counts now.
    #[must_use]
    pub fn histogram(&self) -> Histogram {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Histogram {
    fn add(&mut self, ts_ns: i64) {
        if self.counts.is_empty() {
            self.first = ts_ns >> self.width_log2;
        }
        loop {
            let bucket = ts_ns >> self.width_log2;
            // The end of the last bucket and differences of 64-bit numbers may need 65 bits.
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

    /// Makes the buckets twice as wide.
    fn halve(&mut self) {
        let first = self.first >> 1;
        let mut counts = Vec::with_capacity(BUCKETS_MAX);
        for (bucket, &count) in (self.first..).zip(&self.counts) {
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
    fn every_event_is_in_its_bucket_whatever_the_order_and_the_range() {
        for times in [
            vec![5i64, 1, 9, 1_000_000, -3, 7],
            vec![i64::MIN, i64::MAX, 0, -1],
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
