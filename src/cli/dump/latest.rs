//! The latest span of each lane while rows pass by in order of time: enough to tell what a row stands in.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::base::ends::DepthEnds;
use crate::model::TrackIdx;

/// A span that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Begun {
    /// The number it has in the dump.
    pub(crate) id: u64,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
}

/// The latest span of each depth of each track, and the latest instant.
#[derive(Debug, Default)]
pub(super) struct Latest {
    tracks: FxHashMap<TrackIdx, LatestOfTrack>,
    instants: FxHashMap<TrackIdx, (u64, i64)>,
}

/// The latest span of each depth.
#[derive(Debug, Default)]
struct LatestOfTrack {
    spans: Vec<Option<Begun>>,
    ends: DepthEnds,
    /// By depth: the last moment at which the span runs; that of its start for one without length.
    moments: DepthEnds,
    /// The span that began last, the innermost of several, with its depth.
    last: Option<(u16, Begun)>,
    /// The depths of the latest spans that start when `last` does.
    starting: BTreeSet<u16>,
}

impl Latest {
    /// Notes a span; it takes the place of the one before it in its lane.
    pub(super) fn put(&mut self, track: TrackIdx, depth: u16, span: Begun) {
        let latest = self.tracks.entry(track).or_default();
        let place = usize::from(depth);
        if latest.spans.len() <= place {
            latest.spans.resize(place + 1, None);
        }
        latest.spans[place] = Some(span);
        latest.ends.set(place, span.end_ns);
        latest.moments.set(place, span.end_ns.saturating_sub(1).max(span.start_ns));
        let is_later = latest.last.is_none_or(|(_, last)| span.start_ns > last.start_ns);
        if is_later {
            latest.starting.clear();
        }
        if is_later || latest.last.is_some_and(|(last_depth, _)| depth >= last_depth) {
            latest.last = Some((depth, span));
        }
        latest.starting.insert(depth);
    }

    /// Notes an instant by the number that it has in the dump.
    pub(super) fn put_instant(&mut self, track: TrackIdx, id: u64, ts_ns: i64) {
        self.instants.insert(track, (id, ts_ns));
    }

    /// The last instant at `ts_ns`.
    pub(super) fn instant(&self, track: TrackIdx, ts_ns: i64) -> Option<u64> {
        self.instants.get(&track).filter(|(_, at_ns)| *at_ns == ts_ns).map(|(id, _)| *id)
    }

    /// The span that began last, the innermost of several.
    pub(super) fn last(&self, track: TrackIdx) -> Option<Begun> {
        self.tracks.get(&track)?.last.map(|(_, span)| span)
    }

    /// The latest span at a depth.
    pub(super) fn at(&self, track: TrackIdx, depth: u16) -> Option<Begun> {
        self.tracks.get(&track)?.spans.get(usize::from(depth)).copied().flatten()
    }

    /// The innermost span that runs at `ts_ns`, or starts there.
    pub(super) fn around(&self, track: TrackIdx, ts_ns: i64) -> Option<Begun> {
        let latest = self.tracks.get(&track)?;
        let depth = latest.moments.deepest(usize::MAX, ts_ns)?;
        latest.spans[depth]
    }

    /// The innermost span above `depth` that contains all of `start_ns..end_ns`.
    pub(super) fn parent(&self, track: TrackIdx, depth: u16, start_ns: i64, end_ns: i64) -> Option<u64> {
        let latest = self.tracks.get(&track)?;
        // A span that has ended contains nothing.
        let parent = latest.ends.deepest(depth.into(), end_ns.max(start_ns.checked_add(1)?))?;
        latest.spans[parent].map(|span| span.id)
    }

    /// The outermost span from `depth` on that starts at `start_ns`.
    pub(super) fn starting_at(&self, track: TrackIdx, depth: usize, start_ns: i64) -> Option<u64> {
        let latest = self.tracks.get(&track)?;
        let (_, last) = latest.last.filter(|(_, last)| last.start_ns == start_ns)?;
        let outermost = latest.starting.range(u16::try_from(depth).ok()?..).next().copied()?;
        latest.spans[usize::from(outermost)].filter(|span| span.start_ns == last.start_ns).map(|span| span.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_that_overlaps_is_no_parent() {
        const TRACK: TrackIdx = TrackIdx(0);
        let mut latest = Latest::default();
        latest.put(TRACK, 0, Begun { id: 1, start_ns: 0, end_ns: 10 });
        latest.put(TRACK, 1, Begun { id: 2, start_ns: 5, end_ns: 15 });
        assert_eq!(latest.parent(TRACK, 1, 5, 15), None);
        assert_eq!(latest.parent(TRACK, 2, 12, 13), Some(2));
        assert_eq!(latest.parent(TRACK, 2, 6, 15), Some(2));
        assert_eq!(latest.parent(TRACK, 2, 15, 15), None, "what has ended contains nothing");
        assert_eq!(latest.parent(TrackIdx(1), 2, 6, 15), None);
        assert_eq!(latest.around(TRACK, 12).map(|span| span.id), Some(2));
        assert_eq!(latest.around(TRACK, 15), None);
    }
}
