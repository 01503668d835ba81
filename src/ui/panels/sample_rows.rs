//! The rows of the sample table: one per function, module, thread or event. Texts are looked up for the rows in view.

use std::borrow::Cow;
use std::sync::Arc;

use super::elided::tip;
use super::number::{self, TableNumber};
use super::table::{Rows, TableCell, TableColumn};
use super::value_menu::PanelValue;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::base::time::grouped_digits;
use crate::export::SinkError;
use crate::export::values::{TableSource, TableValue, TableValueWriter};
use crate::model::sample_measure::NANOSECONDS;
use crate::query::Snapshot;
use crate::query::flame::{FunctionIdx, FunctionKey};
use crate::query::sample_table::{NO_FRAMES, SampleBy, SampleGroup, SampleGroupRow, SampleTable};
use crate::query::samples::SampleSum;
use crate::scene::labels::shown;
use crate::scene::titles::{process_title, track_title};
use crate::ui::questions::SampledFunction;

const NAME: usize = 0;
const BESIDE: usize = 1;
const OWN: usize = 2;
const OWN_SHARE: usize = 3;
const TOTAL: usize = 4;
const TOTAL_SHARE: usize = 5;
const OWN_SAMPLES: usize = 6;
const SAMPLES: usize = 7;

/// Column of the default sort order.
pub(super) const FIRST_SORTED: usize = OWN;

/// Returns the columns; the first two depend on the grouping.
const fn titled(name: &'static str, beside: &'static str) -> [TableColumn; 8] {
    [
        TableColumn { title: name, width: 180.0, is_number: false, is_sortable: true },
        TableColumn { title: beside, width: 110.0, is_number: false, is_sortable: true },
        number("Self", 76.0),
        TableColumn { is_sortable: false, ..number("Self share", 66.0) },
        number("Total", 76.0),
        TableColumn { is_sortable: false, ..number("Share", 58.0) },
        number("Self samples", 84.0),
        number("Samples", 70.0),
    ]
}

const fn number(title: &'static str, width: f32) -> TableColumn {
    TableColumn { title, width, is_number: true, is_sortable: true }
}

const BY_FUNCTION: [TableColumn; 8] = titled("Function", "Module");
const BY_MODULE: [TableColumn; 8] = titled("Module", "Kind");
const BY_THREAD: [TableColumn; 8] = titled("Thread", "Process");
const BY_EVENT: [TableColumn; 8] = titled("Event", "Unit");

/// Returns the columns of the table.
pub(super) fn columns(by: SampleBy) -> &'static [TableColumn] {
    match by {
        SampleBy::Function => &BY_FUNCTION,
        SampleBy::Module => &BY_MODULE,
        SampleBy::Thread => &BY_THREAD,
        SampleBy::Event => &BY_EVENT,
    }
}

/// The rows of the table.
#[derive(Debug, Default)]
pub(super) struct SampleRows {
    table: Option<(Snapshot, Arc<SampleTable>)>,
    /// Indices of the rows that match the words, sorted.
    shown: Vec<u32>,
    words: String,
    sorted_by: Option<(usize, bool)>,
    pub(super) chosen: Option<FunctionKey>,
    /// The sums of the visible rows, and the largest number of each column of sums.
    own: SampleSum,
    largest: [u64; 4],
}

impl SampleRows {
    pub(super) fn set_table(&mut self, table: &Arc<SampleTable>, snapshot: &Snapshot) {
        self.table = Some((snapshot.clone(), Arc::clone(table)));
        self.update();
    }

    pub(super) fn clear(&mut self) {
        self.table = None;
        self.update();
    }

    /// Shows only rows whose name or module contains these words.
    pub(super) fn set_words(&mut self, words: &str) {
        self.words = words.to_lowercase();
        self.update();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    pub(super) fn key(&self, row: u64) -> SampleGroup {
        self.row(row).map_or(SampleGroup::Function(FunctionIdx::ROOT), |(_, row)| row.key)
    }

    pub(super) fn name(&self, row: u64) -> String {
        self.row(row).map(|(texts, row)| texts.name(row.key).into_owned()).unwrap_or_default()
    }

    /// Returns the words that find the functions of a module; `None` for functions without one.
    pub(super) fn module_words(&self, row: u64, function: FunctionIdx) -> Option<String> {
        let (_, table) = self.table.as_ref()?;
        let has_words = function == FunctionIdx::ROOT || !table.picture.functions.module(function).is_empty();
        has_words.then(|| self.name(row))
    }

    /// Returns the function of a row.
    pub(super) fn function(&self, row: u64) -> FunctionKey {
        let module = self.row(row).map(|(texts, row)| texts.beside(row.key).into());
        FunctionKey { name: self.name(row).into(), module }
    }

    /// Returns whether all rows in the table contain the words in their names, not only in their modules.
    pub(super) fn have_words_in_names(&self) -> bool {
        let Some(texts) = self.texts() else { return true };
        let has_words = |row: &u32| texts.has_words(texts.table.rows[*row as usize].key, &self.words);
        self.shown.iter().all(has_words)
    }

    /// Returns the rows as shown, for a file.
    pub(super) fn to_export(&self) -> Option<SampleExport> {
        let (snapshot, table) = self.table.clone()?;
        let rows = self.shown.iter().map(|&row| table.rows[row as usize]).collect();
        Some(SampleExport { snapshot, table, rows })
    }

    fn texts(&self) -> Option<SampleTexts<'_>> {
        self.table.as_ref().map(|(snapshot, table)| SampleTexts { snapshot, table })
    }

    fn row(&self, row: u64) -> Option<(SampleTexts<'_>, &SampleGroupRow)> {
        let texts = self.texts()?;
        let row = *self.shown.get(usize::try_from(row).ok()?)?;
        Some((texts, &texts.table.rows[row as usize]))
    }

    fn update(&mut self) {
        let Some(texts) = self.texts() else {
            (self.shown, self.own, self.largest) = (Vec::new(), SampleSum::default(), [0; 4]);
            return;
        };
        let rows = &texts.table.rows;
        let has_words = |row: &SampleGroupRow| {
            self.words.is_empty()
                || texts.has_words(row.key, &self.words)
                || texts.beside(row.key).to_lowercase().contains(&self.words)
        };
        let numbered = (0..).zip(rows).filter(|(_, row)| has_words(row));
        let mut shown: Vec<u32> = numbered.map(|(number, _)| number).collect();
        if let Some((column, ascending)) = self.sorted_by {
            let row = |number: &u32| &rows[*number as usize];
            match column {
                NAME => shown.sort_by_cached_key(|number| texts.name(row(number).key).into_owned()),
                BESIDE => shown.sort_by_cached_key(|number| texts.beside(row(number).key).into_owned()),
                _ => shown.sort_by_key(|number| number_of(row(number), column)),
            }
            if !ascending {
                shown.reverse();
            }
        }
        let mut own = SampleSum::default();
        shown.iter().for_each(|number| own.add(rows[*number as usize].sums.own));
        let largest = [OWN, TOTAL, OWN_SAMPLES, SAMPLES]
            .map(|column| shown.iter().map(|number| number_of(&rows[*number as usize], column)).max().unwrap_or(0));
        (self.shown, self.own, self.largest) = (shown, own, largest);
    }

    /// Returns the sum that shares of a row refer to: all samples of its event.
    fn whole(&self, row: &SampleGroupRow) -> SampleSum {
        let Some((_, table)) = &self.table else { return SampleSum::default() };
        match row.key {
            SampleGroup::Event(_) => row.sums.total,
            _ => table.picture.whole,
        }
    }
}

/// Returns a number of a row by its column.
fn number_of(row: &SampleGroupRow, column: usize) -> u64 {
    match column {
        OWN | OWN_SHARE => row.sums.own.weight,
        TOTAL | TOTAL_SHARE => row.sums.total.weight,
        OWN_SAMPLES => row.sums.own.samples,
        _ => row.sums.total.samples,
    }
}

#[derive(Clone, Copy)]
struct SampleTexts<'a> {
    snapshot: &'a Snapshot,
    table: &'a SampleTable,
}

impl<'a> SampleTexts<'a> {
    fn name(self, key: SampleGroup) -> Cow<'a, str> {
        let functions = &self.table.picture.functions;
        match key {
            SampleGroup::Function(FunctionIdx::ROOT) => NO_FRAMES.into(),
            SampleGroup::Function(function) => functions.text(self.snapshot, function).into(),
            SampleGroup::Module(function) => self.table.module_label(function).into(),
            SampleGroup::Thread(track) => track_title(self.snapshot.track(track)).0.into(),
            SampleGroup::Event(event) => {
                self.table.paths.events.get(event).map(|it| (*it.name).into()).unwrap_or_default()
            }
        }
    }

    /// Returns whether the name contains lower-case words.
    fn has_words(self, key: SampleGroup, words: &str) -> bool {
        self.name(key).to_lowercase().contains(words)
    }

    /// Returns the text of the second column.
    fn beside(self, key: SampleGroup) -> Cow<'a, str> {
        match key {
            SampleGroup::Function(function) => self.table.picture.functions.module(function).into(),
            SampleGroup::Module(function) if self.table.picture.functions.is_kernel(function) => "kernel".into(),
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
    fn weight(self, row: &SampleGroupRow, weight: u64) -> TableNumber {
        match self.table.event(row) {
            Some(event) if *event.unit == *NANOSECONDS => TableNumber::Duration(weight.into()),
            _ => TableNumber::Count(weight),
        }
    }
}

impl Rows for SampleRows {
    fn count(&self) -> u64 {
        self.shown.len() as u64
    }

    fn cell(&self, row: u64, column: usize) -> TableCell<'_> {
        let Some((texts, row)) = self.row(row) else { return TableCell::Empty };
        let number = number_of(row, column);
        match column {
            NAME => TableCell::Text(shown(&texts.name(row.key)).into_owned().into()),
            BESIDE => TableCell::Text(shown(&texts.beside(row.key)).into_owned().into()),
            OWN | TOTAL => TableCell::Number(texts.weight(row, number)),
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
        format!("{name}, self {own}, total {total}, {} samples", text(SAMPLES))
    }

    fn value(&self, row: u64, column: usize) -> PanelValue {
        let Some((texts, line)) = self.row(row) else { return PanelValue::default() };
        let name = texts.name(line.key);
        if let (NAME, SampleGroup::Function(function)) = (column, line.key)
            && let Some(idx) = texts.table.picture.functions.name(function).filter(|_| function != FunctionIdx::ROOT)
        {
            let paths = &texts.table.paths;
            let event = paths.event.and_then(|event| paths.events.get(event)).cloned();
            let function = SampledFunction { key: self.function(row), event };
            return PanelValue::from_name(&name, idx).of_function(Some(function));
        }
        self.cell(row, column).value()
    }

    fn is_chosen(&self, row: u64) -> bool {
        let is_function = matches!(self.key(row), SampleGroup::Function(_));
        is_function && self.chosen.as_ref().is_some_and(|chosen| *chosen == self.function(row))
    }

    fn bar(&self, row: u64, column: usize) -> Option<f64> {
        let index = [OWN, TOTAL, OWN_SAMPLES, SAMPLES].iter().position(|&it| it == column)?;
        let (_, row) = self.row(row)?;
        Some(number::fraction(number_of(row, column).into(), self.largest[index].into()))
    }

    fn total(&self, column: usize) -> Option<TableCell<'_>> {
        let (texts, first) = self.row(0)?;
        let is_event = matches!(first.key, SampleGroup::Event(_));
        Some(match column {
            NAME if self.shown.len() == 1 => TableCell::Text("1 row".into()),
            NAME => TableCell::Text(format!("{} rows", grouped_digits(self.count())).into()),
            // Two events are never added up.
            _ if is_event => TableCell::Empty,
            OWN => TableCell::Number(texts.weight(first, self.own.weight)),
            OWN_SHARE => {
                let whole = self.whole(first).weight.into();
                TableCell::Number(TableNumber::Share { part: self.own.weight.into(), whole })
            }
            OWN_SAMPLES => TableCell::Number(TableNumber::Count(self.own.samples)),
            _ => TableCell::Empty,
        })
    }

    fn more(&self, row: u64, column: usize) -> Option<String> {
        let (texts, row) = self.row(row)?;
        let beside = texts.beside(row.key);
        (column == NAME && !beside.is_empty()).then(|| format!("{}\n{}", tip(&texts.name(row.key)), tip(&beside)))
    }

    fn sort(&mut self, column: usize, ascending: bool) {
        self.sorted_by = Some((column, ascending));
        self.update();
    }

    fn copies_all(&self) -> bool {
        true
    }
}

/// The rows for a file.
pub(super) struct SampleExport {
    snapshot: Snapshot,
    table: Arc<SampleTable>,
    rows: Vec<SampleGroupRow>,
}

impl TableSource for SampleExport {
    fn columns(&self) -> Vec<&'static str> {
        let (name, beside) = match self.rows.first().map(|row| row.key) {
            None | Some(SampleGroup::Function(_)) => ("function", "module"),
            Some(SampleGroup::Module(_)) => ("module", "kind"),
            Some(SampleGroup::Thread(_)) => ("thread", "process"),
            Some(SampleGroup::Event(_)) => ("event", "event_unit"),
        };
        vec![name, beside, "unit", "self", "total", "self_samples", "total_samples"]
    }

    fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    fn write(&self, table: &mut TableValueWriter<'_>, cancel: &Cancel, progress: &Progress) -> Result<(), SinkError> {
        let texts = SampleTexts { snapshot: &self.snapshot, table: &self.table };
        for row in &self.rows {
            cancel.check()?;
            let unit = self.table.event(row).map(|event| event.unit.to_string()).unwrap_or_default();
            let text = |text: Cow<'_, str>| match text {
                text if text.is_empty() => TableValue::Empty,
                text => TableValue::Text(text.into_owned().into()),
            };
            let (own, total) = (row.sums.own, row.sums.total);
            let numbers = [own.weight, total.weight, own.samples, total.samples];
            let mut values = vec![text(texts.name(row.key)), text(texts.beside(row.key)), text(unit.into())];
            values.extend(numbers.map(|number| TableValue::Whole(number.into())));
            table.row(&values)?;
            progress.advance(1);
        }
        Ok(())
    }
}
