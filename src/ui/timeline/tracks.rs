//! The arrangement of the tracks (order, folded and pinned tracks, filter, height) and the layouts derived from it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashSet;

use super::track_ranks::TrackRanks;
use crate::base::direction::Direction;
use crate::model::{ProcessIdx, TrackIdx};
use crate::query::Snapshot;
use crate::query::track_groups::TrackGroup;
use crate::scene::arrange::{self, Arrangement, toggle};
use crate::scene::counter_form::CounterForm;
use crate::scene::counter_overlay::CounterOverlay;
use crate::scene::custom_groups::{CustomGroupId, CustomGroups};
use crate::scene::rows::{GroupKind, RowHeights, RowLayout, TrackDensity};
use crate::store::lane::RowIdx;
use crate::tiles::summaries::TrackSummaries;

/// Up to this many tracks are laid out within a frame, more in the background: a thousand take 0.5 ms.
const TRACKS_AT_ONCE: usize = 2000;

/// Number of the layouts requested so far. No two timelines share a number, since a tab shows one after the other.
static LAYOUTS_REQUESTED: AtomicU64 = AtomicU64::new(0);

/// Why rows cannot be moved in another order.
pub(super) const OTHER_ORDER: &str = "Tracks can be moved only in trace order: see Tracks > Order";

/// The arrangement of the tracks, and pending layouts.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is about another event that the rows wait for")]
pub(super) struct TrackState {
    arrangement: Arrangement,
    density: TrackDensity,
    /// Number of the layout that is being computed; results of others are dropped.
    arranging: Option<u64>,
    /// Whether the rows must be laid out again, once the running layout has ended.
    is_due: bool,
    /// Whether rows are laid out at once, however many there are, for pictures.
    waits_for_rows: bool,
    /// Groups that were folded or hidden while a layout was computed.
    folded_meanwhile: Vec<GroupKind>,
    after_layout: AfterLayout,
    /// The view without a filter, to which it returns when the filter is cleared.
    unfiltered: Option<UnfilteredView>,
    focuses_filter: bool,
    /// The filter that a jump has cleared, until another filter is set.
    cleared_filter: String,
    /// The group whose name is edited.
    renaming: Option<CustomGroupId>,
    /// The last counts of tracks for an order.
    ranks: Option<TrackRanks>,
    /// Whether the order was chosen before its counts were known.
    awaits_ranks: bool,
}

/// The first row in view, with the part of it above the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowAnchor {
    pub(super) kind: GroupKind,
    pub(super) above_px: u64,
    /// Height of the row when it was saved: the part above the view scales with it.
    pub(super) height_px: u64,
}

/// The view at the time when the tracks were filtered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnfilteredView {
    /// The first row in view; `None` at the top of all rows.
    pub(super) top: Option<RowAnchor>,
    pub(super) selected: Option<RowIdx>,
}

/// Where the view scrolls after the next layout.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AfterLayout {
    /// The row that returns to the top.
    pub(super) anchor: Option<RowAnchor>,
    /// A row to scroll to, if it is out of view.
    pub(super) row: Option<RowIdx>,
    /// A position, as a fraction of the height of all rows.
    pub(super) scroll_fraction: Option<f64>,
    pub(super) header: Option<GroupKind>,
    /// Whether the first row in view stays at the top.
    pub(super) keeps_first_row: bool,
}

/// How counters are drawn: their forms, and the rows that several share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CounterRowState {
    forms: Vec<(TrackIdx, CounterForm)>,
    overlays: Vec<CounterOverlay>,
}

impl TrackState {
    pub(super) fn arrangement(&self) -> &Arrangement {
        &self.arrangement
    }

    /// Returns the arrangement, to change it before the rows are laid out.
    pub(super) fn arrangement_mut(&mut self) -> &mut Arrangement {
        &mut self.arrangement
    }

    pub(super) fn density(&self) -> TrackDensity {
        self.density
    }

    pub(super) fn set_density(&mut self, density: TrackDensity) {
        self.density = density;
    }

    /// Returns the same arrangement without pending layouts, for a picture.
    pub(super) fn arranged_alike(&self) -> Self {
        let (arrangement, ranks) = (self.arrangement.clone(), self.ranks.clone());
        Self { arrangement, density: self.density, ranks, waits_for_rows: true, ..Self::default() }
    }

    /// Lays out rows at once from now on, however many there are.
    pub(super) fn wait_for_rows(&mut self) {
        self.waits_for_rows = true;
    }

    /// Returns the counts that tracks are ordered by, if the order needs any.
    pub(super) fn ranks(&self) -> Option<&TrackRanks> {
        self.ranks.as_ref().filter(|ranks| ranks.source.order() == self.arrangement.order)
    }

    pub(super) fn set_ranks(&mut self, ranks: Option<TrackRanks>) {
        self.ranks = ranks;
    }

    /// Restores a saved arrangement and, if given, scroll position, before the rows are laid out.
    pub(super) fn restore(&mut self, arrangement: Arrangement, scroll_fraction: Option<f64>) {
        self.arrangement = arrangement;
        CounterForm::sort(&mut self.arrangement.counters);
        self.after_layout.scroll_fraction = scroll_fraction.filter(|fraction| fraction.is_finite());
    }

    /// Scrolls to a row after the next layout, whose filter is cleared.
    pub(super) fn reveal_when_laid_out(&mut self, row: RowIdx) {
        self.set_to_reveal(Some(row));
        self.unfiltered = None;
        if !self.arrangement.filter.is_empty() {
            self.cleared_filter = std::mem::take(&mut self.arrangement.filter);
        }
    }

    /// Scrolls to a row after the next layout, if it is out of view.
    pub(super) fn set_to_reveal(&mut self, row: Option<RowIdx>) {
        self.after_layout.row = row;
    }

    /// Scrolls to the first rows after the next layout.
    pub(super) fn show_top(&mut self) {
        self.after_layout.scroll_fraction = Some(0.0);
    }

    /// Sets whether the counts of a new order are not known yet.
    pub(super) fn set_is_awaiting_ranks(&mut self, is_awaiting: bool) {
        self.awaits_ranks = is_awaiting;
    }

    /// Returns whether the counts of a new order have just become known.
    pub(super) fn awaited_ranks(&mut self) -> bool {
        self.awaits_ranks && self.ranks().is_some() && std::mem::take(&mut self.awaits_ranks)
    }

    /// Returns the filter that a jump has cleared; may be empty.
    pub(super) fn cleared_filter(&self) -> &str {
        &self.cleared_filter
    }

    /// Sets the filter. If the filter is cleared, the view returns to what was in view without it, or shows the span
    /// that was selected since.
    pub(super) fn set_filter(&mut self, words: String, now: UnfilteredView) {
        if !self.arrangement.is_filtered() {
            // The rows of a filter that was just cleared may be laid out still.
            let top = self.after_layout.anchor.take().or(now.top);
            self.unfiltered = Some(UnfilteredView { top, ..now });
        }
        self.arrangement.filter = words;
        if !self.arrangement.is_filtered()
            && let Some(before) = self.unfiltered.take()
        {
            if now.selected.is_some() && now.selected != before.selected {
                self.after_layout.row = now.selected;
            } else {
                self.after_layout.anchor = before.top;
            }
        }
        // The first match is at the top, wherever the view was.
        self.after_layout.scroll_fraction = self.arrangement.is_filtered().then_some(0.0);
        self.arrangement.folded_in_filter.clear();
        self.cleared_filter.clear();
    }

    /// Folds or unfolds a group, while a filter is on only until it changes.
    pub(super) fn toggle_folded(&mut self, kind: GroupKind) {
        let is_filtered = self.arrangement.is_filtered();
        let Arrangement { folded, folded_in_filter, .. } = &mut self.arrangement;
        match kind {
            GroupKind::Custom(_) | GroupKind::Process(_) | GroupKind::Tracks(_) if is_filtered => {
                toggle(folded_in_filter, kind);
            }
            GroupKind::Custom(group) => toggle(&mut folded.custom_groups, group),
            GroupKind::Process(process) => toggle(&mut folded.processes, process),
            GroupKind::Tracks(group) => toggle(&mut folded.toggled_groups, group),
            GroupKind::Track(track) => toggle(&mut folded.tracks, track),
        }
    }

    /// Unfolds all tracks, and folds exactly the first `processes` processes, and with them the groups of the user.
    /// Unfolds some groups of the trace, and resets the others.
    pub(super) fn fold_processes(&mut self, processes: u32, unfolded: &[TrackGroup]) {
        let is_filtered = self.arrangement.is_filtered();
        let Arrangement { folded, folded_in_filter, custom_groups, .. } = &mut self.arrangement;
        folded.tracks.clear();
        let custom = custom_groups.all().iter().map(|group| group.id).filter(|_| processes > 0);
        let processes = (0..processes).map(ProcessIdx);
        if is_filtered {
            *folded_in_filter = processes.map(GroupKind::Process).chain(custom.map(GroupKind::Custom)).collect();
            return;
        }
        folded.toggled_groups = unfolded.iter().filter(|group| group.starts_folded()).map(|group| group.id).collect();
        folded.processes = processes.collect();
        folded.custom_groups = custom.collect();
    }

    pub(super) fn counter_rows(&self) -> CounterRowState {
        let Arrangement { counters, overlays, .. } = &self.arrangement;
        CounterRowState { forms: counters.clone(), overlays: overlays.clone() }
    }

    /// Draws counters as before, once the rows are laid out.
    pub(super) fn set_counter_rows(&mut self, CounterRowState { forms, overlays }: CounterRowState) {
        (self.arrangement.counters, self.arrangement.overlays) = (forms, overlays);
    }

    /// Unhides all tracks, and returns them in order.
    pub(super) fn unhide_all(&mut self) -> Vec<TrackIdx> {
        let mut hidden: Vec<_> = std::mem::take(&mut self.arrangement.folded.hidden).into_iter().collect();
        hidden.sort_unstable();
        hidden
    }

    /// Changes the groups of the user. Removed groups are no longer folded or named.
    pub(super) fn change_groups<T>(&mut self, change: impl FnOnce(&mut CustomGroups) -> T) -> T {
        let Arrangement { custom_groups, folded, .. } = &mut self.arrangement;
        let changed = change(custom_groups);
        folded.custom_groups.retain(|&group| custom_groups.get(group).is_some());
        self.renaming.take_if(|group| custom_groups.get(*group).is_none());
        changed
    }

    /// Replaces the groups of the user, and folds some of them.
    pub(super) fn set_groups(&mut self, groups: CustomGroups, folded: impl IntoIterator<Item = CustomGroupId>) {
        self.arrangement.custom_groups = groups;
        self.arrangement.folded.custom_groups = folded.into_iter().collect();
    }

    /// Returns the group whose name is edited.
    pub(super) fn renaming(&self) -> Option<CustomGroupId> {
        self.renaming
    }

    /// Shows the field of a group's name, or hides it.
    pub(super) fn edit_name(&mut self, group: Option<CustomGroupId>) {
        self.renaming = group;
    }

    /// Scrolls to a header after the next layout.
    pub(super) fn show_header_when_laid_out(&mut self, header: GroupKind) {
        self.after_layout.header = Some(header);
    }

    /// Draws counters in another form.
    pub(super) fn show_counters_as(&mut self, counters: &[TrackIdx], form: CounterForm) {
        let changed: FxHashSet<TrackIdx> = counters.iter().copied().collect();
        let forms = &mut self.arrangement.counters;
        forms.retain(|(track, _)| !changed.contains(track));
        if form != CounterForm::Value {
            forms.extend(changed.into_iter().map(|track| (track, form)));
            CounterForm::sort(forms);
        }
    }

    pub(super) fn counter_form(&self, track: TrackIdx) -> CounterForm {
        CounterForm::for_track(track, &self.arrangement.counters)
    }

    /// Returns the track whose row contains a track.
    pub(super) fn row_of(&self, track: TrackIdx) -> TrackIdx {
        self.arrangement.overlay_of(track).map_or(track, CounterOverlay::lead)
    }

    pub(super) fn is_pinned(&self, track: TrackIdx) -> bool {
        self.arrangement.pinned.contains(&track)
    }

    pub(super) fn toggle_pin(&mut self, track: TrackIdx) {
        let before = self.arrangement.pinned.len();
        self.arrangement.pinned.retain(|&pinned| pinned != track);
        if self.arrangement.pinned.len() == before {
            self.arrangement.pinned.push(track);
        }
    }

    /// Returns the pinned track before or after another pinned track.
    pub(super) fn pinned_neighbour(&self, track: TrackIdx, direction: Direction) -> Option<TrackIdx> {
        let pinned = &self.arrangement.pinned;
        let at = pinned.iter().position(|&pinned| pinned == track)?;
        let beside = match direction {
            Direction::Forward => at.checked_add(1),
            Direction::Backward => at.checked_sub(1),
        };
        beside.and_then(|at| pinned.get(at)).copied()
    }

    /// Moves a pinned track beside another pinned track.
    pub(super) fn move_pinned(&mut self, track: TrackIdx, beside: TrackIdx, is_after: bool) {
        let mut pinned = self.arrangement.pinned.clone();
        pinned.retain(|&pinned| pinned != track);
        if let Some(at) = pinned.iter().position(|&pinned| pinned == beside)
            && pinned.len() < self.arrangement.pinned.len()
        {
            pinned.insert(at + usize::from(is_after), track);
            self.arrangement.pinned = pinned;
        }
    }

    /// Returns whether a layout of all rows takes longer than a frame.
    pub(super) fn is_long(&self, snapshot: &Snapshot) -> bool {
        self.are_many(snapshot.display_order().len())
    }

    /// Returns whether a change of this number of tracks takes longer than a frame.
    pub(super) fn are_many(&self, tracks: usize) -> bool {
        tracks > TRACKS_AT_ONCE && !self.waits_for_rows
    }

    fn request(&mut self, snapshot: &Snapshot, scale: f32) -> ArrangeJob {
        let number = LAYOUTS_REQUESTED.fetch_add(1, Ordering::Relaxed);
        self.arranging = Some(number);
        self.folded_meanwhile.clear();
        self.is_due = false;
        ArrangeJob {
            number,
            snapshot: snapshot.clone(),
            arrangement: self.arrangement.clone(),
            ranks: self.ranks().map(|ranks| Arc::clone(&ranks.by_track)),
            heights: RowHeights::new(self.density, scale),
        }
    }

    /// Returns whether the rows in view do not show the last change yet.
    pub(super) fn is_arranging(&self) -> bool {
        self.arranging.is_some() || self.is_due
    }

    /// Notes that another snapshot is shown, whose rows must be laid out.
    pub(super) fn queue_layout(&mut self) {
        self.is_due = true;
    }

    /// Notes that rows have changed, so that all rows must be laid out. The result of a running layout is dropped.
    pub(super) fn invalidate_rows(&mut self) {
        (self.is_due, self.arranging) = (true, None);
    }

    /// Requests the layout that is due. While another layout is computed, the request waits: a trace that grows all the
    /// time would otherwise never be laid out.
    pub(super) fn request_due(&mut self, snapshot: &Snapshot, scale: f32) -> Option<ArrangeJob> {
        let can_start = self.is_due && self.arranging.is_none();
        can_start.then(|| self.request(snapshot, scale))
    }

    /// Accepts a layout, with the groups that changed while it was computed; `None` if another layout was requested
    /// since.
    pub(super) fn accept(&mut self, arranged: ArrangeResult) -> Option<(Arranged, Vec<GroupKind>)> {
        self.arranging.take_if(|number| *number == arranged.number)?;
        Some((arranged.arranged, std::mem::take(&mut self.folded_meanwhile)))
    }

    /// Drops the request of a layout that has failed.
    pub(super) fn drop_request(&mut self, number: u64) {
        self.arranging.take_if(|arranging| *arranging == number);
    }

    /// Records that a group was folded or hidden, for a layout in progress.
    pub(super) fn note_change(&mut self, kind: GroupKind) {
        if self.arranging.is_some() {
            self.folded_meanwhile.push(kind);
        }
    }

    pub(super) fn pinned_layout(&self, snapshot: &Snapshot, scale: f32) -> RowLayout {
        arrange::pinned_layout(snapshot, &self.arrangement, &RowHeights::new(self.density, scale))
    }

    /// Takes where the view scrolls after a layout.
    pub(super) fn take_after_layout(&mut self) -> AfterLayout {
        std::mem::take(&mut self.after_layout)
    }

    /// Keeps the first row in view at the top after the next layout.
    pub(super) fn keep_first_row(&mut self) {
        self.after_layout.keeps_first_row = true;
    }

    pub(super) fn focus_filter(&mut self) {
        self.focuses_filter = true;
    }

    /// Returns whether the filter field takes the focus in this frame.
    pub(super) fn take_filter_focus(&mut self) -> bool {
        std::mem::take(&mut self.focuses_filter)
    }
}

/// A layout of all rows to compute.
#[derive(Debug)]
pub(crate) struct ArrangeJob {
    number: u64,
    snapshot: Snapshot,
    arrangement: Arrangement,
    ranks: Option<Arc<Vec<u64>>>,
    heights: RowHeights,
}

/// A computed layout of all rows.
#[derive(Debug)]
pub struct ArrangeResult {
    number: u64,
    arranged: Arranged,
}

/// A layout of all rows of a snapshot, and the summaries of the user's groups, if there are any.
#[derive(Debug)]
pub(super) struct Arranged {
    pub(super) snapshot: Snapshot,
    pub(super) layout: RowLayout,
    pub(super) summaries: Option<Arc<TrackSummaries>>,
}

impl ArrangeJob {
    /// Returns the number of the layout.
    #[must_use]
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Computes the layout, in time linear in the tracks.
    #[must_use]
    pub(crate) fn run(self) -> ArrangeResult {
        let layout = arrange::layout(
            &self.snapshot,
            &self.arrangement,
            self.ranks.as_ref().map(|ranks| &***ranks),
            &self.heights,
        );
        let groups = &self.arrangement.custom_groups;
        let summaries =
            (!groups.is_empty()).then(|| Arc::new(TrackSummaries::from_custom_groups(&self.snapshot, groups)));
        ArrangeResult { number: self.number, arranged: Arranged { snapshot: self.snapshot, layout, summaries } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::tests::threads;

    #[test]
    fn a_late_layout_of_an_earlier_timeline_is_refused() {
        let (mut earlier, mut now) = (TrackState::default(), TrackState::default());
        let late = earlier.request(&threads(&[("a", "one", 1), ("a", "two", 2)]), 1.0);
        let own = now.request(&threads(&[("a", "one", 1)]), 1.0);
        assert!(now.accept(late.run()).is_none(), "it has other tracks");
        assert!(now.accept(own.run()).is_some());
    }

    #[test]
    fn very_many_counters_change_their_form_at_once() {
        const COUNTERS: u32 = 200_000;
        let mut tracks = TrackState::default();
        let all: Vec<_> = (0..COUNTERS).map(TrackIdx).collect();
        let even: Vec<_> = all.iter().copied().filter(|track| track.0 % 2 == 0).collect();
        for (changed, form) in [(&all, CounterForm::Change), (&even, CounterForm::Rate), (&all, CounterForm::Rate)] {
            tracks.show_counters_as(changed, form);
        }
        tracks.show_counters_as(&even, CounterForm::Value);
        let is_rate = |track: &TrackIdx| tracks.counter_form(*track) == CounterForm::Rate;
        assert!(all.iter().all(|track| is_rate(track) == (track.0 % 2 == 1)));
        // A file may have been edited by hand.
        let mut edited = tracks.arrangement().clone();
        edited.counters = vec![(TrackIdx(9), CounterForm::Fitted), (TrackIdx(3), CounterForm::Rate)];
        tracks.restore(edited, None);
        let forms = [3, 4, 9].map(|track| tracks.counter_form(TrackIdx(track)));
        assert_eq!(forms, [CounterForm::Rate, CounterForm::Value, CounterForm::Fitted]);
    }
}
