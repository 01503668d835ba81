//! Which track an event belongs to: the uuids of a capture -> keys, each given a number once.

use rustc_hash::FxHashMap;

use super::descriptors::{Counter, Descriptor, Descriptors};
use crate::formats::batch::BatchBuilder;
use crate::model::{Id, TrackIdx, TrackKey, TrackKind};

/// A track as the reader numbers it, over all batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TrackNumber(pub(super) u32);

/// A chain of parents longer than this is a circle or an attack.
const PARENTS_MAX: usize = 128;

/// The tracks that had events.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    pub(super) described: Descriptors,
    keys: Vec<TrackKey>,
    numbers: FxHashMap<TrackKey, TrackNumber>,
    spans_of: FxHashMap<u64, TrackNumber>,
    counters_of: FxHashMap<u64, (TrackNumber, Counter)>,
    /// How many tracks are alike but for their slot.
    alike: FxHashMap<TrackKey, u32>,
}

/// Whose a track is, by its parents.
#[derive(Debug, Clone, Default)]
struct Owner {
    pid: Id,
    tid: Id,
}

impl Tracks {
    pub(super) fn new(described: Descriptors) -> Self {
        Self { described, ..Self::default() }
    }

    pub(super) fn key(&self, track: TrackNumber) -> &TrackKey {
        &self.keys[track.0 as usize]
    }

    /// The number of a key, new or known.
    pub(super) fn number(&mut self, key: TrackKey) -> TrackNumber {
        *self.numbers.entry(key).or_insert_with_key(|key| {
            self.keys.push(key.clone());
            TrackNumber(u32::try_from(self.keys.len() - 1).unwrap_or(u32::MAX))
        })
    }

    /// A thread's track.
    pub(super) fn thread(&mut self, pid: i64, tid: i64) -> TrackNumber {
        self.number(plain(TrackKind::Thread, Id::Number(pid), Id::Number(tid)))
    }

    /// A process's track.
    pub(super) fn process(&mut self, pid: Id) -> TrackNumber {
        self.number(plain(TrackKind::Process, pid, Id::None))
    }

    /// The track of the whole capture.
    pub(super) fn global(&mut self) -> TrackNumber {
        self.number(plain(TrackKind::Global, Id::None, Id::None))
    }

    /// The track of the spans of a uuid.
    #[inline]
    pub(super) fn spans(&mut self, uuid: u64) -> TrackNumber {
        if let Some(&known) = self.spans_of.get(&uuid) {
            return known;
        }
        let descriptor = self.described.get(uuid).cloned().unwrap_or_default();
        let track = match descriptor {
            Descriptor { thread: Some((pid, tid)), .. } => self.thread(pid, tid),
            Descriptor { process: Some(pid), .. } => self.process(Id::Number(pid)),
            _ if uuid == 0 => self.global(),
            _ => {
                let Owner { pid, tid } = self.owner(uuid);
                let kind = TrackKind::Async;
                let slot = if descriptor.stands_alone { TrackKey::SLOT_ALONE } else { TrackKey::SLOT_SIBLING };
                let key = self.unlike(TrackKey { kind, pid, tid, name: descriptor.name, slot });
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
        let descriptor = self.described.get(uuid).cloned().unwrap_or_default();
        let Owner { pid, tid } = self.owner(uuid);
        let name = if descriptor.name.is_empty() { name.into() } else { descriptor.name };
        let key = self.unlike(TrackKey { kind: TrackKind::Counter, pid, tid, name, slot: 0 });
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

    /// Gives a slot of its own to each of several tracks that are otherwise alike: two uuids stay two tracks.
    fn unlike(&mut self, key: TrackKey) -> TrackKey {
        let alike = self.alike.entry(key.clone()).or_default();
        let slot = key.slot.saturating_add(*alike);
        *alike += 1;
        TrackKey { slot, ..key }
    }

    fn owner(&self, uuid: u64) -> Owner {
        let mut next = Some(uuid);
        for _ in 0..PARENTS_MAX {
            let Some(descriptor) = next.and_then(|uuid| self.described.get(uuid)) else { break };
            if let Some((pid, tid)) = descriptor.thread {
                return Owner { pid: Id::Number(pid), tid: Id::Number(tid) };
            }
            if let Some(pid) = descriptor.process {
                return Owner { pid: Id::Number(pid), tid: Id::None };
            }
            next = descriptor.parent;
        }
        Owner::default()
    }
}

impl BatchBuilder {
    /// The row of a track.
    #[inline]
    pub(super) fn track(&mut self, track: TrackNumber, tracks: &Tracks) -> TrackIdx {
        self.numbered_track(track.0, || tracks.key(track).clone())
    }
}

fn plain(kind: TrackKind, pid: Id, tid: Id) -> TrackKey {
    TrackKey { kind, pid, tid, name: Box::default(), slot: 0 }
}
