//! Skips JSON values, and returns their extent and whether they need repair. It stores no text and does not recurse.
//!
//! It is strict about structure, so that damage is detected at the first invalid byte. It is lenient inside strings and
//! about scalars (`NaN`, raw control characters), since real tracers write those.

use crate::formats::input::source::without_mark;

/// The reason why a value cannot be skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The bytes end within the value.
    Incomplete,
    /// The byte at this position is not valid there.
    Malformed(usize),
    /// More than [`DEPTH_MAX`] brackets are open.
    TooDeep,
}

/// Maximum number of open brackets in a record, so that a later parse of its arguments needs little stack.
pub(crate) const DEPTH_MAX: u32 = 128;

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Shape {
    /// The member is missing, or `null`.
    #[default]
    Absent,
    /// A string; its text is between the quotes.
    String,
    /// A number, a literal, or a bare word that is not valid JSON.
    Scalar,
    /// An object with its braces.
    Object,
    /// An array with its brackets.
    Array,
}

/// Deviations of a value's text from plain JSON, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Quirks(u8);

impl Quirks {
    /// A backslash in a string.
    pub(crate) const ESCAPE: Self = Self(1);
    /// A raw control character in a string.
    pub(crate) const CONTROL: Self = Self(2);
    /// A byte above 127, which may or may not be valid UTF-8.
    pub(crate) const NON_ASCII: Self = Self(4);
    /// A deviation that strict JSON parsers reject: a bare word, an unknown escape, a possibly unpaired surrogate, or a
    /// trailing comma.
    pub(crate) const NOT_JSON: Self = Self(8);

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns whether a strict parser may reject the value, or replace a part of it.
    pub(crate) fn needs_check(self) -> bool {
        self.has(Self::CONTROL) || self.has(Self::NON_ASCII) || self.has(Self::NOT_JSON)
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// A value with its position.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct JsonValue<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) shape: Shape,
    pub(crate) quirks: Quirks,
}

impl JsonValue<'_> {
    pub(crate) const ABSENT: Self = Self { text: &[], shape: Shape::Absent, quirks: Quirks(0) };

    pub(crate) fn is_absent(&self) -> bool {
        self.shape == Shape::Absent
    }

    /// Returns whether this is the string `text` without escapes.
    pub(crate) fn is_text(&self, text: &[u8]) -> bool {
        self.shape == Shape::String && self.text == text
    }
}

/// A cursor over JSON bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scanner<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) pos: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(bytes: &'a [u8], pos: usize) -> Self {
        Self { bytes, pos }
    }

    /// Skips a byte order mark.
    pub(crate) fn skip_mark(&mut self) {
        let rest = &self.bytes[self.pos..];
        self.pos += rest.len() - without_mark(rest).len();
    }

    /// Returns the next byte that is not white space, without consuming it.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<u8, Broken> {
        loop {
            match self.bytes.get(self.pos) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.pos += 1,
                Some(&byte) => return Ok(byte),
                None => return Err(Broken::Incomplete),
            }
        }
    }

    /// Consumes the next byte that is not white space, which must be `byte`.
    #[inline]
    pub(crate) fn expect(&mut self, byte: u8) -> Result<(), Broken> {
        if self.peek()? == byte {
            self.pos += 1;
            Ok(())
        } else {
            Err(Broken::Malformed(self.pos))
        }
    }

    /// Consumes a key and its colon, and returns the key.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<JsonValue<'a>, Broken> {
        self.expect(b'"')?;
        let key = self.rest_of_string()?;
        self.expect(b':')?;
        Ok(key)
    }

    /// Consumes one value within `depth` open brackets.
    #[inline]
    pub(crate) fn value(&mut self, depth: u32) -> Result<JsonValue<'a>, Broken> {
        match self.peek()? {
            b'"' => {
                self.pos += 1;
                self.rest_of_string()
            }
            open @ (b'{' | b'[') => {
                let start = self.pos;
                let quirks = self.nested(depth)?;
                let shape = if open == b'{' { Shape::Object } else { Shape::Array };
                Ok(JsonValue { text: &self.bytes[start..self.pos], shape, quirks })
            }
            _ => {
                let text = self.scalar()?;
                if text == b"null" {
                    return Ok(JsonValue::default());
                }
                Ok(JsonValue { text, shape: Shape::Scalar, quirks: Quirks::default() })
            }
        }
    }

    /// Consumes a string up to its closing quote. The opening quote was consumed already.
    #[inline]
    fn rest_of_string(&mut self) -> Result<JsonValue<'a>, Broken> {
        let Some((value, after)) = plain_text(&self.bytes[self.pos..]) else { return self.rest_of_odd_string() };
        self.pos = self.bytes.len() - after.len();
        Ok(value)
    }

    /// Consumes a string with escapes, control characters or bytes above 127, or at the end of the bytes.
    #[inline(never)]
    fn rest_of_odd_string(&mut self) -> Result<JsonValue<'a>, Broken> {
        let start = self.pos;
        let mut quirks = Quirks::default();
        loop {
            self.skip_plain(&mut quirks)?;
            match self.bytes[self.pos] {
                b'"' => {
                    let text = &self.bytes[start..self.pos];
                    self.pos += 1;
                    return Ok(JsonValue { text, shape: Shape::String, quirks });
                }
                b'\\' => {
                    quirks.add(Quirks::ESCAPE);
                    match self.bytes.get(self.pos + 1) {
                        None => return Err(Broken::Incomplete),
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {}
                        Some(b'u') if is_plain_unicode_escape(&self.bytes[self.pos + 2..]) => {}
                        Some(_) => quirks.add(Quirks::NOT_JSON),
                    }
                    self.pos += 2;
                }
                _ => {
                    quirks.add(Quirks::CONTROL);
                    self.pos += 1;
                }
            }
        }
    }

    /// Skips to the next quote, backslash or control character, eight bytes at a time.
    #[inline]
    fn skip_plain(&mut self, quirks: &mut Quirks) -> Result<(), Broken> {
        while let Some((word, _)) = self.bytes[self.pos..].split_first_chunk::<8>() {
            let word = u64::from_le_bytes(*word);
            let hits = special_bytes(word);
            let before_hit = hits.wrapping_sub(1) & !hits;
            if word & HIGH_BITS & before_hit != 0 {
                quirks.add(Quirks::NON_ASCII);
            }
            if hits != 0 {
                self.pos += hits.trailing_zeros() as usize / 8;
                return Ok(());
            }
            self.pos += 8;
        }
        while let Some(&byte) = self.bytes.get(self.pos) {
            match byte {
                b'"' | b'\\' | 0..=0x1f => return Ok(()),
                0x80.. => quirks.add(Quirks::NON_ASCII),
                _ => {}
            }
            self.pos += 1;
        }
        Err(Broken::Incomplete)
    }

    /// Consumes a number, a literal or a bare word.
    #[inline]
    fn scalar(&mut self) -> Result<&'a [u8], Broken> {
        let start = self.pos;
        if let Some((value, after)) = plain_number(&self.bytes[start..]) {
            self.pos = self.bytes.len() - after.len();
            return Ok(value.text);
        }
        let rest = &self.bytes[start..];
        let in_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_');
        match rest.iter().position(|byte| !in_word(byte)) {
            None => Err(Broken::Incomplete),
            Some(0) => Err(Broken::Malformed(start)),
            Some(len) => {
                self.pos += len;
                Ok(&rest[..len])
            }
        }
    }

    /// Consumes an object or array, and returns the quirks of all its contents.
    fn nested(&mut self, outer_depth: u32) -> Result<Quirks, Broken> {
        let mut quirks = Quirks::default();
        // Bit 0 is for the innermost open bracket: 1 for an object.
        let mut objects = 0u128;
        let mut depth = 0u32;
        loop {
            // At the first byte of a value.
            match self.peek()? {
                open @ (b'{' | b'[') => {
                    self.pos += 1;
                    depth += 1;
                    if outer_depth + depth > DEPTH_MAX {
                        return Err(Broken::TooDeep);
                    }
                    objects = objects << 1 | u128::from(open == b'{');
                    let close = if open == b'{' { b'}' } else { b']' };
                    if self.peek()? != close {
                        if open == b'{' {
                            quirks.add(self.key()?.quirks);
                        }
                        continue;
                    }
                    // The loop below reads the closing bracket.
                }
                b'"' => {
                    self.pos += 1;
                    quirks.add(self.rest_of_string()?.quirks);
                }
                _ => {
                    if !is_json_scalar(self.scalar()?) {
                        quirks.add(Quirks::NOT_JSON);
                    }
                }
            }
            // After a value, or before the closing bracket of an empty container.
            loop {
                let in_object = objects & 1 == 1;
                match self.peek()? {
                    b',' => {
                        self.pos += 1;
                        if self.peek()? == if in_object { b'}' } else { b']' } {
                            // A trailing comma, as written by programs that print one after each value.
                            quirks.add(Quirks::NOT_JSON);
                            continue;
                        }
                        if in_object {
                            quirks.add(self.key()?.quirks);
                        }
                        break;
                    }
                    b'}' if in_object => {}
                    b']' if !in_object => {}
                    _ => return Err(Broken::Malformed(self.pos)),
                }
                self.pos += 1;
                objects >>= 1;
                depth -= 1;
                if depth == 0 {
                    return Ok(quirks);
                }
            }
        }
    }
}

/// Returns the text before the closing quote, and the bytes after it. `None` if the text has quirks, or if the bytes
/// end before a full word.
#[inline]
pub(crate) fn plain_text(bytes: &[u8]) -> Option<(JsonValue<'_>, &[u8])> {
    let mut rest = bytes;
    loop {
        let (&word, after) = rest.split_first_chunk()?;
        let word = u64::from_le_bytes(word);
        let hits = odd_bytes(word);
        if hits != 0 {
            let hit = hits.trailing_zeros() & !7;
            let len = bytes.len() - rest.len() + hit as usize / 8;
            let (text, [b'"', after @ ..]) = bytes.split_at(len) else { return None };
            return Some((JsonValue { text, shape: Shape::String, quirks: Quirks::default() }, after));
        }
        rest = after;
    }
}

/// Returns the digits and points before a comma or closing brace, and the bytes from there on. `None` for all else.
#[inline]
pub(crate) fn plain_number(bytes: &[u8]) -> Option<(JsonValue<'_>, &[u8])> {
    let mut rest = bytes;
    loop {
        let (&word, after) = rest.split_first_chunk()?;
        let others = bytes_of_no_number(u64::from_le_bytes(word));
        if others != 0 {
            let len = bytes.len() - rest.len() + others.trailing_zeros() as usize / 8;
            let (text, after @ [b',' | b'}', ..]) = bytes.split_at(len) else { return None };
            return (len > 0).then_some((JsonValue { text, shape: Shape::Scalar, quirks: Quirks::default() }, after));
        }
        rest = after;
    }
}

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGH_BITS: u64 = ONES << 7;

/// Sets the high bit of each byte that is a quote, a backslash or a control character. Only the lowest set bit is
/// exact: a subtraction borrows from the bytes above a match, never from those below it.
#[inline]
fn special_bytes(word: u64) -> u64 {
    let below = |word: u64, bound: u64| word.wrapping_sub(ONES * bound) & !word & HIGH_BITS;
    below(word ^ (ONES * u64::from(b'"')), 1)
        | below(word ^ (ONES * u64::from(b'\\')), 1)
        | below(word, u64::from(b' '))
}

/// Sets the high bit of each byte that is a quote, a backslash, a control character or above 127. Only the lowest is
/// exact.
#[inline]
fn odd_bytes(word: u64) -> u64 {
    let below = |word: u64, bound: u64| word.wrapping_sub(ONES * bound);
    let is_special = below(word ^ (ONES * u64::from(b'"')), 1)
        | below(word ^ (ONES * u64::from(b'\\')), 1)
        | below(word, u64::from(b' '));
    (is_special | word) & HIGH_BITS
}

/// Sets the high bit of each byte that is neither a digit nor a point.
#[inline]
fn bytes_of_no_number(word: u64) -> u64 {
    // An addition to seven bits of a byte does not carry into the next one.
    let above = |word: u64, bound: u64| (((word & !HIGH_BITS) + ONES * (0x7f - bound)) | word) & HIGH_BITS;
    let not_digit = above(word ^ (ONES * u64::from(b'0')), 9);
    let not_point = above(word ^ (ONES * u64::from(b'.')), 0);
    not_digit & not_point
}

/// Returns whether `\u` is followed by four hexadecimal digits that are not half of a surrogate pair.
fn is_plain_unicode_escape(digits: &[u8]) -> bool {
    let Some(digits) = digits.first_chunk::<4>() else { return false };
    let is_surrogate = matches!(digits[0], b'd' | b'D') && digits[1] >= b'8';
    digits.iter().all(u8::is_ascii_hexdigit) && !is_surrogate
}

/// Returns whether a bare word is a number or literal of strict JSON.
pub(crate) fn is_json_scalar(text: &[u8]) -> bool {
    if matches!(text, b"true" | b"false" | b"null") {
        return true;
    }
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest[0] == b'0') {
        return false;
    }
    rest = &rest[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let digit_count = digits(fraction);
        if digit_count == 0 {
            return false;
        }
        rest = &fraction[digit_count..];
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = exponent.strip_prefix(b"+").or(exponent.strip_prefix(b"-")).unwrap_or(exponent);
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn outcome(read: impl FnOnce(&mut Scanner<'_>) -> Result<(), Broken>, bytes: &[u8]) -> (Result<(), Broken>, usize) {
        let mut scanner = Scanner::new(bytes, 0);
        (read(&mut scanner), scanner.pos)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn strings_end_where_a_reading_byte_by_byte_ends(
            text in "[ -~]{0,20}", odd in proptest::collection::vec(any::<u8>(), 0..4), more in "[ -~]{0,20}",
        ) {
            let bytes = [text.as_bytes(), &odd, more.as_bytes()].concat();
            let mut quirks = Quirks::default();
            let (mut at, mut end) = (0, None);
            while end.is_none() && at < bytes.len() {
                match bytes[at] {
                    b'"' => end = Some(at),
                    b'\\' => {
                        quirks.add(Quirks::ESCAPE);
                        at += 1;
                    }
                    0..=0x1f => quirks.add(Quirks::CONTROL),
                    0x80.. => quirks.add(Quirks::NON_ASCII),
                    _ => {}
                }
                at += 1;
            }
            let mut scanner = Scanner::new(&bytes, 0);
            match (scanner.rest_of_string(), end) {
                (Ok(value), Some(end)) => {
                    prop_assert_eq!((value.text, scanner.pos), (&bytes[..end], end + 1));
                    prop_assert_eq!(value.quirks.0 & !Quirks::NOT_JSON.0, quirks.0);
                }
                (Err(Broken::Incomplete), None) => {}
                (read, end) => prop_assert!(false, "{:?}, which ends at {:?}", read, end),
            }
        }

        #[test]
        fn scalars_end_at_the_first_byte_of_no_word(text in "[0-9]{0,12}[.a-zA-Z+_ ,}-]{0,3}[0-9]{0,12}[ ,}\\[\"]?") {
            let bytes = text.as_bytes();
            let in_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-._".contains(byte);
            let expected = match bytes.iter().position(|byte| !in_word(byte)) {
                None => (Err(Broken::Incomplete), 0),
                Some(0) => (Err(Broken::Malformed(0)), 0),
                Some(len) => (Ok(()), len),
            };
            prop_assert_eq!(outcome(|scanner| scanner.scalar().map(drop), bytes), expected);
        }
    }
}
