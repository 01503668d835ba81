//! The tracks of events: the uuids of a capture -> keys, each with one number.

use std::path::PathBuf;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::descriptors::{Counter, Descriptor, Descriptors, PARENTS_MAX};
use super::fields::trace_packet;
use super::schema::Schema;
use super::translations::Translations;
use crate::formats::input::source::Source;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::protobuf::numbers::FieldNumber;
use crate::formats::{ReadContext, ReadError};
use crate::model::{Id, SourcePos, TrackIdx, TrackKey, TrackKind};

/// Groups of tracks are some deep; a name of more parts says nothing any more.
const NAMED_PARENTS_MAX: usize = 8;

/// A track as the reader numbers it, over all batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TrackNumber(pub(super) usize);

/// The tracks that had events.
#[derive(Debug, Default)]
pub(super) struct PerfettoTracks {
    described: Descriptors,
    /// The pass that reads the descriptions after the packets so far; `None` once it is done.
    second_pass: Option<SecondPass>,
    /// The error of that pass.
    failed: Option<ReadError>,
    /// A scratch table for descriptions that the second pass has read already: only their names and losses are used.
    redescribed: Descriptors,
    keys: Vec<TrackKey>,
    numbers: FxHashMap<TrackKey, TrackNumber>,
    spans_of: FxHashMap<u64, TrackNumber>,
    counters_of: FxHashMap<u64, (TrackNumber, Counter)>,
    /// How many tracks are alike but for their slot.
    alike: FxHashMap<TrackKey, u32>,
    /// By parent, and key of what is drawn together below it: the name that all of these have.
    merged: FxHashMap<(Option<u64>, Box<str>), Box<str>>,
    /// Names that belong to a key, each below a parent.
    merged_names: FxHashSet<(Option<u64>, Box<str>)>,
}

/// The process and the thread that a track belongs to, by its parents.
#[derive(Debug, Clone, Default)]
struct Owner {
    pid: Id,
    tid: Id,
}

/// A capture that may be read once more.
#[derive(Debug)]
pub(super) struct SecondPass {
    pub(super) path: PathBuf,
    /// Without progress: the first pass reports it.
    pub(super) context: ReadContext,
}

impl SecondPass {
    fn collect(self) -> Result<Descriptors, ReadError> {
        Descriptors::collect(Source::open(&self.path, &self.context)?, &self.context)
    }
}

impl PerfettoTracks {
    pub(super) fn new(second_pass: SecondPass) -> Self {
        Self { second_pass: Some(second_pass), ..Self::default() }
    }

    /// Reads a field of a packet that may be a description, and hands names and losses to the batch.
    #[inline(never)]
    pub(super) fn describe(&mut self, number: FieldNumber, bytes: &[u8], place: SourcePos, batch: &mut BatchBuilder) {
        let said = if self.second_pass.is_some() {
            &mut self.described
        } else if matches!(number, trace_packet::EXTENSION_DESCRIPTOR | trace_packet::TRANSLATION_TABLE) {
            return;
        } else {
            self.redescribed.forget();
            &mut self.redescribed
        };
        said.take_field(number, bytes, place);
        batch.batch.metadata.append(&mut said.metadata);
        batch.batch.losses.merge(&std::mem::take(&mut said.losses));
    }

    /// All descriptions of the capture: reads it from its beginning to its end, once.
    pub(super) fn all_described(&mut self) -> &Descriptors {
        if let Some(second_pass) = self.second_pass.take() {
            match second_pass.collect() {
                Ok(described) => {
                    let described = std::mem::replace(&mut self.described, described);
                    self.redescribed.pids = described.pids;
                }
                Err(error) => self.failed = Some(error),
            }
        }
        &self.described
    }

    /// Why the capture could not be read to its end.
    #[inline]
    pub(super) fn failure(&mut self) -> Option<ReadError> {
        if self.failed.is_some() { self.failed.take() } else { None }
    }

    /// The description of a uuid, from anywhere in the capture.
    pub(super) fn descriptor(&mut self, uuid: u64) -> Option<&Descriptor> {
        if self.second_pass.is_some() && !self.described.has_all_parents(uuid) {
            self.all_described();
        }
        self.described.get(uuid)
    }

    /// The types of arguments. Those of fields with these numbers are complete if the capture describes them anywhere.
    pub(super) fn schema_for(&mut self, numbers: &[FieldNumber]) -> Arc<Schema> {
        if self.second_pass.is_some() && !numbers.iter().all(|&number| self.described.schema.knows(number)) {
            self.all_described();
        }
        Arc::clone(&self.described.schema)
    }

    /// The types of messages. The one of this name is complete if the capture describes it anywhere.
    pub(super) fn schema_with_type(&mut self, name: &str) -> Arc<Schema> {
        if self.second_pass.is_some() && !self.described.schema.knows_type(name) {
            self.all_described();
        }
        Arc::clone(&self.described.schema)
    }

    /// The uuids of tracks with events below a process or a thread, and these tracks, in the
    /// order of their first events.
    pub(super) fn children(&self) -> Vec<(u64, TrackNumber)> {
        let spans = self.spans_of.iter().map(|(&uuid, &track)| (uuid, track));
        let counters = self.counters_of.iter().map(|(&uuid, &(track, _))| (uuid, track));
        let is_child =
            |&(_, track): &(u64, TrackNumber)| matches!(self.key(track).kind, TrackKind::Async | TrackKind::Counter);
        let mut children: Vec<(u64, TrackNumber)> = spans.chain(counters).filter(is_child).collect();
        // Tracks are numbered as their first events come.
        children.sort_unstable_by_key(|&(uuid, TrackNumber(number))| (number, uuid));
        children
    }

    /// The descriptions that the events needed so far.
    pub(super) fn descriptors(&self) -> &Descriptors {
        &self.described
    }

    pub(super) fn key(&self, track: TrackNumber) -> &TrackKey {
        &self.keys[track.0]
    }

    /// The number of a key, new or known.
    pub(super) fn number(&mut self, key: TrackKey) -> TrackNumber {
        *self.numbers.entry(key).or_insert_with_key(|key| {
            self.keys.push(key.clone());
            TrackNumber(self.keys.len() - 1)
        })
    }

    pub(super) fn thread(&mut self, pid: i64, tid: i64) -> TrackNumber {
        let pid = self.process_now(pid);
        self.thread_of(pid, tid)
    }

    pub(super) fn thread_of(&mut self, pid: Id, tid: i64) -> TrackNumber {
        self.number(plain(TrackKind::Thread, pid, Id::Number(tid)))
    }

    /// The process that a number means at the packet that is read.
    pub(super) fn process_now(&self, pid: i64) -> Id {
        if self.second_pass.is_some() { self.described.pids.id(pid) } else { self.redescribed.pids.id(pid) }
    }

    pub(super) fn process(&mut self, pid: Id) -> TrackNumber {
        self.number(plain(TrackKind::Process, pid, Id::None))
    }

    /// The track of the whole capture.
    pub(super) fn global(&mut self) -> TrackNumber {
        self.number(plain(TrackKind::Global, Id::None, Id::None))
    }

    /// The names that are shown instead of others.
    #[inline]
    pub(super) fn translations(&self) -> &Translations {
        &self.described.translations
    }

    /// The track of the spans of a uuid, of which `name` gives the name of the event that asks.
    #[inline]
    pub(super) fn spans<'n>(&mut self, uuid: u64, name: impl FnOnce() -> Option<&'n [u8]>) -> TrackNumber {
        match self.spans_of.get(&uuid) {
            Some(&known) => known,
            None => self.new_spans(uuid, name().unwrap_or_default()),
        }
    }

    /// The new track of a uuid, whose first event has a name.
    #[inline(never)]
    fn new_spans(&mut self, uuid: u64, first: &[u8]) -> TrackNumber {
        let descriptor = self.descriptor(uuid).cloned().unwrap_or_default();
        let track = match descriptor {
            Descriptor { thread: Some((pid, tid)), .. } => self.thread_of(pid, tid),
            Descriptor { process: Some(pid), .. } => self.process(pid),
            _ if uuid == 0 => self.global(),
            _ => {
                let Owner { pid, tid } = self.owner(uuid);
                let kind = TrackKind::Async;
                let slot = if descriptor.stands_alone { TrackKey::SLOT_ALONE } else { TrackKey::SLOT_SIBLING };
                let mut name = self.merged_name(&descriptor);
                if name.is_empty() {
                    // A track without a name has that of its first event, so that this is what may be translated.
                    let first = String::from_utf8_lossy(first);
                    name = self.described.translations.track(&first).unwrap_or_default();
                }
                let key = self.unlike(TrackKey { kind, pid, tid, name: name.into(), slot });
                self.number(key)
            }
        };
        self.spans_of.insert(uuid, track);
        track
    }

    /// The track of the values of a uuid; `name` where nothing describes it.
    #[inline]
    pub(super) fn counter(&mut self, uuid: u64, name: &str) -> (TrackNumber, Counter) {
        if let Some(&known) = self.counters_of.get(&uuid) {
            return known;
        }
        let descriptor = self.descriptor(uuid).cloned().unwrap_or_default();
        let Owner { pid, tid } = self.owner(uuid);
        let name: &str = if descriptor.name.is_empty() { name } else { &descriptor.name };
        let translated = self.described.translations.track(name);
        let name = translated.as_deref().unwrap_or(name);
        let name: Box<str> =
            if descriptor.unit.is_empty() { name.into() } else { format!("{name} ({})", descriptor.unit).into() };
        let key = self.unlike(TrackKey { kind: TrackKind::Counter, pid, tid, name: name.into(), slot: 0 });
        let counted =
            descriptor.counter.unwrap_or(Counter { is_thread_time: false, is_incremental: false, multiplier: 1 });
        let found = (self.number(key), counted);
        self.counters_of.insert(uuid, found);
        found
    }

    /// The track of a counter that has a name only.
    pub(super) fn named_counter(&mut self, pid: Id, name: &str) -> TrackNumber {
        self.number(TrackKey { kind: TrackKind::Counter, pid, tid: Id::None, name: name.into(), slot: 0 })
    }

    /// The track of a counter of a thread that has a name only.
    pub(super) fn thread_counter(&mut self, pid: i64, tid: i64, name: &str) -> TrackNumber {
        let (pid, tid) = (self.process_now(pid), Id::Number(tid));
        self.number(TrackKey { kind: TrackKind::Counter, pid, tid, name: name.into(), slot: 0 })
    }

    /// Gives a slot of its own to each of several tracks that are otherwise alike: two uuids stay two tracks.
    fn unlike(&mut self, key: TrackKey) -> TrackKey {
        let alike = self.alike.entry(key.clone()).or_default();
        let slot = key.slot.saturating_add(*alike);
        *alike += 1;
        TrackKey { slot, ..key }
    }

    /// The name of a track of spans. Tracks of one name are drawn together: so all tracks of a merge key get the name
    /// of the first of them, and those of another key a different one.
    fn merged_name(&mut self, descriptor: &Descriptor) -> Box<str> {
        let name = self.name_below(descriptor);
        if descriptor.merge_key.is_empty() {
            return name;
        }
        let (parent, key) = (descriptor.parent, descriptor.merge_key.clone());
        if let Some(known) = self.merged.get(&(parent, key.clone())) {
            return known.clone();
        }
        let is_free = self.merged_names.insert((parent, name.clone()));
        let name = if is_free { name } else { format!("{name} ({key})").into() };
        self.merged.insert((parent, key), name.clone());
        name
    }

    /// The names of a track of spans and of the tracks above it, up to its thread or process. Spans of one name share
    /// rows, and the queues of two devices are not one.
    fn name_below(&self, descriptor: &Descriptor) -> Box<str> {
        let translated = self.described.translations.track(&descriptor.name);
        let mut path = translated.unwrap_or_else(|| descriptor.name.clone());
        let mut last = &descriptor.name;
        let mut next = descriptor.parent;
        for _ in 0..NAMED_PARENTS_MAX {
            let Some(parent) = next.and_then(|uuid| self.described.get(uuid)) else { break };
            if parent.thread.is_some() || parent.process.is_some() {
                break;
            }
            // A track below one of the same name adds nothing to the path.
            if !path.is_empty() && !parent.name.is_empty() && parent.name != *last {
                path = format!("{} / {path}", parent.name).into();
                last = &parent.name;
            }
            next = parent.parent;
        }
        path
    }

    fn owner(&self, uuid: u64) -> Owner {
        let mut next = Some(uuid);
        for _ in 0..PARENTS_MAX {
            let Some(descriptor) = next.and_then(|uuid| self.described.get(uuid)) else { break };
            if let Some((pid, tid)) = descriptor.thread.clone() {
                return Owner { pid, tid: Id::Number(tid) };
            }
            if let Some(pid) = descriptor.process.clone() {
                return Owner { pid, tid: Id::None };
            }
            next = descriptor.parent;
        }
        Owner::default()
    }
}

impl BatchBuilder {
    /// The row of a track.
    #[inline]
    pub(super) fn track(&mut self, track: TrackNumber, tracks: &PerfettoTracks) -> TrackIdx {
        self.numbered_track(track.0, || tracks.key(track).clone())
    }
}

fn plain(kind: TrackKind, pid: Id, tid: Id) -> TrackKey {
    TrackKey { kind, pid, tid, name: Arc::default(), slot: 0 }
}
