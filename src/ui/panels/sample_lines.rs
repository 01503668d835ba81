//! The lines of the sample table, one per function, module, thread, event or call, or of the spans by call path, and
//! their order by a column. Texts are looked up when a line is shown.

use std::borrow::Cow;
use std::sync::Arc;

use super::call_order::{CallOrder, MatchingCalls};
use super::number::TableNumber;
use super::sample_columns::{COLUMN_COUNT, SampleColumn};
use super::table_order::{TableData, TableSort, matching_rows, sort_rows};
use crate::base::cancel::{Cancel, Cancelled};
use crate::model::names::{NO_FRAMES, NO_NAME};
use crate::model::sample_measure::NANOSECONDS;
use crate::query::Snapshot;
use crate::query::flame::FunctionIdx;
use crate::query::sample_table::{CallLinks, SampleGroup, SampleGroupRow, SampleTable};
use crate::query::samples::SampleSum;
use crate::scene::titles::{distinct_title, process_title};

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
            SampleGroup::Function(function) if self.table.is_of_spans => match self.span_name(function) {
                name if name.trim().is_empty() => NO_NAME.into(),
                name => name.into(),
            },
            SampleGroup::Function(FunctionIdx::ROOT) => NO_FRAMES.into(),
            SampleGroup::Function(function) => functions.text(&self.snapshot, function).into(),
            SampleGroup::Module(function) => self.table.module_label(function).into(),
            SampleGroup::Thread(track) => distinct_title(&self.snapshot, track).into(),
            SampleGroup::Event(event) => {
                self.table.paths.events.get(event).map(|it| (*it.name).into()).unwrap_or_default()
            }
        }
    }

    /// Returns what a row is, for a number of rows.
    pub(super) fn thing(&self, key: SampleGroup) -> &'static str {
        match key {
            SampleGroup::Function(_) if self.table.calls.is_some() => "path",
            SampleGroup::Function(_) => "function",
            SampleGroup::Module(_) => "module",
            SampleGroup::Thread(_) => "thread",
            SampleGroup::Event(_) => "event",
        }
    }

    /// Returns the name of spans or of a function, as in the trace.
    pub(super) fn span_name(&self, function: FunctionIdx) -> &str {
        // Spans beyond the limit of paths are in the row of the root.
        let function = if function == FunctionIdx::ROOT { FunctionIdx::OTHERS } else { function };
        self.table.functions.text(&self.snapshot, function)
    }

    /// Returns the text of the second column.
    pub(super) fn second_column(&self, key: SampleGroup) -> Cow<'_, str> {
        let functions = &self.table.functions;
        match key {
            SampleGroup::Function(function) if self.table.is_of_spans => {
                functions.category(&self.snapshot, function).unwrap_or_default().into()
            }
            SampleGroup::Function(function) => functions.module(function).into(),
            SampleGroup::Module(function) if functions.is_kernel(function) => "kernel".into(),
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
        let is_time = self.table.is_of_spans || self.table.event(row).is_some_and(|event| *event.unit == *NANOSECONDS);
        if is_time { TableNumber::Duration(weight.into()) } else { TableNumber::Count(weight) }
    }

    /// Returns the content of a column.
    pub(super) fn column(&self, column: usize) -> SampleColumn {
        SampleColumn::at(column, self.table.is_of_spans)
    }

    /// Returns the number of the spans that have the path of a row. In an inverted tree, these are spans of its first
    /// level, called by the path.
    pub(super) fn spans(&self, row: &SampleGroupRow) -> u64 {
        let is_inverted = self.table.calls.as_ref().is_some_and(|calls| calls.is_inverted);
        if is_inverted { row.sums.total.samples } else { row.sums.own.samples }
    }

    /// Returns the mean time of the spans of a row; `None` without spans, and for merged paths, which are no calls.
    pub(super) fn mean_ns(&self, row: &SampleGroupRow) -> Option<u64> {
        let is_call = !matches!(row.key.function(), Some(FunctionIdx::ROOT | FunctionIdx::OTHERS));
        row.sums.total.weight.checked_div(self.spans(row)).filter(|_| is_call)
    }

    /// Returns the number of a row in a column; 0 for texts.
    pub(super) fn number(&self, row: &SampleGroupRow, column: SampleColumn) -> u64 {
        match column {
            SampleColumn::Name | SampleColumn::SecondaryText => 0,
            SampleColumn::Own | SampleColumn::OwnShare => row.sums.own.weight,
            SampleColumn::Total | SampleColumn::TotalShare => row.sums.total.weight,
            SampleColumn::OwnSamples => row.sums.own.samples,
            SampleColumn::Samples => row.sums.total.samples,
            SampleColumn::Spans => self.spans(row),
            SampleColumn::Mean => self.mean_ns(row).unwrap_or(0),
        }
    }
}

/// Properties of the matching lines as a whole.
#[derive(Debug, Default)]
pub struct SampleFacts {
    /// Sum of the self weights and samples.
    pub(super) own: SampleSum,
    /// The largest number of each column.
    pub(super) largest: [u64; COLUMN_COUNT],
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
        match sort.column.map(|(column, ascending)| (self.column(column), ascending)) {
            Some((SampleColumn::Name, ascending)) => {
                sort_rows(&mut rows, ascending, cancel, |row| self.name(line(row).key), Ord::cmp)?;
            }
            Some((SampleColumn::SecondaryText, ascending)) => {
                sort_rows(&mut rows, ascending, cancel, |row| self.second_column(line(row).key), Ord::cmp)?;
            }
            Some((column, ascending)) => {
                sort_rows(&mut rows, ascending, cancel, |row| self.number(line(row), column), Ord::cmp)?;
            }
            None => {}
        }
        let group = |calls: &CallLinks| CallOrder::group(&mut rows, &calls.parents, leads_to_match);
        let mut facts = SampleFacts { calls: calls.map(group), ..SampleFacts::default() };
        for line in rows.iter().map(|&row| line(row as usize)) {
            facts.own.add(line.sums.own);
            for (column, largest) in facts.largest.iter_mut().enumerate() {
                *largest = (*largest).max(self.number(line, self.column(column)));
            }
            facts.has_words_in_module |= !sort.words.is_empty() && !has_words(self.name(line.key));
        }
        cancel.check()?;
        Ok((rows, facts))
    }
}
