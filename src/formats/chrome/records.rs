//! Parses the event array from any position in it to a batch. This is the only definition of records, so parsing pieces
//! in parallel changes nothing. Resynchronises after damage.
//!
//! A damaged record ends where the next event starts: at a complete object with a `ph` that does not follow a colon. So
//! an unterminated string costs its own record, not the rest of the trace.

use super::events::{ChromeBatch, ChromeEvents};
use super::frames::StackFrames;
use super::leads::Leads;
use super::wire::{ChromeRecord, read_record};
use crate::formats::json::scan::Broken;
use crate::formats::json::skip::ValueSkipper;
use crate::model::{Loss, SourcePos};

/// Limit for the bytes of a record; larger ones are skipped without buffering. Real ones reach 600 KB.
pub(super) const RECORD_BYTES_MAX: usize = 64 << 20;

/// Position in the event array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArrayPosition {
    /// Between two records; `comma_due` means that a comma must come first.
    Between { comma_due: bool },
    /// Searching for the next event after damage; `before` is the last byte that is not white space.
    Damaged { before: u8 },
    /// Inside a record that is skipped.
    Skipping(ValueSkipper),
    /// After the closing bracket of the array.
    After,
}

/// Result of parsing some bytes of the array.
#[derive(Debug)]
pub(super) struct ParsedRecords {
    pub(super) events: ChromeBatch,
    /// Position after `consumed` bytes; the rest is the start of an incomplete record, or the batch is full.
    pub(super) position: ArrayPosition,
    pub(super) consumed: usize,
}

/// Parses the complete records in `bytes`, which start at `offset` of the trace, until the batch is full. `at_end`
/// means that nothing follows. Without `frames`, a result that refers to stack frames must be parsed again with them.
pub(super) fn parse(
    bytes: &[u8],
    offset: u64,
    position: ArrayPosition,
    at_end: bool,
    frames: Option<&StackFrames>,
) -> ParsedRecords {
    parse_with(&mut Leads::default(), bytes, offset, position, at_end, frames)
}

/// Like [`parse`], with leads that may already be learned.
pub(super) fn parse_with(
    leads: &mut Leads,
    bytes: &[u8],
    offset: u64,
    position: ArrayPosition,
    at_end: bool,
    frames: Option<&StackFrames>,
) -> ParsedRecords {
    let events = ChromeEvents::for_bytes(bytes.len(), frames);
    let record = ChromeRecord::default();
    let mut parser = RecordParser { bytes, offset, at_end, pos: 0, position, events, record, leads };
    while !parser.events.is_full()
        && let Some(position) = parser.step()
    {
        parser.position = position;
    }
    ParsedRecords { position: parser.position, consumed: parser.pos, events: parser.events.finish() }
}

struct RecordParser<'a> {
    bytes: &'a [u8],
    offset: u64,
    at_end: bool,
    pos: usize,
    position: ArrayPosition,
    events: ChromeEvents<'a>,
    record: ChromeRecord<'a>,
    leads: &'a mut Leads,
}

impl RecordParser<'_> {
    /// Advances to the next position; returns `None` once all complete records are parsed.
    fn step(&mut self) -> Option<ArrayPosition> {
        match self.position {
            ArrayPosition::Between { comma_due } => self.between(comma_due),
            ArrayPosition::Damaged { before } => self.damaged(before),
            ArrayPosition::Skipping(skip) => self.skipping(skip),
            ArrayPosition::After => None,
        }
    }

    fn between(&mut self, mut comma_due: bool) -> Option<ArrayPosition> {
        loop {
            match *self.bytes.get(self.pos)? {
                b' ' | b'\n' | b'\r' | b'\t' => self.pos += 1,
                b',' => {
                    self.pos += 1;
                    comma_due = false;
                    self.position = ArrayPosition::Between { comma_due };
                }
                b'{' => return self.record(comma_due),
                b']' => {
                    self.pos += 1;
                    return Some(ArrayPosition::After);
                }
                _ => return Some(self.damage()),
            }
        }
    }

    #[inline]
    fn record(&mut self, comma_due: bool) -> Option<ArrayPosition> {
        match read_record(&mut self.record, self.leads, self.bytes, self.pos) {
            Ok(end) => {
                if comma_due {
                    self.lose(Loss::MissingComma);
                }
                self.events.add_record(&self.record, self.offset_here());
                self.pos = end;
                Some(ArrayPosition::Between { comma_due: true })
            }
            Err(Broken::Malformed(_)) => Some(self.damage()),
            Err(Broken::TooDeep) => {
                self.lose(Loss::DeepNesting);
                Some(ArrayPosition::Skipping(ValueSkipper::default()))
            }
            Err(Broken::Incomplete) => self.incomplete(),
        }
    }

    /// Stops at a record that the bytes end within.
    fn incomplete(&mut self) -> Option<ArrayPosition> {
        if !self.at_end {
            if self.bytes.len() - self.pos < RECORD_BYTES_MAX {
                return None;
            }
            self.lose(Loss::OverLimit);
            return Some(ArrayPosition::Skipping(ValueSkipper::default()));
        }
        // A record that was cut off in the middle of the trace would swallow what follows.
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

    fn skipping(&mut self, mut skip: ValueSkipper) -> Option<ArrayPosition> {
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

    /// Counts the value here as damaged, and resumes after its first byte.
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
    /// Possibly an event at `start`, but incomplete.
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
    let (mut record, mut leads) = (ChromeRecord::default(), Leads::default());
    loop {
        let brace = memchr::memchr(b'{', &bytes[pos..]).map(|distance| pos + distance);
        let gap = &bytes[pos..brace.unwrap_or(bytes.len())];
        before = gap.iter().rev().find(|byte| !byte.is_ascii_whitespace()).copied().unwrap_or(before);
        let Some(start) = brace else { return NextEvent::Nothing { before } };
        // After a colon it is a member value, such as the arguments of the damaged record.
        if before != b':' {
            match read_record(&mut record, &mut leads, bytes, start) {
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
