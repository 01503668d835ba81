//! Assigns spans without threads to rows: each goes to the first row that is free at its start.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Rows by the time at which they become free.
#[derive(Debug, Default)]
pub(crate) struct FreeRows {
    busy: BinaryHeap<Reverse<(i64, usize)>>,
    free: BTreeSet<usize>,
}

impl FreeRows {
    /// Starts another part of the spans, given the latest end on each row.
    pub(crate) fn start_part(&mut self, last_ends_ns: impl Iterator<Item = i64>) {
        self.free.clear();
        self.busy = last_ends_ns.zip(0..).map(Reverse).collect();
    }

    /// Takes the lowest free row for the next span, or a new one. Calls for a part must be in order of start.
    pub(crate) fn place(&mut self, start_ns: i64, end_ns: i64, new_row: impl FnOnce() -> usize) -> usize {
        while let Some(&Reverse((until_ns, row))) = self.busy.peek()
            && until_ns <= start_ns
        {
            self.busy.pop();
            self.free.insert(row);
        }
        let row = self.free.pop_first().unwrap_or_else(new_row);
        self.busy.push(Reverse((end_ns, row)));
        row
    }
}

/// Rows on which spans are placed without overlap.
#[derive(Debug, Default)]
pub(crate) struct PackedRows {
    free: FreeRows,
    /// The latest end on each row.
    last_ends_ns: Vec<i64>,
}

impl PackedRows {
    /// Starts another part of the spans. It may start before earlier parts, but overlaps none of them.
    pub(crate) fn start_part(&mut self) {
        self.free.start_part(self.last_ends_ns.iter().copied());
    }

    /// Returns the lowest free row for the next span. Calls for a part must be in order of start.
    pub(crate) fn place(&mut self, start_ns: i64, end_ns: i64) -> usize {
        let last_ends_ns = &mut self.last_ends_ns;
        let row = self.free.place(start_ns, end_ns, || {
            last_ends_ns.push(i64::MIN);
            last_ends_ns.len() - 1
        });
        last_ends_ns[row] = last_ends_ns[row].max(end_ns);
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn spans_of_several_parts_overlap_on_no_row(
            parts in proptest::collection::vec(proptest::collection::vec((0i64..50, 1i64..20), 0..20), 1..4),
        ) {
            let mut rows = PackedRows::default();
            let mut placed: Vec<(usize, i64, i64)> = Vec::new();
            for mut spans in parts {
                spans.sort_unstable();
                rows.start_part();
                for (start_ns, dur_ns) in spans {
                    let (row, end_ns) = (rows.place(start_ns, start_ns + dur_ns), start_ns + dur_ns);
                    let is_free = placed.iter().all(|&(taken, from, until)| taken != row || until <= start_ns || end_ns <= from);
                    prop_assert!(is_free, "{row} {start_ns} {end_ns} {placed:?}");
                    placed.push((row, start_ns, end_ns));
                }
            }
        }

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
