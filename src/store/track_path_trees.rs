//! Builds the trees of pruned paths of single tracks. Each leaf is a separate sweep over one track.
//!
//! The slices of all tracks are too short for leaves. If paths rarely repeat in a few thousand spans of a track,
//! nothing can be pruned, and a leaf would grow without end. Leaves of one track have many more spans.
//!
//! Memory is bounded: leaves are swept in groups that fit even if every span had its own path. A tree that does not fit
//! ends with the last leaf that fits.

use std::io;
use std::ops::Range;

use rayon::prelude::*;

use super::append::AppendFile;
use super::bounded_tree::BoundedTree;
use super::ledger::TreeIndex;
use super::ledger_build::LedgerContext;
use super::ledger_progress::{LedgerPart, LedgerProgress};
use super::path_bands::PathMemoryPlan;
use super::path_ledger::PathShape;
use super::path_tables::PathTables;
use super::pruned_paths::PrunedPaths;
use super::read::Store;
use super::sweep::{EveryRow, PathSweep};
use crate::model::TrackIdx;

/// The leaves of one track's tree, added slice by slice.
pub(super) struct TrackLeaves {
    pub(super) track: TrackIdx,
    lanes: Range<u32>,
    /// The slice after each leaf, and the spans that start in the leaf.
    ends: Vec<(usize, u64)>,
    /// Spans that start in the current leaf.
    rows: u64,
}

/// A leaf of one track: a range of slices.
struct Leaf<'t> {
    track: &'t TrackLeaves,
    slices: Range<usize>,
    rows: u64,
}

/// The pruned paths of a leaf.
struct LeafPaths {
    paths: PrunedPaths,
    rows: u64,
}

impl TrackLeaves {
    pub(super) fn new(track: TrackIdx, lanes: Range<u32>) -> Self {
        Self { track, lanes, ends: Vec::new(), rows: 0 }
    }

    /// Counts the spans that start in a slice. Slices come in order; empty ones may be skipped.
    pub(super) fn add_slice(&mut self, slice: usize, rows: u64, leaf_rows: u64) {
        self.rows += rows;
        if self.rows >= leaf_rows {
            self.ends.push((slice + 1, std::mem::take(&mut self.rows)));
        }
    }

    /// Ends the last leaf before the slice `end`.
    pub(super) fn finish(&mut self, end: usize) {
        if self.ends.last().is_none_or(|&(last, _)| last < end) {
            self.ends.push((end, std::mem::take(&mut self.rows)));
        }
    }

    fn leaves(&self) -> impl Iterator<Item = Leaf<'_>> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|&(end, _)| end));
        starts.zip(&self.ends).map(|(start, &(end, rows))| Leaf { track: self, slices: start..end, rows })
    }
}

impl Leaf<'_> {
    /// Returns the maximum number of paths: one per span, even if it is open at the start, and the root.
    fn paths_max(&self) -> usize {
        usize::try_from(self.rows).unwrap_or(usize::MAX).saturating_add(self.track.lanes.len() + 1)
    }

    /// Sweeps and prunes the leaf. Returns `None` if it has too many paths, or if children of a span overlap each
    /// other.
    fn sweep(&self, store: &Store, bounds_ns: &[i64], tables: &PathTables, shape: &PathShape) -> Option<LeafPaths> {
        let Range { start, end } = self.slices;
        tables.with(|sums| {
            let mut sweep = PathSweep::new(store, self.track.lanes.clone(), bounds_ns[start], EveryRow, sums);
            // The last slice includes the spans that start exactly at the end.
            sweep.sum_to(if end + 1 == bounds_ns.len() { i64::MAX } else { bounds_ns[end] }, sums);
            if sums.folded() > 0 {
                return None;
            }
            let paths = PrunedPaths::new(sums.paths(), sums.sums(), shape.pruned.for_leaf())?;
            Some(LeafPaths { paths, rows: sweep.rows() })
        })
    }
}

/// A tree that grows leaf by leaf.
struct GrowingTree {
    tree: BoundedTree<PrunedPaths>,
    track: TrackIdx,
    /// The slice after the last leaf.
    end: usize,
    /// Whether a leaf did not fit; later leaves are dropped.
    is_full: bool,
}

impl GrowingTree {
    fn new(track: TrackIdx, shape: &PathShape) -> Self {
        let tree = BoundedTree::new(Some(track), shape.fan_out, 1, shape.kilorow_bytes);
        Self { tree, track, end: 0, is_full: false }
    }

    fn add(&mut self, leaf: &LeafPaths, end: usize, out: &mut AppendFile, growing_max: usize) -> io::Result<()> {
        self.tree.add_slice(&leaf.paths, leaf.rows, end - 1).map_err(io::Error::other)?;
        self.tree.nodes.write(out)?;
        self.end = end;
        self.is_full = self.tree.growing_items() > growing_max;
        Ok(())
    }
}

/// Returns how many of the next leaves are swept at once, given their numbers of paths. Together they have at most
/// `paths_max` paths, but there is at least one leaf.
fn fitting(paths: impl Iterator<Item = usize>, paths_max: usize) -> usize {
    let sums = paths.scan(0_usize, |sum, paths| {
        *sum = sum.saturating_add(paths);
        Some(*sum)
    });
    sums.take_while(|&sum| sum <= paths_max).count().max(1)
}

/// Builds the trees of `tracks` over the slices between `bounds_ns`, in track order. Returns `None` if cancelled.
///
/// # Errors
/// Returns the I/O error of a failed write.
pub(super) fn build(
    store: &Store,
    context: &LedgerContext<'_>,
    plan: &PathMemoryPlan,
    (tracks, bounds_ns): (&[TrackLeaves], &[i64]),
    out: &mut AppendFile,
) -> io::Result<Option<Vec<TreeIndex>>> {
    let shape = &context.paths;
    let leaves: Vec<Leaf<'_>> = tracks.iter().flat_map(TrackLeaves::leaves).collect();
    let mut progress = LedgerProgress::begin(context.progress, LedgerPart::TrackPaths, leaves.len());
    let tables = PathTables::new(plan.leaf_paths_max);
    let mut trees = Vec::new();
    let mut growing: Option<GrowingTree> = None;
    let mut left = &leaves[..];
    while !left.is_empty() {
        let next = left.iter().take(plan.leaves_at_once);
        let (some, after) = left.split_at(fitting(next.map(Leaf::paths_max), plan.leaf_paths_max));
        left = after;
        if context.cancel.is_cancelled() {
            return Ok(None);
        }
        let sweep = |leaf: &Leaf<'_>| leaf.sweep(store, bounds_ns, &tables, shape);
        let swept: Vec<Option<LeafPaths>> = some.par_iter().with_max_len(1).map(sweep).collect();
        for (leaf, swept) in some.iter().zip(swept) {
            let track = leaf.track.track;
            if growing.as_ref().is_none_or(|tree| tree.track != track)
                && let Some(done) = growing.replace(GrowingTree::new(track, shape))
            {
                trees.extend(done.tree.finish(done.end, out)?);
            }
            if let Some(tree) = growing.as_mut().filter(|tree| !tree.is_full) {
                match swept {
                    Some(paths) => tree.add(&paths, leaf.slices.end, out, plan.growing_max)?,
                    None => tree.is_full = true,
                }
            }
        }
        progress.advance(some.len());
    }
    if let Some(done) = growing {
        trees.extend(done.tree.finish(done.end, out)?);
    }
    Ok(Some(trees))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_are_swept_together_as_far_as_all_their_paths_fit() {
        for (paths, expected) in [
            (&[4, 5, 1, 1][..], 3),
            (&[4, 5, 2, 1], 2),
            (&[10, 1], 1),
            (&[11, 1], 1),
            (&[usize::MAX, usize::MAX], 1),
            (&[1, usize::MAX, 1], 1),
            (&[3, 3], 2),
        ] {
            assert_eq!(fitting(paths.iter().copied(), 10), expected, "{paths:?}");
        }
    }

    #[test]
    fn leaves_know_their_slices_and_the_spans_that_start_in_them() {
        let mut leaves = TrackLeaves::new(TrackIdx(3), 2..7);
        for (slice, rows) in [(0, 40), (2, 70), (3, 10), (5, 100), (8, 1)] {
            leaves.add_slice(slice, rows, 100);
        }
        leaves.finish(9);
        let found: Vec<_> = leaves.leaves().map(|leaf| (leaf.slices.clone(), leaf.rows, leaf.paths_max())).collect();
        assert_eq!(found, [(0..3, 110, 116), (3..6, 110, 116), (6..9, 1, 7)]);
        // After a full last leaf, a track has no further leaf.
        let mut leaves = TrackLeaves::new(TrackIdx(3), 0..1);
        leaves.add_slice(4, 100, 100);
        leaves.finish(5);
        let found: Vec<_> = leaves.leaves().map(|leaf| (leaf.slices.start, leaf.slices.end)).collect();
        assert_eq!(found, [(0, 5)]);
    }
}
