//! An error message in the middle of the window, which otherwise stays as it is.

use egui::{Align2, RichText, Ui};

use crate::scene::labels::shown;
use crate::ui::command::{AppCommand, Command};
use crate::ui::theme::Theme;
use crate::ui::widgets::spoken;

/// Shows a message until it is closed.
#[must_use]
pub(crate) fn show(ui: &Ui, title: &str, message: &str, theme: &Theme) -> Option<Command> {
    let mut command = None;
    let frame = egui::Frame::window(ui.style());
    let id = egui::Id::unique("message");
    let area = egui::Modal::default_area(id).role(egui::accesskit::Role::AlertDialog).accessible_name(title);
    egui::Modal::new(id).area(area).frame(frame).show(ui.ctx(), |ui| {
        ui.set_max_width(480.0);
        let lines: Vec<&str> = message.lines().collect();
        spoken::announce(&ui.label(RichText::new(title).size(15.0).strong().color(theme.error)));
        ui.add_space(4.0);
        if lines.len() <= LINES_MAX {
            for line in &lines {
                spoken::announce(&ui.add(egui::Label::new(shown(line)).wrap().selectable(true)));
            }
        } else {
            show_lines(ui, &lines);
        }
        ui.add_space(8.0);
        let close = ui.button("Close");
        close.request_focus();
        if close.clicked() || ui.input(|input| input.key_pressed(egui::Key::Escape)) {
            command = Some(Command::App(AppCommand::Dismiss));
        }
    });
    command
}

/// A message of more lines becomes a list, which lays out only the lines in view.
const LINES_MAX: usize = 12;

fn show_lines(ui: &mut Ui, lines: &[&str]) {
    let height = ui.text_style_height(&egui::TextStyle::Body);
    let area = egui::ScrollArea::both().max_height(300.0).auto_shrink(false);
    area.show_rows(ui, height, lines.len(), |ui, seen| {
        for line in lines.get(seen).unwrap_or(&[]) {
            ui.add(egui::Label::new(shown(line)).extend().selectable(true));
        }
    });
}

/// Position of dialogs with a choice.
pub(crate) const MIDDLE: (Align2, egui::Vec2) = (Align2::CENTER_CENTER, egui::Vec2::ZERO);
