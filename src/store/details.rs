//! Arguments in compressed side blocks, apart from the spans, which are read a thousand times more often.
//!
//! A [`DetailRef`] is one plus the offset of a blob in the concatenation of all blobs. References of neighbouring spans
//! are close together, so they pack into few bits.

use std::cell::RefCell;
use std::io;
use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use xxhash_rust::xxh3::xxh3_64;

use super::append::AppendFile;
use super::lane::DetailRef;
use super::verified::Verified;
use crate::base::mapped::Mapped;

/// Uncompressed bytes per block: enough for zstd to find repeats, and decompressed in about 100 µs for a tooltip.
const BLOCK_BYTES: usize = 64 * 1024;

/// Limit for the uncompressed bytes of a block: four times the largest record of a trace, because nested arguments are
/// flattened with their full keys. A larger claim is damage.
const BLOCK_BYTES_MAX: usize = 256 << 20;

/// Size of the length prefix of a blob.
const LENGTH_BYTES: usize = size_of::<u32>();

/// zstd's fastest regular level: every argument is written once, and few are read.
const ZSTD_LEVEL: i32 = 1;

/// The position of a block of details.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct DetailBlock {
    /// Offset of its first byte in the concatenation of all blobs.
    pub(crate) stream_start: u64,
    /// Offset of the compressed bytes in the file of the store.
    pub(crate) offset: u64,
    /// Number of bytes in the file, compressed.
    pub(crate) packed_bytes: u32,
    /// Number of bytes of the blobs, uncompressed.
    pub(crate) raw_bytes: u32,
    /// xxh3-64 of the compressed bytes.
    pub(crate) checksum: u64,
}

/// Reads the uncompressed size from the zstd frame header.
#[must_use]
pub(crate) fn unpacked_bytes(packed: &[u8]) -> Option<u64> {
    zstd::zstd_safe::get_frame_content_size(packed).ok().flatten().filter(|&bytes| bytes <= BLOCK_BYTES_MAX as u64)
}

impl DetailBlock {
    /// Returns the compressed bytes; `None` if the file is too short.
    pub(super) fn packed<'a>(&self, file: &'a [u8]) -> Option<&'a [u8]> {
        let start = usize::try_from(self.offset).ok()?;
        file.get(start..start.checked_add(self.packed_bytes as usize)?)
    }

    /// Returns whether a position in the concatenation of all blobs lies in this block.
    fn contains(&self, position: u64) -> bool {
        position.checked_sub(self.stream_start).is_some_and(|offset| offset < u64::from(self.raw_bytes))
    }

    /// Returns whether the checksum of a block's compressed bytes matches, unless that is known.
    pub(super) fn is_intact(blocks: &[Self], block: usize, verified: &Verified, file: &Mapped) -> bool {
        verified.is_intact(block, || {
            let to_fetch = verified.parts_to_fetch(block).filter_map(|block| blocks.get(block)?.packed(file));
            to_fetch.for_each(|packed| file.fetch(packed));
            let checksum = blocks[block].checksum;
            blocks[block].packed(file).is_some_and(|bytes| file.check_copy(bytes, |bytes| xxh3_64(bytes) == checksum))
        })
    }
}

/// Decompresses a block, and returns its length; `None` if it is damaged or longer than `raw`.
///
/// The context of zstd takes 100 KiB, and an export has many readers, so all readers of a thread share a context.
fn decompress(packed: &[u8], raw: &mut [u8]) -> Option<usize> {
    thread_local! {
        static ZSTD: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
    }
    ZSTD.with_borrow_mut(|zstd| {
        if zstd.is_none() {
            *zstd = zstd::bulk::Decompressor::new().ok();
        }
        zstd.as_mut()?.decompress_to_buffer(packed, raw).ok()
    })
}

/// Assigns stream offsets to blobs in the order in which they are stored.
#[derive(Debug, Default)]
pub(crate) struct DetailPositions {
    end: u64,
}

impl DetailPositions {
    /// Returns the reference of the next blob; 0 for an empty one.
    pub(crate) fn next(&mut self, blob: &[u8]) -> DetailRef {
        if blob.is_empty() {
            return DetailRef(0);
        }
        let reference = DetailRef(self.end + 1);
        self.end += LENGTH_BYTES as u64 + blob.len() as u64;
        reference
    }
}

/// Collects blobs into blocks, compresses and writes them.
#[derive(Debug, Default)]
pub(crate) struct DetailWriter {
    blocks: Vec<DetailBlock>,
    raw: Vec<u8>,
    stream_start: u64,
    positions: DetailPositions,
}

impl DetailWriter {
    /// Adds a blob; an empty one gets reference 0. Returns the I/O error of a failed write, or an error for a blob of 4
    /// GiB, whose length does not fit the prefix.
    pub(crate) fn push(&mut self, blob: &[u8], file: &mut AppendFile) -> io::Result<DetailRef> {
        if blob.is_empty() {
            return Ok(DetailRef(0));
        }
        let blob_bytes = u32::try_from(blob.len()).map_err(io::Error::other)?;
        if self.raw.len() + blob.len() + LENGTH_BYTES > BLOCK_BYTES {
            self.flush(file)?;
        }
        self.raw.extend_from_slice(&blob_bytes.to_le_bytes());
        self.raw.extend_from_slice(blob);
        Ok(self.positions.next(blob))
    }

    /// Writes the current block. Returns the I/O error of a failed write.
    pub(crate) fn flush(&mut self, file: &mut AppendFile) -> io::Result<()> {
        if self.raw.is_empty() {
            return Ok(());
        }
        let packed = zstd::bulk::compress(&self.raw, ZSTD_LEVEL)?;
        let raw_bytes = u32::try_from(self.raw.len()).map_err(io::Error::other)?;
        self.raw.clear();
        self.push_block(&packed, raw_bytes, file)
    }

    /// Adds a compressed block that holds `raw_bytes`. The current block must be empty. Returns the I/O error of a
    /// failed write.
    pub(crate) fn push_block(&mut self, packed: &[u8], raw_bytes: u32, file: &mut AppendFile) -> io::Result<()> {
        self.blocks.push(DetailBlock {
            stream_start: self.stream_start,
            offset: file.append(packed)?,
            packed_bytes: u32::try_from(packed.len()).map_err(io::Error::other)?,
            raw_bytes,
            checksum: xxh3_64(packed),
        });
        self.stream_start += u64::from(raw_bytes);
        Ok(())
    }

    /// Leaves out blocks of `raw_bytes` that were dropped, so that later references stay valid.
    pub(super) fn skip(&mut self, raw_bytes: u32) {
        self.stream_start += u64::from(raw_bytes);
    }

    /// Returns the upper limit for a [`DetailRef`] into the written blocks.
    #[must_use]
    pub(crate) fn end(&self) -> u64 {
        self.stream_start
    }

    /// Drops the blocks before the block of `reference`, because nothing refers to them. Returns their ranges in the
    /// file.
    pub(super) fn drop_before(&mut self, reference: u64) -> Vec<Range<u64>> {
        let position = reference.saturating_sub(1);
        let end = |block: &DetailBlock| block.stream_start + u64::from(block.raw_bytes);
        let count = self.blocks.partition_point(|block| end(block) <= position);
        let ranges = self.blocks.drain(..count).map(|block| block.offset..block.offset + u64::from(block.packed_bytes));
        ranges.collect()
    }

    #[must_use]
    pub(crate) fn blocks(&self) -> &[DetailBlock] {
        &self.blocks
    }
}

/// Reads blobs, and caches the last decompressed block: neighbours in time are neighbours in a block.
#[derive(Debug, Default)]
pub struct DetailReader {
    block: Option<usize>,
    raw: Vec<u8>,
    /// Number of blocks decompressed so far.
    unpacked: u64,
}

impl DetailReader {
    /// Returns the number of blocks decompressed so far.
    #[must_use]
    pub(crate) fn unpacked(&self) -> u64 {
        self.unpacked
    }

    /// Returns the blob at `reference`, or an empty slice for 0 and for a damaged block.
    pub(crate) fn blob(
        &mut self,
        reference: DetailRef,
        blocks: &[DetailBlock],
        verified: &Verified,
        file: &Mapped,
    ) -> &[u8] {
        self.try_blob(reference, blocks, verified, file).unwrap_or(&[])
    }

    fn try_blob(
        &mut self,
        reference: DetailRef,
        blocks: &[DetailBlock],
        verified: &Verified,
        file: &Mapped,
    ) -> Option<&[u8]> {
        let position = reference.0.checked_sub(1)?;
        let is_in_block = |block: &usize| blocks.get(*block).is_some_and(|block| block.contains(position));
        let index = match self.block.filter(is_in_block) {
            Some(index) => index,
            None => blocks.partition_point(|block| block.stream_start <= position).checked_sub(1)?,
        };
        let block = &blocks[index];
        if self.block != Some(index) {
            self.block = None;
            if !DetailBlock::is_intact(blocks, index, verified, file) {
                return None;
            }
            let packed = block.packed(file)?;
            self.raw.resize((block.raw_bytes as usize).min(BLOCK_BYTES_MAX), 0);
            let raw_bytes = decompress(packed, &mut self.raw)?;
            self.raw.truncate(raw_bytes);
            self.block = Some(index);
            self.unpacked += 1;
        }
        let at = usize::try_from(position - block.stream_start).ok()?;
        let (length, rest) = self.raw.get(at..)?.split_first_chunk::<4>()?;
        rest.get(..u32::from_le_bytes(*length) as usize)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::disk::SystemDisk;

    #[test]
    fn blobs_of_any_size_come_back_in_any_order() {
        let blobs: Vec<Vec<u8>> =
            (0..300u32).map(|k| vec![k as u8; (k as usize * 37) % 5000 + usize::from(k == 7) * 200_000]).collect();
        let mut file = AppendFile::new(tempfile::tempfile().unwrap(), Arc::new(SystemDisk));
        let mut writer = DetailWriter::default();
        let references: Vec<_> = blobs.iter().map(|blob| writer.push(blob, &mut file).unwrap()).collect();
        writer.flush(&mut file).unwrap();
        file.flush().unwrap();
        let map = Mapped::from_store(file.file(), std::path::Path::new("")).unwrap();
        let mut reader = DetailReader::default();
        let verified = Verified::new(writer.blocks().len());
        for k in (0..blobs.len()).rev() {
            assert_eq!(reader.blob(references[k], writer.blocks(), &verified, &map), blobs[k], "blob {k}");
        }
        assert_eq!(reader.blob(DetailRef(u64::MAX), writer.blocks(), &verified, &map), b"");
    }
}
