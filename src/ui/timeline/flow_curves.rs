//! Draws the flows of the selected span, and the waking of the selected run, as curves between spans. A link to a span
//! in a folded row ends at the row of the group; a link to a hidden span is not drawn.

use std::collections::HashSet;

use egui::epaint::CubicBezierShape;
use egui::{Color32, Pos2, Rangef, Shape, Stroke, Ui, pos2, vec2};

use super::layout::TimelineLayout;
use super::pane::ShownPane;
use super::state::Timeline;
use crate::base::direction::Direction;
use crate::query::flow_chain::FlowLink;
use crate::scene::rows::GroupKind;
use crate::store::lane::RowIdx;
use crate::ui::theme::Theme;

pub(super) fn paint(timeline: &Timeline, ui: &Ui, layout: &TimelineLayout, theme: &Theme) {
    let Some(selected) = timeline.selection.span() else { return };
    let Some(chain) = timeline.overlays.flows_of(selected) else { return };
    let [_, rows] = timeline.panes(layout);
    let painter = ui.painter_at(rows.canvas);
    let curves = chain.links.iter().chain(&chain.waking).filter_map(|link| {
        let touches = link.from == selected || link.to == selected;
        ends(timeline, &rows, link).map(|(from, to)| FlowCurve { from, to, touches })
    });
    for FlowCurve { from, to, touches } in distinct(curves) {
        let color = if touches { theme.accent } else { theme.weak_text };
        let stroke = Stroke::new(if touches { 2.0 } else { 1.2 }, color);
        // An outline in the background colour, so that the curve is visible on spans of its colour.
        painter.add(curve(from, to, Stroke::new(stroke.width + 2.0, theme.canvas)));
        painter.add(curve(from, to, stroke));
        painter.add(head(to, color));
    }
}

impl Timeline {
    /// Returns the span after the selected one along a flow, or the span before it; `None` if there is none, or if its
    /// flows are not loaded yet.
    #[must_use]
    pub(crate) fn linked_by_flow(&self, direction: Direction) -> Option<RowIdx> {
        let selected = self.selection.span()?;
        let chain = self.overlays.flows_of(selected)?;
        let is_other = |row: &RowIdx| *row != selected;
        if direction.is_forward() {
            return chain.outgoing(selected).map(|link| link.to).find(is_other);
        }
        let before = chain.incoming(selected).map(|link| link.from).filter(is_other).last();
        before.or_else(|| chain.waking.map(|link| link.from))
    }
}

/// A curve between two points of the window.
#[derive(Debug, Clone, Copy, PartialEq)]
struct FlowCurve {
    from: Pos2,
    to: Pos2,
    /// Whether it is a link of the selected span.
    touches: bool,
}

/// Returns the curves that the outline of no earlier curve would cover. A span with a thousand flows has hundreds of
/// curves in the same pixels.
fn distinct(curves: impl Iterator<Item = FlowCurve>) -> Vec<FlowCurve> {
    /// Distance at which two curves look distinct: the width of a curve.
    const APART: f32 = 2.0;
    let cell = |at: Pos2| ((at.x / APART).round() as i32, (at.y / APART).round() as i32);
    let mut taken = HashSet::new();
    curves.filter(|curve| taken.insert((cell(curve.from), cell(curve.to), curve.touches))).collect()
}

/// Returns both ends of a link in the window; `None` if no part of it can be in view. They are on the edges of the rows
/// that face each other, so that the curve does not cross the names on both spans.
fn ends(timeline: &Timeline, rows: &ShownPane<'_>, link: &FlowLink) -> Option<(Pos2, Pos2)> {
    let canvas = rows.canvas;
    let (from_y, to_y) = facing_edges(row_range(timeline, rows, link.from)?, row_range(timeline, rows, link.to)?);
    let from = pos2(rows.x_of(link.from_ns), from_y);
    let to = pos2(rows.x_of(link.to_ns), to_y);
    let is_beside = |a: f32, b: f32, low: f32, high: f32| a.max(b) < low || a.min(b) > high;
    let is_out = is_beside(from.x, to.x, canvas.left(), canvas.right())
        || is_beside(from.y, to.y, canvas.top(), canvas.bottom());
    (!is_out).then_some((from, to))
}

/// Returns the edge of each of two rows that faces the other; the lower edge of both for the same row.
fn facing_edges(from: Rangef, to: Rangef) -> (f32, f32) {
    if to.center() < from.center() {
        (from.min, to.max)
    } else if to.center() > from.center() {
        (from.max, to.min)
    } else {
        (from.max, to.max)
    }
}

/// Returns the vertical range of a span's row, or of its group while that is folded.
fn row_range(timeline: &Timeline, rows: &ShownPane<'_>, row: RowIdx) -> Option<Rangef> {
    /// Farther away, the curve's shape is not visible.
    const REACH: f32 = 4000.0;
    let track = timeline.snapshot.lane(row.lane).track;
    let layout = &rows.pane.layout;
    let own = layout.row_of(row.lane, track).map(|layout_row| (layout_row.top_px, layout_row.height_px));
    let group = || {
        let mut kinds = std::iter::once(GroupKind::Track(track)).chain(timeline.kinds_above(track));
        let group = kinds.find_map(|kind| layout.group_of(kind))?;
        Some((group.top_px, group.height_px))
    };
    let (top_px, height_px) = own.or_else(group)?;
    let y = rows.band(top_px, height_px).y_range();
    let near = |y: f32| y.clamp(rows.canvas.top() - REACH, rows.canvas.bottom() + REACH);
    Some(Rangef::new(near(y.min), near(y.max)))
}

/// Draws a curve that leaves to the right and arrives from the left.
fn curve(from: Pos2, to: Pos2, stroke: Stroke) -> Shape {
    let reach = ((to.x - from.x).abs() / 2.0).clamp(24.0, 160.0);
    let points = [from, from + vec2(reach, 0.0), to - vec2(reach, 0.0), to];
    CubicBezierShape::from_points_stroke(points, false, Color32::TRANSPARENT, stroke).into()
}

fn head(at: Pos2, color: Color32) -> Shape {
    Shape::convex_polygon(vec![at, at + vec2(-7.0, -4.0), at + vec2(-7.0, 4.0)], color, Stroke::NONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_between_the_edges_of_the_rows_that_face_each_other() {
        let [above, below] = [Rangef::new(0.0, 18.0), Rangef::new(50.0, 68.0)];
        assert_eq!(facing_edges(above, below), (18.0, 50.0));
        assert_eq!(facing_edges(below, above), (50.0, 18.0));
        assert_eq!(facing_edges(above, above), (18.0, 18.0));
    }

    #[test]
    fn of_curves_in_the_same_pixels_one_is_drawn() {
        let curve = |number: u16, points: f32, touches: bool| {
            let from = pos2(10.0 + f32::from(number) * points, 20.0);
            FlowCurve { from, to: pos2(300.0, 80.0), touches }
        };
        let near: Vec<_> = (0..1000).map(|number| curve(number, 0.01, true)).collect();
        assert!((5..=7).contains(&distinct(near.into_iter()).len()));
        let apart: Vec<_> = (0..100).map(|number| curve(number, 2.0, true)).collect();
        assert_eq!(distinct(apart.clone().into_iter()), apart);
        // A link of the selected span has another colour.
        assert_eq!(distinct([true, false].into_iter().map(|touches| curve(0, 0.0, touches))).len(), 2);
    }
}
