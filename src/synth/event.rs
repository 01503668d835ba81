//! A constructor of generated events. Most of them set few fields.

use crate::model::{Event, EventKind, NameIdx, TrackIdx};

/// Creates an event without value, arguments or flags.
pub(super) fn event(kind: EventKind, ts_ns: i64, track: TrackIdx, name: NameIdx) -> Event {
    Event { kind, ..Event::at(ts_ns, track, name) }
}
