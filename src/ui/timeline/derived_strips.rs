//! The strips of derived tracks above the rows: names with ranges and menus, progress, values under the pointer, and
//! the commands that change them.

use egui::{
    Align2, Color32, FontId, PopupCloseBehavior, Pos2, Rect, RichText, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2,
};

use super::derived::{DERIVED_MAX, DerivedRow, DerivedState};
use super::layout::TimelineLayout;
use super::state::Timeline;
use super::tracks::RefusedRow;
use crate::base::shell::quoted;
use crate::base::time::{duration_text, grouped_digits};
use crate::scene::arrange::OVERLAYS_MAX;
use crate::scene::custom_groups::CUSTOM_GROUPS_MAX;
use crate::scene::labels::{shorten_middle, shown};
use crate::ui::command::{AppCommand, Command, DerivedCommand, DerivedId, TimelineCommand, ToolWindow};
use crate::ui::theme::{LABEL_POINTS, Theme};
use crate::ui::widgets::context_menu::context_menu;
use crate::ui::widgets::field;
use crate::ui::widgets::letters::letter_width;
use crate::ui::widgets::reading_order::on_screen;

impl Timeline {
    /// Returns the derived tracks, top to bottom.
    #[must_use]
    pub(crate) fn derived(&self) -> &[DerivedRow] {
        self.derived.all()
    }

    /// Returns the derived tracks that exports write, and the number of those not computed yet.
    #[must_use]
    pub(crate) fn derived_to_export(&self) -> (Vec<&DerivedRow>, usize) {
        let rows = if self.derived.is_exported() { self.derived() } else { &[] };
        let made: Vec<&DerivedRow> = rows.iter().filter(|row| row.series().is_some()).collect();
        let missing = rows.len() - made.len();
        (made, missing)
    }

    /// Returns whether exports write the derived tracks.
    #[must_use]
    pub(crate) fn exports_derived(&self) -> bool {
        self.derived.is_exported()
    }

    /// Runs a command of derived tracks.
    pub(super) fn change_derived(&mut self, command: DerivedCommand) {
        match command {
            DerivedCommand::Add(kind, scope) => self.derived.add(kind, scope, ""),
            DerivedCommand::AddOfScope(kind) => self.derived.add(kind, self.selection.scope().clone(), ""),
            DerivedCommand::AddScheduling(kind) => self.derive_scheduling(kind),
            DerivedCommand::Rename(id, name) => {
                if let Some(row) = self.derived.row_mut(id) {
                    name.trim_start().clone_into(&mut row.name);
                }
            }
            DerivedCommand::Remove(id) => self.derived.remove(id),
            DerivedCommand::Stop(id) => self.set_derived(id, DerivedState::Stopped),
            DerivedCommand::Make(id) => self.set_derived(id, DerivedState::Waiting),
            DerivedCommand::Export(is_wanted) => self.derived.export(is_wanted),
        }
        self.derived_pane.redraw();
    }

    /// Returns a sentence if a derived track, a group or a row of several counters was refused since the last call.
    pub(crate) fn take_note(&mut self) -> Option<String> {
        if self.derived.take_refused() {
            return Some(format!("At most {DERIVED_MAX} derived tracks: remove one to add another."));
        }
        Some(match self.tracks.take_refused()? {
            RefusedRow::Group => format!("At most {CUSTOM_GROUPS_MAX} groups of tracks: ungroup one to make another."),
            RefusedRow::Overlay => {
                format!("At most {OVERLAYS_MAX} rows of several counters: separate one to add another.")
            }
        })
    }

    /// Sets the state of a derived track, if it still exists.
    pub(crate) fn set_derived(&mut self, id: DerivedId, state: DerivedState) {
        if let Some(row) = self.derived.row_mut(id) {
            row.state = state;
            self.derived_pane.redraw();
        }
    }

    /// Returns the strip of a row, in the gutter or on the canvas.
    fn strip(&self, within: Rect, number: usize) -> Rect {
        let height = within.height() / self.derived().len().max(1) as f32;
        let top = within.top() + height * number as f32;
        Rect::from_x_y_ranges(within.x_range(), top..=top + height)
    }

    /// Paints the series, and texts for those that are missing.
    pub(super) fn paint_derived(&self, ui: &Ui, layout: &TimelineLayout, theme: &Theme) {
        let painter = ui.painter_at(layout.derived);
        for (number, row) in self.derived().iter().enumerate() {
            let strip = self.strip(layout.derived, number);
            painter.hline(strip.x_range(), strip.bottom() - 0.5, Stroke::new(1.0, theme.grid));
            let Some((text, color)) = self.state_text(row, theme) else { continue };
            let font = FontId::proportional(LABEL_POINTS);
            painter.text(strip.left_center() + vec2(10.0, 0.0), Align2::LEFT_CENTER, text, font, color);
        }
        painter.extend(self.derived_pane.shape(layout.derived));
        let line = Stroke::new(2.0, theme.line);
        ui.painter_at(layout.all).hline(layout.all.x_range(), layout.derived.bottom(), line);
    }

    /// Returns the state of a track that is not computed, as text.
    fn state_text(&self, row: &DerivedRow, theme: &Theme) -> Option<(String, Color32)> {
        Some(match &row.state {
            DerivedState::Made(series) if series.rows() == 0 => ("no rows: nothing passes".to_owned(), theme.weak_text),
            DerivedState::Made(_) => return None,
            DerivedState::Waiting if self.is_live() => ("waiting until the trace ends".to_owned(), theme.weak_text),
            DerivedState::Waiting => ("waiting until the trace is sorted".to_owned(), theme.weak_text),
            DerivedState::Making(progress) => {
                let part = progress.view().fraction().unwrap_or(0.0);
                (format!("counting: {:.0} %", part * 100.0), theme.weak_text)
            }
            DerivedState::Stopped => ("stopped; its menu makes it again".to_owned(), theme.weak_text),
            DerivedState::Failed(message) => (shown(message).into_owned(), theme.error),
        })
    }

    /// Shows the names of the derived tracks, and returns the commands of their menus.
    pub(super) fn show_derived_names(&self, ui: &Ui, layout: &TimelineLayout, theme: &Theme) -> Vec<Command> {
        let mut commands = Vec::new();
        for (number, row) in self.derived().iter().enumerate() {
            let strip = self.strip(layout.derived_gutter, number).shrink2(vec2(0.0, 0.5));
            let response = ui.interact(strip, ui.scope_id().with(("derived", row.id)), Sense::click());
            let (title, range) = (row.title(), self.derived_pane.range_text(number, row).unwrap_or_default());
            let state = self.state_text(row, theme).map_or(range.clone(), |(text, _)| text);
            let label = format!("Derived track {title}, {state}");
            response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
            paint_name(ui, strip, (&title, &range), response.contains_pointer(), theme);
            if matches!(row.state, DerivedState::Making(_)) {
                // Updates the progress ten times a second.
                ui.ctx().request_repaint_after(std::time::Duration::from_millis(100));
            }
            // A click into the name field keeps it open.
            let popup = context_menu(&response).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
            popup.show(|ui| commands.extend(menu(ui, row, theme)));
            let rows = row.series().map(|series| format!("\n{} rows", grouped_digits(series.rows())));
            let described = on_screen(&shown(&row.described())).into_owned();
            response.on_hover_text(format!("{described}{}\nRight click: rename, remove", rows.unwrap_or_default()));
        }
        commands
    }

    /// Returns the value of a derived track's column under a point of the window.
    pub(super) fn derived_text(&self, layout: &TimelineLayout, at: Pos2) -> Option<[String; 2]> {
        let is_on = |number: &usize| layout.derived.contains(at) && self.strip(layout.derived, *number).contains(at);
        let row = (0..self.derived().len()).find(is_on).map(|number| &self.derived()[number])?;
        let (value, start_ns) = self.derived_pane.column_text(row, self.time_at(layout, at))?;
        let title = on_screen(&shown(&row.title())).into_owned();
        Some([title, format!("{value}  ·  from {}", self.time_text(start_ns))])
    }
}

/// Paints the name of a strip with its range.
fn paint_name(ui: &Ui, strip: Rect, (title, range): (&str, &str), is_hovered: bool, theme: &Theme) {
    const LEFT: f32 = 12.0;
    let painter = ui.painter_at(strip);
    if is_hovered {
        painter.rect_filled(strip, 0.0, theme.raised);
    }
    painter.hline(strip.x_range(), strip.bottom(), Stroke::new(1.0, theme.grid));
    let font = FontId::proportional(LABEL_POINTS);
    let room = strip.width() - 2.0 * LEFT;
    let title = shown(title);
    let cut = ui.fonts_mut(|fonts| {
        let short = shorten_middle(&title, room, |letter| letter_width(fonts, &font, letter));
        short.map(std::borrow::Cow::into_owned).unwrap_or_default()
    });
    let middle = if strip.height() > 30.0 { strip.center().y - 7.0 } else { strip.center().y };
    painter.text(pos2(strip.left() + LEFT, middle), Align2::LEFT_CENTER, on_screen(&cut), font, theme.text);
    if strip.height() > 30.0 {
        let at = pos2(strip.left() + LEFT, middle + 15.0);
        painter.text(at, Align2::LEFT_CENTER, range, FontId::proportional(11.0), theme.weak_text);
    }
}

/// The entry that copies the definition of a derived track.
const COPY_OPTION: &str = "Copy as an option of export";

/// Shows the menu of a derived track.
fn menu(ui: &mut Ui, row: &DerivedRow, theme: &Theme) -> Vec<Command> {
    let derived = |command| Command::Timeline(TimelineCommand::Derived(command));
    let mut chosen = Vec::new();
    let mut name = row.name.clone();
    let response = field::add(ui, &mut name, |field| {
        field.hint_text("A name for this track").desired_width(220.0).background_color(theme.canvas)
    });
    response.widget_info(|| WidgetInfo::labeled(Role::TextInput, true, "Name of the derived track"));
    if response.changed() {
        chosen.push(derived(DerivedCommand::Rename(row.id, name)));
    }
    if let Some((from_ns, to_ns)) = row.scope.range {
        ui.label(
            RichText::new(format!("of {}", duration_text(to_ns.abs_diff(from_ns)))).small().color(theme.weak_text),
        );
    }
    ui.separator();
    let option = row.definition().map(|definition| quoted(&definition.to_string()));
    let has_option = option.is_some();
    let copy = Command::App(AppCommand::CopyText(format!("--derive {}", option.unwrap_or_default())));
    let entries = [
        match row.state {
            DerivedState::Making(_) | DerivedState::Waiting => ("Stop", derived(DerivedCommand::Stop(row.id))),
            DerivedState::Made(_) | DerivedState::Stopped | DerivedState::Failed(_) => {
                ("Recompute", derived(DerivedCommand::Make(row.id)))
            }
        },
        (COPY_OPTION, copy),
        ("Derived tracks...", Command::App(AppCommand::Toggle(ToolWindow::Derived))),
        ("Remove", derived(DerivedCommand::Remove(row.id))),
    ];
    for (text, command) in entries {
        let is_possible = text != COPY_OPTION || has_option;
        let response = ui.add_enabled(is_possible, egui::Button::new(text));
        if response.on_disabled_hover_text("The option has no choice of tracks and no range").clicked() {
            chosen.push(command);
            ui.close();
        }
    }
    chosen
}
