//! Converts the rows of an excerpt to events of a sorted trace, in time order, parents before children.

use std::collections::VecDeque;
use std::ops::Range;

use super::excerpt::{Excerpt, ExcerptRows};
use crate::model::{Event, EventFlags, EventKind, NameIdx, StackIdx, TrackIdx};
use crate::query::Snapshot;
use crate::query::rows::SortedRow;
use crate::store::details::DetailReader;
use crate::store::flow::{FlowBound, FlowPoint, FlowRole};
use crate::store::{DetailRef, LaneKind};

/// Details are stored in order of end but read in order of begin: with a reader per depth, each reads its blocks once.
/// Deeper spans share the last reader.
const DETAIL_READERS: usize = 24;

/// Limit for the sorted rows with the same time: a trace may have equal times only.
const TIED_ROWS_MAX: usize = 64 * 1024;

/// Limit for the bytes of their details.
const TIED_DETAIL_BYTES_MAX: usize = 4 << 20;

/// Returns whether rows with the same time are at a limit, so that no more are collected.
pub(super) fn is_tie_full(rows: usize, detail_bytes: usize) -> bool {
    rows >= TIED_ROWS_MAX || detail_bytes >= TIED_DETAIL_BYTES_MAX
}

/// A row, and whether it lies outside of the excerpt.
type RowWithOutside = (SortedRow, bool);

/// An iteration over the rows of an excerpt.
pub(crate) struct ExportRows<'a> {
    snapshot: &'a Snapshot,
    excerpt: &'a Excerpt,
    /// Rows from outside of the excerpt that it needs, in time order.
    outside: &'a [SortedRow],
    rows: ExcerptRows<'a>,
    readers: Vec<DetailReader>,
    /// Events with the same time, with the ranges of their details in `tied_blobs`.
    tied: VecDeque<(Event, Range<usize>)>,
    tied_blobs: Vec<u8>,
}

impl<'a> ExportRows<'a> {
    /// Starts with the rows of an excerpt.
    #[must_use]
    pub(crate) fn new(snapshot: &'a Snapshot, excerpt: &'a Excerpt) -> Self {
        Self {
            snapshot,
            excerpt,
            outside: &excerpt.outside,
            rows: excerpt.rows(snapshot),
            readers: (0..DETAIL_READERS).map(|_| DetailReader::default()).collect(),
            tied: VecDeque::new(),
            tied_blobs: Vec::new(),
        }
    }

    /// Returns the next row as an event, with the blob of its details.
    pub(crate) fn next_event(&mut self) -> Option<(Event, &[u8])> {
        if self.tied.is_empty() {
            self.tied_blobs.clear();
            let row = self.next_row()?;
            if self.next_start_ns() != Some(row.0.row.start_ns) {
                return Some(self.event(&row));
            }
            self.tie(row);
        }
        let (event, blob) = self.tied.pop_front()?;
        Some((event, &self.tied_blobs[blob]))
    }

    /// Collects the rows with the same time, and sorts points between the spans around them.
    fn tie(&mut self, first: RowWithOutside) {
        let mut next = Some(first);
        while let Some(row) = next {
            let (event, blob) = self.event(&row);
            let blob = blob.to_vec();
            let start = self.tied_blobs.len();
            self.tied_blobs.extend_from_slice(&blob);
            self.tied.push_back((event, start..self.tied_blobs.len()));
            let is_full = is_tie_full(self.tied.len(), self.tied_blobs.len());
            let more = !is_full && self.next_start_ns() == Some(first.0.row.start_ns);
            next = if more { self.next_row() } else { None };
        }
        self.tied.make_contiguous().sort_by_key(|(event, _)| tie_key(event));
    }

    fn next_row(&mut self) -> Option<RowWithOutside> {
        if let Some(outside) = self.outside.first()
            && self.rows.next_start_ns().is_none_or(|row_ns| outside.row.start_ns <= row_ns)
        {
            self.outside = &self.outside[1..];
            return Some((*outside, true));
        }
        self.rows.next().map(|row| (row, self.excerpt.starts_outside(row.row.start_ns)))
    }

    fn next_start_ns(&mut self) -> Option<i64> {
        let row_ns = self.rows.next_start_ns();
        let Some(outside) = self.outside.first() else { return row_ns };
        Some(row_ns.map_or(outside.row.start_ns, |row_ns| row_ns.min(outside.row.start_ns)))
    }

    fn event(&mut self, (row, is_outside): &RowWithOutside) -> (Event, &[u8]) {
        let lane = self.snapshot.lane(row.index.lane);
        let mut event = event_of(row, lane.track, lane.depth);
        if event.kind == EventKind::Sample {
            event.value = self.snapshot.stack(StackIdx::from_value(event.value)).0.into();
        }
        if *is_outside {
            event.flags = event.flags.with(EventFlags::OUTSIDE);
        }
        if row.kind == LaneKind::Flows || row.row.detail == 0 {
            return (event, &[]);
        }
        let reader = &mut self.readers[usize::from(lane.depth).min(DETAIL_READERS - 1)];
        (event, self.snapshot.store().detail(DetailRef(row.row.detail), reader))
    }
}

/// Returns the sort key of an event among events of one time: its depth, then an order by kind.
fn tie_key(event: &Event) -> (u16, u8) {
    match event.kind {
        EventKind::Complete => (event.depth, 3),
        EventKind::FlowStart | EventKind::FlowStep | EventKind::FlowEnd => {
            let point = FlowPoint::from_event(event, None);
            // Readers of Chrome JSON bind a start or a step after an instant to that instant.
            let is_bound_by_place = point.bound == FlowBound::Time && event.kind != EventKind::FlowEnd;
            let order = if is_bound_by_place { 0 } else { 2 };
            // The depth is the number of spans around it.
            (point.depth.map_or(0, |depth| depth.saturating_add(1)), order)
        }
        _ => (event.depth, 1),
    }
}

/// Converts a row to the event of a sorted trace, with its depth, so that it is not nested again.
fn event_of(row: &SortedRow, track: TrackIdx, depth: u16) -> Event {
    let stored_row = &row.row;
    let event = Event::at(stored_row.start_ns, track, NameIdx(stored_row.name));
    match row.kind {
        LaneKind::Spans => event.span(stored_row.value, row.unfinished).placed(depth),
        LaneKind::Instants => event.placed(stored_row.instant_depth()),
        LaneKind::Samples => event.sample(StackIdx::from_value(stored_row.value)).placed(0),
        LaneKind::Counter => event.counter(f64::from_bits(stored_row.value)).placed(0),
        LaneKind::Flows => {
            let point = FlowPoint::from_bits(stored_row.detail);
            let kind = match point.role {
                FlowRole::Start => EventKind::FlowStart,
                FlowRole::Step => EventKind::FlowStep,
                FlowRole::End => EventKind::FlowEnd,
            };
            event.flow(kind, stored_row.value, point.binds_enclosing).placed(point.placed_depth())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::block::Row;
    use crate::store::{LaneIdx, RowIdx};

    #[test]
    fn an_instant_in_more_spans_than_the_deepest_is_at_the_deepest() {
        for (value, depth) in [(3, 3), (65_536, u16::MAX)] {
            let row = Row { start_ns: 1, value, detail: 0, name: 0 };
            let index = RowIdx { lane: LaneIdx(0), row: 0 };
            let row = SortedRow { index, kind: LaneKind::Instants, row, unfinished: false };
            assert_eq!(event_of(&row, TrackIdx(0), 0).depth, depth);
        }
    }
}
