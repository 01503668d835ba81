//! The time columns of a heat map: equal in width to within a nanosecond, none empty.

use crate::query::scope::Scope;

/// Maximum number of columns: about one per pixel of a large screen.
pub(crate) const COLUMNS_MAX: usize = 4096;

/// A time range in equal columns. A range up to `i64::MAX` includes that time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeatMapAxis {
    from_ns: i64,
    to_ns: i64,
    columns: u32,
}

impl HeatMapAxis {
    /// Divides `[from_ns, to_ns)` into `columns` columns, or fewer if there are not enough nanoseconds.
    #[must_use]
    pub(crate) fn new(from_ns: i64, to_ns: i64, columns: usize) -> Self {
        let to_ns = to_ns.max(from_ns.saturating_add(1));
        let mut axis = Self { from_ns, to_ns, columns: 1 };
        let columns = columns.clamp(1, COLUMNS_MAX) as i128;
        axis.columns = columns.min(axis.width_ns()) as u32;
        axis
    }

    #[must_use]
    pub(crate) fn start_ns(&self) -> i64 {
        self.from_ns
    }

    /// Returns the first nanosecond after it, or `i64::MAX`, which it includes.
    #[must_use]
    pub(crate) fn end_ns(&self) -> i64 {
        self.to_ns
    }

    #[must_use]
    pub(crate) fn columns(&self) -> usize {
        self.columns as usize
    }

    /// Returns its length, at most 2^64 ns.
    #[must_use]
    pub(crate) fn width_ns(&self) -> i128 {
        i128::from(self.to_ns) - i128::from(self.from_ns) + i128::from(self.to_ns == i64::MAX)
    }

    /// Returns the column of a time.
    #[must_use]
    pub(crate) fn column_of(&self, ts_ns: i64) -> Option<usize> {
        let since_ns = i128::from(ts_ns) - i128::from(self.from_ns);
        let is_within = since_ns >= 0 && since_ns < self.width_ns();
        is_within.then(|| (since_ns * i128::from(self.columns) / self.width_ns()) as usize)
    }

    /// Returns the first nanosecond of a column; one past the last column gives the end.
    #[must_use]
    pub(crate) fn start_of(&self, column: usize) -> i64 {
        let (columns, column) = (i128::from(self.columns), (column as i128).min(self.columns.into()));
        let since_ns = (column * self.width_ns() + columns - 1) / columns;
        i64::try_from(i128::from(self.from_ns) + since_ns).unwrap_or(i64::MAX)
    }

    /// Narrows a scope to spans that may start in the range.
    #[must_use]
    pub(super) fn narrow(&self, scope: &Scope) -> Scope {
        let from_ns = scope.from_ns.map_or(self.from_ns, |from_ns| from_ns.max(self.from_ns));
        let to_ns = scope.to_ns.map_or(self.to_ns, |to_ns| to_ns.min(self.to_ns));
        Scope { from_ns: Some(from_ns), to_ns: (to_ns < i64::MAX).then_some(to_ns), ..scope.clone().spans() }
    }
}

/// Finds the columns of times that mostly come in order, with a division per column instead of per time.
pub(super) struct ColumnCursor {
    axis: HeatMapAxis,
    column: usize,
    /// First and last time of the current column.
    bounds_ns: Option<(i64, i64)>,
}

impl ColumnCursor {
    pub(super) fn new(axis: HeatMapAxis) -> Self {
        Self { axis, column: 0, bounds_ns: None }
    }

    /// Returns the column as [`HeatMapAxis::column_of`] does, faster for times in order.
    pub(super) fn column_of(&mut self, ts_ns: i64) -> Option<usize> {
        if self.bounds_ns.is_none_or(|(first_ns, last_ns)| ts_ns < first_ns || ts_ns > last_ns) {
            self.column = self.axis.column_of(ts_ns)?;
            let next_ns = self.axis.start_of(self.column + 1);
            let is_last = self.column + 1 == self.axis.columns() && self.axis.to_ns == i64::MAX;
            let last_ns = if is_last { i64::MAX } else { next_ns - 1 };
            self.bounds_ns = Some((self.axis.start_of(self.column), last_ns));
        }
        Some(self.column)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_time_is_in_one_part_and_every_part_has_a_time(
            raw in (any::<i64>(), any::<i64>(), 0u32..64),
            columns in 0usize..5000,
            part in 0.0f64..=1.0,
        ) {
            let (a, b) = (raw.0 >> raw.2, raw.1 >> raw.2);
            for (from_ns, to_ns) in [(a.min(b), a.max(b)), (i64::MIN, i64::MAX), (i64::MAX, i64::MAX), (b, b)] {
                let axis = HeatMapAxis::new(from_ns, to_ns, columns);
                prop_assert!((1..=COLUMNS_MAX).contains(&axis.columns()));
                prop_assert!(axis.columns() as i128 <= axis.width_ns());
                prop_assert_eq!(axis.start_of(0), from_ns);
                prop_assert_eq!(axis.column_of(from_ns), Some(0));
                let last_ns = if axis.end_ns() == i64::MAX { i64::MAX } else { axis.end_ns() - 1 };
                prop_assert_eq!(axis.column_of(last_ns), Some(axis.columns() - 1));
                prop_assert_eq!(axis.column_of(last_ns.saturating_add(1)).is_none(), last_ns < i64::MAX);
                prop_assert_eq!(from_ns.checked_sub(1).and_then(|before| axis.column_of(before)), None);
                let column = ((axis.columns() - 1) as f64 * part) as usize;
                let (start_ns, next_ns) = (axis.start_of(column), axis.start_of(column + 1));
                prop_assert_eq!(axis.column_of(start_ns), Some(column));
                if column + 1 < axis.columns() {
                    prop_assert!(start_ns < next_ns);
                    prop_assert_eq!(axis.column_of(next_ns - 1), Some(column));
                }
                let mut cursor = ColumnCursor::new(axis);
                for ts_ns in [start_ns, from_ns, next_ns, last_ns, start_ns, i64::MAX, i64::MIN, start_ns] {
                    prop_assert_eq!(cursor.column_of(ts_ns), axis.column_of(ts_ns));
                }
            }
        }
    }
}
