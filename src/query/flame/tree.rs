//! A tree of functions with the sums of their subtrees. Children are sorted heaviest first, so drawing visits only the
//! bars that it draws.

use rustc_hash::FxHashMap;

use super::functions::FunctionIdx;
use crate::query::samples::SampleSum;
use crate::query::stacks::FoldedPaths;

/// Index into a [`FlameTree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FlameNodeIdx(pub u32);

impl FlameNodeIdx {
    /// The root, which has no function.
    pub(crate) const ROOT: Self = Self(0);

    #[must_use]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The number that determines widths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Measure {
    /// The time of spans, or the weight of samples in the unit of their event.
    #[default]
    Weight,
    /// The number of spans or samples.
    Count,
}

impl Measure {
    #[must_use]
    pub(crate) fn amount(self, sum: SampleSum) -> u64 {
        match self {
            Self::Weight => sum.weight,
            Self::Count => sum.samples,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlameNode {
    /// Always an earlier node; the root is its own parent.
    pub(crate) parent: FlameNodeIdx,
    pub(crate) function: FunctionIdx,
    /// Sum of this path and all its continuations.
    pub(crate) total: SampleSum,
    /// Sum of this path without its children.
    pub(crate) own: SampleSum,
}

#[derive(Debug)]
pub(crate) struct FlameTree {
    nodes: Vec<FlameNode>,
    /// Children of all nodes, grouped by parent.
    children: Vec<FlameNodeIdx>,
    /// Index of each node's first child, and the end of all.
    first_child: Vec<u32>,
    /// Nodes with an others child, in order.
    with_others: Vec<FlameNodeIdx>,
    /// Nodes without children because of the node limit.
    pub(super) folded: FoldedPaths,
}

impl Default for FlameTree {
    fn default() -> Self {
        let none = SampleSum::default();
        let root = FlameNode { parent: FlameNodeIdx::ROOT, function: FunctionIdx::ROOT, total: none, own: none };
        Self {
            nodes: vec![root],
            children: Vec::new(),
            first_child: vec![0, 0],
            with_others: Vec::new(),
            folded: FoldedPaths::default(),
        }
    }
}

impl FlameTree {
    /// Returns all nodes, the root first, parents before children.
    #[must_use]
    pub(crate) fn nodes(&self) -> &[FlameNode] {
        &self.nodes
    }

    #[must_use]
    pub(crate) fn node(&self, node: FlameNodeIdx) -> &FlameNode {
        &self.nodes[node.index()]
    }

    /// Returns the children of a node, heaviest first.
    #[must_use]
    pub(crate) fn children(&self, node: FlameNodeIdx) -> &[FlameNodeIdx] {
        let [first, end] = [node.index(), node.index() + 1].map(|at| self.first_child[at] as usize);
        &self.children[first..end]
    }

    /// Returns whether one of the children stands for the paths directly below that have no node of their own.
    #[must_use]
    pub(crate) fn has_others(&self, node: FlameNodeIdx) -> bool {
        self.with_others.binary_search(&node).is_ok()
    }

    /// Returns the sum of all paths without a node of their own.
    #[must_use]
    pub(crate) fn others(&self) -> SampleSum {
        let mut sum = SampleSum::default();
        let others = self.nodes.iter().filter(|node| node.function == FunctionIdx::OTHERS);
        others.for_each(|node| sum.add(node.own));
        sum
    }

    /// Returns the nodes from the root's child down to a node; empty for the root.
    #[must_use]
    pub(crate) fn path(&self, node: FlameNodeIdx) -> Vec<FlameNodeIdx> {
        let below_root = |node: FlameNodeIdx| (node != FlameNodeIdx::ROOT).then_some(node);
        let nodes = std::iter::successors(below_root(node), |node| below_root(self.node(*node).parent));
        let mut path: Vec<_> = nodes.collect();
        path.reverse();
        path
    }

    pub(super) fn push(&mut self, parent: FlameNodeIdx, function: FunctionIdx, total: SampleSum) -> FlameNodeIdx {
        let new = FlameNodeIdx(self.nodes.len() as u32);
        self.nodes.push(FlameNode { parent, function, total, own: SampleSum::default() });
        new
    }

    pub(super) fn own_mut(&mut self, node: FlameNodeIdx) -> &mut SampleSum {
        &mut self.nodes[node.index()].own
    }

    pub(super) fn root_total_mut(&mut self) -> &mut SampleSum {
        &mut self.nodes[0].total
    }

    /// Sets the own sums of all others to zero. Adds others with `rest` below the root, and `functions` below these.
    pub(super) fn replace_others(
        &mut self,
        rest: SampleSum,
        functions: impl Iterator<Item = (FunctionIdx, SampleSum)>,
    ) {
        let others = self.nodes.iter_mut().filter(|node| node.function == FunctionIdx::OTHERS);
        others.for_each(|node| node.own = SampleSum::default());
        let others = self.push(FlameNodeIdx::ROOT, FunctionIdx::OTHERS, rest);
        *self.own_mut(others) = rest;
        for (function, sum) in functions {
            let node = self.push(others, function, sum);
            *self.own_mut(node) = sum;
        }
        self.add_up();
    }

    /// Computes the totals of all nodes from their own sums.
    pub(super) fn add_up(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.total = node.own);
        for index in (1..self.nodes.len()).rev() {
            let FlameNode { parent, total, .. } = self.nodes[index];
            self.nodes[parent.index()].total.add(total);
        }
    }

    /// Builds and sorts the children of all nodes.
    pub(super) fn sort_children(&mut self, measure: Measure) {
        let mut order: Vec<_> = (1..self.nodes.len() as u32).map(FlameNodeIdx).collect();
        let key = |node: &FlameNodeIdx| {
            let FlameNode { parent, function, total, .. } = self.nodes[node.index()];
            (parent, std::cmp::Reverse(measure.amount(total)), function, *node)
        };
        order.sort_unstable_by_key(key);
        let mut first_child = vec![0_u32; self.nodes.len() + 1];
        for node in self.nodes.iter().skip(1) {
            first_child[node.parent.index() + 1] += 1;
        }
        let mut sum = 0;
        for first in &mut first_child {
            sum += *first;
            *first = sum;
        }
        (self.children, self.first_child) = (order, first_child);
        let others = self.nodes.iter().filter(|node| node.function == FunctionIdx::OTHERS);
        self.with_others = others.map(|node| node.parent).collect();
        self.with_others.sort_unstable();
    }
}

/// Builds a [`FlameTree`] whose nodes are looked up by parent and function.
#[derive(Debug, Default)]
pub(super) struct FlameTreeBuilder {
    pub(super) tree: FlameTree,
    index: FxHashMap<(FlameNodeIdx, FunctionIdx), FlameNodeIdx>,
}

impl FlameTreeBuilder {
    /// Returns the node of a function below `parent`, and adds it if it is new.
    pub(super) fn node(&mut self, parent: FlameNodeIdx, function: FunctionIdx) -> FlameNodeIdx {
        let tree = &mut self.tree;
        *self.index.entry((parent, function)).or_insert_with(|| tree.push(parent, function, SampleSum::default()))
    }

    pub(super) fn finish(mut self) -> FlameTree {
        self.tree.add_up();
        self.tree
    }
}

/// Builds a tree with one function per node, from the parents and own sums of all nodes after the root.
#[cfg(test)]
pub(crate) fn test_tree(nodes: impl Iterator<Item = (u32, SampleSum)>) -> FlameTree {
    let functions = FunctionIdx::OTHERS.0 + 1..;
    tree_of_functions(functions.zip(nodes).map(|(function, (parent, own))| (parent, function, own)))
}

/// Builds a tree from the parents, functions and own sums of all nodes after the root.
#[cfg(test)]
pub(crate) fn tree_of_functions(nodes: impl Iterator<Item = (u32, u32, SampleSum)>) -> FlameTree {
    let mut tree = FlameTree::default();
    for (parent, function, own) in nodes {
        let node = tree.push(FlameNodeIdx(parent), FunctionIdx(function), own);
        *tree.own_mut(node) = own;
    }
    tree.add_up();
    tree.sort_children(Measure::Weight);
    tree
}
