//! Hatches the time that is not sorted yet, so that it does not look empty. If the import has failed, the reason is
//! there, with a link that starts it again.

use egui::{Align, Align2, FontId, Label, Layout, Rect, RichText, Stroke, Ui, UiBuilder, Vec2, pos2, vec2};

use super::layout::TimelineLayout;
use super::state::Timeline;
use crate::scene::labels::{shorten_middle, shown};
use crate::ui::command::{AppCommand, Command};
use crate::ui::theme::{TEXT_POINTS, Theme};

impl Timeline {
    /// Records why the import ended before all was sorted.
    pub(crate) fn interrupt(&mut self, reason: &str) {
        if self.snapshot.summary().sorted_to_ns.is_some() && !self.is_live() {
            self.interruption = Some(reason.to_owned());
        }
    }

    /// Returns why the import ended before all was sorted.
    pub(crate) fn interruption(&self) -> Option<&str> {
        self.interruption.as_deref()
    }
}

/// Hatches the time after the sorted part; nothing once the trace is sorted.
pub(super) fn paint(timeline: &Timeline, ui: &Ui, layout: &TimelineLayout, theme: &Theme) {
    /// Distance between hatching lines in points: clearly coarser than spans of a pixel.
    const HATCH_STEP: f32 = 12.0;
    let Some(rect) = unsorted_rect(timeline, layout) else { return };
    let painter = ui.painter_at(rect);
    // Spans that reach into this time show through, as do the lines between rows.
    painter.rect_filled(rect, 0.0, theme.canvas.gamma_multiply(0.8));
    let line = Stroke::new(1.0, theme.line);
    // Lines start at the edge of the window, and stay while the edge of the sorted time moves over them.
    let end = layout.canvas.right() + rect.height();
    let mut x = layout.canvas.left();
    while x < end {
        painter.line_segment([pos2(x, rect.top()), pos2(x - rect.height(), rect.bottom())], line);
        x += HATCH_STEP;
    }
    painter.vline(rect.left(), rect.y_range(), Stroke::new(1.0, theme.accent));
    if timeline.interruption.is_some() {
        return;
    }
    let font = FontId::proportional(TEXT_POINTS);
    let galley = painter.layout_no_wrap("Not sorted yet".to_owned(), font, theme.weak_text);
    let text = Align2::CENTER_CENTER.anchor_size(rect.center(), galley.size());
    let label = text.expand2(vec2(10.0, 5.0));
    if label.width() <= rect.width() {
        painter.rect_filled(label, 4.0, theme.panel);
        painter.galley(text.min, galley, theme.weak_text);
    }
}

/// Shows why the rest was not sorted, once the import has ended.
pub(super) fn show_interruption(
    timeline: &Timeline,
    ui: &mut Ui,
    layout: &TimelineLayout,
    theme: &Theme,
) -> Option<Command> {
    const SIZE: Vec2 = vec2(440.0, 96.0);
    /// Letters that fit in the lines above the link.
    const LETTERS_MAX: f32 = 230.0;
    let reason = timeline.interruption.as_ref()?;
    // The reason covers no spans: in a view of the sorted part alone, only the status bar has it.
    let rect = unsorted_rect(timeline, layout)?;
    let size = SIZE.min(rect.size() - Vec2::splat(8.0));
    if size.y < SIZE.y || size.x < SIZE.x / 2.0 {
        return None;
    }
    let rect = Rect::from_center_size(rect.center(), size);
    ui.painter_at(layout.canvas).rect_filled(rect, 4.0, theme.panel);
    let builder = UiBuilder::new().max_rect(rect.shrink2(vec2(10.0, 5.0))).layout(Layout::top_down(Align::Center));
    let shown = ui.scope_builder(builder, |ui| {
        let reason = shown(reason);
        let text = shorten_middle(&reason, LETTERS_MAX, |_| 1.0).unwrap_or_default();
        let label = ui.add(Label::new(RichText::new(&*text).color(theme.error)).wrap());
        // A tooltip that only repeats the label would cover the link.
        if text != reason {
            label.on_hover_text(&*reason);
        }
        ui.link("Open again").clicked().then_some(Command::App(AppCommand::OpenAgain))
    });
    shown.inner
}

/// Returns the part of the canvas that is not sorted.
fn unsorted_rect(timeline: &Timeline, layout: &TimelineLayout) -> Option<Rect> {
    let sorted_to_ns = timeline.snapshot.summary().sorted_to_ns?;
    let view = timeline.view.now();
    let x_px = view.x_from_time(sorted_to_ns).clamp(0.0, view.width_px());
    let left = layout.canvas.left() + x_px as f32 / timeline.scale();
    let rect = Rect::from_x_y_ranges(left..=layout.canvas.right(), layout.canvas.y_range());
    (rect.width() >= 1.0).then_some(rect)
}
