//! How far a load or an export has come, and the way to stop it.

use egui::{RichText, Ui};

use super::Command;
use super::theme::Theme;
use crate::base::progress::ProgressView;
use crate::base::time::grouped_digits;

/// Shows the work on `title`.
pub fn show(ui: &mut Ui, title: &str, view: &ProgressView, theme: &Theme) -> Option<Command> {
    ui.set_width(400.0);
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
        ui.label(format!("{} {percent}", view.stage.label()));
        ui.label(RichText::new(rates(view)).color(theme.weak_text));
    });
    ui.add_space(6.0);
    ui.button("Cancel").clicked().then_some(Command::Cancel)
}

/// Bytes, events a second and the time left, as far as they are known.
fn rates(view: &ProgressView) -> String {
    let mut parts = Vec::new();
    if view.bytes > 0 {
        parts.push(bytes_text(view.bytes));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate; a float saturates")]
    let rate = view.events_per_second() as u64;
    if rate > 0 {
        parts.push(format!("{} events/s", grouped_digits(rate)));
    }
    if let Some(left) = view.time_left().filter(|left| left.as_secs() > 0) {
        parts.push(format!("{} s left", grouped_digits(left.as_secs())));
    }
    parts.join("  ·  ")
}

/// Bytes in the largest unit that keeps a digit before the point.
#[must_use]
pub fn bytes_text(bytes: u64) -> String {
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
