//! The vertical scroll bar beside the canvas. Hidden if all rows are in view.

use egui::{Rect, Sense, Ui, pos2};

use super::interaction::ScrollGrip;
use super::layout::TimelineLayout;
use super::state::Timeline;
use crate::ui::theme::Theme;
use crate::ui::widgets::press::closes_menu;

const WIDTH: f32 = 8.0;

/// Returns the rectangle in which the handle moves; `None` if the bar is hidden.
pub(super) fn track(timeline: &Timeline, layout: &TimelineLayout) -> Option<Rect> {
    let min = pos2(layout.canvas.right() - WIDTH - 2.0, layout.canvas.top() + 2.0);
    let is_shown = timeline.rows.layout.height_px() as f64 > timeline.view.now().height_px();
    is_shown.then(|| Rect::from_min_max(min, layout.canvas.max))
}

/// Shows the bar and handles drags. The gripped point of the handle stays under the pointer; a press beside the handle
/// centres it there.
pub(super) fn show(timeline: &mut Timeline, ui: &Ui, layout: &TimelineLayout, theme: &Theme) {
    /// Minimum height of the handle, for any number of rows.
    const HANDLE_MIN: f32 = 28.0;
    let Some(track) = track(timeline, layout) else { return };
    let content_px = timeline.rows.layout.height_px() as f64;
    let view_px = timeline.view.now().height_px();
    let response = ui.interact(track, ui.scope_id().with("scroll bar"), Sense::CLICK | Sense::DRAG);
    let handle_points = (track.height() * (view_px / content_px) as f32).max(HANDLE_MIN).min(track.height());
    let free_points = (track.height() - handle_points).max(1.0);
    let px_per_point = (content_px - view_px) / f64::from(free_points);
    let handle_top = |scroll_px: f64| track.top() + (scroll_px / px_per_point) as f32;
    let (origin, is_down) = ui.input(|input| (input.pointer.press_origin(), input.pointer.primary_down()));
    let is_held = response.dragged() || response.clicked() || (is_down && response.is_pointer_button_down_on());
    if let Some(at) = response.interact_pointer_pos().filter(|_| is_held && !closes_menu(ui)) {
        let grip = timeline.interaction.scroll_grip.unwrap_or_else(|| {
            let from_y = origin.unwrap_or(at).y;
            let scroll_px = timeline.view.now().scroll_px();
            let top = handle_top(scroll_px);
            let centred_px = f64::from(from_y - track.top() - handle_points / 2.0) * px_per_point;
            let is_on_handle = (top..=top + handle_points).contains(&from_y);
            ScrollGrip { from_y, scroll_px: if is_on_handle { scroll_px } else { centred_px } }
        });
        timeline.interaction.scroll_grip = Some(grip);
        timeline.scroll_to(grip.scroll_px + f64::from(at.y - grip.from_y) * px_per_point);
    }
    if !is_down {
        timeline.interaction.scroll_grip = None;
    }
    let scroll_px = timeline.view.now().scroll_px();
    let top = handle_top(scroll_px);
    let handle = Rect::from_min_max(pos2(track.left(), top), pos2(track.left() + WIDTH, top + handle_points));
    let opacity = if response.hovered() || response.dragged() { 0.9 } else { 0.45 };
    ui.painter_at(layout.canvas).rect_filled(handle, WIDTH / 2.0, theme.weak_text.gamma_multiply(opacity));
    let part = scroll_px / (content_px - view_px);
    response.widget_info(|| egui::WidgetInfo::slider(true, part, "Scroll tracks"));
}
