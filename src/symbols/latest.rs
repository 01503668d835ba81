//! Address ranges of which later ones replace earlier ones, as JIT-compiled code does. The naive way goes through all
//! ranges for each address, the last one first.

use std::collections::BTreeMap;

/// Disjoint ranges with values, by start.
#[derive(Debug)]
pub(super) struct LatestRanges<T> {
    rows: Vec<(u64, u64, T)>,
}

/// Ranges in the making: end and value by start.
#[derive(Debug)]
pub(super) struct LatestRangesBuilder<T>(BTreeMap<u64, (u64, T)>);

impl<T> Default for LatestRanges<T> {
    fn default() -> Self {
        Self { rows: Vec::new() }
    }
}

impl<T> LatestRanges<T> {
    /// Returns the value of the last range that contains an address.
    pub(super) fn find(&self, address: u64) -> Option<&T> {
        let after = self.rows.partition_point(|&(start, ..)| start <= address);
        let (_, end, value) = self.rows.get(after.checked_sub(1)?)?;
        (address < *end).then_some(value)
    }
}

impl<T> Default for LatestRangesBuilder<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Copy> LatestRangesBuilder<T> {
    /// Adds a range, which replaces the covered parts of earlier ones. A range adds two parts at most, and each part is
    /// removed once, so the work is logarithmic on average.
    pub(super) fn push(&mut self, start: u64, end: u64, value: T) {
        if start >= end {
            return;
        }
        let covering = self.0.range_mut(..start).next_back();
        if let Some((_, (covering_end, earlier))) = covering.filter(|(_, (covering_end, _))| *covering_end > start) {
            let (rest_end, earlier) = (std::mem::replace(covering_end, start), *earlier);
            if rest_end > end {
                self.0.insert(end, (rest_end, earlier));
            }
        }
        while let Some((&covered, &(covered_end, earlier))) = self.0.range(start..end).next() {
            self.0.remove(&covered);
            if covered_end > end {
                self.0.insert(end, (covered_end, earlier));
            }
        }
        self.0.insert(start, (end, value));
    }

    pub(super) fn finish(self) -> LatestRanges<T> {
        LatestRanges { rows: self.0.into_iter().map(|(start, (end, value))| (start, end, value)).collect() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn latest(ranges: &[(u64, u64)]) -> LatestRanges<usize> {
        let mut builder = LatestRangesBuilder::default();
        ranges.iter().enumerate().for_each(|(row, &(start, end))| builder.push(start, end, row));
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
            }
            prop_assert!(latest.rows.is_sorted_by(|(_, end, _), (next, ..)| end <= next));
        }
    }
}
