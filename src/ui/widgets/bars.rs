//! A row of bars with labels at both ends: a distribution of durations, or of spans over time.

use egui::{Align2, FontId, Rect, Sense, Ui, pos2, vec2};

use crate::ui::theme::Theme;

/// A bar for each part of a scale.
pub(crate) struct Bars<'a> {
    pub(crate) title: &'a str,
    /// Count of each bar, in the order of the scale.
    pub(crate) counts: &'a [u64],
    /// Labels of the start and the end of the scale.
    pub(crate) ends: (String, String),
}

/// Height of the highest bar, in points.
const HEIGHT: f32 = 46.0;

impl Bars<'_> {
    /// Shows the bars, with heights by the square root of their counts. Returns the clicked one.
    pub(crate) fn show(&self, ui: &mut Ui, theme: &Theme, text_of: impl Fn(usize) -> String) -> Option<usize> {
        const LINE: f32 = 13.0;
        ui.label(egui::RichText::new(self.title).small().color(theme.weak_text));
        let (response, painter) = ui.allocate_painter(vec2(ui.available_width(), HEIGHT + LINE), Sense::click());
        let bars = response.rect.with_max_y(response.rect.top() + HEIGHT);
        painter.rect_filled(bars, 3.0, theme.canvas);
        let most = self.counts.iter().copied().max().unwrap_or(0).max(1);
        let width = bars.width() / self.counts.len().max(1) as f32;
        let pointed = response.hover_pos().map(|at| ((at.x - bars.left()) / width) as usize);
        let pointed = pointed.filter(|bar| self.counts.get(*bar).is_some_and(|count| *count > 0));
        for (bar, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            // The square root keeps small counts visible beside large ones.
            let height = ((count as f32 / most as f32).sqrt() * (HEIGHT - 4.0)).max(1.0);
            let left = bars.left() + bar as f32 * width;
            let right = (left + width - 1.0).max(left + 1.0);
            let rect = Rect::from_min_max(pos2(left, bars.bottom() - height), pos2(right, bars.bottom()));
            painter.rect_filled(rect, 0.0, if pointed == Some(bar) { theme.text } else { theme.accent });
        }
        let font = FontId::proportional(10.0);
        let (from, to) = &self.ends;
        painter.text(response.rect.left_bottom(), Align2::LEFT_BOTTOM, from, font.clone(), theme.weak_text);
        painter.text(response.rect.right_bottom(), Align2::RIGHT_BOTTOM, to, font, theme.weak_text);
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, self.title));
        let clicked = pointed.filter(|_| response.clicked());
        if let Some(bar) = pointed {
            response.on_hover_text_at_pointer(text_of(bar));
        }
        clicked
    }
}
