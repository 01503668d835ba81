//! The lines of the sample table, one per function, module, thread, event or call, and their order by a column. Texts
//! are looked up when a line is shown.

use std::borrow::Cow;
use std::sync::Arc;

use super::call_order::{CallOrder, MatchingCalls};
use super::number::TableNumber;
use super::table_order::{TableData, TableSort, matching_rows, sort_rows};
use crate::base::cancel::{Cancel, Cancelled};
use crate::model::names::NO_FRAMES;
use crate::model::sample_measure::NANOSECONDS;
use crate::query::Snapshot;
use crate::query::flame::FunctionIdx;
use crate::query::sample_table::{SampleGroup, SampleGroupRow, SampleTable, SampledCalls};
use crate::query::samples::SampleSum;
use crate::scene::titles::{distinct_title, process_title};

pub(super) const NAME: usize = 0;
pub(super) const BESIDE: usize = 1;
pub(super) const OWN: usize = 2;
pub(super) const OWN_SHARE: usize = 3;
pub(super) const TOTAL: usize = 4;
pub(super) const TOTAL_SHARE: usize = 5;
pub(super) const OWN_SAMPLES: usize = 6;
pub(super) const SAMPLES: usize = 7;

pub(super) const SUMS: [usize; 4] = [OWN, TOTAL, OWN_SAMPLES, SAMPLES];

/// The rows of a sample table and their texts.
#[derive(Debug)]
pub struct SampleLines {
    pub(super) snapshot: Snapshot,
    pub(super) table: Arc<SampleTable>,
}

impl SampleLines {
    pub(super) fn name(&self, key: SampleGroup) -> Cow<'_, str> {
        let functions = &self.table.functions;
        match key {
            SampleGroup::Function(FunctionIdx::ROOT) => NO_FRAMES.into(),
            SampleGroup::Function(function) => functions.text(&self.snapshot, function).into(),
            SampleGroup::Module(function) => self.table.module_label(function).into(),
            SampleGroup::Thread(track) => distinct_title(&self.snapshot, track).into(),
            SampleGroup::Event(event) => {
                self.table.paths.events.get(event).map(|it| (*it.name).into()).unwrap_or_default()
            }
        }
    }

    /// Returns the text of the second column.
    pub(super) fn second_column(&self, key: SampleGroup) -> Cow<'_, str> {
        match key {
            SampleGroup::Function(function) => self.table.functions.module(function).into(),
            SampleGroup::Module(function) if self.table.functions.is_kernel(function) => "kernel".into(),
            SampleGroup::Module(_) => "".into(),
            SampleGroup::Thread(track) => {
                let processes = &self.snapshot.tracks().processes;
                process_title(&processes[self.snapshot.track(track).process.index()]).into()
            }
            SampleGroup::Event(event) => {
                self.table.paths.events.get(event).map(|it| (*it.unit).into()).unwrap_or_default()
            }
        }
    }

    /// Returns a weight in the unit of a row.
    pub(super) fn weight(&self, row: &SampleGroupRow, weight: u64) -> TableNumber {
        match self.table.event(row) {
            Some(event) if *event.unit == *NANOSECONDS => TableNumber::Duration(weight.into()),
            _ => TableNumber::Count(weight),
        }
    }
}

/// Properties of the matching lines as a whole.
#[derive(Debug, Default)]
pub struct SampleFacts {
    /// Sum of the self weights and samples.
    pub(super) own: SampleSum,
    /// The largest number of each of [`SUMS`].
    pub(super) largest: [u64; SUMS.len()],
    /// Whether a line has the words in the name of its module only.
    pub(super) has_words_in_module: bool,
    /// The callees of each line of a call tree.
    pub(super) calls: Option<CallOrder>,
}

impl TableData for SampleLines {
    type Facts = SampleFacts;

    fn count(&self) -> usize {
        self.table.rows.len()
    }

    fn order(&self, sort: &TableSort, cancel: &Cancel) -> Result<(Vec<u32>, SampleFacts), Cancelled> {
        let line = |row: usize| &self.table.rows[row];
        let has_words = |text: Cow<'_, str>| text.to_lowercase().contains(&sort.words);
        let is_match = |key| sort.words.is_empty() || has_words(self.name(key)) || has_words(self.second_column(key));
        let calls = self.table.calls.as_ref();
        let MatchingCalls { mut rows, leads_to_match } = match calls {
            Some(_) if sort.words.is_empty() => MatchingCalls::all(&self.table.rows, cancel)?,
            Some(calls) => MatchingCalls::find(&self.table.rows, &calls.parents, is_match, cancel)?,
            None => {
                let rows = matching_rows(self.count(), cancel, |row| is_match(line(row).key))?;
                MatchingCalls { rows, leads_to_match: Vec::new() }
            }
        };
        match sort.column {
            Some((NAME, ascending)) => {
                sort_rows(&mut rows, ascending, cancel, |row| self.name(line(row).key), Ord::cmp)?;
            }
            Some((BESIDE, ascending)) => {
                sort_rows(&mut rows, ascending, cancel, |row| self.second_column(line(row).key), Ord::cmp)?;
            }
            Some((column, ascending)) => {
                sort_rows(&mut rows, ascending, cancel, |row| number_of(line(row), column), Ord::cmp)?;
            }
            None => {}
        }
        let group = |calls: &SampledCalls| CallOrder::group(&mut rows, &calls.parents, leads_to_match);
        let mut facts = SampleFacts { calls: calls.map(group), ..SampleFacts::default() };
        for line in rows.iter().map(|&row| line(row as usize)) {
            facts.own.add(line.sums.own);
            for (largest, column) in facts.largest.iter_mut().zip(SUMS) {
                *largest = (*largest).max(number_of(line, column));
            }
            facts.has_words_in_module |= !sort.words.is_empty() && !has_words(self.name(line.key));
        }
        cancel.check()?;
        Ok((rows, facts))
    }
}

/// Returns a number of a row by its column.
pub(super) fn number_of(row: &SampleGroupRow, column: usize) -> u64 {
    match column {
        OWN | OWN_SHARE => row.sums.own.weight,
        TOTAL | TOTAL_SHARE => row.sums.total.weight,
        OWN_SAMPLES => row.sums.own.samples,
        _ => row.sums.total.samples,
    }
}
