//! A ledger tree whose nodes take a bounded number of bytes per row. If items rarely repeat, a leaf grows until they
//! do. Independent of the meaning of sums.

use std::io;

use super::append::AppendFile;
use super::ledger::{NodeContent, TreeIndex};
use super::ledger_tree::TreeBuilder;
use crate::model::TrackIdx;

/// Estimated bytes per item of a node.
const ITEM_BYTES: u64 = 8;

pub(super) struct BoundedTree<C> {
    pub(super) nodes: TreeBuilder<C>,
    /// Rows added so far; the limit of bytes grows with them.
    rows: u64,
    /// Limit for the bytes of the nodes, per 1024 rows.
    kilorow_bytes: u64,
}

impl<C: NodeContent> BoundedTree<C> {
    /// Creates a tree whose leaves cover at least `leaf_rows` rows.
    pub(super) fn new(track: Option<TrackIdx>, fan_out: u32, leaf_rows: u64, kilorow_bytes: u64) -> Self {
        let mut nodes = TreeBuilder::new(track, fan_out);
        nodes.leaf_rows = leaf_rows;
        Self { nodes, rows: 0, kilorow_bytes }
    }

    /// Adds the content of a slice in which `rows` rows start. Slices come in order; empty ones may be skipped.
    pub(super) fn add_slice(&mut self, content: &C, rows: u64, slice: usize) -> Result<(), postcard::Error> {
        self.rows += rows;
        self.nodes.leaf.merge(content);
        self.nodes.rows += rows;
        if self.nodes.rows >= self.nodes.leaf_rows && self.has_room() {
            self.nodes.close_leaf(slice + 1)
        } else {
            Ok(())
        }
    }

    /// Returns whether the growing leaf is within the limit, so that it may end here.
    fn has_room(&self) -> bool {
        let leaf_bytes = ITEM_BYTES * self.nodes.leaf.items() as u64;
        let bytes_max = u128::from(self.kilorow_bytes) * u128::from(self.rows) / 1024;
        u128::from(self.nodes.node_bytes + leaf_bytes) <= bytes_max
    }

    /// Counts the items of the growing nodes, which determine the memory of the tree.
    pub(super) fn growing_items(&self) -> usize {
        self.nodes.growing().map(C::items).sum()
    }

    /// Ends the tree after `slices` slices. A last leaf over the limit is left out. Returns `None` if no other leaf
    /// exists.
    pub(super) fn finish(mut self, slices: usize, out: &mut AppendFile) -> io::Result<Option<TreeIndex>> {
        if self.has_room() {
            self.nodes.close_last_leaf(slices).map_err(io::Error::other)?;
        }
        if self.nodes.has_leaves() { self.nodes.finish(out).map(Some) } else { Ok(None) }
    }
}

/// Drops the largest trees of single tracks until the growing trees fit in `items_max`. Returns false if the tree of
/// all tracks alone does not fit.
pub(super) fn fit<'t, C: NodeContent + 't>(
    whole: &BoundedTree<C>,
    trees: impl Iterator<Item = &'t mut Option<Box<BoundedTree<C>>>>,
    items_max: usize,
) -> bool {
    let Some(mut left) = items_max.checked_sub(whole.growing_items()) else { return false };
    let mut trees: Vec<_> = trees.filter(|tree| tree.is_some()).collect();
    trees.sort_by_cached_key(|tree| tree.as_ref().map_or(0, |tree| tree.growing_items()));
    for tree in trees {
        match left.checked_sub(tree.as_ref().map_or(0, |tree| tree.growing_items())) {
            Some(rest) => left = rest,
            None => *tree = None,
        }
    }
    true
}
