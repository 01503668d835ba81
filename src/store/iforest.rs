//! The implicit in-order forest: range aggregates over an append-only array in O(log n), without pointers.
//!
//! Based on "`IForestIndex`" of gigatrace by Tristan Hume. For `n` leaves the array has `2n - 1` nodes. Leaf `i` is at
//! the even position `2i`. Each odd position aggregates a power of two of leaves on both sides, as many levels up as
//! the position has trailing one bits. Subtrees are contiguous, and appending moves nothing.
//!
//! Equivalent to `leaves[i..j].fold(identity, combine)`, which is O(n).
//!
//! Works on any slice of nodes, in a file or not.

use std::ops::Range;

/// A summary of rows that can be combined from summaries of parts.
pub trait Aggregate: Copy + PartialEq {
    /// The summary of no rows.
    const IDENTITY: Self;

    /// Returns the summary of the rows of `self` and then the rows of `later`.
    #[must_use]
    fn combine(self, later: Self) -> Self;
}

/// The longest duration of some spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct LongestNs(pub u64);

impl Aggregate for LongestNs {
    const IDENTITY: Self = Self(0);

    fn combine(self, later: Self) -> Self {
        self.max(later)
    }
}

/// The smallest and the largest of some values; a NaN is skipped.
#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct MinMax {
    /// The smallest value; infinity if there is none.
    pub(crate) min: f64,
    /// The largest value; negative infinity if there is none.
    pub(crate) max: f64,
}

impl MinMax {
    #[must_use]
    pub(crate) fn from_value(value: f64) -> Self {
        Self::IDENTITY.combine(Self { min: value, max: value })
    }
}

impl Aggregate for MinMax {
    const IDENTITY: Self = Self { min: f64::INFINITY, max: f64::NEG_INFINITY };

    fn combine(self, later: Self) -> Self {
        Self { min: self.min.min(later.min), max: self.max.max(later.max) }
    }
}

/// Number of nodes of a forest of `leaves`.
#[must_use]
pub(crate) fn node_count(leaves: usize) -> usize {
    (2 * leaves).saturating_sub(1)
}

/// Appends a leaf and completes the nodes that end with it. O(1) amortised.
pub fn push<A: Aggregate>(nodes: &mut Vec<A>, leaf: A) {
    if !nodes.is_empty() {
        // The odd position before the leaf holds a node that is completed below, or by a later leaf.
        nodes.push(A::IDENTITY);
    }
    nodes.push(leaf);
    let leaves = nodes.len().div_ceil(2);
    let mut half = 1;
    // A node over 2 * half leaves is complete when that many divide the number of leaves.
    while leaves.is_multiple_of(2 * half) {
        let middle = 2 * (leaves - half) - 1;
        let combined = nodes[middle - half].combine(nodes[middle + half]);
        nodes[middle] = combined;
        half *= 2;
    }
}

/// Returns the aggregate of the leaves in `range`, in O(log n).
///
/// # Panics
/// Panics if the range ends beyond the leaves.
#[must_use]
pub fn range<A: Aggregate>(nodes: &[A], range: Range<usize>) -> A {
    let mut total = A::IDENTITY;
    for (position, _) in cover(range) {
        total = total.combine(nodes[position]);
    }
    total
}

/// Returns the first leaf in `range` whose aggregate is at least `bound`, in O(log n).
///
/// With [`LongestNs`] and the maximum of the range as bound, it finds the block of the longest span.
#[must_use]
pub(crate) fn first_at_least<A: Aggregate + PartialOrd>(nodes: &[A], range: Range<usize>, bound: A) -> Option<usize> {
    let (mut position, mut half) = cover(range).find(|&(position, _)| nodes[position] >= bound)?;
    while half > 0 {
        let left = position - half;
        position = if nodes[left] >= bound { left } else { position + half };
        half /= 2;
    }
    Some(position / 2)
}

/// Iterates over the complete nodes that together cover exactly `range`, left to right, each with half its number of
/// leaves.
pub(crate) fn cover(range: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
    let Range { mut start, end } = range;
    std::iter::from_fn(move || {
        if start >= end {
            return None;
        }
        // The largest power of two that is aligned at `start` and does not reach beyond `end`.
        let aligned = if start == 0 { usize::BITS - 1 } else { start.trailing_zeros() };
        let leaves = 1usize << aligned.min((end - start).ilog2());
        let position = 2 * start + leaves - 1;
        start += leaves;
        Some((position, leaves / 2))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn forest(leaves: &[u64]) -> Vec<LongestNs> {
        let mut nodes = Vec::new();
        leaves.iter().for_each(|&leaf| push(&mut nodes, LongestNs(leaf)));
        assert_eq!(nodes.len(), node_count(leaves.len()));
        nodes
    }

    /// Generates pseudo-random leaves independently of the forest's code.
    fn leaves(count: usize, seed: u64) -> Vec<u64> {
        let mut state = seed;
        let step = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % 1000
        };
        (0..count).map(step).collect()
    }

    fn scan(leaves: &[u64], range: Range<usize>) -> u64 {
        leaves[range].iter().copied().max().unwrap_or(0)
    }

    #[test]
    fn every_range_of_up_to_512_leaves_equals_a_scan() {
        for count in [0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 100, 255, 256, 257, 512] {
            let leaves = leaves(count, 42);
            let nodes = forest(&leaves);
            for start in 0..=count {
                for end in start..=count {
                    let longest = scan(&leaves, start..end);
                    assert_eq!(range(&nodes, start..end), LongestNs(longest), "{start}..{end} of {count}");
                    let first = leaves[start..end].iter().position(|&leaf| leaf == longest).map(|k| start + k);
                    assert_eq!(first_at_least(&nodes, start..end, LongestNs(longest)), first);
                }
            }
        }
    }

    #[test]
    fn a_hundred_thousand_random_ranges_equal_a_scan() {
        let leaves = leaves(3001, 7);
        let nodes = forest(&leaves);
        for pair in self::leaves(200_000, 99).chunks_exact(2) {
            let (a, b) = (pair[0] as usize * 3, pair[1] as usize * 3);
            let (start, end) = (a.min(b), a.max(b));
            assert_eq!(range(&nodes, start..end).0, scan(&leaves, start..end), "{start}..{end}");
        }
    }

    proptest! {
        #[test]
        fn counters_know_their_smallest_and_largest(
            values in proptest::collection::vec(-1e9f64..1e9, 1..200),
            cut in 0usize..200,
        ) {
            let mut nodes = Vec::new();
            values.iter().for_each(|&value| push(&mut nodes, MinMax::from_value(value)));
            let start = cut % values.len();
            let found = range(&nodes, start..values.len());
            prop_assert_eq!(found.min, values[start..].iter().copied().fold(f64::INFINITY, f64::min));
            prop_assert_eq!(found.max, values[start..].iter().copied().fold(f64::NEG_INFINITY, f64::max));
        }
    }

    #[test]
    fn a_nan_does_not_spoil_the_range() {
        let total = MinMax::from_value(1.0).combine(MinMax::from_value(f64::NAN)).combine(MinMax::from_value(-2.0));
        assert_eq!(total, MinMax { min: -2.0, max: 1.0 });
    }
}
