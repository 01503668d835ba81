//! Tracks the latest span of each lane while rows come in time order: enough to find the span around a row.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::model::TrackIdx;
use crate::query::last_spans::{LastSpan, LastSpans};

/// The latest span at each depth of each track, and the latest instant. Spans are numbered as in the dump.
#[derive(Debug, Default)]
pub(super) struct Latest {
    spans: LastSpans,
    /// Tracks and depths of spans without an end, which are also open at the end of their track.
    unfinished: BTreeSet<(TrackIdx, u16)>,
    instants: FxHashMap<TrackIdx, (u64, i64)>,
}

impl Latest {
    /// Records a span, which replaces the previous one of its lane.
    pub(super) fn put(&mut self, track: TrackIdx, depth: u16, span: LastSpan) {
        self.spans.put(track, depth, span);
    }

    /// Records that the last span at a depth has no end in the trace.
    pub(super) fn mark_unfinished(&mut self, track: TrackIdx, depth: u16) {
        self.unfinished.insert((track, depth));
    }

    /// Records an instant by its id in the dump.
    pub(super) fn put_instant(&mut self, track: TrackIdx, id: u64, ts_ns: i64) {
        self.instants.insert(track, (id, ts_ns));
    }

    /// Returns the last instant at `ts_ns`.
    pub(super) fn instant(&self, track: TrackIdx, ts_ns: i64) -> Option<u64> {
        self.instants.get(&track).filter(|(_, at_ns)| *at_ns == ts_ns).map(|(id, _)| *id)
    }

    /// Returns the span that started last, the innermost of several.
    pub(super) fn last(&self, track: TrackIdx) -> Option<LastSpan> {
        self.spans.last(track)
    }

    /// Returns the latest span at a depth.
    pub(super) fn at(&self, track: TrackIdx, depth: u16) -> Option<LastSpan> {
        self.spans.at(track, depth)
    }

    /// Returns the innermost span that is open at `ts_ns`, or starts there.
    pub(super) fn around(&self, track: TrackIdx, ts_ns: i64) -> Option<LastSpan> {
        self.spans.around(track, ts_ns)
    }

    /// Returns the innermost span above `depth` that contains all of `start_ns..end_ns`.
    pub(super) fn parent(&self, track: TrackIdx, depth: u16, start_ns: i64, end_ns: i64) -> Option<u64> {
        // A span that has ended contains nothing.
        let beyond_ns = start_ns.checked_add(1).map(|after_ns| after_ns.max(end_ns));
        let ended = beyond_ns.and_then(|beyond_ns| self.spans.depth_of_reaching(track, depth, beyond_ns));
        let mut unfinished = self.unfinished.range((track, 0)..(track, depth)).rev().map(|&(_, depth)| depth);
        let reaches = |&depth: &u16| self.spans.at(track, depth).is_some_and(|span| span.end_ns >= end_ns);
        self.spans.at(track, ended.max(unfinished.find(reaches))?).map(|span| span.id)
    }

    /// Returns the outermost span from `depth` on that starts at `start_ns`.
    pub(super) fn starting_at(&self, track: TrackIdx, depth: usize, start_ns: i64) -> Option<u64> {
        self.spans.starting_at(track, u16::try_from(depth).ok()?, start_ns).map(|span| span.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_that_overlaps_is_not_a_parent() {
        const TRACK: TrackIdx = TrackIdx(0);
        let mut latest = Latest::default();
        latest.put(TRACK, 0, LastSpan { id: 1, start_ns: 0, end_ns: 10 });
        latest.put(TRACK, 1, LastSpan { id: 2, start_ns: 5, end_ns: 15 });
        assert_eq!(latest.parent(TRACK, 1, 5, 15), None);
        assert_eq!(latest.parent(TRACK, 2, 12, 13), Some(2));
        assert_eq!(latest.parent(TRACK, 2, 6, 15), Some(2));
        assert_eq!(latest.parent(TRACK, 2, 15, 15), None, "what has ended contains nothing");
        assert_eq!(latest.parent(TrackIdx(1), 2, 6, 15), None);
        assert_eq!(latest.around(TRACK, 12).map(|span| span.id), Some(2));
        assert_eq!(latest.around(TRACK, 15), None);
    }
}
