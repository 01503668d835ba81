//! The import issues of a trace by severity: the number of affected events, the first position, and advice.

use egui::{RichText, Ui};

use crate::base::time::{counted, grouped_digits};
use crate::model::{Losses, Lost, Severity, SourcePos};
use crate::query::Snapshot;
use crate::scene::labels::shown;
use crate::ui::command::{AppCommand, Command, TimelineCommand, ToolWindow};
use crate::ui::theme::Theme;
use crate::ui::timeline::ruler_clock::RulerClock;

/// The import issues of a trace or of a file, without issues for information only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IssueCount {
    /// Events that are lost or shown in part.
    pub(super) lost: u64,
    /// Events that are shown with changes.
    pub(super) changed: u64,
}

impl IssueCount {
    fn new(count: impl Fn(Severity) -> u64) -> Self {
        Self { lost: count(Severity::Lost), changed: count(Severity::Changed) }
    }

    /// Counts the import issues of one file.
    pub(super) fn in_file(losses: &Losses, file: &str) -> Self {
        Self::new(|severity| {
            let is_counted = |lost: &Lost<'_>| lost.loss.severity() == severity && lost.file == Some(file);
            losses.iter().filter(is_counted).fold(0, |sum: u64, lost| sum.saturating_add(lost.count))
        })
    }

    pub(super) fn is_empty(self) -> bool {
        self.lost == 0 && self.changed == 0
    }

    /// Returns the number of issues with lost data, or else with data that is shown changed.
    fn title(self) -> String {
        counted(if self.lost > 0 { self.lost } else { self.changed }, "import issue")
    }

    /// Returns a sentence with both numbers.
    pub(super) fn text(self) -> String {
        let Self { lost, changed } = self;
        match (lost, changed) {
            (0, _) => format!("{} shown with changes", counted(changed, "event")),
            (_, 0) => format!("{} lost or shown in part", counted(lost, "event")),
            _ => format!(
                "{} lost or shown in part; {} shown with changes",
                counted(lost, "event"),
                counted(changed, "event")
            ),
        }
    }
}

/// Shows the button in the status bar, with the number of losses; none for information only.
pub(crate) fn badge(ui: &mut Ui, snapshot: &Snapshot, theme: &Theme) -> Option<Command> {
    let count = IssueCount::new(|severity| snapshot.losses_of(severity));
    if count.is_empty() {
        return None;
    }
    let color = if count.lost > 0 { theme.warning } else { theme.weak_text };
    let text = RichText::new(count.title()).color(color);
    // The fill of a focused button would leave too little contrast; the outline shows the focus.
    let button = egui::Button::new(text).small().fill(theme.raised);
    let clicked = ui.add(button).on_hover_text(count.text()).clicked();
    clicked.then_some(Command::App(AppCommand::Toggle(ToolWindow::Losses)))
}

/// Returns the heading of a severity.
fn heading(severity: Severity) -> &'static str {
    match severity {
        Severity::Lost => "Data lost",
        Severity::Changed => "Shown with changes",
        Severity::Information => "Information",
    }
}

pub(crate) fn list(ui: &mut Ui, losses: &Losses, clock: RulerClock, theme: &Theme) -> Vec<Command> {
    let mut commands = Vec::new();
    if losses.is_empty() {
        ui.label("No import issues: every event of the trace is shown.");
    } else if losses.count_of(Severity::Lost) == 0 {
        let changes = if losses.count_of(Severity::Changed) > 0 { ", some with changes" } else { "" };
        ui.label(format!("Every event that was read is shown{changes}."));
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
                        let text = format!("first at {}", clock.time_text(ts_ns));
                        if ui.link(text).clicked() {
                            commands.push(TimelineCommand::ShowTime(ts_ns).into());
                        }
                    }
                    pos @ SourcePos::Offset(_) => {
                        ui.label(RichText::new(format!("first at {pos}")).color(theme.weak_text));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Loss;

    #[test]
    fn lost_and_changed_events_are_counted_apart_and_information_is_not_counted() {
        let mut losses = Losses::default();
        let kind = |severity| Loss::ALL.iter().copied().find(|loss| loss.severity() == severity).unwrap();
        let kinds = Severity::ALL.map(kind);
        kinds.into_iter().for_each(|loss| losses.add(loss, SourcePos::Offset(0)));
        let count = IssueCount::new(|severity| losses.count_of(severity));
        assert_eq!(count, IssueCount { lost: 1, changed: 1 });
        assert_eq!(count.text(), "1 event lost or shown in part; 1 event shown with changes");
        assert!(IssueCount::in_file(&losses, "other.json").is_empty());
    }

    #[test]
    fn issues_without_lost_events_are_counted_and_do_not_claim_that_the_recorder_lost_nothing() {
        let mut losses = Losses::default();
        losses.add_many(Loss::LostSwitch, SourcePos::Offset(0), 1200);
        let count = IssueCount::new(|severity| losses.count_of(severity));
        assert_eq!(count.title(), "1\u{2009}200 import issues");
        assert_eq!(count.text(), "1\u{2009}200 events shown with changes");
    }
}
