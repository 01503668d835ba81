//! Writes the small tables: tracks with their processes, call stacks, and losses.

use std::io;

use super::events::number;
use super::file::Kind::{Int32, Int64, Text};
use super::file::{Column, ParquetCell, TableFile};
use crate::export::output::OutputFolder;
use crate::export::source_stacks::ExportedStacks;
use crate::export::task::Task;
use crate::model::{Id, StackIdx, TrackIdx, TrackTables};
use crate::query::Snapshot;

const TRACKS: &[Column] = &[
    Column("track_id", Int32, false),
    Column("kind", Text, false),
    Column("name", Text, true),
    Column("process_id", Int32, false),
    Column("process", Text, true),
    Column("process_labels", Text, true),
    Column("pid", Int64, true),
    Column("tid", Int64, true),
    // Ids that are not numbers.
    Column("pid_text", Text, true),
    Column("tid_text", Text, true),
    Column("process_sort_index", Int64, false),
    Column("sort_index", Int64, false),
    // Unit of a counter's values.
    Column("unit", Text, true),
];

const STACKS: &[Column] = &[
    Column("stack_id", Int32, false),
    Column("parent_id", Int32, true),
    Column("name", Text, false),
    Column("category", Text, true),
    // Source line of the frame, in a symbolized export.
    Column("file", Text, true),
    Column("line", Int64, true),
];

const LOSSES: &[Column] = &[
    Column("name", Text, false),
    // File of the loss, for traces of several files.
    Column("file", Text, true),
    Column("count", Int64, false),
    Column("first", Text, false),
    Column("advice", Text, false),
];

/// Writes the tracks of a trace, including tracks without rows, and returns the length of the file.
pub(super) fn write_tracks(tables: &TrackTables, folder: &mut OutputFolder) -> io::Result<u64> {
    let mut table = TableFile::create(folder.file("tracks.parquet")?, TRACKS, Some("track_id"))?;
    for (id, track) in (0u32..).zip(&tables.tracks) {
        let Some(process) = tables.processes.get(track.process.index()) else { continue };
        // Derived for display, and without rows in any table.
        if track.key.kind.is_derived() {
            continue;
        }
        let (pid, tid) = (&track.key.pid, &track.key.tid);
        table.push(&mut vec![
            ParquetCell::Int(id.into()),
            ParquetCell::Text(track.key.kind.word().into()),
            ParquetCell::text_or_null(&track.name),
            ParquetCell::Int(track.process.0.into()),
            ParquetCell::text_or_null(&process.name),
            ParquetCell::text_or_null(&process.labels),
            number(pid),
            number(tid),
            text(pid),
            text(tid),
            ParquetCell::Int(process.sort_index),
            ParquetCell::Int(track.sort_index),
            ParquetCell::text_or_null(tables.unit(TrackIdx(id))),
        ])?;
    }
    table.finish()
}

/// Writes the call stacks of a trace, and returns the length of the file.
pub(super) fn write_stacks(task: &Task<'_>, folder: &mut OutputFolder) -> io::Result<u64> {
    let mut table = TableFile::create(folder.file("stacks.parquet")?, STACKS, Some("stack_id"))?;
    let ExportedStacks { stacks, sources, .. } = task.stacks;
    // The stack without frames has no row.
    for id in 1..stacks.len() {
        let stack = StackIdx(u32::try_from(id).map_err(io::Error::other)?);
        let frame = stacks.get(stack);
        let name = task.snapshot.names().get(frame.name);
        let source = sources.get(stack);
        table.push(&mut vec![
            ParquetCell::Int(stack.0.into()),
            ParquetCell::int_or_null((frame.parent != StackIdx::EMPTY).then(|| frame.parent.0.into())),
            ParquetCell::Text(name.text.into()),
            name.category.map_or(ParquetCell::Null, |category| ParquetCell::Text(category.into())),
            source.map_or(ParquetCell::Null, |source| ParquetCell::Text(source.file.into())),
            ParquetCell::int_or_null(source.filter(|source| source.line > 0).map(|source| source.line.into())),
        ])?;
    }
    table.finish()
}

/// Writes the losses of the import, and returns the length of the file.
pub(super) fn write_losses(snapshot: &Snapshot, folder: &mut OutputFolder) -> io::Result<u64> {
    let mut table = TableFile::create(folder.file("losses.parquet")?, LOSSES, None)?;
    for lost in snapshot.losses().iter() {
        let count = i64::try_from(lost.count).unwrap_or(i64::MAX);
        table.push(&mut vec![
            ParquetCell::Text(lost.loss.name().into()),
            lost.file.map_or(ParquetCell::Null, |file| ParquetCell::Text(file.into())),
            ParquetCell::Int(count),
            ParquetCell::Text(lost.first.to_string().as_str().into()),
            ParquetCell::Text((&*lost.advice).into()),
        ])?;
    }
    table.finish()
}

fn text(id: &Id) -> ParquetCell {
    match id {
        Id::Text(text) => ParquetCell::Text((&**text).into()),
        Id::None | Id::Number(_) => ParquetCell::Null,
    }
}
