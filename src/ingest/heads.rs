//! The head table of the deferred merge: determines which open chunk continues, and how far.
//!
//! Entries are sorted, so the first one is found in constant time. Traces are nearly sorted, so an entry that has
//! advanced stays or is swapped with its neighbour. A loser tree would cost a logarithm for each of a billion events;
//! the array costs a comparison per *run* of events. The design follows "Efficiently sorting gigabytes" by Jelle van
//! der Beek (Superluminal), except that unopened chunks are not in the table. Their heads never change, so a sorted
//! list with a cursor suffices.
//!
//! With more than a few hundred open runs, a move in the array costs more than in a heap. The latest runs are then in a
//! heap.
//!
//! This module does no I/O.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::model::{Chunk, Details, Event};

use super::spill::SpilledRun;
use crate::base::budget::Charge;

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
    fn key(&self) -> Option<Key> {
        self.key_at(self.next)
    }

    fn key_at(&self, position: usize) -> Option<Key> {
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
    fn end_below(&self, limit: Key) -> usize {
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

/// The open runs, ordered by their heads. The first ones are in an array; the others are in a heap, which only traces
/// with thousands of small chunks need.
#[derive(Debug, Default)]
pub struct HeadTable {
    /// In descending order, so that the first run can be popped in constant time. Empty only if `far` is.
    heads: Vec<(Key, usize)>,
    /// No entry precedes one of `heads`.
    far: BinaryHeap<Reverse<(Key, usize)>>,
    runs: Vec<Option<OpenRun>>,
    free: Vec<usize>,
    moves: u64,
    open_max: usize,
}

/// A run of sorted events to emit.
#[derive(Debug)]
pub struct SortedRun<'a> {
    /// The events, sorted by time.
    pub events: &'a [Event],
    /// The details of the events.
    pub(crate) details: &'a Details,
    /// Maps offsets in `events` to chunk numbers.
    run: &'a OpenRun,
    start: usize,
}

impl SortedRun<'_> {
    /// Returns the sort key of its last event.
    #[must_use]
    pub(crate) fn last_key(&self) -> Option<Key> {
        self.run.key_at((self.start + self.events.len()).checked_sub(1)?)
    }

    /// Returns the chunk number of the event at `offset`.
    #[must_use]
    pub(crate) fn origin(&self, offset: usize) -> u32 {
        self.run.origin_at(self.start + offset)
    }
}

impl HeadTable {
    /// Maximum length of the array; beyond it, moves cost more than in a heap.
    const NEAR_MAX: usize = 256;

    /// Adds a run; an empty one is dropped.
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
            let index = self.heads.partition_point(|&(head, _)| head > key);
            self.heads.insert(index, (key, slot));
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

    /// Returns the number of open runs.
    #[must_use]
    pub(crate) fn open(&self) -> usize {
        self.heads.len() + self.far.len()
    }

    /// Returns the maximum number of runs that were open at once.
    #[must_use]
    pub(crate) fn open_max(&self) -> usize {
        self.open_max
    }

    /// Returns the number of moves of entries.
    #[must_use]
    pub(crate) fn moves(&self) -> u64 {
        self.moves
    }

    /// Emits the events of the first run that precede the second run and `limit`, then moves it to its new position.
    ///
    /// `emit` receives the events; its result is returned. Also returns the run if all its events were emitted.
    pub fn advance<R>(
        &mut self,
        limit: Option<Key>,
        emit: impl FnOnce(SortedRun<'_>) -> R,
    ) -> Option<(R, Option<OpenRun>)> {
        let &(_, slot) = self.heads.last()?;
        let second = match self.heads.len().checked_sub(2) {
            Some(index) => Some(self.heads[index].0),
            None => self.far.peek().map(|Reverse((key, _))| *key),
        };
        let limit = second.into_iter().chain(limit).min();
        let run = self.runs[slot].as_mut()?;
        let end = limit.map_or(run.chunk.events.len(), |limit| run.end_below(limit));
        // The first head equals the limit only if both are the same event. It is emitted, so that the merge always
        // advances.
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

    /// Fills the array from the heap when it is empty.
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
        let mut index = last;
        // Usually one or two swaps.
        while index > 0 && self.heads[index - 1].0 < key && last - index < 4 {
            self.heads[index] = self.heads[index - 1];
            index -= 1;
        }
        if index > 0 && self.heads[index - 1].0 < key {
            let far = self.heads[..index].partition_point(|&(head, _)| head > key);
            self.heads.copy_within(far..index, far + 1);
            index = far;
        }
        self.moves += (last - index) as u64;
        self.heads[index] = (key, slot);
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

    /// Returns all keys in emission order, and the moves per event.
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
