//! The minimap of the whole trace above the ruler. It shows how busy the trace is over time, hits and losses, and the
//! view as a window that can be dragged.

use egui::{CursorIcon, Pos2, Rect, Sense, Stroke, StrokeKind, Ui, pos2};

use super::layout::TimelineLayout;
use super::state::Timeline;
use crate::query::search::{PARTS, Ticks};
use crate::scene::minimap::{Grip, Minimap};
use crate::ui::theme::Theme;
use crate::ui::widgets::press::closes_menu;

/// Width of a column in points; narrower ones blur on a screen without scaling.
const COLUMN_POINTS: f32 = 2.0;

/// Returns the time under a point of the minimap.
pub(super) fn time_at(timeline: &Timeline, layout: &TimelineLayout, at: Pos2) -> i64 {
    let (start_ns, end_ns) = timeline.snapshot.drawn_range_ns();
    let map = Minimap::new(start_ns, end_ns, f64::from(layout.minimap.width()));
    map.time_from_x(f64::from(at.x - layout.minimap.left()))
}

/// Shows the minimap and handles drags of the window.
pub(super) fn show(timeline: &mut Timeline, ui: &Ui, layout: &TimelineLayout, theme: &Theme) {
    let rect = layout.minimap;
    let (start_ns, end_ns) = timeline.snapshot.drawn_range_ns();
    let map = Minimap::new(start_ns, end_ns, f64::from(rect.width()));
    let response = ui.interact(rect, ui.scope_id().with("minimap"), Sense::CLICK | Sense::DRAG);
    let x_of = |x: f32| f64::from(x - rect.left());
    if let Some(at) = response.interact_pointer_pos().filter(|_| !closes_menu(ui)) {
        let pressed = response.drag_started() || response.clicked() || timeline.interaction.minimap_grip.is_none();
        if pressed {
            let origin = ui.input(|input| input.pointer.press_origin()).unwrap_or(at);
            if map.grip(timeline.view.now(), x_of(origin.x)).is_none() {
                timeline.view.jump(map.centered(timeline.view.now(), x_of(origin.x)));
                timeline.view.finish_flight();
            }
            timeline.interaction.minimap_grip = map.grip(timeline.view.now(), x_of(origin.x));
        }
        if let Some(grip) = timeline.interaction.minimap_grip.filter(|_| response.dragged()) {
            timeline.view.move_to(map.dragged(timeline.view.now(), grip, x_of(at.x)), ui);
        }
    } else {
        timeline.interaction.minimap_grip = None;
    }
    let hovered = response.hover_pos().and_then(|at| map.grip(timeline.view.now(), x_of(at.x)));
    match timeline.interaction.minimap_grip.or(hovered) {
        Some(Grip::Left | Grip::Right) => ui.ctx().set_cursor_icon(CursorIcon::ResizeHorizontal),
        Some(Grip::Window(_)) if timeline.interaction.minimap_grip.is_some() => {
            ui.ctx().set_cursor_icon(CursorIcon::Grabbing);
        }
        Some(Grip::Window(_)) => ui.ctx().set_cursor_icon(CursorIcon::Grab),
        None => {}
    }
    paint(timeline, ui, rect, theme, &map);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Slider, true, "Map of the whole trace"));
}

fn paint(timeline: &Timeline, ui: &Ui, rect: Rect, theme: &Theme, map: &Minimap) {
    /// Free space above and below the columns.
    const FREE_POINTS: f32 = 4.0;
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0.0, theme.gutter);
    let (start_ns, end_ns) = timeline.snapshot.drawn_range_ns();
    if let Some(summary) = timeline.overlays.summary() {
        let count = (rect.width() / COLUMN_POINTS) as usize;
        let bottom = rect.bottom() - FREE_POINTS;
        let height = rect.height() - 2.0 * FREE_POINTS;
        let mut left = rect.left();
        for part in summary.columns(start_ns, end_ns, count) {
            if part > 0.0 {
                let top = bottom - (part * height).max(1.0);
                let column = Rect::from_min_max(pos2(left, top), pos2(left + COLUMN_POINTS, bottom));
                painter.rect_filled(column, 0.0, theme.accent.gamma_multiply(0.55));
            }
            left += COLUMN_POINTS;
        }
        for &ts_ns in &summary.losses_ns {
            let x = rect.left() + map.x_from_time(ts_ns) as f32;
            painter.vline(x, rect.bottom() - 7.0..=rect.bottom() - 1.0, Stroke::new(2.0, theme.warning));
        }
    }
    if let Some(hits) = timeline.overlays.hits() {
        paint_hits(hits.ticks(), &painter, rect, theme);
    }
    let (x0, x1) = map.window(timeline.view.now());
    let (left, right) = (rect.left() + x0 as f32, rect.left() + x1 as f32);
    for dimmed in [rect.left()..=left, right..=rect.right()] {
        painter.rect_filled(Rect::from_x_y_ranges(dimmed, rect.y_range()), 0.0, theme.canvas.gamma_multiply(0.6));
    }
    let window = Rect::from_x_y_ranges(left..=right, rect.top() + 1.5..=rect.bottom() - 1.5);
    painter.rect_stroke(window, 3.0, Stroke::new(1.5, theme.accent), StrokeKind::Inside);
    painter.hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(1.0, theme.line));
}

/// Marks the starts of hits above the columns; adjacent marks are merged.
fn paint_hits(ticks: &Ticks, painter: &egui::Painter, rect: Rect, theme: &Theme) {
    const HEIGHT_POINTS: f32 = 6.0;
    const WIDTH_POINTS_MIN: f32 = 2.0;
    let x_of = |part: usize| rect.left() + rect.width() * part as f32 / PARTS as f32;
    let parts: Vec<usize> = ticks.parts().collect();
    for run in parts.chunk_by(|a, b| a + 1 == *b) {
        let (Some(&first), Some(&last)) = (run.first(), run.last()) else { continue };
        let right = x_of(last + 1).max(x_of(first) + WIDTH_POINTS_MIN);
        let y_range = rect.top() + 2.0..=rect.top() + 2.0 + HEIGHT_POINTS;
        painter.rect_filled(Rect::from_x_y_ranges(x_of(first)..=right, y_range), 0.0, theme.text);
    }
}
