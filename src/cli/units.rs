//! Times, sizes in bytes and sizes in pixels as a person types them, and as numbers. Exact: nothing goes through a float.

use crate::base::time::seconds_text;

/// A time on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeArg {
    /// On the capture's own clock, as the `ts` column prints it.
    Absolute(i64),
    /// After the capture's first event.
    FromStart(i64),
}

/// A picture's size in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeArg {
    /// Pixels across.
    pub width_px: u32,
    /// Pixels down.
    pub height_px: u32,
}

/// Nanoseconds in each unit of time.
const TIME_UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Bytes in each unit of size. A bare letter is a power of 1024, as in the tools that people know.
const BYTE_UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("B", 1),
    ("K", 1 << 10),
    ("KiB", 1 << 10),
    ("M", 1 << 20),
    ("MiB", 1 << 20),
    ("G", 1 << 30),
    ("GiB", 1 << 30),
    ("T", 1 << 40),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

/// The widest and highest picture: what the weakest adapter in use draws in one texture.
const PICTURE_PX_MAX: u32 = 16_384;

impl TimeArg {
    /// On the clock of a capture that starts at `start_ns`; saturates at the ends of time.
    #[must_use]
    pub fn on_clock_of(self, start_ns: i64) -> i64 {
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

/// A size in bytes, such as `512MiB`, `1G` or `1500000`.
///
/// # Errors
/// A sentence that says what was expected.
pub fn bytes(text: &str) -> Result<u64, String> {
    let count = scaled(text, BYTE_UNITS).map_err(|problem| problem.sentence("bytes", text, BYTE_UNITS))?;
    u64::try_from(count).map_err(|_| format!("`{text}` is more than 64 bits of bytes"))
}

fn signed_time_ns(text: &str) -> Result<i64, String> {
    let (sign, magnitude) = match text.strip_prefix('-') {
        Some(magnitude) => (-1, magnitude),
        None => (1, text),
    };
    let count = scaled(magnitude, TIME_UNITS).map_err(|problem| problem.sentence("nanoseconds", text, TIME_UNITS))?;
    let out_of_range =
        || format!("`{text}` is outside of {} s to {} s", seconds_text(i64::MIN), seconds_text(i64::MAX));
    count.checked_mul(sign).and_then(|ns| i64::try_from(ns).ok()).ok_or_else(out_of_range)
}

/// Why a number with a unit cannot be taken.
#[derive(Debug)]
enum Problem {
    NoNumber,
    UnknownUnit,
    TooFine,
    TooLarge,
}

impl Problem {
    fn sentence(&self, of: &str, text: &str, units: &[(&str, u64)]) -> String {
        match self {
            Self::NoNumber | Self::UnknownUnit => {
                let names: Vec<&str> = units.iter().map(|(name, _)| *name).filter(|name| !name.is_empty()).collect();
                format!("expected a number of {of}, or one with a unit ({}), found `{text}`", names.join(", "))
            }
            Self::TooFine => format!("`{text}` is no whole number of {of}"),
            Self::TooLarge => format!("`{text}` is too large"),
        }
    }
}

/// A decimal number with a unit from the table, in the smallest unit; not negative.
fn scaled(text: &str, units: &[(&str, u64)]) -> Result<i128, Problem> {
    let number_length = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(number_length);
    let unit = unit.trim();
    let known = units.iter().find(|(name, _)| *name == unit);
    let known = known.or_else(|| units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)));
    let scale = i128::from(known.ok_or(Problem::UnknownUnit)?.1);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return Err(Problem::NoNumber);
    }
    let fraction = fraction.trim_end_matches('0');
    // an i128 holds 38 digits: 20 for 64 bits before the point, and no unit has more than 13 after it
    if whole.trim_start_matches('0').len() > 20 {
        return Err(Problem::TooLarge);
    }
    if fraction.len() > 13 {
        return Err(Problem::TooFine);
    }
    let integer = |digits: &str| if digits.is_empty() { Ok(0) } else { digits.parse::<i128>() };
    let whole = integer(whole).map_err(|_| Problem::TooLarge)?;
    let parts = integer(fraction).map_err(|_| Problem::TooFine)? * scale;
    let divisor = (0..fraction.len()).fold(1i128, |power, _| power * 10);
    if parts % divisor != 0 {
        return Err(Problem::TooFine);
    }
    Ok(whole * scale + parts / divisor)
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
    fn what_is_no_time_says_what_was_expected() {
        for text in ["", "ms", "1.2.3s", "0x10", "1 parsec", "--5", "1e3", "NaN", "."] {
            let error = text.parse::<TimeArg>().expect_err(text);
            assert!(error.contains("expected a number of nanoseconds"), "{text}: {error}");
        }
        assert!("0.5ns".parse::<TimeArg>().is_err_and(|error| error.contains("no whole number")));
        assert!("9223372036854775808".parse::<TimeArg>().is_err_and(|error| error.contains("outside of")));
        assert!("9".repeat(400).parse::<TimeArg>().is_err_and(|error| error.contains("too large")));
    }

    #[test]
    fn sizes_take_powers_of_1024_and_of_1000() {
        assert_eq!(bytes("512MiB"), Ok(512 << 20));
        assert_eq!(bytes("1G"), Ok(1 << 30));
        assert_eq!(bytes("1.5g"), Ok(3 << 29));
        assert_eq!(bytes("2GB"), Ok(2_000_000_000));
        assert_eq!(bytes("7"), Ok(7));
        assert!(bytes("-1").is_err());
        assert!(bytes("99999999T").is_err());
    }

    #[test]
    fn a_picture_has_two_sides_that_an_adapter_can_draw() {
        assert_eq!("1920x1080".parse(), Ok(SizeArg { width_px: 1920, height_px: 1080 }));
        for text in ["1920", "0x5", "5x0", "x", "99999x1", "-1x5"] {
            assert!(text.parse::<SizeArg>().is_err(), "{text}");
        }
    }
}
