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
        // A narrow window reduces the gutter only while it is narrow.
        let x = whole(all.left() + gutter_points.min(all.width() * GUTTER_PART_MAX));
        let ruler_top = whole(all.top() + MINIMAP_POINTS);
        let derived_top = whole(ruler_top + RULER_POINTS);
        let rows_top = whole(derived_top + derived_points(derived, all.bottom() - derived_top));
        #[expect(clippy::cast_precision_loss, reason = "cut to the height of the window")]
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

/// Returns the height of derived tracks if `room` points are left.
fn derived_points(tracks: usize, room: f32) -> f32 {
    (DERIVED_POINTS * tracks as f32).min(room.max(0.0) * DERIVED_PART_MAX)
}

/// Returns a band of a canvas, given its top and height in pixels.
pub(super) fn band(canvas: Rect, scale: f32, y_px: f32, height_px: u32) -> Rect {
    #[expect(clippy::cast_precision_loss, reason = "heights of rows are far below 2^24")]
    let height = height_px as f32 / scale;
    let top = canvas.top() + y_px / scale;
    Rect::from_min_max(pos2(canvas.left(), top), pos2(canvas.right(), top + height))
}

#[expect(clippy::cast_possible_truncation, reason = "pixels near the canvas are exact in an f32")]
pub(super) fn as_f32(px: f64) -> f32 {
    px as f32
}
