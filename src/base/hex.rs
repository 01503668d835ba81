//! Parses hexadecimal numbers of any text. Unlike `from_str_radix`, it refuses a sign before the digits.

/// Parses hexadecimal digits; returns `None` for any other text, and for numbers above 64 bits.
#[must_use]
pub(crate) fn hex_number(digits: impl AsRef<[u8]>) -> Option<u64> {
    let digits = digits.as_ref();
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, &digit| {
        let value = char::from(digit).to_digit(16)?;
        Some(number.checked_mul(16)? | u64::from(value))
    })
}

/// Parses hexadecimal digits with or without `0x` before them.
#[must_use]
pub(crate) fn prefixed_hex_number(text: impl AsRef<[u8]>) -> Option<u64> {
    let text = text.as_ref();
    hex_number(text.strip_prefix(b"0x").unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digits_of_at_most_64_bits_are_a_number() {
        for (text, expected) in [
            ("0", Some(0)),
            ("fF", Some(255)),
            ("00000000000000001", Some(1)),
            ("ffffffffffffffff", Some(u64::MAX)),
            ("10000000000000000", None),
            ("", None),
            ("+1", None),
            ("-1", None),
            ("1 ", None),
            ("0x1", None),
            ("é", None),
        ] {
            assert_eq!(hex_number(text), expected, "{text}");
        }
        assert_eq!(prefixed_hex_number("0x1f"), Some(31));
        assert_eq!(prefixed_hex_number("1f"), Some(31));
        for text in ["0x", "0x0x1", "0x+1", "0X1"] {
            assert_eq!(prefixed_hex_number(text), None, "{text}");
        }
    }
}
