//! Pointer and keyboard on a heat map: tooltip of the hovered cell, drag over cells, cursor of the arrow keys, context
//! menu.

use egui::{Key, PointerButton, Rect, Response, Sense, Stroke, StrokeKind, Ui};

use super::picture::{HeatLayout, HeatPicture};
use crate::base::time::{counted, duration_text};
use crate::query::heat_map::{HeatCell, HeatMap, HeatMapAxis};
use crate::scene::labels::shown;
use crate::ui::panel::Panel;
use crate::ui::panels::table_keys;
use crate::ui::theme::Theme;
use crate::ui::timeline::state::Timeline;
use crate::ui::widgets::context_menu::context_menu;
use crate::ui::widgets::spoken;

/// The action for the spans of chosen cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellAction {
    /// Makes the cells the scope.
    Select,
    /// Makes the cells the scope of a panel.
    Show(Panel),
    /// Fills the view with the time of the cells.
    Zoom,
}

/// A rectangle of cells, from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChosenCells {
    pub(super) columns: (usize, usize),
    pub(super) rows: (usize, usize),
    pub(super) action: CellAction,
}

impl ChosenCells {
    fn between(one: HeatCell, other: HeatCell, action: CellAction) -> Self {
        Self {
            columns: (one.column.min(other.column), one.column.max(other.column)),
            rows: (one.row.min(other.row), one.row.max(other.row)),
            action,
        }
    }

    fn count(&self, picture: &HeatPicture) -> u64 {
        let of_row = |row| (self.columns.0..=self.columns.1).map(move |column| HeatCell { column, row });
        (self.rows.0..=self.rows.1).flat_map(of_row).map(|cell| picture.cells.count(cell)).sum()
    }
}

/// The map that pointer and keyboard act on.
pub(super) struct HandContext<'a> {
    pub(super) picture: &'a HeatPicture,
    pub(super) layout: &'a HeatLayout,
    pub(super) map: &'a HeatMap,
    /// The time on the screen, which may differ from the map's.
    pub(super) axis: &'a HeatMapAxis,
    /// The name whose spans are shown; empty for all names.
    pub(super) name: &'a str,
    pub(super) timeline: &'a Timeline,
    pub(super) theme: &'a Theme,
}

/// The cells of the cursor, of a drag, and of the context menu.
#[derive(Debug, Default)]
pub(super) struct CellHand {
    /// The cursor of the arrow keys.
    cursor: Option<HeatCell>,
    /// The cell in which a drag started.
    drag_from: Option<HeatCell>,
    /// The cell whose menu is open.
    menu: Option<HeatCell>,
}

impl CellHand {
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Handles the pointer and the keys, and returns the chosen cells.
    pub(super) fn show(&mut self, ui: &mut Ui, context: &HandContext<'_>) -> Option<ChosenCells> {
        let HandContext { picture, layout, map, axis, theme, .. } = *context;
        let response = ui.interact(layout.plot, ui.scope_id().with("cells"), Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, context.label()));
        let cell_at = |at: egui::Pos2, is_clamped: bool| picture.cell_at(layout, map, axis, (at, is_clamped));
        let at = |pos: Option<egui::Pos2>| pos.and_then(|at| cell_at(at, true));
        let pointed = response.hover_pos().and_then(|at| cell_at(at, false));
        self.cursor =
            self.cursor.filter(|cell| cell.column < picture.cells.columns() && cell.row < picture.cells.rows());
        let mut chosen = None;
        let stroke_rect = |rect: Rect, stroke: Stroke| {
            let painter = ui.painter().with_clip_rect(layout.plot.expand(2.0));
            painter.rect_stroke(rect, 0.0, stroke, StrokeKind::Outside);
        };
        if let Some(cell) = pointed.filter(|cell| picture.cells.count(*cell) > 0) {
            stroke_rect(picture.cell_rect(layout, map, axis, cell), Stroke::new(1.0, theme.hover));
        }
        if response.drag_started_by(PointerButton::Primary) {
            self.drag_from = at(ui.input(|input| input.pointer.press_origin()));
        }
        if let Some((from, to)) = self.drag_from.zip(at(response.interact_pointer_pos())) {
            let cells = ChosenCells::between(from, to, CellAction::Select);
            let ends = [from, to].map(|cell| picture.cell_rect(layout, map, axis, cell));
            stroke_rect(ends[0].union(ends[1]), Stroke::new(1.5, theme.selection));
            if response.drag_stopped() {
                chosen = Some(cells);
            }
        }
        if !response.dragged() {
            self.drag_from = None;
        }
        if table_keys::take_keyboard(ui.ctx()) {
            response.request_focus();
        }
        chosen = chosen.or(self.take_keys(ui, &response, context));
        if response.clicked_by(PointerButton::Primary) && chosen.is_none() {
            response.request_focus();
            self.cursor = response.interact_pointer_pos().and_then(|at| cell_at(at, false));
            chosen = self.cursor.map(|cell| ChosenCells::between(cell, cell, CellAction::Select));
        }
        if let Some(cell) = self.cursor.filter(|_| response.has_focus()) {
            stroke_rect(picture.cell_rect(layout, map, axis, cell), Stroke::new(1.5, theme.selection));
            let rect = layout.plot;
            spoken::say(ui, ui.scope_id().with("cell"), rect.min, || context.cell_text(cell).replace('\n', ", "));
        }
        if response.secondary_clicked() {
            self.menu = pointed;
        }
        if let Some(cell) = self.menu {
            context_menu(&response).show(|ui| {
                if let Some(action) = show_menu(ui, picture.cells.count(cell) > 0) {
                    chosen = Some(ChosenCells::between(cell, cell, action));
                }
            });
        }
        if let Some(cell) = pointed.filter(|&cell| !response.dragged() && picture.cells.count(cell) > 0) {
            response.on_hover_text_at_pointer(context.cell_text(cell));
        }
        // Cells without spans make no scope.
        chosen.filter(|chosen| chosen.action == CellAction::Zoom || chosen.count(picture) > 0)
    }

    /// Moves the cursor by the arrow keys while the map has the focus; Enter chooses its cell.
    fn take_keys(&mut self, ui: &Ui, response: &Response, context: &HandContext<'_>) -> Option<ChosenCells> {
        if !response.has_focus() {
            return None;
        }
        table_keys::hold_grid(ui, response.id);
        let cells = &context.picture.cells;
        // Starts at the fullest cell, where users look first.
        let fullest = || cells.filled().max_by_key(|(_, count)| *count).map(|(cell, _)| cell);
        let cursor = self.cursor.or_else(fullest)?;
        let presses = |key: Key| ui.input_mut(|input| input.count_and_consume_key(egui::Modifiers::NONE, key)) as isize;
        let right = presses(Key::ArrowRight) - presses(Key::ArrowLeft);
        let up = presses(Key::ArrowUp) - presses(Key::ArrowDown);
        let (last_column, last_row) = (cells.columns().saturating_sub(1), cells.rows().saturating_sub(1));
        let column = if presses(Key::Home) > 0 { 0 } else { cursor.column.saturating_add_signed(right) };
        let column = if presses(Key::End) > 0 { last_column } else { column.min(last_column) };
        let cursor = HeatCell { column, row: cursor.row.saturating_add_signed(up).min(last_row) };
        self.cursor = Some(cursor);
        let enters = ui.input(|input| input.key_pressed(Key::Enter));
        enters.then(|| ChosenCells::between(cursor, cursor, CellAction::Select))
    }
}

impl HandContext<'_> {
    /// Describes the whole map for screen readers.
    fn label(&self) -> String {
        let cells = &self.picture.cells;
        let of = if self.name.is_empty() { String::new() } else { format!(" of {}", shown(self.name)) };
        let spans = counted(self.map.spans, "span");
        let (least, most) = (cells.durations(0).0, cells.durations(cells.rows().saturating_sub(1)).1);
        let [from, to] = [self.map.axis.start_ns(), self.map.axis.end_ns()].map(|ts_ns| self.timeline.time_text(ts_ns));
        let (least, most) = (duration_text(least), duration_text(most));
        format!(
            "Heat map of {spans}{of} that take {least} to {most}, from {from} to {to}. \
             Arrow keys lead through the cells, Enter selects their spans."
        )
    }

    /// Describes a cell: its time, its durations, its spans and their share of the spans in view.
    fn cell_text(&self, cell: HeatCell) -> String {
        let (map, cells) = (self.map, &self.picture.cells);
        let [from, to] =
            [cell.column, cell.column + 1].map(|column| self.timeline.time_text(map.axis.start_of(column)));
        let (least, most) = cells.durations(cell.row);
        let durations = match (least, most) {
            _ if least == most => duration_text(least),
            _ => format!("{} to {}", duration_text(least), duration_text(most)),
        };
        let count = cells.count(cell);
        let about = if map.is_exact() { "" } else { "about " };
        let share = 100.0 * count as f64 / map.spans.max(1) as f64;
        let share = if count > 0 && share < 0.05 { "below 0.1".to_owned() } else { format!("{share:.1}") };
        let spans = counted(count, "span");
        format!("{from} to {to}\n{durations}\n{about}{spans}, {share} % of those shown")
    }
}

/// Shows the menu of a cell; an empty cell offers only its time.
fn show_menu(ui: &mut Ui, has_spans: bool) -> Option<CellAction> {
    let entries = [
        ("Select these spans", CellAction::Select),
        ("List these spans", CellAction::Show(Panel::Spans)),
        ("Statistics of these spans", CellAction::Show(Panel::Statistics)),
        ("Flame graph of their time", CellAction::Show(Panel::Flame)),
        ("Zoom to this time", CellAction::Zoom),
    ];
    let mut chosen = None;
    for (text, action) in entries {
        let is_enabled = has_spans || action == CellAction::Zoom;
        if ui.add_enabled(is_enabled, egui::Button::new(text)).clicked() {
            chosen = Some(action);
            ui.close();
        }
    }
    chosen
}
