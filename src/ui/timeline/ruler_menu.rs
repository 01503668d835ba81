//! The context menu of the ruler: a marker at the clicked time, the selected time, and what the ruler counts from.

use egui::{Button, Response, Ui};

use super::layout::TimelineLayout;
use super::state::Timeline;
use crate::ui::command::{AppCommand, BookmarkCommand, Command, ScopeCommand, TimelineCommand};
use crate::ui::command_table::{NO_MARKER, NO_UTC, RULER_ORIGINS, with_disabled_reason};
use crate::ui::settings::RulerOrigin;
use crate::ui::widgets::context_menu::context_menu;

/// Shows the menu after a right click on the ruler, and returns the chosen command.
pub(super) fn show(timeline: &Timeline, ui: &Ui, layout: &TimelineLayout, ruler: &Response) -> Option<Command> {
    let clicked_id = ruler.id.with("clicked time");
    if let Some(at) = ruler.interact_pointer_pos().filter(|_| ruler.secondary_clicked()) {
        let edge = timeline.edge_near(ui, layout, at);
        ui.data_mut(|data| data.insert_temp(clicked_id, timeline.edge_or_time(layout, at, edge)));
    }
    let clicked_ns = ui.data(|data| data.get_temp::<i64>(clicked_id))?;
    context_menu(ruler).show(|ui| entries(timeline, ui, clicked_ns)).and_then(|shown| shown.inner)
}

fn entries(timeline: &Timeline, ui: &mut Ui, clicked_ns: i64) -> Option<Command> {
    let mut chosen = None;
    let bookmark = |command| Command::Timeline(TimelineCommand::Bookmark(command));
    if ui.button("Add marker here").clicked() {
        chosen = Some(bookmark(BookmarkCommand::AddAt(clicked_ns)));
    }
    if timeline.snapshot.has_times() && ui.button("Go to time...").clicked() {
        chosen = Some(Command::App(AppCommand::ShowGoToTime));
    }
    if timeline.scope().range.is_some() && ui.button("Clear the selected time").clicked() {
        chosen = Some(Command::Timeline(TimelineCommand::Scope(ScopeCommand::ClearTime)));
    }
    ui.separator();
    for (origin, title) in RULER_ORIGINS {
        let disabled_reason = match origin {
            RulerOrigin::Mark if timeline.overlays.bookmarks().all().is_empty() => Some(NO_MARKER),
            RulerOrigin::Utc if timeline.snapshot.utc_offset_ns().is_none() => Some(NO_UTC),
            RulerOrigin::Start | RulerOrigin::Mark | RulerOrigin::Clock | RulerOrigin::Utc => None,
        };
        let button = Button::selectable(timeline.overlays.ruler_origin() == origin, title);
        let response = ui.add_enabled(disabled_reason.is_none(), button);
        if disabled_reason.into_iter().fold(response, with_disabled_reason).clicked() {
            chosen = Some(bookmark(BookmarkCommand::Origin(origin)));
        }
    }
    if chosen.is_some() {
        ui.close();
    }
    chosen
}
