//! The search panel: a field with the number of hits, a list of hits by any column, and buttons to the next and
//! previous hit.

mod absence;
mod examples;
mod order;
mod unanswered;

use std::sync::Arc;

use egui::{Event, Key, Modifiers, RichText, Ui};

use self::examples::show_examples;
use self::unanswered::UnansweredNeighbour;
use super::dock_panel::{DockPanel, PanelTools, PanelView};
use super::hit_list::{HitList, ListContent};
use super::hit_table::{HitExport, HitTableRows};
use super::ordered_list::OrderedList;
use crate::base::csv::Cells;
use crate::base::direction::Direction;
use crate::base::progress::{Progress, Stage};
use crate::base::time::{counted, grouped_digits};
use crate::export::values::TableSource;
use crate::query::Snapshot;
use crate::query::filter::Filter;
use crate::query::ordered_rows::{ListColumn, ListOrder};
use crate::query::search::{Hit, Hits};
use crate::store::lane::RowIdx;
use crate::store::live_lanes::LaneMoves;
use crate::ui::command::{Command, DERIVE_CHOICES, DerivedCommand, PanelCommand};
use crate::ui::command_line::PanelCommandLine;
use crate::ui::panel::SavedSearch;
use crate::ui::questions::{HitsOf, NeighbourHit, Question, QuestionKind};
use crate::ui::selected_scope::SelectedScope;
use crate::ui::theme::Theme;
use crate::ui::widgets::field;
use crate::ui::widgets::spoken;
use crate::ui::widgets::tip_text::tip_text;

/// How the field of the search takes the keyboard.
#[derive(Debug, Clone, Copy)]
enum FieldFocus {
    /// The field selects its text, which typing replaces.
    Select,
    /// The field moves its cursor to the end of its text.
    End,
}

/// The search field, its hits and their list.
#[derive(Debug)]
pub(crate) struct SearchPanel {
    text: String,
    /// Whether the next frame gives the keyboard to the field.
    focus: Option<FieldFocus>,
    /// Whether it was closed since its last query.
    is_closed: bool,
    /// The reason why the text is no filter.
    error: Option<String>,
    /// Whether the bar is too narrow for the reason, so that the list has it too.
    is_error_cut: bool,
    /// The reason why the last query of its hits failed.
    failure: Option<String>,
    hits: Option<Hits>,
    order: ListOrder,
    /// The first hits in an order other than time.
    ordered: OrderedList,
    /// Whether the first of these hits have been queried.
    has_asked_ordered: bool,
    list: HitList,
    current: Option<NeighbourHit>,
    /// A selected row and its number among the hits.
    number: Option<(RowIdx, u64)>,
    /// The last selected row whose number was queried.
    asked_number: Option<RowIdx>,
    /// The query for a neighbour that has no answer yet. It runs once the hits arrive, since a fast typist presses
    /// Enter before. It runs again if the hits are counted again before its answer arrives.
    unanswered: Option<UnansweredNeighbour>,
    scope: SelectedScope,
}

impl Default for SearchPanel {
    fn default() -> Self {
        Self {
            text: String::new(),
            focus: None,
            is_closed: false,
            error: None,
            is_error_cut: false,
            failure: None,
            hits: None,
            order: ListOrder::TIME,
            ordered: OrderedList::default(),
            has_asked_ordered: false,
            list: HitList::new("hits"),
            current: None,
            number: None,
            asked_number: None,
            unanswered: None,
            scope: SelectedScope::default(),
        }
    }
}

impl SearchPanel {
    /// Focuses the field in the next frame, and selects its text, which typing replaces. Returns the query for the text
    /// if the search was closed before.
    pub(crate) fn reopen(&mut self) -> Option<Question> {
        self.focus = Some(FieldFocus::Select);
        if std::mem::take(&mut self.is_closed) { self.question() } else { None }
    }

    /// Replaces the typed filter, and gives the keyboard to the field. Returns the query for it, unless the filter is
    /// invalid or empty.
    pub(crate) fn set_text(&mut self, text: String) -> Option<Question> {
        self.focus = Some(FieldFocus::End);
        self.highlight(text)
    }

    /// Replaces the typed filter; returns its query, unless it is invalid or empty.
    pub(crate) fn highlight(&mut self, text: String) -> Option<Question> {
        self.text = text;
        self.question()
    }

    /// Returns the text and the order, to be saved with the trace.
    #[must_use]
    pub(crate) fn to_saved(&self) -> SavedSearch {
        SavedSearch::new(&self.text, self.order == ListOrder::LONGEST)
    }

    /// Restores the saved search of a scope, unless the user has typed a search. Returns the query of an open panel; a
    /// closed panel queries when it is opened.
    pub(crate) fn restore(&mut self, saved: SavedSearch, scope: &SelectedScope, is_open: bool) -> Option<Question> {
        if !self.text.is_empty() || saved.text.is_empty() {
            return None;
        }
        self.order = if saved.is_longest { ListOrder::LONGEST } else { ListOrder::TIME };
        self.scope = scope.clone();
        let question = self.highlight(saved.text);
        self.is_closed = !is_open;
        question.filter(|_| is_open)
    }

    /// Returns the hits of the last search.
    #[must_use]
    pub(crate) fn hits(&self) -> Option<&Hits> {
        self.hits.as_ref()
    }

    /// Drops the hits, which ends the dimming. The text stays for the next time.
    pub(crate) fn close(&mut self) {
        self.is_closed = true;
        (self.hits, self.current, self.unanswered) = (None, None, None);
        (self.number, self.asked_number) = (None, None);
    }

    /// Sets the scope of the next query.
    pub(crate) fn search_in(&mut self, scope: SelectedScope) {
        self.scope = scope;
    }

    /// Searches in another scope from now on. Returns the query if the scope has changed.
    pub(crate) fn set_scope(&mut self, scope: &SelectedScope) -> Option<Question> {
        if self.scope == *scope {
            return None;
        }
        self.scope = scope.clone();
        self.question()
    }

    /// Sets the hits, and returns the query that waited for them.
    pub(crate) fn set_hits(&mut self, hits: Hits) -> Option<Question> {
        (self.current, self.has_asked_ordered, self.asked_number) = (None, false, None);
        self.failure = None;
        // The hits of a trace that has grown keep the scroll position.
        if self.hits.replace(hits).is_some() {
            self.list.renew();
        } else {
            self.list.restart();
        }
        let has_hits = self.hits.as_ref().is_some_and(|hits| hits.total() > 0);
        self.unanswered = self.unanswered.filter(|_| has_hits);
        self.unanswered.map(UnansweredNeighbour::question)
    }

    /// Sets the loaded page of the list, whose first hit has the index `first`.
    pub(crate) fn set_page(&mut self, first: u64, hits: Vec<Hit>) {
        self.failure = None;
        self.list.set_page(first, hits);
    }

    /// Sets the first hits; the scroll position stays if the list is extended or the trace has grown.
    pub(crate) fn set_ordered(&mut self, hits: Arc<Vec<Hit>>) {
        self.failure = None;
        if self.ordered.hits().is_none() {
            self.list.restart();
        }
        self.ordered.set_hits(hits);
    }

    /// Makes a hit current, and returns its row.
    pub(crate) fn set_neighbour(&mut self, hit: Option<NeighbourHit>) -> Option<RowIdx> {
        (self.unanswered, self.failure) = (None, None);
        let current = hit?;
        self.current = Some(current);
        let is_by_time = self.order == ListOrder::TIME;
        let number = if is_by_time { Some(current.number) } else { self.ordered.position(current.hit.row) };
        if let Some(number) = number {
            self.list.reveal(number);
        }
        Some(current.hit.row)
    }

    /// Drops all answers. Returns the query for the text; `None` if the text is invalid or empty.
    fn question(&mut self) -> Option<Question> {
        (self.hits, self.unanswered, self.is_closed) = (None, None, false);
        self.failure = None;
        (self.ordered, self.has_asked_ordered) = (OrderedList::default(), false);
        (self.number, self.asked_number) = (None, None);
        self.parse()
    }

    /// Parses the text, and records what is wrong with it. Returns its query; `None` if it is invalid or empty.
    fn parse(&mut self) -> Option<Question> {
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

    /// Shows the field, the number of hits and the buttons, on two lines in a narrow window. The next hit is searched
    /// from `from`: the selected row, or else the start of the view.
    pub(crate) fn show_bar(
        &mut self,
        ui: &mut Ui,
        from: (i64, Option<RowIdx>),
        progress: Option<&Progress>,
        theme: &Theme,
    ) -> Vec<Command> {
        /// Space for the buttons and the number of hits.
        const REST_POINTS: f32 = 500.0;
        /// Below this width the bar has two lines.
        const LINE_POINTS: f32 = 650.0;
        let mut commands = Vec::new();
        if ui.available_width() >= LINE_POINTS {
            ui.horizontal(|ui| {
                self.show_field(ui, ui.available_width() - REST_POINTS, from, theme, &mut commands);
                // The buttons come first, because the label of an error takes the rest of the line.
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    commands.extend(show_close(ui));
                    commands.extend(self.show_derive(ui));
                    ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                        self.show_hits(ui, from, progress, theme, &mut commands);
                    });
                });
            });
            return commands;
        }
        ui.horizontal(|ui| {
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                commands.extend(show_close(ui));
                commands.extend(self.show_derive(ui));
                ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                    self.show_field(ui, ui.available_width(), from, theme, &mut commands);
                });
            });
        });
        ui.horizontal(|ui| self.show_hits(ui, from, progress, theme, &mut commands));
        commands
    }

    /// Shows the field in some width.
    fn show_field(
        &mut self,
        ui: &mut Ui,
        room: f32,
        from: (i64, Option<RowIdx>),
        theme: &Theme,
        commands: &mut Vec<Command>,
    ) {
        const FIELD_POINTS: f32 = 380.0;
        let hint = "Search: a part of a name, or dur>1ms";
        let (width, is_cut) = field::grown_width(ui, &self.text, FIELD_POINTS, room);
        let response = field::add(ui, &mut self.text, |field| {
            let field = field.hint_text(hint).background_color(theme.canvas).desired_width(width);
            // The id does not depend on the line of the field, so the field keeps the focus.
            field.id(egui::Id::unique("field of the search"))
        });
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Search"));
        if is_cut {
            response.clone().on_hover_text(tip_text(&self.text));
        }
        if let Some(focus) = self.focus.take() {
            response.request_focus();
            match focus {
                FieldFocus::Select => field::select_all(ui, &response, &self.text),
                FieldFocus::End => field::move_to_end(ui, &response, &self.text),
            }
        }
        // Escape clears this field; otherwise it would drop the focus and clear the selection too.
        let filter = egui::EventFilter { escape: true, horizontal_arrows: true, ..egui::EventFilter::default() };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
        if response.changed() {
            let command = self.question().map_or(PanelCommand::StopSearch, PanelCommand::Ask);
            commands.push(Command::Panel(command));
        }
        let entered = ui.input(|input| input.events.iter().find_map(modifiers_of_enter));
        if let Some(modifiers) = entered.filter(|_| response.lost_focus()) {
            response.request_focus();
            let direction = if modifiers.shift { Direction::Backward } else { Direction::Forward };
            commands.extend(self.neighbour(direction, from).map(Command::from));
        }
        if response.has_focus() && ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape)) {
            response.surrender_focus();
            commands.push(PanelCommand::CloseSearch.into());
        }
    }

    /// Shows the number of hits, and the buttons to the previous and the next hit.
    fn show_hits(
        &mut self,
        ui: &mut Ui,
        from: (i64, Option<RowIdx>),
        progress: Option<&Progress>,
        theme: &Theme,
        commands: &mut Vec<Command>,
    ) {
        let can_go = self.hits.as_ref().is_some_and(|hits| hits.total() > 0);
        ui.add_enabled_ui(can_go, |ui| {
            if ui.button("Previous").on_hover_text("Shift + Enter, Shift + F3").clicked() {
                commands.extend(self.neighbour(Direction::Backward, from).map(Command::from));
            }
            if ui.button("Next").on_hover_text("Enter, F3").clicked() {
                commands.extend(self.neighbour(Direction::Forward, from).map(Command::from));
            }
        });
        commands.extend(self.ask_number(from.1).map(Command::from));
        self.show_state(ui, from.1, progress, theme);
    }

    /// Shows the menu that derives a track from the search.
    fn show_derive(&self, ui: &mut Ui) -> Option<Command> {
        let mut chosen = None;
        let can_derive = self.error.is_none() && !self.text.trim().is_empty();
        ui.add_enabled_ui(can_derive, |ui| {
            ui.menu_button("Derive track", |ui| {
                for (text, kind) in DERIVE_CHOICES {
                    if ui.button(text).clicked() {
                        chosen = Some(DerivedCommand::Add(kind, self.scope.with_more(self.text.trim())));
                        ui.close();
                    }
                }
            });
        });
        chosen.map(Command::from)
    }

    /// Returns why there are no hits, or not all of them.
    fn problem(&self) -> Option<&str> {
        self.error.as_deref().or(self.failure.as_deref())
    }

    fn show_state(&mut self, ui: &mut Ui, selected: Option<RowIdx>, progress: Option<&Progress>, theme: &Theme) {
        if let Some(error) = self.problem() {
            let font = egui::TextStyle::Body.resolve(ui.style());
            let width = ui.painter().layout_no_wrap(error.to_owned(), font, theme.error).size().x;
            let is_cut = width > ui.available_width();
            spoken::announce(&ui.add(egui::Label::new(RichText::new(error).color(theme.error)).truncate()));
            self.is_error_cut = is_cut;
        } else if let Some(progress) = progress.filter(|_| self.hits.is_none()) {
            let view = progress.view();
            ui.add(egui::ProgressBar::new(view.fraction().unwrap_or(0.0)).desired_width(80.0).desired_height(6.0));
            let is_known = view.stage == Stage::Listing;
            let so_far = if is_known { "" } else { " so far" };
            ui.label(RichText::new(format!("{}{so_far}", hits_text(view.events))).color(theme.weak_text));
        } else if let Some(hits) = &self.hits {
            let current = self.current.filter(|current| Some(current.hit.row) == selected);
            let number = self.number.filter(|(row, _)| Some(*row) == selected).map(|(_, number)| number);
            let text = match current.map(|current| current.number).or(number) {
                Some(number) => {
                    let wrapped = match current.and_then(|current| current.wrapped) {
                        Some(Direction::Forward) => " (from the start)",
                        Some(Direction::Backward) => " (from the end)",
                        None => "",
                    };
                    format!("{} of {}{wrapped}", grouped_digits(number + 1), hits_text(hits.total()))
                }
                None => hits_text(hits.total()),
            };
            spoken::announce(&ui.label(text));
        }
    }

    /// Queries the hit after or before `from`, or else the first or last hit. While hits are still being counted, the
    /// query waits for them.
    pub(crate) fn neighbour(&mut self, direction: Direction, from: (i64, Option<RowIdx>)) -> Option<Question> {
        let unanswered = UnansweredNeighbour { direction, from };
        let Some(hits) = &self.hits else {
            self.unanswered = Some(unanswered);
            return None;
        };
        self.unanswered = Some(unanswered).filter(|_| hits.total() > 0);
        self.unanswered.map(UnansweredNeighbour::question)
    }

    /// Queries the number of the selected row among the hits, once, unless it is the last neighbour.
    fn ask_number(&mut self, selected: Option<RowIdx>) -> Option<Question> {
        let row = selected.filter(|_| self.hits.as_ref().is_some_and(|hits| hits.total() > 0))?;
        let is_known = self.current.is_some_and(|current| current.hit.row == row);
        let is_asked = is_known || self.asked_number == Some(row);
        self.asked_number = Some(row);
        (!is_asked).then_some(Question::NumberOf(HitsOf::Search, row))
    }

    /// Sets the number of a row among the hits; `None` if it is not a hit.
    pub(crate) fn set_number(&mut self, row: RowIdx, number: Option<u64>) {
        self.number = number.map(|number| (row, number));
    }
}

impl DockPanel for SearchPanel {
    fn forget(&mut self) -> Option<Question> {
        let (order, is_closed, unanswered) = (self.order, self.is_closed, self.unanswered);
        let (text, scope) = (std::mem::take(&mut self.text), std::mem::take(&mut self.scope));
        *self = Self { text, is_closed, order, scope, ..Self::default() };
        let question = self.parse();
        self.unanswered = unanswered.map(UnansweredNeighbour::without_row).filter(|_| question.is_some());
        question
    }

    fn renew(&mut self) -> Option<Question> {
        // The first hits are queried again once the new hits arrive.
        self.parse()
    }

    fn move_rows(&mut self, moves: &LaneMoves) {
        self.list.move_rows(moves);
        let moved = |current: NeighbourHit| Some(NeighbourHit { hit: current.hit.moved(moves)?, ..current });
        self.current = self.current.and_then(moved);
        self.number = self.number.and_then(|(row, number)| Some((moves.row(row)?, number)));
        self.asked_number = self.asked_number.and_then(|row| moves.row(row));
        self.unanswered = self.unanswered.map(|unanswered| unanswered.moved(moves));
        self.ordered.move_rows(moves);
    }

    fn fail(&mut self, kind: QuestionKind, message: &str) {
        if kind == QuestionKind::HitPage {
            self.list.fail_page();
        }
        let is_of_hits = matches!(
            kind,
            QuestionKind::Search | QuestionKind::HitPage | QuestionKind::OrderedHits | QuestionKind::Neighbour
        );
        if is_of_hits && !message.is_empty() {
            self.failure = Some(message.to_owned());
        }
        if kind == QuestionKind::OrderedHits {
            self.ordered.fail();
        }
        if kind == QuestionKind::Neighbour {
            self.unanswered = None;
        }
    }

    fn stop(&mut self) -> &'static [QuestionKind] {
        // In time order, the hits are known.
        self.order = ListOrder::TIME;
        self.restart();
        &[QuestionKind::OrderedHits]
    }

    fn shows_details(&self) -> bool {
        self.list.shows_beside()
    }

    fn tools(&self) -> PanelTools {
        let has_hits = match self.order {
            ListOrder::TIME => self.hits.as_ref().is_some_and(|hits| hits.total() > 0),
            _ => !self.ordered_hits().is_empty(),
        };
        PanelTools {
            copies: has_hits,
            exports: has_hits,
            has_command: self.hits.is_some() && self.command_line().is_some(),
        }
    }

    fn copied(&self, snapshot: &Snapshot, cells: Cells) -> Option<String> {
        self.hits.as_ref()?;
        Some(self.list.copied(self.list_rows(&self.ordered_hits()), snapshot, cells))
    }

    fn copied_part(&self) -> Option<(u64, u64)> {
        self.list.copied_part(self.list_rows(&[]))
    }

    fn to_export(&self, snapshot: &Snapshot) -> Option<Box<dyn TableSource>> {
        let rows = match self.order {
            ListOrder::TIME => HitTableRows::Hits(self.hits.clone()?),
            _ => HitTableRows::List(self.ordered.hits().cloned()?),
        };
        Some(Box::new(HitExport::new(snapshot, rows, self.order.column != ListColumn::Duration)))
    }

    fn command_line(&self) -> Option<PanelCommandLine> {
        let text = self.text.trim();
        Some(match self.order {
            ListOrder::TIME => PanelCommandLine { query: Some(text.to_owned()), ..PanelCommandLine::new("search") },
            ListOrder::LONGEST => {
                let (options, scope) = (self.ordered.command_options(), self.scope.with_more(text));
                PanelCommandLine { options, scope: Some(scope), ..PanelCommandLine::new("spans") }
            }
            // The command lists rows in these two orders.
            _ => return None,
        })
    }

    fn count(&self) -> String {
        self.hits.as_ref().map(|hits| grouped_digits(hits.total())).unwrap_or_default()
    }

    fn show(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        // The bar says what is wrong with a filter, and the list shows how it is written. A narrow bar cuts the reason.
        if self.text.trim().is_empty() || self.error.is_some() {
            if let Some(error) = self.error.as_ref().filter(|_| self.is_error_cut) {
                ui.label(RichText::new(error).color(view.context.theme.weak_text));
            }
            let list = egui::ScrollArea::vertical().auto_shrink(false);
            return list.show(ui, |ui| show_examples(ui, view.context.theme)).inner.into_iter().collect();
        }
        let is_counting = (view.progress)(QuestionKind::Search).is_some();
        let absence = if is_counting { None } else { self.absence(view.snapshot()) };
        let progress = (view.progress)(QuestionKind::OrderedHits);
        let mut commands: Vec<Command> = self.show_order(ui, progress, view.context.theme).into_iter().collect();
        commands.extend(self.ask_ordered().map(Command::from));
        let ordered = self.ordered_hits();
        let (rows, order) = (self.list_rows(&ordered), self.order);
        commands.extend(self.list.show(ui, view, &ListContent { rows, order, absence: absence.as_deref() }));
        if let Some(order) = self.list.take_order() {
            self.order = order;
            self.restart();
        }
        commands
    }
}

fn show_close(ui: &mut Ui) -> Option<Command> {
    let is_closed = ui.button("Close").on_hover_text("Esc").clicked();
    is_closed.then_some(Command::Panel(PanelCommand::CloseSearch))
}

fn hits_text(count: u64) -> String {
    match count {
        0 => "No hits".to_owned(),
        count => counted(count, "hit"),
    }
}

/// Returns the modifier keys of a press of Enter.
fn modifiers_of_enter(event: &Event) -> Option<Modifiers> {
    match event {
        Event::Key { key: Key::Enter, pressed: true, modifiers, .. } => Some(*modifiers),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
