//! Words and numbers of text lines, whose bytes may not be UTF-8. Times are not parsed here, but by [`super::decimal`],
//! which never rounds.

use std::str::FromStr;

/// Parses a number. Returns `None` for anything else, including spaces around it.
pub(crate) fn parsed<T: FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Splits a text at its first space. Returns the word before it, and the text from the next word on.
pub(crate) fn split_word(text: &[u8]) -> (&[u8], &[u8]) {
    let (word, rest) = text.split_at(memchr::memchr(b' ', text).unwrap_or(text.len()));
    (word, rest.trim_ascii_start())
}
