//! Times as users type them, on the command line and in the window.

use super::units::signed_time_ns;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TypedTime {
    /// A time without a plus sign: on the trace's clock, or on the clock of the ruler.
    Absolute(i64),
    /// A time after the first event of the trace.
    FromStart(i64),
}

impl TypedTime {
    /// Converts to the clock of a trace that starts at `start_ns`; saturates.
    #[must_use]
    pub(crate) fn on_clock_of(self, start_ns: i64) -> i64 {
        match self {
            Self::Absolute(ts_ns) => ts_ns,
            Self::FromStart(since_ns) => start_ns.saturating_add(since_ns),
        }
    }
}

impl std::str::FromStr for TypedTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix('+') {
            Some(since) => signed_time_ns(since).map(Self::FromStart),
            None => signed_time_ns(text).map(Self::Absolute),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_at_both_ends_of_time() {
        let absolute = |text: &str| text.parse::<TypedTime>();
        assert_eq!(absolute("1.5ms"), Ok(TypedTime::Absolute(1_500_000)));
        assert_eq!(absolute("2s"), Ok(TypedTime::Absolute(2_000_000_000)));
        assert_eq!(absolute("10us"), Ok(TypedTime::Absolute(10_000)));
        assert_eq!(absolute("-0.000000001s"), Ok(TypedTime::Absolute(-1)));
        assert_eq!(absolute("-9223372036854775808"), Ok(TypedTime::Absolute(i64::MIN)));
        assert_eq!(absolute("9223372036.854775807s"), Ok(TypedTime::Absolute(i64::MAX)));
        assert_eq!(absolute("+1.50 ms"), Ok(TypedTime::FromStart(1_500_000)));
        assert_eq!(TypedTime::FromStart(5).on_clock_of(i64::MAX), i64::MAX);
    }

    #[test]
    fn an_invalid_time_is_an_error_that_says_what_was_expected() {
        for text in ["", "ms", "1.2.3s", "0x10", "1 parsec", "--5", "1e3", "NaN", "."] {
            let error = text.parse::<TypedTime>().expect_err(text);
            assert!(error.contains("expected a number of nanoseconds"), "{text}: {error}");
        }
        assert!("0.5ns".parse::<TypedTime>().is_err_and(|error| error.contains("not a whole number")));
        assert!("9223372036854775808".parse::<TypedTime>().is_err_and(|error| error.contains("outside of")));
        assert!("9".repeat(400).parse::<TypedTime>().is_err_and(|error| error.contains("too large")));
    }
}
