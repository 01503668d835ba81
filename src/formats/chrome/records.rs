//! The event array from any position in it: bytes -> a batch. The one definition of a capture's records: cutting it
//! into pieces and parsing these in parallel changes nothing. Resynchronises after damage.
//!
//! A damaged record ends where the next event begins: an object that is not a member's value (not after a colon), is
//! whole, and has a `ph`. So an unterminated string costs its own record and not the rest of the capture.

use super::events::{ChromeBatch, ChromeEvents};
use super::frames::StackFrames;
use super::wire::{ChromeRecord, read_record};
use crate::formats::json::scan::Broken;
use crate::formats::json::skip::Skip;
use crate::model::{Loss, SourcePos};

/// The most bytes of one record. Real ones reach 600 KB; the reader skips larger ones without buffering them.
pub(super) const RECORD_BYTES_MAX: usize = 64 << 20;

/// A position in the event array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArrayPosition {
    /// Between two records; the one before may still want its comma.
    Between { comma_due: bool },
    /// Searches for the next event after damage; `before` is the last byte so far that is not white space.
    Damaged { before: u8 },
    /// Inside a record that is stepped over.
    Skipping(Skip),
    /// The closing bracket of the array has been read.
    Behind,
}

/// The result of parsing some bytes of the array.
#[derive(Debug)]
pub(super) struct ParsedRecords {
    pub(super) events: ChromeBatch,
    /// The position of the parse after `consumed` bytes; the rest is the beginning of a record that is not whole yet.
    pub(super) position: ArrayPosition,
    pub(super) consumed: usize,
}

/// Parses the whole records in `bytes`, which begin at `offset` of the capture; `at_end`: nothing follows them.
/// Without `frames`, an outcome that points to stack frames must be parsed again with them.
pub(super) fn parse(
    bytes: &[u8],
    offset: u64,
    position: ArrayPosition,
    at_end: bool,
    frames: Option<&StackFrames>,
) -> ParsedRecords {
    let events = ChromeEvents::for_bytes(bytes.len(), frames);
    let mut parser = RecordParser { bytes, offset, at_end, pos: 0, position, events, record: ChromeRecord::default() };
    while let Some(position) = parser.step() {
        parser.position = position;
    }
    ParsedRecords { position: parser.position, consumed: parser.pos, events: parser.events.finish() }
}

/// A parse on its way.
struct RecordParser<'a> {
    bytes: &'a [u8],
    offset: u64,
    at_end: bool,
    pos: usize,
    position: ArrayPosition,
    events: ChromeEvents<'a>,
    record: ChromeRecord<'a>,
}

impl RecordParser<'_> {
    /// Goes on to the next position; `None` once all whole records are read.
    fn step(&mut self) -> Option<ArrayPosition> {
        match self.position {
            ArrayPosition::Between { comma_due } => self.between(comma_due),
            ArrayPosition::Damaged { before } => self.damaged(before),
            ArrayPosition::Skipping(skip) => self.skipping(skip),
            ArrayPosition::Behind => None,
        }
    }

    fn between(&mut self, comma_due: bool) -> Option<ArrayPosition> {
        let byte = *self.bytes.get(self.pos)?;
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => {
                self.pos += 1;
                Some(ArrayPosition::Between { comma_due })
            }
            b',' => {
                self.pos += 1;
                Some(ArrayPosition::Between { comma_due: false })
            }
            b']' => {
                self.pos += 1;
                Some(ArrayPosition::Behind)
            }
            b'{' => match read_record(&mut self.record, self.bytes, self.pos) {
                Ok(end) => {
                    if comma_due {
                        self.lose(Loss::MissingComma);
                    }
                    self.events.take_record(&self.record, self.offset_here());
                    self.pos = end;
                    Some(ArrayPosition::Between { comma_due: true })
                }
                Err(Broken::Malformed(_)) => Some(self.damage()),
                Err(Broken::TooDeep) => {
                    self.lose(Loss::DeepNesting);
                    Some(ArrayPosition::Skipping(Skip::default()))
                }
                Err(Broken::Incomplete) => self.incomplete(),
            },
            _ => Some(self.damage()),
        }
    }

    /// Stops at a record that the bytes end within.
    fn incomplete(&mut self) -> Option<ArrayPosition> {
        if !self.at_end {
            if self.bytes.len() - self.pos < RECORD_BYTES_MAX {
                return None;
            }
            self.lose(Loss::OverLimit);
            return Some(ArrayPosition::Skipping(Skip::default()));
        }
        // A record that was cut off in the middle of the capture swallows what follows it.
        if let NextEvent::Event { .. } = next_event(self.bytes, self.pos + 1, b'{', true) {
            return Some(self.damage());
        }
        self.lose(Loss::Truncated);
        self.pos = self.bytes.len();
        None
    }

    fn damaged(&mut self, before: u8) -> Option<ArrayPosition> {
        match next_event(self.bytes, self.pos, before, self.at_end) {
            NextEvent::Event { start, .. } => {
                self.pos = start;
                Some(ArrayPosition::Between { comma_due: false })
            }
            NextEvent::Unclear { start, before } => {
                self.pos = start;
                self.position = ArrayPosition::Damaged { before };
                None
            }
            NextEvent::Nothing { before } => {
                self.pos = self.bytes.len();
                self.position = ArrayPosition::Damaged { before };
                None
            }
        }
    }

    fn skipping(&mut self, mut skip: Skip) -> Option<ArrayPosition> {
        if let Some(len) = skip.advance(&self.bytes[self.pos..]) {
            self.pos += len;
            return Some(ArrayPosition::Between { comma_due: true });
        }
        self.pos = self.bytes.len();
        self.position = ArrayPosition::Skipping(skip);
        if self.at_end {
            self.lose(Loss::Truncated);
        }
        None
    }

    /// Counts the value here as damaged, and steps into it.
    fn damage(&mut self) -> ArrayPosition {
        self.lose(Loss::BadRecord);
        let before = self.bytes[self.pos];
        self.pos += 1;
        ArrayPosition::Damaged { before }
    }

    fn lose(&mut self, loss: Loss) {
        self.events.losses.add(loss, SourcePos::Offset(self.offset_here()));
    }

    fn offset_here(&self) -> u64 {
        self.offset.saturating_add(self.pos as u64)
    }
}

/// The next event after damage.
pub(super) enum NextEvent {
    /// An event from `start` to `end`; `before` is the last byte before it that is not white space.
    Event {
        start: usize,
        before: u8,
        end: usize,
    },
    /// Perhaps an event at `start`: the bytes end within it.
    Unclear {
        start: usize,
        before: u8,
    },
    Nothing {
        before: u8,
    },
}

/// Finds the next object from `pos` that is an event.
pub(super) fn next_event(bytes: &[u8], mut pos: usize, mut before: u8, at_end: bool) -> NextEvent {
    let mut record = ChromeRecord::default();
    loop {
        let brace = memchr::memchr(b'{', &bytes[pos..]).map(|distance| pos + distance);
        let gap = &bytes[pos..brace.unwrap_or(bytes.len())];
        before = gap.iter().rev().find(|byte| !byte.is_ascii_whitespace()).copied().unwrap_or(before);
        let Some(start) = brace else { return NextEvent::Nothing { before } };
        // After a colon it is the value of a member, such as the arguments of the damaged record.
        if before != b':' {
            match read_record(&mut record, bytes, start) {
                Ok(end) if record.is_event() || record.is_bare_sample() => {
                    return NextEvent::Event { start, before, end };
                }
                Err(Broken::Incomplete) if !at_end && bytes.len() - start < RECORD_BYTES_MAX => {
                    return NextEvent::Unclear { start, before };
                }
                _ => {}
            }
        }
        before = b'{';
        pos = start + 1;
    }
}
