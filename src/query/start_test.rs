//! Tests of starts in filters, such as `start>=1.5s` on the trace's clock and `start<+2ms` after its first event, and
//! the comparisons of times.

use std::ops::RangeInclusive;

use crate::base::typed_time::TypedTime;

/// A test of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartTest {
    sign: Comparison,
    time: TypedTime,
}

impl StartTest {
    /// Parses a comparison such as `>=1.5s`. Returns the expected form on error.
    pub(super) fn parse(comparison: &str) -> Result<Self, String> {
        let Some((sign, time)) = comparison_of(comparison) else {
            return Err("expected start>, start>=, start<, start<= or start= and a time, such as start>=1.5s, or \
                        start>=+1.5s after the first event"
                .to_owned());
        };
        Ok(Self { sign, time: time.parse()? })
    }

    /// Returns the matching starts on the clock of a trace that starts at `start_ns`.
    #[must_use]
    pub fn on_clock_of(self, start_ns: i64) -> RangeInclusive<i64> {
        let time_ns = self.time.on_clock_of(start_ns);
        let next_to = [time_ns.checked_sub(1), time_ns.checked_add(1)];
        allowed(self.sign, time_ns, next_to, [i64::MIN, i64::MAX]).unwrap_or(RangeInclusive::new(1, 0))
    }

    /// Returns the matching starts if they do not depend on the trace.
    #[must_use]
    pub(crate) fn absolute(self) -> Option<RangeInclusive<i64>> {
        matches!(self.time, TypedTime::Absolute(_)).then(|| self.on_clock_of(0))
    }
}

/// Returns the range that a comparison with a number allows, if any. `next_to` are the numbers before and after it.
pub(super) fn allowed<T: Copy>(
    sign: Comparison,
    number: T,
    next_to: [Option<T>; 2],
    all: [T; 2],
) -> Option<RangeInclusive<T>> {
    let ([before, after], [least, most]) = (next_to, all);
    Some(match sign {
        Comparison::Equal => number..=number,
        Comparison::AtLeast => number..=most,
        Comparison::Above => after?..=most,
        Comparison::AtMost => least..=number,
        Comparison::Below => least..=before?,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    AtLeast,
    Above,
    AtMost,
    Below,
    Equal,
}

/// Splits off the comparison operator.
pub(super) fn comparison_of(text: &str) -> Option<(Comparison, &str)> {
    // Longer operators come first.
    let signs = [
        (">=", Comparison::AtLeast),
        ("<=", Comparison::AtMost),
        (">", Comparison::Above),
        ("<", Comparison::Below),
        ("=", Comparison::Equal),
    ];
    signs.into_iter().find_map(|(sign, comparison)| Some((comparison, text.strip_prefix(sign)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_with_a_plus_counts_from_the_first_event() {
        let range = |text: &str| StartTest::parse(text).expect("a test").on_clock_of(1_000);
        assert_eq!(range(">=+5ns"), 1_005..=i64::MAX);
        assert_eq!(range("<+5ns"), i64::MIN..=1_004);
        assert_eq!(range("=5ns"), 5..=5);
        assert_eq!(StartTest::parse("<+5ns").expect("a test").absolute(), None);
    }
}
