//! Builds the trees of pruned paths of single tracks. Each leaf is a separate sweep over one track.
//!
//! The slices of all tracks are too short for leaves. If paths rarely repeat in some thousand spans of a track, nothing
//! can be pruned, and a leaf would grow without end. Leaves of one track have many more spans.
//!
//! Memory is bounded: leaves are swept in groups that fit. A tree that does not fit ends with the last leaf that does.

use std::io;
use std::ops::Range;

use rayon::prelude::*;

use super::append::AppendFile;
use super::bounded_tree::BoundedTree;
use super::ledger::TreeIndex;
use super::ledger_build::LedgerContext;
use super::path_bands::PathMemoryPlan;
use super::path_ledger::PathShape;
use super::path_tables::PathTables;
use super::pruned_paths::PrunedPaths;
use super::read::Store;
use super::sweep::{EveryRow, PathSweep};
use crate::base::progress::Stage;
use crate::model::TrackIdx;

/// The leaves of one track's tree, added slice by slice.
pub(super) struct TrackLeaves {
    pub(super) track: TrackIdx,
    lanes: Range<u32>,
    /// The slice after each leaf.
    ends: Vec<usize>,
    /// Spans that start in the current leaf.
    rows: u64,
}

/// A leaf of one track: a range of slices.
struct Leaf<'t> {
    track: &'t TrackLeaves,
    slices: Range<usize>,
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
            self.ends.push(slice + 1);
            self.rows = 0;
        }
    }

    /// Ends the last leaf before the slice `end`.
    pub(super) fn finish(&mut self, end: usize) {
        if self.ends.last().is_none_or(|&last| last < end) {
            self.ends.push(end);
        }
    }

    fn leaves(&self) -> impl Iterator<Item = Leaf<'_>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| Leaf { track: self, slices: start..end })
    }
}

impl Leaf<'_> {
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
            let paths = PrunedPaths::new(sums.paths(), sums.sums(), shape.pruned.of_leaf())?;
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
    context.progress.begin(Stage::Publishing, leaves.len() as u64);
    let tables = PathTables::new(plan.leaf_paths_max);
    let mut trees = Vec::new();
    let mut growing: Option<GrowingTree> = None;
    for some in leaves.chunks(plan.leaves_at_once) {
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
        context.progress.advance(some.len() as u64);
    }
    if let Some(done) = growing {
        trees.extend(done.tree.finish(done.end, out)?);
    }
    Ok(Some(trees))
}
