//! The part of a trace that a question is about: a range of time, tracks, and kinds of rows.

use rustc_hash::FxHashSet;

use super::buckets::Buckets;
use super::matcher::Matcher;
use super::snapshot::Snapshot;
use crate::model::TrackIdx;
use crate::store::{LaneIdx, LaneKind};

/// The part of a trace that a question is about. The default is the whole trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Only rows that reach beyond this time.
    pub(crate) from_ns: Option<i64>,
    /// Only rows that start before this time.
    pub(crate) to_ns: Option<i64>,
    /// Only rows of these tracks; `None`: of all.
    pub(crate) tracks: Option<Vec<TrackIdx>>,
    /// Only spans; else instants and samples too.
    pub(crate) spans_only: bool,
    /// Also the bars that samples are drawn as: they are no events, and seen like any span.
    pub(crate) with_charts: bool,
}

impl Scope {
    /// The rows that reach beyond `from_ns` and start before `to_ns`; `None`: without a bound.
    #[must_use]
    pub(crate) fn from_range(from_ns: Option<i64>, to_ns: Option<i64>) -> Self {
        Self { from_ns, to_ns, ..Self::default() }
    }

    /// The rows that reach into the buckets of a view.
    #[must_use]
    pub(crate) fn from_buckets(buckets: Buckets) -> Self {
        let last_ns = buckets.start_ns(buckets.end());
        Self::from_range(Some(buckets.start_ns(buckets.first)), (last_ns < i64::MAX).then_some(last_ns))
    }

    /// The same with spans only.
    #[must_use]
    pub(crate) fn spans(self) -> Self {
        Self { spans_only: true, ..self }
    }

    /// The tracks of events in scope that have lanes.
    pub(crate) fn event_tracks(&self, snapshot: &Snapshot) -> Vec<TrackIdx> {
        let mut tracks: Vec<TrackIdx> = snapshot.capture_lanes().map(|lane| snapshot.lane(lane).track).collect();
        // The lanes of a track are neighbours.
        tracks.dedup();
        if let Some(wanted) = &self.tracks {
            let wanted: FxHashSet<TrackIdx> = wanted.iter().copied().collect();
            tracks.retain(|track| wanted.contains(track));
        }
        tracks
    }

    /// The lanes that may hold rows in scope.
    pub(crate) fn lanes<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        matcher: &'a Matcher,
    ) -> impl Iterator<Item = LaneIdx> + 'a {
        let tracks: Option<FxHashSet<TrackIdx>> = self.tracks.as_ref().map(|tracks| tracks.iter().copied().collect());
        (0..snapshot.store().lane_count()).map(LaneIdx).filter(move |&lane| {
            let info = snapshot.lane(lane);
            let is_event = !snapshot.track(info.track).key.kind.is_derived();
            let is_in_scope = tracks.as_ref().is_none_or(|tracks| tracks.contains(&info.track));
            let is_wanted = match info.kind {
                LaneKind::Spans => true,
                LaneKind::Instants | LaneKind::Samples => !self.spans_only,
                LaneKind::Counter | LaneKind::Flows => false,
            };
            (is_event || self.with_charts) && is_wanted && is_in_scope && matcher.has_track(info.track)
        })
    }
}
