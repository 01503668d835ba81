//! Call paths of spans. With a ledger of paths a range is a few nodes and a sweep of both its edges; without one, and on
//! tracks whose paths hardly repeat, it is a sweep of all rows. Paths are those of the whole trace, so that a range has
//! the same ones however it is made up.

use std::sync::Mutex;

use rayon::prelude::*;

use super::{CallNode, CallPaths, CallTree, NODES_MAX, NodeIdx};
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::{Progress, Stage};
use crate::model::TrackIdx;
use crate::query::plan::{Plan, PlanSource, Sweep};
use crate::query::samples::CountWork;
use crate::query::scope::Scope;
use crate::query::snapshot::Snapshot;
use crate::store::ledger::LedgerNode;
use crate::store::path_ledger::PathLedger;
use crate::store::paths::{PathSumTable, PathSums};
use crate::store::sums::Additive as _;
use crate::store::sweep::PathSweep;

/// The call paths of the spans in `scope`, whose filter asks for tracks only. `progress` counts ranges that are swept.
///
/// # Errors
/// If it was asked to stop.
pub fn from_spans(
    snapshot: &Snapshot,
    scope: &Scope,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<CallPaths, Cancelled> {
    let ledger = snapshot.store().path_ledger();
    let source = PlanSource {
        ledger: ledger.map(PathLedger::trees),
        by_track: false,
        swept_from: ledger.map(PathLedger::swept_from).unwrap_or_default(),
    };
    add_up(snapshot, scope, &source, cancel, progress)
}

/// The same by a sweep of all rows in scope.
///
/// # Errors
/// As [`from_spans`].
pub fn sweep_spans(
    snapshot: &Snapshot,
    scope: &Scope,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<CallPaths, Cancelled> {
    add_up(snapshot, scope, &PlanSource::default(), cancel, progress)
}

fn add_up(
    snapshot: &Snapshot,
    scope: &Scope,
    source: &PlanSource<'_>,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<CallPaths, Cancelled> {
    // The largest time stands for no end: a sweep has no time after it.
    let scope = Scope { to_ns: scope.to_ns.filter(|&to_ns| to_ns < i64::MAX), ..scope.clone() };
    let mut plan = Plan::new(snapshot, &scope, source);
    let mut whole = PathSumTable::new(NODES_MAX);
    let damaged = add_nodes(snapshot, &plan, &mut whole);
    let mut work =
        CountWork { nodes: plan.nodes.len() as u64, damaged_nodes: damaged.len() as u64, ..CountWork::default() };
    plan.sweep_damaged(snapshot, source, &damaged);
    for (sums, rows) in sweep(snapshot, &plan.sweeps, cancel, progress)? {
        whole.merge_table(&sums);
        work.rows += rows;
    }
    Ok(CallPaths { tree: CallTree::from_sums(&whole), work, ..CallPaths::default() })
}

/// Adds the sums of the nodes of a plan; returns those that are damaged.
fn add_nodes(snapshot: &Snapshot, plan: &Plan, whole: &mut PathSumTable) -> Vec<(LedgerNode, TrackIdx)> {
    let Some(ledger) = snapshot.store().path_ledger().filter(|_| !plan.nodes.is_empty()) else { return Vec::new() };
    let mut sums = vec![PathSums::default(); ledger.paths().len()];
    let mut damaged = plan.nodes.clone();
    damaged.retain(|&(node, _)| {
        !snapshot.store().path_node(node, |path, added| {
            if let Some(sums) = sums.get_mut(path.index()) {
                sums.add(&added);
            }
        })
    });
    whole.merge(ledger.paths(), &sums);
    damaged
}

/// Sweeps ranges on all threads, each into sums of its own. Returns these with the rows that they have.
fn sweep(
    snapshot: &Snapshot,
    sweeps: &[Sweep],
    cancel: &Cancel,
    progress: &Progress,
) -> Result<Vec<(PathSumTable, u64)>, Cancelled> {
    progress.begin(Stage::Counting, sweeps.len() as u64);
    let tables: Mutex<Vec<(PathSumTable, u64)>> = Mutex::default();
    let at_once = (sweeps.len() / 256).clamp(1, 64);
    sweeps.par_chunks(at_once).try_for_each(|sweeps| {
        cancel.check()?;
        let spare = tables.lock().ok().and_then(|mut tables| tables.pop());
        let (mut sums, mut rows) = spare.unwrap_or_else(|| (PathSumTable::new(NODES_MAX), 0));
        for sweep in sweeps {
            let mut swept = PathSweep::new(snapshot.store(), sweep.lanes.clone(), sweep.from_ns, &mut sums);
            if sweep.counts_open {
                swept.count_open(sweep.to_ns, &mut sums);
            }
            // The largest time stands for no end: a span may start right there.
            if sweep.to_ns > sweep.from_ns || sweep.to_ns == i64::MAX {
                swept.sum_to(sweep.to_ns, &mut sums);
            }
            rows += swept.rows();
        }
        if let Ok(mut tables) = tables.lock() {
            tables.push((sums, rows));
        }
        progress.advance(sweeps.len() as u64);
        Ok(())
    })?;
    Ok(tables.into_inner().unwrap_or_default())
}

impl CallTree {
    /// The tree of paths with sums. The own time of a path is that of its spans without that of the paths below it.
    fn from_sums(sums: &PathSumTable) -> Self {
        // By path: the time of those right below it.
        let mut below_ns = vec![0_u128; sums.paths().len()];
        let mut nodes: Vec<CallNode> = Vec::with_capacity(below_ns.len());
        for (place, (row, sums)) in sums.paths().iter().zip(sums.sums()).enumerate().rev() {
            // Spans within one that are not side by side may take more than it has. What counts for the root has no
            // span around it.
            let own_ns = sums.total_ns.saturating_sub(if place == 0 { 0 } else { below_ns[place] });
            let total_ns = own_ns.saturating_add(below_ns[place]);
            if place > 0 {
                below_ns[row.parent.index()] = below_ns[row.parent.index()].saturating_add(total_ns);
            }
            let [total, own] = [total_ns, own_ns].map(|ns| u64::try_from(ns).unwrap_or(u64::MAX));
            nodes.push(CallNode { parent: NodeIdx(row.parent.0), name: row.name, total, own, count: sums.starts });
        }
        nodes.reverse();
        Self { nodes, folded: sums.folded(), ..Self::default() }
    }
}
