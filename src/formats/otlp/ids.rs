//! Ids of traces and spans as text. The protocol wants them hexadecimal, but exporters that leave JSON to a library
//! of protocol buffers write base64.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The bytes of the id of a trace.
pub(super) const TRACE_BYTES: usize = 16;

/// The bytes of the id of a span.
pub(super) const SPAN_BYTES: usize = 8;

/// Bytes in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}"); // to memory
        hex
    })
}

/// An id in hexadecimal digits; as it stands where it is neither these nor base64 of `bytes` bytes.
///
/// The two have different lengths: 32 and 24 letters for a trace, 16 and 12 for a span.
pub(super) fn id_text(text: &str, bytes: usize) -> Cow<'_, str> {
    let hex_letters = 2 * bytes;
    let is_hex = text.len() == hex_letters && text.bytes().all(|letter| letter.is_ascii_hexdigit());
    if is_hex && text.bytes().any(|letter| letter.is_ascii_uppercase()) {
        return Cow::Owned(text.to_ascii_lowercase());
    }
    match from_base64(text).filter(|decoded| decoded.len() == bytes && text.len() == bytes.div_ceil(3) * 4) {
        Some(decoded) => Cow::Owned(hex(&decoded)),
        None => Cow::Borrowed(text),
    }
}

/// The bytes of padded base64; `None` for any other text.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    let letters = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    let mut bytes = Vec::with_capacity(text.len());
    for group in letters.as_bytes().chunks(4) {
        let mut bits = 0;
        for &letter in group {
            bits = bits << 6 | u32::from(value_of(letter)?);
        }
        bits <<= 6 * (4 - group.len());
        // Each letter but the first adds a byte; what is left of the last one is not looked at.
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
}

/// The six bits of a letter, also in the alphabet for addresses.
fn value_of(letter: u8) -> Option<u8> {
    Some(match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_in_base64_and_in_capitals_become_hexadecimal_and_others_stay() {
        for (text, bytes, id) in [
            ("IaF/uFj+icx/BOgGYvSlPQ==", TRACE_BYTES, "21a17fb858fe89cc7f04e80662f4a53d"),
            ("55Bnt9Wd37M=", SPAN_BYTES, "e79067b7d59ddfb3"),
            ("55Bnt9Wd37M=", TRACE_BYTES, "55Bnt9Wd37M="),
            ("21A17FB858FE89CC7F04E80662F4A53D", TRACE_BYTES, "21a17fb858fe89cc7f04e80662f4a53d"),
            ("e79067b7d59ddfb3", SPAN_BYTES, "e79067b7d59ddfb3"),
            ("_____-____8=", SPAN_BYTES, "ffffffffefffffff"),
            ("span-1", SPAN_BYTES, "span-1"),
            ("", SPAN_BYTES, ""),
            ("twelve chars", SPAN_BYTES, "twelve chars"),
            ("ééééééé=", SPAN_BYTES, "ééééééé="),
        ] {
            assert_eq!(id_text(text, bytes), id, "{text:?} of {bytes}");
        }
    }
}
