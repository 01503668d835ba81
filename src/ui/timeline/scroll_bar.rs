//! The vertical scroll bar beside the canvas. Hidden if all rows are in view.

use egui::{Rect, Sense, Ui, pos2};

use super::layout::TimelineLayout;
use super::state::Timeline;
use crate::ui::theme::Theme;

/// Shows the bar and handles drags.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "a part of a bar of some hundred points"
)]
pub(super) fn show(timeline: &mut Timeline, ui: &Ui, layout: &TimelineLayout, theme: &Theme) {
    const WIDTH: f32 = 8.0;
    /// Minimum height of the handle, for any number of rows.
    const HANDLE_MIN: f32 = 28.0;
    let content_px = timeline.rows.layout.height_px() as f64;
    let view_px = timeline.view.now().height_px();
    if content_px <= view_px {
        return;
    }
    let track =
        Rect::from_min_max(pos2(layout.canvas.right() - WIDTH - 2.0, layout.canvas.top() + 2.0), layout.canvas.max);
    let response = ui.interact(track, ui.scope_id().with("scroll bar"), Sense::click_and_drag());
    let handle_points = (track.height() * (view_px / content_px) as f32).max(HANDLE_MIN).min(track.height());
    let free_points = (track.height() - handle_points).max(1.0);
    if let Some(at) = response.interact_pointer_pos().filter(|_| response.dragged() || response.clicked()) {
        let part = ((at.y - track.top() - handle_points / 2.0) / free_points).clamp(0.0, 1.0);
        timeline.scroll_to(f64::from(part) * (content_px - view_px));
    }
    let part = (timeline.view.now().scroll_px() / (content_px - view_px)) as f32;
    let top = track.top() + part * free_points;
    let handle = Rect::from_min_max(pos2(track.left(), top), pos2(track.left() + WIDTH, top + handle_points));
    let opacity = if response.hovered() || response.dragged() { 0.9 } else { 0.45 };
    ui.painter_at(layout.canvas).rect_filled(handle, WIDTH / 2.0, theme.weak_text.gamma_multiply(opacity));
    response.widget_info(|| egui::WidgetInfo::slider(true, f64::from(part), "Scroll tracks"));
}
