//! Assigns async trees to tracks: the trees of async ids, and those of sibling tracks. Trees with one name in one
//! process share tracks, one at a time on each. So a million short requests take as many tracks as ran concurrently.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{Event, Id, Metadata, Names, Registry, StrIdx, Track, TrackIdx, TrackKey, TrackKind};

/// First slot of sibling rows, which are separate from those of async ids. Also the maximum number of open trees per
/// group.
const SIBLING_ROWS: u32 = 1 << 29;

/// The open async trees.
#[derive(Debug, Default)]
pub(crate) struct AsyncTrees {
    open: FxHashMap<TreeId, AsyncTree>,
    groups: Vec<Slots>,
    /// Index of each group in `groups`.
    group_index: FxHashMap<TreeGroup, u32>,
}

/// The identity of an async tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TreeId {
    /// The async id of its events.
    Id(u64),
    /// The track of its events in the trace.
    Sibling(TrackIdx),
}

/// Async trees that share tracks: those with one name in one process, or thread.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct TreeGroup {
    pid: Id,
    tid: Id,
    name: GroupName,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum GroupName {
    /// The name of the tree's first event.
    Event(StrIdx),
    /// The name of the track in the trace.
    Track(Arc<str>),
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

/// The slots of a group; the lowest free one is taken first.
#[derive(Debug)]
struct Slots {
    /// Name of all tracks of the group.
    name: Arc<str>,
    free: BinaryHeap<Reverse<u32>>,
    count: u32,
}

impl Slots {
    /// Takes the lowest free slot; `None` if the group has the maximum number of open trees.
    fn take(&mut self) -> Option<u32> {
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

impl AsyncTrees {
    /// Returns the track of an open tree.
    #[must_use]
    pub(crate) fn track_of(&self, id: TreeId) -> Option<TrackIdx> {
        self.open.get(&id).map(|tree| tree.track)
    }

    /// Opens a tree whose first event is `event`, and returns its track; `None` if all indices are in use.
    pub(crate) fn open(
        &mut self,
        id: TreeId,
        event: &Event,
        names: &Names,
        registry: &mut Registry,
    ) -> Option<TrackIdx> {
        let Track { key: source, sort_index, .. } = &registry.tables().tracks[event.track.index()];
        let sort_index = *sort_index;
        let is_sibling = matches!(id, TreeId::Sibling(_));
        let name = if (is_sibling || source.slot == TrackKey::SLOT_NAMED) && !source.name.is_empty() {
            GroupName::Track(source.name.clone())
        } else {
            GroupName::Event(names.text_index(event.name))
        };
        let (pid, tid) = (source.pid.clone(), source.tid.clone());
        let text = || match &name {
            GroupName::Track(name) => Arc::clone(name),
            GroupName::Event(_) => names.get(event.name).text.into(),
        };
        let position = u32::try_from(self.groups.len()).ok()?;
        let group = TreeGroup { pid: pid.clone(), tid: tid.clone(), name: name.clone() };
        let group = *self.group_index.entry(group).or_insert_with(|| {
            self.groups.push(Slots { name: text(), free: BinaryHeap::new(), count: 0 });
            position
        });
        let slots = &mut self.groups[group as usize];
        let slot = slots.take()?;
        let row = if is_sibling { SIBLING_ROWS + slot } else { slot };
        let key = TrackKey { kind: TrackKind::Async, pid, tid, name: Arc::clone(&slots.name), slot: row };
        let Some(track) = registry.track(&key) else {
            slots.free.push(Reverse(slot));
            return None;
        };
        if sort_index != 0 {
            registry.apply(&Metadata::TrackSortIndex { key, sort_index });
        }
        let tree = AsyncTree { track, group, slot, in_step: false, step_start_ns: event.ts_ns };
        self.open.insert(id, tree);
        Some(track)
    }

    /// Closes a tree and frees its slot.
    pub(crate) fn close(&mut self, id: TreeId) {
        if let Some(tree) = self.open.remove(&id) {
            self.groups[tree.group as usize].free.push(Reverse(tree.slot));
        }
    }

    /// Marks a step as open.
    pub(crate) fn enter_step(&mut self, id: TreeId) {
        if let Some(tree) = self.open.get_mut(&id) {
            tree.in_step = true;
        }
    }

    /// Marks the step as closed; returns whether one was open.
    pub(crate) fn leave_step(&mut self, id: TreeId) -> bool {
        self.open.get_mut(&id).is_some_and(|tree| std::mem::take(&mut tree.in_step))
    }

    /// Ends a step at `ts_ns` and returns its start.
    pub(crate) fn pass_step(&mut self, id: TreeId, ts_ns: i64) -> i64 {
        self.open.get_mut(&id).map_or(ts_ns, |tree| std::mem::replace(&mut tree.step_start_ns, ts_ns))
    }
}
