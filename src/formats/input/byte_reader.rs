//! Binary captures from front to back: bytes on request, with their offset. Buffers at most one request and a block.

use super::source::Source;
use crate::formats::ReadError;
use crate::formats::input::lengths::saturating_len;

/// Bytes that one read asks for.
const BLOCK_BYTES: usize = 256 << 10;

/// The bytes of a source.
pub(crate) struct ByteReader {
    source: Source,
    buffer: Vec<u8>,
    /// Bytes of the buffer that the caller has read.
    start: usize,
    /// The offset of the buffer in the capture.
    offset: u64,
    block_bytes: usize,
}

impl ByteReader {
    pub(crate) fn new(source: Source) -> Self {
        let block_bytes = source.block_bytes(BLOCK_BYTES);
        Self { source, buffer: Vec::new(), start: 0, offset: 0, block_bytes }
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// The offset of the next byte in the capture.
    pub(crate) fn offset(&self) -> u64 {
        self.offset + self.start as u64
    }

    /// Whether the next `len` bytes of a live stream have not come yet.
    pub(crate) fn would_wait(&self, len: usize) -> bool {
        self.source.is_live() && self.buffer.len() - self.start < len
    }

    /// The next `len` bytes, which stay unread; fewer at the end of the capture.
    pub(crate) fn peek(&mut self, len: usize) -> Result<&[u8], ReadError> {
        if self.buffer.len() - self.start < len {
            self.buffer.drain(..self.start);
            self.offset += self.start as u64;
            self.start = 0;
            let unread = self.buffer.len();
            // Grows with what there is rather than with what a damaged length claims.
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

    /// The next bytes, at most `most`, which stay unread. Of a live stream those that are at hand, and not fewer
    /// than `least` before its end.
    pub(crate) fn peek_at_hand(&mut self, least: usize, most: usize) -> Result<&[u8], ReadError> {
        if !self.source.is_live() {
            return self.peek(most);
        }
        self.peek(least)?;
        let end = self.buffer.len().min(self.start + most);
        Ok(&self.buffer[self.start..end])
    }

    /// Reads the next `len` bytes; `None`, with nothing read, if there are fewer.
    pub(crate) fn take_bytes(&mut self, len: usize) -> Result<Option<&[u8]>, ReadError> {
        if self.peek(len)?.len() < len {
            return Ok(None);
        }
        self.start += len;
        Ok(Some(&self.buffer[self.start - len..self.start]))
    }

    /// Steps over bytes. Whether there were so many.
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

    /// Whether all bytes are read.
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
    fn bytes_come_in_order_whatever_is_asked_for_at_once() {
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
