//! The kernel trace in a Chrome trace: ftrace text as one JSON string under `systemTraceEvents`, on the clock of the
//! other events. Decodes the string incrementally, line by line.

use crate::base::hex::hex_number;
use crate::formats::ReadError;
use crate::formats::input::lines::{LineParser, Output, TextLine};
use crate::formats::linux::ftrace::Ftrace;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::{BatchSink, ReadContext};
use crate::model::{Batch, Loss, SourcePos};

/// Maximum length of an escape: a backslash, `u` and four digits.
const ESCAPE_BYTES: usize = 6;

/// Message about a text without any line of a kernel trace.
const NOT_FTRACE: &str = "The text of systemTraceEvents is not a trace of the Linux kernel; it is not shown.";

/// First UTF-16 unit that is the second half of a pair.
const LOW_SURROGATES: u16 = 0xdc00;

/// Decodes the string, and parses its lines as ftrace text.
pub(super) struct SystemTrace {
    parser: Ftrace,
    batch: BatchBuilder,
    line: Vec<u8>,
    /// Offset of the string in the trace; `None` before its first byte.
    string_offset: Option<u64>,
    /// Offset of the line in the trace.
    line_offset: u64,
    is_too_long: bool,
    /// The start of an escape whose end has not come yet.
    escape: Vec<u8>,
    /// The first half of a surrogate pair, until its second half.
    first_half: Option<u16>,
}

impl SystemTrace {
    pub(super) fn new(context: &ReadContext) -> Self {
        Self {
            parser: Ftrace::default(),
            batch: BatchBuilder::new(context.chunk_limits),
            line: Vec::new(),
            string_offset: None,
            line_offset: 0,
            is_too_long: false,
            escape: Vec::new(),
            first_half: None,
        }
    }

    /// Appends raw text of the string, which starts at `offset` of the trace.
    pub(super) fn add_text(&mut self, text: &[u8], offset: u64) {
        self.string_offset.get_or_insert(offset);
        for (&byte, offset) in text.iter().zip(offset..) {
            if self.is_at_start() && self.escape.is_empty() {
                self.line_offset = offset;
            }
            if !self.escape.is_empty() || byte == b'\\' {
                self.escape.push(byte);
                self.end_escape();
            } else if byte == b'\n' {
                self.end_line(true);
            } else {
                self.push(&[byte]);
            }
        }
    }

    /// Replaces a complete escape by its character.
    fn end_escape(&mut self) {
        let letter = match self.escape[..] {
            [] | [_] => return,
            [_, b'n'] => {
                self.escape.clear();
                return self.end_line(true);
            }
            [_, b't'] => '\t',
            [_, b'r'] => '\r',
            [_, b'b' | b'f'] => ' ',
            [_, b'u', ref digits @ ..] if self.escape.len() < ESCAPE_BYTES => {
                if digits.iter().all(u8::is_ascii_hexdigit) {
                    return;
                }
                char::REPLACEMENT_CHARACTER
            }
            [_, b'u', ref digits @ ..] => {
                let unit = hex_number(digits).and_then(|unit| u16::try_from(unit).ok());
                self.escape.clear();
                return self.push_unit(unit);
            }
            [_, other, ..] => other.into(),
        };
        self.escape.clear();
        self.push_char(letter);
    }

    /// Appends a UTF-16 unit, once the character is complete; `None` is not a unit.
    fn push_unit(&mut self, unit: Option<u16>) {
        let unit = unit.unwrap_or(char::REPLACEMENT_CHARACTER as u16);
        let first = self.first_half.take();
        let mut units = char::decode_utf16(first.into_iter().chain([unit])).peekable();
        while let Some(decoded) = units.next() {
            match decoded {
                Ok(letter) => self.push_char(letter),
                // A first half waits for the next unit.
                Err(half) if units.peek().is_none() && half.unpaired_surrogate() < LOW_SURROGATES => {
                    self.first_half = Some(half.unpaired_surrogate());
                }
                Err(_) => self.push_char(char::REPLACEMENT_CHARACTER),
            }
        }
    }

    fn push_char(&mut self, letter: char) {
        if letter == '\n' {
            return self.end_line(true);
        }
        self.push(letter.encode_utf8(&mut [0; 4]).as_bytes());
    }

    /// Returns whether the line has no text yet.
    fn is_at_start(&self) -> bool {
        self.line.is_empty() && self.first_half.is_none()
    }

    /// Replaces the first half of a surrogate pair that has no second half.
    fn end_half(&mut self) {
        if self.first_half.take().is_some() {
            self.push_char(char::REPLACEMENT_CHARACTER);
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.end_half();
        if self.line.len() + bytes.len() <= <Ftrace as LineParser>::LINE_BYTES_MAX {
            self.line.extend_from_slice(bytes);
        } else {
            self.is_too_long = true;
        }
    }

    fn end_line(&mut self, has_end: bool) {
        self.end_half();
        let line = std::mem::take(&mut self.line);
        let pos = SourcePos::Offset(self.line_offset);
        if std::mem::take(&mut self.is_too_long) {
            self.batch.lose(Loss::BadRecord, pos);
        } else {
            let bytes = line.strip_suffix(b"\r").unwrap_or(&line);
            self.parser.line(TextLine { bytes, offset: self.line_offset, has_end }, &mut self.batch);
        }
        self.line = line;
        self.line.clear();
    }

    /// Returns the batch if it is full.
    pub(super) fn full_batch(&mut self) -> Option<Batch> {
        self.batch.is_full().then(|| self.sorted_batch())
    }

    fn sorted_batch(&mut self) -> Batch {
        let mut batch = self.batch.take_batch();
        batch.chunk.sort();
        batch
    }

    /// Ends the string, complete or truncated, and emits the rest.
    pub(super) fn finish(
        mut self,
        is_cut: bool,
        sink: &mut dyn BatchSink,
        context: &ReadContext,
    ) -> Result<Batch, ReadError> {
        if !self.is_at_start() {
            self.end_line(!is_cut);
        }
        let losses = self.batch.losses();
        if !self.parser.has_event() && losses.count(Loss::BadRecord) > 0 {
            // Programs may write any text here.
            losses.remove(Loss::BadRecord);
            let pos = SourcePos::Offset(self.string_offset.unwrap_or(self.line_offset));
            losses.add_because(NOT_FTRACE, Loss::IgnoredMetadata, pos);
        }
        self.parser.finish(&mut Output::new(&mut self.batch, sink, context))?;
        Ok(self.sorted_batch())
    }
}
