//! Iterates over the values of an array as texts to be parsed. A value whose structure is sound is repaired to strict
//! JSON. A damaged value extends to the end of its brackets. If its brackets do not balance, it extends to its first
//! error, and the search continues there for a value of the same kind.

use std::borrow::Cow;

use serde::Deserialize;

use super::VALUE_BYTES_MAX;
use super::abridge::Abridger;
use super::window::Window;
use crate::formats::ReadError;
use crate::formats::json::scan::{Broken, Quirks, Scanner};
use crate::formats::json::skip::ValueSkipper;
use crate::formats::json::text::{Repairs, valid_json};
use crate::model::{Loss, Losses, SourcePos};

/// Damage within this distance of an element's start restarts the search right after that start, since a missing quote
/// turns what follows into text. Later damage restarts it after the damage, so that nested elements are not parsed once
/// per level.
const SOUGHT_WITHIN_BYTES: usize = 1 << 10;

/// Brackets of a damaged element are balanced within this distance. Each failure halves it, so that damage in each
/// element costs little time.
const BALANCED_WITHIN_BYTES: usize = 64 << 10;

/// Iterator over the values of an array.
pub(crate) struct Elements<'d> {
    window: Window<'d>,
    has_begun: bool,
    /// Whether the values are in no array, so that they end with the file.
    is_bare: bool,
    /// Whether the array has ended, or the value is not an array. Tables ask for each row, also in columns that they
    /// lack.
    has_ended: bool,
    /// Length of the current element, which is still at the front of the window.
    current_len: usize,
    /// Distance within which the brackets of the next damaged element are balanced.
    balanced_within: usize,
    /// First byte of elements to search for after damage.
    resync_byte: Option<u8>,
    /// Repaired text of the current element; empty if it needs no repair.
    repaired: String,
    /// Keys of the members that the reader uses; empty if it uses all.
    used_keys: &'static [&'static str],
    /// The used members of the current element; empty if it is within the limit.
    abridged: Vec<u8>,
}

/// A value of an array.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element<'a> {
    /// Its text: JSON unless it is damaged.
    pub(crate) text: &'a [u8],
    pub(crate) offset: u64,
    repairs: Repairs,
    is_over_limit: bool,
}

impl<'a> Element<'a> {
    /// Parses the value; returns `None` and counts a loss for another type, or for a value beyond the limit.
    pub(crate) fn parse<T: Deserialize<'a>>(&self, losses: &mut Losses) -> Option<T> {
        if self.is_over_limit {
            losses.add(Loss::OverLimit, SourcePos::Offset(self.offset));
            return None;
        }
        let parsed = serde_json::from_slice(self.text).ok();
        if parsed.is_some() {
            self.count_losses(losses);
        } else {
            losses.add(Loss::BadRecord, SourcePos::Offset(self.offset));
        }
        parsed
    }

    /// Counts the repairs of a text that is used without [`Self::parse`]; a value beyond the limit has no text.
    pub(crate) fn count_losses(&self, losses: &mut Losses) {
        let pos = SourcePos::Offset(self.offset);
        losses.add_many(Loss::OverLimit, pos, u64::from(self.is_over_limit));
        self.repairs.count(losses, pos);
    }
}

/// The extent of an element within the bytes read so far.
enum ValueExtent {
    Whole(usize, Quirks),
    /// It continues after these bytes.
    Incomplete,
    /// It is damaged after this many bytes.
    Damaged(usize),
}

impl<'d> Elements<'d> {
    pub(super) fn new(window: Window<'d>) -> Self {
        Self {
            window,
            has_begun: false,
            is_bare: false,
            has_ended: false,
            current_len: 0,
            balanced_within: BALANCED_WITHIN_BYTES,
            resync_byte: None,
            repaired: String::new(),
            used_keys: &[],
            abridged: Vec::new(),
        }
    }

    /// Iterates over values that follow each other without an array, up to the end of the file.
    pub(super) fn bare(window: Window<'d>) -> Self {
        Self { has_begun: true, is_bare: true, ..Self::new(window) }
    }

    /// Reads only the members with these keys, at any depth, of an element beyond the limit.
    pub(crate) fn with_used_keys(self, used_keys: &'static [&'static str]) -> Self {
        Self { used_keys, ..self }
    }

    /// Returns the next value of the array.
    pub(crate) fn next(&mut self) -> Result<Option<Element<'_>>, ReadError> {
        if self.has_ended {
            return Ok(None);
        }
        self.window.advance(std::mem::take(&mut self.current_len));
        if let Some(first) = self.resync_byte.take() {
            self.seek(first)?;
        }
        let Some(first) = self.first_byte()? else {
            self.has_ended = true;
            return Ok(None);
        };
        let offset = self.window.offset();
        let (mut quirks, mut is_over_limit) = (Quirks::default(), false);
        self.abridged.clear();
        self.current_len = loop {
            let unread = self.window.unread();
            let len = unread.len().min(VALUE_BYTES_MAX);
            let damaged_len = match value_extent(&unread[..len]) {
                ValueExtent::Whole(len, value_quirks) => {
                    quirks = value_quirks;
                    break len;
                }
                ValueExtent::Damaged(damaged_len) => match balanced_end(&unread[..len.min(self.balanced_within)]) {
                    Ok(len) => {
                        self.balanced_within = BALANCED_WITHIN_BYTES;
                        break len;
                    }
                    Err(Broken::Incomplete) if len < self.balanced_within && self.window.fill_with_progress()? => {
                        continue;
                    }
                    Err(_) => {
                        self.balanced_within = (self.balanced_within / 2).max(SOUGHT_WITHIN_BYTES);
                        damaged_len
                    }
                },
                ValueExtent::Incomplete if len == VALUE_BYTES_MAX => {
                    let Some(abridged) = self.abridge()? else { return Ok(None) };
                    is_over_limit = abridged.is_empty();
                    self.abridged = abridged;
                    if let ValueExtent::Whole(_, value_quirks) = value_extent(&self.abridged) {
                        quirks = value_quirks;
                    }
                    break 0;
                }
                ValueExtent::Incomplete if self.window.fill_with_progress()? => continue,
                ValueExtent::Incomplete if self.window.is_at_end_of_file() => {
                    self.window.note_cut();
                    self.window.advance(usize::MAX);
                    return Ok(None);
                }
                // The end of an array with unbalanced brackets.
                ValueExtent::Incomplete => len,
            };
            self.resync_byte = Some(first);
            break if damaged_len <= SOUGHT_WITHIN_BYTES { 1 } else { damaged_len };
        };
        self.repaired.clear();
        let repairs = if quirks.needs_check() { self.repair() } else { Repairs::default() };
        let text = if self.repaired.is_empty() { self.source_text() } else { self.repaired.as_bytes() };
        Ok(Some(Element { text, offset, repairs, is_over_limit }))
    }

    /// Returns the bytes of the current element as in the file, or its abridged text.
    #[inline]
    fn source_text(&self) -> &[u8] {
        if self.abridged.is_empty() { &self.window.unread()[..self.current_len] } else { &self.abridged }
    }

    /// Writes the current element as valid JSON into `repaired`, which stays empty if it is valid already.
    fn repair(&mut self) -> Repairs {
        let mut repairs = Repairs::default();
        let Ok(value) = Scanner::new(self.source_text(), 0).value(0) else { return repairs };
        if let Cow::Owned(repaired) = valid_json(&value, &mut repairs) {
            self.repaired = repaired;
        }
        repairs
    }

    /// Advances to the first byte of the next value; `None` at the end of the array.
    #[inline]
    fn first_byte(&mut self) -> Result<Option<u8>, ReadError> {
        loop {
            match (self.peek()?, self.has_begun) {
                // An unmatched closing brace follows damage that is already counted.
                (Some(b'['), false) | (Some(b',' | b'}'), true) => self.window.advance(1),
                (None, _) if self.is_bare => {
                    self.window.note_closed(self.window.offset());
                    return Ok(None);
                }
                (None, _) => {
                    self.window.note_cut();
                    return Ok(None);
                }
                (Some(b']'), true) => {
                    self.window.note_closed(self.window.offset() + 1);
                    return Ok(None);
                }
                (_, false) => return Ok(None),
                (Some(first), true) => return Ok(Some(first)),
            }
            self.has_begun = true;
        }
    }

    /// Reads past an element beyond the limit, and returns a copy of its used members. The copy is empty if it exceeds
    /// the limit too, or if all members are used. Returns `None` at the end of the file.
    fn abridge(&mut self) -> Result<Option<Vec<u8>>, ReadError> {
        let is_object = self.window.unread().first() == Some(&b'{');
        let mut abridger = (is_object && !self.used_keys.is_empty()).then(|| Abridger::new(self.used_keys));
        let mut skip = ValueSkipper::default();
        loop {
            let unread = self.window.unread();
            let end = match &mut abridger {
                Some(abridger) => abridger.advance(unread, VALUE_BYTES_MAX),
                None => skip.advance(unread),
            };
            self.window.advance(end.unwrap_or(unread.len()));
            if end.is_some() {
                return Ok(Some(abridger.map(Abridger::into_copy).unwrap_or_default()));
            }
            if !self.window.fill_with_progress()? {
                self.window.note_cut();
                return Ok((!self.window.is_at_end_of_file()).then(Vec::new));
            }
        }
    }

    /// Peeks at the next byte, and reports the bytes read as progress.
    fn peek(&mut self) -> Result<Option<u8>, ReadError> {
        if self.window.unread().is_empty() {
            self.window.fill_with_progress()?;
        }
        self.window.peek()
    }

    /// Skips to the next byte `first` after a comma.
    fn seek(&mut self, first: u8) -> Result<(), ReadError> {
        let mut is_after_comma = false;
        loop {
            let mut first_at = None;
            for (position, &byte) in self.window.unread().iter().enumerate() {
                if is_after_comma && byte == first {
                    first_at = Some(position);
                    break;
                }
                is_after_comma = byte == b',' || (is_after_comma && byte.is_ascii_whitespace());
            }
            let len = self.window.unread().len();
            self.window.advance(first_at.unwrap_or(len));
            if first_at.is_some() || !self.window.fill_with_progress()? {
                return Ok(());
            }
        }
    }
}

/// Determines the extent of the value at the start of `bytes`.
fn value_extent(bytes: &[u8]) -> ValueExtent {
    if !matches!(bytes.first(), Some(b'{' | b'[' | b'"')) {
        // A number or a literal, which is validated when it is parsed.
        let end = bytes.iter().position(|byte| matches!(byte, b',' | b']' | b'}') || byte.is_ascii_whitespace());
        return end.map_or(ValueExtent::Incomplete, |end| ValueExtent::Whole(end, Quirks::default()));
    }
    let mut scanner = Scanner::new(bytes, 0);
    match scanner.value(0) {
        Ok(value) => ValueExtent::Whole(scanner.pos, value.quirks),
        Err(Broken::Incomplete) => ValueExtent::Incomplete,
        Err(Broken::Malformed(pos)) => ValueExtent::Damaged(pos.max(1)),
        Err(Broken::TooDeep) => ValueExtent::Damaged(scanner.pos.max(1)),
    }
}

/// Finds the end of a damaged value by its strings and brackets alone. Fails at a bracket of another kind. A string
/// without a separator after it fails too, since a missing quote turns what follows into text.
fn balanced_end(bytes: &[u8]) -> Result<usize, Broken> {
    let mut open = Vec::new();
    let mut scanner = Scanner::new(bytes, 0);
    loop {
        let byte = scanner.peek()?;
        match byte {
            b'"' => {
                scanner.value(0)?;
                if !matches!(scanner.peek()?, b',' | b':' | b'}' | b']') {
                    return Err(Broken::Malformed(scanner.pos));
                }
                continue;
            }
            b'{' | b'[' => open.push(byte),
            b'}' | b']' => {
                let opening = if byte == b'}' { b'{' } else { b'[' };
                if open.pop() != Some(opening) {
                    return Err(Broken::Malformed(scanner.pos));
                }
                if open.is_empty() {
                    return Ok(scanner.pos + 1);
                }
            }
            _ => {}
        }
        scanner.pos += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::ReadContext;
    use crate::formats::input::source::Source;
    use crate::formats::json::document::Document;
    use crate::formats::testing::file_of;

    #[test]
    fn damage_in_each_element_costs_less_time_per_element() {
        let damaged = r#"{"a":{"b":1},{"c":2"#;
        let text = format!(r#"[{},{{"k":?}}]"#, vec![damaged; 20].join(","));
        let (file, context) = (file_of(text.as_bytes()), ReadContext::default());
        let source = Source::open(file.path(), &context).expect("a file");
        let document = Document::open(source, &context).expect("a document");
        let (mut elements, mut within) = (document.elements(Some(document.whole())), Vec::new());
        while elements.next().expect("read").is_some() {
            within.push(elements.balanced_within);
        }
        assert_eq!(within[..3], [32 << 10, 16 << 10, 8 << 10]);
        assert_eq!(within[8..within.len() - 1].iter().max(), Some(&SOUGHT_WITHIN_BYTES));
        assert_eq!(within.last(), Some(&BALANCED_WITHIN_BYTES), "after a success");
    }
}
