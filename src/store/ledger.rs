//! The ledger of a store: trees of sums by name for slices of time. Totals of any range come from a few nodes and a
//! sweep of both edges, instead of all rows.
//!
//! One tree covers all tracks of events; every track with many rows has its own tree. Each is a segment tree: its
//! leaves are runs of consecutive slices, and a node sums up to `fan_out` nodes of the level below. Sums of disjoint
//! slices are additive, so any union of nodes is exact.
//!
//! The checksum of a node is verified on its first read. A damaged node yields no sums; its time range is swept
//! instead.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::sums::{Additive, NameSums, merge_sorted};
use super::verified::Verified;
use crate::base::mapped::Mapped;
use crate::base::sketch::Sketch;
use crate::model::{NameIdx, TrackIdx};

/// Size parameters of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LedgerShape {
    /// Minimum number of spans for a ledger; a sweep over fewer is as fast. Traces with fewer than four spans per lane
    /// have none either.
    pub(crate) rows_min: u64,
    /// Minimum number of spans of all tracks that start in a slice. A sweep of both edges takes about 20 ms.
    pub(crate) slice_rows: u64,
    /// Minimum number of spans of one track in a leaf of its tree. Tracks with fewer than two leaves have no tree.
    pub(crate) leaf_rows: u64,
    /// Child nodes summed by a node. With 4, all nodes take a third more than the leaves alone, and a range is covered
    /// by about 20 nodes at a billion spans.
    pub(crate) fan_out: u32,
    /// Slices per leaf of the tree of sketches, a power of two. Sketches take a kilobyte per name, so one leaf covers
    /// some eight million spans.
    pub(crate) sketch_slices: usize,
}

impl Default for LedgerShape {
    fn default() -> Self {
        Self { rows_min: 1 << 18, slice_rows: 1 << 20, leaf_rows: 1 << 16, fan_out: 4, sketch_slices: 8 }
    }
}

/// The tables of a ledger; its nodes are in the body of the store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LedgerIndex {
    /// Bounds of the slices: the first start, the start of each other slice, the last end.
    pub(crate) bounds_ns: Vec<i64>,
    pub(crate) fan_out: u32,
    /// The tree of all tracks first, then the trees of single tracks in track order.
    pub(crate) trees: Vec<TreeIndex>,
    /// The tree of sketches: distributions of whole durations on all tracks.
    pub(crate) sketches: Option<TreeIndex>,
}

/// The nodes of one tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TreeIndex {
    /// The track; `None` for all tracks of events.
    pub(crate) track: Option<TrackIdx>,
    /// First slice of each leaf, and the end of the last.
    pub(crate) leaves: Vec<u32>,
    /// The leaves, then each level above, up to the root.
    pub(crate) nodes: Vec<NodeRecord>,
}

/// The position of a node in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NodeRecord {
    pub(super) offset: u64,
    bytes: u32,
    /// xxh3-64 of the node's bytes.
    checksum: u64,
}

/// A ledger that can be queried.
#[derive(Debug)]
pub(crate) struct Ledger {
    index: LedgerIndex,
    /// Index of each tree's first node among all nodes.
    first_nodes: Vec<usize>,
    verified: Verified,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LedgerNode {
    tree: usize,
    node: usize,
    /// Index of its first and last slice bound.
    pub(crate) from: u32,
    pub(crate) to: u32,
}

/// The packed sums of a name: differences that are usually small take few bytes.
#[derive(Serialize, Deserialize)]
struct PackedSums {
    /// Delta from the previous name, minus one.
    name_step: u32,
    starts: u64,
    total_ns: u128,
    covered_ns: u128,
    /// The total time minus the time of the union: the time counted more than once.
    repeated_ns: u128,
    /// Whole durations minus total: the time beyond the range.
    beyond_ns: i128,
    whole_squares: u128,
    min_ns: u64,
    /// Longest minus shortest.
    spread_ns: u64,
}

/// Sort key of the items of a node.
pub(crate) trait NodeKey: Copy + Ord {
    fn number(self) -> u32;

    fn from_number(number: u32) -> Self;
}

impl NodeKey for NameIdx {
    fn number(self) -> u32 {
        self.0
    }

    fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// The item of a node per name or path: sums, or a sketch.
pub(crate) trait NodeItem: Additive + Sized {
    type Key: NodeKey;

    /// Appends the item of a key that comes `key_step` keys after the previous one.
    fn pack(&self, key_step: u32, out: Vec<u8>) -> postcard::Result<Vec<u8>>;

    /// Decodes the next item and its key step; `None` if the bytes are invalid.
    fn unpack(bytes: &[u8]) -> Option<(u32, Self, &[u8])>;
}

pub(crate) trait NodeContent: Default {
    /// Adds the content of another range.
    fn merge(&mut self, other: &Self);

    /// Prunes a complete node to its size limit; leaves have level 0. Does nothing by default.
    fn settle(&mut self, _level: usize) {}

    /// Appends the content to `out` in the encoding of the node's bytes.
    fn pack(&self, out: &mut Vec<u8>) -> postcard::Result<()>;

    /// Number of items, which take most of the bytes.
    fn items(&self) -> usize;
}

impl<T: NodeItem> NodeContent for Vec<(T::Key, T)> {
    fn merge(&mut self, other: &Self) {
        merge_sorted(self, other);
    }

    fn pack(&self, out: &mut Vec<u8>) -> postcard::Result<()> {
        let mut next = 0;
        for (key, item) in self {
            *out = item.pack(key.number() - next, std::mem::take(out))?;
            next = key.number().wrapping_add(1);
        }
        Ok(())
    }

    fn items(&self) -> usize {
        self.len()
    }
}

impl NodeItem for NameSums {
    type Key = NameIdx;

    fn pack(&self, name_step: u32, out: Vec<u8>) -> postcard::Result<Vec<u8>> {
        let has_whole = self.starts > 0;
        let packed = PackedSums {
            name_step,
            starts: self.starts,
            total_ns: self.total_ns,
            covered_ns: self.covered_ns,
            repeated_ns: self.total_ns - self.union_ns,
            beyond_ns: self.whole_ns.cast_signed().wrapping_sub(self.total_ns.cast_signed()),
            whole_squares: self.whole_squares,
            min_ns: if has_whole { self.min_ns } else { 0 },
            spread_ns: if has_whole { self.max_ns - self.min_ns } else { 0 },
        };
        postcard::to_extend(&packed, out)
    }

    fn unpack(bytes: &[u8]) -> Option<(u32, Self, &[u8])> {
        let (packed, rest) = postcard::take_from_bytes::<PackedSums>(bytes).ok()?;
        let PackedSums { name_step, starts, total_ns, covered_ns, repeated_ns, beyond_ns, .. } = packed;
        let has_whole = starts > 0;
        let sums = Self {
            starts,
            total_ns,
            covered_ns,
            union_ns: total_ns.wrapping_sub(repeated_ns),
            whole_ns: total_ns.cast_signed().wrapping_add(beyond_ns).cast_unsigned(),
            whole_squares: packed.whole_squares,
            min_ns: if has_whole { packed.min_ns } else { u64::MAX },
            max_ns: if has_whole { packed.min_ns.wrapping_add(packed.spread_ns) } else { 0 },
        };
        Some((name_step, sums, rest))
    }
}

impl NodeItem for Sketch {
    type Key = NameIdx;

    fn pack(&self, name_step: u32, out: Vec<u8>) -> postcard::Result<Vec<u8>> {
        postcard::to_extend(&(name_step, self), out)
    }

    fn unpack(bytes: &[u8]) -> Option<(u32, Self, &[u8])> {
        let ((name_step, sketch), rest) = postcard::take_from_bytes::<(u32, Self)>(bytes).ok()?;
        sketch.is_valid().then_some((name_step, sketch, rest))
    }
}

impl NodeRecord {
    /// Appends the packed content to `out`. `offset` is the file offset of these bytes.
    pub(crate) fn pack(content: &impl NodeContent, offset: u64, out: &mut Vec<u8>) -> postcard::Result<Self> {
        let start = out.len();
        content.pack(out)?;
        let bytes = u32::try_from(out.len() - start).map_err(|_| postcard::Error::SerializeBufferFull)?;
        Ok(Self { offset, bytes, checksum: xxh3_64(&out[start..]) })
    }

    fn bytes<'a>(&self, map: &'a Mapped) -> Option<&'a [u8]> {
        let start = usize::try_from(self.offset).ok()?;
        map.get(start..start.checked_add(self.bytes as usize)?)
    }

    /// Returns whether the checksum of its bytes in the map matches.
    fn is_intact(&self, bytes: &[u8], map: &Mapped) -> bool {
        map.fetch(bytes);
        map.check_copy(bytes, |bytes| xxh3_64(bytes) == self.checksum)
    }
}

/// Calls `each` for the items of a node. Returns false if the bytes are invalid.
fn unpack<T: NodeItem>(mut bytes: &[u8], mut each: impl FnMut(T::Key, T)) -> bool {
    let mut next = 0u32;
    while !bytes.is_empty() {
        let Some((key_step, item, rest)) = T::unpack(bytes) else { return false };
        let key = next.wrapping_add(key_step);
        each(T::Key::from_number(key), item);
        next = key.wrapping_add(1);
        bytes = rest;
    }
    true
}

/// Iterates over the number of nodes per level, from the leaves to the root.
pub(super) fn level_counts(leaves: usize, fan_out: usize) -> impl Iterator<Item = usize> {
    let mut next = Some(leaves).filter(|&count| count > 0);
    std::iter::from_fn(move || {
        let count = next?;
        next = (count > 1).then(|| count.div_ceil(fan_out.max(2)));
        Some(count)
    })
}

impl Ledger {
    /// Creates a ledger of mapped nodes; `None` if the index contradicts itself.
    #[must_use]
    pub(crate) fn new(index: LedgerIndex) -> Option<Self> {
        let slices = u32::try_from(index.bounds_ns.len().checked_sub(1)?).ok()?;
        let fan_out = index.fan_out as usize;
        let mut first_nodes = Vec::with_capacity(index.trees.len());
        let mut nodes = 0;
        for tree in index.trees.iter().chain(&index.sketches) {
            let leaves = tree.leaves.len().checked_sub(1)?;
            let is_whole = tree.leaves.is_sorted() && tree.leaves.last().is_some_and(|&last| last <= slices);
            if !is_whole || level_counts(leaves, fan_out).sum::<usize>() != tree.nodes.len() {
                return None;
            }
            first_nodes.push(nodes);
            nodes += tree.nodes.len();
        }
        (!index.trees.is_empty()).then(|| Self { first_nodes, verified: Verified::new(nodes), index })
    }

    /// Returns the bounds of the slices in nanoseconds.
    #[must_use]
    pub(crate) fn bounds_ns(&self) -> &[i64] {
        &self.index.bounds_ns
    }

    /// Returns the index of the tree of a track, or of all tracks of events.
    #[must_use]
    pub(crate) fn tree(&self, track: Option<TrackIdx>) -> Option<usize> {
        self.index.trees.binary_search_by_key(&track, |tree| tree.track).ok()
    }

    /// Returns the index of the tree of sketches.
    #[must_use]
    pub(crate) fn sketches(&self) -> Option<usize> {
        self.index.sketches.is_some().then_some(self.index.trees.len())
    }

    fn tree_index(&self, tree: usize) -> &TreeIndex {
        self.index.trees.get(tree).or(self.index.sketches.as_ref()).unwrap_or(&self.index.trees[0])
    }

    /// Returns the fewest nodes of a tree that cover leaves within the bounds `from..to`, in time order, and the bounds
    /// that they cover together.
    #[must_use]
    pub(crate) fn cover(&self, tree: usize, from: u32, to: u32) -> (Vec<LedgerNode>, Range<u32>) {
        let leaves = &self.tree_index(tree).leaves;
        let first = leaves.partition_point(|&leaf| leaf < from);
        let end = leaves.partition_point(|&leaf| leaf <= to).saturating_sub(1);
        if first >= end {
            return (Vec::new(), from..from);
        }
        let fan_out = (self.index.fan_out as usize).max(2);
        let (mut nodes, mut later) = (Vec::new(), Vec::new());
        let (mut start, mut stop) = (first, end);
        let mut width = 1;
        let mut level_first = 0;
        for count in level_counts(leaves.len() - 1, fan_out) {
            let node = |number: usize| {
                let to = leaves[((number + 1) * width).min(leaves.len() - 1)];
                LedgerNode { tree, node: level_first + number, from: leaves[number * width], to }
            };
            let is_top = count == 1;
            while start < stop && (is_top || !start.is_multiple_of(fan_out)) {
                nodes.push(node(start));
                start += 1;
            }
            // The last node of a level is the last child of its parent, even if the parent has fewer than `fan_out`.
            while start < stop && !stop.is_multiple_of(fan_out) && stop != count {
                stop -= 1;
                later.push(node(stop));
            }
            if start >= stop {
                break;
            }
            (start, stop) = (start / fan_out, stop.div_ceil(fan_out));
            width *= fan_out;
            level_first += count;
        }
        nodes.extend(later.into_iter().rev());
        (nodes, leaves[first]..leaves[end])
    }

    /// Returns the child nodes of a node, in time order; empty for a leaf.
    #[must_use]
    pub(crate) fn children(&self, node: LedgerNode) -> Vec<LedgerNode> {
        let leaves = &self.tree_index(node.tree).leaves;
        let fan_out = (self.index.fan_out as usize).max(2);
        // The nodes of a level, and the number of leaves of each.
        let (mut below, mut first, mut width) = (None::<(usize, usize, usize)>, 0, 1);
        for count in level_counts(leaves.len() - 1, fan_out) {
            if node.node < first + count {
                let Some((below_first, below_count, below_width)) = below else { return Vec::new() };
                let number = (node.node - first) * fan_out;
                let children = number..(number + fan_out).min(below_count);
                return children
                    .map(|child| {
                        let to = leaves[((child + 1) * below_width).min(leaves.len() - 1)];
                        let (tree, node, from) = (node.tree, below_first + child, leaves[child * below_width]);
                        LedgerNode { tree, node, from, to }
                    })
                    .collect();
            }
            below = Some((first, count, width));
            first += count;
            width *= fan_out;
        }
        Vec::new()
    }

    /// Calls `each` for the items of a node in order: sketches in the tree of sketches, sums elsewhere. Returns false
    /// if the node is damaged, without having called `each`.
    #[must_use]
    pub(crate) fn read<T: NodeItem>(&self, map: &Mapped, node: LedgerNode, each: impl FnMut(T::Key, T)) -> bool {
        self.intact_bytes(map, node).is_some_and(|bytes| unpack(bytes, each))
    }

    /// Returns the bytes of a node; `None` if they are damaged.
    pub(super) fn intact_bytes<'m>(&self, map: &'m Mapped, node: LedgerNode) -> Option<&'m [u8]> {
        let record = self.tree_index(node.tree).nodes[node.node];
        let bytes = record.bytes(map)?;
        let number = self.first_nodes[node.tree] + node.node;
        self.verified.is_intact(number, || record.is_intact(bytes, map)).then_some(bytes)
    }

    /// Returns the track of a node's tree; `None` for all tracks of events.
    #[must_use]
    pub(crate) fn track_of(&self, node: LedgerNode) -> Option<TrackIdx> {
        self.tree_index(node.tree).track
    }

    /// Returns the offset of a node in the file.
    #[cfg(test)]
    pub(crate) fn offset(&self, node: LedgerNode) -> u64 {
        self.tree_index(node.tree).nodes[node.node].offset
    }

    /// Returns the size of a node in the file.
    #[must_use]
    pub(crate) fn node_bytes(&self, node: LedgerNode) -> u64 {
        self.tree_index(node.tree).nodes[node.node].bytes.into()
    }

    /// Number of nodes that were found damaged.
    #[must_use]
    pub(crate) fn damaged(&self) -> u64 {
        self.verified.damaged()
    }

    /// Reads all nodes that were not read yet.
    pub(crate) fn verify_all(&self, map: &Mapped) {
        for (tree, &first) in self.index.trees.iter().chain(&self.index.sketches).zip(&self.first_nodes) {
            for (number, record) in tree.nodes.iter().enumerate() {
                let is_intact = || record.bytes(map).is_some_and(|bytes| record.is_intact(bytes, map));
                self.verified.is_intact(first + number, is_intact);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Builds a tree whose leaves are the slices, without bytes.
    fn ledger(leaves: u32, fan_out: u32) -> Ledger {
        let record = NodeRecord { offset: 0, bytes: 0, checksum: 0 };
        let count = level_counts(leaves as usize, fan_out as usize).sum();
        let tree = TreeIndex { track: None, leaves: (0..=leaves).collect(), nodes: vec![record; count] };
        let bounds_ns = (0..=i64::from(leaves)).collect();
        Ledger::new(LedgerIndex { bounds_ns, fan_out, trees: vec![tree], sketches: None }).unwrap()
    }

    proptest! {
        #[test]
        fn a_node_is_its_children_down_to_the_leaves(leaves in 1u32..300, fan_out in 2u32..9) {
            let ledger = ledger(leaves, fan_out);
            let mut level = ledger.cover(0, 0, leaves).0;
            prop_assert_eq!(level.len(), 1);
            let mut nodes = 0;
            while !level.is_empty() {
                nodes += level.len();
                prop_assert_eq!((level[0].from, level[level.len() - 1].to), (0, leaves));
                prop_assert!(level.windows(2).all(|pair| pair[0].to == pair[1].from));
                level = level.into_iter().flat_map(|node| ledger.children(node)).collect();
            }
            prop_assert_eq!(nodes, ledger.tree_index(0).nodes.len());
        }

        #[test]
        fn a_cover_is_the_range_without_gaps_in_few_nodes(
            leaves in 1u32..400,
            fan_out in 2u32..9,
            raw in (0u32..400, 0u32..400),
        ) {
            let (from, to) = (raw.0.min(raw.1).min(leaves), raw.0.max(raw.1).min(leaves));
            let ledger = ledger(leaves, fan_out);
            let (nodes, covered) = ledger.cover(0, from, to);
            prop_assert_eq!(covered, from..to);
            let mut at = from;
            for node in &nodes {
                prop_assert_eq!(node.from, at);
                at = node.to;
            }
            prop_assert!(nodes.is_empty() && from == to || at == to);
            let levels = level_counts(leaves as usize, fan_out as usize).count();
            prop_assert!(nodes.len() <= levels * 2 * (fan_out as usize - 1) + 1);
        }

        #[test]
        fn packed_sums_come_back(
            raw in proptest::collection::btree_map(
                any::<u32>(),
                (any::<u64>(), any::<u64>(), 0u64..9, any::<u64>()),
                0..40,
            ),
        ) {
            let sums: Vec<(NameIdx, NameSums)> = raw.into_iter().map(|(name, (total, part, starts, square))| {
                let mut sums = NameSums { total_ns: u128::from(total) * 7, ..NameSums::EMPTY };
                sums.covered_ns = sums.total_ns.min(part.into());
                sums.union_ns = sums.total_ns - sums.covered_ns;
                (0..starts).for_each(|start| sums.add_whole(square >> start));
                (NameIdx(name), sums)
            }).collect();
            let mut bytes = b"before".to_vec();
            let record = NodeRecord::pack(&sums, 6, &mut bytes).unwrap();
            prop_assert_eq!(record.bytes as usize, bytes.len() - 6);
            let mut back = Vec::new();
            prop_assert!(unpack(&bytes[6..], |name, sums: NameSums| back.push((name, sums))));
            prop_assert_eq!(back, sums);
        }

        #[test]
        fn any_bytes_unpack_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            unpack(&bytes, |_, _: NameSums| {});
            unpack(&bytes, |_, _: Sketch| {});
        }
    }

    #[test]
    fn an_index_that_contradicts_itself_is_none() {
        let ok = ledger(5, 2).index;
        let mut other = ok.clone();
        other.trees[0].nodes.pop();
        assert!(Ledger::new(other).is_none());
        let mut other = ok.clone();
        other.trees[0].leaves[5] = 6;
        assert!(Ledger::new(other).is_none());
        assert!(Ledger::new(LedgerIndex::default()).is_none());
        assert!(Ledger::new(ok).is_some());
    }
}
