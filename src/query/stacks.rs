//! Call paths of a part of a capture as one tree with weights: of spans by their time within the range, of samples by
//! how many there are, or by the weights of one event. What a flame graph draws.
//!
//! The slow answer: for each span, the names of the spans of its track that hold all of it, outermost first.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::rows::SortedRows;
use super::samples::{SampleEvent, SampleHistogram, SampleSum, SampleWork};
use super::scope::Scope;
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::ends::DepthEnds;
use crate::base::progress::{Progress, Stage};
use crate::model::{NameIdx, TrackIdx};
use crate::store::{LaneIdx, LaneKind};

/// The most nodes of a tree: 64 MiB. Deeper paths beyond that count for the node that they would hang from.
const NODES_MAX: usize = 1 << 20;

/// Rows between two looks at the request to stop: some milliseconds.
const ROWS_BETWEEN_CHECKS: usize = 64 * 1024;

/// A row of a [`CallTree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeIdx(pub u32);

impl NodeIdx {
    /// The root of all paths, without a name.
    pub(crate) const ROOT: Self = Self(0);

    /// As a position in an array.
    #[must_use]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A path: that of its parent, and a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallNode {
    /// Always an earlier node; of the root, itself.
    pub(crate) parent: NodeIdx,
    /// The innermost name of the path.
    pub(crate) name: NameIdx,
    /// Nanoseconds of spans, samples, or units of an event, of this path and of all that go on from it.
    pub(crate) total: u64,
    /// The part of `total` of this path alone.
    pub(crate) own: u64,
    /// Spans or samples that end with this path.
    pub(crate) count: u64,
}

/// Call paths with their weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallTree {
    nodes: Vec<CallNode>,
    index: FxHashMap<(NodeIdx, NameIdx), NodeIdx>,
    /// Spans whose paths would have been too many.
    pub(crate) folded: u64,
}

impl Default for CallTree {
    fn default() -> Self {
        let root = CallNode { parent: NodeIdx::ROOT, name: NameIdx::EMPTY, total: 0, own: 0, count: 0 };
        Self { nodes: vec![root], index: FxHashMap::default(), folded: 0 }
    }
}

impl CallTree {
    /// All nodes, the root first, parents before their children.
    #[must_use]
    pub(crate) fn nodes(&self) -> &[CallNode] {
        &self.nodes
    }

    /// The weight of all paths, and how many spans or samples have it.
    #[must_use]
    pub(crate) fn whole(&self) -> SampleSum {
        SampleSum { samples: self.nodes.iter().map(|node| node.count).sum(), weight: self.nodes[0].total }
    }

    /// The node of a name below another, new or known; the other itself if there are too many.
    fn node(&mut self, parent: NodeIdx, name: NameIdx) -> NodeIdx {
        if let Some(&known) = self.index.get(&(parent, name)) {
            return known;
        }
        if self.nodes.len() >= NODES_MAX {
            self.folded += 1;
            return parent;
        }
        let new = NodeIdx(self.nodes.len() as u32);
        self.nodes.push(CallNode { parent, name, total: 0, own: 0, count: 0 });
        self.index.insert((parent, name), new);
        new
    }

    /// Adds the paths of another tree.
    fn merge(&mut self, other: &Self) {
        let mut places = vec![NodeIdx::ROOT; other.nodes.len()];
        for (place, node) in other.nodes.iter().enumerate().skip(1) {
            let own = self.node(places[node.parent.index()], node.name);
            places[place] = own;
            let known = &mut self.nodes[own.index()];
            known.own = known.own.saturating_add(node.own);
            known.count += node.count;
        }
        self.folded += other.folded;
    }

    /// The names of a path, innermost first.
    #[cfg(test)]
    pub(crate) fn path(&self, node: NodeIdx) -> impl Iterator<Item = NameIdx> + '_ {
        let below_root = |node: NodeIdx| (node != NodeIdx::ROOT).then_some(node);
        let nodes = std::iter::successors(below_root(node), move |at| below_root(self.nodes[at.index()].parent));
        nodes.map(|node| self.nodes[node.index()].name)
    }

    /// A tree of paths, whose outermost name comes first.
    #[cfg(test)]
    pub(crate) fn from_paths<P: IntoIterator<Item = NameIdx>>(paths: impl Iterator<Item = (P, SampleSum)>) -> Self {
        let mut tree = Self::default();
        paths.for_each(|(path, sum)| tree.add(path, sum.weight, sum.samples));
        tree.add_up();
        tree
    }

    /// Adds what ends with a path, whose outermost name comes first.
    #[cfg(test)]
    fn add(&mut self, path: impl IntoIterator<Item = NameIdx>, own: u64, count: u64) {
        let node = path.into_iter().fold(NodeIdx::ROOT, |parent, name| self.node(parent, name));
        let node = &mut self.nodes[node.index()];
        node.own = node.own.saturating_add(own);
        node.count += count;
    }

    /// Adds up the weights of all paths from their own.
    fn add_up(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.total = node.own);
        for place in (1..self.nodes.len()).rev() {
            let (total, parent) = (self.nodes[place].total, self.nodes[place].parent);
            let sum = &mut self.nodes[parent.index()].total;
            *sum = sum.saturating_add(total);
        }
    }
}

/// The call paths of the spans in `scope`. `progress` counts tracks.
///
/// # Errors
/// If it was asked to stop.
pub fn from_spans(
    snapshot: &Snapshot,
    scope: &Scope,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<CallTree, Cancelled> {
    let tracks = scope.event_tracks(snapshot);
    progress.begin(Stage::Counting, tracks.len() as u64);
    let trees = tracks.into_par_iter().map(|track| {
        let tree = from_track(snapshot, track, scope, cancel)?;
        progress.advance(1);
        Ok(tree)
    });
    let mut whole = trees.try_reduce(CallTree::default, |mut left, right| {
        if left.nodes.len() >= right.nodes.len() {
            left.merge(&right);
            return Ok(left);
        }
        let mut right = right;
        right.merge(&left);
        Ok(right)
    })?;
    whole.add_up();
    Ok(whole)
}

/// The call paths of spans or of the samples of one event, and the events that there are.
#[derive(Debug, Default)]
pub struct CallPaths {
    pub(crate) tree: CallTree,
    /// The events of the samples in order of first appearance; none of spans.
    pub(crate) events: Vec<SampleEvent>,
    /// The event of the tree; `None` of spans, and without samples.
    pub(crate) event: Option<usize>,
    /// The sum of all samples of each event.
    pub(crate) event_sums: Vec<SampleSum>,
    /// The sums of the samples of the event by their tracks.
    pub(crate) tracks: Vec<(TrackIdx, SampleSum)>,
    /// Work that counting the samples took.
    pub(crate) work: SampleWork,
}

impl CallPaths {
    /// How many nodes of the ledger of samples were read.
    #[must_use]
    pub fn ledger_nodes(&self) -> u64 {
        self.work.nodes
    }
}

/// The call paths of the samples in `scope` of one event: of the default one, where there are none of `event`.
///
/// # Errors
/// If it was asked to stop.
pub fn from_samples(
    snapshot: &Snapshot,
    scope: &Scope,
    event: Option<&SampleEvent>,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<CallPaths, Cancelled> {
    let histogram = SampleHistogram::count(snapshot, scope, cancel, progress)?;
    let wanted = histogram.events().iter().position(|it| Some(it) == event);
    let event = wanted.or_else(|| histogram.default_event(snapshot));
    let tree = event.map(|event| from_histogram(snapshot, &histogram, event)).unwrap_or_default();
    let event_sums = (0..histogram.events().len()).map(|event| histogram.total(event)).collect();
    let tracks = event.map(|event| histogram.tracks(event)).unwrap_or_default();
    let (events, work) = (histogram.events().to_vec(), histogram.work);
    Ok(CallPaths { tree, events, event, event_sums, tracks, work })
}

/// The call paths of the samples of one event, by their weights.
#[must_use]
pub(crate) fn from_histogram(snapshot: &Snapshot, histogram: &SampleHistogram, event: usize) -> CallTree {
    let mut stacks: Vec<_> = histogram.stacks(event).collect();
    stacks.sort_unstable_by_key(|&(stack, _)| stack);
    let mut tree = CallTree::default();
    // By shown stack, the node of its path, 0 where it is not known yet: each frame that stacks share is looked up
    // once.
    let table = snapshot.stacks();
    let mut nodes: Vec<u32> = vec![0; table.len()];
    let mut path = Vec::new();
    for (stack, sum) in stacks {
        let mut above = NodeIdx::ROOT;
        for frame in table.path(snapshot.stack(stack)) {
            above = NodeIdx(nodes[frame.index()]);
            if above != NodeIdx::ROOT {
                break;
            }
            path.push(frame);
        }
        for frame in path.drain(..).rev() {
            above = tree.node(above, table.get(frame).name);
            nodes[frame.index()] = above.0;
        }
        let node = &mut tree.nodes[above.index()];
        node.own = node.own.saturating_add(sum.weight);
        node.count += sum.samples;
    }
    tree.add_up();
    tree
}

fn from_track(snapshot: &Snapshot, track: TrackIdx, scope: &Scope, cancel: &Cancel) -> Result<CallTree, Cancelled> {
    let is_spans = |&lane: &LaneIdx| snapshot.lane(lane).kind == LaneKind::Spans;
    let lanes = snapshot.lanes_of(track).map(LaneIdx).filter(is_spans);
    let mut tree = CallTree::default();
    // By depth: the node and the end of the last span that began.
    let mut nodes: Vec<NodeIdx> = Vec::new();
    let mut ends = DepthEnds::default();
    let (from_ns, to_ns) = (scope.from_ns.unwrap_or(i64::MIN), scope.to_ns.unwrap_or(i64::MAX));
    for (number, row) in SortedRows::new(snapshot, lanes, scope.from_ns, scope.to_ns).enumerate() {
        if number.is_multiple_of(ROWS_BETWEEN_CHECKS) {
            cancel.check()?;
        }
        let depth = usize::from(snapshot.lane(row.index.lane).depth);
        let (start_ns, end_ns) = (row.row.start_ns, row.row.start_ns.saturating_add_unsigned(row.row.value));
        let parent = ends.deepest(depth, end_ns).map_or(NodeIdx::ROOT, |outer| nodes[outer]);
        let node = tree.node(parent, NameIdx(row.row.name));
        let within_ns = end_ns.min(to_ns).saturating_sub(start_ns.max(from_ns)).max(0).cast_unsigned();
        tree.nodes[node.index()].count += 1;
        // Time that is folded into the parent is the parent's already.
        if node != parent || node == NodeIdx::ROOT {
            tree.nodes[node.index()].own += within_ns;
        }
        if node != parent && parent != NodeIdx::ROOT {
            // Spans within one that are not side by side may take more than it has.
            let outer = &mut tree.nodes[parent.index()];
            outer.own = outer.own.saturating_sub(within_ns);
        }
        if depth >= nodes.len() {
            nodes.resize(depth + 1, NodeIdx::ROOT);
        }
        nodes[depth] = node;
        ends.set(depth, end_ns);
    }
    Ok(tree)
}
