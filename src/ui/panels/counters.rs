//! The counters panel: minimum, maximum, mean over time, change and rate of each counter in the scope. A click on a
//! counter shows its track.

use std::sync::Arc;

use egui::Ui;

use super::answer_state::{Exactness, show_exactness};
use super::counter_lines::{COLUMNS, CounterColumn, CounterLine, CounterLines};
use super::dock_panel::{DockPanel, PanelTools, PanelView};
use super::head::{StopTexts, close_button, show_order_state, show_query_state, show_title_in};
use super::number::TableNumber;
use super::panel_query::PanelQuery;
use super::table::{Rows, TABLE_ROW_POINTS, TableCell, TableView};
use super::table_order::{OrderedRows, OrderedTable, TableData as _};
use crate::base::csv::Cells;
use crate::export::counter_table::CounterTable;
use crate::export::values::TableSource;
use crate::model::TrackIdx;
use crate::query::Snapshot;
use crate::scene::labels::shown;
use crate::ui::command::{Command, TimelineCommand};
use crate::ui::command_line::PanelCommandLine;
use crate::ui::panel::Panel;
use crate::ui::questions::{PtrEq, Question, QuestionKind};
use crate::ui::selected_scope::SelectedScope;
use crate::ui::widgets::field;

/// The key of the table in the saved layouts.
const TABLE: &str = "counters";

/// Width below which the head of the panel lacks its scope, in points.
const NARROW_POINTS: f32 = 560.0;

/// The panel, with the counters of the queried scope.
#[derive(Debug)]
pub(crate) struct CountersPanel {
    query: PanelQuery<SelectedScope>,
    rows: CounterRows,
    table: TableView,
    words: String,
}

impl Default for CountersPanel {
    fn default() -> Self {
        Self {
            query: PanelQuery::default(),
            rows: CounterRows::default(),
            table: TableView::new(TABLE, TABLE_ROW_POINTS, None),
            words: String::new(),
        }
    }
}

impl CountersPanel {
    pub(crate) fn set_counters(&mut self, counters: Arc<CounterLines>) {
        self.query.end();
        self.rows.lines.set_data(counters);
    }

    /// Shows counters that were ordered in the background.
    pub(crate) fn set_ordered(&mut self, ordered: Arc<OrderedRows<CounterLines>>) {
        self.rows.lines.set_ordered(ordered);
    }

    /// Returns a panel without an answer that has the same filter.
    #[must_use]
    pub(crate) fn with_same_settings(&self) -> Self {
        let mut next = Self { words: self.words.clone(), ..Self::default() };
        next.rows.lines.set_words(&next.words);
        next
    }

    fn show_head(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        let (theme, scope) = (view.context.theme, view.scope());
        let progress = self.query.progress((view.progress)(QuestionKind::Counters));
        let mut commands = Vec::new();
        ui.horizontal(|ui| {
            show_title_in(ui, "Counters", view, NARROW_POINTS, |spare| view.unfiltered_title(spare));
            if field::add_table_filter(ui, &mut self.words, "Filter counters", 130.0, theme.canvas) {
                self.rows.lines.set_words(&self.words);
            }
            let texts = StopTexts::COUNT;
            commands.extend(show_query_state(ui, Panel::Counters, &mut self.query, progress, texts, theme));
            if progress.is_none() && self.query.stopped().is_none() {
                show_order_state(ui, None, self.rows.lines.is_in_order(), theme);
            }
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                commands.extend(close_button(ui, Panel::Counters));
                if progress.is_none() && self.is_current(scope) {
                    show_exactness(ui, Exactness::Exact, view);
                }
            });
        });
        commands
    }

    /// Returns the reason for an empty table, once the result has arrived.
    fn absence(&self, snapshot: &Snapshot) -> Option<&'static str> {
        let counters = self.rows.lines.data().filter(|_| self.rows.lines.is_current())?;
        let summary = snapshot.summary();
        if summary.counters == 0 {
            let has_spans = summary.spans > 0;
            let derived = "The trace has no counters. Tracks > Derive makes tracks of its spans.";
            return Some(if has_spans { derived } else { "The trace has no counters." });
        }
        if counters.count() == 0 {
            return Some("No counter has a value here: extend the scope in time, or choose other tracks.");
        }
        (self.rows.count() == 0).then_some("No counter matches.")
    }
}

impl DockPanel for CountersPanel {
    fn show(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        let scope = view.scope();
        let mut commands = self.show_head(ui, view);
        if self.query.begin(scope) {
            if !self.query.keeps_answer() {
                self.rows.lines.expire();
            }
            commands.push(Question::Counters(scope.clone()).into());
        }
        let look = view.context.table(TABLE, self.absence(view.snapshot()));
        let response = self.table.show(ui, &COLUMNS, &mut self.rows, &look);
        commands.extend(response.commands);
        if let Some(track) = response.clicked.and_then(|row| self.rows.line(row)).map(|line| line.stats.track) {
            self.rows.chosen = Some(track);
            commands.push(TimelineCommand::ShowTrack(track, None).into());
        }
        // Runs after the table, which restores the saved sort order.
        let order = self.rows.lines.take_request().map(|(lines, sort)| Question::OrderCounters(PtrEq(lines), sort));
        commands.extend(order.map(Command::from));
        commands
    }

    fn tools(&self) -> PanelTools {
        PanelTools::ALL
    }

    fn is_current(&self, scope: &SelectedScope) -> bool {
        self.query.last() == Some(scope) && self.rows.lines.is_current()
    }

    fn copied(&self, _snapshot: &Snapshot, cells: Cells) -> Option<String> {
        Some(self.table.copied(&COLUMNS, &self.rows, cells))
    }

    fn to_export(&self, _snapshot: &Snapshot) -> Option<Box<dyn TableSource>> {
        let shown = self.rows.lines.shown_rows()?;
        let counters = shown.rows.iter().map(|&row| *shown.data.line(row as usize).stats).collect();
        Some(Box::new(CounterTable { snapshot: shown.data.snapshot().clone(), counters: Arc::new(counters) }))
    }

    fn command_line(&self) -> Option<PanelCommandLine> {
        let (options, omits_words) = (vec!["--counters".to_owned()], !self.words.is_empty());
        Some(PanelCommandLine { options, omits_words, ..PanelCommandLine::new("stats") })
    }

    fn forget(&mut self) -> Option<Question> {
        self.query = PanelQuery::default();
        self.rows.lines.clear();
        None
    }

    fn renew(&mut self) -> Option<Question> {
        self.query.renew();
        None
    }

    fn stop(&mut self) -> &'static [QuestionKind] {
        self.fail(QuestionKind::Counters, "");
        &[QuestionKind::Counters]
    }

    fn fail(&mut self, kind: QuestionKind, message: &str) {
        if kind == QuestionKind::Counters {
            self.rows.lines.drop_expired();
        }
        self.query.fail(message);
    }
}

/// The rows of the table.
#[derive(Debug, Default)]
struct CounterRows {
    lines: OrderedTable<CounterLines>,
    chosen: Option<TrackIdx>,
}

impl CounterRows {
    fn line(&self, row: u64) -> Option<CounterLine<'_>> {
        Some(self.lines.data()?.line(self.lines.row(row)?))
    }
}

impl Rows for CounterRows {
    fn count(&self) -> u64 {
        self.lines.count()
    }

    fn cell(&self, row: u64, column: usize) -> TableCell<'_> {
        let Some(line) = self.line(row) else { return TableCell::Empty };
        let text = |text: &str| TableCell::Text(shown(text).into_owned().into());
        match CounterColumn::ALL[column] {
            CounterColumn::Name => text(&line.name()),
            CounterColumn::Process => text(&line.process()),
            CounterColumn::Unit => text(line.unit()),
            CounterColumn::Samples => TableCell::Number(TableNumber::Count(line.stats.samples)),
            number => {
                line.number(number).map_or(TableCell::Empty, |value| TableCell::Number(TableNumber::Value(value)))
            }
        }
    }

    fn spoken(&self, row: u64) -> String {
        let Some(line) = self.line(row) else { return String::new() };
        let text = |value| TableNumber::Value(value).text();
        let stats = line.stats;
        format!("{}, from {} to {}, mean {}", shown(&line.name()), text(stats.min), text(stats.max), text(stats.mean))
    }

    fn is_chosen(&self, row: u64) -> bool {
        self.chosen.is_some() && self.chosen == self.line(row).map(|line| line.stats.track)
    }

    fn sort(&mut self, column: usize, ascending: bool) {
        self.lines.sort(column, ascending);
    }

    fn copies_all(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::cancel::Cancel;
    use crate::base::progress::Progress;
    use crate::query::counters::counters;
    use crate::query::scope::Scope;

    #[test]
    fn a_reopened_panel_has_the_filter_of_the_pinned_one_but_not_its_answer() {
        let snapshot = crate::scene::tests::snapshot(
            r#"[{"ph":"C","name":"queue","pid":1,"ts":10,"args":{"length":3}},
            {"ph":"C","name":"heap","pid":1,"ts":10,"args":{"bytes":5}}]"#,
        );
        let found = counters(&snapshot, &Scope::default(), &Cancel::default(), &Progress::default()).unwrap();
        let lines = Arc::new(CounterLines::new(&snapshot, found));
        let mut panel = CountersPanel { words: "queue".to_owned(), ..CountersPanel::default() };
        panel.set_counters(Arc::clone(&lines));
        let mut reopened = panel.with_same_settings();
        assert_eq!((&*reopened.words, reopened.rows.count(), reopened.query.last()), ("queue", 0, None));
        reopened.set_counters(lines);
        assert_eq!(reopened.rows.count(), 1);
    }
}
