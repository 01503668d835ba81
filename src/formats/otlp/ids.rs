//! Trace and span ids as text. The protocol requires hexadecimal, but exporters that use a protobuf library for JSON
//! write base64.

use std::borrow::Cow;
use std::io::Read;

use crate::formats::input::base64::Base64Reader;

/// Bytes of a trace id.
pub(super) const TRACE_BYTES: usize = 16;

/// Bytes of a span id.
pub(super) const SPAN_BYTES: usize = 8;

/// Formats bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]).map(|digit| DIGITS[usize::from(digit)]).collect()
}

/// Normalises an id to lower-case hexadecimal; returns it unchanged if it is neither hexadecimal nor base64 of `bytes`
/// bytes.
///
/// The lengths differ: 32 and 24 letters for a trace id, 16 and 12 for a span id.
pub(super) fn id_text(text: &str, bytes: usize) -> Cow<'_, str> {
    let (hex_letters, base64_letters) = (2 * bytes, bytes.div_ceil(3) * 4);
    if text.len() == hex_letters && text.bytes().all(|letter| letter.is_ascii_hexdigit()) {
        let has_upper_case = text.bytes().any(|letter| letter.is_ascii_uppercase());
        return if has_upper_case { Cow::Owned(text.to_ascii_lowercase()) } else { Cow::Borrowed(text) };
    }
    if text.len() != base64_letters {
        return Cow::Borrowed(text);
    }
    match from_base64(text).filter(|decoded| decoded.len() == bytes) {
        Some(decoded) => Cow::Owned(hex(&decoded)),
        None => Cow::Borrowed(text),
    }
}

/// Decodes base64 of either alphabet; returns `None` for any other text.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    // The reader skips spaces, which no id has.
    if text.contains(char::is_whitespace) {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len());
    Base64Reader::new(text.as_bytes()).read_to_end(&mut bytes).ok()?;
    Some(bytes)
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
