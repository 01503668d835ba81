//! The window before a capture is open: the ways to open one, and the recent captures.

use egui::{Align, Layout, RichText, Ui};

use crate::model::Sources;
use crate::scene::labels::shown;
use crate::ui::command::{AppCommand, Command};
use crate::ui::purpose::Purpose;
use crate::ui::theme::Theme;

/// As many captures that were opened last as the smallest window has room for.
const RECENT_MAX: usize = 5;

/// Offers to paste a file where none can be dropped: file managers put the path of a copied file on the clipboard.
const DROP: &str = "Drop a trace anywhere in this window";
const PASTE: &str = "Copy a trace in the file manager and paste it here with Ctrl+V (Wayland: files cannot be dropped)";

/// Shows the ways in the middle of the window. `recent` are captures, the last opened first.
pub(crate) fn show(ui: &mut Ui, recent: &[Sources], takes_drops: bool, theme: &Theme) -> Option<Command> {
    let mut command = None;
    let free = ui.available_height();
    ui.with_layout(Layout::top_down(Align::Center), |ui| {
        ui.add_space((free * 0.28 - if recent.is_empty() { 0.0 } else { 60.0 }).max(10.0));
        ui.label(RichText::new("Longspan").size(34.0).strong());
        ui.add_space(2.0);
        let hint = if takes_drops { DROP } else { PASTE };
        ui.label(RichText::new(hint).size(15.0).color(theme.weak_text));
        ui.add_space(18.0);
        let primary = egui::Button::new(RichText::new("Open a trace...").size(15.0).color(theme.canvas))
            .fill(theme.accent)
            .min_size(egui::vec2(200.0, 36.0));
        if ui.add(primary).clicked() {
            command = Some(Command::App(AppCommand::Choose(Purpose::Open)));
        }
        ui.add_space(2.0);
        let secondary = egui::Button::new(RichText::new("Open a demo").size(15.0)).min_size(egui::vec2(200.0, 36.0));
        if ui.add(secondary).clicked() {
            command = Some(Command::App(AppCommand::OpenDemo));
        }
        if !recent.is_empty() {
            ui.add_space(14.0);
            ui.label(RichText::new("Recent").small().color(theme.weak_text));
            for sources in recent.iter().take(RECENT_MAX) {
                let (title, paths) = (sources.title(), sources.to_string());
                if ui.link(shown(&title).into_owned()).on_hover_text(shown(&paths).into_owned()).clicked() {
                    command = Some(Command::App(AppCommand::Open(sources.clone())));
                }
            }
        }
        ui.add_space(14.0);
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
