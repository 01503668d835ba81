//! Decimal numbers of any size, as written in JSON. Equal values are equal however they are written: `1E5` is `100000`,
//! and `1.10` is `1.1`. Nothing is rounded.

/// A number without leading and trailing zeros. Zero has no digits, no sign and the exponent 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct DecimalNumber {
    is_negative: bool,
    digits: String,
    /// Power of ten of the last digit.
    exponent: i64,
}

impl DecimalNumber {
    /// Parses a number; `None` for any other text, and for an exponent beyond 64 bits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (is_negative, unsigned) = text.strip_prefix('-').map_or((false, text), |unsigned| (true, unsigned));
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole, fraction].concat();
        if all.is_empty() || !all.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let digits = all.trim_end_matches('0');
        let zeros = i64::try_from(all.len() - digits.len()).ok()?;
        let exponent = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?.checked_add(zeros)?;
        let digits = digits.trim_start_matches('0');
        if digits.is_empty() {
            return Some(Self::default());
        }
        Some(Self { is_negative, digits: digits.to_owned(), exponent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_equal_by_value_and_at_any_size() {
        let parse = |text| DecimalNumber::parse(text).unwrap();
        for (one, other) in [
            ("100000", "1E5"),
            ("1e+5", "1.0e5"),
            ("1.1", "1.10"),
            ("0.001", "1e-3"),
            ("-0.0", "0"),
            ("-12.50", "-1.25E1"),
            ("123456789012345678901234567890", "123456789012345678901234567890.0"),
        ] {
            assert_eq!(parse(one), parse(other));
        }
        for (one, other) in
            [("1", "-1"), ("10", "1"), ("9007199254740993", "9007199254740992"), ("0.1", "0.10000000000000001")]
        {
            assert_ne!(parse(one), parse(other));
        }
        for text in ["", "-", ".", "1e", "e5", "1a", "0x10", "1e99999999999999999999", "1.2.3", "inf"] {
            assert_eq!(DecimalNumber::parse(text), None, "{text}");
        }
    }
}
