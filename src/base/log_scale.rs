//! Buckets of a logarithmic scale of durations. Each power of two is an octave with the same number of equally wide
//! buckets. A scale is given by the binary logarithm of this number. No bucket crosses a bucket of a coarser scale, and
//! only duration 0 is in the first bucket.

/// Binary logarithm of the buckets per octave of the finest scale: a bucket is at most 1/32 as wide as its durations.
pub(crate) const FINEST_LOG2: u32 = 5;

/// Number of buckets of the finest scale, up to the longest duration.
pub(crate) const FINEST_BUCKETS: usize = bucket_of(u64::MAX, FINEST_LOG2) + 1;

/// Returns the bucket of a duration. Durations below the number of buckets per octave have a bucket each.
#[must_use]
pub(crate) const fn bucket_of(dur_ns: u64, octave_log2: u32) -> usize {
    let octave = (u64::BITS - dur_ns.leading_zeros()).saturating_sub(octave_log2 + 1);
    ((octave as usize) << octave_log2) + (dur_ns >> octave) as usize
}

/// Returns the smallest and largest duration of a bucket.
#[must_use]
pub(crate) const fn bucket_bounds(bucket: usize, octave_log2: u32) -> (u64, u64) {
    let octave = (bucket >> octave_log2).saturating_sub(1);
    let least = ((bucket - (octave << octave_log2)) as u64) << octave;
    (least, least + ((1 << octave) - 1))
}

/// Returns the bucket of a coarser scale that contains a bucket of the finest.
#[must_use]
pub(crate) const fn coarser(finest: usize, octave_log2: u32) -> usize {
    bucket_of(bucket_bounds(finest, FINEST_LOG2).0, octave_log2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_is_within_its_bucket_and_buckets_leave_no_gap() {
        for log2 in 0..=FINEST_LOG2 {
            let last = bucket_of(u64::MAX, log2);
            for bucket in 0..last {
                assert_eq!(bucket_bounds(bucket, log2).1 + 1, bucket_bounds(bucket + 1, log2).0);
                let (least, most) = bucket_bounds(bucket, log2);
                assert_eq!((bucket_of(least, log2), bucket_of(most, log2)), (bucket, bucket));
            }
            assert_eq!(bucket_bounds(last, log2).1, u64::MAX);
            assert_eq!(bucket_bounds(0, log2), (0, 0), "spans without a length are by themselves");
        }
    }

    #[test]
    fn no_bucket_is_in_two_of_a_coarser_scale() {
        for log2 in 0..=FINEST_LOG2 {
            for bucket in 0..FINEST_BUCKETS {
                let (least, most) = bucket_bounds(bucket, FINEST_LOG2);
                assert_eq!(
                    (bucket_of(least, log2), bucket_of(most, log2)),
                    (coarser(bucket, log2), coarser(bucket, log2))
                );
            }
        }
    }
}
