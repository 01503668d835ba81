//! A run of up to 64 blocks of one lane, written once and never changed: the unit of the store file.
//!
//! | part | bytes | content |
//! |---|---|---|
//! | header | 32 | [`ExtentHeader`] |
//! | directory | 24 per block | [`BlockEntry`]: first start, offset, first row, longest row |
//! | forest | varying | lower levels of the lane's forest, one leaf per block: [`longest_blocks`], or [`iforest`] |
//! | blocks | varying | packed rows, [`block`] |
//!
//! A lane grows by whole extents, each twice as large as the previous one up to the limit. A lane of ten spans takes
//! hundreds of bytes, a lane of a hundred million has few extents, and neither is moved when it grows.

use bytemuck::{Pod, Zeroable};

use super::block::{self, BLOCK_ROWS, Block, Row};
use super::iforest::{self, MinMax};
use super::longest_blocks::{self, LongestBlocks};
use super::signature::{self, NameSignature};
use crate::model::NameIdx;

/// Blocks in a full extent: 4,096 rows, about 20 KiB. The index of a lane of 10^8 rows then takes about 800 KiB.
pub(crate) const EXTENT_BLOCKS: usize = 64;

/// Largest size of an extent, which limits the offsets of its blocks.
const EXTENT_BYTES_MAX: usize = size_of::<ExtentHeader>()
    + EXTENT_BLOCKS * (size_of::<BlockEntry>() + 2 * size_of::<[u64; 2]>() + block::BLOCK_BYTES_MAX);

const EXTENT_MAGIC: u32 = u32::from_le_bytes(*b"LSEX");

/// [`ExtentHeader::forest`] of a counter: an [`iforest`] of [`MinMax`].
const MIN_MAX_FOREST: u32 = 16;

/// [`ExtentHeader::forest`] of other rows: [`LongestBlocks`].
const LONGEST_FOREST: u32 = 8;

/// The fixed start of an extent.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ExtentHeader {
    /// xxh3-64 of the rest of the extent.
    checksum: u64,
    magic: u32,
    blocks: u32,
    rows: u32,
    /// [`MIN_MAX_FOREST`] or [`LONGEST_FOREST`].
    forest: u32,
    bytes: u64,
}

/// The position of one block in its extent, with a summary of its rows.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct BlockEntry {
    pub(crate) first_start_ns: i64,
    /// Start of its longest row, the first one on ties. With it, most queries of a zoomed-out view need not unpack the
    /// block.
    pub(crate) longest_start_ns: i64,
    pub(crate) longest_name: NameIdx,
    /// From the lowest bit: 6 bits of [`Self::longest_slot`], 12 of [`Self::first_row`], 14 of [`Self::word`].
    position: u32,
}

impl BlockEntry {
    const SLOT_BITS: u32 = 6;
    const ROW_BITS: u32 = 12;
    const WORD_BITS: u32 = 14;

    fn pack_position(word: usize, first_row: u32, longest_slot: u32) -> u32 {
        debug_assert!(word < 1 << Self::WORD_BITS && first_row < 1 << Self::ROW_BITS);
        ((word as u32) << Self::ROW_BITS | first_row) << Self::SLOT_BITS | longest_slot
    }

    /// Returns the index of the longest row in the block.
    #[must_use]
    pub(crate) fn longest_slot(&self) -> u32 {
        self.position & ((1 << Self::SLOT_BITS) - 1)
    }

    /// Returns the index of its first row, from the start of the extent.
    #[must_use]
    pub(crate) fn first_row(&self) -> u32 {
        self.position >> Self::SLOT_BITS & ((1 << Self::ROW_BITS) - 1)
    }

    /// Returns the words of the extent before the block.
    fn word(&self) -> usize {
        (self.position >> (Self::SLOT_BITS + Self::ROW_BITS)) as usize
    }

    /// Returns the byte offset from the start of the extent.
    fn offset(&self) -> usize {
        self.word() * size_of::<u64>()
    }
}

const _: () = assert!(BLOCK_ROWS == 1 << BlockEntry::SLOT_BITS);
const _: () = assert!(EXTENT_BLOCKS * BLOCK_ROWS == 1 << BlockEntry::ROW_BITS);
const _: () = assert!(EXTENT_BYTES_MAX <= (1 << BlockEntry::WORD_BITS) * size_of::<u64>());

/// The in-memory part of an extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ExtentRecord {
    /// Offset of the extent in the file of the store.
    pub(crate) offset: u64,
    /// Start of the first row in nanoseconds.
    pub first_start_ns: i64,
    /// Index of the first row in the lane.
    pub first_row: u64,
    pub(crate) rows: u32,
    pub(crate) bytes: u32,
}

const _: () = assert!(size_of::<ExtentHeader>() == 32 && size_of::<BlockEntry>() == 24);
const _: () = assert!(size_of::<ExtentRecord>() == 32);

/// Packed blocks to be written as one extent.
#[derive(Debug, Default)]
pub(crate) struct ExtentBuilder {
    directory: Vec<BlockEntry>,
    leaves: Vec<u64>,
    packed: Vec<u8>,
    rows: u32,
    /// Names in the extent; `None` while it is empty, because most lanes of a large trace have an empty builder.
    names: Option<Box<NameSignature>>,
}

impl ExtentBuilder {
    /// Packs `rows` (1 to 64) as the next block. `leaf` is their aggregate, as words. The caller ends the extent at
    /// [`EXTENT_BLOCKS`], which keeps it within [`EXTENT_BYTES_MAX`].
    pub(crate) fn push_block(&mut self, rows: &[Row], leaf: &[u64]) {
        let Some(first) = rows.first() else { return };
        debug_assert!(rows.len() <= BLOCK_ROWS && self.directory.len() < EXTENT_BLOCKS);
        let word = self.packed.len() / size_of::<u64>();
        let mut longest = (0, first);
        for (slot, row) in (0u32..).zip(rows) {
            if row.value > longest.1.value {
                longest = (slot, row);
            }
        }
        self.directory.push(BlockEntry {
            first_start_ns: first.start_ns,
            longest_start_ns: longest.1.start_ns,
            longest_name: NameIdx(longest.1.name),
            position: BlockEntry::pack_position(word, self.rows, longest.0),
        });
        self.leaves.extend_from_slice(leaf);
        self.rows += rows.len() as u32;
        let names = self.names.get_or_insert_default();
        rows.iter().for_each(|row| names.add(NameIdx(row.name)));
        block::encode(rows, &mut self.packed);
    }

    #[must_use]
    pub(crate) fn blocks(&self) -> usize {
        self.directory.len()
    }

    #[must_use]
    pub(crate) fn rows(&self) -> u32 {
        self.rows
    }

    /// Returns the memory in use, in bytes.
    #[must_use]
    pub(crate) fn memory_bytes(&self) -> usize {
        let names = if self.names.is_some() { size_of::<NameSignature>() } else { 0 };
        self.directory.capacity() * size_of::<BlockEntry>()
            + self.leaves.capacity() * 8
            + self.packed.capacity()
            + names
    }

    /// Returns the start of the first pending row.
    #[must_use]
    pub(crate) fn first_start_ns(&self) -> Option<i64> {
        self.directory.first().map(|entry| entry.first_start_ns)
    }

    /// Appends the signature of the names to `out`.
    pub(crate) fn sign(&self, out: &mut Vec<u64>) {
        out.extend(self.names.iter().flat_map(|names| names.folded(signature::words(self.rows))));
    }

    /// Appends the extent of a counter to `out` and empties the builder. Returns the aggregate of all its rows.
    pub(crate) fn finish_counter(&mut self, out: &mut Vec<u8>) -> MinMax {
        let mut nodes = Vec::with_capacity(iforest::node_count(self.blocks()));
        for leaf in self.leaves.chunks_exact(size_of::<MinMax>() / size_of::<u64>()) {
            iforest::push(&mut nodes, bytemuck::pod_read_unaligned(bytemuck::cast_slice(leaf)));
        }
        let total = iforest::range(&nodes, 0..self.blocks());
        self.finish(MIN_MAX_FOREST, |out| out.extend_from_slice(bytemuck::cast_slice(&nodes)), out);
        total
    }

    /// Appends an extent of other rows to `out` and empties the builder. Returns the duration of the longest row.
    pub(crate) fn finish_longest(&mut self, out: &mut Vec<u8>) -> u64 {
        let (durs_ns, mut longest_ns) = (std::mem::take(&mut self.leaves), 0);
        self.finish(LONGEST_FOREST, |out| longest_ns = longest_blocks::encode(&durs_ns, out), out);
        longest_ns
    }

    fn finish(&mut self, forest: u32, append_forest: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; size_of::<ExtentHeader>()]);
        let directory = out.len();
        let forest_at = directory + size_of_val(&*self.directory);
        out.resize(forest_at, 0);
        append_forest(out);
        let blocks_word = (out.len() - start) / size_of::<u64>();
        for entry in &mut self.directory {
            let word = entry.word() + blocks_word;
            entry.position = BlockEntry::pack_position(word, entry.first_row(), entry.longest_slot());
        }
        out[directory..forest_at].copy_from_slice(bytemuck::cast_slice(&self.directory));
        out.extend_from_slice(&self.packed);
        let header = ExtentHeader {
            checksum: 0,
            magic: EXTENT_MAGIC,
            blocks: self.directory.len() as u32,
            rows: self.rows,
            forest,
            bytes: (out.len() - start) as u64,
        };
        out[start..directory].copy_from_slice(bytemuck::bytes_of(&header));
        let checked = start + size_of_val(&header.checksum);
        let checksum = xxhash_rust::xxh3::xxh3_64(&out[checked..]);
        out[start..checked].copy_from_slice(&checksum.to_le_bytes());
        *self = Self::default();
    }
}

/// An extent in the mapped file.
#[derive(Debug, Clone, Copy)]
pub struct Extent<'a> {
    bytes: &'a [u8],
    directory: &'a [BlockEntry],
    /// The bytes of [`Self::min_max`], or empty.
    nodes: &'a [u8],
    longest: LongestBlocks<'a>,
    rows: u32,
}

impl<'a> Extent<'a> {
    /// Splits an extent into its parts; `None` if its header contradicts its length.
    #[must_use]
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Self> {
        let header: &ExtentHeader = bytemuck::try_from_bytes(bytes.get(..size_of::<ExtentHeader>())?).ok()?;
        if header.magic != EXTENT_MAGIC || header.blocks == 0 || header.rows == 0 {
            return None;
        }
        let blocks = header.blocks as usize;
        let rest = bytes.get(size_of::<ExtentHeader>()..)?;
        let (directory, rest) = rest.split_at_checked(blocks * size_of::<BlockEntry>())?;
        let (nodes, longest) = match header.forest {
            MIN_MAX_FOREST => {
                (rest.get(..iforest::node_count(blocks) * size_of::<MinMax>())?, LongestBlocks::default())
            }
            LONGEST_FOREST => (&[][..], LongestBlocks::new(rest.get(..longest_blocks::bytes(blocks))?, blocks)),
            _ => return None,
        };
        Some(Self { bytes, directory: bytemuck::try_cast_slice(directory).ok()?, nodes, longest, rows: header.rows })
    }

    /// Returns whether the checksum matches.
    #[must_use]
    pub(crate) fn is_intact(bytes: &[u8]) -> bool {
        let Some(header) = bytes.get(..size_of::<ExtentHeader>()) else { return false };
        bytemuck::try_from_bytes::<ExtentHeader>(header).is_ok_and(|header| {
            header.magic == EXTENT_MAGIC
                && header.bytes == bytes.len() as u64
                && header.checksum == xxhash_rust::xxh3::xxh3_64(&bytes[size_of_val(&header.checksum)..])
        })
    }

    #[must_use]
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Number of blocks, at least 1.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.directory.len()
    }

    #[must_use]
    pub(crate) fn rows(&self) -> u32 {
        self.rows
    }

    #[must_use]
    pub(crate) fn directory(&self) -> &'a [BlockEntry] {
        self.directory
    }

    /// Returns the lower levels of the forest of a counter; empty for other lanes.
    #[must_use]
    pub(crate) fn min_max(&self) -> &'a [MinMax] {
        bytemuck::try_cast_slice(self.nodes).unwrap_or(&[])
    }

    /// Returns the lower levels of the forest of the longest rows; empty for counters.
    #[must_use]
    pub(crate) fn longest(&self) -> LongestBlocks<'a> {
        self.longest
    }

    /// Returns a block by index.
    ///
    /// # Panics
    /// Panics if there is no such block.
    #[must_use]
    pub fn block(&self, block: usize) -> Block<'a> {
        let entry = self.directory[block];
        let end_row = self.directory.get(block + 1).map_or(self.rows, BlockEntry::first_row);
        let rows = end_row.saturating_sub(entry.first_row()) as usize;
        Block::new(self.packed(block), rows, entry.first_start_ns)
    }

    /// Returns the bytes of a block; empty if there is no such block.
    #[must_use]
    pub(crate) fn packed(&self, block: usize) -> &'a [u8] {
        let Some(entry) = self.directory.get(block) else { return &[] };
        let end = self.directory.get(block + 1).map_or(self.bytes.len(), BlockEntry::offset);
        self.bytes.get(entry.offset()..end).unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_with_forged_sizes_is_refused() {
        for (blocks, forest) in [(u32::MAX, MIN_MAX_FOREST), (u32::MAX, LONGEST_FOREST), (1, u32::MAX), (1, 16), (1, 8)]
        {
            let header = ExtentHeader { checksum: 0, magic: EXTENT_MAGIC, blocks, rows: 1, forest, bytes: 32 };
            assert!(Extent::new(bytemuck::bytes_of(&header)).is_none(), "{blocks} blocks, forest {forest}");
        }
    }
}
