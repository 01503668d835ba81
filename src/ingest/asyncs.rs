//! Assigns async trees to tracks. A tree belongs to an async id, or to a sibling track. Trees with one name in one
//! process share tracks, one at a time on each. So a million short requests take as many tracks as ran concurrently.

mod trees_of_id;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::hash_map::Entry as MapEntry;
use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

use self::trees_of_id::TreesOfId;
use crate::model::{Event, Id, Metadata, Names, ProcessIdx, Registry, Track, TrackIdx, TrackKey, TrackKind};

/// First slot of sibling rows, so that they share no slot with async ids. Also the maximum number of open trees per
/// group.
const SIBLING_ROWS: u32 = 1 << 29;

/// The open async trees, and the slots that they take in their groups.
#[derive(Debug, Default)]
pub(crate) struct AsyncTrees {
    /// By async id: the open trees of all processes. Never empty.
    by_id: FxHashMap<u64, TreesOfId<AsyncTree>>,
    siblings: FxHashMap<TrackIdx, AsyncTree>,
    groups: Vec<TreeGroup>,
    /// Positions in `groups`, hashed by [`GroupKey`].
    group_index: HashTable<u32>,
}

/// The identity of an async tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TreeId {
    /// The async id of its events, and the process that began it.
    Id { id: u64, process: ProcessIdx },
    /// The track of its events in the trace.
    Sibling(TrackIdx),
}

#[derive(Debug)]
struct AsyncTree {
    track: TrackIdx,
    /// Index of its group in [`AsyncTrees::groups`].
    group: u32,
    slot: u32,
    in_step: bool,
    /// Start of the next step, if events end steps.
    step_start_ns: i64,
}

/// Async trees that share tracks, because they have the same name in the same process or thread. The trace names the
/// track, or else the first event does. The lowest free slot is taken first.
#[derive(Debug)]
struct TreeGroup {
    pid: Id,
    tid: Id,
    /// Name of all tracks of the group.
    name: Arc<str>,
    /// Whether the trees are on sibling tracks, which have slots of their own.
    is_sibling: bool,
    free: BinaryHeap<Reverse<u32>>,
    count: u32,
}

impl TreeGroup {
    fn key(&self) -> GroupKey<'_> {
        GroupKey { pid: &self.pid, tid: &self.tid, name: &self.name, is_sibling: self.is_sibling }
    }

    /// Takes the lowest free slot; `None` if the group has the maximum number of open trees.
    fn take_slot(&mut self) -> Option<u32> {
        if let Some(Reverse(slot)) = self.free.pop() {
            return Some(slot);
        }
        let slot = self.count;
        if slot >= SIBLING_ROWS {
            return None;
        }
        self.count += 1;
        Some(slot)
    }
}

/// The fields that identify a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct GroupKey<'a> {
    pid: &'a Id,
    tid: &'a Id,
    name: &'a str,
    is_sibling: bool,
}

impl GroupKey<'_> {
    fn hash(&self) -> u64 {
        FxBuildHasher.hash_one(self)
    }

    fn to_group(self) -> TreeGroup {
        let Self { pid, tid, name, is_sibling } = self;
        let (pid, tid, name) = (pid.clone(), tid.clone(), name.into());
        TreeGroup { pid, tid, name, is_sibling, free: BinaryHeap::new(), count: 0 }
    }
}

impl AsyncTrees {
    /// Returns the track of an open tree.
    #[must_use]
    pub(crate) fn track_of(&self, id: TreeId) -> Option<TrackIdx> {
        match id {
            TreeId::Id { id, process } => Some(self.by_id.get(&id)?.get(process)?.track),
            TreeId::Sibling(track) => Some(self.siblings.get(&track)?.track),
        }
    }

    fn tree_mut(&mut self, id: TreeId) -> Option<&mut AsyncTree> {
        match id {
            TreeId::Id { id, process } => self.by_id.get_mut(&id)?.get_mut(process),
            TreeId::Sibling(track) => self.siblings.get_mut(&track),
        }
    }

    /// Returns the open trees that other processes have of an async id, the last opened first: at most 8.
    pub(crate) fn trees_of_others(&self, id: u64, process: ProcessIdx) -> SmallVec<[TreeId; 2]> {
        let others = self.by_id.get(&id).into_iter().flat_map(|trees| trees.last_others(process));
        others.map(|process| TreeId::Id { id, process }).collect()
    }

    /// Opens a tree whose first event is `event`, and returns its track; `None` if all indices are in use.
    pub(crate) fn open(
        &mut self,
        id: TreeId,
        event: &Event,
        names: &Names,
        registry: &mut Registry,
    ) -> Option<TrackIdx> {
        let tables = registry.tables();
        let Track { key: source, sort_index, .. } = &tables.tracks[event.track.index()];
        let (sort_index, named_group) = (*sort_index, tables.groups.get(event.track).cloned());
        let is_sibling = matches!(id, TreeId::Sibling(_));
        let is_named = (is_sibling || source.slot == TrackKey::SLOT_NAMED) && !source.name.is_empty();
        let name = if is_named { &*source.name } else { names.get(event.name).text };
        let position = self.group(GroupKey { pid: &source.pid, tid: &source.tid, name, is_sibling })?;
        let group = &mut self.groups[position as usize];
        let slot = group.take_slot()?;
        let row = if is_sibling { SIBLING_ROWS + slot } else { slot };
        let (pid, tid, name) = (group.pid.clone(), group.tid.clone(), Arc::clone(&group.name).into());
        let key = TrackKey { kind: TrackKind::Async, pid, tid, name, slot: row };
        let Some(track) = registry.track(&key) else {
            group.free.push(Reverse(slot));
            return None;
        };
        if let Some(group) = named_group.filter(|_| registry.tables().groups.get(track).is_none()) {
            registry.apply(&Metadata::TrackGroup { key: key.clone(), group });
        }
        if sort_index != 0 {
            registry.apply(&Metadata::TrackSortIndex { key, sort_index });
        }
        let tree = AsyncTree { track, group: position, slot, in_step: false, step_start_ns: event.ts_ns };
        match id {
            TreeId::Id { id, process } => self.by_id.entry(id).or_default().push(process, tree),
            TreeId::Sibling(of) => drop(self.siblings.insert(of, tree)),
        }
        Some(track)
    }

    /// Returns the position of a group, adding it if needed; `None` if all positions are in use.
    fn group(&mut self, key: GroupKey<'_>) -> Option<u32> {
        let groups = &mut self.groups;
        let is_same = |&position: &u32| groups[position as usize].key() == key;
        let rehash = |&position: &u32| groups[position as usize].key().hash();
        match self.group_index.entry(key.hash(), is_same, rehash) {
            Entry::Occupied(entry) => Some(*entry.get()),
            Entry::Vacant(slot) => {
                let position = u32::try_from(groups.len()).ok()?;
                slot.insert(position);
                groups.push(key.to_group());
                Some(position)
            }
        }
    }

    /// Closes a tree and frees its slot.
    pub(crate) fn close(&mut self, id: TreeId) {
        if let Some(tree) = self.remove(id) {
            self.groups[tree.group as usize].free.push(Reverse(tree.slot));
        }
    }

    fn remove(&mut self, id: TreeId) -> Option<AsyncTree> {
        match id {
            TreeId::Id { id, process } => {
                let MapEntry::Occupied(mut entry) = self.by_id.entry(id) else { return None };
                let tree = entry.get_mut().remove(process)?;
                if entry.get().is_empty() {
                    entry.remove();
                }
                Some(tree)
            }
            TreeId::Sibling(track) => self.siblings.remove(&track),
        }
    }

    /// Marks a step as open.
    pub(crate) fn enter_step(&mut self, id: TreeId) {
        if let Some(tree) = self.tree_mut(id) {
            tree.in_step = true;
        }
    }

    /// Marks the step as closed; returns whether one was open.
    pub(crate) fn leave_step(&mut self, id: TreeId) -> bool {
        self.tree_mut(id).is_some_and(|tree| std::mem::take(&mut tree.in_step))
    }

    /// Ends a step at `ts_ns` and returns its start.
    pub(crate) fn pass_step(&mut self, id: TreeId, ts_ns: i64) -> i64 {
        self.tree_mut(id).map_or(ts_ns, |tree| std::mem::replace(&mut tree.step_start_ns, ts_ns))
    }
}
