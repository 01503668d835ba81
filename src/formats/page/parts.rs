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

/// The begin of the text in an old page, which is a string in a script. Its first line is empty; the viewer in a page
/// of today has a pattern for it without a line break.
const OLD_TEXT: [&[u8]; 2] = [b"linuxPerfData = \"\\\n", b"linuxPerfData = \"\\\r\n"];

/// Limit for the length of a tag, and number of bytes that tell the kind of a part.
const TAG_BYTES_MAX: usize = 1024;
const KIND_BYTES: usize = 512;

const BLOCK_BYTES: usize = 64 << 10;

/// The first digits of compressed data in base64.
const GZIP_DIGITS: &[u8] = b"H4sI";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PagePartKind {
    Text,
    Json,
    /// Compressed data in base64.
    Base64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PagePart {
    /// Offset of its content in the page.
    pub(super) offset: u64,
    pub(super) kind: PagePartKind,
}

impl PagePart {
    /// Converts an offset in the content to the page. If the content was compressed, returns the start of the part.
    pub(super) fn offset_in_page(self, offset: u64) -> u64 {
        match self.kind {
            PagePartKind::Text | PagePartKind::Json => self.offset.saturating_add(offset),
            PagePartKind::Base64 => self.offset,
        }
    }
}

/// A page, and the position in it.
pub(super) struct PageParts<R> {
    page: R,
    buffer: Vec<u8>,
    start: usize,
    /// Offset of the buffer in the page.
    offset: u64,
    has_ended: bool,
    has_old_text: bool,
}

impl<R: Read> PageParts<R> {
    pub(super) fn new(page: R) -> Self {
        Self { page, buffer: Vec::new(), start: 0, offset: 0, has_ended: false, has_old_text: false }
    }

    /// Returns whether text of an old page was found before the position, outside of the parts.
    pub(super) fn has_old_text(&self) -> bool {
        self.has_old_text
    }

    /// Moves to the content of the next part. An I/O error has the offset of the failed read.
    pub(super) fn next(&mut self, cancel: &Cancel, path: &Path) -> Result<Option<PagePart>, ReadError> {
        loop {
            cancel.check()?;
            match self.step() {
                Ok(Some(part)) => return Ok(Some(part)),
                Ok(None) if self.has_ended && self.rest().is_empty() => return Ok(None),
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
        let tag = memchr::memmem::find(self.rest(), BEGIN);
        let before = &self.rest()[..tag.unwrap_or(self.rest().len())];
        let has_old_text = OLD_TEXT.iter().any(|text| memchr::memmem::find(before, text).is_some());
        self.has_old_text |= has_old_text;
        let Some(tag) = tag else {
            // The tag or the text may begin at the end.
            let kept_bytes = if self.has_ended { 0 } else { BEGIN.len().max(OLD_TEXT[1].len()) - 1 };
            self.start += self.rest().len().saturating_sub(kept_bytes);
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
            PagePartKind::Base64
        } else if looks_like_json(content) {
            PagePartKind::Json
        } else {
            PagePartKind::Text
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

/// Distance of line breaks in place of a part: few lines, each below the limit of the reader of text.
const BLANK_LINE_BYTES: usize = 4 << 10;

/// A page with spaces and line breaks in place of some parts, so that offsets stay.
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
            fill_with_blank_lines(&mut block[from..to], start + from as u64, part);
            if part.end > end {
                break;
            }
            self.parts = &self.parts[1..];
        }
        Ok(len)
    }
}

/// Fills `piece` with spaces, with line breaks at regular offsets and around `part`. `offset` is the position of the
/// piece in the page.
fn fill_with_blank_lines(piece: &mut [u8], offset: u64, part: &Range<u64>) {
    piece.fill(b' ');
    let position = |at: u64| at.checked_sub(offset).and_then(|at| usize::try_from(at).ok());
    let breaks = position(offset.next_multiple_of(BLANK_LINE_BYTES as u64)).unwrap_or(0);
    let regular = (breaks..piece.len()).step_by(BLANK_LINE_BYTES);
    let borders = [Some(part.start), part.end.checked_sub(1)].into_iter().flatten().filter_map(position);
    for at in regular.chain(borders) {
        if let Some(byte) = piece.get_mut(at) {
            *byte = b'\n';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::Pieces;

    #[test]
    fn parts_are_found_at_any_boundary_with_their_kinds_and_contents() {
        let page = "<html><script>var x = '<';</script><script class=\"trace-data\" type=\"application/text\">\n# tracer: </scrip\n\
             </script><script \n id=\"viewer-data\" type=\"application/json\">\n{\"a\":1}</script >< script><scr <script id=\"viewer-data\">\nH4sIAA=\n";
        for piece_bytes in 1..page.len() {
            let mut parts = PageParts::new(Pieces::new(page, &[piece_bytes]));
            let mut found = Vec::new();
            while let Some(part) = parts.next(&Cancel::default(), "p".as_ref()).expect("readable") {
                let mut content = String::new();
                parts.content().read_to_string(&mut content).expect("readable");
                assert_eq!(page[usize::try_from(part.offset).expect("small")..][..content.len()], content);
                found.push((part.kind, content));
            }
            let expected = [
                (PagePartKind::Text, "\n# tracer: </scrip\n"),
                (PagePartKind::Json, "\n{\"a\":1}"),
                (PagePartKind::Base64, "\nH4sIAA=\n"),
            ];
            assert_eq!(found, expected.map(|(kind, text)| (kind, text.to_owned())), "{piece_bytes}");
        }
    }

    #[test]
    fn text_of_an_old_page_is_found_at_any_boundary_outside_of_other_parts() {
        let has_old_text = |page: &str, piece_bytes| {
            let mut parts = PageParts::new(Pieces::new(page, &[piece_bytes]));
            while parts.next(&Cancel::default(), "p".as_ref()).expect("readable").is_some() {
                io::copy(&mut parts.content(), &mut io::sink()).expect("readable");
            }
            parts.has_old_text()
        };
        let text = "var linuxPerfData = \"\\\n\";";
        let part = |text: &str| format!("<script class=\"trace-data\">{{{text}}}</script>");
        for piece_bytes in 1..40 {
            for (page, expected) in [
                (format!("<script>{text}</script>{}", part("")), true),
                (format!("{}{}<script>{text}", part(""), "x".repeat(1100)), true),
                (part(text), false),
                ("linuxPerfData = ".to_owned(), false),
                (text.replace('\n', "\r\n"), true),
                (r#"if (/^  var linuxPerfData = "\\$/.exec(line))"#.to_owned(), false),
            ] {
                assert_eq!(has_old_text(&page, piece_bytes), expected, "{page} in pieces of {piece_bytes}");
            }
        }
    }

    #[test]
    fn the_rest_of_a_page_keeps_its_offsets() {
        for piece_bytes in 1..12 {
            let mut text = String::new();
            let files = [2..4, 4..4, 7..11];
            WithoutParts::new(Pieces::new(*b"ab12cde3456f", &[piece_bytes]), &files)
                .read_to_string(&mut text)
                .expect("text");
            assert_eq!(text, "ab\n\ncde\n  \nf");
        }
    }

    #[test]
    fn a_part_left_out_of_a_page_costs_few_lines_none_of_which_is_long() {
        let (page, part) = (vec![b'x'; 100_000], 10..90_000);
        for piece_bytes in [1, 7000, 100_000] {
            let mut text = Vec::new();
            WithoutParts::new(Pieces::new(&*page, &[piece_bytes]), std::slice::from_ref(&part))
                .read_to_end(&mut text)
                .expect("text");
            assert_eq!(text.len(), page.len());
            let lens: Vec<usize> = text.split(|&byte| byte == b'\n').map(<[u8]>::len).collect();
            assert_eq!((lens.len(), lens[0], lens.last()), (24, 10, Some(&10_000)));
            assert!(lens[..23].iter().all(|&len| len < 4096), "{lens:?}");
        }
    }
}
