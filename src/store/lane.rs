//! The words of the store: lanes and the rows in them.

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

use crate::model::{NameIdx, TrackIdx};

/// A row of the store's table of lanes. The lanes of one track are neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Pod, Zeroable, Serialize, Deserialize)]
#[repr(transparent)]
pub struct LaneIdx(pub u32);

impl LaneIdx {
    /// The position in an array.
    #[must_use]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The kind of rows in a lane. The lanes of a track are in this order, and its span lanes by depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum LaneKind {
    /// Points in time; durations are 0.
    Instants,
    /// Points in time at which a call stack was seen; durations are 0.
    Samples,
    /// The values of a counter, each until the next.
    Counter,
    /// Spans of one depth: sorted by start, never overlapping.
    Spans,
    /// Ends of flows: not drawn as rows.
    Flows,
}

impl LaneKind {
    /// The code of the kind in the file.
    #[must_use]
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    /// The kind of a code in the file; an unknown code reads as flows, which are not drawn.
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

/// The position of the arguments of a row; 0: it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DetailRef(pub u64);

/// One row of a lane of spans or instants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    /// Start, in nanoseconds of the capture's clock.
    pub(crate) start_ns: i64,
    /// Duration in nanoseconds; for an unfinished span, up to the end of its track.
    pub(crate) dur_ns: u64,
    /// The index of its name and category.
    pub(crate) name: NameIdx,
    pub(crate) detail: DetailRef,
    /// Whether its end is not in the capture.
    pub(crate) unfinished: bool,
}

impl Span {
    /// The first nanosecond after the span.
    #[must_use]
    pub(crate) fn end_ns(&self) -> i64 {
        self.start_ns.saturating_add_unsigned(self.dur_ns)
    }
}

/// A row of a lane: what a click selects and a link jumps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowIdx {
    /// The lane that holds the row.
    pub lane: LaneIdx,
    /// The row within it, from 0, in time order.
    pub row: u64,
}

/// The properties of a lane that need no access to its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneInfo {
    /// The track that it belongs to.
    pub track: TrackIdx,
    /// The kind of its rows.
    pub kind: LaneKind,
    /// The nesting depth, for spans.
    pub depth: u16,
    pub(crate) rows: u64,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
}
