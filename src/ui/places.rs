//! Where the parts of the timeline are in the window: on whole pixels, so that lines and text are sharp.

use egui::{Rect, Ui, pos2};

/// The height of the ruler, in points.
const RULER_POINTS: f32 = 26.0;

/// Where the parts of the timeline are in the window, in points, on whole pixels.
pub(super) struct Places {
    pub all: Rect,
    /// Above the gutter.
    pub corner: Rect,
    pub ruler: Rect,
    pub gutter: Rect,
    pub canvas: Rect,
    pub scale: f32,
}

impl Places {
    pub fn new(ui: &Ui, gutter_points: f32) -> Self {
        let scale = ui.pixels_per_point();
        let whole = |points: f32| (points * scale).round() / scale;
        let available = ui.available_rect_before_wrap();
        let all = Rect::from_min_max(
            pos2(whole(available.left()), whole(available.top())),
            pos2(whole(available.right()), whole(available.bottom())),
        );
        let (x, y) = (whole(all.left() + gutter_points), whole(all.top() + RULER_POINTS));
        Self {
            all,
            corner: Rect::from_min_max(all.min, pos2(x, y)),
            ruler: Rect::from_min_max(pos2(x, all.top()), pos2(all.right(), y)),
            gutter: Rect::from_min_max(pos2(all.left(), y), pos2(x, all.bottom())),
            canvas: Rect::from_min_max(pos2(x, y), all.max),
            scale,
        }
    }

    /// The band of the canvas from a height in pixels.
    pub fn row(&self, y_px: f32, height_px: u32) -> Rect {
        #[expect(clippy::cast_precision_loss, reason = "heights of rows are far below 2^24")]
        let height = height_px as f32 / self.scale;
        let top = self.canvas.top() + y_px / self.scale;
        Rect::from_min_max(pos2(self.canvas.left(), top), pos2(self.canvas.right(), top + height))
    }
}
