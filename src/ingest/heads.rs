//! The head table of the deferred merge: determines which open chunk continues, and how far.
//!
//! Entries are sorted, so the first one is found in constant time. Traces are nearly sorted, so an entry that has
//! advanced stays or is swapped with its neighbour. A loser tree would cost a logarithm for each of a billion events;
//! the array costs a comparison per *run* of events. The design follows "Efficiently sorting gigabytes" by Jelle van
//! der Beek (Superluminal), except that unopened chunks are not in the table. Their heads never change, so a sorted
//! list with a cursor suffices.
//!
//! With more than a few hundred open runs, a move in the array costs more than in a heap. The latest runs are then in a
//! heap. If the first run changes with nearly each event, the next events of all runs are sorted at once.
//!
//! This module does no I/O.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::gather::{Gathered, RUNS_MAX};
use super::open_run::{Key, OpenRun};
use crate::model::Event;

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
    gathered: Gathered,
    /// Number of events that could have been gathered in the time of the runs so far; long runs are cheaper.
    gatherable: usize,
    moves: u64,
    open_max: usize,
}

/// A run of sorted events to emit.
#[derive(Debug)]
pub struct SortedRun<'a> {
    /// The events, sorted by time.
    pub events: &'a [Event],
    source: RunSource<'a>,
}

/// Where the events of a sorted run come from.
#[derive(Debug)]
enum RunSource<'a> {
    /// One run, from a position on.
    One { run: &'a OpenRun, start: usize },
    /// All of the open runs.
    All { gathered: &'a Gathered, runs: &'a [Option<OpenRun>] },
}

impl<'a> SortedRun<'a> {
    /// Returns the sort key of its last event.
    #[must_use]
    pub(crate) fn last_key(&self) -> Option<Key> {
        self.key_at(self.events.len().checked_sub(1)?)
    }

    /// Returns the chunk number of the event at `offset`.
    #[must_use]
    pub(crate) fn origin(&self, offset: usize) -> u32 {
        self.key_at(offset).map_or(0, |key| key.chunk)
    }

    /// Returns the encoded details of the event at `offset`; empty if it has none.
    #[must_use]
    pub(crate) fn blob(&self, offset: usize) -> &'a [u8] {
        let detail = self.events[offset].detail;
        if detail == 0 {
            return &[];
        }
        let run = match self.source {
            RunSource::One { run, .. } => Some(run),
            RunSource::All { gathered, runs } => gathered.slot_at(offset).and_then(|slot| runs[slot].as_ref()),
        };
        run.map_or(&[], |run| run.chunk.details.blob(detail))
    }

    fn key_at(&self, offset: usize) -> Option<Key> {
        match self.source {
            RunSource::One { run, start } => run.key_at(start + offset),
            RunSource::All { gathered, .. } => gathered.key_at(offset),
        }
    }
}

impl HeadTable {
    /// Maximum length of the array; beyond it, moves cost more than in a heap.
    const NEAR_MAX: usize = 256;

    /// Number of gathered events that cost as much as a run in the array.
    const RUN_COST: usize = 4;

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
        if self.is_interleaved() && self.gather(limit) {
            let (gathered, runs) = (&self.gathered, &*self.runs);
            let run = SortedRun { events: gathered.events(), source: RunSource::All { gathered, runs } };
            return Some((emit(run), None));
        }
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
        let result = emit(SortedRun { events: &run.chunk.events[start..end], source: RunSource::One { run, start } });
        run.next = end;
        self.gatherable = (self.gatherable + Self::RUN_COST).saturating_sub(end - start);
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

    /// Returns whether to gather: once short runs have cost as much as a visit of all runs, and until runs are long
    /// again.
    fn is_interleaved(&self) -> bool {
        self.gatherable >= 2 * self.runs.len().max(2 * Self::RUN_COST) && self.runs.len() <= RUNS_MAX
    }

    /// Gathers the next events of all runs before `limit`, and reorders the heads. Returns false if the first run has
    /// only one event left, which must be emitted alone.
    fn gather(&mut self, limit: Option<Key>) -> bool {
        let first = self.heads.last().and_then(|&(_, slot)| self.runs[slot].as_ref());
        if first.is_none_or(|run| run.key_at(run.next + 1).is_none()) {
            return false;
        }
        self.gathered.gather(&mut self.runs, limit);
        let gathered = self.gathered.events().len();
        if gathered < self.runs.len() || self.gathered.switches() * Self::RUN_COST < gathered {
            self.gatherable = 0;
        }
        let open = self.open();
        self.moves += open as u64;
        self.heads.clear();
        self.far.clear();
        let heads = self.runs.iter().enumerate().filter_map(|(slot, run)| Some((run.as_ref()?.key()?, slot)));
        self.heads.extend(heads);
        self.heads.sort_unstable_by_key(|&head| Reverse(head));
        if open > Self::NEAR_MAX {
            self.far.extend(self.heads.drain(..open - Self::NEAR_MAX).map(Reverse));
        }
        true
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
    use super::super::gather::EVENTS_MAX;
    use super::super::open_run::Origin;
    use super::*;
    use crate::base::budget::Budget;
    use crate::model::{Chunk, EventFlags, EventKind, NameIdx, TrackIdx};

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

    /// Returns all keys in emission order, the moves of heads, and the number of emitted runs.
    fn emitted(runs: Vec<OpenRun>, limit_after: impl Fn(Key) -> Option<Key>) -> (Vec<Key>, u64, usize) {
        let mut table = HeadTable::default();
        let expected_open = runs.len();
        runs.into_iter().for_each(|run| table.insert(run));
        assert_eq!((table.open(), table.open_max()), (expected_open, expected_open));
        let (mut keys, mut emissions) = (Vec::new(), 0);
        while let Some(first) = table.first() {
            let limit = limit_after(first);
            let keys_of = |run: SortedRun<'_>| {
                let key = |(offset, event): (usize, &Event)| Key { ts_ns: event.ts_ns, chunk: run.origin(offset) };
                let keys: Vec<_> = run.events.iter().enumerate().map(key).collect();
                assert_eq!(run.last_key(), keys.last().copied());
                keys
            };
            let emitted = table.advance(limit, keys_of).unwrap().0;
            assert!(emitted.len() <= EVENTS_MAX, "{} events at once", emitted.len());
            assert!(!emitted.is_empty() && limit.is_none_or(|limit| *emitted.last().unwrap() < limit), "{limit:?}");
            keys.extend(emitted);
            emissions += 1;
        }
        (keys, table.moves(), emissions)
    }

    #[test]
    fn thousands_of_open_runs_are_merged_in_order_and_each_event_moves_a_few_heads() {
        for count in [1, 2, 255, 256, 257, 3000] {
            for step in [1, 7919] {
                let times = |chunk: u32| (0..9).map(move |k| i64::from(chunk) * step % 1013 + k * step);
                let (keys, moves, _) = emitted((0..count).map(|chunk| run(chunk, times(chunk))).collect(), |_| None);
                let mut expected: Vec<Key> =
                    (0..count).flat_map(|chunk| times(chunk).map(move |ts_ns| Key { ts_ns, chunk })).collect();
                expected.sort();
                let moves = moves / keys.len() as u64;
                assert_eq!(keys, expected, "{count} runs with steps of {step}");
                assert!(moves <= HeadTable::NEAR_MAX as u64, "{count} runs: {moves} heads for each event");
            }
        }
    }

    /// Times in a random order. Some are equal, also in other runs.
    fn random_times(seed: u32, count: usize) -> Vec<i64> {
        let mut state = u64::from(seed) + 1;
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 44) as i64 - (1 << 19)
        };
        let mut times: Vec<i64> = std::iter::repeat_with(next).take(count).collect();
        times.sort_unstable();
        times
    }

    #[test]
    fn interleaved_runs_are_emitted_thousands_of_events_at_a_time() {
        const EACH: usize = 4000;
        for count in [4, 100, 300] {
            // With a limit, each call emits only events soon after the first one, as if a chunk began there.
            for limit in [None, Some(1 << 16)] {
                let runs = (0..count).map(|chunk| run(chunk, random_times(chunk, EACH).into_iter())).collect();
                let (keys, moves, emissions) = emitted(runs, |first| {
                    limit.map(|limit| Key { ts_ns: first.ts_ns.saturating_add(limit), chunk: 0 })
                });
                let mut expected: Vec<Key> = (0..count)
                    .flat_map(|chunk| random_times(chunk, EACH).into_iter().map(move |ts_ns| Key { ts_ns, chunk }))
                    .collect();
                expected.sort();
                assert!(keys == expected, "{count} runs");
                let events = keys.len();
                // Each event alone would move half of the heads.
                assert!(moves * 4 < (events * count as usize) as u64, "{moves} of {events} events");
                assert!(emissions * 20 < events, "{emissions} emissions of {events} events");
            }
        }
    }

    #[test]
    fn a_dense_run_makes_gathered_runs_neither_short_nor_too_long_once_all_are_dense() {
        const RUNS: u32 = 250;
        let count = |chunk: u32| if chunk == 0 { 200_000 } else { 400 };
        // The times of the second part are after the times of the first part.
        let later = |ts_ns: i64| ts_ns + (1 << 20);
        let times = |chunk: u32| {
            random_times(chunk, count(chunk)).into_iter().chain(random_times(chunk, 400).into_iter().map(later))
        };
        let (keys, _, emissions) = emitted((0..RUNS).map(|chunk| run(chunk, times(chunk))).collect(), |_| None);
        assert!(keys.is_sorted());
        assert_eq!(keys.len(), (0..RUNS).map(|chunk| count(chunk) + 400).sum::<usize>());
        assert!(emissions * 100 < keys.len(), "{emissions} emissions of {} events", keys.len());
    }

    #[test]
    fn runs_that_end_one_after_another_cost_no_visit_of_all_for_each_event() {
        // Each run has two events: one that is soon the first of all, and one at the end.
        let times = |chunk: u32| [i64::from(chunk), 1 << 40].into_iter();
        let (keys, moves, _) = emitted((0..1000).map(|chunk| run(chunk, times(chunk))).collect(), |_| None);
        assert_eq!(keys.len(), 2000);
        assert!(moves < 2000 * 64, "{moves}");
    }
}
