//! Cuts a trace into pieces that probably start at a record, so that threads parse them in parallel.
//!
//! Cuts are guesses: whether a brace opens a record depends on every quote before it, and counting quotes would cost a
//! sequential pass. So the splitter searches for a complete event near the end of each piece, and cuts before it. The
//! parse of the previous piece verifies the cut; a wrong guess costs time, never a record.

use crossbeam_channel::Receiver;

use super::records::{ArrayPosition, NextEvent, next_event};
use crate::formats::ReadError;
use crate::formats::input::source::Source;

/// Bytes of a piece: about 20 thousand events, which sort within the cache of a core.
pub(super) const PIECE_BYTES: usize = 2 << 20;

/// Distance from the end of the first search for a cut: a few hundred common records.
const WINDOW_BYTES: usize = 64 << 10;

/// Consecutive bytes of a trace.
#[derive(Debug, Default)]
pub(super) struct ChromePiece {
    pub(super) bytes: Vec<u8>,
    /// Offset of the first byte in the trace.
    pub(super) offset: u64,
    /// Guessed position in the event array at the start of the piece; `None` without a guess.
    pub(super) begins: Option<ArrayPosition>,
}

/// Iterator over the pieces of a source.
pub(super) struct Splitter {
    source: Source,
    piece_bytes: usize,
    next: ChromePiece,
    /// Buffers of finished pieces, for reuse: fresh ones would have to be cleared page by page.
    spare: Receiver<Vec<u8>>,
    ended: bool,
}

impl Splitter {
    pub(super) fn new(source: Source, piece_bytes: usize, spare: Receiver<Vec<u8>>) -> Self {
        Self { source, piece_bytes: piece_bytes.max(1), next: ChromePiece::default(), spare, ended: false }
    }

    /// Returns the next piece, or `None` at the end.
    pub(super) fn next_piece(&mut self) -> Result<Option<ChromePiece>, ReadError> {
        if self.ended {
            return Ok(None);
        }
        let mut piece = std::mem::take(&mut self.next);
        let carried_bytes = piece.bytes.len();
        let wanted = self.piece_bytes.max(carried_bytes + 1);
        if let Ok(mut spare) = self.spare.try_recv() {
            // The buffer is truncated to the bytes read, so its old content need not be cleared.
            spare.resize(wanted, 0);
            spare[..carried_bytes].copy_from_slice(&piece.bytes);
            piece.bytes = spare;
        } else {
            piece.bytes.resize(wanted, 0);
        }
        let read = self.source.fill(&mut piece.bytes[carried_bytes..])?;
        piece.bytes.truncate(carried_bytes + read);
        self.ended = if self.is_live() { read == 0 } else { piece.bytes.len() < wanted };
        self.next.offset = piece.offset + piece.bytes.len() as u64;
        if !self.ended
            && !self.is_live()
            && let Some((cut, begins)) = find_cut(&piece.bytes)
        {
            self.next.bytes = piece.bytes.split_off(cut);
            self.next.offset = piece.offset + cut as u64;
            self.next.begins = Some(begins);
        }
        Ok((!piece.bytes.is_empty()).then_some(piece))
    }

    /// Returns whether pieces come from a live stream, as data arrives.
    pub(super) fn is_live(&self) -> bool {
        self.source.is_live()
    }

    /// Returns the offset at which the source is truncated, if it is; known after the last piece.
    pub(super) fn cut_at(&self) -> Option<u64> {
        self.source.cut_at()
    }
}

/// Guesses the start of the last record near the end of `bytes`.
fn find_cut(bytes: &[u8]) -> Option<(usize, ArrayPosition)> {
    let windows = [bytes.len().saturating_sub(WINDOW_BYTES), bytes.len() / 2];
    windows.into_iter().find_map(|window| {
        let mut pos = window;
        let mut last = 0;
        loop {
            let NextEvent::Event { start, before, end, .. } = next_event(bytes, pos, last, true) else { return None };
            match before {
                b',' => return Some((start, ArrayPosition::Between { comma_due: false })),
                b'}' => return Some((start, ArrayPosition::Between { comma_due: true })),
                // The first element of an array, which may be an array in arguments.
                _ => (pos, last) = (end, b'}'),
            }
        }
    })
}
