//! Arguments in compressed side blocks: out of the way of the spans, which are read a thousand times more often.
//!
//! A [`DetailRef`] is one more than the position of a blob in the endless stream of all blobs, so that the references
//! of neighbouring spans are close together and pack into few bits.

use std::io;
use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use xxhash_rust::xxh3::xxh3_64;

use super::append::AppendFile;
use super::lane::DetailRef;
use super::verified::Verified;

/// Raw bytes in a block: enough for zstd to find repeats, little enough to decompress in some 100 µs for one tooltip.
const BLOCK_BYTES: usize = 64 * 1024;

/// The most raw bytes of a block: four times what a record of a capture may hold, as nested arguments are spelled out
/// when they are kept. A larger claim is damage.
const BLOCK_BYTES_MAX: usize = 256 << 20;

/// Bytes before each blob, which hold its length.
const LENGTH_BYTES: usize = size_of::<u32>();

/// zstd's fastest regular level: arguments are written once for every span, and read for few.
const ZSTD_LEVEL: i32 = 1;

/// The position of a block of details.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct DetailBlock {
    /// The position of its first byte in the stream of all blobs.
    pub(crate) stream_start: u64,
    /// Its offset in the file.
    pub(crate) offset: u64,
    /// Its length in the file.
    pub(crate) packed_bytes: u32,
    /// Its length after it is decompressed.
    pub(crate) raw_bytes: u32,
    /// xxh3-64 of its bytes in the file.
    pub(crate) checksum: u64,
}

/// How long a packed block is when it is unpacked; it says so without being unpacked.
#[must_use]
pub(crate) fn unpacked_bytes(packed: &[u8]) -> Option<u64> {
    zstd::zstd_safe::get_frame_content_size(packed).ok().flatten().filter(|&bytes| bytes <= BLOCK_BYTES_MAX as u64)
}

impl DetailBlock {
    /// Its bytes in the file; nothing if they are not there.
    pub(super) fn packed<'a>(&self, file: &'a [u8]) -> Option<&'a [u8]> {
        let start = usize::try_from(self.offset).ok()?;
        file.get(start..start.checked_add(self.packed_bytes as usize)?)
    }

    /// Whether its bytes are those that were written.
    #[must_use]
    pub(crate) fn is_intact(&self, file: &[u8]) -> bool {
        self.packed(file).is_some_and(|packed| xxh3_64(packed) == self.checksum)
    }
}

/// The positions of blobs in the stream of all blobs, in the order in which they are kept.
#[derive(Debug, Default)]
pub(crate) struct DetailPositions {
    end: u64,
}

impl DetailPositions {
    /// The place of the next blob; an empty one needs none.
    pub(crate) fn next(&mut self, blob: &[u8]) -> DetailRef {
        if blob.is_empty() {
            return DetailRef(0);
        }
        let reference = DetailRef(self.end + 1);
        self.end += LENGTH_BYTES as u64 + blob.len() as u64;
        reference
    }
}

/// Gathers blobs into blocks, which it packs and writes.
#[derive(Debug, Default)]
pub(crate) struct DetailWriter {
    blocks: Vec<DetailBlock>,
    raw: Vec<u8>,
    stream_start: u64,
    positions: DetailPositions,
}

impl DetailWriter {
    /// Adds a blob; an empty one needs no place. Fails with the I/O error of a write, such as a full disk, and for a
    /// blob of 4 GiB, whose length has no room.
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

    /// Writes the block that is being gathered. Fails with the I/O error of a write, such as a full disk.
    pub(crate) fn flush(&mut self, file: &mut AppendFile) -> io::Result<()> {
        if self.raw.is_empty() {
            return Ok(());
        }
        let packed = zstd::bulk::compress(&self.raw, ZSTD_LEVEL)?;
        let raw_bytes = u32::try_from(self.raw.len()).map_err(io::Error::other)?;
        self.raw.clear();
        self.push_block(&packed, raw_bytes, file)
    }

    /// Adds a block that is packed already, of `raw_bytes` when it is unpacked. No blob may be waiting. Fails with the
    /// I/O error of a write, such as a full disk.
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

    /// The furthest that a [`DetailRef`] may point with the blocks that are written.
    #[must_use]
    pub(crate) fn end(&self) -> u64 {
        self.stream_start
    }

    /// Forgets the blocks before the one of `reference`, to which nothing refers any more; returns where they are.
    pub(super) fn drop_before(&mut self, reference: u64) -> Vec<Range<u64>> {
        let position = reference.saturating_sub(1);
        let end = |block: &DetailBlock| block.stream_start + u64::from(block.raw_bytes);
        let count = self.blocks.partition_point(|block| end(block) <= position);
        let places = self.blocks.drain(..count).map(|block| block.offset..block.offset + u64::from(block.packed_bytes));
        places.collect()
    }

    /// The blocks written so far.
    #[must_use]
    pub(crate) fn blocks(&self) -> &[DetailBlock] {
        &self.blocks
    }
}

/// Reads blobs back, keeping the last block decompressed: neighbours in time are neighbours here.
#[derive(Debug, Default)]
pub struct DetailReader {
    block: Option<usize>,
    raw: Vec<u8>,
}

impl DetailReader {
    /// The blob that `reference` points to, or nothing for 0 and for a block that is damaged.
    pub(crate) fn blob(
        &mut self,
        reference: DetailRef,
        blocks: &[DetailBlock],
        verified: &Verified,
        file: &[u8],
    ) -> &[u8] {
        self.try_blob(reference, blocks, verified, file).unwrap_or(&[])
    }

    fn try_blob(
        &mut self,
        reference: DetailRef,
        blocks: &[DetailBlock],
        verified: &Verified,
        file: &[u8],
    ) -> Option<&[u8]> {
        let position = reference.0.checked_sub(1)?;
        let index = blocks.partition_point(|block| block.stream_start <= position).checked_sub(1)?;
        let block = &blocks[index];
        if self.block != Some(index) {
            self.block = None;
            if !verified.is_intact(index, || block.is_intact(file)) {
                return None;
            }
            let packed = block.packed(file)?;
            let raw_bytes = (block.raw_bytes as usize).min(BLOCK_BYTES_MAX);
            self.raw = zstd::bulk::decompress(packed, raw_bytes).ok()?;
            self.block = Some(index);
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
    use crate::base::mapped::Mapped;

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
