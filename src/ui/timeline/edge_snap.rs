//! Snapping to the edges of spans: a marker or a selected time near an edge is exactly at it, and a line shows the
//! edge. The Alt key disables it.

use egui::{Pos2, Rangef, Stroke, Ui};

use super::interaction::SpanEdge;
use super::layout::TimelineLayout;
use super::state::Timeline;
use crate::query::pick::nearest_edge_ns;
use crate::store::lane::{LaneIdx, RowIdx};
use crate::ui::theme::Theme;

/// Distance within which the pointer snaps to an edge.
const REACH_POINTS: f64 = 6.0;

impl Timeline {
    /// Returns the edge nearest to a point of the window: of the row there, or of the selected span. Reads a few rows.
    pub(super) fn edge_near(&self, ui: &Ui, layout: &TimelineLayout, at: Pos2) -> Option<SpanEdge> {
        if ui.input(|input| input.modifiers.alt) {
            return None;
        }
        let x_px = f64::from((at.x - layout.canvas.left()) * self.scale());
        let distance = |ts_ns| (self.view.now().x_from_time(ts_ns) - x_px).abs() / f64::from(self.scale());
        let of_row = self.lane_at(layout, at).and_then(|(lane, y)| {
            Some(SpanEdge { ts_ns: nearest_edge_ns(&self.snapshot, lane, self.time_at(layout, at))?, y })
        });
        let of_selected = self.selection.span().map_or(Vec::new(), |row| self.edges_of(layout, row));
        let edges = of_selected.into_iter().chain(of_row);
        let near = edges.filter(|edge| distance(edge.ts_ns) <= REACH_POINTS);
        near.min_by(|a, b| distance(a.ts_ns).total_cmp(&distance(b.ts_ns)))
    }

    /// Returns the time of an edge near a point of the window, or else the time there, or the nearest end of the trace
    /// for a point beyond it. The end is exclusive, after instants at the last nanosecond.
    pub(super) fn edge_or_time(&self, layout: &TimelineLayout, at: Pos2, edge: Option<SpanEdge>) -> i64 {
        let (start_ns, end_ns) = (self.snapshot.start_ns(), self.snapshot.end_ns().saturating_add(1));
        let ts_ns = edge.map_or_else(|| self.time_at(layout, at), |edge| edge.ts_ns);
        ts_ns.max(start_ns).min(end_ns.max(start_ns))
    }

    /// Returns the lane at a point of the rows, with its vertical range.
    fn lane_at(&self, layout: &TimelineLayout, at: Pos2) -> Option<(LaneIdx, Rangef)> {
        let lane = self.picked(layout, at).lane.filter(|_| layout.rows().contains(at))?;
        let shown = self.panes(layout).into_iter().find(|shown| shown.canvas.contains(at))?;
        Some((lane.lane, shown.band(lane.top_px, lane.height_px).y_range()))
    }

    /// Returns the start and the known end of a row in view.
    fn edges_of(&self, layout: &TimelineLayout, row: RowIdx) -> Vec<SpanEdge> {
        let span = self.snapshot.row(row);
        let lane = self.drawn_lane(row.lane);
        let in_pane = self.panes(layout).into_iter().find_map(|shown| {
            let layout_row = shown.pane.layout.row_of(lane, self.snapshot.lane(lane).track)?;
            let y = shown.band(layout_row.top_px, layout_row.height_px).y_range();
            y.intersects(shown.canvas.y_range()).then_some(y)
        });
        let end_ns = Some(span.end_ns()).filter(|_| !span.unfinished);
        let times = [Some(span.start_ns), end_ns].into_iter().flatten();
        in_pane.map_or(Vec::new(), |y| times.map(|ts_ns| SpanEdge { ts_ns, y }).collect())
    }

    /// Paints a line at the edge to which the pointer snaps.
    pub(super) fn paint_snap(&self, ui: &Ui, layout: &TimelineLayout, theme: &Theme) {
        /// Length of the line above and below the row.
        const BEYOND_POINTS: f32 = 4.0;
        let Some(edge) = self.interaction.snapped else { return };
        let x = layout.canvas.left() + self.view.now().x_from_time(edge.ts_ns).round() as f32 / self.scale();
        // On narrow spans there is an edge in every pixel, and the line would hide them.
        let pointer = ui.input(|input| input.pointer.hover_pos());
        if pointer.is_some_and(|at| (at.x - x).abs() * self.scale() < 1.0) {
            return;
        }
        let y = edge.y.expand(BEYOND_POINTS);
        let painter = ui.painter_at(layout.rows());
        // A wider line in the colour of the background makes the line visible on spans of its colour.
        painter.vline(x, y, Stroke::new(4.0, theme.canvas));
        painter.vline(x, y, Stroke::new(2.0, theme.accent));
    }
}
