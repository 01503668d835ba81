//! The question before a close that would lose something.

use egui::{RichText, Ui};

use crate::ui::command::{AppCommand, CloseChoice, Command};
use crate::ui::theme::Theme;
use crate::ui::widgets::spoken;

/// The content of the question.
#[derive(Debug, Clone)]
pub(crate) struct CloseQuestion {
    pub(crate) title: &'static str,
    /// The losses, one a line.
    pub(crate) losses: Vec<String>,
    /// Whether an export would save the data that would be lost.
    pub(crate) can_export: bool,
    /// The button that closes in spite of the losses.
    pub(crate) go_on: &'static str,
    /// Whether the question has not been shown yet.
    pub(crate) is_new: bool,
}

/// Shows the question until it is answered. Escape cancels, and so does Enter at first.
pub(crate) fn show(ui: &Ui, question: &CloseQuestion, theme: &Theme) -> Option<Command> {
    let mut choice = None;
    let id = egui::Id::unique("close question");
    let area = egui::Modal::default_area(id).role(egui::accesskit::Role::AlertDialog).accessible_name(question.title);
    let frame = egui::Frame::window(ui.style());
    let modal = egui::Modal::new(id).area(area).frame(frame).show(ui.ctx(), |ui| {
        ui.set_max_width(420.0);
        spoken::announce(&ui.label(RichText::new(question.title).size(15.0).strong().color(theme.warning)));
        ui.add_space(4.0);
        for loss in &question.losses {
            spoken::announce(&ui.add(egui::Label::new(loss).wrap()));
        }
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            if question.can_export && ui.button("Export...").clicked() {
                choice = Some(CloseChoice::Export);
            }
            if ui.button(question.go_on).clicked() {
                choice = Some(CloseChoice::Discard);
            }
            let cancel = ui.button("Cancel");
            if question.is_new {
                cancel.request_focus();
            }
            if cancel.clicked() {
                choice = Some(CloseChoice::Cancel);
            }
        });
    });
    if choice.is_none() && modal.should_close() {
        choice = Some(CloseChoice::Cancel);
    }
    choice.map(|choice| Command::App(AppCommand::AnswerClose(choice)))
}
