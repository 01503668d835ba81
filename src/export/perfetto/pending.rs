//! Events of one time, which wait for each other: a flow is a field of its event.

use std::ops::Range;

use crate::formats::perfetto::write::FlowOf;
use crate::model::{Event, EventFlags, EventKind};

/// A buffered event of the current time.
pub(super) struct PendingEvent {
    pub(super) event: Event,
    /// Its range in `pending_blobs`.
    pub(super) blob: Range<usize>,
    pub(super) flows: Vec<FlowOf>,
    /// Index of the event that carries this event: itself, or the event that a flow point binds to. `None` once it is
    /// written or left to the end of a span.
    pub(super) carrier: Option<usize>,
}

pub(super) fn is_point(event: &Event) -> bool {
    matches!(event.kind, EventKind::FlowStart | EventKind::FlowStep | EventKind::FlowEnd)
}

/// Returns the depth of the innermost span around an instant.
pub(super) fn depth_around(event: &Event) -> Option<u16> {
    event.depth.checked_sub(1).filter(|_| event.kind == EventKind::Instant)
}

/// Returns whether an event is a flow point that leaves or passes through the span around it.
pub(super) fn goes_last(pending: &PendingEvent) -> bool {
    match pending.event.kind {
        EventKind::FlowStart | EventKind::FlowStep => true,
        EventKind::FlowEnd => pending.event.flags.has(EventFlags::BIND_ENCLOSING),
        EventKind::Complete
        | EventKind::Begin
        | EventKind::End
        | EventKind::Instant
        | EventKind::Counter
        | EventKind::AsyncBegin
        | EventKind::AsyncEnd
        | EventKind::AsyncInstant
        | EventKind::AsyncStepInto
        | EventKind::AsyncStepPast
        | EventKind::Sample
        | EventKind::State => false,
    }
}
