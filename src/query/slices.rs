//! Covers a scope with slices of the ledger, and returns the remaining parts at both edges.

use super::scope::Scope;
use super::snapshot::Snapshot;
use crate::model::TrackIdx;
use crate::store::LaneKind;
use crate::store::ledger::{Ledger, LedgerNode};

/// A scope in slice bounds of the ledger.
pub(super) struct Slices {
    pub(super) from: u32,
    pub(super) to: u32,
    /// Whether no span starts before the range.
    pub(super) is_from_start: bool,
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
    let (nodes, covered) = ledger.cover(tree, slices.from, slices.to);
    if nodes.is_empty() {
        return everything();
    }
    let (bounds_ns, mut parts) = (ledger.bounds_ns(), Vec::new());
    if !(slices.is_from_start && covered.start == 0) {
        let to_ns = Some(bounds_ns[covered.start as usize]);
        parts.push(RowsPart { scope: Scope { to_ns, ..scope.clone() }, with_open: true });
    }
    if (covered.end as usize) + 1 < bounds_ns.len() {
        let from_ns = Some(bounds_ns[covered.end as usize]);
        parts.push(RowsPart { scope: Scope { from_ns, ..scope.clone() }, with_open: false });
    }
    (nodes, parts)
}

/// Returns the rows of a scope that start in the time of a node.
pub(super) fn starts_in(snapshot: &Snapshot, scope: &Scope, node: LedgerNode) -> Option<RowsPart> {
    let bounds_ns = snapshot.store().ledger()?.bounds_ns();
    let is_last = node.to as usize + 1 == bounds_ns.len();
    let to_ns = (!is_last).then(|| bounds_ns[node.to as usize]);
    let scope = Scope { from_ns: Some(bounds_ns[node.from as usize]), to_ns, ..scope.clone() };
    Some(RowsPart { scope, with_open: false })
}

/// Returns the track of all event spans, if there is only one.
pub(super) fn only_track(snapshot: &Snapshot) -> Option<TrackIdx> {
    let lanes = snapshot.capture_lanes().map(|lane| snapshot.lane(lane));
    let mut tracks = lanes.filter(|lane| lane.kind == LaneKind::Spans).map(|lane| lane.track);
    let first = tracks.next()?;
    tracks.all(|track| track == first).then_some(first)
}
