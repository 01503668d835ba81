//! Decodes JSON strings, or repairs them to valid JSON. Repairs are always reported.

use std::borrow::Cow;

use serde::Deserialize;

use super::scan::{Broken, JsonValue, Quirks, Scanner, Shape, is_json_scalar};
use crate::formats::input::lines::TextLine;
use crate::model::{Loss, Losses, SourcePos};

/// Repairs of a text, as bits: cheap, since texts are looked up far more often than repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Repairs(u8);

impl Repairs {
    pub(crate) const BAD_UTF8: Self = Self(1);
    pub(crate) const CONTROL: Self = Self(2);
    pub(crate) const CUT: Self = Self(4);

    pub(crate) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Counts each kind of repair once for the text.
    #[inline]
    pub(crate) fn count(self, losses: &mut Losses, pos: SourcePos) {
        if self.0 != 0 {
            let table =
                [(Self::BAD_UTF8, Loss::BadUtf8), (Self::CONTROL, Loss::ControlCharacter), (Self::CUT, Loss::LongText)];
            for (_, loss) in table.into_iter().filter(|(repair, _)| self.0 & repair.0 != 0) {
                losses.add(loss, pos);
            }
        }
    }
}

/// Decodes a string; other values keep their JSON text. Control characters are kept, since the view escapes them.
pub(crate) fn decode<'a>(value: &JsonValue<'a>, repairs: &mut Repairs) -> Cow<'a, str> {
    if value.quirks.has(Quirks::CONTROL) {
        repairs.add(Repairs::CONTROL);
    }
    if value.shape != Shape::String || !value.quirks.has(Quirks::ESCAPE) {
        return lossy(value.text, repairs);
    }
    let mut text = String::with_capacity(value.text.len());
    let mut rest = value.text;
    while let Some(escape) = memchr::memchr(b'\\', rest) {
        text.push_str(&lossy(&rest[..escape], repairs));
        rest = take_escape(&rest[escape..], &mut text, repairs);
    }
    text.push_str(&lossy(rest, repairs));
    Cow::Owned(text)
}

fn lossy<'a>(bytes: &'a [u8], repairs: &mut Repairs) -> Cow<'a, str> {
    let text = String::from_utf8_lossy(bytes);
    // `from_utf8_lossy` only allocates if it replaces something.
    if matches!(text, Cow::Owned(_)) {
        repairs.add(Repairs::BAD_UTF8);
    }
    text
}

/// Decodes the escape at the start of `bytes` and returns the rest. An unknown escape is kept as text.
fn take_escape<'a>(bytes: &'a [u8], text: &mut String, repairs: &mut Repairs) -> &'a [u8] {
    let plain = match bytes.get(1) {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return take_unicode_escape(bytes, text, repairs),
        _ => {
            text.push('\\');
            return &bytes[1..];
        }
    };
    text.push(plain);
    &bytes[2..]
}

/// Decodes `\uXXXX` or a surrogate pair; an unpaired surrogate becomes a replacement character.
fn take_unicode_escape<'a>(bytes: &'a [u8], text: &mut String, repairs: &mut Repairs) -> &'a [u8] {
    let Some(unit) = utf16_unit(bytes) else {
        text.push('\\');
        return &bytes[1..];
    };
    let rest = &bytes[6..];
    let (character, rest) = match (unit, utf16_unit(rest)) {
        (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) => {
            let code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            (char::from_u32(code), &rest[6..])
        }
        _ => (char::from_u32(unit), rest),
    };
    if character.is_none() {
        repairs.add(Repairs::BAD_UTF8);
    }
    text.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
    rest
}

fn utf16_unit(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.strip_prefix(b"\\u")?.first_chunk::<4>()?;
    digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)?))
}

/// Returns a value as valid JSON: unchanged if it is valid, else with its strings and bare words rewritten.
pub(crate) fn valid_json<'a>(value: &JsonValue<'a>, repairs: &mut Repairs) -> Cow<'a, str> {
    if value.quirks.has(Quirks::CONTROL) {
        repairs.add(Repairs::CONTROL);
    }
    match value.shape {
        Shape::Absent => Cow::Borrowed("null"),
        Shape::String => Cow::Owned(quoted(&decode(value, repairs))),
        Shape::Scalar if is_json_scalar(value.text) => lossy(value.text, repairs),
        Shape::Scalar => Cow::Owned(quoted(&lossy(value.text, repairs))),
        Shape::Object | Shape::Array => {
            let needs_rewriting = value.quirks.has(Quirks::CONTROL) || value.quirks.has(Quirks::NOT_JSON);
            if !needs_rewriting && let Ok(text) = std::str::from_utf8(value.text) {
                return Cow::Borrowed(text);
            }
            Cow::Owned(rewritten(value.text, repairs))
        }
    }
}

/// Parses a whole value, after repairs if it needs them; `copy` stores the repaired text. Counts the repairs, unless
/// the value has another type.
pub(crate) fn parse<'a, T: Deserialize<'a>>(
    json: &'a [u8],
    copy: &'a mut String,
    pos: SourcePos,
    losses: &mut Losses,
) -> Option<T> {
    let mut scanner = Scanner::new(json, 0);
    let value = scanner.value(0).ok().filter(|value| value.quirks.needs_check());
    let value = value.filter(|_| scanner.peek() == Err(Broken::Incomplete));
    let mut repairs = Repairs::default();
    let Some(Cow::Owned(repaired)) = value.map(|value| valid_json(&value, &mut repairs)) else {
        return serde_json::from_slice(json).ok();
    };
    *copy = repaired;
    let parsed = serde_json::from_str(copy).ok()?;
    repairs.count(losses, pos);
    Some(parsed)
}

/// Returns the loss of a line that cannot be parsed: it is truncated only if its end is within a value.
pub(crate) fn line_loss(line: &TextLine<'_>) -> Loss {
    match Scanner::new(line.bytes, 0).value(0) {
        Err(Broken::Incomplete) => line.loss(),
        _ => Loss::BadRecord,
    }
}

/// Quotes a text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    // Serialising a string to memory cannot fail.
    serde_json::to_string(text).unwrap_or_default()
}

/// Removes the escape sequences that colour text in a terminal from the strings of a JSON value.
pub(crate) fn without_escaped_colours(json: &str) -> Cow<'_, str> {
    const STARTS: [&str; 2] = ["u001b[", "u001B["];
    if !STARTS.iter().any(|start| json.contains(start)) {
        return Cow::Borrowed(json);
    }
    let (mut plain, mut rest) = (String::with_capacity(json.len()), json);
    while let Some(at) = rest.find('\\') {
        let (before, escape) = (&rest[..at], &rest[at + 1..]);
        let colour_len = STARTS.iter().find_map(|start| {
            let sequence = escape.strip_prefix(start)?;
            let len = sequence.find(|digit: char| !digit.is_ascii_digit() && digit != ';')?;
            sequence[len..].starts_with('m').then_some(start.len() + len + 1)
        });
        plain.push_str(before);
        let len = colour_len.unwrap_or_else(|| escape.chars().next().map_or(0, char::len_utf8));
        if colour_len.is_none() {
            plain.push_str(&rest[at..at + 1 + len]);
        }
        rest = &escape[len..];
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// Copies an object or array token by token, and repairs strings and bare words.
fn rewritten(json: &[u8], repairs: &mut Repairs) -> String {
    let mut text = String::with_capacity(json.len());
    let mut scanner = Scanner::new(json, 0);
    while let Ok(byte) = scanner.peek() {
        if matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':') {
            scanner.pos += 1;
            let is_last_comma = byte == b',' && matches!(scanner.peek(), Ok(b'}' | b']'));
            if !is_last_comma {
                text.push(char::from(byte));
            }
        } else if let Ok(value) = scanner.value(0) {
            text.push_str(&valid_json(&value, repairs));
        } else {
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(json: &[u8]) -> JsonValue<'_> {
        Scanner::new(json, 0).value(0).expect("a whole value")
    }

    #[test]
    fn colours_within_json_are_removed_and_other_escapes_stay() {
        for (json, expected) in [
            (r#"{"a":"\u001b[31mred\u001B[1;39m \n"}"#, r#"{"a":"red \n"}"#),
            (r#""\\u001b[31mx""#, r#""\\u001b[31mx""#),
            (r#""\u001b[2Kx\u001b[31""#, r#""\u001b[2Kx\u001b[31""#),
            (r#""\é\u001b[0m""#, r#""\é""#),
            (r#""plain""#, r#""plain""#),
        ] {
            assert_eq!(without_escaped_colours(json), expected, "{json}");
        }
    }

    fn decoded(json: &[u8]) -> (String, Repairs) {
        let mut repairs = Repairs::default();
        (decode(&value(json), &mut repairs).into_owned(), repairs)
    }

    #[test]
    fn escapes_surrogate_pairs_and_broken_halves_are_decoded() {
        assert_eq!(decoded(br#""a\"\\\/\b\f\n\r\t\u00e9""#), ("a\"\\/\u{8}\u{c}\n\r\té".into(), Repairs::default()));
        assert_eq!(decoded(br#""\ud83d\ude00""#), ("😀".into(), Repairs::default()));
        assert_eq!(decoded(br#""\ud83d!""#), ("\u{fffd}!".into(), Repairs::BAD_UTF8));
        assert_eq!(decoded(br#""\ude00\ud83d\ud83d\ude00""#), ("\u{fffd}\u{fffd}😀".into(), Repairs::BAD_UTF8));
        assert_eq!(decoded(br#""\u12 \q\u""#), ("\\u12 \\q\\u".into(), Repairs::default()));
        assert_eq!(decoded(b"\"a\x01\xff\""), ("a\x01\u{fffd}".into(), Repairs(3)));
        assert_eq!(decoded(br#""\u0000""#).0, "\0");
    }

    #[test]
    fn a_repaired_object_is_one_that_a_strict_parser_takes() {
        let mut repairs = Repairs::default();
        let json = b"{\"a\":NaN,\"b\":[1e5,-Infinity,01,null],\"c\x02\":\"\xff\\q\\ud800\",\"d\":{}}";
        let text = valid_json(&value(json), &mut repairs);
        let parsed: serde_json::Value = serde_json::from_str(&text).expect("valid");
        assert_eq!(parsed["a"], "NaN");
        assert_eq!(parsed["b"][2], "01");
        assert_eq!(parsed["c\u{2}"], "\u{fffd}\\q\u{fffd}");
        assert_eq!(repairs, Repairs(3));
        let commas = br#"{"a":[1,[],[2 , ] ,],"b":{"c":{},},}"#;
        assert_eq!(valid_json(&value(commas), &mut repairs), r#"{"a":[1,[],[2]],"b":{"c":{}}}"#);
        let clean = br#"{"a": [1, "\ud83d\u0041" ]}"#;
        assert!(serde_json::from_str::<serde_json::Value>(&valid_json(&value(clean), &mut repairs)).is_ok());
    }

    proptest! {
        #[test]
        fn any_string_survives_being_written_and_decoded(text: String) {
            prop_assert_eq!(decoded(quoted(&text).as_bytes()), (text, Repairs::default()));
        }

        #[test]
        fn any_bytes_in_a_string_become_valid_json(bytes: Vec<u8>) {
            let json = [b"{\"k\":\"", &bytes[..], b"\"}"].concat();
            if let Ok(value) = Scanner::new(&json, 0).value(0) {
                let text = valid_json(&value, &mut Repairs::default());
                prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{}", text);
            }
        }
    }
}
