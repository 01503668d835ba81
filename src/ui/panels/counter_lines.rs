//! The lines of the counters table, one per counter of the scope, and their order by a column. Texts are looked up when
//! a line is shown.

use std::cmp::Ordering;

use super::table_column::{NUMBER_POINTS, TableColumn};
use super::table_order::{TableData, TableSort, matching_rows, sort_rows};
use crate::base::cancel::{Cancel, Cancelled};
use crate::query::Snapshot;
use crate::query::counters::CounterStats;
use crate::scene::titles::{process_title, track_title};

/// A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CounterColumn {
    Name,
    Process,
    Samples,
    Min,
    Max,
    Mean,
    Change,
    Rate,
    First,
    Last,
    Unit,
}

impl CounterColumn {
    pub(super) const ALL: [Self; 11] = [
        Self::Name,
        Self::Process,
        Self::Samples,
        Self::Min,
        Self::Max,
        Self::Mean,
        Self::Change,
        Self::Rate,
        Self::First,
        Self::Last,
        Self::Unit,
    ];
}

pub(super) const COLUMNS: [TableColumn; CounterColumn::ALL.len()] = [
    TableColumn::text("Counter", 160.0),
    TableColumn::text("Process", 120.0),
    TableColumn::number("Samples", NUMBER_POINTS).meaning("Number of values in the scope."),
    TableColumn::number("Min", NUMBER_POINTS),
    TableColumn::number("Max", NUMBER_POINTS),
    TableColumn::number("Mean", NUMBER_POINTS)
        .meaning("Mean over time: each value counts for the time until the next one."),
    TableColumn::number("Change", NUMBER_POINTS).meaning("Last value minus first value."),
    TableColumn::number("Rate /s", NUMBER_POINTS)
        .meaning("Change per second: the change in the scope, divided by the time that has values."),
    TableColumn::number("First", NUMBER_POINTS),
    TableColumn::number("Last", NUMBER_POINTS),
    TableColumn::text("Unit", 60.0),
];

/// The counters of a scope, in track order.
#[derive(Debug)]
pub struct CounterLines {
    snapshot: Snapshot,
    counters: Vec<CounterStats>,
}

impl CounterLines {
    pub(crate) fn new(snapshot: &Snapshot, counters: Vec<CounterStats>) -> Self {
        Self { snapshot: snapshot.clone(), counters }
    }

    pub(super) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    pub(super) fn line(&self, row: usize) -> CounterLine<'_> {
        CounterLine { snapshot: &self.snapshot, stats: &self.counters[row] }
    }
}

/// A counter and its texts.
#[derive(Debug, Clone, Copy)]
pub(super) struct CounterLine<'a> {
    snapshot: &'a Snapshot,
    pub(super) stats: &'a CounterStats,
}

impl<'a> CounterLine<'a> {
    pub(super) fn name(self) -> String {
        track_title(self.snapshot.track(self.stats.track)).0
    }

    pub(super) fn process(self) -> String {
        let process = self.snapshot.track(self.stats.track).process;
        process_title(&self.snapshot.tracks().processes[process.index()])
    }

    pub(super) fn unit(self) -> &'a str {
        self.snapshot.tracks().unit(self.stats.track)
    }

    /// Returns the number of a column; `None` for texts and unknown rates.
    pub(super) fn number(self, column: CounterColumn) -> Option<f64> {
        let stats = self.stats;
        match column {
            CounterColumn::Name | CounterColumn::Process | CounterColumn::Unit => None,
            CounterColumn::Samples => Some(stats.samples as f64),
            CounterColumn::Min => Some(stats.min),
            CounterColumn::Max => Some(stats.max),
            CounterColumn::Mean => Some(stats.mean),
            CounterColumn::Change => Some(stats.change()),
            CounterColumn::Rate => stats.rate(),
            CounterColumn::First => Some(stats.first),
            CounterColumn::Last => Some(stats.last),
        }
    }
}

impl TableData for CounterLines {
    type Facts = ();

    fn count(&self) -> usize {
        self.counters.len()
    }

    fn order(&self, sort: &TableSort, cancel: &Cancel) -> Result<(Vec<u32>, ()), Cancelled> {
        let line = |row| self.line(row);
        let has_words = |row| sort.words.is_empty() || line(row).name().to_lowercase().contains(&sort.words);
        let mut rows = matching_rows(self.counters.len(), cancel, has_words)?;
        let Some((column, ascending)) = sort.column else { return Ok((rows, ())) };
        match CounterColumn::ALL[column] {
            CounterColumn::Name => sort_rows(&mut rows, ascending, cancel, |row| line(row).name(), Ord::cmp)?,
            CounterColumn::Process => sort_rows(&mut rows, ascending, cancel, |row| line(row).process(), Ord::cmp)?,
            CounterColumn::Unit => sort_rows(&mut rows, ascending, cancel, |row| line(row).unit(), Ord::cmp)?,
            number => {
                let compare = |one: &_, other: &_| compare_numbers(*one, *other);
                sort_rows(&mut rows, ascending, cancel, |row| line(row).number(number), compare)?;
            }
        }
        Ok((rows, ()))
    }
}

/// Compares numbers, with unknown ones before all others.
fn compare_numbers(one: Option<f64>, other: Option<f64>) -> Ordering {
    match (one, other) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        (one, other) => one.is_some().cmp(&other.is_some()),
    }
}
