//! Text formats with one record per line. Iterates over lines with bounded memory, and drives their parsers. A line
//! that is too long is counted and skipped.

use super::source::{Source, without_mark};
use crate::base::budget::Budget;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::{Loss, SourcePos};

/// Default limit for lines; longer ones contain no event.
const LINE_BYTES_MAX: usize = 1 << 20;

const READ_BYTES: usize = 256 << 10;

/// Lines between checks for cancellation.
const LINES_PER_CHECK: u64 = 4096;

/// A line without its terminator, `\n` or `\r\n`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextLine<'a> {
    pub(crate) bytes: &'a [u8],
    /// Offset of the line in the input.
    pub(crate) offset: u64,
    /// Whether its terminator is present. The last line of a trace may be truncated.
    pub(crate) has_end: bool,
}

impl TextLine<'_> {
    pub(crate) fn pos(&self) -> SourcePos {
        SourcePos::Offset(self.offset)
    }

    /// Returns the loss of a line that cannot be parsed; the last line may only be truncated.
    pub(crate) fn loss(&self) -> Loss {
        if self.has_end { Loss::BadRecord } else { Loss::Truncated }
    }

    /// Counts a parsed line without a terminator. Some tools never write the last terminator, others were interrupted.
    pub(crate) fn count_missing_end(&self, batch: &mut BatchBuilder) {
        if !self.has_end {
            batch.lose(Loss::UnendedLine, self.pos());
        }
    }
}

/// Parses the lines of a format.
pub(crate) trait LineParser: Send {
    /// Limit for lines; longer ones contain no event.
    const LINE_BYTES_MAX: usize = LINE_BYTES_MAX;

    /// Parses the next line into the batch.
    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder);

    /// Emits full batches after a line.
    fn after_line(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        out.flush_if_full()
    }

    /// Emits data that was held back for later lines, before a live stream blocks.
    fn pause(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        let _ = out; // most hold nothing back
        Ok(())
    }

    /// Returns the actual kind of a text that is not a trace, once all lines are parsed.
    fn refusal(&self) -> Option<&'static str> {
        None
    }

    /// Ends the trace, and emits the rest in batches.
    fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        let _ = out; // most have nothing left
        Ok(())
    }
}

/// Output of a parser: the batch, and the sink for full ones.
pub(crate) struct Output<'a> {
    pub(crate) batch: &'a mut BatchBuilder,
    sink: &'a mut dyn BatchSink,
    context: &'a ReadContext,
}

impl<'a> Output<'a> {
    pub(crate) fn new(batch: &'a mut BatchBuilder, sink: &'a mut dyn BatchSink, context: &'a ReadContext) -> Self {
        Self { batch, sink, context }
    }

    /// Returns the memory budget of the load.
    pub(crate) fn budget(&self) -> &Budget {
        &self.context.budget
    }

    /// Emits the batch if it is full. Parsers call it after every few events.
    pub(crate) fn flush_if_full(&mut self) -> Result<(), ReadError> {
        self.batch.flush_if_full(self.sink, self.context)
    }
}

/// Creates a reader for a text format.
pub(crate) fn open(source: Source, parser: impl LineParser + 'static) -> Reader {
    Reader::stream(TextTrace { source, parser })
}

struct TextTrace<P> {
    source: Source,
    parser: P,
}

impl<P: LineParser> StreamReader for TextTrace<P> {
    fn read(mut self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let path = self.source.path().to_owned();
        let mut lines = LineReader::new(self.source, P::LINE_BYTES_MAX);
        let mut batch = BatchBuilder::new(context.chunk_limits);
        let mut count = 0u64;
        loop {
            if lines.would_wait() {
                self.parser.pause(&mut Output::new(&mut batch, &mut *sink, context))?;
                batch.flush_if_any(sink)?;
            }
            let Some(line) = lines.next(&mut batch)? else { break };
            self.parser.line(line, &mut batch);
            self.parser.after_line(&mut Output::new(&mut batch, &mut *sink, context))?;
            count += 1;
            if count.is_multiple_of(LINES_PER_CHECK) {
                context.cancel.check()?;
            }
        }
        if let Some(refusal) = self.parser.refusal() {
            return Err(ReadError::malformed(path, 0, "a trace", refusal));
        }
        self.parser.finish(&mut Output::new(&mut batch, &mut *sink, context))?;
        batch.lose_cut(lines.source.cut_at());
        batch.flush(sink)
    }
}

/// Iterator over the lines of a source.
pub(crate) struct LineReader {
    source: Source,
    buffer: Vec<u8>,
    /// Offset in the buffer of the unread part.
    start: usize,
    /// Offset of the buffer in the input.
    offset: u64,
    ended: bool,
    line_bytes_max: usize,
    block_bytes: usize,
}

impl LineReader {
    pub(crate) fn new(source: Source, line_bytes_max: usize) -> Self {
        let block_bytes = source.block_bytes(READ_BYTES);
        Self { source, buffer: Vec::new(), start: 0, offset: 0, ended: false, line_bytes_max, block_bytes }
    }

    /// Returns the offset at which compressed data is truncated or damaged; known at its end.
    pub(crate) fn cut_at(&self) -> Option<u64> {
        self.source.cut_at()
    }

    /// Returns whether the next line of a live stream has not arrived yet.
    pub(crate) fn would_wait(&self) -> bool {
        self.source.is_live() && !self.ended && memchr::memchr(b'\n', &self.buffer[self.start..]).is_none()
    }

    /// Returns the next line; skips and counts lines that are too long.
    pub(crate) fn next(&mut self, batch: &mut BatchBuilder) -> Result<Option<TextLine<'_>>, ReadError> {
        let mut searched = 0;
        let mut too_long = None;
        let (start, len, next, has_end) = loop {
            let unread = &self.buffer[self.start..];
            match memchr::memchr(b'\n', &unread[searched..]) {
                Some(position) => {
                    let len = searched + position;
                    let begins_at = self.offset + self.start as u64;
                    if too_long.is_none() && len <= self.line_bytes_max {
                        break (self.start, len, self.start + len + 1, true);
                    }
                    batch.lose(Loss::BadRecord, SourcePos::Offset(too_long.take().unwrap_or(begins_at)));
                    self.start += len + 1;
                    searched = 0;
                }
                None if self.ended => {
                    if let Some(begins_at) = too_long {
                        batch.lose(Loss::BadRecord, SourcePos::Offset(begins_at));
                        self.start = self.buffer.len();
                        return Ok(None);
                    }
                    if unread.is_empty() {
                        return Ok(None);
                    }
                    break (self.start, unread.len(), self.buffer.len(), false);
                }
                None => {
                    searched = unread.len();
                    if searched > self.line_bytes_max {
                        // Only the offset of its start is reported.
                        too_long.get_or_insert(self.offset + self.start as u64);
                        self.start = self.buffer.len();
                        searched = 0;
                    }
                    self.fill()?;
                }
            }
        };
        self.start = next;
        let bytes = &self.buffer[start..start + len];
        let bytes = if has_end { bytes.strip_suffix(b"\r").unwrap_or(bytes) } else { bytes };
        let offset = self.offset + start as u64;
        let bytes = if offset == 0 { without_mark(bytes) } else { bytes };
        Ok(Some(TextLine { bytes, offset, has_end }))
    }

    /// Reads more bytes after the unread ones.
    fn fill(&mut self) -> Result<(), ReadError> {
        self.buffer.drain(..self.start);
        self.offset += self.start as u64;
        self.start = 0;
        let unread = self.buffer.len();
        self.buffer.resize(unread + self.block_bytes, 0);
        let len = self.source.fill(&mut self.buffer[unread..])?;
        self.buffer.truncate(unread + len);
        self.ended = len == 0;
        Ok(())
    }
}

/// Returns the complete lines at the start of a file, for format detection.
pub(crate) fn head_lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_whole = head.len() < super::source::HEAD_BYTES;
    let end = if is_whole { head.len() } else { memchr::memrchr(b'\n', head).unwrap_or(0) };
    let head = without_mark(&head[..end]);
    head.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::ChunkLimits;
    use crate::formats::testing::file_of;
    use proptest::prelude::*;

    fn read(bytes: &[u8]) -> (Vec<(u64, Vec<u8>, bool)>, u64) {
        let file = file_of(bytes);
        let source = Source::open(file.path(), &ReadContext::default()).expect("a file");
        let mut lines = LineReader::new(source, LINE_BYTES_MAX);
        let mut batch = BatchBuilder::new(ChunkLimits::default());
        let mut found = Vec::new();
        while let Some(line) = lines.next(&mut batch).expect("read") {
            found.push((line.offset, line.bytes.to_vec(), line.has_end));
        }
        (found, batch.batch().losses.total())
    }

    proptest! {
        #[test]
        fn lines_are_those_of_splitting_the_whole_text(text in "[ab\r\n]{1,60}") {
            let (found, lost) = read(text.as_bytes());
            let mut offset = 0;
            let mut expected = Vec::new();
            for piece in text.split_inclusive('\n') {
                let line = piece.strip_suffix('\n').map_or(piece, |line| line.strip_suffix('\r').unwrap_or(line));
                expected.push((offset, line.as_bytes().to_vec(), piece.ends_with('\n')));
                offset += piece.len() as u64;
            }
            prop_assert_eq!(found, expected);
            prop_assert_eq!(lost, 0);
        }
    }

    #[test]
    fn a_line_beyond_the_limit_is_counted_and_the_next_one_is_found() {
        for len in [LINE_BYTES_MAX + 1, LINE_BYTES_MAX + READ_BYTES, 5 * LINE_BYTES_MAX + 3] {
            let text = [&b"first\n"[..], &vec![b'x'; len], b"\nlast"].concat();
            let (found, lost) = read(&text);
            assert_eq!(found, [(0, b"first".to_vec(), true), (7 + len as u64, b"last".to_vec(), false)], "{len}");
            assert_eq!(lost, 1, "{len}");
        }
        let (found, lost) = read(&vec![b'x'; 3 * LINE_BYTES_MAX]);
        assert_eq!((found.len(), lost), (0, 1));
    }

    #[test]
    fn text_in_16_bits_reads_as_any_other() {
        for (mark, bytes_of) in
            [([0xff, 0xfe], u16::to_le_bytes as fn(u16) -> [u8; 2]), ([0xfe, 0xff], u16::to_be_bytes)]
        {
            let units = "über\r\nzwei 𝄞".encode_utf16().flat_map(bytes_of);
            let bytes: Vec<u8> = mark.into_iter().chain(units).collect();
            let (found, _) = read(&bytes);
            let lines: Vec<&str> = found.iter().map(|line| str::from_utf8(&line.1).expect("UTF-8")).collect();
            assert_eq!(lines, ["über", "zwei 𝄞"]);
            // A block may end between the halves of a character, even if it contains nothing else.
            for block_bytes in [1, 2, 4, 6] {
                let chunk_limits = ChunkLimits { block_bytes: Some(block_bytes), ..ChunkLimits::default() };
                let file = file_of(&bytes);
                let context = ReadContext { chunk_limits, ..ReadContext::default() };
                let mut text = Vec::new();
                let mut source = Source::open(file.path(), &context).expect("a file");
                std::io::Read::read_to_end(&mut source, &mut text).expect("read");
                assert_eq!(str::from_utf8(&text), Ok("\u{feff}über\r\nzwei 𝄞"), "{block_bytes}");
            }
        }
    }
}
