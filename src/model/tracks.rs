//! Processes, threads and the tracks that a person recognises, as the capture names and orders them.

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::{FxBuildHasher, FxHashMap};
use serde::{Deserialize, Serialize};

use super::modules::{MODULES_MAX, Module};
use super::unwind::UnwoundModule;

/// The index of a row of [`TrackTables::tracks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Pod, Zeroable, Serialize, Deserialize)]
#[repr(transparent)]
pub struct TrackIdx(pub u32);

/// The index of a row of [`TrackTables::processes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Pod, Zeroable, Serialize, Deserialize)]
#[repr(transparent)]
pub struct ProcessIdx(pub u32);

impl TrackIdx {
    /// The position in an array.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl ProcessIdx {
    /// The position in an array.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A process or thread id as the capture writes it. Never folded to 32 bits: two threads stay two.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum Id {
    /// The capture gives no id.
    #[default]
    None,
    /// A number of up to 64 bits.
    Number(i64),
    /// Any other text, or a number beyond 64 bits.
    Text(IdText),
}

/// The text of an [`Id`], in one machine word: a capture of a million threads has four ids in memory for each.
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

/// The meaning of the rows of a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TrackKind {
    /// Events of the whole capture.
    Global,
    /// Events of a process as a whole.
    Process,
    /// Spans and instants of a thread.
    Thread,
    /// Asynchronous spans: in a [`Batch`](super::Batch) any of their category; sorted, one tree at a time of one name.
    Async,
    /// The values of a counter.
    Counter,
    /// The samples of the track of the same ids, laid out as spans: made from them, and no part of a capture.
    Samples,
    /// The threads that run on a CPU, whose number is the `tid` and the `slot`.
    Cpu,
    /// The scheduler's states of the thread of the same ids.
    State,
}

impl TrackKind {
    /// Whether the rows are made from those of another track, for the eye: they are no events of the capture, so they
    /// are neither counted nor listed nor written.
    #[must_use]
    pub(crate) fn is_derived(self) -> bool {
        self == Self::Samples
    }
}

/// The identity of a track while a capture is read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TrackKey {
    /// The meaning of its rows.
    pub kind: TrackKind,
    /// The id of its process.
    pub pid: Id,
    /// The id of its thread, for [`TrackKind::Thread`].
    pub tid: Id,
    /// The counter's or the async group's name; of the samples of one event beside others, its name; empty for
    /// the others, which [`Metadata`] names.
    pub name: Arc<str>,
    /// Tells apart tracks that are otherwise alike: async trees of one name that run at the same time.
    pub slot: u32,
}

impl TrackKey {
    /// In a [`Batch`](super::Batch), from here on: asynchronous spans of one track, which is named by its key or by its
    /// first event, and drawn together with others of that name in its process.
    pub(crate) const SLOT_SIBLING: u32 = 1 << 30;
    /// From here on: an asynchronous track that shares no row with others.
    pub(crate) const SLOT_ALONE: u32 = 1 << 31;
    /// A thread of a profile without times: a sample is drawn as wide as it weighs, at a time that the reader made up.
    pub(crate) const SLOT_UNTIMED: u32 = 1;
    /// Of an asynchronous track with async ids: their trees have the name of the track, and not
    /// that of their first event.
    pub(crate) const SLOT_NAMED: u32 = Self::SLOT_ALONE + 1;
}

/// A process of the capture.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Process {
    /// The id of the process.
    pub pid: Id,
    /// Its name; empty if the capture gives none.
    pub name: Box<str>,
    /// Labels that the capture puts beside the name.
    pub labels: Box<str>,
    /// The rank that the capture gives it among the processes.
    pub sort_index: i64,
    /// The file that it is in, where a capture is several.
    pub(crate) file: Option<Arc<str>>,
}

/// A track of the capture, which the ingest splits into lanes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Track {
    /// The identity of the track.
    pub key: TrackKey,
    /// The process that it belongs to.
    pub process: ProcessIdx,
    /// Its name: the thread's, the counter's, the async group's; empty if the capture gives none.
    pub name: Arc<str>,
    /// The rank that the capture gives it among the tracks of its process.
    pub sort_index: i64,
}

/// Facts of a capture about processes and threads, in capture order: the last word wins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what the variants say")]
pub enum Metadata {
    /// The name of a process.
    ProcessName { pid: Id, name: Box<str> },
    /// The file that a process is in, of several.
    ProcessFile { pid: Id, file: Arc<str> },
    /// The labels of a process, beside its name.
    ProcessLabels { pid: Id, labels: Box<str> },
    /// The order of a process.
    ProcessSortIndex { pid: Id, sort_index: i64 },
    /// The name of a thread.
    ThreadName { pid: Id, tid: Id, name: Box<str> },
    /// The name by which the kernel knows a thread: counts where nothing else names it.
    KernelName { pid: Id, tid: Id, name: Box<str> },
    /// The order of a thread.
    ThreadSortIndex { pid: Id, tid: Id, sort_index: i64 },
    /// The order of a track that is not a thread's.
    TrackSortIndex { key: TrackKey, sort_index: i64 },
    /// The offset from times to nanoseconds of UTC since 1970. Here the first word wins: clocks drift.
    Utc { offset_ns: i64 },
    /// A file whose code was sampled.
    Module { module: Box<Module> },
    /// A file that stacks were unwound by.
    Unwound { module: Box<UnwoundModule> },
}

/// The processes and tracks of a whole capture.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrackTables {
    /// Processes in order of first appearance.
    pub processes: Vec<Process>,
    /// Tracks in order of first appearance; a track's process is always in `processes`.
    pub tracks: Vec<Track>,
    /// The offset from times to nanoseconds of UTC since 1970, where the capture has one.
    pub(crate) utc_offset_ns: Option<i64>,
    /// The files whose code was sampled, in order of first appearance.
    pub(crate) modules: Vec<Module>,
    /// The files that stacks were unwound by, or that were missing.
    pub(crate) unwound: Vec<UnwoundModule>,
}

/// The kinds and slots of tracks that take the name and the order of their thread.
const OF_THREAD: [(TrackKind, u32); 3] =
    [(TrackKind::Thread, 0), (TrackKind::State, 0), (TrackKind::Thread, TrackKey::SLOT_UNTIMED)];

/// Collects processes and tracks while a capture is read, and gives each an index that stays.
///
/// A capture may have millions of either, so the look-ups hold indices only and hash the rows of the tables: some 6
/// bytes for each, where a map that owns its keys takes 100.
#[derive(Debug, Clone)]
pub struct Registry {
    tables: TrackTables,
    process_index: HashTable<ProcessIdx>,
    track_index: HashTable<TrackIdx>,
    /// Metadata of threads, whether or not they have had an event.
    threads: Vec<ThreadMetadata>,
    /// The position of each in `threads`.
    thread_index: HashTable<u32>,
    /// The orders of tracks that have had no event yet.
    orders: FxHashMap<TrackKey, i64>,
    /// The last index that a track, a process or the metadata of a thread may have.
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
            index_max: u32::MAX - 1,
            over_limit: 0,
        }
    }
}

/// Names and order of a thread.
#[derive(Debug, Clone, Default)]
struct ThreadMetadata {
    pid: Id,
    tid: Id,
    name: Option<Arc<str>>,
    kernel_name: Option<Arc<str>>,
    sort_index: Option<i64>,
}

impl ThreadMetadata {
    /// Names and orders a track of the thread.
    fn apply_to(&self, track: &mut Track) {
        if let Some(name) = self.name.as_ref().or(self.kernel_name.as_ref()) {
            track.name.clone_from(name);
        }
        track.sort_index = self.sort_index.unwrap_or(track.sort_index);
    }

    fn is_of(&self, pid: &Id, tid: &Id) -> bool {
        (&self.pid, &self.tid) == (pid, tid)
    }

    fn hash(&self) -> u64 {
        hash(&(&self.pid, &self.tid))
    }
}

impl Registry {
    /// A registry with these tables, to which it adds.
    #[must_use]
    pub fn from_tables(tables: TrackTables) -> Self {
        Self { tables, ..Self::default() }
    }

    /// Ends the reading: the tables, without the look-ups.
    #[must_use]
    pub fn into_tables(self) -> TrackTables {
        self.tables
    }

    /// Drops the metadata of threads, once all of it is applied and no more comes, and the look-ups, which are made
    /// again if a track is asked for: most captures are sorted without.
    pub(crate) fn drop_metadata(&mut self) {
        self.name_processes();
        let Self { index_max, over_limit, .. } = *self;
        let tables = std::mem::take(&mut self.tables);
        *self = Self { tables, index_max, over_limit, ..Self::default() };
    }

    /// Names processes that nothing else names as the kernel names their main threads, which have the same id.
    fn name_processes(&mut self) {
        self.index_processes();
        let processes = &mut self.tables.processes;
        for ThreadMetadata { pid, kernel_name, .. } in self.threads.iter().filter(|thread| thread.pid == thread.tid) {
            let is_same = |process: &ProcessIdx| processes[process.index()].pid == *pid;
            let known = self.process_index.find(hash(pid), is_same).copied();
            if let (Some(process), Some(name)) = (known, kernel_name) {
                let process = &mut processes[process.index()];
                if process.name.is_empty() {
                    process.name = (&**name).into();
                }
            }
        }
    }

    /// A registry whose indices end at `index_max`.
    #[cfg(test)]
    pub(crate) fn with_limit(index_max: u32) -> Self {
        Self { index_max, ..Self::default() }
    }

    /// Processes and metadata that are missing because every index was taken. Tracks are not counted here: callers
    /// count the events of those.
    #[must_use]
    pub(crate) fn over_limit(&self) -> u64 {
        self.over_limit
    }

    /// Forgets the tracks from `count` on, for a sort that starts over: it adds tracks and no processes.
    pub(crate) fn truncate_tracks(&mut self, count: usize) {
        if count < self.tables.tracks.len() {
            self.tables.tracks.truncate(count);
            self.track_index = HashTable::new();
        }
    }

    /// The index of the track with this key, new or known; `None` for a new one where every index is taken.
    pub fn track(&mut self, key: &TrackKey) -> Option<TrackIdx> {
        self.index_tracks();
        if let Some(known) = self.find_track(key) {
            return Some(known);
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
        self.tables.tracks.push(track);
        let tracks = &self.tables.tracks;
        self.track_index.insert_unique(hash(key), index, |track| hash(&tracks[track.index()].key));
        Some(index)
    }

    /// The index of the track that shows what is derived from `source`, new or known; of a `part` of it, if that is
    /// not empty. It has that name from now on. `None` as in [`Self::track`].
    pub(crate) fn derived(&mut self, source: TrackIdx, kind: TrackKind, part: &str, name: &str) -> Option<TrackIdx> {
        let track = self.tables.tracks.get(source.index())?;
        let (mut key, sort_index) = (TrackKey { kind, ..track.key.clone() }, track.sort_index);
        if !part.is_empty() {
            key.name = part.into();
        }
        let derived = self.track(&key)?;
        let track = &mut self.tables.tracks[derived.index()];
        (track.name, track.sort_index) = (name.into(), sort_index);
        Some(derived)
    }

    /// The index of the process with this id, new or known; `None` for a new one where every index is taken.
    pub(crate) fn process(&mut self, pid: &Id) -> Option<ProcessIdx> {
        self.index_processes();
        let processes = &mut self.tables.processes;
        let is_known = |process: &ProcessIdx| processes[process.index()].pid == *pid;
        match self.process_index.entry(hash(pid), is_known, |process| hash(&processes[process.index()].pid)) {
            Entry::Occupied(known) => Some(*known.get()),
            Entry::Vacant(place) => {
                let index = ProcessIdx(next_index(processes.len(), self.index_max)?);
                place.insert(index);
                processes.push(Process { pid: pid.clone(), ..Process::default() });
                Some(index)
            }
        }
    }

    /// The file that a track is in, where a capture is several.
    #[must_use]
    pub(crate) fn file_of(&self, track: TrackIdx) -> Option<&Arc<str>> {
        let track = self.tables.tracks.get(track.index())?;
        self.tables.processes.get(track.process.index())?.file.as_ref()
    }

    /// Takes what the capture says about a process or a thread.
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
                self.apply_to_thread(pid, tid, |thread| thread.name = Some(Arc::from(&**name)));
            }
            Metadata::KernelName { pid, tid, name } => {
                self.apply_to_thread(pid, tid, |thread| thread.kernel_name = Some(Arc::from(&**name)));
            }
            Metadata::ThreadSortIndex { pid, tid, sort_index } => {
                self.apply_to_thread(pid, tid, |thread| thread.sort_index = Some(*sort_index));
            }
            Metadata::TrackSortIndex { key, sort_index } => match self.find_track(key) {
                Some(track) => self.tables.tracks[track.index()].sort_index = *sort_index,
                None => drop(self.orders.insert(key.clone(), *sort_index)),
            },
            Metadata::Utc { offset_ns } => {
                self.tables.utc_offset_ns.get_or_insert(*offset_ns);
            }
            Metadata::Module { module } => self.add_module(module),
            Metadata::Unwound { module } => self.add_unwound(module),
        }
    }

    /// Adds a module, or what another file of the trace says of it. Those beyond the last one are left out: frames
    /// without a module keep their addresses.
    fn add_module(&mut self, module: &Module) {
        let modules = &mut self.tables.modules;
        if let Some(known) = modules.iter_mut().find(|known| known.category == module.category) {
            known.merge(module);
        } else if modules.len() < MODULES_MAX {
            modules.push(module.clone());
        }
    }

    /// Adds a file that stacks were unwound by. Those beyond the last one never make a trace load again.
    fn add_unwound(&mut self, module: &UnwoundModule) {
        let unwound = &mut self.tables.unwound;
        if unwound.len() < MODULES_MAX && !unwound.contains(module) {
            unwound.push(module.clone());
        }
    }

    /// The tables of all tracks and processes that were registered so far.
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
            Entry::Occupied(known) => *known.get() as usize,
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

    /// Makes the look-up of processes where there is none.
    fn index_processes(&mut self) {
        if !self.process_index.is_empty() {
            return;
        }
        let processes = &self.tables.processes;
        self.process_index = HashTable::with_capacity(processes.len());
        for (process, index) in processes.iter().zip((0..).map(ProcessIdx)) {
            let rehash = |process: &ProcessIdx| hash(&processes[process.index()].pid);
            let is_same = |known: &ProcessIdx| processes[known.index()].pid == process.pid;
            // Of two processes with the same id, the last one is found.
            self.process_index.entry(hash(&process.pid), is_same, rehash).insert(index);
        }
    }

    /// Makes the look-up of tracks where there is none.
    fn index_tracks(&mut self) {
        if !self.track_index.is_empty() {
            return;
        }
        let tracks = &self.tables.tracks;
        self.track_index = HashTable::with_capacity(tracks.len());
        for (track, index) in tracks.iter().zip((0..).map(TrackIdx)) {
            let rehash = |track: &TrackIdx| hash(&tracks[track.index()].key);
            let is_same = |known: &TrackIdx| tracks[known.index()].key == track.key;
            self.track_index.entry(hash(&track.key), is_same, rehash).insert(index);
        }
    }
}

/// The index after `len` others; `None` beyond `max`.
fn next_index(len: usize, max: u32) -> Option<u32> {
    u32::try_from(len).ok().filter(|&index| index <= max)
}

fn hash(key: &impl Hash) -> u64 {
    FxBuildHasher.hash_one(key)
}

#[cfg(test)]
mod tests;
