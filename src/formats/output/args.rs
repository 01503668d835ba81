//! Builds the arguments of an event as a JSON object, for readers that assemble them from fields.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::model::args::Detail;

/// Writes a JSON object, member by member.
#[derive(Debug, Default)]
pub(crate) struct ArgsWriter {
    pub(crate) json: String,
}

impl ArgsWriter {
    pub(crate) fn clear(&mut self) {
        self.json.clear();
    }

    /// Returns the object; empty if it has no members.
    pub(crate) fn finish(&mut self) -> &str {
        if !self.json.is_empty() {
            self.json.push('}');
        }
        &self.json
    }

    /// Returns whether the object is too long to be shown, so that more members need not be written.
    pub(crate) fn is_too_long(&self) -> bool {
        self.json.len() > Detail::ARGS_BYTES_MAX
    }

    /// Starts a member; the caller then writes its value.
    pub(crate) fn key(&mut self, prefix: &str, key: &[u8]) {
        self.json.push(if self.json.is_empty() { '{' } else { ',' });
        self.json.push('"');
        self.json.push_str(prefix);
        push_escaped(&mut self.json, &lossy_text(key));
        self.json.push_str("\":");
    }

    /// Adds members in order. The values of a key that repeats become an array, in place of the first.
    pub(crate) fn members<V: Copy>(&mut self, members: &[(&str, V)], write_value: impl Fn(V, &mut String)) {
        let mut order: Vec<usize> = (0..members.len()).collect();
        order.sort_by_key(|&index| members[index].0);
        let mut keys: Vec<&[usize]> = order.chunk_by(|&a, &b| members[a].0 == members[b].0).collect();
        keys.sort_by_key(|indices| indices.first());
        for indices in keys {
            for (position, &index) in indices.iter().enumerate() {
                let (key, value) = members[index];
                match position {
                    0 => self.key("", key.as_bytes()),
                    _ => self.json.push(','),
                }
                if position == 0 && indices.len() > 1 {
                    self.json.push('[');
                }
                write_value(value, &mut self.json);
            }
            if indices.len() > 1 {
                self.json.push(']');
            }
        }
    }

    /// Adds a text; invalid UTF-8 becomes replacement characters.
    pub(crate) fn text(&mut self, key: &str, value: &[u8]) {
        self.key("", key.as_bytes());
        push_quoted(&mut self.json, &lossy_text(value));
    }

    pub(crate) fn signed(&mut self, key: &str, value: i64) {
        self.key("", key.as_bytes());
        let _ = write!(self.json, "{value}"); // to memory
    }

    /// Adds the event, unit and weight of a sample.
    pub(crate) fn measure(&mut self, event: &str, unit: &str, weight: u64) {
        self.text("event", event.as_bytes());
        self.text("unit", unit.as_bytes());
        self.number("period", weight);
    }

    pub(crate) fn number(&mut self, key: &str, value: u64) {
        self.key("", key.as_bytes());
        let _ = write!(self.json, "{value}"); // to memory
    }
}

/// Writes the arguments of samples of one event. Only their weights differ, so the rest is escaped once.
#[derive(Debug)]
pub(crate) struct SampleArgsWriter {
    args: ArgsWriter,
    /// Length of the event and the unit, which precede the weight.
    shared_bytes: usize,
}

impl SampleArgsWriter {
    pub(crate) fn new(event: &str, unit: &str) -> Self {
        let mut args = ArgsWriter::default();
        args.text("event", event.as_bytes());
        args.text("unit", unit.as_bytes());
        Self { shared_bytes: args.json.len(), args }
    }

    /// Returns the arguments of a sample with this weight.
    pub(crate) fn with_weight(&mut self, weight: u64) -> &str {
        self.args.json.truncate(self.shared_bytes);
        self.args.number("period", weight);
        self.args.finish()
    }
}

/// Converts bytes to text, with replacement characters for invalid UTF-8. Most texts are valid, and checking them as a
/// whole takes a third of the time of [`String::from_utf8_lossy`].
pub(crate) fn lossy_text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Appends a number as JSON; infinities and NaN become strings, since JSON has no literals for them.
pub(crate) fn push_double(json: &mut String, value: f64) {
    // Writing to memory cannot fail.
    let _ = if value.is_finite() { write!(json, "{value:?}") } else { write!(json, "\"{value}\"") };
}

/// Appends a text as a quoted JSON string.
pub(crate) fn push_quoted(json: &mut String, text: &str) {
    json.push('"');
    push_escaped(json, text);
    json.push('"');
}

fn push_escaped(json: &mut String, text: &str) {
    let mut rest = text;
    // Every escaped character is a single byte, so the text is cut between characters.
    while let Some(at) = first_escaped(rest.as_bytes()) {
        json.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => json.push_str("\\\""),
            b'\\' => json.push_str("\\\\"),
            b'\n' => json.push_str("\\n"),
            b'\t' => json.push_str("\\t"),
            b'\r' => json.push_str("\\r"),
            control => {
                let _ = write!(json, "\\u{control:04x}"); // to memory
            }
        }
        rest = &rest[at + 1..];
    }
    json.push_str(rest);
}

/// Returns the position of the first byte that JSON escapes. Tests eight bytes at a time, since most texts have none.
fn first_escaped(text: &[u8]) -> Option<usize> {
    let (words, _) = text.as_chunks::<8>();
    let plain_words = words.iter().take_while(|&&word| !has_escaped(u64::from_le_bytes(word))).count();
    let from = 8 * plain_words;
    let is_escaped = |&byte: &u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    text[from..].iter().position(is_escaped).map(|at| from + at)
}

/// Returns whether any of eight bytes is a control character, a quote or a backslash.
fn has_escaped(word: u64) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH_BITS: u64 = ONES << 7;
    // A byte below `limit` (at most 128) borrows into its own high bit, which was clear.
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & HIGH_BITS;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    below(word, 0x20) | equal(b'"') | equal(b'\\') != 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{ArgsWriter, SampleArgsWriter, push_quoted};

    fn quoted(text: &str) -> String {
        let mut json = String::new();
        push_quoted(&mut json, text);
        json
    }

    #[test]
    fn each_byte_is_escaped_at_each_place_of_a_word() {
        for byte in 0..0x80_u8 {
            for before in 0..20 {
                let text = format!("{}{}é", "x".repeat(before), char::from(byte));
                let read: Option<String> = serde_json::from_str(&quoted(&text)).ok();
                assert_eq!(read.as_deref(), Some(&*text), "{byte:#04x} after {before} bytes");
            }
        }
    }

    #[test]
    fn values_of_a_repeated_key_are_an_array_in_place_of_the_first() {
        let mut args = ArgsWriter::default();
        args.text("before", b"x");
        let members = [("b", 1), ("a", 2), ("b", 3), ("c", 4), ("b", 5)];
        args.members(&members, |value, json| json.push_str(&value.to_string()));
        args.members(&[], |(), _| ());
        assert_eq!(args.finish(), r#"{"before":"x","b":[1,3,5],"a":2,"c":4}"#);
    }

    #[test]
    fn arguments_of_samples_differ_in_their_weight_alone() {
        let mut args = SampleArgsWriter::new("a \"b\"", "ns");
        let mut plain = ArgsWriter::default();
        for weight in [u64::MAX, 0, 17] {
            plain.clear();
            plain.measure("a \"b\"", "ns", weight);
            assert_eq!(args.with_weight(weight), plain.finish());
        }
    }

    proptest! {
        #[test]
        fn a_quoted_text_is_read_back(text in "[\\x00-\\x23\\x5b-\\x5d\\x7f-\\xffa-c€😀]{0,40}") {
            prop_assert_eq!(serde_json::from_str::<String>(&quoted(&text)).ok(), Some(text));
        }
    }
}
