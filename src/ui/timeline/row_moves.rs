//! Moves processes, groups and tracks within the list below their header, by a drag of their names or by commands. Only
//! the rows around the pointer are looked at, however many there are.

use std::ops::Range;

use egui::{CursorIcon, Pos2, Rect, Stroke, Ui};

use super::gutter::name_at;
use super::interaction::{Drag, RowDrag, RowDrop};
use super::layout::TimelineLayout;
use super::state::Timeline;
use super::sticky_headers::sticky_headers;
use super::tracks::OTHER_ORDER;
use crate::base::direction::Direction;
use crate::model::TrackIdx;
use crate::scene::arrange::TrackOrder;
use crate::scene::arrange::moves::{MOVES_MAX, MovableRow, MovedRow};
use crate::scene::rows::GroupKind;
use crate::ui::command::{Command, CustomGroupCommand, RowCommand, TimelineCommand};
use crate::ui::theme::Theme;

impl Timeline {
    /// Returns the drag that a press on a name starts; `None` if its row cannot be moved.
    pub(super) fn row_drag_at(&self, layout: &TimelineLayout, at: Pos2) -> Option<RowDrag> {
        let (kind, is_pinned) = name_at(self, layout, at)?;
        self.is_movable(is_pinned).then_some(RowDrag { kind, is_pinned })
    }

    /// Returns whether rows can be moved, among the pinned rows or below their header.
    pub(super) fn is_movable(&self, is_pinned: bool) -> bool {
        is_pinned || self.is_in_trace_order()
    }

    /// Returns whether a row is a pinned track.
    pub(super) fn is_pinned(&self, kind: GroupKind) -> bool {
        matches!(kind, GroupKind::Track(track) if self.tracks.is_pinned(track))
    }

    /// Drags a row to the pointer, and scrolls at the edges. Returns the command that moves it once the drag ends.
    pub(super) fn drag_row(
        &mut self,
        ui: &Ui,
        layout: &TimelineLayout,
        (drag, at, ends): (RowDrag, Pos2, bool),
    ) -> Option<Command> {
        let gutter = if drag.is_pinned { layout.pinned_gutter } else { layout.gutter };
        let at = gutter.clamp(at);
        let dropped = self.drop_at(layout, drag, at.y);
        if ends {
            return dropped.map(|dropped| Command::Timeline(TimelineCommand::Rows(dropped.command)));
        }
        self.interaction.set_row_drop(dropped);
        ui.ctx().set_cursor_icon(CursorIcon::Grabbing);
        self.scroll_at_edges(ui, layout, gutter, at);
        None
    }

    /// Scrolls while the pointer is near the upper or lower edge, the faster the nearer.
    fn scroll_at_edges(&mut self, ui: &Ui, layout: &TimelineLayout, gutter: Rect, at: Pos2) {
        const EDGE_POINTS: f32 = 24.0;
        const POINTS_PER_SECOND: f32 = 600.0;
        /// A slow frame counts as this long.
        const SECONDS_MAX: f32 = 0.1;
        let edge = EDGE_POINTS.min(gutter.height() / 4.0);
        let (above, below) = (gutter.top() + edge - at.y, at.y - (gutter.bottom() - edge));
        let part = if above > 0.0 { -above / edge } else { below.max(0.0) / edge };
        if part == 0.0 {
            return;
        }
        let points = part * POINTS_PER_SECOND * ui.input(|input| input.stable_dt).min(SECONDS_MAX);
        self.scroll_at(layout, gutter.center(), f64::from(points * self.scale()));
        ui.ctx().request_repaint();
    }

    /// Returns where a row would be put at a height in the window; `None` if it would stay.
    fn drop_at(&self, layout: &TimelineLayout, drag: RowDrag, y: f32) -> Option<RowDrop> {
        let [pinned, rows] = self.panes(layout);
        let shown = if drag.is_pinned { pinned } else { rows };
        // Sticky headers cover the rows below them.
        let y = sticky_headers(self, &shown, &shown.groups()).last().map_or(y, |(_, rect)| y.max(rect.bottom()));
        let y_px = shown.y_px_at(y).min(shown.pane.layout.height_px().saturating_sub(1));
        let GroupKind::Track(track) = drag.kind else { return self.row_drop_at(drag.kind, y_px) };
        if drag.is_pinned { self.pinned_drop_at(track, y_px) } else { self.row_drop_at(drag.kind, y_px) }
    }

    fn row_drop_at(&self, dragged: GroupKind, y_px: u64) -> Option<RowDrop> {
        let layout = &self.rows.layout;
        let mut at = layout.groups_within(y_px, y_px + 1).first().copied()?;
        if Some(at.kind) == self.parent_of(dragged) {
            // On the header of all these rows: before the first row.
            let below_px = at.top_px + u64::from(at.height_px);
            at = layout.groups_within(below_px, below_px + 1).first().copied()?;
        }
        let sibling = self.sibling_at(dragged, at.kind)?;
        let (own, other) = (self.unit_extent_px(dragged)?, self.unit_extent_px(sibling)?);
        let is_after = y_px >= other.start.midpoint(other.end);
        let line_px = if is_after { other.end } else { other.start };
        // A line at an edge of the dragged row would leave it where it is.
        if own.start == line_px || own.end == line_px {
            return None;
        }
        Some(RowDrop { command: self.row_move(dragged, sibling, is_after)?, line_px })
    }

    fn pinned_drop_at(&self, dragged: TrackIdx, y_px: u64) -> Option<RowDrop> {
        let layout = &self.pinned.layout;
        let GroupKind::Track(beside) = layout.groups_within(y_px, y_px + 1).first()?.kind else { return None };
        let own = layout.extent_px(GroupKind::Track(dragged))?;
        let other = layout.extent_px(GroupKind::Track(beside))?;
        let is_after = y_px >= other.start.midpoint(other.end);
        let line_px = if is_after { other.end } else { other.start };
        let stays = own.start == line_px || own.end == line_px;
        (!stays).then_some(RowDrop { command: RowCommand::MovePinned { track: dragged, beside, is_after }, line_px })
    }

    fn row_move(&self, row: GroupKind, beside: GroupKind, is_after: bool) -> Option<RowCommand> {
        if let (GroupKind::Custom(group), GroupKind::Custom(beside)) = (row, beside) {
            return Some(RowCommand::Group(CustomGroupCommand::Move { group, beside, is_after }));
        }
        let [row, beside] = [row, beside].map(|kind| MovableRow::from_kind(&self.snapshot, kind));
        Some(RowCommand::Move(MovedRow { row: row?, beside: beside?, is_after }))
    }

    /// Returns the header right above a row; `None` for a header of the outermost level.
    fn parent_of(&self, kind: GroupKind) -> Option<GroupKind> {
        match kind {
            GroupKind::Custom(_) | GroupKind::Process(_) => None,
            GroupKind::Tracks(_) | GroupKind::Track(_) => {
                Some(self.groups_around(kind).next().unwrap_or_else(|| self.header_of(kind)))
            }
        }
    }

    /// Returns the row below the same header as `row` that is or contains `at`. The groups of the user are above all
    /// processes.
    fn sibling_at(&self, row: GroupKind, at: GroupKind) -> Option<GroupKind> {
        let is_custom = |kind| matches!(kind, GroupKind::Custom(_));
        let place = |kind| (self.parent_of(kind), is_custom(kind));
        let mut around = std::iter::once(at).chain(self.groups_around(at)).chain([self.header_of(at)]);
        around.find(|&kind| place(kind) == place(row))
    }

    /// Returns the pixel range of a row and of the rows that move with it.
    fn unit_extent_px(&self, kind: GroupKind) -> Option<Range<u64>> {
        /// States are above the events of a thread, samples below.
        const BESIDE_MAX: usize = 2;
        let layout = &self.rows.layout;
        let mut extent = layout.extent_px(kind)?;
        let GroupKind::Track(track) = kind else { return Some(extent) };
        let (thread, parent) = (self.snapshot.thread_of(track), self.parent_of(kind));
        let extent_at = |y_px: u64| {
            let other = layout.groups_within(y_px, y_px + 1).first()?.kind;
            let GroupKind::Track(track) = other else { return None };
            let is_same = self.snapshot.thread_of(track) == thread && self.parent_of(other) == parent;
            is_same.then(|| layout.extent_px(other)).flatten()
        };
        for _ in 0..BESIDE_MAX {
            let above = extent.start.checked_sub(1).and_then(extent_at);
            extent.start = above.map_or(extent.start, |above| above.start);
            extent.end = extent_at(extent.end).map_or(extent.end, |below| below.end);
        }
        Some(extent)
    }

    /// Returns the move of a row by one place; `None` if it is the first or last below its header.
    fn step_of(&self, kind: GroupKind, direction: Direction) -> Option<RowCommand> {
        let own = self.unit_extent_px(kind)?;
        let y_px = match direction {
            Direction::Forward => own.end,
            Direction::Backward => own.start.checked_sub(1)?,
        };
        let next = self.rows.layout.groups_within(y_px, y_px + 1).first()?.kind;
        self.row_move(kind, self.sibling_at(kind, next)?, direction.is_forward())
    }

    /// Moves a row by one place: a pinned row among the pinned rows, any other row in trace order.
    pub(super) fn step_row(&mut self, kind: GroupKind, direction: Direction) {
        match self.possible_step(kind, direction) {
            Ok(step) => self.change_rows(step),
            Err(reason) => self.note = Some(format!("{reason}.").into()),
        }
    }

    /// Returns the move of a row by one place, or why there is none.
    pub(super) fn possible_step(&self, kind: GroupKind, direction: Direction) -> Result<RowCommand, &'static str> {
        let is_after = direction.is_forward();
        if let GroupKind::Track(track) = kind
            && let Some(beside) = self.tracks.pinned_neighbour(track, direction)
        {
            return Ok(RowCommand::MovePinned { track, beside, is_after });
        }
        let is_pinned = self.is_pinned(kind);
        if !self.is_movable(is_pinned) {
            return Err(OTHER_ORDER);
        }
        // A lone pinned track moves below.
        let is_moved_below = self.is_in_trace_order() && !(is_pinned && self.tracks.arrangement().pinned.len() > 1);
        if is_moved_below && self.unit_extent_px(kind).is_none() {
            return Err("The track is not shown: unfold its group, clear the filter of tracks, or show hidden tracks");
        }
        let step = self.step_of(kind, direction).filter(|_| is_moved_below);
        step.ok_or(if is_after { "It is already last" } else { "It is already first" })
    }

    /// Moves a row beside another row.
    pub(super) fn move_row(&mut self, moved: MovedRow) {
        if !self.tracks.arrangement_mut().moves.add(moved) {
            let text = format!("At most {MOVES_MAX} moves are kept: Tracks > Order > Reset moved tracks makes room.");
            self.note = Some(text.into());
            return;
        }
        self.arrange();
    }

    /// Moves a pinned track beside another pinned track.
    pub(super) fn move_pinned(&mut self, track: TrackIdx, beside: TrackIdx, is_after: bool) {
        self.tracks.move_pinned(track, beside, is_after);
        self.lay_out_pinned();
    }

    pub(super) fn is_in_trace_order(&self) -> bool {
        self.tracks.arrangement().order == TrackOrder::Trace
    }

    /// Marks the dragged row, and paints the line where it will be.
    pub(super) fn paint_row_drag(&self, ui: &Ui, layout: &TimelineLayout, theme: &Theme) {
        const LINE_POINTS: f32 = 2.0;
        const MARK_OPACITY: f32 = 0.15;
        let Drag::Row(drag) = self.interaction.drag() else { return };
        let [pinned, rows] = self.panes(layout);
        let shown = if drag.is_pinned { pinned } else { rows };
        let band = |range: Range<u64>| {
            let height_px = u32::try_from(range.end - range.start).unwrap_or(u32::MAX);
            shown.band(range.start, height_px)
        };
        let extent =
            if drag.is_pinned { shown.pane.layout.extent_px(drag.kind) } else { self.unit_extent_px(drag.kind) };
        if let Some(rect) = extent.map(band) {
            let mark = Rect::from_x_y_ranges(shown.gutter.x_range(), rect.y_range());
            ui.painter_at(shown.gutter).rect_filled(mark, 0.0, theme.accent.gamma_multiply(MARK_OPACITY));
        }
        if let Some(dropped) = self.interaction.row_drop() {
            let y = band(dropped.line_px..dropped.line_px).top();
            // A line at an edge stays visible.
            let half = LINE_POINTS / 2.0;
            let y = y.clamp(shown.gutter.top() + half, (shown.gutter.bottom() - half).max(shown.gutter.top() + half));
            let across = shown.gutter.union(shown.canvas);
            ui.painter_at(across).hline(across.x_range(), y, Stroke::new(LINE_POINTS, theme.accent));
        }
    }
}

#[cfg(test)]
mod tests;
