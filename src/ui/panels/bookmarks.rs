//! The list of bookmarks, with fields to rename and buttons to remove them.

use egui::{RichText, Role, Ui, WidgetInfo, vec2};

use crate::scene::bookmarks::Bookmark;
use crate::scene::labels::shown;
use crate::ui::command::{BookmarkCommand, Command, TimelineCommand};
use crate::ui::theme::Theme;
use crate::ui::timeline::bookmarks::bookmark_time_text;
use crate::ui::timeline::state::Timeline;
use crate::ui::widgets::field;

/// Shows the markers with their names, times and distances.
pub(crate) fn show(ui: &mut Ui, timeline: &Timeline, theme: &Theme) -> Vec<Command> {
    let mut commands = Vec::new();
    let marks = timeline.marks().all();
    if marks.is_empty() {
        ui.label(RichText::new("No markers yet: M adds one at the pointer.").color(theme.weak_text));
        return commands;
    }
    let unit = timeline.snapshot().axis_unit();
    let mut ask = |command| commands.push(Command::Timeline(TimelineCommand::Bookmark(command)));
    egui::ScrollArea::vertical().max_height(320.0).show(ui, |ui| {
        egui::Grid::new("markers").num_columns(5).spacing([12.0, 4.0]).show(ui, |ui| {
            for heading in ["Name", "Time", "After the one before", "", ""] {
                ui.label(RichText::new(heading).small().color(theme.weak_text));
            }
            ui.end_row();
            let mut before_ns = None;
            for mark in marks {
                if let Some(name) = show_name(ui, mark, theme) {
                    ask(BookmarkCommand::Rename(mark.id, name));
                }
                ui.label(bookmark_time_text(timeline, mark));
                let before_ns = before_ns.replace(mark.ts_ns);
                let gap = before_ns.and_then(|before_ns| unit.length_text(mark.ts_ns.abs_diff(before_ns)));
                ui.label(RichText::new(gap.unwrap_or_default()).color(theme.weak_text));
                if ui.button("Go").clicked() {
                    ask(BookmarkCommand::Go(mark.id));
                }
                if ui.button("Remove").clicked() {
                    ask(BookmarkCommand::Remove(mark.id));
                }
                ui.end_row();
            }
        });
    });
    if let Some((from_ns, to_ns)) = timeline.marks().measured() {
        ui.add_space(6.0);
        ui.horizontal(|ui| {
            ui.label(format!("Between the last two: {}", unit.part_text((from_ns, to_ns))));
            if ui.button("Show").clicked() {
                ask(BookmarkCommand::Measure);
            }
        });
    }
    commands
}

/// Shows the field with the name of a marker. Returns the name after a change.
fn show_name(ui: &mut Ui, mark: &Bookmark, theme: &Theme) -> Option<String> {
    /// A name has space for some twenty letters; the grid alone would size it by its heading.
    const NAME_POINTS: f32 = 150.0;
    let mut name = mark.name.clone();
    let size = vec2(NAME_POINTS, ui.spacing().interact_size.y);
    let response = field::add_sized(ui, size, &mut name, |field| {
        field.id_salt(("marker", mark.id)).hint_text(mark.id.default_name()).background_color(theme.canvas)
    });
    response.widget_info(|| WidgetInfo::labeled(Role::TextInput, true, format!("Name of {}", shown(&mark.title()))));
    response.changed().then_some(name)
}
