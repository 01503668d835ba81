//! Exports derived tracks as counters without a process, in addition to the trace's counters. Their values are merged
//! with the rows in time order.

use std::borrow::Cow;
use std::iter::Peekable;
use std::sync::Arc;

use crate::model::{Event, Id, NameIdx, Process, ProcessIdx, Track, TrackIdx, TrackKey, TrackKind, TrackTables};
use crate::query::derived::{CounterSteps, DerivedSeries, DerivedTrack};

/// A derived track that is written as a counter.
#[derive(Debug, Clone)]
pub struct DerivedCounter {
    /// The name of the counter.
    pub(crate) name: String,
    pub(crate) track: DerivedTrack,
    pub(crate) series: Arc<DerivedSeries>,
}

/// A counter with its index in the tables.
#[derive(Debug, Clone)]
pub(crate) struct ExportedCounter {
    track: TrackIdx,
    pub(super) process: ProcessIdx,
    pub(super) steps: CounterSteps,
}

/// Returns the tables of a trace with a track for each derived one.
pub(super) fn with_derived<'a>(tables: &'a TrackTables, derived: &[DerivedCounter]) -> Cow<'a, TrackTables> {
    if derived.is_empty() {
        return Cow::Borrowed(tables);
    }
    let mut tables = tables.clone();
    let existing_position = tables.processes.iter().position(|process| process.pid == Id::None);
    let process = ProcessIdx(existing_position.unwrap_or(tables.processes.len()) as u32);
    if existing_position.is_none() {
        tables.processes.push(Process::default());
    }
    for counter in derived {
        let name: Arc<str> = unused_name(&tables, &counter.name);
        let key = key_of(&name);
        let unit = counter.track.kind.unit();
        if !unit.is_empty() {
            tables.units.insert(TrackIdx(tables.tracks.len() as u32), unit.into());
        }
        tables.tracks.push(Track { key, process, name, sort_index: 0 });
    }
    Cow::Owned(tables)
}

/// Returns a name that no counter without a process has: readers merge counters with the same name.
fn unused_name(tables: &TrackTables, name: &str) -> Arc<str> {
    let is_used = |name: &str| {
        let counters = tables.tracks.iter().filter(|track| track.key.kind == TrackKind::Counter);
        counters.map(|track| &track.key).any(|key| key.pid == Id::None && *key.name == *name)
    };
    let numbered = (2u64..).map(|number| format!("{name} #{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|name| !is_used(name)).unwrap_or_default().into()
}

/// Returns the counters of an export, on the last tracks of its tables, with their values in a time range.
pub(super) fn exported_counters(
    tables: &TrackTables,
    derived: &[DerivedCounter],
    range: (Option<i64>, Option<i64>),
) -> Vec<ExportedCounter> {
    let first = tables.tracks.len() - derived.len();
    let exported = |(row, counter): (usize, &DerivedCounter)| ExportedCounter {
        track: TrackIdx(row as u32),
        process: tables.tracks[row].process,
        steps: CounterSteps::new(Arc::clone(&counter.series), counter.track.every_ns, range),
    };
    (first..).zip(derived).map(exported).collect()
}

/// Merges the values of several counters in time order.
pub(super) struct DerivedValues {
    counters: Vec<(TrackIdx, Peekable<CounterSteps>)>,
    /// Time and index of the counter with the next value.
    next: Option<(i64, usize)>,
}

impl DerivedValues {
    pub(super) fn new(counters: &[ExportedCounter]) -> Self {
        let counters = counters.iter().map(|counter| (counter.track, counter.steps.clone().peekable()));
        let mut values = Self { counters: counters.collect(), next: None };
        values.find_next();
        values
    }

    fn find_next(&mut self) {
        let heads = self.counters.iter_mut().enumerate();
        self.next = heads.filter_map(|(number, (_, steps))| Some((steps.peek()?.0, number))).min();
    }

    /// Returns the next value, if it is not after `ts_ns`.
    pub(super) fn next_until(&mut self, ts_ns: i64) -> Option<Event> {
        let (_, number) = self.next.filter(|&(next_ns, _)| next_ns <= ts_ns)?;
        let (track, steps) = self.counters.get_mut(number)?;
        let (ts_ns, value) = steps.next()?;
        let event = Event::at(ts_ns, *track, NameIdx::EMPTY).counter(value).placed(0);
        self.find_next();
        Some(event)
    }
}

/// Returns the key of a derived counter, which belongs to no process.
fn key_of(name: &Arc<str>) -> TrackKey {
    TrackKey { name: Arc::clone(name).into(), ..TrackKey::new(TrackKind::Counter, Id::None, Id::None) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_counter_of_a_name_has_a_name_of_its_own() {
        let mut tables = TrackTables::default();
        for expected in ["rate", "rate #2", "rate #3"] {
            let name = unused_name(&tables, "rate");
            assert_eq!(&*name, expected);
            let key = key_of(&name);
            tables.tracks.push(Track { key, process: ProcessIdx(0), name, sort_index: 0 });
        }
    }
}
