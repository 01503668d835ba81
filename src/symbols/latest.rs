//! Address ranges where later ranges replace earlier ones, as JIT-compiled code does. The naive way goes through all
//! ranges for each address, the last one first.

use std::collections::BTreeMap;

/// Disjoint ranges with values, by start.
#[derive(Debug)]
pub(super) struct LatestRanges<T> {
    rows: Vec<(u64, u64, T)>,
    /// Disjoint parts of earlier ranges that ranges with other values replaced, by start.
    replaced: Vec<(u64, u64)>,
}

/// Collects ranges. A later one replaces the parts of earlier ones that it overlaps.
#[derive(Debug)]
pub(super) struct LatestRangesBuilder<T> {
    /// End and value by start.
    rows: BTreeMap<u64, (u64, T)>,
    /// Replaced parts in order of replacement, which may overlap.
    replaced: Vec<(u64, u64)>,
}

impl<T> Default for LatestRanges<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), replaced: Vec::new() }
    }
}

impl<T> LatestRanges<T> {
    /// Returns the value of the last range that contains an address.
    pub(super) fn find(&self, address: u64) -> Option<&T> {
        let after = self.rows.partition_point(|&(start, ..)| start <= address);
        let (_, end, value) = self.rows.get(after.checked_sub(1)?)?;
        (address < *end).then_some(value)
    }

    /// Returns whether ranges with different values contained an address.
    pub(super) fn is_replaced(&self, address: u64) -> bool {
        let after = self.replaced.partition_point(|&(start, _)| start <= address);
        after.checked_sub(1).is_some_and(|row| address < self.replaced[row].1)
    }
}

impl<T> Default for LatestRangesBuilder<T> {
    fn default() -> Self {
        Self { rows: BTreeMap::new(), replaced: Vec::new() }
    }
}

impl<T: Copy> LatestRangesBuilder<T> {
    /// Adds a range, which replaces the covered parts of earlier ones; `is_same` compares their values. A range adds
    /// two parts at most, and each part is removed once, so the work is logarithmic on average.
    pub(super) fn push(&mut self, start: u64, end: u64, value: T, is_same: impl Fn(T, T) -> bool) {
        if start >= end {
            return;
        }
        let Self { rows, replaced } = self;
        let mut replace = |rows: &mut BTreeMap<u64, (u64, T)>, from: u64, to: u64, earlier: T| {
            if !is_same(earlier, value) {
                replaced.push((from, to.min(end)));
            }
            if to > end {
                rows.insert(end, (to, earlier));
            }
        };
        let covering = rows.range_mut(..start).next_back();
        if let Some((_, (covering_end, earlier))) = covering.filter(|(_, (covering_end, _))| *covering_end > start) {
            let (rest_end, earlier) = (std::mem::replace(covering_end, start), *earlier);
            replace(rows, start, rest_end, earlier);
        }
        while let Some((&covered, &(covered_end, earlier))) = rows.range(start..end).next() {
            rows.remove(&covered);
            replace(rows, covered, covered_end, earlier);
        }
        rows.insert(start, (end, value));
    }

    pub(super) fn finish(mut self) -> LatestRanges<T> {
        self.replaced.sort_unstable();
        let mut replaced: Vec<(u64, u64)> = Vec::new();
        for (start, end) in self.replaced {
            match replaced.last_mut().filter(|(_, last_end)| start <= *last_end) {
                Some((_, last_end)) => *last_end = end.max(*last_end),
                None => replaced.push((start, end)),
            }
        }
        let rows = self.rows.into_iter().map(|(start, (end, value))| (start, end, value)).collect();
        LatestRanges { rows, replaced }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every third range has the same value.
    fn is_same(one: usize, other: usize) -> bool {
        one % 3 == other % 3
    }

    fn latest(ranges: &[(u64, u64)]) -> LatestRanges<usize> {
        let mut builder = LatestRangesBuilder::default();
        ranges.iter().enumerate().for_each(|(row, &(start, end))| builder.push(start, end, row, is_same));
        builder.finish()
    }

    #[test]
    fn the_ends_of_memory_are_in_ranges() {
        let ranges = latest(&[(0, u64::MAX), (u64::MAX - 1, u64::MAX), (0, 1), (7, 7), (9, 8)]);
        assert_eq!(
            [0, 1, 8, u64::MAX - 1, u64::MAX].map(|it| ranges.find(it).copied()),
            [Some(2), Some(0), Some(0), Some(1), None]
        );
    }

    proptest! {
        #[test]
        fn the_last_range_wins_at_each_address(ranges in proptest::collection::vec((0u64..60, 0u64..25), 0..40)) {
            let ranges: Vec<_> = ranges.into_iter().map(|(start, bytes)| (start, start + bytes)).collect();
            let latest = latest(&ranges);
            for address in 0..90 {
                let naive = ranges.iter().rposition(|&(start, end)| (start..end).contains(&address));
                prop_assert_eq!(latest.find(address).copied(), naive);
                let mut rows = ranges.iter().enumerate().filter(|(_, (start, end))| (*start..*end).contains(&address));
                let first = rows.next().map(|(row, _)| row);
                let is_replaced = rows.any(|(row, _)| first.is_some_and(|first| !is_same(first, row)));
                prop_assert_eq!(latest.is_replaced(address), is_replaced);
            }
            prop_assert!(latest.rows.is_sorted_by(|(_, end, _), (next, ..)| end <= next));
        }
    }
}
