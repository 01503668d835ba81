//! The text of a canvas without rows: the reason, and an action to take.

use egui::{Align, Layout, Rect, RichText, Ui, UiBuilder, vec2};

use super::layout::TimelineLayout;
use super::state::Timeline;
use crate::ui::command::{AppCommand, Command, RowCommand, TimelineCommand, ToolWindow};
use crate::ui::theme::Theme;

/// Shows the reason for an empty canvas; nothing if there are rows, or if sorting or the layout is not finished.
pub(super) fn show(timeline: &Timeline, ui: &mut Ui, layout: &TimelineLayout, theme: &Theme) -> Option<Command> {
    const HEIGHT: f32 = 48.0;
    let has_rows = timeline.rows.layout.height_px() > 0 || timeline.pinned.layout.height_px() > 0;
    let snapshot = &timeline.snapshot;
    let is_sorted = snapshot.summary().sorted_to_ns.is_none() || timeline.is_live();
    let is_finished = is_sorted && !timeline.tracks.is_arranging();
    if has_rows || !is_finished || layout.canvas.height() < HEIGHT {
        return None;
    }
    let rows = |command| Command::Timeline(TimelineCommand::Rows(command));
    let arrangement = timeline.tracks.arrangement();
    let (text, remedy) = if snapshot.display_order().is_empty() {
        let issues = || ("Import issues say why", Command::App(AppCommand::Toggle(ToolWindow::Losses)));
        let text = if timeline.is_live() { "No events so far." } else { "This trace has no events." };
        (text, (!snapshot.losses().is_empty()).then(issues))
    } else if arrangement.is_filtered() {
        let clear = ("Clear the filter", rows(RowCommand::Filter(String::new())));
        ("No track name matches.", Some(clear))
    } else if !arrangement.folded.hidden.is_empty() {
        ("All tracks are hidden.", Some(("Show them", rows(RowCommand::ShowHidden))))
    } else {
        return None;
    };
    let rect = Rect::from_center_size(layout.canvas.center(), vec2(layout.canvas.width() - 20.0, HEIGHT));
    let builder = UiBuilder::new().max_rect(rect).layout(Layout::top_down(Align::Center));
    let shown = ui.scope_builder(builder, |ui| {
        ui.label(RichText::new(text).color(theme.weak_text));
        remedy.and_then(|(title, command)| ui.link(title).clicked().then_some(command))
    });
    shown.inner
}
