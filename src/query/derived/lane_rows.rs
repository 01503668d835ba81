//! The candidate rows of a lane, and their blocks. Reads only extents that may have matches.

use crate::base::cancel::{Cancel, Cancelled};
use crate::query::scan::{BlockHits, LaneScan};
use crate::store::details::DetailReader;

/// A lane with the extents in which rows may match.
pub(super) struct LaneRows<'a> {
    pub(super) scan: LaneScan<'a>,
    /// The row of a span without an end, which is open up to the end of the trace.
    pub(super) open_row: Option<u64>,
    extents: Vec<u32>,
}

impl<'a> LaneRows<'a> {
    pub(super) fn new(scan: LaneScan<'a>) -> Self {
        Self::with_open_row((scan, None))
    }

    pub(super) fn with_open_row((scan, open_row): (LaneScan<'a>, Option<u64>)) -> Self {
        // A lane has fewer extents than rows, whose extents fit 32 bits.
        let extents = scan.extents().map(|extent| extent as u32).collect();
        Self { scan, open_row, extents }
    }

    /// Calls a closure with the blocks that have matches, among some rows of the lane. Returns `Cancelled` if
    /// cancelled.
    pub(super) fn blocks(
        &self,
        rows: std::ops::Range<u64>,
        reader: &mut DetailReader,
        cancel: &Cancel,
        mut take: impl FnMut(&BlockHits<'_>),
    ) -> Result<(), Cancelled> {
        let records = self.scan.lane().extents();
        let before = |row: u64| move |&extent: &u32| records[extent as usize].first_row < row;
        let first = self.extents.partition_point(before(rows.start.saturating_add(1))).saturating_sub(1);
        let end = self.extents.partition_point(before(rows.end));
        let scan = self.scan.with_rows(rows);
        for &extent in self.extents.get(first..end).unwrap_or(&[]) {
            cancel.check()?;
            scan.blocks(extent as usize, 0, reader).for_each(|(_, hits)| take(&hits));
        }
        Ok(())
    }
}
