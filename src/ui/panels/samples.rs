//! The samples of the scope by function, module, thread or event, self and total with recursion counted once, or as a
//! call tree. A click on a function highlights it on the tracks, and shows its callers and callees beside a table.

use std::sync::Arc;

use egui::{RichText, ScrollArea, Ui};

use super::answer_state::{Exactness, show_exactness, show_folded};
use super::dock_panel::{DockPanel, PanelTools, PanelView};
use super::flame::{Sandwich, SandwichResponse};
use super::head::{StopTexts, close_button, show_events, show_order_state, show_query_state, show_title_in};
use super::panel_query::PanelQuery;
use super::sample_columns::{FIRST_SORTED, FIRST_SORTED_CALLS, columns};
use super::sample_lines::SampleLines;
use super::sample_rows::SampleRows;
use super::table::{Rows, TABLE_ROW_POINTS, TableView};
use super::table_order::OrderedRows;
use crate::base::csv::Cells;
use crate::export::values::TableSource;
use crate::query::Snapshot;
use crate::query::filter::name_word;
use crate::query::flame::{FlameShape, FlameView, FunctionKey};
use crate::query::sample_table::{SampleBy, SampleGroup, SampleTable};
use crate::query::samples::SampleEvent;
use crate::scene::labels::shown;
use crate::ui::command::{Command, PanelCommand, TimelineCommand};
use crate::ui::command_line::PanelCommandLine;
use crate::ui::panel::Panel;
use crate::ui::questions::{
    FlameAnswer, PathsOf, PathsQuestion, PtrEq, Question, QuestionKind, SampleQuestion, SampledFunction,
};
use crate::ui::selected_scope::SelectedScope;
use crate::ui::widgets::field;
use crate::ui::widgets::reading_order::on_screen;

/// Names of the tables in the saved layouts.
const TABLE: &str = "samples";
const CALL_TABLE: &str = "calls";

/// Below this width the toolbar is reduced, and the selected function is not shown beside the table.
const NARROW_POINTS: f32 = 760.0;

/// Share of the width for the table beside the selected function.
const TABLE_PART: f32 = 0.58;

/// Groupings of samples, with their titles.
const BY: [(SampleBy, &str); 5] = [
    (SampleBy::Function, "By function"),
    (SampleBy::Module, "By module"),
    (SampleBy::Thread, "By thread"),
    (SampleBy::Event, "By event"),
    (SampleBy::CallTree, "Call tree"),
];

/// The sample table, and the callers and callees of the selected function.
#[derive(Debug)]
pub(crate) struct SamplesPanel {
    by: SampleBy,
    /// The event chosen by the user; `None` for the default.
    event: Option<SampleEvent>,
    /// The last query, without the known paths that it was given.
    query: PanelQuery<SampleQuestion>,
    /// The scope and the event of the answered paths.
    counted: Option<(SelectedScope, Option<SampleEvent>)>,
    answer: Option<Arc<SampleTable>>,
    rows: SampleRows,
    table: TableView,
    /// The table of a call tree.
    call_table: TableView,
    words: String,
    /// The message of a failed order of the rows.
    order_error: Option<String>,
    /// The selected function, and whether its callers and callees were queried.
    chosen: Option<(FunctionKey, bool)>,
    sandwich: Sandwich,
}

impl Default for SamplesPanel {
    fn default() -> Self {
        Self {
            by: SampleBy::default(),
            event: None,
            query: PanelQuery::default(),
            counted: None,
            answer: None,
            rows: SampleRows::default(),
            table: TableView::new(TABLE, TABLE_ROW_POINTS, Some(FIRST_SORTED)),
            call_table: TableView::new(CALL_TABLE, TABLE_ROW_POINTS, Some(FIRST_SORTED_CALLS)),
            words: String::new(),
            order_error: None,
            chosen: None,
            sandwich: Sandwich::default(),
        }
    }
}

impl SamplesPanel {
    pub(crate) fn set_answer(&mut self, answer: &Arc<SampleTable>, snapshot: &Snapshot) {
        self.counted = self.query.last().map(|question| (question.scope.clone(), question.event.clone()));
        self.rows.set_table(answer, snapshot);
        self.answer = Some(Arc::clone(answer));
        self.query.end();
        if let Some((_, is_asked)) = &mut self.chosen {
            *is_asked = false;
        }
    }

    /// Shows rows that were ordered in the background.
    pub(crate) fn set_ordered(&mut self, ordered: Arc<OrderedRows<SampleLines>>) {
        self.rows.set_ordered(ordered);
    }

    /// Sets the callers and callees of the selected function.
    pub(crate) fn set_sandwich(&mut self, answer: Arc<FlameAnswer>) {
        self.sandwich.set_answer(answer);
    }

    /// Returns a panel without an answer that has the same event, grouping, filter and selected function.
    #[must_use]
    pub(crate) fn with_same_settings(&self) -> Self {
        let chosen = self.chosen.as_ref().map(|(function, _)| (function.clone(), false));
        let (event, words) = (self.event.clone(), self.words.clone());
        let mut next = Self { by: self.by, event, words, chosen, ..Self::default() };
        next.rows.chosen.clone_from(&self.rows.chosen);
        next.rows.set_words(&next.words);
        next
    }

    fn choose(&mut self, function: FunctionKey, commands: &mut Vec<Command>) {
        commands.push(PanelCommand::Highlight(name_word(&function.name)).into());
        self.rows.chosen = Some(function.clone());
        self.chosen = Some((function, false));
    }

    fn ask(&mut self, scope: &SelectedScope) -> Option<Command> {
        let question = SampleQuestion { scope: scope.clone(), event: self.event.clone(), by: self.by, known: None };
        if !self.query.begin(&question) {
            return None;
        }
        let is_counted = self.counted.as_ref().is_some_and(|(known, event)| (known, event) == (scope, &self.event));
        let known = self.answer.as_ref().filter(|_| is_counted).map(|answer| PtrEq(Arc::clone(&answer.paths)));
        self.order_error = None;
        if !self.query.keeps_answer() {
            self.rows.expire();
        }
        Some(Question::Samples(Box::new(SampleQuestion { known, ..question })).into())
    }

    /// Queries the callers and callees of the selected function, once the samples are counted.
    fn ask_sandwich(&mut self) -> Option<Command> {
        let ((function, is_asked), answer, question) =
            (self.chosen.as_mut()?, self.answer.as_ref()?, self.query.last()?);
        if std::mem::replace(is_asked, true) {
            return None;
        }
        self.sandwich.begin(function);
        let view = FlameView { shape: FlameShape::Sandwich(function.clone()), ..FlameView::default() };
        let known = Some(PtrEq(Arc::clone(&answer.paths)));
        let of = PathsOf::Samples(self.event.clone());
        let question = PathsQuestion { scope: question.scope.clone(), of, view, known, is_exact: false };
        Some(Question::Sandwich(Box::new(question)).into())
    }

    fn show_head(&mut self, ui: &mut Ui, view: &PanelView<'_>, commands: &mut Vec<Command>) {
        let (theme, scope) = (view.context.theme, view.scope());
        let progress = self.query.progress((view.progress)(QuestionKind::Samples));
        show_title_in(ui, "Samples", view, NARROW_POINTS, |spare| view.scope_title(spare));
        for (by, title) in BY {
            let is_chosen = self.by == by || by.is_call_tree() && self.by.is_call_tree();
            if ui.selectable_label(is_chosen, title).on_hover_text("Group samples by").clicked() && !is_chosen {
                self.set_by(by);
            }
        }
        if self.by.is_call_tree() {
            let mut is_inverted = self.by == SampleBy::InvertedCallTree;
            let hint = "From the functions that ran to their callers";
            if ui.checkbox(&mut is_inverted, "Invert").on_hover_text(hint).changed() {
                self.set_by(if is_inverted { SampleBy::InvertedCallTree } else { SampleBy::CallTree });
            }
        }
        if let Some(answer) = self.answer.as_ref().filter(|_| self.by != SampleBy::Event) {
            show_events(ui, &answer.paths, &mut self.event);
        }
        let width = if ui.available_width() < 330.0 { 90.0 } else { 140.0 };
        if field::add_table_filter(ui, &mut self.words, "Filter names", width, theme.canvas) {
            self.rows.set_words(&self.words);
        }
        commands.extend(show_query_state(ui, Panel::Samples, &mut self.query, progress, StopTexts::COUNT, theme));
        let is_stopped = self.query.stopped().is_some();
        if progress.is_none() && !is_stopped {
            show_order_state(ui, self.order_error.as_deref(), self.rows.is_in_order(), theme);
        }
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            commands.extend(close_button(ui, Panel::Samples));
            let folded = self.answer.as_ref().and_then(|answer| Some(answer.calls.as_ref()?.folded)).unwrap_or(0);
            show_folded(ui, folded, theme);
            if progress.is_none() && self.is_current(scope) && !is_stopped && folded == 0 {
                show_exactness(ui, Exactness::Exact, view);
            }
        });
    }

    /// Changes the grouping, and sorts the rows in the order of its table.
    fn set_by(&mut self, by: SampleBy) {
        self.by = by;
        if let Some((column, ascending)) = self.table_mut().sorting() {
            self.rows.sort(column, ascending);
        }
    }

    fn table_mut(&mut self) -> &mut TableView {
        if self.by.is_call_tree() { &mut self.call_table } else { &mut self.table }
    }

    /// Returns the reason for an empty table, once the answer has arrived.
    fn absence(&self, view: &PanelView<'_>) -> Option<&'static str> {
        let answer = self.answer.as_ref().filter(|_| self.rows.is_current())?;
        let summary = view.snapshot().summary();
        if summary.samples == 0 && summary.spans == 0 {
            return Some("This trace has no samples.");
        }
        if summary.samples == 0 {
            return Some("This trace has no samples. The flame graph and the statistics show its spans.");
        }
        if answer.is_empty() {
            return Some("No samples here: extend the scope in time, or choose other tracks.");
        }
        (self.rows.are_shown() && self.rows.is_empty()).then_some("No name matches.")
    }

    fn show_table(&mut self, ui: &mut Ui, view: &PanelView<'_>, commands: &mut Vec<Command>) {
        let is_call_tree = self.by.is_call_tree();
        let look = view.context.table(if is_call_tree { CALL_TABLE } else { TABLE }, self.absence(view));
        let table = if is_call_tree { &mut self.call_table } else { &mut self.table };
        let response = table.show(ui, columns(self.by), &mut self.rows, &look);
        commands.extend(response.commands);
        if let Some(row) = response.toggled {
            self.rows.toggle(row);
        }
        if let Some(row) = response.expanded {
            self.rows.expand_all(row);
        }
        let Some(clicked) = response.clicked else { return };
        match self.rows.key(clicked) {
            SampleGroup::Function(_) => {
                if let Some(function) = self.rows.function(clicked) {
                    self.choose(function, commands);
                }
            }
            SampleGroup::Thread(track) => commands.push(TimelineCommand::ShowTrack(track, None).into()),
            SampleGroup::Event(event) => {
                let paths = self.answer.as_ref().map(|answer| &answer.paths);
                self.event = paths.and_then(|paths| paths.events.get(event)).cloned();
                self.set_by(SampleBy::Function);
            }
            SampleGroup::Module(function) => {
                // Shows the functions of a module: its name goes into the field, which also matches modules.
                if let Some(words) = self.rows.module_words(clicked, function) {
                    self.words = words;
                    self.rows.set_words(&self.words);
                    self.set_by(SampleBy::Function);
                }
            }
        }
    }

    /// Returns the command that prints the paths of the call tree.
    fn flame_command(&self) -> PanelCommandLine {
        let paths = self.answer.as_ref().map(|answer| &answer.paths);
        let event = paths.and_then(|paths| paths.events.get(paths.event?));
        let mut options = vec!["--samples".to_owned()];
        options.extend((self.by == SampleBy::InvertedCallTree).then(|| "--inverted".to_owned()));
        options.extend(event.into_iter().flat_map(|event| ["--event".to_owned(), event.title()]));
        PanelCommandLine { options, omits_words: !self.words.is_empty(), ..PanelCommandLine::new("flame") }
    }

    fn show_sandwich(&mut self, ui: &mut Ui, view: &PanelView<'_>, commands: &mut Vec<Command>) {
        let Some((function, _)) = self.chosen.clone() else { return };
        ui.horizontal(|ui| {
            if ui.small_button("Flame graph").on_hover_text("The same in the flame graph").clicked() {
                let function = SampledFunction { key: function.clone(), event: self.event.clone() };
                commands.push(PanelCommand::Callers(Box::new(function)).into());
            }
            let name = on_screen(&shown(&function.name)).into_owned();
            ui.add(egui::Label::new(RichText::new(name).strong()).truncate());
        });
        ScrollArea::vertical().id_salt("sandwich").auto_shrink(false).show(ui, |ui| {
            match self.sandwich.show(ui, view, &function) {
                SandwichResponse::Chosen(function) => self.choose(function, commands),
                SandwichResponse::Nothing => {}
            }
        });
    }
}

impl DockPanel for SamplesPanel {
    fn show(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        let mut commands = Vec::new();
        ui.horizontal(|ui| self.show_head(ui, view, &mut commands));
        commands.extend(self.ask(view.scope()));
        let rect = ui.available_rect_before_wrap();
        let has_chosen = self.chosen.is_some() && self.by == SampleBy::Function && rect.width() > NARROW_POINTS;
        if has_chosen {
            commands.extend(self.ask_sandwich());
        }
        let table = if has_chosen { rect.with_max_x(rect.left() + rect.width() * TABLE_PART) } else { rect };
        ui.scope_builder(egui::UiBuilder::new().max_rect(table), |ui| self.show_table(ui, view, &mut commands));
        // Runs after the table, which restores the saved sort order.
        let order = self.rows.take_request().map(|(lines, sort)| Question::OrderSamples(PtrEq(lines), sort));
        commands.extend(order.map(Command::from));
        if has_chosen {
            let beside = rect.with_min_x(table.right() + 14.0);
            ui.scope_builder(egui::UiBuilder::new().max_rect(beside), |ui| self.show_sandwich(ui, view, &mut commands));
        }
        commands
    }

    fn tools(&self) -> PanelTools {
        PanelTools::ALL
    }

    fn is_current(&self, scope: &SelectedScope) -> bool {
        self.query.last().is_some_and(|question| question.scope == *scope) && self.rows.is_current()
    }

    fn copied(&self, _snapshot: &Snapshot, cells: Cells) -> Option<String> {
        let table = if self.by.is_call_tree() { &self.call_table } else { &self.table };
        Some(table.copied(columns(self.by), &self.rows, cells))
    }

    fn to_export(&self, _snapshot: &Snapshot) -> Option<Box<dyn TableSource>> {
        Some(Box::new(self.rows.to_export()?))
    }

    fn command_line(&self) -> Option<PanelCommandLine> {
        let by = match self.by {
            SampleBy::Function => "=function-module",
            SampleBy::Module => "=module",
            SampleBy::Thread => "=thread",
            SampleBy::Event => "=event",
            SampleBy::CallTree | SampleBy::InvertedCallTree => return Some(self.flame_command()),
        };
        let mut options = vec![format!("--samples{by}")];
        // The command line searches names of functions and modules only. It prints all rows if some are shown because
        // of their modules, and all threads, whose names it searches differently.
        let is_searched = matches!(self.by, SampleBy::Function | SampleBy::Module) && self.rows.have_words_in_names();
        let omits_words = !self.words.is_empty() && !is_searched;
        if !self.words.is_empty() && !omits_words {
            options.extend(["--name".to_owned(), format!("(?i){}", regex::escape(&self.words))]);
        }
        Some(PanelCommandLine { options, omits_words, ..PanelCommandLine::new("stats") })
    }

    fn forget(&mut self) -> Option<Question> {
        (self.query, self.counted, self.answer, self.order_error) = (PanelQuery::default(), None, None, None);
        self.rows.clear();
        self.sandwich = Sandwich::default();
        if let Some((_, is_asked)) = &mut self.chosen {
            *is_asked = false;
        }
        None
    }

    fn renew(&mut self) -> Option<Question> {
        // The answer lacks rows received since.
        self.counted = None;
        self.query.renew();
        None
    }

    fn stop(&mut self) -> &'static [QuestionKind] {
        self.fail(QuestionKind::Samples, "");
        &[QuestionKind::Samples]
    }

    fn fail(&mut self, kind: QuestionKind, message: &str) {
        match kind {
            QuestionKind::Samples => {
                self.rows.drop_expired();
                self.query.fail(message);
            }
            QuestionKind::OrderSamples if !message.is_empty() => self.order_error = Some(message.to_owned()),
            QuestionKind::Sandwich => self.sandwich.fail(message),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reopened_panel_has_the_grouping_event_and_filter_of_the_pinned_one_but_not_its_answer() {
        let event = Some(SampleEvent { name: "faults".into(), unit: "count".into() });
        for by in BY.map(|(by, _)| by).into_iter().chain([SampleBy::InvertedCallTree]) {
            let mut panel =
                SamplesPanel { by, event: event.clone(), words: "main".to_owned(), ..SamplesPanel::default() };
            let function = FunctionKey { name: "f".into(), module: None };
            panel.choose(function.clone(), &mut Vec::new());
            assert!(panel.ask(&SelectedScope::default()).is_some());
            let reopened = panel.with_same_settings();
            assert_eq!((reopened.by, &reopened.event, &*reopened.words), (by, &event, "main"));
            assert_eq!(reopened.chosen, Some((function, false)));
            assert!(reopened.query.last().is_none());
        }
    }

    #[test]
    fn a_stopped_query_is_not_stopped_in_another_trace() {
        let mut panel = SamplesPanel::default();
        assert!(panel.ask(&SelectedScope::default()).is_some());
        assert_eq!(panel.stop(), [QuestionKind::Samples]);
        assert!(panel.query.stopped().is_some());
        panel.forget();
        assert_eq!(panel.query.stopped(), None, "the first frame would show that it was stopped");
    }
}
