//! The user's bookmarks: flags on the ruler with lines over the rows.

use egui::{Align2, FontId, PopupCloseBehavior, Rect, Sense, Stroke, Ui, pos2, vec2};

use super::layout::TimelineLayout;
use super::state::Timeline;
use crate::base::time::grouped_digits;
use crate::query::drawn_unit::AxisUnit;
use crate::scene::bookmarks::{Bookmark, Bookmarks};
use crate::scene::labels::{shorten_middle, shown};
use crate::ui::command::{BookmarkCommand, Command, TimelineCommand};
use crate::ui::command_table::with_disabled_reason;
use crate::ui::settings::RulerOrigin;
use crate::ui::theme::Theme;
use crate::ui::widgets::context_menu::context_menu;
use crate::ui::widgets::field;
use crate::ui::widgets::focus_ring;
use crate::ui::widgets::letters::letter_width;
use crate::ui::widgets::press::is_clicked;
use crate::ui::widgets::reading_order::on_screen;

/// Font size of names on flags, in points.
const TEXT_POINTS: f32 = 11.0;

impl Timeline {
    /// Runs a command on bookmarks.
    pub(crate) fn change_marks(&mut self, command: &BookmarkCommand) {
        match command {
            BookmarkCommand::Add => {
                let ts_ns = self.moment();
                self.add_mark(ts_ns);
            }
            BookmarkCommand::AddAt(ts_ns) => self.add_mark(*ts_ns),
            BookmarkCommand::Choose(id) => self.overlays.bookmarks_mut().choose(*id),
            BookmarkCommand::Go(id) => {
                self.overlays.bookmarks_mut().choose(*id);
                if let Some(ts_ns) = self.overlays.bookmarks().get(*id).map(|mark| mark.ts_ns) {
                    self.show_time(ts_ns);
                }
            }
            BookmarkCommand::StartNaming => {}
            BookmarkCommand::Rename(id, name) => self.overlays.bookmarks_mut().rename(*id, name),
            BookmarkCommand::Remove(id) => self.overlays.bookmarks_mut().remove(*id),
            BookmarkCommand::Measure => self.measure(self.overlays.bookmarks().measured()),
            BookmarkCommand::MeasureTo(id) => self.measure(self.overlays.bookmarks().interval_to(*id)),
            BookmarkCommand::Next(direction) => {
                let middle_ns = self.view.target().time_from_x(self.view.now().width_px() / 2.0);
                let from_ns = self.overlays.bookmarks().chosen().map_or(middle_ns, |mark| mark.ts_ns);
                let next = self.overlays.bookmarks().next(from_ns, *direction).map(|mark| (mark.id, mark.ts_ns));
                if let Some((id, ts_ns)) = next {
                    self.overlays.bookmarks_mut().choose(id);
                    self.show_time(ts_ns);
                }
            }
            BookmarkCommand::Origin(origin) => self.overlays.set_ruler_origin(*origin),
        }
    }

    /// Adds a bookmark, or says why there can be no more.
    fn add_mark(&mut self, ts_ns: i64) {
        let marks = self.overlays.bookmarks_mut();
        marks.add(ts_ns);
        if !marks.all().iter().any(|mark| mark.ts_ns == ts_ns) {
            let most = grouped_digits(Bookmarks::COUNT_MAX as u64);
            self.note = Some(format!("A trace has at most {most} markers: remove one first.").into());
        }
    }

    /// Selects an interval between bookmarks.
    fn measure(&mut self, interval: Option<(i64, i64)>) {
        if interval.is_some() {
            self.selection.select_range(interval);
            self.show_selection();
        }
    }

    #[must_use]
    pub(crate) fn marks(&self) -> &Bookmarks {
        self.overlays.bookmarks()
    }

    /// Returns the origin of the ruler.
    #[must_use]
    pub(crate) fn ruler_origin(&self) -> RulerOrigin {
        self.overlays.ruler_origin()
    }

    /// Returns the time of the ruler's zero, in nanoseconds.
    pub(crate) fn origin_ns(&self) -> i64 {
        match self.overlays.ruler_origin() {
            RulerOrigin::Start | RulerOrigin::Utc => self.start_of_ruler_ns(),
            RulerOrigin::Clock => 0,
            RulerOrigin::Mark => self.overlays.bookmarks().chosen().map_or(self.start_of_ruler_ns(), |mark| mark.ts_ns),
        }
    }

    /// Returns the start of the trace, including rows that a live trace has dropped.
    pub(crate) fn start_of_ruler_ns(&self) -> i64 {
        self.first_start_so_far_ns().unwrap_or(self.snapshot.start_ns())
    }

    /// Returns this start; `None` before the first row, when the snapshot's start says nothing.
    pub(super) fn first_start_so_far_ns(&self) -> Option<i64> {
        let now = (!self.snapshot.summary().is_empty()).then(|| self.snapshot.start_ns());
        self.first_start_ns.into_iter().chain(now).min()
    }

    /// Returns the offset from ruler times to UTC, if the ruler shows the time of day.
    pub(crate) fn ruler_utc_offset_ns(&self) -> Option<i64> {
        self.snapshot.utc_offset_ns().filter(|_| self.overlays.ruler_origin() == RulerOrigin::Utc)
    }

    /// Returns the time for a new bookmark: the edge to which the pointer snaps, or the time under the pointer, or the
    /// start of the selected span, or the middle of the view.
    fn moment(&self) -> i64 {
        let of_selected = || self.selection.span().map(|row| self.snapshot.row(row).start_ns);
        let under_pointer = self.interaction.pointer_x_px.map(|x_px| self.view.now().time_from_x(x_px));
        let snapped = self.interaction.snapped.map(|edge| edge.ts_ns);
        snapped
            .or(under_pointer)
            .or_else(of_selected)
            .unwrap_or_else(|| self.view.now().time_from_x(self.view.now().width_px() / 2.0))
    }
}

/// The flag of a bookmark in view.
pub(crate) struct Flag<'a> {
    mark: &'a Bookmark,
    name: String,
    /// Its rectangle on the ruler.
    pub(crate) rect: Rect,
}

/// Returns the flags of the bookmarks in view.
pub(super) fn flags<'a>(timeline: &'a Timeline, ui: &Ui, layout: &TimelineLayout) -> Vec<Flag<'a>> {
    /// Maximum width of a name.
    const NAME_POINTS: f32 = 120.0;
    /// Space beside a name on its flag.
    const PADDING_POINTS: f32 = 9.0;
    /// Gap between a flag and the next one.
    const GAP_POINTS: f32 = 1.0;
    /// Minimum width of a flag, to click on.
    const WIDTH_POINTS_MIN: f32 = 4.0;
    const HEIGHT: f32 = 16.0;
    let font = FontId::proportional(TEXT_POINTS);
    let mut flags = Vec::new();
    let marks = timeline.overlays.bookmarks().all();
    for (mark, next) in marks.iter().zip(marks.iter().skip(1).map(Some).chain([None])) {
        let x_of = |mark: &Bookmark| timeline.view.now().x_from_time(mark.ts_ns).round();
        let x_px = x_of(mark);
        if x_px < -f64::from(NAME_POINTS * timeline.scale()) || x_px > timeline.view.now().width_px() {
            continue;
        }
        // A flag ends at the next flag, which would cover the rest of its name.
        let free = next.map_or(f32::INFINITY, |next| (x_of(next) - x_px) as f32 / timeline.scale() - GAP_POINTS);
        let room = NAME_POINTS.min(free - PADDING_POINTS);
        let title = mark.title();
        let shown = shown(&title);
        let (name, width) = ui.fonts_mut(|fonts| {
            let name = shorten_middle(&shown, room, |letter| letter_width(fonts, &font, letter));
            let name = name.unwrap_or_default().into_owned();
            let width: f32 = name.chars().map(|letter| letter_width(fonts, &font, letter)).sum();
            (name, width)
        });
        let left = layout.ruler.left() + x_px as f32 / timeline.scale();
        let width = (width + PADDING_POINTS).min(free).max(WIDTH_POINTS_MIN);
        let rect = Rect::from_min_size(pos2(left, layout.ruler.top() + 2.0), vec2(width, HEIGHT));
        flags.push(Flag { mark, name, rect });
    }
    flags
}

/// Shows the flags with a line over the rows for each, and handles clicks on them.
pub(super) fn show(
    timeline: &Timeline,
    flags: &[Flag<'_>],
    ui: &Ui,
    layout: &TimelineLayout,
    theme: &Theme,
) -> Vec<Command> {
    let mut commands = Vec::new();
    let chosen = timeline.overlays.bookmarks().chosen().map(|mark| mark.id);
    for Flag { mark, name, rect } in flags {
        let color = if chosen == Some(mark.id) { theme.warning } else { theme.weak_text };
        let line = Stroke::new(1.0, color);
        ui.painter_at(layout.rows()).vline(rect.left(), layout.rows().y_range(), line);
        let painter = ui.painter_at(layout.ruler);
        painter.vline(rect.left(), layout.ruler.y_range(), line);
        painter.rect_filled(*rect, 2.0, color);
        let font = FontId::proportional(TEXT_POINTS);
        painter.text(rect.left_center() + vec2(4.0, 0.0), Align2::LEFT_CENTER, on_screen(name), font, theme.canvas);
        let response =
            ui.interact(rect.intersect(layout.ruler), ui.scope_id().with(("marker", mark.id)), Sense::click());
        response.widget_info(|| {
            let title = mark.title();
            let is_unnamed = title == mark.id.default_name();
            let label = if is_unnamed { title.into_owned() } else { format!("Marker {}", shown(&title)) };
            egui::WidgetInfo::labeled(egui::Role::Button, true, label)
        });
        focus_ring::paint(ui, &response, rect.intersect(layout.ruler).expand(1.0), theme);
        if is_clicked(ui, &response) {
            commands.push(BookmarkCommand::Choose(mark.id).into());
        }
        // A click into the field for the name must not close the menu; the entries close it.
        let menu = context_menu(&response).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
        menu.show(|ui| flag_menu(ui, timeline, mark, theme, &mut commands));
        response.on_hover_text(format!("{}\n{}", mark.title(), bookmark_time_text(timeline, mark)));
    }
    commands
}

/// Shows the field for the name of a marker, and returns its commands.
pub(crate) fn show_name_field(
    ui: &mut Ui,
    mark: &Bookmark,
    theme: &Theme,
    width: f32,
) -> (egui::Response, Vec<BookmarkCommand>) {
    let size = vec2(width, ui.spacing().interact_size.y);
    let (hint, label) = (mark.id.default_name(), format!("Name of {}", shown(&mark.title())));
    let (response, renamed) =
        field::add_name(ui, (("marker", mark.id), size), (&mark.name, &hint, &label), theme.canvas);
    let started = response.gained_focus().then_some(BookmarkCommand::StartNaming);
    let renamed = renamed.map(|name| BookmarkCommand::Rename(mark.id, name));
    let commands = started.into_iter().chain(renamed).collect();
    (response, commands)
}

fn flag_menu(ui: &mut Ui, timeline: &Timeline, mark: &Bookmark, theme: &Theme, commands: &mut Vec<Command>) {
    /// Width of the field, for some twenty letters.
    const FIELD_POINTS: f32 = 180.0;
    let ask = |command| Command::Timeline(TimelineCommand::Bookmark(command));
    let (field, named) = show_name_field(ui, mark, theme, FIELD_POINTS);
    commands.extend(named.into_iter().map(ask));
    if field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter)) {
        ui.close();
    }
    let mut entry = |ui: &mut Ui, text: &str, disabled_reason: Option<&str>, chosen: &[BookmarkCommand]| {
        let response = ui.add_enabled(disabled_reason.is_none(), egui::Button::new(text));
        if disabled_reason.into_iter().fold(response, with_disabled_reason).clicked() {
            commands.extend(chosen.iter().cloned().map(ask));
            ui.close();
        }
    };
    let is_first = timeline.overlays.bookmarks().interval_to(mark.id).is_none();
    let reason = is_first.then_some("No marker is before this one");
    entry(ui, "Measure from previous marker", reason, &[BookmarkCommand::MeasureTo(mark.id)]);
    let count = [BookmarkCommand::Choose(mark.id), BookmarkCommand::Origin(RulerOrigin::Mark)];
    entry(ui, "Count the ruler from here", None, &count);
    entry(ui, "Remove", None, &[BookmarkCommand::Remove(mark.id)]);
}

/// Formats the position of a marker: its time, or the weight before it in a trace without times.
pub(crate) fn bookmark_time_text(timeline: &Timeline, mark: &Bookmark) -> String {
    match timeline.snapshot().axis_unit() {
        AxisUnit::Time => timeline.time_text(mark.ts_ns),
        unit @ (AxisUnit::Weight(_) | AxisUnit::Mixed) => {
            unit.length_text(mark.ts_ns.abs_diff(timeline.origin_ns())).unwrap_or_default()
        }
    }
}

/// Formats the distance of a time from the selected bookmark, such as `+1.5 ms`; empty without a selected bookmark.
pub(crate) fn distance_text(timeline: &Timeline, ts_ns: i64) -> String {
    let Some(mark) = timeline.overlays.bookmarks().chosen() else { return String::new() };
    let sign = if ts_ns < mark.ts_ns { "-" } else { "+" };
    let distance = timeline.snapshot().axis_unit().length_text(ts_ns.abs_diff(mark.ts_ns));
    distance.map(|distance| format!("{sign}{distance}")).unwrap_or_default()
}
