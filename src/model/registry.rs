//! Collects the processes and tracks of a trace during its load, with names and sort indices.

mod labels;

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use self::labels::Labels;
use super::modules::{MODULES_MAX, Module};
use super::tracks::{Id, Metadata, OF_THREAD, Process, ProcessIdx, Track, TrackIdx, TrackKey, TrackKind, TrackTables};
use super::unwind::UnwoundModule;

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
    /// The groups of tracks that have no event yet.
    groups: FxHashMap<TrackKey, Arc<str>>,
    /// Processes that a thread was moved from. They are dropped at the end of a load if they have no other track.
    left_processes: FxHashSet<ProcessIdx>,
    labels: Labels,
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
            groups: FxHashMap::default(),
            left_processes: FxHashSet::default(),
            labels: Labels::default(),
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

    /// Returns whether the number of the thread is the number of its process.
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
        let (tables, labels) = (std::mem::take(&mut self.tables), std::mem::take(&mut self.labels));
        *self = Self { tables, labels, index_max, over_limit, ..Self::default() };
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

    /// Returns the number of names that were cut, because they or all names together were too long.
    #[must_use]
    pub(crate) fn cut_labels(&self) -> u64 {
        self.labels.cut()
    }

    /// Returns whether a name was cut because all names together were too long.
    #[must_use]
    pub(crate) fn are_labels_full(&self) -> bool {
        self.labels.is_full()
    }

    /// Removes the tracks from `count` on, for a sort that restarts: it adds tracks and no processes.
    pub(crate) fn truncate_tracks(&mut self, count: usize) {
        if count < self.tables.tracks.len() {
            self.tables.tracks.truncate(count);
            self.tables.units.retain(|track, _| track.index() < count);
            self.tables.groups.truncate(TrackIdx(count as u32));
            self.track_index = HashTable::new();
        }
    }

    /// Returns the index of the track with this key, which is added if it is new. Returns `None` for a new track if all
    /// indices are in use.
    pub fn track(&mut self, key: &TrackKey) -> Option<TrackIdx> {
        self.index_tracks();
        if let Some(track) = self.find_track(key) {
            return Some(track);
        }
        let index = TrackIdx(next_index(self.tables.tracks.len(), self.index_max)?);
        let process = self.process(&key.pid)?;
        let mut track = Track { key: key.clone(), process, name: key.name.shared(), sort_index: 0 };
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
        if let Some(group) = self.groups.remove(key) {
            self.tables.groups.insert(index, group);
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
            key.name = self.labels.share(part).into();
        }
        let derived = self.track(&key)?;
        let name = self.labels.share(name);
        let track = &mut self.tables.tracks[derived.index()];
        (track.name, track.sort_index) = (name, sort_index);
        Some(derived)
    }

    /// Returns the index of the process with this id, which is added if it is new. Returns `None` for a new process if
    /// all indices are in use.
    pub(crate) fn process(&mut self, pid: &Id) -> Option<ProcessIdx> {
        self.index_processes();
        let processes = &mut self.tables.processes;
        let is_known = |process: &ProcessIdx| processes[process.index()].pid == *pid;
        match self.process_index.entry(hash(pid), is_known, |process| hash(&processes[process.index()].pid)) {
            Entry::Occupied(entry) => Some(*entry.get()),
            Entry::Vacant(vacant) => {
                let index = ProcessIdx(next_index(processes.len(), self.index_max)?);
                vacant.insert(index);
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
            Metadata::ProcessName { pid, name } => {
                self.change_process(pid, |process, labels| labels.replace(&mut process.name, name));
            }
            Metadata::ProcessFile { pid, file } => {
                self.change_process(pid, |process, _| process.file = Some(Arc::clone(file)));
            }
            Metadata::ProcessLabels { pid, labels: text } => {
                self.change_process(pid, |process, labels| labels.replace(&mut process.labels, text));
            }
            Metadata::ProcessSortIndex { pid, sort_index } => {
                self.change_process(pid, |process, _| process.sort_index = *sort_index);
            }
            Metadata::ThreadName { pid, tid, name } => {
                self.apply_to_thread(pid, tid, |thread, labels| labels.replace_shared(&mut thread.name, name));
            }
            Metadata::KernelName { pid, tid, name } => {
                self.apply_to_thread(pid, tid, |thread, labels| labels.replace_shared(&mut thread.kernel_name, name));
            }
            Metadata::ThreadProcess { tid, before, pid } => self.move_thread(tid, before, pid),
            Metadata::ThreadSortIndex { pid, tid, sort_index } => {
                self.apply_to_thread(pid, tid, |thread, _| thread.sort_index = Some(*sort_index));
            }
            Metadata::TrackSortIndex { key, sort_index } => match self.find_track(key) {
                Some(track) => self.tables.tracks[track.index()].sort_index = *sort_index,
                None => drop(self.orders.insert(key.clone(), *sort_index)),
            },
            Metadata::CounterUnit { key, unit } => match self.find_track(key) {
                Some(track) => drop(self.tables.units.insert(track, Arc::clone(unit))),
                None => drop(self.units.insert(key.clone(), Arc::clone(unit))),
            },
            Metadata::TrackGroup { key, group } => {
                let group = self.labels.share(group);
                match self.find_track(key) {
                    Some(track) => self.tables.groups.insert(track, group),
                    None => drop(self.groups.insert(key.clone(), group)),
                }
            }
            Metadata::Utc { offset_ns } => {
                self.tables.utc_offset_ns.get_or_insert(*offset_ns);
            }
            Metadata::Fact { fact } => self.over_limit += u64::from(!self.tables.facts.insert(fact)),
            Metadata::Module { module } => self.add_module(module),
            Metadata::Unwound { module } => self.add_unwound(module),
        }
    }

    /// Moves the tracks of a thread to another process, unless that has its own tracks of the thread.
    fn move_thread(&mut self, tid: &Id, before: &Id, pid: &Id) {
        for (kind, slot) in OF_THREAD {
            let old_key = TrackKey { slot, ..TrackKey::new(kind, before.clone(), tid.clone()) };
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
            self.apply_to_thread(pid, tid, |thread, _| {
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

    fn change_process(&mut self, pid: &Id, change: impl FnOnce(&mut Process, &mut Labels)) {
        match self.process(pid) {
            Some(index) => change(&mut self.tables.processes[index.index()], &mut self.labels),
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

    fn apply_to_thread(&mut self, pid: &Id, tid: &Id, change: impl FnOnce(&mut ThreadMetadata, &mut Labels)) {
        let threads = &mut self.threads;
        let is_same = |&thread: &u32| threads[thread as usize].is_of(pid, tid);
        let entry = self.thread_index.entry(hash(&(pid, tid)), is_same, |&thread| threads[thread as usize].hash());
        let thread = match entry {
            Entry::Occupied(entry) => *entry.get() as usize,
            Entry::Vacant(vacant) => {
                let Some(index) = next_index(threads.len(), self.index_max) else {
                    self.over_limit += 1;
                    return;
                };
                vacant.insert(index);
                threads.push(ThreadMetadata { pid: pid.clone(), tid: tid.clone(), ..ThreadMetadata::default() });
                threads.len() - 1
            }
        };
        change(&mut self.threads[thread], &mut self.labels);
        for (kind, slot) in OF_THREAD {
            let key = TrackKey { slot, ..TrackKey::new(kind, pid.clone(), tid.clone()) };
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
