//! Drags one of several files in time: its rows follow the pointer, and the files are imported again when the drag
//! ends. Time that comes into view during the drag stays empty until then.

use std::sync::Arc;

use egui::{Align2, FontId, Rect, Ui, vec2};

use super::interaction::FileOffsetDrag;
use super::layout::TimelineLayout;
use super::state::Timeline;
use crate::base::units::signed_time_text;
use crate::model::ProcessIdx;
use crate::query::track_groups::GroupId;
use crate::scene::labels::shown;
use crate::scene::rows::GroupKind;
use crate::ui::command::{AppCommand, Command};
use crate::ui::theme::Theme;

impl Timeline {
    /// Shows the rows of a file some nanoseconds later; `None` resets all rows.
    pub(crate) fn move_file(&mut self, moved: Option<(Arc<str>, i64)>) {
        self.interaction.moved_file = moved.map(|(file, by_ns)| FileOffsetDrag { file, by_ns });
        if self.interaction.moved_file.is_none() {
            self.redraw();
        }
    }

    /// Returns the file whose rows are shifted, and by how much.
    #[must_use]
    pub fn moved_file(&self) -> Option<(&str, i64)> {
        self.interaction.moved_file.as_ref().map(|moving| (&*moving.file, moving.by_ns))
    }

    /// Returns the file of some rows; `None` for a trace of one file.
    pub(super) fn file_of(&self, kind: GroupKind) -> Option<&Arc<str>> {
        let ProcessIdx(process) = match kind {
            // Its tracks may be of several files.
            GroupKind::Custom(_) => return None,
            GroupKind::Process(process) => process,
            GroupKind::Tracks(GroupId { lead: track, .. }) | GroupKind::Track(track) => {
                self.snapshot.track(track).process
            }
        };
        self.snapshot.tracks().processes.get(process as usize)?.file.as_ref()
    }

    /// Drags rows by some nanoseconds. Returns the command to move the file once the drag `ends`.
    pub(super) fn drag_file(&mut self, kind: GroupKind, by_ns: i64, ends: bool) -> Option<Command> {
        let file = Arc::clone(self.file_of(kind)?);
        self.move_file(Some((Arc::clone(&file), by_ns)).filter(|_| by_ns != 0));
        (ends && by_ns != 0).then_some(Command::App(AppCommand::MoveFileBy(file, by_ns)))
    }

    /// Rounds a time chosen with the pointer to as few digits as distinguish pixels.
    pub(super) fn to_the_pixel(&self, ts_ns: i64) -> i64 {
        let mut step_ns = 1_i64;
        while step_ns < 10_i64.pow(17) && step_ns as f64 * 10.0 <= self.view.now().ns_per_px() {
            step_ns *= 10;
        }
        ts_ns / step_ns * step_ns
    }

    /// Converts a horizontal distance in points to a duration.
    pub(crate) fn time_of_points(&self, points: f64) -> i64 {
        let ts_ns = (points * f64::from(self.scale()) * self.view.now().ns_per_px()) as i64;
        self.to_the_pixel(ts_ns)
    }

    /// Shifts the painted rows of the file.
    pub(super) fn shift_moving(&mut self) {
        let Some(FileOffsetDrag { file, by_ns }) = self.interaction.moved_file.clone() else { return };
        // Only shifts far out of view lose precision.
        let right_px = (by_ns as f64 / self.view.now().ns_per_px()) as f32;
        let moved = |pane: &super::pane::Pane| {
            let kinds = pane.drawn_groups().into_iter().filter(|group| self.file_of(group.kind) == Some(&file));
            kinds.collect::<Vec<_>>()
        };
        let (rows, pinned) = (moved(&self.rows), moved(&self.pinned));
        self.rows.shift(&rows, right_px.round());
        self.pinned.shift(&pinned, right_px.round());
    }

    /// Paints the name and offset of the dragged file beside the pointer.
    pub(super) fn paint_moving(&self, ui: &Ui, layout: &TimelineLayout, theme: &Theme) {
        let Some(FileOffsetDrag { file, by_ns }) = &self.interaction.moved_file else { return };
        let Some(at) = ui.input(|input| input.pointer.hover_pos()).filter(|at| layout.rows().contains(*at)) else {
            return;
        };
        let sign = if *by_ns < 0 { "" } else { "+" };
        let text = format!("{}  {sign}{}", shown(file), signed_time_text(*by_ns));
        let painter = ui.painter_at(layout.rows());
        let galley = painter.layout_no_wrap(text, FontId::proportional(12.0), theme.canvas);
        let size = galley.size() + vec2(12.0, 6.0);
        let rect = Align2::LEFT_BOTTOM.anchor_size(at + vec2(12.0, -8.0), size);
        // Beside the pointer, but always in view.
        let rightmost = (layout.rows().right() - size.x).max(layout.rows().left());
        let rect = Rect::from_min_size(rect.min.min(egui::pos2(rightmost, rect.top())), size);
        painter.rect_filled(rect, 4.0, theme.accent);
        painter.galley(rect.min + vec2(6.0, 3.0), galley, theme.canvas);
    }
}
