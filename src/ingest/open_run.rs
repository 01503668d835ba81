//! The sorted runs of a merge while they are open.

use super::spill_pool::SpilledRun;
use crate::base::budget::Charge;
use crate::model::Chunk;

/// The position of an event in the sorted order: by time, then by chunk, then by position in the chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub(crate) ts_ns: i64,
    /// Number of the chunk in the trace.
    pub(crate) chunk: u32,
}

/// A sorted run of events during the merge: a loaded chunk, or the current block of a run in the spill file.
#[derive(Debug)]
pub struct OpenRun {
    /// The events with their details.
    pub chunk: Chunk,
    /// The chunks of the trace that the events come from.
    pub origin: Origin,
    /// Index of the next event to emit.
    pub next: usize,
    /// The remaining blocks of the run, to read after this one.
    pub rest: Option<SpilledRun>,
    /// The charge of this run to the budget.
    pub charge: Charge,
}

/// The chunk numbers of events, which break ties in time.
#[derive(Debug)]
pub enum Origin {
    /// All events come from one chunk.
    One(u32),
    /// The chunk number of each event, in the same order.
    Each(Vec<u32>),
}

impl OpenRun {
    /// Returns the memory size of the loaded events and of the blocks to read.
    pub(super) fn remaining_bytes(&self) -> u64 {
        self.charge.bytes() + self.rest.as_ref().map_or(0, SpilledRun::remaining_bytes)
    }

    pub(super) fn key(&self) -> Option<Key> {
        self.key_at(self.next)
    }

    /// Returns the key of the event `count` events after the next, or of the last event if fewer are left.
    pub(super) fn key_ahead(&self, count: usize) -> Option<Key> {
        self.key_at((self.next + count).min(self.chunk.events.len().checked_sub(1)?))
    }

    pub(super) fn key_at(&self, position: usize) -> Option<Key> {
        let ts_ns = self.chunk.events.get(position)?.ts_ns;
        Some(Key { ts_ns, chunk: self.origin_at(position) })
    }

    /// Returns the chunk number of an event.
    #[must_use]
    pub(crate) fn origin_at(&self, position: usize) -> u32 {
        match &self.origin {
            Origin::One(chunk) => *chunk,
            Origin::Each(chunks) => chunks.get(position).copied().unwrap_or(0),
        }
    }

    /// Returns the first position from `next` on whose key is not below `limit`.
    ///
    /// Uses a galloping search: the run may be one event in a random trace, or the whole chunk in a sorted one.
    pub(super) fn end_below(&self, limit: Key) -> usize {
        let below = |position: usize| self.key_at(position).is_some_and(|key| key < limit);
        let (mut start, mut step) = (self.next, 1);
        while below(start + step - 1) {
            start += step;
            step *= 2;
        }
        // All positions before `start` are below the limit, and the result is within the last step.
        let end = (start + step - 1).min(self.chunk.events.len());
        first_not(start..end, below)
    }
}

/// Returns the first position in `range` that is not `below`; all earlier positions are.
fn first_not(range: std::ops::Range<usize>, below: impl Fn(usize) -> bool) -> usize {
    let (mut start, mut end) = (range.start, range.end);
    while start < end {
        let middle = usize::midpoint(start, end);
        if below(middle) { start = middle + 1 } else { end = middle }
    }
    start
}
