//! The rows of a track on which spans nest, with the end of the innermost open span of each. The first row for a new
//! span is found in logarithmic time; trying row by row would be quadratic for requests that all time out.

/// Rows with their ends, as a complete binary tree of maxima: node `n` has the children `2 * n` and `2 * n + 1`.
#[derive(Debug)]
pub(super) struct RowEnds {
    /// Index 0 is unused; the second half has the rows. A row without open spans has `i64::MAX`.
    maxima: Vec<i64>,
}

impl RowEnds {
    /// Starts with `row_count` rows, a power of two, and the end on the first.
    pub(super) fn new(row_count: usize, first_end_ns: i64) -> Self {
        let mut ends = Self { maxima: vec![i64::MAX; 2 * row_count] };
        ends.set(0, first_end_ns);
        ends
    }

    /// Sets the end of the innermost span of a row, `i64::MAX` if it has none. Ignores rows that were never found.
    pub(super) fn set(&mut self, row: usize, end_ns: i64) {
        let mut node = self.row_count() + row;
        let Some(leaf) = self.maxima.get_mut(node) else { return };
        *leaf = end_ns;
        while node > 1 {
            node /= 2;
            self.maxima[node] = self.maxima[2 * node].max(self.maxima[2 * node + 1]);
        }
    }

    /// Returns the first row whose innermost span ends at `end_ns` or later, or that has none.
    pub(super) fn first_around(&mut self, end_ns: i64) -> usize {
        if self.maxima[1] < end_ns {
            self.double();
        }
        let mut node = 1;
        while node < self.row_count() {
            node *= 2;
            if self.maxima[node] < end_ns {
                node += 1;
            }
        }
        node - self.row_count()
    }

    /// Returns whether a row has an open span that ends.
    pub(super) fn has_open(&self) -> bool {
        self.maxima[self.row_count()..].iter().any(|&end_ns| end_ns < i64::MAX)
    }

    fn row_count(&self) -> usize {
        self.maxima.len() / 2
    }

    fn double(&mut self) {
        let row_count = self.row_count();
        let mut maxima = vec![i64::MAX; 4 * row_count];
        maxima[2 * row_count..3 * row_count].copy_from_slice(&self.maxima[row_count..]);
        for node in (1..2 * row_count).rev() {
            maxima[node] = maxima[2 * node].max(maxima[2 * node + 1]);
        }
        self.maxima = maxima;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_row_is_that_of_a_loop_over_all_rows() {
        let mut naive: Vec<i64> = vec![50];
        let mut ends = RowEnds::new(1, 50);
        for step in 0..2000_i64 {
            let end_ns = step * step * 7919 % 1009;
            let expected = naive.iter().position(|&row_end_ns| row_end_ns >= end_ns).unwrap_or(naive.len());
            let row = ends.first_around(end_ns);
            assert_eq!(row, expected);
            naive.resize(naive.len().max(row + 1), i64::MAX);
            let new_ns = if step % 20 == 0 { i64::MAX } else { end_ns };
            naive[row] = new_ns;
            ends.set(row, new_ns);
            assert_eq!(ends.has_open(), naive.iter().any(|&end_ns| end_ns < i64::MAX));
        }
        assert!(naive.len() > 20, "{}", naive.len());
    }
}
