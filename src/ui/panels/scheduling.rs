//! The scheduling tables of the scope: time running, runnable and waiting of threads, processes and CPUs. A click on a
//! thread or CPU shows its track, a click on a process its threads. Counting and sorting run in the background.

use std::sync::Arc;

use egui::Ui;

use super::answer_state::{Exactness, show_exactness};
use super::dock_panel::{DockPanel, PanelTools, PanelView};
use super::head::{StopTexts, close_button, show_query_state, show_title_in};
use super::panel_query::PanelQuery;
use super::scheduling_rows::{SchedulingRows, columns, first_sorted};
use super::scope_bar::part;
use super::table::{Rows as _, TABLE_ROW_POINTS, TableView};
use crate::base::csv::Cells;
use crate::export::values::TableSource;
use crate::model::ProcessIdx;
use crate::query::Snapshot;
use crate::query::scheduling::{ScheduledKind, ScheduledUnit};
use crate::scene::titles::process_title;
use crate::ui::command::{Command, TimelineCommand};
use crate::ui::command_line::PanelCommandLine;
use crate::ui::panel::Panel;
use crate::ui::questions::{PtrEq, Question, QuestionKind, SchedulingAnswer, SchedulingQuestion};
use crate::ui::selected_scope::SelectedScope;
use crate::ui::widgets::field;

/// The kinds with their title and the name of their saved layout, in the order of the enum.
const KINDS: [(ScheduledKind, &str, &str); 3] = [
    (ScheduledKind::Threads, "Threads", "scheduling of threads"),
    (ScheduledKind::Processes, "Processes", "scheduling of processes"),
    (ScheduledKind::Cpus, "CPUs", "scheduling of CPUs"),
];

/// Below this width the toolbar omits the scope.
const NARROW_POINTS: f32 = 620.0;

/// The scheduling tables and their queries.
#[derive(Debug)]
pub(crate) struct SchedulingPanel {
    kind: ScheduledKind,
    /// The last query, without the known scheduling that it was given.
    query: PanelQuery<SchedulingQuestion>,
    /// The scope of the answer, unless the trace has grown since.
    counted: Option<SelectedScope>,
    /// The scope of the answer.
    answered: Option<SelectedScope>,
    answer: Option<Arc<SchedulingAnswer>>,
    rows: SchedulingRows,
    tables: [TableView; 3],
    words: String,
    /// The process whose threads are shown; `None` for the threads of all processes.
    process: Option<ProcessIdx>,
}

impl Default for SchedulingPanel {
    fn default() -> Self {
        Self {
            kind: ScheduledKind::default(),
            query: PanelQuery::default(),
            counted: None,
            answered: None,
            answer: None,
            rows: SchedulingRows::default(),
            tables: KINDS.map(|(kind, _, table)| TableView::new(table, TABLE_ROW_POINTS, first_sorted(kind))),
            words: String::new(),
            process: None,
        }
    }
}

impl SchedulingPanel {
    pub(crate) fn set_answer(&mut self, answer: &Arc<SchedulingAnswer>, snapshot: &Snapshot) {
        self.counted = self.query.last().map(|question| question.scope.clone());
        self.answered.clone_from(&self.counted);
        self.query.end();
        self.rows.set_answer(answer, snapshot);
        self.answer = Some(Arc::clone(answer));
    }

    /// Returns a panel without an answer that shows the same table with the same filter and order.
    #[must_use]
    pub(crate) fn with_same_settings(&self) -> Self {
        let (kind, words, process) = (self.kind, self.words.clone(), self.process);
        Self { kind, words, process, rows: self.rows.with_same_order(), ..Self::default() }
    }

    fn ask(&mut self, scope: &SelectedScope) -> Option<Command> {
        let (sorted_by, words) = (self.rows.sorted_by(), self.words.to_lowercase());
        let (scope, kind, process) = (scope.clone(), self.kind, self.process);
        let question = SchedulingQuestion { scope, kind, sorted_by, words, process, known: None };
        if !self.query.begin(&question) {
            return None;
        }
        let known = self.answer.as_ref().filter(|_| self.counted.as_ref() == Some(&question.scope));
        let known = known.map(|answer| PtrEq(Arc::clone(&answer.scheduling)));
        let question = SchedulingQuestion { known, ..question };
        Some(Question::Scheduling(Box::new(question)).into())
    }

    fn show_head(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        let (theme, scope) = (view.context.theme, view.scope());
        let progress = self.query.progress((view.progress)(QuestionKind::Scheduling));
        let mut commands = Vec::new();
        ui.horizontal(|ui| {
            show_title_in(ui, "Scheduling", view, NARROW_POINTS, |spare| view.unfiltered_title(spare));
            for (kind, title, _) in KINDS {
                ui.selectable_value(&mut self.kind, kind, title);
            }
            field::add_table_filter(ui, &mut self.words, "Filter names", 130.0, theme.canvas);
            let process = self.process.filter(|_| self.kind == ScheduledKind::Threads);
            if let Some(process) = process.and_then(|process| view.snapshot().tracks().processes.get(process.index()))
                && part(ui, (&process_title(process), ""), "Show the threads of all processes", theme)
            {
                self.process = None;
            }
            let texts = StopTexts::COUNT;
            commands.extend(show_query_state(ui, Panel::Scheduling, &mut self.query, progress, texts, theme));
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                commands.extend(close_button(ui, Panel::Scheduling));
                if progress.is_none() && self.is_current(scope) {
                    show_exactness(ui, Exactness::Exact, view);
                }
            });
        });
        self.rows.set_kind(self.kind);
        commands
    }

    /// Returns the reason for an empty table, once the answer has arrived.
    fn absence(&self) -> Option<&'static str> {
        let answer = self.answer.as_ref().filter(|answer| answer.kind == self.kind)?;
        if !answer.scheduling.is_in_trace {
            return Some("This trace has no scheduling data: record sched_switch with ftrace, perf sched or Perfetto.");
        }
        if answer.scheduling.rows(self.kind).is_empty() {
            return Some(match self.kind {
                ScheduledKind::Cpus => "No CPU is in the scope: add the tracks of CPUs to it.",
                ScheduledKind::Threads | ScheduledKind::Processes => {
                    "No thread has a state here: extend the scope in time, or choose other tracks."
                }
            });
        }
        (self.rows.count() == 0).then_some("No name matches.")
    }

    fn choose(&mut self, unit: ScheduledUnit) -> Option<Command> {
        self.rows.chosen = Some(unit);
        match unit {
            ScheduledUnit::Thread(track) | ScheduledUnit::Cpu(track) => {
                Some(Command::Timeline(TimelineCommand::ShowTrack(track, None)))
            }
            ScheduledUnit::Process(process) => {
                (self.process, self.kind) = (Some(process), ScheduledKind::Threads);
                None
            }
        }
    }
}

impl DockPanel for SchedulingPanel {
    fn show(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        let mut commands = self.show_head(ui, view);
        let index = self.kind as usize;
        let look = view.context.table(KINDS[index].2, self.absence());
        let response = self.tables[index].show(ui, columns(self.kind), &mut self.rows, &look);
        commands.extend(response.commands);
        if let Some(unit) = response.clicked.and_then(|row| self.rows.unit(row)) {
            commands.extend(self.choose(unit));
        }
        // Runs after the table, which restores the saved sort order.
        commands.extend(self.ask(view.scope()));
        commands
    }

    fn tools(&self) -> PanelTools {
        PanelTools::ALL
    }

    fn is_current(&self, scope: &SelectedScope) -> bool {
        self.answered.as_ref() == Some(scope) && self.answer.as_ref().is_some_and(|answer| answer.kind == self.kind)
    }

    fn copied(&self, _snapshot: &Snapshot, cells: Cells) -> Option<String> {
        Some(self.tables[self.kind as usize].copied(columns(self.kind), &self.rows, cells))
    }

    fn to_export(&self, _snapshot: &Snapshot) -> Option<Box<dyn TableSource>> {
        Some(Box::new(self.rows.to_export()?))
    }

    fn command_line(&self) -> Option<PanelCommandLine> {
        let option = match self.kind {
            ScheduledKind::Threads => "--scheduling",
            ScheduledKind::Processes => "--scheduling=process",
            ScheduledKind::Cpus => "--scheduling=cpu",
        };
        let (options, omits_words) = (vec![option.to_owned()], !self.words.is_empty());
        Some(PanelCommandLine { options, omits_words, ..PanelCommandLine::new("stats") })
    }

    fn forget(&mut self) -> Option<Question> {
        self.query = PanelQuery::default();
        (self.counted, self.answered, self.answer) = (None, None, None);
        self.process = None;
        self.rows.clear();
        None
    }

    fn renew(&mut self) -> Option<Question> {
        // The answer lacks rows received since.
        self.counted = None;
        self.query.renew();
        None
    }

    fn stop(&mut self) -> &'static [QuestionKind] {
        self.fail(QuestionKind::Scheduling, "");
        &[QuestionKind::Scheduling]
    }

    fn fail(&mut self, _kind: QuestionKind, message: &str) {
        if !self.query.keeps_answer() {
            (self.counted, self.answered, self.answer) = (None, None, None);
            self.rows.clear();
        }
        self.query.fail(message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::scheduling::Scheduling;
    use crate::query::scheduling_order::SchedulingColumn;

    #[test]
    fn a_reopened_panel_has_the_table_filter_and_order_of_the_pinned_one_but_not_its_answer() {
        for (kind, ..) in KINDS {
            let process = Some(ProcessIdx(1));
            let mut panel = SchedulingPanel { kind, words: "main".to_owned(), process, ..SchedulingPanel::default() };
            panel.rows.set_kind(kind);
            panel.rows.sort(0, true);
            assert!(panel.ask(&SelectedScope::default()).is_some());
            let reopened = panel.with_same_settings();
            assert_eq!((reopened.kind, &*reopened.words, reopened.process), (kind, "main", process));
            assert_eq!((reopened.rows.sorted_by(), reopened.query.last()), (panel.rows.sorted_by(), None));
        }
    }

    /// Creates a panel with an answer about the threads of a scope.
    fn answered(scope: &SelectedScope) -> SchedulingPanel {
        let mut panel = SchedulingPanel::default();
        panel.ask(scope);
        let answer = SchedulingAnswer {
            scheduling: Arc::new(Scheduling::default()),
            kind: ScheduledKind::Threads,
            sorted_by: (SchedulingColumn::Name, true),
            order: Arc::default(),
            sum: None,
        };
        panel.set_answer(&Arc::new(answer), &crate::scene::tests::snapshot("[]"));
        assert!(panel.is_current(scope));
        panel
    }

    #[test]
    fn an_answer_about_threads_is_not_current_for_the_table_of_cpus() {
        let scope = SelectedScope::default();
        let mut panel = answered(&scope);
        panel.kind = ScheduledKind::Cpus;
        assert!(!panel.is_current(&scope));
    }

    #[test]
    fn an_answer_stays_after_a_failed_renewal_and_not_under_the_title_of_another_scope() {
        let scope = SelectedScope::default();
        let of_range = SelectedScope { range: Some((0, 5)), ..SelectedScope::default() };
        for (asked, stays) in [(&scope, true), (&of_range, false)] {
            let mut panel = answered(&scope);
            panel.renew();
            assert!(panel.ask(asked).is_some());
            panel.fail(QuestionKind::Scheduling, "The disk failed.");
            assert_eq!(panel.answer.is_some(), stays);
        }
    }
}
