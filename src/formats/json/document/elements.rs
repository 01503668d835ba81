//! Iterates over the values of an array as texts to be parsed. A damaged value extends to its first error, and the next
//! one starts where a value of the same kind may.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::VALUE_BYTES_MAX;
use super::window::Window;
use crate::formats::ReadError;
use crate::model::{Loss, Losses, SourcePos};

/// Damage within this distance of an element's start restarts the search right after that start, since a missing quote
/// turns what follows into text. Later damage restarts it after the damage, so that nested elements are not parsed once
/// per level.
const SOUGHT_WITHIN_BYTES: usize = 1 << 10;

/// Iterator over the values of an array.
pub(crate) struct Elements<'d> {
    window: Window<'d>,
    has_begun: bool,
    /// Length of the current element, which is still at the front of the window.
    lent: usize,
    /// First byte of elements to search for after damage.
    sought: Option<u8>,
}

/// A value of an array.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element<'a> {
    /// Its text: JSON unless it is damaged.
    pub(crate) text: &'a [u8],
    pub(crate) offset: u64,
}

impl<'a> Element<'a> {
    /// Parses the value; returns `None` and counts a loss for another type.
    pub(crate) fn parse<T: Deserialize<'a>>(&self, losses: &mut Losses) -> Option<T> {
        let parsed = serde_json::from_slice(self.text).ok();
        losses.add_many(Loss::BadRecord, SourcePos::Offset(self.offset), u64::from(parsed.is_none()));
        parsed
    }
}

/// The extent of an element within the bytes read so far.
enum Reach {
    Whole(usize),
    /// It continues after these bytes.
    Further,
    /// It is damaged after this many bytes.
    Damaged(usize),
}

impl<'d> Elements<'d> {
    pub(super) fn new(window: Window<'d>) -> Self {
        Self { window, has_begun: false, lent: 0, sought: None }
    }

    /// Returns the next value of the array.
    pub(crate) fn next(&mut self) -> Result<Option<Element<'_>>, ReadError> {
        self.window.advance(std::mem::take(&mut self.lent));
        if let Some(first) = self.sought.take() {
            self.seek(first)?;
        }
        let first = loop {
            match (self.peek()?, self.has_begun) {
                // An unmatched closing brace follows damage that is already counted.
                (Some(b'['), false) | (Some(b',' | b'}'), true) => self.window.advance(1),
                (None, _) => {
                    self.window.note_end(false);
                    return Ok(None);
                }
                (Some(b']'), true) => {
                    self.window.note_closed(self.window.offset() + 1);
                    return Ok(None);
                }
                (_, false) => return Ok(None),
                (Some(first), true) => break first,
            }
            self.has_begun = true;
        };
        let offset = self.window.offset();
        self.lent = loop {
            let unread = self.window.unread();
            let len = unread.len().min(VALUE_BYTES_MAX);
            let damaged_len = match reach(&unread[..len]) {
                Reach::Whole(len) => break len,
                Reach::Damaged(len) => len,
                Reach::Further if len == VALUE_BYTES_MAX => len,
                Reach::Further if self.window.fill_with_progress()? => continue,
                Reach::Further if self.window.is_at_end_of_file() => {
                    self.window.note_end(false);
                    self.window.advance(usize::MAX);
                    return Ok(None);
                }
                // The end of an array with unbalanced brackets.
                Reach::Further => len,
            };
            self.sought = Some(first);
            break if damaged_len <= SOUGHT_WITHIN_BYTES { 1 } else { damaged_len };
        };
        Ok(Some(Element { text: &self.window.unread()[..self.lent], offset }))
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
fn reach(bytes: &[u8]) -> Reach {
    if !matches!(bytes.first(), Some(b'{' | b'[' | b'"')) {
        // A number or a literal, which is validated when it is parsed.
        let end = bytes.iter().position(|byte| matches!(byte, b',' | b']' | b'}') || byte.is_ascii_whitespace());
        return end.map_or(Reach::Further, Reach::Whole);
    }
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => Reach::Whole(values.byte_offset()),
        // A truncated number is also reported as an error.
        Some(Err(error)) if !error.is_eof() && error_offset(bytes, &error) + 1 < bytes.len() => {
            Reach::Damaged(error_offset(bytes, &error).max(1))
        }
        _ => Reach::Further,
    }
}

/// Returns the byte position of an error.
fn error_offset(bytes: &[u8], error: &serde_json::Error) -> usize {
    let lines = bytes.split_inclusive(|&byte| byte == b'\n').take(error.line().saturating_sub(1));
    let before = lines.map(<[u8]>::len).sum::<usize>();
    // Columns start at 1 and refer to the invalid byte.
    (before + error.column().saturating_sub(1)).min(bytes.len())
}
