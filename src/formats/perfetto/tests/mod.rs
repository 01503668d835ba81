//! Tests of the whole reader. All input goes through a file and [`crate::formats::sniff`], as for a user.

mod bad_input;
mod devices;
mod encode;
mod events;
mod kernel;
mod kernel_devices;
mod order;
mod packets;
mod profile;
mod properties;
mod real;
mod threads;
mod typed;
mod write;

use crate::formats::testing::{Reading, data, read_bytes, read_cut, read_path};
use crate::model::{EventFlags, EventKind, Loss};

/// Reads packets that must be a valid trace.
pub(super) fn read(packets: impl IntoIterator<Item = encode::Message>) -> Reading {
    read_bytes(&encode::capture(packets)).expect("a capture")
}
