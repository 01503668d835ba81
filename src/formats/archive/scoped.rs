//! Keeps what one file of an archive holds apart from the others: processes, asynchronous spans and flows of two files are
//! two, whatever their ids. The first file keeps its ids; those of later ones get the name of their file.

use rustc_hash::FxHashSet;
use xxhash_rust::xxh3::xxh3_64;

use crate::formats::{BatchSink, ReadError};
use crate::model::{Batch, EventKind, Id, Metadata, TrackKind};

/// Hands batches on with ids of their own.
pub(super) struct Scoped<'a> {
    pub(super) sink: &'a mut dyn BatchSink,
    /// The name of the file.
    pub(super) member: &'a str,
    /// Whether it is the first that had events.
    pub(super) is_first: bool,
    /// Whether there are others, so that processes are to say where they come from.
    pub(super) labels: bool,
    pub(super) labelled: FxHashSet<Id>,
    /// Whether an event came.
    pub(super) had_events: bool,
}

impl<'a> Scoped<'a> {
    pub(super) fn new(sink: &'a mut dyn BatchSink, member: &'a str, is_first: bool, labels: bool) -> Self {
        Self { sink, member, is_first, labels, labelled: FxHashSet::default(), had_events: false }
    }

    fn id(&self, pid: &mut Id) {
        if self.is_first {
            return;
        }
        *pid = match &*pid {
            Id::None => Id::Text(self.member.into()),
            known => Id::Text(format!("{known} in {}", self.member).into()),
        };
    }
}

impl BatchSink for Scoped<'_> {
    fn accept(&mut self, mut batch: Batch) -> Result<(), ReadError> {
        let base = self.member.rsplit('/').next().unwrap_or_default();
        self.had_events |= !batch.chunk.events.is_empty();
        for metadata in &mut batch.metadata {
            match metadata {
                Metadata::ProcessName { pid, .. }
                | Metadata::ProcessLabels { pid, .. }
                | Metadata::ProcessSortIndex { pid, .. }
                | Metadata::ThreadName { pid, .. }
                | Metadata::KernelName { pid, .. }
                | Metadata::ThreadSortIndex { pid, .. } => self.id(pid),
            }
        }
        for track in &mut batch.tracks {
            self.id(&mut track.pid);
            if track.kind == TrackKind::Global && !self.is_first {
                track.kind = TrackKind::Process;
            }
            if self.labels && self.labelled.insert(track.pid.clone()) {
                // Before what the capture itself says, which wins.
                let (pid, labels) = (track.pid.clone(), base.into());
                batch.metadata.insert(0, Metadata::ProcessLabels { pid, labels });
            }
        }
        if !self.is_first {
            let salt = xxh3_64(self.member.as_bytes());
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
        self.sink.accept(batch)
    }
}
