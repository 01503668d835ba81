//! Sorts the next events of many interleaved runs at once.
//!
//! In a trace in random order, each event would move a head through the table, come from another place in memory, and
//! be emitted alone. Instead, the events before a common key are copied run by run, sorted, and emitted as one run.

use super::open_run::{Key, OpenRun};
use crate::model::Event;

/// The number of events to gather: their copies stay in the cache of a core.
const EVENTS: usize = 16 * 1024;

/// Maximum number of runs to gather from: with more, each would contribute only a few events.
pub(super) const RUNS_MAX: usize = EVENTS / 16;

/// Events of many runs, sorted by key. Takes less than 2 MiB.
#[derive(Debug, Default)]
pub(super) struct Gathered {
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
struct CopyKey(u128);

impl CopyKey {
    fn new(key: Key, copy: usize) -> Self {
        // Flipping the sign bit orders negative times first.
        let ts = key.ts_ns as u64 ^ (1 << 63);
        Self(u128::from(ts) << 64 | u128::from(key.chunk) << 32 | copy as u128)
    }

    fn key(self) -> Key {
        Key { ts_ns: ((self.0 >> 64) as u64 ^ (1 << 63)) as i64, chunk: (self.0 >> 32) as u32 }
    }

    fn copy(self) -> usize {
        self.0 as u32 as usize
    }
}

impl Gathered {
    /// Takes and sorts the next events of all runs before `limit`, from each about as many. Takes none if a run has
    /// only one left that is the first of all, so that no run is used up.
    pub(super) fn gather(&mut self, runs: &mut [Option<OpenRun>], limit: Option<Key>) {
        (self.copies.clear(), self.slots.clear(), self.order.clear(), self.events.clear());
        let open = runs.iter().flatten().count();
        let each = EVENTS / open.max(1);
        let last_of_each = runs.iter().flatten().filter_map(|run| run.key_ahead(each));
        let Some(end) = last_of_each.chain(limit).min() else { return };
        for (slot, run) in runs.iter_mut().enumerate() {
            let Some(run) = run else { continue };
            let (from, to) = (run.next, run.end_below(end));
            let keys = (from..to).filter_map(|position| run.key_at(position));
            self.order.extend(keys.zip(self.copies.len()..).map(|(key, copy)| CopyKey::new(key, copy)));
            self.copies.extend_from_slice(&run.chunk.events[from..to]);
            self.slots.resize(self.copies.len(), slot as u32);
            run.next = to;
        }
        self.order.sort_unstable(); // all keys differ
        self.events.extend(self.order.iter().map(|order| self.copies[order.copy()]));
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
