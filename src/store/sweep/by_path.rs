//! Sweeps over the spans of one track in order of start, and sums them by call path over consecutive ranges of time.
//!
//! The parent of a span on a path is the innermost span of a shallower lane that contains all of it; among spans at one
//! time, the last one. A path is that of the whole trace, for any range. Like the sweep by name, this one can start at
//! any time with a search in each lane. A span that reaches the start is not contained in any span that has ended.
//!
//! The naive way compares each span with the last span of each shallower lane.

use std::ops::Range;

use super::{BlockFilter, LaneSweep, StartQueue, SweptRow};
use crate::base::ends::DepthEnds;
use crate::store::lane::LaneIdx;
use crate::store::paths::{PathIdx, PathSumTable, PathSums};
use crate::store::read::Store;

/// A sweep over the spans of one track. Spans that fail the filter are on the paths of their children, and have the
/// time of those that pass, but none of their own.
pub(crate) struct PathSweep<'a, F> {
    filter: F,
    lanes: Vec<LaneSweep<'a>>,
    /// The next start of each lane, by time, then by lane: parents come before children.
    next: StartQueue,
    /// Last started span of each lane.
    open: Vec<OpenPath>,
    ends: DepthEnds,
    /// All spans that start before this time are swept.
    at_ns: i64,
    rows: u64,
}

/// A span that has started.
#[derive(Clone, Copy)]
struct OpenPath {
    start_ns: i64,
    end_ns: i64,
    path: PathIdx,
    /// Path of the enclosing span; [`PathIdx::ROOT`] for none.
    above: PathIdx,
    /// Lane of the enclosing span, which stays open for as long; [`NO_LANE`] for none.
    above_lane: u32,
    passes: bool,
}

const NO_LANE: u32 = u32::MAX;

impl OpenPath {
    const NONE: Self = Self {
        start_ns: i64::MAX,
        end_ns: i64::MIN,
        path: PathIdx::ROOT,
        above: PathIdx::ROOT,
        above_lane: NO_LANE,
        passes: false,
    };

    /// Returns whether it is open at `ts_ns`, which is not before its start.
    fn is_open_at(&self, ts_ns: i64) -> bool {
        self.start_ns <= ts_ns && ts_ns < self.end_ns
    }

    /// Returns its time from `from_ns` to `to_ns`.
    fn time_ns(&self, from_ns: i64, to_ns: i64) -> u128 {
        let to_ns = self.end_ns.min(to_ns);
        if to_ns > from_ns { u128::from(to_ns.abs_diff(from_ns)) } else { 0 }
    }

    /// Returns a time as sums of its path.
    fn sums(&self, total_ns: u128) -> PathSums {
        PathSumTable::within(self.path, self.above, PathSums { starts: 0, total_ns })
    }
}

impl<'a, F: BlockFilter> PathSweep<'a, F> {
    /// Starts at `from_ns` with the spans of a track; `lanes` are its [`span_lanes`](super::span_lanes). The paths of
    /// all ranges are added to `sums`.
    #[must_use]
    pub(crate) fn new(store: &'a Store, lanes: Range<u32>, from_ns: i64, filter: F, sums: &mut PathSumTable) -> Self {
        let count = lanes.len();
        let mut sweep = Self {
            filter,
            lanes: lanes.map(|lane| LaneSweep::new(store, LaneIdx(lane))).collect(),
            next: StartQueue::default(),
            open: vec![OpenPath::NONE; count],
            ends: DepthEnds::default(),
            at_ns: from_ns,
            rows: 0,
        };
        // Spans that end exactly at the start contain zero-length spans at that time.
        let mut before = Vec::new();
        for lane in 0..count {
            let last = sweep.lanes[lane].seek(from_ns, &mut sweep.filter);
            before.extend(last.filter(|last| last.end_ns >= from_ns).map(|last| (last.start_ns, lane, last)));
            if let Some(start_ns) = sweep.lanes[lane].start_ns() {
                sweep.next.push((start_ns, lane as u32));
            }
        }
        before.sort_unstable_by_key(|&(start_ns, lane, _)| (start_ns, lane));
        for (_, lane, last) in before {
            sweep.begin(lane, &last, sums);
        }
        sweep
    }

    /// Returns the number of rows swept.
    #[must_use]
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Counts the spans that are open at the start of the sweep and start before `to_ns` as starting in the range.
    pub(crate) fn count_open(&self, to_ns: i64, sums: &mut PathSumTable) {
        for open in self.open.iter().filter(|open| open.passes && open.is_open_at(self.at_ns) && open.start_ns < to_ns)
        {
            sums.add(open.path, PathSums { starts: 1, total_ns: 0 });
        }
    }

    /// Sums the range from the last end to `to_ns`; `i64::MAX` means no end.
    pub(crate) fn sum_to(&mut self, to_ns: i64, sums: &mut PathSumTable) {
        let from_ns = self.at_ns;
        for open in self.open.iter().filter(|open| open.passes && open.is_open_at(from_ns)) {
            self.add_time(open, 0, open.time_ns(from_ns, to_ns), sums);
        }
        while let Some((start_ns, lane)) = self.next.first() {
            if start_ns >= to_ns && to_ns < i64::MAX {
                break;
            }
            let rows = &mut self.lanes[lane as usize];
            let span = rows.open_span();
            self.next.replace_first(rows.advance(&mut self.filter).map(|after_ns| (after_ns, lane)));
            let open = self.begin(lane as usize, &span, sums);
            if open.passes {
                self.add_time(&open, 1, open.time_ns(start_ns, to_ns), sums);
            }
            self.rows += 1;
        }
        self.at_ns = to_ns;
    }

    /// Adds the time of a span that passes to its path, and to those of the enclosing spans up to one that passes too.
    /// Others of their path may pass, so the time of a path is more than that of its passing spans.
    #[inline]
    fn add_time(&self, open: &OpenPath, starts: u64, time_ns: u128, sums: &mut PathSumTable) {
        sums.add(open.path, PathSums { starts, ..open.sums(time_ns) });
        let mut lane = open.above_lane;
        while let Some(outer) = self.open.get(lane as usize).filter(|outer| !outer.passes) {
            sums.add(outer.path, outer.sums(time_ns));
            lane = outer.above_lane;
        }
    }

    /// Opens a span on its lane, below the span that contains it.
    #[inline]
    fn begin(&mut self, lane: usize, span: &SweptRow, sums: &mut PathSumTable) -> OpenPath {
        let SweptRow { start_ns, end_ns, name, passes, .. } = *span;
        let outer = self.ends.deepest(lane, end_ns);
        let above = outer.map_or(PathIdx::ROOT, |outer| self.open[outer].path);
        let above_lane = outer.map_or(NO_LANE, |outer| outer as u32);
        let path = sums.path(above, name, self.open[lane].path);
        let open = OpenPath { start_ns, end_ns, path, above, above_lane, passes };
        self.open[lane] = open;
        self.ends.set(lane, end_ns);
        open
    }
}
