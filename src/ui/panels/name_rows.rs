//! The rows of the table of statistics: one a name of spans, with its sums and its durations.

use super::answer_state::SKETCH_ERROR;
use super::elided::tip;
use super::number::{self, TableNumber};
use super::table::{Rows, TableCell, TableColumn};
use super::value_menu::PanelValue;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::base::time::grouped_digits;
use crate::export::SinkError;
use crate::export::values::{TableSource, TableValue, TableValueWriter};
use crate::model::NameIdx;
use crate::query::Snapshot;
use crate::query::filter::quoted;
use crate::query::totals::{NUMBER_COLUMNS, NameTotals, Totals};
use crate::scene::labels::shown;
use crate::ui::command::{AppCommand, Command};

/// Numbers of a name: a count, and durations in nanoseconds.
const NUMBERS: usize = NUMBER_COLUMNS.len();

/// A number of a name; `None` while its durations are being counted, or where it cannot be told.
type Number = Option<u128>;

/// A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameColumn {
    Name,
    Count,
    Total,
    Share,
    Own,
    Mean,
    Median,
    P99,
    Min,
    Max,
    Distinct,
    Deviation,
    P90,
    P95,
}

impl NameColumn {
    const ALL: [Self; 14] = [
        Self::Name,
        Self::Count,
        Self::Total,
        Self::Share,
        Self::Own,
        Self::Mean,
        Self::Median,
        Self::P99,
        Self::Min,
        Self::Max,
        Self::Distinct,
        Self::Deviation,
        Self::P90,
        Self::P95,
    ];

    /// The number of a row in this column, in the order of columns of the copied table.
    fn number(self) -> Option<usize> {
        match self {
            Self::Name | Self::Share => None,
            Self::Count => Some(0),
            Self::Total => Some(1),
            Self::Own => Some(2),
            Self::Mean => Some(3),
            Self::Median => Some(4),
            Self::P99 => Some(5),
            Self::Min => Some(6),
            Self::Max => Some(7),
            Self::Distinct => Some(8),
            Self::Deviation => Some(9),
            Self::P90 => Some(10),
            Self::P95 => Some(11),
        }
    }

    fn is_quantile(self) -> bool {
        matches!(self, Self::Median | Self::P90 | Self::P95 | Self::P99)
    }

    /// Whether the numbers of all names add up to something.
    fn has_sum(self) -> bool {
        matches!(self, Self::Count | Self::Total | Self::Own | Self::Distinct)
    }
}

/// The width of a column of numbers: no number may lose its first digits.
const NUMBER_POINTS: f32 = 76.0;

/// The columns of the table. The names have room for some twenty letters.
pub(super) const COLUMNS: [TableColumn; NameColumn::ALL.len()] = [
    TableColumn { title: "Name", width: 140.0, is_number: false, is_sortable: true },
    number("Count"),
    number("Total"),
    TableColumn { width: 58.0, is_sortable: false, ..number("Share") },
    number("Self"),
    number("Mean"),
    number("p50"),
    number("p99"),
    number("Min"),
    number("Max"),
    number("Distinct"),
    number("Deviation"),
    number("p90"),
    number("p95"),
];

/// The columns where quantiles of some rows come from sketches: their titles say so.
pub(super) const SKETCHED_COLUMNS: [TableColumn; COLUMNS.len()] = {
    let mut columns = COLUMNS;
    columns[NameColumn::Median as usize].title = "~p50";
    columns[NameColumn::P99 as usize].title = "~p99";
    columns[NameColumn::P90 as usize].title = "~p90";
    columns[NameColumn::P95 as usize].title = "~p95";
    columns
};

/// The column that rows are sorted by at first.
pub(super) const FIRST_SORTED: usize = NameColumn::Total as usize;

const fn number(title: &'static str) -> TableColumn {
    TableColumn { title, width: NUMBER_POINTS, is_number: true, is_sortable: true }
}

/// A row of the table: the numbers that rows are sorted by are worked out once.
#[derive(Debug, Clone)]
struct Line {
    name: NameIdx,
    text: String,
    category: String,
    numbers: [Number; NUMBERS],
    /// Whether the quantiles come from a sketch.
    is_sketched: bool,
}

/// The rows of the table.
#[derive(Debug, Default)]
pub(super) struct NameRows {
    /// One a name, as they are sorted.
    lines: Vec<Line>,
    /// The lines whose name has the words: worked out when either changes, as there may be a million.
    shown: Vec<u32>,
    words: String,
    sorted_by: Option<(usize, bool)>,
    pub(super) chosen: Option<NameIdx>,
    /// Of all lines, and of those that are shown.
    sums: [u128; NUMBERS],
    shown_sums: [u128; NUMBERS],
    /// The largest number of each column among the lines that are shown.
    largest: [u128; NUMBERS],
}

impl NameRows {
    pub(super) fn set_totals(&mut self, totals: &Totals, snapshot: &Snapshot) {
        self.lines = totals.by_name().into_iter().map(|(name, totals)| line(name, totals, snapshot)).collect();
        self.sums = sums(self.lines.iter());
        self.sort_lines();
    }

    /// Forgets the lines; the words and the order stay.
    pub(super) fn forget(&mut self) {
        self.chosen = None;
        self.lines.clear();
        self.filter();
    }

    /// Shows only names that have these words.
    pub(super) fn set_words(&mut self, words: &str) {
        self.words = words.to_lowercase();
        self.filter();
    }

    /// Whether quantiles of any row come from a sketch.
    pub(super) fn has_sketched(&self) -> bool {
        self.shown.iter().any(|&line| self.lines[line as usize].is_sketched)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// Whether no name has spans here.
    pub(super) fn has_no_line(&self) -> bool {
        self.lines.is_empty()
    }

    pub(super) fn name(&self, row: u64) -> NameIdx {
        self.line(row).name
    }

    pub(super) fn row_of(&self, name: NameIdx) -> Option<u64> {
        self.shown.iter().position(|&line| self.lines[line as usize].name == name).map(|row| row as u64)
    }

    /// The rows as they are shown, in nanoseconds, for a file.
    pub(super) fn to_export(&self) -> NameExport {
        NameExport { lines: self.shown.iter().map(|&line| self.lines[line as usize].clone()).collect() }
    }

    fn line(&self, row: u64) -> &Line {
        &self.lines[self.shown[row as usize] as usize]
    }

    fn sort_lines(&mut self) {
        if let Some((column, ascending)) = self.sorted_by {
            let number = NameColumn::ALL[column].number();
            self.lines.sort_by(|a, b| {
                let order = match number {
                    None => a.text.cmp(&b.text),
                    Some(number) => a.numbers[number].cmp(&b.numbers[number]),
                };
                let order = if ascending { order } else { order.reverse() };
                order.then(a.name.cmp(&b.name))
            });
        }
        self.filter();
    }

    fn filter(&mut self) {
        let numbered = (0..).zip(&self.lines);
        let matching = numbered.filter(|(_, line)| line.text.to_lowercase().contains(&self.words));
        self.shown = matching.map(|(number, _)| number).collect();
        let lines = || self.shown.iter().map(|&line| &self.lines[line as usize]);
        let largest = std::array::from_fn(|number| lines().filter_map(|line| line.numbers[number]).max().unwrap_or(0));
        (self.shown_sums, self.largest) = (sums(lines()), largest);
    }

    /// The number that shares are of: that of the column that rows are sorted by if it has a sum, else the total.
    fn shared(&self) -> usize {
        let sorted = self.sorted_by.map(|(column, _)| NameColumn::ALL[column]).filter(|column| column.has_sum());
        sorted.and_then(NameColumn::number).unwrap_or(1)
    }

    fn cell_of(&self, column: usize, numbers: &[Number; NUMBERS]) -> TableCell<'_> {
        let shared = self.shared();
        let number = NameColumn::ALL[column].number();
        let Some(value) = numbers[number.unwrap_or(shared)] else { return TableCell::Empty };
        TableCell::Number(match number {
            None => TableNumber::Share { part: value, whole: self.sums[shared] },
            Some(0) => TableNumber::Count(u64::try_from(value).unwrap_or(u64::MAX)),
            Some(_) => TableNumber::Duration(value),
        })
    }
}

impl Rows for NameRows {
    fn count(&self) -> u64 {
        self.shown.len() as u64
    }

    fn cell(&self, row: u64, column: usize) -> TableCell<'_> {
        let line = self.line(row);
        match NameColumn::ALL[column] {
            NameColumn::Name => TableCell::Text(shown(&line.text)),
            _ => self.cell_of(column, &line.numbers),
        }
    }

    fn spoken(&self, row: u64) -> String {
        shown(&self.line(row).text).into_owned()
    }

    fn value(&self, row: u64, column: usize) -> PanelValue {
        let Line { name, text, numbers, .. } = self.line(row);
        let spans_of = |ns: u128| format!("dur={ns}ns {}", quoted(text));
        let number = NameColumn::ALL[column].number().and_then(|number| numbers[number]);
        match (NameColumn::ALL[column], self.cell(row, column)) {
            (NameColumn::Name, _) => PanelValue::from_name(text, *name),
            (NameColumn::Min | NameColumn::Max, TableCell::Number(shown)) => {
                PanelValue::new(COLUMNS[column].title, shown.copied()).found_by(spans_of(number.unwrap_or(0)))
            }
            (_, TableCell::Number(number)) => PanelValue::new(COLUMNS[column].title, number.copied()),
            (_, TableCell::Text(_) | TableCell::Empty) => PanelValue::default(),
        }
    }

    fn is_chosen(&self, row: u64) -> bool {
        self.chosen == Some(self.line(row).name)
    }

    fn bar(&self, row: u64, column: usize) -> Option<f64> {
        let number = NameColumn::ALL[column].number()?;
        Some(number::fraction(self.line(row).numbers[number]?, self.largest[number]))
    }

    fn total(&self, column: usize) -> Option<TableCell<'_>> {
        if self.shown.is_empty() {
            return None;
        }
        Some(match NameColumn::ALL[column] {
            NameColumn::Name if self.shown.len() == 1 => TableCell::Text("1 name".into()),
            NameColumn::Name => TableCell::Text(format!("{} names", grouped_digits(self.count())).into()),
            NameColumn::Share => self.cell_of(column, &self.shown_sums.map(Some)),
            sum if sum.has_sum() => self.cell_of(column, &self.shown_sums.map(Some)),
            _ => TableCell::Empty,
        })
    }

    fn more(&self, row: u64, column: usize) -> Option<String> {
        let Line { text, category, is_sketched, .. } = self.line(row);
        if let (true, TableCell::Number(number)) =
            (*is_sketched && NameColumn::ALL[column].is_quantile(), self.cell(row, column))
        {
            return Some(format!("{}\n{SKETCH_ERROR}", number.exact()));
        }
        let has_more = NameColumn::ALL[column] == NameColumn::Name && !category.is_empty();
        has_more.then(|| format!("{}\n{}", tip(text), tip(category)))
    }

    fn sort(&mut self, column: usize, ascending: bool) {
        self.sorted_by = Some((column, ascending));
        self.sort_lines();
    }

    fn copies_all(&self) -> bool {
        true
    }

    fn csv(&self) -> Option<Command> {
        Some(Command::App(AppCommand::CopyTable))
    }
}

/// The rows as a file has them.
pub(super) struct NameExport {
    lines: Vec<Line>,
}

impl TableSource for NameExport {
    fn columns(&self) -> Vec<&'static str> {
        ["name", "category"].into_iter().chain(NUMBER_COLUMNS).collect()
    }

    fn rows(&self) -> u64 {
        self.lines.len() as u64
    }

    fn write(&self, table: &mut TableValueWriter<'_>, cancel: &Cancel, progress: &Progress) -> Result<(), SinkError> {
        let text =
            |text: &str| if text.is_empty() { TableValue::Empty } else { TableValue::Text(text.to_owned().into()) };
        for line in &self.lines {
            cancel.check()?;
            let mut values = vec![TableValue::Text(line.text.as_str().into()), text(&line.category)];
            values.extend(line.numbers.map(TableValue::from_option));
            table.row(&values)?;
            progress.advance(1);
        }
        Ok(())
    }
}

fn sums<'l>(lines: impl Iterator<Item = &'l Line>) -> [u128; NUMBERS] {
    lines.fold([0; NUMBERS], |mut sums, line| {
        sums.iter_mut().zip(line.numbers).for_each(|(sum, number)| *sum = sum.saturating_add(number.unwrap_or(0)));
        sums
    })
}

fn line(name: NameIdx, totals: &NameTotals, snapshot: &Snapshot) -> Line {
    let row = snapshot.names().get(name);
    Line {
        name,
        text: row.text.to_owned(),
        category: row.category.unwrap_or_default().to_owned(),
        numbers: totals.numbers(),
        is_sketched: totals.quantile_error() > 0.0,
    }
}
