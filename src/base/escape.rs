//! Escapes text from a trace or a file name, so that it is safe to show: control characters, and characters that change
//! the writing direction. Data files do not use this, except for JSON, whose escapes decode to the same text.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// Returns whether a terminal or a text layout would interpret `letter` instead of showing it: C0, DEL, C1, line and
/// paragraph separators, bidirectional controls and other invisible formatting characters. The joiners U+200C and
/// U+200D are excluded: Persian, Indic scripts and emoji need them, and they move nothing. Tags are included, although
/// a few flags need them: names that differ in tags look equal.
#[must_use]
#[inline]
pub fn is_control(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{00ad}' | '\u{061c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns `text` on one line, with control characters escaped.
#[must_use]
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    escaped_if(text, is_control)
}

/// Returns `text` with control characters except line breaks escaped, for messages of several lines.
#[must_use]
pub(crate) fn escaped_lines(text: &str) -> Cow<'_, str> {
    escaped_if(text, |letter| letter != '\n' && is_control(letter))
}

fn escaped_if(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            plain if !is_escaped(plain) => shown.push(plain),
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            control => shown.extend(control.escape_unicode()),
        }
    }
    Cow::Owned(shown)
}

/// Writes `value` as JSON that is safe to show on a terminal, and decodes to the same text. Returns errors of `out`, or
/// of a value that JSON cannot represent.
pub(crate) fn write_json<T: Serialize + ?Sized>(out: impl io::Write, value: &T) -> io::Result<()> {
    Ok(value.serialize(&mut Serializer::with_formatter(out, EscapedJson))?)
}

/// Compact JSON that writes `\uXXXX` for control characters that JSON allows in text, such as DEL and C1.
struct EscapedJson;

impl Formatter for EscapedJson {
    fn write_string_fragment<W: io::Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut written = 0;
        // Among the ASCII letters that JSON does not escape, only DEL is a control character.
        if fragment.bytes().any(|byte| byte == 0x7f || byte >= 0x80) {
            for (at, letter) in fragment.char_indices().filter(|&(_, letter)| is_control(letter)) {
                out.write_all(&fragment.as_bytes()[written..at])?;
                write_json_escape(letter, |unit| write!(out, "\\u{unit:04x}"))?;
                written = at + letter.len_utf8();
            }
        }
        out.write_all(&fragment.as_bytes()[written..])
    }

    fn write_raw_fragment<W: io::Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        // Outside of strings JSON is ASCII, and white space is its only control character.
        let mut safe = String::with_capacity(fragment.len());
        for letter in fragment.chars() {
            if is_control(letter) && !letter.is_ascii_whitespace() {
                write_json_escape(letter, |unit| write!(safe, "\\u{unit:04x}")).ok(); // writing to memory cannot fail
            } else {
                safe.push(letter);
            }
        }
        out.write_all(safe.as_bytes())
    }
}

/// Passes the UTF-16 units of a letter. Each unit is one escape in JSON.
fn write_json_escape<E>(letter: char, mut write: impl FnMut(u16) -> Result<(), E>) -> Result<(), E> {
    letter.encode_utf16(&mut [0; 2]).iter().try_for_each(|&unit| write(unit))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Iterates over every control character, as listed by Unicode and ECMA-48.
    fn controls() -> impl Iterator<Item = char> {
        let ranges = ['\0'..='\u{1f}', '\u{7f}'..='\u{9f}', '\u{202a}'..='\u{202e}', '\u{2066}'..='\u{2069}'];
        let alone = ['\u{61c}', '\u{200e}', '\u{200f}', '\u{2028}', '\u{2029}'];
        // The soft hyphen, a vowel separator, and tags, which are invisible alone.
        let invisible = ['\u{ad}', '\u{180e}', '\u{fff9}', '\u{fffb}', '\u{e0001}', '\u{e0041}', '\u{e007f}'];
        ranges.into_iter().flatten().chain(alone).chain(invisible)
    }

    #[test]
    fn every_control_character_is_escaped_and_no_letter_is() {
        for control in controls() {
            let text = format!("a{control}b");
            let shown = escaped(&text);
            assert!(!shown.chars().any(is_control), "{:04x}: {shown}", u32::from(control));
            assert!(shown.starts_with("a\\") && shown.ends_with('b'), "{shown}");
        }
        assert!(matches!(escaped("plain ünïcode \\ 漢字 עברית"), Cow::Borrowed(_)));
        assert_eq!(
            escaped("\u{1b}]52;c;\u{7}\u{9b}a\r\n\tb\u{202e}"),
            "\\u{1b}]52;c;\\u{7}\\u{9b}a\\r\\n\\tb\\u{202e}"
        );
    }

    #[test]
    fn words_and_emoji_that_need_joiners_are_shown_as_they_are() {
        for text in ["\u{645}\u{6cc}\u{200c}\u{62e}\u{648}", "\u{1f469}\u{200d}\u{1f4bb}"] {
            assert!(matches!(escaped(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn a_message_of_several_lines_keeps_its_lines_and_nothing_else() {
        assert_eq!(escaped_lines("a\nb\r\u{1b}\nc"), "a\nb\\r\\u{1b}\nc");
    }

    #[test]
    fn json_with_every_control_character_reads_back_as_the_same_text() {
        let text: String = controls().chain("\"\\/ü漢".chars()).collect();
        let mut json = Vec::new();
        write_json(&mut json, &serde_json::json!({ &text: [&text, 1.5, null] })).expect("memory takes it");
        let json = String::from_utf8(json).expect("text");
        assert!(!json.chars().any(is_control), "{json}");
        assert!(json.contains("\\u007f\\u0080") && json.contains("ü漢"), "{json}");
        let back: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(back, serde_json::json!({ &text: [&text, 1.5, null] }));
    }

    #[test]
    fn json_that_is_written_as_it_is_holds_no_control_character_either() {
        let raw = serde_json::value::RawValue::from_string("{ \"a\u{7f}\u{9b}\": 1 }".to_owned()).expect("JSON");
        let mut json = Vec::new();
        write_json(&mut json, &raw).expect("memory takes it");
        assert_eq!(String::from_utf8(json).expect("text"), "{ \"a\\u007f\\u009b\": 1 }");
    }

    proptest! {
        #[test]
        fn json_of_any_text_is_that_of_the_usual_writer_but_for_escapes(text in "\\PC*|[\u{0}-\u{2070}]{0,40}") {
            let mut json = Vec::new();
            write_json(&mut json, &text).expect("memory takes it");
            let json = String::from_utf8(json).expect("text");
            prop_assert!(!json.chars().any(is_control));
            prop_assert_eq!(serde_json::from_str::<String>(&json).expect("JSON"), text.clone());
            if !text.chars().any(is_control) {
                prop_assert_eq!(json, serde_json::to_string(&text).expect("JSON"));
            }
        }
    }
}
