//! Call paths of spans. With a ledger of paths a range is a few nodes and a sweep of both its edges; without one, and
//! on tracks whose paths hardly repeat, it is a sweep of all rows. Paths are those of the whole trace, so that a range
//! has the same ones however it is made up.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::{CallNode, CallPaths, CallTree, NODES_MAX, NodeIdx};
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::{Progress, Stage};
use crate::model::TrackIdx;
use crate::query::plan::{Plan, PlanSource, Sweep};
use crate::query::samples::CountWork;
use crate::query::scope::Scope;
use crate::query::snapshot::Snapshot;
use crate::query::totals::MatchingRows;
use crate::store::ledger::LedgerNode;
use crate::store::path_ledger::PathLedger;
use crate::store::paths::{PathIdx, PathRow, PathSumTable, PathSums};
use crate::store::sums::Additive as _;
use crate::store::sweep::{BlockFilter, EveryRow, PathSweep};

/// Paths of a task before they go to those of all: some 16 MiB.
const TASK_PATHS_MAX: usize = 1 << 17;

/// The call paths of the spans in `scope`. Of spans that its filter leaves out, those around others are on their paths
/// without time of their own. `progress` counts ranges that are swept.
///
/// # Errors
/// If it was asked to stop.
pub fn from_spans(
    snapshot: &Snapshot,
    scope: &Scope,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<CallPaths, Cancelled> {
    let ledger = snapshot.store().path_ledger().filter(|_| scope.matcher.is_every_row_of_lane());
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
    // Ledgers have all spans.
    let is_filtered = !scope.matcher.is_every_row_of_lane();
    let mut plan = if is_filtered { Plan::of_rows(snapshot, &scope) } else { Plan::new(snapshot, &scope, source) };
    let mut whole = PathSumTable::new(NODES_MAX);
    let damaged = add_nodes(snapshot, &plan, &mut whole);
    let mut work =
        CountWork { nodes: plan.nodes.len() as u64, damaged_nodes: damaged.len() as u64, ..CountWork::default() };
    plan.sweep_damaged(snapshot, source, &damaged);
    work.rows = sweep(snapshot, &scope, &plan.sweeps, &mut whole, cancel, progress)?;
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

/// Sweeps ranges on all threads, each into sums of its own, and adds them to those of all. Returns
/// how many rows they have.
fn sweep(
    snapshot: &Snapshot,
    scope: &Scope,
    sweeps: &[Sweep],
    whole: &mut PathSumTable,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<u64, Cancelled> {
    progress.begin(Stage::Counting, sweeps.len() as u64);
    let (tables, rows): (Mutex<Vec<PathSumTable>>, AtomicU64) = (Mutex::default(), AtomicU64::new(0));
    let whole = Mutex::new(whole);
    let add_to_whole = |sums: &PathSumTable| {
        if let Ok(mut whole) = whole.lock() {
            whole.merge_table(sums);
        }
    };
    let at_once = (sweeps.len() / 256).clamp(1, 64);
    sweeps.par_chunks(at_once).try_for_each(|sweeps| {
        cancel.check()?;
        let spare = tables.lock().ok().and_then(|mut tables| tables.pop());
        let mut sums = spare.unwrap_or_else(|| PathSumTable::new(NODES_MAX));
        for sweep in sweeps {
            let swept = if scope.matcher.is_every_row_of_lane() {
                sweep_into(snapshot, sweep, EveryRow, &mut sums)
            } else {
                sweep_into(snapshot, sweep, MatchingRows::new(snapshot, &scope.matcher), &mut sums)
            };
            rows.fetch_add(swept, Ordering::Relaxed);
        }
        if sums.paths().len() > TASK_PATHS_MAX {
            add_to_whole(&sums);
        } else if let Ok(mut tables) = tables.lock() {
            tables.push(sums);
        }
        progress.advance(sweeps.len() as u64);
        Ok(())
    })?;
    tables.into_inner().unwrap_or_default().iter().for_each(add_to_whole);
    Ok(rows.into_inner())
}

/// Adds the spans of a range that pass to their sums. Returns how many rows were read.
fn sweep_into(snapshot: &Snapshot, sweep: &Sweep, rows: impl BlockFilter, sums: &mut PathSumTable) -> u64 {
    let mut swept = PathSweep::new(snapshot.store(), sweep.lanes.clone(), sweep.from_ns, rows, sums);
    if sweep.counts_open {
        swept.count_open(sweep.to_ns, sums);
    }
    // The largest time stands for no end: a span may start right there.
    if sweep.to_ns > sweep.from_ns || sweep.to_ns == i64::MAX {
        swept.sum_to(sweep.to_ns, sums);
    }
    swept.rows()
}

impl CallTree {
    /// The tree of paths with sums, the same in whatever order they were added. The own time of a path is that of its
    /// spans without that of the paths below it.
    fn from_sums(sums: &PathSumTable) -> Self {
        let order = in_order(sums.paths());
        // By path: its node, and the time of the paths right below it.
        let (mut nodes_of, mut below_ns) = (vec![0_u32; order.len()], vec![0_u128; order.len()]);
        (0..).zip(&order).for_each(|(node, path)| nodes_of[path.index()] = node);
        let mut nodes: Vec<CallNode> = Vec::with_capacity(order.len());
        for path in order.into_iter().rev() {
            let (row, sums, below) = (sums.paths()[path.index()], sums.sums()[path.index()], below_ns[path.index()]);
            // Spans within one that are not side by side may take more than it has. What counts for the root has no
            // span around it.
            let is_root = path == PathIdx::ROOT;
            let own_ns = sums.total_ns.saturating_sub(if is_root { 0 } else { below });
            let total_ns = own_ns.saturating_add(below);
            if !is_root {
                let above = &mut below_ns[row.parent.index()];
                *above = above.saturating_add(total_ns);
            }
            let [total, own] = [total_ns, own_ns].map(|ns| u64::try_from(ns).unwrap_or(u64::MAX));
            let parent = NodeIdx(nodes_of[row.parent.index()]);
            nodes.push(CallNode { parent, name: row.name, total, own, count: sums.starts });
        }
        nodes.reverse();
        Self { nodes, folded: sums.folded(), ..Self::default() }
    }
}

/// Paths level by level, those below one path in order of their names.
fn in_order(rows: &[PathRow]) -> Vec<PathIdx> {
    let mut sorted: Vec<PathIdx> = (1..rows.len() as u32).map(PathIdx).collect();
    sorted.sort_unstable_by_key(|path| (rows[path.index()].parent, rows[path.index()].name));
    let mut first = vec![0_usize; rows.len() + 1];
    for row in rows.iter().skip(1) {
        first[row.parent.index() + 1] += 1;
    }
    for parent in 0..rows.len() {
        first[parent + 1] += first[parent];
    }
    let mut order = vec![PathIdx::ROOT];
    let mut next = 0;
    while let Some(&path) = order.get(next) {
        order.extend_from_slice(&sorted[first[path.index()]..first[path.index() + 1]]);
        next += 1;
    }
    order
}
