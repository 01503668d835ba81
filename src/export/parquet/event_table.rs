//! The event tables, one per kind of row with a `ts`.

use crate::model::{Event, Payload};

/// A table of the events of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventTable {
    Spans,
    Instants,
    Counters,
    Flows,
    Samples,
}

impl EventTable {
    pub(super) const ALL: [Self; 5] = [Self::Spans, Self::Instants, Self::Counters, Self::Flows, Self::Samples];

    pub(super) fn from_event(event: &Event) -> Self {
        match event.payload() {
            Payload::Span { .. } => Self::Spans,
            Payload::Counter(_) => Self::Counters,
            Payload::Flow { .. } => Self::Flows,
            Payload::Sample(_) => Self::Samples,
            // Stores have no begins, ends, async events or states: these have become spans.
            Payload::Instant
            | Payload::Begin { .. }
            | Payload::End { .. }
            | Payload::Async(_)
            | Payload::State { .. } => Self::Instants,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Spans => "spans",
            Self::Instants => "instants",
            Self::Counters => "counters",
            Self::Flows => "flows",
            Self::Samples => "samples",
        }
    }
}
