//! Plans a scope over a span ledger: the nodes to add up, and the ranges to sweep.

use std::ops::Range;

use rayon::prelude::*;

use super::scan::LaneScan;
use super::scope::Scope;
use super::slices::{Slices, only_track, time_of};
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::{Progress, Stage};
use crate::model::TrackIdx;
use crate::store::LaneIdx;
use crate::store::ledger::{Ledger, LedgerNode};
use crate::store::sweep::span_lanes;

/// Extents of the longest lane per sweep, so that one track keeps several threads busy: 65,536 rows.
const EXTENTS_PER_SWEEP: usize = 16;

/// The ledger that a plan takes nodes from.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PlanSource<'a> {
    /// `None` if all rows are swept.
    pub(super) ledger: Option<&'a Ledger>,
    /// Whether sums are needed per track.
    pub(super) by_track: bool,
    /// Tracks that no node covers from a slice on, in order, with that slice.
    pub(super) swept_from: &'a [(TrackIdx, u32)],
}

impl PlanSource<'_> {
    /// Returns the slice from which no node covers a track.
    fn swept_from(&self, track: TrackIdx) -> Option<u32> {
        let number = self.swept_from.binary_search_by_key(&track, |&(track, _)| track).ok()?;
        Some(self.swept_from[number].1)
    }
}

/// The parts of a scope, which are disjoint in time on each track.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Nodes, each with its track, which is arbitrary for nodes of all tracks.
    pub(super) nodes: Vec<(LedgerNode, TrackIdx)>,
    pub(super) sweeps: Vec<Sweep>,
}

/// A time range on one track to sweep row by row.
#[derive(Debug, Clone)]
pub(super) struct Sweep {
    /// The span lanes of the track.
    pub(super) lanes: Range<u32>,
    pub(super) from_ns: i64,
    /// `i64::MAX` means no end.
    pub(super) to_ns: i64,
    /// Whether spans that are open at the start count as starting in the range.
    pub(super) counts_open: bool,
}

impl Sweep {
    /// Returns whether spans may start in the range. `i64::MAX` means no end: a span may start right there.
    pub(super) fn has_starts(&self) -> bool {
        self.to_ns > self.from_ns || self.to_ns == i64::MAX
    }
}

/// Passes sweeps to `take` on all threads, some at a time. `progress` counts sweeps. Returns `Cancelled` if cancelled.
pub(super) fn each_sweep(
    sweeps: &[Sweep],
    (cancel, progress): (&Cancel, &Progress),
    take: impl Fn(&[Sweep]) + Sync,
) -> Result<(), Cancelled> {
    progress.begin(Stage::Counting, sweeps.len() as u64);
    let at_once = (sweeps.len() / 256).clamp(1, 64);
    sweeps.par_chunks(at_once).try_for_each(|sweeps| {
        cancel.check()?;
        take(sweeps);
        progress.advance(sweeps.len() as u64);
        Ok(())
    })
}

/// The time range of a [`Sweep`].
#[derive(Debug, Clone, Copy)]
struct SweepRange {
    from_ns: i64,
    to_ns: i64,
    counts_open: bool,
}

impl Plan {
    /// Plans a scope whose filter depends only on names and tracks.
    pub(super) fn new(snapshot: &Snapshot, scope: &Scope, source: &PlanSource<'_>) -> Self {
        let mut plan = Self::default();
        let (from_ns, to_ns) = (scope.from_ns.unwrap_or(i64::MIN), scope.to_ns.unwrap_or(i64::MAX));
        let Some(ledger) = source.ledger else {
            for track in scope.event_tracks(snapshot) {
                plan.sweep(snapshot, track, SweepRange { from_ns, to_ns, counts_open: true });
            }
            return plan;
        };
        let slices = Slices::new(ledger, scope.from_ns, scope.to_ns);
        let is_every_track = scope.tracks.is_all() && scope.matcher.is_every_track();
        // With a single track, the tree of all tracks is its tree.
        let only = only_track(snapshot);
        let whole = (is_every_track && (!source.by_track || only.is_some())).then(|| ledger.tree(None)).flatten();
        let whole_cover = whole.and_then(|tree| slices.cover(ledger, tree)).map(|(nodes, covered)| {
            plan.nodes.extend(nodes.into_iter().map(|node| (node, only.unwrap_or(TrackIdx(0)))));
            covered
        });
        for track in scope.event_tracks(snapshot) {
            let covered = whole_cover.clone().or_else(|| {
                let (nodes, covered) = slices.cover(ledger, ledger.tree(Some(track))?)?;
                plan.nodes.extend(nodes.into_iter().map(|node| (node, track)));
                Some(covered)
            });
            let Some(covered) = covered else {
                plan.sweep(snapshot, track, SweepRange { from_ns, to_ns, counts_open: true });
                continue;
            };
            let end = source.swept_from(track).map_or(covered.end, |slice| slice.clamp(covered.start, covered.end));
            let edges = slices.edges(ledger, &(covered.start..end));
            if let Some(before_ns) = edges.before_ns {
                plan.sweep(snapshot, track, SweepRange { from_ns, to_ns: before_ns, counts_open: true });
            }
            if let Some(after_ns) = edges.after_ns {
                plan.sweep(snapshot, track, SweepRange { from_ns: after_ns, to_ns, counts_open: false });
            }
        }
        plan
    }

    /// Plans to sweep the rows that may match, without nodes.
    pub(super) fn from_rows(snapshot: &Snapshot, scope: &Scope) -> Self {
        let mut plan = Self::default();
        for track in scope.event_tracks(snapshot) {
            plan.sweep_matches(snapshot, scope, track);
        }
        plan
    }

    /// Plans to sweep the time of damaged nodes.
    pub(super) fn sweep_damaged(
        &mut self,
        snapshot: &Snapshot,
        source: &PlanSource<'_>,
        damaged: &[(LedgerNode, TrackIdx)],
    ) {
        let Some(ledger) = source.ledger else { return };
        for (node, _) in damaged {
            let track = ledger.track_of(*node);
            let tracks = track.map_or_else(|| Scope::default().event_tracks(snapshot), |track| vec![track]);
            for track in tracks {
                let end = source.swept_from(track).map_or(node.to, |slice| slice.min(node.to));
                if end > node.from {
                    let (from_ns, to_ns) = time_of(ledger, node.from..end);
                    let to_ns = to_ns.unwrap_or(i64::MAX);
                    self.sweep(snapshot, track, SweepRange { from_ns, to_ns, counts_open: false });
                }
            }
        }
    }

    /// Adds a range of a track, split for several threads.
    fn sweep(&mut self, snapshot: &Snapshot, track: TrackIdx, range: SweepRange) {
        let SweepRange { from_ns, to_ns, counts_open } = range;
        let lanes = span_lanes(snapshot.store(), snapshot.lanes_of(track));
        let info = |lane: u32| snapshot.lane(LaneIdx(lane));
        let begins_later = |lane: u32| info(lane).start_ns >= to_ns && to_ns < i64::MAX;
        if lanes.clone().all(|lane| begins_later(lane) || info(lane).end_ns < from_ns) {
            return;
        }
        let extents = |lane: u32| {
            let extents = snapshot.store().lane(LaneIdx(lane)).extents();
            let first = extents.partition_point(|extent| extent.first_start_ns <= from_ns);
            &extents[first..extents.partition_point(|extent| extent.first_start_ns < to_ns).max(first)]
        };
        let longest = lanes.clone().map(extents).max_by_key(|extents| extents.len()).unwrap_or_default();
        let cuts = longest.iter().skip(EXTENTS_PER_SWEEP - 1).step_by(EXTENTS_PER_SWEEP);
        let mut sweep = Sweep { lanes, from_ns, to_ns, counts_open };
        for cut_ns in cuts.map(|extent| extent.first_start_ns) {
            if cut_ns > sweep.from_ns {
                self.sweeps.push(Sweep { to_ns: cut_ns, ..sweep.clone() });
                (sweep.from_ns, sweep.counts_open) = (cut_ns, false);
            }
        }
        self.sweeps.push(sweep);
    }

    /// Adds the ranges of a track in which matching spans may start, each up to the end of these spans.
    fn sweep_matches(&mut self, snapshot: &Snapshot, scope: &Scope, track: TrackIdx) {
        let (from_ns, to_ns) = (scope.from_ns.unwrap_or(i64::MIN), scope.to_ns.unwrap_or(i64::MAX));
        let mut ranges: Vec<(i64, i64)> = Vec::new();
        for lane in span_lanes(snapshot.store(), snapshot.lanes_of(track)) {
            let scan = LaneScan::new(snapshot, &scope.matcher, scope, LaneIdx(lane));
            let extents = scan.lane().extents();
            ranges.extend(scan.extents().map(|extent| {
                let next_ns = extents.get(extent + 1).map_or(i64::MAX, |next| next.first_start_ns);
                (extents[extent].first_start_ns.max(from_ns), next_ns.min(to_ns))
            }));
        }
        ranges.sort_unstable();
        let mut sweep = |(start_ns, end_ns): (i64, i64)| {
            let range = SweepRange { from_ns: start_ns, to_ns: end_ns, counts_open: start_ns == from_ns };
            self.sweep(snapshot, track, range);
        };
        let mut ranges = ranges.into_iter();
        let Some(mut joined) = ranges.next() else { return };
        for range in ranges {
            if range.0 <= joined.1 {
                joined.1 = joined.1.max(range.1);
            } else {
                sweep(joined);
                joined = range;
            }
        }
        sweep(joined);
    }
}
