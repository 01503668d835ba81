//! Covers a scope with slices of the ledger, and returns the remaining parts at both edges.

use std::ops::Range;

use super::scope::Scope;
use super::snapshot::Snapshot;
use crate::model::TrackIdx;
use crate::store::LaneKind;
use crate::store::ledger::{Ledger, LedgerNode};

/// A scope in slice bounds of the ledger.
pub(super) struct Slices {
    from: u32,
    to: u32,
    /// Whether no span starts before the range.
    is_from_start: bool,
}

impl Slices {
    pub(super) fn new(ledger: &Ledger, from_ns: Option<i64>, to_ns: Option<i64>) -> Self {
        let bounds_ns = ledger.bounds_ns();
        let last = bounds_ns.len() - 1;
        let from_ns = from_ns.filter(|&from_ns| from_ns > bounds_ns[0]);
        let from = from_ns.map_or(0, |from_ns| bounds_ns[..last].partition_point(|&bound| bound < from_ns));
        // The last slice includes rows exactly at its end, which a range up to there excludes.
        let to_ns = to_ns.filter(|&to_ns| to_ns <= bounds_ns[last]);
        let to =
            to_ns.map_or(last, |to_ns| bounds_ns[..last].partition_point(|&bound| bound <= to_ns).saturating_sub(1));
        // Slices fit 32 bits, because leaves are numbered by them.
        Self { from: from as u32, to: to as u32, is_from_start: from_ns.is_none() }
    }

    /// Returns the nodes of a tree that cover whole slices, and these slices. Returns `None` if no node fits.
    pub(super) fn cover(&self, ledger: &Ledger, tree: usize) -> Option<(Vec<LedgerNode>, Range<u32>)> {
        let (nodes, covered) = ledger.cover(tree, self.from, self.to);
        (!nodes.is_empty()).then_some((nodes, covered))
    }

    /// Returns the edges of the scope beside the covered slices.
    pub(super) fn edges(&self, ledger: &Ledger, covered: &Range<u32>) -> Edges {
        let bounds_ns = ledger.bounds_ns();
        let is_covered_from_start = self.is_from_start && covered.start == 0;
        let is_covered_to_end = covered.end as usize + 1 == bounds_ns.len();
        Edges {
            before_ns: (!is_covered_from_start).then(|| bounds_ns[covered.start as usize]),
            after_ns: (!is_covered_to_end).then(|| bounds_ns[covered.end as usize]),
        }
    }
}

/// The parts of a scope that no node covers.
pub(super) struct Edges {
    /// End of the part before the covered slices.
    pub(super) before_ns: Option<i64>,
    /// Start of the part after the covered slices.
    pub(super) after_ns: Option<i64>,
}

/// Returns start and end of slices. The last slice has no end, because it includes rows exactly at its bound.
pub(super) fn time_of(ledger: &Ledger, slices: Range<u32>) -> (i64, Option<i64>) {
    let bounds_ns = ledger.bounds_ns();
    let is_last = slices.end as usize + 1 == bounds_ns.len();
    (bounds_ns[slices.start as usize], (!is_last).then(|| bounds_ns[slices.end as usize]))
}

/// The rows of a scope, or of a part of it.
#[derive(Debug, Clone)]
pub(super) struct RowsPart {
    pub(super) scope: Scope,
    /// Whether spans that are open at the start count as starting in the range.
    pub(super) with_open: bool,
}

/// Returns the nodes of a tree that cover starts of spans in the scope, and the uncovered parts of the scope. Without
/// nodes, all of the scope is uncovered.
pub(super) fn cover_starts(snapshot: &Snapshot, scope: &Scope, tree: usize) -> (Vec<LedgerNode>, Vec<RowsPart>) {
    let everything = || (Vec::new(), vec![RowsPart { scope: scope.clone(), with_open: true }]);
    let Some(ledger) = snapshot.store().ledger() else { return everything() };
    let slices = Slices::new(ledger, scope.from_ns, scope.to_ns);
    let Some((nodes, covered)) = slices.cover(ledger, tree) else { return everything() };
    let edges = slices.edges(ledger, &covered);
    let before = edges.before_ns.map(|to_ns| Scope { to_ns: Some(to_ns), ..scope.clone() });
    let after = edges.after_ns.map(|from_ns| Scope { from_ns: Some(from_ns), ..scope.clone() });
    let before = before.map(|scope| RowsPart { scope, with_open: true });
    let after = after.map(|scope| RowsPart { scope, with_open: false });
    (nodes, before.into_iter().chain(after).collect())
}

/// Returns the rows of a scope that start in the time of a node.
pub(super) fn starts_in(snapshot: &Snapshot, scope: &Scope, node: LedgerNode) -> Option<RowsPart> {
    let (from_ns, to_ns) = time_of(snapshot.store().ledger()?, node.from..node.to);
    let scope = Scope { from_ns: Some(from_ns), to_ns, ..scope.clone() };
    Some(RowsPart { scope, with_open: false })
}

/// Returns the track of all event spans, if there is only one.
pub(super) fn only_track(snapshot: &Snapshot) -> Option<TrackIdx> {
    let lanes = snapshot.event_lanes().map(|lane| snapshot.lane(lane));
    let mut tracks = lanes.filter(|lane| lane.kind == LaneKind::Spans).map(|lane| lane.track);
    let first = tracks.next()?;
    tracks.all(|track| track == first).then_some(first)
}
