//! A cache of decoded blocks for merging many lanes, one per lane, with clock (second chance) replacement.
//!
//! A trace may have a million lanes, and 2 KiB for each would be gigabytes. Busy lanes keep their block. If more lanes
//! are busy than the cache has room for, a block is decoded again for its next row.

use crate::store::block::{BLOCK_ROWS, Block, Row};

/// Lanes with a cached block: 16 MiB of rows.
pub(super) const DECODED_LANES_MAX: usize = 8192;

pub(super) struct DecodedBlocks {
    blocks: Vec<DecodedBlock>,
    max: usize,
    /// The clock hand: the next slot to consider for replacement.
    hand: usize,
    /// Number of blocks decoded so far, including replaced ones.
    count: u64,
}

struct DecodedBlock {
    /// Index of its lane in the merge.
    lane: u32,
    /// Whether it was used since the hand passed it.
    used: bool,
    rows: Vec<Row>,
}

/// The slot in the cache of a lane's block, if it is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CacheSlot(u32);

impl Default for CacheSlot {
    fn default() -> Self {
        Self(u32::MAX)
    }
}

impl DecodedBlocks {
    /// Caches blocks of at most `max` lanes.
    pub(super) fn new(max: usize) -> Self {
        Self { blocks: Vec::new(), max: max.max(1), hand: 0, count: 0 }
    }

    /// Returns the number of cached blocks and of blocks decoded, which is the same in every run.
    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, u64) {
        (self.blocks.len(), self.count)
    }

    /// Returns the rows of a lane's current block, which `block` finds if it is not cached; none if that fails.
    pub(super) fn rows<'b>(
        &mut self,
        lane: u32,
        slot: &mut CacheSlot,
        block: impl FnOnce() -> Option<Block<'b>>,
    ) -> &[Row] {
        let owns_block = self.blocks.get(slot.0 as usize).is_some_and(|block| block.lane == lane);
        if !owns_block {
            slot.0 = self.free_block() as u32;
            let block = &mut self.blocks[slot.0 as usize];
            block.lane = lane;
            block.rows.clear();
        }
        let cached = &mut self.blocks[slot.0 as usize];
        cached.used = true;
        if cached.rows.is_empty() {
            if let Some(block) = block() {
                block.decode(&mut cached.rows);
            }
            self.count += 1;
        }
        &cached.rows
    }

    /// Marks the block of a lane as used up.
    pub(super) fn used_up(&mut self, lane: u32, slot: CacheSlot) {
        if let Some(block) = self.blocks.get_mut(slot.0 as usize).filter(|block| block.lane == lane) {
            block.rows.clear();
        }
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
