//! The panels that ask questions: search, statistics, flame graph. Shows them beside the timeline, has their questions
//! answered, and keeps the filter of the search on the picture.

use egui::Ui;

use super::analysis::Analysis;
use crate::app::event::{TabWake, TaskError, TaskId};
use crate::base::csv::Cells;
use crate::base::time::grouped_digits;
use crate::query::Snapshot;
use crate::store::lane::RowIdx;
use crate::ui::command::{Command, Panel, PanelCommand};
use crate::ui::panels::PanelContext;
use crate::ui::panels::details::DetailsPanel;
use crate::ui::panels::dock::{Dock, DockHead, DockTab};
use crate::ui::panels::flame::FlamePanel;
use crate::ui::panels::scope_bar::{SCOPE_BAR_POINTS, ScopeBar};
use crate::ui::panels::search::SearchPanel;
use crate::ui::panels::statistics::StatisticsPanel;
use crate::ui::questions::{Answer, Question, QuestionKind};
use crate::ui::timeline::state::Timeline;

/// The panels of a tab and the questions they wait for.
#[derive(Default)]
pub(super) struct Panels {
    analysis: Analysis,
    asked: u64,
    search: SearchPanel,
    statistics: StatisticsPanel,
    flame: FlamePanel,
    scope_bar: ScopeBar,
    dock: Dock,
    /// Those of the last frame.
    open_tabs: Vec<DockTab>,
    /// Whether the last frame had room for details beside the hits.
    shows_beside: bool,
}

impl Panels {
    /// Forgets all answers: another capture, or more of it, is open.
    pub(super) fn forget(&mut self, snapshot: &Snapshot, wake: &TabWake) {
        self.analysis = Analysis::default();
        self.statistics.forget();
        self.flame.forget();
        self.scope_bar.forget();
        if let Some(question) = self.search.forget() {
            self.ask(question, snapshot, wake);
        }
    }

    /// Shows the search bar and the dock around the timeline, which the caller shows next. `details` are those of the
    /// selected span, while their panel is open.
    pub(super) fn show(
        &mut self,
        ui: &mut Ui,
        frame: egui::Frame,
        (timeline, details): (&Timeline, Option<&DetailsPanel>),
        context: PanelContext<'_>,
    ) -> Vec<Command> {
        let mut commands = Vec::new();
        if self.search.is_open() {
            let bar = frame.inner_margin(egui::Margin::symmetric(10, 4));
            let progress = self.analysis.progress(QuestionKind::Search);
            egui::Panel::top("search").exact_size(34.0).frame(bar).show(ui, |ui| {
                commands.extend(self.search.show_bar(ui, place_of(timeline), progress, context.theme));
            });
        }
        let heads = self.heads(details.is_some());
        self.open_tabs = heads.iter().map(|head| head.tab).collect();
        let mut dock = std::mem::take(&mut self.dock);
        let bar = frame.inner_margin(egui::Margin::symmetric(12, 2));
        // A dock in full has all of the room that is left.
        if dock.is_full() {
            commands.extend(self.show_scope(ui, bar, timeline, context));
        }
        let look = (frame.inner_margin(egui::Margin::symmetric(12, 6)), context.theme);
        let mut shown = Vec::new();
        commands.extend(dock.show(ui, look, &heads, context.dock_points, |ui, tab| {
            shown.extend(self.show_tab(ui, tab, (timeline, details), context));
        }));
        commands.extend(shown);
        if !dock.is_full() {
            commands.extend(self.show_scope(ui, bar, timeline, context));
        }
        self.dock = dock;
        if self.analysis.is_busy() {
            // Ten times a second: what is counted so far, and how far it is.
            ui.ctx().request_repaint_after(std::time::Duration::from_millis(100));
        }
        commands
    }

    /// The scope bar, where something is selected.
    fn show_scope(
        &mut self,
        ui: &mut Ui,
        frame: egui::Frame,
        timeline: &Timeline,
        context: PanelContext<'_>,
    ) -> Vec<Command> {
        let scope = timeline.scope();
        if scope.is_whole() {
            return Vec::new();
        }
        let panel = egui::Panel::bottom("scope").resizable(false).exact_size(SCOPE_BAR_POINTS).frame(frame);
        panel.show(ui, |ui| self.scope_bar.show(ui, timeline.snapshot(), scope, context.theme)).inner
    }

    /// The tabs of the panels that are open.
    fn heads(&self, has_details: bool) -> Vec<DockHead> {
        let is_open = |tab: DockTab| match tab {
            DockTab::Details => has_details,
            DockTab::Statistics => self.statistics.is_open(),
            DockTab::Flame => self.flame.is_open(),
            DockTab::Search => self.search.is_open(),
        };
        let count = |tab: DockTab| match (tab, self.search.hits()) {
            (DockTab::Search, Some(hits)) => grouped_digits(hits.total()),
            _ => String::new(),
        };
        let open = DockTab::ALL.into_iter().filter(|tab| is_open(*tab));
        open.map(|tab| DockHead { tab, count: count(tab) }).collect()
    }

    fn show_tab(
        &mut self,
        ui: &mut Ui,
        tab: DockTab,
        (timeline, details): (&Timeline, Option<&DetailsPanel>),
        context: PanelContext<'_>,
    ) -> Vec<Command> {
        let (snapshot, scope, theme) = (timeline.snapshot(), timeline.scope(), context.theme);
        match tab {
            DockTab::Details => details.map(|details| details.show(ui, theme)).unwrap_or_default(),
            DockTab::Statistics => {
                if let Some(totals) = self.analysis.totals_so_far() {
                    self.statistics.take_totals(totals, snapshot);
                }
                let progress = self.analysis.progress(QuestionKind::Totals);
                self.statistics.show(ui, snapshot, scope, progress, context)
            }
            DockTab::Flame => {
                let progress = self.analysis.progress(QuestionKind::Paths);
                self.flame.show(ui, snapshot, scope, progress, (theme, timeline.palette()))
            }
            DockTab::Search => self.show_hits(ui, snapshot, details, context),
        }
    }

    /// The hits, and beside them the details of the one that was gone to, where there is room.
    fn show_hits(
        &mut self,
        ui: &mut Ui,
        snapshot: &Snapshot,
        details: Option<&DetailsPanel>,
        context: PanelContext<'_>,
    ) -> Vec<Command> {
        let is_counting = self.analysis.progress(QuestionKind::Search).is_some();
        let absence = if is_counting { None } else { self.search.absence() };
        let place = ui.available_rect_before_wrap();
        self.shows_beside = place.width() > BESIDE_POINTS;
        let Some(details) = details.filter(|_| self.shows_beside) else {
            return self.search.show_list(ui, snapshot, absence, context);
        };
        let mut commands = Vec::new();
        let list = place.with_max_x(place.left() + place.width() * 0.45);
        ui.scope_builder(egui::UiBuilder::new().max_rect(list), |ui| {
            commands.extend(self.search.show_list(ui, snapshot, absence, context));
        });
        let beside = place.with_min_x(list.right() + 14.0);
        ui.scope_builder(egui::UiBuilder::new().max_rect(beside), |ui| {
            commands.extend(details.show(ui, context.theme));
        });
        commands
    }

    /// Whether the panels have all of the room, and the timeline none.
    #[must_use]
    pub(super) fn is_full(&self) -> bool {
        self.dock.is_full()
    }

    /// Gives the timeline its room again; says whether it had none.
    pub(super) fn leave_full(&mut self) -> bool {
        self.dock.leave_full()
    }

    /// Whether the key of a panel closes it: it does if the panel is shown, and else brings the panel to the front.
    fn closes(&self, tab: DockTab) -> bool {
        self.dock.active(&self.open_tabs) == Some(tab)
    }

    /// Whether details are wanted after their command.
    pub(super) fn toggle_details(&mut self, are_wanted: bool) -> bool {
        let is_behind = self.open_tabs.contains(&DockTab::Details) && !self.closes(DockTab::Details);
        self.dock.activate(DockTab::Details);
        !are_wanted || is_behind
    }

    /// A span was selected on the timeline: its details come to the front.
    pub(super) fn select(&mut self) {
        if !self.closes(DockTab::Search) || !self.shows_beside {
            self.dock.activate(DockTab::Details);
        }
    }

    /// Asks what matches the search in view, and what a search has in another scope, if that is not known.
    pub(super) fn attend(&mut self, timeline: &Timeline, wake: &TabWake) {
        if let Some(question) = self.search.set_scope(timeline.scope()) {
            self.ask(question, timeline.snapshot(), wake);
        }
        if let Some((matcher, in_view)) = timeline.unfiltered() {
            let id = self.next_id();
            self.analysis.ask_pixels(id, matcher, in_view, timeline.snapshot(), wake);
        }
    }

    /// Whether a search is open, which Escape closes before it clears what is selected.
    #[must_use]
    pub(super) fn is_searching(&self) -> bool {
        self.search.is_open()
    }

    pub(super) fn act(&mut self, command: PanelCommand, timeline: &mut Timeline, wake: &TabWake) {
        match command {
            PanelCommand::Search => {
                self.search.open();
                self.dock.activate(DockTab::Search);
            }
            PanelCommand::SearchFor(text) => {
                self.dock.activate(DockTab::Search);
                match self.search.open_with(text) {
                    Some(question) => self.ask(question, timeline.snapshot(), wake),
                    None => self.stop_search(timeline),
                }
            }
            PanelCommand::NextPanel { forward } => self.dock.step(&self.open_tabs, forward),
            PanelCommand::ToggleFull => self.dock.toggle_full(),
            PanelCommand::StopSearch => self.stop_search(timeline),
            PanelCommand::CloseSearch => {
                self.search.close();
                self.stop_search(timeline);
            }
            PanelCommand::GoToHit { forward } => {
                if let Some(question) = self.search.neighbour(forward, place_of(timeline)) {
                    self.ask(question, timeline.snapshot(), wake);
                }
            }
            PanelCommand::Ask(question) => self.ask(question, timeline.snapshot(), wake),
            PanelCommand::StopCounting => {
                self.analysis.stop(QuestionKind::Totals);
                self.statistics.stopped();
            }
            PanelCommand::Toggle(Panel::Statistics) if self.closes(DockTab::Statistics) => self.statistics.toggle(),
            PanelCommand::Toggle(Panel::Flame) if self.closes(DockTab::Flame) => self.flame.toggle(),
            PanelCommand::Toggle(Panel::Statistics) | PanelCommand::Show(Panel::Statistics) => {
                self.statistics.open();
                self.dock.activate(DockTab::Statistics);
            }
            PanelCommand::Toggle(Panel::Flame) | PanelCommand::Show(Panel::Flame) => {
                self.flame.open();
                self.dock.activate(DockTab::Flame);
            }
            PanelCommand::StatisticsOf(name) => {
                self.statistics.open();
                self.dock.activate(DockTab::Statistics);
                if let Some(question) = self.statistics.choose(name) {
                    self.ask(question, timeline.snapshot(), wake);
                }
            }
        }
    }

    /// Whether the table of statistics is shown.
    #[must_use]
    pub(super) fn shows_statistics(&self) -> bool {
        self.statistics.is_open()
    }

    /// The table of statistics as it is shown, as comma-separated text.
    #[must_use]
    pub(super) fn statistics_csv(&self, cells: Cells) -> String {
        self.statistics.csv(cells)
    }

    /// Takes an answer; returns the row to reveal.
    pub(super) fn take_answer(
        &mut self,
        (id, kind): (TaskId, QuestionKind),
        answer: Result<Option<Answer>, TaskError>,
        timeline: &mut Timeline,
        wake: &TabWake,
    ) -> Option<RowIdx> {
        if !self.analysis.is_awaited(id, kind) {
            return None;
        }
        let answer = match answer {
            Ok(answer) => answer?,
            Err(error) => {
                if let (QuestionKind::Search, TaskError::Failed(message)) = (kind, error) {
                    self.search.fail(message);
                }
                if kind == QuestionKind::Totals {
                    self.statistics.stopped();
                }
                if kind == QuestionKind::Pixels {
                    // Not asked again and again.
                    timeline.set_hits(None);
                }
                return None;
            }
        };
        match answer {
            Answer::Hits(hits) => {
                timeline.set_hits(Some(&hits));
                if let Some(question) = self.search.take_hits(hits) {
                    self.ask(question, timeline.snapshot(), wake);
                }
            }
            Answer::Page(first, hits) => self.search.take_page(first, hits),
            Answer::Neighbour(found) => return self.search.take_neighbour(found),
            Answer::Pixels(filtered) => timeline.set_matching(&filtered),
            Answer::Totals(totals) => self.statistics.take_totals(totals, timeline.snapshot()),
            Answer::Name(facts) => self.statistics.take_name(facts),
            Answer::Paths(tree) => self.flame.set_tree(&tree),
        }
        None
    }

    fn stop_search(&mut self, timeline: &mut Timeline) {
        for kind in [QuestionKind::Search, QuestionKind::Page, QuestionKind::Neighbour, QuestionKind::Pixels] {
            self.analysis.stop(kind);
        }
        timeline.set_hits(None);
    }

    fn ask(&mut self, question: Question, snapshot: &Snapshot, wake: &TabWake) {
        let id = self.next_id();
        self.analysis.ask(id, question, snapshot, self.search.hits(), wake);
    }

    fn next_id(&mut self) -> TaskId {
        self.asked += 1;
        TaskId(self.asked)
    }
}

/// Below this width of the dock, the hits have all of it.
const BESIDE_POINTS: f32 = 900.0;

/// Where the next hit is looked for: the selected row, or else the start of the view.
fn place_of(timeline: &Timeline) -> (i64, Option<RowIdx>) {
    match timeline.selected() {
        Some(row) => (timeline.snapshot().row(row).start_ns, Some(row)),
        None => (timeline.view().start_ns(), None),
    }
}
