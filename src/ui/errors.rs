//! What went wrong, as one sentence in the middle of the window. The window goes on as it was before.

use egui::{Align2, RichText, Ui};

use super::Command;
use super::theme::Theme;
use crate::scene::labels::shown;

/// Shows a message until it is closed.
#[must_use]
pub fn show(ui: &Ui, title: &str, message: &str, theme: &Theme) -> Option<Command> {
    let mut command = None;
    let frame = egui::Frame::window(ui.style());
    egui::Modal::new(egui::Id::unique("message")).frame(frame).show(ui.ctx(), |ui| {
        ui.set_max_width(480.0);
        ui.label(RichText::new(title).size(15.0).strong().color(theme.error));
        ui.add_space(4.0);
        ui.add(egui::Label::new(shown(message)).wrap().selectable(true));
        ui.add_space(8.0);
        let close = ui.button("Close");
        close.request_focus();
        if close.clicked() || ui.input(|input| input.key_pressed(egui::Key::Escape)) {
            command = Some(Command::Dismiss);
        }
    });
    command
}

/// Where windows with a choice stand.
pub(super) const MIDDLE: (Align2, egui::Vec2) = (Align2::CENTER_CENTER, egui::Vec2::ZERO);
