//! Sequential reader of binary input: peeks and skips, and tracks the offset. Buffers at most one request and a block.

use super::source::Source;
use crate::formats::ReadError;
use crate::formats::input::lengths::saturating_len;

const READ_BYTES: usize = 256 << 10;

pub(crate) struct ByteReader {
    source: Source,
    buffer: Vec<u8>,
    /// Bytes of the buffer that are consumed.
    start: usize,
    /// Offset of the buffer in the input.
    offset: u64,
    block_bytes: usize,
}

impl ByteReader {
    pub(crate) fn new(source: Source) -> Self {
        let block_bytes = source.block_bytes(READ_BYTES);
        Self { source, buffer: Vec::new(), start: 0, offset: 0, block_bytes }
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Returns the offset of the next byte.
    pub(crate) fn offset(&self) -> u64 {
        self.offset + self.start as u64
    }

    /// Returns whether the next `len` bytes of a live stream have not arrived yet.
    pub(crate) fn would_wait(&self, len: usize) -> bool {
        self.source.is_live() && self.buffer.len() - self.start < len
    }

    /// Returns the next `len` bytes without consuming them; fewer at the end of input.
    pub(crate) fn peek(&mut self, len: usize) -> Result<&[u8], ReadError> {
        if self.buffer.len() - self.start < len {
            self.buffer.drain(..self.start);
            self.offset += self.start as u64;
            self.start = 0;
            let unread = self.buffer.len();
            // Grows with the available bytes, not with the length that a damaged file claims.
            let mut filled = unread;
            while filled < len {
                self.buffer.resize(filled + self.block_bytes, 0);
                let read = self.source.fill(&mut self.buffer[filled..])?;
                filled += read;
                if read == 0 || read < self.block_bytes && !self.source.is_live() {
                    break;
                }
            }
            self.buffer.truncate(filled);
        }
        let end = self.buffer.len().min(self.start + len);
        Ok(&self.buffer[self.start..end])
    }

    /// Returns up to `most` of the next bytes without consuming them. For a live stream, returns the available bytes,
    /// but at least `least` unless it ends.
    pub(crate) fn peek_at_hand(&mut self, least: usize, most: usize) -> Result<&[u8], ReadError> {
        if !self.source.is_live() {
            return self.peek(most);
        }
        self.peek(least)?;
        let end = self.buffer.len().min(self.start + most);
        Ok(&self.buffer[self.start..end])
    }

    /// Consumes the next `len` bytes; returns `None` and consumes nothing if there are fewer.
    pub(crate) fn take_bytes(&mut self, len: usize) -> Result<Option<&[u8]>, ReadError> {
        if self.peek(len)?.len() < len {
            return Ok(None);
        }
        self.start += len;
        Ok(Some(&self.buffer[self.start - len..self.start]))
    }

    /// Skips bytes. Returns whether there were enough.
    pub(crate) fn skip(&mut self, mut len: u64) -> Result<bool, ReadError> {
        loop {
            let step = saturating_len(len).min(self.block_bytes);
            let there = self.peek(step)?.len();
            self.start += there;
            len -= there as u64;
            if len == 0 || there < step {
                return Ok(len == 0);
            }
        }
    }

    /// Returns whether all bytes are consumed.
    pub(crate) fn is_at_end(&mut self) -> Result<bool, ReadError> {
        Ok(self.peek(1)?.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::ReadContext;
    use crate::formats::testing::file_of;

    #[test]
    fn bytes_come_in_order_for_any_request_size() {
        let bytes: Vec<u8> = (0..700_000u32).flat_map(u32::to_le_bytes).collect();
        let file = file_of(&bytes);
        let mut input = ByteReader::new(Source::open(file.path(), &ReadContext::default()).expect("a file"));
        let mut at = 0;
        for len in [1, 3, 300_000, 0, 12, 1_000_000, 5].into_iter().cycle() {
            assert_eq!(input.offset(), at as u64);
            assert_eq!(input.peek(7).expect("read"), &bytes[at..bytes.len().min(at + 7)]);
            if at + len > bytes.len() {
                assert!(input.take_bytes(len).expect("read").is_none());
                break;
            }
            assert_eq!(input.take_bytes(len).expect("read"), Some(&bytes[at..at + len]));
            at += len;
            if len == 12 {
                assert!(input.skip(400_001).expect("read"));
                at += 400_001;
            }
        }
        assert!(!input.skip(10_000_000).expect("read"));
        assert_eq!(input.offset(), bytes.len() as u64);
        assert!(input.is_at_end().expect("read"));
    }
}
