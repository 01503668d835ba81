//! Writes a sorted trace in Longspan's own format: spans with their depths, samples with their stacks, and the losses
//! of the original import. So a load neither sorts nor nests it again. A whole trace includes its store, so that it is
//! not indexed again either.

use std::io::Write;
use std::mem;

use rayon::prelude::*;

use super::error::SinkError;
use super::excerpt::Excerpt;
use super::rows::parts_at_once;
use super::task::{ExportReport, Out, Task};
use crate::formats::native::write::{CHUNK_EVENTS, EncodedChunk, NativeWriter, WriteError};
use crate::model::{Chunk, Details, Event};

/// Bytes of arguments after which a chunk is closed, so that a few events with much text make no huge chunk.
const CHUNK_DETAIL_BYTES: usize = 4 << 20;

/// Writes an excerpt to `out`; one of the whole trace may include its store.
pub(super) fn write(
    task: &Task<'_>,
    excerpt: &Excerpt,
    out: Out<'_>,
    with_store: bool,
) -> Result<ExportReport, SinkError> {
    let snapshot = task.snapshot;
    let mut writer = NativeWriter::new(out, true)?;
    writer.write_tables(snapshot.names(), task.tables)?;
    writer.write_stacks(snapshot.stacks())?;
    let mut chunks = ChunkWriter { writer, chunks: Vec::new(), used: 0 };
    let report = task.each_batch(excerpt, |events, details| chunks.add(events, details))?;
    let mut writer = chunks.finish()?;
    // The store has the recorded names.
    if with_store && snapshot.overlay().is_none() {
        // Damaged parts of the store are missing from the events as well, so a reader loses nothing more.
        for part in snapshot.store().carried_parts().map_while(|part| part) {
            task.cancel.check()?;
            writer.write_store_part(&part)?;
        }
    }
    writer.finish(snapshot.losses())?;
    Ok(report)
}

/// Cuts events into chunks, and encodes several of them at once.
struct ChunkWriter<W> {
    writer: NativeWriter<W>,
    /// Chunks whose memory is used again.
    chunks: Vec<Chunk>,
    /// Number of chunks with events: full ones, and an open one that is last.
    used: usize,
}

impl<W: Write> ChunkWriter<W> {
    fn add(&mut self, mut events: &[Event], details: &Details) -> Result<(), SinkError> {
        while !events.is_empty() {
            if self.chunks[..self.used].last().is_none_or(is_full) {
                if self.used >= parts_at_once() {
                    self.write()?;
                }
                if self.used == self.chunks.len() {
                    let events = Vec::with_capacity(CHUNK_EVENTS);
                    self.chunks.push(Chunk { events, ..Chunk::default() });
                }
                self.used += 1;
            }
            let open = &mut self.chunks[self.used - 1];
            let room = CHUNK_EVENTS - open.events.len();
            if details.ends.is_empty() {
                let (now, later) = events.split_at(room.min(events.len()));
                open.events.extend_from_slice(now);
                events = later;
            } else if let Some((event, later)) = events.split_first() {
                let blob = details.blob(event.detail);
                let detail = if blob.is_empty() { 0 } else { open.details.push_blob(blob) };
                open.events.push(Event { detail, ..*event });
                events = later;
            }
        }
        Ok(())
    }

    /// Encodes and writes all chunks.
    fn write(&mut self) -> Result<(), SinkError> {
        let full = &mut self.chunks[..mem::take(&mut self.used)];
        let encoded: Vec<_> = full.par_iter().map(EncodedChunk::new).collect();
        for chunk in encoded {
            self.writer.write_encoded(&chunk.map_err(WriteError::from)?)?;
        }
        for chunk in full {
            chunk.events.clear();
            chunk.details.ends.clear();
            chunk.details.bytes.clear();
        }
        Ok(())
    }

    fn finish(mut self) -> Result<NativeWriter<W>, SinkError> {
        self.write()?;
        Ok(self.writer)
    }
}

fn is_full(chunk: &Chunk) -> bool {
    chunk.events.len() >= CHUNK_EVENTS || chunk.details.bytes.len() >= CHUNK_DETAIL_BYTES
}
