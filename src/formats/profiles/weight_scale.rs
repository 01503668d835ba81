//! Parses the weights of samples in JSON profiles, and reports those that had to be rounded.

use crate::formats::json::document::TimeUnit;

/// The scale of a column of weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WeightScale {
    /// Times, in nanoseconds. Digits below a nanosecond are normal for decimal seconds.
    Time(TimeUnit),
    /// Whole counts or bytes.
    Whole,
    /// Counts, some of them with a fraction.
    Millionths,
}

/// A weight in its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScaledWeight {
    pub(super) weight: i64,
    /// Whether the fraction of a count or a byte was rounded, or any weight became 0.
    pub(super) is_rounded: bool,
}

impl WeightScale {
    /// Unit of weights in millionths.
    pub(super) const MILLIONTHS: &str = "millionths";

    /// Returns the weight of one unit.
    pub(super) fn one(self) -> u64 {
        if self == Self::Millionths { 1_000_000 } else { 1 }
    }

    /// Parses a weight, rounded half away from zero. Returns `None` for text that is not a number, and for a number out
    /// of range.
    pub(super) fn parse(self, text: &[u8]) -> Option<ScaledWeight> {
        let unit = match self {
            Self::Time(unit) => unit,
            Self::Whole => TimeUnit::Nanoseconds,
            Self::Millionths => TimeUnit::Milliseconds,
        };
        let weight = unit.parse_nanos(text).ok()?;
        let text = std::str::from_utf8(text).ok()?.trim_matches('"');
        let exact = text.parse::<f64>().ok()? * self.one() as f64;
        // Sums of floats differ from decimals after about 15 digits; such noise is not a fraction.
        let has_rest = (exact - weight as f64).abs() > f64::max(1e-3, exact.abs() * 1e-12);
        let is_zeroed = weight == 0 && exact != 0.0;
        Some(ScaledWeight { weight, is_rounded: is_zeroed || (has_rest && !matches!(self, Self::Time(_))) })
    }

    /// Returns whether a weight has a fraction that the scale cannot hold.
    pub(super) fn is_rounded(self, text: &[u8]) -> bool {
        self.parse(text).is_some_and(|scaled| scaled.is_rounded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_kept_where_the_scale_can_and_reported_where_it_cannot() {
        let (whole, millionths) = (WeightScale::Whole, WeightScale::Millionths);
        let (ns, seconds) = (WeightScale::Time(TimeUnit::Nanoseconds), WeightScale::Time(TimeUnit::Seconds));
        for (scale, text, expected) in [
            (whole, "7", Some((7, false))),
            (whole, "-7.0", Some((-7, false))),
            (whole, "2.5", Some((3, true))),
            (whole, "0.25", Some((0, true))),
            (whole, "1e-9", Some((0, true))),
            (whole, "9007199254740993", Some((9_007_199_254_740_993, false))),
            (millionths, "0.25", Some((250_000, false))),
            (millionths, "0.30000000000000004", Some((300_000, false))),
            (millionths, "1e-9", Some((0, true))),
            (millionths, "1e13", None),
            (seconds, "0.0000000014", Some((1, false))),
            (ns, "0.25", Some((0, true))),
            (ns, "0.0", Some((0, false))),
            (whole, "null", None),
            (whole, "NaN", None),
            (whole, "1e400", None),
        ] {
            let parsed = scale.parse(text.as_bytes()).map(|parsed| (parsed.weight, parsed.is_rounded));
            assert_eq!(parsed, expected, "{scale:?} {text}");
        }
    }
}
