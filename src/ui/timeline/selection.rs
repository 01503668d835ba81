//! The selection: the span under the pointer, the selected span, the scope.

use rustc_hash::FxHashSet;

use super::named_scopes::NamedScope;
use crate::model::{ProcessIdx, TrackIdx, TrackKind, TrackSet};
use crate::query::Snapshot;
use crate::query::track_groups::GroupId;
use crate::scene::counter_overlay::OVERLAID_MAX;
use crate::scene::custom_groups::CustomGroups;
use crate::scene::rows::GroupKind;
use crate::store::lane::RowIdx;
use crate::ui::selected_scope::{SelectedScope, TimeRange};

/// Returns whether tracks include a track, or the thread whose samples the track draws.
fn has_rows_of(tracks: &TrackSet, track: TrackIdx, snapshot: &Snapshot) -> bool {
    let is_chart = || snapshot.track(track).key.kind.is_derived();
    tracks.contains(track) || is_chart() && tracks.contains(snapshot.thread_of(track))
}

/// Three independent layers of selection.
#[derive(Debug, Clone, Default)]
pub(super) struct Selection {
    hovered: Option<RowIdx>,
    span: Option<RowIdx>,
    scope: SelectedScope,
    /// The processes with a track in the scope, unless all tracks are in it.
    processes: FxHashSet<ProcessIdx>,
    /// The groups with a track in the scope, unless all tracks are in it.
    groups: FxHashSet<GroupId>,
    /// The first counters of the scope, at most one more than a row can have; none if all tracks are in it.
    counters: Vec<TrackIdx>,
    /// Scopes that the user has saved under a name.
    saved: Vec<NamedScope>,
}

impl Selection {
    pub(super) fn hovered(&self) -> Option<RowIdx> {
        self.hovered
    }

    pub(super) fn span(&self) -> Option<RowIdx> {
        self.span
    }

    pub(super) fn scope(&self) -> &SelectedScope {
        &self.scope
    }

    pub(super) fn saved(&self) -> &[NamedScope] {
        &self.saved
    }

    pub(super) fn saved_mut(&mut self) -> &mut Vec<NamedScope> {
        &mut self.saved
    }

    /// Returns the first nanosecond of the scope, and the first after it.
    pub(super) fn range(&self) -> TimeRange {
        self.scope.range
    }

    /// Returns whether a track, or any track of a process or group, is in the scope.
    pub(super) fn has_group(&self, kind: GroupKind, custom_groups: &CustomGroups, snapshot: &Snapshot) -> bool {
        match kind {
            GroupKind::Custom(group) => {
                custom_groups.get(group).is_some_and(|group| group.tracks.intersects(&self.scope.tracks))
            }
            GroupKind::Track(track) => has_rows_of(&self.scope.tracks, track, snapshot),
            GroupKind::Process(process) => self.scope.tracks.is_all() || self.processes.contains(&process),
            GroupKind::Tracks(group) => self.scope.tracks.is_all() || self.groups.contains(&group),
        }
    }

    /// Sets the span under the pointer. Returns whether it has changed.
    pub(super) fn hover(&mut self, row: Option<RowIdx>) -> bool {
        std::mem::replace(&mut self.hovered, row) != row
    }

    pub(super) fn select(&mut self, row: Option<RowIdx>) {
        self.span = row;
    }

    pub(super) fn select_range(&mut self, range: TimeRange) {
        self.scope.range = range;
    }

    /// Replaces the tracks of the scope. Visits them only if they have changed.
    pub(super) fn select_tracks(&mut self, tracks: TrackSet, snapshot: &Snapshot) {
        if tracks != self.scope.tracks {
            self.processes = tracks.iter().map(|track| snapshot.track(track).process).collect();
            self.groups = tracks.iter().flat_map(|track| snapshot.groups_of(track)).map(|group| group.id).collect();
            let is_counter = |track: &TrackIdx| snapshot.track(*track).key.kind == TrackKind::Counter;
            self.counters = tracks.iter().filter(is_counter).take(OVERLAID_MAX + 1).collect();
            self.scope.tracks = tracks;
        }
    }

    /// Adds tracks to the scope, or removes them if all of them are in it. If none is left, the scope has all tracks.
    pub(super) fn toggle_tracks(&mut self, group: &[TrackIdx], snapshot: &Snapshot) {
        let before = self.scope.tracks.clone();
        let removes = !before.is_all() && group.iter().all(|&track| has_rows_of(&before, track, snapshot));
        let group: TrackSet = group.iter().copied().collect();
        let others = before.iter().filter(|&track| !has_rows_of(&group, track, snapshot));
        let added = if removes { TrackSet::from_iter([]) } else { group.clone() };
        let tracks: TrackSet = others.chain(added.iter()).collect();
        self.select_tracks(if tracks.is_empty() { TrackSet::ALL } else { tracks }, snapshot);
    }

    /// Returns the first counters of the scope, at most one more than a row can have; none if the scope has all tracks.
    pub(super) fn counters(&self) -> &[TrackIdx] {
        &self.counters
    }

    pub(super) fn set_filter(&mut self, filter: &str) {
        self.scope.filter = filter.into();
    }

    pub(super) fn set_scope(&mut self, scope: SelectedScope, snapshot: &Snapshot) {
        self.select_tracks(scope.tracks.clone(), snapshot);
        self.scope = scope;
    }

    /// Clears the scope, or else the selected span.
    pub(super) fn clear_scope_or_span(&mut self) {
        if self.scope.is_whole() {
            self.span = None;
        } else {
            self.scope = SelectedScope::default();
            self.processes.clear();
            self.groups.clear();
            self.counters.clear();
        }
    }
}
