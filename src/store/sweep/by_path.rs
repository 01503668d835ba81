//! Sweeps over the spans of one track in order of start, and sums them by call path over consecutive ranges of time.
//!
//! The parent of a span on a path is the innermost span of a shallower lane that contains all of it. Among spans of
//! equal time, it is the last. A span has the same path in every range, as in a sweep of the whole trace. Like the
//! sweep by name, this sweep can start at any time with a search in each lane. A span that reaches the start is not
//! contained in any span that has ended.
//!
//! The naive way compares each span with the last span of each shallower lane.

use std::ops::Range;

use super::{BlockFilter, LaneSweep, StartQueue, SweptRow, decoded_rows_max};
use crate::base::ends::DepthEnds;
use crate::store::lane::LaneIdx;
use crate::store::paths::{PathIdx, PathSumTable, PathSums};
use crate::store::read::Store;

/// A sweep over the spans of one track. A span that fails the filter is on the paths of its children. Its time is the
/// time of its passing children, without self time.
pub(crate) struct PathSweep<'a, F> {
    filter: F,
    lanes: Vec<LaneSweep<'a>>,
    /// The next start of each lane, by time, then by lane: parents come before children.
    next: StartQueue,
    /// Last started span of each lane.
    open: Vec<OpenPath>,
    /// Spans that fail, outer spans first: open spans, and ended spans whose time is not in the sums yet.
    failing: Vec<FailingSpan>,
    ends: DepthEnds,
    /// All spans that start before this time are swept.
    at_ns: i64,
    rows: u64,
    /// Amount of work, for tests of its bounds.
    #[cfg(test)]
    steps: u64,
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
    /// Index in [`PathSweep::failing`]; [`NOT_FAILING`] if it passes or has ended.
    failing: u32,
}

const NO_LANE: u32 = u32::MAX;
const NOT_FAILING: u32 = u32::MAX;

/// A span that fails the filter.
struct FailingSpan {
    path: PathIdx,
    /// Path of the enclosing span; [`PathIdx::ROOT`] for none.
    above: PathIdx,
    /// Index of the enclosing span if that fails too, else [`NOT_FAILING`].
    outer: u32,
    /// Time of the nearest spans within it that pass, as far as it is neither in the sums nor in a span in between.
    total_ns: u128,
}

impl OpenPath {
    const NONE: Self = Self {
        start_ns: i64::MAX,
        end_ns: i64::MIN,
        path: PathIdx::ROOT,
        above: PathIdx::ROOT,
        above_lane: NO_LANE,
        passes: false,
        failing: NOT_FAILING,
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
}

impl<'a, F: BlockFilter> PathSweep<'a, F> {
    /// Minimum number of failing spans that are recorded before their time is added to the sums.
    const FAILING_MIN: usize = 1024;

    /// Starts at `from_ns` with the spans of a track; `lanes` are its [`span_lanes`](super::span_lanes). The paths of
    /// all ranges are added to `sums`.
    #[must_use]
    pub(crate) fn new(store: &'a Store, lanes: Range<u32>, from_ns: i64, filter: F, sums: &mut PathSumTable) -> Self {
        let count = lanes.len();
        let decoded_max = decoded_rows_max(count);
        let mut sweep = Self {
            filter,
            lanes: lanes.map(|lane| LaneSweep::new(store, LaneIdx(lane), decoded_max)).collect(),
            next: StartQueue::default(),
            open: vec![OpenPath::NONE; count],
            failing: Vec::new(),
            ends: DepthEnds::default(),
            at_ns: from_ns,
            rows: 0,
            #[cfg(test)]
            steps: 0,
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
        self.sum_few_to(to_ns, usize::MAX, sums);
    }

    /// Like [`Self::sum_to`], but gives up at more than `paths_max` paths with the root.
    pub(crate) fn sum_few_to(&mut self, to_ns: i64, paths_max: usize, sums: &mut PathSumTable) {
        let from_ns = self.at_ns;
        for lane in 0..self.open.len() {
            let open = self.open[lane];
            if open.passes && open.is_open_at(from_ns) {
                self.add_time(&open, 0, open.time_ns(from_ns, to_ns), sums);
            }
        }
        while let Some((start_ns, lane)) = self.next.first() {
            if start_ns >= to_ns && to_ns < i64::MAX || sums.paths().len() > paths_max {
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
        self.sum_failing(to_ns, sums);
        self.at_ns = to_ns;
    }

    /// Adds the time of a passing span to its path, and to the enclosing span if that span fails. A path with a failing
    /// span may also have passing spans, so its time is the sum of both.
    #[inline]
    fn add_time(&mut self, open: &OpenPath, starts: u64, time_ns: u128, sums: &mut PathSumTable) {
        let OpenPath { path, above, .. } = *open;
        sums.add(path, PathSumTable::within(path, above, PathSums { starts, total_ns: time_ns }));
        let outer = self.failing_around(open);
        if let Some(outer) = self.failing.get_mut(outer as usize) {
            outer.total_ns += time_ns;
        }
        #[cfg(test)]
        {
            self.steps += 1;
        }
    }

    /// Adds the time of failing spans to their paths, and to the paths of enclosing spans up to a passing one. Drops
    /// the spans that are not open at `at_ns`. A walk for each passing span would be quadratic in deep recursions.
    fn sum_failing(&mut self, at_ns: i64, sums: &mut PathSumTable) {
        if self.failing.is_empty() {
            return;
        }
        #[cfg(test)]
        {
            self.steps += (self.failing.len() + self.open.len()) as u64;
        }
        while let Some(FailingSpan { path, above, outer, total_ns }) = self.failing.pop() {
            sums.add(path, PathSumTable::within(path, above, PathSums { starts: 0, total_ns }));
            if let Some(outer) = self.failing.get_mut(outer as usize) {
                outer.total_ns += total_ns;
            }
        }
        for lane in 0..self.open.len() {
            let open = self.open[lane];
            let is_kept = !open.passes && open.is_open_at(at_ns);
            self.open[lane].failing = if is_kept { self.push_failing(&open) } else { NOT_FAILING };
        }
    }

    /// Records a span that fails, and returns its index.
    fn push_failing(&mut self, open: &OpenPath) -> u32 {
        let OpenPath { path, above, .. } = *open;
        let index = self.failing.len() as u32;
        let outer = self.failing_around(open);
        self.failing.push(FailingSpan { path, above, outer, total_ns: 0 });
        index
    }

    /// Returns the index of the enclosing span if that fails, else [`NOT_FAILING`].
    fn failing_around(&self, open: &OpenPath) -> u32 {
        self.open.get(open.above_lane as usize).map_or(NOT_FAILING, |outer| outer.failing)
    }

    /// Opens a span on its lane, below the span that contains it.
    #[inline]
    fn begin(&mut self, lane: usize, span: &SweptRow, sums: &mut PathSumTable) -> OpenPath {
        let SweptRow { start_ns, end_ns, name, passes, .. } = *span;
        let outer = self.ends.deepest(lane, end_ns);
        let above = outer.map_or(PathIdx::ROOT, |outer| self.open[outer].path);
        let above_lane = outer.map_or(NO_LANE, |outer| outer as u32);
        let path = sums.path(above, name, self.open[lane].path);
        let mut open = OpenPath { start_ns, end_ns, path, above, above_lane, passes, failing: NOT_FAILING };
        if !passes {
            // At most half of them are open, which amortizes the sums.
            if self.failing.len() >= Self::FAILING_MIN.max(2 * self.open.len()) {
                self.sum_failing(start_ns, sums);
            }
            open.failing = self.push_failing(&open);
        }
        self.open[lane] = open;
        self.ends.set(lane, end_ns);
        open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Id, NameIdx, Registry, TrackIdx, TrackKey};
    use crate::store::block::Block;
    use crate::store::sweep::span_lanes;
    use crate::store::{LaneKind, Meta, Row, StoreWriter};

    /// Name of the spans that pass.
    const LEAF: u32 = 2;

    struct LeavesOnly;

    impl BlockFilter for LeavesOnly {
        fn rows(&mut self, _: LaneIdx, _: u64, block: &Block<'_>) -> u64 {
            (0..block.rows()).filter(|&row| block.name(row) == LEAF).map(|row| 1_u64 << row).sum()
        }
    }

    /// Stores the lanes of one track: the start, duration and name of each span.
    fn store(lanes: &[Vec<(i64, u64, u32)>]) -> Store {
        let file = tempfile::tempfile().unwrap();
        let mut writer = StoreWriter::new(file.try_clone().unwrap(), 1 << 24).unwrap();
        for (depth, spans) in (0..).zip(lanes) {
            let lane = writer.add_lane(TrackIdx(0), LaneKind::Spans, depth).unwrap();
            for &(start_ns, value, name) in spans {
                writer.push(lane, Row { start_ns, value, detail: 0, name }).unwrap();
            }
        }
        let mut registry = Registry::default();
        registry.track(&TrackKey::thread(Id::Number(1), Id::Number(1)));
        writer.finish(&Meta { tracks: registry.into_tables(), ..Meta::default() }).unwrap();
        Store::from_file(&file, "test".as_ref()).unwrap()
    }

    /// Sums the leaves in consecutive ranges. Asserts that each path has their whole time, and returns the steps.
    fn steps_of_leaves(lanes: &[Vec<(i64, u64, u32)>], ends_ns: &[i64]) -> u64 {
        let store = store(lanes);
        let mut sums = PathSumTable::new(1 << 20);
        let track_lanes = span_lanes(&store, store.lanes_of(TrackIdx(0)));
        let mut sweep = PathSweep::new(&store, track_lanes, 0, LeavesOnly, &mut sums);
        ends_ns.iter().for_each(|&to_ns| sweep.sum_to(to_ns, &mut sums));
        let leaves: Vec<_> = lanes.iter().flatten().filter(|&&(_, _, name)| name == LEAF).collect();
        let total_ns: u128 = leaves.iter().map(|&&(_, dur_ns, _)| u128::from(dur_ns)).sum();
        assert_eq!(sums.paths().len(), lanes.len() + 1);
        for (row, found) in sums.paths().iter().zip(sums.sums()).skip(1) {
            let starts = if row.name == NameIdx(LEAF) { leaves.len() as u64 } else { 0 };
            assert_eq!(*found, PathSums { starts, total_ns });
        }
        sweep.steps
    }

    #[test]
    fn a_span_that_passes_takes_no_step_per_enclosing_span() {
        let (depth, leaves) = (1000_i64, 20_000_i64);
        let mut lanes: Vec<_> = (0..depth).map(|start_ns| vec![(start_ns, 100_000 - start_ns as u64, 1)]).collect();
        lanes.push((0..leaves).map(|leaf| (depth + 3 * leaf, 2, LEAF)).collect());
        let ends_ns = [500, 10_001, 30_002, i64::MAX];
        let steps = steps_of_leaves(&lanes, &ends_ns);
        let steps_max = leaves + ends_ns.len() as i64 * (2 * depth + 2);
        assert!(steps <= steps_max as u64, "{steps} steps");
    }

    #[test]
    fn many_spans_that_fail_pass_their_time_on_without_all_being_recorded() {
        let count = 5 * PathSweep::<LeavesOnly>::FAILING_MIN as i64;
        let outer = vec![(0, 10 * count as u64, 1)];
        let inner = (0..count).map(|span| (10 * span, 8, 1)).collect();
        let leaves = (0..count).map(|span| (10 * span + 1, 5, LEAF)).collect();
        let lanes = [outer, inner, leaves];
        for ends_ns in [&[i64::MAX][..], &[4, 77, 10 * count / 2 + 3, i64::MAX]] {
            let steps = steps_of_leaves(&lanes, ends_ns);
            assert!(steps <= 3 * count as u64, "{steps} steps");
        }
    }
}
