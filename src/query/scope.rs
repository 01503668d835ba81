//! The part of a trace that a query covers: a time range, tracks, a filter, and kinds of rows.

use std::sync::Arc;

use regex::Regex;

use super::buckets::Buckets;
use super::matcher::Matcher;
use super::snapshot::Snapshot;
use crate::model::short_name::short_name;
use crate::model::{Id, TrackIdx, TrackKind, TrackSet};
use crate::store::{LaneIdx, LaneKind};

/// Selects tracks by expressions, numbers and kinds that must all match; without any, all tracks.
#[derive(Debug, Clone, Default)]
pub struct TrackChoice {
    /// Matches within the name or id of the track or of its process.
    pub track: Option<Regex>,
    /// Matches within the name of the process, or all of its id.
    pub process: Option<Regex>,
    /// Matches within the name of the track, or all of the id of its thread.
    pub thread: Option<Regex>,
    /// The tracks themselves; all if empty.
    pub numbered: Vec<TrackIdx>,
    /// The kinds of tracks; all if empty. A kind includes the tracks that are derived from its rows.
    pub kinds: Vec<TrackKind>,
}

impl TrackChoice {
    /// Returns the tracks that meet all conditions; [`TrackSet::ALL`] without conditions.
    #[must_use]
    pub(crate) fn tracks(&self, snapshot: &Snapshot) -> TrackSet {
        let has_kind = |kind| self.kinds.is_empty() || self.kinds.contains(&kind);
        let has_expression = self.track.is_some() || self.process.is_some() || self.thread.is_some();
        if !has_expression && self.numbered.is_empty() && self.kinds.is_empty() {
            return TrackSet::ALL;
        }
        let [process_id, thread_id] = [&self.process, &self.thread].map(|expression| whole(expression.as_ref()?));
        let matches = |expression: &Option<Regex>, text: &str| expression.as_ref().is_some_and(|it| it.is_match(text));
        let count = snapshot.tracks().tracks.len();
        let numbered: TrackSet = self.numbered.iter().copied().filter(|track| track.index() < count).collect();
        TrackSet::from_fn(count, |track| {
            let is_derived = snapshot.track(track).key.kind.is_derived();
            let thread = if is_derived { snapshot.thread_of(track) } else { track };
            let is_numbered = self.numbered.is_empty() || numbered.contains(track) || numbered.contains(thread);
            let track = snapshot.track(track);
            let process = &snapshot.tracks().processes[track.process.index()];
            let short = short_name(&process.name);
            let (pid, tid) = (track.key.pid.to_string(), track.key.tid.to_string());
            let is_id = |expression: &Option<Regex>, id: &Id, text: &str| {
                let number = || id.number().map(|number| number.to_string());
                expression.is_some()
                    && (matches(expression, text) || number().is_some_and(|it| matches(expression, &it)))
            };
            // The only derived rows are rows of samples, which are recorded on the tracks of threads.
            let kind = if track.key.kind.is_derived() { TrackKind::Thread } else { track.key.kind };
            let in_any = |texts: &[&str]| texts.iter().any(|text| matches(&self.track, text));
            is_numbered
                && has_kind(kind)
                && (self.track.is_none() || in_any(&[&track.name, &process.name, &short, &pid, &tid]))
                && (self.process.is_none()
                    || [&*process.name, &*short].iter().any(|name| matches(&self.process, name))
                    || is_id(&process_id, &track.key.pid, &pid))
                && (self.thread.is_none()
                    || matches(&self.thread, &track.name)
                    || is_id(&thread_id, &track.key.tid, &tid))
        })
    }
}

/// Anchors an expression to a whole text: 1 does not match an id of 12. A line feed ends a comment, which would
/// otherwise include the end of the group.
fn whole(expression: &Regex) -> Option<Regex> {
    ["", "\n"].iter().find_map(|end| Regex::new(&format!("^(?:{expression}{end})$")).ok())
}

/// The part of a trace that a query covers. The default is the whole trace.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Only rows that reach beyond this time.
    pub(crate) from_ns: Option<i64>,
    /// Only rows that start before this time.
    pub(crate) to_ns: Option<i64>,
    /// Only rows of these tracks.
    pub(crate) tracks: TrackSet,
    /// Only rows that match this filter.
    pub(crate) matcher: Arc<Matcher>,
    /// Only spans; otherwise instants and samples too.
    pub(crate) spans_only: bool,
    /// Also the bars that samples are drawn as. They are not events, but look like spans.
    pub(crate) with_charts: bool,
}

impl Scope {
    /// Covers the rows that reach beyond `from_ns` and start before `to_ns`, which is later. `None` means unbounded. So
    /// does an end at `i64::MAX`: no query needs a time after it.
    #[must_use]
    pub fn from_range(from_ns: Option<i64>, to_ns: Option<i64>) -> Self {
        Self { from_ns, to_ns: to_ns.filter(|&to_ns| to_ns < i64::MAX), ..Self::default() }
    }

    /// Covers the rows that reach into the buckets of a view.
    #[must_use]
    pub(crate) fn from_buckets(buckets: Buckets) -> Self {
        Self::from_range(Some(buckets.start_ns(buckets.first)), Some(buckets.start_ns(buckets.end())))
    }

    /// Covers the rows of the whole trace that match.
    #[must_use]
    pub fn from_matcher(matcher: impl Into<Arc<Matcher>>) -> Self {
        Self { matcher: matcher.into(), ..Self::default() }
    }

    /// Limits it to rows that match, in place of any earlier filter.
    #[must_use]
    pub fn matching(self, matcher: impl Into<Arc<Matcher>>) -> Self {
        Self { matcher: matcher.into(), ..self }
    }

    /// Limits it to these tracks, in place of any earlier choice.
    #[must_use]
    pub fn with_tracks(self, tracks: &[TrackIdx]) -> Self {
        let count = tracks.iter().map(|track| track.index() + 1).max().unwrap_or(0);
        Self { tracks: TrackSet::from_fn(count, |track| tracks.contains(&track)), ..self }
    }

    /// Restricts the scope to spans.
    #[must_use]
    pub(crate) fn spans(self) -> Self {
        Self { spans_only: true, ..self }
    }

    /// Drops an end at `i64::MAX`, so that no sweep needs a time after it.
    #[must_use]
    pub(super) fn without_last_ns(self) -> Self {
        Self { to_ns: self.to_ns.filter(|&to_ns| to_ns < i64::MAX), ..self }
    }

    /// Restricts the scope to the tracks that `choice` selects.
    #[must_use]
    pub fn on_tracks(self, snapshot: &Snapshot, choice: &TrackChoice) -> Self {
        let chosen = choice.tracks(snapshot);
        Self { tracks: self.tracks.intersection(&chosen), ..self }
    }

    /// Returns whether the scope is the whole trace.
    #[must_use]
    pub(crate) fn is_whole(&self) -> bool {
        let has_all_rows = self.matcher.is_every_track() && self.matcher.is_every_row_of_lane();
        self.from_ns.is_none() && self.to_ns.is_none() && self.tracks.is_all() && has_all_rows
    }

    /// Returns whether rows of a track may be in scope.
    #[must_use]
    pub(crate) fn has_track(&self, track: TrackIdx) -> bool {
        self.tracks.contains(track) && self.matcher.has_track(track)
    }

    /// Returns the tracks that may have rows in scope, by the scope and by the thread and process terms of the filter.
    /// If neither excludes any, all tracks, including derived ones.
    #[must_use]
    pub(crate) fn span_tracks(&self, snapshot: &Snapshot) -> TrackSet {
        if self.tracks.is_all() && self.matcher.is_every_track() {
            return TrackSet::ALL;
        }
        let is_event = |track| !snapshot.track(track).key.kind.is_derived();
        TrackSet::from_fn(snapshot.tracks().tracks.len(), |track| self.has_track(track) && is_event(track))
    }

    /// Returns the event tracks in scope that have lanes.
    pub(crate) fn event_tracks(&self, snapshot: &Snapshot) -> Vec<TrackIdx> {
        let tracks = snapshot.event_lanes().map(|lane| snapshot.lane(lane).track);
        let mut tracks: Vec<TrackIdx> = tracks.filter(|&track| self.has_track(track)).collect();
        // The lanes of a track are contiguous.
        tracks.dedup();
        tracks
    }

    /// Iterates over the lanes that may have rows in scope.
    pub(crate) fn lanes<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        matcher: &'a Matcher,
    ) -> impl Iterator<Item = LaneIdx> + 'a {
        (0..snapshot.store().lane_count()).map(LaneIdx).filter(move |&lane| {
            let info = snapshot.lane(lane);
            let is_event = !snapshot.track(info.track).key.kind.is_derived();
            let is_wanted = match info.kind {
                LaneKind::Spans => true,
                LaneKind::Instants | LaneKind::Samples => !self.spans_only,
                LaneKind::Counter | LaneKind::Flows => false,
            };
            let is_in_scope = self.tracks.contains(info.track) && matcher.has_track(info.track);
            (is_event || self.with_charts) && is_wanted && is_in_scope
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_at_the_last_nanosecond_is_none() {
        let ends = [Some(5), Some(i64::MAX), None].map(|to_ns| Scope::from_range(None, to_ns).to_ns);
        assert_eq!(ends, [Some(5), None, None]);
    }
}
