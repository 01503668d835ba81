//! Filters rows that come from many lanes in time order. Each block is tested once, at its first row; per lane, only
//! the result of the last block is kept, in 32 bytes.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::matcher::Matcher;
use super::rows::SortedRow;
use super::scan::LaneScan;
use super::snapshot::Snapshot;
use crate::store::LaneIdx;
use crate::store::details::DetailReader;

/// Filters rows, which must be in order within each lane.
pub(crate) struct RowFilter<'a> {
    snapshot: &'a Snapshot,
    matcher: Arc<Matcher>,
    /// By lane: the rows of the last block, and a bit per matching row.
    blocks: FxHashMap<LaneIdx, (Range<u64>, u64)>,
    reader: DetailReader,
}

impl<'a> RowFilter<'a> {
    #[must_use]
    pub(crate) fn new(snapshot: &'a Snapshot, matcher: Arc<Matcher>) -> Self {
        Self { snapshot, matcher, blocks: FxHashMap::default(), reader: DetailReader::default() }
    }

    pub(crate) fn passes(&mut self, row: &SortedRow) -> bool {
        let (lane, row) = (row.index.lane, row.index.row);
        let (rows, mask) = self.blocks.entry(lane).or_insert((0..0, 0));
        if !rows.contains(&row) {
            let scan = LaneScan::from_rows(self.snapshot, &self.matcher, lane, 0..u64::MAX);
            (*rows, *mask) = scan.block_at(row, &mut self.reader).unwrap_or((row..row + 1, 0));
        }
        *mask >> (row - rows.start) & 1 != 0
    }
}
