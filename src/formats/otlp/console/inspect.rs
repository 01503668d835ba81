//! Parses the text of `util.inspect` of Node.js as JSON values: objects with unquoted keys, strings in any quotes, and
//! class names. Marks of omitted parts stay as strings. JSON with `NaN` is such text too. Refuses other text.

use serde_json::{Map, Number, Value};

use crate::base::hex::hex_number;

/// Limit for nesting. Node.js prints three levels.
const DEPTH_MAX: u32 = 64;

/// Parses a value, and returns it with the number of elements and values that the text omits.
pub(super) fn parse(text: &str) -> Option<(Value, u64)> {
    let mut parser = InspectParser { rest: text, omitted: 0 };
    let value = parser.value(0)?;
    parser.rest.trim().is_empty().then_some((value, parser.omitted))
}

struct InspectParser<'t> {
    rest: &'t str,
    omitted: u64,
}

impl<'t> InspectParser<'t> {
    fn value(&mut self, depth: u32) -> Option<Value> {
        self.rest = self.rest.trim_start();
        match self.rest.chars().next().filter(|_| depth < DEPTH_MAX)? {
            '\'' | '"' | '`' => self.text().map(Value::from),
            '{' => self.object(depth),
            '[' => match self.mark() {
                Some(mark) => self.after_class(mark, depth),
                None => self.array(depth),
            },
            // `<ref *1>` names an object for `[Circular *1]`.
            '<' if self.rest.starts_with("<ref *") => {
                self.rest = self.rest.split_once('>')?.1;
                self.value(depth + 1)
            }
            _ => self.bare(depth),
        }
    }

    /// Consumes a prefix if it is next.
    fn consume(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Consumes and counts `... 50 more items`.
    fn omission(&mut self) -> Option<&'t str> {
        let text = self.rest.trim_start();
        let (number, unit) = text.strip_prefix("... ")?.split_once(" more ")?;
        let number: u64 = number.parse().ok()?;
        let is_items = unit.starts_with("item");
        let unit_len = unit.bytes().take_while(u8::is_ascii_lowercase).count();
        self.omitted = self.omitted.saturating_add(if is_items { number } else { 1 });
        let (omission, rest) = text.split_at(text.len() - unit.len() + unit_len);
        self.rest = rest;
        Some(omission)
    }

    /// Consumes a bracket that is not an array: `[Object]`, `[Circular *1]`, `[Function: f]`.
    fn mark(&mut self) -> Option<&'t str> {
        let inner = self.rest.strip_prefix('[')?;
        let is_number = inner.starts_with("NaN") || inner.starts_with("Infinity");
        if is_number || !inner.starts_with(|first: char| first.is_ascii_uppercase()) {
            return None;
        }
        let (mark, rest) = self.rest.split_at(self.rest.find(']')? + 1);
        self.rest = rest;
        Some(mark)
    }

    /// Returns a value with the name of its class, or the mark alone if no value follows.
    fn after_class(&mut self, class: &str, depth: u32) -> Option<Value> {
        let body = self.rest.trim_start_matches(' ');
        if !body.starts_with(['{', '[']) {
            // `[Object]`, not `[Function: f]`.
            let is_omission = class.starts_with('[') && !class.contains([':', '(']);
            self.omitted = self.omitted.saturating_add(u64::from(is_omission));
            return Some(class.into());
        }
        let value = self.value(depth + 1)?;
        if class == "[Object: null prototype]" {
            return Some(value);
        }
        Some(Map::from_iter([(class.to_owned(), value)]).into())
    }

    fn object(&mut self, depth: u32) -> Option<Value> {
        self.rest = self.rest.strip_prefix('{')?;
        let mut members = Map::new();
        loop {
            self.rest = self.rest.trim_start();
            if self.consume("}") {
                return Some(members.into());
            }
            if let Some(omission) = self.omission() {
                members.insert("...".to_owned(), omission.into());
            } else {
                let before = (self.rest, self.omitted);
                let key = self.key();
                self.rest = self.rest.trim_start();
                if let Some(key) = key
                    && (self.consume(":") || self.consume("=>"))
                {
                    let value = self.value(depth + 1)?;
                    members.insert(key, value);
                } else {
                    // An element of a set, or the key of a map entry that is not a word.
                    (self.rest, self.omitted) = before;
                    let value = self.value(depth + 1)?;
                    self.rest = self.rest.trim_start();
                    if self.consume("=>") {
                        let entry = self.value(depth + 1)?;
                        members.insert(value.to_string(), entry);
                    } else {
                        members.insert(members.len().to_string(), value);
                    }
                }
            }
            self.end_of_element('}')?;
        }
    }

    fn array(&mut self, depth: u32) -> Option<Value> {
        self.rest = self.rest.strip_prefix('[')?;
        let mut elements = Vec::new();
        loop {
            self.rest = self.rest.trim_start();
            if self.consume("]") {
                return Some(elements.into());
            }
            let element = match self.omission() {
                Some(omission) => omission.into(),
                None => self.value(depth + 1)?,
            };
            elements.push(element);
            self.end_of_element(']')?;
        }
    }

    /// Consumes the comma after an element; a closing bracket stays.
    fn end_of_element(&mut self, close: char) -> Option<()> {
        self.rest = self.rest.trim_start();
        (self.consume(",") || self.rest.starts_with(close)).then_some(())
    }

    fn key(&mut self) -> Option<String> {
        if self.rest.starts_with(['\'', '"', '`']) {
            return self.text();
        }
        if let Some(mark) = self.mark() {
            return Some(mark.to_owned());
        }
        let end = self.rest.find(|next: char| next.is_whitespace() || ":,{}[]".contains(next))?;
        let (key, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(key.to_owned()).filter(|key| !key.is_empty())
    }

    /// Consumes a word: a number, a literal, a date, a symbol, or the class of the value that follows.
    fn bare(&mut self, depth: u32) -> Option<Value> {
        let mut parens = 0_u32;
        let end = self.rest.find(|next: char| {
            match next {
                '(' => parens += 1,
                ')' => parens = parens.saturating_sub(1),
                _ => {}
            }
            next == '\n' || parens == 0 && ",{}[]".contains(next)
        });
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        let word = word.trim();
        match word {
            "" => None,
            "null" | "undefined" => Some(Value::Null),
            "true" | "false" => Some((word == "true").into()),
            // JSON has no literals for these numbers.
            "NaN" | "Infinity" | "-Infinity" => Some(word.into()),
            _ => match serde_json::from_str::<Number>(word) {
                Ok(number) => Some(Value::Number(number)),
                Err(_) => self.after_class(word, depth),
            },
        }
    }

    /// Consumes a quoted text. Node.js splits a long one after its line breaks, and joins the parts by plus signs.
    fn text(&mut self) -> Option<String> {
        let mut text = String::new();
        self.quoted(&mut text)?;
        while let Some(next) = self.rest.trim_start().strip_prefix('+') {
            self.rest = next.trim_start();
            self.quoted(&mut text)?;
        }
        text.push_str(self.omission().unwrap_or_default());
        Some(text)
    }

    /// Consumes a part of a text in quotes, and appends it.
    fn quoted(&mut self, text: &mut String) -> Option<()> {
        let quote = self.rest.chars().next().filter(|quote| matches!(quote, '\'' | '"' | '`'))?;
        self.rest = &self.rest[1..];
        loop {
            let at = self.rest.find([quote, '\\'])?;
            text.push_str(&self.rest[..at]);
            let is_end = !self.rest[at..].starts_with('\\');
            self.rest = &self.rest[at + 1..];
            if is_end {
                return Some(());
            }
            text.push(self.escaped()?);
        }
    }

    /// Consumes an escape after its backslash.
    fn escaped(&mut self) -> Option<char> {
        let letter = self.rest.chars().next()?;
        self.rest = &self.rest[letter.len_utf8()..];
        Some(match letter {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            'x' => char::from_u32(self.hex(2)?)?,
            'u' if self.consume("{") => {
                let (digits, rest) = self.rest.split_once('}')?;
                self.rest = rest;
                char::from_u32(u32::try_from(hex_number(digits)?).ok()?)?
            }
            'u' => self.utf16()?,
            other => other,
        })
    }

    fn hex(&mut self, len: usize) -> Option<u32> {
        let (digits, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        u32::try_from(hex_number(digits)?).ok()
    }

    /// Consumes the digits of a UTF-16 unit, or of both units of a surrogate pair. A half alone is replaced.
    fn utf16(&mut self) -> Option<char> {
        let unit = u16::try_from(self.hex(4)?).ok()?;
        let before = self.rest;
        let second = if self.consume("\\u") { self.hex(4).and_then(|unit| u16::try_from(unit).ok()) } else { None };
        let mut decoded = char::decode_utf16([unit].into_iter().chain(second));
        let first = decoded.next()?.unwrap_or(char::REPLACEMENT_CHARACTER);
        if decoded.next().is_some() || first == char::REPLACEMENT_CHARACTER {
            // The second unit is a separate character.
            self.rest = before;
        }
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Option<(String, u64)> {
        parse(text).map(|(value, omitted)| (value.to_string(), omitted))
    }

    #[test]
    fn values_of_every_kind_are_json_and_marks_of_what_is_missing_are_counted() {
        for (text, expected, omitted) in [
            ("{ a: 1, 'b c': -2.5, d: undefined }", r#"{"a":1,"b c":-2.5,"d":null}"#, 0),
            ("{ n: NaN, i: -Infinity, z: -0, b: 12n }", r#"{"n":"NaN","i":"-Infinity","z":-0,"b":"12n"}"#, 0),
            (r#"{"n":[NaN,-Infinity,Infinity],"t":true}"#, r#"{"n":["NaN","-Infinity","Infinity"],"t":true}"#, 0),
            ("{ a: [\n  0, 1,\n  ... 50 more items\n ] }", r#"{"a":[0,1,"... 50 more items"]}"#, 50),
            ("{ a: 'xy'... 2000 more characters, b: 1 }", r#"{"a":"xy... 2000 more characters","b":1}"#, 1),
            ("{ a: 'x\\n' +\n 'y'... 1 more character }", r#"{"a":"x\ny... 1 more character"}"#, 1),
            (
                "{ o: [Object], a: [Array], f: [Function: f] }",
                r#"{"o":"[Object]","a":"[Array]","f":"[Function: f]"}"#,
                2,
            ),
            ("<ref *1> { a: [Circular *1] }", r#"{"a":"[Circular *1]"}"#, 1),
            ("{ t: TraceState { m: Map(1) { 'a' => 'b' } } }", r#"{"t":{"TraceState":{"m":{"Map(1)":{"a":"b"}}}}}"#, 0),
            ("{ m: Map(1) { { a: 1 } => 2 } }", r#"{"m":{"Map(1)":{"{\"a\":1}":2}}}"#, 0),
            (
                "{ m: Map(2) { [ 1, 'y' ] => 'x', Point { x: [Array] } => { c: 3 } } }",
                r#"{"m":{"Map(2)":{"[1,\"y\"]":"x","{\"Point\":{\"x\":\"[Array]\"}}":{"c":3}}}}"#,
                1,
            ),
            ("{ s: Set(2) { 1, 'x' }, [Symbol(k)]: 1 }", r#"{"s":{"Set(2)":{"0":1,"1":"x"}},"[Symbol(k)]":1}"#, 0),
            ("[Object: null prototype] { a: Symbol(b, c) }", r#"{"a":"Symbol(b, c)"}"#, 0),
            ("{ d: 2024-01-02T03:04:05.678Z, e: [], f: {} }", r#"{"d":"2024-01-02T03:04:05.678Z","e":[],"f":{}}"#, 0),
            (
                "{ m: Map(200) { 'a' => 1, ... 199 more items } }",
                r#"{"m":{"Map(200)":{"a":1,"...":"... 199 more items"}}}"#,
                199,
            ),
        ] {
            assert_eq!(json(text), Some((expected.to_owned(), omitted)), "{text}");
        }
        for text in ["", "{", "{ a: ", "{ a: 1 ]", "[1", "'x", "{ a: '\\x1' }", "{ a: 1 } b"] {
            assert_eq!(json(text), None, "{text}");
        }
        assert_eq!(parse(&"[".repeat(100_000)), None);
    }

    #[test]
    fn escapes_are_the_characters_that_they_mean() {
        let text = r#"'\x1B[31m\x00\\ \b\f\v\t\n\r \' \" \u00e9 \u{1F600} \ud83d\ude00 \uD83D! \ud83d\u0041 \q é'"#;
        let meant = "\u{1b}[31m\0\\ \u{8}\u{c}\u{b}\t\n\r ' \" é 😀 😀 \u{fffd}! \u{fffd}A q é";
        assert_eq!(parse(text), Some((meant.into(), 0)));
    }
}
