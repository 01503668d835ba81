//! Lanes, rows and their indices: the vocabulary of the store.

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

use crate::model::{NameIdx, TrackIdx};

/// Index into the store's table of lanes. The lanes of a track are contiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Pod, Zeroable, Serialize, Deserialize)]
#[repr(transparent)]
pub struct LaneIdx(pub u32);

impl LaneIdx {
    /// Converts to an array index.
    #[must_use]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The kind of rows in a lane. The lanes of a track are sorted by kind, and its span lanes by depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum LaneKind {
    /// Points in time; durations are 0.
    Instants,
    /// Points in time with a call stack; durations are 0.
    Samples,
    /// Counter values, each valid until the next.
    Counter,
    /// Spans of one depth: sorted by start, never overlapping.
    Spans,
    /// Flow points, which are not drawn as rows.
    Flows,
}

impl LaneKind {
    /// Returns the code of the kind in the file.
    #[must_use]
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    /// Decodes the kind; an unknown code reads as flows, which are not drawn.
    #[must_use]
    pub(crate) fn from_code(code: u8) -> Self {
        match code {
            0 => Self::Instants,
            1 => Self::Samples,
            2 => Self::Counter,
            3 => Self::Spans,
            _ => Self::Flows,
        }
    }
}

/// Reference to the arguments of a row; 0 for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DetailRef(pub u64);

/// One row of a lane of spans or instants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    /// Start, in nanoseconds of the trace's clock.
    pub(crate) start_ns: i64,
    /// Duration in nanoseconds; for an unfinished span, up to the end of its track.
    pub(crate) dur_ns: u64,
    /// Index of its name and category.
    pub(crate) name: NameIdx,
    pub(crate) detail: DetailRef,
    /// Whether its end is missing from the trace.
    pub(crate) unfinished: bool,
}

impl Span {
    /// Returns the first nanosecond after the span.
    #[must_use]
    pub(crate) fn end_ns(&self) -> i64 {
        self.start_ns.saturating_add_unsigned(self.dur_ns)
    }
}

/// Index of a row: what a click selects and a link navigates to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowIdx {
    /// The lane that holds the row.
    pub lane: LaneIdx,
    /// Index of the row in the lane, in time order.
    pub row: u64,
}

/// The properties of a lane that need no access to its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneInfo {
    /// The track of the lane.
    pub track: TrackIdx,
    /// The kind of its rows.
    pub kind: LaneKind,
    /// The nesting depth, for spans.
    pub depth: u16,
    pub(crate) rows: u64,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
}
