//! The events that are generated, before they have values.

use crate::model::{Event, EventKind, NameIdx, TrackIdx};

/// An event without value, arguments or flags.
pub(super) fn event(kind: EventKind, ts_ns: i64, track: TrackIdx, name: NameIdx) -> Event {
    Event { kind, ..Event::at(ts_ns, track, name) }
}
