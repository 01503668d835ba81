//! The events that are generated, before they have values.

use crate::model::{Event, EventFlags, EventKind, NameIdx, TrackIdx};

/// An event without value, arguments or flags.
pub(super) fn event(kind: EventKind, ts_ns: i64, track: TrackIdx, name: NameIdx) -> Event {
    Event { ts_ns, value: 0, track, name, detail: 0, depth: 0, kind, flags: EventFlags::NONE }
}
