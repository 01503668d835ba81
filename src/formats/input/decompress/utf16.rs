//! Converts UTF-16 text, as Windows consoles write it.

use std::io::{self, BufRead, Read};

use super::read_full;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Endian {
    Little,
    Big,
}

/// Converts UTF-16 to UTF-8. Invalid units become replacement characters.
pub(super) struct Utf16 {
    units: Box<dyn BufRead + Send>,
    endian: Endian,
    /// High surrogate at the end of a block; the next block begins with the other half.
    carry: Option<u16>,
    text: Vec<u8>,
    read: usize,
    block_bytes: usize,
    ended: bool,
}

impl Utf16 {
    pub(super) fn new(units: Box<dyn BufRead + Send>, endian: Endian, block_bytes: usize) -> Self {
        // Whole units.
        let block_bytes = block_bytes.next_multiple_of(2);
        Self { units, endian, carry: None, text: Vec::new(), read: 0, block_bytes, ended: false }
    }

    fn decode_block(&mut self) -> io::Result<()> {
        let mut bytes = vec![0; self.block_bytes];
        let len = read_full(&mut self.units, &mut bytes)?;
        self.ended = len < self.block_bytes;
        let unit = |pair: &[u8]| match (self.endian, pair) {
            (Endian::Little, &[low, high]) | (Endian::Big, &[high, low]) => u16::from_be_bytes([high, low]),
            // Half a unit at the end.
            _ => char::REPLACEMENT_CHARACTER as u16,
        };
        let mut units: Vec<u16> = self.carry.take().into_iter().chain(bytes[..len].chunks(2).map(unit)).collect();
        if !self.ended && units.last().is_some_and(|last| (0xd800..0xdc00).contains(last)) {
            self.carry = units.pop();
        }
        let characters = char::decode_utf16(units).map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER));
        self.text = characters.collect::<String>().into_bytes();
        self.read = 0;
        Ok(())
    }
}

impl Read for Utf16 {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A block may be half a character, which yields no text yet.
        while self.read == self.text.len() && !self.ended {
            self.decode_block()?;
        }
        let len = (self.text.len() - self.read).min(buffer.len());
        buffer[..len].copy_from_slice(&self.text[self.read..self.read + len]);
        self.read += len;
        Ok(len)
    }
}
