//! Words, headers and arguments, little endian.

use super::fields::string_ref;

/// The first word of a capture: a metadata record of one word that says which format this is.
pub(super) const MAGIC: u64 = 0x0016_5478_4604_0010;

/// Bytes of a word.
pub(super) const WORD: usize = 8;

/// The words of a record, taken from the front.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words<'a> {
    bytes: &'a [u8],
}

impl<'a> Words<'a> {
    /// Words behind a header.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The next word.
    pub(super) fn word(&mut self) -> Option<u64> {
        let (word, rest) = self.bytes.split_first_chunk::<WORD>()?;
        self.bytes = rest;
        Some(u64::from_le_bytes(*word))
    }

    /// Text of a length in bytes, which is filled up to whole words.
    pub(super) fn text(&mut self, len: usize) -> Option<&'a [u8]> {
        let (words, rest) = self.bytes.split_at_checked(len.next_multiple_of(WORD))?;
        self.bytes = rest;
        Some(&words[..len])
    }

    /// The rest as records of their own, such as arguments.
    pub(super) fn take_words(&mut self, count: usize) -> Option<Self> {
        let (words, rest) = self.bytes.split_at_checked(count.checked_mul(WORD)?)?;
        self.bytes = rest;
        Some(Self { bytes: words })
    }

    /// Whether all words are taken.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// A reference to a text: none, a number, or so many bytes that stand in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextRef {
    Empty,
    Indexed(u16),
    Inline(usize),
}

impl TextRef {
    pub(super) fn from_bits(raw: u64) -> Self {
        match raw as u16 {
            0 => Self::Empty,
            _ if string_ref::IS_INLINE.get(raw) != 0 => Self::Inline(string_ref::LENGTH.get(raw) as usize),
            index => Self::Indexed(index),
        }
    }
}
