//! The progress of an import or an export, with a histogram of parsed events over time and a button to cancel.

use egui::{Rect, RichText, Sense, Ui, pos2, vec2};

use crate::base::density::Histogram;
use crate::base::progress::{Progress, ProgressView, Stage};
use crate::base::time::{duration_text, grouped_digits};
use crate::ui::command::{AppCommand, Command};
use crate::ui::theme::Theme;

/// Width of the window: a rate, a size and a time side by side.
const WIDTH: f32 = 400.0;

/// Shows the progress of a task named `title`, which `cancel` cancels.
pub(crate) fn show(
    ui: &mut Ui,
    (title, cancel): (&str, AppCommand),
    progress: &Progress,
    theme: &Theme,
) -> Option<Command> {
    let view = &progress.view();
    ui.set_width(WIDTH);
    ui.label(RichText::new(title).size(15.0).strong());
    ui.add_space(6.0);
    let fraction = view.fraction();
    let bar = egui::ProgressBar::new(fraction.unwrap_or(0.0)).desired_height(8.0).fill(theme.accent);
    let response = ui.add(if fraction.is_none() { bar.animate(true) } else { bar });
    let percent = fraction.map_or_else(String::new, |part| format!("{:.0} %", part * 100.0));
    response.widget_info(|| {
        egui::WidgetInfo::labeled(egui::Role::ProgressIndicator, true, format!("{} {percent}", view.stage.label()))
    });
    ui.add_space(4.0);
    ui.horizontal(|ui| {
        let is_waiting = view.stage == Stage::Receiving && view.done == 0;
        ui.label(if is_waiting { "Waiting for data".to_owned() } else { format!("{} {percent}", view.stage.label()) });
        ui.label(RichText::new(rates(view)).color(theme.weak_text));
    });
    if view.stage == Stage::Parsing {
        show_density(ui, &progress.density().histogram(), theme);
    }
    ui.add_space(6.0);
    ui.button("Cancel").clicked().then_some(Command::App(cancel))
}

/// Shows the histogram of parsed events over time, before anything is sorted.
fn show_density(ui: &mut Ui, histogram: &Histogram, theme: &Theme) {
    const HEIGHT: f32 = 48.0;
    /// Width of a column in points; narrower ones blur on a screen without scaling.
    const COLUMN: f32 = 2.0;
    let (response, painter) = ui.allocate_painter(vec2(WIDTH, HEIGHT), Sense::hover());
    let rect = response.rect;
    painter.rect_filled(rect, 3.0, theme.canvas);
    let counts = histogram.columns((WIDTH / COLUMN) as usize);
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let mut left = rect.left();
    for count in counts {
        if count > 0 {
            // The square root keeps small counts visible beside large ones.
            let height = ((count as f32 / most as f32).sqrt() * (HEIGHT - 4.0)).max(1.0);
            let bar = Rect::from_min_max(pos2(left, rect.bottom() - height), pos2(left + COLUMN, rect.bottom()));
            painter.rect_filled(bar, 0.0, theme.accent.gamma_multiply(0.8));
        }
        left += COLUMN;
    }
    let reach = duration_text(histogram.span_ns());
    ui.label(RichText::new(format!("Events over time, {reach} so far")).small().color(theme.weak_text));
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, format!("Events over {reach}")));
}

/// Returns bytes, events per second and remaining time, as far as they are known.
fn rates(view: &ProgressView) -> String {
    let mut parts = Vec::new();
    if view.bytes > 0 {
        parts.push(bytes_text(view.bytes));
    }
    let rate = view.events_per_second() as u64;
    if rate > 0 {
        parts.push(format!("{} events/s", grouped_digits(rate)));
    }
    if let Some(left) = view.time_left().filter(|left| left.as_secs() > 0) {
        parts.push(format!("{} s left", grouped_digits(left.as_secs())));
    }
    parts.join("  ·  ")
}

/// Formats bytes in the largest unit with at least one digit before the point.
#[must_use]
pub(crate) fn bytes_text(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => {
            let tenths = u128::from(bytes) * 10 / u128::from(unit);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_take_the_largest_unit() {
        assert_eq!(bytes_text(1023), "1023 B");
        assert_eq!(bytes_text(1536), "1.5 KiB");
        assert_eq!(bytes_text(u64::MAX), "16777215.9 TiB");
    }
}
