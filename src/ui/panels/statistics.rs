//! Spans added up by name, of the selected time or of all: a table that sorts by any column and can be narrowed, and
//! beside it the spans of the chosen name: how long they take, when they are, and the longest.

use std::sync::Arc;

use egui::{RichText, ScrollArea, Ui};

use super::PanelContext;
use super::answer_state::{Exactness, show_counting, show_exactness};
use super::dock_panel::{DockPanel, PanelTools, PanelView};
use super::name_rows::{COLUMNS, FIRST_SORTED, NameRows, SKETCHED_COLUMNS};
use super::table::{TableColumn, TableView};
use crate::base::csv::Cells;
use crate::base::progress::Progress;
use crate::base::time::{duration_text, grouped_digits, seconds_text};
use crate::export::values::TableSource;
use crate::model::NameIdx;
use crate::query::Snapshot;
use crate::query::filter::quoted;
use crate::query::totals::Totals;
use crate::scene::labels::shown;
use crate::ui::command::{Command, PanelCommand, TimelineCommand};
use crate::ui::command_line::PanelCommandLine;
use crate::ui::command_table::key_of;
use crate::ui::panel::Panel;
use crate::ui::questions::{NameFacts, Question, QuestionKind, SelectedScope};
use crate::ui::theme::Theme;
use crate::ui::widgets::bars::Bars;
use crate::ui::widgets::field;
use crate::ui::widgets::reading_order::on_screen;

/// The name of the table among the layouts that are kept.
const TABLE: &str = "statistics";

/// The height of a row, in points.
const ROW_POINTS: f32 = 19.0;

/// The totals by name, and the facts about one name.
#[derive(Debug)]
pub(crate) struct StatisticsPanel {
    /// The scope of the totals, or of those that are counted now; `None`: nothing was asked.
    asked: Option<SelectedScope>,
    totals: Option<Arc<Totals>>,
    /// Whether counting was stopped before all spans were counted.
    is_stopped: bool,
    rows: NameRows,
    table: TableView,
    words: String,
    /// The name whose line is to be brought into view.
    to_reveal: Option<NameIdx>,
    facts: Option<Arc<NameFacts>>,
    /// Whether quantiles of any name come from a sketch.
    has_sketched: bool,
}

impl Default for StatisticsPanel {
    fn default() -> Self {
        Self {
            asked: None,
            totals: None,
            is_stopped: false,
            rows: NameRows::default(),
            table: TableView::new(TABLE, ROW_POINTS, Some(FIRST_SORTED)),
            words: String::new(),
            to_reveal: None,
            facts: None,
            has_sketched: false,
        }
    }
}

impl StatisticsPanel {
    /// Chooses a name and brings its line into view. Returns the question about it, if the slice of time is known.
    pub(crate) fn choose(&mut self, name: NameIdx) -> Option<Question> {
        (self.rows.chosen, self.facts, self.to_reveal) = (Some(name), None, Some(name));
        self.words.clear();
        self.rows.set_words("");
        self.asked.clone().map(|scope| Question::Name(name, scope))
    }

    /// Takes note that no more will be counted.
    pub(crate) fn stopped(&mut self) {
        self.is_stopped = true;
    }

    /// Takes the totals of all spans, or of those counted so far.
    pub(crate) fn take_totals(&mut self, totals: Arc<Totals>, snapshot: &Snapshot) {
        self.rows.set_totals(&totals, snapshot);
        self.has_sketched = self.rows.has_sketched();
        self.totals = Some(totals);
    }

    /// Takes the facts about the chosen name.
    pub(crate) fn take_name(&mut self, facts: Arc<NameFacts>) {
        self.facts = Some(facts);
    }

    /// The same of a name whose line is in view.
    fn choose_shown(&mut self, name: NameIdx) -> Option<Command> {
        (self.rows.chosen, self.facts) = (Some(name), None);
        self.asked.clone().map(|scope| Command::Panel(PanelCommand::Ask(Question::Name(name, scope))))
    }

    /// Shows the table and the chosen name.
    fn show_all(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        let (snapshot, scope, context, theme) = (view.snapshot(), view.scope(), view.context, view.context.theme);
        let progress = (view.progress)(QuestionKind::Totals);
        let mut commands = Vec::new();
        if self.asked.as_ref() != Some(scope) {
            (self.asked, self.facts, self.is_stopped) = (Some(scope.clone()), None, false);
            commands.push(Command::Panel(PanelCommand::Ask(Question::Totals(scope.clone()))));
            let about = self.rows.chosen.map(|name| Question::Name(name, scope.clone()));
            commands.extend(about.map(|question| Command::Panel(PanelCommand::Ask(question))));
        }
        ui.horizontal(|ui| {
            let of = scope.title();
            let is_narrow = ui.available_width() < NARROW_POINTS;
            let title = ui.label(RichText::new("Statistics").strong());
            if is_narrow {
                title.on_hover_text(of);
            } else {
                ui.label(RichText::new(of).color(theme.weak_text));
            }
            let width = if is_narrow { 90.0 } else { 160.0 };
            if field::add_table_filter(ui, &mut self.words, "Filter names", width, theme.canvas) {
                self.rows.set_words(&self.words);
            }
            self.show_progress(ui, progress, scope, theme, &mut commands);
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if ui.button("Close").clicked() {
                    commands.push(Command::Panel(PanelCommand::Toggle(Panel::Statistics)));
                }
                if progress.is_none() && self.totals.is_some() && !self.is_stopped {
                    show_exactness(ui, self.exactness(), snapshot, theme);
                }
            });
        });
        let place = ui.available_rect_before_wrap();
        let has_facts = self.rows.chosen.is_some() && place.width() > 700.0;
        let table = if has_facts { place.with_max_x(place.left() + place.width() * 0.62) } else { place };
        ui.scope_builder(egui::UiBuilder::new().max_rect(table), |ui| {
            let absence = self.absence(snapshot, ui.ctx()).filter(|_| progress.is_none());
            commands.extend(self.show_table(ui, absence.as_deref(), context));
        });
        if has_facts {
            let beside = place.with_min_x(table.right() + 14.0);
            ui.scope_builder(egui::UiBuilder::new().max_rect(beside), |ui| {
                self.show_chosen(ui, snapshot, theme, &mut commands);
            });
        }
        commands
    }

    /// Says that not all is counted yet, and lets that be stopped.
    fn show_progress(
        &mut self,
        ui: &mut Ui,
        progress: Option<&Progress>,
        scope: &SelectedScope,
        theme: &Theme,
        commands: &mut Vec<Command>,
    ) {
        if let Some(progress) = progress {
            show_counting(ui, progress, theme);
            if ui.button("Stop").clicked() {
                commands.push(Command::Panel(PanelCommand::StopCounting));
            }
        } else if self.is_stopped {
            ui.label(RichText::new("stopped: not all spans are counted").color(theme.warning));
            if ui.button("Count all").clicked() {
                self.is_stopped = false;
                commands.push(Command::Panel(PanelCommand::Ask(Question::Totals(scope.clone()))));
            }
        }
    }

    fn exactness(&self) -> Exactness {
        if self.has_sketched { Exactness::SketchedQuantiles } else { Exactness::Exact }
    }

    /// The columns with the titles that their numbers allow.
    fn columns(&self) -> &'static [TableColumn] {
        if self.has_sketched { &SKETCHED_COLUMNS } else { &COLUMNS }
    }

    /// Why there is no line, where all is counted.
    fn absence(&self, snapshot: &Snapshot, ctx: &egui::Context) -> Option<String> {
        self.totals.as_ref()?;
        if !self.rows.is_empty() {
            return None;
        }
        Some(match (self.rows.has_no_line(), snapshot.summary().samples) {
            (false, _) => "No name has these words.".to_owned(),
            (true, 0) => "No spans here.".to_owned(),
            (true, _) => format!("No spans here. The flame graph ({}) adds up samples.", key_of(ctx, "Flame graph")),
        })
    }

    fn show_table(&mut self, ui: &mut Ui, absence: Option<&str>, context: PanelContext<'_>) -> Vec<Command> {
        if let Some(row) = self.to_reveal.and_then(|name| self.rows.row_of(name)) {
            self.to_reveal = None;
            self.table.reveal(row);
        }
        let columns = self.columns();
        let mut shown = self.table.show(ui, columns, &mut self.rows, &context.table(TABLE, absence));
        let chosen = shown.clicked.map(|row| self.rows.name(row));
        shown.commands.extend(chosen.and_then(|name| self.choose_shown(name)));
        shown.commands
    }

    fn show_chosen(&self, ui: &mut Ui, snapshot: &Snapshot, theme: &Theme, commands: &mut Vec<Command>) {
        let Some(name) = self.rows.chosen else { return };
        let text = snapshot.names().get(name).text;
        ui.horizontal(|ui| {
            ui.add(egui::Label::new(RichText::new(on_screen(&shown(text))).strong()).truncate());
            if ui.small_button("Search").clicked() {
                commands.push(Command::Panel(PanelCommand::SearchFor(quoted(text))));
            }
        });
        ScrollArea::vertical().id_salt("chosen").auto_shrink(false).show(ui, |ui| {
            if let Some(totals) = self.totals.as_ref().and_then(|totals| totals.get(name)) {
                // Four bars an octave tell a factor of 1.2 apart.
                let bars = totals.sketch().bars(2);
                let counts: Vec<u64> = bars.iter().map(|bar| bar.count).collect();
                let title = |bar: usize| {
                    let bar = bars[bar];
                    let (least, most) = (duration_text(bar.least_ns), duration_text(bar.most_ns));
                    format!("{} of {least} to {most}", grouped_digits(bar.count))
                };
                let end = |bar: Option<u64>| bar.map(duration_text).unwrap_or_default();
                let (first, last) = (bars.first().map(|bar| bar.least_ns), bars.last().map(|bar| bar.most_ns));
                let shown = Bars { title: "Durations", counts: &counts, ends: (end(first), end(last)) };
                if let Some(bar) = shown.show(ui, theme, title).and_then(|bar| bars.get(bar)) {
                    let filter = format!("dur>={}ns dur<={}ns {}", bar.least_ns, bar.most_ns, quoted(text));
                    commands.push(Command::Panel(PanelCommand::SearchFor(filter)));
                }
            }
            let Some(facts) = self.facts.as_ref().filter(|facts| facts.name == name) else {
                ui.spinner();
                return;
            };
            let (from_ns, to_ns) = facts.range;
            let time_of = |part: usize| {
                let width = i128::from(to_ns) - i128::from(from_ns);
                let ts_ns = i128::from(from_ns) + width * part as i128 / facts.over_time.len().max(1) as i128;
                i64::try_from(ts_ns).unwrap_or(to_ns)
            };
            let title = |part: usize| {
                let at = seconds_text(time_of(part).saturating_sub(snapshot.start_ns()));
                format!("{} from {at} s on", grouped_digits(facts.over_time[part]))
            };
            let end = |ts_ns: i64| format!("{} s", seconds_text(ts_ns.saturating_sub(snapshot.start_ns())));
            let ends = (end(from_ns), end(to_ns));
            let shown = Bars { title: "Over time", counts: &facts.over_time, ends };
            if let Some(part) = shown.show(ui, theme, title) {
                commands.push(Command::Timeline(TimelineCommand::ShowSlice(time_of(part), time_of(part + 1))));
            }
            ui.label(RichText::new("Longest").small().color(theme.weak_text));
            for hit in &facts.longest {
                let at = seconds_text(hit.start_ns.saturating_sub(snapshot.start_ns()));
                if ui.link(format!("{}  at {at} s", duration_text(hit.dur_ns))).clicked() {
                    commands.push(Command::Timeline(TimelineCommand::Reveal(hit.row)));
                }
            }
        });
    }
}

impl DockPanel for StatisticsPanel {
    fn forget(&mut self) -> Option<Question> {
        (self.asked, self.totals, self.is_stopped, self.facts) = (None, None, false, None);
        self.rows.forget();
        None
    }

    fn fail(&mut self, kind: QuestionKind, _message: &str) {
        if kind == QuestionKind::Totals {
            self.stopped();
        }
    }

    fn show(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        self.show_all(ui, view)
    }

    fn tools(&self) -> PanelTools {
        PanelTools { copies: true, exports: true, has_command: true }
    }

    fn copied(&self, cells: Cells) -> Option<String> {
        Some(self.table.copied(self.columns(), &self.rows, cells))
    }

    fn to_export(&self, _snapshot: &Snapshot) -> Option<Box<dyn TableSource>> {
        Some(Box::new(self.rows.to_export()))
    }

    fn command_line(&self) -> Option<PanelCommandLine> {
        let mut line = PanelCommandLine::new("stats");
        if !self.words.is_empty() {
            line.options = vec!["--name".to_owned(), format!("(?i){}", regex::escape(&self.words))];
        }
        Some(line)
    }
}

/// Below this width the line above the table says and offers less.
const NARROW_POINTS: f32 = 640.0;
