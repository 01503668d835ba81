//! Decodes base64, in the standard and the URL-safe alphabet.

use std::io::{self, Read};

/// The sign after the last digit.
const PADDING: u8 = b'=';

/// Returns the six bits of a digit.
fn digit_value(digit: u8) -> Option<u8> {
    Some(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

/// Decodes a text. Fails at a byte that is neither a digit nor a space.
pub(crate) struct Base64Reader<R> {
    text: R,
    /// Bits that are not a whole byte yet, and their number.
    bits: u32,
    bit_count: u32,
    /// Whether the sign at the end was read, after which no digit follows.
    has_ended: bool,
}

impl<R: Read> Base64Reader<R> {
    pub(crate) fn new(text: R) -> Self {
        Self { text, bits: 0, bit_count: 0, has_ended: false }
    }
}

impl<R: Read> Read for Base64Reader<R> {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        let mut decoded = 0;
        // A digit has less than a byte, so as many digits as there is room never overflow it.
        while decoded == 0 && !block.is_empty() {
            let read = self.text.read(block)?;
            if read == 0 {
                break;
            }
            for at in 0..read {
                let Some(value) = digit_value(block[at]) else {
                    match block[at] {
                        PADDING => self.has_ended = true,
                        space if space.is_ascii_whitespace() => {}
                        _ => return Err(io::ErrorKind::InvalidData.into()),
                    }
                    continue;
                };
                if self.has_ended {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                self.bits = self.bits << 6 | u32::from(value);
                self.bit_count += 6;
                if self.bit_count >= 8 {
                    self.bit_count -= 8;
                    block[decoded] = (self.bits >> self.bit_count) as u8;
                    decoded += 1;
                }
            }
        }
        Ok(decoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::Pieces;

    #[test]
    fn base64_is_decoded_in_pieces_and_other_characters_are_damage() {
        let decode = |text: &str, piece_bytes| {
            let mut bytes = Vec::new();
            Base64Reader::new(Pieces::new(text, &[piece_bytes])).read_to_end(&mut bytes).map(|_| bytes)
        };
        for piece_bytes in 1..12 {
            for (text, expected) in [("", ""), ("YQ==", "a"), ("YW I=\n", "ab"), ("\nYWJj\nZGVm", "abcdef")] {
                assert_eq!(decode(text, piece_bytes).expect("base64"), expected.as_bytes());
            }
            for text in ["+/8A", "-_8A"] {
                assert_eq!(decode(text, piece_bytes).expect("base64"), [0xfb, 0xff, 0]);
            }
            assert!(decode("YW!j", piece_bytes).is_err() && decode("YQ==YQ==", piece_bytes).is_err());
        }
    }
}
