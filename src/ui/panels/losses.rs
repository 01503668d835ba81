//! The import issues of a trace by severity: the number of affected events, the first position, and advice.

use egui::{RichText, Ui};

use crate::base::time::{elapsed_text, grouped_digits};
use crate::model::{Losses, Severity, SourcePos};
use crate::scene::labels::shown;
use crate::ui::command::{AppCommand, Command, TimelineCommand, ToolWindow};
use crate::ui::theme::Theme;

/// Shows the button in the status bar, with the number of losses; none for information only.
pub(crate) fn badge(ui: &mut Ui, losses: &Losses, theme: &Theme) -> Option<Command> {
    let changed = losses.count_of(Severity::Changed);
    let (text, tooltip) = match (losses.count_of(Severity::Lost), changed) {
        (0, 0) => return None,
        (0, changed) => {
            let text = RichText::new("Import issues").color(theme.weak_text);
            (text, format!("Nothing is lost; {} kept but changed", events(changed)))
        }
        (lost, changed) => {
            let plural = if lost == 1 { "" } else { "s" };
            let text = RichText::new(format!("{} import issue{plural}", grouped_digits(lost))).color(theme.warning);
            let more = if changed > 0 { format!("; {} kept but changed", events(changed)) } else { String::new() };
            (text, format!("{} lost or shown in part{more}", events(lost)))
        }
    };
    let clicked = ui.add(egui::Button::new(text).small()).on_hover_text(tooltip).clicked();
    clicked.then_some(Command::App(AppCommand::Toggle(ToolWindow::Losses)))
}

fn events(count: u64) -> String {
    format!("{} event{}", grouped_digits(count), if count == 1 { "" } else { "s" })
}

/// Returns the heading of a severity.
fn heading(severity: Severity) -> &'static str {
    match severity {
        Severity::Lost => "Data lost",
        Severity::Changed => "Kept but changed",
        Severity::Information => "Information",
    }
}

pub(crate) fn list(ui: &mut Ui, losses: &Losses, origin_ns: i64, theme: &Theme) -> Vec<Command> {
    let mut commands = Vec::new();
    if losses.is_empty() {
        ui.label("No import issues: every event of the trace is shown.");
    } else if losses.count_of(Severity::Lost) == 0 {
        ui.label("Nothing is lost.");
    }
    let page = page(ui, losses.iter().count());
    egui::ScrollArea::vertical().max_height(360.0).show(ui, |ui| {
        let of_severity = |severity| {
            losses.iter().filter(move |lost| lost.loss.severity() == severity).map(move |lost| (severity, lost))
        };
        let rows = Severity::ALL.into_iter().flat_map(of_severity);
        let mut headed = None;
        for (severity, lost) in rows.skip(page * PAGE_ROWS).take(PAGE_ROWS) {
            if headed.replace(severity) != Some(severity) {
                ui.heading(heading(severity));
            }
            ui.horizontal(|ui| {
                ui.label(RichText::new(lost.loss.name().replace('_', " ")).strong());
                let count = match lost.count {
                    1 => "once".to_owned(),
                    count => format!("{} times", grouped_digits(count)),
                };
                let color = if severity == Severity::Lost { theme.warning } else { theme.weak_text };
                ui.label(RichText::new(count).color(color));
                if let Some(file) = lost.file {
                    ui.label(RichText::new(format!("in {}", shown(file))).color(theme.weak_text));
                }
                match lost.first {
                    SourcePos::Time(ts_ns) => {
                        let text = format!("first at {}", elapsed_text(ts_ns.saturating_sub(origin_ns)));
                        if ui.link(text).clicked() {
                            commands.push(Command::Timeline(TimelineCommand::ShowTime(ts_ns)));
                        }
                    }
                    place @ SourcePos::Offset(_) => {
                        ui.label(RichText::new(format!("first at {place}")).color(theme.weak_text));
                    }
                }
            });
            ui.add(egui::Label::new(RichText::new(shown(&lost.advice)).color(theme.weak_text)).wrap());
            ui.add_space(6.0);
        }
    });
    commands
}

/// Rows per page, since a frame lays out every row of a page.
const PAGE_ROWS: usize = 200;

/// Shows buttons to the neighbouring pages if there are several, and returns the current page.
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
