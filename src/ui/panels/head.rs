//! Parts that the heads of several panels share.

use egui::{ComboBox, Label, Response, RichText, Ui};

use super::answer_state::{show_counting, show_sorting, show_stopped};
use super::dock_panel::PanelView;
use super::panel_query::PanelQuery;
use crate::base::progress::Progress;
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

/// Shows the title of a panel, and beside it what the panel is of, if `narrow_points` are free. `of` gets the free
/// width beyond these.
pub(super) fn show_title_in(
    ui: &mut Ui,
    title: &str,
    view: &PanelView<'_>,
    narrow_points: f32,
    of: impl FnOnce(f32) -> String,
) {
    let theme = view.context.theme;
    let response = ui.label(RichText::new(title).strong());
    let of = of(view.spare_points(ui, narrow_points));
    if ui.available_width() >= view.narrow_points(narrow_points) {
        ui.label(RichText::new(of).color(theme.weak_text));
    } else {
        response.on_hover_text(of);
    }
}

/// Shows the title of a panel, and beside it what the panel is of. Without room for that, it is a tooltip.
pub(super) fn show_title(ui: &mut Ui, title: &str, of: String, has_room: bool, theme: &Theme) {
    let response = ui.label(RichText::new(title).strong());
    if has_room {
        ui.label(RichText::new(of).color(theme.weak_text));
    } else {
        response.on_hover_text(of);
    }
}

/// Shows the button that stops the query of a panel.
pub(super) fn stop_button(ui: &mut Ui, panel: Panel) -> Option<Command> {
    ui.button("Stop").clicked().then_some(PanelCommand::StopQuery(panel).into())
}

/// The texts about a query that was stopped.
#[derive(Debug, Clone, Copy)]
pub(super) struct StopTexts {
    pub(super) stopped: &'static str,
    /// The button that repeats the query.
    pub(super) repeat: &'static str,
}

impl StopTexts {
    pub(super) const COUNT: Self = Self { stopped: "stopped: not counted", repeat: "Count" };
}

/// Shows the progress of a panel's query with a button that stops it, or why there is no complete answer.
pub(super) fn show_query_state<Q: Clone + PartialEq>(
    ui: &mut Ui,
    panel: Panel,
    query: &mut PanelQuery<Q>,
    progress: Option<&Progress>,
    texts: StopTexts,
    theme: &Theme,
) -> Option<Command> {
    if let Some(progress) = progress {
        show_counting(ui, progress, theme);
        return stop_button(ui, panel);
    }
    show_unanswered(ui, query, texts, theme);
    None
}

/// Shows why the query of a panel has no complete answer, with a button that repeats it.
pub(super) fn show_unanswered<Q: Clone + PartialEq>(
    ui: &mut Ui,
    query: &mut PanelQuery<Q>,
    texts: StopTexts,
    theme: &Theme,
) {
    if let Some(error) = query.stopped() {
        show_stopped(ui, texts.stopped, Some(error).filter(|error| !error.is_empty()), theme);
        if ui.button(texts.repeat).clicked() {
            query.repeat();
        }
    }
}

/// Shows that the rows of an answer are being sorted, or why they cannot be.
pub(super) fn show_order_state(ui: &mut Ui, error: Option<&str>, is_in_order: bool, theme: &Theme) {
    if error.is_some() {
        show_stopped(ui, "", error, theme);
    } else if !is_in_order {
        show_sorting(ui, theme);
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
