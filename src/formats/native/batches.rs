//! Reads a native trace sequentially as batches, where random access is not possible: for one of several files.

use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::formats::record_check::{RecordKind, check};
use crate::formats::{BatchSink, ChunkedTrace, ReadContext, ReadError};
use crate::model::{
    Batch, EventKind, Id, Loss, Losses, Metadata, NameIdx, NameRow, Names, SourcePos, StackIdx, Stacks, Track,
    TrackIdx, TrackKind, TrackTables,
};

/// The format, for the error about a trace without an intact chunk.
pub(super) const CHUNKS: RecordKind =
    RecordKind { format: "Longspan trace", record: "A record is a chunk of events whose checksum is right." };

/// Emits all chunks, each with the rows of the tables that it needs.
///
/// # Errors
/// Returns the errors of a stream, also if all chunks are damaged.
pub(crate) fn read(
    trace: &ChunkedTrace,
    path: &Path,
    sink: &mut dyn BatchSink,
    context: &ReadContext,
) -> Result<(), ReadError> {
    let (mut has_events, mut lost) = (false, Losses::default());
    let (metadata, losses) = (described(&trace.tracks), trace.losses.clone());
    sink.accept(Batch { names: vec![NameRow::default()], metadata, losses, ..Batch::default() })?;
    for (number, head) in trace.source.heads().iter().enumerate() {
        context.cancel.check()?;
        match trace.source.load(number) {
            Ok(chunk) => {
                let mut batch = Batch { chunk, names: vec![NameRow::default()], ..Batch::default() };
                let ChunkedTrace { names, tracks, stacks, .. } = trace;
                renumber(Tables { names, tracks, stacks }, &mut batch);
                batch.chunk.sort();
                has_events |= !batch.chunk.events.is_empty();
                sink.accept(batch)?;
            }
            Err(ReadError::Malformed { .. }) => {
                let mut losses = Losses::default();
                losses.add(Loss::BadChunk, SourcePos::Time(head.min_ts_ns));
                lost.merge(&losses);
                sink.accept(Batch { names: vec![NameRow::default()], losses, ..Batch::default() })?;
            }
            Err(error) => return Err(error),
        }
    }
    if has_events { Ok(()) } else { check_chunks(path, &lost, context) }
}

/// Rejects a trace without a loadable chunk, with its losses.
///
/// # Errors
/// Returns [`ReadError::NoEvents`], or the error of a cancellation.
pub(crate) fn check_chunks(path: &Path, lost: &Losses, context: &ReadContext) -> Result<(), ReadError> {
    check(path, CHUNKS, lost, context)
}

/// Returns names and sort indices of processes and threads as metadata, as a stream reports them.
pub(super) fn described(tables: &TrackTables) -> Vec<Metadata> {
    let mut metadata: Vec<_> = tables.utc_offset_ns.map(|offset_ns| Metadata::Utc { offset_ns }).into_iter().collect();
    metadata.extend(tables.modules.iter().map(|module| Metadata::Module { module: Box::new(module.clone()) }));
    for process in &tables.processes {
        let pid = || process.pid.clone();
        if !process.name.is_empty() {
            metadata.push(Metadata::ProcessName { pid: pid(), name: process.name.clone() });
        }
        if let Some(file) = &process.file {
            metadata.push(Metadata::ProcessFile { pid: pid(), file: Arc::clone(file) });
        }
        if !process.labels.is_empty() {
            metadata.push(Metadata::ProcessLabels { pid: pid(), labels: process.labels.clone() });
        }
        if process.sort_index != 0 {
            metadata.push(Metadata::ProcessSortIndex { pid: pid(), sort_index: process.sort_index });
        }
    }
    let is_thread = |track: &&Track| track.key.kind == TrackKind::Thread;
    for track in tables.tracks.iter().filter(|track| track.sort_index != 0 && !is_thread(track)) {
        metadata.push(Metadata::TrackSortIndex { key: track.key.clone(), sort_index: track.sort_index });
    }
    metadata.extend(tables.facts.iter().map(|fact| Metadata::Fact { fact: Box::new(fact) }));
    for (track, unit) in &tables.units {
        if let Some(track) = tables.tracks.get(track.index()) {
            metadata.push(Metadata::CounterUnit { key: track.key.clone(), unit: Arc::clone(unit) });
        }
    }
    for (track, group) in tables.groups.iter() {
        if let Some(track) = tables.tracks.get(track.index()) {
            metadata.push(Metadata::TrackGroup { key: track.key.clone(), group: Arc::clone(group) });
        }
    }
    for track in tables.tracks.iter().filter(is_thread) {
        let ids = || -> (Id, Id) { (track.key.pid.clone(), track.key.tid.clone()) };
        if !track.name.is_empty() {
            let (pid, tid) = ids();
            metadata.push(Metadata::ThreadName { pid, tid, name: (*track.name).into() });
        }
        if track.sort_index != 0 {
            let (pid, tid) = ids();
            metadata.push(Metadata::ThreadSortIndex { pid, tid, sort_index: track.sort_index });
        }
    }
    metadata
}

/// The tables of a whole trace.
#[derive(Clone, Copy)]
pub(super) struct Tables<'a> {
    pub(super) names: &'a Names,
    pub(super) tracks: &'a TrackTables,
    pub(super) stacks: &'a Stacks,
}

/// Gives the batch its own tables, with only the rows that its events use.
pub(super) fn renumber(tables: Tables<'_>, batch: &mut Batch) {
    let mut names: FxHashMap<NameIdx, NameIdx> = FxHashMap::default();
    let mut tracks: FxHashMap<TrackIdx, TrackIdx> = FxHashMap::default();
    let mut stacks: FxHashMap<u64, StackIdx> = FxHashMap::default();
    let Batch { chunk, names: rows, tracks: keys, stacks: table, .. } = batch;
    let mut name_of = |name: NameIdx| {
        *names.entry(name).or_insert_with(|| {
            rows.push(tables.names.get(name).boxed());
            NameIdx(rows.len() as u32 - 1)
        })
    };
    for event in &mut chunk.events {
        event.name = name_of(event.name);
        if event.kind == EventKind::Sample {
            let stack = *stacks.entry(event.value).or_insert_with(|| {
                let frames: Vec<NameIdx> = tables.stacks.frames(StackIdx::from_value(event.value)).collect();
                let frames: Vec<NameIdx> = frames.into_iter().rev().map(&mut name_of).collect();
                table.intern_path(frames)
            });
            event.value = u64::from(stack.0);
        }
        event.track = *tracks.entry(event.track).or_insert_with(|| {
            if let Some(track) = tables.tracks.tracks.get(event.track.index()) {
                keys.push(track.key.clone());
            }
            TrackIdx((keys.len() as u32).saturating_sub(1))
        });
    }
}
