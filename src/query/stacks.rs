//! Call paths of a part of a trace as one weighted tree, the data of a flame graph. Spans weigh by their time within
//! the range, samples by number or by the weight of one event.
//!
//! The naive way lists, for each span, the names of the spans of its track that contain it, outermost first.

mod spans;

use rustc_hash::FxHashMap;

pub(crate) use self::spans::{exact_spans, own_sums_of_spans};
pub use self::spans::{from_spans, sweep_spans};
#[cfg(test)]
use super::path_limit::PATHS_MAX;
use super::samples::{CountWork, SampleEvent, SampleHistogram, SampleSum, StackSum};
use super::scope::Scope;
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::Progress;
use crate::model::{NameIdx, StackIdx, TrackIdx};
use crate::store::pruned_paths::OTHERS;

/// Marks a stack whose innermost frames have no node.
const FOLDED: u32 = 1 << 31;

/// Index into a [`CallTree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeIdx(pub u32);

impl NodeIdx {
    /// The root of all paths, which has no name.
    pub(crate) const ROOT: Self = Self(0);

    /// Converts to an array index.
    #[must_use]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A path: its parent and its innermost name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallNode {
    /// Always an earlier node; the root is its own parent.
    pub(crate) parent: NodeIdx,
    /// Innermost name of the path; [`OTHERS`] merges all paths below the parent
    /// that have no node of their own.
    pub(crate) name: NameIdx,
    /// Nanoseconds, samples, or units of an event, of this path and all its continuations.
    pub(crate) total: u64,
    /// The part of `total` of this path alone.
    pub(crate) own: u64,
    /// Spans or samples that end with this path.
    pub(crate) count: u64,
}

/// Paths that count for shorter ones because of a node limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FoldedPaths {
    pub(crate) paths: u64,
    /// Their weight; empty for spans, because the time of a parent includes the time of its children.
    pub(crate) sum: SampleSum,
}

impl FoldedPaths {
    /// Adds the paths of another tree.
    pub(crate) fn add(&mut self, other: Self) {
        self.paths += other.paths;
        self.sum.add(other.sum);
    }

    pub(crate) fn add_path(&mut self, sum: SampleSum) {
        self.add(Self { paths: 1, sum });
    }
}

/// Call paths with their weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallTree {
    nodes: Vec<CallNode>,
    index: FxHashMap<(NodeIdx, NameIdx), NodeIdx>,
    pub(crate) folded: FoldedPaths,
    /// The exact own sum of each name of sampled stacks, also of merged ones. Empty if each path has a node.
    pub(crate) own_sums: Vec<(NameIdx, SampleSum)>,
}

impl Default for CallTree {
    fn default() -> Self {
        let root = CallNode { parent: NodeIdx::ROOT, name: NameIdx::EMPTY, total: 0, own: 0, count: 0 };
        Self { nodes: vec![root], index: FxHashMap::default(), folded: FoldedPaths::default(), own_sums: Vec::new() }
    }
}

impl CallTree {
    /// Returns all nodes, the root first, parents before children.
    #[must_use]
    pub(crate) fn nodes(&self) -> &[CallNode] {
        &self.nodes
    }

    /// Returns the weight and number of all spans or samples.
    #[must_use]
    pub(crate) fn whole(&self) -> SampleSum {
        // Collapsed stacks may state counts that add up to more than 64 bits.
        let samples = self.nodes.iter().map(|node| node.count).fold(0, u64::saturating_add);
        SampleSum { samples, weight: self.nodes[0].total }
    }

    /// Returns the node of a name below `parent`, and adds it if it is new; `None` if the tree has `nodes_max` nodes.
    fn node(&mut self, parent: NodeIdx, name: NameIdx, nodes_max: usize) -> Option<NodeIdx> {
        if let Some(&node) = self.index.get(&(parent, name)) {
            return Some(node);
        }
        if self.nodes.len() >= nodes_max {
            return None;
        }
        let new = NodeIdx(self.nodes.len() as u32);
        self.nodes.push(CallNode { parent, name, total: 0, own: 0, count: 0 });
        self.index.insert((parent, name), new);
        Some(new)
    }

    /// Iterates over the names of a path, innermost first.
    #[cfg(test)]
    pub(crate) fn path(&self, node: NodeIdx) -> impl Iterator<Item = NameIdx> + '_ {
        let below_root = |node: NodeIdx| (node != NodeIdx::ROOT).then_some(node);
        let nodes = std::iter::successors(below_root(node), move |at| below_root(self.nodes[at.index()].parent));
        nodes.map(|node| self.nodes[node.index()].name)
    }

    /// Builds a tree of paths, given with the outermost name first.
    #[cfg(test)]
    pub(crate) fn from_paths<P: IntoIterator<Item = NameIdx>>(paths: impl Iterator<Item = (P, SampleSum)>) -> Self {
        let mut tree = Self::default();
        paths.for_each(|(path, sum)| tree.add(path, sum.weight, sum.samples));
        tree.add_up();
        tree
    }

    /// Adds the weight of a path, given with the outermost name first.
    #[cfg(test)]
    fn add(&mut self, path: impl IntoIterator<Item = NameIdx>, own: u64, count: u64) {
        let node = path.into_iter().fold(NodeIdx::ROOT, |parent, name| self.node(parent, name, PATHS_MAX).unwrap());
        let node = &mut self.nodes[node.index()];
        node.own = node.own.saturating_add(own);
        node.count += count;
    }

    /// Computes the totals of all paths from their own weights.
    fn add_up(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.total = node.own);
        for index in (1..self.nodes.len()).rev() {
            let (total, parent) = (self.nodes[index].total, self.nodes[index].parent);
            let sum = &mut self.nodes[parent.index()].total;
            *sum = sum.saturating_add(total);
        }
    }
}

/// The call paths of spans or of the samples of one event, and all events.
#[derive(Debug, Default)]
pub struct CallPaths {
    pub(crate) tree: CallTree,
    /// The events of the samples in order of first appearance, then the wanted event if the scope has no samples of it;
    /// empty for spans.
    pub(crate) events: Vec<SampleEvent>,
    /// Index of the tree's event; `None` for spans, and without samples.
    pub(crate) event: Option<usize>,
    /// Sum of all samples of each event.
    pub(crate) event_sums: Vec<SampleSum>,
    /// Sums of the event's samples by stack, in order of the stacks; empty for spans. Complete even if the tree is cut.
    pub(crate) stacks: Vec<StackSum>,
    /// Sums of the event's samples by track.
    pub(crate) tracks: Vec<(TrackIdx, SampleSum)>,
    /// Amount of work, for tests of its bounds.
    pub(crate) work: CountWork,
    /// Maximum that a path may lack, for its own weight and for the weight of its subtree. Zero for samples, and for
    /// spans if every path is counted; else small paths are merged into the others of their parents.
    pub(crate) missing: SampleSum,
    /// Whether all rows of the scope were read, so that another count has no more paths.
    pub(crate) is_swept: bool,
}

impl CallPaths {
    /// Returns whether every path has all of its weight.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.missing.is_empty()
    }

    /// Returns whether no further count has more paths.
    #[must_use]
    pub(crate) fn is_final(&self) -> bool {
        self.is_exact() || self.is_swept
    }

    /// Returns the number of ledger nodes read.
    #[must_use]
    pub fn ledger_nodes(&self) -> u64 {
        self.work.nodes
    }

    /// Returns the number of rows read one by one.
    #[must_use]
    pub fn rows_read(&self) -> u64 {
        self.work.rows
    }
}

/// Returns the call paths of the samples of `event` in `scope`; `None` means the default event.
///
/// # Errors
/// Returns `Cancelled` if cancelled.
pub fn from_samples(
    snapshot: &Snapshot,
    scope: &Scope,
    event: Option<&SampleEvent>,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<CallPaths, Cancelled> {
    let histogram = SampleHistogram::count(snapshot, scope, cancel, progress)?;
    let Some(event) = event else {
        return Ok(paths_of_event(snapshot, &histogram, histogram.default_event(snapshot)));
    };
    let wanted = histogram.events().iter().position(|it| it == event);
    let mut paths = paths_of_event(snapshot, &histogram, wanted);
    if wanted.is_none() {
        // The scope has no samples of the event.
        paths.event = Some(paths.events.len());
        paths.events.push(event.clone());
        paths.event_sums.push(SampleSum::default());
    }
    Ok(paths)
}

/// Returns the call paths of one event's samples in a histogram; none without an event.
fn paths_of_event(snapshot: &Snapshot, histogram: &SampleHistogram, event: Option<usize>) -> CallPaths {
    let stacks = event.map(|event| histogram.sorted_stacks(event)).unwrap_or_default();
    let tree = within_nodes(snapshot, &stacks, |_| false, snapshot.paths_max());
    let event_sums = (0..histogram.events().len()).map(|event| histogram.total(event)).collect();
    let tracks = event.map(|event| histogram.tracks(event)).unwrap_or_default();
    let (events, work) = (histogram.events().to_vec(), histogram.work);
    CallPaths { tree, events, event, event_sums, stacks, tracks, work, ..CallPaths::default() }
}

/// Returns the call paths of one event's samples, by weight. If there are too many, paths with a name that `is_kept`
/// come first, and others are merged.
#[must_use]
pub(crate) fn from_histogram(
    snapshot: &Snapshot,
    histogram: &SampleHistogram,
    event: usize,
    is_kept: impl FnMut(NameIdx) -> bool,
) -> CallTree {
    within_nodes(snapshot, &histogram.sorted_stacks(event), is_kept, snapshot.paths_max())
}

/// Like [`from_histogram`], of sorted stacks and with at most `nodes_max` nodes.
pub(super) fn within_nodes(
    snapshot: &Snapshot,
    stacks: &[StackSum],
    mut is_kept: impl FnMut(NameIdx) -> bool,
    nodes_max: usize,
) -> CallTree {
    let tree = tree_of_stacks(snapshot, stacks, nodes_max);
    if tree.folded.paths == 0 {
        return tree;
    }
    let table = snapshot.stacks();
    let mut has_kept = vec![false; table.len()];
    for (row, frame) in (1..).zip(table.rows()) {
        has_kept[row] = has_kept[frame.parent.index()] || is_kept(frame.name);
    }
    if !has_kept.contains(&true) {
        return tree;
    }
    drop(tree);
    let mut stacks = stacks.to_vec();
    stacks.sort_by_key(|&(stack, _)| !has_kept.get(snapshot.stack(stack).index()).is_some_and(|&is_kept| is_kept));
    tree_of_stacks(snapshot, &stacks, nodes_max)
}

/// Returns the paths of stacks. The first are complete; beyond `nodes_max` nodes, paths are merged into others.
fn tree_of_stacks(snapshot: &Snapshot, stacks: &[StackSum], nodes_max: usize) -> CallTree {
    let mut tree = CallTree::default();
    // The node of each visible stack's path, 0 if unset: each frame that stacks share is looked up once.
    let table = snapshot.stacks();
    let mut nodes: Vec<u32> = vec![0; table.len()];
    let mut path = Vec::new();
    for &(stack, sum) in stacks {
        let (mut above, mut folded) = (NodeIdx::ROOT, 0);
        for frame in table.path(snapshot.stack(stack)) {
            let node = nodes[frame.index()];
            if node != 0 {
                (above, folded) = (NodeIdx(node & !FOLDED), node & FOLDED);
                break;
            }
            path.push(frame);
        }
        for frame in path.drain(..).rev() {
            // A deeper frame of a cut path may have the name of another child of its last node.
            let node = if folded == 0 { tree.node(above, table.get(frame).name, nodes_max) } else { None };
            match node {
                Some(node) => above = node,
                None => folded = FOLDED,
            }
            nodes[frame.index()] = above.0 | folded;
        }
        if folded != 0 {
            tree.folded.add_path(sum);
            above = tree.node(above, OTHERS, usize::MAX).unwrap_or(above);
        }
        let node = &mut tree.nodes[above.index()];
        node.own = node.own.saturating_add(sum.weight);
        node.count += sum.samples;
    }
    tree.add_up();
    if tree.folded.paths > 0 {
        tree.own_sums = own_sums_of(snapshot, stacks);
    }
    tree
}

/// Sums stacks by their innermost name. Stacks without a frame have none.
fn own_sums_of(snapshot: &Snapshot, stacks: &[StackSum]) -> Vec<(NameIdx, SampleSum)> {
    let mut sums: FxHashMap<NameIdx, SampleSum> = FxHashMap::default();
    for &(stack, sum) in stacks {
        let frame = snapshot.stack(stack);
        if frame != StackIdx::EMPTY {
            sums.entry(snapshot.stacks().get(frame).name).or_default().add(sum);
        }
    }
    sums.into_iter().collect()
}

#[cfg(test)]
mod tests;
