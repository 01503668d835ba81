//! Edits of the scope: the tracks that a drag crosses, and the commands of menus and of the scope bar.

use rustc_hash::FxHashSet;

use super::interaction::ScopeDrag;
use super::layout::TimelineLayout;
use super::named_scopes::{NAMED_SCOPES_MAX, NamedScope};
use super::state::Timeline;
use crate::model::{TrackIdx, TrackSet};
use crate::query::filter::SpanPosition;
use crate::scene::rows::GroupKind;
use crate::store::lane::RowIdx;
use crate::store::{LaneIdx, LaneKind};
use crate::ui::command::ScopeCommand;
use crate::ui::panel::Panel;
use crate::ui::selected_scope::{SelectedScope, widened_filter};
use crate::ui::widgets::field::FIELD_BYTES_MAX;

impl Timeline {
    /// Returns the selected part of the trace.
    #[must_use]
    pub(crate) fn scope(&self) -> &SelectedScope {
        self.selection.scope()
    }

    /// Returns whether a track, or any track of a process or group, is in the scope.
    pub(super) fn is_in_scope(&self, kind: GroupKind) -> bool {
        self.selection.has_group(kind, &self.tracks.arrangement().custom_groups, &self.snapshot)
    }

    /// Runs a command of the scope.
    pub(super) fn change_scope(&mut self, command: ScopeCommand) {
        match command {
            ScopeCommand::ClearTime => self.selection.select_range(None),
            ScopeCommand::ClearTracks => self.selection.select_tracks(TrackSet::ALL, &self.snapshot),
            ScopeCommand::Set(scope) => self.selection.set_scope(*scope, &self.snapshot),
            ScopeCommand::Filter(filter) => self.selection.set_filter(&filter),
            ScopeCommand::AddFilter(filter) => {
                let widened = widened_filter(&self.scope().filter, &filter);
                if widened.len() <= FIELD_BYTES_MAX {
                    self.selection.set_filter(&widened);
                } else {
                    let limit_kib = FIELD_BYTES_MAX >> 10;
                    self.note = Some(format!("The filter of the scope would be longer than {limit_kib} KiB.").into());
                }
            }
            ScopeCommand::Only(kind) => {
                let tracks = self.tracks_with_rows_of(kind).into_iter().collect();
                self.selection.select_tracks(tracks, &self.snapshot);
            }
            ScopeCommand::Toggle(kind) => {
                let tracks = self.tracks_with_rows_of(kind);
                self.selection.toggle_tracks(&tracks, &self.snapshot);
            }
            ScopeCommand::Inside(row) => self.select_inside(row),
            ScopeCommand::Save(name) => self.save_scope(&name),
            ScopeCommand::Recall(number) => self.recall_scope(number),
            ScopeCommand::Delete(number) => self.delete_scope(number),
        }
    }

    /// Returns the tracks of a process, a group or a track, even if filtered out, hidden or in a custom group, and the
    /// tracks that are drawn in their rows.
    fn tracks_with_rows_of(&self, kind: GroupKind) -> Vec<TrackIdx> {
        let tracks = match kind {
            GroupKind::Process(process) => return self.snapshot.tracks_of_process(process).to_vec(),
            GroupKind::Custom(group) => {
                let group = self.tracks.arrangement().custom_groups.get(group);
                group.map(|group| group.tracks.iter().collect()).unwrap_or_default()
            }
            GroupKind::Tracks(group) => {
                let tracks = self.snapshot.tracks_of_process(self.snapshot.track(group.lead).process).iter().copied();
                tracks.filter(|&track| self.snapshot.is_in_group(track, group)).collect()
            }
            GroupKind::Track(track) => vec![track],
        };
        self.with_rows_inside(tracks)
    }

    /// Adds the tracks that are drawn in rows of these tracks: counters of one row, and the samples of a chart, which
    /// has no rows of its own.
    fn with_rows_inside(&self, tracks: Vec<TrackIdx>) -> Vec<TrackIdx> {
        let key = |track: TrackIdx| &self.snapshot.track(track).key;
        let thread = |track: TrackIdx| (&key(track).pid, &key(track).tid);
        let is_chart = |track: &TrackIdx| key(*track).kind.is_derived();
        let charts = || tracks.iter().copied().filter(is_chart);
        let charted: FxHashSet<_> = charts().map(thread).collect();
        let processes: FxHashSet<_> = charts().map(|chart| self.snapshot.track(chart).process).collect();
        let mut tracks = self.tracks.arrangement().with_counters(tracks);
        let is_sampled = |lane: u32| self.snapshot.lane(LaneIdx(lane)).kind == LaneKind::Samples;
        let is_source =
            |track: &TrackIdx| charted.contains(&thread(*track)) && self.snapshot.lanes_of(*track).any(is_sampled);
        let of_processes = processes.into_iter().flat_map(|process| self.snapshot.tracks_of_process(process));
        tracks.extend(of_processes.copied().filter(is_source));
        tracks
    }

    /// Returns the panel that sums up the rows on the tracks of the scope: statistics if any track has spans.
    #[must_use]
    pub(crate) fn summary_panel(&self) -> Panel {
        let tracks = &self.scope().tracks;
        let (mut has_samples, mut has_counters, mut has_instants) = (false, false, false);
        for lane in (0..self.snapshot.store().lane_count()).map(LaneIdx) {
            let lane = self.snapshot.lane(lane);
            if !tracks.contains(lane.track) {
                continue;
            }
            match lane.kind {
                LaneKind::Spans if self.snapshot.track(lane.track).key.kind.is_derived() => has_samples = true,
                LaneKind::Spans => return Panel::Statistics,
                LaneKind::Samples => has_samples = true,
                LaneKind::Counter => has_counters = true,
                LaneKind::Instants => has_instants = true,
                LaneKind::Flows => {}
            }
        }
        match (has_samples, has_counters, has_instants) {
            (true, ..) => Panel::Samples,
            (false, true, _) => Panel::Counters,
            (false, false, true) => Panel::Spans,
            (false, false, false) => Panel::Statistics,
        }
    }

    /// Selects the inside of a span: its time on its track, and the filter that names it.
    fn select_inside(&mut self, row: RowIdx) {
        let (info, span) = (self.snapshot.lane(row.lane), self.snapshot.row(row));
        if info.kind != LaneKind::Spans {
            return;
        }
        let position = SpanPosition::new(info.track, info.depth, span.start_ns);
        let scope = SelectedScope {
            range: Some((span.start_ns, span.end_ns())).filter(|(from_ns, to_ns)| from_ns < to_ns),
            tracks: TrackSet::from_iter([info.track]),
            filter: format!("within:{position}").into(),
        };
        self.selection.set_scope(scope, &self.snapshot);
    }

    /// Returns the saved scopes, the latest last.
    #[must_use]
    pub(crate) fn named_scopes(&self) -> &[NamedScope] {
        self.selection.saved()
    }

    /// Saves the scope under a name, replacing a scope of the same name.
    pub(super) fn save_scope(&mut self, name: &str) {
        let named = NamedScope::new(name.trim(), self.selection.scope());
        let saved = self.selection.saved_mut();
        saved.retain(|other| other.name != named.name);
        if saved.len() < NAMED_SCOPES_MAX && !named.name.is_empty() {
            saved.push(named);
        }
    }

    /// Restores a saved scope, and scrolls to its time.
    pub(super) fn recall_scope(&mut self, number: usize) {
        let Some(named) = self.selection.saved().get(number) else { return };
        let scope = named.to_scope(self.snapshot.tracks().tracks.len());
        let range = scope.range;
        self.selection.set_scope(scope, &self.snapshot);
        self.view.note_scope(self.selection.scope());
        if let Some((from_ns, to_ns)) = range {
            let mut to = *self.view.target();
            to.show_range(from_ns, to_ns);
            self.view.jump(to);
        }
    }

    pub(super) fn delete_scope(&mut self, number: usize) {
        let saved = self.selection.saved_mut();
        if number < saved.len() {
            saved.remove(number);
        }
    }

    /// Returns the tracks that a drag crosses, up to a vertical position in the window. A folded process or group
    /// counts as all of its tracks. If only headers are crossed, the innermost ones count as all of their tracks.
    /// Returns all tracks if none is crossed.
    pub(super) fn crossed_tracks(&self, layout: &TimelineLayout, drag: &ScopeDrag, to_y: f32) -> TrackSet {
        let began_in_rows = drag.from_y >= layout.canvas.top();
        // Rows may have scrolled during the drag.
        let scrolled = (self.view.now().scroll_px() - drag.scroll_px) as f32 / self.scale();
        let (mut tracks, mut headers) = (Vec::new(), Vec::new());
        for (shown, is_rows) in self.panes(layout).into_iter().zip([false, true]) {
            let canvas = shown.canvas;
            let from_y = if is_rows && began_in_rows { drag.from_y - scrolled } else { drag.from_y };
            let (top, bottom) = (from_y.min(to_y), from_y.max(to_y));
            // Scrolling rows that have scrolled out of view are crossed too.
            let least = if is_rows && began_in_rows { f32::MIN } else { canvas.top() };
            if canvas.height() <= 0.0 || bottom < canvas.top() || top > canvas.bottom() {
                continue;
            }
            let content_px = |y: f32| {
                let y = f64::from((y.max(least).min(canvas.bottom()) - canvas.top()) * self.scale());
                (y + shown.view.scroll_px()).max(0.0) as u64
            };
            for group in shown.pane.layout.groups_within(content_px(top), content_px(bottom) + 1) {
                match group.kind {
                    GroupKind::Track(track) => tracks.push(track),
                    GroupKind::Custom(_) | GroupKind::Process(_) | GroupKind::Tracks(_)
                        if shown.pane.layout.is_folded(group.kind) =>
                    {
                        tracks.extend(self.tracks_with_rows_of(group.kind));
                    }
                    GroupKind::Custom(_) | GroupKind::Process(_) | GroupKind::Tracks(_) => headers.push(group.kind),
                }
            }
        }
        if tracks.is_empty() {
            // The header of a group is below the headers of its process and of its outer group.
            let is_inside = |below: GroupKind, above: GroupKind| {
                self.header_of(below) == above || self.groups_around(below).any(|outer| outer == above)
            };
            let nexts = headers.iter().skip(1).map(Some).chain([None]);
            let innermost = headers.iter().zip(nexts);
            let innermost = innermost.filter(|&(&above, next)| next.is_none_or(|&next| !is_inside(next, above)));
            tracks.extend(innermost.flat_map(|(&kind, _)| self.tracks_with_rows_of(kind)));
        }
        let tracks = self.with_rows_inside(tracks);
        if tracks.is_empty() { TrackSet::ALL } else { tracks.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests;
