//! The rows of the statistics table: one per group of spans, such as those of a name, with its sums and durations.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::answer_state::SKETCH_ERROR;
use super::elided::tip;
use super::group_label::{category_label, group_label, group_word};
use super::number::{self, TableNumber};
use super::table::{Rows, TableCell, TableColumn};
use super::value_menu::PanelValue;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::export::SinkError;
use crate::export::values::{TableSource, TableValue, TableValueWriter};
use crate::query::Snapshot;
use crate::query::group_choice::GroupChoice;
use crate::query::groups::{GroupBy, NameKey, SpanGroup};
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

/// A row of the table; the numbers to sort by are computed once.
#[derive(Debug, Clone)]
struct Line {
    group: SpanGroup,
    label: String,
    /// Category of the name, if names of other categories have the same label; otherwise empty.
    category: String,
    /// Tooltip of the group; may be empty.
    more: String,
    numbers: [Number; NUMBERS],
    /// Whether the quantiles come from a sketch.
    is_sketched: bool,
}

impl Line {
    /// Returns the label with the category that tells it apart.
    fn text(&self) -> Cow<'_, str> {
        if self.category.is_empty() {
            return Cow::Borrowed(&self.label);
        }
        Cow::Owned(format!("{}  ·  {}", self.label, self.category))
    }
}

/// The rows of the table.
#[derive(Debug, Default)]
pub(super) struct GroupRows {
    /// The totals of the lines, and their trace.
    of: Option<(Arc<Totals>, Snapshot)>,
    by: GroupBy,
    /// One per group, sorted.
    lines: Vec<Line>,
    /// Indices of the lines whose label matches the words. Updated when either changes, because there may be a million.
    shown: Vec<u32>,
    words: String,
    sorted_by: Option<(usize, bool)>,
    /// Whether quantiles of a visible row come from a sketch.
    pub(super) has_sketched: bool,
    /// Whether several visible rows have one name, in different categories.
    has_category: bool,
    pub(super) chosen: Option<SpanGroup>,
    /// Sums of all lines, and of the visible ones.
    sums: [u128; NUMBERS],
    shown_sums: [u128; NUMBERS],
    /// Largest number of each column among the visible lines.
    largest: [u128; NUMBERS],
}

impl GroupRows {
    pub(super) fn set_totals(&mut self, totals: &Arc<Totals>, snapshot: &Snapshot) {
        self.by = totals.by().clone();
        self.lines = totals.by_group().into_iter().map(|(group, row)| line(totals, group, row, snapshot)).collect();
        add_categories(&mut self.lines, &self.by, snapshot);
        self.of = Some((Arc::clone(totals), snapshot.clone()));
        self.sums = sums(self.lines.iter());
        self.sort_lines();
    }

    /// Drops the lines; the words and the order stay.
    pub(super) fn forget(&mut self) {
        (self.of, self.chosen) = (None, None);
        self.lines.clear();
        self.filter();
    }

    /// Returns the totals of the lines.
    #[must_use]
    pub(super) fn totals(&self) -> Option<&Totals> {
        self.of.as_ref().map(|(totals, _)| &**totals)
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
        self.lines.is_empty()
    }

    pub(super) fn group(&self, row: u64) -> SpanGroup {
        self.line(row).group
    }

    pub(super) fn row_of(&self, group: SpanGroup) -> Option<u64> {
        self.shown.iter().position(|&line| self.lines[line as usize].group == group).map(|row| row as u64)
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
        let (totals, snapshot) = self.of.clone().unwrap_or_else(|| (Arc::default(), snapshot.clone()));
        let groups = self.shown.iter().map(|&line| self.lines[line as usize].group).collect();
        GroupExport { totals, snapshot, groups }
    }

    fn line(&self, row: u64) -> &Line {
        &self.lines[self.shown[row as usize] as usize]
    }

    fn sort_lines(&mut self) {
        if let Some((column, ascending)) = self.sorted_by {
            let number = GroupColumn::ALL[column].number();
            self.lines.sort_by(|a, b| {
                let order = match number {
                    None => (&a.label, &a.category).cmp(&(&b.label, &b.category)),
                    Some(number) => a.numbers[number].cmp(&b.numbers[number]),
                };
                let order = if ascending { order } else { order.reverse() };
                order.then(a.group.cmp(&b.group))
            });
        }
        self.filter();
    }

    fn filter(&mut self) {
        let numbered = (0..).zip(&self.lines);
        let matching = numbered.filter(|(_, line)| line.text().to_lowercase().contains(&self.words));
        self.shown = matching.map(|(number, _)| number).collect();
        let lines = || self.shown.iter().map(|&line| &self.lines[line as usize]);
        let largest = std::array::from_fn(|number| lines().filter_map(|line| line.numbers[number]).max().unwrap_or(0));
        self.has_category = self.shown.len() > 1 && lines().any(|line| !line.category.is_empty());
        (self.shown_sums, self.largest, self.has_sketched) =
            (sums(lines()), largest, lines().any(|line| line.is_sketched));
    }

    /// Returns the number that shares refer to: the sorted column if it has a sum, else the total.
    fn shared(&self) -> usize {
        let sorted = self.sorted_by.map(|(column, _)| GroupColumn::ALL[column]).filter(|column| column.has_sum());
        sorted.and_then(GroupColumn::number).unwrap_or(1)
    }

    fn cell_of(&self, column: usize, numbers: &[Number; NUMBERS]) -> TableCell<'_> {
        let shared = self.shared();
        let column = GroupColumn::ALL[column];
        let Some(value) = numbers[column.number().unwrap_or(shared)] else { return TableCell::Empty };
        TableCell::Number(match column.number() {
            None => TableNumber::Share { part: value, whole: self.sums[shared] },
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
        let line = self.line(row);
        match GroupColumn::ALL[column] {
            GroupColumn::Label if line.category.is_empty() => TableCell::Text(shown(&line.label)),
            GroupColumn::Label => TableCell::Text(shown(&line.text()).into_owned().into()),
            _ => self.cell_of(column, &line.numbers),
        }
    }

    fn spoken(&self, row: u64) -> String {
        shown(&self.line(row).text()).into_owned()
    }

    fn value(&self, row: u64, column: usize) -> PanelValue {
        let Line { group, label, numbers, .. } = self.line(row);
        let filter = self.of.as_ref().zip(self.choice(*group)).and_then(|((_, snapshot), it)| it.filter(snapshot));
        let number = GroupColumn::ALL[column].number().and_then(|number| numbers[number]);
        match (GroupColumn::ALL[column], self.cell(row, column)) {
            (GroupColumn::Label, _) if self.by == GroupBy::default() => PanelValue::from_name(label, group.name),
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
        self.chosen == Some(self.line(row).group)
    }

    fn bar(&self, row: u64, column: usize) -> Option<f64> {
        let number = GroupColumn::ALL[column].number()?;
        Some(number::fraction(self.line(row).numbers[number]?, self.largest[number]))
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
            GroupColumn::Share => self.cell_of(column, &self.shown_sums.map(Some)),
            sum if sum.has_sum() => self.cell_of(column, &self.shown_sums.map(Some)),
            _ => TableCell::Empty,
        })
    }

    fn more(&self, row: u64, column: usize) -> Option<String> {
        let Line { label, more, is_sketched, .. } = self.line(row);
        if let (true, TableCell::Number(number)) =
            (*is_sketched && GroupColumn::ALL[column].is_quantile(), self.cell(row, column))
        {
            return Some(format!("{}\n{SKETCH_ERROR}", number.exact()));
        }
        let has_more = GroupColumn::ALL[column] == GroupColumn::Label && !more.is_empty();
        has_more.then(|| format!("{}\n{}", tip(label), tip(more)))
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

fn sums<'l>(lines: impl Iterator<Item = &'l Line>) -> [u128; NUMBERS] {
    lines.fold([0; NUMBERS], |mut sums, line| {
        sums.iter_mut().zip(line.numbers).for_each(|(sum, number)| *sum = sum.saturating_add(number.unwrap_or(0)));
        sums
    })
}

fn line(totals: &Totals, group: SpanGroup, row: &NameTotals, snapshot: &Snapshot) -> Line {
    let (label, more) = group_label(totals, group, snapshot);
    Line {
        group,
        label,
        category: String::new(),
        more,
        numbers: row.numbers(),
        is_sketched: row.quantile_error() > 0.0,
    }
}

/// Adds the category to lines whose label is that of names in several categories.
fn add_categories(lines: &mut [Line], by: &GroupBy, snapshot: &Snapshot) {
    if !matches!(by, GroupBy::Keys { name: Some(NameKey::Name), .. }) {
        return;
    }
    let mut names = HashMap::with_capacity(lines.len());
    let mut repeated = HashSet::new();
    for Line { label, group, .. } in &*lines {
        if *names.entry(label.as_str()).or_insert(group.name) != group.name && !repeated.contains(label) {
            repeated.insert(label.clone());
        }
    }
    if repeated.is_empty() {
        return;
    }
    for line in lines.iter_mut().filter(|line| line.group != SpanGroup::OTHERS && repeated.contains(&line.label)) {
        category_label(snapshot.names().get(line.group.name).category).clone_into(&mut line.category);
    }
}
