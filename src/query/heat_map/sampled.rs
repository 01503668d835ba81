//! Heat maps from a sample of the rows: blocks at equal distances, each weighted for all rows up to the next. Times and
//! durations are exact; counts are estimates. Used where sketches cannot answer: single tracks, filters of more than
//! names, and views shorter than a ledger slice.

use super::axis::{ColumnCursor, HeatMapAxis};
use super::{HeatMap, Scope, Snapshot, add_block};
use crate::base::cancel::{Cancel, Cancelled};
use crate::query::scan::LaneScan;
use crate::store::block::BLOCK_ROWS;
use crate::store::details::DetailReader;

/// Limit for the rows read, some milliseconds: a picture of 400 columns has 600 per column.
pub(super) const ROWS_MAX: u64 = 256 * 1024;

/// Returns the heat map of a sample of a scope's rows; `None` if reading all rows is as fast. Returns `Cancelled` if
/// cancelled.
pub(crate) fn sampled(
    snapshot: &Snapshot,
    scope: &Scope,
    axis: HeatMapAxis,
    cancel: &Cancel,
) -> Result<Option<HeatMap>, Cancelled> {
    let scope = axis.narrow(scope);
    let scans = super::scans(snapshot, &scope, cancel)?;
    let rows: u64 = scans.iter().map(|scan| scan.rows.end - scan.rows.start).sum();
    let step = rows.div_ceil(ROWS_MAX);
    if step < 2 {
        return Ok(None);
    }
    let mut map = HeatMap { estimated_by: step, ..HeatMap::empty(axis) };
    let (mut reader, mut cursor) = (DetailReader::default(), ColumnCursor::new(axis));
    // Offset in rows of the next block in the following lane.
    let (stride, mut next) = (step * BLOCK_ROWS as u64, step * BLOCK_ROWS as u64 / 2);
    for scan in &scans {
        cancel.check()?;
        let count = scan.rows.end - scan.rows.start;
        while next < count {
            let first = scan.rows.start + next;
            take_rows(&mut map, scan, first..first + BLOCK_ROWS as u64, &mut reader, &mut cursor);
            next += stride;
        }
        next -= count;
    }
    map.multiply(step);
    Ok(Some(map))
}

/// Counts some rows of a lane, up to its end.
fn take_rows(
    map: &mut HeatMap,
    scan: &LaneScan<'_>,
    rows: std::ops::Range<u64>,
    reader: &mut DetailReader,
    cursor: &mut ColumnCursor,
) {
    let part = scan.with_rows(rows.start..rows.end.min(scan.rows.end));
    let records = part.lane().extents();
    let mut extent = records.partition_point(|record| record.first_row <= rows.start).saturating_sub(1);
    while records.get(extent).is_some_and(|record| record.first_row < part.rows.end) {
        part.blocks(extent, 0, reader).for_each(|(_, hits)| add_block(map, scan, &hits, cursor));
        extent += 1;
    }
}
