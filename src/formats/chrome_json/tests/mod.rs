//! Tests of the whole reader. Everything goes through a file and [`crate::formats::detect`], as for a user.

mod bad_input;
mod phases;
mod progress;
mod properties;
mod real;

use super::read::open_in_pieces;
use crate::formats::ReadError;
use crate::formats::source::Source;
use crate::formats::testing::{Reading, Seen, context, data, file_of, read, read_all, read_bytes, read_path};
use crate::model::{EventFlags, EventKind, Id, Loss, TrackKey, TrackKind};

/// Reads bytes with pieces of a given size.
pub(super) fn read_in_pieces(bytes: &[u8], piece_bytes: usize) -> Result<Reading, ReadError> {
    let file = file_of(bytes);
    read_all(open_in_pieces(Source::open(file.path(), &context(2))?, piece_bytes))
}

/// The key of a thread.
pub(super) fn thread(pid: i64, tid: i64) -> TrackKey {
    let (pid, tid) = (Id::Number(pid), Id::Number(tid));
    TrackKey { kind: TrackKind::Thread, pid, tid, name: Box::default(), slot: 0 }
}
