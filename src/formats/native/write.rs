//! Writes a native capture front to back to anything that takes bytes, so that what is written before a crash can be
//! read after it. Never seeks, never sorts, keeps no event: memory is the tables and 88 bytes a chunk.

use std::io::{self, Write};

use super::columns::{self, ColumnsError, DECODED_BYTES_MAX};
use super::stacks;
use super::tables::{TablesPatch, TablesWritten};
use super::wire::{
    ALIGNMENT, CHUNK_MAGIC, ChunkHeader, ChunkKind, DirectoryEntry, FileHeader, FileTrailer, NO_WATERMARK, checksum,
};
use crate::model::{Chunk, EventFlags, EventKind, Losses, Names, Stacks, TrackTables};

/// Events in a chunk where the writer may choose: 2 MiB in memory, some 300 KiB in the file, which is small enough to
/// fetch at a whim and large enough that neither the header nor the seek matters.
pub(crate) const CHUNK_EVENTS: usize = 64 * 1024;

/// Names and tracks compress well at any level, and the directory is small.
const ZSTD_LEVEL: i32 = 1;

/// Why a capture could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The system refuses to write.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A chunk is too large.
    #[error(transparent)]
    Chunk(#[from] ColumnsError),
    /// The tables do not turn into bytes.
    #[error("names, tracks and stacks cannot be written: {0}")]
    Tables(#[from] postcard::Error),
}

/// A chunk ready to be written: made on any thread, so that compression need not wait for the disk.
#[derive(Debug, Clone)]
pub(crate) struct EncodedChunk {
    header: ChunkHeader,
    payload: Vec<u8>,
}

impl EncodedChunk {
    /// Encodes a chunk that is not empty, with events in any order. Fails for a chunk that no reader would accept.
    pub(crate) fn new(chunk: &Chunk) -> Result<Self, ColumnsError> {
        let payload = columns::encode(chunk)?;
        let memory = columns::decoded_bytes(chunk.events.len(), chunk.details.ends.len(), chunk.details.bytes.len());
        let mut header = chunk_header(ChunkKind::Events, &payload, memory)?;
        let limit = u64::from(u32::MAX);
        header.event_count =
            u32::try_from(chunk.events.len()).map_err(|_| ColumnsError::TooLarge { bytes: memory, limit })?;
        let times = || chunk.events.iter().map(|event| event.ts_ns);
        header.start_min_ns = times().min().unwrap_or(0);
        header.start_max_ns = times().max().unwrap_or(0);
        let ends = chunk.events.iter().map(|event| match event.kind {
            EventKind::Complete => event.ts_ns.saturating_add_unsigned(event.value),
            _ => event.ts_ns,
        });
        header.end_max_ns = ends.max().unwrap_or(0);
        if times().is_sorted() {
            header.flags |= ChunkHeader::SORTED;
        }
        if chunk.events.iter().all(|event| event.flags.has(EventFlags::PLACED)) {
            header.flags |= ChunkHeader::PLACED;
        }
        Ok(Self { header, payload })
    }

    /// Says that the recorder lost events between the chunk before and this one.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn with_lost_before(mut self, events: u64) -> Self {
        self.header.lost_before = events;
        self
    }
}

/// Writes a native capture, chunk by chunk.
#[derive(Debug)]
pub struct NativeWriter<W> {
    out: W,
    offset: u64,
    directory: Vec<DirectoryEntry>,
    tables: TablesWritten,
    stacks: usize,
}

impl<W: Write> NativeWriter<W> {
    /// Begins a capture. `sorted` promises that all events are in order of time, within chunks and across.
    ///
    /// # Errors
    /// I/O errors of the output.
    pub fn new(mut out: W, sorted: bool) -> Result<Self, WriteError> {
        let header = FileHeader::new(if sorted { FileHeader::SORTED } else { 0 });
        out.write_all(bytemuck::bytes_of(&header))?;
        let (directory, tables) = (Vec::new(), TablesWritten::default());
        Ok(Self { out, offset: FileHeader::BYTES, directory, tables, stacks: 0 })
    }

    /// Writes the new and changed rows of the tables. Must come before the first chunk that points to them.
    ///
    /// # Errors
    /// I/O errors of the output.
    pub fn write_tables(&mut self, names: &Names, tracks: &TrackTables) -> Result<(), WriteError> {
        if let Some(offset_ns) = tracks.utc_offset_ns.filter(|_| self.tables.utc_offset_ns() != tracks.utc_offset_ns) {
            self.write_postcard(ChunkKind::Utc, &offset_ns)?;
        }
        if !tracks.modules.is_empty() && self.tables.modules() != tracks.modules {
            self.write_postcard(ChunkKind::Modules, &tracks.modules)?;
        }
        let patches = self.tables.advance(names, tracks);
        patches.iter().try_for_each(|patch| self.write_postcard(ChunkKind::Tables, patch))
    }

    /// Writes the stacks that are new. Must come after the names in them, and before the first
    /// chunk that points to them.
    ///
    /// # Errors
    /// I/O errors of the output.
    pub fn write_stacks(&mut self, stacks: &Stacks) -> Result<(), WriteError> {
        let written = std::mem::replace(&mut self.stacks, stacks.len());
        stacks::patches_since(written, stacks).try_for_each(|patch| self.write_postcard(ChunkKind::Stacks, &patch))
    }

    /// Writes a chunk. One without events is left out.
    ///
    /// # Errors
    /// I/O errors of the output, and [`WriteError::Chunk`] for a chunk above the limit on size.
    pub fn write_chunk(&mut self, chunk: &Chunk) -> Result<(), WriteError> {
        self.write_encoded(&EncodedChunk::new(chunk)?)
    }

    /// Writes a chunk that was encoded elsewhere. One without events is left out.
    pub(crate) fn write_encoded(&mut self, chunk: &EncodedChunk) -> Result<(), WriteError> {
        if chunk.header.event_count == 0 && chunk.header.lost_before == 0 {
            return Ok(());
        }
        self.append(chunk.header, &chunk.payload)
    }

    /// Writes the next part of the store of the whole capture. With all of them, a reader has nothing to sort.
    ///
    /// # Errors
    /// I/O errors of the output, and [`WriteError::Chunk`] for a part above the limit on size.
    pub fn write_store_part(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        // Not compressed: its blocks are packed already, and a part is as fast to fetch as the disk gives it.
        self.append(chunk_header(ChunkKind::Store, bytes, bytes.len() as u64)?, bytes)
    }

    /// Ends the capture: the losses, then the directory. What was written before can be read without.
    ///
    /// # Errors
    /// I/O errors of the output.
    pub fn finish(mut self, losses: &Losses) -> Result<W, WriteError> {
        if !losses.is_empty() {
            let patch = TablesPatch { losses: losses.clone(), ..TablesPatch::default() };
            self.write_postcard(ChunkKind::Tables, &patch)?;
        }
        let entries: &[u8] = bytemuck::cast_slice(&self.directory);
        // A directory that no reader would accept (of more than 700,000 chunks) is left out: the reader hops instead.
        if entries.len() as u64 <= DECODED_BYTES_MAX {
            let payload = zstd::bulk::compress(entries, ZSTD_LEVEL)?;
            let header = chunk_header(ChunkKind::Directory, &payload, entries.len() as u64)?;
            let trailer = FileTrailer::new(self.offset);
            self.append(header, &payload)?;
            self.out.write_all(bytemuck::bytes_of(&trailer))?;
        }
        self.out.flush()?;
        Ok(self.out)
    }

    #[cfg(test)]
    #[must_use]
    pub(crate) fn written_bytes(&self) -> u64 {
        self.offset
    }

    fn write_postcard(&mut self, kind: ChunkKind, patch: &impl serde::Serialize) -> Result<(), WriteError> {
        let bytes = postcard::to_stdvec(patch)?;
        let payload = zstd::bulk::compress(&bytes, ZSTD_LEVEL)?;
        let header = chunk_header(kind, &payload, bytes.len() as u64)?;
        self.append(header, &payload)
    }

    fn append(&mut self, mut header: ChunkHeader, payload: &[u8]) -> Result<(), WriteError> {
        // Recovery counts missing chunks by it. Past 2^32 chunks it stays the largest, and none counts as missing.
        header.sequence = u32::try_from(self.directory.len()).unwrap_or(u32::MAX);
        header.seal();
        self.out.write_all(bytemuck::bytes_of(&header))?;
        self.out.write_all(payload)?;
        let padding = payload.len().next_multiple_of(ALIGNMENT as usize) - payload.len();
        self.out.write_all(&[0; ALIGNMENT as usize][..padding])?;
        self.directory.push(DirectoryEntry { offset: self.offset, header });
        self.offset += header.stride_bytes();
        Ok(())
    }
}

/// A header without its place, its times and its seal.
fn chunk_header(kind: ChunkKind, payload: &[u8], memory_bytes: u64) -> Result<ChunkHeader, ColumnsError> {
    let too_large = |bytes: u64| ColumnsError::TooLarge { bytes, limit: DECODED_BYTES_MAX };
    let within = |bytes: u64| u32::try_from(bytes).ok().filter(|_| bytes <= DECODED_BYTES_MAX);
    Ok(ChunkHeader {
        magic: CHUNK_MAGIC,
        kind: kind.byte(),
        payload_bytes: u32::try_from(payload.len()).map_err(|_| too_large(payload.len() as u64))?,
        memory_bytes: within(memory_bytes).ok_or_else(|| too_large(memory_bytes))?,
        watermark_ns: NO_WATERMARK,
        payload_checksum: checksum(payload),
        ..bytemuck::Zeroable::zeroed()
    })
}
