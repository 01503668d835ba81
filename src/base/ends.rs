//! Finds the deepest of many depths whose last span ends at or after a time. Independent of spans.
//!
//! The naive way scans from the deepest up. [`DepthEnds`] scans a few depths, and uses an [`EndTree`] for more.

/// A segment tree of ends by depth. A search takes O(log n) for n depths.
#[derive(Debug, Clone, Default)]
pub(crate) struct EndTree {
    /// Node `k` has the children `2 k` and `2 k + 1`; the leaves are the second half.
    nodes: Vec<Option<i64>>,
}

impl EndTree {
    /// Number of leaves of a new tree, so that a few more depths do not rebuild it.
    const DEPTHS_MIN: usize = 64;

    /// Sets or clears the end at a depth. Returns the number of nodes visited.
    pub(crate) fn set(&mut self, depth: usize, end_ns: Option<i64>) -> usize {
        let mut steps = 1;
        if self.depths() <= depth {
            steps += self.grow((depth + 1).next_power_of_two().max(Self::DEPTHS_MIN));
        }
        let mut node = self.depths() + depth;
        self.nodes[node] = end_ns;
        while node > 1 {
            node /= 2;
            steps += 1;
            let last_ns = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
            if self.nodes[node] == last_ns {
                break;
            }
            self.nodes[node] = last_ns;
        }
        steps
    }

    /// Returns the deepest depth above `below` that ends at or after `end_ns`.
    #[must_use]
    pub(crate) fn deepest(&self, below: usize, end_ns: i64) -> Option<usize> {
        let reaches = |node: usize| self.nodes[node].is_some_and(|own_ns| own_ns >= end_ns);
        let mut node = 1;
        if below < self.depths() {
            // Each left sibling on the way up covers the depths directly above the previous ones.
            node = self.depths() + below;
            while node % 2 == 0 || !reaches(node - 1) {
                if node <= 1 {
                    return None;
                }
                node /= 2;
            }
            node -= 1;
        }
        if self.nodes.is_empty() || !reaches(node) {
            return None;
        }
        while node < self.depths() {
            node = 2 * node + usize::from(reaches(2 * node + 1));
        }
        Some(node - self.depths())
    }

    fn depths(&self) -> usize {
        self.nodes.len() / 2
    }

    fn grow(&mut self, depths: usize) -> usize {
        let leaves = self.nodes.split_off(self.depths());
        self.nodes = vec![None; 2 * depths];
        self.nodes[depths..depths + leaves.len()].copy_from_slice(&leaves);
        for node in (1..depths).rev() {
            self.nodes[node] = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
        }
        2 * depths
    }
}

/// The last end at each depth.
#[derive(Debug, Clone, Default)]
pub(crate) struct DepthEnds {
    ends: Vec<Option<i64>>,
    /// Built when there are too many depths to scan.
    tree: Option<EndTree>,
}

impl DepthEnds {
    /// Up to this many depths, a scan is faster than the tree; few stacks are deeper.
    const SCANNED: usize = 32;

    /// Sets the end of the last span at a depth.
    #[inline]
    pub(crate) fn set(&mut self, depth: usize, end_ns: i64) {
        if self.ends.len() <= depth {
            self.ends.resize(depth + 1, None);
        }
        self.ends[depth] = Some(end_ns);
        if self.ends.len() > Self::SCANNED {
            self.set_in_tree(depth, end_ns);
        }
    }

    /// Returns the deepest depth above `below` that ends at or after `end_ns`.
    #[inline]
    #[must_use]
    pub(crate) fn deepest(&self, below: usize, end_ns: i64) -> Option<usize> {
        let above = &self.ends[..below.min(self.ends.len())];
        let first = above.len().saturating_sub(Self::SCANNED);
        let near = above[first..].iter().rposition(|own_ns| own_ns.is_some_and(|own_ns| own_ns >= end_ns));
        match near {
            Some(position) => Some(first + position),
            None if first == 0 => None,
            None => self.tree.as_ref()?.deepest(first, end_ns),
        }
    }

    fn set_in_tree(&mut self, depth: usize, end_ns: i64) {
        let made = self.tree.get_or_insert_with(|| {
            let mut tree = EndTree::default();
            for (depth, &end_ns) in self.ends.iter().enumerate() {
                tree.set(depth, end_ns);
            }
            tree
        });
        made.set(depth, Some(end_ns));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_deepest_end_is_the_one_that_a_scan_finds(
            steps in proptest::collection::vec(
                (0usize..150, prop::option::of(-9i64..9), 0usize..200, -9i64..10),
                0..300,
            ),
        ) {
            let (mut tree, mut ends) = (EndTree::default(), DepthEnds::default());
            let (mut of_tree, mut of_ends) = (vec![None; 150], vec![None; 150]);
            for (depth, end_ns, below, wanted_ns) in steps {
                tree.set(depth, end_ns);
                of_tree[depth] = end_ns;
                if let Some(end_ns) = end_ns {
                    ends.set(depth, end_ns);
                    of_ends[depth] = Some(end_ns);
                }
                let scan = |all: &[Option<i64>]| {
                    all[..below.min(all.len())].iter().rposition(|end| end.is_some_and(|end_ns| end_ns >= wanted_ns))
                };
                prop_assert_eq!(tree.deepest(below, wanted_ns), scan(&of_tree));
                prop_assert_eq!(ends.deepest(below, wanted_ns), scan(&of_ends));
            }
        }
    }

    #[test]
    fn the_first_moment_of_time_is_an_end_like_any_other() {
        let mut ends = DepthEnds::default();
        assert_eq!(ends.deepest(9, i64::MIN), None);
        ends.set(40, i64::MIN);
        assert_eq!((ends.deepest(99, i64::MIN), ends.deepest(40, i64::MIN)), (Some(40), None));
    }
}
