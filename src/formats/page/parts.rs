//! Finds the parts of a page: the contents of its scripts whose tags say that they are data. Reads the page once, in
//! blocks, since a part may be one line of any length.

use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use crate::base::cancel::Cancel;
use crate::formats::ReadError;
use crate::formats::json::sniff::looks_like_json;

const BEGIN: &[u8] = b"<script";
const END: &[u8] = b"</script";

/// Names in the tags of data, of systrace and of trace2html.
const DATA: [&[u8]; 2] = [b"trace-data", b"viewer-data"];

/// Limit for the length of a tag, and number of bytes that tell the kind of a part.
const TAG_BYTES_MAX: usize = 1024;
const KIND_BYTES: usize = 512;

const BLOCK_BYTES: usize = 64 << 10;

/// The first digits of compressed data in base64.
const GZIP_DIGITS: &[u8] = b"H4sI";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    Text,
    Json,
    /// Compressed data in base64.
    Base64,
}

/// A part of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PagePart {
    /// Offset of its content in the page.
    pub(super) offset: u64,
    pub(super) kind: PartKind,
}

/// A page, and the position in it.
pub(super) struct PageParts<R> {
    page: R,
    buffer: Vec<u8>,
    start: usize,
    /// Offset of the buffer in the page.
    offset: u64,
    has_ended: bool,
}

impl<R: Read> PageParts<R> {
    pub(super) fn new(page: R) -> Self {
        Self { page, buffer: Vec::new(), start: 0, offset: 0, has_ended: false }
    }

    /// Moves to the content of the next part. An I/O error has the offset of the failed read.
    pub(super) fn next(&mut self, cancel: &Cancel, path: &Path) -> Result<Option<PagePart>, ReadError> {
        loop {
            cancel.check()?;
            match self.step() {
                Ok(Some(part)) => return Ok(Some(part)),
                Ok(None) if self.has_ended && self.rest().len() < BEGIN.len() => return Ok(None),
                Ok(None) => {}
                Err(source) => {
                    let offset = self.offset + self.buffer.len() as u64;
                    return Err(ReadError::Io { path: path.to_owned(), offset, source });
                }
            }
        }
    }

    /// Moves past one tag or one block. Returns a part that begins there.
    fn step(&mut self) -> io::Result<Option<PagePart>> {
        self.need(TAG_BYTES_MAX)?;
        let Some(tag) = memchr::memmem::find(self.rest(), BEGIN) else {
            // The tag may begin at the end.
            self.start += self.rest().len().saturating_sub(BEGIN.len() - 1);
            return Ok(None);
        };
        self.start += tag;
        self.need(TAG_BYTES_MAX)?;
        let tag = &self.rest()[..self.rest().len().min(TAG_BYTES_MAX)];
        let Some(close) = memchr::memchr(b'>', tag) else {
            self.start += BEGIN.len();
            return Ok(None);
        };
        let is_data = DATA.iter().any(|name| memchr::memmem::find(&tag[..close], name).is_some());
        self.start += close + 1;
        if !is_data {
            return Ok(None);
        }
        self.need(KIND_BYTES)?;
        let content = self.rest().trim_ascii_start();
        let kind = if content.starts_with(GZIP_DIGITS) {
            PartKind::Base64
        } else if looks_like_json(content) {
            PartKind::Json
        } else {
            PartKind::Text
        };
        Ok(Some(PagePart { offset: self.offset + self.start as u64, kind }))
    }

    /// Returns the content of the part at the position.
    pub(super) fn content(&mut self) -> PartContent<'_, R> {
        PartContent(self)
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Reads on until there are this many bytes, or the page ends.
    fn need(&mut self, len: usize) -> io::Result<()> {
        while self.rest().len() < len && !self.has_ended {
            self.buffer.drain(..self.start);
            self.offset += self.start as u64;
            self.start = 0;
            let known = self.buffer.len();
            self.buffer.resize(known + BLOCK_BYTES, 0);
            let read = self.page.read(&mut self.buffer[known..]);
            self.buffer.truncate(known + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(read) => self.has_ended = read == 0,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The content of a part, up to the tag at its end.
pub(super) struct PartContent<'a, R>(&'a mut PageParts<R>);

impl<R: Read> Read for PartContent<'_, R> {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        let Self(page) = self;
        page.need(END.len())?;
        let rest = page.rest();
        let content = match memchr::memmem::find(rest, END) {
            Some(end) => &rest[..end],
            None if page.has_ended => rest,
            // The tag may begin at the end.
            None => &rest[..rest.len() - (END.len() - 1)],
        };
        let len = content.len().min(block.len());
        block[..len].copy_from_slice(&content[..len]);
        page.start += len;
        Ok(len)
    }
}

/// A page with line breaks in place of some parts, so that offsets stay.
pub(super) struct WithoutParts<'a, R> {
    page: R,
    /// The parts that do not end before the position.
    parts: &'a [Range<u64>],
    offset: u64,
}

impl<'a, R: Read> WithoutParts<'a, R> {
    /// `parts` are in order and do not overlap.
    pub(super) fn new(page: R, parts: &'a [Range<u64>]) -> Self {
        Self { page, parts, offset: 0 }
    }
}

impl<R: Read> Read for WithoutParts<'_, R> {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        let len = self.page.read(block)?;
        let (start, end) = (self.offset, self.offset + len as u64);
        self.offset = end;
        while let Some(part) = self.parts.first().filter(|part| part.start < end) {
            let [from, to] = [part.start, part.end].map(|at| (at.clamp(start, end) - start) as usize);
            block[from..to].fill(b'\n');
            if part.end > end {
                break;
            }
            self.parts = &self.parts[1..];
        }
        Ok(len)
    }
}

/// Decodes base64. Fails at a byte that is no digit of it.
pub(super) struct Base64Reader<R> {
    text: R,
    /// Bits that are not a whole byte yet, and their number.
    bits: u32,
    bit_count: u32,
    /// Whether the sign at the end was read, after which no digit follows.
    has_ended: bool,
}

impl<R: Read> Base64Reader<R> {
    pub(super) fn new(text: R) -> Self {
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
                let Some(value) = base64_value(block[at]) else {
                    match block[at] {
                        b'=' => self.has_ended = true,
                        space if space.is_ascii_whitespace() => {}
                        _ => return Err(io::ErrorKind::InvalidData.into()),
                    }
                    continue;
                };
                if self.has_ended {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                self.bits = self.bits << 6 | value;
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

/// Returns the six bits of a digit of base64.
fn base64_value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page that comes in pieces of a few bytes.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
            let len = self.1.min(block.len());
            self.0.read(&mut block[..len])
        }
    }

    #[test]
    fn parts_are_found_at_any_boundary_with_their_kinds_and_contents() {
        let page = "<html><script>var x = '<';</script><script class=\"trace-data\" type=\"application/text\">\n# tracer: </scrip\n\
             </script><script \n id=\"viewer-data\" type=\"application/json\">\n{\"a\":1}</script >< script><scr <script id=\"viewer-data\">\nH4sIAA=\n";
        for piece_bytes in 1..page.len() {
            let mut parts = PageParts::new(Pieces(page.as_bytes(), piece_bytes));
            let mut found = Vec::new();
            while let Some(part) = parts.next(&Cancel::default(), "p".as_ref()).expect("readable") {
                let mut content = String::new();
                parts.content().read_to_string(&mut content).expect("readable");
                assert_eq!(page[usize::try_from(part.offset).expect("small")..][..content.len()], content);
                found.push((part.kind, content));
            }
            let expected = [
                (PartKind::Text, "\n# tracer: </scrip\n"),
                (PartKind::Json, "\n{\"a\":1}"),
                (PartKind::Base64, "\nH4sIAA=\n"),
            ];
            assert_eq!(found, expected.map(|(kind, text)| (kind, text.to_owned())), "{piece_bytes}");
        }
    }

    #[test]
    fn the_rest_of_a_page_keeps_its_offsets() {
        for piece_bytes in 1..12 {
            let mut text = String::new();
            let files = [2..4, 4..4, 7..11];
            WithoutParts::new(Pieces(b"ab12cde3456f", piece_bytes), &files).read_to_string(&mut text).expect("text");
            assert_eq!(text, "ab\n\ncde\n\n\n\nf");
        }
    }

    #[test]
    fn base64_is_decoded_in_pieces_and_other_characters_are_damage() {
        let decode = |text: &str, piece_bytes| {
            let mut bytes = Vec::new();
            Base64Reader::new(Pieces(text.as_bytes(), piece_bytes)).read_to_end(&mut bytes).map(|_| bytes)
        };
        for piece_bytes in 1..12 {
            for (text, expected) in [("", ""), ("YQ==", "a"), ("YW I=\n", "ab"), ("\nYWJj\nZGVm", "abcdef")] {
                assert_eq!(decode(text, piece_bytes).expect("base64"), expected.as_bytes());
            }
            assert_eq!(decode("+/8A", piece_bytes).expect("base64"), [0xfb, 0xff, 0]);
            assert!(decode("YW!j", piece_bytes).is_err() && decode("YQ==YQ==", piece_bytes).is_err());
        }
    }
}
