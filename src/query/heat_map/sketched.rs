//! Heat maps from the sketches of a ledger: a few nodes for a long range, without reading rows.

use super::axis::HeatMapAxis;
use super::{HeatMap, Scope, Snapshot};
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::sketch::Sketch;
use crate::query::slices::cover_starts;
use crate::store::ledger::{Ledger, LedgerNode};

/// Limit for the nodes read; a picture has several pixels per node.
pub(super) const NODES_MAX: usize = 256;

/// Limit for the bytes of nodes read, about 20 ms: nodes with many names are large.
const NODE_BYTES_MAX: u64 = 32 << 20;

/// Amount of work for a map from sketches; repeats exactly for the same query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SketchedWork {
    /// Nodes of the ledger that were read.
    pub(crate) nodes: usize,
    /// The size of these nodes in bytes.
    pub(crate) node_bytes: u64,
}

/// Returns the heat map of a scope from sketches: durations are in the right bucket, starts anywhere in the time of
/// their node. Returns `None` if the ledger cannot answer, or if a node is damaged. Returns `Cancelled` if cancelled.
pub(crate) fn sketched(
    snapshot: &Snapshot,
    scope: &Scope,
    axis: HeatMapAxis,
    cancel: &Cancel,
) -> Result<Option<(HeatMap, SketchedWork)>, Cancelled> {
    let (scope, matcher) = (axis.narrow(scope), &*scope.matcher);
    let has_all = scope.tracks.is_all() && matcher.is_every_track() && matcher.is_by_name();
    let Some(ledger) = snapshot.store().ledger().filter(|_| has_all) else { return Ok(None) };
    let Some(tree) = ledger.sketches() else { return Ok(None) };
    let mut nodes = cover_starts(snapshot, &scope, tree).0;
    let (Some(first), Some(last)) = (nodes.first(), nodes.last()) else { return Ok(None) };
    let bounds_ns = ledger.bounds_ns();
    let last_bound = bounds_ns.len() - 1;
    // The last slice includes rows exactly at its end.
    let end_of = |bound: usize| bounds_ns[bound].saturating_add(i64::from(bound == last_bound));
    // Nothing starts before the first slice, or after the last.
    let from = if first.from == 0 { 0 } else { axis.column_of(bounds_ns[first.from as usize]).unwrap_or(0) };
    let known_end_ns = bounds_ns[last.to as usize];
    let is_to_end = last.to as usize == last_bound;
    let to = if is_to_end { None } else { axis.column_of(known_end_ns.saturating_sub(1)) };
    let counted = from..to.map_or(axis.columns(), |column| column + 1);
    // Descends to the leaves as far as the limits allow.
    loop {
        let finer: Vec<LedgerNode> = nodes.iter().flat_map(|&node| children_or_itself(ledger, node)).collect();
        let bytes: u64 = finer.iter().map(|&node| ledger.node_bytes(node)).sum();
        if finer.len() == nodes.len() || finer.len() > NODES_MAX || bytes > NODE_BYTES_MAX {
            break;
        }
        nodes = finer;
    }
    let mut map = HeatMap::empty(axis);
    let mut work = SketchedWork::default();
    for node in nodes {
        cancel.check()?;
        let time_ns = bounds_ns[node.from as usize]..end_of(node.to as usize);
        map.blur_ns = map.blur_ns.max(time_ns.end.abs_diff(time_ns.start));
        work.nodes += 1;
        work.node_bytes += ledger.node_bytes(node);
        let mut counts: Vec<u64> = Vec::new();
        let is_intact = snapshot.store().ledger_node(node, |name, sketch: Sketch| {
            if matcher.has_name(name) {
                sketch.each_bucket(|bucket, count| {
                    counts.resize(counts.len().max(bucket + 1), 0);
                    counts[bucket] += count;
                });
            }
        });
        if !is_intact {
            return Ok(None);
        }
        let parts = ColumnShares::from_axis(axis, &time_ns);
        for (bucket, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            parts.spread(count, bucket, |column, count| map.add(column, bucket, count));
        }
    }
    map.counted = counted;
    Ok(Some((map, work)))
}

fn children_or_itself(ledger: &Ledger, node: LedgerNode) -> Vec<LedgerNode> {
    let children = ledger.children(node);
    if children.is_empty() { vec![node] } else { children }
}

/// The columns that a time range overlaps, each with its share of the range.
struct ColumnShares {
    first: usize,
    /// The time from the start of the range to the end of each column.
    ends_ns: Vec<u128>,
}

impl ColumnShares {
    fn from_axis(axis: HeatMapAxis, time_ns: &std::ops::Range<i64>) -> Self {
        let first = axis.column_of(time_ns.start.max(axis.start_ns())).unwrap_or(0);
        let last_ns = time_ns.end.saturating_sub(1).max(time_ns.start);
        let last = axis.column_of(last_ns).unwrap_or(axis.columns() - 1).max(first);
        let since_start = |ts_ns: i64| u128::from(ts_ns.clamp(time_ns.start, time_ns.end).abs_diff(time_ns.start));
        let mut ends_ns: Vec<u128> = (first..last).map(|column| since_start(axis.start_of(column + 1))).collect();
        ends_ns.push(since_start(time_ns.end).max(1));
        Self { first, ends_ns }
    }

    /// Spreads a count evenly over the time, without a remainder. Single spans of different buckets get different
    /// times, so that they form no line.
    fn spread(&self, count: u64, bucket: usize, mut each: impl FnMut(usize, u64)) {
        const PHASES: u128 = 64;
        let whole_ns = self.ends_ns.last().copied().unwrap_or(1);
        // Multiples of an odd number visit all phases; neighbours are far apart.
        let phase_ns = whole_ns * (bucket as u128 * 39 % PHASES) / PHASES;
        let mut before = 0;
        for (column, &end_ns) in (self.first..).zip(&self.ends_ns) {
            // Count and time have 64 bits each.
            let until = ((u128::from(count) * end_ns + phase_ns) / whole_ns) as u64;
            if until > before {
                each(column, until - before);
            }
            before = until;
        }
    }
}
