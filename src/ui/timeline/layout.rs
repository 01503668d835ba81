//! The rectangles of the parts of the timeline, on whole pixels, so that lines and text are sharp.

use egui::{Rect, Ui, pos2};

/// Height of the ruler, in points.
const RULER_POINTS: f32 = 26.0;

/// Height of the minimap, in points.
const MINIMAP_POINTS: f32 = 36.0;

/// Maximum share of the width for the gutter.
pub(super) const GUTTER_PART_MAX: f32 = 0.45;

/// Height of the strip of a derived track in points, if there is space.
const DERIVED_POINTS: f32 = 44.0;

/// Minimum height of a strip: one line of text. More tracks than fit scroll.
const DERIVED_POINTS_MIN: f32 = 20.0;

/// Maximum share of the height for all derived tracks.
const DERIVED_PART_MAX: f32 = 0.4;

/// The rectangles of the parts of the timeline in the window, in points, on whole pixels.
pub(super) struct TimelineLayout {
    pub(crate) all: Rect,
    /// The map of the whole trace.
    pub(crate) minimap: Rect,
    /// Beside the map, above the gutter.
    pub(crate) tools: Rect,
    /// Beside the ruler, above the gutter.
    pub(crate) corner: Rect,
    pub(crate) ruler: Rect,
    /// The names of derived tracks.
    pub(crate) derived_gutter: Rect,
    /// The strips of derived tracks; no height if there are none.
    pub(crate) derived: Rect,
    /// The names of pinned rows.
    pub(crate) pinned_gutter: Rect,
    /// The pinned rows; no height if there are none.
    pub(crate) pinned: Rect,
    pub(crate) gutter: Rect,
    pub(crate) canvas: Rect,
    pub(crate) scale: f32,
}

impl TimelineLayout {
    /// Divides the available space, given the width of the gutter, the number of derived tracks, and the height of
    /// pinned rows.
    pub(super) fn new(ui: &Ui, gutter_points: f32, derived: usize, pinned_px: u64) -> Self {
        /// Maximum share of the height for pinned rows.
        const PINNED_PART: f32 = 0.5;
        let scale = ui.pixels_per_point();
        let whole = |points: f32| (points * scale).round() / scale;
        let available = ui.available_rect_before_wrap();
        let all = Rect::from_min_max(
            pos2(whole(available.left()), whole(available.top())),
            pos2(whole(available.right()), whole(available.bottom())),
        );
        // A narrow window limits the gutter, but keeps the chosen width for when it is wide again.
        let x = whole(all.left() + gutter_points.min(all.width() * GUTTER_PART_MAX));
        // Parts that do not fit end with the area, so that they cover nothing below it.
        let below = |top: f32, points: f32| whole((top + points).min(all.bottom()));
        let ruler_top = below(all.top(), minimap_points(all.height()));
        let derived_top = below(ruler_top, RULER_POINTS);
        let rows_top = whole(derived_top + derived_points(derived, all.bottom() - derived_top));
        let pinned_points = (pinned_px as f32 / scale).min((all.bottom() - rows_top).max(0.0) * PINNED_PART);
        let canvas_top = whole(rows_top + pinned_points);
        let (left, right) = (all.left()..=x, x..=all.right());
        let part = |x: &std::ops::RangeInclusive<f32>, top: f32, bottom: f32| {
            Rect::from_x_y_ranges(x.clone(), top..=bottom.max(top))
        };
        Self {
            all,
            tools: part(&left, all.top(), ruler_top),
            minimap: part(&right, all.top(), ruler_top),
            corner: part(&left, ruler_top, derived_top),
            ruler: part(&right, ruler_top, derived_top),
            derived_gutter: part(&left, derived_top, rows_top),
            derived: part(&right, derived_top, rows_top),
            pinned_gutter: part(&left, rows_top, canvas_top),
            pinned: part(&right, rows_top, canvas_top),
            gutter: part(&left, canvas_top, all.bottom()),
            canvas: part(&right, canvas_top, all.bottom()),
            scale,
        }
    }

    /// Returns the area of all rows: derived, pinned and scrolling.
    pub(super) fn rows(&self) -> Rect {
        self.derived.union(self.canvas)
    }

    /// Returns the area of all names.
    pub(super) fn names(&self) -> Rect {
        self.derived_gutter.union(self.gutter)
    }
}

/// Returns the height of the minimap and of the filter beside it. In a low area, the rows need it.
fn minimap_points(height: f32) -> f32 {
    /// Minimum height of the rows below a minimap.
    const ROWS_POINTS: f32 = 30.0;
    if height < MINIMAP_POINTS + RULER_POINTS + ROWS_POINTS { 0.0 } else { MINIMAP_POINTS }
}

/// Returns the height of derived tracks if `room` points are left.
fn derived_points(tracks: usize, room: f32) -> f32 {
    (DERIVED_POINTS * tracks as f32).min(room.max(0.0) * DERIVED_PART_MAX)
}

/// The strips of derived tracks within their area, in points.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::struct_field_names, reason = "the postfix is the unit")]
pub(super) struct StripLayout {
    pub(super) area_points: f32,
    pub(super) strip_points: f32,
    /// Distance that the strips are scrolled up.
    pub(super) scroll_points: f32,
    /// Height of the strips that do not fit.
    pub(super) hidden_points: f32,
}

impl StripLayout {
    /// Lays out strips in an area of this height, scrolled as far as they go.
    pub(super) fn new(tracks: usize, area_points: f32, scroll_points: f32) -> Self {
        let strip_points = (area_points / tracks.max(1) as f32).max(DERIVED_POINTS_MIN);
        let hidden_points = (strip_points * tracks as f32 - area_points).max(0.0);
        Self { area_points, strip_points, scroll_points: scroll_points.clamp(0.0, hidden_points), hidden_points }
    }

    /// Returns the distance of a strip from the top of the area.
    pub(super) fn top_points(self, number: usize) -> f32 {
        self.strip_points * number as f32 - self.scroll_points
    }
}

/// Returns a band of a canvas, given its top and height in pixels.
pub(super) fn band(canvas: Rect, scale: f32, y_px: f32, height_px: u32) -> Rect {
    let height = height_px as f32 / scale;
    let top = canvas.top() + y_px / scale;
    Rect::from_min_max(pos2(canvas.left(), top), pos2(canvas.right(), top + height))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_derived_track_has_a_line_and_can_be_scrolled_into_view() {
        for (tracks, area_points) in [(1, 44.0), (3, 132.0), (16, 148.0), (16, 30.0), (5, 0.0)] {
            for scroll_points in [-10.0, 0.0, 7.5, 1e9] {
                let strips = StripLayout::new(tracks, area_points, scroll_points);
                assert!(strips.strip_points >= DERIVED_POINTS_MIN, "{strips:?}");
                assert!(strips.top_points(0) <= 0.0, "{strips:?}");
                let bottom = strips.top_points(tracks);
                assert!(bottom >= area_points.min(bottom + strips.scroll_points) - 0.01, "no gap below: {strips:?}");
            }
            let [first, last] = [0.0, f32::INFINITY].map(|scroll| StripLayout::new(tracks, area_points, scroll));
            assert_eq!(first.top_points(0), 0.0);
            assert!((last.top_points(tracks) - area_points).abs() < 0.01, "{last:?}");
        }
    }
}
