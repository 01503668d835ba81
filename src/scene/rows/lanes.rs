//! The lanes of one track, top to bottom: instants, samples, counters and spans. They are not stored, because the
//! position of a lane follows from the number of each kind.

use std::ops::Range;

use super::heights::RowHeights;
use crate::model::TrackIdx;
use crate::store::lane::{LaneIdx, LaneKind};

/// A lane with its position below the top of all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LaneRow {
    pub(crate) lane: LaneIdx,
    pub(crate) kind: LaneKind,
    /// Distance from the top of all rows.
    pub(crate) top_px: u64,
    pub(crate) height_px: u32,
}

/// The number of lanes of each kind of a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LanesOfTrack {
    pub(super) track: TrackIdx,
    pub(super) section_index: u32,
    /// The index among the rows of the header of the track's group, or [`NOWHERE`](super::NOWHERE).
    pub(super) head_index: u32,
    pub(super) first: u32,
    pub(super) instants: u32,
    pub(super) samples: u32,
    pub(super) counters: u32,
    pub(super) spans: u32,
    pub(super) folded: bool,
    pub(super) in_folded_group: bool,
    pub(super) hidden: bool,
    /// Number of counters that share the row; 0 for a single counter.
    pub(super) curves: u32,
}

impl LanesOfTrack {
    pub(super) fn shown_spans(&self) -> u32 {
        if self.folded { self.spans.min(1) } else { self.spans }
    }

    /// Returns the visible lanes, top to bottom: kind, number, and height of each.
    fn kinds(&self, heights: &RowHeights) -> [(LaneKind, u32, u32); 4] {
        [
            (LaneKind::Instants, self.instants, heights.instant_px),
            (LaneKind::Samples, self.samples, heights.instant_px),
            (LaneKind::Counter, self.counters, self.counter_px(heights)),
            (LaneKind::Spans, self.shown_spans(), heights.span_px),
        ]
    }

    /// Returns the height of a counter. A row of several counters also has a line for the name of each.
    fn counter_px(&self, heights: &RowHeights) -> u32 {
        match (self.folded, self.curves) {
            (true, _) => heights.instant_px,
            (false, 0) => heights.counter_px,
            (false, curves) => heights.counter_px + (curves + 1) * heights.legend_px,
        }
    }

    pub(super) fn height_px(&self, heights: &RowHeights) -> u32 {
        if self.hidden || self.in_folded_group {
            return 0;
        }
        let lanes_px = self.kinds(heights).map(|(_, count, height_px)| count.saturating_mul(height_px));
        let all_px = lanes_px.into_iter().fold(heights.padding_px * 2, u32::saturating_add);
        all_px.max(heights.track_min_px)
    }

    /// Returns the lanes that touch the pixels `within` of a track that starts at `top_px`.
    pub(super) fn within(&self, top_px: u64, within: Range<u64>, heights: &RowHeights) -> Vec<LaneRow> {
        let mut rows = Vec::new();
        let mut y_px = u64::from(heights.padding_px);
        let mut first = self.first;
        for (kind, count, height_px) in self.kinds(heights) {
            let height = u64::from(height_px);
            let from = within.start.saturating_sub(y_px) / height;
            let to = within.end.saturating_sub(y_px).div_ceil(height).min(u64::from(count));
            rows.extend((from..to).map(|number| LaneRow {
                lane: LaneIdx(first + number as u32),
                kind,
                top_px: top_px + y_px + number * height,
                height_px,
            }));
            y_px += u64::from(count) * height;
            first += count;
        }
        rows
    }

    pub(super) fn row(&self, lane: LaneIdx, top_px: u64, heights: &RowHeights) -> Option<LaneRow> {
        let mut number = lane.0.checked_sub(self.first)?;
        let mut y_px = top_px + u64::from(heights.padding_px);
        for (kind, count, height_px) in self.kinds(heights) {
            if number < count {
                let top_px = y_px + u64::from(number) * u64::from(height_px);
                return Some(LaneRow { lane, kind, top_px, height_px });
            }
            number -= count;
            y_px += u64::from(count) * u64::from(height_px);
        }
        None
    }
}

/// Returns the first of `range` for which `holds` returns false, given that it returns true for all before.
pub(super) fn partition_point(range: Range<u32>, holds: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
