//! Cumulative histograms of durations in time order, on the finest logarithmic scale.

use std::io::Write;

use super::room::DerivedError;
use crate::base::cancel::Cancel;
use crate::base::log_scale::{FINEST_BUCKETS, FINEST_LOG2, bucket_of};
use crate::query::time_sort::TimedValue;

/// Points from one cumulative histogram to the next: histograms take a sixteenth of the space of the points.
pub(super) const STRIDE: usize = 16 * 1024;

/// Writes the cumulative count of each bucket at the end of each run of points. Returns the byte range. Returns an
/// error if cancelled, or if the file cannot be written.
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
