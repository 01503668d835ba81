//! Reads the rows of one lane and caches the last few decoded blocks. Queries of a frame are in time order, and the end
//! of one bucket is the start of the next. Counts its reads, so that tests can bound them.

mod whole_blocks;

use self::whole_blocks::first_longest;
pub(crate) use self::whole_blocks::{BlockIdx, BlockSummary, LongestRow};
use crate::model::NameIdx;
use crate::store::block::{BLOCK_ROWS, Block};
use crate::store::extent::{BlockEntry, Extent};
use crate::store::iforest::{self, Aggregate, MinMax};
use crate::store::{DetailRef, Lane, LaneIdx, LaneKind, Row, Span, Store};

/// Amount of work for an answer; repeats exactly for the same query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadCount {
    pub(crate) queries: u64,
    /// Number of blocks of rows that were decoded.
    pub blocks: u64,
    /// Bytes of the store touched: blocks, searched directories, forest nodes.
    pub(crate) bytes: u64,
}

impl ReadCount {
    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            queries: self.queries + other.queries,
            blocks: self.blocks + other.blocks,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// A position between rows: before the next row, or at the end of the lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LanePosition {
    extent: usize,
    block: usize,
    slot: usize,
    /// Index of the next row in the lane.
    pub row: u64,
}

impl LanePosition {
    /// Returns the extent, the block in it, and the row in the block.
    #[must_use]
    pub(crate) fn parts(self) -> (usize, usize, usize) {
        (self.extent, self.block, self.slot)
    }
}

/// Number of cached blocks. A bucket reads the blocks at both edges and the block of its longest span, and the next
/// bucket starts where this one ends.
const DECODED_BLOCKS: usize = 4;

/// A block with its times and values decoded.
struct Decoded<'a> {
    /// Its extent; [`NO_EXTENT`] before the first use.
    extent: usize,
    block: usize,
    packed: Block<'a>,
    /// Index of its first row in the lane.
    first_row: u64,
    /// Number of blocks in its extent.
    extent_blocks: usize,
    starts: [i64; BLOCK_ROWS],
    values: [u64; BLOCK_ROWS],
}

const NO_EXTENT: usize = usize::MAX;

impl Decoded<'_> {
    fn none() -> Self {
        Self {
            extent: NO_EXTENT,
            block: 0,
            packed: Block::new(&[], 1, 0),
            first_row: 0,
            extent_blocks: 0,
            starts: [0; BLOCK_ROWS],
            values: [0; BLOCK_ROWS],
        }
    }

    fn starts(&self) -> &[i64] {
        &self.starts[..self.packed.rows()]
    }

    fn values(&self) -> &[u64] {
        &self.values[..self.packed.rows()]
    }

    /// Returns the position before the first row that starts at or after `ts_ns`, which is in this block or right after
    /// it.
    fn position_from(&self, ts_ns: i64) -> LanePosition {
        let Self { extent, block, .. } = *self;
        let slot = self.starts().partition_point(|&start_ns| start_ns < ts_ns);
        let row = self.first_row + slot as u64;
        if slot < self.packed.rows() {
            LanePosition { extent, block, slot, row }
        } else if block + 1 < self.extent_blocks {
            LanePosition { extent, block: block + 1, slot: 0, row }
        } else {
            LanePosition { extent: extent + 1, block: 0, slot: 0, row }
        }
    }
}

/// The rest of a block from some row on.
pub(crate) struct BlockRows<'a> {
    packed: &'a Block<'a>,
    /// Slot of the first row.
    slot: usize,
    /// Index of the first row in the lane.
    pub(crate) first_row: u64,
    pub(crate) starts: &'a [i64],
    pub(crate) values: &'a [u64],
    /// Position after the last row.
    pub(crate) end: LanePosition,
}

impl BlockRows<'_> {
    /// Returns the name of a row, counted from the first of these.
    #[must_use]
    pub(crate) fn name(&self, offset: usize) -> NameIdx {
        NameIdx(self.packed.name(self.slot + offset))
    }
}

/// Reads one lane through a cache of a few decoded blocks.
pub struct LaneCursor<'a> {
    lane: Lane<'a>,
    kind: LaneKind,
    extent: Option<(usize, Extent<'a>)>,
    decoded: [Decoded<'a>; DECODED_BLOCKS],
    /// Entry of `decoded` to replace next.
    oldest: usize,
    /// The block where the last search ended; the next one starts there, since it is usually near.
    near: BlockIdx,
    /// Work since the cursor was created.
    pub(crate) count: ReadCount,
}

impl<'a> LaneCursor<'a> {
    /// Creates a cursor without reading anything.
    #[must_use]
    pub fn new(store: &'a Store, lane: LaneIdx) -> Self {
        let lane = store.lane(lane);
        Self {
            lane,
            kind: lane.info().kind,
            extent: None,
            decoded: std::array::from_fn(|_| Decoded::none()),
            oldest: 0,
            near: BlockIdx::default(),
            count: ReadCount::default(),
        }
    }

    #[must_use]
    pub(crate) fn lane(&self) -> Lane<'a> {
        self.lane
    }

    /// Returns the position before the first row that starts at or after `ts_ns`.
    pub fn first_from(&mut self, ts_ns: i64) -> LanePosition {
        // The next bucket usually starts in a decoded block.
        let holds = |decoded: &&Decoded<'_>| {
            let starts = decoded.starts();
            decoded.extent != NO_EXTENT && starts[0] < ts_ns && starts[starts.len() - 1] >= ts_ns
        };
        if let Some(decoded) = self.decoded.iter().find(holds) {
            let position = decoded.position_from(ts_ns);
            return self.readable(position);
        }
        let extents = self.lane.extents();
        let after = extents.partition_point(|extent| extent.first_start_ns < ts_ns);
        let Some(extent) = after.checked_sub(1) else { return self.start_of(0) };
        let Some(directory) = self.directory(extent) else { return self.start_of(extent + 1) };
        let after = directory.partition_point(|entry| entry.first_start_ns < ts_ns);
        self.count.bytes += 16 * u64::from(usize::BITS - directory.len().leading_zeros());
        let block = after.saturating_sub(1);
        match self.decode(extent, block).map(|decoded| decoded.position_from(ts_ns)) {
            Some(position) => self.readable(position),
            None => self.start_of(extent + 1),
        }
    }

    /// Returns the position before the first row that starts after `ts_ns`, which may be the last nanosecond of time.
    pub(crate) fn first_after(&mut self, ts_ns: i64) -> LanePosition {
        match ts_ns.checked_add(1) {
            Some(next_ns) => self.first_from(next_ns),
            None => self.position_of(self.lane.rows()),
        }
    }

    /// Returns the position before a row; for a damaged row, before the next intact one.
    pub(crate) fn position_of(&mut self, row: u64) -> LanePosition {
        let extents = self.lane.extents();
        if row >= self.lane.rows() {
            return self.start_of(extents.len());
        }
        let extent = extents.partition_point(|extent| extent.first_row <= row).saturating_sub(1);
        let Some(directory) = self.directory(extent) else { return self.start_of(extent + 1) };
        let within = row - extents[extent].first_row;
        let block = directory.partition_point(|entry| u64::from(entry.first_row()) <= within).saturating_sub(1);
        LanePosition { extent, block, slot: (within - u64::from(directory[block].first_row())) as usize, row }
    }

    /// Returns the position one row earlier, if there is one.
    pub(crate) fn step_back(&mut self, position: LanePosition) -> Option<LanePosition> {
        let row = position.row.checked_sub(1)?;
        match position.slot.checked_sub(1) {
            Some(slot) => Some(LanePosition { slot, row, ..position }),
            None => Some(self.position_of(row)).filter(|position| position.row == row),
        }
    }

    /// Returns start and value of the row after a position.
    pub(crate) fn times_at(&mut self, position: LanePosition) -> Option<(i64, u64)> {
        if let Some(longest) = self.summary_at(position) {
            return Some((longest.span.start_ns, longest.span.dur_ns));
        }
        let decoded = self.decode(position.extent, position.block)?;
        Some((*decoded.starts().get(position.slot)?, *decoded.values().get(position.slot)?))
    }

    /// Returns the name of the row after a position.
    pub(crate) fn name_at(&mut self, position: LanePosition) -> NameIdx {
        if let Some(longest) = self.summary_at(position) {
            return longest.span.name;
        }
        let decoded = self.decode(position.extent, position.block);
        decoded.map_or(NameIdx::EMPTY, |decoded| NameIdx(decoded.packed.name(position.slot)))
    }

    /// Decodes a row; `None` beyond the end of the lane, or in a damaged block.
    pub(crate) fn row(&mut self, row: u64) -> Option<Row> {
        let position = self.position_of(row);
        if position.row == row { self.row_at(position) } else { None }
    }

    /// Decodes the row after a position.
    pub(crate) fn row_at(&mut self, position: LanePosition) -> Option<Row> {
        if position.row >= self.lane.rows() {
            return None;
        }
        let decoded = self.decode(position.extent, position.block)?;
        Some(Row {
            start_ns: *decoded.starts().get(position.slot)?,
            value: *decoded.values().get(position.slot)?,
            detail: decoded.packed.detail(position.slot),
            name: decoded.packed.name(position.slot),
        })
    }

    /// Returns the rows after a position, up to the end of its block. Prefetches the next blocks, which the caller
    /// usually reads next.
    pub(crate) fn rows_from(&mut self, position: LanePosition) -> Option<BlockRows<'_>> {
        /// Memory delivers about one block while another is unpacked and scanned.
        const AHEAD_BLOCKS: usize = 2;
        let LanePosition { extent, block, slot, row } = position;
        self.prefetch(BlockIdx { extent, block: block + AHEAD_BLOCKS });
        let is_last = self.extent(extent)?.blocks() == block + 1;
        let end_row = row + (self.decode(extent, block)?.packed.rows() - slot) as u64;
        let next = LanePosition { extent, block: block + 1, slot: 0, row: end_row };
        let end = if is_last { self.start_of(extent + 1) } else { next };
        let decoded = self.decode(extent, block)?;
        let (starts, values) = (decoded.starts().get(slot..)?, decoded.values().get(slot..)?);
        Some(BlockRows { packed: &decoded.packed, slot, first_row: row, starts, values, end })
    }

    pub(crate) fn span(&mut self, row: u64) -> Option<Span> {
        self.row(row).map(|decoded_row| self.span_of(decoded_row, row))
    }

    /// Converts a decoded row to a span.
    #[must_use]
    pub(crate) fn span_of(&self, decoded_row: Row, row: u64) -> Span {
        Span {
            start_ns: decoded_row.start_ns,
            dur_ns: if self.kind == LaneKind::Spans { decoded_row.value } else { 0 },
            name: NameIdx(decoded_row.name),
            detail: DetailRef(decoded_row.detail),
            unfinished: self.lane.is_unfinished(row),
        }
    }

    /// Returns the position and duration of the longest span between two positions.
    ///
    /// Equivalent to `(from.row..to.row).max_by_key(dur)`, the first one on ties.
    pub(crate) fn longest(&mut self, from: LanePosition, to: LanePosition) -> Option<(LanePosition, u64)> {
        if from.row >= to.row {
            return None;
        }
        if (from.extent, from.block) == (to.extent, to.block) {
            return self.longest_in_block(from, to.slot);
        }
        let left = self.longest_in_block(from, BLOCK_ROWS);
        let after = BlockIdx { extent: from.extent, block: from.block + 1 };
        let between = self.longest_of_blocks(after, BlockIdx { extent: to.extent, block: to.block });
        let between = between.and_then(|index| self.position_of_longest(index));
        let right = if to.slot > 0 {
            let start = LanePosition { slot: 0, row: to.row - to.slot as u64, ..to };
            self.longest_in_block(start, to.slot)
        } else {
            None
        };
        first_longest([left, between, right], |&(_, dur_ns)| dur_ns)
    }

    /// Returns the smallest and largest counter value between two positions.
    pub(crate) fn min_max(&mut self, from: LanePosition, to: LanePosition) -> MinMax {
        let mut total = MinMax::IDENTITY;
        if from.row >= to.row {
            return total;
        }
        let same_block = (from.extent, from.block) == (to.extent, to.block);
        total = total.combine(self.min_max_in_block(from, if same_block { to.slot } else { BLOCK_ROWS }));
        if same_block {
            return total;
        }
        if from.extent == to.extent {
            total = total.combine(self.min_max_of_blocks(from.extent, from.block + 1, to.block));
        } else {
            total = total.combine(self.min_max_of_blocks(from.extent, from.block + 1, usize::MAX));
            let nodes = self.lane.forest::<MinMax>();
            let whole = from.extent + 1..to.extent.min(self.lane.extents().len());
            if nodes.len() >= iforest::node_count(whole.end) {
                total = total.combine(iforest::range(nodes, whole));
            }
            total = total.combine(self.min_max_of_blocks(to.extent, 0, to.block));
        }
        if to.slot > 0 {
            total = total.combine(self.min_max_in_block(LanePosition { slot: 0, ..to }, to.slot));
        }
        total
    }

    fn min_max_of_blocks(&mut self, extent: usize, from: usize, to: usize) -> MinMax {
        let Some(extent_data) = self.extent(extent) else { return MinMax::IDENTITY };
        let to = to.min(extent_data.blocks());
        let nodes = extent_data.min_max();
        if from >= to || nodes.len() < iforest::node_count(to) {
            return MinMax::IDENTITY;
        }
        self.count.bytes += 16 * u64::from(usize::BITS - (to - from).leading_zeros());
        iforest::range(nodes, from..to)
    }

    fn longest_in_block(&mut self, from: LanePosition, to_slot: usize) -> Option<(LanePosition, u64)> {
        let values = self.decode(from.extent, from.block)?.values();
        let values = values.get(from.slot..to_slot.min(values.len()))?;
        let mut best: Option<(usize, u64)> = None;
        for (offset, &dur_ns) in values.iter().enumerate() {
            if best.is_none_or(|(_, longest)| dur_ns > longest) {
                best = Some((offset, dur_ns));
            }
        }
        best.map(|(offset, dur_ns)| {
            (LanePosition { slot: from.slot + offset, row: from.row + offset as u64, ..from }, dur_ns)
        })
    }

    fn min_max_in_block(&mut self, from: LanePosition, to_slot: usize) -> MinMax {
        let Some(decoded) = self.decode(from.extent, from.block) else { return MinMax::IDENTITY };
        let values = decoded.values().get(from.slot..to_slot.min(decoded.values().len())).unwrap_or(&[]);
        values.iter().fold(MinMax::IDENTITY, |total, &bits| total.combine(MinMax::from_value(f64::from_bits(bits))))
    }

    /// Returns the position itself if its row is readable, else the start of the next intact extent.
    fn readable(&mut self, position: LanePosition) -> LanePosition {
        let at_start = (position.block, position.slot) == (0, 0);
        if at_start { self.start_of(position.extent) } else { position }
    }

    /// Returns the position before the first row of an extent, or of the next intact one.
    fn start_of(&mut self, mut extent: usize) -> LanePosition {
        while extent < self.lane.extents().len() && self.extent(extent).is_none() {
            extent += 1;
        }
        let row = self.lane.extents().get(extent).map_or(self.lane.rows(), |extent| extent.first_row);
        LanePosition { extent, block: 0, slot: 0, row }
    }

    fn directory(&mut self, extent: usize) -> Option<&'a [BlockEntry]> {
        self.extent(extent).map(|extent| extent.directory())
    }

    fn extent(&mut self, extent: usize) -> Option<Extent<'a>> {
        if let Some((index, extent_data)) = self.extent
            && index == extent
        {
            return Some(extent_data);
        }
        let extent_data = self.lane.extent(extent)?;
        self.extent = Some((extent, extent_data));
        Some(extent_data)
    }

    fn is_decoded(&self, extent: usize, block: usize) -> bool {
        self.decoded.iter().any(|decoded| (decoded.extent, decoded.block) == (extent, block))
    }

    /// Decodes a block unless it is cached.
    fn decode(&mut self, extent: usize, block: usize) -> Option<&Decoded<'a>> {
        let is_known = |decoded: &Decoded<'_>| (decoded.extent, decoded.block) == (extent, block);
        if let Some(index) = self.decoded.iter().position(is_known) {
            return Some(&self.decoded[index]);
        }
        let extent_data = self.extent(extent)?;
        let entry = extent_data.directory().get(block)?;
        let packed = extent_data.block(block);
        let first_row = self.lane.extents()[extent].first_row + u64::from(entry.first_row());
        self.count.blocks += 1;
        self.count.bytes += packed.bytes() as u64;
        let index = self.oldest;
        self.oldest = (index + 1) % DECODED_BLOCKS;
        let decoded = &mut self.decoded[index];
        // Assigned field by field: times and values are decoded in place.
        (decoded.extent, decoded.block, decoded.packed) = (extent, block, packed);
        (decoded.first_row, decoded.extent_blocks) = (first_row, extent_data.blocks());
        packed.times(&mut decoded.starts, &mut decoded.values);
        Some(decoded)
    }
}
