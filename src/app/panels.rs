//! The panels of the dock: shows them beside the timeline, runs their queries in the background, and applies the search
//! to the timeline.

mod moved;
mod naming;
mod pinned;
mod same_name_steps;
mod set;
mod tabs;

use std::sync::Arc;

use egui::Ui;

use super::analysis::Analysis;
use crate::app::event::{TabWake, TaskError, TaskId};
use crate::base::csv::Cells;
use crate::export::flame::FlameSource;
use crate::export::values::TableSource;
use crate::query::Snapshot;
use crate::query::search::Hits;
use crate::store::lane::RowIdx;
use crate::store::live_lanes::LaneMoves;
use crate::ui::command::{Command, PanelCommand};
use crate::ui::command_line::PanelCommandLine;
use crate::ui::panel::{DockTab, Panel, PinId, SavedPanels};
use crate::ui::panels::PanelContext;
use crate::ui::panels::details::DetailsPanel;
use crate::ui::panels::dock::Dock;
use crate::ui::panels::dock_panel::{DockPanel, PanelView};
use crate::ui::panels::scope_bar::{SCOPE_BAR_POINTS, ScopeBar};
use crate::ui::questions::{
    Answer, HitsOf, NameQuery, NamedTrace, Question, QuestionKind, ResolvedNames, TraceByAddress,
};
use crate::ui::timeline::state::Timeline;
use moved::moved;
use pinned::PinnedPanels;
use same_name_steps::SameNameSteps;
use set::PanelSet;
use tabs::{heads, show_pinned};

/// The panels of a tab and their running queries.
pub(super) struct Panels {
    /// Sends the answers of queries.
    wake: TabWake,
    analysis: Analysis,
    queries_started: u64,
    /// The panels that follow the scope.
    set: PanelSet,
    pinned: PinnedPanels,
    same_name_steps: SameNameSteps,
    scope_bar: ScopeBar,
    dock: Dock,
    /// The tabs of the last frame.
    open_tabs: Vec<DockTab>,
    /// Resolved names that are not shown yet.
    pending_names: Option<Arc<NamedTrace>>,
    /// How the names of the trace are resolved.
    name_query: Option<NameQuery>,
    /// The resolved names of the open trace.
    resolved_names: Option<ResolvedNames>,
    /// The open trace by address, with names that the present query finds.
    by_address: TraceByAddress,
}

impl Panels {
    pub(super) fn new(wake: TabWake) -> Self {
        Self {
            wake,
            analysis: Analysis::default(),
            queries_started: 0,
            set: PanelSet::default(),
            pinned: PinnedPanels::default(),
            same_name_steps: SameNameSteps::default(),
            scope_bar: ScopeBar::default(),
            dock: Dock::default(),
            open_tabs: Vec::new(),
            pending_names: None,
            name_query: None,
            resolved_names: None,
            by_address: TraceByAddress::default(),
        }
    }

    /// Drops all answers, because another trace is open.
    pub(super) fn forget(&mut self, timeline: &Timeline) {
        self.scope_bar.forget();
        self.set.search.search_in(timeline.scope().clone());
        self.ask_again(|panel| panel.forget(), timeline.snapshot());
    }

    /// Maps the rows of all answers, because lanes have moved while the trace has grown.
    pub(super) fn move_rows(&mut self, moves: &LaneMoves) {
        if *moves != LaneMoves::None {
            self.same_name_steps.move_rows(moves);
            Panel::ALL.into_iter().for_each(|panel| self.set.get_mut(panel).move_rows(moves));
            self.pinned.move_rows(moves);
        }
    }

    /// Queries again, because the trace has grown.
    pub(super) fn renew(&mut self, snapshot: &Snapshot) {
        self.ask_again(|panel| panel.renew(), snapshot);
    }

    fn ask_again(&mut self, ask: impl Fn(&mut dyn DockPanel) -> Option<Question>, snapshot: &Snapshot) {
        (self.analysis, self.same_name_steps) = (Analysis::default(), SameNameSteps::default());
        (self.pending_names, self.resolved_names, self.by_address) = (None, None, TraceByAddress::default());
        for panel in Panel::ALL {
            let question = ask(self.set.get_mut(panel));
            self.ask(question.filter(|_| self.dock.is_open(panel)), snapshot);
        }
        for pinned in self.pinned.all_mut() {
            pinned.analysis = Analysis::default();
            // Panels with a scope query when they are shown.
            ask(pinned.panel_mut());
        }
    }

    /// Returns the panel of a tab; `None` if it was pinned and is closed.
    fn shown_mut(&mut self, tab: DockTab) -> Option<&mut dyn DockPanel> {
        match tab.pin {
            None => Some(self.set.get_mut(tab.panel)),
            Some(id) => Some(self.pinned.get_mut(id)?.panel_mut()),
        }
    }

    /// Returns the panel of a tab, if its answer belongs to its scope.
    fn current_mut(&mut self, tab: DockTab, timeline: &Timeline) -> Option<&mut dyn DockPanel> {
        let scope = self.scope_of(tab).unwrap_or_else(|| timeline.scope()).clone();
        self.shown_mut(tab).filter(|panel| panel.is_current(&scope))
    }

    /// Shows the search bar and the dock around the timeline, which the caller shows next. `details` show the selected
    /// span.
    pub(super) fn show(
        &mut self,
        ui: &mut Ui,
        frame: egui::Frame,
        (timeline, details): (&Timeline, Option<&DetailsPanel>),
        context: PanelContext<'_>,
    ) -> Vec<Command> {
        let mut commands = Vec::new();
        if self.is_searching() {
            let bar = frame.inner_margin(egui::Margin::symmetric(10, 4));
            let progress = self.analysis.progress(QuestionKind::Search);
            egui::Panel::top("search").resizable(false).frame(bar).show(ui, |ui| {
                commands.extend(self.set.search.show_bar(ui, search_start(timeline), progress, context.theme));
            });
        }
        let Self { analysis, set, pinned, dock, scope_bar, open_tabs, .. } = self;
        let progress = |kind| analysis.progress(kind);
        let details = details.filter(|_| dock.is_open(Panel::Details));
        let scope = timeline.scope();
        let has_invalid_filter = scope_bar.has_error() && !scope.is_whole();
        let view =
            PanelView { timeline, scope, pinned: None, has_invalid_filter, details, progress: &progress, context };
        let heads = heads(dock, (set, pinned), &view);
        *open_tabs = heads.iter().map(|head| head.tab).collect();
        let bar = frame.inner_margin(egui::Margin::symmetric(12, 2));
        // A maximised dock takes the available space.
        if dock.is_full() {
            commands.extend(show_scope(ui, bar, scope_bar, &view));
        }
        let look = (frame.inner_margin(egui::Margin::symmetric(12, 6)), context.theme);
        let of_dock = dock.show(ui, look, &heads, context.dock_points, |ui, tab| match tab.pin {
            None => {
                let panel = set.get_mut(tab.panel);
                let is_current = panel.is_current(view.scope());
                let context = PanelContext { is_current, ..view.context };
                commands.extend(panel.show(ui, &PanelView { context, ..view }));
            }
            Some(id) => commands.extend(show_pinned(ui, pinned, id, &view)),
        });
        // Runs after the panels: pinning one moves a query that was started in the same frame.
        commands.extend(of_dock);
        if !dock.is_full() {
            commands.extend(show_scope(ui, bar, scope_bar, &view));
        }
        if analysis.is_busy() || pinned.is_busy() {
            // Updates partial counts and progress ten times a second.
            ui.ctx().request_repaint_after(std::time::Duration::from_millis(100));
        }
        commands
    }

    /// Returns a text about the selected row for the status bar.
    pub(super) fn note(&self, timeline: &Timeline) -> Option<String> {
        self.same_name_steps.note(timeline.selected(), timeline.snapshot())
    }

    /// Returns whether a query is running.
    pub(super) fn is_busy(&self) -> bool {
        self.analysis.is_busy() || self.pinned.is_busy()
    }

    /// Returns the open panels and the search, to be saved with the trace.
    #[must_use]
    pub(super) fn to_saved(&self) -> SavedPanels {
        let (open, search) = (self.dock.to_saved(), self.set.search.to_saved());
        // A search bar without a text would only take space.
        let open = if search.text.is_empty() { open.without(Panel::Search) } else { open };
        SavedPanels { open, search }
    }

    /// Opens the saved panels, and searches in `timeline` for the saved text. The shown panel starts its query in the
    /// next frame, the others when they are shown. The view and the selection stay.
    pub(super) fn restore(&mut self, saved: SavedPanels, timeline: &Timeline) {
        // The user may be about to type.
        let had_search = self.is_searching();
        let SavedPanels { open, search } = saved;
        self.dock.restore(&if search.text.is_empty() { open.without(Panel::Search) } else { open });
        if !had_search {
            let question = self.set.search.restore(search, timeline.scope(), self.is_searching());
            self.ask(question, timeline.snapshot());
        }
    }

    /// Returns whether the dock is maximised.
    #[must_use]
    pub(super) fn is_full(&self) -> bool {
        self.dock.is_full()
    }

    /// Restores the timeline. Returns whether the dock was maximised.
    pub(super) fn leave_full(&mut self) -> bool {
        self.dock.leave_full()
    }

    /// Activates the details of a span that was selected on the timeline.
    pub(super) fn select(&mut self) {
        let active = self.dock.active(&self.open_tabs);
        let shows_details = active.and_then(|tab| self.shown_mut(tab)).is_some_and(|panel| panel.shows_details());
        if !shows_details {
            self.dock.activate(Panel::Details.into());
        }
    }

    /// Queries the search again in a changed scope. Ends the search for the next span of a name if another span is
    /// selected.
    pub(super) fn update_queries(&mut self, timeline: &Timeline) {
        // A closed search takes the scope when it is opened again.
        let question = if self.is_searching() { self.set.search.set_scope(timeline.scope()) } else { None };
        self.ask(question, timeline.snapshot());
        if self.same_name_steps.leave(timeline.selected()) {
            self.analysis.stop(QuestionKind::SameName);
        }
    }

    /// Queries the matches of the search in the view that the timeline shows.
    pub(super) fn find_matches(&mut self, timeline: &Timeline) {
        if let Some((matcher, in_view)) = timeline.unfiltered() {
            let id = self.next_id();
            self.analysis.ask_pixels(id, matcher, in_view, timeline.snapshot(), &self.wake);
        }
    }

    /// Returns whether a search is open, which Escape closes before it clears the selection.
    #[must_use]
    pub(super) fn is_searching(&self) -> bool {
        self.dock.is_open(Panel::Search)
    }

    /// Returns whether an open search has hits to go to, or may still find some.
    #[must_use]
    pub(super) fn has_hits(&self) -> bool {
        let is_counting = self.analysis.progress(QuestionKind::Search).is_some();
        self.is_searching() && (is_counting || self.set.search.hits().is_some_and(|hits| hits.total() > 0))
    }

    pub(super) fn act(&mut self, command: PanelCommand, timeline: &mut Timeline) {
        match command {
            PanelCommand::Toggle(panel) => self.dock.toggle(panel, &self.open_tabs),
            PanelCommand::Show(panel) => self.dock.open(panel),
            PanelCommand::NextPanel(direction) => self.dock.step(&self.open_tabs, direction),
            PanelCommand::ToggleFull => self.dock.toggle_full(),
            PanelCommand::LeaveFull => _ = self.dock.leave_full(),
            PanelCommand::ShowScopeSummary => {
                let panel = timeline.summary_panel();
                self.dock.open(panel);
                if panel == Panel::Spans {
                    self.set.spans.list_instants();
                }
            }
            PanelCommand::StatisticsOf(name) => {
                self.dock.open(Panel::Statistics);
                // The spans of a name that failed are in the row of its regular name.
                let name = timeline.snapshot().names().regular(name);
                let question = self.set.statistics.choose(name);
                self.ask(question, timeline.snapshot());
            }
            // The panels of the next four commands start their queries when they are shown.
            PanelCommand::StatisticsBy(by) => {
                self.dock.open(Panel::Statistics);
                self.set.statistics.group_by(by);
            }
            PanelCommand::HeatMapOf(name) => {
                self.dock.open(Panel::HeatMap);
                self.set.heat_map.choose(timeline.snapshot().names().get(name).text);
            }
            PanelCommand::Callers(function) => {
                self.dock.open(Panel::Flame);
                self.set.flame.show_sandwich(*function);
            }
            PanelCommand::ShowCode(function) => {
                self.dock.open(Panel::Code);
                self.set.code.show_function(*function);
            }
            PanelCommand::Search => {
                self.dock.open(Panel::Search);
                let question = self.set.search.reopen();
                self.ask(question, timeline.snapshot());
            }
            PanelCommand::SearchFor(text) => {
                self.dock.open(Panel::Search);
                let question = self.set.search.set_text(text);
                self.search(question, timeline);
            }
            PanelCommand::Highlight(text) => {
                self.dock.open_behind(Panel::Search, &self.open_tabs);
                let question = self.set.search.highlight(text);
                self.search(question, timeline);
            }
            PanelCommand::GoToHit(direction) => {
                let question = self.set.search.neighbour(direction, search_start(timeline));
                self.ask(question, timeline.snapshot());
            }
            PanelCommand::StopSearch => self.stop_search(timeline),
            PanelCommand::CloseSearch => self.close_search(timeline),
            PanelCommand::GoToSameName(direction) => {
                let question = timeline.selected().and_then(|row| self.same_name_steps.step(row, direction));
                self.ask(question, timeline.snapshot());
            }
            PanelCommand::Ask(question) => self.ask(question, timeline.snapshot()),
            PanelCommand::AskPinned(id, question) => self.ask_pinned(id, question, timeline.snapshot()),
            PanelCommand::StopQuery(panel) => self.stop_query(panel),
            PanelCommand::StopPinned(id) => {
                if let Some(pinned) = self.pinned.get_mut(id) {
                    pinned.stop_query();
                }
            }
            PanelCommand::ClosePinned(id) => self.pinned.close(id),
            PanelCommand::TogglePin => self.toggle_pin(timeline),
            PanelCommand::AskCode(request) => self.ask_code(*request, timeline.snapshot()),
        }
    }

    /// Returns the table of a panel as shown, with tabs between cells; `None` if it belongs to an earlier scope.
    #[must_use]
    pub(super) fn copied(&mut self, tab: DockTab, timeline: &Timeline, cells: Cells) -> Option<String> {
        self.current_mut(tab, timeline)?.copied(timeline.snapshot(), cells)
    }

    /// Returns how many rows of a panel are copied and how many there are, if the panel has more than are copied.
    #[must_use]
    pub(super) fn copied_part(&mut self, tab: DockTab) -> Option<(u64, u64)> {
        self.shown_mut(tab)?.copied_part()
    }

    /// Returns the whole table of a panel, to be exported or copied; `None` if it belongs to an earlier scope.
    #[must_use]
    pub(super) fn table_of(&mut self, tab: DockTab, timeline: &Timeline) -> Option<Box<dyn TableSource>> {
        self.current_mut(tab, timeline)?.to_export(timeline.snapshot())
    }

    /// Returns the shown flame graph, to be exported; `None` if it belongs to an earlier scope.
    #[must_use]
    pub(super) fn flame_source(&self, tab: DockTab, timeline: &Timeline) -> Option<FlameSource> {
        let (flame, scope) = match tab.pin {
            None => (&self.set.flame, timeline.scope()),
            Some(id) => self.pinned.get(id).map(|pinned| (&pinned.set.flame, &pinned.scope))?,
        };
        if flame.is_current(scope) { flame.to_export(timeline.snapshot()) } else { None }
    }

    /// Returns the command line with the same result as a panel, without the trace and the scope.
    #[must_use]
    pub(super) fn command_line(&mut self, tab: DockTab) -> Option<PanelCommandLine> {
        self.shown_mut(tab)?.command_line()
    }

    /// Handles an answer, and returns a row to reveal.
    pub(super) fn handle_answer(
        &mut self,
        (id, kind): (TaskId, QuestionKind),
        answer: Result<Option<Answer>, TaskError>,
        timeline: &mut Timeline,
    ) -> Option<RowIdx> {
        let (pin, of) = match self.analysis.take_awaited(id, kind) {
            Some(of) => (None, of),
            None => self.pinned.take_awaited(id, kind).map(|(pin, of)| (Some(pin), of))?,
        };
        let answer = match answer {
            Ok(answer) => moved(answer?, &timeline.snapshot().lane_moves_since(&of)?),
            Err(error) => {
                self.fail((pin, kind), error, timeline);
                return None;
            }
        };
        let (set, analysis) = self.panels_and_queries(pin)?;
        match answer {
            Answer::Hits(hits) => {
                // A later page of the earlier hits would be taken for a page of these hits.
                analysis.stop(QuestionKind::HitPage);
                self.show_hits(hits, timeline);
            }
            Answer::Page(HitsOf::Search, first, hits) => set.search.set_page(first, hits),
            Answer::Page(HitsOf::Spans, first, hits) => set.spans.set_page(first, hits),
            Answer::Spans(hits) => {
                analysis.stop(QuestionKind::SpanPage);
                set.spans.set_hits(hits);
            }
            Answer::Ordered(HitsOf::Spans, hits) => set.spans.set_ordered(hits),
            Answer::Ordered(HitsOf::Search, hits) => set.search.set_ordered(hits),
            Answer::Counters(counters) => set.counters.set_counters(counters),
            Answer::OrderedCounters(ordered) => set.counters.set_ordered(ordered),
            Answer::HeatMap(map) => set.heat_map.set_map(map),
            Answer::HeatMapSketch(map) => set.heat_map.set_sketch(map),
            Answer::Scheduling(answer) => set.scheduling.set_answer(&answer, timeline.snapshot()),
            Answer::NumberOf(HitsOf::Search, row, number) => set.search.set_number(row, number),
            Answer::NumberOf(HitsOf::Spans, row, number) => set.spans.reveal_number(row, number),
            Answer::Neighbour(found) => return set.search.set_neighbour(found),
            Answer::SameName(found) => {
                let (row, further) =
                    self.same_name_steps.accept_answer(found, (timeline.selected(), timeline.snapshot()));
                self.ask(further, timeline.snapshot());
                return row;
            }
            Answer::Pixels(filtered) => timeline.set_matching(&filtered),
            Answer::Totals(lines) => {
                // Partial totals that arrive later would replace these totals.
                analysis.stop(QuestionKind::PartialTotals);
                set.statistics.set_complete_lines(lines);
            }
            Answer::PartialTotals(lines) => set.statistics.set_partial_lines(lines),
            Answer::OrderedGroups(ordered) => set.statistics.set_ordered(ordered),
            Answer::OrderedSamples(ordered) => set.samples.set_ordered(ordered),
            Answer::Group(facts) => set.statistics.set_facts(facts),
            Answer::Quantiles(quantiles) => set.statistics.set_quantiles(quantiles),
            Answer::SpanCalls(answer) => set.statistics.set_calls(&answer, timeline.snapshot()),
            Answer::OrderedSpanCalls(ordered) => set.statistics.set_ordered_calls(ordered),
            Answer::Samples(answer) => set.samples.set_answer(&answer, timeline.snapshot()),
            Answer::Sandwich(answer) => set.samples.set_sandwich(answer),
            Answer::Paths(answer) => set.flame.set_answer(&answer, timeline.snapshot()),
            Answer::Code(answer) => set.code.set_answer(&answer),
            Answer::Names(named) => self.pending_names = Some(named),
        }
        None
    }

    /// Returns the panels of a target, of the dock or pinned, and their queries.
    fn panels_and_queries(&mut self, pin: Option<PinId>) -> Option<(&mut PanelSet, &mut Analysis)> {
        match pin {
            None => Some((&mut self.set, &mut self.analysis)),
            Some(pin) => self.pinned.get_mut(pin).map(|pinned| (&mut pinned.set, &mut pinned.analysis)),
        }
    }

    /// Passes the error of a query to its panel, or to the pinned panel that asked.
    fn fail(&mut self, (pin, kind): (Option<PinId>, QuestionKind), error: TaskError, timeline: &mut Timeline) {
        let message = error.into_message();
        if let Some(pin) = pin {
            if let Some(pinned) = self.pinned.get_mut(pin) {
                pinned.panel_mut().fail(kind, &message);
            }
            return;
        }
        if let Some(panel) = kind.panel() {
            self.set.get_mut(panel).fail(kind, &message);
        }
        if kind == QuestionKind::SameName {
            self.same_name_steps.fail(&message);
        }
        if kind == QuestionKind::Pixels {
            // A failed query is not repeated.
            timeline.set_hits(None);
        }
    }

    /// Shows the hits of a search in its panel and on the timeline.
    fn show_hits(&mut self, hits: Hits, timeline: &mut Timeline) {
        if self.set.search.hits().is_some() || timeline.has_outdated_matches() {
            timeline.repeat_hits(&hits);
        } else {
            // The matches of an earlier search must not appear among these hits.
            self.analysis.stop(QuestionKind::Pixels);
            timeline.set_hits(Some(&hits));
        }
        let question = self.set.search.set_hits(hits);
        self.ask(question, timeline.snapshot());
    }

    /// Sets the source folders of the preferences.
    pub(super) fn set_source_folders(&mut self, folders: &[String]) {
        self.set.code.set_preferred(folders);
    }

    /// Asks for the hits of a search, or drops the hits of the last search.
    fn search(&mut self, question: Option<Question>, timeline: &mut Timeline) {
        match question {
            Some(question) => self.ask(question, timeline.snapshot()),
            None => self.stop_search(timeline),
        }
    }

    fn close_search(&mut self, timeline: &mut Timeline) {
        self.dock.close(Panel::Search);
        self.set.search.close();
        self.stop_search(timeline);
    }

    fn stop_search(&mut self, timeline: &mut Timeline) {
        drop(self.analysis.take_queries_of(Panel::Search));
        self.analysis.stop(QuestionKind::Pixels);
        timeline.set_hits(None);
    }

    /// Cancels the query of a panel, which keeps its partial results.
    fn stop_query(&mut self, panel: Panel) {
        for kind in self.set.get_mut(panel).stop() {
            self.analysis.stop(*kind);
        }
    }

    fn ask(&mut self, question: impl Into<Option<Question>>, snapshot: &Snapshot) {
        let Some(question) = question.into() else { return };
        let id = self.next_id();
        let is_of_spans = question.kind().panel() == Some(Panel::Spans);
        let hits = if is_of_spans { self.set.spans.hits() } else { self.set.search.hits() };
        self.analysis.ask(id, question, snapshot, hits, &self.wake);
    }

    fn next_id(&mut self) -> TaskId {
        self.queries_started += 1;
        TaskId(self.queries_started)
    }
}

/// Shows the scope bar, if anything is selected.
fn show_scope(ui: &mut Ui, frame: egui::Frame, bar: &mut ScopeBar, view: &PanelView<'_>) -> Vec<Command> {
    if view.scope().is_whole() {
        return Vec::new();
    }
    let panel = egui::Panel::bottom("scope").resizable(false).exact_size(SCOPE_BAR_POINTS).frame(frame);
    panel.show(ui, |ui| bar.show(ui, view.timeline, view.context.theme)).inner
}

/// Returns the start of the search for the next hit: the selected row, or else the start of the view.
fn search_start(timeline: &Timeline) -> (i64, Option<RowIdx>) {
    match timeline.selected() {
        Some(row) => (timeline.snapshot().row(row).start_ns, Some(row)),
        None => (timeline.view().start_ns(), None),
    }
}

#[cfg(test)]
mod tests;
