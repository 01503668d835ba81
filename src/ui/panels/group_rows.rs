//! The rows of the statistics table: one per group of spans, such as all spans of a name, with its sums and durations.

use std::sync::Arc;

use super::answer_state::SKETCH_ERROR;
use super::group_columns::{COLUMNS, GroupColumn, Number, PAIR_POINTS, QUANTILES, Shares};
use super::group_label::{group_label, group_word};
use super::group_lines::{GroupLine, GroupLines};
use super::number::{self, TableNumber};
use super::table::{Rows, TableCell};
use super::table_column::TableColumn;
use super::table_order::{OrderedRows, OrderedTable, TableSort};
use super::value_menu::PanelValue;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::base::units::duration_word;
use crate::export::SinkError;
use crate::export::group_table::group_columns;
use crate::export::values::{TableSource, TableValueWriter};
use crate::frame::lit::{Lit, LitNames, LitSpans, LitTracks};
use crate::model::{ProcessIdx, TrackIdx};
use crate::query::Snapshot;
use crate::query::group_choice::GroupChoice;
use crate::query::groups::{GroupBy, NameKey, OwnerKey, SpanGroup};
use crate::query::totals::{Totals, TotalsColumn};
use crate::scene::labels::shown;
use crate::ui::command::{AppCommand, Command};
use crate::ui::panel::Panel;
use crate::ui::widgets::tip_text::tip_text;

/// The rows of the table.
#[derive(Debug, Default)]
pub(super) struct GroupRows {
    lines: OrderedTable<GroupLines>,
    by: GroupBy,
    pub(super) chosen: Option<SpanGroup>,
    /// The chosen group and the generation of the rows, and its row among them.
    chosen_row: Option<((SpanGroup, u64), Option<u64>)>,
    /// Whether a filter or the key leaves spans out of the lines.
    omits_spans: bool,
}

impl GroupRows {
    /// Sets the lines; `omits_spans` is whether a filter or the key leaves spans out.
    pub(super) fn set_lines(&mut self, lines: Arc<GroupLines>, omits_spans: bool) {
        self.omits_spans = omits_spans;
        self.lines.set_data(lines);
        self.update();
    }

    /// Returns the lines to order in the background, and how.
    pub(super) fn take_request(&mut self) -> Option<(Arc<GroupLines>, TableSort)> {
        self.lines.take_request()
    }

    /// Shows lines that were ordered in the background.
    pub(super) fn set_ordered(&mut self, ordered: Arc<OrderedRows<GroupLines>>) {
        self.lines.set_ordered(ordered);
        self.update();
    }

    /// Returns whether all lines are shown in the requested order.
    pub(super) fn is_in_order(&self) -> bool {
        self.lines.is_in_order()
    }

    /// Drops the lines; the words and the order stay.
    pub(super) fn forget(&mut self) {
        self.chosen = None;
        self.lines.clear();
    }

    /// Records that the lines answer an earlier question. They stay until other lines are set.
    pub(super) fn expire(&mut self) {
        self.lines.expire();
    }

    /// Drops lines that answer an earlier question.
    pub(super) fn drop_expired(&mut self) {
        self.lines.drop_expired();
    }

    /// Returns whether there are lines of the last question, shown or not.
    pub(super) fn is_counted(&self) -> bool {
        self.lines.has_newest()
    }

    /// Returns whether the shown lines belong to the last question.
    pub(super) fn is_current(&self) -> bool {
        self.lines.is_current()
    }

    /// Returns the totals of the lines.
    #[must_use]
    pub(super) fn totals(&self) -> Option<&Totals> {
        self.lines.data().map(|lines| &**lines.totals())
    }

    /// Shows only groups whose label contains these words.
    pub(super) fn set_words(&mut self, words: &str) {
        self.lines.set_words(words);
    }

    /// Returns whether all rows in the table contain the words in their labels, not only in their categories.
    pub(super) fn have_words_in_names(&self) -> bool {
        self.lines.facts().is_none_or(|facts| !facts.has_words_in_category)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Returns whether no group has spans.
    pub(super) fn has_no_line(&self) -> bool {
        self.lines.data().is_none_or(|lines| lines.all().is_empty())
    }

    /// Returns whether a scope without spans has instants.
    pub(super) fn has_instants(&self) -> bool {
        self.lines.data().is_some_and(|lines| lines.has_instants())
    }

    /// Returns whether quantiles of a visible row come from a sketch.
    pub(super) fn has_sketched(&self) -> bool {
        self.lines.facts().is_some_and(|facts| facts.has_sketched)
    }

    pub(super) fn group(&self, row: u64) -> Option<SpanGroup> {
        self.line(row).map(|(_, line)| line.group)
    }

    /// Returns the row of a group. Reads all rows, so callers ask once per [`Self::generation`].
    pub(super) fn row_of(&self, group: SpanGroup) -> Option<u64> {
        (0..self.count()).find(|&row| self.group(row) == Some(group))
    }

    /// Returns the row of the chosen group. Reads all rows whenever they have changed.
    pub(super) fn chosen_row(&mut self) -> Option<u64> {
        let current = (self.chosen?, self.generation());
        match self.chosen_row {
            Some((known, row)) if known == current => row,
            Some(_) | None => {
                let row = self.row_of(current.0);
                self.chosen_row = Some((current, row));
                row
            }
        }
    }

    /// Returns the text of a group, as in its row if it has one.
    pub(super) fn title(&self, group: SpanGroup, snapshot: &Snapshot) -> String {
        let Some(lines) = self.lines.data() else { return String::new() };
        let text = lines.line_of(group).map(|line| lines.text(line));
        text.unwrap_or_else(|| group_label(lines.totals(), group, snapshot).0)
    }

    /// Returns a number that changes with the rows.
    pub(super) fn generation(&self) -> u64 {
        self.lines.generation()
    }

    /// Returns a group to narrow a scope by; `None` if that is impossible.
    #[must_use]
    pub(super) fn choice(&self, group: SpanGroup) -> Option<GroupChoice> {
        GroupChoice::from_totals(self.totals()?, group)
    }

    /// Returns the columns. Titles mark quantiles from sketches, and say which number the shares are of.
    #[must_use]
    pub(super) fn columns(&self) -> [TableColumn; COLUMNS.len()] {
        let mut columns = COLUMNS;
        let label = &mut columns[GroupColumn::Label.index()];
        label.title = group_word(&self.by).title;
        if self.by.is_pair() {
            label.width = PAIR_POINTS;
        }
        let share = &mut columns[GroupColumn::Share.index()];
        *share = self.shares().column(*share);
        if self.has_sketched() {
            for (quantile, title) in QUANTILES {
                columns[GroupColumn::Number(quantile).index()].title = title;
            }
        }
        columns
    }

    /// Returns the rows as shown, in nanoseconds, for a file; `None` if nothing is counted yet.
    #[must_use]
    pub(super) fn to_export(&self) -> Option<GroupExport> {
        Some(GroupExport(Arc::clone(self.lines.shown_rows().filter(|_| self.is_current())?)))
    }

    /// Returns the line that is shown in a row of the table.
    fn line(&self, row: u64) -> Option<(&GroupLines, GroupLine)> {
        let lines = self.lines.data()?;
        Some((lines, lines.all()[self.lines.row(row)?]))
    }

    fn number(&self, row: u64, number: TotalsColumn) -> Number {
        self.line(row).and_then(|(lines, line)| lines.numbers(line).number(number))
    }

    fn update(&mut self) {
        if let Some(totals) = self.totals() {
            self.by = totals.by().clone();
        }
    }

    /// Returns the number that shares refer to: the sorted column if it has a sum, else the total.
    fn shares(&self) -> Shares {
        let sorted = self.lines.sorted_by().map(|(column, _)| GroupColumn::at(column));
        let sorted = sorted.filter(|column| column.has_sum());
        Shares::of(sorted.and_then(GroupColumn::number).unwrap_or(TotalsColumn::Total), self.omits_spans)
    }

    fn cell_of(&self, column: usize, number: impl Fn(TotalsColumn) -> Number) -> TableCell<'_> {
        let shares = self.shares();
        let column = GroupColumn::at(column);
        let Some(value) = number(column.number().unwrap_or(shares.part)) else { return TableCell::Empty };
        let whole = || self.lines.data().map_or(0, |lines| lines.sums()[shares.whole as usize].unwrap_or(0));
        TableCell::Number(match column.number() {
            None => TableNumber::Share { part: value, whole: whole() },
            Some(_) if column.is_count() => TableNumber::Count(u64::try_from(value).unwrap_or(u64::MAX)),
            Some(_) => TableNumber::Duration(value),
        })
    }
}

impl Rows for GroupRows {
    fn count(&self) -> u64 {
        self.lines.count()
    }

    fn cell(&self, row: u64, column: usize) -> TableCell<'_> {
        let Some((lines, line)) = self.line(row) else { return TableCell::Empty };
        match GroupColumn::at(column) {
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
        let number = GroupColumn::at(column).number().and_then(|number| self.number(row, number));
        match (GroupColumn::at(column), self.cell(row, column)) {
            (GroupColumn::Label, _) if self.by == GroupBy::default() => PanelValue::from_name(&label, line.group.name),
            (GroupColumn::Label, _) => PanelValue { filter, ..PanelValue::new(label) },
            (GroupColumn::Number(TotalsColumn::Min | TotalsColumn::Max), TableCell::Number(shown)) => {
                let number = number.and_then(|number| u64::try_from(number).ok()).unwrap_or(0);
                let filter = filter.map(|filter| format!("dur={} {filter}", duration_word(number)));
                PanelValue { filter, ..PanelValue::new(shown.copied()) }
            }
            (_, TableCell::Number(number)) => PanelValue::new(number.copied()),
            (_, TableCell::Text(_) | TableCell::Empty) => PanelValue::default(),
        }
    }

    fn lit(&self, row: u64) -> Option<Lit> {
        let group = self.group(row)?;
        // The rest, and values of arguments, are not sets of names and tracks.
        let GroupBy::Keys { name, track } = self.by else { return None };
        if group == SpanGroup::OTHERS {
            return None;
        }
        let names = match name {
            Some(NameKey::Name) => LitNames::Name(group.name),
            Some(NameKey::Category) => {
                let (lines, _) = self.line(row)?;
                LitNames::Category(lines.snapshot().names().get(group.name).category.map(Into::into))
            }
            None => LitNames::All,
        };
        let tracks = match track {
            Some(OwnerKey::Thread) => LitTracks::Like(TrackIdx(group.owner)),
            Some(OwnerKey::Process) => LitTracks::Process(ProcessIdx(group.owner)),
            None => LitTracks::All,
        };
        Some(Lit::Spans(LitSpans { names, tracks }))
    }

    fn is_chosen(&self, row: u64) -> bool {
        self.chosen.is_some() && self.chosen == self.group(row)
    }

    fn bar(&self, row: u64, column: usize) -> Option<f64> {
        self.lines.sorted_by().filter(|(sorted, _)| *sorted == column)?;
        let number = GroupColumn::at(column).number()?;
        Some(number::fraction(self.number(row, number)?, self.lines.facts()?.largest))
    }

    fn total(&self, column: usize) -> Option<TableCell<'_>> {
        let facts = self.lines.facts().filter(|_| self.count() > 0)?;
        Some(match GroupColumn::at(column) {
            GroupColumn::Label => {
                let counted = group_word(&self.by).counted(self.count());
                let is_split = self.by == GroupBy::default() && facts.has_category;
                TableCell::Text(if is_split { format!("{counted} and categories") } else { counted }.into())
            }
            GroupColumn::Share if !self.shares().has_sum() => TableCell::Empty,
            GroupColumn::Share => self.cell_of(column, |number| facts.sums[number as usize]),
            sum if sum.has_sum() => self.cell_of(column, |number| facts.sums[number as usize]),
            GroupColumn::Number(_) => TableCell::Empty,
        })
    }

    fn more(&self, row: u64, column: usize) -> Option<String> {
        let (lines, line) = self.line(row)?;
        if let (true, TableCell::Number(number)) =
            (line.is_sketched && GroupColumn::at(column).is_quantile(), self.cell(row, column))
        {
            return Some(format!("{}\n{SKETCH_ERROR}", number.exact()));
        }
        let (label, more) = lines.label(line);
        let has_more = GroupColumn::at(column) == GroupColumn::Label && !more.is_empty();
        has_more.then(|| format!("{}\n{}", tip_text(&label), tip_text(&more)))
    }

    fn sort(&mut self, column: usize, ascending: bool) {
        self.lines.sort(column, ascending);
    }

    fn copies_all(&self) -> bool {
        true
    }

    fn csv(&self) -> Option<Command> {
        Some(Command::App(AppCommand::CopyTable(Panel::Statistics.into())))
    }
}

/// The rows for a file.
pub(super) struct GroupExport(Arc<OrderedRows<GroupLines>>);

impl TableSource for GroupExport {
    fn columns(&self) -> Vec<&'static str> {
        group_columns(self.0.data.totals().by())
    }

    fn rows(&self) -> u64 {
        self.0.rows.len() as u64
    }

    fn write(&self, table: &mut TableValueWriter<'_>, cancel: &Cancel, progress: &Progress) -> Result<(), SinkError> {
        let lines = &self.0.data;
        for &row in &self.0.rows {
            cancel.check()?;
            table.row(&lines.values(lines.all()[row as usize]))?;
            progress.advance(1);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::scope::Scope;
    use crate::query::totals::{GrowingTotals, add_up};

    /// Returns the rows of a trace whose `task` spans contain `read` spans, sorted by a column.
    fn nested_rows(sorted_by: TotalsColumn, omits_spans: bool) -> GroupRows {
        let nested = r#"[{"ph":"X","name":"task","pid":1,"tid":1,"ts":0,"dur":60},
            {"ph":"X","name":"read","pid":1,"tid":1,"ts":10,"dur":45},
            {"ph":"X","name":"task","pid":1,"tid":1,"ts":60,"dur":40}]"#;
        rows_of(nested, sorted_by, omits_spans)
    }

    fn rows_of(json: &str, sorted_by: TotalsColumn, omits_spans: bool) -> GroupRows {
        let snapshot = crate::scene::tests::snapshot(json);
        let growing = GrowingTotals::grouped(GroupBy::default());
        add_up(&snapshot, &Scope::default(), &growing, &Cancel::default(), &Progress::default()).unwrap();
        let lines = GroupLines::new(Arc::new(growing.so_far()), &snapshot, &Cancel::default()).unwrap();
        let mut rows = GroupRows::default();
        rows.set_lines(Arc::new(lines), omits_spans);
        rows.sort(GroupColumn::Number(sorted_by).index(), false);
        if let Some((lines, sort)) = rows.take_request() {
            rows.set_ordered(Arc::new(OrderedRows::new(lines, sort, &Cancel::default()).unwrap()));
        }
        rows
    }

    /// Returns the title of the share column, and the shares of each row and of the total row.
    fn shares(rows: &GroupRows) -> (&'static str, Vec<String>, Option<String>) {
        let share = GroupColumn::Share.index();
        let text = |cell: TableCell<'_>| match cell {
            TableCell::Number(number) => Some(number.text()),
            TableCell::Text(_) | TableCell::Empty => None,
        };
        let texts = (0..rows.count()).filter_map(|row| text(rows.cell(row, share))).collect();
        (rows.columns()[share].title, texts, rows.total(share).and_then(text))
    }

    #[test]
    fn shares_of_totals_are_parts_of_the_time_of_the_outermost_spans() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        for (sorted_by, omits_spans, title, rows, total) in [
            (TotalsColumn::Total, false, "Total share", ["100.0 %", "45.0 %"], None),
            (TotalsColumn::Max, false, "Total share", ["100.0 %", "45.0 %"], None),
            (TotalsColumn::Distinct, false, "Distinct share", ["100.0 %", "45.0 %"], None),
            (TotalsColumn::Own, false, "Self share", ["55.0 %", "45.0 %"], Some("100.0 %")),
            (TotalsColumn::Count, false, "Count share", ["66.7 %", "33.3 %"], Some("100.0 %")),
            (TotalsColumn::Total, true, "Total share", ["69.0 %", "31.0 %"], Some("100.0 %")),
        ] {
            let expected = (title, texts(&rows), total.map(str::to_owned));
            assert_eq!(shares(&nested_rows(sorted_by, omits_spans)), expected, "{sorted_by:?} {omits_spans}");
        }
    }

    #[test]
    fn a_group_has_the_text_of_its_row_with_the_category_and_its_label_without_a_row() {
        let rows = rows_of(
            r#"[{"ph":"X","name":"a","cat":"io","pid":1,"tid":1,"ts":0,"dur":9},
            {"ph":"X","name":"a","cat":"net","pid":1,"tid":1,"ts":20,"dur":5}]"#,
            TotalsColumn::Total,
            false,
        );
        let snapshot = rows.lines.data().unwrap().snapshot().clone();
        let titles = [0, 1].map(|row| rows.title(rows.group(row).unwrap(), &snapshot));
        assert_eq!(titles, ["a  ·  io", "a  ·  net"]);
        assert_eq!(rows.title(SpanGroup::from_name(crate::model::NameIdx::EMPTY), &snapshot), "[no name]");
    }

    #[test]
    fn the_chosen_row_is_that_of_its_group_in_any_order() {
        let mut rows = nested_rows(TotalsColumn::Total, false);
        rows.chosen = rows.group(0);
        assert_eq!(rows.chosen_row(), Some(0));
        rows.sort(GroupColumn::Number(TotalsColumn::Total).index(), true);
        if let Some((lines, sort)) = rows.take_request() {
            rows.set_ordered(Arc::new(OrderedRows::new(lines, sort, &Cancel::default()).unwrap()));
        }
        assert_eq!(rows.chosen_row(), Some(1));
    }

    #[test]
    fn overlapping_children_make_the_self_time_longer_than_the_outermost_span() {
        let overlapping = r#"[{"ph":"X","name":"task","pid":1,"tid":1,"ts":0,"dur":100},
            {"ph":"X","name":"first","pid":1,"tid":1,"ts":10,"dur":50},
            {"ph":"X","name":"second","pid":1,"tid":1,"ts":40,"dur":50}]"#;
        let (title, rows, _) = shares(&rows_of(overlapping, TotalsColumn::Total, false));
        // The self time of all is 130, so the task of 100 does not have all of it.
        assert_eq!((title, &*rows[0]), ("Total share", "76.9 %"));
    }
}
