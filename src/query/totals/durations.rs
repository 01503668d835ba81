//! Counts whole durations: from the sketches of the ledger where it covers the scope, else from the rows.

use rayon::prelude::*;

use super::table::GrowingTotals;
use super::task_sketches::TaskSketches;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::Progress;
use crate::base::sketch::Sketch;
use crate::model::{NameIdx, TrackIdx};
use crate::query::groups::Grouping;
use crate::query::scan::{LaneScan, judge_extents};
use crate::query::scope::Scope;
use crate::query::slices::{RowsPart, cover_starts, starts_in};
use crate::query::snapshot::Snapshot;
use crate::store::block::BLOCK_ROWS;
use crate::store::details::DetailReader;
use crate::store::ledger::{Ledger, LedgerNode};

/// Extents whose durations one thread counts at once: two million rows, about 40 ms. With fewer, most names have so few
/// spans in each part that their durations are stored one by one.
const EXTENTS_AT_ONCE: usize = 512;

/// Counts the whole durations of the spans in scope whose names match. Uses the sketches of the ledger within the
/// scope, and the rows of the rest.
pub(super) fn count_durations(
    snapshot: &Snapshot,
    scope: &Scope,
    grouping: &Grouping,
    growing: &GrowingTotals,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<(), Cancelled> {
    let (store, matcher) = (snapshot.store(), &*scope.matcher);
    let (nodes, mut parts) = sketch_parts(snapshot, scope, grouping.is_by_track());
    let damaged: Vec<_> = nodes
        .into_par_iter()
        .filter(|&node| {
            let mut sketches = TaskSketches::default();
            let is_intact = store.ledger_node(node, |name, sketch: Sketch| {
                if matcher.has_name(name) {
                    // Sketches of all tracks are used only if groups do not depend on tracks.
                    sketches.merge(grouping.group(name, TrackIdx(0)), sketch);
                    if sketches.are_many() {
                        sketches.show(growing);
                    }
                }
            });
            sketches.show(growing);
            !is_intact
        })
        .collect();
    parts.extend(damaged.into_iter().filter_map(|node| starts_in(snapshot, scope, node)));
    let scans: Vec<LaneScan<'_>> = parts
        .iter()
        .flat_map(|part| {
            part.scope.lanes(snapshot, matcher).map(|lane| {
                let scan = if part.with_open { LaneScan::new } else { LaneScan::from_starts };
                scan(snapshot, matcher, &part.scope, lane)
            })
        })
        .collect();
    judge_extents(&scans, EXTENTS_AT_ONCE, (cancel, progress), |scan, extents| {
        count_rows(scan, extents, grouping, growing);
        Ok(())
    })
}

/// Counts the durations of the matching rows of some extents.
fn count_rows(scan: &LaneScan<'_>, extents: &[usize], grouping: &Grouping, growing: &GrowingTotals) {
    let mut sketches = TaskSketches::default();
    let track = scan.lane().info().track;
    let mut reader = DetailReader::default();
    for &extent in extents {
        if sketches.are_many() {
            sketches.show(growing);
        }
        for (_, hits) in scan.blocks(extent, 0, &mut reader) {
            let (mut durs, mut names) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS]);
            hits.block.values(&mut durs);
            hits.block.names(&mut names);
            for slot in hits.slots() {
                let group = grouping.group(NameIdx(names[slot] as u32), track);
                sketches.add(group, durs[slot]);
            }
        }
    }
    sketches.show(growing);
}

/// Returns the sketch nodes within a scope, and the parts of the scope outside these nodes.
///
/// The sketches cover all tracks together.
fn sketch_parts(snapshot: &Snapshot, scope: &Scope, by_track: bool) -> (Vec<LedgerNode>, Vec<RowsPart>) {
    let is_every_track = scope.tracks.is_all() && scope.matcher.is_every_track();
    let has_all = is_every_track && !by_track;
    let ledger = snapshot.store().ledger().filter(|_| has_all);
    match ledger.and_then(Ledger::sketches) {
        Some(tree) => cover_starts(snapshot, scope, tree),
        None => (Vec::new(), vec![RowsPart { scope: scope.clone(), with_open: true }]),
    }
}
