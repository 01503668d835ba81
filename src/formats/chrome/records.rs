//! The event array from any position in it: bytes -> a batch. The one definition of what a capture's records are;
//! cutting it into pieces and parsing these at once changes nothing. Finds its way again behind damage.
//!
//! A damaged record ends where the next event begins: an object that stands by itself (not behind a colon), is whole,
//! and has a `ph`. So an unterminated string costs its own record and not the rest of the capture.

use super::events::BatchBuilder;
use super::frames::StackFrames;
use super::profiles::ProfilePart;
use super::samples::Homeless;
use super::wire::{Record, read_record};
use crate::formats::json::scan::Broken;
use crate::formats::json::skip::Skip;
use crate::model::{Batch, Loss, Place};

/// The most bytes of one record. Real ones reach 600 KB; what is larger is stepped over without being held.
pub(super) const RECORD_BYTES_MAX: usize = 64 << 20;

/// Where in the event array one stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// Between two records; the one before may still want its comma.
    Between { comma_due: bool },
    /// Behind damage, looking for the next event; `before` is the last byte seen that is not white space.
    Damaged { before: u8 },
    /// Inside a record that is stepped over.
    Skipping(Skip),
    /// Behind the closing bracket.
    Behind,
}

/// What came of some bytes of the array.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) batch: Batch,
    /// Where one stands after `consumed` bytes; the rest is the beginning of a record that is not whole yet.
    pub(super) position: Position,
    pub(super) consumed: usize,
    /// Threads in the batch whose process is not told.
    pub(super) homeless: Vec<Homeless>,
    /// The parts of profiles, in order.
    pub(super) profiles: Vec<ProfilePart>,
    /// Whether there was a stack frame, and no table of them.
    pub(super) wants_frames: bool,
}

/// Parses what is whole in `bytes`, which stand at `offset` of the capture; `at_end`: nothing follows them.
///
/// Without `frames`, nothing is known of the stack frames of the capture; an outcome that wants them is to be made again.
pub(super) fn parse(
    bytes: &[u8],
    offset: u64,
    position: Position,
    at_end: bool,
    frames: Option<&StackFrames>,
) -> Outcome {
    let batch = BatchBuilder::for_bytes(bytes.len(), frames);
    let mut walk = Walk { bytes, offset, at_end, pos: 0, position, batch, record: Record::default() };
    while let Some(position) = walk.step() {
        walk.position = position;
    }
    let (position, consumed) = (walk.position, walk.pos);
    walk.batch.finish(position, consumed)
}

/// A parse on its way.
struct Walk<'a> {
    bytes: &'a [u8],
    offset: u64,
    at_end: bool,
    pos: usize,
    position: Position,
    batch: BatchBuilder<'a>,
    record: Record<'a>,
}

impl Walk<'_> {
    /// Goes on to the next position, or nowhere once all that is whole is taken.
    fn step(&mut self) -> Option<Position> {
        match self.position {
            Position::Between { comma_due } => self.between(comma_due),
            Position::Damaged { before } => self.damaged(before),
            Position::Skipping(skip) => self.skipping(skip),
            Position::Behind => None,
        }
    }

    fn between(&mut self, comma_due: bool) -> Option<Position> {
        let byte = *self.bytes.get(self.pos)?;
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => {
                self.pos += 1;
                Some(Position::Between { comma_due })
            }
            b',' => {
                self.pos += 1;
                Some(Position::Between { comma_due: false })
            }
            b']' => {
                self.pos += 1;
                Some(Position::Behind)
            }
            b'{' => match read_record(&mut self.record, self.bytes, self.pos) {
                Ok(end) => {
                    if comma_due {
                        self.lose(Loss::MissingComma);
                    }
                    self.batch.take(&self.record, self.offset_here());
                    self.pos = end;
                    Some(Position::Between { comma_due: true })
                }
                Err(Broken::Malformed(_)) => Some(self.damage()),
                Err(Broken::TooDeep) => {
                    self.lose(Loss::DeepNesting);
                    Some(Position::Skipping(Skip::default()))
                }
                Err(Broken::Incomplete) => self.incomplete(),
            },
            _ => Some(self.damage()),
        }
    }

    /// At a record that the bytes end within.
    fn incomplete(&mut self) -> Option<Position> {
        if !self.at_end {
            if self.bytes.len() - self.pos < RECORD_BYTES_MAX {
                return None;
            }
            self.lose(Loss::OverLimit);
            return Some(Position::Skipping(Skip::default()));
        }
        // A record that was cut off in the middle of the capture swallows what follows it.
        if let Next::Event { .. } = next_event(self.bytes, self.pos + 1, b'{', true) {
            return Some(self.damage());
        }
        self.lose(Loss::Truncated);
        self.pos = self.bytes.len();
        None
    }

    fn damaged(&mut self, before: u8) -> Option<Position> {
        match next_event(self.bytes, self.pos, before, self.at_end) {
            Next::Event { start, .. } => {
                self.pos = start;
                Some(Position::Between { comma_due: false })
            }
            Next::Unclear { start, before } => {
                self.pos = start;
                self.position = Position::Damaged { before };
                None
            }
            Next::Nothing { before } => {
                self.pos = self.bytes.len();
                self.position = Position::Damaged { before };
                None
            }
        }
    }

    fn skipping(&mut self, mut skip: Skip) -> Option<Position> {
        if let Some(len) = skip.advance(&self.bytes[self.pos..]) {
            self.pos += len;
            return Some(Position::Between { comma_due: true });
        }
        self.pos = self.bytes.len();
        self.position = Position::Skipping(skip);
        if self.at_end {
            self.lose(Loss::Truncated);
        }
        None
    }

    /// Counts what stands here as damaged, and steps into it.
    fn damage(&mut self) -> Position {
        self.lose(Loss::BadRecord);
        let before = self.bytes[self.pos];
        self.pos += 1;
        Position::Damaged { before }
    }

    fn lose(&mut self, loss: Loss) {
        self.batch.losses.add(loss, Place::Offset(self.offset_here()));
    }

    fn offset_here(&self) -> u64 {
        self.offset.saturating_add(self.pos as u64)
    }
}

/// What stands next behind damage.
pub(super) enum Next {
    /// An event from `start` to `end`; `before` is the last byte before it that is not white space.
    Event { start: usize, before: u8, end: usize },
    /// Perhaps an event at `start`: the bytes end within it.
    Unclear { start: usize, before: u8 },
    /// No event.
    Nothing { before: u8 },
}

/// Finds the next object from `pos` that is an event.
pub(super) fn next_event(bytes: &[u8], mut pos: usize, mut before: u8, at_end: bool) -> Next {
    let mut record = Record::default();
    loop {
        let brace = memchr::memchr(b'{', &bytes[pos..]).map(|distance| pos + distance);
        let gap = &bytes[pos..brace.unwrap_or(bytes.len())];
        before = gap.iter().rev().find(|byte| !byte.is_ascii_whitespace()).copied().unwrap_or(before);
        let Some(start) = brace else { return Next::Nothing { before } };
        // Behind a colon it is the value of a member, such as the arguments of the damaged record.
        if before != b':' {
            match read_record(&mut record, bytes, start) {
                Ok(end) if record.is_event() || record.is_bare_sample() => return Next::Event { start, before, end },
                Err(Broken::Incomplete) if !at_end && bytes.len() - start < RECORD_BYTES_MAX => {
                    return Next::Unclear { start, before };
                }
                _ => {}
            }
        }
        before = b'{';
        pos = start + 1;
    }
}
