//! The cells of a heat map in a limited number of rows: buckets of a coarser scale, from the shortest to the longest
//! duration. Zero-length spans have their own row at the bottom.

use super::HeatMap;
use crate::base::log_scale::{FINEST_LOG2, bucket_bounds, bucket_of, coarser};

/// A non-empty cell, by its column and its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HeatCell {
    pub(crate) column: usize,
    pub(crate) row: usize,
}

/// Counts by row, shortest durations first, and column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct HeatCells {
    octave_log2: u32,
    columns: usize,
    /// Whether the first row holds zero-length spans.
    pub(crate) has_zero: bool,
    /// The bucket of the first row above that.
    first: usize,
    rows: usize,
    counts: Vec<u64>,
    /// Largest count of a cell.
    pub(crate) most: u64,
}

impl HeatMap {
    /// Returns the cells on the finest scale with at most `rows_max` rows, or else in octaves.
    #[must_use]
    pub(crate) fn cells_in(&self, rows_max: usize) -> HeatCells {
        let scales = (0..=FINEST_LOG2).rev();
        let fitting = scales.map(|octave_log2| self.layout(octave_log2)).find(|layout| layout.rows <= rows_max);
        self.fill(fitting.unwrap_or_else(|| self.layout(0)))
    }

    /// Returns the cells on a scale of `2^octave_log2` rows per octave.
    #[must_use]
    pub(crate) fn cells(&self, octave_log2: u32) -> HeatCells {
        self.fill(self.layout(octave_log2.min(FINEST_LOG2)))
    }

    fn layout(&self, octave_log2: u32) -> HeatCells {
        let mut filled =
            self.buckets.iter().enumerate().filter(|(_, counts)| counts.is_some()).map(|(bucket, _)| bucket);
        let has_zero = self.buckets.first().is_some_and(Option::is_some);
        let mut long = filled.by_ref().filter(|&bucket| bucket > 0);
        let ends = long.next().map(|first| (first, long.last().unwrap_or(first)));
        let rows = ends.map(|(first, last)| (coarser(first, octave_log2), coarser(last, octave_log2)));
        let (first, count) = rows.map_or((1, 0), |(first, last)| (first, last + 1 - first));
        let rows = count + usize::from(has_zero);
        HeatCells { octave_log2, columns: self.axis.columns(), has_zero, first, rows, counts: Vec::new(), most: 0 }
    }

    fn fill(&self, mut cells: HeatCells) -> HeatCells {
        cells.counts = vec![0; cells.rows * cells.columns];
        for (bucket, counts) in self.buckets.iter().enumerate() {
            let Some(counts) = counts else { continue };
            let row = cells.row_of(bucket_bounds(bucket, FINEST_LOG2).0);
            let of_row = cells.counts.iter_mut().skip(row * cells.columns);
            of_row.zip(counts.iter()).for_each(|(sum, count)| *sum += count);
        }
        cells.most = cells.counts.iter().copied().max().unwrap_or(0);
        cells
    }
}

impl HeatCells {
    /// Returns the binary logarithm of the rows per doubling of the duration.
    #[must_use]
    pub(crate) fn octave_log2(&self) -> u32 {
        self.octave_log2
    }

    #[must_use]
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Number of rows, including the row of zero-length spans.
    #[must_use]
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Number of rows of the logarithmic scale.
    #[must_use]
    pub(crate) fn scale_rows(&self) -> usize {
        self.rows - usize::from(self.has_zero)
    }

    /// Returns the shortest and longest duration of a row.
    #[must_use]
    pub(crate) fn durations(&self, row: usize) -> (u64, u64) {
        match row.checked_sub(usize::from(self.has_zero)) {
            None => (0, 0),
            Some(row) => bucket_bounds(self.first + row, self.octave_log2),
        }
    }

    /// Returns the number of spans in a cell.
    #[must_use]
    pub(crate) fn count(&self, cell: HeatCell) -> u64 {
        let is_within = cell.column < self.columns && cell.row < self.rows;
        if is_within { self.counts[cell.row * self.columns + cell.column] } else { 0 }
    }

    /// Returns the counts of a row.
    #[must_use]
    pub(crate) fn row(&self, row: usize) -> &[u64] {
        &self.counts[row * self.columns..(row + 1) * self.columns]
    }

    /// Iterates over the non-empty cells by time, then duration.
    pub(crate) fn filled(&self) -> impl Iterator<Item = (HeatCell, u64)> + '_ {
        let cells = (0..self.columns).flat_map(|column| (0..self.rows).map(move |row| HeatCell { column, row }));
        cells.map(|cell| (cell, self.count(cell))).filter(|(_, count)| *count > 0)
    }

    /// Returns the position of a duration on the scale, in rows from its lower end; may be outside.
    #[must_use]
    pub(crate) fn scale_position(&self, dur_ns: u64) -> f64 {
        let bucket = bucket_of(dur_ns, self.octave_log2);
        let (least, most) = bucket_bounds(bucket, self.octave_log2);
        let part = (dur_ns - least) as f64 / ((most - least) as f64 + 1.0);
        bucket as f64 - self.first as f64 + part
    }

    fn row_of(&self, dur_ns: u64) -> usize {
        if dur_ns == 0 {
            return 0;
        }
        bucket_of(dur_ns, self.octave_log2) - self.first + usize::from(self.has_zero)
    }
}
