//! Which track the tree of an async id is drawn on, or of a track that is one of many siblings. Trees of one name in
//! one process share tracks, one at a time on each: a million short requests then take as many tracks as ever ran at
//! once, and not a million.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{Event, Id, Metadata, Names, Registry, StrIdx, Track, TrackIdx, TrackKey, TrackKind};

/// Rows of siblings have slots from here on, apart from those of async ids. No more trees of one group can be open.
const SIBLING_ROWS: u32 = 1 << 29;

/// The trees that are open.
#[derive(Debug, Default)]
pub(crate) struct AsyncTrees {
    open: FxHashMap<TreeId, AsyncTree>,
    groups: Vec<Slots>,
    /// The position of each group in `groups`.
    group_index: FxHashMap<TreeGroup, u32>,
}

/// The identity of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TreeId {
    /// The async id in the value of its events.
    Id(u64),
    /// The track that the capture gives it.
    Sibling(TrackIdx),
}

/// Trees that share tracks: those of one process, or thread, and one name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct TreeGroup {
    pid: Id,
    tid: Id,
    name: GroupName,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum GroupName {
    /// That of the first event.
    Event(StrIdx),
    /// That which the capture gives the track.
    Track(Arc<str>),
}

#[derive(Debug)]
struct AsyncTree {
    track: TrackIdx,
    /// The position of its group in [`AsyncTrees::groups`].
    group: u32,
    slot: u32,
    in_step: bool,
    /// The start of the next step, if steps come with their ends.
    step_start_ns: i64,
}

/// The tracks of a group: which are free, lowest first.
#[derive(Debug)]
struct Slots {
    /// The name of all of them.
    name: Arc<str>,
    free: BinaryHeap<Reverse<u32>>,
    count: u32,
}

impl Slots {
    /// The lowest free slot; `None` where as many trees are open as a group may have.
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
    /// The track of an open tree.
    #[must_use]
    pub(crate) fn track_of(&self, id: TreeId) -> Option<TrackIdx> {
        self.open.get(&id).map(|tree| tree.track)
    }

    /// Opens a tree whose first event is `event`, and returns its track; `None` where there is no index left for it.
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

    /// Ends the tree of an id; its track is free for the next.
    pub(crate) fn close(&mut self, id: TreeId) {
        if let Some(tree) = self.open.remove(&id) {
            self.groups[tree.group as usize].free.push(Reverse(tree.slot));
        }
    }

    /// Notes that a step is open.
    pub(crate) fn enter_step(&mut self, id: TreeId) {
        if let Some(tree) = self.open.get_mut(&id) {
            tree.in_step = true;
        }
    }

    /// Notes that no step is open, and says whether one was.
    pub(crate) fn leave_step(&mut self, id: TreeId) -> bool {
        self.open.get_mut(&id).is_some_and(|tree| std::mem::take(&mut tree.in_step))
    }

    /// Notes that a step ends at `ts_ns`, and says where it began.
    pub(crate) fn pass_step(&mut self, id: TreeId, ts_ns: i64) -> i64 {
        self.open.get_mut(&id).map_or(ts_ns, |tree| std::mem::replace(&mut tree.step_start_ns, ts_ns))
    }
}
