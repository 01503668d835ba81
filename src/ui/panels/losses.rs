//! The import issues of a capture: how much was lost, where first, and what the user can do.

use egui::{RichText, Ui};

use crate::base::time::{grouped_digits, seconds_text};
use crate::model::{Losses, SourcePos};
use crate::scene::labels::shown;
use crate::ui::command::{AppCommand, Command, TimelineCommand, ToolWindow};
use crate::ui::theme::Theme;

/// The button in the status bar; nothing where there is nothing to warn of.
pub(crate) fn badge(ui: &mut Ui, losses: &Losses, theme: &Theme) -> Option<Command> {
    let text = match losses.warnings() {
        0 => return None,
        1 => "1 import issue".to_owned(),
        total => format!("{} import issues", grouped_digits(total)),
    };
    let text = RichText::new(text).color(theme.warning);
    let clicked =
        ui.add(egui::Button::new(text).small()).on_hover_text("What could not be taken as it stood").clicked();
    clicked.then_some(Command::App(AppCommand::Toggle(ToolWindow::Losses)))
}

pub(crate) fn list(ui: &mut Ui, losses: &Losses, origin_ns: i64, theme: &Theme) -> Vec<Command> {
    let mut commands = Vec::new();
    if losses.is_empty() {
        ui.label("No import issues: every event of the trace is shown.");
    } else if losses.warnings() == 0 {
        ui.label("No import issues. What is below is normal in a trace.");
    }
    let page = page(ui, losses.iter().count());
    egui::ScrollArea::vertical().max_height(360.0).show(ui, |ui| {
        // Those to act on come first.
        let rows = [false, true]
            .into_iter()
            .flat_map(|is_note| losses.iter().filter(move |lost| lost.loss.is_note() == is_note));
        for lost in rows.skip(page * PAGE_ROWS).take(PAGE_ROWS) {
            ui.horizontal(|ui| {
                ui.label(RichText::new(lost.loss.name().replace('_', " ")).strong());
                let count = match lost.count {
                    1 => "once".to_owned(),
                    count => format!("{} times", grouped_digits(count)),
                };
                let color = if lost.loss.is_note() { theme.weak_text } else { theme.warning };
                ui.label(RichText::new(count).color(color));
                if let Some(file) = lost.file {
                    ui.label(RichText::new(format!("in {}", shown(file))).color(theme.weak_text));
                }
                match lost.first {
                    SourcePos::Time(ts_ns) => {
                        let text = format!("first at {} s", seconds_text(ts_ns.saturating_sub(origin_ns)));
                        if ui.link(text).clicked() {
                            commands.push(Command::Timeline(TimelineCommand::ShowTime(ts_ns)));
                        }
                    }
                    place @ SourcePos::Offset(_) => {
                        ui.label(RichText::new(format!("first at {place}")).color(theme.weak_text));
                    }
                }
            });
            ui.add(egui::Label::new(RichText::new(shown(lost.advice)).color(theme.weak_text)).wrap());
            ui.add_space(6.0);
        }
    });
    commands
}

/// More are on pages of their own: a frame lays out every row of a page.
const PAGE_ROWS: usize = 200;

/// The page of the list that is shown, with buttons for its neighbours where there are several.
fn page(ui: &mut Ui, rows: usize) -> usize {
    let pages = rows.div_ceil(PAGE_ROWS).max(1);
    let id = ui.scope_id().with("page");
    let mut page = ui.data(|data| data.get_temp(id)).unwrap_or(0_usize).min(pages - 1);
    if pages > 1 {
        ui.horizontal(|ui| {
            let last = (page * PAGE_ROWS + PAGE_ROWS).min(rows);
            let [first, last, rows] = [page * PAGE_ROWS + 1, last, rows].map(|row| grouped_digits(row as u64));
            ui.label(format!("{first} to {last} of {rows}"));
            if ui.add_enabled(page > 0, egui::Button::new("Previous page")).clicked() {
                page -= 1;
            }
            if ui.add_enabled(page + 1 < pages, egui::Button::new("Next page")).clicked() {
                page += 1;
            }
        });
        ui.data_mut(|data| data.insert_temp(id, page));
    }
    page
}
