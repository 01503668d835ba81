//! Converts the rows of an excerpt to events of a sorted trace, in time order, parents before children.
//!
//! Rows of slices of time are sorted in parallel. Others are merged one after the other: rows of very many lanes or of
//! one time, of a filter, and from outside of a part.

use std::{mem, vec};

use rayon::prelude::*;

use super::excerpt::{Excerpt, ExcerptRows};
use crate::model::{Event, EventFlags, EventKind, NameIdx, StackIdx, TrackIdx};
use crate::query::Snapshot;
use crate::query::row_slices::{LaneRun, RowSlice, RowSlices};
use crate::query::rows::SortedRow;
use crate::query::time_sort::{TimedValue, sort_by_time};
use crate::store::block::{BLOCK_ROWS, Row};
use crate::store::flow::{FlowBound, FlowPoint, FlowRole};
use crate::store::{DetailRef, LaneIdx, LaneKind};

/// Limit for the sorted rows with the same time: a trace may have equal times only.
const TIED_ROWS_MAX: usize = 64 * 1024;

/// Limit for the bytes of their details, where these are collected.
const TIED_DETAIL_BYTES_MAX: usize = 4 << 20;

/// Limits for the rows of a slice. A row takes about 100 bytes while it is sorted, and 32 then.
const SLICE_ROWS_MIN: usize = 2048;
const SLICE_ROWS_MAX: usize = 64 * 1024;

/// Slices of an export with few rows: each thread gets some, and the first bytes are written early.
const SLICES_MIN: u64 = 64;

/// Limit for the slices in progress, which take some 10 MiB each.
const SLICES_AT_ONCE_MAX: usize = 4;

/// Rows of a part that are merged one after the other.
const MERGED_ROWS: usize = 2048;

/// Returns whether rows with the same time are at a limit, so that no more are collected.
pub(super) fn is_tie_full(rows: usize, detail_bytes: usize) -> bool {
    rows >= TIED_ROWS_MAX || detail_bytes >= TIED_DETAIL_BYTES_MAX
}

/// Returns how many parts of an export are processed at once.
pub(super) fn parts_at_once() -> usize {
    rayon::current_num_threads().min(SLICES_AT_ONCE_MAX)
}

/// Consecutive rows of an excerpt in time order, whose details are not read yet.
#[derive(Debug, Default)]
pub(super) struct EventRun {
    /// [`Event::detail`] is 0, or a row of `details` counted from 1.
    pub(super) events: Vec<Event>,
    pub(super) details: Vec<DetailRef>,
}

/// An iteration over the rows of an excerpt.
pub(super) struct EventRuns<'a> {
    snapshot: &'a Snapshot,
    excerpt: &'a Excerpt,
    /// `None` after the last slice, and for rows that are not divided.
    slices: Option<RowSlices<'a>>,
    sorted: vec::IntoIter<EventRun>,
    /// One for each slice in progress.
    buffers: Vec<SortBuffers>,
    merged: Option<MergedRows<'a>>,
}

/// Memory to sort a slice, which the next one uses again.
#[derive(Debug, Default)]
struct SortBuffers {
    /// Events lane by lane.
    events: Vec<Event>,
    /// Their times and indices.
    order: Vec<TimedValue>,
    scratch: Vec<TimedValue>,
}

impl<'a> EventRuns<'a> {
    /// Starts with the rows of an excerpt.
    #[must_use]
    pub(super) fn new(snapshot: &'a Snapshot, excerpt: &'a Excerpt) -> Self {
        // With fewer rows, most blocks would be decoded for several slices.
        let rows_min = (excerpt.lanes.len() * BLOCK_ROWS).clamp(SLICE_ROWS_MIN, SLICE_ROWS_MAX);
        let slice_rows = (excerpt.count(snapshot) / SLICES_MIN).clamp(rows_min as u64, SLICE_ROWS_MAX as u64);
        Self::with_slices(snapshot, excerpt, slice_rows as usize)
    }

    fn with_slices(snapshot: &'a Snapshot, excerpt: &'a Excerpt, slice_rows: usize) -> Self {
        let slices = excerpt.slices(snapshot, slice_rows);
        let merged = slices.is_none().then(|| MergedRows::new(snapshot, excerpt));
        let mut buffers = Vec::new();
        buffers.resize_with(parts_at_once(), SortBuffers::default);
        Self { snapshot, excerpt, slices, sorted: Vec::new().into_iter(), buffers, merged }
    }

    fn sort_slices(&mut self) {
        let Some(slices) = &mut self.slices else { return };
        let ready: Vec<RowSlice> = slices.by_ref().take(self.buffers.len()).collect();
        if ready.is_empty() {
            let rest = slices.rest_from_ns();
            self.slices = None;
            self.merged = rest.map(|from_ns| MergedRows::from_time(self.snapshot, self.excerpt, from_ns));
            return;
        }
        let (snapshot, excerpt) = (self.snapshot, self.excerpt);
        let sorted =
            ready.par_iter().zip(&mut self.buffers).map(|(slice, buffers)| buffers.sort(snapshot, excerpt, slice));
        self.sorted = sorted.collect::<Vec<_>>().into_iter();
    }
}

impl Iterator for EventRuns<'_> {
    type Item = EventRun;

    fn next(&mut self) -> Option<EventRun> {
        while self.slices.is_some() {
            if let Some(run) = self.sorted.next() {
                return Some(run);
            }
            self.sort_slices();
        }
        let run = self.merged.as_mut()?.next_run();
        (!run.events.is_empty()).then_some(run)
    }
}

impl SortBuffers {
    /// Sorts the rows of a slice.
    fn sort(&mut self, snapshot: &Snapshot, excerpt: &Excerpt, slice: &RowSlice) -> EventRun {
        let Self { events: by_lane, order, scratch } = self;
        order.clear();
        let mut rows = EventRun { events: mem::take(by_lane), details: Vec::new() };
        rows.events.clear();
        slice.each_run(snapshot.store(), |LaneRun { lane, rows: of_lane, is_unfinished }| {
            let lane = EventLane::new(snapshot, lane);
            let last = of_lane.len() - 1;
            for (number, row) in of_lane.iter().enumerate() {
                order.push(TimedValue { ts_ns: row.start_ns, value: rows.events.len() as u64 });
                let is_outside = excerpt.starts_outside(row.start_ns);
                rows.push(lane.event(row, is_unfinished && number == last, is_outside));
            }
        });
        sort_by_time(order, scratch);
        let mut events: Vec<Event> = order.iter().map(|row| rows.events[row.value as usize]).collect();
        *by_lane = rows.events;
        let of_one_time = events.chunk_by_mut(|a, b| a.ts_ns == b.ts_ns);
        of_one_time.filter(|tied| tied.len() > 1).for_each(sort_tied);
        EventRun { events, details: rows.details }
    }
}

impl EventRun {
    fn push(&mut self, (event, detail): (Event, DetailRef)) {
        let detail = if detail == DetailRef(0) {
            0
        } else {
            self.details.push(detail);
            self.details.len() as u32
        };
        self.events.push(Event { detail, ..event });
    }
}

/// Sorts points between the spans around them, among events of one time.
fn sort_tied(tied: &mut [Event]) {
    tied.chunks_mut(TIED_ROWS_MAX).for_each(|tied| tied.sort_by_key(tie_key));
}

/// A merge of the rows of an excerpt.
struct MergedRows<'a> {
    snapshot: &'a Snapshot,
    excerpt: &'a Excerpt,
    /// Rows from outside of the excerpt that it needs, in time order.
    outside: &'a [SortedRow],
    rows: ExcerptRows<'a>,
}

impl<'a> MergedRows<'a> {
    fn new(snapshot: &'a Snapshot, excerpt: &'a Excerpt) -> Self {
        Self { snapshot, excerpt, outside: &excerpt.outside, rows: excerpt.rows(snapshot) }
    }

    /// Starts with the first row that starts at or after a time, which may be before the excerpt.
    fn from_time(snapshot: &'a Snapshot, excerpt: &'a Excerpt, from_ns: i64) -> Self {
        let mut merged = Self { rows: excerpt.rows_from(snapshot, from_ns), ..Self::new(snapshot, excerpt) };
        while merged.next_start_ns().is_some_and(|start_ns| start_ns < from_ns) {
            merged.next_row();
        }
        merged
    }

    /// Returns the next rows; none after the last one.
    fn next_run(&mut self) -> EventRun {
        let mut run = EventRun::default();
        while run.events.len() < MERGED_ROWS
            && let Some(start_ns) = self.next_start_ns()
        {
            let first = run.events.len();
            while run.events.len() - first < TIED_ROWS_MAX && self.next_start_ns() == Some(start_ns) {
                let Some((row, is_outside)) = self.next_row() else { break };
                let lane = EventLane::new(self.snapshot, row.index.lane);
                run.push(lane.event(&row.row, row.unfinished, is_outside));
            }
            sort_tied(&mut run.events[first..]);
        }
        run
    }

    /// Returns the next row, and whether it lies outside of the excerpt.
    fn next_row(&mut self) -> Option<(SortedRow, bool)> {
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

/// The properties of a lane that its events have.
#[derive(Clone, Copy)]
struct EventLane {
    kind: LaneKind,
    track: TrackIdx,
    depth: u16,
}

impl EventLane {
    fn new(snapshot: &Snapshot, lane: LaneIdx) -> Self {
        let info = snapshot.lane(lane);
        Self { kind: info.kind, track: info.track, depth: info.depth }
    }

    /// Converts a row to the event of a sorted trace, with its depth, so that it is not nested again. Returns it with
    /// the reference to its details.
    fn event(self, row: &Row, is_unfinished: bool, is_outside: bool) -> (Event, DetailRef) {
        let event = Event::at(row.start_ns, self.track, NameIdx(row.name));
        let mut event = match self.kind {
            LaneKind::Spans => event.span(row.value, is_unfinished).placed(self.depth),
            LaneKind::Instants => event.placed(row.instant_depth()),
            LaneKind::Samples => event.sample(StackIdx::from_value(row.value)).placed(0),
            LaneKind::Counter => event.counter(f64::from_bits(row.value)).placed(0),
            LaneKind::Flows => {
                let point = FlowPoint::from_bits(row.detail);
                let kind = match point.role {
                    FlowRole::Start => EventKind::FlowStart,
                    FlowRole::Step => EventKind::FlowStep,
                    FlowRole::End => EventKind::FlowEnd,
                };
                event.flow(kind, row.value, point.binds_enclosing).placed(point.placed_depth())
            }
        };
        if is_outside {
            event.flags = event.flags.with(EventFlags::OUTSIDE);
        }
        (event, DetailRef(if self.kind == LaneKind::Flows { 0 } else { row.detail }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::cancel::Cancel;
    use crate::export::read_ahead::tests::trace;
    use crate::export::{ExportFormat, ExportOptions};
    use crate::scene::tests::snapshot;

    #[test]
    fn an_instant_in_more_spans_than_the_deepest_is_at_the_deepest() {
        let lane = EventLane { kind: LaneKind::Instants, track: TrackIdx(0), depth: 0 };
        for (value, depth) in [(3, 3), (65_536, u16::MAX)] {
            let row = Row { start_ns: 1, value, detail: 0, name: 0 };
            assert_eq!(lane.event(&row, false, false).0.depth, depth);
        }
    }

    /// Returns the events with the references to their details.
    fn events(runs: impl Iterator<Item = EventRun>) -> Vec<(Event, DetailRef)> {
        let of_run = |run: EventRun| {
            let detail =
                |event: &Event| event.detail.checked_sub(1).map_or(DetailRef(0), |row| run.details[row as usize]);
            run.events.iter().map(|event| (Event { detail: 0, ..*event }, detail(event))).collect::<Vec<_>>()
        };
        runs.flat_map(of_run).collect()
    }

    /// Returns the excerpts of the whole trace and of a part of it.
    fn excerpts(snapshot: &Snapshot) -> Vec<Excerpt> {
        let of_range = |(from_ns, to_ns)| {
            let mut options = ExportOptions::whole(ExportFormat::Native { compact: true });
            (options.scope.from_ns, options.scope.to_ns) = (from_ns, to_ns);
            let mut excerpt = Excerpt::new(snapshot, &options, &Cancel::default()).unwrap();
            excerpt.outside.clear();
            excerpt
        };
        [(None, None), (Some(300_000), Some(900_000))].map(of_range).into()
    }

    fn merged(snapshot: &Snapshot, excerpt: &Excerpt) -> Vec<(Event, DetailRef)> {
        let mut rows = MergedRows::new(snapshot, excerpt);
        events(std::iter::from_fn(|| Some(rows.next_run()).filter(|run| !run.events.is_empty())))
    }

    #[test]
    fn rows_sorted_in_slices_come_as_merged_ones_for_any_number_of_threads() {
        let snapshot = trace();
        for excerpt in excerpts(&snapshot) {
            let expected = merged(&snapshot, &excerpt);
            assert!(expected.len() > 1000);
            for (threads, slice_rows) in [(1, 1), (1, 200), (3, 100), (3, 1000), (8, 300)] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let sorted = pool.install(|| events(EventRuns::with_slices(&snapshot, &excerpt, slice_rows)));
                assert!(sorted == expected, "{threads} threads, {slice_rows} rows");
            }
        }
    }

    #[test]
    fn rows_after_too_many_of_one_time_are_merged() {
        let span = |number: u64| {
            let ts = if (500..2500).contains(&number) { 500 } else { number };
            format!(r#"{{"ph":"X","name":"a","pid":1,"tid":{},"ts":{ts},"dur":0}}"#, number % 3)
        };
        let json: Vec<String> = (0..3000).map(span).collect();
        let snapshot = snapshot(&format!("[{}]", json.join(",")));
        for excerpt in excerpts(&snapshot) {
            let mut runs = EventRuns::with_slices(&snapshot, &excerpt, 64);
            let sorted = events(&mut runs);
            assert!(runs.merged.is_some() && sorted == merged(&snapshot, &excerpt), "{} rows", sorted.len());
        }
    }

    #[test]
    fn as_many_slices_are_sorted_at_once_as_there_are_threads_up_to_a_limit() {
        let snapshot = trace();
        let options = ExportOptions::whole(ExportFormat::Native { compact: true });
        let excerpt = Excerpt::new(&snapshot, &options, &Cancel::default()).unwrap();
        for (threads, expected) in [(1, 1), (3, 3), (8, SLICES_AT_ONCE_MAX)] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let ready = pool.install(|| {
                let mut runs = EventRuns::with_slices(&snapshot, &excerpt, 100);
                runs.next();
                runs.sorted.len() + 1
            });
            assert_eq!(ready, expected, "{threads} threads");
        }
    }
}
