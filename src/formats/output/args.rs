//! The arguments of an event, for readers that make them up from fields: the text of one JSON object.

use std::fmt::Write as _;

/// Writes one object, member by member.
#[derive(Debug, Default)]
pub(crate) struct ArgsWriter {
    pub(crate) json: String,
}

impl ArgsWriter {
    pub(crate) fn clear(&mut self) {
        self.json.clear();
    }

    /// The object; empty if it has no members.
    pub(crate) fn finish(&mut self) -> &str {
        if !self.json.is_empty() {
            self.json.push('}');
        }
        &self.json
    }

    /// Begins a member: the next thing written is its value.
    pub(crate) fn key(&mut self, prefix: &str, key: &[u8]) {
        self.json.push(if self.json.is_empty() { '{' } else { ',' });
        self.json.push('"');
        self.json.push_str(prefix);
        push_escaped(&mut self.json, &String::from_utf8_lossy(key));
        self.json.push_str("\":");
    }

    /// Adds a member whose value is text.
    pub(crate) fn text(&mut self, key: &str, value: &[u8]) {
        self.key("", key.as_bytes());
        push_quoted(&mut self.json, &String::from_utf8_lossy(value));
    }

    /// Adds a member whose value is a number that may be negative.
    pub(crate) fn signed(&mut self, key: &str, value: i64) {
        self.key("", key.as_bytes());
        let _ = write!(self.json, "{value}"); // to memory
    }

    /// Adds a member whose value is a number.
    pub(crate) fn number(&mut self, key: &str, value: u64) {
        self.key("", key.as_bytes());
        let _ = write!(self.json, "{value}"); // to memory
    }
}

/// Appends a text as a JSON string, with its quotes.
pub(crate) fn push_quoted(json: &mut String, text: &str) {
    json.push('"');
    push_escaped(json, text);
    json.push('"');
}

fn push_escaped(json: &mut String, text: &str) {
    let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        json.push_str(text);
        return;
    }
    for character in text.chars() {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\t' => json.push_str("\\t"),
            '\r' => json.push_str("\\r"),
            control if control < ' ' => {
                let _ = write!(json, "\\u{:04x}", u32::from(control)); // to memory
            }
            other => json.push(other),
        }
    }
}
