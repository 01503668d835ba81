//! Writes the spans of a trace as CSV, in time order. For all other rows, see [`super::parquet`].

use super::error::SinkError;
use super::excerpt::Excerpt;
use super::table::{ExportColumns, TableRow, TableWriter};
use super::task::{ExportReport, Out, Task};
use crate::base::csv::Cells;
use crate::model::args::Detail;
use crate::model::{EventFlags, NameIdx, Payload, TrackIdx, TrackKind};
use crate::query::Snapshot;

/// Writes an excerpt, which has only spans, to `out`.
pub(super) fn write(task: &Task<'_>, excerpt: &Excerpt, out: Out<'_>, cells: Cells) -> Result<ExportReport, SinkError> {
    let snapshot = task.snapshot;
    let mut table = TableWriter::begin_export(out, cells)?;
    task.each_event(excerpt, |event, blob| {
        let Payload::Span { dur_ns, is_unfinished } = event.payload() else { return Ok(()) };
        let dur_ns = (!is_unfinished).then_some(dur_ns);
        let row = span_row(snapshot, event.track, event.depth, (event.ts_ns, dur_ns), event.name);
        let outside = event.flags.has(EventFlags::OUTSIDE);
        Ok(table.export_row(&row, &ExportColumns { outside, args_json: Detail::decode(blob).args_json })?)
    })
}

/// Returns a span as a row of a table: track, depth, start and duration in nanoseconds (`None` without an end in the
/// trace), and name.
#[must_use]
pub(crate) fn span_row(
    snapshot: &Snapshot,
    track: TrackIdx,
    depth: u16,
    (ts_ns, dur_ns): (i64, Option<u64>),
    name: NameIdx,
) -> TableRow<'_> {
    let track = snapshot.track(track);
    let name = snapshot.names().get(name);
    let is_thread = track.key.kind == TrackKind::Thread;
    TableRow {
        ts_ns,
        dur_ns,
        depth,
        name: name.text,
        category: name.category,
        pid: &track.key.pid,
        tid: &track.key.tid,
        process: &snapshot.tracks().processes[track.process.index()].name,
        thread: if is_thread { &track.name } else { "" },
        track: if is_thread { "" } else { &track.name },
    }
}
