//! Tracks the last span at each depth of each track while rows come by time, then depth: enough to find parents.
//!
//! A trace may have a million tracks, most with one depth. Such a track takes one list entry, without an allocation.

use crate::base::ends::EndTree;
use crate::model::TrackIdx;

/// A span that has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LastSpan {
    /// Its index among the rows passed.
    pub id: u64,
    pub start_ns: i64,
    pub end_ns: i64,
}

/// The last span at each depth of each track.
#[derive(Debug, Default)]
pub(crate) struct LastSpans {
    /// By track, up to the last track with a span.
    tracks: Vec<TrackSpans>,
}

#[derive(Debug, Default)]
enum TrackSpans {
    #[default]
    Empty,
    /// The span at depth 0.
    Flat(LastSpan),
    Nested(Box<Depths>),
}

const _: () = assert!(size_of::<TrackSpans>() == 32);

/// The last spans of a track with several depths.
#[derive(Debug)]
struct Depths {
    /// By depth; [`NO_SPAN`] if none has started.
    spans: Vec<LastSpan>,
    /// The depth of the span that started last, the innermost of several.
    last: u16,
    /// Built when there are too many depths to scan.
    index: Option<Box<DepthIndex>>,
}

const NO_SPAN: LastSpan = LastSpan { id: u64::MAX, start_ns: i64::MIN, end_ns: i64::MIN };

/// Replaces the scan for tracks with many depths.
#[derive(Debug, Default)]
struct DepthIndex {
    ends: EndTree,
    /// The depths of the spans that start together with the last one, in order.
    starting: Vec<u16>,
}

impl LastSpans {
    /// Records a span, which replaces the previous one at its depth. Its id is less than `u64::MAX`.
    pub(crate) fn put(&mut self, track: TrackIdx, depth: u16, span: LastSpan) {
        if self.tracks.len() <= track.index() {
            self.tracks.resize_with(track.index() + 1, TrackSpans::default);
        }
        let spans = &mut self.tracks[track.index()];
        match spans {
            TrackSpans::Nested(depths) => depths.put(depth, span),
            _ if depth == 0 => *spans = TrackSpans::Flat(span),
            flat => {
                let mut depths = Depths { spans: Vec::new(), last: 0, index: None };
                if let TrackSpans::Flat(outermost) = flat {
                    depths.put(0, *outermost);
                }
                depths.put(depth, span);
                *flat = TrackSpans::Nested(Box::new(depths));
            }
        }
    }

    /// Returns the span that started last, the innermost of several.
    #[must_use]
    pub(crate) fn last(&self, track: TrackIdx) -> Option<LastSpan> {
        let spans = self.spans(track);
        let last = match self.tracks.get(track.index()) {
            Some(TrackSpans::Nested(depths)) => usize::from(depths.last),
            _ => 0,
        };
        spans.get(last).copied()
    }

    /// Returns the last span at a depth.
    #[must_use]
    pub(crate) fn at(&self, track: TrackIdx, depth: u16) -> Option<LastSpan> {
        self.spans(track).get(usize::from(depth)).copied().filter(|span| span.id != NO_SPAN.id)
    }

    /// Returns the innermost span above `depth` that ends at or after `end_ns`.
    #[must_use]
    pub(crate) fn reaching(&self, track: TrackIdx, depth: u16, end_ns: i64) -> Option<LastSpan> {
        self.at(track, self.depth_of_reaching(track, depth, end_ns)?)
    }

    /// Returns the depth of the innermost span above `depth` that ends at or after `end_ns`.
    #[must_use]
    pub(crate) fn depth_of_reaching(&self, track: TrackIdx, depth: u16, end_ns: i64) -> Option<u16> {
        self.depth_reaching(track, depth.into(), end_ns).and_then(|depth| u16::try_from(depth).ok())
    }

    /// Returns the innermost span that is open at `ts_ns` or starts there. Spans that start later are not recorded yet.
    #[must_use]
    pub(crate) fn around(&self, track: TrackIdx, ts_ns: i64) -> Option<LastSpan> {
        let running = ts_ns.checked_add(1).and_then(|end_ns| self.depth_reaching(track, usize::MAX, end_ns));
        let starts = |span: &LastSpan| span.start_ns == ts_ns;
        let starting = match self.tracks.get(track.index())? {
            TrackSpans::Empty => None,
            TrackSpans::Flat(span) => starts(span).then_some(0),
            TrackSpans::Nested(depths) => starts(&depths.spans[usize::from(depths.last)]).then_some(depths.last.into()),
        };
        running.max(starting).map(|depth| self.spans(track)[depth])
    }

    /// Returns the outermost span from `depth` on that starts at `start_ns`, which must be the latest start recorded.
    #[must_use]
    pub(crate) fn starting_at(&self, track: TrackIdx, depth: u16, start_ns: i64) -> Option<LastSpan> {
        self.last(track).filter(|last| last.start_ns == start_ns)?;
        let spans = self.spans(track);
        if let Some(TrackSpans::Nested(depths)) = self.tracks.get(track.index())
            && let Some(index) = &depths.index
        {
            let first = index.starting.partition_point(|&start_depth| start_depth < depth);
            return index.starting.get(first).map(|&depth| spans[usize::from(depth)]);
        }
        let starts = |span: &&LastSpan| span.start_ns == start_ns && span.id != NO_SPAN.id;
        spans.iter().skip(depth.into()).find(starts).copied()
    }

    fn spans(&self, track: TrackIdx) -> &[LastSpan] {
        match self.tracks.get(track.index()) {
            None | Some(TrackSpans::Empty) => &[],
            Some(TrackSpans::Flat(span)) => std::slice::from_ref(span),
            Some(TrackSpans::Nested(depths)) => &depths.spans,
        }
    }

    /// Returns the deepest depth above `below` with a span that ends at or after `end_ns`.
    fn depth_reaching(&self, track: TrackIdx, below: usize, end_ns: i64) -> Option<usize> {
        let spans = self.spans(track);
        let above = &spans[..below.min(spans.len())];
        let first = above.len().saturating_sub(Depths::SCANNED);
        let reaches = |span: &LastSpan| span.end_ns >= end_ns && span.id != NO_SPAN.id;
        match (above[first..].iter().rposition(reaches), self.tracks.get(track.index())) {
            (Some(position), _) => Some(first + position),
            (None, Some(TrackSpans::Nested(depths))) if first > 0 => depths.index.as_ref()?.ends.deepest(first, end_ns),
            _ => None,
        }
    }
}

impl Depths {
    /// Up to this many depths, a scan is faster than the index; few stacks are deeper.
    const SCANNED: usize = 32;
    /// Up to this many depths, the list is allocated exactly.
    const EXACT: usize = 8;

    fn put(&mut self, depth: u16, span: LastSpan) {
        let index = usize::from(depth);
        let last = self.spans.get(usize::from(self.last)).filter(|last| last.id != NO_SPAN.id);
        let later = last.map(|last| span.start_ns.cmp(&last.start_ns));
        if self.spans.len() <= index {
            if index < Self::EXACT {
                self.spans.reserve_exact(index + 1 - self.spans.len());
            }
            self.spans.resize(index + 1, NO_SPAN);
        }
        self.spans[index] = span;
        let is_later = later.is_none_or(std::cmp::Ordering::is_gt);
        if is_later || depth >= self.last {
            self.last = depth;
        }
        if self.spans.len() > Self::SCANNED {
            self.put_in_index(depth, span, is_later);
        }
    }

    fn put_in_index(&mut self, depth: u16, span: LastSpan, is_later: bool) {
        if let Some(index) = &mut self.index {
            index.ends.set(depth.into(), Some(span.end_ns));
            if is_later {
                index.starting.clear();
            }
            // Spans at one time come by depth, so this is nearly always the end.
            if let Err(at) = index.starting.binary_search(&depth) {
                index.starting.insert(at, depth);
            }
            return;
        }
        let index = self.index.insert(Box::default());
        let latest_ns = self.spans[usize::from(self.last)].start_ns;
        for (depth, span) in (0u16..).zip(&self.spans).filter(|(_, span)| span.id != NO_SPAN.id) {
            index.ends.set(depth.into(), Some(span.end_ns));
            if span.start_ns == latest_ns {
                index.starting.push(depth);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A plain list of the last span at each depth, searched from end to end.
    #[derive(Default)]
    struct OpenSpanOracle(Vec<Option<LastSpan>>);

    impl OpenSpanOracle {
        fn put(&mut self, depth: u16, span: LastSpan) {
            self.0.resize(self.0.len().max(usize::from(depth) + 1), None);
            self.0[usize::from(depth)] = Some(span);
        }

        fn last(&self) -> Option<LastSpan> {
            self.0.iter().flatten().copied().max_by_key(|span| span.start_ns)
        }

        fn innermost(&self, below: usize, fits: impl Fn(&LastSpan) -> bool) -> Option<LastSpan> {
            self.0.iter().take(below).rev().flatten().copied().find(fits)
        }

        fn starting_at(&self, depth: u16, start_ns: i64) -> Option<LastSpan> {
            self.0.iter().skip(depth.into()).flatten().copied().find(|span| span.start_ns == start_ns)
        }
    }

    proptest! {
        #[test]
        fn answers_are_those_of_a_scan(
            steps in prop::collection::vec((0u32..3, 0i64..3, 0i64..20, prop::bool::weighted(0.3)), 0..300),
            depth_max in prop::sample::select(vec![1u16, 3, 31, 32, 33, 90]),
            probes in prop::collection::vec((0u16..95, 0i64..12), 300),
        ) {
            let (mut spans, mut oracles) = (LastSpans::default(), [(); 3].map(|()| OpenSpanOracle::default()));
            // A span may start at `i64::MIN`, so no sentinel may have that value.
            let (mut now_ns, mut depths) = (i64::MIN, [0u16; 3]);
            let steps = steps.into_iter().zip(probes);
            for (id, ((track, later_ns, dur_ns, is_outer), (probed, reach_ns))) in (0u64..).zip(steps) {
                if later_ns > 0 {
                    now_ns += later_ns;
                    depths = [probed % depth_max; 3];
                }
                let own = &mut depths[track as usize];
                // Among spans with the same start, the outer ones come first.
                *own = if is_outer { *own } else { (*own + 1).min(depth_max) };
                let span = LastSpan { id, start_ns: now_ns, end_ns: now_ns + dur_ns };
                spans.put(TrackIdx(track), *own, span);
                oracles[track as usize].put(*own, span);
                for (track, oracle) in (0..).map(TrackIdx).zip(&oracles) {
                    prop_assert_eq!(spans.at(track, probed), oracle.0.get(usize::from(probed)).copied().flatten());
                    prop_assert_eq!(spans.last(track), oracle.last());
                    let end_ns = now_ns + reach_ns;
                    prop_assert_eq!(
                        spans.reaching(track, probed, end_ns),
                        oracle.innermost(probed.into(), |span| span.end_ns >= end_ns)
                    );
                    let is_around = |span: &LastSpan| span.end_ns > end_ns || span.start_ns == end_ns;
                    prop_assert_eq!(spans.around(track, end_ns), oracle.innermost(usize::MAX, is_around));
                    prop_assert_eq!(spans.starting_at(track, probed, now_ns), oracle.starting_at(probed, now_ns));
                    prop_assert_eq!(spans.starting_at(track, 0, now_ns + 1), None);
                }
            }
        }
    }

    #[test]
    fn a_track_without_spans_has_no_answers() {
        let mut spans = LastSpans::default();
        spans.put(TrackIdx(5), 0, LastSpan { id: 0, start_ns: 1, end_ns: 2 });
        for track in [TrackIdx(0), TrackIdx(9)] {
            assert_eq!((spans.last(track), spans.at(track, 0), spans.around(track, 1)), (None, None, None));
            assert_eq!((spans.reaching(track, 9, i64::MIN), spans.starting_at(track, 0, 1)), (None, None));
        }
    }
}
