//! The tables of events, one for each kind of row with a `ts`.

use crate::model::{Event, EventKind};

/// A table of the events of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    Spans,
    Instants,
    Counters,
    Flows,
    Samples,
}

impl Table {
    pub(super) const ALL: [Self; 5] = [Self::Spans, Self::Instants, Self::Counters, Self::Flows, Self::Samples];

    pub(super) fn of(event: &Event) -> Self {
        match event.kind {
            EventKind::Instant => Self::Instants,
            EventKind::Counter => Self::Counters,
            EventKind::FlowStart | EventKind::FlowStep | EventKind::FlowEnd => Self::Flows,
            EventKind::Sample => Self::Samples,
            _ => Self::Spans,
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
