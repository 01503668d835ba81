//! Processes, threads and tracks, with names and sort indices of the trace.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::counter_unit::unit_in_name;
use super::modules::{MODULES_MAX, Module};
use super::shared_texts::SharedTexts;
use super::unwind::UnwoundModule;

/// A row of [`TrackTables::tracks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Pod, Zeroable, Serialize, Deserialize)]
#[repr(transparent)]
pub struct TrackIdx(pub u32);

/// A row of [`TrackTables::processes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Pod, Zeroable, Serialize, Deserialize)]
#[repr(transparent)]
pub struct ProcessIdx(pub u32);

impl TrackIdx {
    /// Returns the index as a position in an array.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl ProcessIdx {
    /// Returns the index as a position in an array.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A process or thread id as in the trace. It is never truncated to 32 bits, which could merge two threads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum Id {
    /// The trace has no id.
    #[default]
    None,
    /// A number of up to 64 bits.
    Number(i64),
    /// Any other text, or a number beyond 64 bits.
    Text(IdText),
}

impl Id {
    /// Returns whether it is this number, even if the name of a file follows it.
    #[must_use]
    pub(crate) fn is_number(&self, number: i64) -> bool {
        match self {
            Self::None => false,
            Self::Number(id_number) => *id_number == number,
            Self::Text(text) => text.split_once(" in ").is_some_and(|(id, _)| id.parse() == Ok(number)),
        }
    }
}

/// The text of an [`Id`], in one machine word: a trace with a million threads stores four ids for each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct IdText(Arc<Box<str>>);

const _: () = assert!(size_of::<Id>() == 16);

impl<T: Into<Box<str>>> From<T> for IdText {
    fn from(text: T) -> Self {
        Self(Arc::new(text.into()))
    }
}

impl std::ops::Deref for IdText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for IdText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// The kind of a track's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TrackKind {
    /// Events of the whole trace.
    Global,
    /// Events of a process.
    Process,
    /// Spans and instants of a thread.
    Thread,
    /// Async spans. In a [`Batch`](super::Batch), all of a category; after the sort, at most one tree of one name at a
    /// time.
    Async,
    /// Values of a counter.
    Counter,
    /// Samples of the track with the same ids, converted to spans. Derived, not recorded.
    Samples,
    /// Threads running on a CPU; its number is the `tid` and the `slot`.
    Cpu,
    /// Scheduler states of the thread with the same ids.
    State,
}

impl TrackKind {
    /// Returns whether the rows are derived from another track for display. They are not events of the trace, so they
    /// are not counted, listed or exported.
    #[must_use]
    pub(crate) fn is_derived(self) -> bool {
        self == Self::Samples
    }
}

/// The identity of a track during a load.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TrackKey {
    /// Kind of its rows.
    pub kind: TrackKind,
    /// Id of its process.
    pub pid: Id,
    /// Id of its thread, for [`TrackKind::Thread`].
    pub tid: Id,
    /// Name of the counter or the async group, or the event of samples if there are several. Empty for other tracks,
    /// which [`Metadata`] names.
    pub name: Arc<str>,
    /// Distinguishes tracks that are otherwise equal, such as concurrent async trees of one name.
    pub slot: u32,
}

impl TrackKey {
    /// In a [`Batch`](super::Batch), the first slot of async tracks that are named by their key or their first event.
    /// They are laid out together with others of that name in their process.
    pub(crate) const SLOT_SIBLING: u32 = 1 << 30;
    /// The first slot of async tracks that share no row with others.
    pub(crate) const SLOT_ALONE: u32 = 1 << 31;
    /// A thread of a profile without times. A sample is as wide as its weight; the reader assigns its time.
    pub(crate) const SLOT_UNTIMED: u32 = 1;
    /// An async track with async ids, whose trees have the name of the track and not of their first event.
    pub(crate) const SLOT_NAMED: u32 = Self::SLOT_ALONE + 1;
}

/// A process of the trace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Process {
    /// Process id.
    pub pid: Id,
    /// Process name; empty if the trace has none.
    pub name: Box<str>,
    /// Labels of the process, displayed after its name.
    pub labels: Box<str>,
    /// Sort index among the processes.
    pub sort_index: i64,
    /// File of the process, for a trace of several files.
    pub(crate) file: Option<Arc<str>>,
}

/// A track of the trace, which the ingest splits into lanes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Track {
    /// Identity of the track.
    pub key: TrackKey,
    /// Process of the track.
    pub process: ProcessIdx,
    /// Name of the thread, counter or async group; empty if the trace has none.
    pub name: Arc<str>,
    /// Sort index among the tracks of its process.
    pub sort_index: i64,
}

/// Facts about processes and threads, in trace order: the last one wins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what the variants say")]
pub enum Metadata {
    /// Name of a process.
    ProcessName { pid: Id, name: Box<str> },
    /// File of a process, for a trace of several files.
    ProcessFile { pid: Id, file: Arc<str> },
    /// Labels of a process.
    ProcessLabels { pid: Id, labels: Box<str> },
    /// Sort index of a process.
    ProcessSortIndex { pid: Id, sort_index: i64 },
    /// Name of a thread.
    ThreadName { pid: Id, tid: Id, name: Box<str> },
    /// The kernel's name (comm) of a thread, used if it has no other name.
    KernelName { pid: Id, tid: Id, name: Box<str> },
    /// The process of a thread whose process was unknown. Its earlier events and names are those of process `before`.
    /// The tracks of its own batch are in the new process, so it is applied before they are added.
    ThreadProcess { tid: Id, before: Id, pid: Id },
    /// Sort index of a thread.
    ThreadSortIndex { pid: Id, tid: Id, sort_index: i64 },
    /// Sort index of a track other than a thread's.
    TrackSortIndex { key: TrackKey, sort_index: i64 },
    /// The unit of the values of a counter.
    CounterUnit { key: TrackKey, unit: Arc<str> },
    /// Offset from times to UTC nanoseconds since 1970. The first one wins, because clocks drift.
    Utc { offset_ns: i64 },
    /// A module with sampled code.
    Module { module: Box<Module> },
    /// A module that stacks were unwound with.
    Unwound { module: Box<UnwoundModule> },
}

impl Metadata {
    /// Returns whether it moves tracks, which must happen before those of its batch are added.
    pub(crate) fn is_move(&self) -> bool {
        matches!(self, Self::ThreadProcess { .. })
    }
}

/// The processes and tracks of a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrackTables {
    /// Processes in order of first appearance.
    pub processes: Vec<Process>,
    /// Tracks in order of first appearance; each refers to a row of `processes`.
    pub tracks: Vec<Track>,
    /// Offset from times to UTC nanoseconds since 1970, if known.
    pub(crate) utc_offset_ns: Option<i64>,
    /// Modules with sampled code, in order of first appearance.
    pub(crate) modules: Vec<Module>,
    /// Modules that stacks were unwound with, or whose files were missing.
    pub(crate) unwound: Vec<UnwoundModule>,
    /// Units of counters that the trace states; for all counters see [`Self::unit`].
    pub(crate) units: BTreeMap<TrackIdx, Arc<str>>,
}

impl TrackTables {
    /// Returns the unit of a counter, as stated by the trace or in its name. Empty if it has none.
    #[must_use]
    pub(crate) fn unit(&self, track: TrackIdx) -> &str {
        if let Some(unit) = self.units.get(&track) {
            return unit;
        }
        let counter = self.tracks.get(track.index()).filter(|track| track.key.kind == TrackKind::Counter);
        counter.and_then(|counter| unit_in_name(&counter.name)).unwrap_or_default()
    }

    /// Returns the name of a track with its unit in brackets, for formats without a field for it: `MemFree (bytes)`.
    #[must_use]
    pub(crate) fn name_with_unit(&self, track: TrackIdx) -> Cow<'_, str> {
        let name = self.tracks.get(track.index()).map_or("", |track| &*track.name);
        match self.units.get(&track) {
            Some(unit) if unit_in_name(name) != Some(unit) => Cow::Owned(format!("{name} ({unit})")),
            _ => Cow::Borrowed(name),
        }
    }
}

/// Kinds and slots of tracks that have the process, name and sort index of their thread.
pub(crate) const OF_THREAD: [(TrackKind, u32); 3] =
    [(TrackKind::Thread, 0), (TrackKind::State, 0), (TrackKind::Thread, TrackKey::SLOT_UNTIMED)];

/// Collects processes and tracks during a load, and assigns each a stable index.
///
/// A trace may have millions of either, so the hash tables store indices only and hash the rows of the tables. This
/// takes about 6 bytes per row; a map with owned keys takes 100.
#[derive(Debug, Clone)]
pub struct Registry {
    tables: TrackTables,
    process_index: HashTable<ProcessIdx>,
    track_index: HashTable<TrackIdx>,
    /// Metadata of threads, including threads without events.
    threads: Vec<ThreadMetadata>,
    /// Hash table of the rows of `threads`.
    thread_index: HashTable<u32>,
    /// Sort indices of tracks that have no event yet.
    orders: FxHashMap<TrackKey, i64>,
    /// The units of counters that have had no event yet.
    units: FxHashMap<TrackKey, Arc<str>>,
    /// Processes that a thread was moved from. They are dropped at the end of a load if they have no other track.
    left_processes: FxHashSet<ProcessIdx>,
    /// Names of threads and of derived tracks, many of which may have the same.
    track_names: SharedTexts,
    /// Maximum index of a track, a process, or a row of `threads`.
    index_max: u32,
    over_limit: u64,
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            tables: TrackTables::default(),
            process_index: HashTable::new(),
            track_index: HashTable::new(),
            threads: Vec::new(),
            thread_index: HashTable::new(),
            orders: FxHashMap::default(),
            units: FxHashMap::default(),
            left_processes: FxHashSet::default(),
            track_names: SharedTexts::default(),
            index_max: u32::MAX - 1,
            over_limit: 0,
        }
    }
}

/// Names and sort index of a thread.
#[derive(Debug, Clone, Default)]
struct ThreadMetadata {
    pid: Id,
    tid: Id,
    name: Option<Arc<str>>,
    kernel_name: Option<Arc<str>>,
    sort_index: Option<i64>,
}

impl ThreadMetadata {
    /// Sets the name and sort index of a track of the thread.
    fn apply_to(&self, track: &mut Track) {
        if let Some(name) = self.name.as_ref().or(self.kernel_name.as_ref()) {
            track.name.clone_from(name);
        }
        track.sort_index = self.sort_index.unwrap_or(track.sort_index);
    }

    /// Returns whether its number is that of its process.
    fn is_main(&self) -> bool {
        self.pid == self.tid || matches!(self.tid, Id::Number(tid) if self.pid.is_number(tid))
    }

    fn is_of(&self, pid: &Id, tid: &Id) -> bool {
        (&self.pid, &self.tid) == (pid, tid)
    }

    fn hash(&self) -> u64 {
        hash(&(&self.pid, &self.tid))
    }
}

impl Registry {
    /// Creates a registry with these tables, to which it adds.
    #[must_use]
    pub fn from_tables(tables: TrackTables) -> Self {
        Self { tables, ..Self::default() }
    }

    /// Returns the tables and drops the hash tables.
    #[must_use]
    pub fn into_tables(self) -> TrackTables {
        self.tables
    }

    /// Drops the metadata of threads, after all of it was applied, and the hash tables. They are rebuilt if a track is
    /// looked up, which most sorts do not need.
    pub(crate) fn drop_metadata(&mut self) {
        self.name_processes();
        self.drop_left_processes();
        let Self { index_max, over_limit, .. } = *self;
        let tables = std::mem::take(&mut self.tables);
        *self = Self { tables, index_max, over_limit, ..Self::default() };
    }

    /// Names unnamed processes like their main threads, which have the same number, by the kernel's name.
    fn name_processes(&mut self) {
        self.index_processes();
        let processes = &mut self.tables.processes;
        for ThreadMetadata { pid, kernel_name, .. } in self.threads.iter().filter(|thread| thread.is_main()) {
            let is_same = |process: &ProcessIdx| processes[process.index()].pid == *pid;
            let process = self.process_index.find(hash(pid), is_same).map(|process| &mut processes[process.index()]);
            if let (Some(process), Some(name)) = (process.filter(|process| process.name.is_empty()), kernel_name) {
                process.name = (&**name).into();
            }
        }
    }

    /// Returns the tables as they are if no more metadata comes.
    pub(crate) fn named_tables(&mut self) -> TrackTables {
        let unnamed = self.tables.processes.clone();
        self.name_processes();
        TrackTables { processes: std::mem::replace(&mut self.tables.processes, unnamed), ..self.tables.clone() }
    }

    /// Creates a registry with this maximum index.
    #[cfg(test)]
    pub(crate) fn with_limit(index_max: u32) -> Self {
        Self { index_max, ..Self::default() }
    }

    /// Returns the number of processes and metadata that were dropped because all indices are in use. For tracks,
    /// callers count the events.
    #[must_use]
    pub(crate) fn over_limit(&self) -> u64 {
        self.over_limit
    }

    /// Removes the tracks from `count` on, for a sort that restarts: it adds tracks and no processes.
    pub(crate) fn truncate_tracks(&mut self, count: usize) {
        if count < self.tables.tracks.len() {
            self.tables.tracks.truncate(count);
            self.tables.units.retain(|track, _| track.index() < count);
            self.track_index = HashTable::new();
        }
    }

    /// Returns the index of the track with this key, which is added if it is new. Returns `None` for a new one if all
    /// indices are in use.
    pub fn track(&mut self, key: &TrackKey) -> Option<TrackIdx> {
        self.index_tracks();
        if let Some(track) = self.find_track(key) {
            return Some(track);
        }
        let index = TrackIdx(next_index(self.tables.tracks.len(), self.index_max)?);
        let process = self.process(&key.pid)?;
        let mut track = Track { key: key.clone(), process, name: key.name.clone(), sort_index: 0 };
        if OF_THREAD.contains(&(key.kind, key.slot))
            && let Some(thread) = self.find_thread(&key.pid, &key.tid)
        {
            self.threads[thread].apply_to(&mut track);
        }
        if let Some(sort_index) = self.orders.remove(key) {
            track.sort_index = sort_index;
        }
        if let Some(unit) = self.units.remove(key) {
            self.tables.units.insert(index, unit);
        }
        self.tables.tracks.push(track);
        let tracks = &self.tables.tracks;
        self.track_index.insert_unique(hash(key), index, |track| hash(&tracks[track.index()].key));
        Some(index)
    }

    /// Returns the index of the track with rows derived from `source`, or from a non-empty `part` of it; adds it if it
    /// is new. Sets its name. `None` as in [`Self::track`].
    pub(crate) fn derived(&mut self, source: TrackIdx, kind: TrackKind, part: &str, name: &str) -> Option<TrackIdx> {
        let track = self.tables.tracks.get(source.index())?;
        let (mut key, sort_index) = (TrackKey { kind, ..track.key.clone() }, track.sort_index);
        if !part.is_empty() {
            key.name = self.track_names.share(part);
        }
        let derived = self.track(&key)?;
        let name = self.track_names.share(name);
        let track = &mut self.tables.tracks[derived.index()];
        (track.name, track.sort_index) = (name, sort_index);
        Some(derived)
    }

    /// Returns the index of the process with this id, which is added if it is new. Returns `None` for a new one if all
    /// indices are in use.
    pub(crate) fn process(&mut self, pid: &Id) -> Option<ProcessIdx> {
        self.index_processes();
        let processes = &mut self.tables.processes;
        let is_known = |process: &ProcessIdx| processes[process.index()].pid == *pid;
        match self.process_index.entry(hash(pid), is_known, |process| hash(&processes[process.index()].pid)) {
            Entry::Occupied(entry) => Some(*entry.get()),
            Entry::Vacant(place) => {
                let index = ProcessIdx(next_index(processes.len(), self.index_max)?);
                place.insert(index);
                processes.push(Process { pid: pid.clone(), ..Process::default() });
                Some(index)
            }
        }
    }

    /// Returns the file of a track, for a trace of several files.
    #[must_use]
    pub(crate) fn file_of(&self, track: TrackIdx) -> Option<&Arc<str>> {
        let track = self.tables.tracks.get(track.index())?;
        self.tables.processes.get(track.process.index())?.file.as_ref()
    }

    /// Applies a fact about a process or a thread.
    pub(crate) fn apply(&mut self, metadata: &Metadata) {
        self.index_tracks();
        match metadata {
            Metadata::ProcessName { pid, name } => self.change_process(pid, |process| process.name = name.clone()),
            Metadata::ProcessFile { pid, file } => {
                self.change_process(pid, |process| process.file = Some(Arc::clone(file)));
            }
            Metadata::ProcessLabels { pid, labels } => {
                self.change_process(pid, |process| process.labels = labels.clone());
            }
            Metadata::ProcessSortIndex { pid, sort_index } => {
                self.change_process(pid, |process| process.sort_index = *sort_index);
            }
            Metadata::ThreadName { pid, tid, name } => {
                let name = self.track_names.share(name);
                self.apply_to_thread(pid, tid, |thread| thread.name = Some(name));
            }
            Metadata::KernelName { pid, tid, name } => {
                let name = self.track_names.share(name);
                self.apply_to_thread(pid, tid, |thread| thread.kernel_name = Some(name));
            }
            Metadata::ThreadProcess { tid, before, pid } => self.move_thread(tid, before, pid),
            Metadata::ThreadSortIndex { pid, tid, sort_index } => {
                self.apply_to_thread(pid, tid, |thread| thread.sort_index = Some(*sort_index));
            }
            Metadata::TrackSortIndex { key, sort_index } => match self.find_track(key) {
                Some(track) => self.tables.tracks[track.index()].sort_index = *sort_index,
                None => drop(self.orders.insert(key.clone(), *sort_index)),
            },
            Metadata::CounterUnit { key, unit } => match self.find_track(key) {
                Some(track) => drop(self.tables.units.insert(track, Arc::clone(unit))),
                None => drop(self.units.insert(key.clone(), Arc::clone(unit))),
            },
            Metadata::Utc { offset_ns } => {
                self.tables.utc_offset_ns.get_or_insert(*offset_ns);
            }
            Metadata::Module { module } => self.add_module(module),
            Metadata::Unwound { module } => self.add_unwound(module),
        }
    }

    /// Moves the tracks of a thread to another process, unless that has its own tracks of the thread.
    fn move_thread(&mut self, tid: &Id, before: &Id, pid: &Id) {
        for (kind, slot) in OF_THREAD {
            let old_key = TrackKey { kind, pid: before.clone(), tid: tid.clone(), name: Arc::default(), slot };
            let new_key = TrackKey { pid: pid.clone(), ..old_key.clone() };
            let Some(track) = self.find_track(&old_key).filter(|_| self.find_track(&new_key).is_none()) else {
                continue;
            };
            let Some(process) = self.process(pid) else {
                self.over_limit += 1;
                return;
            };
            if let Ok(entry) = self.track_index.find_entry(hash(&old_key), |other| *other == track) {
                entry.remove();
            }
            let moved = &mut self.tables.tracks[track.index()];
            self.left_processes.insert(moved.process);
            (moved.key, moved.process) = (new_key, process);
            let tracks = &self.tables.tracks;
            let key = &tracks[track.index()].key;
            self.track_index.insert_unique(hash(key), track, |track| hash(&tracks[track.index()].key));
        }
        if let Some(thread) = self.find_thread(before, tid) {
            let thread = &mut self.threads[thread];
            let (name, kernel_name) = (thread.name.take(), thread.kernel_name.take());
            self.apply_to_thread(pid, tid, |thread| {
                thread.name = thread.name.take().or(name);
                thread.kernel_name = thread.kernel_name.take().or(kernel_name);
            });
        }
    }

    /// Drops the processes that threads were moved from and that have no tracks.
    fn drop_left_processes(&mut self) {
        let mut empty = std::mem::take(&mut self.left_processes);
        self.tables.tracks.iter().for_each(|track| _ = empty.remove(&track.process));
        if empty.is_empty() {
            return;
        }
        let mut new_index = Vec::with_capacity(self.tables.processes.len());
        let mut kept = 0;
        for index in (0..).map(ProcessIdx).take(self.tables.processes.len()) {
            new_index.push(ProcessIdx(kept));
            kept += u32::from(!empty.contains(&index));
        }
        let mut index = (0..).map(ProcessIdx);
        self.tables.processes.retain(|_| index.next().is_none_or(|index| !empty.contains(&index)));
        self.tables.tracks.iter_mut().for_each(|track| track.process = new_index[track.process.index()]);
    }

    /// Adds a module, or merges its description from another file of the trace. Modules beyond the maximum are dropped:
    /// frames without a module remain unsymbolized.
    fn add_module(&mut self, module: &Module) {
        let modules = &mut self.tables.modules;
        if let Some(existing_module) = modules.iter_mut().find(|other| other.category == module.category) {
            existing_module.merge(module);
        } else if modules.len() < MODULES_MAX {
            modules.push(module.clone());
        }
    }

    /// Adds a module that stacks were unwound with. A change of modules beyond the maximum does not cause a reload.
    fn add_unwound(&mut self, module: &UnwoundModule) {
        let unwound = &mut self.tables.unwound;
        if unwound.len() < MODULES_MAX && !unwound.contains(module) {
            unwound.push(module.clone());
        }
    }

    /// Returns the tables of all registered tracks and processes.
    #[must_use]
    pub fn tables(&self) -> &TrackTables {
        &self.tables
    }

    fn change_process(&mut self, pid: &Id, change: impl FnOnce(&mut Process)) {
        match self.process(pid) {
            Some(index) => change(&mut self.tables.processes[index.index()]),
            None => self.over_limit += 1,
        }
    }

    fn find_track(&self, key: &TrackKey) -> Option<TrackIdx> {
        let tracks = &self.tables.tracks;
        self.track_index.find(hash(key), |track| tracks[track.index()].key == *key).copied()
    }

    fn find_thread(&self, pid: &Id, tid: &Id) -> Option<usize> {
        let is_same = |&thread: &u32| self.threads[thread as usize].is_of(pid, tid);
        self.thread_index.find(hash(&(pid, tid)), is_same).map(|&thread| thread as usize)
    }

    fn apply_to_thread(&mut self, pid: &Id, tid: &Id, change: impl FnOnce(&mut ThreadMetadata)) {
        let threads = &mut self.threads;
        let is_same = |&thread: &u32| threads[thread as usize].is_of(pid, tid);
        let place = self.thread_index.entry(hash(&(pid, tid)), is_same, |&thread| threads[thread as usize].hash());
        let thread = match place {
            Entry::Occupied(entry) => *entry.get() as usize,
            Entry::Vacant(place) => {
                let Some(index) = next_index(threads.len(), self.index_max) else {
                    self.over_limit += 1;
                    return;
                };
                place.insert(index);
                threads.push(ThreadMetadata { pid: pid.clone(), tid: tid.clone(), ..ThreadMetadata::default() });
                threads.len() - 1
            }
        };
        change(&mut self.threads[thread]);
        for (kind, slot) in OF_THREAD {
            let key = TrackKey { kind, pid: pid.clone(), tid: tid.clone(), name: Arc::default(), slot };
            if let Some(track) = self.find_track(&key) {
                self.threads[thread].apply_to(&mut self.tables.tracks[track.index()]);
            }
        }
    }

    /// Builds the hash table of processes, if it is missing.
    fn index_processes(&mut self) {
        if !self.process_index.is_empty() {
            return;
        }
        let processes = &self.tables.processes;
        self.process_index = HashTable::with_capacity(processes.len());
        for (process, index) in processes.iter().zip((0..).map(ProcessIdx)) {
            let rehash = |process: &ProcessIdx| hash(&processes[process.index()].pid);
            let is_same = |other: &ProcessIdx| processes[other.index()].pid == process.pid;
            // If two processes have the same id, look-ups return the last one.
            self.process_index.entry(hash(&process.pid), is_same, rehash).insert(index);
        }
    }

    /// Builds the hash table of tracks, if it is missing.
    fn index_tracks(&mut self) {
        if !self.track_index.is_empty() {
            return;
        }
        let tracks = &self.tables.tracks;
        self.track_index = HashTable::with_capacity(tracks.len());
        for (track, index) in tracks.iter().zip((0..).map(TrackIdx)) {
            let rehash = |track: &TrackIdx| hash(&tracks[track.index()].key);
            let is_same = |other: &TrackIdx| tracks[other.index()].key == track.key;
            self.track_index.entry(hash(&track.key), is_same, rehash).insert(index);
        }
    }
}

/// Returns the index after `len` others; `None` beyond `max`.
fn next_index(len: usize, max: u32) -> Option<u32> {
    u32::try_from(len).ok().filter(|&index| index <= max)
}

fn hash(key: &impl Hash) -> u64 {
    FxBuildHasher.hash_one(key)
}

#[cfg(test)]
mod tests;
