//! Merges the rows of several lanes in time order, for listings and exports.
//!
//! Each lane keeps the position and start of its next row, about 50 bytes. Decoded blocks are cached for a bounded
//! number of lanes: a trace may have a million lanes, and 2 KiB for each would be gigabytes. Busy lanes keep their
//! block. If more lanes are busy than the cache has room for, a block is decoded again for its next row.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::cursor::LaneCursor;
use super::snapshot::Snapshot;
use crate::store::block::{BLOCK_ROWS, Row};
use crate::store::{LaneIdx, LaneKind, RowIdx};

/// Lanes with a cached block: 16 MiB of rows.
const DECODED_LANES_MAX: usize = 8192;

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
    heads: BinaryHeap<Reverse<Head>>,
    to_ns: Option<i64>,
    decoded: DecodedBlocks,
}

/// Time, depth (other rows than spans come last at their time), index in `lanes`.
type Head = (i64, u32, u32);

/// The next row of a lane.
struct NextRow {
    index: LaneIdx,
    kind: LaneKind,
    extent: u32,
    block: u16,
    slot: u16,
    /// The cache slot of its block, if it is still there.
    decoded: u32,
    row: u64,
}

/// Cache of decoded blocks with clock (second chance) replacement.
struct DecodedBlocks {
    blocks: Vec<DecodedBlock>,
    max: usize,
    /// The clock hand: the next slot to consider for replacement.
    hand: usize,
    /// Number of blocks decoded so far, including replaced ones.
    count: u64,
}

struct DecodedBlock {
    /// Index in `lanes` of its lane.
    lane: u32,
    /// Whether it was used since the hand passed it.
    used: bool,
    rows: Vec<Row>,
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
        let decoded = DecodedBlocks { blocks: Vec::new(), max: decoded_max.max(1), hand: 0, count: 0 };
        let mut rows = Self { snapshot, lanes: Vec::new(), heads: BinaryHeap::new(), to_ns, decoded };
        for lane in lanes {
            rows.add(lane, from_ns.unwrap_or(i64::MIN));
        }
        rows
    }

    /// Returns the number of cached blocks and of blocks decoded, which is the same in every run.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn decoded(&self) -> (usize, u64) {
        (self.decoded.blocks.len(), self.decoded.count)
    }

    fn add(&mut self, index: LaneIdx, from_ns: i64) {
        let mut cursor = LaneCursor::new(self.snapshot.store(), index);
        let from = cursor.first_from(from_ns);
        let reaching = cursor
            .step_back(from)
            .filter(|&before| cursor.span(before.row).is_some_and(|span| span.end_ns() > from_ns));
        let position = reaching.unwrap_or(from);
        let Some((first_ns, _)) = cursor.times_at(position) else { return };
        let kind = cursor.lane().info().kind;
        let (extent, block, slot) = position.parts();
        let lane = u32::try_from(self.lanes.len()).unwrap_or(u32::MAX);
        self.heads.push(Reverse((first_ns, rank(&cursor), lane)));
        self.lanes.push(NextRow {
            index,
            kind,
            extent: extent as u32,
            block: block as u16,
            slot: slot as u16,
            decoded: u32::MAX,
            row: position.row,
        });
    }
}

/// Returns the depth of spans, and a larger number for other rows.
fn rank(cursor: &LaneCursor<'_>) -> u32 {
    let info = cursor.lane().info();
    if info.kind == LaneKind::Spans { u32::from(info.depth) } else { u32::MAX }
}

impl Iterator for SortedRows<'_> {
    type Item = SortedRow;

    fn next(&mut self) -> Option<SortedRow> {
        let mut head = self.heads.peek_mut()?;
        let Reverse((ts_ns, rank, lane_index)) = *head;
        if self.to_ns.is_some_and(|to_ns| ts_ns >= to_ns) {
            return None;
        }
        let lane = &mut self.lanes[lane_index as usize];
        let rows = self.decoded.block_of(lane_index, lane, self.snapshot);
        let row = rows.get(usize::from(lane.slot)).copied().unwrap_or_default();
        let index = RowIdx { lane: lane.index, row: lane.row };
        let unfinished = self.snapshot.store().lane(lane.index).is_unfinished(lane.row);
        let sorted = SortedRow { index, kind: lane.kind, row, unfinished };
        lane.slot += 1;
        lane.row += 1;
        let next_ns = if let Some(next) = rows.get(usize::from(lane.slot)) {
            Some(next.start_ns)
        } else {
            self.decoded.used_up(lane);
            lane.next_block(self.snapshot)
        };
        match next_ns {
            Some(next_ns) => *head = Reverse((next_ns, rank, lane_index)),
            None => drop(std::collections::binary_heap::PeekMut::pop(head)),
        }
        Some(sorted)
    }
}

impl NextRow {
    /// Advances to the next block and returns its first start, or `None` at the end of the lane. Skips damaged extents.
    fn next_block(&mut self, snapshot: &Snapshot) -> Option<i64> {
        let lane = snapshot.store().lane(self.index);
        (self.block, self.slot) = (self.block + 1, 0);
        while let Some(record) = lane.extents().get(self.extent as usize) {
            match lane.extent(self.extent as usize) {
                Some(extent) => {
                    if let Some(entry) = extent.directory().get(usize::from(self.block)) {
                        return Some(entry.first_start_ns);
                    }
                }
                None => self.row = record.first_row + u64::from(record.rows),
            }
            (self.extent, self.block) = (self.extent + 1, 0);
        }
        None
    }
}

impl DecodedBlocks {
    /// Returns the rows of a lane's current block.
    fn block_of(&mut self, lane_index: u32, lane: &mut NextRow, snapshot: &Snapshot) -> &[Row] {
        let owns_block = self.blocks.get(lane.decoded as usize).is_some_and(|block| block.lane == lane_index);
        if !owns_block {
            lane.decoded = self.free_block() as u32;
            let block = &mut self.blocks[lane.decoded as usize];
            block.lane = lane_index;
            block.rows.clear();
        }
        let block = &mut self.blocks[lane.decoded as usize];
        block.used = true;
        if block.rows.is_empty() {
            if let Some(extent) = snapshot.store().lane(lane.index).extent(lane.extent as usize) {
                extent.block(usize::from(lane.block)).decode(&mut block.rows);
            }
            self.count += 1;
        }
        &block.rows
    }

    /// Marks the block of a lane as used up.
    fn used_up(&mut self, lane: &NextRow) {
        self.blocks[lane.decoded as usize].rows.clear();
    }

    /// Returns a slot to overwrite: a new one while there is room, else the first that was not used since the hand
    /// passed it.
    fn free_block(&mut self) -> usize {
        if self.blocks.len() < self.max {
            self.blocks.push(DecodedBlock { lane: u32::MAX, used: false, rows: Vec::with_capacity(BLOCK_ROWS) });
            return self.blocks.len() - 1;
        }
        loop {
            let index = self.hand;
            self.hand = (index + 1) % self.blocks.len();
            if !std::mem::take(&mut self.blocks[index].used) {
                return index;
            }
        }
    }
}
