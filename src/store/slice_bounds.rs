//! Divides time into slices with about equal numbers of rows, estimated from the extents of lanes without reading rows.

use super::read::Lane;

/// Maximum number of estimated row starts, used to divide the time: 4 MiB.
const MOMENTS_MAX: usize = 1 << 18;

/// Maximum number of estimated starts per extent, 512 rows each.
const EXTENT_MOMENTS_MAX: usize = 8;

/// Divides the time of lanes into slices in which some `slice_rows` rows start. Returns the first start, the start of
/// each other slice, and the last end. Rows of an extent are assumed to be spread evenly over its time.
pub(crate) fn slice_bounds<'a, L: Iterator<Item = Lane<'a>>>(lanes: impl Fn() -> L, slice_rows: u64) -> Vec<i64> {
    let extent_count: usize = lanes().map(|lane| lane.extents().len()).sum();
    let per_extent = (MOMENTS_MAX / extent_count.max(1)).clamp(1, EXTENT_MOMENTS_MAX);
    let stride = extent_count.div_ceil(MOMENTS_MAX).max(1);
    let mut moments: Vec<(i64, u64)> = Vec::with_capacity(per_extent * extent_count.div_ceil(stride));
    let mut number = 0usize;
    for lane in lanes() {
        let extents = lane.extents();
        for (index, extent) in extents.iter().enumerate() {
            number += 1;
            if !number.is_multiple_of(stride) {
                continue;
            }
            let end_ns = extents.get(index + 1).map_or(lane.info().end_ns, |next| next.first_start_ns);
            // Multiples of the golden ratio spread evenly over each extent's time, for any order of extents.
            let shift = (number as u32).wrapping_mul(0x9E37_79B9);
            for moment in 0..per_extent {
                let part = ((moment as u128) << 32) + u128::from(shift);
                let width = u128::from(end_ns.abs_diff(extent.first_start_ns));
                let offset = (width * part / ((per_extent as u128) << 32)) as u64;
                let weight = u64::from(extent.rows) * stride as u64 / per_extent as u64;
                moments.push((extent.first_start_ns.saturating_add_unsigned(offset), weight));
            }
        }
    }
    moments.sort_unstable();
    let start_ns = lanes().map(|lane| lane.info().start_ns).min().unwrap_or(0);
    let end_ns = lanes().map(|lane| lane.info().end_ns).max().unwrap_or(start_ns);
    let mut bounds_ns = vec![start_ns];
    let mut rows = 0;
    for (moment_ns, weight) in moments {
        let last_ns = bounds_ns[bounds_ns.len() - 1];
        if rows >= slice_rows && moment_ns > last_ns && moment_ns < end_ns {
            bounds_ns.push(moment_ns);
            rows = 0;
        }
        rows += weight;
    }
    bounds_ns.push(end_ns);
    bounds_ns
}
