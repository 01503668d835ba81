//! A sorted capture of our own: spans with their depths, so that it opens without being sorted or nested again, samples
//! with their stacks, and the losses of the capture that it is made of.

use super::rows::ExportRows;
use super::{ExportReport, Out, SinkError, Watched};
use crate::formats::native::write::{CHUNK_EVENTS, NativeWriter};
use crate::model::Chunk;
use crate::query::Snapshot;

/// Bytes of arguments after which a chunk is closed, so that a few events with much text make no huge chunk.
const CHUNK_DETAIL_BYTES: usize = 4 << 20;

/// Writes all rows to `out`.
pub(super) fn write(
    snapshot: &Snapshot,
    rows: &mut ExportRows<'_>,
    out: Out<'_>,
    watched: &Watched<'_>,
) -> Result<ExportReport, SinkError> {
    let mut report = ExportReport::default();
    let mut writer = NativeWriter::new(out, true)?;
    writer.write_tables(snapshot.names(), snapshot.tracks())?;
    writer.write_stacks(snapshot.stacks())?;
    let mut chunk = Chunk::default();
    chunk.events.reserve_exact(CHUNK_EVENTS);
    while let Some((mut event, blob)) = rows.next_event() {
        if !blob.is_empty() {
            event.detail = chunk.details.push_blob(blob);
        }
        chunk.events.push(event);
        report.count(event.kind);
        watched.wrote(report.rows())?;
        if chunk.events.len() >= CHUNK_EVENTS || chunk.details.bytes.len() >= CHUNK_DETAIL_BYTES {
            writer.write_chunk(&chunk)?;
            chunk.events.clear();
            chunk.details.ends.clear();
            chunk.details.bytes.clear();
        }
    }
    writer.write_chunk(&chunk)?;
    writer.finish(snapshot.losses())?;
    Ok(report)
}
