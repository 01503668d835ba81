//! A run of up to 64 blocks of one lane, written once and never changed: the unit of the store file.
//!
//! | part | bytes | content |
//! |---|---|---|
//! | header | 32 | [`ExtentHeader`] |
//! | directory | 32 per block | [`BlockEntry`]: first start, offset, first row, longest row |
//! | forest | 8 or 16 per node | lower levels of the lane's [`iforest`], one leaf per block |
//! | blocks | varying | packed rows, [`block`] |
//!
//! A lane grows by whole extents, each twice as large as the previous one up to the limit. A lane of ten spans takes
//! hundreds of bytes, a lane of a hundred million has few extents, and neither is moved when it grows.

use bytemuck::{Pod, Zeroable};

use super::block::{self, BLOCK_ROWS, Block, Row};
use super::iforest::{self, Aggregate};
use super::signature::{self, NameSignature};
use crate::model::NameIdx;

/// Blocks in a full extent: 4,096 rows, about 32 KiB. The index of a lane of 10^8 rows then takes about 800 KiB.
pub(crate) const EXTENT_BLOCKS: usize = 64;

/// Largest size of an extent; far below the limit of 32-bit offsets.
const EXTENT_BYTES_MAX: usize = size_of::<ExtentHeader>()
    + EXTENT_BLOCKS * (size_of::<BlockEntry>() + 2 * size_of::<[u64; 2]>() + block::BLOCK_BYTES_MAX);

const _: () = assert!(EXTENT_BYTES_MAX < u32::MAX as usize);

const EXTENT_MAGIC: u32 = u32::from_le_bytes(*b"LSEX");

/// The fixed start of an extent.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ExtentHeader {
    /// xxh3-64 of the rest of the extent.
    checksum: u64,
    magic: u32,
    blocks: u32,
    rows: u32,
    node_bytes: u32,
    bytes: u64,
}

/// The position of one block in its extent, with a summary of its rows.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct BlockEntry {
    pub(crate) first_start_ns: i64,
    /// Byte offset from the start of the extent.
    pub(crate) offset: u32,
    /// Index of its first row, from the start of the extent.
    pub(crate) first_row: u32,
    /// Start of its longest row, the first one on ties. With it, most queries of a zoomed-out view need not unpack the
    /// block.
    pub(crate) longest_start_ns: i64,
    pub(crate) longest_name: NameIdx,
    /// Index of the longest row in the block.
    pub(crate) longest_slot: u32,
}

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

const _: () = assert!(size_of::<ExtentHeader>() == 32 && size_of::<BlockEntry>() == 32);
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
        let offset = self.packed.len() as u32;
        let mut longest = (0, first);
        for (slot, row) in (0u32..).zip(rows) {
            if row.value > longest.1.value {
                longest = (slot, row);
            }
        }
        self.directory.push(BlockEntry {
            first_start_ns: first.start_ns,
            offset,
            first_row: self.rows,
            longest_start_ns: longest.1.start_ns,
            longest_name: NameIdx(longest.1.name),
            longest_slot: longest.0,
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

    /// Appends the extent to `out` and empties the builder. Returns the aggregate of all its rows.
    pub(crate) fn finish<A: Aggregate + Pod>(&mut self, out: &mut Vec<u8>) -> A {
        let leaves: Vec<A> = self
            .leaves
            .chunks_exact(size_of::<A>() / 8)
            .map(|words| bytemuck::pod_read_unaligned(bytemuck::cast_slice(words)))
            .collect();
        let mut nodes = Vec::with_capacity(iforest::node_count(leaves.len()));
        leaves.iter().for_each(|&leaf| iforest::push(&mut nodes, leaf));
        let blocks_at = size_of::<ExtentHeader>() + size_of_val(&*self.directory) + size_of_val(&*nodes);
        for entry in &mut self.directory {
            entry.offset += blocks_at as u32;
        }
        const { assert!(size_of::<A>() <= size_of::<[u64; 2]>()) };
        let start = out.len();
        out.extend_from_slice(&[0; size_of::<ExtentHeader>()]);
        out.extend_from_slice(bytemuck::cast_slice(&self.directory));
        out.extend_from_slice(bytemuck::cast_slice(&nodes));
        out.extend_from_slice(&self.packed);
        let body = start + size_of::<ExtentHeader>();
        let header = ExtentHeader {
            checksum: 0,
            magic: EXTENT_MAGIC,
            blocks: self.directory.len() as u32,
            rows: self.rows,
            node_bytes: const { size_of::<A>() as u32 },
            bytes: (out.len() - start) as u64,
        };
        out[start..body].copy_from_slice(bytemuck::bytes_of(&header));
        let checked = start + size_of_val(&header.checksum);
        let checksum = xxhash_rust::xxh3::xxh3_64(&out[checked..]);
        out[start..checked].copy_from_slice(&checksum.to_le_bytes());
        *self = Self::default();
        iforest::range(&nodes, 0..leaves.len())
    }
}

/// An extent in the mapped file.
#[derive(Debug, Clone, Copy)]
pub struct Extent<'a> {
    bytes: &'a [u8],
    directory: &'a [BlockEntry],
    nodes: &'a [u8],
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
        let directory_end = size_of::<ExtentHeader>() + header.blocks as usize * size_of::<BlockEntry>();
        let nodes_bytes = iforest::node_count(header.blocks as usize).checked_mul(header.node_bytes as usize)?;
        let nodes_end = directory_end.checked_add(nodes_bytes)?;
        let directory = bytes.get(size_of::<ExtentHeader>()..directory_end)?;
        Some(Self {
            bytes,
            directory: bytemuck::try_cast_slice(directory).ok()?,
            nodes: bytes.get(directory_end..nodes_end)?,
            rows: header.rows,
        })
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

    /// Returns the lower levels of the lane's forest; empty if the lane does not aggregate `A`.
    #[must_use]
    pub(crate) fn forest<A: Pod>(&self) -> &'a [A] {
        bytemuck::try_cast_slice(self.nodes).unwrap_or(&[])
    }

    /// Returns a block by index.
    ///
    /// # Panics
    /// Panics if there is no such block.
    #[must_use]
    pub fn block(&self, block: usize) -> Block<'a> {
        let entry = self.directory[block];
        let end_row = self.directory.get(block + 1).map_or(self.rows, |next| next.first_row);
        let rows = end_row.saturating_sub(entry.first_row) as usize;
        Block::new(self.packed(block), rows, entry.first_start_ns)
    }

    /// Returns the bytes of a block; empty if there is no such block.
    #[must_use]
    pub(crate) fn packed(&self, block: usize) -> &'a [u8] {
        let Some(entry) = self.directory.get(block) else { return &[] };
        let end = self.directory.get(block + 1).map_or(self.bytes.len(), |next| next.offset as usize);
        self.bytes.get(entry.offset as usize..end).unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_with_forged_sizes_is_refused() {
        let sizes = [(u32::MAX, u32::MAX), (u32::MAX, 0), (1, u32::MAX), (1, 16)];
        for (blocks, node_bytes) in sizes {
            let header = ExtentHeader { checksum: 0, magic: EXTENT_MAGIC, blocks, rows: 1, node_bytes, bytes: 32 };
            assert!(Extent::new(bytemuck::bytes_of(&header)).is_none(), "{blocks} blocks, {node_bytes} bytes a node");
        }
    }
}
