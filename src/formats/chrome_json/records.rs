//! The event array from any position in it: bytes -> a batch. The one definition of what a capture's records are;
//! cutting it into pieces and parsing these at once changes nothing. Finds its way again behind damage.
//!
//! A damaged record ends where the next event begins: an object that stands by itself (not behind a colon), is whole,
//! and has a `ph`. So an unterminated string costs its own record and not the rest of the capture.

use super::events::BatchBuilder;
use super::scan::Broken;
use super::skip::Skip;
use super::wire::{Record, read_record};
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
}

/// Parses what is whole in `bytes`, which stand at `offset` of the capture; `at_end`: nothing follows them.
pub(super) fn parse(bytes: &[u8], offset: u64, mut position: Position, at_end: bool) -> Outcome {
    let mut batch = BatchBuilder::for_bytes(bytes.len());
    let mut record = Record::default();
    let mut pos = 0;
    let offset_at = |pos: usize| offset.saturating_add(pos as u64);
    loop {
        match position {
            Position::Between { comma_due } => match bytes.get(pos) {
                None => break,
                Some(b' ' | b'\n' | b'\r' | b'\t') => pos += 1,
                Some(b',') => {
                    pos += 1;
                    position = Position::Between { comma_due: false };
                }
                Some(b']') => {
                    pos += 1;
                    position = Position::Behind;
                }
                Some(b'{') => {
                    let place = Place::Offset(offset_at(pos));
                    match read_record(&mut record, bytes, pos) {
                        Ok(end) => {
                            if comma_due {
                                batch.losses.add(Loss::MissingComma, place);
                            }
                            batch.take(&record, offset_at(pos));
                            pos = end;
                            position = Position::Between { comma_due: true };
                        }
                        Err(Broken::Incomplete) if !at_end => {
                            if bytes.len() - pos < RECORD_BYTES_MAX {
                                break;
                            }
                            batch.losses.add(Loss::OverLimit, place);
                            position = Position::Skipping(Skip::default());
                        }
                        Err(Broken::Incomplete) => {
                            // A record that was cut off in the middle of the capture swallows what follows it.
                            if let Next::Event { .. } = next_event(bytes, pos + 1, b'{', at_end) {
                                batch.losses.add(Loss::BadRecord, place);
                                position = Position::Damaged { before: b'{' };
                                pos += 1;
                            } else {
                                batch.losses.add(Loss::Truncated, place);
                                pos = bytes.len();
                            }
                        }
                        Err(Broken::Malformed(_)) => {
                            batch.losses.add(Loss::BadRecord, place);
                            position = Position::Damaged { before: b'{' };
                            pos += 1;
                        }
                        Err(Broken::TooDeep) => {
                            batch.losses.add(Loss::DeepNesting, place);
                            position = Position::Skipping(Skip::default());
                        }
                    }
                }
                Some(&other) => {
                    batch.losses.add(Loss::BadRecord, Place::Offset(offset_at(pos)));
                    position = Position::Damaged { before: other };
                    pos += 1;
                }
            },
            Position::Damaged { before } => match next_event(bytes, pos, before, at_end) {
                Next::Event { start, .. } => {
                    pos = start;
                    position = Position::Between { comma_due: false };
                }
                Next::Unclear { start, before } => {
                    pos = start;
                    position = Position::Damaged { before };
                    break;
                }
                Next::Nothing { before } => {
                    pos = bytes.len();
                    position = Position::Damaged { before };
                    break;
                }
            },
            Position::Skipping(mut skip) => {
                if let Some(len) = skip.advance(&bytes[pos..]) {
                    pos += len;
                    position = Position::Between { comma_due: true };
                } else {
                    pos = bytes.len();
                    position = Position::Skipping(skip);
                    if at_end {
                        batch.losses.add(Loss::Truncated, Place::Offset(offset_at(pos)));
                    }
                    break;
                }
            }
            Position::Behind => break,
        }
    }
    Outcome { batch: batch.finish(), position, consumed: pos }
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
                Ok(end) if record.is_event() => return Next::Event { start, before, end },
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
