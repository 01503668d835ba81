//! The rows of the sample table: one per function, module, thread, event or call. Texts are looked up for the rows in
//! view.

use std::borrow::Cow;
use std::sync::Arc;

use super::call_rows::{CallRows, OrderedCalls, VisibleCall};
use super::elided::tip;
use super::number::{self, TableNumber};
use super::sample_lines::{
    BESIDE, NAME, OWN, OWN_SAMPLES, OWN_SHARE, SAMPLES, SUMS, SampleLines, TOTAL, TOTAL_SHARE, number_of,
};
use super::table::{Rows, TableCell, TreeRow};
use super::table_column::{NUMBER_POINTS, TableColumn};
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
use crate::query::sample_table::{SampleBy, SampleGroup, SampleGroupRow, SampleTable};
use crate::query::samples::SampleSum;
use crate::scene::labels::shown;
use crate::ui::questions::SampledFunction;

/// Columns of the default sort order, of groups and of calls.
pub(super) const FIRST_SORTED: usize = OWN;
pub(super) const FIRST_SORTED_CALLS: usize = TOTAL;

/// Returns the columns; the first two depend on the grouping.
const fn titled(name: &'static str, beside: &'static str) -> [TableColumn; 8] {
    [
        TableColumn::text(name, 180.0),
        TableColumn::text(beside, 110.0),
        TableColumn::number("Self", NUMBER_POINTS).meaning("Samples in the code itself, not in its callees."),
        TableColumn::number("Self share", 66.0).unsortable().meaning("Self as a share of all samples of the scope."),
        TableColumn::number("Total", NUMBER_POINTS)
            .meaning("Samples in the code and in its callees. Recursion counts once."),
        TableColumn::number("Share", 58.0).unsortable().meaning("Total as a share of all samples of the scope."),
        TableColumn::number("Self samples", 84.0).meaning("Number of samples of Self, regardless of their weights."),
        TableColumn::number("Samples", 70.0).meaning("Number of samples of Total, regardless of their weights."),
    ]
}

const BY_FUNCTION: [TableColumn; 8] = titled("Function", "Module");
const BY_MODULE: [TableColumn; 8] = titled("Module", "Kind");
const BY_THREAD: [TableColumn; 8] = titled("Thread", "Process");
const BY_EVENT: [TableColumn; 8] = titled("Event", "Unit");
const BY_CALL: [TableColumn; 8] = {
    let mut columns = titled("Call", "Module");
    // Room for the indentation.
    columns[NAME].width = 320.0;
    columns
};

/// Returns the columns of the table.
pub(super) fn columns(by: SampleBy) -> &'static [TableColumn] {
    match by {
        SampleBy::Function => &BY_FUNCTION,
        SampleBy::Module => &BY_MODULE,
        SampleBy::Thread => &BY_THREAD,
        SampleBy::Event => &BY_EVENT,
        SampleBy::CallTree | SampleBy::InvertedCallTree => &BY_CALL,
    }
}

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

    /// Records that the rows belong to another question than the last one.
    pub(super) fn expire(&mut self) {
        self.lines.expire();
    }

    /// Drops rows that belong to another question than the last one.
    pub(super) fn drop_expired(&mut self) {
        self.lines.drop_expired();
        self.update_calls();
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

    /// Lists the calls of new lines. Those of a large tree come from the background, and the earlier ones stay until
    /// then.
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
        self.lines.shown().is_some()
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

    /// Returns the words that find the functions of a module; `None` for functions without one.
    pub(super) fn module_words(&self, row: u64, function: FunctionIdx) -> Option<String> {
        let table = &self.lines.data()?.table;
        let has_words = function == FunctionIdx::ROOT || !table.functions.module(function).is_empty();
        has_words.then(|| self.name(row))
    }

    /// Returns the function of a row; `None` for all paths without a row of their own.
    pub(super) fn function(&self, row: u64) -> Option<FunctionKey> {
        let (lines, row) = self.row(row)?;
        let is_others = row.key.function() == Some(FunctionIdx::OTHERS);
        let key =
            || FunctionKey { name: lines.name(row.key).into(), module: Some(lines.second_column(row.key).into()) };
        (!is_others).then(key)
    }

    /// Returns whether all rows in the table contain the words in their names, not only in their modules.
    pub(super) fn have_words_in_names(&self) -> bool {
        self.lines.facts().is_none_or(|facts| !facts.has_words_in_module)
    }

    /// Returns the rows as shown, for a file.
    pub(super) fn to_export(&self) -> Option<SampleExport> {
        Some(SampleExport(Arc::clone(self.lines.shown()?)))
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
                LitSpans::named(LitNames::Text(lines.name(row.key).into()))
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
        let number = number_of(row, column);
        match column {
            NAME => TableCell::Text(shown(&lines.name(row.key)).into_owned().into()),
            BESIDE => TableCell::Text(shown(&lines.second_column(row.key)).into_owned().into()),
            OWN | TOTAL => TableCell::Number(lines.weight(row, number)),
            OWN_SHARE | TOTAL_SHARE => {
                let whole = self.whole(row).weight.into();
                TableCell::Number(TableNumber::Share { part: number.into(), whole })
            }
            _ => TableCell::Number(TableNumber::Count(number)),
        }
    }

    fn spoken(&self, row: u64) -> String {
        let text = |column| match self.cell(row, column) {
            TableCell::Text(text) => text.into_owned(),
            TableCell::Number(number) => number.text(),
            TableCell::Empty => String::new(),
        };
        let (name, own, total) = (text(NAME), text(OWN), text(TOTAL));
        let level = self.tree_row(row).map(TreeRow::spoken).unwrap_or_default();
        let samples = self.row(row).map_or(0, |(_, line)| number_of(line, SAMPLES));
        format!("{name}{level}, self {own}, total {total}, {}", counted(samples, "sample"))
    }

    fn value(&self, row: u64, column: usize) -> PanelValue {
        let Some((lines, line)) = self.row(row) else { return PanelValue::default() };
        let name = lines.name(line.key);
        if let (NAME, SampleGroup::Function(function)) = (column, line.key)
            && let Some(idx) = lines.table.functions.name(function).filter(|_| function != FunctionIdx::ROOT)
        {
            let paths = &lines.table.paths;
            let event = paths.event.and_then(|event| paths.events.get(event)).cloned();
            let function = self.function(row).map(|key| SampledFunction { key, event });
            return PanelValue::from_name(&name, idx).with_function(function);
        }
        self.cell(row, column).value()
    }

    fn is_chosen(&self, row: u64) -> bool {
        let is_function = matches!(self.key(row), SampleGroup::Function(_));
        is_function && self.chosen.is_some() && self.chosen == self.function(row)
    }

    fn bar(&self, row: u64, column: usize) -> Option<f64> {
        let index = SUMS.iter().position(|&it| it == column)?;
        let (_, row) = self.row(row)?;
        Some(number::fraction(number_of(row, column).into(), self.lines.facts()?.largest[index].into()))
    }

    fn total(&self, column: usize) -> Option<TableCell<'_>> {
        let (lines, first) = self.row(0)?;
        let own = self.lines.facts()?.own;
        let is_event = matches!(first.key, SampleGroup::Event(_));
        Some(match column {
            NAME => TableCell::Text(counted(self.count(), "row").into()),
            // Different events are never summed, since their units differ.
            _ if is_event => TableCell::Empty,
            OWN => TableCell::Number(lines.weight(first, own.weight)),
            OWN_SHARE => {
                let whole = self.whole(first).weight.into();
                TableCell::Number(TableNumber::Share { part: own.weight.into(), whole })
            }
            OWN_SAMPLES => TableCell::Number(TableNumber::Count(own.samples)),
            _ => TableCell::Empty,
        })
    }

    fn more(&self, row: u64, column: usize) -> Option<String> {
        let (lines, line) = self.row(row)?;
        if column != NAME {
            return None;
        }
        let beside = lines.second_column(line.key);
        let level = self.tree_row(row).map(|row| format!("Level {}", row.depth + 1));
        let below: Vec<_> = [(!beside.is_empty()).then(|| tip(&beside)), level].into_iter().flatten().collect();
        (!below.is_empty()).then(|| format!("{}\n{}", tip(&lines.name(line.key)), below.join("\n")))
    }

    fn sort(&mut self, column: usize, ascending: bool) {
        self.lines.sort(column, ascending);
        self.update_calls();
    }

    fn copies_all(&self) -> bool {
        true
    }
}

/// Returns the call tree in the order of its rows; `None` for other rows.
fn ordered_calls(lines: &OrderedTable<SampleLines>) -> Option<OrderedCalls<'_>> {
    ordered_calls_of(lines.shown()?)
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
            let event = lines.table.event(row).map(|event| [event.name.to_string(), event.unit.to_string()]);
            let text = |text: Cow<'_, str>| match text {
                text if text.is_empty() => TableValue::Empty,
                text => TableValue::Text(text.into_owned().into()),
            };
            let (own, total) = (row.sums.own, row.sums.total);
            let numbers = [own.weight, total.weight, own.samples, total.samples];
            let mut values: Vec<_> = event.unwrap_or_default().map(|event| text(event.into())).into();
            values.extend(depth.map(|depth| TableValue::Whole(depth.into())));
            match row.key {
                SampleGroup::Function(_) | SampleGroup::Thread(_) => {
                    values.extend([lines.name(row.key), lines.second_column(row.key)].map(text));
                }
                SampleGroup::Module(_) => values.push(text(lines.name(row.key))),
                SampleGroup::Event(_) => {}
            }
            values.extend(numbers.map(|number| TableValue::Whole(number.into())));
            table.row(&values)?;
            progress.advance(1);
        }
        Ok(())
    }
}
