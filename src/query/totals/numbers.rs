//! The totals of one group of spans, and the number columns of totals tables.

use crate::base::sketch::Sketch;
use crate::store::sums::NameSums;

/// Totals of the spans of one name, or of another group. A trace may have millions of them, so they are 144 bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct NameTotals {
    /// Spans that reach into the range.
    pub(crate) count: u64,
    /// Time of the spans within the range.
    pub(crate) total_ns: u128,
    /// Self time: the part of the total in which no child runs.
    pub(crate) self_ns: u128,
    /// Time in which at least one span of the group is open on its track, if `has_union`.
    union_ns: u128,
    /// Sum of whole durations, including spans that the range cuts.
    pub(crate) whole_ns: u128,
    /// Squares of whole durations, in square nanoseconds; saturates.
    whole_squares: u128,
    /// Shortest whole duration of a span.
    pub(crate) min_ns: u64,
    /// Longest whole duration of a span.
    pub(crate) max_ns: u64,
    /// Spans without an end in the trace; they last until the last event of their track. At most one per lane, whose
    /// indices have 32 bits.
    pub(crate) unfinished: u32,
    /// Whether the sums of the names give the union of the group.
    has_union: bool,
    pub(super) sketch: Sketch,
}

/// A number column of totals tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TotalsColumn {
    Count,
    Total,
    Own,
    Mean,
    Median,
    P99,
    Min,
    Max,
    Distinct,
    Deviation,
    P90,
    P95,
    Unfinished,
}

impl TotalsColumn {
    /// All columns. Their order and names are a contract with scripts.
    pub(crate) const ALL: [Self; 13] = [
        Self::Count,
        Self::Total,
        Self::Own,
        Self::Mean,
        Self::Median,
        Self::P99,
        Self::Min,
        Self::Max,
        Self::Distinct,
        Self::Deviation,
        Self::P90,
        Self::P95,
        Self::Unfinished,
    ];

    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Total => "total",
            Self::Own => "self",
            Self::Mean => "mean",
            Self::Median => "p50",
            Self::P99 => "p99",
            Self::Min => "min",
            Self::Max => "max",
            Self::Distinct => "distinct",
            Self::Deviation => "deviation",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::Unfinished => "unfinished",
        }
    }
}

impl NameTotals {
    /// Creates empty totals. `has_union` says whether the added sums give the union of the group.
    pub(super) fn new(has_union: bool) -> Self {
        Self { has_union, ..Self::default() }
    }

    /// Returns the time in which at least one span of the group is open on its track: recursion counts once. `None` if
    /// the sums of the names do not give it.
    #[must_use]
    pub(crate) fn union_ns(&self) -> Option<u128> {
        self.has_union.then_some(self.union_ns)
    }

    /// Returns the mean of whole durations, rounded to the nearest nanosecond; halves go up.
    #[must_use]
    pub(crate) fn mean_ns(&self) -> u64 {
        let count = u128::from(self.count);
        u64::try_from((self.whole_ns + count / 2).checked_div(count).unwrap_or(0)).unwrap_or(u64::MAX)
    }

    /// Returns the standard deviation of whole durations; `None` if their squares overflow.
    #[must_use]
    pub(crate) fn deviation_ns(&self) -> Option<f64> {
        if self.count == 0 || self.whole_squares == u128::MAX {
            return None;
        }
        // The sum of the squares of the distances from the rounded mean fits, although the terms on the way may wrap.
        let count = u128::from(self.count);
        let (mean, rest) = (self.whole_ns / count, self.whole_ns % count);
        let twice = mean.wrapping_mul(self.whole_ns).wrapping_mul(2);
        let squares = self.whole_squares.wrapping_sub(twice).wrapping_add(mean.wrapping_mul(mean).wrapping_mul(count));
        let of_rounding = rest * rest;
        // Exact if it fits: a difference of rounded numbers would lose all digits.
        let variance = match squares.checked_mul(count) {
            Some(squares) => squares.saturating_sub(of_rounding) as f64 / self.count as f64 / self.count as f64,
            None => squares as f64 / self.count as f64,
        };
        Some(variance.sqrt())
    }

    /// Returns a quantile of the durations, for `part` of 0 to 1; `None` until all durations are counted. Exact for up
    /// to 128 spans, else with an error of at most 1/32; see [`Sketch`].
    #[must_use]
    pub(crate) fn quantile_ns(&self, part: f64) -> Option<u64> {
        let is_counted = self.sketch.count() == self.count;
        let quantile = self.sketch.quantile(part).filter(|_| is_counted)?;
        Some(quantile.clamp(self.min_ns, self.max_ns))
    }

    /// Returns the maximum relative error of a quantile; 0 if it is exact.
    #[must_use]
    pub(crate) fn quantile_error(&self) -> f64 {
        self.sketch.error()
    }

    /// Returns the numbers of all columns, in nanoseconds except for counts. `None` for quantiles that are not counted
    /// yet, a deviation that overflows, and an unknown union time.
    #[must_use]
    pub(crate) fn numbers(&self) -> [Option<u128>; TotalsColumn::ALL.len()] {
        TotalsColumn::ALL.map(|column| self.number(column))
    }

    /// Returns the number of a column.
    #[must_use]
    pub(crate) fn number(&self, column: TotalsColumn) -> Option<u128> {
        let quantile = |part: f64| self.quantile_ns(part).map(u128::from);
        match column {
            TotalsColumn::Count => Some(self.count.into()),
            TotalsColumn::Total => Some(self.total_ns),
            TotalsColumn::Own => Some(self.self_ns),
            TotalsColumn::Mean => Some(self.mean_ns().into()),
            TotalsColumn::Median => quantile(0.5),
            TotalsColumn::P99 => quantile(0.99),
            TotalsColumn::Min => Some(self.min_ns.into()),
            TotalsColumn::Max => Some(self.max_ns.into()),
            TotalsColumn::Distinct => self.union_ns(),
            TotalsColumn::Deviation => self.deviation_ns().map(|ns| ns.round() as u128),
            TotalsColumn::P90 => quantile(0.9),
            TotalsColumn::P95 => quantile(0.95),
            TotalsColumn::Unfinished => Some(self.unfinished.into()),
        }
    }

    /// Returns the distribution of whole durations.
    #[must_use]
    pub(crate) fn sketch(&self) -> &Sketch {
        &self.sketch
    }

    pub(super) fn add(&mut self, sums: &NameSums) {
        let is_first = self.count == 0;
        self.min_ns = if is_first { sums.min_ns } else { self.min_ns.min(sums.min_ns) };
        self.max_ns = self.max_ns.max(sums.max_ns);
        self.count += sums.starts;
        self.total_ns += sums.total_ns;
        self.self_ns += sums.total_ns - sums.covered_ns;
        self.union_ns += sums.union_ns;
        self.whole_ns += sums.whole_ns;
        self.whole_squares = self.whole_squares.saturating_add(sums.whole_squares);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the totals of spans of two durations, which occur equally often.
    fn of_two_durations(pairs: u64, durations: [u64; 2]) -> NameTotals {
        let sum = |power: u32| durations.iter().map(|&dur_ns| u128::from(dur_ns).pow(power)).sum::<u128>();
        let (whole_ns, whole_squares) = (sum(1) * u128::from(pairs), sum(2) * u128::from(pairs));
        NameTotals { count: 2 * pairs, whole_ns, whole_squares, ..NameTotals::default() }
    }

    #[test]
    fn the_deviation_of_many_long_spans_is_the_distance_of_their_mean() {
        for (pairs, longest_ns) in [(1, 1 << 62), (1_000, 1 << 57), (1_000_000, 1 << 52), (1 << 40, 1 << 40)] {
            for apart_ns in [0, 2, 1_000, 1 << 30] {
                let totals = of_two_durations(pairs, [longest_ns - apart_ns, longest_ns]);
                let deviation_ns = totals.deviation_ns().expect("no overflow");
                assert!((deviation_ns - apart_ns as f64 / 2.0).abs() < 1e-6, "{pairs} {longest_ns} {deviation_ns}");
            }
        }
    }

    #[test]
    fn a_mean_is_rounded_to_the_nearest_nanosecond() {
        let mean_ns = |count, whole_ns| NameTotals { count, whole_ns, ..NameTotals::default() }.mean_ns();
        assert_eq!(
            [(0, 0), (3, 8_000), (3, 7_000), (2, 5)].map(|(count, whole)| mean_ns(count, whole)),
            [0, 2667, 2333, 3]
        );
    }

    #[test]
    fn totals_of_a_million_names_stay_small() {
        assert_eq!(size_of::<NameTotals>(), 144);
    }
}
