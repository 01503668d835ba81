//! The program's name, version, licence and GPU: the first lines of a bug report.

use egui::{RichText, Ui};

use crate::base::version::VERSION;
use crate::ui::command::{AppCommand, Command};
use crate::ui::theme::Theme;

/// Shows the lines. `adapter` is the name of the GPU, or empty without one.
pub(crate) fn show(ui: &mut Ui, adapter: &str, theme: &Theme) -> Option<Command> {
    let mut command = None;
    let facts = facts(adapter);
    ui.label(format!("Longspan {}", *VERSION));
    ui.label(RichText::new(env!("CARGO_PKG_DESCRIPTION")).color(theme.weak_text));
    ui.add_space(8.0);
    egui::Grid::new("about").num_columns(2).spacing([16.0, 4.0]).show(ui, |ui| {
        for (title, text) in &facts[1..] {
            ui.label(RichText::new(*title).color(theme.weak_text));
            ui.label(text);
            ui.end_row();
        }
    });
    ui.add_space(8.0);
    if ui.button("Copy").on_hover_text("These lines, for a report").clicked() {
        let lines: Vec<_> = facts.iter().map(|(title, text)| format!("{title}: {text}")).collect();
        command = Some(Command::App(AppCommand::CopyText(lines.join("\n"))));
    }
    command
}

fn facts(adapter: &str) -> Vec<(&'static str, String)> {
    let mut facts = vec![("Longspan", VERSION.clone()), ("Licence", env!("CARGO_PKG_LICENSE").to_owned())];
    if !adapter.is_empty() {
        facts.push(("Graphics", adapter.to_owned()));
    }
    facts
}
