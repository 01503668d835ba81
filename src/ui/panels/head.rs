//! Parts that the heads of several panels share.

use egui::{ComboBox, Label, Response, RichText, Ui};

use super::answer_state::show_stopped;
use super::asked::Asked;
use crate::query::samples::SampleEvent;
use crate::query::stacks::CallPaths;
use crate::scene::labels::shown;
use crate::ui::command::{Command, PanelCommand};
use crate::ui::panel::Panel;
use crate::ui::theme::Theme;
use crate::ui::widgets::reading_order::on_screen;

/// Shows the button that closes a panel.
pub(super) fn close_button(ui: &mut Ui, panel: Panel) -> Option<Command> {
    ui.button("Close").clicked().then_some(Command::Panel(PanelCommand::Toggle(panel)))
}

/// Shows why the query of a panel has no complete answer, with a button that repeats it. `stopped` is the text for a
/// query that was stopped.
pub(super) fn show_unanswered<Q: Clone + PartialEq>(
    ui: &mut Ui,
    asked: &mut Asked<Q>,
    (stopped, button): (&str, &str),
    theme: &Theme,
) {
    if let Some(error) = asked.stopped() {
        show_stopped(ui, stopped, Some(error).filter(|error| !error.is_empty()), theme);
        if ui.button(button).clicked() {
            asked.repeat();
        }
    }
}

/// Shows an error in the rest of the line.
pub(super) fn error_label(ui: &mut Ui, error: &str, theme: &Theme) -> Response {
    ui.add(Label::new(RichText::new(error).color(theme.error)).truncate())
}

/// Shows a choice of events if there are several kinds of samples, which are never summed. A choice changes `event`.
pub(super) fn show_events(ui: &mut Ui, paths: &CallPaths, event: &mut Option<SampleEvent>) {
    if paths.events.len() < 2 {
        return;
    }
    let title = |event: &SampleEvent| on_screen(&shown(&event.title())).into_owned();
    let current = paths.event.and_then(|event| paths.events.get(event));
    let choice = ComboBox::from_id_salt("event").selected_text(current.map(title).unwrap_or_default());
    let chosen = choice.show_ui(ui, |ui| {
        let is_clicked = |event: &&SampleEvent| ui.selectable_label(Some(*event) == current, title(event)).clicked();
        let chosen = paths.events.iter().filter(is_clicked).last().cloned();
        if chosen.is_some() {
            // Only a click with the pointer closes the list by itself.
            ui.close();
        }
        chosen
    });
    if let Some(chosen) = chosen.inner.flatten() {
        *event = Some(chosen);
    }
}
