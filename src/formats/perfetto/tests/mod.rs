//! Tests of the whole reader. All input goes through a file and [`crate::formats::sniff`], as for a user.

mod bad_input;
mod devices;
mod encode;
mod events;
mod facts;
mod group_levels;
mod groups;
mod kernel;
mod kernel_devices;
mod kernel_order;
mod live;
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

/// Returns the time, process, name and value of each counter.
fn values(reading: &Reading) -> Vec<(i64, String, &str, f64)> {
    let counters = reading.events.iter().filter(|event| event.kind == EventKind::Counter);
    let value = |bits| f64::from_bits(bits);
    counters.map(|event| (event.ts_ns, event.track.pid.to_string(), &*event.track.name, value(event.value))).collect()
}

/// Returns the time, kind, track, name and arguments of each event that is not a counter.
fn shown(reading: &Reading) -> Vec<(i64, EventKind, &str, &str, &str)> {
    let events = reading.events.iter().filter(|event| event.kind != EventKind::Counter);
    events.map(|event| (event.ts_ns, event.kind, &*event.track.name, &*event.name, &*event.args)).collect()
}

/// Reads packets that must be a valid trace.
pub(super) fn read(packets: impl IntoIterator<Item = encode::Message>) -> Reading {
    read_bytes(&encode::capture(packets)).expect("a capture")
}
