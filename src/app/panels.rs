//! The panels that ask questions: search, statistics, flame graph. Shows them beside the timeline, has their questions
//! answered, and keeps the filter of the search on the picture.

use egui::Ui;

use super::analysis::Analysis;
use super::tasks::{TaskError, TaskId, Wake};
use crate::base::csv::Cells;
use crate::query::Snapshot;
use crate::store::lane::RowIdx;
use crate::ui::command::{Command, Panel, PanelCommand};
use crate::ui::panels::PanelContext;
use crate::ui::panels::flame::FlamePanel;
use crate::ui::panels::search::SearchPanel;
use crate::ui::panels::statistics::StatisticsPanel;
use crate::ui::questions::{Answer, Kind, Question};
use crate::ui::timeline::state::Timeline;

/// The panels.
#[derive(Default)]
pub(super) struct Panels {
    analysis: Analysis,
    asked: u64,
    search: SearchPanel,
    statistics: StatisticsPanel,
    flame: FlamePanel,
}

impl Panels {
    /// Forgets all answers: another capture, or more of it, is open.
    pub(super) fn forget(&mut self, snapshot: &Snapshot, wake: &Wake) {
        self.analysis = Analysis::default();
        self.statistics.forget();
        self.flame.forget();
        if let Some(question) = self.search.forget() {
            self.ask(question, snapshot, wake);
        }
    }

    /// Shows the panels that are open around what is shown next.
    pub(super) fn show(
        &mut self,
        ui: &mut Ui,
        frame: egui::Frame,
        timeline: &Timeline,
        context: PanelContext<'_>,
    ) -> Vec<Command> {
        let theme = context.theme;
        let mut commands = Vec::new();
        let snapshot = timeline.snapshot();
        let range = timeline.range();
        if self.search.is_open() {
            let bar = frame.inner_margin(egui::Margin::symmetric(10, 4));
            egui::Panel::top("search").exact_size(34.0).frame(bar).show(ui, |ui| {
                commands.extend(self.search.show_bar(
                    ui,
                    place_of(timeline),
                    self.analysis.progress(Kind::Search),
                    theme,
                ));
            });
            let list = frame.inner_margin(egui::Margin::symmetric(6, 6));
            egui::Panel::right("hits").resizable(true).default_size(280.0).size_range(160.0..=600.0).frame(list).show(
                ui,
                |ui| {
                    commands.extend(self.search.show_list(ui, snapshot, theme));
                },
            );
        }
        let inside = frame.inner_margin(egui::Margin::symmetric(12, 6));
        if self.statistics.is_open() {
            if let Some(totals) = self.analysis.totals_so_far() {
                self.statistics.take_totals(totals, snapshot);
            }
            below("statistics", 280.0, ui).frame(inside).show(ui, |ui| {
                let progress = self.analysis.progress(Kind::Totals);
                commands.extend(self.statistics.show(ui, snapshot, range, progress, context));
            });
        }
        if self.flame.is_open() {
            below("flame", 280.0, ui).frame(inside).show(ui, |ui| {
                let progress = self.analysis.progress(Kind::Paths);
                commands.extend(self.flame.show(ui, snapshot, range, progress, (theme, timeline.palette())));
            });
        }
        if self.analysis.is_busy() {
            // Ten times a second: what is counted so far, and how far it is.
            ui.ctx().request_repaint_after(std::time::Duration::from_millis(100));
        }
        commands
    }

    /// Asks what matches the search in view, if that is not known.
    pub(super) fn attend(&mut self, timeline: &Timeline, wake: &Wake) {
        if let Some((matcher, asked)) = timeline.unfiltered() {
            let id = self.next_id();
            self.analysis.ask_pixels(id, matcher, asked, timeline.snapshot(), wake);
        }
    }

    /// Runs a command.
    pub(super) fn act(&mut self, command: PanelCommand, timeline: &mut Timeline, wake: &Wake) {
        match command {
            PanelCommand::Search => self.search.open(),
            PanelCommand::SearchFor(text) => match self.search.open_with(text) {
                Some(question) => self.ask(question, timeline.snapshot(), wake),
                None => self.stop_search(timeline),
            },
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
                self.analysis.stop(Kind::Totals);
                self.statistics.stopped();
            }
            PanelCommand::Toggle(Panel::Statistics) => self.statistics.toggle(),
            PanelCommand::Toggle(Panel::Flame) => self.flame.toggle(),
            PanelCommand::Show(Panel::Statistics) => self.statistics.open(),
            PanelCommand::Show(Panel::Flame) => self.flame.open(),
            PanelCommand::StatisticsOf(name) => {
                self.statistics.open();
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
    pub(super) fn take(
        &mut self,
        (id, kind): (TaskId, Kind),
        answer: Result<Option<Answer>, TaskError>,
        timeline: &mut Timeline,
        wake: &Wake,
    ) -> Option<RowIdx> {
        if !self.analysis.is_awaited(id, kind) {
            return None;
        }
        let answer = match answer {
            Ok(answer) => answer?,
            Err(error) => {
                if let (Kind::Search, TaskError::Failed(message)) = (kind, error) {
                    self.search.fail(message);
                }
                if kind == Kind::Totals {
                    self.statistics.stopped();
                }
                if kind == Kind::Pixels {
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
            Answer::Paths(tree) => self.flame.take(&tree),
        }
        None
    }

    fn stop_search(&mut self, timeline: &mut Timeline) {
        for kind in [Kind::Search, Kind::Page, Kind::Neighbour, Kind::Pixels] {
            self.analysis.stop(kind);
        }
        timeline.set_hits(None);
    }

    fn ask(&mut self, question: Question, snapshot: &Snapshot, wake: &Wake) {
        let id = self.next_id();
        self.analysis.ask(id, question, snapshot, self.search.hits(), wake);
    }

    fn next_id(&mut self) -> TaskId {
        self.asked += 1;
        TaskId(self.asked)
    }
}

/// A panel below the timeline, of this height at first: it never takes all that is left.
pub(super) fn below(id: &'static str, points: f32, ui: &Ui) -> egui::Panel {
    /// The part of the height that is left for it at most.
    const PART_MAX: f32 = 0.6;
    /// Below this height of the window a panel has another, so that it is as high as it was once there is room again.
    const LOW_POINTS: f32 = 600.0;
    let most = (ui.available_height() * PART_MAX).max(100.0);
    let is_low = ui.ctx().content_rect().height() < LOW_POINTS;
    egui::Panel::bottom(egui::Id::unique((id, is_low)))
        .resizable(true)
        .default_size(points.min(most))
        .size_range(60.0..=most)
}

/// Where the next hit is looked for: the selected row, or else the start of the view.
fn place_of(timeline: &Timeline) -> (i64, Option<RowIdx>) {
    match timeline.selected() {
        Some(row) => (timeline.snapshot().row(row).start_ns, Some(row)),
        None => (timeline.view().start_ns(), None),
    }
}
