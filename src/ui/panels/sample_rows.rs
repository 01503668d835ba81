//! The rows of the sample table: one per function, module, thread, event or call, or of the call tree of spans. Texts
//! are looked up for the rows in view.

use std::borrow::Cow;
use std::sync::Arc;

use super::call_rows::{CallRows, OrderedCalls, VisibleCall};
use super::number::{self, TableNumber};
use super::sample_columns::SampleColumn;
use super::sample_lines::SampleLines;
use super::table::{Rows, TableCell, TreeRow};
use super::table_order::{OrderedRows, OrderedTable, TableSort};
use super::value_menu::PanelValue;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::base::time::counted;
use crate::export::SinkError;
use crate::export::values::{TableSource, TableValue, TableValueWriter};
use crate::frame::lit::{Lit, LitNames, LitSpans, LitTracks};
use crate::query::Snapshot;
use crate::query::flame::{FunctionIdx, FunctionKey};
use crate::query::sample_table::{SampleGroup, SampleGroupRow, SampleTable};
use crate::query::samples::SampleSum;
use crate::scene::labels::shown;
use crate::ui::command::{AppCommand, Command};
use crate::ui::panel::Panel;
use crate::ui::questions::SampledFunction;
use crate::ui::widgets::tip_text::tip_text;

/// The rows of the table.
#[derive(Debug, Default)]
pub(super) struct SampleRows {
    lines: OrderedTable<SampleLines>,
    calls: CallRows,
    /// The generation of the lines that `calls` lists.
    calls_of: u64,
    pub(super) chosen: Option<FunctionKey>,
}

impl SampleRows {
    pub(super) fn set_table(&mut self, table: &Arc<SampleTable>, snapshot: &Snapshot) {
        self.lines.set_data(Arc::new(SampleLines { snapshot: snapshot.clone(), table: Arc::clone(table) }));
        self.update_calls();
    }

    /// Returns the lines to order in the background, and how.
    pub(super) fn take_request(&mut self) -> Option<(Arc<SampleLines>, TableSort)> {
        self.lines.take_request()
    }

    /// Shows lines that were ordered in the background.
    pub(super) fn set_ordered(&mut self, ordered: Arc<OrderedRows<SampleLines>>) {
        self.lines.set_ordered(ordered);
        self.update_calls();
    }

    /// Returns whether all lines are shown in the requested order.
    pub(super) fn is_in_order(&self) -> bool {
        self.lines.is_in_order()
    }

    pub(super) fn clear(&mut self) {
        self.lines.clear();
        self.update_calls();
    }

    /// Records that the rows answer an earlier question.
    pub(super) fn expire(&mut self) {
        self.lines.expire();
    }

    /// Drops rows that answer an earlier question.
    pub(super) fn drop_expired(&mut self) {
        self.lines.drop_expired();
        self.update_calls();
    }

    /// Returns whether there are rows of the last question, shown or not.
    pub(super) fn is_counted(&self) -> bool {
        self.lines.has_newest()
    }

    /// Returns whether the shown rows belong to the last question.
    pub(super) fn is_current(&self) -> bool {
        self.lines.is_current()
    }

    /// Shows only rows whose name or module contains these words.
    pub(super) fn set_words(&mut self, words: &str) {
        self.lines.set_words(words);
        self.update_calls();
    }

    /// Expands or collapses a row of a call tree.
    pub(super) fn toggle(&mut self, row: u64) {
        if let Some(calls) = ordered_calls(&self.lines) {
            self.calls.toggle(calls, row as usize);
        }
    }

    /// Expands all calls below a row of a call tree.
    pub(super) fn expand_all(&mut self, row: u64) {
        if let Some(calls) = ordered_calls(&self.lines) {
            self.calls.expand_all(calls, row as usize);
        }
    }

    /// Lists the calls of new lines. A large tree is listed in the background; its earlier calls stay until then.
    fn update_calls(&mut self) {
        let generation = self.lines.generation();
        if std::mem::replace(&mut self.calls_of, generation) == generation {
            return;
        }
        match ordered_calls(&self.lines) {
            Some(calls) => self.calls.update(calls),
            None => self.calls.clear(),
        }
    }

    /// Returns the call of a row; `None` if the rows are not of a call tree.
    fn call(&self, row: u64) -> Option<&VisibleCall> {
        self.calls.visible().get(usize::try_from(row).ok()?)
    }

    /// Returns whether there are lines to show, possibly of an earlier filter or order.
    pub(super) fn are_shown(&self) -> bool {
        self.lines.shown_rows().is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    pub(super) fn key(&self, row: u64) -> SampleGroup {
        self.row(row).map_or(SampleGroup::Function(FunctionIdx::ROOT), |(_, row)| row.key)
    }

    pub(super) fn name(&self, row: u64) -> String {
        self.row(row).map(|(lines, row)| lines.name(row.key).into_owned()).unwrap_or_default()
    }

    /// Returns the words that find the functions of a module; `None` for functions without a module.
    pub(super) fn module_words(&self, row: u64, function: FunctionIdx) -> Option<String> {
        let table = &self.lines.data()?.table;
        let has_words = function == FunctionIdx::ROOT || !table.functions.module(function).is_empty();
        has_words.then(|| self.name(row))
    }

    /// Returns the function of a row, or the name of its spans; `None` for the row of all paths without a separate row.
    pub(super) fn function(&self, row: u64) -> Option<FunctionKey> {
        let (lines, row) = self.row(row)?;
        let name = match row.key.function() {
            Some(FunctionIdx::OTHERS) => return None,
            Some(FunctionIdx::ROOT) if lines.table.is_of_spans => return None,
            Some(function) if lines.table.is_of_spans => lines.span_name(function).into(),
            _ => lines.name(row.key),
        };
        Some(FunctionKey { name: name.into(), module: Some(lines.second_column(row.key).into()) })
    }

    /// Returns the trace of the shown rows.
    pub(super) fn snapshot(&self) -> Option<&Snapshot> {
        self.lines.data().map(|lines| &lines.snapshot)
    }

    /// Returns whether all rows in the table contain the words in their names, not only in their modules.
    pub(super) fn have_words_in_names(&self) -> bool {
        self.lines.facts().is_none_or(|facts| !facts.has_words_in_module)
    }

    /// Returns the rows as shown, for a file.
    pub(super) fn to_export(&self) -> Option<SampleExport> {
        Some(SampleExport(Arc::clone(self.lines.shown_rows()?)))
    }

    fn row(&self, row: u64) -> Option<(&SampleLines, &SampleGroupRow)> {
        let lines = self.lines.data()?;
        let index = if lines.table.calls.is_some() { self.call(row)?.row as usize } else { self.lines.row(row)? };
        Some((lines, &lines.table.rows[index]))
    }

    /// Returns the sum that shares of a row refer to: all samples of its event.
    fn whole(&self, row: &SampleGroupRow) -> SampleSum {
        match row.key {
            SampleGroup::Event(_) => row.sums.total,
            _ => self.lines.data().map(|lines| lines.table.whole).unwrap_or_default(),
        }
    }
}

impl Rows for SampleRows {
    fn count(&self) -> u64 {
        let is_call_tree = self.lines.data().is_some_and(|lines| lines.table.calls.is_some());
        if is_call_tree { self.calls.visible().len() as u64 } else { self.lines.count() }
    }

    fn lit(&self, row: u64) -> Option<Lit> {
        let (lines, row) = self.row(row)?;
        let spans = match row.key {
            SampleGroup::Thread(track) => LitSpans::on(LitTracks::Like(track)),
            SampleGroup::Function(function) if function != FunctionIdx::ROOT && function != FunctionIdx::OTHERS => {
                LitSpans::named(LitNames::Text(lines.span_name(function).into()))
            }
            // Rectangles know neither their module nor their event.
            SampleGroup::Function(_) | SampleGroup::Module(_) | SampleGroup::Event(_) => return None,
        };
        Some(Lit::Spans(spans))
    }

    fn tree_row(&self, row: u64) -> Option<TreeRow> {
        let call = self.call(row)?;
        Some(TreeRow { depth: call.depth, is_expanded: call.has_callees.then_some(call.is_expanded) })
    }

    fn cell(&self, row: u64, column: usize) -> TableCell<'_> {
        let Some((lines, row)) = self.row(row) else { return TableCell::Empty };
        let column = lines.column(column);
        let number = lines.number(row, column);
        match column {
            SampleColumn::Name => TableCell::Text(shown(&lines.name(row.key)).into_owned().into()),
            SampleColumn::SecondaryText => TableCell::Text(shown(&lines.second_column(row.key)).into_owned().into()),
            SampleColumn::Own | SampleColumn::Total => TableCell::Number(lines.weight(row, number)),
            SampleColumn::OwnShare | SampleColumn::TotalShare => {
                let whole = self.whole(row).weight.into();
                TableCell::Number(TableNumber::Share { part: number.into(), whole })
            }
            SampleColumn::Mean => match lines.mean_ns(row) {
                Some(mean_ns) => TableCell::Number(TableNumber::Duration(mean_ns.into())),
                None => TableCell::Empty,
            },
            SampleColumn::OwnSamples | SampleColumn::Samples | SampleColumn::Spans => {
                TableCell::Number(TableNumber::Count(number))
            }
        }
    }

    fn spoken(&self, row: u64) -> String {
        let Some((lines, line)) = self.row(row) else { return String::new() };
        let level = self.tree_row(row).map(TreeRow::spoken).unwrap_or_default();
        let [own, total] = [line.sums.own, line.sums.total].map(|sum| lines.weight(line, sum.weight).text());
        let count = if lines.table.is_of_spans {
            counted(lines.spans(line), "span")
        } else {
            counted(line.sums.total.samples, "sample")
        };
        format!("{}{level}, self {own}, total {total}, {count}", shown(&lines.name(line.key)))
    }

    fn value(&self, row: u64, column: usize) -> PanelValue {
        let Some((lines, line)) = self.row(row) else { return PanelValue::default() };
        if let (SampleColumn::Name, SampleGroup::Function(function)) = (lines.column(column), line.key)
            && let Some(idx) = lines.table.functions.name(function).filter(|_| function != FunctionIdx::ROOT)
        {
            let (paths, name) = (&lines.table.paths, lines.span_name(function));
            if lines.table.is_of_spans {
                return PanelValue::from_name(name, idx);
            }
            let event = paths.event.and_then(|event| paths.events.get(event)).cloned();
            let function = self.function(row).map(|key| SampledFunction { key, event });
            return PanelValue::from_name(name, idx).with_function(function);
        }
        self.cell(row, column).value()
    }

    fn is_chosen(&self, row: u64) -> bool {
        let is_function = matches!(self.key(row), SampleGroup::Function(_));
        is_function && self.chosen.is_some() && self.chosen == self.function(row)
    }

    fn bar(&self, row: u64, column: usize) -> Option<f64> {
        use SampleColumn::{Name, OwnShare, SecondaryText, TotalShare};
        let (lines, row) = self.row(row)?;
        let content = lines.column(column);
        if matches!(content, Name | SecondaryText | OwnShare | TotalShare) {
            return None;
        }
        Some(number::fraction(lines.number(row, content).into(), self.lines.facts()?.largest[column].into()))
    }

    fn total(&self, column: usize) -> Option<TableCell<'_>> {
        let (lines, first) = self.row(0)?;
        let own = self.lines.facts()?.own;
        let is_event = matches!(first.key, SampleGroup::Event(_));
        Some(match lines.column(column) {
            SampleColumn::Name => TableCell::Text(counted(self.count(), lines.thing(first.key)).into()),
            // Different events are never summed, since their units differ.
            _ if is_event => TableCell::Empty,
            SampleColumn::Own => TableCell::Number(lines.weight(first, own.weight)),
            SampleColumn::OwnShare => {
                let whole = self.whole(first).weight.into();
                TableCell::Number(TableNumber::Share { part: own.weight.into(), whole })
            }
            SampleColumn::OwnSamples | SampleColumn::Spans => TableCell::Number(TableNumber::Count(own.samples)),
            SampleColumn::SecondaryText
            | SampleColumn::Total
            | SampleColumn::TotalShare
            | SampleColumn::Samples
            | SampleColumn::Mean => TableCell::Empty,
        })
    }

    fn more(&self, row: u64, column: usize) -> Option<String> {
        let (lines, line) = self.row(row)?;
        if lines.column(column) != SampleColumn::Name {
            return None;
        }
        let beside = lines.second_column(line.key);
        let level = self.tree_row(row).map(|row| format!("Level {}", row.depth + 1));
        let below: Vec<_> = [(!beside.is_empty()).then(|| tip_text(&beside)), level].into_iter().flatten().collect();
        (!below.is_empty()).then(|| format!("{}\n{}", tip_text(&lines.name(line.key)), below.join("\n")))
    }

    fn sort(&mut self, column: usize, ascending: bool) {
        self.lines.sort(column, ascending);
        self.update_calls();
    }

    fn copies_all(&self) -> bool {
        true
    }

    fn csv(&self) -> Option<Command> {
        let is_of_spans = self.lines.data().is_some_and(|lines| lines.table.is_of_spans);
        is_of_spans.then(|| Command::App(AppCommand::CopyTable(Panel::Statistics.into())))
    }
}

/// Returns the call tree in the order of its rows; `None` for other rows.
fn ordered_calls(lines: &OrderedTable<SampleLines>) -> Option<OrderedCalls<'_>> {
    ordered_calls_of(lines.shown_rows()?)
}

fn ordered_calls_of(shown: &OrderedRows<SampleLines>) -> Option<OrderedCalls<'_>> {
    let table = &shown.data.table;
    let (order, calls) = (shown.facts.calls.as_ref()?, table.calls.as_ref()?);
    Some(OrderedCalls { table: &table.rows, calls, rows: &shown.rows, order, words: &shown.sort.words })
}

/// The rows for a file.
pub(super) struct SampleExport(Arc<OrderedRows<SampleLines>>);

impl SampleExport {
    /// Returns the rows in table order, with their depth in a call tree. All calls are in it, callers first.
    fn lines(&self) -> Box<dyn Iterator<Item = (Option<u32>, &SampleGroupRow)> + '_> {
        let row = |row: u32| &self.0.data.table.rows[row as usize];
        match ordered_calls_of(&self.0) {
            Some(calls) => Box::new(calls.all().map(move |(index, depth)| (Some(depth), row(index)))),
            None => Box::new(self.0.rows.iter().map(move |&index| (None, row(index)))),
        }
    }
}

impl TableSource for SampleExport {
    fn columns(&self) -> Vec<&'static str> {
        if self.0.data.table.is_of_spans {
            return vec!["depth", "name", "category", "count", "total", "self", "mean"];
        }
        let group: &[&str] = match self.lines().next().map(|(depth, row)| (row.key, depth)) {
            Some((SampleGroup::Function(_), Some(_))) => &["depth", "function", "module"],
            None | Some((SampleGroup::Function(_), None)) => &["function", "module"],
            Some((SampleGroup::Module(_), _)) => &["module"],
            Some((SampleGroup::Thread(_), _)) => &["thread", "process"],
            Some((SampleGroup::Event(_), _)) => &[],
        };
        [&["event", "unit"][..], group, &["self", "total", "self_samples", "total_samples"]].concat()
    }

    fn rows(&self) -> u64 {
        self.0.rows.len() as u64
    }

    fn write(&self, table: &mut TableValueWriter<'_>, cancel: &Cancel, progress: &Progress) -> Result<(), SinkError> {
        let lines = &self.0.data;
        for (depth, row) in self.lines() {
            cancel.check()?;
            let values =
                if lines.table.is_of_spans { lines.span_values(row, depth) } else { lines.sample_values(row, depth) };
            table.row(&values)?;
            progress.advance(1);
        }
        Ok(())
    }
}

impl SampleLines {
    /// Returns the values of samples in a file.
    fn sample_values(&self, row: &SampleGroupRow, depth: Option<u32>) -> Vec<TableValue<'_>> {
        let event = self.table.event(row).map(|event| [&*event.name, &*event.unit]);
        let (own, total) = (row.sums.own, row.sums.total);
        let numbers = [own.weight, total.weight, own.samples, total.samples];
        let mut values: Vec<_> = event.unwrap_or_default().map(|event| text_value(event.into())).into();
        values.extend(depth.map(|depth| TableValue::Whole(depth.into())));
        match row.key {
            SampleGroup::Function(_) | SampleGroup::Thread(_) => {
                values.extend([self.name(row.key), self.second_column(row.key)].map(text_value));
            }
            SampleGroup::Module(_) => values.push(text_value(self.name(row.key))),
            SampleGroup::Event(_) => {}
        }
        values.extend(numbers.map(|number| TableValue::Whole(number.into())));
        values
    }

    /// Returns the values of spans in a file.
    fn span_values(&self, row: &SampleGroupRow, depth: Option<u32>) -> Vec<TableValue<'_>> {
        let name = row.key.function().map_or("", |function| self.span_name(function));
        let sums = [self.spans(row), row.sums.total.weight, row.sums.own.weight];
        let mut values = vec![TableValue::Whole(depth.unwrap_or(0).into())];
        values.extend([name.into(), self.second_column(row.key)].map(text_value));
        values.extend(sums.map(|number| TableValue::Whole(number.into())));
        values.push(TableValue::from_option(self.mean_ns(row).map(u128::from)));
        values
    }
}

/// Returns a text for a file; nothing if it is empty.
fn text_value(text: Cow<'_, str>) -> TableValue<'_> {
    if text.is_empty() { TableValue::Empty } else { TableValue::Text(text) }
}
