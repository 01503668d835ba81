//! Summarises whole blocks from directories and the forest, without unpacking them. The only row known of each block is
//! its longest, which is in the directory.

use std::ops::Range;

use super::{LaneCursor, LanePosition};
use crate::base::mapped;
use crate::model::NameIdx;
use crate::query::buckets::RowCount;
use crate::store::block::BLOCK_ROWS;
use crate::store::extent::BlockEntry;
use crate::store::iforest::{self, LongestNs};
use crate::store::longest_blocks::LongestBlock;
use crate::store::{LaneKind, Span};

/// The position of a block in its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct BlockIdx {
    pub(super) extent: usize,
    pub(super) block: usize,
}

/// The longest of some rows, from the directories of their blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LongestRow {
    /// Index of the row in the lane.
    pub(crate) row: u64,
    /// Its times and name; other fields are unset.
    pub(crate) span: Span,
}

/// The longest span of a time range, as far as it is known without unpacking a block.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BlockSummary {
    /// Exact. At least two spans start in the range.
    Longest(LongestRow),
    /// Exact except for the blocks at the edges, whose rows within the range may be longer than the candidates. At
    /// least two spans start in the range.
    ButEdges {
        /// The block at the left edge.
        left: Option<BlockIdx>,
        /// The block at the right edge.
        right: Option<BlockIdx>,
        /// The longest row so far at the left edge, of whole blocks, and at the right edge.
        candidates: [Option<LongestRow>; 3],
    },
    /// Too little of the range is known.
    Nothing,
}

impl LaneCursor<'_> {
    /// Returns the row after a position from the directory, if it is the longest of its block and the block is not
    /// decoded.
    pub(super) fn summary_at(&mut self, position: LanePosition) -> Option<LongestRow> {
        let LanePosition { extent, block, slot, .. } = position;
        if self.kind != LaneKind::Spans || self.is_decoded(extent, block) {
            return None;
        }
        let entry = self.extent(extent)?.directory().get(block)?;
        if entry.longest_slot() as usize != slot {
            return None;
        }
        self.longest_of(BlockIdx { extent, block })
    }

    /// Summarises the spans that touch `[from_ns, to_ns)`: the longest, the first one on ties. `edge` caches the last
    /// block that starts before `from_ns`, and is set to the last block that starts before `to_ns`.
    ///
    /// The range has some rows of the block at the left edge, whole blocks, and some rows of the block at the right
    /// edge. The directory has the longest row of an edge block. If that row touches the range, it represents the
    /// block; if not, its duration still bounds the others. This answers nearly all zoomed-out queries at a tenth of
    /// the cost.
    pub(crate) fn summary(&mut self, edge: &mut Option<BlockIdx>, from_ns: i64, to_ns: i64) -> BlockSummary {
        let left_index = *edge;
        *edge = self.block_before(to_ns);
        let summary = edge.and_then(|right_index| self.summary_between(left_index, right_index, from_ns, to_ns));
        if let Some(BlockSummary::ButEdges { left, right, .. }) = summary {
            left.into_iter().chain(right).for_each(|index| self.prefetch(index));
        }
        summary.unwrap_or(BlockSummary::Nothing)
    }

    /// Returns `None` if too little is known, or if blocks are damaged.
    fn summary_between(
        &mut self,
        left_index: Option<BlockIdx>,
        right_index: BlockIdx,
        from_ns: i64,
        to_ns: i64,
    ) -> Option<BlockSummary> {
        let first_whole = match left_index {
            // The end of a damaged extent is unknown.
            None if self.lane.extents().first().is_some_and(|extent| extent.first_start_ns < from_ns) => return None,
            None => BlockIdx::default(),
            // Zoomed in, both edges are usually in one block.
            Some(left) if left == right_index => return None,
            Some(left) if left.block + 1 < self.extent(left.extent)?.blocks() => {
                BlockIdx { block: left.block + 1, ..left }
            }
            Some(left) => BlockIdx { extent: left.extent + 1, block: 0 },
        };
        let left = match left_index {
            Some(index) => Some(self.longest_of(index)?),
            None => None,
        };
        let right = self.longest_of(right_index)?;
        let right_first_row = self.first_row(right_index)?;
        let is_left_within = left.is_some_and(|left| left.span.start_ns >= from_ns);
        let is_left_there = left.is_some_and(|left| left.span.end_ns() > from_ns) || is_left_within;
        let is_right_there = right.span.start_ns < to_ns;
        let starts = right_first_row.saturating_sub(self.first_row(first_whole)?)
            + u64::from(is_left_within)
            + 1 // the first row of the block at the right edge
            + u64::from(is_right_there && right.row > right_first_row);
        if RowCount::from_count(starts) != RowCount::Many {
            return None;
        }
        let whole = if first_whole < right_index {
            let index = self.longest_of_blocks(first_whole, right_index)?;
            Some(self.longest_of(index)?)
        } else {
            None
        };
        let candidates = [left.filter(|_| is_left_there), whole, Some(right).filter(|_| is_right_there)];
        let longest = first_longest(candidates, |row| row.span.dur_ns);
        // Rows of the left block come first, so they win among equals.
        let may_be_left = |dur_ns| left.is_some_and(|left| !is_left_there && left.span.dur_ns >= dur_ns);
        let may_be_right = |dur_ns| !is_right_there && right.span.dur_ns > dur_ns;
        let is_open = |may_be: &dyn Fn(u64) -> bool| longest.is_none_or(|row| may_be(row.span.dur_ns));
        let is_left_open = is_open(&may_be_left) && !is_left_there;
        let is_right_open = is_open(&may_be_right) && !is_right_there;
        match longest.filter(|_| !is_left_open && !is_right_open) {
            Some(longest) => Some(BlockSummary::Longest(longest)),
            None => Some(BlockSummary::ButEdges {
                left: left_index.filter(|_| is_left_open),
                right: Some(right_index).filter(|_| is_right_open),
                candidates,
            }),
        }
    }

    /// Completes a summary by unpacking the edge blocks that may hold a longer row.
    pub(crate) fn longest_with_edges(&mut self, summary: BlockSummary, from_ns: i64, to_ns: i64) -> Option<LongestRow> {
        let (left, right, [mut first, whole, mut last]) = match summary {
            BlockSummary::Longest(longest) => return Some(longest),
            BlockSummary::ButEdges { left, right, candidates } => (left, right, candidates),
            BlockSummary::Nothing => return None,
        };
        if let Some(index) = left {
            let starts = self.decode(index.extent, index.block)?.starts();
            let slot = starts.partition_point(|&start_ns| start_ns < from_ns);
            // The previous row may reach into the range; no other can, because rows of a lane do not overlap.
            let reaching = slot.checked_sub(1).filter(|&slot| self.end_ns(index, slot) > Some(from_ns));
            first = self.longest_of_slots(index, reaching.unwrap_or(slot)..BLOCK_ROWS);
        }
        if let Some(index) = right {
            let starts = self.decode(index.extent, index.block)?.starts();
            let end = starts.partition_point(|&start_ns| start_ns < to_ns);
            last = self.longest_of_slots(index, 0..end);
        }
        first_longest([first, whole, last], |row| row.span.dur_ns)
    }

    /// Unpacks a block and returns the longest of some of its rows, the first one on ties.
    fn longest_of_slots(&mut self, index: BlockIdx, slots: Range<usize>) -> Option<LongestRow> {
        let row = self.first_row(index)? + slots.start as u64;
        let from = LanePosition { extent: index.extent, block: index.block, slot: slots.start, row };
        let (position, dur_ns) = self.longest_in_block(from, slots.end)?;
        let decoded = self.decode(index.extent, index.block)?;
        let (start_ns, name) = (decoded.starts()[position.slot], NameIdx(decoded.packed.name(position.slot)));
        Some(LongestRow { row: position.row, span: Span { start_ns, dur_ns, name, ..Span::default() } })
    }

    fn end_ns(&mut self, index: BlockIdx, slot: usize) -> Option<i64> {
        let decoded = self.decode(index.extent, index.block)?;
        Some(decoded.starts().get(slot)?.saturating_add_unsigned(*decoded.values().get(slot)?))
    }

    /// Prefetches a block that will be unpacked soon.
    pub(super) fn prefetch(&mut self, BlockIdx { extent, block }: BlockIdx) {
        if let Some(extent) = self.extent(extent) {
            mapped::prefetch(extent.packed(block));
        }
    }

    /// Returns the last block that starts before `ts_ns`; `None` if there is none, or if its extent is damaged.
    pub(crate) fn block_before(&mut self, ts_ns: i64) -> Option<BlockIdx> {
        /// Blocks tried one by one before a search: neighbouring buckets are this near.
        const NEAR_BLOCKS: usize = 4;
        let extents = self.lane.extents();
        let begins_before = |extent: usize| extents.get(extent).is_some_and(|extent| extent.first_start_ns < ts_ns);
        let mut near = self.near;
        if !begins_before(near.extent) || begins_before(near.extent + 1) {
            let after = extents.partition_point(|extent| extent.first_start_ns < ts_ns);
            near = BlockIdx { extent: after.checked_sub(1)?, block: 0 };
        }
        let directory = self.directory(near.extent)?;
        let is_before = |entry: &BlockEntry| entry.first_start_ns < ts_ns;
        if !directory.get(near.block).is_some_and(is_before) {
            near.block = 0;
        }
        let rest = &directory[near.block..];
        let close = rest.iter().take(NEAR_BLOCKS).take_while(|entry| is_before(entry)).count();
        let before = if close < NEAR_BLOCKS { close } else { rest.partition_point(is_before) };
        self.count.bytes += size_of::<BlockEntry>() as u64;
        near.block += before.checked_sub(1)?;
        self.near = near;
        Some(near)
    }

    /// Returns the block of the longest span of the whole blocks `from..to`, the first one on ties.
    pub(super) fn longest_of_blocks(&mut self, from: BlockIdx, to: BlockIdx) -> Option<BlockIdx> {
        if from.extent == to.extent {
            return self.longest_within(from.extent, from.block, to.block).map(|(index, _)| index);
        }
        let first = self.longest_within(from.extent, from.block, usize::MAX);
        let nodes = self.lane.forest::<LongestNs>();
        let whole = from.extent + 1..to.extent.min(self.lane.extents().len());
        let mut between = None;
        if !whole.is_empty() && nodes.len() >= iforest::node_count(whole.end) {
            self.count.bytes += 8 * u64::from(usize::BITS - whole.len().leading_zeros());
            let longest = iforest::range(nodes, whole.clone());
            if let Some(extent) = iforest::first_at_least(nodes, whole, longest) {
                between = self.longest_within(extent, 0, usize::MAX);
            }
        }
        let last = self.longest_within(to.extent, 0, to.block);
        first_longest([first, between, last], |&(_, dur_ns)| dur_ns).map(|(index, _)| index)
    }

    /// Returns the block of the longest span of the blocks `from..to` of an extent, the first one on ties, and its
    /// duration.
    fn longest_within(&mut self, extent: usize, from: usize, to: usize) -> Option<(BlockIdx, u64)> {
        let extent_data = self.extent(extent)?;
        let to = to.min(extent_data.blocks());
        if from >= to {
            return None;
        }
        self.count.bytes += 8 * u64::from(usize::BITS - (to - from).leading_zeros());
        let LongestBlock { block, dur_ns } = extent_data.longest().longest(from..to)?;
        Some((BlockIdx { extent, block }, dur_ns))
    }

    /// Returns the longest duration in a block.
    fn longest_ns(&mut self, BlockIdx { extent, block }: BlockIdx) -> Option<u64> {
        self.count.bytes += size_of::<LongestNs>() as u64;
        self.extent(extent)?.longest().dur_ns(block)
    }

    /// Returns the longest row of a block, from the directory.
    fn longest_of(&mut self, index: BlockIdx) -> Option<LongestRow> {
        let dur_ns = self.longest_ns(index)?;
        let entry = self.extent(index.extent)?.directory().get(index.block)?;
        self.count.bytes += size_of::<BlockEntry>() as u64;
        let row = self.first_row(index)? + u64::from(entry.longest_slot());
        let span = Span { start_ns: entry.longest_start_ns, dur_ns, name: entry.longest_name, ..Span::default() };
        Some(LongestRow { row, span })
    }

    pub(super) fn position_of_longest(&mut self, index: BlockIdx) -> Option<(LanePosition, u64)> {
        let dur_ns = self.longest_ns(index)?;
        let slot = self.extent(index.extent)?.directory().get(index.block)?.longest_slot() as usize;
        let row = self.first_row(index)? + slot as u64;
        Some((LanePosition { extent: index.extent, block: index.block, slot, row }, dur_ns))
    }

    /// Returns the index of a block's first row in the lane.
    fn first_row(&mut self, BlockIdx { extent, block }: BlockIdx) -> Option<u64> {
        let within = self.extent(extent)?.directory().get(block)?.first_row();
        Some(self.lane.extents()[extent].first_row + u64::from(within))
    }
}

/// Returns the item with the longest duration, the first one on ties.
pub(super) fn first_longest<T>(rows: [Option<T>; 3], dur_ns: impl Fn(&T) -> u64) -> Option<T> {
    rows.into_iter().flatten().reduce(|best, next| if dur_ns(&next) > dur_ns(&best) { next } else { best })
}
