//! Where the parts of the timeline are in the window: on whole pixels, so that lines and text are sharp.

use egui::{Rect, Ui, pos2};

/// The height of the ruler, in points.
const RULER_POINTS: f32 = 26.0;

/// The height of the map of the whole capture, in points.
const MINIMAP_POINTS: f32 = 36.0;

/// The part of the width that the names of rows take at most.
pub(super) const GUTTER_PART_MAX: f32 = 0.45;

/// The height of the strip of a derived track, in points, where there is room.
const DERIVED_POINTS: f32 = 44.0;

/// The part of the height that all derived tracks take at most.
const DERIVED_PART_MAX: f32 = 0.4;

/// The rectangles of the parts of the timeline in the window, in points, on whole pixels.
pub(super) struct TimelineLayout {
    pub(crate) all: Rect,
    /// A map of the whole capture.
    pub(crate) minimap: Rect,
    /// Beside the map, above the gutter.
    pub(crate) tools: Rect,
    /// Beside the ruler, above the gutter.
    pub(crate) corner: Rect,
    pub(crate) ruler: Rect,
    /// The names of derived tracks.
    pub(crate) derived_gutter: Rect,
    /// The strips of derived tracks; without height where there are none.
    pub(crate) derived: Rect,
    /// The names of rows that stay at the top.
    pub(crate) pinned_gutter: Rect,
    /// The rows that stay at the top; without height where there are none.
    pub(crate) pinned: Rect,
    pub(crate) gutter: Rect,
    pub(crate) canvas: Rect,
    pub(crate) scale: f32,
}

impl TimelineLayout {
    /// The places in all of the space that is left, with so much for names, so many derived tracks, and so much for
    /// rows that stay at the top.
    pub(super) fn new(ui: &Ui, gutter_points: f32, derived: usize, pinned_px: u64) -> Self {
        /// The part of the height that pinned rows take at most.
        const PINNED_PART: f32 = 0.5;
        let scale = ui.pixels_per_point();
        let whole = |points: f32| (points * scale).round() / scale;
        let available = ui.available_rect_before_wrap();
        let all = Rect::from_min_max(
            pos2(whole(available.left()), whole(available.top())),
            pos2(whole(available.right()), whole(available.bottom())),
        );
        // A narrow window takes from the names only while it is narrow.
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

    /// All rows: derived tracks, those that stay at the top and those that scroll.
    pub(super) fn rows(&self) -> Rect {
        self.derived.union(self.canvas)
    }

    /// The names of all rows.
    pub(super) fn names(&self) -> Rect {
        self.derived_gutter.union(self.gutter)
    }
}

/// The height of so many derived tracks where `room` points are left.
fn derived_points(tracks: usize, room: f32) -> f32 {
    (DERIVED_POINTS * tracks as f32).min(room.max(0.0) * DERIVED_PART_MAX)
}

/// A band of a canvas from a height in pixels.
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
