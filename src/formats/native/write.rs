//! Writes a native trace sequentially to any output, so that everything written before a crash is readable. Never
//! seeks, sorts or buffers events: memory is the tables and 88 bytes per chunk.

use std::io::{self, Write};

use super::columns::{self, ColumnsError, DECODED_BYTES_MAX};
use super::stacks;
use super::tables::{TablesPatch, TablesWritten};
use super::wire::{
    ALIGNMENT, CHUNK_MAGIC, ChunkHeader, ChunkKind, DirectoryEntry, FileHeader, FileTrailer, NO_WATERMARK, checksum,
};
use crate::model::{Chunk, Event, EventFlags, EventKind, Losses, Names, Stacks, TrackTables};

/// Events in a chunk, if the writer may choose: 2 MiB in memory, about 300 KiB in the file. Small enough to fetch on
/// demand, and large enough that header and seek do not matter.
pub(crate) const CHUNK_EVENTS: usize = 64 * 1024;

/// Names and tracks compress well at any level, and the directory is small.
const ZSTD_LEVEL: i32 = 1;

/// Why a trace could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// An I/O error of the output.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A chunk is too large.
    #[error(transparent)]
    Chunk(#[from] ColumnsError),
    /// The tables cannot be serialised.
    #[error("names, tracks and stacks cannot be written: {0}")]
    Tables(#[from] postcard::Error),
}

/// An encoded chunk. It can be created on any thread, so that compression does not wait for the disk.
#[derive(Debug, Clone)]
pub(crate) struct EncodedChunk {
    header: ChunkHeader,
    payload: Vec<u8>,
}

impl EncodedChunk {
    /// Encodes a non-empty chunk, with events in any order. Fails for a chunk that no reader would accept.
    pub(crate) fn new(chunk: &Chunk) -> Result<Self, ColumnsError> {
        let payload = columns::encode(chunk)?;
        let memory = columns::decoded_bytes(chunk.events.len(), chunk.details.ends.len(), chunk.details.bytes.len());
        let mut header = chunk_header(ChunkKind::Events, &payload, memory)?;
        let limit = u64::from(u32::MAX);
        header.event_count =
            u32::try_from(chunk.events.len()).map_err(|_| ColumnsError::TooLarge { bytes: memory, limit })?;
        header.describe(&chunk.events);
        Ok(Self { header, payload })
    }

    /// Sets the number of events that the recorder lost before this chunk.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn with_lost_before(mut self, events: u64) -> Self {
        self.header.lost_before = events;
        self
    }
}

impl ChunkHeader {
    /// Sets the times and the flags of events, in one pass: a chunk is larger than the cache of a core.
    fn describe(&mut self, events: &[Event]) {
        let first_ns = events.first().map_or(0, |event| event.ts_ns);
        let (mut start_min_ns, mut start_max_ns, mut end_max_ns) = (first_ns, first_ns, first_ns);
        let (mut before_ns, mut is_sorted, mut is_placed) = (first_ns, true, true);
        for event in events {
            let dur_ns = if event.kind == EventKind::Complete { event.value } else { 0 };
            start_min_ns = start_min_ns.min(event.ts_ns);
            start_max_ns = start_max_ns.max(event.ts_ns);
            end_max_ns = end_max_ns.max(event.ts_ns.saturating_add_unsigned(dur_ns));
            is_sorted &= before_ns <= event.ts_ns;
            is_placed &= event.flags.has(EventFlags::PLACED);
            before_ns = event.ts_ns;
        }
        (self.start_min_ns, self.start_max_ns, self.end_max_ns) = (start_min_ns, start_max_ns, end_max_ns);
        self.flags |= if is_sorted { ChunkHeader::SORTED } else { 0 };
        self.flags |= if is_placed { ChunkHeader::PLACED } else { 0 };
    }
}

/// Writes a native trace, chunk by chunk.
#[derive(Debug)]
pub struct NativeWriter<W> {
    out: W,
    offset: u64,
    directory: Vec<DirectoryEntry>,
    tables: TablesWritten,
    stacks: usize,
}

impl<W: Write> NativeWriter<W> {
    /// Starts a trace. `sorted` promises that all events are sorted by time, within and across chunks.
    ///
    /// # Errors
    /// I/O errors of the output.
    pub fn new(mut out: W, sorted: bool) -> Result<Self, WriteError> {
        let header = FileHeader::new(if sorted { FileHeader::SORTED } else { 0 });
        out.write_all(bytemuck::bytes_of(&header))?;
        let (directory, tables) = (Vec::new(), TablesWritten::default());
        Ok(Self { out, offset: FileHeader::BYTES, directory, tables, stacks: 0 })
    }

    /// Writes new and changed table rows. Must precede the first chunk that refers to them.
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

    /// Writes new stacks. Must follow the names in them, and precede the first chunk that refers to them.
    ///
    /// # Errors
    /// I/O errors of the output.
    pub fn write_stacks(&mut self, stacks: &Stacks) -> Result<(), WriteError> {
        let written = std::mem::replace(&mut self.stacks, stacks.len());
        stacks::patches_since(written, stacks).try_for_each(|patch| self.write_postcard(ChunkKind::Stacks, &patch))
    }

    /// Writes a chunk, unless it has no events.
    ///
    /// # Errors
    /// I/O errors of the output, and [`WriteError::Chunk`] for a chunk above the size limit.
    pub fn write_chunk(&mut self, chunk: &Chunk) -> Result<(), WriteError> {
        self.write_encoded(&EncodedChunk::new(chunk)?)
    }

    /// Writes an encoded chunk, unless it has no events and no losses.
    pub(crate) fn write_encoded(&mut self, chunk: &EncodedChunk) -> Result<(), WriteError> {
        if chunk.header.event_count == 0 && chunk.header.lost_before == 0 {
            return Ok(());
        }
        self.append(chunk.header, &chunk.payload)
    }

    /// Writes the next part of the store of the whole trace. With all parts, readers need not sort.
    ///
    /// # Errors
    /// I/O errors of the output, and [`WriteError::Chunk`] for a part above the size limit.
    pub fn write_store_part(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        // Store parts are not compressed: their blocks are packed already, and parts are read at disk speed.
        self.append(chunk_header(ChunkKind::Store, bytes, bytes.len() as u64)?, bytes)
    }

    /// Ends the trace: writes the losses, then the directory. Everything before is readable without it.
    ///
    /// # Errors
    /// I/O errors of the output.
    pub fn finish(mut self, losses: &Losses) -> Result<W, WriteError> {
        if !losses.is_empty() {
            let patch = TablesPatch { losses: losses.clone(), ..TablesPatch::default() };
            self.write_postcard(ChunkKind::Tables, &patch)?;
        }
        let entries: &[u8] = bytemuck::cast_slice(&self.directory);
        // A directory that no reader would accept (more than 700,000 chunks) is omitted: readers then scan headers.
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
        // Recovery counts missing chunks by it. Past 2^32 chunks it stays at the maximum, and none counts as missing.
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

/// Creates a header without sequence number, times and checksum.
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
