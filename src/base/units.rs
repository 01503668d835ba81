//! Parses and formats times and sizes as typed by users. Exact: no floating point.

use std::ops::RangeInclusive;

use super::time::seconds_text;

/// Nanoseconds per unit of time.
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

/// Bytes per unit of size. A bare letter is a power of 1024, as in common tools.
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

/// Returns whether a text is a unit of time, such as `ms`.
pub(crate) fn is_time_unit(text: &str) -> bool {
    !text.is_empty() && TIME_UNITS.iter().any(|(unit, _)| *unit == text)
}

/// Parses a size in bytes, such as `512MiB`, `1G` or `1500000`. Returns a sentence with the expected form on error.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let count = scaled(text, BYTE_UNITS).map_err(|problem| problem.sentence("bytes", text, BYTE_UNITS))?;
    u64::try_from(count).map_err(|_| format!("`{text}` is more than 2^64 - 1 bytes"))
}

/// Parses a time in nanoseconds, such as `1.5ms`, `-2s` or `1500000`. Returns a sentence with the expected form on
/// error.
pub(crate) fn signed_time_ns(text: &str) -> Result<i64, String> {
    let (sign, magnitude) = match text.strip_prefix('-') {
        Some(magnitude) => (-1, magnitude),
        None => (1, text),
    };
    let count = scaled(magnitude, TIME_UNITS).map_err(|problem| problem.sentence("nanoseconds", text, TIME_UNITS))?;
    let out_of_range =
        || format!("`{text}` is outside of {} s to {} s", seconds_text(i64::MIN), seconds_text(i64::MAX));
    count.checked_mul(sign).and_then(|ns| i64::try_from(ns).ok()).ok_or_else(out_of_range)
}

/// Parses a duration in nanoseconds, such as `1.5ms` or `1500000`. Returns a sentence with the expected form on error.
pub(crate) fn duration_ns(text: &str) -> Result<u64, String> {
    if text.starts_with('-') {
        return Err("no duration is below 0".to_owned());
    }
    let count = scaled(text, TIME_UNITS).map_err(|problem| problem.sentence("nanoseconds", text, TIME_UNITS))?;
    u64::try_from(count).map_err(|_| format!("`{text}` exceeds 64 bits in nanoseconds"))
}

/// Parses a whole number of a range. Returns a sentence with the expected form on error.
pub(crate) fn whole_number<N: TryFrom<u64>>(text: &str, range: RangeInclusive<u64>) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| range.contains(number)).and_then(|number| N::try_from(number).ok());
    number.ok_or_else(|| {
        let (least, most) = range.into_inner();
        let expected = match (least, most) {
            (0, u64::MAX) => "a whole number".to_owned(),
            (_, u64::MAX) => format!("a whole number of at least {least}"),
            _ => format!("a whole number from {least} to {most}"),
        };
        let is_too_large = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit()) && most == u64::MAX;
        let found = if is_too_large { format!("`{text}`, which exceeds 64 bits") } else { format!("`{text}`") };
        format!("expected {expected}, found {found}")
    })
}

/// Formats a time in nanoseconds in the largest unit that it reaches; [`signed_time_ns`] parses it back exactly.
#[must_use]
pub(crate) fn signed_time_text(ts_ns: i64) -> String {
    let magnitude = ts_ns.unsigned_abs();
    let units = [("s", 9), ("ms", 6), ("us", 3), ("ns", 0_usize)]
        .map(|(unit, digits)| (unit, digits, 10_u64.pow(digits as u32)));
    let (unit, digits, scale) =
        units.into_iter().find(|&(_, _, scale)| magnitude >= scale).unwrap_or(("s", 9, units[0].2));
    let sign = if ts_ns < 0 { "-" } else { "" };
    let fraction = format!("{:0digits$}", magnitude % scale);
    match fraction.trim_end_matches('0') {
        "" => format!("{sign}{}{unit}", magnitude / scale),
        fraction => format!("{sign}{}.{fraction}{unit}", magnitude / scale),
    }
}

/// Formats a duration as in a filter, such as `1.31072ms`; [`duration_ns`] parses it back exactly.
#[must_use]
pub(crate) fn duration_word(dur_ns: u64) -> String {
    i64::try_from(dur_ns).map_or_else(|_| format!("{dur_ns}ns"), signed_time_text)
}

/// The reason why a number with a unit is invalid.
#[derive(Debug)]
enum Problem {
    NoNumber,
    UnknownUnit,
    TooFine,
    TooLarge,
}

impl Problem {
    fn sentence(&self, things: &str, text: &str, units: &[(&str, u64)]) -> String {
        match self {
            Self::NoNumber | Self::UnknownUnit => {
                let names: Vec<&str> = units.iter().map(|(name, _)| *name).filter(|name| !name.is_empty()).collect();
                // While a comparison is typed, there is no number yet.
                let found = if text.is_empty() { String::new() } else { format!(", found `{text}`") };
                format!("expected a number of {things}, or one with a unit ({}){found}", names.join(", "))
            }
            Self::TooFine => format!("`{text}` is not a whole number of {things}"),
            Self::TooLarge => format!("`{text}` is too large"),
        }
    }
}

/// Parses a non-negative decimal number with a unit from the table, in the smallest unit.
fn scaled(text: &str, units: &[(&str, u64)]) -> Result<i128, Problem> {
    let number_length = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(number_length);
    // Many keyboards produce the Greek letter instead of the micro sign.
    let unit = &*unit.trim().replace('\u{3bc}', "\u{b5}");
    let known_unit = units.iter().find(|(name, _)| *name == unit);
    let known_unit = known_unit.or_else(|| units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)));
    let scale = i128::from(known_unit.ok_or(Problem::UnknownUnit)?.1);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return Err(Problem::NoNumber);
    }
    let fraction = fraction.trim_end_matches('0');
    // An `i128` holds 38 digits: 64 bits need 20 before the point. The finest fraction of an hour in whole nanoseconds
    // has 13 digits; longer fractions are refused.
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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_written_in_the_unit_that_a_person_would_take() {
        let texts = [(0, "0s"), (1_500_000, "1.5ms"), (-2_000_000_000, "-2s"), (999, "999ns"), (-1_001, "-1.001us")];
        for (ts_ns, text) in texts {
            assert_eq!(signed_time_text(ts_ns), text);
        }
        assert_eq!(signed_time_text(i64::MIN), "-9223372036.854775808s");
    }

    proptest! {
        #[test]
        fn every_time_that_is_written_is_read_back_to_the_nanosecond(ts_ns in any::<i64>(), shift in 0..63) {
            for ts_ns in [ts_ns >> shift, i64::MIN, i64::MAX] {
                prop_assert_eq!(signed_time_ns(&signed_time_text(ts_ns)), Ok(ts_ns));
            }
        }
    }

    #[test]
    fn a_microsecond_is_taken_by_its_sign_by_the_greek_letter_and_by_u() {
        for text in ["5us", "5\u{b5}s", "5\u{3bc}s", "5 \u{3bc}s"] {
            assert_eq!(signed_time_ns(text), Ok(5_000), "{text}");
        }
        assert!(signed_time_ns("5\u{3bc}").is_err());
    }

    #[test]
    fn a_number_that_is_none_is_answered_by_the_expected_form() {
        let any = |text| whole_number::<u64>(text, 0..=u64::MAX).unwrap_err();
        assert_eq!(any("abc"), "expected a whole number, found `abc`");
        assert_eq!(any("-1"), "expected a whole number, found `-1`");
        assert_eq!(
            any("99999999999999999999"),
            "expected a whole number, found `99999999999999999999`, which exceeds 64 bits"
        );
        let threads = |text| whole_number::<u16>(text, 1..=65_535);
        assert_eq!((threads("1"), threads("65535")), (Ok(1), Ok(65_535)));
        for text in ["0", "65536", ""] {
            assert_eq!(threads(text), Err(format!("expected a whole number from 1 to 65535, found `{text}`")));
        }
    }

    #[test]
    fn durations_take_all_64_bits() {
        assert_eq!(duration_ns("18446744073709551615"), Ok(u64::MAX));
        assert!(duration_ns("18446744073709551616").is_err() && duration_ns("-1").is_err());
        assert_eq!(duration_ns("1.5us"), Ok(1500));
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
}
