//! Marks in tables: the sort arrow, and the bars behind numbers.

use egui::{Color32, Pos2, Rect, Shape, Stroke, vec2};

/// Returns an arrow that points up for ascending order, down for descending.
pub(crate) fn arrow(middle: Pos2, points_up: bool, color: Color32) -> Shape {
    let tip = if points_up { -2.5 } else { 2.5 };
    let corners = [(-4.0, -tip), (4.0, -tip), (0.0, tip)].map(|(x, y)| middle + vec2(x, y));
    Shape::convex_polygon(corners.to_vec(), color, Stroke::NONE)
}

/// Returns the bar behind a number, aligned to the right end of its cell, so that equal numbers have equal ends.
pub(crate) fn bar(cell: Rect, part: f64) -> Rect {
    let inside = cell.shrink2(vec2(2.0, 2.0));
    inside.with_min_x(inside.right() - inside.width() * part.clamp(0.0, 1.0) as f32)
}
