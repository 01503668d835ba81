//! Writes a sorted trace in Longspan's own format: spans with their depths, samples with their stacks, and the losses
//! of the original import. So a load neither sorts nor nests it again. A whole trace includes its store, so that it is
//! not indexed again either.

use super::error::SinkError;
use super::excerpt::Excerpt;
use super::task::{ExportReport, Out, Task};
use crate::formats::native::write::{CHUNK_EVENTS, NativeWriter};
use crate::model::{Chunk, Event};

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
    let mut chunk = Chunk::default();
    chunk.events.reserve_exact(CHUNK_EVENTS);
    let report = task.each_event(excerpt, |event, blob| {
        let detail = if blob.is_empty() { 0 } else { chunk.details.push_blob(blob) };
        chunk.events.push(Event { detail, ..*event });
        if chunk.events.len() >= CHUNK_EVENTS || chunk.details.bytes.len() >= CHUNK_DETAIL_BYTES {
            writer.write_chunk(&chunk)?;
            chunk.events.clear();
            chunk.details.ends.clear();
            chunk.details.bytes.clear();
        }
        Ok(())
    })?;
    writer.write_chunk(&chunk)?;
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
