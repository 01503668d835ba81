//! Navigation of a timeline: animated jumps, which are recorded in the history; drags; and kinetic panning.

use egui::{Pos2, Ui};

use super::layout::TimelineLayout;
use super::state::Timeline;
use crate::base::direction::Direction;
use crate::model::TrackIdx;
use crate::query::counters::drawn_until_ns;
use crate::query::family;
use crate::query::open_end::open_end;
use crate::query::pick::row_at;
use crate::scene::viewport::Viewport;
use crate::store::LaneIdx;
use crate::store::lane::{LaneKind, RowIdx};
use crate::ui::command::{NavigationStep, TimelineCommand};
use crate::ui::selected_scope::TimeRange;
use crate::ui::settings::Navigation;

impl Timeline {
    /// Runs a command.
    pub(crate) fn act(&mut self, command: TimelineCommand) {
        // A drag changes the scope without a command.
        self.note_scope();
        self.note_live(&command);
        self.run_undoable(command);
        self.note_scope();
    }

    /// Records a change of the scope in the history, unless a drag that Escape may take back is changing it.
    fn note_scope(&mut self) {
        if !self.interaction.is_changing_scope() {
            self.view.note_scope(self.selection.scope());
        }
    }

    pub(super) fn run(&mut self, command: TimelineCommand) {
        match command {
            TimelineCommand::ShowFileMoved(moved) => self.move_file(moved),
            TimelineCommand::Select(row) => self.select(row),
            TimelineCommand::Reveal(row) => self.reveal(row),
            TimelineCommand::ZoomToSpan => self.show_span(),
            TimelineCommand::ShowTime(ts_ns) => self.show_time(ts_ns),
            TimelineCommand::Center(ts_ns) => self.center(ts_ns),
            TimelineCommand::ShowSlice(from_ns, to_ns) => drop(self.show_slice(from_ns, to_ns)),
            TimelineCommand::ShowTrack(track, range) => self.show_track(track, range),
            TimelineCommand::Step(step) => self.step(step),
            TimelineCommand::Rows(command) => self.change_rows(command),
            TimelineCommand::Scope(command) => self.change_scope(command),
            TimelineCommand::Derived(command) => self.change_derived(command),
            TimelineCommand::Bookmark(command) => self.change_marks(&command),
            TimelineCommand::UndoEdit => self.undo_edit(),
            TimelineCommand::RedoEdit => self.redo_edit(),
        }
    }

    /// Moves by a step.
    fn step(&mut self, step: NavigationStep) {
        /// Share of the view that a step moves by.
        const PAN_PART: f64 = 0.1;
        /// Distance of a scroll step in points: two lanes.
        const SCROLL_POINTS: f64 = 40.0;
        /// Share of the height that a page scrolls by, so that the row at the edge stays visible.
        const PAGE_PART: f64 = 0.9;
        const ZOOM: f64 = 1.5;
        let (width_px, page_px) = (self.view.now().width_px(), self.view.now().height_px() * PAGE_PART);
        let scroll_px = SCROLL_POINTS * f64::from(self.scale());
        match step {
            NavigationStep::Left => self.pan(-PAN_PART * width_px),
            NavigationStep::Right => self.pan(PAN_PART * width_px),
            NavigationStep::Up => self.scroll(-scroll_px),
            NavigationStep::Down => self.scroll(scroll_px),
            NavigationStep::PageUp => self.scroll(-page_px),
            NavigationStep::PageDown => self.scroll(page_px),
            NavigationStep::ZoomIn => self.zoom(ZOOM),
            NavigationStep::ZoomOut => self.zoom(ZOOM.recip()),
            NavigationStep::Whole => self.show_all(),
            NavigationStep::Back | NavigationStep::Forward => {
                let is_forward = step == NavigationStep::Forward;
                let entry = if is_forward { self.view.forward() } else { self.view.back() };
                if let Some((scroll_px, scope)) = entry {
                    self.scroll_to(scroll_px);
                    self.selection.set_scope(scope, &self.snapshot);
                }
            }
            NavigationStep::Selection => self.show_selection(),
            NavigationStep::Previous | NavigationStep::Next | NavigationStep::Parent | NavigationStep::Child
                if self.selection.span().is_none() =>
            {
                match (self.span_in_the_middle(), step) {
                    (Some(row), _) => self.selection.select(Some(row)),
                    (None, NavigationStep::Parent) => self.scroll(-scroll_px),
                    (None, NavigationStep::Child) => self.scroll(scroll_px),
                    (None, _) => {
                        self.note = Some("No unfolded track in view has a span: unfold a process or zoom out.".into());
                    }
                }
            }
            NavigationStep::Previous => self.reveal_if_any(self.neighbour(Direction::Backward)),
            NavigationStep::Next => self.reveal_if_any(self.neighbour(Direction::Forward)),
            NavigationStep::Parent => self.reveal_if_any(self.relative(family::parent)),
            NavigationStep::Child => self.reveal_if_any(self.relative(family::longest_child)),
            NavigationStep::PreviousInFlow => self.reveal_if_any(self.linked_by_flow(Direction::Backward)),
            NavigationStep::NextInFlow => self.reveal_if_any(self.linked_by_flow(Direction::Forward)),
            NavigationStep::ClearSelection => self.selection.clear_scope_or_span(),
        }
    }

    pub(crate) fn set_navigation(&mut self, navigation: Navigation) {
        self.view.set_navigation(navigation);
    }

    /// Starts kinetic panning after a drag, at a velocity in points per second.
    pub(super) fn glide(&mut self, velocity: egui::Vec2) {
        let scale = self.scale();
        self.view.glide([-velocity.x, -velocity.y].map(|points| f64::from(points * scale)));
    }

    /// Advances animations before a frame.
    pub(super) fn advance(&mut self, ui: &Ui) {
        self.note_scope();
        if let Some(down_px) = self.view.advance(ui) {
            self.scroll(down_px);
        }
    }

    fn pan(&mut self, right_px: f64) {
        let mut to = *self.view.target();
        to.pan(right_px);
        self.view.nudge(to);
    }

    /// Returns the span in the middle of the view, or else the longest span in view of the nearest lane with spans.
    /// Reads at most the lanes of a screen.
    fn span_in_the_middle(&self) -> Option<RowIdx> {
        const LANES_MAX: usize = 64;
        let view = self.view.now();
        let (top_px, bottom_px) = view.pixels_in_view();
        let middle_px = top_px.midpoint(bottom_px);
        let mut lanes = self.rows.layout.lanes_in_view(view);
        lanes.retain(|lane| lane.kind == LaneKind::Spans);
        lanes.sort_by_key(|lane| (lane.top_px + u64::from(lane.height_px / 2)).abs_diff(middle_px));
        lanes.truncate(LANES_MAX);
        let (middle_ns, half_ns) = (view.time_from_x(view.width_px() / 2.0), view.ns_per_px() * view.width_px() / 2.0);
        let half_ns = half_ns as u64;
        let nearest = |reach_ns| lanes.iter().find_map(|lane| row_at(&self.snapshot, lane.lane, middle_ns, reach_ns));
        nearest(0).or_else(|| nearest(half_ns))
    }

    /// Returns the next or previous row in the lane of the selected row.
    fn neighbour(&self, direction: Direction) -> Option<RowIdx> {
        let row = self.selection.span()?;
        let other = match direction {
            Direction::Forward => row.row.checked_add(1),
            Direction::Backward => row.row.checked_sub(1),
        };
        let other = other.filter(|&other| other < self.snapshot.lane(row.lane).rows)?;
        Some(RowIdx { row: other, ..row })
    }

    /// Returns a relative of the selected row.
    fn relative(&self, relative: fn(&crate::query::Snapshot, RowIdx) -> Option<RowIdx>) -> Option<RowIdx> {
        relative(&self.snapshot, self.selection.span()?)
    }

    fn reveal_if_any(&mut self, row: Option<RowIdx>) {
        if let Some(row) = row {
            self.reveal(row);
        }
    }

    /// Selects a row, unfolds its parents, and scrolls to it. Clears a filter that hides it.
    pub(crate) fn reveal(&mut self, row: RowIdx) {
        let span = self.snapshot.row(row);
        let mut to = *self.view.target();
        to.reveal(span.start_ns, span.end_ns());
        self.jump_to_row(to, row);
    }

    /// Selects a row, and jumps to a view of it.
    fn jump_to_row(&mut self, to: Viewport, row: RowIdx) {
        self.selection.select(Some(row));
        let is_recorded = self.view.jump(to);
        // A counter may be drawn in the row of another counter.
        let row = RowIdx { lane: self.drawn_lane(row.lane), ..row };
        self.jump_to_track(self.snapshot.lane(row.lane).track, row, is_recorded);
    }

    /// Unfolds the parents of a track and scrolls to a row of it. Unless the jump is in the history already, records
    /// the rows that it leaves.
    fn jump_to_track(&mut self, track: TrackIdx, row: RowIdx, is_recorded: bool) {
        let is_laid_out = self.unfold_parents(track);
        if !is_recorded && (!is_laid_out || self.scroll_offset_of(row).is_some()) {
            self.view.leave();
        }
        if is_laid_out {
            return self.scroll_to_row(row);
        }
        self.tracks.reveal_when_laid_out(row);
        // Without the filter, other parents may be folded.
        self.unfold_parents(track);
        self.arrange();
    }

    /// Unfolds the parents of a track and scrolls to it, in one step of the history with the zoom to a range. Clears a
    /// filter that hides it.
    fn show_track(&mut self, track: TrackIdx, range: TimeRange) {
        let track = self.tracks.row_of(track);
        let Some(lane) = self.snapshot.lanes_of(track).next().map(LaneIdx) else { return };
        let is_recorded = range.is_some_and(|(from_ns, to_ns)| self.show_slice(from_ns, to_ns));
        self.jump_to_track(track, RowIdx { lane, row: 0 }, is_recorded);
    }

    /// Zooms to the selected time range, or else to the selected span.
    pub(crate) fn show_selection(&mut self) {
        let mut to = *self.view.target();
        if let Some((from_ns, to_ns)) = self.selection.range() {
            to.show_range(from_ns, to_ns);
            self.view.jump(to);
        } else {
            self.show_span();
        }
    }

    /// Zooms to the selected span, up to where it is drawn.
    pub(crate) fn show_span(&mut self) {
        let mut to = *self.view.target();
        let Some(row) = self.selection.span() else { return };
        let open = open_end(&self.snapshot, row.lane).filter(|open| open.row == row);
        let until_ns = open.map_or_else(|| drawn_until_ns(&self.snapshot, row), |open| open.to_ns);
        to.show_range(self.snapshot.row(row).start_ns, until_ns);
        self.jump_to_row(to, row);
    }

    pub(crate) fn show_all(&mut self) {
        let mut to = *self.view.target();
        to.show_all();
        self.view.jump(to);
    }

    /// Shows exactly `[start_ns, end_ns)`, at once, also beyond the trace.
    pub(crate) fn show_exactly(&mut self, start_ns: i64, end_ns: i64) {
        self.view.show_beyond(start_ns, end_ns);
    }

    /// Scrolls a time into view.
    pub(crate) fn show_time(&mut self, ts_ns: i64) {
        let mut to = *self.view.target();
        to.reveal(ts_ns, ts_ns);
        self.view.jump(to);
    }

    /// Scrolls a time into the middle. A view of most of the trace cannot be scrolled that far, so it zooms in.
    fn center(&mut self, ts_ns: i64) {
        /// Share of the trace above which the view zooms in, and the zoom.
        const PART_MAX: f64 = 0.5;
        const ZOOM: f64 = 10.0;
        let mut to = *self.view.target();
        let (start_ns, end_ns) = self.snapshot.drawn_range_ns();
        let trace_ns = end_ns.abs_diff(start_ns) as f64;
        if to.width_ns() > trace_ns * PART_MAX {
            to.zoom(ZOOM, to.x_from_time(ts_ns));
        }
        to.pan(to.x_from_time(ts_ns) - to.width_px() / 2.0);
        self.view.jump(to);
    }

    /// Zooms to a time range. Returns whether that is another view.
    pub(crate) fn show_slice(&mut self, from_ns: i64, to_ns: i64) -> bool {
        let mut to = *self.view.target();
        to.show_exactly(from_ns, to_ns);
        self.view.jump(to)
    }

    /// Zooms at the middle of the view.
    pub(crate) fn zoom(&mut self, factor: f64) {
        let mut to = *self.view.target();
        to.zoom(factor, to.width_px() / 2.0);
        self.view.nudge(to);
    }

    pub(super) fn scroll(&mut self, down_px: f64) {
        self.view.scroll(down_px, self.rows.layout.height_px() as f64);
    }

    pub(super) fn scroll_to(&mut self, top_px: f64) {
        self.view.scroll_to(top_px, self.rows.layout.height_px() as f64);
    }

    /// Scrolls the rows under a point of the window.
    pub(super) fn scroll_at(&mut self, layout: &TimelineLayout, at: Pos2, down_px: f64) {
        let strips = self.strip_layout(layout);
        if layout.derived.y_range().contains(at.y) && strips.hidden_points > 0.0 {
            let scroll_points = strips.scroll_points + down_px as f32 / self.scale();
            self.derived_scroll_points = scroll_points.clamp(0.0, strips.hidden_points);
        } else if at.y < layout.canvas.top() && !layout.derived.contains(at) {
            let view = self.pinned_view(layout);
            let free_px = (self.pinned.layout.height_px() as f64 - view.height_px()).max(0.0);
            self.pinned_scroll_px = (view.scroll_px() + down_px).clamp(0.0, free_px);
        } else {
            self.scroll(down_px);
        }
    }

    pub(super) fn scroll_to_row(&mut self, row: RowIdx) {
        if let Some(top_px) = self.scroll_offset_of(row) {
            self.scroll_to(top_px);
        }
    }

    /// Returns the scroll offset at which a row is in the middle; `None` if it is in view or not laid out. A row under
    /// a sticky header is out of view.
    fn scroll_offset_of(&self, row: RowIdx) -> Option<f64> {
        let track = self.snapshot.lane(row.lane).track;
        let layout_row = self.rows.layout.row_of(row.lane, track)?;
        let (first_px, end_px) = self.view.now().pixels_in_view();
        let first_px = first_px + self.sticky_height_px(track);
        let is_in_view = layout_row.top_px >= first_px && layout_row.top_px + u64::from(layout_row.height_px) <= end_px;
        (!is_in_view).then(|| layout_row.top_px as f64 - self.view.now().height_px() / 2.0)
    }

    /// Returns whether a row is laid out and in view.
    pub(super) fn is_in_view(&self, row: RowIdx) -> bool {
        let is_laid_out = self.rows.layout.row_of(row.lane, self.snapshot.lane(row.lane).track).is_some();
        is_laid_out && self.scroll_offset_of(row).is_none()
    }

    /// Scrolls the selected row up by the height that newly hides it, because the details open over the bottom rows.
    pub(super) fn keep_selected_in_view(&mut self, end_px_before: u64) {
        let Some(row) = self.selection.span() else { return };
        let Some(layout_row) = self.rows.layout.row_of(row.lane, self.snapshot.lane(row.lane).track) else { return };
        let (_, end_px) = self.view.now().pixels_in_view();
        let row_end_px = layout_row.top_px + u64::from(layout_row.height_px);
        if layout_row.top_px < end_px_before && row_end_px > end_px {
            self.scroll((row_end_px - end_px) as f64 + f64::from(layout_row.height_px));
        }
    }
}
