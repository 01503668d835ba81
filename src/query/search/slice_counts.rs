//! Counts the hits of a search by slices of time, for filters that the ledger answers. A rank or a page then reads the
//! rows of one slice, and no search of all rows comes before.
//!
//! Spans are counted from the leaves of the ledger. Instants, samples, and rows at both edges of the scope are read.
//!
//! Equivalent to counting the starts of all hits between the bounds of the slices.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::base::cancel::{Cancel, Cancelled};
use crate::query::hit_count::{CountPlan, EXTENTS_AT_ONCE};
use crate::query::scan::LaneScan;
use crate::query::scope::Scope;
use crate::query::snapshot::Snapshot;
use crate::store::block::BLOCK_ROWS;
use crate::store::details::DetailReader;
use crate::store::ledger::{Ledger, LedgerNode};
use crate::store::sums::NameSums;

/// The number of hits in each slice of time. Slices follow each other; the first has no start, the last no end.
#[derive(Debug)]
pub(super) struct SliceCounts {
    /// Start of each slice after the first.
    starts_ns: Vec<i64>,
    /// Number of hits before each slice, and of all hits.
    before: Vec<u64>,
}

/// A slice of time, with the number of hits before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slice {
    /// First time; `None` for no start.
    pub(super) from_ns: Option<i64>,
    /// Time after the last; `None` for no end.
    pub(super) to_ns: Option<i64>,
    /// Number of hits in earlier slices.
    pub(super) before: u64,
}

impl SliceCounts {
    /// Counts the hits of a scope by its plan and the scans of all rows outside the nodes. Returns `None` if the nodes
    /// are from trees of single tracks, or if a leaf is damaged.
    ///
    /// # Errors
    /// Returns `Cancelled` if cancelled.
    pub(super) fn count(
        snapshot: &Snapshot,
        scope: &Scope,
        (plan, outside): (&CountPlan, &[LaneScan<'_>]),
        cancel: &Cancel,
    ) -> Result<Option<Self>, Cancelled> {
        cancel.check()?;
        let Some(ledger) = snapshot.store().ledger() else { return Ok(None) };
        let Some(leaves) = leaves(ledger, plan) else { return Ok(None) };
        let bounds_ns = ledger.bounds_ns();
        let last = leaves[leaves.len() - 1].to;
        // The last slice of the ledger includes rows exactly at its end, so it has no end here.
        let end = (last as usize + 1 < bounds_ns.len()).then_some(last);
        let starts_ns = leaves.iter().map(|leaf| leaf.from).chain(end).map(|bound| bounds_ns[bound as usize]).collect();
        let counts = Counts::new(starts_ns);
        let is_intact = leaves.par_iter().enumerate().try_for_each(|(leaf, &node)| {
            let mut starts = 0;
            let add = |name, sums: NameSums| starts += if scope.matcher.has_name(name) { sums.starts } else { 0 };
            let is_intact = snapshot.store().ledger_node(node, add);
            counts.add(leaf + 1, starts);
            is_intact.then_some(())
        });
        if is_intact.is_none() {
            return Ok(None);
        }
        outside.par_iter().try_for_each(|scan| {
            let extents: Vec<usize> = scan.extents().collect();
            extents.par_chunks(EXTENTS_AT_ONCE).try_for_each(|extents| {
                cancel.check()?;
                counts.add_rows(scan, extents);
                Ok(())
            })
        })?;
        Ok(Some(counts.finish()))
    }

    /// Returns the number of all hits.
    pub(super) fn total(&self) -> u64 {
        self.before.last().copied().unwrap_or(0)
    }

    /// Returns the slice that contains a time.
    pub(super) fn at(&self, ts_ns: i64) -> Slice {
        self.slice(self.starts_ns.partition_point(|&start_ns| start_ns <= ts_ns))
    }

    /// Returns the slice with the hit of a number below the total.
    pub(super) fn with_hit(&self, number: u64) -> Slice {
        let after = self.before.partition_point(|&before| before <= number);
        self.slice(after.saturating_sub(1).min(self.starts_ns.len()))
    }

    /// Returns whether a hit starts in the slices that overlap a range of time, which has no end without `to_ns`.
    pub(super) fn has_hits(&self, from_ns: i64, to_ns: Option<i64>) -> bool {
        let first = self.starts_ns.partition_point(|&start_ns| start_ns <= from_ns);
        let last =
            to_ns.map_or(self.starts_ns.len(), |to_ns| self.starts_ns.partition_point(|&start_ns| start_ns <= to_ns));
        self.before[last + 1] > self.before[first]
    }

    fn slice(&self, index: usize) -> Slice {
        let from_ns = index.checked_sub(1).map(|before| self.starts_ns[before]);
        Slice { from_ns, to_ns: self.starts_ns.get(index).copied(), before: self.before[index] }
    }
}

impl Slice {
    /// Returns the rows of a scan that start in the slice, before `end_ns` if that is given.
    pub(super) fn rows(&self, scan: &LaneScan<'_>, end_ns: Option<i64>) -> Range<u64> {
        let start = self.from_ns.map_or(scan.rows.start, |from_ns| scan.first_from(from_ns));
        let end = end_ns.or(self.to_ns).map_or(scan.rows.end, |to_ns| scan.first_from(to_ns));
        start..end.max(start)
    }
}

/// Returns the leaves below the nodes of a plan, in time order. Returns `None` if the nodes are of single tracks, or if
/// there are none.
fn leaves(ledger: &Ledger, plan: &CountPlan) -> Option<Vec<LedgerNode>> {
    let mut leaves = Vec::new();
    for &(node, track) in &plan.nodes {
        if track.is_some() {
            return None;
        }
        let mut waiting = vec![node];
        while let Some(node) = waiting.pop() {
            let children = ledger.children(node);
            if children.is_empty() {
                leaves.push(node);
            }
            waiting.extend(children.into_iter().rev());
        }
    }
    (!leaves.is_empty()).then_some(leaves)
}

/// Hits by slice, counted by all threads.
struct Counts {
    starts_ns: Vec<i64>,
    counts: Vec<AtomicU64>,
}

impl Counts {
    fn new(starts_ns: Vec<i64>) -> Self {
        let counts = (0..=starts_ns.len()).map(|_| AtomicU64::new(0)).collect();
        Self { starts_ns, counts }
    }

    fn add(&self, slice: usize, hits: u64) {
        self.counts[slice].fetch_add(hits, Ordering::Relaxed);
    }

    /// Counts the matching rows of extents.
    fn add_rows(&self, scan: &LaneScan<'_>, extents: &[usize]) {
        let mut reader = DetailReader::default();
        for &extent in extents {
            for (_, rows) in scan.blocks(extent, 0, &mut reader) {
                let mut starts = [0; BLOCK_ROWS];
                rows.block.starts(&mut starts);
                for slot in rows.slots() {
                    self.add(self.starts_ns.partition_point(|&start_ns| start_ns <= starts[slot]), 1);
                }
            }
        }
    }

    fn finish(self) -> SliceCounts {
        let mut total = 0;
        let mut before = vec![0];
        before.extend(self.counts.into_iter().map(|count| {
            total += count.into_inner();
            total
        }));
        SliceCounts { starts_ns: self.starts_ns, before }
    }
}
