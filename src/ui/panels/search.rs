//! Search: a field with the number of hits, a list of them in order of time, and buttons to the next hit and the one
//! before. The list has no end and is never built: a page of it is loaded when it comes into view.

use std::borrow::Cow;

use egui::{Key, Modifiers, RichText, Ui};

use super::PanelContext;
use super::dock_panel::{DockPanel, PanelTools, PanelView};
use super::hit_table::HitTable;
use super::number::TableNumber;
use super::table::{Rows, TableCell, TableColumn, TableView};
use super::value_menu::PanelValue;
use crate::base::progress::Progress;
use crate::base::time::{duration_text, grouped_digits, seconds_text};
use crate::export::values::TableSource;
use crate::query::Snapshot;
use crate::query::filter::{Filter, quoted};
use crate::query::search::{Hit, Hits};
use crate::scene::labels::shown;
use crate::scene::titles::track_title;
use crate::store::lane::RowIdx;
use crate::ui::command::{Command, PanelCommand, TimelineCommand};
use crate::ui::command_line::PanelCommandLine;
use crate::ui::questions::{Question, QuestionKind, SelectedScope};
use crate::ui::theme::Theme;
use crate::ui::widgets::field;

/// The name of the table among the layouts that are kept.
const TABLE: &str = "hits";

/// The height of a row, in points.
const ROW_POINTS: f32 = 19.0;

/// Below this width of the dock, the hits have all of it.
const BESIDE_POINTS: f32 = 900.0;

/// The columns of the table. Hits are in order of time and come in pages, so that no other order is at hand.
const COLUMNS: [TableColumn; 4] = [
    TableColumn { title: "Name", width: 140.0, is_number: false, is_sortable: false },
    TableColumn { title: "Duration", width: 76.0, is_number: true, is_sortable: false },
    TableColumn { title: "Start", width: 120.0, is_number: true, is_sortable: false },
    TableColumn { title: "Track", width: 140.0, is_number: false, is_sortable: false },
];

/// The hits of a page: more than a list on the largest screen shows, so that one notch of the wheel stays in it.
const PAGE_HITS: usize = 200;

/// The search field, its hits and the list of them.
#[derive(Debug)]
pub(crate) struct SearchPanel {
    text: String,
    focuses: bool,
    error: Option<String>,
    hits: Option<Hits>,
    table: TableView,
    page: (u64, Vec<Hit>),
    asked: Option<u64>,
    /// The hit that was gone to last, with its number.
    current: Option<(u64, Hit)>,
    /// The question to ask when the hits are there: a fast typist presses Enter before that.
    awaits_hits: Option<Question>,
    scope: SelectedScope,
    shows_beside: bool,
}

impl Default for SearchPanel {
    fn default() -> Self {
        Self {
            text: String::new(),
            focuses: false,
            error: None,
            hits: None,
            table: TableView::new(TABLE, ROW_POINTS, None),
            page: (0, Vec::new()),
            asked: None,
            current: None,
            awaits_hits: None,
            scope: SelectedScope::default(),
            shows_beside: false,
        }
    }
}

impl SearchPanel {
    /// Lets the user type from the next frame on.
    pub(crate) fn focus(&mut self) {
        self.focuses = true;
    }

    /// Takes a filter in place of the one that was typed.
    pub(crate) fn set_text(&mut self, text: String) -> Option<Question> {
        self.focuses = true;
        self.text = text;
        self.question()
    }

    /// The hits of the last search.
    #[must_use]
    pub(crate) fn hits(&self) -> Option<&Hits> {
        self.hits.as_ref()
    }

    /// Drops the hits: everything is shown again.
    pub(crate) fn clear(&mut self) {
        (self.hits, self.current, self.awaits_hits) = (None, None, None);
    }

    /// Whether the last frame had room for details beside the hits.
    #[must_use]
    pub(crate) fn shows_beside(&self) -> bool {
        self.shows_beside
    }

    /// The reason why there is no hit, with the one thing to do. The bar says what is wrong with a filter.
    #[must_use]
    fn absence(&self) -> Option<&'static str> {
        match &self.hits {
            None if self.text.trim().is_empty() => Some("Type above what to look for: a part of a name, or dur>1ms."),
            Some(hits) if hits.total() == 0 => Some("Nothing passes this filter: type less of it above."),
            _ => None,
        }
    }

    /// Searches in another scope from now on; returns the question if it is another one.
    pub(crate) fn set_scope(&mut self, scope: &SelectedScope) -> Option<Question> {
        if self.scope == *scope {
            return None;
        }
        self.scope = scope.clone();
        self.question()
    }

    /// Takes the hits; returns the question that waited for them.
    pub(crate) fn take_hits(&mut self, hits: Hits) -> Option<Question> {
        self.hits = Some(hits);
        (self.page, self.asked, self.current) = ((0, Vec::new()), None, None);
        self.table.reveal(0);
        self.awaits_hits.take()
    }

    /// Takes the hits from the `first` on, for the list.
    pub(crate) fn take_page(&mut self, first: u64, hits: Vec<Hit>) {
        self.page = (first, hits);
        self.asked = None;
    }

    /// Takes a hit with its number, and returns its row.
    pub(crate) fn take_neighbour(&mut self, hit: Option<(u64, Hit)>) -> Option<RowIdx> {
        let (number, hit) = hit?;
        self.current = Some((number, hit));
        self.table.reveal(number);
        Some(hit.row)
    }

    /// The question for the text; `None` if the text does not parse or is empty.
    fn question(&mut self) -> Option<Question> {
        (self.hits, self.awaits_hits) = (None, None);
        match Filter::parse(&self.text) {
            Ok(filter) => {
                self.error = None;
                (!filter.is_empty()).then(|| Question::Search(self.text.clone(), self.scope.clone()))
            }
            Err(error) => {
                self.error = Some(error.to_string());
                None
            }
        }
    }

    /// The field, the number of hits and the buttons, on one line. `from` is the start of the search for the next hit:
    /// the selected row, or else the start of the view.
    pub(crate) fn show_bar(
        &mut self,
        ui: &mut Ui,
        from: (i64, Option<RowIdx>),
        progress: Option<&Progress>,
        theme: &Theme,
    ) -> Vec<Command> {
        const FIELD_POINTS: f32 = 380.0;
        /// The room of the buttons and the number of hits.
        const REST_POINTS: f32 = 370.0;
        let mut commands = Vec::new();
        ui.horizontal_centered(|ui| {
            let hint = "Search: name, /regex/, ~letters, dur>1ms, cat:, thread:, process:, in:, arg.key=";
            let width = (ui.available_width() - REST_POINTS).clamp(100.0, FIELD_POINTS);
            let response = field::add(ui, &mut self.text, |field| {
                field.hint_text(hint).background_color(theme.canvas).desired_width(width)
            });
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Search"));
            if std::mem::take(&mut self.focuses) {
                response.request_focus();
            }
            // Escape is for this field: else it would take the focus away and also clear the selection.
            let filter = egui::EventFilter { escape: true, horizontal_arrows: true, ..egui::EventFilter::default() };
            ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
            if response.changed() {
                let command = self.question().map_or(PanelCommand::StopSearch, PanelCommand::Ask);
                commands.push(Command::Panel(command));
            }
            let (enter, back) = ui.input(|input| (input.key_pressed(Key::Enter), input.modifiers.shift));
            if response.lost_focus() && enter {
                response.request_focus();
                commands.extend(self.neighbour(!back, from).map(ask));
            }
            if response.has_focus() && ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape)) {
                response.surrender_focus();
                commands.push(Command::Panel(PanelCommand::CloseSearch));
            }
            let can_go = self.hits.as_ref().is_some_and(|hits| hits.total() > 0);
            ui.add_enabled_ui(can_go, |ui| {
                if ui.button("Previous").on_hover_text("Shift + Enter, Shift + F3").clicked() {
                    commands.extend(self.neighbour(false, from).map(ask));
                }
                if ui.button("Next").on_hover_text("Enter, F3").clicked() {
                    commands.extend(self.neighbour(true, from).map(ask));
                }
            });
            self.show_state(ui, progress, theme);
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if ui.button("Close").on_hover_text("Esc").clicked() {
                    commands.push(Command::Panel(PanelCommand::CloseSearch));
                }
            });
        });
        commands
    }

    fn show_state(&self, ui: &mut Ui, progress: Option<&Progress>, theme: &Theme) {
        if let Some(error) = &self.error {
            ui.add(egui::Label::new(RichText::new(error).color(theme.error)).truncate());
        } else if let Some(progress) = progress {
            let view = progress.view();
            ui.add(egui::ProgressBar::new(view.fraction().unwrap_or(0.0)).desired_width(80.0).desired_height(6.0));
            ui.label(RichText::new(format!("{} so far", hits_text(view.events))).color(theme.weak_text));
        } else if let Some(hits) = &self.hits {
            let text = match &self.current {
                Some((number, _)) => {
                    format!("{} of {}", grouped_digits(number + 1), hits_text(hits.total()))
                }
                None => hits_text(hits.total()),
            };
            ui.label(text);
        }
    }

    /// Asks for the hit after `from`, or before it; while hits are still counted, once that is done.
    pub(crate) fn neighbour(&mut self, forward: bool, from: (i64, Option<RowIdx>)) -> Option<Question> {
        let question = Question::Neighbour { forward, from };
        let Some(hits) = &self.hits else {
            self.awaits_hits = Some(question);
            return None;
        };
        (hits.total() > 0).then_some(question)
    }

    /// The hits in all of the room that is left.
    fn show_list(
        &mut self,
        ui: &mut Ui,
        snapshot: &Snapshot,
        absence: Option<&str>,
        context: PanelContext<'_>,
    ) -> Vec<Command> {
        let total = self.hits.as_ref().map_or(0, Hits::total);
        let current = self.current.map(|(number, _)| number);
        let mut rows = HitRows { total, page: &self.page, current, snapshot };
        let look = context.table(TABLE, absence.filter(|_| total == 0));
        let mut shown = self.table.show(ui, &COLUMNS, &mut rows, &look);
        if let Some(row) = shown.missing {
            self.ask_page(row, &mut shown.commands);
        }
        if let Some((number, hit)) = shown.clicked.and_then(|row| Some((row, hit_at(&self.page, row)?))) {
            self.current = Some((number, hit));
            shown.commands.push(Command::Timeline(TimelineCommand::Reveal(hit.row)));
        }
        shown.commands
    }

    fn ask_page(&mut self, row: u64, commands: &mut Vec<Command>) {
        if self.asked.is_none() {
            // Some before, for the wheel.
            let first = row.saturating_sub(PAGE_HITS as u64 / 4);
            self.asked = Some(first);
            commands.push(Command::Panel(PanelCommand::Ask(Question::Page(first, PAGE_HITS))));
        }
    }
}

impl DockPanel for SearchPanel {
    fn forget(&mut self) -> Option<Question> {
        *self = Self { text: std::mem::take(&mut self.text), ..Self::default() };
        self.question()
    }

    fn fail(&mut self, kind: QuestionKind, message: &str) {
        if kind == QuestionKind::Search && !message.is_empty() {
            self.error = Some(message.to_owned());
        }
    }

    fn tools(&self) -> PanelTools {
        let has_hits = self.hits.as_ref().is_some_and(|hits| hits.total() > 0);
        PanelTools { exports: has_hits, has_command: self.hits.is_some(), ..PanelTools::default() }
    }

    fn to_export(&self, snapshot: &Snapshot) -> Option<Box<dyn TableSource>> {
        Some(Box::new(HitTable { snapshot: snapshot.clone(), hits: self.hits.clone()? }))
    }

    fn command_line(&self) -> Option<PanelCommandLine> {
        Some(PanelCommandLine { query: Some(self.text.trim().to_owned()), ..PanelCommandLine::new("search") })
    }

    fn count(&self) -> String {
        self.hits.as_ref().map(|hits| grouped_digits(hits.total())).unwrap_or_default()
    }

    /// The hits, and beside them the details of the one that was gone to, where there is room.
    fn show(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        let is_counting = (view.progress)(QuestionKind::Search).is_some();
        let absence = if is_counting { None } else { self.absence() };
        let place = ui.available_rect_before_wrap();
        self.shows_beside = place.width() > BESIDE_POINTS;
        let Some(details) = view.details.filter(|_| self.shows_beside) else {
            return self.show_list(ui, view.snapshot(), absence, view.context);
        };
        let mut commands = Vec::new();
        let list = place.with_max_x(place.left() + place.width() * 0.45);
        ui.scope_builder(egui::UiBuilder::new().max_rect(list), |ui| {
            commands.extend(self.show_list(ui, view.snapshot(), absence, view.context));
        });
        let beside = place.with_min_x(list.right() + 14.0);
        ui.scope_builder(egui::UiBuilder::new().max_rect(beside), |ui| {
            commands.extend(details.show(ui, view.context.theme));
        });
        commands
    }
}

/// A hit, if it is in the page.
fn hit_at((first, hits): &(u64, Vec<Hit>), number: u64) -> Option<Hit> {
    hits.get(usize::try_from(number.checked_sub(*first)?).ok()?).copied()
}

/// The hits as rows of a table: those of one page are at hand.
struct HitRows<'a> {
    total: u64,
    page: &'a (u64, Vec<Hit>),
    current: Option<u64>,
    snapshot: &'a Snapshot,
}

impl HitRows<'_> {
    fn name(&self, hit: &Hit) -> Cow<'_, str> {
        shown(self.snapshot.names().get(hit.name).text)
    }

    fn track(&self, hit: &Hit) -> String {
        track_title(self.snapshot.track(self.snapshot.lane(hit.row.lane).track)).0
    }

    fn start(&self, hit: &Hit) -> String {
        seconds_text(hit.start_ns.saturating_sub(self.snapshot.start_ns()))
    }
}

impl Rows for HitRows<'_> {
    fn count(&self) -> u64 {
        self.total
    }

    fn is_loaded(&self, row: u64) -> bool {
        hit_at(self.page, row).is_some()
    }

    fn is_chosen(&self, row: u64) -> bool {
        self.current == Some(row)
    }

    fn cell(&self, row: u64, column: usize) -> TableCell<'_> {
        let Some(hit) = hit_at(self.page, row) else { return TableCell::Empty };
        match column {
            0 => TableCell::Text(self.name(&hit)),
            1 if hit.dur_ns > 0 => TableCell::Number(TableNumber::Duration(hit.dur_ns.into())),
            2 => TableCell::Text(format!("{} s", self.start(&hit)).into()),
            3 => TableCell::Text(self.track(&hit).into()),
            _ => TableCell::Empty,
        }
    }

    fn spoken(&self, row: u64) -> String {
        let Some(hit) = hit_at(self.page, row) else { return String::new() };
        let (name, track, start) = (self.name(&hit), self.track(&hit), self.start(&hit));
        let dur = if hit.dur_ns > 0 { format!(", {}", duration_text(hit.dur_ns)) } else { String::new() };
        format!("{name}, {track}, at {start} s{dur}")
    }

    fn value(&self, row: u64, column: usize) -> PanelValue {
        let Some(hit) = hit_at(self.page, row) else { return PanelValue::default() };
        let title = COLUMNS[column].title;
        match column {
            0 => PanelValue::from_name(self.snapshot.names().get(hit.name).text, hit.name),
            1 if hit.dur_ns > 0 => {
                PanelValue::new(title, hit.dur_ns.to_string()).found_by(format!("dur={}ns", hit.dur_ns))
            }
            2 => PanelValue::new(title, self.start(&hit)),
            3 => {
                let track = self.track(&hit);
                let name = &self.snapshot.track(self.snapshot.lane(hit.row.lane).track).name;
                let filter = (!name.is_empty()).then(|| format!("thread:{}", quoted(name)));
                PanelValue { filter, ..PanelValue::new(title, track) }
            }
            _ => PanelValue::new(title, ""),
        }
    }

    fn summary(&self, first: u64, in_view: u64) -> String {
        match self.total {
            0 => "No hits".to_owned(),
            total => format!("Hits {} to {} of {total}", first + 1, (first + in_view).min(total)),
        }
    }
}

fn hits_text(count: u64) -> String {
    match count {
        0 => "No hits".to_owned(),
        1 => "1 hit".to_owned(),
        count => format!("{} hits", grouped_digits(count)),
    }
}

fn ask(question: Question) -> Command {
    Command::Panel(PanelCommand::Ask(question))
}
