//! An external merge sort of events with the same time: in memory up to a limit, in sorted runs in the spill file
//! beyond it. It is stable like the sort in memory. Arguments are not moved: each event has the offset of its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::vec;

use bytemuck::{CheckedBitPattern, NoUninit};

use super::spill::SpillFile;
use crate::model::Event;

/// An event, with the offset of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Tied {
    pub(super) event: Event,
    /// The offset of its arguments.
    pub(super) blob_start: u64,
    pub(super) blob_bytes: u64,
}

const _: () = assert!(size_of::<Tied>() == 48);

/// The spill file, and the limits in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct TieSpill<'a> {
    pub(super) file: &'a SpillFile,
    /// Limit per sorter. At most four sorters exist at once, and each reads as much ahead.
    pub(super) held_events: usize,
    /// Limit for the bytes of collected arguments.
    pub(super) held_bytes: usize,
}

/// Sorts events by key. Events of one key keep the order of arrival.
#[derive(Debug)]
pub(super) struct TieSorter<'a> {
    spill: TieSpill<'a>,
    key: fn(&Tied) -> u64,
    events: Vec<Tied>,
    runs: Vec<SortedRun>,
}

/// A sorted run in the file, as consecutive parts.
type SortedRun = Vec<RunPart>;

#[derive(Debug, Clone, Copy)]
struct RunPart {
    offset: u64,
    events: usize,
}

/// Iterates over events in key order.
#[derive(Debug)]
pub(super) struct SortedTies<'a> {
    key: fn(&Tied) -> u64,
    cursors: Vec<Cursor<'a>>,
    /// The next event of each cursor that has one, by key and cursor.
    next: BinaryHeap<Reverse<(u64, usize)>>,
}

/// The unread rest of a run.
#[derive(Debug)]
struct Cursor<'a> {
    file: &'a SpillFile,
    /// Events that were read ahead.
    block: vec::IntoIter<Tied>,
    parts: vec::IntoIter<RunPart>,
    part: RunPart,
    /// Events in memory that follow all parts.
    last_events: Vec<Tied>,
}

impl TieSpill<'_> {
    /// Maximum number of runs in one merge; more runs are merged in several passes.
    const RUNS_MAX: usize = 32;
    /// Number of events of a run that are read at once.
    const BLOCK_EVENTS: usize = 64;

    /// Derives the limits from a budget of `bytes`.
    pub(super) fn within(file: &SpillFile, bytes: u64) -> TieSpill<'_> {
        let held_bytes = usize::try_from(bytes / 8).unwrap_or(usize::MAX);
        TieSpill { file, held_events: (held_bytes / size_of::<Tied>()).max(1), held_bytes }
    }
}

impl<'a> TieSorter<'a> {
    pub(super) fn by_key(spill: TieSpill<'a>, key: fn(&Tied) -> u64) -> Self {
        Self { spill, key, events: Vec::new(), runs: Vec::new() }
    }

    /// Creates a sorter that keeps the order of arrival.
    pub(super) fn in_order(spill: TieSpill<'a>) -> Self {
        Self::by_key(spill, |_| 0)
    }

    /// Adds an event. Fails with the I/O error of the file.
    pub(super) fn push(&mut self, tied: Tied) -> io::Result<()> {
        self.events.push(tied);
        if self.events.len() >= self.spill.held_events { self.write_held() } else { Ok(()) }
    }

    /// Returns all events if none of them is in the file.
    pub(super) fn held_alone(&mut self) -> Option<&mut Vec<Tied>> {
        self.runs.is_empty().then_some(&mut self.events)
    }

    /// Sorts `events` and writes them as a run. Fails like [`Self::push`].
    pub(super) fn push_run(&mut self, events: &mut [Tied]) -> io::Result<()> {
        events.sort_by_key(self.key);
        let offset = self.spill.file.write_bytes(bytemuck::cast_slice(events))?;
        self.runs.push(vec![RunPart { offset, events: events.len() }]);
        Ok(())
    }

    fn write_held(&mut self) -> io::Result<()> {
        if self.events.is_empty() {
            return Ok(());
        }
        let mut events = std::mem::take(&mut self.events);
        let written = self.push_run(&mut events);
        events.clear();
        self.events = events;
        written
    }

    /// Iterates over the events of a sorter from [`Self::in_order`].
    pub(super) fn in_arrival_order(&self) -> io::Result<SortedTies<'a>> {
        let parts: Vec<_> = self.runs.iter().flatten().copied().collect();
        SortedTies::new(vec![Cursor::new(self.spill.file, parts, self.events.clone())], self.key)
    }

    /// Iterates over the events in key order. Fails like [`Self::push`].
    pub(super) fn sorted(mut self) -> io::Result<SortedTies<'a>> {
        while self.runs.len() > TieSpill::RUNS_MAX {
            let runs = std::mem::take(&mut self.runs);
            for merged in runs.chunks(TieSpill::RUNS_MAX) {
                self.runs.push(self.merged(merged)?);
            }
        }
        let mut events = self.events;
        events.sort_by_key(self.key);
        let file = self.spill.file;
        let runs = self.runs.into_iter().map(|parts| Cursor::new(file, parts, Vec::new()));
        SortedTies::new(runs.chain([Cursor::new(file, Vec::new(), events)]).collect(), self.key)
    }

    /// Merges runs into one run.
    fn merged(&self, runs: &[SortedRun]) -> io::Result<SortedRun> {
        let mut merged = Self::in_order(self.spill);
        let cursors = runs.iter().map(|parts| Cursor::new(self.spill.file, parts.clone(), Vec::new()));
        let mut events = SortedTies::new(cursors.collect(), self.key)?;
        while let Some(tied) = events.next()? {
            merged.push(tied)?;
        }
        merged.write_held()?;
        Ok(merged.runs.into_iter().flatten().collect())
    }
}

impl<'a> SortedTies<'a> {
    fn new(cursors: Vec<Cursor<'a>>, key: fn(&Tied) -> u64) -> io::Result<Self> {
        let mut events = Self { key, cursors, next: BinaryHeap::new() };
        (0..events.cursors.len()).try_for_each(|cursor| events.push_next_of(cursor))?;
        Ok(events)
    }

    fn push_next_of(&mut self, cursor: usize) -> io::Result<()> {
        if let Some(tied) = self.cursors[cursor].peek()? {
            self.next.push(Reverse(((self.key)(&tied), cursor)));
        }
        Ok(())
    }

    /// Returns the next event. Fails with the I/O error of the file.
    pub(super) fn next(&mut self) -> io::Result<Option<Tied>> {
        let Some(Reverse((_, cursor))) = self.next.pop() else { return Ok(None) };
        let tied = self.cursors[cursor].block.next();
        self.push_next_of(cursor)?;
        Ok(tied)
    }
}

impl<'a> Cursor<'a> {
    /// Reads the events of `parts`, then `last_events`.
    fn new(file: &'a SpillFile, parts: SortedRun, last_events: Vec<Tied>) -> Self {
        let part = RunPart { offset: 0, events: 0 };
        Self { file, block: Vec::new().into_iter(), parts: parts.into_iter(), part, last_events }
    }

    fn peek(&mut self) -> io::Result<Option<Tied>> {
        while self.block.as_slice().is_empty() {
            if self.part.events > 0 {
                let events = self.part.events.min(TieSpill::BLOCK_EVENTS);
                self.block = read_events(self.file, self.part.offset, events)?.into_iter();
                self.part.offset += (events * size_of::<Tied>()) as u64;
                self.part.events -= events;
            } else if let Some(part) = self.parts.next() {
                self.part = part;
            } else if !self.last_events.is_empty() {
                self.block = std::mem::take(&mut self.last_events).into_iter();
            } else {
                return Ok(None);
            }
        }
        Ok(self.block.as_slice().first().copied())
    }
}

fn read_events(file: &SpillFile, offset: u64, count: usize) -> io::Result<Vec<Tied>> {
    // Words have the alignment of events.
    let mut words = vec![0u64; count * size_of::<Tied>() / size_of::<u64>()];
    file.read_bytes(bytemuck::cast_slice_mut(&mut words), offset)?;
    let events = bytemuck::checked::try_cast_slice::<u64, Tied>(&words);
    // The error does not implement `Error` without a feature of `bytemuck`.
    Ok(events.map_err(|error| io::Error::other(error.to_string()))?.to_vec())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{NameIdx, TrackIdx};

    proptest! {
        #[test]
        fn events_come_back_as_a_stable_sort_in_memory_gives_them(
            keys in proptest::collection::vec(0u64..9, 0..400),
            held_events in 1usize..9,
        ) {
            let file = SpillFile::create(&std::env::temp_dir()).unwrap();
            let spill = TieSpill { file: &file, held_events, held_bytes: 1 };
            let tied = |(position, &value): (usize, &u64)| {
                let event = Event { value, ..Event::at(0, TrackIdx(0), NameIdx::EMPTY) };
                Tied { event, blob_start: position as u64, blob_bytes: 0 }
            };
            let events: Vec<_> = keys.iter().enumerate().map(tied).collect();
            let mut sorter = TieSorter::by_key(spill, |tied| tied.event.value);
            let mut list = TieSorter::in_order(spill);
            for &tied in &events {
                sorter.push(tied).unwrap();
                list.push(tied).unwrap();
            }
            let all = |mut sorted: SortedTies<'_>| {
                std::iter::from_fn(|| sorted.next().unwrap()).collect::<Vec<_>>()
            };
            prop_assert_eq!(all(list.in_arrival_order().unwrap()), events.clone());
            prop_assert_eq!(all(list.in_arrival_order().unwrap()), events.clone(), "as often as it is asked for");
            let mut expected = events;
            expected.sort_by_key(|tied| tied.event.value);
            prop_assert_eq!(all(sorter.sorted().unwrap()), expected);
        }
    }
}
