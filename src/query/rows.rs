//! Merges the rows of several lanes in time order, for listings and exports.
//!
//! Each lane keeps the position and start of its next row, about 50 bytes. Decoded blocks are cached for a bounded
//! number of lanes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::cursor::{LaneCursor, LanePosition};
use super::decoded_blocks::{CacheSlot, DECODED_LANES_MAX, DecodedBlocks};
use super::snapshot::Snapshot;
use crate::store::block::Row;
use crate::store::{Lane, LaneIdx, LaneInfo, LaneKind, RowIdx};

/// A row with its index and kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortedRow {
    /// Its lane and its index there.
    pub index: RowIdx,
    /// Kind of the lane, which determines what the value of the row is.
    pub kind: LaneKind,
    /// Start, value, name and reference to the arguments, as stored.
    pub row: Row,
    /// Whether its end is missing from the trace.
    pub unfinished: bool,
}

/// Iterates over the rows of lanes by time, then depth, then lane: parents come before children.
pub struct SortedRows<'a> {
    snapshot: &'a Snapshot,
    lanes: Vec<NextRow>,
    /// The next row of each lane, smallest first.
    heads: BinaryHeap<Reverse<LaneHead>>,
    to_ns: Option<i64>,
    decoded: DecodedBlocks,
}

/// The position of a lane in the merge: time of its next row, depth (other rows than spans come last at their time),
/// and index in `lanes`. One number of 128 bits, which takes a single comparison.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LaneHead(u128);

impl LaneHead {
    /// Maps times to unsigned numbers in the same order.
    const SIGN: u64 = 1 << 63;

    fn new(ts_ns: i64, rank: u32, lane: u32) -> Self {
        Self(u128::from(rank) << 32 | u128::from(lane)).at(ts_ns)
    }

    /// Returns the same lane at another time.
    fn at(self, ts_ns: i64) -> Self {
        Self(u128::from(ts_ns.cast_unsigned() ^ Self::SIGN) << 64 | u128::from(self.0 as u64))
    }

    fn ts_ns(self) -> i64 {
        ((self.0 >> 64) as u64 ^ Self::SIGN).cast_signed()
    }

    fn lane(self) -> u32 {
        self.0 as u32
    }
}

/// The next row of a lane.
struct NextRow {
    index: LaneIdx,
    kind: LaneKind,
    extent: u32,
    block: u16,
    slot: u16,
    decoded: CacheSlot,
    row: u64,
}

impl<'a> SortedRows<'a> {
    /// Creates an iterator over the rows of `lanes` that start before `to_ns` and reach beyond `from_ns`; instants and
    /// counter values start at or after `from_ns`.
    ///
    /// With `to_ns` of `None`, rows at `i64::MAX` are included.
    #[must_use]
    pub fn new(
        snapshot: &'a Snapshot,
        lanes: impl IntoIterator<Item = LaneIdx>,
        from_ns: Option<i64>,
        to_ns: Option<i64>,
    ) -> Self {
        Self::with_decoded_lanes(snapshot, lanes, (from_ns, to_ns), DECODED_LANES_MAX)
    }

    /// Creates an iterator that caches blocks of at most `decoded_max` lanes.
    pub(super) fn with_decoded_lanes(
        snapshot: &'a Snapshot,
        lanes: impl IntoIterator<Item = LaneIdx>,
        (from_ns, to_ns): (Option<i64>, Option<i64>),
        decoded_max: usize,
    ) -> Self {
        let decoded = DecodedBlocks::new(decoded_max);
        let mut rows = Self { snapshot, lanes: Vec::new(), heads: BinaryHeap::new(), to_ns, decoded };
        for lane in lanes {
            rows.add(lane, from_ns.unwrap_or(i64::MIN));
        }
        rows
    }

    /// Returns the start of the next row, without reading it.
    #[must_use]
    pub(crate) fn next_start_ns(&self) -> Option<i64> {
        let next_ns = self.heads.peek()?.0.ts_ns();
        self.to_ns.is_none_or(|to_ns| next_ns < to_ns).then_some(next_ns)
    }

    /// Returns the number of cached blocks and of blocks decoded, which is the same in every run.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn decoded(&self) -> (usize, u64) {
        self.decoded.counts()
    }

    fn add(&mut self, index: LaneIdx, from_ns: i64) {
        let mut cursor = LaneCursor::new(self.snapshot.store(), index);
        let position = first_reaching(&mut cursor, from_ns);
        let Some((first_ns, _)) = cursor.times_at(position) else { return };
        let kind = cursor.lane().info().kind;
        let (extent, block, slot) = position.parts();
        let lane = u32::try_from(self.lanes.len()).unwrap_or(u32::MAX);
        self.heads.push(Reverse(LaneHead::new(first_ns, rank(cursor.lane().info()), lane)));
        self.lanes.push(NextRow {
            index,
            kind,
            extent: extent as u32,
            block: block as u16,
            slot: slot as u16,
            decoded: CacheSlot::default(),
            row: position.row,
        });
    }
}

/// Returns the position of the first row that starts at or after `from_ns` or reaches beyond it.
pub(super) fn first_reaching(cursor: &mut LaneCursor<'_>, from_ns: i64) -> LanePosition {
    let from = cursor.first_from(from_ns);
    let reaching =
        cursor.step_back(from).filter(|&before| cursor.span(before.row).is_some_and(|span| span.end_ns() > from_ns));
    reaching.unwrap_or(from)
}

/// Returns the depth of spans, and a larger number for other rows.
pub(super) fn rank(info: LaneInfo) -> u32 {
    if info.kind == LaneKind::Spans { u32::from(info.depth) } else { u32::MAX }
}

impl Iterator for SortedRows<'_> {
    type Item = SortedRow;

    fn next(&mut self) -> Option<SortedRow> {
        let mut head = self.heads.peek_mut()?;
        let Reverse(lane_head) = *head;
        if self.to_ns.is_some_and(|to_ns| lane_head.ts_ns() >= to_ns) {
            return None;
        }
        let lane_index = lane_head.lane();
        let lane = &mut self.lanes[lane_index as usize];
        let (extent, block) = (lane.extent as usize, usize::from(lane.block));
        let decode = || Some(self.snapshot.store().lane(lane.index).extent(extent)?.block(block));
        let rows = self.decoded.rows(lane_index, &mut lane.decoded, decode);
        let row = rows.get(usize::from(lane.slot)).copied().unwrap_or_default();
        let index = RowIdx { lane: lane.index, row: lane.row };
        let mut sorted = SortedRow { index, kind: lane.kind, row, unfinished: false };
        lane.slot += 1;
        lane.row += 1;
        let next_ns = if let Some(next) = rows.get(usize::from(lane.slot)) {
            Some(next.start_ns)
        } else {
            self.decoded.used_up(lane_index, lane.decoded);
            lane.next_block(self.snapshot)
        };
        if let Some(next_ns) = next_ns {
            *head = Reverse(lane_head.at(next_ns));
        } else {
            PeekMut::pop(head);
            // Only the last row of a lane may lack its end.
            sorted.unfinished = self.snapshot.store().lane(index.lane).is_unfinished(index.row);
        }
        Some(sorted)
    }
}

impl NextRow {
    /// Advances to the next block and returns its first start, or `None` at the end of the lane. Skips damaged extents.
    fn next_block(&mut self, snapshot: &Snapshot) -> Option<i64> {
        let lane = snapshot.store().lane(self.index);
        let (extent, block, first_ns) = block_from(lane, self.extent, self.block + 1)?;
        if extent != self.extent {
            self.row = lane.extents().get(extent as usize)?.first_row;
        }
        (self.extent, self.block, self.slot) = (extent, block, 0);
        Some(first_ns)
    }
}

/// Returns the extent, the index and the first start of a block, or of the next readable one if it does not exist.
/// Returns `None` at the end of the lane.
pub(super) fn block_from(lane: Lane<'_>, mut extent: u32, mut block: u16) -> Option<(u32, u16, i64)> {
    let count = lane.extents().len();
    while (extent as usize) < count {
        let directory = lane.extent(extent as usize).map_or(&[][..], |readable| readable.directory());
        if let Some(entry) = directory.get(usize::from(block)) {
            return Some((extent, block, entry.first_start_ns));
        }
        (extent, block) = (extent + 1, 0);
    }
    None
}
