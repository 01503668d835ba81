//! The call tree of the spans of a scope, a table of the statistics: which spans run within which, top down or
//! inverted, with their number, total and self time. A click on a name highlights it on the tracks.

use std::sync::Arc;

use egui::Ui;

use super::answer_state::{Exactness, show_exactness, show_folded, show_merged};
use super::dock_panel::PanelView;
use super::head::{StopTexts, close_button, show_order_state, show_query_state};
use super::no_spans::no_spans;
use super::number::TableNumber;
use super::panel_query::PanelQuery;
use super::sample_columns::{FIRST_SORTED_SPANS, span_columns};
use super::sample_lines::SampleLines;
use super::sample_rows::SampleRows;
use super::table::{TABLE_ROW_POINTS, TableView};
use super::table_order::OrderedRows;
use crate::base::csv::Cells;
use crate::base::progress::Progress;
use crate::export::values::TableSource;
use crate::query::Snapshot;
use crate::query::filter::name_word;
use crate::query::flame::{FlameShape, FlameView};
use crate::query::sample_table::SampleTable;
use crate::ui::command::{Command, PanelCommand};
use crate::ui::command_line::PanelCommandLine;
use crate::ui::panel::Panel;
use crate::ui::questions::{PathsOf, PathsQuestion, PtrEq, Question, QuestionKind};
use crate::ui::selected_scope::SelectedScope;
use crate::ui::widgets::field;

/// Name of the table in the saved layouts.
const TABLE: &str = "span calls";

/// The call tree and its query.
#[derive(Debug)]
pub(super) struct SpanCalls {
    is_inverted: bool,
    /// The scope and the direction of the tree.
    query: PanelQuery<(SelectedScope, bool)>,
    /// Whether the answer to the last query is in the table, and whether that query counts small paths too.
    is_answered: bool,
    is_exact: bool,
    /// The scope of the answered paths.
    counted: Option<SelectedScope>,
    answer: Option<Arc<SampleTable>>,
    rows: SampleRows,
    table: TableView,
    words: String,
    /// The message of a failed order of the rows.
    order_error: Option<String>,
}

impl Default for SpanCalls {
    fn default() -> Self {
        Self {
            is_inverted: false,
            query: PanelQuery::default(),
            is_answered: false,
            is_exact: false,
            counted: None,
            answer: None,
            rows: SampleRows::default(),
            table: TableView::new(TABLE, TABLE_ROW_POINTS, Some(FIRST_SORTED_SPANS)),
            words: String::new(),
            order_error: None,
        }
    }
}

impl SpanCalls {
    pub(super) fn set_answer(&mut self, answer: &Arc<SampleTable>, snapshot: &Snapshot) {
        self.counted = self.query.last().map(|(scope, _)| scope.clone());
        self.rows.set_table(answer, snapshot);
        (self.answer, self.is_answered) = (Some(Arc::clone(answer)), true);
        self.query.end();
    }

    /// Shows rows that were ordered in the background.
    pub(super) fn set_ordered(&mut self, ordered: Arc<OrderedRows<SampleLines>>) {
        self.rows.set_ordered(ordered);
    }

    /// Returns a tree without an answer that has the same direction and filter.
    #[must_use]
    pub(super) fn with_same_settings(&self) -> Self {
        let mut next = Self { is_inverted: self.is_inverted, words: self.words.clone(), ..Self::default() };
        next.rows.set_words(&next.words);
        next
    }

    /// Queries the tree of a scope unless it is answered, and then its small paths, if the answer lacks them.
    pub(super) fn ask(&mut self, scope: &SelectedScope) -> Option<Command> {
        let query = (scope.clone(), self.is_inverted);
        let begins = self.query.begin(&query);
        let is_pruned = self.answer.as_ref().is_some_and(|answer| !answer.paths.is_final());
        let lacks_paths = self.is_answered && is_pruned && !self.is_exact && self.query.stopped().is_none();
        if !begins && !lacks_paths {
            return None;
        }
        if begins && !self.query.keeps_answer() {
            self.rows.expire();
        }
        (self.is_answered, self.is_exact, self.order_error) = (false, !begins, None);
        let is_counted = begins && self.counted.as_ref() == Some(scope);
        let known = self.answer.as_ref().filter(|_| is_counted).map(|answer| PtrEq(Arc::clone(&answer.paths)));
        let shape = if self.is_inverted { FlameShape::Inverted } else { FlameShape::TopDown };
        let view = FlameView { shape, ..FlameView::default() };
        let of = PathsOf::Spans;
        let question = PathsQuestion { scope: scope.clone(), of, view, known, is_exact: self.is_exact };
        Some(Question::SpanCalls(Box::new(question)).into())
    }

    /// Shows the direction, the filter and the state of the answer, in the rest of the line.
    pub(super) fn show_tools(&mut self, ui: &mut Ui, view: &PanelView<'_>, commands: &mut Vec<Command>) {
        let theme = view.context.theme;
        let hint = "From the spans that take the time to the spans around them";
        ui.checkbox(&mut self.is_inverted, "Invert").on_hover_text(hint);
        let width = if ui.available_width() < 330.0 { 90.0 } else { 160.0 };
        if field::add_table_filter(ui, &mut self.words, "Filter names", width, theme.canvas) {
            self.rows.set_words(&self.words);
        }
        let begun = Progress::default();
        let progress = self.query.progress((view.progress)(QuestionKind::SpanCalls));
        // The query starts after this frame.
        let is_waiting = !self.rows.is_counted() && self.query.stopped().is_none();
        let progress = progress.or_else(|| is_waiting.then_some(&begun));
        let stopped = if self.is_exact { "stopped: small paths are merged" } else { "stopped: not counted" };
        let texts = StopTexts { stopped, repeat: "Count all" };
        commands.extend(show_query_state(ui, Panel::Statistics, &mut self.query, progress, texts, theme));
        if progress.is_none() && self.query.stopped().is_none() {
            show_order_state(ui, self.order_error.as_deref(), self.rows.is_in_order(), theme);
        }
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            commands.extend(close_button(ui, Panel::Statistics));
            let Some(answer) = self.answer.as_ref().filter(|_| self.is_current(view.scope())) else { return };
            let (folded, others) = answer.calls.as_ref().map(|calls| (calls.folded, calls.others)).unwrap_or_default();
            show_folded(ui, folded, theme);
            if !answer.paths.is_exact() {
                let (part, whole) = (others.weight.into(), answer.whole.weight.into());
                let text = format!("{} in merged paths", TableNumber::Share { part, whole }.text());
                show_merged(ui, &text, &answer.paths, "row", theme);
            } else if progress.is_none() && folded == 0 && self.query.stopped().is_none() {
                show_exactness(ui, Exactness::ExactPaths, view);
            }
        });
    }

    pub(super) fn show_table(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        let absence = self.absence(view, ui.ctx());
        let look = view.context.table(TABLE, absence.as_deref());
        let response = self.table.show(ui, span_columns(self.is_inverted), &mut self.rows, &look);
        let mut commands = response.commands;
        if let Some(row) = response.toggled {
            self.rows.toggle(row);
        }
        if let Some(row) = response.expanded {
            self.rows.expand_all(row);
        }
        if let Some(function) = response.clicked.and_then(|row| self.rows.function(row)) {
            commands.push(PanelCommand::Highlight(name_word(&function.name)).into());
            self.rows.chosen = Some(function);
        }
        // Runs after the table, which restores the saved sort order.
        let order = self.rows.take_request().map(|(lines, sort)| Question::OrderSpanCalls(PtrEq(lines), sort));
        commands.extend(order.map(Command::from));
        commands
    }

    /// Returns the reason for an empty table, once the answer has arrived.
    fn absence(&self, view: &PanelView<'_>, ctx: &egui::Context) -> Option<String> {
        let answer = self.answer.as_ref().filter(|_| self.rows.is_current())?;
        if answer.is_empty() {
            let has_instants = view.scope().is_whole() && view.snapshot().summary().instants > 0;
            return Some(no_spans(view, ctx, has_instants));
        }
        (self.rows.are_shown() && self.rows.is_empty()).then(|| "No name matches.".to_owned())
    }

    pub(super) fn is_current(&self, scope: &SelectedScope) -> bool {
        let is_asked = self.query.last().is_some_and(|query| *query == (scope.clone(), self.is_inverted));
        is_asked && self.rows.is_current()
    }

    pub(super) fn copied(&self, cells: Cells) -> String {
        self.table.copied(span_columns(self.is_inverted), &self.rows, cells)
    }

    pub(super) fn to_export(&self) -> Option<Box<dyn TableSource>> {
        Some(Box::new(self.rows.to_export()?))
    }

    /// Returns the command that prints the same paths, with their counts, totals and self times.
    pub(super) fn command_line(&self) -> PanelCommandLine {
        let mut options = vec!["--format".to_owned(), "json".to_owned()];
        options.extend(self.is_inverted.then(|| "--inverted".to_owned()));
        // Otherwise `flame` has the samples of such a trace.
        let has_samples_first = self.rows.snapshot().is_some_and(Snapshot::shows_samples_first);
        options.extend(has_samples_first.then(|| "--spans".to_owned()));
        PanelCommandLine { options, omits_words: !self.words.is_empty(), ..PanelCommandLine::new("flame") }
    }

    pub(super) fn forget(&mut self) {
        (self.query, self.is_answered, self.is_exact) = (PanelQuery::default(), false, false);
        (self.counted, self.answer, self.order_error) = (None, None, None);
        self.rows.clear();
    }

    pub(super) fn renew(&mut self) {
        // The answer lacks rows received since.
        self.counted = None;
        self.query.renew();
    }

    pub(super) fn stop(&mut self) -> &'static [QuestionKind] {
        self.fail(QuestionKind::SpanCalls, "");
        &[QuestionKind::SpanCalls]
    }

    pub(super) fn fail(&mut self, kind: QuestionKind, message: &str) {
        if kind == QuestionKind::SpanCalls {
            self.rows.drop_expired();
            self.query.fail(message);
        } else if !message.is_empty() {
            self.order_error = Some(message.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::cancel::Cancel;
    use crate::query::flame::FlamePicture;
    use crate::query::samples::SampleSum;
    use crate::query::stacks::CallPaths;

    /// Answers the query of the tree with paths that lack some. Returns whether it counts all, and knows paths.
    fn answer(calls: &mut SpanCalls, is_swept: bool) -> Option<(bool, bool)> {
        let snapshot = crate::scene::tests::snapshot(r#"[{"ph":"X","name":"f","pid":1,"tid":1,"ts":0,"dur":4}]"#);
        let command = calls.ask(&SelectedScope::default())?;
        let Command::Panel(PanelCommand::Ask(Question::SpanCalls(question))) = command else { panic!("{command:?}") };
        let missing = SampleSum { samples: 1, weight: 1 };
        let paths = Arc::new(CallPaths { missing, is_swept, ..CallPaths::default() });
        let picture = FlamePicture::new(&snapshot, &paths.tree, &question.view, &Cancel::default()).expect("a picture");
        let is_inverted = question.view.shape == FlameShape::Inverted;
        calls.set_answer(&Arc::new(SampleTable::from_spans(&snapshot, paths, picture, is_inverted)), &snapshot);
        Some((question.is_exact, question.known.is_some()))
    }

    #[test]
    fn small_paths_are_counted_once_for_both_directions() {
        let mut calls = SpanCalls::default();
        assert_eq!(answer(&mut calls, false), Some((false, false)), "the ledger");
        assert_eq!(answer(&mut calls, true), Some((true, false)), "the sweep");
        assert_eq!(answer(&mut calls, true), None);
        calls.is_inverted = true;
        assert_eq!(answer(&mut calls, true), Some((false, true)), "the other direction of the same paths");
        assert_eq!(answer(&mut calls, true), None);
        calls.renew();
        assert_eq!(answer(&mut calls, true), Some((false, false)), "the trace has grown");
    }

    #[test]
    fn a_stopped_count_of_small_paths_keeps_the_rows_and_begins_again_on_demand() {
        let (mut calls, scope) = (SpanCalls::default(), SelectedScope::default());
        answer(&mut calls, false);
        assert!(calls.ask(&scope).is_some(), "small paths");
        assert_eq!(calls.stop(), [QuestionKind::SpanCalls]);
        assert!(calls.is_current(&scope) && calls.ask(&scope).is_none());
        calls.query.repeat();
        assert_eq!(answer(&mut calls, false), Some((false, true)), "the paths that are known");
        assert_eq!(answer(&mut calls, true), Some((true, false)));
        // A failed query says why.
        calls.query.repeat();
        assert!(calls.ask(&scope).is_some());
        calls.fail(QuestionKind::SpanCalls, "it is damaged");
        assert_eq!(calls.query.stopped(), Some("it is damaged"));
    }

    #[test]
    fn a_reopened_tree_has_the_direction_and_the_filter_but_no_answer() {
        let mut calls = SpanCalls { is_inverted: true, words: "f".to_owned(), ..SpanCalls::default() };
        answer(&mut calls, true);
        let reopened = calls.with_same_settings();
        assert_eq!((reopened.is_inverted, &*reopened.words, reopened.answer.is_none()), (true, "f", true));
        assert_eq!(reopened.command_line(), calls.command_line());
    }
}
