//! Sorts the next events of many interleaved runs at once.
//!
//! In a trace in random order, each event would move a head through the table, come from another place in memory, and
//! be emitted alone. Instead, the events before a common key are copied run by run, sorted, and emitted as one run.

use super::open_run::{Key, OpenRun};
use crate::model::Event;

/// The intended number of events to gather: their copies stay in the cache of a core.
const EVENTS: usize = 16 * 1024;

/// Maximum number of events to gather.
pub(super) const EVENTS_MAX: usize = 2 * EVENTS;

/// Maximum number of runs to gather from: with more, each would contribute only a few events.
pub(super) const RUNS_MAX: usize = EVENTS / 16;

/// Events of many runs, sorted by key. Takes less than 6 MiB, with the spare room of its vectors.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// Maximum number of events from one run. It adapts: a spilled run may have a hundred times the events of others.
    each_max: usize,
    /// Ends of the events to take, by the slots of the runs.
    ends: Vec<usize>,
    /// Copies of the events, run by run.
    copies: Vec<Event>,
    /// Slots of the runs of these copies.
    slots: Vec<u32>,
    /// Order of the copies, once sorted.
    order: Vec<CopyKey>,
    /// The events in that order.
    events: Vec<Event>,
}

/// The key of a copied event and the row of the copy, as one number that is cheap to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CopyKey(i128);

impl CopyKey {
    fn new(key: Key, copy: usize) -> Self {
        Self(i128::from(key.ts_ns) << 64 | i128::from(key.chunk) << 32 | copy as i128)
    }

    fn key(self) -> Key {
        Key { ts_ns: (self.0 >> 64) as i64, chunk: (self.0 >> 32) as u32 }
    }

    fn copy(self) -> usize {
        self.0 as u32 as usize
    }
}

impl Gathered {
    /// Takes and sorts the next events of all runs before `limit`, at most [`EVENTS_MAX`]. Uses no run up. The first
    /// run must have two events left, so that there is one to take.
    pub(super) fn gather(&mut self, runs: &mut [Option<OpenRun>], limit: Option<Key>) {
        self.copies.clear();
        self.slots.clear();
        self.order.clear();
        self.events.clear();
        self.each_max = self.each_max.clamp(EVENTS / runs.len().max(1), EVENTS);
        let mut count = self.find_ends(runs, limit);
        while count > EVENTS_MAX {
            self.each_max /= 2;
            count = self.find_ends(runs, limit);
        }
        if count < EVENTS / 2 {
            self.each_max *= 2;
        }
        for ((slot, run), &to) in runs.iter_mut().enumerate().zip(&self.ends) {
            let Some(run) = run else { continue };
            let keys = (run.next..to).filter_map(|position| run.key_at(position));
            self.order.extend(keys.zip(self.copies.len()..).map(|(key, copy)| CopyKey::new(key, copy)));
            self.copies.extend_from_slice(&run.chunk.events[run.next..to]);
            self.slots.resize(self.copies.len(), slot as u32);
            run.next = to;
        }
        self.order.sort_unstable(); // all keys differ
        self.events.extend(self.order.iter().map(|order| self.copies[order.copy()]));
    }

    /// Finds the ends of the events before a common key, so that no run has more than `each_max` of them. Returns their
    /// number.
    fn find_ends(&mut self, runs: &[Option<OpenRun>], limit: Option<Key>) -> usize {
        let last_of_each = runs.iter().flatten().filter_map(|run| run.key_ahead(self.each_max));
        let end = last_of_each.chain(limit).min();
        self.ends.clear();
        let end_of = |run: &OpenRun| end.map_or(run.next, |end| run.end_below(end));
        self.ends.extend(runs.iter().map(|run| run.as_ref().map_or(0, end_of)));
        let counts = runs.iter().zip(&self.ends).map(|(run, end)| run.as_ref().map_or(0, |run| end - run.next));
        counts.sum()
    }

    /// Returns the number of events that come from another run than the previous event, or from a later part of the
    /// run.
    pub(super) fn switches(&self) -> usize {
        self.order.windows(2).filter(|pair| pair[0].copy() + 1 != pair[1].copy()).count()
    }

    pub(super) fn events(&self) -> &[Event] {
        &self.events
    }

    pub(super) fn key_at(&self, position: usize) -> Option<Key> {
        self.order.get(position).map(|order| order.key())
    }

    /// Returns the slot of the run that an event comes from.
    pub(super) fn slot_at(&self, position: usize) -> Option<usize> {
        self.order.get(position).map(|order| self.slots[order.copy()] as usize)
    }
}
