//! A row of bars with labels at both ends and between them: a distribution of durations, or of spans over time.

use egui::{Align2, FontId, Rect, Sense, Stroke, Ui, pos2, vec2};

use super::letters::text_width;
use crate::ui::theme::Theme;

/// A bar for each part of a scale.
pub(crate) struct Bars<'a> {
    pub(crate) title: &'a str,
    /// Count of each bar, in the order of the scale.
    pub(crate) counts: &'a [u64],
    /// Labels of the start and the end of the scale.
    pub(crate) ends: (String, String),
    /// Labels between the ends, each with its position from 0 to 1, in the order of the scale. Labels without space are
    /// left out.
    pub(crate) ticks: Vec<(f32, String)>,
}

/// Height of the highest bar, in points.
const HEIGHT: f32 = 46.0;

impl Bars<'_> {
    /// Shows the bars, with heights by the square root of their counts. Returns the clicked bar.
    pub(crate) fn show(&self, ui: &mut Ui, theme: &Theme, text_of: impl Fn(usize) -> String) -> Option<usize> {
        const LINE: f32 = 13.0;
        ui.label(egui::RichText::new(self.title).small().color(theme.weak_text));
        let (response, painter) = ui.allocate_painter(vec2(ui.available_width(), HEIGHT + LINE), Sense::click());
        let bars = response.rect.with_max_y(response.rect.top() + HEIGHT);
        painter.rect_filled(bars, 3.0, theme.canvas);
        let most = self.counts.iter().copied().max().unwrap_or(0).max(1);
        let width = bars.width() / self.counts.len().max(1) as f32;
        let pointed = response.hover_pos().and_then(|at| self.bar_near(at.x - bars.left(), width));
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
        let left = painter.text(response.rect.left_bottom(), Align2::LEFT_BOTTOM, from, font.clone(), theme.weak_text);
        let right = painter.text(response.rect.right_bottom(), Align2::RIGHT_BOTTOM, to, font.clone(), theme.weak_text);
        let widths =
            self.ticks.iter().map(|(part, text)| (bars.left() + part * bars.width(), text_width(ui, text, &font)));
        for tick in fitting(&widths.collect::<Vec<_>>(), left.right(), right.left()) {
            let (part, text) = &self.ticks[tick];
            let x = bars.left() + part * bars.width();
            painter.vline(x, bars.bottom()..=bars.bottom() + 3.0, Stroke::new(1.0, theme.weak_text));
            painter.text(pos2(x, response.rect.bottom()), Align2::CENTER_BOTTOM, text, font.clone(), theme.weak_text);
        }
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, self.title));
        let clicked = pointed.filter(|_| response.clicked());
        if let Some(bar) = pointed {
            response.on_hover_text_at_pointer(text_of(bar));
        }
        clicked
    }

    /// Returns the bar with a count at a position or next to it: many bars have a point of width each.
    fn bar_near(&self, x: f32, width: f32) -> Option<usize> {
        const NEAR_POINTS: f32 = 4.0;
        let bars = self.counts.len();
        let (at, reach) = (((x / width) as usize).min(bars), ((NEAR_POINTS / width) as usize).min(bars));
        let has_count = |bar: &usize| self.counts.get(*bar).is_some_and(|count| *count > 0);
        (0..=reach).flat_map(|bars| [at.checked_sub(bars), at.checked_add(bars)]).flatten().find(has_count)
    }
}

/// Returns the indices of labels that have space between two positions, each with its middle and its width.
fn fitting(labels: &[(f32, f32)], left: f32, right: f32) -> Vec<usize> {
    const GAP_POINTS: f32 = 6.0;
    let mut free = left;
    let mut fitting = Vec::new();
    for (index, &(middle, width)) in labels.iter().enumerate() {
        let (from, to) = (middle - width / 2.0, middle + width / 2.0);
        if from >= free + GAP_POINTS && to + GAP_POINTS <= right {
            fitting.push(index);
            free = to;
        }
    }
    fitting
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_bar_is_hit_next_to_it_and_a_wide_one_only_on_it() {
        let ends = (String::new(), String::new());
        let bars = Bars { title: "", counts: &[0, 0, 5, 0, 0, 0, 0, 0, 1], ends, ticks: Vec::new() };
        assert_eq!([0.0, 4.0, 5.9, 8.9].map(|x| bars.bar_near(x, 1.5)), [Some(2), Some(2), Some(2), None]);
        assert_eq!(bars.bar_near(9.0, 1.5), Some(8), "the nearer one of both");
        assert_eq!([19.0, 20.0, 29.0, 30.0].map(|x| bars.bar_near(x, 10.0)), [None, Some(2), Some(2), None]);
    }

    #[test]
    fn labels_that_would_cover_others_are_left_out() {
        let labels = [(20.0, 20.0), (50.0, 20.0), (60.0, 20.0), (90.0, 20.0), (130.0, 20.0)];
        assert_eq!(fitting(&labels, 10.0, 145.0), [1, 3]);
        assert_eq!(fitting(&labels, 0.0, 145.0), [0, 1, 3]);
        assert_eq!(fitting(&labels, 0.0, 0.0), [0; 0]);
    }
}
