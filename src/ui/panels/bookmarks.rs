//! The list of bookmarks, with fields to rename and buttons to remove them.

use egui::{RichText, Ui};

use crate::ui::command::{BookmarkCommand, Command, TimelineCommand};
use crate::ui::theme::Theme;
use crate::ui::timeline::bookmarks::{bookmark_time_text, show_name_field};
use crate::ui::timeline::state::Timeline;

/// Shows the markers with their names, times and distances.
pub(crate) fn show(ui: &mut Ui, timeline: &Timeline, theme: &Theme) -> Vec<Command> {
    /// A name has space for some twenty letters; the grid alone would size it by its heading.
    const NAME_POINTS: f32 = 150.0;
    let mut commands = Vec::new();
    let marks = timeline.marks().all();
    if marks.is_empty() {
        ui.label(RichText::new("No markers yet: M adds one at the pointer.").color(theme.weak_text));
        return commands;
    }
    let unit = timeline.snapshot().axis_unit();
    let mut ask = |command| commands.push(TimelineCommand::Bookmark(command).into());
    egui::ScrollArea::vertical().max_height(320.0).show(ui, |ui| {
        egui::Grid::new("markers").num_columns(5).spacing([12.0, 4.0]).show(ui, |ui| {
            for heading in ["Name", "Time", "After previous marker", "", ""] {
                ui.label(RichText::new(heading).small().color(theme.weak_text));
            }
            ui.end_row();
            let mut before_ns = None;
            for mark in marks {
                show_name_field(ui, mark, theme, NAME_POINTS).1.into_iter().for_each(&mut ask);
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
