//! The head table of the deferred merge: which open chunk goes on next, and how far it may run.
//!
//! Entries are kept sorted, so the first is known at once, and one that has moved on usually swaps with its neighbour
//! or stays: captures are nearly sorted. A loser tree would cost its logarithm for each of a billion events; the array
//! costs a comparison for each *run* of events. After "Efficiently sorting gigabytes" by Jelle van der Beek
//! (Superluminal), with the chunks that are not open yet left out of the table: their heads never move, so a sorted
//! list with a cursor is enough.
//!
//! With more than some hundred open runs a move across the array costs more than a heap: the farthest
//! ones wait in a heap.
//!
//! Never loads anything: it orders what it is given.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::model::{Chunk, Details, Event};

use super::spill::SpilledRun;
use crate::base::budget::Charge;

/// The position of an event in the sorted order: by time, then by chunk of the capture, then by position in the chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub(crate) ts_ns: i64,
    /// The chunk of the capture.
    pub(crate) chunk: u32,
}

/// Sorted events that are being emitted: a loaded chunk, or the current block of a run in the spill file.
#[derive(Debug)]
pub struct OpenRun {
    /// The events and their details.
    pub chunk: Chunk,
    /// Which chunk of the capture each event comes from.
    pub origin: Origin,
    /// The next event to emit.
    pub next: usize,
    /// The rest of the run, which follows when the chunk is used up.
    pub rest: Option<SpilledRun>,
    /// The share of the budget that this holds.
    pub charge: Charge,
}

/// Which chunk of the capture events come from; ties in time are resolved by it.
#[derive(Debug)]
pub enum Origin {
    /// All events come from one chunk.
    One(u32),
    /// The chunk of each event.
    Each(Vec<u32>),
}

impl OpenRun {
    fn key(&self) -> Option<Key> {
        self.key_at(self.next)
    }

    fn key_at(&self, position: usize) -> Option<Key> {
        let ts_ns = self.chunk.events.get(position)?.ts_ns;
        Some(Key { ts_ns, chunk: self.origin_at(position) })
    }

    /// Which chunk of the capture an event comes from.
    #[must_use]
    pub(crate) fn origin_at(&self, position: usize) -> u32 {
        match &self.origin {
            Origin::One(chunk) => *chunk,
            Origin::Each(chunks) => chunks.get(position).copied().unwrap_or(0),
        }
    }

    /// The first position from `next` on whose key is not below `limit`.
    ///
    /// Gallops, since a run may be one event in a random capture and the whole chunk in a sorted one.
    fn end_below(&self, limit: Key) -> usize {
        let below = |position: usize| self.key_at(position).is_some_and(|key| key < limit);
        let (mut start, mut step) = (self.next, 1);
        while below(start + step - 1) {
            start += step;
            step *= 2;
        }
        // All before `start` are below; the first that is not lies within the last step.
        let end = (start + step - 1).min(self.chunk.events.len());
        first_not(start..end, below)
    }
}

/// The first position in `range` that is not `below`; all positions before it are.
fn first_not(range: std::ops::Range<usize>, below: impl Fn(usize) -> bool) -> usize {
    let (mut start, mut end) = (range.start, range.end);
    while start < end {
        let middle = usize::midpoint(start, end);
        if below(middle) { start = middle + 1 } else { end = middle }
    }
    start
}

/// The open runs in order of their heads: the first in an array, and in a heap those beyond them, which only captures
/// of thousands of small chunks have.
#[derive(Debug, Default)]
pub struct HeadTable {
    /// Last to first, so that the first is dropped without moving the others. Empty only if `far` is.
    heads: Vec<(Key, usize)>,
    /// None of them is before one of `heads`.
    far: BinaryHeap<Reverse<(Key, usize)>>,
    runs: Vec<Option<OpenRun>>,
    free: Vec<usize>,
    moves: u64,
    open_max: usize,
}

/// A run of sorted events to emit.
#[derive(Debug)]
pub struct SortedRun<'a> {
    /// The events, in order of time.
    pub events: &'a [Event],
    /// The details that they point into.
    pub(crate) details: &'a Details,
    /// Which chunk of the capture each comes from, by offset in `events`.
    run: &'a OpenRun,
    start: usize,
}

impl SortedRun<'_> {
    /// The position of its last event in the sorted order.
    #[must_use]
    pub(crate) fn last_key(&self) -> Option<Key> {
        self.run.key_at((self.start + self.events.len()).checked_sub(1)?)
    }

    /// Which chunk of the capture event `offset` comes from.
    #[must_use]
    pub(crate) fn origin(&self, offset: usize) -> u32 {
        self.run.origin_at(self.start + offset)
    }
}

impl HeadTable {
    /// More heads in the array would take longer to move than those of a heap.
    const NEAR_MAX: usize = 256;

    /// Adds a run; one without events is dropped.
    pub fn insert(&mut self, run: OpenRun) {
        let Some(key) = run.key() else { return };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.runs.push(None);
            self.runs.len() - 1
        });
        self.runs[slot] = Some(run);
        if self.is_far(key) {
            self.far.push(Reverse((key, slot)));
        } else {
            let place = self.heads.partition_point(|&(head, _)| head > key);
            self.heads.insert(place, (key, slot));
            if self.heads.len() > Self::NEAR_MAX {
                self.far.extend(self.heads.drain(..Self::NEAR_MAX / 2).map(Reverse));
            }
        }
        self.open_max = self.open_max.max(self.open());
    }

    #[must_use]
    pub(crate) fn first(&self) -> Option<Key> {
        self.heads.last().map(|&(key, _)| key)
    }

    /// How many runs are open.
    #[must_use]
    pub(crate) fn open(&self) -> usize {
        self.heads.len() + self.far.len()
    }

    /// The most runs that were open at once.
    #[must_use]
    pub(crate) fn open_max(&self) -> usize {
        self.open_max
    }

    /// How often an entry changed its place.
    #[must_use]
    pub(crate) fn moves(&self) -> u64 {
        self.moves
    }

    /// Emits the first run as far as it stays first and below `limit`, and puts it in its new place.
    ///
    /// `emit` sees the events; what it returns is passed on. Returns the run if its events are used up.
    pub fn advance<R>(
        &mut self,
        limit: Option<Key>,
        emit: impl FnOnce(SortedRun<'_>) -> R,
    ) -> Option<(R, Option<OpenRun>)> {
        let &(_, slot) = self.heads.last()?;
        let second = match self.heads.len().checked_sub(2) {
            Some(place) => Some(self.heads[place].0),
            None => self.far.peek().map(|Reverse((key, _))| *key),
        };
        let limit = second.into_iter().chain(limit).min();
        let run = self.runs[slot].as_mut()?;
        let end = limit.map_or(run.chunk.events.len(), |limit| run.end_below(limit));
        // The first head may equal the limit only if both are one event; it is emitted, so that there is always
        // progress.
        let end = end.max(run.next + 1);
        let start = run.next;
        let result = emit(SortedRun { events: &run.chunk.events[start..end], details: &run.chunk.details, run, start });
        run.next = end;
        if let Some(key) = run.key() {
            self.replace_first(key, slot);
            return Some((result, None));
        }
        self.heads.pop();
        self.refill();
        self.free.push(slot);
        Some((result, self.runs[slot].take()))
    }

    pub(crate) fn drain(&mut self) -> Vec<OpenRun> {
        self.heads.clear();
        self.far.clear();
        self.free.clear();
        std::mem::take(&mut self.runs).into_iter().flatten().collect()
    }

    fn is_far(&self, key: Key) -> bool {
        self.far.peek().is_some_and(|Reverse((first, _))| key > *first)
    }

    /// Fills the array from the heap once it is empty.
    fn refill(&mut self) {
        if self.heads.is_empty() {
            self.heads.extend((0..Self::NEAR_MAX / 2).map_while(|_| self.far.pop().map(|Reverse(head)| head)));
            self.heads.reverse();
        }
    }

    fn replace_first(&mut self, key: Key, slot: usize) {
        if self.is_far(key) {
            self.moves += self.heads.len() as u64;
            self.heads.pop();
            self.far.push(Reverse((key, slot)));
            self.refill();
            return;
        }
        let last = self.heads.len() - 1;
        let mut place = last;
        // One or two swaps are the rule.
        while place > 0 && self.heads[place - 1].0 < key && last - place < 4 {
            self.heads[place] = self.heads[place - 1];
            place -= 1;
        }
        if place > 0 && self.heads[place - 1].0 < key {
            let far = self.heads[..place].partition_point(|&(head, _)| head > key);
            self.heads.copy_within(far..place, far + 1);
            place = far;
        }
        self.moves += (last - place) as u64;
        self.heads[place] = (key, slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::budget::Budget;
    use crate::model::{EventFlags, EventKind, NameIdx, TrackIdx};

    fn run(chunk: u32, times: impl Iterator<Item = i64>) -> OpenRun {
        let event = |ts_ns| Event {
            ts_ns,
            value: 0,
            track: TrackIdx(0),
            name: NameIdx::EMPTY,
            detail: 0,
            depth: 0,
            kind: EventKind::Instant,
            flags: EventFlags::NONE,
        };
        let chunk_of = Chunk { events: times.map(event).collect(), ..Chunk::default() };
        OpenRun {
            chunk: chunk_of,
            origin: Origin::One(chunk),
            next: 0,
            rest: None,
            charge: Budget::default().charge(0),
        }
    }

    /// All keys in the order in which they are emitted, and the moves in the table for each event.
    fn emitted(runs: Vec<OpenRun>) -> (Vec<Key>, u64) {
        let mut table = HeadTable::default();
        let expected_open = runs.len();
        runs.into_iter().for_each(|run| table.insert(run));
        assert_eq!((table.open(), table.open_max()), (expected_open, expected_open));
        let mut keys = Vec::new();
        while table.open() > 0 {
            let keys_of = |run: SortedRun<'_>| {
                let key = |(offset, event): (usize, &Event)| Key { ts_ns: event.ts_ns, chunk: run.origin(offset) };
                run.events.iter().enumerate().map(key).collect::<Vec<_>>()
            };
            keys.extend(table.advance(None, keys_of).unwrap().0);
        }
        let moves = table.moves() / keys.len().max(1) as u64;
        (keys, moves)
    }

    #[test]
    fn thousands_of_open_runs_are_merged_in_order_and_each_event_moves_a_few_heads() {
        for count in [1, 2, 255, 256, 257, 3000] {
            for step in [1, 7919] {
                let times = |chunk: u32| (0..9).map(move |k| i64::from(chunk) * step % 1013 + k * step);
                let (keys, moves) = emitted((0..count).map(|chunk| run(chunk, times(chunk))).collect());
                let mut expected: Vec<Key> =
                    (0..count).flat_map(|chunk| times(chunk).map(move |ts_ns| Key { ts_ns, chunk })).collect();
                expected.sort();
                assert_eq!(keys, expected, "{count} runs with steps of {step}");
                assert!(moves <= HeadTable::NEAR_MAX as u64, "{count} runs: {moves} heads for each event");
            }
        }
    }
}
