//! Assigns spans without threads to rows: each goes to the first row that is free at its start.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Rows on which spans are placed without overlap.
#[derive(Debug, Default)]
pub(crate) struct PackedRows {
    /// Occupied rows, by the time at which they become free.
    busy: BinaryHeap<Reverse<(i64, usize)>>,
    free: BTreeSet<usize>,
    count: usize,
}

impl PackedRows {
    /// Returns the lowest free row for the next span. Calls must be in order of start.
    pub(crate) fn place(&mut self, start_ns: i64, end_ns: i64) -> usize {
        while let Some(&Reverse((until_ns, row))) = self.busy.peek()
            && until_ns <= start_ns
        {
            self.busy.pop();
            self.free.insert(row);
        }
        let row = self.free.pop_first().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        self.busy.push(Reverse((end_ns, row)));
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_span_takes_the_lowest_row_on_which_it_overlaps_nothing(
            mut spans in proptest::collection::vec((0i64..50, 0i64..20), 0..60),
        ) {
            spans.sort_unstable();
            let mut rows = PackedRows::default();
            let mut placed: Vec<(usize, i64, i64)> = Vec::new();
            for (start_ns, dur_ns) in spans {
                let end_ns = start_ns + dur_ns;
                // An empty span overlaps no other.
                let is_free = |row: usize| placed.iter().all(|&(taken, _, until)| taken != row || until <= start_ns);
                let expected = (0..=placed.len()).find(|&row| is_free(row)).expect("one of so many is");
                prop_assert_eq!(rows.place(start_ns, end_ns), expected);
                placed.push((expected, start_ns, end_ns));
            }
        }
    }
}
