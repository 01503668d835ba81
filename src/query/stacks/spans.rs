//! Call paths of spans. With a path ledger, a range costs a few nodes and a sweep of both its edges; without one, a
//! sweep of all rows. A path includes ancestors that start before the range, so both ways give the same paths.
//!
//! If the ledger is pruned, small paths are merged into the others of their parents. The answer then bounds the amount
//! that a path may lack. A sweep has all paths.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{CallNode, CallPaths, CallTree, FoldedPaths, NodeIdx};
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::Progress;
use crate::model::{NameIdx, TrackIdx};
use crate::query::path_limit::PATHS_MAX;
use crate::query::plan::{Plan, PlanSource, Sweep, each_sweep};
use crate::query::samples::{CountWork, SampleSum};
use crate::query::scope::Scope;
use crate::query::snapshot::Snapshot;
use crate::query::totals::{GrowingTotals, MatchingRows, sum_up};
use crate::store::ledger::LedgerNode;
use crate::store::path_ledger::{PathLedger, PathShape};
use crate::store::paths::{PathIdx, PathRow, PathSumTable, PathSums};
use crate::store::pruned_paths::{PruneShape, PrunedPaths};
use crate::store::sums::Additive as _;
use crate::store::sweep::{BlockFilter, EveryRow, PathSweep};

/// Share of the limit for the paths of a task before they are merged into the whole: about 16 MiB.
const TASK_PART: usize = 8;

/// The sum over all sweeps may exceed the limit by this share, since it is pruned only after the paths of a task are
/// added. A task may exceed its share by the paths of its last range.
const BEYOND_PART: usize = 4;

/// Pruning thresholds of a task, used if all tasks have too many paths.
const TASK_PRUNED: PruneShape = PruneShape { time_parts: 1 << 20, count_parts: 1 << 16, few_paths: 0 };

/// Returns the call paths of the spans in `scope`, without small ones if the ledger is pruned. Spans that fail the
/// filter stay on the paths of their children, without time of their own. `progress` counts swept ranges.
///
/// # Errors
/// Returns `Cancelled` if cancelled.
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
    add_up(snapshot, scope, &source, snapshot.paths_max(), cancel, progress)
}

/// Returns every path that fits. Sweeps all rows in scope if nodes of the ledger lack some. Fails as [`from_spans`]
/// does.
pub(crate) fn exact_spans(
    snapshot: &Snapshot,
    scope: &Scope,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<CallPaths, Cancelled> {
    let paths = from_spans(snapshot, scope, cancel, progress)?;
    if paths.is_final() { Ok(paths) } else { sweep_spans(snapshot, scope, cancel, progress) }
}

/// Returns every path that fits, by a sweep of all rows in scope.
///
/// # Errors
/// Fails as [`from_spans`] does.
pub fn sweep_spans(
    snapshot: &Snapshot,
    scope: &Scope,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<CallPaths, Cancelled> {
    add_up(snapshot, scope, &PlanSource::default(), snapshot.paths_max(), cancel, progress)
}

/// Sums paths, with at most `paths_max` at any time; beyond that, small ones are pruned.
pub(super) fn add_up(
    snapshot: &Snapshot,
    scope: &Scope,
    source: &PlanSource<'_>,
    paths_max: usize,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<CallPaths, Cancelled> {
    let scope = scope.clone().without_last_ns();
    // Ledgers cover all spans.
    let is_filtered = !scope.matcher.is_every_row_of_lane();
    let mut plan = if is_filtered { Plan::from_rows(snapshot, &scope) } else { Plan::new(snapshot, &scope, source) };
    let table_max = paths_max.saturating_add(snapshot.paths_max() / BEYOND_PART);
    let mut whole = PathSumTable::new(table_max);
    let mut missing = PathSums::default();
    let mut work = CountWork { nodes: plan.nodes.len() as u64, ..CountWork::default() };
    let damaged = add_nodes(snapshot, &plan, &mut whole, (&mut missing, &mut work.node_paths));
    let has_pruned_nodes = !missing.is_empty();
    work.damaged_nodes = damaged.len() as u64;
    plan.sweep_damaged(snapshot, source, &damaged);
    let mut swept = SweptSums { whole, missing, paths_max, table_max, folded: 0 };
    work.rows = sweep(snapshot, &scope, &plan.sweeps, &mut swept, cancel, progress)?;
    let SweptSums { whole, mut missing, folded, .. } = swept;
    let folded = folded + whole.folded();
    // The edges of the range add small paths, which are not drawn either.
    let shape = PathShape::default().pruned.for_answer();
    let pruned = has_pruned_nodes.then(|| PrunedPaths::new(whole.paths(), whole.sums(), shape)).flatten();
    let tree = if let Some(pruned) = pruned {
        missing.add(&pruned.missing);
        let (rows, sums) = pruned.rows();
        CallTree::from_sums(&rows, &sums, folded)
    } else {
        CallTree::from_sums(whole.paths(), whole.sums(), folded)
    };
    let weight = u64::try_from(missing.total_ns).unwrap_or(u64::MAX);
    let missing = SampleSum { samples: missing.starts, weight };
    Ok(CallPaths { tree, work, missing, is_swept: plan.nodes.is_empty(), ..CallPaths::default() })
}

/// Returns the exact number and self time of spans by name, for the first level of an inverted graph. Empty if each
/// path is known, and for filtered spans. Costs a query of totals, which other views do not need.
pub(crate) fn own_sums_of_spans(
    snapshot: &Snapshot,
    scope: &Scope,
    paths: &CallPaths,
    cancel: &Cancel,
) -> Result<Vec<(NameIdx, SampleSum)>, Cancelled> {
    // The self time of a span that passes a filter excludes the time of children that fail it.
    if paths.is_exact() || !scope.matcher.is_every_row_of_lane() {
        return Ok(Vec::new());
    }
    let totals = GrowingTotals::default();
    sum_up(snapshot, &scope.clone().without_last_ns(), &totals, cancel, &Progress::default())?;
    let totals = totals.into_totals();
    let sums = totals.numbered().map(|(_, group, totals)| {
        let weight = u64::try_from(totals.self_ns).unwrap_or(u64::MAX);
        (group.name, SampleSum { samples: totals.count, weight })
    });
    Ok(sums.collect())
}

/// Adds the sums of a plan's nodes, and adds to `missing` what their paths may lack. Returns the damaged nodes.
fn add_nodes(
    snapshot: &Snapshot,
    plan: &Plan,
    whole: &mut PathSumTable,
    (missing, node_paths): (&mut PathSums, &mut u64),
) -> Vec<(LedgerNode, TrackIdx)> {
    let Some(ledger) = snapshot.store().path_ledger().filter(|_| !plan.nodes.is_empty()) else { return Vec::new() };
    if ledger.is_pruned() {
        let mut damaged = plan.nodes.clone();
        damaged.retain(|&(node, _)| {
            let Some(paths) = snapshot.store().pruned_node(node) else { return true };
            let (rows, sums) = paths.rows();
            whole.merge(&rows, &sums);
            missing.add(&paths.missing);
            *node_paths += sums.len() as u64;
            false
        });
        return damaged;
    }
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

/// The sums of all sweeps.
struct SweptSums {
    whole: PathSumTable,
    /// Maximum that a path may lack.
    missing: PathSums,
    paths_max: usize,
    /// Limit of the table, with room for the paths of a task.
    table_max: usize,
    /// Spans counted for their parents, in tables that were pruned since.
    folded: u64,
}

impl SweptSums {
    /// Adds the sums of some sweeps. If there are too many paths, merges the smallest into others and returns true.
    fn add(&mut self, sums: &PathSumTable) -> bool {
        self.whole.merge_table(sums);
        let is_too_many = self.whole.paths().len() > self.paths_max;
        if is_too_many {
            self.prune();
        }
        is_too_many
    }

    /// Adds pruned sums. Returns true, because there are still too many paths.
    fn add_pruned(&mut self, pruned: &PrunedPaths, folded: u64) -> bool {
        let (rows, sums) = pruned.rows();
        self.whole.merge(&rows, &sums);
        self.missing.add(&pruned.missing);
        self.folded += folded;
        if self.whole.paths().len() > self.paths_max {
            self.prune();
        }
        true
    }

    /// Prunes to make room for more paths.
    fn prune(&mut self) {
        let mut parts = self.paths_max as u64;
        while self.whole.paths().len() > self.paths_max / 2 && parts > 1 {
            let shape = PruneShape { time_parts: parts, count_parts: parts, few_paths: 0 };
            // Paths that do not add up count for their callers once there are too many.
            let Some(pruned) = PrunedPaths::new(self.whole.paths(), self.whole.sums(), shape) else { return };
            let (rows, sums) = pruned.rows();
            let mut whole = PathSumTable::new(self.table_max);
            whole.merge(&rows, &sums);
            self.missing.add(&pruned.missing);
            self.folded += self.whole.folded();
            (self.whole, parts) = (whole, parts / 4);
        }
    }
}

/// Sweeps ranges on all threads, each into its own sums, and adds them to the whole. Returns the number of rows.
fn sweep(
    snapshot: &Snapshot,
    scope: &Scope,
    sweeps: &[Sweep],
    swept: &mut SweptSums,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<u64, Cancelled> {
    let (tables, rows): (Mutex<Vec<PathSumTable>>, AtomicU64) = (Mutex::default(), AtomicU64::new(0));
    let (swept, has_too_many) = (Mutex::new(swept), AtomicBool::new(false));
    let add_to_whole = |sums: &PathSumTable| {
        // Most small paths of a task are in no other, and would be merged only to be pruned.
        let is_pruned = has_too_many.load(Ordering::Relaxed);
        let pruned = is_pruned.then(|| PrunedPaths::new(sums.paths(), sums.sums(), TASK_PRUNED)).flatten();
        if let Ok(mut swept) = swept.lock() {
            let is_too_many = match pruned {
                Some(pruned) => swept.add_pruned(&pruned, sums.folded()),
                None => swept.add(sums),
            };
            has_too_many.fetch_or(is_too_many, Ordering::Relaxed);
        }
    };
    let task_paths_max = snapshot.paths_max() / TASK_PART;
    each_sweep(sweeps, (cancel, progress), |sweeps| {
        let spare = tables.lock().ok().and_then(|mut tables| tables.pop());
        let mut sums = spare.unwrap_or_else(|| PathSumTable::new(PATHS_MAX));
        // Tracks with a few rows each share blocks of details.
        let mut matching = MatchingRows::new(snapshot, &scope.matcher);
        for sweep in sweeps {
            let swept = if scope.matcher.is_every_row_of_lane() {
                sweep_into(snapshot, sweep, EveryRow, &mut sums)
            } else {
                sweep_into(snapshot, sweep, &mut matching, &mut sums)
            };
            rows.fetch_add(swept, Ordering::Relaxed);
            if sums.paths().len() > task_paths_max {
                add_to_whole(&sums);
                sums = PathSumTable::new(PATHS_MAX);
            }
        }
        if let Ok(mut tables) = tables.lock() {
            tables.push(sums);
        }
    })?;
    tables.into_inner().unwrap_or_default().iter().for_each(add_to_whole);
    Ok(rows.into_inner())
}

/// Adds the matching spans of a range to the sums. Returns the number of rows read.
fn sweep_into(snapshot: &Snapshot, sweep: &Sweep, rows: impl BlockFilter, sums: &mut PathSumTable) -> u64 {
    let mut swept = PathSweep::new(snapshot.store(), sweep.lanes.clone(), sweep.from_ns, rows, sums);
    if sweep.counts_open {
        swept.count_open(sweep.to_ns, sums);
    }
    if sweep.has_starts() {
        swept.sum_to(sweep.to_ns, sums);
    }
    swept.rows()
}

impl CallTree {
    /// Builds the tree of paths, independent of the order in which sums were added. The self time of a path is the time
    /// of its spans minus the time of its children.
    fn from_sums(rows: &[PathRow], sums: &[PathSums], folded: u64) -> Self {
        let order = in_order(rows);
        // By path: its node, and the time of its direct children.
        let (mut nodes_of, mut below_ns) = (vec![0_u32; order.len()], vec![0_u128; order.len()]);
        (0..).zip(&order).for_each(|(node, path)| nodes_of[path.index()] = node);
        let mut nodes: Vec<CallNode> = Vec::with_capacity(order.len());
        for path in order.into_iter().rev() {
            let (row, sums, below) = (rows[path.index()], sums[path.index()], below_ns[path.index()]);
            // Overlapping children may take more time than their parent. Spans that count for the root have no parent.
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
        Self { nodes, folded: FoldedPaths { paths: folded, ..FoldedPaths::default() }, ..Self::default() }
    }
}

/// Returns paths level by level, siblings sorted by name.
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
