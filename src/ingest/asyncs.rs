//! Which track the tree of an async id is drawn on. Trees of one name in one process share tracks, one at a time on each:
//! a million short requests then take as many tracks as ever ran at once, and not a million.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use crate::model::{Event, Id, Names, Registry, StrIdx, TrackIdx, TrackKey, TrackKind};

/// The async ids that are open.
#[derive(Debug, Default)]
pub struct AsyncTrees {
    open: FxHashMap<u64, Tree>,
    groups: FxHashMap<(Id, StrIdx), Slots>,
}

#[derive(Debug)]
struct Tree {
    track: TrackIdx,
    group: (Id, StrIdx),
    slot: u32,
    in_step: bool,
    /// Where the next step that is told by its end begins.
    step_start_ns: i64,
}

/// The tracks of a group: which are free, lowest first.
#[derive(Debug, Default)]
struct Slots {
    free: BinaryHeap<Reverse<u32>>,
    count: u32,
}

impl AsyncTrees {
    /// The track of an open id.
    #[must_use]
    pub fn track_of(&self, id: u64) -> Option<TrackIdx> {
        self.open.get(&id).map(|tree| tree.track)
    }

    /// Opens a tree for an id whose first event is `event`, and returns its track.
    pub fn open(&mut self, id: u64, event: &Event, names: &Names, registry: &mut Registry) -> TrackIdx {
        let source = &registry.tables().tracks[event.track.index()].key;
        let group = (source.pid.clone(), names.text_index(event.name));
        let slots = self.groups.entry(group.clone()).or_default();
        let slot = slots.free.pop().map_or(slots.count, |Reverse(slot)| slot);
        slots.count = slots.count.max(slot + 1);
        let key = TrackKey {
            kind: TrackKind::Async,
            pid: group.0.clone(),
            tid: Id::None,
            name: names.get(event.name).text.into(),
            slot,
        };
        let track = registry.track(&key);
        let tree = Tree { track, group, slot, in_step: false, step_start_ns: event.ts_ns };
        self.open.insert(id, tree);
        track
    }

    /// Ends the tree of an id; its track is free for the next.
    pub fn close(&mut self, id: u64) {
        if let Some(tree) = self.open.remove(&id) {
            self.groups.entry(tree.group).or_default().free.push(Reverse(tree.slot));
        }
    }

    /// Notes that a step is open.
    pub fn enter_step(&mut self, id: u64) {
        if let Some(tree) = self.open.get_mut(&id) {
            tree.in_step = true;
        }
    }

    /// Notes that no step is open, and says whether one was.
    pub fn leave_step(&mut self, id: u64) -> bool {
        self.open.get_mut(&id).is_some_and(|tree| std::mem::take(&mut tree.in_step))
    }

    /// Notes that a step ends at `ts_ns`, and says where it began.
    pub fn pass_step(&mut self, id: u64, ts_ns: i64) -> i64 {
        self.open.get_mut(&id).map_or(ts_ns, |tree| std::mem::replace(&mut tree.step_start_ns, ts_ns))
    }
}
