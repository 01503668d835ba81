//! The ruler above the canvas, its lines on the canvas, and the time under the pointer.

use std::sync::Arc;

use egui::{Align2, FontId, Galley, Pos2, Rect, Stroke, Ui, pos2, vec2};

use super::bookmarks::distance_text;
use super::layout::TimelineLayout;
use super::ruler_labels::beside_others;
use super::state::Timeline;
use crate::query::drawn_unit::AxisUnit;
use crate::scene::clock_ruler::{clock_ruler, hours_ruler, with_decimals_of_pixels};
use crate::scene::ruler::{Ruler, ruler, weight_ruler};
use crate::ui::theme::Theme;

/// Font size of labels, in points.
const TEXT_POINTS: f32 = 11.0;

/// Returns the ruler of the view.
pub(super) fn current(timeline: &Timeline, ui: &Ui) -> Ruler {
    let digit_points = ui.fonts_mut(|fonts| fonts.glyph_width(&FontId::proportional(TEXT_POINTS), '0'));
    let digit_px = f64::from(digit_points * timeline.scale());
    let (view, origin_ns) = (timeline.view.now(), timeline.origin_ns());
    match timeline.snapshot().axis_unit() {
        AxisUnit::Time => {}
        AxisUnit::Weight(unit) => return weight_ruler(view, origin_ns, digit_px, unit),
        AxisUnit::Mixed => return Ruler::default(),
    }
    if let Some(offset_ns) = timeline.ruler_utc_offset_ns() {
        clock_ruler(view, offset_ns, digit_px)
    } else {
        hours_ruler(view, origin_ns, digit_px).unwrap_or_else(|| ruler(view, origin_ns, digit_px))
    }
}

/// Paints the ruler; covered labels are left out.
pub(super) fn paint(
    timeline: &Timeline,
    ruler: &Ruler,
    ui: &Ui,
    layout: &TimelineLayout,
    theme: &Theme,
    covered: &[Rect],
) {
    let font = FontId::proportional(TEXT_POINTS);
    let scale = timeline.scale();
    let painter = ui.painter_at(layout.ruler);
    let canvas = ui.painter_at(layout.rows());
    let x_of = |ts_ns| layout.canvas.left() + timeline.view.now().x_from_time(ts_ns) as f32 / scale;
    let tick_line = |x: f32, height: f32, color| {
        painter.vline(x, layout.ruler.bottom() - height..=layout.ruler.bottom(), Stroke::new(1.0, color));
    };
    for tick in &ruler.ticks {
        let x = x_of(tick.ts_ns);
        tick_line(x, 8.0, theme.weak_text);
        canvas.vline(x, layout.rows().y_range(), Stroke::new(1.0, theme.grid));
        for part in 1..ruler.parts {
            tick_line(x_of(tick.ts_ns.saturating_add(ruler.step_ns / ruler.parts * part)), 4.0, theme.line);
        }
        let galley = painter.layout_no_wrap(tick.label.clone(), font.clone(), theme.weak_text);
        let at = pos2(x + 4.0, layout.ruler.center().y - galley.size().y / 2.0);
        let rect = Rect::from_min_size(at, galley.size());
        let is_whole = rect.left() >= layout.ruler.left() && rect.right() <= layout.ruler.right();
        if is_whole && !covered.iter().any(|covered| covered.expand(4.0).intersects(rect)) {
            painter.galley(at, galley, theme.weak_text);
        }
    }
    let at = layout.corner.right_center() - vec2(8.0, 0.0);
    ui.painter_at(layout.corner).text(at, Align2::RIGHT_CENTER, &ruler.base, font, theme.text);
}

/// The time under the pointer, with its label on the ruler.
pub(super) struct PointerTime {
    galley: Arc<Galley>,
    x: f32,
    /// Its rectangle on the ruler.
    pub(crate) rect: Rect,
}

/// Returns the time under the pointer, if the pointer is on the rows. The label of the time is beside the other labels,
/// or over them if there is no room.
pub(super) fn pointer_time(
    timeline: &Timeline,
    ruler: &Ruler,
    ui: &Ui,
    layout: &TimelineLayout,
    theme: &Theme,
    (hover, others): (Option<Pos2>, &[Rect]),
) -> Option<PointerTime> {
    let at = hover.filter(|at| layout.rows().contains(*at))?;
    let ts_ns = timeline.time_at(layout, at);
    let ns_per_px = timeline.view.now().ns_per_px();
    let has_times = timeline.snapshot().has_times();
    let of_day = || has_times.then(|| with_decimals_of_pixels(timeline.time_text(ts_ns), ns_per_px));
    let time = ruler.time_text(ts_ns, ns_per_px).or_else(of_day)?;
    let from_mark = distance_text(timeline, ts_ns);
    let text = if from_mark.is_empty() { time } else { format!("{time}   {from_mark}") };
    let galley = ui.painter().layout_no_wrap(text, FontId::proportional(TEXT_POINTS), theme.canvas);
    let size = galley.size() + vec2(10.0, 4.0);
    let rect = Rect::from_center_size(pos2(at.x, layout.ruler.center().y), size);
    let rect = beside_others(rect, layout.ruler, others);
    Some(PointerTime { galley, x: at.x, rect })
}

impl PointerTime {
    /// Paints the line down to the pointer.
    pub(super) fn paint_line(&self, ui: &Ui, layout: &TimelineLayout, theme: &Theme) {
        ui.painter_at(layout.rows()).vline(self.x, layout.rows().y_range(), Stroke::new(1.0, theme.line));
    }

    /// Paints the time above everything else on the ruler.
    pub(super) fn paint(&self, ui: &Ui, layout: &TimelineLayout, theme: &Theme) {
        let painter = ui.painter_at(layout.ruler);
        painter.rect_filled(self.rect, 4.0, theme.text);
        painter.galley(self.rect.min + vec2(5.0, 2.0), Arc::clone(&self.galley), theme.canvas);
    }
}
