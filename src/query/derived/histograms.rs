//! Sums of histograms over runs of durations in order of time, on the finest logarithmic scale. Knows no series.

use std::io::Write;

use super::entries::TimedValue;
use super::room::DerivedError;
use crate::base::cancel::Cancel;
use crate::base::log_scale::{FINEST_BUCKETS, FINEST_LOG2, bucket_of};

/// Points from one sum of histograms to the next: sums take a sixteenth of the room of the points.
pub(super) const STRIDE: usize = 16 * 1024;

/// Writes how many durations each bucket has up to the end of each run of points. Returns the bytes.
///
/// # Errors
/// If it was asked to stop, or the file cannot be written.
pub(super) fn write_histograms(
    points: &[TimedValue],
    out: &mut impl Write,
    cancel: &Cancel,
) -> Result<usize, DerivedError> {
    let mut counts = vec![0u64; FINEST_BUCKETS];
    for run in points.chunks_exact(STRIDE) {
        cancel.check()?;
        count(run, &mut counts);
        out.write_all(bytemuck::cast_slice(&counts))?;
    }
    out.flush()?;
    Ok(points.len() / STRIDE * FINEST_BUCKETS * size_of::<u64>())
}

/// Adds durations to their buckets.
pub(super) fn count(points: &[TimedValue], counts: &mut [u64]) {
    points.iter().for_each(|point| counts[bucket_of(point.value, FINEST_LOG2)] += 1);
}
