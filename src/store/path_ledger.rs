//! The path ledger: trees of time and span counts by call path, for slices of time. The flame graph of spans of any
//! range comes from a few nodes and a sweep of both edges.
//!
//! One tree covers all tracks; every track with many spans has its own tree. A leaf grows until paths repeat, because
//! the bytes of nodes are bounded per span. If paths hardly repeat on some track, the nodes of all trees are
//! [`super::pruned_paths::PrunedPaths`]. Time ranges without a leaf are swept.

use serde::{Deserialize, Serialize};

use super::ledger::{Ledger, LedgerIndex, LedgerNode};
use super::paths::{PathIdx, PathRow};
use super::pruned_paths::{PruneShape, PrunedPaths};
use crate::base::mapped::Mapped;
use crate::model::TrackIdx;

/// Size parameters of a path ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathShape {
    /// Minimum number of spans for a path ledger; a sweep over fewer takes about 20 ms. Traces with fewer than four
    /// spans per lane have none either.
    pub(crate) rows_min: u64,
    /// Minimum number of spans of all tracks that start in a slice. A sweep of both edges takes about 20 ms.
    pub(crate) slice_rows: u64,
    /// Minimum number of spans of one track in a leaf of its tree. Tracks with fewer than two leaves have no tree.
    pub(crate) leaf_rows: u64,
    /// The same minimum for pruned paths: a sweep of both edges takes about 20 ms. Smaller leaves have hardly a path to
    /// prune.
    pub(crate) pruned_leaf_rows: u64,
    /// Child nodes summed by a node.
    pub(crate) fan_out: u32,
    /// Maximum bytes of a tree's nodes per 1024 of its spans, in addition to one path to the root.
    pub(crate) kilorow_bytes: u64,
    /// New paths that any track may add.
    pub(crate) track_paths: u64,
    /// Minimum number of spans of a track per additional path; with fewer, its paths hardly repeat.
    pub(crate) rows_per_path: u64,
    /// Maximum number of paths of all tracks: as many as a flame graph shows.
    pub(crate) paths_max: usize,
    /// Pruning thresholds, used where whole histograms do not fit.
    pub(crate) pruned: PruneShape,
}

impl Default for PathShape {
    fn default() -> Self {
        Self {
            rows_min: 1 << 18,
            slice_rows: 1 << 19,
            leaf_rows: 1 << 15,
            pruned_leaf_rows: 1 << 17,
            fan_out: 4,
            kilorow_bytes: 512,
            track_paths: 4096,
            rows_per_path: 64,
            paths_max: 1 << 20,
            // A quarter of a pixel in a picture of 2,048 pixels for time, and two pixels for span counts.
            pruned: PruneShape { time_parts: 1 << 13, count_parts: 1 << 10, few_paths: 512 },
        }
    }
}

impl PathShape {
    /// Returns how many paths a track of so many spans may add.
    pub(super) fn paths_max_of(&self, rows: u64) -> u64 {
        self.track_paths + rows / self.rows_per_path.max(1)
    }
}

/// The tables of a path ledger; its nodes are in the body of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PathLedgerIndex {
    /// Paths by their index in nodes: the root first, parents before children. Empty for pruned nodes, which include
    /// their paths.
    pub(crate) paths: Vec<PathRow>,
    /// Tracks that no node covers from a slice on, in order, with that slice.
    pub(crate) swept_from: Vec<(TrackIdx, u32)>,
    pub(crate) trees: LedgerIndex,
}

/// A path ledger that can be queried.
#[derive(Debug)]
pub(crate) struct PathLedger {
    paths: Vec<PathRow>,
    swept_from: Vec<(TrackIdx, u32)>,
    trees: Ledger,
}

impl PathLedger {
    /// Creates a ledger of mapped nodes; `None` if the index contradicts itself.
    #[must_use]
    pub(crate) fn new(index: PathLedgerIndex) -> Option<Self> {
        let PathLedgerIndex { paths, swept_from, trees } = index;
        let is_root = |row: &PathRow| row.parent == PathIdx::ROOT;
        let has_root = paths.first().is_none_or(is_root);
        let in_order = paths.iter().enumerate().skip(1).all(|(index, row)| row.parent.index() < index);
        let is_whole = has_root && in_order && swept_from.is_sorted_by_key(|&(track, _)| track);
        is_whole.then_some(Self { paths, swept_from, trees: Ledger::new(trees)? })
    }

    /// Returns whether nodes are pruned: they lack small paths and include the others.
    #[must_use]
    pub(crate) fn is_pruned(&self) -> bool {
        self.paths.is_empty()
    }

    /// Returns paths by their index in nodes, parents before children; empty for pruned nodes.
    #[must_use]
    pub(crate) fn paths(&self) -> &[PathRow] {
        &self.paths
    }

    /// Returns the tracks that no node covers from a slice on, in order.
    #[must_use]
    pub(crate) fn swept_from(&self) -> &[(TrackIdx, u32)] {
        &self.swept_from
    }

    #[must_use]
    pub(crate) fn trees(&self) -> &Ledger {
        &self.trees
    }

    /// Decodes the paths of a pruned node; `None` if it is damaged.
    pub(super) fn read_pruned(&self, map: &Mapped, node: LedgerNode) -> Option<PrunedPaths> {
        self.trees.intact_bytes(map, node).and_then(PrunedPaths::unpack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::NameIdx;
    use crate::store::ledger::TreeIndex;

    #[test]
    fn an_index_that_contradicts_itself_is_none() {
        let tree = TreeIndex { track: None, leaves: vec![0], nodes: Vec::new() };
        let trees = LedgerIndex { bounds_ns: vec![0, 9], fan_out: 4, trees: vec![tree], sketches: None };
        let row = |parent| PathRow { parent: PathIdx(parent), name: NameIdx(7) };
        let index = |paths: &[u32], swept: &[u32]| PathLedgerIndex {
            paths: paths.iter().copied().map(row).collect(),
            swept_from: swept.iter().map(|&track| (TrackIdx(track), 0)).collect(),
            trees: trees.clone(),
        };
        assert!(PathLedger::new(index(&[0, 0, 1, 0], &[1, 4])).is_some_and(|ledger| !ledger.is_pruned()));
        assert!(PathLedger::new(index(&[], &[])).is_some_and(|ledger| ledger.is_pruned()));
        for (paths, swept) in [(&[1, 0][..], &[][..]), (&[0, 1], &[]), (&[0, 0, 3], &[]), (&[0], &[4, 1])] {
            assert!(PathLedger::new(index(paths, swept)).is_none(), "{paths:?} {swept:?}");
        }
        assert!(PathLedger::new(PathLedgerIndex { trees: LedgerIndex::default(), ..index(&[0], &[]) }).is_none());
    }
}
