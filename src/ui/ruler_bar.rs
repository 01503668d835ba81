//! The ruler above the canvas, its lines on the canvas, and the time under the pointer.

use egui::{Align2, FontId, Pos2, Rect, Stroke, Ui, pos2, vec2};

use super::places::Places;
use super::theme::Theme;
use super::timeline::{Timeline, as_f32};
use crate::base::time::seconds_text;
use crate::scene::ruler::ruler;

/// Ticks and labels, in points.
const TEXT_POINTS: f32 = 11.0;

/// Paints the ruler; labels that the time under the pointer covers are left out.
pub(super) fn paint(timeline: &Timeline, ui: &Ui, places: &Places, theme: &Theme, hover: Option<Pos2>) {
    let font = FontId::proportional(TEXT_POINTS);
    let digit_points = ui.fonts_mut(|fonts| fonts.glyph_width(&font, '0'));
    let scale = timeline.scale();
    let origin_ns = timeline.snapshot.start_ns();
    let ruler = ruler(&timeline.view, origin_ns, f64::from(digit_points * scale));
    let painter = ui.painter_at(places.ruler);
    let canvas = ui.painter_at(places.rows());
    let covered =
        hover.filter(|at| places.rows().contains(*at)).map(|at| pointer_time(timeline, ui, places, theme, at));
    let x_of = |ts_ns| places.canvas.left() + as_f32(timeline.view.x_from_time(ts_ns)) / scale;
    let tick_line = |x: f32, height: f32, color| {
        painter.vline(x, places.ruler.bottom() - height..=places.ruler.bottom(), Stroke::new(1.0, color));
    };
    for tick in &ruler.ticks {
        let x = x_of(tick.ts_ns);
        tick_line(x, 8.0, theme.weak_text);
        canvas.vline(x, places.rows().y_range(), Stroke::new(1.0, theme.grid));
        for part in 1..ruler.parts {
            tick_line(x_of(tick.ts_ns.saturating_add(ruler.step_ns / ruler.parts * part)), 4.0, theme.line);
        }
        let galley = painter.layout_no_wrap(tick.label.clone(), font.clone(), theme.weak_text);
        let at = pos2(x + 4.0, places.ruler.center().y - galley.size().y / 2.0);
        let place = Rect::from_min_size(at, galley.size());
        let is_whole = place.left() >= places.ruler.left() && place.right() <= places.ruler.right();
        if is_whole && covered.is_none_or(|covered| !covered.expand(4.0).intersects(place)) {
            painter.galley(at, galley, theme.weak_text);
        }
    }
    let at = places.corner.right_center() - vec2(8.0, 0.0);
    ui.painter_at(places.corner).text(at, Align2::RIGHT_CENTER, &ruler.base, font, theme.text);
}

/// Paints the time under the pointer and a line down to it, and returns the place of the text.
fn pointer_time(timeline: &Timeline, ui: &Ui, places: &Places, theme: &Theme, at: Pos2) -> Rect {
    let ts_ns = timeline.view.time_from_x(f64::from((at.x - places.canvas.left()) * timeline.scale()));
    let text = format!("{} s", seconds_text(ts_ns.saturating_sub(timeline.snapshot.start_ns())));
    let galley = ui.painter().layout_no_wrap(text, FontId::proportional(TEXT_POINTS), theme.canvas);
    let size = galley.size() + vec2(10.0, 4.0);
    let rightmost = (places.ruler.right() - size.x).max(places.ruler.left());
    let left = (at.x - size.x / 2.0).clamp(places.ruler.left(), rightmost);
    let pill = Rect::from_min_size(pos2(left, places.ruler.center().y - size.y / 2.0), size);
    let painter = ui.painter_at(places.ruler);
    painter.rect_filled(pill, 4.0, theme.text);
    painter.galley(pill.min + vec2(5.0, 2.0), galley, theme.canvas);
    ui.painter_at(places.rows()).vline(at.x, places.rows().y_range(), Stroke::new(1.0, theme.line));
    pill
}
