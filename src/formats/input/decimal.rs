//! Converts decimal seconds, milliseconds and microseconds in text and JSON to nanoseconds, exactly and without
//! floating point.
//!
//! Equivalent to the decimal value times the nanoseconds of its unit, rounded half away from zero.

/// Why a text is not a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NumberError {
    /// Not a decimal number: `NaN`, `null`, `0x10`, or empty.
    #[error("not a decimal number")]
    NotANumber,
    #[error("outside of 64-bit nanoseconds")]
    OutOfRange,
}

/// Number of digits, including the digits of the unit, that always fit `i64` nanoseconds: 10^18 is below 2^63.
const FAST_DIGITS: usize = 18;

const POWERS_OF_TEN: [i64; 10] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// Parses nanoseconds: an integer, a decimal or an exponent form.
pub(crate) fn nanos_from_nanos(text: &[u8]) -> Result<i64, NumberError> {
    nanos::<0>(text)
}

/// Parses microseconds: an integer, a decimal or an exponent form.
pub(crate) fn nanos_from_micros(text: &[u8]) -> Result<i64, NumberError> {
    nanos::<3>(text)
}

/// Parses milliseconds: an integer, a decimal or an exponent form.
pub(crate) fn nanos_from_millis(text: &[u8]) -> Result<i64, NumberError> {
    nanos::<6>(text)
}

/// Parses seconds: an integer, a decimal or an exponent form.
pub(crate) fn nanos_from_seconds(text: &[u8]) -> Result<i64, NumberError> {
    nanos::<9>(text)
}

/// Parses a unit of 10^`UNIT_LOG10` nanoseconds.
fn nanos<const UNIT_LOG10: usize>(text: &[u8]) -> Result<i64, NumberError> {
    match fast_nanos::<UNIT_LOG10>(text) {
        Some(ns) => Ok(ns),
        None => exact_nanos(text, UNIT_LOG10 as i64),
    }
}

/// Parses the common case: few digits, with an optional point and no fraction of a nanosecond.
fn fast_nanos<const UNIT_LOG10: usize>(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, text),
    };
    let mut whole = 0i64;
    let mut count = 0;
    let mut rest = digits;
    while let Some((&byte, tail)) = rest.split_first() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        whole = whole.wrapping_mul(10).wrapping_add(i64::from(digit));
        count += 1;
        rest = tail;
    }
    if count == 0 || count > FAST_DIGITS - UNIT_LOG10 {
        return None;
    }
    let mut number = whole;
    let mut missing = UNIT_LOG10;
    if let Some((&point, fraction)) = rest.split_first() {
        if point != b'.' || fraction.is_empty() || fraction.len() > UNIT_LOG10 {
            return None;
        }
        for &byte in fraction {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            number = number * 10 + i64::from(digit);
        }
        missing -= fraction.len();
    }
    let ns = number * POWERS_OF_TEN[missing];
    Some(if negative { -ns } else { ns })
}

/// Parses the duration of a span in microseconds, so that the span ends at the rounded sum of both numbers. Rounding
/// start and duration independently would let nested spans overlap by a nanosecond. A duration may have 64 bits besides
/// its sign.
pub(crate) fn duration_from_micros(start: &[u8], dur: &[u8]) -> Result<i128, NumberError> {
    // A duration of whole nanoseconds moves the rounded end by as much, except from a half below 0 to one above it.
    let is_exact = |start: &[u8]| !start.trim_ascii_start().starts_with(b"-") || fast_nanos::<3>(start).is_some();
    if let Some(ns) = fast_nanos::<3>(dur).filter(|_| is_exact(start)) {
        return Ok(ns.into());
    }
    let (start, dur) = (truncated_millionths(start, 3)?, truncated_millionths(dur, 3)?);
    let dur_ns = rounded_nanos(start + dur) - rounded_nanos(start);
    if dur_ns.unsigned_abs() > u64::MAX.into() { Err(NumberError::OutOfRange) } else { Ok(dur_ns) }
}

/// Parses any decimal number of any length.
fn exact_nanos(text: &[u8], unit_log10: i64) -> Result<i64, NumberError> {
    i64::try_from(rounded_nanos(truncated_millionths(text, unit_log10)?)).map_err(|_| NumberError::OutOfRange)
}

/// Millionths of a nanosecond; more digits cannot change how a number is rounded.
const MILLIONTHS: i128 = 1_000_000;

/// Rounds to nanoseconds, half away from zero.
fn rounded_nanos(millionths: i128) -> i128 {
    let twice = millionths * 2 + millionths.signum() * MILLIONTHS;
    // A division of 64 bits takes a tenth of the time.
    i64::try_from(twice).map_or_else(|_| twice / (2 * MILLIONTHS), |few| (few / (2 * MILLIONTHS as i64)).into())
}

/// Parses a unit of 10^`unit_log10` nanoseconds digit by digit, and drops digits beyond millionths of a nanosecond.
fn truncated_millionths(text: &[u8], unit_log10: i64) -> Result<i128, NumberError> {
    // Of microseconds with nine decimals, the last is a millionth of a nanosecond.
    if unit_log10 == 3
        && let Some(few) = fast_nanos::<9>(text)
    {
        return Ok(few.into());
    }
    let Decimal { negative, whole, fraction, exponent } = Decimal::parse(text.trim_ascii())?;
    // Number of digits before the point in the result, padded with zeros if there are fewer. A text with more digits
    // than `i64` can count does not fit in memory.
    let mut left = i64::try_from(whole.len()).unwrap_or(i64::MAX).saturating_add(exponent + unit_log10 + 6);
    let mut magnitude = 0i128;
    for byte in whole.iter().chain(fraction) {
        if left <= 0 {
            break;
        }
        magnitude = append_digit(magnitude, byte - b'0')?;
        left -= 1;
    }
    while left > 0 && magnitude > 0 {
        magnitude = append_digit(magnitude, 0)?;
        left -= 1;
    }
    Ok(if negative { -magnitude } else { magnitude })
}

/// Largest number of millionths: far more than `i64` nanoseconds, and a sum of two fits `i128`.
const MAGNITUDE_MAX: i128 = 1 << 100;

fn append_digit(magnitude: i128, digit: u8) -> Result<i128, NumberError> {
    let longer = magnitude * 10 + i128::from(digit);
    if longer > MAGNITUDE_MAX { Err(NumberError::OutOfRange) } else { Ok(longer) }
}

/// The parts of a decimal number.
struct Decimal<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    exponent: i64,
}

/// Larger exponents change no result, since no text has that many digits; the bound prevents overflow.
const EXPONENT_BOUND: i64 = 1 << 40;

impl<'a> Decimal<'a> {
    fn parse(text: &'a [u8]) -> Result<Self, NumberError> {
        let (negative, rest) = sign(text);
        let (whole, rest) = leading_digits(rest);
        let (fraction, rest) = match rest.split_first() {
            Some((b'.', after)) => leading_digits(after),
            _ => (&rest[..0], rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(NumberError::NotANumber);
        }
        let exponent = match rest.split_first() {
            None => 0,
            Some((b'e' | b'E', after)) => {
                let (negative, after) = sign(after);
                let (digits, rest) = leading_digits(after);
                if digits.is_empty() || !rest.is_empty() {
                    return Err(NumberError::NotANumber);
                }
                let append = |sum: i64, byte: &u8| (sum * 10 + i64::from(byte - b'0')).min(EXPONENT_BOUND);
                let magnitude = digits.iter().fold(0, append);
                if negative { -magnitude } else { magnitude }
            }
            Some(_) => return Err(NumberError::NotANumber),
        };
        Ok(Self { negative, whole, fraction, exponent })
    }
}

fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    }
}

fn leading_digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Reads = fn(&[u8]) -> Result<i64, NumberError>;

    const UNITS: &[(i32, Reads)] =
        &[(0, nanos_from_nanos), (3, nanos_from_micros), (6, nanos_from_millis), (9, nanos_from_seconds)];

    /// Naive decimal arithmetic on digit strings: shifts the point, cuts, rounds.
    fn oracle(negative: bool, whole: &str, fraction: &str, exponent: i32, unit_log10: i32) -> Option<i64> {
        let mut before: Vec<u8> = whole.bytes().collect();
        let mut after: std::collections::VecDeque<u8> = fraction.bytes().collect();
        for _ in 0..(exponent + unit_log10).max(0) {
            before.push(after.pop_front().unwrap_or(b'0'));
        }
        for _ in 0..(-(exponent + unit_log10)).max(0) {
            after.push_front(before.pop().unwrap_or(b'0'));
        }
        let up = after.front().is_some_and(|&digit| digit >= b'5');
        let mut value = i128::from(0);
        for digit in before {
            value = value.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
        }
        value += i128::from(up);
        i64::try_from(if negative { -value } else { value }).ok()
    }

    proptest! {
        #[test]
        fn every_decimal_agrees_with_plain_digit_arithmetic(
            negative: bool, whole in "[0-9]{1,22}", fraction in "[0-9]{0,24}", exponent in -30i32..30, show_exponent: bool,
        ) {
            let exponent = if show_exponent { exponent } else { 0 };
            let mut text = format!("{}{whole}", if negative { "-" } else { "" });
            if !fraction.is_empty() {
                text = format!("{text}.{fraction}");
            }
            if show_exponent {
                text = format!("{text}e{exponent}");
            }
            for (unit_log10, nanos) in UNITS {
                let expected = oracle(negative, &whole, &fraction, exponent, *unit_log10);
                prop_assert_eq!(nanos(text.as_bytes()).ok(), expected, "{} with {}", text, unit_log10);
            }
        }

        #[test]
        fn spans_end_at_the_rounded_sum_of_start_and_duration(
            negative: bool, start in 0u64..2_000_000_000_000, dur in 0u64..3_000_000_000_000, cut in 0usize..10,
        ) {
            // Millionths of a nanosecond, whose last digits are cut.
            let cut = 10u64.pow(cut as u32);
            let (start, dur) = (start / cut * cut, dur / cut * cut);
            let text = |value: u64| format!("{}.{:09}", value / 1_000_000_000, value % 1_000_000_000);
            let rounded = |value: i64| (value.unsigned_abs() + 500_000) as i64 / 1_000_000 * value.signum();
            let sign = if negative { "-" } else { "" };
            let start_text = format!("{sign}{}", text(start));
            let start = if negative { -start.cast_signed() } else { start.cast_signed() };
            let expected = rounded(start + dur.cast_signed()) - rounded(start);
            let found = duration_from_micros(start_text.as_bytes(), text(dur).as_bytes());
            prop_assert_eq!(found, Ok(expected.into()));
        }

        #[test]
        fn any_text_gives_an_answer_without_a_panic(text: Vec<u8>) {
            for (_, nanos) in UNITS {
                let _ = nanos(&text);
            }
            let _ = duration_from_micros(&text, &text);
        }
    }

    #[test]
    fn a_span_from_a_half_below_0_to_one_above_it_ends_at_the_rounded_end() {
        for (start, end_ns) in [("-12.7825", 46_218), (" -12.7825", 46_218), ("-12.782", 46_218), ("-60.0005", -1001)] {
            let start_ns = nanos_from_micros(start.as_bytes()).expect("a time");
            let dur_ns = duration_from_micros(start.as_bytes(), b"59").expect("a duration");
            assert_eq!(i128::from(start_ns) + dur_ns, end_ns, "{start}");
        }
    }

    #[test]
    fn halves_round_away_from_zero_and_the_ends_of_time_are_exact() {
        let nanos = |text: &str| nanos_from_micros(text.as_bytes());
        assert_eq!(nanos("0.0005"), Ok(1));
        assert_eq!(nanos("-0.0005"), Ok(-1));
        assert_eq!(nanos("0.00049999999999999999999999999"), Ok(0));
        assert_eq!(nanos("71509.539999999994"), Ok(71_509_540));
        assert_eq!(nanos("9223372036854775.807"), Ok(i64::MAX));
        assert_eq!(nanos("-9223372036854775.808"), Ok(i64::MIN));
        assert_eq!(nanos("9223372036854775.808"), Err(NumberError::OutOfRange));
        assert_eq!(nanos("9223372036854775.8075"), Err(NumberError::OutOfRange));
        assert_eq!(nanos("1.5e3"), Ok(1_500_000));
        assert_eq!(nanos("+1E+3"), Ok(1_000_000));
    }

    #[test]
    fn texts_that_are_not_decimals_and_values_out_of_range_are_refused() {
        for text in ["", "-", ".", "e5", "NaN", "Infinity", "0x10", "1e", "1e+", "1.2.3", "1 2", "null", "true", "--1"]
        {
            assert_eq!(nanos_from_micros(text.as_bytes()), Err(NumberError::NotANumber), "{text}");
        }
        assert_eq!(nanos_from_micros(b"1e400"), Err(NumberError::OutOfRange));
        assert_eq!(nanos_from_micros(b"1e99999999999999999999999"), Err(NumberError::OutOfRange));
        assert_eq!(nanos_from_micros(b"1e-99999999999999999999999"), Ok(0));
        assert_eq!(nanos_from_micros(b"0e99999999999999999999999"), Ok(0));
        let zeros = format!("{}1", "0".repeat(100_000));
        assert_eq!(nanos_from_micros(zeros.as_bytes()), Ok(1000));
        let nines = "9".repeat(100_000);
        assert_eq!(nanos_from_micros(nines.as_bytes()), Err(NumberError::OutOfRange));
    }
}
