//! Tests of the whole reader. All input goes through a file and [`crate::formats::sniff`], as for a user.

mod bad_input;
mod leads;
mod phases;
mod progress;
mod properties;
mod real;
mod samples;
mod system;

use crate::formats::ReadError;
use crate::formats::input::source::Source;
use crate::formats::testing::{
    ReadEvent, Reading, context, data, file_of, read, read_bytes, read_cut, read_live, read_path,
};
use crate::model::{EventFlags, EventKind, Id, Loss, TrackKey, TrackKind};

/// Reads bytes in pieces of a given size.
pub(super) fn read_in_pieces(bytes: &[u8], piece_bytes: usize) -> Result<Reading, ReadError> {
    read_cut(bytes, piece_bytes, usize::MAX)
}

/// Returns the key of a thread.
pub(super) fn thread(pid: i64, tid: i64) -> TrackKey {
    let (pid, tid) = (Id::Number(pid), Id::Number(tid));
    TrackKey::thread(pid, tid)
}
