//! The heights of a column of rows, with the offset of each from the top. Changes and searches take O(log n), so
//! folding one of a million rows moves all rows below it within a frame.
//!
//! Equivalent to a list of heights, summed from the first.

/// A Fenwick tree (P. Fenwick, 1994): the entry at `index` holds the sum of the last `index & -index` heights up to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FenwickHeights {
    heights: Vec<u32>,
    /// Indexed from 1; entry 0 stays 0.
    fenwick_heights: Vec<u64>,
}

impl FenwickHeights {
    /// Builds the tree of these heights, in O(n).
    #[must_use]
    pub(super) fn new(heights: Vec<u32>) -> Self {
        let mut fenwick_heights = vec![0; heights.len() + 1];
        for (index, &height) in (1..).zip(&heights) {
            fenwick_heights[index] += u64::from(height);
            let parent = index + lowest_bit(index);
            if parent < fenwick_heights.len() {
                fenwick_heights[parent] += fenwick_heights[index];
            }
        }
        Self { heights, fenwick_heights }
    }

    /// Returns the height at an index; 0 beyond the last.
    #[must_use]
    pub(super) fn height(&self, index: usize) -> u32 {
        self.heights.get(index).copied().unwrap_or(0)
    }

    /// Returns the sum of the first `count` heights, or of all if there are fewer.
    #[must_use]
    pub(super) fn before(&self, count: usize) -> u64 {
        #[cfg(test)]
        lookups::count();
        let mut index = count.min(self.heights.len());
        let mut sum = 0;
        while index > 0 {
            sum += self.fenwick_heights[index];
            index -= lowest_bit(index);
        }
        sum
    }

    /// Returns the sum of all heights.
    #[must_use]
    pub(super) fn total(&self) -> u64 {
        self.before(self.heights.len())
    }

    /// Sets one height; ignores an index beyond the last.
    pub(super) fn set(&mut self, index: usize, height: u32) {
        let Some(old) = self.heights.get_mut(index) else { return };
        let before = std::mem::replace(old, height);
        let mut at = index + 1;
        while at < self.fenwick_heights.len() {
            self.fenwick_heights[at] = self.fenwick_heights[at] - u64::from(before) + u64::from(height);
            at += lowest_bit(at);
        }
    }

    /// Returns the row at a distance of `offset` from the top, never one without height; the number of rows if all are
    /// above.
    #[must_use]
    pub(super) fn at(&self, offset: u64) -> usize {
        #[cfg(test)]
        lookups::count();
        let (mut index, mut left) = (0, offset);
        let mut step = self.fenwick_heights.len().next_power_of_two() / 2;
        while step > 0 {
            if let Some(&sum) = self.fenwick_heights.get(index + step)
                && sum <= left
            {
                index += step;
                left -= sum;
            }
            step /= 2;
        }
        index
    }
}

/// Counts the look-ups of this thread, which tests bound.
#[cfg(test)]
pub(crate) mod lookups {
    use std::cell::Cell;

    thread_local!(static COUNT: Cell<u64> = const { Cell::new(0) });

    pub(crate) fn count() {
        COUNT.set(COUNT.get() + 1);
    }

    pub(crate) fn so_far() -> u64 {
        COUNT.get()
    }
}

fn lowest_bit(index: usize) -> usize {
    index & index.wrapping_neg()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sums_and_searches_equal_those_of_a_plain_list_after_any_change(
            mut heights in prop::collection::vec(0_u32..5, 0..70),
            changes in prop::collection::vec((0_usize..80, 0_u32..9), 0..20),
        ) {
            let mut fenwick_heights = FenwickHeights::new(heights.clone());
            for (index, height) in changes {
                fenwick_heights.set(index, height);
                if let Some(old) = heights.get_mut(index) {
                    *old = height;
                }
            }
            for count in 0..=heights.len() {
                prop_assert_eq!(fenwick_heights.before(count), heights[..count].iter().map(|&h| u64::from(h)).sum::<u64>());
            }
            let all: Vec<usize> =
                heights.iter().enumerate().flat_map(|(index, &height)| (0..height).map(move |_| index)).collect();
            for (offset, &index) in (0..).zip(&all) {
                prop_assert_eq!(fenwick_heights.at(offset), index);
            }
            prop_assert_eq!(fenwick_heights.total(), all.len() as u64);
            prop_assert_eq!(fenwick_heights.at(fenwick_heights.total()), heights.len());
        }
    }
}
