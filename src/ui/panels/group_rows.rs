//! The rows of the statistics table: one per group of spans, such as those of a name, with its sums and durations.

use std::sync::Arc;

use super::answer_state::SKETCH_ERROR;
use super::elided::tip;
use super::group_label::group_word;
use super::group_lines::{GroupLine, GroupLines, add};
use super::number::{self, TableNumber};
use super::table::{Rows, TableCell, TableColumn};
use super::value_menu::PanelValue;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::export::SinkError;
use crate::export::values::{TableSource, TableValue, TableValueWriter};
use crate::query::Snapshot;
use crate::query::group_choice::GroupChoice;
use crate::query::groups::{GroupBy, SpanGroup};
use crate::query::totals::{LabelCell, NUMBER_COLUMNS, NameTotals, Totals, label_cells, label_columns};
use crate::scene::labels::shown;
use crate::ui::command::{AppCommand, Command};

/// Numbers of a group: a count, and durations in nanoseconds.
const NUMBERS: usize = NUMBER_COLUMNS.len();

/// A number of a group; `None` while its durations are being counted, or if it is unknown.
type Number = Option<u128>;

/// A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupColumn {
    Label,
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
    Unfinished,
}

impl GroupColumn {
    const ALL: [Self; 15] = [
        Self::Label,
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
        Self::Unfinished,
    ];

    /// Returns the index of the column's number among the columns of the copied table.
    fn number(self) -> Option<usize> {
        match self {
            Self::Label | Self::Share => None,
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
            Self::Unfinished => Some(12),
        }
    }

    fn is_quantile(self) -> bool {
        matches!(self, Self::Median | Self::P90 | Self::P95 | Self::P99)
    }

    fn is_count(self) -> bool {
        matches!(self, Self::Count | Self::Unfinished)
    }

    /// Returns whether the numbers of all groups have a meaningful sum.
    fn has_sum(self) -> bool {
        matches!(self, Self::Count | Self::Total | Self::Own | Self::Distinct | Self::Unfinished)
    }
}

/// Width of a number column, enough for all leading digits.
const NUMBER_POINTS: f32 = 76.0;

/// Width of a label of two names.
const PAIR_POINTS: f32 = 260.0;

/// The columns of the table of spans by name. Labels have space for some twenty letters.
const COLUMNS: [TableColumn; GroupColumn::ALL.len()] = [
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
    number("Unfinished"),
];

/// Column of the default sort order.
pub(super) const FIRST_SORTED: usize = GroupColumn::Total as usize;

const fn number(title: &'static str) -> TableColumn {
    TableColumn { title, width: NUMBER_POINTS, is_number: true, is_sortable: true }
}

/// The rows of the table.
#[derive(Debug, Default)]
pub(super) struct GroupRows {
    /// One per group, sorted; `None` until something is counted.
    lines: Option<GroupLines>,
    by: GroupBy,
    /// Indices of the lines whose label matches the words. Updated when either changes, because there may be a million.
    shown: Vec<u32>,
    words: String,
    sorted_by: Option<(usize, bool)>,
    /// Whether quantiles of a visible row come from a sketch.
    pub(super) has_sketched: bool,
    /// Whether several visible rows have one name, in different categories.
    has_category: bool,
    pub(super) chosen: Option<SpanGroup>,
    /// Sums of the visible lines.
    shown_sums: [u128; NUMBERS],
    /// Largest number of the sorted column among the visible lines.
    largest: u128,
}

impl GroupRows {
    pub(super) fn set_lines(&mut self, lines: GroupLines) {
        self.by = lines.totals().by().clone();
        self.lines = Some(lines);
        self.sort_lines();
    }

    /// Drops the lines; the words and the order stay.
    pub(super) fn forget(&mut self) {
        (self.lines, self.chosen) = (None, None);
        self.filter();
    }

    /// Returns the totals of the lines.
    #[must_use]
    pub(super) fn totals(&self) -> Option<&Totals> {
        self.lines.as_ref().map(|lines| &**lines.totals())
    }

    /// Shows only groups whose label contains these words.
    pub(super) fn set_words(&mut self, words: &str) {
        self.words = words.to_lowercase();
        self.filter();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// Returns whether no group has spans.
    pub(super) fn has_no_line(&self) -> bool {
        self.lines.as_ref().is_none_or(|lines| lines.all().is_empty())
    }

    pub(super) fn group(&self, row: u64) -> Option<SpanGroup> {
        self.line(row).map(|(_, line)| line.group)
    }

    pub(super) fn row_of(&self, group: SpanGroup) -> Option<u64> {
        let lines = self.lines.as_ref()?.all();
        self.shown.iter().position(|&line| lines[line as usize].group == group).map(|row| row as u64)
    }

    /// Returns a group to narrow a scope by; `None` if that is impossible.
    #[must_use]
    pub(super) fn choice(&self, group: SpanGroup) -> Option<GroupChoice> {
        GroupChoice::from_totals(self.totals()?, group)
    }

    /// Returns the columns. Titles mark quantiles from sketches.
    #[must_use]
    pub(super) fn columns(&self) -> [TableColumn; COLUMNS.len()] {
        let mut columns = COLUMNS;
        let label = &mut columns[GroupColumn::Label as usize];
        label.title = group_word(&self.by).title;
        if self.by.is_pair() {
            label.width = PAIR_POINTS;
        }
        if self.has_sketched {
            columns[GroupColumn::Median as usize].title = "~p50";
            columns[GroupColumn::P99 as usize].title = "~p99";
            columns[GroupColumn::P90 as usize].title = "~p90";
            columns[GroupColumn::P95 as usize].title = "~p95";
        }
        columns
    }

    /// Returns the rows as shown, in nanoseconds, for a file; empty if nothing is counted yet.
    #[must_use]
    pub(super) fn to_export(&self, snapshot: &Snapshot) -> GroupExport {
        let Some(lines) = &self.lines else {
            return GroupExport { totals: Arc::default(), snapshot: snapshot.clone(), groups: Vec::new() };
        };
        let groups = self.shown.iter().map(|&line| lines.all()[line as usize].group).collect();
        GroupExport { totals: Arc::clone(lines.totals()), snapshot: lines.snapshot().clone(), groups }
    }

    /// Returns a visible line.
    fn line(&self, row: u64) -> Option<(&GroupLines, GroupLine)> {
        let lines = self.lines.as_ref()?;
        Some((lines, *lines.all().get(*self.shown.get(usize::try_from(row).ok()?)? as usize)?))
    }

    fn number(&self, row: u64, number: usize) -> Number {
        self.line(row).and_then(|(lines, line)| lines.numbers(line).number(number))
    }

    fn sort_lines(&mut self) {
        if let (Some((column, ascending)), Some(lines)) = (self.sorted_by, &mut self.lines) {
            lines.sort(GroupColumn::ALL[column].number(), ascending);
        }
        self.filter();
    }

    fn filter(&mut self) {
        let Some(lines) = &self.lines else {
            (self.shown, self.shown_sums, self.largest) = (Vec::new(), [0; NUMBERS], 0);
            (self.has_category, self.has_sketched) = (false, false);
            return;
        };
        let numbered = (0..).zip(lines.all());
        // The texts of a million lines take a part of a second.
        (self.shown, self.shown_sums) = if self.words.is_empty() {
            (numbered.map(|(number, _)| number).collect(), *lines.sums())
        } else {
            let mut sums = [0; NUMBERS];
            let matching = numbered.filter(|(_, line)| lines.text(**line).to_lowercase().contains(&self.words));
            let shown = matching.inspect(|(_, line)| add(&mut sums, lines.numbers(**line)));
            (shown.map(|(number, _)| number).collect(), sums)
        };
        let shown = || self.shown.iter().map(|&line| lines.all()[line as usize]);
        let has_category = self.shown.len() > 1 && shown().any(|line| line.has_category);
        let has_sketched = shown().any(|line| line.is_sketched);
        (self.has_category, self.has_sketched) = (has_category, has_sketched);
        // The lines are in the order of the column, so the largest is at an end.
        let number = self.sorted_by.and_then(|(column, _)| GroupColumn::ALL[column].number());
        let ends = [0, self.shown.len().saturating_sub(1) as u64];
        let numbers = ends.map(|row| number.and_then(|number| self.number(row, number)));
        self.largest = numbers.into_iter().flatten().max().unwrap_or(0);
    }

    /// Returns the number that shares refer to: the sorted column if it has a sum, else the total.
    fn shared(&self) -> usize {
        let sorted = self.sorted_by.map(|(column, _)| GroupColumn::ALL[column]).filter(|column| column.has_sum());
        sorted.and_then(GroupColumn::number).unwrap_or(1)
    }

    fn cell_of(&self, column: usize, number: impl Fn(usize) -> Number) -> TableCell<'_> {
        let shared = self.shared();
        let column = GroupColumn::ALL[column];
        let Some(value) = number(column.number().unwrap_or(shared)) else { return TableCell::Empty };
        let whole = || self.lines.as_ref().map_or(0, |lines| lines.sums()[shared]);
        TableCell::Number(match column.number() {
            None => TableNumber::Share { part: value, whole: whole() },
            Some(_) if column.is_count() => TableNumber::Count(u64::try_from(value).unwrap_or(u64::MAX)),
            Some(_) => TableNumber::Duration(value),
        })
    }
}

impl Rows for GroupRows {
    fn count(&self) -> u64 {
        self.shown.len() as u64
    }

    fn cell(&self, row: u64, column: usize) -> TableCell<'_> {
        let Some((lines, line)) = self.line(row) else { return TableCell::Empty };
        match GroupColumn::ALL[column] {
            GroupColumn::Label => TableCell::Text(shown(&lines.text(line)).into_owned().into()),
            _ => self.cell_of(column, |number| lines.numbers(line).number(number)),
        }
    }

    fn spoken(&self, row: u64) -> String {
        self.line(row).map(|(lines, line)| shown(&lines.text(line)).into_owned()).unwrap_or_default()
    }

    fn value(&self, row: u64, column: usize) -> PanelValue {
        let Some((lines, line)) = self.line(row) else { return PanelValue::default() };
        let (label, _) = lines.label(line);
        let filter = self.choice(line.group).and_then(|choice| choice.filter(lines.snapshot()));
        let number = GroupColumn::ALL[column].number().and_then(|number| self.number(row, number));
        match (GroupColumn::ALL[column], self.cell(row, column)) {
            (GroupColumn::Label, _) if self.by == GroupBy::default() => PanelValue::from_name(&label, line.group.name),
            (GroupColumn::Label, _) => PanelValue { filter, ..PanelValue::new(label) },
            (GroupColumn::Min | GroupColumn::Max, TableCell::Number(shown)) => {
                let filter = filter.map(|filter| format!("dur={}ns {filter}", number.unwrap_or(0)));
                PanelValue { filter, ..PanelValue::new(shown.copied()) }
            }
            (_, TableCell::Number(number)) => PanelValue::new(number.copied()),
            (_, TableCell::Text(_) | TableCell::Empty) => PanelValue::default(),
        }
    }

    fn is_chosen(&self, row: u64) -> bool {
        self.chosen.is_some() && self.chosen == self.group(row)
    }

    fn bar(&self, row: u64, column: usize) -> Option<f64> {
        self.sorted_by.filter(|(sorted, _)| *sorted == column)?;
        let number = GroupColumn::ALL[column].number()?;
        Some(number::fraction(self.number(row, number)?, self.largest))
    }

    fn total(&self, column: usize) -> Option<TableCell<'_>> {
        if self.shown.is_empty() {
            return None;
        }
        Some(match GroupColumn::ALL[column] {
            GroupColumn::Label => {
                let counted = group_word(&self.by).counted(self.count());
                let is_split = self.by == GroupBy::default() && self.has_category;
                TableCell::Text(if is_split { format!("{counted} and categories") } else { counted }.into())
            }
            GroupColumn::Share => self.cell_of(column, |number| Some(self.shown_sums[number])),
            sum if sum.has_sum() => self.cell_of(column, |number| Some(self.shown_sums[number])),
            _ => TableCell::Empty,
        })
    }

    fn more(&self, row: u64, column: usize) -> Option<String> {
        let (lines, line) = self.line(row)?;
        if let (true, TableCell::Number(number)) =
            (line.is_sketched && GroupColumn::ALL[column].is_quantile(), self.cell(row, column))
        {
            return Some(format!("{}\n{SKETCH_ERROR}", number.exact()));
        }
        let (label, more) = lines.label(line);
        let has_more = GroupColumn::ALL[column] == GroupColumn::Label && !more.is_empty();
        has_more.then(|| format!("{}\n{}", tip(&label), tip(&more)))
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

/// The rows for a file.
pub(super) struct GroupExport {
    totals: Arc<Totals>,
    snapshot: Snapshot,
    /// Groups in table order.
    groups: Vec<SpanGroup>,
}

impl TableSource for GroupExport {
    fn columns(&self) -> Vec<&'static str> {
        label_columns(self.totals.by()).into_iter().chain(NUMBER_COLUMNS).collect()
    }

    fn rows(&self) -> u64 {
        self.groups.len() as u64
    }

    fn write(&self, table: &mut TableValueWriter<'_>, cancel: &Cancel, progress: &Progress) -> Result<(), SinkError> {
        for &group in &self.groups {
            cancel.check()?;
            let cells = label_cells(&self.totals, group, &self.snapshot);
            let mut values: Vec<_> = cells.into_iter().map(|(_, cell)| label_value(cell)).collect();
            let numbers = self.totals.of_group(group).map(NameTotals::numbers).unwrap_or_default();
            values.extend(numbers.map(TableValue::from_option));
            table.row(&values)?;
            progress.advance(1);
        }
        Ok(())
    }
}

fn label_value(cell: LabelCell<'_>) -> TableValue<'_> {
    match cell {
        LabelCell::Nothing | LabelCell::Text("") => TableValue::Empty,
        LabelCell::Text(text) => TableValue::Text(text.into()),
        LabelCell::Id(id) => match id.to_string() {
            text if text.is_empty() => TableValue::Empty,
            text => TableValue::Text(text.into()),
        },
    }
}
