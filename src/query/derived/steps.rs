//! Exports a derived track as counter values: one for each step whose value differs from the previous one.
//!
//! Steps are counted from the first time of the track. The longest duration is 0 in steps in which no span starts,
//! because a counter always has a value.

use std::sync::Arc;

use super::columns::ColumnWork;
use super::points::DerivedSeries;
use super::running::PointMeaning;

/// Approximate number of default steps for a whole trace.
const STEPS: u64 = 1000;

/// Returns the default step width for a length of time: 1, 2 or 5 times a power of ten, for 400 to 1,000 steps.
#[must_use]
pub(super) fn default_step_ns(length_ns: u64) -> u64 {
    let least_ns = length_ns.div_ceil(STEPS).max(1);
    let widths = (0..=19u32).flat_map(|zeros| [1, 2, 5].map(|digit| 10u64.checked_pow(zeros)?.checked_mul(digit)));
    widths.flatten().find(|&width_ns| width_ns >= least_ns).unwrap_or(least_ns)
}

/// Iterates over the changes of a counter in time order. A sum that overflows becomes the largest number.
#[derive(Debug, Clone)]
pub(crate) struct CounterSteps {
    series: Arc<DerivedSeries>,
    /// `None` if every point is a change.
    every_ns: Option<u64>,
    /// The last time to report.
    last_ns: i64,
    /// The start of the next step that may have another value.
    next_ns: Option<i64>,
    last: Option<f64>,
}

impl CounterSteps {
    /// Returns the changes in a time range by steps of a width. Without a width: every change of a concurrency or a
    /// counter, and default steps for the rest.
    #[must_use]
    pub(crate) fn new(
        series: Arc<DerivedSeries>,
        every_ns: Option<u64>,
        (from_ns, to_ns): (Option<i64>, Option<i64>),
    ) -> Self {
        let first_ns = from_ns.unwrap_or(i64::MIN).max(series.bounds_ns.0);
        let last_ns = to_ns.map_or(i64::MAX, |to_ns| to_ns.saturating_sub(1)).min(series.bounds_ns.1);
        let default_ns = default_step_ns(last_ns.abs_diff(first_ns));
        let is_level = matches!(series.meaning, PointMeaning::Open | PointMeaning::Level);
        let every_ns = every_ns.or((!is_level).then_some(default_ns));
        let next_ns = Some(first_ns).filter(|&first_ns| first_ns <= last_ns);
        Self { series, every_ns, last_ns, next_ns, last: None }
    }

    /// Returns the value of the step at `start_ns`, and the start of the next one that may differ.
    fn step(&self, start_ns: i64) -> (f64, Option<i64>) {
        // A step of one nanosecond is a point.
        let width_ns = self.every_ns.unwrap_or(1).max(1);
        let last_ns = start_ns.saturating_add_unsigned(width_ns - 1);
        // At the end of the series, a sum of counters falls to zero, which would exceed negative values.
        let is_sum = self.series.meaning == PointMeaning::Level;
        let value_end_ns = if is_sum { last_ns.min(self.last_ns) } else { last_ns };
        let value = self.series.value((start_ns, value_end_ns), &mut ColumnWork::default());
        let next_point_ns = self.series.first_point(start_ns);
        let next_ns = match next_point_ns {
            Some(point_ns) if point_ns <= last_ns => start_ns.checked_add_unsigned(width_ns),
            // Nothing changes before the step of the next point.
            _ => next_point_ns.and_then(|point_ns| {
                let steps = point_ns.abs_diff(start_ns) / width_ns;
                start_ns.checked_add_unsigned(steps * width_ns)
            }),
        };
        (value.map_or(0.0, |(_, most)| most), next_ns.filter(|&next_ns| next_ns <= self.last_ns))
    }
}

impl Iterator for CounterSteps {
    type Item = (i64, f64);

    fn next(&mut self) -> Option<(i64, f64)> {
        loop {
            let start_ns = self.next_ns?;
            let (value, next_ns) = self.step(start_ns);
            self.next_ns = next_ns;
            let value = value.clamp(f64::MIN, f64::MAX);
            // Sums that overflow in both directions have no value.
            if !value.is_nan() && self.last.replace(value) != Some(value) {
                return Some((start_ns, value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_of_any_length_has_400_to_1000_steps() {
        for length_ns in [1_000, 1_001, 2_000_001, 898_220_000, 86_400_000_000_000, u64::MAX] {
            let width_ns = default_step_ns(length_ns);
            let steps = length_ns / width_ns;
            assert!((400..=1000).contains(&steps), "{length_ns}: {steps} of {width_ns}");
        }
        assert_eq!([0, 1, 999].map(default_step_ns), [1, 1, 1]);
    }
}
