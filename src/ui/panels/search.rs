//! Search: a field with the number of hits, a list of them in order of time, and the ways to the next and the one before.
//! The list has no end and is never made: what is in view is asked for, a page at a time.

use egui::{Key, Modifiers, Rect, RichText, Sense, Ui, pos2, vec2};

use crate::base::progress::Progress;
use crate::base::time::{duration_text, grouped_digits, seconds_text};
use crate::query::Snapshot;
use crate::query::filter::Filter;
use crate::query::search::{Hit, Hits};
use crate::scene::labels::{shorten_middle, shown};
use crate::scene::titles::track_title;
use crate::store::lane::RowIdx;
use crate::ui::command::{Command, PanelCommand, TimelineCommand};
use crate::ui::questions::Question;
use crate::ui::theme::Theme;
use crate::ui::widgets::field;
use crate::ui::widgets::reading_order::on_screen;

/// The height of a row of the list, in points.
const ROW_POINTS: f32 = 34.0;

/// How many hits are asked for at once: more than a list on the largest screen shows, so that a notch of the wheel is there.
const PAGE_HITS: usize = 200;

/// The panel.
#[derive(Debug, Default)]
pub(crate) struct SearchPanel {
    is_open: bool,
    text: String,
    focuses: bool,
    error: Option<String>,
    hits: Option<Hits>,
    /// The number of the first hit in the list.
    first: u64,
    /// Parts of a row that the wheel has scrolled.
    scrolled: f32,
    page: (u64, Vec<Hit>),
    asked: Option<u64>,
    /// The hit that was gone to last, with its number.
    current: Option<(u64, Hit)>,
    /// To go on when the hits are there: who types fast presses Enter before that.
    awaits_hits: Option<Question>,
}

impl SearchPanel {
    /// Opens the panel and lets the user type.
    pub(crate) fn open(&mut self) {
        (self.is_open, self.focuses) = (true, true);
    }

    /// Opens it with a filter.
    pub(crate) fn open_with(&mut self, text: String) -> Option<Question> {
        self.open();
        self.text = text;
        self.question()
    }

    /// Whether it is shown.
    #[must_use]
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// What was found last.
    #[must_use]
    pub(crate) fn hits(&self) -> Option<&Hits> {
        self.hits.as_ref()
    }

    /// Forgets everything that was found: another capture is open. Returns what is to be asked of it.
    pub(crate) fn forget(&mut self) -> Option<Question> {
        *self = Self { is_open: self.is_open, text: std::mem::take(&mut self.text), ..Self::default() };
        self.question().filter(|_| self.is_open)
    }

    /// Closes it: everything is shown again.
    pub(crate) fn close(&mut self) {
        (self.is_open, self.hits, self.current, self.awaits_hits) = (false, None, None, None);
    }

    /// Says why there is no answer.
    pub(crate) fn fail(&mut self, message: String) {
        self.error = Some(message);
    }

    /// Takes the hits; returns the question that waited for them.
    pub(crate) fn take_hits(&mut self, hits: Hits) -> Option<Question> {
        self.hits = Some(hits);
        (self.first, self.page, self.asked, self.current) = (0, (0, Vec::new()), None, None);
        self.awaits_hits.take()
    }

    /// Takes the hits from the `first` on, for the list.
    pub(crate) fn take_page(&mut self, first: u64, hits: Vec<Hit>) {
        self.page = (first, hits);
        self.asked = None;
    }

    /// Takes a hit with its number, and returns its row.
    pub(crate) fn take_neighbour(&mut self, found: Option<(u64, Hit)>) -> Option<RowIdx> {
        let (number, hit) = found?;
        self.current = Some((number, hit));
        self.first = number.saturating_sub(3);
        Some(hit.row)
    }

    /// What the text asks for, if it can be taken.
    fn question(&mut self) -> Option<Question> {
        (self.hits, self.awaits_hits) = (None, None);
        match Filter::parse(&self.text) {
            Ok(filter) => {
                self.error = None;
                (!filter.is_empty()).then(|| Question::Search(self.text.clone()))
            }
            Err(error) => {
                self.error = Some(error.to_string());
                None
            }
        }
    }

    /// The field, the number of hits and the buttons, on one line. `from` is where the next hit is looked for: the selected
    /// row, or else the start of the view.
    pub(crate) fn show_bar(
        &mut self,
        ui: &mut Ui,
        from: (i64, Option<RowIdx>),
        progress: Option<&Progress>,
        theme: &Theme,
    ) -> Vec<Command> {
        const FIELD_POINTS: f32 = 380.0;
        /// What the buttons and the number of hits take.
        const REST_POINTS: f32 = 370.0;
        let mut commands = Vec::new();
        ui.horizontal_centered(|ui| {
            let hint = "Search: name, /regex/, ~letters, dur>1ms, cat:, thread:, process:, arg.key=";
            let width = (ui.available_width() - REST_POINTS).clamp(100.0, FIELD_POINTS);
            let response = field::add(ui, &mut self.text, |field| {
                field.hint_text(hint).background_color(theme.canvas).desired_width(width)
            });
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Search"));
            if std::mem::take(&mut self.focuses) {
                response.request_focus();
            }
            // Escape is ours: else it would take the focus away and be taken for one that lets go of the selection.
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

    /// The list, in all of the room that is left.
    pub(crate) fn show_list(&mut self, ui: &mut Ui, snapshot: &Snapshot, theme: &Theme) -> Vec<Command> {
        let mut commands = Vec::new();
        let total = self.hits.as_ref().map_or(0, Hits::total);
        let place = ui.available_rect_before_wrap();
        let in_view = (place.height() / ROW_POINTS).floor().max(1.0) as u64;
        let last_first = total.saturating_sub(in_view);
        let bar = Rect::from_min_max(pos2(place.right() - 12.0, place.top()), place.right_bottom());
        let list = Rect::from_min_max(place.min, pos2(bar.left() - 2.0, place.bottom()));
        // All of it, so that the panel keeps its width.
        ui.allocate_rect(place, Sense::hover());
        let response = ui.interact(list, ui.scope_id().with("list"), Sense::hover());
        if response.contains_pointer() {
            self.scrolled -= ui.input(|input| input.smooth_scroll_delta().y) / ROW_POINTS;
            let rows = self.scrolled.trunc();
            self.scrolled -= rows;
            self.first = self.first.saturating_add_signed(rows as i64);
        }
        self.drag_bar(ui, bar, in_view, total, theme);
        self.first = self.first.min(last_first);
        let painter = ui.painter_at(list);
        for slot in 0..in_view.min(total) {
            let number = self.first + slot;
            let hit = number.checked_sub(self.page.0).and_then(|place| self.page.1.get(usize::try_from(place).ok()?));
            let Some(&hit) = hit else {
                self.ask_page(&mut commands);
                break;
            };
            let top = list.top() + slot as f32 * ROW_POINTS;
            let row = Rect::from_min_size(pos2(list.left(), top), vec2(list.width(), ROW_POINTS - 1.0));
            let is_current = self.current.is_some_and(|(current, _)| current == number);
            let texts = HitTexts::of(&hit, snapshot);
            // By its place in the list: the focus stays there while the list scrolls.
            let response = ui.interact(row, ui.scope_id().with(("hit", slot)), Sense::click());
            response.widget_info(|| egui::WidgetInfo::selected(egui::Role::ListItem, true, is_current, texts.spoken()));
            if is_current || response.hovered() || response.has_focus() {
                painter.rect_filled(row, 3.0, if is_current { theme.raised } else { theme.header });
            }
            texts.paint(&painter, row, theme);
            if response.clicked() {
                self.current = Some((number, hit));
                commands.push(Command::Timeline(TimelineCommand::Reveal(hit.row)));
            }
        }
        let summary = match total {
            0 => "No hits".to_owned(),
            _ => format!("Hits {} to {} of {total}", self.first + 1, (self.first + in_view).min(total)),
        };
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::List, true, &summary));
        commands
    }

    fn ask_page(&mut self, commands: &mut Vec<Command>) {
        if self.asked.is_none() {
            // Some before, for the wheel.
            let first = self.first.saturating_sub(PAGE_HITS as u64 / 4);
            self.asked = Some(first);
            commands.push(Command::Panel(PanelCommand::Ask(Question::Page(first, PAGE_HITS))));
        }
    }

    /// A bar of our own: no list of widgets is as high as a hundred million rows.
    fn drag_bar(&mut self, ui: &Ui, bar: Rect, in_view: u64, total: u64, theme: &Theme) {
        const HANDLE_MIN: f32 = 20.0;
        if total <= in_view {
            return;
        }
        let response = ui.interact(bar, ui.scope_id().with("hits"), Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::slider(true, self.first as f64, "Scroll hits"));
        let handle = (bar.height() * in_view as f32 / total as f32).max(HANDLE_MIN).min(bar.height());
        let way = (bar.height() - handle).max(1.0);
        let last_first = total - in_view;
        if let Some(at) = response.interact_pointer_pos() {
            let part = f64::from((at.y - bar.top() - handle / 2.0) / way).clamp(0.0, 1.0);
            self.first = (part * last_first as f64).round() as u64;
        }
        let top = bar.top() + (self.first.min(last_first) as f64 / last_first as f64) as f32 * way;
        let handle = Rect::from_min_size(pos2(bar.left() + 2.0, top), vec2(8.0, handle));
        ui.painter().rect_filled(handle, 4.0, if response.hovered() { theme.weak_text } else { theme.raised });
    }
}

/// What is shown and told of a hit.
struct HitTexts {
    name: String,
    /// Empty for what has no duration.
    dur: String,
    start: String,
    track: String,
}

impl HitTexts {
    fn of(hit: &Hit, snapshot: &Snapshot) -> Self {
        Self {
            name: shown(snapshot.names().get(hit.name).text).into_owned(),
            dur: if hit.dur_ns > 0 { duration_text(hit.dur_ns) } else { String::new() },
            start: seconds_text(hit.start_ns.saturating_sub(snapshot.start_ns())),
            track: track_title(snapshot.track(snapshot.lane(hit.row.lane).track)).0,
        }
    }

    /// As a screen reader tells it.
    fn spoken(&self) -> String {
        let Self { name, dur, start, track } = self;
        let dur = if dur.is_empty() { String::new() } else { format!(", {dur}") };
        format!("{name}, {track}, at {start} s{dur}")
    }

    fn paint(self, painter: &egui::Painter, row: Rect, theme: &Theme) {
        let Self { name, dur, start, track } = self;
        let row = row.shrink2(vec2(6.0, 2.0));
        let (title, small) = (egui::FontId::proportional(13.0), egui::FontId::proportional(11.0));
        let clipped = painter.with_clip_rect(row);
        let right = clipped.text(row.right_top(), egui::Align2::RIGHT_TOP, dur, small.clone(), theme.text);
        let place = Rect::from_min_max(row.min, pos2(right.left() - 6.0, row.bottom()));
        let short = painter.fonts_mut(|fonts| {
            let short = shorten_middle(&name, place.width(), |letter| fonts.glyph_width(&title, letter));
            on_screen(&short.unwrap_or_default()).into_owned()
        });
        painter.with_clip_rect(place).text(row.min, egui::Align2::LEFT_TOP, short, title, theme.text);
        let below = format!("{start} s  ·  {}", on_screen(&track));
        clipped.text(row.left_bottom(), egui::Align2::LEFT_BOTTOM, below, small, theme.weak_text);
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
