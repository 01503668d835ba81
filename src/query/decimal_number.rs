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
    /// Returns the one text that all notations of the number share: `1`, `-1.5`, `1.5e300`.
    pub(super) fn to_text(&self) -> String {
        /// Zeros that are written out; numbers with more have an exponent.
        const ZEROS_MAX: i64 = 20;
        let sign = if self.is_negative { "-" } else { "" };
        let (digits, len) = (&self.digits, self.digits.len() as i64);
        match self.exponent {
            _ if digits.is_empty() => "0".to_owned(),
            zeros @ 0..=ZEROS_MAX => format!("{sign}{digits}{}", "0".repeat(zeros as usize)),
            exponent if exponent < 0 && exponent > -len => {
                let (whole, fraction) = digits.split_at((len + exponent) as usize);
                format!("{sign}{whole}.{fraction}")
            }
            exponent if exponent < 0 && exponent >= -len - ZEROS_MAX => {
                format!("{sign}0.{}{digits}", "0".repeat((-len - exponent) as usize))
            }
            exponent => {
                let scientific = exponent.checked_add(len - 1);
                match scientific.zip(digits.split_at_checked(1)) {
                    Some((exponent, (first, rest))) if !rest.is_empty() => format!("{sign}{first}.{rest}e{exponent}"),
                    _ => format!("{sign}{digits}e{exponent}"),
                }
            }
        }
    }

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
        for (number, text) in [
            ("1.0", "1"),
            ("1E5", "100000"),
            ("-0.0", "0"),
            ("-12.50", "-12.5"),
            ("1e-3", "0.001"),
            ("0.10e1", "1"),
            ("1.5e300", "1.5e300"),
            ("1234e-33", "1.234e-30"),
            ("15e9223372036854775807", "15e9223372036854775807"),
            ("25e-300", "2.5e-299"),
            ("-1e9223372036854775807", "-1e9223372036854775807"),
            ("1e-9223372036854775808", "1e-9223372036854775808"),
        ] {
            assert_eq!(parse(number).to_text(), text);
            assert_eq!(parse(text), parse(number));
        }
        for text in ["", "-", ".", "1e", "e5", "1a", "0x10", "1e99999999999999999999", "1.2.3", "inf"] {
            assert_eq!(DecimalNumber::parse(text), None, "{text}");
        }
    }
}
