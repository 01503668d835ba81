//! Hatches the time that is not sorted yet, so that it does not look empty.

use egui::{Align2, FontId, Rect, Stroke, Ui, pos2, vec2};

use super::layout::TimelineLayout;
use super::layout::as_f32;
use super::state::Timeline;
use crate::ui::theme::{TEXT_POINTS, Theme};

/// Hatches the time after the sorted part; nothing once the trace is sorted.
pub(super) fn paint(timeline: &Timeline, ui: &Ui, layout: &TimelineLayout, theme: &Theme) {
    /// Distance between hatching lines in points: clearly coarser than spans of a pixel.
    const HATCH_STEP: f32 = 12.0;
    let Some(sorted_to_ns) = timeline.snapshot.summary().sorted_to_ns else { return };
    let view = timeline.view.now();
    let x_px = view.x_from_time(sorted_to_ns).clamp(0.0, view.width_px());
    let left = layout.canvas.left() + as_f32(x_px) / timeline.scale();
    let place = Rect::from_x_y_ranges(left..=layout.canvas.right(), layout.canvas.y_range());
    if place.width() < 1.0 {
        return;
    }
    let painter = ui.painter_at(place);
    // Spans that reach into this time show through, as do the lines between rows.
    painter.rect_filled(place, 0.0, theme.canvas.gamma_multiply(0.8));
    let line = Stroke::new(1.0, theme.line);
    // Lines start at the edge of the window, and stay while the edge of the sorted time moves over them.
    let end = layout.canvas.right() + place.height();
    let mut x = layout.canvas.left();
    while x < end {
        painter.line_segment([pos2(x, place.top()), pos2(x - place.height(), place.bottom())], line);
        x += HATCH_STEP;
    }
    painter.vline(left, place.y_range(), Stroke::new(1.0, theme.accent));
    let font = FontId::proportional(TEXT_POINTS);
    let galley = painter.layout_no_wrap("Not sorted yet".to_owned(), font, theme.weak_text);
    let text = Align2::CENTER_CENTER.anchor_size(place.center(), galley.size());
    let label = text.expand2(vec2(10.0, 5.0));
    if label.width() <= place.width() {
        painter.rect_filled(label, 4.0, theme.panel);
        painter.galley(text.min, galley, theme.weak_text);
    }
}
