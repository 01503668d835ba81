//! The paths above and below functions. Callers are the same weights, from the innermost function out. The heaviest
//! nodes are expanded first: a tree at its node limit lacks only narrow bars, and others have their sum.
//!
//! Equivalent to reversing the functions of each path and adding up by prefix.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::functions::FunctionIdx;
use super::tree::{FlameNode, FlameNodeIdx, FlameTree, FlameTreeBuilder, Measure};
use crate::base::cancel::{Cancel, Cancelled};
use crate::query::samples::SampleSum;

/// Limit for the steps of paths, after which no node gets callers: some seconds. A recursion of 65,536 levels takes two
/// billion, all other traces far less.
const STEPS_MAX: usize = 1 << 28;

/// Nodes between two checks for cancellation: some milliseconds.
const NODES_BETWEEN_CHECKS: usize = 64 * 1024;

/// A weight on its way out. Its next function is the function of node `at`.
#[derive(Debug, Clone, Copy)]
struct OutwardPath {
    at: FlameNodeIdx,
    sum: SampleSum,
}

/// Returns all paths from their innermost to their outermost function, or `Cancelled` if cancelled. Once there are
/// `nodes_max` nodes, all callers of a node are its others. The first level has all functions.
pub(super) fn inverted(
    tree: &FlameTree,
    measure: Measure,
    nodes_max: usize,
    cancel: &Cancel,
) -> Result<FlameTree, Cancelled> {
    let numbered = (0..).map(FlameNodeIdx).zip(tree.nodes());
    let paths = numbered.map(|(at, node)| OutwardPath { at, sum: node.own }).filter(|path| !path.sum.is_empty());
    expand(tree, paths.collect(), measure, (nodes_max, STEPS_MAX), cancel)
}

/// Returns the callers of a function, nearest first, with at most `nodes_max` nodes, as [`inverted`] does. A recursive
/// path counts once, at the outermost call. Returns `Cancelled` if cancelled.
pub(super) fn callers_of(
    tree: &FlameTree,
    is_wanted: impl Fn(FunctionIdx) -> bool,
    measure: Measure,
    nodes_max: usize,
    cancel: &Cancel,
) -> Result<FlameTree, Cancelled> {
    let starts = outermost(tree, is_wanted);
    let paths = starts.into_iter().map(|at| OutwardPath { at, sum: tree.node(at).total });
    expand(tree, paths.collect(), measure, (nodes_max, STEPS_MAX), cancel)
}

/// Returns the paths with a function, from its outermost call on. Children are not sorted yet. Returns `Cancelled` if
/// cancelled.
pub(super) fn paths_below(
    tree: &FlameTree,
    is_wanted: impl Fn(FunctionIdx) -> bool,
    cancel: &Cancel,
) -> Result<FlameTree, Cancelled> {
    let mut below = FlameTreeBuilder::default();
    let mut targets: Vec<Option<FlameNodeIdx>> = Vec::with_capacity(tree.nodes().len());
    for node in tree.nodes() {
        if targets.len().is_multiple_of(NODES_BETWEEN_CHECKS) {
            cancel.check()?;
        }
        let inside = targets.get(node.parent.index()).copied().flatten();
        let above = inside.or_else(|| is_wanted(node.function).then_some(FlameNodeIdx::ROOT));
        let target = above.map(|above| below.node(above, node.function));
        if let Some(target) = target {
            below.tree.own_mut(target).add(node.own);
        }
        targets.push(target);
    }
    Ok(below.finish())
}

/// Returns the tree with the sums of the paths with a function alone.
pub(super) fn paths_around(mut tree: FlameTree, is_wanted: impl Fn(FunctionIdx) -> bool) -> FlameTree {
    let mut has_function = vec![false; tree.nodes().len()];
    for node in (0..tree.nodes().len() as u32).map(FlameNodeIdx) {
        let FlameNode { parent, function, .. } = *tree.node(node);
        has_function[node.index()] = has_function[parent.index()] || is_wanted(function);
        if !has_function[node.index()] {
            *tree.own_mut(node) = SampleSum::default();
        }
    }
    tree.add_up();
    tree
}

/// Returns the nodes of matching functions that have no matching ancestor.
fn outermost(tree: &FlameTree, is_wanted: impl Fn(FunctionIdx) -> bool) -> Vec<FlameNodeIdx> {
    let mut is_below = vec![false; tree.nodes().len()];
    let mut starts = Vec::new();
    for (number, node) in (0..).zip(tree.nodes()).skip(1) {
        let is_inside = is_below[node.parent.index()];
        let is_wanted = is_wanted(node.function);
        is_below[number as usize] = is_inside || is_wanted;
        if is_wanted && !is_inside {
            starts.push(FlameNodeIdx(number));
        }
    }
    starts
}

/// A node to expand: its weight, and the range of its paths.
type WaitingNode = (u64, Reverse<FlameNodeIdx>, Reverse<(usize, usize)>);

/// Splits paths by their next function, the heaviest node first, until the tree has `nodes_max` nodes, or the paths
/// have taken `steps_max` steps.
fn expand(
    tree: &FlameTree,
    mut paths: Vec<OutwardPath>,
    measure: Measure,
    (nodes_max, steps_max): (usize, usize),
    cancel: &Cancel,
) -> Result<FlameTree, Cancelled> {
    let mut outward = FlameTree::default();
    paths.iter().for_each(|path| outward.root_total_mut().add(path.sum));
    let mut waiting: BinaryHeap<WaitingNode> = BinaryHeap::new();
    waiting.push((u64::MAX, Reverse(FlameNodeIdx::ROOT), Reverse((0, paths.len()))));
    let mut steps = 0_usize;
    while let Some((_, Reverse(node), Reverse((first, end)))) = waiting.pop() {
        cancel.check()?;
        if outward.nodes().len() >= nodes_max || steps >= steps_max {
            let (mut own_sum, mut folded_sum) = (SampleSum::default(), SampleSum::default());
            for path in &paths[first..end] {
                let sum = if path.at == FlameNodeIdx::ROOT { &mut own_sum } else { &mut folded_sum };
                sum.add(path.sum);
            }
            outward.own_mut(node).add(own_sum);
            if !folded_sum.is_empty() {
                outward.folded.add_path(folded_sum);
                let others = outward.push(node, FunctionIdx::OTHERS, folded_sum);
                outward.own_mut(others).add(folded_sum);
            }
            continue;
        }
        steps += end - first;
        for Range { start, end } in take_apart(tree, &mut paths[first..end], outward.own_mut(node)) {
            let group = &mut paths[first + start..first + end];
            let function = tree.node(group[0].at).function;
            let mut total = SampleSum::default();
            for path in &mut *group {
                total.add(path.sum);
                path.at = tree.node(path.at).parent;
            }
            let child = outward.push(node, function, total);
            waiting.push((measure.amount(total), Reverse(child), Reverse((first + start, first + end))));
        }
    }
    Ok(outward)
}

/// Sorts paths by their next function, and returns the range of each. Paths without one are added to `own_sum`; paths
/// at the same node are merged.
fn take_apart(tree: &FlameTree, paths: &mut [OutwardPath], own_sum: &mut SampleSum) -> Vec<Range<usize>> {
    let function = |path: &OutwardPath| {
        let FlameNode { function, .. } = *tree.node(path.at);
        function
    };
    paths.sort_unstable_by_key(|path| (function(path), path.at));
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut path_count = 0;
    for index in 0..paths.len() {
        let path = paths[index];
        if path.at == FlameNodeIdx::ROOT {
            own_sum.add(path.sum);
            continue;
        }
        let is_same = |group: &Range<usize>| function(&paths[group.end - 1]) == function(&path);
        match groups.last_mut().filter(|group| is_same(group)) {
            Some(group) if paths[group.end - 1].at == path.at => {
                paths[group.end - 1].sum.add(path.sum);
                continue;
            }
            Some(group) => group.end += 1,
            None => groups.push(path_count..path_count + 1),
        }
        paths[path_count] = path;
        path_count += 1;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::stacks::FoldedPaths;

    #[test]
    fn a_tree_that_would_be_too_large_has_its_heaviest_nodes_with_their_exact_sums() {
        let mut tree = FlameTree::default();
        for function in 1..=20_u32 {
            let caller = tree.push(FlameNodeIdx::ROOT, FunctionIdx(100 + function), SampleSum::default());
            let node = tree.push(caller, FunctionIdx(function), SampleSum::default());
            tree.own_mut(node).add(SampleSum { samples: 1, weight: u64::from(function) });
        }
        tree.add_up();
        let paths = |tree: &FlameTree| {
            let numbered = (0..).map(FlameNodeIdx).zip(tree.nodes());
            numbered.map(|(at, node)| OutwardPath { at, sum: node.own }).filter(|path| !path.sum.is_empty()).collect()
        };
        let cancel = Cancel::default();
        let whole = expand(&tree, paths(&tree), Measure::Weight, (1000, usize::MAX), &cancel).unwrap();
        assert_eq!((whole.nodes().len(), whole.folded), (41, FoldedPaths::default()));
        let own_sum = |tree: &FlameTree| tree.nodes().iter().map(|node| node.own.weight).sum::<u64>();
        assert_eq!(own_sum(&whole), 210);
        let part = expand(&tree, paths(&tree), Measure::Weight, (25, usize::MAX), &cancel).unwrap();
        let folded = FoldedPaths { paths: 16, sum: SampleSum { samples: 16, weight: 136 } };
        assert_eq!((part.nodes().len(), part.folded, own_sum(&part)), (25 + 16, folded, 210));
        assert_eq!(part.others(), folded.sum, "a function whose callers are not known has no own weight");
        assert_eq!(part.nodes()[0].total, SampleSum { samples: 20, weight: 210 });
        let callers: Vec<_> = part.nodes()[21..25].iter().map(|node| (node.function.0, node.total.weight)).collect();
        assert_eq!(callers, [(120, 20), (119, 19), (118, 18), (117, 17)]);
    }

    #[test]
    fn a_deep_recursion_is_cut_after_its_steps_and_keeps_its_sums() {
        let mut tree = FlameTree::default();
        let mut node = FlameNodeIdx::ROOT;
        for _ in 0..100 {
            node = tree.push(node, FunctionIdx(7), SampleSum::default());
            tree.own_mut(node).add(SampleSum { samples: 1, weight: 1 });
        }
        tree.add_up();
        let paths = (1..=100).map(|at| OutwardPath { at: FlameNodeIdx(at), sum: SampleSum { samples: 1, weight: 1 } });
        let cut =
            expand(&tree, paths.collect(), Measure::Weight, (1000, 250), &Cancel::default()).expect("not cancelled");
        let totals: Vec<u64> = cut.nodes().iter().map(|node| node.total.weight).collect();
        assert_eq!(totals, [100, 100, 99, 98, 97], "three levels take 299 steps");
        assert_eq!(cut.others(), SampleSum { samples: 97, weight: 97 });
        assert_eq!(cut.folded, FoldedPaths { paths: 1, sum: SampleSum { samples: 97, weight: 97 } });
        assert_eq!(cut.nodes().iter().map(|node| node.own.weight).sum::<u64>(), 100);
    }
}
