//! Times and sizes in pixels as a person types them on the command line.

use crate::base::units::signed_time_ns;

/// A time on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeArg {
    /// A time on the trace's own clock, as printed in the `ts` column.
    Absolute(i64),
    /// A time after the first event of the trace.
    FromStart(i64),
}

/// The size of a picture in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SizeArg {
    pub(crate) width_px: u32,
    pub(crate) height_px: u32,
}

/// Limit for the sides of a picture: the texture limit of the weakest supported GPU.
const PICTURE_PX_MAX: u32 = 16_384;

impl TimeArg {
    /// Converts to the clock of a trace that starts at `start_ns`; saturates.
    #[must_use]
    pub(super) fn on_clock_of(self, start_ns: i64) -> i64 {
        match self {
            Self::Absolute(ts_ns) => ts_ns,
            Self::FromStart(since_ns) => start_ns.saturating_add(since_ns),
        }
    }
}

impl std::str::FromStr for TimeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix('+') {
            Some(since) => signed_time_ns(since).map(Self::FromStart),
            None => signed_time_ns(text).map(Self::Absolute),
        }
    }
}

impl std::str::FromStr for SizeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once(['x', 'X']).ok_or("expected WIDTHxHEIGHT in pixels, such as 1920x1080")?;
        let side = |digits: &str| match digits.parse() {
            Ok(px) if (1..=PICTURE_PX_MAX).contains(&px) => Ok(px),
            _ => Err(format!("expected a side of 1 to {PICTURE_PX_MAX} pixels, found `{digits}`")),
        };
        Ok(Self { width_px: side(parts.0)?, height_px: side(parts.1)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_at_both_ends_of_time() {
        let absolute = |text: &str| text.parse::<TimeArg>();
        assert_eq!(absolute("1.5ms"), Ok(TimeArg::Absolute(1_500_000)));
        assert_eq!(absolute("2s"), Ok(TimeArg::Absolute(2_000_000_000)));
        assert_eq!(absolute("10us"), Ok(TimeArg::Absolute(10_000)));
        assert_eq!(absolute("-0.000000001s"), Ok(TimeArg::Absolute(-1)));
        assert_eq!(absolute("-9223372036854775808"), Ok(TimeArg::Absolute(i64::MIN)));
        assert_eq!(absolute("9223372036.854775807s"), Ok(TimeArg::Absolute(i64::MAX)));
        assert_eq!(absolute("+1.50 ms"), Ok(TimeArg::FromStart(1_500_000)));
        assert_eq!(TimeArg::FromStart(5).on_clock_of(i64::MAX), i64::MAX);
    }

    #[test]
    fn an_invalid_time_is_an_error_that_says_what_was_expected() {
        for text in ["", "ms", "1.2.3s", "0x10", "1 parsec", "--5", "1e3", "NaN", "."] {
            let error = text.parse::<TimeArg>().expect_err(text);
            assert!(error.contains("expected a number of nanoseconds"), "{text}: {error}");
        }
        assert!("0.5ns".parse::<TimeArg>().is_err_and(|error| error.contains("not a whole number")));
        assert!("9223372036854775808".parse::<TimeArg>().is_err_and(|error| error.contains("outside of")));
        assert!("9".repeat(400).parse::<TimeArg>().is_err_and(|error| error.contains("too large")));
    }

    #[test]
    fn a_picture_has_two_sides_that_an_adapter_can_draw() {
        assert_eq!("1920x1080".parse(), Ok(SizeArg { width_px: 1920, height_px: 1080 }));
        for text in ["1920", "0x5", "5x0", "x", "99999x1", "-1x5"] {
            assert!(text.parse::<SizeArg>().is_err(), "{text}");
        }
    }
}
