//! What is seen before a capture is open: the three ways to open one.

use egui::{Align, Layout, RichText, Ui};

use super::Command;
use super::theme::Theme;

/// Shows the ways in the middle of the window.
pub fn show(ui: &mut Ui, theme: &Theme) -> Option<Command> {
    let mut command = None;
    let free = ui.available_height();
    ui.with_layout(Layout::top_down(Align::Center), |ui| {
        ui.add_space((free * 0.32).max(20.0));
        ui.label(RichText::new("Longspan").size(34.0).strong());
        ui.add_space(2.0);
        ui.label(RichText::new("Drop a trace anywhere in this window").size(15.0).color(theme.weak_text));
        ui.add_space(18.0);
        let primary = egui::Button::new(RichText::new("Open a trace...").size(15.0).color(theme.canvas))
            .fill(theme.accent)
            .min_size(egui::vec2(200.0, 36.0));
        if ui.add(primary).clicked() {
            command = Some(Command::ChooseCapture);
        }
        ui.add_space(2.0);
        let secondary = egui::Button::new(RichText::new("Open a demo").size(15.0)).min_size(egui::vec2(200.0, 36.0));
        if ui.add(secondary).clicked() {
            command = Some(Command::OpenDemo);
        }
        ui.add_space(18.0);
        ui.label(
            RichText::new(
                "Chrome, Perfetto, Fuchsia, ftrace, perf, Firefox, OpenTelemetry and more, packed or not, of any size",
            )
            .small()
            .color(theme.weak_text),
        );
    });
    command
}
