//! Maps track uuids to track keys, and numbers the keys.

use std::path::PathBuf;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::descriptors::{CounterDescriptor, Descriptor, Descriptors, PARENTS_MAX, track_uuid};
use super::fields::trace_packet;
use super::pids::Pids;
use super::schema::Schema;
use super::translations::Translations;
use crate::formats::input::source::Source;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::protobuf::numbers::FieldNumber;
use crate::formats::{ReadContext, ReadError};
use crate::model::{Id, Metadata, PATH_SEPARATOR, SourcePos, TrackIdx, TrackKey, TrackKind};

/// Limit for the components of a track name.
const NAMED_PARENTS_MAX: usize = 8;

/// Number of a track across all batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TrackNumber(pub(super) usize);

/// The tracks that have events, numbered across all batches.
#[derive(Debug, Default)]
pub(super) struct PerfettoTracks {
    described: Descriptors,
    later: LaterDescriptors,
    /// Tracks of a live trace that had events before the descriptor of themselves or of a parent, by the uuid that it
    /// will have.
    awaiting: FxHashMap<u64, Vec<u64>>,
    /// Error of the second pass.
    failed: Option<ReadError>,
    /// Scratch for the descriptors after a second pass, which has read them already: only names and losses are used.
    redescribed: Descriptors,
    keys: Vec<TrackKey>,
    numbers: FxHashMap<TrackKey, TrackNumber>,
    spans_of: FxHashMap<u64, TrackNumber>,
    states_of: FxHashMap<u64, TrackNumber>,
    counters_of: FxHashMap<u64, (TrackNumber, CounterDescriptor)>,
    /// Units of counters that are new since the previous batch.
    new_units: Vec<Metadata>,
    /// Number of tracks of each key, which differ only by slot.
    alike: FxHashMap<TrackKey, u32>,
    /// Name of each merge group, by parent and merge key.
    merged: FxHashMap<(Option<u64>, Box<str>), Box<str>>,
    /// Counters and queues of GPUs, which have any name.
    of_gpu: FxHashSet<TrackNumber>,
    /// Names of merge groups, by parent.
    merged_names: FxHashSet<(Option<u64>, Box<str>)>,
}

/// Process and thread of a track, from its parents.
#[derive(Debug, Clone, Default)]
struct Owner {
    pid: Id,
    tid: Id,
}

/// Descriptors after the current packet.
#[derive(Debug, Default)]
pub(super) enum LaterDescriptors {
    /// Known: all have been collected.
    #[default]
    Known,
    /// A second pass collects them once a packet needs one.
    Unread(SecondPass),
    /// Not written yet, in a live trace. The events before a descriptor are on a track without a process.
    Unknown,
}

/// A trace that may be read again.
#[derive(Debug)]
pub(super) struct SecondPass {
    pub(super) path: PathBuf,
    /// Has no progress, since the first pass reports it.
    pub(super) context: ReadContext,
}

impl SecondPass {
    fn collect(self) -> Result<Descriptors, ReadError> {
        Descriptors::collect(Source::open(&self.path, &self.context)?, &self.context)
    }
}

impl PerfettoTracks {
    pub(super) fn new(later: LaterDescriptors) -> Self {
        Self { later, ..Self::default() }
    }

    /// Returns whether the descriptors of the current packet must be collected.
    #[inline]
    fn collects(&self) -> bool {
        !matches!(self.later, LaterDescriptors::Known)
    }

    /// Handles a field of a packet that may be a descriptor, and adds names and losses to the batch.
    #[inline(never)]
    pub(super) fn describe(&mut self, number: FieldNumber, bytes: &[u8], pos: SourcePos, batch: &mut BatchBuilder) {
        let descriptors = if self.collects() {
            &mut self.described
        } else if matches!(number, trace_packet::EXTENSION_DESCRIPTOR | trace_packet::TRANSLATION_TABLE) {
            return;
        } else {
            self.redescribed.forget();
            &mut self.redescribed
        };
        descriptors.read_field(number, bytes, pos);
        batch.extend_metadata(descriptors.metadata.drain(..));
        batch.losses().merge(&std::mem::take(&mut descriptors.losses));
        if number == trace_packet::TRACK_DESCRIPTOR {
            self.redirect(bytes);
        }
    }

    /// Returns the descriptors of the whole trace; runs the second pass on the first call.
    pub(super) fn all_described(&mut self) -> &Descriptors {
        if matches!(self.later, LaterDescriptors::Unread(_))
            && let LaterDescriptors::Unread(second_pass) = std::mem::take(&mut self.later)
        {
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

    /// Returns the error of the second pass, once.
    #[inline]
    pub(super) fn failure(&mut self) -> Option<ReadError> {
        if self.failed.is_some() { self.failed.take() } else { None }
    }

    /// Returns whether no later descriptor changes the track of a uuid. A live trace may still describe it or a parent.
    pub(super) fn is_settled(&self, uuid: u64) -> bool {
        !matches!(self.later, LaterDescriptors::Unknown) || self.described.has_all_parents(uuid)
    }

    /// Remembers which descriptor a live trace may still write for a track.
    fn expect_descriptor(&mut self, uuid: u64) {
        if matches!(self.later, LaterDescriptors::Unknown)
            && let Some(missing) = self.described.missing_ancestor(uuid)
        {
            self.awaiting.entry(missing).or_default().push(uuid);
        }
    }

    /// Forgets the tracks that had events before this descriptor, so that the next events get the right ones.
    fn redirect(&mut self, descriptor: &[u8]) {
        if self.awaiting.is_empty() {
            return;
        }
        for uuid in self.awaiting.remove(&track_uuid(descriptor)).into_iter().flatten() {
            self.spans_of.remove(&uuid);
            self.states_of.remove(&uuid);
            self.counters_of.remove(&uuid);
        }
    }

    /// Returns the descriptor of a uuid, from anywhere in the trace.
    pub(super) fn descriptor(&mut self, uuid: u64) -> Option<&Descriptor> {
        if self.collects() && !self.described.has_all_parents(uuid) {
            self.all_described();
        }
        self.described.get(uuid)
    }

    /// Returns the argument types. The types of the given fields include later descriptors of the trace.
    pub(super) fn schema_for(&mut self, numbers: &[FieldNumber]) -> Arc<Schema> {
        if self.collects() && !numbers.iter().all(|&number| self.described.schema.knows(number)) {
            self.all_described();
        }
        Arc::clone(&self.described.schema)
    }

    /// Returns the message types; the one of this name includes later descriptors of the trace.
    pub(super) fn schema_with_type(&mut self, name: &str) -> Arc<Schema> {
        if self.collects() && !self.described.schema.knows_type(name) {
            self.all_described();
        }
        Arc::clone(&self.described.schema)
    }

    /// Returns the child tracks of processes and threads that have events, in the order of their first events.
    pub(super) fn children(&self) -> Vec<(u64, TrackNumber)> {
        let spans = self.spans_of.iter().chain(&self.states_of).map(|(&uuid, &track)| (uuid, track));
        let counters = self.counters_of.iter().map(|(&uuid, &(track, _))| (uuid, track));
        let is_child =
            |&(_, track): &(u64, TrackNumber)| matches!(self.key(track).kind, TrackKind::Async | TrackKind::Counter);
        let mut children: Vec<(u64, TrackNumber)> = spans.chain(counters).filter(is_child).collect();
        // Tracks are numbered in the order of their first events.
        children.sort_unstable_by_key(|&(uuid, TrackNumber(number))| (number, uuid));
        children
    }

    /// Returns the async tracks and counters without a process, and whether they belong to a GPU.
    pub(super) fn global_tracks(&self) -> impl Iterator<Item = (TrackNumber, bool)> {
        let is_global = |key: &TrackKey| {
            key.pid == Id::None && key.tid == Id::None && matches!(key.kind, TrackKind::Async | TrackKind::Counter)
        };
        let all = (0..).map(TrackNumber).zip(&self.keys).filter(move |(_, key)| is_global(key));
        all.map(|(track, _)| (track, self.of_gpu.contains(&track)))
    }

    /// Marks a counter or a queue as part of a GPU.
    pub(super) fn mark_as_gpu(&mut self, track: TrackNumber) {
        self.of_gpu.insert(track);
    }

    /// Returns the descriptors collected so far.
    pub(super) fn descriptors(&self) -> &Descriptors {
        &self.described
    }

    pub(super) fn key(&self, track: TrackNumber) -> &TrackKey {
        &self.keys[track.0]
    }

    /// Returns the number of a key, adding it if needed.
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

    /// Returns the thread of samples. A profile without times has a separate track.
    pub(super) fn sampled_thread(&mut self, pid: i64, tid: i64, is_untimed: bool) -> TrackNumber {
        let track = self.thread(pid, tid);
        if !is_untimed {
            return track;
        }
        self.number(TrackKey { slot: TrackKey::SLOT_UNTIMED, ..self.key(track).clone() })
    }

    pub(super) fn thread_of(&mut self, pid: Id, tid: i64) -> TrackNumber {
        let tid = self.pids_now().thread_id(tid);
        self.number(TrackKey::thread(pid, tid))
    }

    /// Returns the process of a pid at the current packet.
    pub(super) fn process_now(&self, pid: i64) -> Id {
        self.pids_now().id(pid)
    }

    fn pids_now(&self) -> &Pids {
        if self.collects() { &self.described.pids } else { &self.redescribed.pids }
    }

    pub(super) fn process(&mut self, pid: Id) -> TrackNumber {
        self.number(TrackKey::new(TrackKind::Process, pid, Id::None))
    }

    /// Returns the track of events that belong to no process.
    pub(super) fn global(&mut self) -> TrackNumber {
        self.number(TrackKey::new(TrackKind::Global, Id::None, Id::None))
    }

    /// Returns the table of replaced names.
    #[inline]
    pub(super) fn translations(&self) -> &Translations {
        &self.described.translations
    }

    /// Returns the span track of a uuid; `name` returns the name of the current event.
    #[inline]
    pub(super) fn spans<'n>(&mut self, uuid: u64, name: impl FnOnce() -> Option<&'n [u8]>) -> TrackNumber {
        match self.spans_of.get(&uuid) {
            Some(&track) => track,
            None => self.new_spans(uuid, name().unwrap_or_default()),
        }
    }

    /// Adds the span track of a uuid, given the name of its first event.
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
                    // A track without a name is named after its first event if that name is translated.
                    let first = String::from_utf8_lossy(first);
                    name = self.described.translations.track(&first).unwrap_or_default();
                }
                let key = self.unlike(TrackKey { kind, pid, tid, name: name.into(), slot });
                self.number(key)
            }
        };
        self.spans_of.insert(uuid, track);
        self.expect_descriptor(uuid);
        track
    }

    /// Returns the track for the states of a uuid. It has no other events but their flows, and is never merged with
    /// tracks of its name.
    pub(super) fn states(&mut self, uuid: u64) -> TrackNumber {
        if let Some(&track) = self.states_of.get(&uuid) {
            return track;
        }
        let descriptor = self.descriptor(uuid).cloned().unwrap_or_default();
        let Owner { pid, tid } = self.owner(uuid);
        let (kind, slot) = (TrackKind::Async, TrackKey::SLOT_ALONE);
        let name = self.name_below(&descriptor);
        let key = self.unlike(TrackKey { kind, pid, tid, name: name.into(), slot });
        let track = self.number(key);
        self.states_of.insert(uuid, track);
        self.expect_descriptor(uuid);
        track
    }

    /// Returns the counter track of a uuid; `name` is used if it has no descriptor.
    #[inline]
    pub(super) fn counter(&mut self, uuid: u64, name: &str) -> (TrackNumber, CounterDescriptor) {
        if let Some(&counter) = self.counters_of.get(&uuid) {
            return counter;
        }
        let descriptor = self.descriptor(uuid).cloned().unwrap_or_default();
        let Owner { pid, tid } = self.owner(uuid);
        let name: &str = if descriptor.name.is_empty() { name } else { &descriptor.name };
        let translated = self.described.translations.track(name);
        let name = translated.as_deref().unwrap_or(name);
        let key = self.unlike(TrackKey { kind: TrackKind::Counter, pid, tid, name: name.into(), slot: 0 });
        let counted = descriptor.counter.unwrap_or(CounterDescriptor {
            is_thread_time: false,
            is_incremental: false,
            multiplier: 1,
        });
        let counter = (self.counter_number(key, &descriptor.unit), counted);
        self.counters_of.insert(uuid, counter);
        self.expect_descriptor(uuid);
        counter
    }

    /// Returns the track of a counter with a name and possibly a unit.
    pub(super) fn named_counter(&mut self, pid: Id, name: &str, unit: &str) -> TrackNumber {
        let key = TrackKey { kind: TrackKind::Counter, pid, tid: Id::None, name: name.into(), slot: 0 };
        self.counter_number(key, unit)
    }

    /// Returns the track of a counter of a thread with a name and possibly a unit.
    pub(super) fn thread_counter(&mut self, pid: i64, tid: i64, name: &str, unit: &str) -> TrackNumber {
        let (pid, tid) = (self.process_now(pid), self.pids_now().thread_id(tid));
        self.counter_number(TrackKey { kind: TrackKind::Counter, pid, tid, name: name.into(), slot: 0 }, unit)
    }

    /// Returns the number of a counter's key. The unit is recorded if the key is new.
    fn counter_number(&mut self, key: TrackKey, unit: &str) -> TrackNumber {
        let keys_before = self.keys.len();
        let number = self.number(key);
        if self.keys.len() > keys_before && !unit.is_empty() {
            self.new_units.push(Metadata::CounterUnit { key: self.key(number).clone(), unit: unit.into() });
        }
        number
    }

    /// Returns the units of the counters that are new since the last call.
    pub(super) fn take_units(&mut self) -> Vec<Metadata> {
        std::mem::take(&mut self.new_units)
    }

    /// Makes the key unique by its slot, so that two uuids stay two tracks.
    fn unlike(&mut self, key: TrackKey) -> TrackKey {
        let alike = self.alike.entry(key.clone()).or_default();
        let slot = key.slot.saturating_add(*alike);
        *alike += 1;
        TrackKey { slot, ..key }
    }

    /// Returns the name of a span track. Tracks of the same name are merged. So all tracks of a merge key get the name
    /// of the first track, and tracks of another key a different name.
    fn merged_name(&mut self, descriptor: &Descriptor) -> Box<str> {
        let name = self.name_below(descriptor);
        if descriptor.merge_key.is_empty() {
            return name;
        }
        let (parent, key) = (descriptor.parent, descriptor.merge_key.clone());
        if let Some(merged_name) = self.merged.get(&(parent, key.clone())) {
            return merged_name.clone();
        }
        let is_free = self.merged_names.insert((parent, name.clone()));
        let name = if is_free { name } else { format!("{name} ({key})").into() };
        self.merged.insert((parent, key), name.clone());
        name
    }

    /// Returns the name of a span track, prefixed by the names of its parents below the thread or process. Otherwise
    /// queues of the same name on two devices would be merged.
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
            // A parent with the same name adds nothing.
            if !path.is_empty() && !parent.name.is_empty() && parent.name != *last {
                path = format!("{}{PATH_SEPARATOR}{path}", parent.name).into();
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
                return Owner { pid, tid: self.pids_now().thread_id(tid) };
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
    /// Returns the row of a track.
    #[inline]
    pub(super) fn track(&mut self, track: TrackNumber, tracks: &PerfettoTracks) -> TrackIdx {
        self.numbered_track(track.0, || tracks.key(track).clone())
    }
}
