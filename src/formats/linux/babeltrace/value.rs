//! Fields of an event of babeltrace, as JSON: `{ a = 1, b = "x", c = [ [0] = 1 ] }`. Hexadecimal numbers stay texts. An
//! enumeration, such as `( "ON" : container = 1 )`, is its label and its number: `ON (1)`.

use crate::base::hex::hex_number;
use crate::formats::output::args::push_quoted;

/// Limit for nested values; real traces have a few levels.
const DEPTH_MAX: usize = 64;

/// The fields of a group in order, each with its name and its value as JSON. A missing name is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LttngFields(pub(super) Vec<(Box<str>, Box<str>)>);

impl LttngFields {
    /// Returns the value of a field as JSON.
    pub(super) fn json(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(field, _)| &**field == key).map(|(_, json)| &**json)
    }

    /// Returns the text of a field.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        serde_json::from_str(self.json(key)?).ok()
    }

    /// Returns the number of a field, which may be hexadecimal or have a label.
    pub(super) fn number(&self, key: &str) -> Option<i64> {
        number(self.json(key)?)
    }

    /// Returns an address or a length.
    pub(super) fn unsigned(&self, key: &str) -> Option<u64> {
        unsigned(self.json(key)?)
    }
}

/// Returns the number of a value.
pub(super) fn number(json: &str) -> Option<i64> {
    let text = json.trim_matches('"');
    let text = text.strip_suffix(')').and_then(|text| Some(text.rsplit_once('(')?.1)).unwrap_or(text);
    text.parse().ok().or_else(|| unsigned(text).map(u64::cast_signed))
}

/// Returns the number of a value that is not negative.
pub(super) fn unsigned(json: &str) -> Option<u64> {
    let text = json.trim_matches('"');
    match text.strip_prefix("0x") {
        Some(digits) => hex_number(digits),
        None => text.parse().ok(),
    }
}

/// Position in the values of a line.
pub(super) struct ValueParser<'a> {
    rest: &'a [u8],
    /// Whether quotes and backslashes in texts have no backslash before them, as `babeltrace` 1 prints them.
    is_raw: bool,
}

impl<'a> ValueParser<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { rest: text, is_raw: false }
    }

    /// Creates a parser of texts whose quotes have no backslash before them.
    pub(super) fn lenient(text: &'a [u8]) -> Self {
        Self { rest: text, is_raw: true }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.trim_ascii().is_empty()
    }

    /// Skips a text if it comes next.
    pub(super) fn skip(&mut self, text: &[u8]) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Returns the name before ` = `; empty for a value without a name.
    pub(super) fn key(&mut self) -> &'a [u8] {
        let is_value = self.rest.first().is_none_or(|first| first.is_ascii_digit() || b"\"{[(<-+".contains(first));
        let end = self.rest.iter().position(|byte| b" ,{}[]\"".contains(byte)).unwrap_or(self.rest.len());
        match self.rest[end..].strip_prefix(b" = ") {
            Some(value) if !is_value => {
                let key = &self.rest[..end];
                self.rest = value;
                key
            }
            _ => b"",
        }
    }

    /// Parses the fields of a group, from its opening to its closing brace.
    pub(super) fn fields(&mut self) -> Option<LttngFields> {
        let mut fields = LttngFields::default();
        self.members(b'{', b'}', |parser| {
            let key = String::from_utf8_lossy(parser.key()).into();
            let mut json = String::new();
            parser.value(&mut json, 0)?;
            fields.0.push((key, json.into()));
            Some(())
        })?;
        Some(fields)
    }

    /// Parses the members between two brackets, which are separated by commas.
    fn members(&mut self, open: u8, close: u8, mut member: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if !self.skip(&[open]) {
            return None;
        }
        self.skip_spaces();
        if self.skip(&[close]) {
            return Some(());
        }
        loop {
            member(self)?;
            self.skip_spaces();
            if self.skip(&[close]) {
                return Some(());
            }
            if !self.skip(b",") {
                return None;
            }
            self.skip_spaces();
        }
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn value(&mut self, json: &mut String, depth: usize) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        match self.rest.first()? {
            b'{' => self.object(json, depth),
            b'[' => self.array(json, depth),
            b'(' => self.enumeration(json),
            b'"' => {
                let text = self.string()?;
                push_quoted(json, &text);
                Some(())
            }
            _ => {
                let word = self.word()?;
                push_word(json, word);
                Some(())
            }
        }
    }

    /// Parses a structure. Without names, it becomes an array.
    fn object(&mut self, json: &mut String, depth: usize) -> Option<()> {
        let start = json.len();
        json.push('{');
        let mut is_named = None;
        self.members(b'{', b'}', |parser| {
            let key = parser.key();
            let has_key = !key.is_empty();
            match is_named.replace(has_key) {
                None => {}
                Some(before) if before == has_key => json.push(','),
                Some(_) => return None,
            }
            if has_key {
                push_quoted(json, &String::from_utf8_lossy(key));
                json.push(':');
            }
            parser.value(json, depth + 1)
        })?;
        let (open, close) = if is_named.unwrap_or(true) { ("{", '}') } else { ("[", ']') };
        json.replace_range(start..=start, open);
        json.push(close);
        Some(())
    }

    /// Parses an array, whose elements may begin with their index: `[0] = 1`.
    fn array(&mut self, json: &mut String, depth: usize) -> Option<()> {
        json.push('[');
        let mut count = 0;
        self.members(b'[', b']', |parser| {
            if count > 0 {
                json.push(',');
            }
            count += 1;
            if let Some(index) = parser.rest.strip_prefix(b"[") {
                let digits = index.iter().take_while(|byte| byte.is_ascii_digit()).count();
                if let Some(value) = index[digits..].strip_prefix(b"] = ")
                    && digits > 0
                {
                    parser.rest = value;
                }
            }
            parser.value(json, depth + 1)
        })?;
        json.push(']');
        Some(())
    }

    /// Parses the labels and the number of an enumeration, such as `( "A" : container = 1 )`.
    fn enumeration(&mut self, json: &mut String) -> Option<()> {
        self.skip(b"(");
        let mut labels: Vec<String> = Vec::new();
        while !self.skip(b": ") {
            match self.rest.first()? {
                b'"' => labels.push(self.string()?),
                b' ' | b'{' | b'}' | b',' | b'|' => self.rest = &self.rest[1..],
                _ => _ = self.word()?,
            }
        }
        self.key();
        let word = self.word()?;
        self.skip_spaces();
        if !self.skip(b")") {
            return None;
        }
        if labels.is_empty() {
            push_word(json, word);
        } else {
            push_quoted(json, &format!("{} ({})", labels.join("|"), String::from_utf8_lossy(word)));
        }
        Some(())
    }

    /// Parses a number or another word without quotes.
    fn word(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|byte| b" ,{}[]()\"".contains(byte)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        // Numbers at the end of a line may be cut.
        (!word.is_empty() && !rest.is_empty()).then_some(word)
    }

    /// Parses a text in quotes with the escapes of C.
    fn string(&mut self) -> Option<String> {
        let mut rest = self.rest.strip_prefix(b"\"")?;
        if self.is_raw {
            let end = memchr::memchr_iter(b'"', rest).find(|&quote| ends_value(&rest[quote + 1..]))?;
            self.rest = &rest[end + 1..];
            return Some(String::from_utf8_lossy(&rest[..end]).into_owned());
        }
        let mut text = Vec::new();
        loop {
            let plain = memchr::memchr2(b'"', b'\\', rest)?;
            text.extend_from_slice(&rest[..plain]);
            if rest[plain] == b'"' {
                self.rest = &rest[plain + 1..];
                return Some(String::from_utf8_lossy(&text).into_owned());
            }
            let (byte, len) = unescaped(&rest[plain + 1..])?;
            text.push(byte);
            rest = &rest[plain + 1 + len..];
        }
    }
}

/// Returns whether a value may end before this text: at the end of what contains it, or before the next field.
fn ends_value(text: &[u8]) -> bool {
    /// Limit for the length of a name, so that texts are searched once.
    const KEY_BYTES_MAX: usize = 256;
    if [&b" }"[..], b" ]", b" :", b" |"].iter().any(|end| text.starts_with(end)) {
        return true;
    }
    let Some(next) = text.strip_prefix(b", ") else { return false };
    // Fields without names follow each other with values only.
    if next.first().is_some_and(|first| first.is_ascii_digit() || b"\"[(-".contains(first)) {
        return true;
    }
    let end = next.iter().take(KEY_BYTES_MAX).position(|byte| b" ,{}[]\"".contains(byte));
    end.is_some_and(|end| end > 0 && next[end..].starts_with(b" = "))
}

/// Decodes the escape after a backslash. Returns its byte and its length.
fn unescaped(escape: &[u8]) -> Option<(u8, usize)> {
    let byte = match escape.first()? {
        b'0' => b'\0',
        b'a' => b'\x07',
        b'b' => b'\x08',
        b'e' => b'\x1b',
        b'f' => b'\x0c',
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => b'\x0b',
        b'x' => {
            let byte = u8::try_from(hex_number(escape.get(1..3)?)?).ok()?;
            return Some((byte, 3));
        }
        &other => other,
    };
    Some((byte, 1))
}

/// Appends a word as JSON: a decimal number, a flag, or else a text.
fn push_word(json: &mut String, word: &[u8]) {
    let text = String::from_utf8_lossy(word);
    let is_decimal = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    match &*text {
        "TRUE" => json.push_str("true"),
        "FALSE" => json.push_str("false"),
        number if is_decimal && serde_json::from_str::<serde_json::Number>(number).is_ok() => json.push_str(number),
        other => push_quoted(json, other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Option<String> {
        let mut parser = ValueParser::new(text.as_bytes());
        let fields = parser.fields().filter(|_| parser.is_at_end())?;
        Some(fields.0.iter().map(|(key, json)| format!("{key}:{json}")).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn values_of_all_types_become_json() {
        for (text, expected) in [
            ("{ }", ""),
            (
                "{ a = -1, b = 0x1F, c = 1.5, d = 1e+06, e = inf, f = 017 }",
                r#"a:-1 b:"0x1F" c:1.5 d:1e+06 e:"inf" f:"017""#,
            ),
            (r#"{ s = "a, \"b\" }\n\x41\\\?", t = "" }"#, r#"s:"a, \"b\" }\nA\\?" t:"""#),
            ("{ a = [ [0] = 1, [1] = [ [0] = 0x2 ] ], b = [ ] }", r#"a:[1,["0x2"]] b:[]"#),
            ("{ a = { b = 1, c = { } }, d = TRUE }", r#"a:{"b":1,"c":{}} d:true"#),
            (r#"{ a = ( "ON" : container = 1 ), b = ( <unknown> : container = 5 ) }"#, r#"a:"ON (1)" b:5"#),
            (r#"{ a = ( { "A", "B" } : container = -3 ), b = ( "C" | "D" : 3 ) }"#, r#"a:"A|B (-3)" b:"C|D (3)""#),
            (r#"{ 1, "x", [ 2, 3 ], { 4, "y" } }"#, r#":1 :"x" :[2,3] :[4,"y"]"#),
        ] {
            assert_eq!(fields(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn broken_values_are_refused_at_every_cut() {
        let whole = r#"{ s = "a\x41", n = [ [0] = 1, [1] = 2 ], e = ( "ON" : container = 1 ), w = { x = 0x1 } }"#;
        assert!(fields(whole).is_some());
        for len in 0..whole.len() {
            assert_eq!(fields(&whole[..len]), None, "{len}");
        }
        for text in
            ["{ a = }", "{ a = 1 b = 2 }", "{ a = \"\\xzz\" }", "{ a = 1, }", "{ a = [ 1 }", "{ a = ( \"X\" 1 ) }"]
        {
            assert_eq!(fields(text), None, "{text}");
        }
        assert_eq!(fields(&format!("{{ a = {}1{} }}", "[ ".repeat(100), " ]".repeat(100))), None);
    }

    #[test]
    fn numbers_are_read_in_every_spelling() {
        assert_eq!(["1", "-2", "\"0x1F\"", "\"ON (3)\"", "\"X (-4)\""].map(number), [1, -2, 31, 3, -4].map(Some));
        assert_eq!([number("\"x\""), number("1.5")], [None, None]);
        assert_eq!(unsigned("\"0xFFFFFFFFFFFFFFFF\""), Some(u64::MAX));
    }
}
