//! The ledger of paths: time and number of spans by call path, for slices of time, in trees. The flame graph of spans
//! of any range comes from a few nodes and a sweep of two edges.
//!
//! One tree covers all tracks; every track with many spans has a tree of its own. Where paths repeat little, a leaf
//! grows until they do, since the bytes of nodes are bounded for each span. Where they hardly repeat on some track, the
//! nodes of all trees are [`super::pruned_paths::PrunedPaths`]. What no leaf covers is swept.

use serde::{Deserialize, Serialize};

use super::ledger::{Ledger, LedgerIndex, LedgerNode};
use super::paths::{PathIdx, PathRow};
use super::pruned_paths::{PruneShape, PrunedPaths};
use crate::base::mapped::Mapped;
use crate::model::TrackIdx;

/// The sizes of a ledger of paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathShape {
    /// Traces with fewer spans have no ledger of paths: a sweep over all of them takes some 20 ms. Nor have those with
    /// fewer than four spans a lane.
    pub(crate) rows_min: u64,
    /// Spans of all tracks that start in a slice, at least. A sweep of both edges takes some 10 ms.
    pub(crate) slice_rows: u64,
    /// Spans of one track in a leaf of its own tree, at least. Tracks with fewer than two leaves have no tree.
    pub(crate) leaf_rows: u64,
    /// The same where paths are pruned: a sweep of both edges takes some 20 ms. Smaller leaves have hardly a path to prune.
    pub(crate) pruned_leaf_rows: u64,
    /// Nodes that one node of the level above sums.
    pub(crate) fan_out: u32,
    /// Bytes of the nodes of a tree for 1024 of its spans, at most, beside those of one path to the root.
    pub(crate) kilorow_bytes: u64,
    /// New paths that a track may bring, whatever its spans.
    pub(crate) track_paths: u64,
    /// Spans of a track for each further new path, at least: with fewer, its paths hardly repeat.
    pub(crate) rows_per_path: u64,
    /// Paths of all tracks, at most: as many as a flame graph shows.
    pub(crate) paths_max: usize,
    /// The part that a path needs where whole histograms do not fit.
    pub(crate) pruned: PruneShape,
}

impl Default for PathShape {
    fn default() -> Self {
        Self {
            rows_min: 1 << 18,
            slice_rows: 1 << 17,
            leaf_rows: 1 << 15,
            pruned_leaf_rows: 1 << 17,
            fan_out: 4,
            kilorow_bytes: 512,
            track_paths: 4096,
            rows_per_path: 64,
            paths_max: 1 << 20,
            // A quarter of a pixel of a picture of 2,048, and two of them for numbers of spans.
            pruned: PruneShape { time_parts: 1 << 13, count_parts: 1 << 10, few_paths: 512 },
        }
    }
}

/// The tables of a ledger of paths; its nodes lie in the body of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PathLedgerIndex {
    /// By the numbers that nodes know paths by: the root first, parents before their children. Empty for pruned nodes,
    /// which have their paths with them.
    pub(crate) paths: Vec<PathRow>,
    /// Tracks that no node has from a slice on, in order, each with that slice.
    pub(crate) swept_from: Vec<(TrackIdx, u32)>,
    pub(crate) trees: LedgerIndex,
}

/// A ledger of paths that is ready to be asked.
#[derive(Debug)]
pub(crate) struct PathLedger {
    paths: Vec<PathRow>,
    swept_from: Vec<(TrackIdx, u32)>,
    trees: Ledger,
}

impl PathLedger {
    /// A ledger of nodes in a map; `None` if the index contradicts itself.
    #[must_use]
    pub(crate) fn new(index: PathLedgerIndex) -> Option<Self> {
        let PathLedgerIndex { paths, swept_from, trees } = index;
        let is_root = |row: &PathRow| row.parent == PathIdx::ROOT;
        let has_root = paths.first().is_none_or(is_root);
        let in_order = paths.iter().enumerate().skip(1).all(|(place, row)| row.parent.index() < place);
        let is_whole = has_root && in_order && swept_from.is_sorted_by_key(|&(track, _)| track);
        is_whole.then_some(Self { paths, swept_from, trees: Ledger::new(trees)? })
    }

    /// Whether nodes lack small paths, and have the others with them.
    #[must_use]
    pub(crate) fn is_pruned(&self) -> bool {
        self.paths.is_empty()
    }

    /// By the numbers of nodes, parents before their children; empty for pruned nodes.
    #[must_use]
    pub(crate) fn paths(&self) -> &[PathRow] {
        &self.paths
    }

    /// Tracks that no node has from a slice on, in order.
    #[must_use]
    pub(crate) fn swept_from(&self) -> &[(TrackIdx, u32)] {
        &self.swept_from
    }

    #[must_use]
    pub(crate) fn trees(&self) -> &Ledger {
        &self.trees
    }

    /// The paths of a pruned node; `None` if it is damaged.
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
