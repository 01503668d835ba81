//! Time buckets under pixel columns, aligned to powers of two in absolute time.
//!
//! They are aligned to absolute time, not to the edge of the viewport, so the same span represents the same bucket in
//! every frame. Nothing shimmers while dragging.

use crate::model::NameIdx;

/// A run of equally wide buckets. Bucket `b` covers `[b << width_log2, (b + 1) << width_log2)` nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Buckets {
    /// Index of the first bucket; may be negative, as times may.
    pub first: i64,
    /// The number of buckets, at least one.
    pub count: u32,
    /// Binary logarithm of the width in nanoseconds, at most 62.
    pub(crate) width_log2: u32,
}

/// The longest span of a run of neighbouring buckets that all have the same answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// First bucket of the run.
    pub first_bucket: i64,
    /// Number of buckets in the run.
    pub bucket_count: u32,
    /// Index of the row in the lane.
    pub row: u64,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    pub(crate) name: NameIdx,
    /// Whether its end is missing from the trace.
    pub(crate) unfinished: bool,
    /// Rows that start in the first bucket of the run.
    pub(crate) first_rows: RowCount,
    /// Rows that start in the last bucket, if the run has several; the span fills the lane in between.
    pub(crate) last_rows: RowCount,
}

/// A row count as precise as drawing needs.
///
/// An exact count would unpack each block, although only its longest row is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum RowCount {
    #[default]
    Zero,
    One,
    Many,
}

impl RowCount {
    #[must_use]
    pub(crate) fn from_count(rows: u64) -> Self {
        match rows {
            0 => Self::Zero,
            1 => Self::One,
            2.. => Self::Many,
        }
    }

    /// Adds two counts; [`Self::Many`] stands for any count from two.
    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Zero, rows) | (rows, Self::Zero) => rows,
            (Self::One | Self::Many, Self::One | Self::Many) => Self::Many,
        }
    }
}

/// The values of a counter within a run of buckets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CounterCell {
    /// First bucket of the run.
    pub(crate) first_bucket: i64,
    /// Number of buckets in the run; more than one only if no value starts in it.
    pub(crate) bucket_count: u32,
    /// Time of the last value that starts in it.
    pub(crate) sampled_ns: Option<i64>,
    /// Smallest value that holds in the run, or is sampled in it.
    pub(crate) min: f64,
    /// Largest value that holds in the run, or is sampled in it.
    pub(crate) max: f64,
    /// Value that is current at the end of the run.
    pub(crate) last: f64,
}

impl Cell {
    /// Returns the bucket after the run.
    #[must_use]
    pub(crate) fn end_bucket(&self) -> i64 {
        self.first_bucket + i64::from(self.bucket_count)
    }

    /// Returns the duration of the span.
    #[must_use]
    pub(crate) fn dur_ns(&self) -> u64 {
        self.end_ns.abs_diff(self.start_ns)
    }

    /// Returns the count of rows that start in the run.
    #[must_use]
    pub(crate) fn rows(&self) -> RowCount {
        self.first_rows.plus(self.last_rows)
    }

    /// Extends the run by the following buckets if they have the same answer. Returns whether they do.
    pub(crate) fn extend(&mut self, next: &Self) -> bool {
        let is_same = self.row == next.row && self.end_bucket() == next.first_bucket;
        if is_same {
            self.bucket_count = self.bucket_count.saturating_add(next.bucket_count);
            self.last_rows = self.last_rows.plus(next.rows());
        }
        is_same
    }
}

impl CounterCell {
    /// Returns the bucket after the run.
    #[must_use]
    pub(crate) fn end_bucket(&self) -> i64 {
        self.first_bucket + i64::from(self.bucket_count)
    }
}

impl Buckets {
    /// Returns the buckets that cover `[start_ns, end_ns)`, at the smallest power-of-two width of at least
    /// `min_width_ns`.
    ///
    /// There is at least one bucket; an `end_ns` below `start_ns` counts as `start_ns`.
    #[must_use]
    pub fn covering(start_ns: i64, end_ns: i64, min_width_ns: u64) -> Self {
        let width_log2 = min_width_ns.max(1).checked_next_power_of_two().map_or(62, u64::trailing_zeros).min(62);
        let first = start_ns >> width_log2;
        let last = end_ns.saturating_sub(1).max(start_ns) >> width_log2;
        let count = u32::try_from(i128::from(last) - i128::from(first) + 1).unwrap_or(u32::MAX);
        Self { first, count, width_log2 }
    }

    /// Returns the bucket that contains `ts_ns`.
    #[must_use]
    pub fn bucket_at(&self, ts_ns: i64) -> i64 {
        ts_ns >> self.width_log2
    }

    /// Returns the first nanosecond of a bucket; saturates.
    #[must_use]
    pub fn start_ns(&self, bucket: i64) -> i64 {
        i64::try_from(i128::from(bucket) << self.width_log2).unwrap_or(if bucket < 0 { i64::MIN } else { i64::MAX })
    }

    /// Returns the last nanosecond of a bucket; saturates.
    #[must_use]
    pub(crate) fn last_ns(&self, bucket: i64) -> i64 {
        let end = (i128::from(bucket) + 1) << self.width_log2;
        i64::try_from(end - 1).unwrap_or(if bucket < 0 { i64::MIN } else { i64::MAX })
    }

    /// Returns the bucket after the last.
    #[must_use]
    pub fn end(&self) -> i64 {
        self.first.saturating_add(i64::from(self.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_do_not_move_when_the_view_does() {
        let a = Buckets::covering(1000, 2000, 100);
        let b = Buckets::covering(1001, 2001, 100);
        assert_eq!((a.width_log2, a.first, a.count), (7, 7, 9));
        assert_eq!((b.first, b.width_log2), (7, 7));
    }

    #[test]
    fn buckets_cover_the_whole_of_time() {
        let all = Buckets::covering(i64::MIN, i64::MAX, 1 << 62);
        assert_eq!((all.first, all.count), (-2, 4));
        assert_eq!(all.start_ns(-2), i64::MIN);
        assert_eq!(all.start_ns(2), i64::MAX);
        assert_eq!([-2, -1, 1, 2].map(|bucket| all.last_ns(bucket)), [-(1 << 62) - 1, -1, i64::MAX, i64::MAX]);
        let before_zero = Buckets::covering(-5, -4, 1);
        assert_eq!((before_zero.first, before_zero.count), (-5, 1));
    }
}
