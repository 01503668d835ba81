//! Reads the little-endian words and padded texts of a record, and decodes string references.

use super::fields::string_ref;

/// First word of a trace: a metadata record of one word that identifies the format.
pub(super) const MAGIC: u64 = 0x0016_5478_4604_0010;

pub(super) const WORD_BYTES: usize = 8;

/// Reads the words of a record in sequence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words<'a> {
    bytes: &'a [u8],
}

impl<'a> Words<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(super) fn word(&mut self) -> Option<u64> {
        let (word, rest) = self.bytes.split_first_chunk::<WORD_BYTES>()?;
        self.bytes = rest;
        Some(u64::from_le_bytes(*word))
    }

    /// Reads text of `len` bytes, padded to whole words.
    pub(super) fn text(&mut self, len: usize) -> Option<&'a [u8]> {
        let (words, rest) = self.bytes.split_at_checked(len.next_multiple_of(WORD_BYTES))?;
        self.bytes = rest;
        Some(&words[..len])
    }

    /// Splits off the next `count` words, for a nested record such as an argument.
    pub(super) fn take_words(&mut self, count: usize) -> Option<Self> {
        let (words, rest) = self.bytes.split_at_checked(count.checked_mul(WORD_BYTES)?)?;
        self.bytes = rest;
        Some(Self { bytes: words })
    }

    pub(super) fn skip_rest(&mut self) {
        self.bytes = &[];
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// A reference to a text: empty, an index into the string table, or the length of a text inline in the record.
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
