//! The strips of derived tracks above the rows: names with ranges and menus, progress, values under the pointer, and
//! the commands that change them.

use egui::{
    Align2, Color32, FontId, Painter, PopupCloseBehavior, Pos2, Rect, RichText, Role, Sense, Stroke, Ui, WidgetInfo,
    pos2, vec2,
};

use super::derived::{DerivedRow, DerivedState};
use super::layout::{StripLayout, TimelineLayout};
use super::state::Timeline;
use crate::base::shell::quoted;
use crate::base::time::{duration_text, grouped_digits};
use crate::query::derived::DerivedKind;
use crate::scene::derived::can_be_logarithmic;
use crate::scene::labels::{shorten_middle, shown};
use crate::ui::command::{AppCommand, Command, DerivedCommand, DerivedId, TimelineCommand, ToolWindow};
use crate::ui::selected_scope::SelectedScope;
use crate::ui::theme::{LABEL_POINTS, Theme};
use crate::ui::widgets::context_menu::context_menu;
use crate::ui::widgets::field;
use crate::ui::widgets::focus_ring;
use crate::ui::widgets::letters::letter_width;
use crate::ui::widgets::reading_order::on_screen;

impl Timeline {
    /// Returns the derived tracks, top to bottom.
    #[must_use]
    pub(crate) fn derived(&self) -> &[DerivedRow] {
        self.derived.all()
    }

    /// Returns the derived tracks that exports write, and the number of tracks that are not computed yet.
    #[must_use]
    pub(crate) fn derived_to_export(&self) -> (Vec<&DerivedRow>, usize) {
        let rows = if self.derived.is_exported() { self.derived() } else { &[] };
        let computed: Vec<_> = rows.iter().filter(|row| matches!(row.state, DerivedState::Computed(_))).collect();
        let missing = rows.len() - computed.len();
        (computed, missing)
    }

    /// Returns whether exports write the derived tracks.
    #[must_use]
    pub(crate) fn exports_derived(&self) -> bool {
        self.derived.is_exported()
    }

    /// Runs a command of derived tracks.
    pub(super) fn change_derived(&mut self, command: DerivedCommand) {
        match command {
            DerivedCommand::Add(kind, scope) => self.derive(kind, scope, ""),
            DerivedCommand::AddOfScope(kind) => self.derive(kind, self.selection.scope().clone(), ""),
            DerivedCommand::AddScheduling(kind) => self.derive_scheduling(kind),
            DerivedCommand::StartNaming => {}
            DerivedCommand::Rename(id, name) => {
                if let Some(row) = self.derived.row_mut(id) {
                    name.trim_start().clone_into(&mut row.name);
                }
            }
            DerivedCommand::SetLogarithmic(id, is_log) => {
                if let Some(row) = self.derived.row_mut(id) {
                    row.is_log = is_log;
                }
                self.derived_pane.forget_scale(id);
            }
            DerivedCommand::Remove(id) => self.derived.remove(id),
            DerivedCommand::Stop(id) => self.set_derived(id, DerivedState::Stopped),
            DerivedCommand::Compute(id) => self.set_derived(id, DerivedState::Waiting),
            DerivedCommand::Export(is_wanted) => self.derived.export(is_wanted),
        }
        self.derived_pane.redraw();
    }

    /// Adds a derived track, or says why it is left out.
    pub(super) fn derive(&mut self, kind: DerivedKind, scope: SelectedScope, name: &str) {
        if let Err(refused) = self.derived.add(kind, scope, name) {
            self.note = Some(refused.to_string().into());
        }
    }

    /// Sets the state of a derived track, if it still exists.
    pub(crate) fn set_derived(&mut self, id: DerivedId, state: DerivedState) {
        if let Some(row) = self.derived.row_mut(id) {
            row.state = state;
            self.derived_pane.redraw();
        }
    }

    /// Returns the heights and the scroll offset of the strips.
    pub(super) fn strip_layout(&self, layout: &TimelineLayout) -> StripLayout {
        StripLayout::new(self.derived().len(), layout.derived.height(), self.derived_scroll_points)
    }

    /// Returns the strip of a row, in the gutter or on the canvas. A part of it may be scrolled out.
    fn strip(&self, within: Rect, number: usize) -> Rect {
        let strips = StripLayout::new(self.derived().len(), within.height(), self.derived_scroll_points);
        let top = within.top() + strips.top_points(number);
        Rect::from_x_y_ranges(within.x_range(), top..=top + strips.strip_points)
    }

    /// Paints the series, and texts for missing series.
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
        let strips = self.strip_layout(layout);
        if strips.hidden_points > 0.0 {
            let part = strips.area_points / (strips.area_points + strips.hidden_points);
            let top = layout.derived.top() + strips.scroll_points * part;
            let right = layout.derived.right() - 2.0;
            let handle = Rect::from_x_y_ranges(right - 4.0..=right, top..=top + strips.area_points * part);
            painter.rect_filled(handle, 2.0, theme.weak_text.gamma_multiply(0.45));
        }
        let line = Stroke::new(2.0, theme.line);
        ui.painter_at(layout.all).hline(layout.all.x_range(), layout.derived.bottom(), line);
    }

    /// Returns the state of a track that is not computed, as text.
    fn state_text(&self, row: &DerivedRow, theme: &Theme) -> Option<(String, Color32)> {
        Some(match &row.state {
            DerivedState::Computed(series) | DerivedState::Outdated(series) if series.rows() == 0 => {
                (no_rows_text(&row.kind).to_owned(), theme.weak_text)
            }
            DerivedState::Computed(_) | DerivedState::Outdated(_) => return None,
            DerivedState::Waiting if self.interruption.is_some() => {
                ("not computed: the trace is incomplete".to_owned(), theme.weak_text)
            }
            DerivedState::Waiting if self.snapshot.summary().sorted_to_ns.is_some() => {
                ("waiting until the trace is sorted".to_owned(), theme.weak_text)
            }
            DerivedState::Waiting => ("waiting for the tracks before it".to_owned(), theme.weak_text),
            DerivedState::Computing(progress) => {
                let part = progress.view().fraction().unwrap_or(0.0);
                (format!("counting: {:.0} %", part * 100.0), theme.weak_text)
            }
            DerivedState::Stopped => ("stopped: Recompute in its menu".to_owned(), theme.weak_text),
            DerivedState::Failed(message) => (shown(message).into_owned(), theme.error),
        })
    }

    /// Shows the names of the derived tracks, and returns the commands of their menus.
    pub(super) fn show_derived_names(&self, ui: &Ui, layout: &TimelineLayout, theme: &Theme) -> Vec<Command> {
        let mut commands = Vec::new();
        for (number, row) in self.derived().iter().enumerate() {
            let strip = self.strip(layout.derived_gutter, number).shrink2(vec2(0.0, 0.5));
            let in_view = strip.intersect(layout.derived_gutter);
            if !in_view.is_positive() {
                continue;
            }
            let response = ui.interact(in_view, ui.scope_id().with(("derived", row.id)), Sense::click());
            let (title, range) = (row.title(), self.derived_pane.range_text(number, row).unwrap_or_default());
            let (state, range) = match self.state_text(row, theme) {
                // A scale without a curve means nothing.
                Some((text, _)) => (text, String::new()),
                None => (range.clone(), range),
            };
            let label = format!("Derived track {title}, {state}");
            response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
            let painter = ui.painter_at(in_view);
            paint_name(ui, &painter, strip, (&title, &range), response.contains_pointer(), theme);
            focus_ring::paint(ui, &response, in_view, theme);
            if matches!(row.state, DerivedState::Computing(_)) {
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

/// Returns why a computed track has no rows.
fn no_rows_text(kind: &DerivedKind) -> &'static str {
    match kind {
        DerivedKind::Concurrency | DerivedKind::Busy => "no rows: no span with a duration matches",
        DerivedKind::Sum(_) => "no rows: nothing with this argument matches",
        _ => "no rows: nothing matches",
    }
}

/// Paints the name of a strip with its range: below the name, or in a low strip at its right.
fn paint_name(ui: &Ui, painter: &Painter, strip: Rect, (title, range): (&str, &str), is_hovered: bool, theme: &Theme) {
    const LEFT: f32 = 12.0;
    const GAP: f32 = 8.0;
    if is_hovered {
        painter.rect_filled(strip, 0.0, theme.raised);
    }
    painter.hline(strip.x_range(), strip.bottom(), Stroke::new(1.0, theme.grid));
    let font = FontId::proportional(LABEL_POINTS);
    let room = strip.width() - 2.0 * LEFT;
    let range = painter.layout_no_wrap(range.to_owned(), FontId::proportional(11.0), theme.weak_text);
    let has_two_lines = strip.height() > 30.0;
    let beside = if has_two_lines || range.is_empty() { 0.0 } else { range.size().x + GAP };
    let title = shown(title);
    let cut = ui.fonts_mut(|fonts| {
        let short = shorten_middle(&title, room - beside, |letter| letter_width(fonts, &font, letter));
        short.map(std::borrow::Cow::into_owned).unwrap_or_default()
    });
    let middle = if has_two_lines { strip.center().y - 7.0 } else { strip.center().y };
    painter.text(pos2(strip.left() + LEFT, middle), Align2::LEFT_CENTER, on_screen(&cut), font, theme.text);
    let (left, range_middle) = if has_two_lines {
        (strip.left() + LEFT, middle + 15.0)
    } else {
        (strip.right() - LEFT - range.size().x, middle)
    };
    painter.galley(pos2(left, range_middle - range.size().y / 2.0), range, theme.weak_text);
}

/// The entry that copies the definition of a derived track.
const COPY_OPTION: &str = "Copy as an option of export";

/// Shows the menu of a derived track.
fn menu(ui: &mut Ui, row: &DerivedRow, theme: &Theme) -> Vec<Command> {
    const FIELD_POINTS: f32 = 220.0;
    let derived = |command| Command::Timeline(TimelineCommand::Derived(command));
    let mut chosen = Vec::new();
    let size = vec2(FIELD_POINTS, ui.spacing().interact_size.y);
    let texts = (&*row.name, "A name for this track", "Name of the derived track");
    let (response, renamed) = field::add_name(ui, (("derived", row.id), size), texts, theme.canvas);
    if response.gained_focus() {
        chosen.push(derived(DerivedCommand::StartNaming));
    }
    chosen.extend(renamed.map(|name| derived(DerivedCommand::Rename(row.id, name))));
    if let Some((from_ns, to_ns)) = row.scope.range {
        ui.label(
            RichText::new(format!("of {}", duration_text(to_ns.abs_diff(from_ns)))).small().color(theme.weak_text),
        );
    }
    let mut is_log = row.is_log;
    if can_be_logarithmic(&row.kind) && ui.checkbox(&mut is_log, "Logarithmic scale").changed() {
        chosen.push(derived(DerivedCommand::SetLogarithmic(row.id, is_log)));
    }
    ui.separator();
    let option = row.export_definition().map(|definition| quoted(&definition.to_string()));
    let has_option = option.is_some();
    let copy = Command::App(AppCommand::CopyText(format!("--derive {}", option.unwrap_or_default())));
    let entries = [
        match row.state {
            DerivedState::Computing(_) | DerivedState::Waiting | DerivedState::Outdated(_) => {
                ("Stop", derived(DerivedCommand::Stop(row.id)))
            }
            DerivedState::Computed(_) | DerivedState::Stopped | DerivedState::Failed(_) => {
                ("Recompute", derived(DerivedCommand::Compute(row.id)))
            }
        },
        (COPY_OPTION, copy),
        ("Derived tracks...", Command::App(AppCommand::Toggle(ToolWindow::Derived))),
        ("Remove", derived(DerivedCommand::Remove(row.id))),
    ];
    for (text, command) in entries {
        let is_possible = text != COPY_OPTION || has_option;
        let response = ui.add_enabled(is_possible, egui::Button::new(text));
        if response.on_disabled_hover_text("--derive cannot express tracks or a time range").clicked() {
            chosen.push(command);
            ui.close();
        }
    }
    chosen
}
