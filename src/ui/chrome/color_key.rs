//! The key of duration colours: a bar from short to long, in the status bar.

use egui::{Rect, RichText, Sense, Ui, pos2, vec2};

use crate::base::time::duration_text;
use crate::scene::palette::{DURATION_STEPS, Palette, decades_ns};
use crate::ui::theme::{Theme, color32};

/// Shows the key in a line that is filled from the right.
pub(crate) fn show(ui: &mut Ui, palette: &Palette, theme: &Theme) {
    const STEP_POINTS: f32 = 5.0;
    const HEIGHT: f32 = 10.0;
    let (shortest, longest) = (decades_ns().next().unwrap_or(0), decades_ns().last().unwrap_or(0));
    let weak = |text: String| RichText::new(text).small().color(theme.weak_text);
    ui.label(weak(duration_text(longest)));
    let (key_rect, response) =
        ui.allocate_exact_size(vec2(STEP_POINTS * DURATION_STEPS as f32, HEIGHT), Sense::hover());
    for (step, color) in palette.durations().iter().enumerate() {
        let left = key_rect.left() + STEP_POINTS * step as f32;
        let rect = Rect::from_min_max(pos2(left, key_rect.top()), pos2(left + STEP_POINTS, key_rect.bottom()));
        ui.painter().rect_filled(rect, 0.0, color32(*color));
    }
    // A line at the start of each power of ten.
    let steps_per_decade = DURATION_STEPS as f32 / (decades_ns().count() - 1) as f32;
    for decade in 1..decades_ns().count() - 1 {
        let x = key_rect.left() + STEP_POINTS * steps_per_decade * decade as f32;
        ui.painter().vline(x, key_rect.bottom() - 3.0..=key_rect.bottom(), egui::Stroke::new(1.0, theme.panel));
    }
    ui.label(weak(duration_text(shortest)));
    let (shortest, longest) = (duration_text(shortest), duration_text(longest));
    let text = format!("Colours of durations, from up to {shortest} to {longest} and longer");
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, &text));
    let at = response.hover_pos().map(|at| ((at.x - key_rect.left()) / STEP_POINTS).max(0.0) as usize);
    let pointed = at.map(|step| match step * (decades_ns().count() - 1) / DURATION_STEPS {
        0 => format!("less than {}", duration_text(decades_ns().nth(1).unwrap_or(0))),
        decade => format!("{} and longer", duration_text(decades_ns().nth(decade).unwrap_or(0))),
    });
    response.on_hover_text_at_pointer(pointed.unwrap_or(text));
}
