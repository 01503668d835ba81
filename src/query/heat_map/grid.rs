//! The grid of a heat map in text form, such as `100x4`.

use std::str::FromStr;

use super::axis::COLUMNS_MAX;

/// The number of cells of a heat map in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeatMapGrid {
    pub(crate) columns: usize,
    /// Binary logarithm of the rows per doubling of the duration.
    pub(crate) octave_log2: u32,
}

impl FromStr for HeatMapGrid {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (parts, rows) = text.split_once('x').unwrap_or((text, "4"));
        let columns = parts.parse().ok().filter(|columns| (1..=COLUMNS_MAX).contains(columns));
        let octave_log2 = ["1", "2", "4", "8", "16", "32"].iter().position(|size| *size == rows);
        columns
            .zip(octave_log2)
            .map(|(columns, octave_log2)| Self { columns, octave_log2: octave_log2 as u32 })
            .ok_or_else(|| format!("expected 1 to {COLUMNS_MAX} parts and 1, 2, 4, 8, 16 or 32 rows, such as 100x4"))
    }
}
