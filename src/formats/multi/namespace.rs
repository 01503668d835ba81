//! Separates the contents of several files, given together or in an archive. Processes, async spans and flows of
//! different files stay distinct, whatever their ids. The first file keeps its ids; the ids of later files are extended
//! by the file name. Shifts a file by its offset, and to the clock of earlier files if both clocks are known.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use xxhash_rust::xxh3::xxh3_64;

use super::clock_sync::{Alignment, ClockSyncs, KnownSyncs};
use crate::base::units::signed_time_text;
use crate::formats::{BatchSink, ReadError};
use crate::model::facts::Subject;
use crate::model::{Batch, EventKind, Id, Loss, Losses, Metadata, Payload, SourcePos, TrackKind};

/// Scope of one file of several.
#[derive(Debug, Clone)]
pub(crate) struct FileScope {
    /// Unique name of the file.
    pub(crate) file: Arc<str>,
    /// Label of its processes, unless the trace itself labels them.
    pub(crate) label: Box<str>,
    /// Whether it is the only file, so that nothing needs to name it.
    pub(crate) is_alone: bool,
    /// Whether its losses have its name. A single file needs its name too if its positions are not positions of the
    /// input.
    pub(crate) are_losses_named: bool,
    /// Offset that is added to its times.
    pub(crate) offset_ns: i64,
}

/// The kinds of contents that a file had.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FileContents {
    pub(crate) has_events: bool,
    /// Whether it had events, or facts about processes that later files must not share.
    pub(crate) has_ids: bool,
}

/// Sink that gives ids of a file its namespace.
pub(crate) struct NamespacedSink<'a> {
    sink: &'a mut dyn BatchSink,
    scope: FileScope,
    /// Whether no earlier file had events or processes.
    is_first: bool,
    /// Processes that are already labelled with the file.
    labelled: FxHashSet<Id>,
    /// Processes that the trace itself labels, possibly in a batch before their first event.
    own_labels: FxHashSet<Id>,
    contents: FileContents,
    clock_syncs: ClockSyncs,
    /// Position in the sink at which the file starts.
    start: usize,
}

impl<'a> NamespacedSink<'a> {
    pub(crate) fn new(sink: &'a mut dyn BatchSink, scope: FileScope, is_first: bool) -> Self {
        Self {
            start: sink.position(),
            sink,
            scope,
            is_first,
            labelled: FxHashSet::default(),
            own_labels: FxHashSet::default(),
            contents: FileContents::default(),
            clock_syncs: ClockSyncs::default(),
        }
    }

    /// Ends the file. Shifts the file to the clock of earlier files if they share a clock sync or know UTC. This also
    /// adjusts its UTC offset. Returns the contents of the file.
    pub(crate) fn finish(self, known_syncs: &mut KnownSyncs) -> Result<FileContents, ReadError> {
        let (mut by_ns, alignment) = known_syncs.offset_ns(&self.clock_syncs).unwrap_or((0, Alignment::Utc));
        if by_ns != 0 {
            let (file, by) = (&self.scope.file, signed_time_text(by_ns));
            let is_moved = self.sink.move_from(self.start, by_ns);
            self.sink.notify(match (is_moved, alignment) {
                (true, Alignment::Sync(id)) => {
                    format!("{file} is moved by {by}, to where its clock sync {id} is in the files before it.")
                }
                (true, Alignment::Utc) => {
                    format!("{file} is moved by {by}, to its time of day on the clock of the files before it.")
                }
                (false, Alignment::Sync(id)) => format!(
                    "{file} cannot be moved by {by} to match its clock sync {id}: its times would be out of range."
                ),
                (false, Alignment::Utc) => {
                    format!("{file} cannot be moved by {by} to match its time of day: its times would be out of range.")
                }
            });
            by_ns = if is_moved { by_ns } else { 0 };
        }
        let utc_offset_ns = self.clock_syncs.utc_offset_ns();
        known_syncs.add_file(self.clock_syncs, by_ns);
        if let Some(offset_ns) = utc_offset_ns {
            // The times of this file are shifted, UTC is not.
            let offset_ns = offset_ns.saturating_sub(self.scope.offset_ns).saturating_sub(by_ns);
            let mut batch = only_losses(Losses::default());
            batch.metadata.push(Metadata::Utc { offset_ns });
            self.sink.accept(batch)?;
        }
        Ok(self.contents)
    }

    fn id(&self, pid: &mut Id) {
        if self.is_first {
            return;
        }
        *pid = match &*pid {
            Id::None => Id::Text((*self.scope.file).into()),
            id => Id::Text(format!("{id} in {}", self.scope.file).into()),
        };
    }

    fn metadata(&self, metadata: &mut Metadata) {
        match metadata {
            Metadata::ProcessFile { pid, file } => {
                self.id(pid);
                *file = format!("{}/{file}", self.scope.file).into();
            }
            Metadata::ProcessName { pid, .. }
            | Metadata::ProcessLabels { pid, .. }
            | Metadata::ProcessSortIndex { pid, .. }
            | Metadata::ThreadName { pid, .. }
            | Metadata::KernelName { pid, .. }
            | Metadata::ThreadSortIndex { pid, .. } => self.id(pid),
            Metadata::ThreadProcess { before, pid, .. } => {
                self.id(before);
                self.id(pid);
            }
            Metadata::TrackSortIndex { key, .. }
            | Metadata::CounterUnit { key, .. }
            | Metadata::TrackGroup { key, .. } => self.id(&mut key.pid),
            Metadata::Fact { fact } => match &mut fact.subject {
                Subject::Process(pid) | Subject::Thread(pid, _) => self.id(pid),
                Subject::Recording => {}
            },
            // The UTC offset is added at the end of the file.
            Metadata::Utc { .. } | Metadata::Module { .. } | Metadata::Unwound { .. } => {}
        }
    }

    /// Labels the processes of a batch with their file; labels in the trace take precedence.
    fn label(&mut self, batch: &mut Batch) {
        let pids_with_labels = batch.metadata.iter().filter_map(|metadata| match metadata {
            Metadata::ProcessLabels { pid, .. } => Some(pid.clone()),
            _ => None,
        });
        self.own_labels.extend(pids_with_labels);
        let mut new_metadata = Vec::new();
        for track in &batch.tracks {
            if self.labelled.insert(track.pid.clone()) {
                let pid = || track.pid.clone();
                new_metadata.push(Metadata::ProcessFile { pid: pid(), file: Arc::clone(&self.scope.file) });
                if !self.own_labels.contains(&track.pid) {
                    new_metadata.push(Metadata::ProcessLabels { pid: pid(), labels: self.scope.label.clone() });
                }
            }
        }
        batch.metadata.splice(0..0, new_metadata);
    }

    /// Shifts the events of a batch; counts events and ends that overflow 64-bit nanoseconds as lost.
    fn shift(&self, batch: &mut Batch) {
        let losses = &mut batch.losses;
        batch.chunk.events.retain_mut(|event| {
            let moved = event.ts_ns.checked_add(self.scope.offset_ns);
            match moved {
                Some(ts_ns) => {
                    event.ts_ns = ts_ns;
                    let longest_ns = i64::MAX.abs_diff(ts_ns);
                    if let Payload::Span { dur_ns, .. } = event.payload()
                        && dur_ns > longest_ns
                    {
                        event.value = longest_ns;
                        losses.add(Loss::BadNumber, SourcePos::Time(ts_ns));
                    }
                }
                None => losses.add(Loss::BadTime, SourcePos::Time(event.ts_ns)),
            }
            moved.is_some()
        });
    }

    /// Makes the ids of async spans and flows unique to the file.
    fn isolate_ids(&self, batch: &mut Batch) {
        let salt = xxh3_64(self.scope.file.as_bytes());
        for event in &mut batch.chunk.events {
            let is_joined = matches!(
                event.kind,
                EventKind::AsyncBegin
                    | EventKind::AsyncEnd
                    | EventKind::AsyncInstant
                    | EventKind::AsyncStepInto
                    | EventKind::AsyncStepPast
                    | EventKind::FlowStart
                    | EventKind::FlowStep
                    | EventKind::FlowEnd
            );
            if is_joined {
                event.value ^= salt;
            }
        }
    }
}

impl BatchSink for NamespacedSink<'_> {
    fn accept(&mut self, mut batch: Batch) -> Result<(), ReadError> {
        self.contents.has_events |= !batch.chunk.events.is_empty();
        let is_of_all =
            |fact: &Metadata| matches!(fact, Metadata::Utc { .. } | Metadata::Module { .. } | Metadata::Unwound { .. });
        self.contents.has_ids |= self.contents.has_events || !batch.metadata.iter().all(is_of_all);
        if !self.scope.is_alone {
            self.clock_syncs.observe(&batch, self.sink.position());
        }
        batch.metadata.retain(|metadata| match metadata {
            Metadata::Utc { offset_ns } => {
                self.clock_syncs.add_utc(*offset_ns);
                false
            }
            _ => true,
        });
        batch.metadata.iter_mut().for_each(|metadata| self.metadata(metadata));
        for track in &mut batch.tracks {
            self.id(&mut track.pid);
            if track.kind == TrackKind::Global && !self.is_first {
                track.kind = TrackKind::Process;
            }
        }
        if self.scope.offset_ns != 0 {
            self.shift(&mut batch);
        }
        if !self.is_first {
            self.isolate_ids(&mut batch);
        }
        if !self.scope.is_alone {
            self.label(&mut batch);
        }
        let file = Some(&self.scope.file).filter(|_| self.scope.are_losses_named);
        batch.losses = std::mem::take(&mut batch.losses).in_file(file, self.scope.offset_ns);
        self.sink.accept(batch)
    }

    fn position(&self) -> usize {
        self.sink.position()
    }

    fn move_from(&mut self, position: usize, by_ns: i64) -> bool {
        let is_moved = self.sink.move_from(position, by_ns);
        if is_moved {
            self.clock_syncs.move_from(position, by_ns);
        }
        is_moved
    }

    fn notify(&mut self, sentence: String) {
        self.sink.notify(sentence);
    }
}

/// Creates a batch with losses only.
pub(crate) fn only_losses(losses: Losses) -> Batch {
    Batch { names: vec![crate::model::NameRow::default()], losses, ..Batch::default() }
}
