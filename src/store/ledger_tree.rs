//! Builds one tree of a ledger, from the first leaf to the root. Independent of the meaning of sums.

use std::io;

use super::append::AppendFile;
use super::ledger::{NodeContent, NodeRecord, TreeIndex};
use crate::model::TrackIdx;

/// A tree that grows leaf by leaf.
pub(super) struct TreeBuilder<C> {
    fan_out: usize,
    /// Minimum number of rows per leaf.
    pub(super) leaf_rows: u64,
    /// The leaf under construction: the sums of all rows since the last closed leaf.
    pub(super) leaf: C,
    /// Rows that start in that leaf.
    pub(super) rows: u64,
    /// Bytes of all closed nodes.
    pub(super) node_bytes: u64,
    tree: TreeIndex,
    levels: Vec<LevelBuilder<C>>,
    /// Packed nodes to be written, with the level and index of each.
    packed: Vec<u8>,
    unwritten: Vec<(usize, usize)>,
}

/// The closed nodes of one level, and the parent under construction.
struct LevelBuilder<C> {
    records: Vec<NodeRecord>,
    parent: C,
    children: usize,
}

impl<C: NodeContent> TreeBuilder<C> {
    pub(super) fn new(track: Option<TrackIdx>, fan_out: u32) -> Self {
        Self {
            fan_out: (fan_out as usize).max(2),
            leaf_rows: 0,
            leaf: C::default(),
            rows: 0,
            node_bytes: 0,
            tree: TreeIndex { track, leaves: vec![0], nodes: Vec::new() },
            levels: Vec::new(),
            packed: Vec::new(),
            unwritten: Vec::new(),
        }
    }

    /// Closes the current leaf before the slice `end`.
    pub(super) fn close_leaf(&mut self, end: usize) -> Result<(), postcard::Error> {
        // A trace has thousands of rows per slice, so slices fit 32 bits.
        self.tree.leaves.push(u32::try_from(end).unwrap_or(u32::MAX));
        self.rows = 0;
        let leaf = std::mem::take(&mut self.leaf);
        self.push_node(0, leaf)
    }

    fn push_node(&mut self, level: usize, mut content: C) -> Result<(), postcard::Error> {
        content.settle(level);
        if self.levels.len() == level {
            self.levels.push(LevelBuilder { records: Vec::new(), parent: C::default(), children: 0 });
        }
        let before = self.packed.len();
        let record = NodeRecord::pack(&content, before as u64, &mut self.packed)?;
        self.node_bytes += (self.packed.len() - before) as u64;
        let growing = &mut self.levels[level];
        self.unwritten.push((level, growing.records.len()));
        growing.records.push(record);
        growing.parent.merge(&content);
        growing.children += 1;
        if growing.children == self.fan_out { self.close_parent(level) } else { Ok(()) }
    }

    fn close_parent(&mut self, level: usize) -> Result<(), postcard::Error> {
        let parent = std::mem::take(&mut self.levels[level].parent);
        self.levels[level].children = 0;
        self.push_node(level + 1, parent)
    }

    /// Appends the packed nodes to the file, and sets the offsets of their records.
    pub(super) fn write(&mut self, out: &mut AppendFile) -> io::Result<()> {
        if self.packed.is_empty() {
            return Ok(());
        }
        let offset = out.append(&self.packed)?;
        for (level, number) in self.unwritten.drain(..) {
            self.levels[level].records[number].offset += offset;
        }
        self.packed.clear();
        Ok(())
    }

    /// Closes the last leaf after the last slice, if it is open.
    pub(super) fn close_last_leaf(&mut self, slices: usize) -> Result<(), postcard::Error> {
        let is_open = self.tree.leaves.last().is_none_or(|&end| (end as usize) < slices);
        if is_open { self.close_leaf(slices) } else { Ok(()) }
    }

    /// Returns whether any leaf is closed.
    pub(super) fn has_leaves(&self) -> bool {
        self.tree.leaves.len() > 1
    }

    /// Iterates over the nodes under construction, which determine the memory of the tree.
    pub(super) fn growing(&self) -> impl Iterator<Item = &C> {
        std::iter::once(&self.leaf).chain(self.levels.iter().map(|level| &level.parent))
    }

    /// Closes the nodes above the leaves, up to the root. A leaf that is still open is dropped.
    pub(super) fn finish(mut self, out: &mut AppendFile) -> io::Result<TreeIndex> {
        let mut level = 0;
        while self.levels.get(level).is_some_and(|growing| growing.records.len() > 1) {
            if self.levels[level].children > 0 {
                self.close_parent(level).map_err(io::Error::other)?;
            }
            level += 1;
        }
        self.write(out)?;
        self.tree.nodes = self.levels.into_iter().flat_map(|level| level.records).collect();
        Ok(self.tree)
    }
}
