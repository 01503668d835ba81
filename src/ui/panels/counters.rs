//! The counters panel: minimum, maximum, mean over time, change and rate of each counter in the scope. A click on a
//! counter shows its track.

use std::cmp::Ordering;
use std::sync::Arc;

use egui::{RichText, Ui};

use super::answer_state::{Exactness, show_counting, show_exactness};
use super::dock_panel::{DockPanel, PanelTools, PanelView};
use super::number::TableNumber;
use super::table::{Rows, TableCell, TableColumn, TableView};
use crate::base::csv::Cells;
use crate::export::counter_table::CounterTable;
use crate::export::values::TableSource;
use crate::model::TrackIdx;
use crate::query::Snapshot;
use crate::query::counters::CounterStats;
use crate::scene::labels::shown;
use crate::scene::titles::{process_title, track_title};
use crate::ui::command::{Command, PanelCommand, TimelineCommand};
use crate::ui::command_line::PanelCommandLine;
use crate::ui::panel::Panel;
use crate::ui::questions::{Question, QuestionKind, SelectedScope};
use crate::ui::widgets::field;

/// The key of the table in the saved layouts.
const TABLE: &str = "counters";

/// Height of a row, in points.
const ROW_POINTS: f32 = 19.0;

/// Columns before the numbers.
const NAME: usize = 0;
const PROCESS: usize = 1;
/// The first of the numbers, and the only integer.
const SAMPLES: usize = 2;
/// The column after the numbers.
const UNIT: usize = 10;

const COLUMNS: [TableColumn; 11] = [
    TableColumn { title: "Counter", width: 160.0, is_number: false, is_sortable: true },
    TableColumn { title: "Process", width: 120.0, is_number: false, is_sortable: true },
    number("Samples"),
    number("Min"),
    number("Max"),
    number("Mean"),
    number("Change"),
    number("Rate /s"),
    number("First"),
    number("Last"),
    TableColumn { title: "Unit", width: 60.0, is_number: false, is_sortable: true },
];

const fn number(title: &'static str) -> TableColumn {
    TableColumn { title, width: 76.0, is_number: true, is_sortable: true }
}

/// The panel, with the counters of the queried scope.
#[derive(Debug)]
pub(crate) struct CountersPanel {
    asked: Option<SelectedScope>,
    counters: Option<Arc<Vec<CounterStats>>>,
    rows: CounterRows,
    table: TableView,
    words: String,
    error: Option<String>,
}

impl Default for CountersPanel {
    fn default() -> Self {
        Self {
            asked: None,
            counters: None,
            rows: CounterRows::default(),
            table: TableView::new(TABLE, ROW_POINTS, None),
            words: String::new(),
            error: None,
        }
    }
}

impl CountersPanel {
    pub(crate) fn take_counters(&mut self, counters: Arc<Vec<CounterStats>>, snapshot: &Snapshot) {
        self.rows.set_counters(&counters, snapshot);
        self.counters = Some(counters);
    }

    fn show_head(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        let (theme, scope) = (view.context.theme, view.scope());
        let progress = (view.progress)(QuestionKind::Counters);
        let mut commands = Vec::new();
        ui.horizontal(|ui| {
            ui.label(RichText::new("Counters").strong());
            if field::add_table_filter(ui, &mut self.words, "Filter counters", 130.0, theme.canvas) {
                self.rows.set_words(&self.words);
            }
            if let Some(progress) = progress {
                show_counting(ui, progress, theme);
            }
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if ui.button("Close").clicked() {
                    commands.push(Command::Panel(PanelCommand::Toggle(Panel::Counters)));
                }
                if let Some(error) = &self.error {
                    ui.add(egui::Label::new(RichText::new(error).color(theme.error)).truncate());
                } else if progress.is_none() && self.counters.is_some() {
                    show_exactness(ui, Exactness::Exact, view.snapshot(), theme);
                }
                let filter = if scope.filter.is_empty() { "" } else { ", ignoring its filter" };
                let text = scope.title() + filter;
                ui.add(egui::Label::new(RichText::new(text).color(theme.weak_text)).truncate());
            });
        });
        commands
    }

    /// Returns the reason for an empty table, once the result has arrived.
    fn absence(&self, snapshot: &Snapshot) -> Option<&'static str> {
        let counters = self.counters.as_ref()?;
        let summary = snapshot.summary();
        if summary.counters == 0 {
            let has_spans = summary.spans > 0;
            let derived = "The trace has no counters. Tracks > Derive makes tracks of its spans.";
            return Some(if has_spans { derived } else { "The trace has no counters." });
        }
        if counters.is_empty() {
            return Some("No counter has a value here: take more time or other tracks into the scope.");
        }
        self.rows.shown.is_empty().then_some("No counter matches.")
    }
}

impl DockPanel for CountersPanel {
    fn show(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        let scope = view.scope();
        let mut commands = self.show_head(ui, view);
        if self.asked.as_ref() != Some(scope) {
            (self.asked, self.error) = (Some(scope.clone()), None);
            commands.push(Command::Panel(PanelCommand::Ask(Question::Counters(scope.clone()))));
        }
        let look = view.context.table(TABLE, self.absence(view.snapshot()));
        let response = self.table.show(ui, &COLUMNS, &mut self.rows, &look);
        commands.extend(response.commands);
        if let Some(row) = response.clicked {
            let track = self.rows.line(row).stats.track;
            self.rows.chosen = Some(track);
            commands.push(Command::Timeline(TimelineCommand::ShowTrack(track)));
        }
        commands
    }

    fn tools(&self) -> PanelTools {
        PanelTools { copies: true, exports: true, has_command: true }
    }

    fn copied(&self, _snapshot: &Snapshot, cells: Cells) -> Option<String> {
        Some(self.table.copied(&COLUMNS, &self.rows, cells))
    }

    fn to_export(&self, snapshot: &Snapshot) -> Option<Box<dyn TableSource>> {
        let counters = self.rows.shown.iter().map(|&line| self.rows.lines[line].stats).collect();
        Some(Box::new(CounterTable { snapshot: snapshot.clone(), counters: Arc::new(counters) }))
    }

    fn command_line(&self) -> Option<PanelCommandLine> {
        Some(PanelCommandLine { options: vec!["--counters".to_owned()], ..PanelCommandLine::new("stats") })
    }

    fn forget(&mut self) -> Option<Question> {
        (self.asked, self.counters, self.error) = (None, None, None);
        self.rows.clear();
        None
    }

    fn fail(&mut self, kind: QuestionKind, message: &str) {
        if kind == QuestionKind::Counters && !message.is_empty() {
            self.error = Some(message.to_owned());
        }
    }
}

/// A counter with its cached texts.
#[derive(Debug)]
struct CounterLine {
    stats: CounterStats,
    name: String,
    process: String,
    unit: String,
}

impl CounterLine {
    fn number(&self, column: usize) -> Option<f64> {
        let stats = &self.stats;
        match COLUMNS[column].title {
            "Samples" => Some(stats.samples as f64),
            "Min" => Some(stats.min),
            "Max" => Some(stats.max),
            "Mean" => Some(stats.mean),
            "Change" => Some(stats.change()),
            "Rate /s" => stats.rate(),
            "First" => Some(stats.first),
            "Last" => Some(stats.last),
            _ => None,
        }
    }
}

/// The rows of the table.
#[derive(Debug, Default)]
struct CounterRows {
    lines: Vec<CounterLine>,
    /// Indices of the lines that match the words, in sort order.
    shown: Vec<usize>,
    words: String,
    sorted_by: Option<(usize, bool)>,
    chosen: Option<TrackIdx>,
}

impl CounterRows {
    fn set_counters(&mut self, counters: &[CounterStats], snapshot: &Snapshot) {
        let line = |stats: &CounterStats| {
            let track = snapshot.track(stats.track);
            let process = process_title(&snapshot.tracks().processes[track.process.index()]);
            let unit = snapshot.tracks().unit(stats.track).to_owned();
            CounterLine { stats: *stats, name: track_title(track).0, process, unit }
        };
        self.lines = counters.iter().map(line).collect();
        self.update();
    }

    fn clear(&mut self) {
        self.lines.clear();
        self.update();
    }

    fn set_words(&mut self, words: &str) {
        self.words = words.to_lowercase();
        self.update();
    }

    fn update(&mut self) {
        let has_words = |line: &CounterLine| line.name.to_lowercase().contains(&self.words);
        self.shown = (0..self.lines.len()).filter(|&line| has_words(&self.lines[line])).collect();
        let Some((column, ascending)) = self.sorted_by else { return };
        let lines = &self.lines;
        self.shown.sort_by(|&a, &b| {
            let (a, b) = (&lines[a], &lines[b]);
            let order = match column {
                NAME => a.name.cmp(&b.name),
                PROCESS => a.process.cmp(&b.process),
                UNIT => a.unit.cmp(&b.unit),
                _ => match (a.number(column), b.number(column)) {
                    (Some(a), Some(b)) => a.total_cmp(&b),
                    (a, b) => a.is_some().cmp(&b.is_some()),
                },
            };
            let order: Ordering = if ascending { order } else { order.reverse() };
            order.then(a.stats.track.cmp(&b.stats.track))
        });
    }

    fn line(&self, row: u64) -> &CounterLine {
        &self.lines[self.shown[row as usize]]
    }
}

impl Rows for CounterRows {
    fn count(&self) -> u64 {
        self.shown.len() as u64
    }

    fn cell(&self, row: u64, column: usize) -> TableCell<'_> {
        let line = self.line(row);
        match column {
            NAME => TableCell::Text(shown(&line.name)),
            PROCESS => TableCell::Text(shown(&line.process)),
            UNIT => TableCell::Text(shown(&line.unit)),
            SAMPLES => TableCell::Number(TableNumber::Count(line.stats.samples)),
            _ => line.number(column).map_or(TableCell::Empty, |value| TableCell::Number(TableNumber::Value(value))),
        }
    }

    fn spoken(&self, row: u64) -> String {
        let CounterLine { stats, name, .. } = self.line(row);
        let text = |value| TableNumber::Value(value).text();
        format!("{}, from {} to {}, mean {}", shown(name), text(stats.min), text(stats.max), text(stats.mean))
    }

    fn is_chosen(&self, row: u64) -> bool {
        self.chosen == Some(self.line(row).stats.track)
    }

    fn sort(&mut self, column: usize, ascending: bool) {
        self.sorted_by = Some((column, ascending));
        self.update();
    }

    fn copies_all(&self) -> bool {
        true
    }
}
