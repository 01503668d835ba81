//! The forest of the blocks of an extent by their longest row: [`iforest`] with half the bytes.
//!
//! | bytes | content |
//! |---|---|
//! | 8 per block | duration of its longest row |
//! | 1 per inner node, padded to 8 | index of the first block with the longest row below the node |
//!
//! Equivalent to a forest of [`LongestNs`](iforest::LongestNs). That forest repeats the durations of blocks in its
//! inner nodes, and a search for the block of the longest row descends through it.

use std::ops::Range;

use super::iforest::{self, Aggregate};

/// The first block with the longest row of some blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LongestBlock {
    pub(crate) block: usize,
    pub(crate) dur_ns: u64,
}

impl Aggregate for LongestBlock {
    const IDENTITY: Self = Self { block: 0, dur_ns: 0 };

    fn combine(self, later: Self) -> Self {
        if later.dur_ns > self.dur_ns { later } else { self }
    }
}

/// The forest of an extent in the mapped file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LongestBlocks<'a> {
    durs_ns: &'a [u64],
    inner: &'a [u8],
}

/// Returns the size of the forest of `blocks`.
pub(super) fn bytes(blocks: usize) -> usize {
    blocks * size_of::<u64>() + blocks.saturating_sub(1).next_multiple_of(size_of::<u64>())
}

/// Appends the forest of up to 256 blocks with these longest durations, and returns the longest of all.
pub(super) fn encode(durs_ns: &[u64], out: &mut Vec<u8>) -> u64 {
    let end = out.len() + bytes(durs_ns.len());
    out.extend_from_slice(bytemuck::cast_slice(durs_ns));
    let mut nodes = Vec::with_capacity(iforest::node_count(durs_ns.len()));
    for (block, &dur_ns) in durs_ns.iter().enumerate() {
        iforest::push(&mut nodes, LongestBlock { block, dur_ns });
    }
    // An incomplete node is the identity, and is never read.
    out.extend(nodes.iter().skip(1).step_by(2).map(|node| node.block as u8));
    out.resize(end, 0);
    iforest::range(&nodes, 0..durs_ns.len()).dur_ns
}

impl<'a> LongestBlocks<'a> {
    /// Splits the encoded forest of `blocks`; empty if its bytes are too few or not aligned.
    pub(super) fn new(bytes: &'a [u8], blocks: usize) -> Self {
        let split = bytes.split_at_checked(blocks * size_of::<u64>());
        let durs_ns = split.and_then(|(durs_ns, _)| bytemuck::try_cast_slice(durs_ns).ok());
        let inner = split.and_then(|(_, rest)| rest.get(..blocks.saturating_sub(1)));
        durs_ns.zip(inner).map_or_else(Self::default, |(durs_ns, inner)| Self { durs_ns, inner })
    }

    /// Returns the duration of the longest row of a block.
    #[must_use]
    pub(crate) fn dur_ns(&self, block: usize) -> Option<u64> {
        self.durs_ns.get(block).copied()
    }

    /// Returns the longest below a node of [`iforest::cover`].
    #[must_use]
    pub(crate) fn at(&self, position: usize) -> Option<LongestBlock> {
        let block = if position.is_multiple_of(2) { position / 2 } else { usize::from(*self.inner.get(position / 2)?) };
        self.dur_ns(block).map(|dur_ns| LongestBlock { block, dur_ns })
    }

    /// Returns the longest of the blocks in `range`, in O(log n); `None` for none, or if one is missing.
    #[must_use]
    pub(crate) fn longest(&self, range: Range<usize>) -> Option<LongestBlock> {
        let mut nodes = iforest::cover(range);
        let first = self.at(nodes.next()?.0)?;
        nodes.try_fold(first, |longest, (position, _)| Some(longest.combine(self.at(position)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_longest_of_each_range_equals_that_of_a_scan(durs_ns in prop::collection::vec(0u64..20, 1..=64)) {
            let mut out = Vec::new();
            let longest = encode(&durs_ns, &mut out);
            prop_assert_eq!(Some(&longest), durs_ns.iter().max());
            prop_assert_eq!(out.len(), bytes(durs_ns.len()));
            // Words, so that the bytes are aligned.
            let words: Vec<u64> = out.chunks_exact(8).map(bytemuck::pod_read_unaligned).collect();
            let forest = LongestBlocks::new(bytemuck::cast_slice(&words), durs_ns.len());
            for start in 0..durs_ns.len() {
                prop_assert_eq!(forest.dur_ns(start), Some(durs_ns[start]));
                prop_assert_eq!(forest.longest(start..start), None);
                for end in start + 1..=durs_ns.len() {
                    let dur_ns = durs_ns[start..end].iter().copied().max().unwrap();
                    let block = (start..end).find(|&block| durs_ns[block] == dur_ns).unwrap();
                    prop_assert_eq!(forest.longest(start..end), Some(LongestBlock { block, dur_ns }));
                }
            }
        }
    }

    #[test]
    fn damaged_nodes_and_cut_forests_have_no_longest() {
        let mut words = vec![7u64, 9, u64::MAX];
        assert_eq!(LongestBlocks::new(bytemuck::cast_slice(&words), 2).longest(0..2), None);
        assert_eq!(LongestBlocks::new(bytemuck::cast_slice(&words[..1]), 2).dur_ns(0), None);
        words[2] = 1;
        let forest = LongestBlocks::new(bytemuck::cast_slice(&words), 2);
        assert_eq!(forest.longest(0..2), Some(LongestBlock { block: 1, dur_ns: 9 }));
        assert_eq!(forest.longest(0..3), None);
    }
}
