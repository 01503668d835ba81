//! A sliding window over a document's file. Buffers the unread rest of its blocks.

use super::skim::ResyncingSkipper;
use super::{Document, JsonExtent};
use crate::base::files::read_at;
use crate::formats::ReadError;
use crate::formats::input::lengths::saturating_len;

pub(super) struct Window<'d> {
    document: &'d Document,
    bytes: Vec<u8>,
    /// Number of consumed bytes in the buffer.
    taken: usize,
    /// File offset of the buffer.
    offset: u64,
    end: u64,
}

impl<'d> Window<'d> {
    pub(super) fn new(document: &'d Document, extent: JsonExtent) -> Self {
        Self { document, bytes: Vec::new(), taken: 0, offset: extent.start, end: extent.end }
    }

    /// Returns the buffered bytes that are not consumed.
    pub(super) fn unread(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    /// Returns the file offset of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.offset + self.taken as u64
    }

    /// Consumes `len` bytes, or all that are buffered if there are fewer.
    pub(super) fn advance(&mut self, len: usize) {
        self.taken = self.taken.saturating_add(len).min(self.bytes.len());
    }

    /// Returns whether the buffer reaches the end of the file.
    pub(super) fn is_at_end_of_file(&self) -> bool {
        self.offset + self.bytes.len() as u64 >= self.document.len
    }

    /// Reads at least as many bytes as are unread, doubling the buffer. Returns whether there were more.
    pub(super) fn fill(&mut self) -> Result<bool, ReadError> {
        self.document.context.cancel.check()?;
        self.bytes.drain(..self.taken);
        self.offset += self.taken as u64;
        self.taken = 0;
        let filled_before = self.bytes.len();
        let from = self.offset + filled_before as u64;
        let left = saturating_len(self.end.saturating_sub(from));
        let wanted = self.document.block_bytes.max(filled_before).min(left);
        self.bytes.resize(filled_before + wanted, 0);
        let mut filled = filled_before;
        while filled < self.bytes.len() {
            match read_at(&self.document.file, &mut self.bytes[filled..], self.offset + filled as u64) {
                // The file was truncated meanwhile.
                Ok(0) => break,
                Ok(len) => filled += len,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(source) => {
                    let path = self.document.path.clone();
                    return Err(ReadError::Io { path, offset: self.offset + filled as u64, source });
                }
            }
        }
        self.bytes.truncate(filled);
        Ok(filled > filled_before)
    }

    /// Like [`Self::fill`], for the last pass: counts the bytes as progress.
    pub(super) fn fill_with_progress(&mut self) -> Result<bool, ReadError> {
        let before = self.unread().len();
        let has_more = self.fill()?;
        if self.document.is_plain {
            let read = (self.unread().len() - before) as u64;
            self.document.context.progress.add_bytes(read);
            self.document.context.progress.advance(read);
        }
        Ok(has_more)
    }

    /// Returns the next byte that is not white space, without consuming it.
    pub(super) fn peek(&mut self) -> Result<Option<u8>, ReadError> {
        loop {
            let blank = self.unread().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            self.advance(blank);
            if let Some(&byte) = self.unread().first() {
                return Ok(Some(byte));
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// Skips to the next key and past its colon. Returns the raw key; keys that readers look up have no escapes.
    pub(super) fn key(&mut self, len_max: usize) -> Result<Option<Vec<u8>>, ReadError> {
        // A complete object has its closing brace after the last member.
        let mut closed_at = None;
        loop {
            let unread = self.unread();
            let Some(mark_at) = memchr::memchr2(b'"', b'}', unread) else {
                self.advance(unread.len());
                if self.fill()? {
                    continue;
                }
                break;
            };
            let is_brace = unread[mark_at] == b'}';
            self.advance(mark_at + 1);
            if is_brace {
                closed_at = closed_at.or(Some(self.offset()));
                if !self.is_stray_brace()? {
                    break;
                }
            } else if let Some(key) = self.rest_of_key(len_max)? {
                return Ok(Some(key));
            }
        }
        match closed_at {
            Some(end) => self.note_closed(end),
            None => self.note_cut(),
        }
        Ok(None)
    }

    /// Returns whether the closing brace before this position is damage: members or more brackets follow it. A value
    /// after it is another document.
    fn is_stray_brace(&mut self) -> Result<bool, ReadError> {
        let mut next = self.peek()?;
        if next == Some(b',') {
            self.advance(1);
            next = self.peek()?;
        }
        Ok(matches!(next, Some(b'"' | b'}' | b']')))
    }

    /// Parses the rest of a key; returns `None` without consuming anything if it is not a key.
    fn rest_of_key(&mut self, len_max: usize) -> Result<Option<Vec<u8>>, ReadError> {
        let mut searched = 0;
        let len = loop {
            let unread = self.unread();
            if let Some(distance) = memchr::memchr(b'"', &unread[searched..]) {
                let quote = searched + distance;
                let is_escaped = unread[..quote].iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 1;
                if !is_escaped {
                    break quote;
                }
                searched = quote + 1;
            } else {
                searched = unread.len();
            }
            // Text with many escaped quotes is not a key. Without this limit, each of its quotes would be searched to
            // its end.
            if searched > len_max {
                return Ok(None);
            }
            if searched == self.unread().len() && !self.fill()? {
                return Ok(None);
            }
        };
        let mut colon = len + 1;
        while colon <= 2 * len_max {
            match self.unread().get(colon).copied() {
                Some(b' ' | b'\t' | b'\r' | b'\n') => colon += 1,
                Some(b':') if len <= len_max => {
                    let key = self.unread()[..len].to_vec();
                    self.advance(colon + 1);
                    return Ok(Some(key));
                }
                None if self.fill()? => {}
                _ => break,
            }
        }
        Ok(None)
    }

    /// Skips a value and returns its extent.
    pub(super) fn skim(&mut self) -> Result<JsonExtent, ReadError> {
        self.peek()?;
        let start = self.offset();
        let mut skim = ResyncingSkipper::default();
        loop {
            let len = self.unread().len();
            match skim.skip(self.unread()) {
                Some(len) => {
                    self.advance(len);
                    return Ok(JsonExtent { start, end: self.offset() });
                }
                None => self.advance(len),
            }
            if !self.fill()? {
                self.note_cut();
                return Ok(JsonExtent { start, end: self.offset() });
            }
        }
    }

    /// Records the end of the outermost value. No other value extends to the end of the file.
    pub(super) fn note_closed(&self, end: u64) {
        if self.end == self.document.len {
            self.document.ends_at.set(Some(end));
        }
    }

    /// Records that a value is cut off by the end of the file.
    pub(super) fn note_cut(&self) {
        if self.is_at_end_of_file() {
            self.document.is_cut.set(true);
        }
    }
}
