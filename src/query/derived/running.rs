//! The meaning of point values, and how running values continue from one part to the next.

use crate::query::compensated_sum::CompensatedSum;
use crate::query::time_sort::TimedValue;

/// The meaning of the values of points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PointMeaning {
    /// Rows that start at or before that time.
    RowsSoFar,
    /// Spans open from that time on.
    Open,
    /// The low 64 bits of the total time of open spans up to that time. The series also has [`HighWords`].
    OpenTime,
    /// The longest duration of the spans that start then.
    Longest,
    /// The duration of one span that starts then; each span is a point.
    Durations,
    /// Sum of the values at that time, as bits.
    Sum,
    /// Sum of the values from that time on, as bits.
    Level,
}

/// Values that accumulate from point to point.
#[derive(Debug)]
pub(super) enum RunningValue {
    /// Points whose values do not depend on earlier points.
    Single(PointMeaning),
    /// A running number; decreases within a part wrap.
    Number { meaning: PointMeaning, sum: u64 },
    /// Open spans, and the total time of open spans up to a time.
    OpenTime { open: u64, time_ns: u128, until_ns: i64, points: usize, high_words: HighWords },
    /// A level: the sum of the changes so far.
    Level(OverflowingSum),
}

impl RunningValue {
    pub(super) fn new(meaning: PointMeaning) -> Self {
        match meaning {
            PointMeaning::RowsSoFar | PointMeaning::Open => Self::Number { meaning, sum: 0 },
            PointMeaning::OpenTime => {
                Self::OpenTime { open: 0, time_ns: 0, until_ns: i64::MIN, points: 0, high_words: HighWords::default() }
            }
            PointMeaning::Level => Self::Level(OverflowingSum::default()),
            PointMeaning::Longest | PointMeaning::Durations | PointMeaning::Sum => Self::Single(meaning),
        }
    }

    pub(super) fn meaning(&self) -> PointMeaning {
        match self {
            Self::Single(meaning) | Self::Number { meaning, .. } => *meaning,
            Self::OpenTime { .. } => PointMeaning::OpenTime,
            Self::Level(_) => PointMeaning::Level,
        }
    }

    /// Returns the high words of the numbers whose points contain low words.
    pub(super) fn into_high_words(self) -> HighWords {
        if let Self::OpenTime { high_words, .. } = self { high_words } else { HighWords::default() }
    }

    /// Converts the values of a part, which start at zero, to values of the whole. Returns the smallest and the
    /// largest.
    pub(super) fn carry_on(&mut self, points: &mut Vec<TimedValue>) -> (f64, f64) {
        let extremes = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((0.0, 0.0), |(least, most): (f64, f64), value| (least.min(value), most.max(value)))
        };
        match self {
            Self::Single(PointMeaning::Sum) => extremes(&mut points.iter().map(|point| f64::from_bits(point.value))),
            Self::Single(_) => (0.0, points.iter().map(|point| point.value).max().unwrap_or(0) as f64),
            Self::Number { sum, .. } => {
                points.iter_mut().for_each(|point| point.value = point.value.wrapping_add(*sum));
                *sum = points.last().map_or(*sum, |last| last.value);
                (0.0, points.iter().map(|point| point.value).max().unwrap_or(0) as f64)
            }
            Self::OpenTime { open, time_ns, until_ns, points: index, high_words } => {
                let (before, mut most) = (*open, 0);
                for point in points {
                    let past_ns = point.ts_ns.abs_diff(*until_ns);
                    *time_ns = time_ns.wrapping_add(u128::from(*open) * u128::from(past_ns));
                    *until_ns = point.ts_ns;
                    *open = before.wrapping_add(point.value);
                    most = most.max(*open);
                    point.value = high_words.split(*index, *time_ns);
                    *index += 1;
                }
                (0.0, most as f64)
            }
            Self::Level(sum) => {
                for point in points.iter_mut() {
                    sum.add(f64::from_bits(point.value));
                    point.value = sum.value().to_bits();
                }
                // Among changes at one time, the last gives the value.
                points.reverse();
                points.dedup_by_key(|point| point.ts_ns);
                points.reverse();
                extremes(&mut points.iter().map(|point| f64::from_bits(point.value)))
            }
        }
    }
}

/// The high 64 bits of growing numbers by index. They are 0 unless spans are open for more than 584 years in all.
#[derive(Debug, Clone, Default)]
pub(super) struct HighWords {
    /// The first index of each high word, in order.
    firsts: Vec<(usize, u64)>,
}

impl HighWords {
    /// Stores the high word of the number at an index, and returns the low one. Indices only grow.
    fn split(&mut self, index: usize, number: u128) -> u64 {
        let high = (number >> 64) as u64;
        if high != self.firsts.last().map_or(0, |last| last.1) {
            self.firsts.push((index, high));
        }
        number as u64
    }

    /// Returns the number at an index, given its low word.
    pub(super) fn join(&self, index: usize, low: u64) -> u128 {
        let later = self.firsts.partition_point(|&(first, _)| first <= index);
        let high = later.checked_sub(1).map_or(0, |at| self.firsts[at].1);
        u128::from(high) << 64 | u128::from(low)
    }
}

/// A sum with its rounding errors, so that changes up and down cancel out. It may overflow for a time: huge values are
/// summed at a smaller scale, since no change undoes an infinity.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OverflowingSum {
    usual: CompensatedSum,
    /// Sum of the huge values, divided by [`Self::SCALE`].
    huge: CompensatedSum,
}

impl OverflowingSum {
    /// 2^64, so that even the largest values of 2^64 counters do not overflow.
    const SCALE: f64 = 18_446_744_073_709_551_616.0;
    /// Values from here on are huge; as many as counters exist stay finite below it.
    const HUGE: f64 = f64::MAX / Self::SCALE;

    fn add(&mut self, value: f64) {
        if value.abs() < Self::HUGE {
            self.usual.add(value);
        } else {
            self.huge.add(value / Self::SCALE);
        }
    }

    fn value(self) -> f64 {
        self.huge.value() * Self::SCALE + self.usual.value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_there_and_back_leave_nothing_and_those_of_a_time_are_one_point() {
        let mut sum = RunningValue::new(PointMeaning::Level);
        let change = |ts_ns, value: f64| TimedValue { ts_ns, value: value.to_bits() };
        let mut first = vec![change(1, 1e16), change(1, 0.25), change(2, 3.0)];
        assert_eq!(sum.carry_on(&mut first), (0.0, 1e16 + 4.0));
        assert_eq!(first.iter().map(|point| point.ts_ns).collect::<Vec<_>>(), [1, 2]);
        let mut rest = vec![change(5, -1e16), change(6, -3.25), change(7, -1.0)];
        assert_eq!(sum.carry_on(&mut rest), (-1.0, 3.25));
        let values: Vec<f64> = rest.iter().map(|point| f64::from_bits(point.value)).collect();
        assert_eq!(values, [3.25, 0.0, -1.0]);
    }

    #[test]
    fn a_sum_that_overflows_recovers() {
        let mut sum = RunningValue::new(PointMeaning::Level);
        let mut points = Vec::new();
        let mut previous = 0.0;
        for (value, ts_ns) in [1.0, 1.7e308, 0.0, 5.0, 6.0].into_iter().zip(0..) {
            for change in [-previous, value, -previous, value] {
                points.push(TimedValue { ts_ns, value: f64::to_bits(change) });
            }
            previous = value;
        }
        sum.carry_on(&mut points);
        let values: Vec<f64> = points.iter().map(|point| f64::from_bits(point.value)).collect();
        assert_eq!(values, [2.0, f64::INFINITY, 0.0, 10.0, 12.0]);
    }

    #[test]
    fn open_time_carries_on_from_part_to_part() {
        let mut time = RunningValue::new(PointMeaning::OpenTime);
        let point = |ts_ns, value: u64| TimedValue { ts_ns, value };
        let mut first = vec![point(-5, 1), point(0, 2)];
        assert_eq!(time.carry_on(&mut first), (0.0, 2.0));
        // One span ends before this part, one in it.
        let mut second = vec![point(10, 1u64.wrapping_neg()), point(30, 2u64.wrapping_neg())];
        assert_eq!(time.carry_on(&mut second), (0.0, 1.0));
        assert_eq!((first[1].value, second[0].value, second[1].value), (5, 25, 45));
    }
}
