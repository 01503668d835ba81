//! Changes to the rows. Folding, pinning and hiding take effect at once; another order, filter or height needs a new
//! layout, computed in the background for many tracks.

use super::state::Timeline;
use super::tracks::{ArrangeJob, ArrangeResult, Arranged, UnfilteredView};
use crate::model::{TrackIdx, TrackSet};
use crate::scene::arrange::moves::RowMoves;
use crate::scene::counter_form::CounterForm;
use crate::scene::counter_overlay::{CounterOverlay, counter_lane};
use crate::scene::rows::{GroupKind, TrackDensity};
use crate::store::lane::RowIdx;
use crate::ui::command::RowCommand;

impl Timeline {
    /// Changes the arrangement of rows. If a layout of many is due then, [`Timeline::due_layout`] returns it.
    pub(crate) fn change_rows(&mut self, command: RowCommand) {
        match command {
            RowCommand::ToggleFold(kind) => self.toggle_fold(kind),
            RowCommand::ToggleFoldOfSelected => {
                if let Some(track) = self.selected_track() {
                    self.toggle_fold(GroupKind::Track(track));
                }
            }
            RowCommand::FoldAll(folded) => self.fold_all(folded),
            RowCommand::TogglePin(track) => self.toggle_pin(track),
            RowCommand::TogglePinOfSelected => {
                if let Some(track) = self.selected_track() {
                    self.toggle_pin(track);
                }
            }
            RowCommand::Hide(kind) => {
                let tracks = self.rows.layout.tracks_of(kind);
                self.tracks.arrangement_mut().folded.hidden.extend(&tracks);
                self.apply_to_tracks(&tracks);
            }
            RowCommand::ShowOnlyScope => {
                self.choose_shown(&self.scope().tracks.clone());
                self.arrange();
            }
            RowCommand::ShowHidden => {
                let tracks = self.tracks.unhide_all();
                self.apply_to_tracks(&tracks);
            }
            RowCommand::ShowCounterAs(track, form) => self.show_counters_as(&[track], form),
            RowCommand::ShowCountersAs(form) => {
                let tracks = self.scope().tracks.iter();
                let counters = tracks.filter(|&track| counter_lane(&self.snapshot, track).is_some());
                self.show_counters_as(&counters.collect::<Vec<_>>(), form);
            }
            RowCommand::OverlayCounters { of, is_stacked } => {
                if self.overlay_counters(of, is_stacked) {
                    self.arrange();
                }
            }
            RowCommand::SeparateCounters(of) => {
                let counters = self.counters_of(of);
                let counters = self.with_rows_of(&counters);
                self.tracks.arrangement_mut().separate(&counters);
                self.arrange();
            }
            RowCommand::Group(command) => self.change_groups(command),
            RowCommand::Order(order) => {
                self.tracks.arrangement_mut().order = order;
                self.show_first_or_selected();
                let is_awaiting = self.rank_source().is_some() && self.ranks().is_none();
                self.tracks.set_is_awaiting_ranks(is_awaiting);
                self.arrange();
            }
            RowCommand::Move(moved) => self.move_row(moved),
            RowCommand::MovePinned { track, beside, is_after } => self.move_pinned(track, beside, is_after),
            RowCommand::Step(kind, direction) => self.step_row(kind, direction),
            RowCommand::StepOfSelected(direction) => {
                let Some(track) = self.selected_track() else { return };
                // Repeated steps would move the selected span out of view.
                self.tracks.set_to_reveal(self.selection.span());
                self.step_row(GroupKind::Track(self.tracks.row_of(track)), direction);
                if !self.tracks.is_arranging() {
                    self.tracks.set_to_reveal(None);
                }
            }
            RowCommand::ForgetMoves => {
                self.tracks.arrangement_mut().moves = RowMoves::default();
                self.show_first_or_selected();
                self.arrange();
            }
            RowCommand::Filter(words) => {
                let now = UnfilteredView { top: self.row_anchor(), selected: self.selection.span() };
                self.tracks.set_filter(words, now);
                self.arrange();
            }
            RowCommand::FocusFilter => self.tracks.focus_filter(),
        }
    }

    /// Keeps the selected span in view in the next layout, which has another order, or shows its first rows.
    pub(super) fn show_first_or_selected(&mut self) {
        // A counter may be drawn in the row of another counter.
        let selected = self.selection.span().map(|row| RowIdx { lane: self.drawn_lane(row.lane), ..row });
        match selected.filter(|row| self.is_in_view(*row)) {
            Some(row) => self.tracks.set_to_reveal(Some(row)),
            None => self.tracks.show_top(),
        }
    }

    fn show_counters_as(&mut self, counters: &[TrackIdx], form: CounterForm) {
        self.tracks.show_counters_as(counters, form);
        self.rows.redraw();
        self.pinned.redraw();
    }

    /// Returns counters with all counters that share their rows.
    fn with_rows_of(&self, counters: &[TrackIdx]) -> Vec<TrackIdx> {
        let overlays = counters.iter().filter_map(|&counter| self.tracks.arrangement().overlay_of(counter));
        overlays.flat_map(CounterOverlay::counters).collect()
    }

    /// Lays out the rows at another height.
    pub(crate) fn change_density(&mut self, density: TrackDensity) {
        self.tracks.set_density(density);
        self.tracks.keep_first_row();
        self.arrange();
    }

    /// Shows these tracks, and hides all others. Unfolds groups that would hide them.
    pub(crate) fn show_only(&mut self, tracks: &TrackSet) {
        self.choose_shown(tracks);
        self.tracks.arrangement_mut().unfold_groups_of(&self.snapshot, tracks);
        self.lay_out();
    }

    /// Shows these tracks, and hides all others, in the next layout.
    fn choose_shown(&mut self, tracks: &TrackSet) {
        let snapshot = self.snapshot.clone();
        for &track in snapshot.display_order() {
            if tracks.contains(track) {
                self.tracks.arrangement_mut().folded.hidden.remove(&track);
            } else {
                self.tracks.arrangement_mut().folded.hidden.insert(track);
            }
        }
    }

    /// Sets rows that were laid out in the background, unless a later layout was requested.
    pub(crate) fn set_arranged(&mut self, arranged: ArrangeResult) {
        let Some((Arranged { snapshot, mut layout, summaries }, changed)) = self.tracks.accept(arranged) else {
            return;
        };
        if !snapshot.has_store_of(&self.snapshot) {
            layout.move_lanes(&snapshot, &self.snapshot);
        }
        // Only a later snapshot of a live trace has the same names.
        let summaries = summaries.filter(|_| self.snapshot.lane_moves_since(&snapshot).is_some());
        let after = self.tracks.take_after_layout();
        let anchor = after.anchor.or_else(|| self.row_anchor().filter(|_| after.keeps_first_row));
        let earlier = self.rows.set_layout(layout);
        self.loaders.drop_later(earlier);
        self.set_custom_summaries(summaries.as_ref());
        for kind in changed {
            self.apply(kind);
        }
        self.rows_changed();
        if let Some(anchor) = anchor {
            self.return_to_anchor(anchor, None);
        }
        if let Some(fraction) = after.scroll_fraction {
            self.scroll_to(fraction * self.rows.layout.height_px() as f64);
        }
        if let Some(row) = after.row {
            self.scroll_to_row(row);
        }
        if let Some(header) = after.header.and_then(|header| self.rows.layout.group_of(header)) {
            self.scroll_to(header.top_px as f64);
        }
    }

    /// Returns a layout of many rows that is due, to compute in the background. Its result goes to
    /// [`Self::set_arranged`].
    #[must_use]
    pub(crate) fn due_layout(&mut self) -> Option<ArrangeJob> {
        self.tracks.request_due(&self.snapshot, self.scale())
    }

    /// Keeps the rows as they are, because the layout with this number has failed. Later layouts may start.
    pub(crate) fn keep_rows(&mut self, number: u64) {
        self.tracks.drop_request(number);
    }

    /// Makes frames wait for the layout of their rows.
    pub(crate) fn wait_for_rows(&mut self) {
        self.tracks.wait_for_rows();
    }

    /// Lays out all rows again: few at once, many in the background.
    pub(super) fn arrange(&mut self) {
        self.lay_out_pinned();
        self.tracks.invalidate_rows();
        if !self.tracks.is_long(&self.snapshot) {
            self.run_due_layout();
        }
    }

    /// Lays out all rows again at once, however many there are.
    pub(super) fn lay_out(&mut self) {
        self.arrange();
        self.run_due_layout();
    }

    fn run_due_layout(&mut self) {
        if let Some(job) = self.due_layout() {
            self.set_arranged(job.run());
        }
    }

    /// Unfolds the parents of a track. Returns whether it is laid out at all.
    pub(super) fn unfold_parents(&mut self, track: TrackIdx) -> bool {
        let above: Vec<_> = self.kinds_above(track).collect();
        for kind in above.into_iter().chain([GroupKind::Track(track)]) {
            if self.is_folded(kind) {
                self.set_folded(kind, false);
            }
        }
        if self.tracks.arrangement_mut().folded.hidden.remove(&track) {
            self.apply(GroupKind::Track(track));
            self.rows_changed();
        }
        self.rows.layout.group_of(GroupKind::Track(track)).is_some()
    }

    /// Returns the header of the outermost level above a row, or the row itself if it is such a header.
    pub(super) fn header_of(&self, kind: GroupKind) -> GroupKind {
        match kind {
            GroupKind::Custom(_) | GroupKind::Process(_) => kind,
            // The user's groups have no groups of the trace.
            GroupKind::Tracks(group) => GroupKind::Process(self.snapshot.track(group.lead).process),
            GroupKind::Track(track) => self.tracks.arrangement().header_above(&self.snapshot, track),
        }
    }

    /// Returns the headers of the groups of the trace that a row is in, innermost first.
    pub(super) fn groups_around(&self, kind: GroupKind) -> impl Iterator<Item = GroupKind> {
        let (track, inner) = match kind {
            GroupKind::Custom(_) | GroupKind::Process(_) => (None, None),
            GroupKind::Tracks(group) => (None, Some(group)),
            GroupKind::Track(track) => (Some(track), None),
        };
        let of_track = track.map(|track| self.tracks.arrangement().groups_above(&self.snapshot, track));
        let of_group = inner.map(|group| self.snapshot.groups_around(group).map(|group| GroupKind::Tracks(group.id)));
        of_track.into_iter().flatten().chain(of_group.into_iter().flatten())
    }

    /// Returns the headers above a track, innermost first.
    pub(super) fn kinds_above(&self, track: TrackIdx) -> impl Iterator<Item = GroupKind> {
        let arrangement = self.tracks.arrangement();
        let header = arrangement.header_above(&self.snapshot, track);
        arrangement.groups_above(&self.snapshot, track).chain([header])
    }

    /// Returns whether only the header of a process, the header of a group, or the outermost spans of a track are
    /// shown.
    pub(super) fn is_folded(&self, kind: GroupKind) -> bool {
        self.tracks.arrangement().is_folded(&self.snapshot, kind)
    }

    fn toggle_fold(&mut self, kind: GroupKind) {
        self.set_folded(kind, !self.is_folded(kind));
    }

    fn set_folded(&mut self, kind: GroupKind, folded: bool) {
        let anchor = self.row_anchor();
        if self.is_folded(kind) != folded {
            self.tracks.toggle_folded(kind);
        }
        self.apply(kind);
        self.rows_changed();
        if let Some(anchor) = anchor {
            self.return_to_anchor(anchor, Some(kind));
        }
    }

    fn fold_all(&mut self, folded: bool) {
        let snapshot = self.snapshot.clone();
        let processes = u32::try_from(snapshot.tracks().processes.len()).unwrap_or(u32::MAX);
        let (processes, unfolded) = if folded { (processes, &[][..]) } else { (0, snapshot.groups()) };
        self.tracks.fold_processes(processes, unfolded);
        self.tracks.keep_first_row();
        self.arrange();
    }

    fn toggle_pin(&mut self, track: TrackIdx) {
        self.tracks.toggle_pin(track);
        self.lay_out_pinned();
    }

    /// Applies the folded and hidden state of tracks to the rows, or lays out all rows again if these are many.
    fn apply_to_tracks(&mut self, tracks: &[TrackIdx]) {
        if self.tracks.are_many(tracks.len()) {
            return self.arrange();
        }
        tracks.iter().for_each(|&track| self.apply(GroupKind::Track(track)));
        self.rows_changed();
    }

    /// Applies the folded and hidden state of a process, a group or a track to the rows. The rows of a large group are
    /// laid out in the background.
    fn apply(&mut self, kind: GroupKind) {
        if let GroupKind::Tracks(group) = kind
            && self.snapshot.group(group).is_some_and(|group| self.tracks.are_many(group.tracks as usize))
        {
            self.tracks.keep_first_row();
            self.tracks.invalidate_rows();
            return;
        }
        self.tracks.note_change(kind);
        self.rows.layout.set_folded(kind, self.is_folded(kind));
        if let GroupKind::Track(track) = kind {
            self.rows.layout.set_hidden(track, self.tracks.arrangement().folded.hidden.contains(&track));
            if self.tracks.is_pinned(track) {
                self.lay_out_pinned();
            }
        }
    }

    pub(super) fn lay_out_pinned(&mut self) {
        let layout = self.tracks.pinned_layout(&self.snapshot, self.scale());
        drop(self.pinned.set_layout(layout));
    }

    fn rows_changed(&mut self) {
        self.rows.redraw();
        self.scroll(0.0);
    }

    fn selected_track(&self) -> Option<TrackIdx> {
        self.selection.span().map(|row| self.snapshot.lane(row.lane).track)
    }
}

#[cfg(test)]
mod tests;
