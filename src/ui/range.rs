//! The slice of time that is selected: a band over the rows, with its length on the ruler.

use egui::{Align2, FontId, Rect, Stroke, Ui, pos2, vec2};

use super::places::Places;
use super::theme::Theme;
use super::timeline::{Timeline, as_f32};
use crate::base::time::duration_text;

/// Paints the band, if a slice of time is selected and any of it is in view.
pub(super) fn paint(timeline: &Timeline, ui: &Ui, places: &Places, theme: &Theme) {
    let Some((from_ns, to_ns)) = timeline.range else { return };
    let x_of = |ts_ns| {
        let x_px = timeline.view.x_from_time(ts_ns).clamp(-10.0, timeline.view.width_px() + 10.0);
        places.ruler.left() + as_f32(x_px.round()) / timeline.scale()
    };
    let (left, right) = (x_of(from_ns), x_of(to_ns));
    let rows = places.rows();
    let painter = ui.painter_at(rows.union(places.ruler));
    // What is beside it steps back; what is in it keeps its colours.
    for beside in [rows.left()..=left, right..=rows.right()] {
        let shade = Rect::from_x_y_ranges(beside, rows.y_range());
        if shade.width() > 0.0 {
            painter.rect_filled(shade, 0.0, theme.canvas.gamma_multiply(0.45));
        }
    }
    let edge = Stroke::new(1.0, theme.accent);
    for x in [left, right] {
        painter.vline(x, places.ruler.top()..=rows.bottom(), edge);
    }
    let on_ruler = Rect::from_min_max(pos2(left, places.ruler.top()), pos2(right, places.ruler.bottom() - 1.0));
    painter.rect_filled(on_ruler, 0.0, theme.accent.gamma_multiply(0.25));
    let text = duration_text(to_ns.abs_diff(from_ns));
    let galley = painter.layout_no_wrap(text, FontId::proportional(11.0), theme.canvas);
    let size = galley.size() + vec2(10.0, 4.0);
    let seen = on_ruler.intersect(places.ruler);
    let middle = if seen.width() > 0.0 { seen.center() } else { return };
    let left =
        (middle.x - size.x / 2.0).clamp(places.ruler.left(), (places.ruler.right() - size.x).max(places.ruler.left()));
    let pill = Rect::from_min_size(pos2(left, middle.y - size.y / 2.0), size);
    painter.rect_filled(pill, 4.0, theme.accent);
    let at = Align2::CENTER_CENTER.anchor_size(pill.center(), galley.size());
    painter.galley(at.min, galley, theme.canvas);
}
