//! The rows of a store as events of a sorted capture, in order of time, parents before their children. Chooses tracks and
//! a time range; writes nothing.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::ops::Range;

use regex::Regex;

use super::ExportOptions;
use crate::model::{Event, EventFlags, EventKind, NameIdx, TrackIdx};
use crate::query::Snapshot;
use crate::query::cursor::LaneCursor;
use crate::query::rows::{SortedRow, SortedRows};
use crate::store::details::DetailReader;
use crate::store::flow::{FlowPoint, FlowRole};
use crate::store::{DetailRef, LaneIdx, LaneKind, RowIdx};

/// Details are kept in the order in which spans ended, and read in that in which they began: apart by depth, each
/// reader goes through its blocks once. Deeper spans share the last reader.
const DETAIL_READERS: usize = 24;

/// The most rows of one time that are put in order: those of a capture in which all times are equal are more than fit.
const TIED_ROWS_MAX: usize = 64 * 1024;

/// The rows that are exported.
pub struct ExportRows<'a> {
    snapshot: &'a Snapshot,
    /// What a counter was before the time range begins, in order of time.
    held: Peekable<std::vec::IntoIter<SortedRow>>,
    rows: Peekable<SortedRows<'a>>,
    readers: Vec<DetailReader>,
    count: u64,
    /// Events of one time, with where their details stand in `tied_blobs`.
    tied: VecDeque<(Event, Range<usize>)>,
    tied_blobs: Vec<u8>,
}

impl<'a> ExportRows<'a> {
    /// The rows that `options` ask for.
    #[must_use]
    pub fn new(snapshot: &'a Snapshot, options: &ExportOptions) -> Self {
        let (from_ns, to_ns) = (options.from_ns.unwrap_or(i64::MIN), options.to_ns.unwrap_or(i64::MAX));
        let lanes: Vec<LaneIdx> = snapshot
            .capture_lanes()
            .filter(|&lane| {
                options.track.as_ref().is_none_or(|track| matches(snapshot, snapshot.lane(lane).track, track))
            })
            .collect();
        let mut held: Vec<SortedRow> = lanes.iter().filter_map(|&lane| held_value(snapshot, lane, from_ns)).collect();
        held.sort_by_key(|row| row.row.start_ns);
        let in_range = |&lane: &LaneIdx| {
            let mut cursor = LaneCursor::new(snapshot, lane);
            cursor.first_from(to_ns).row.saturating_sub(cursor.first_from(from_ns).row)
        };
        let count = lanes.iter().map(in_range).sum::<u64>() + held.len() as u64;
        Self {
            snapshot,
            held: held.into_iter().peekable(),
            rows: SortedRows::new(snapshot, lanes, from_ns, to_ns).peekable(),
            readers: (0..DETAIL_READERS).map(|_| DetailReader::default()).collect(),
            count,
            tied: VecDeque::new(),
            tied_blobs: Vec::new(),
        }
    }

    /// About how many rows there are: spans that begin before the range are not counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The next row as an event, with the blob of its details.
    pub fn next_event(&mut self) -> Option<(Event, &[u8])> {
        if self.tied.is_empty() {
            self.tied_blobs.clear();
            let row = self.next_row()?;
            if self.next_start_ns() != Some(row.row.start_ns) {
                return Some(self.event(&row));
            }
            self.tie(row);
        }
        let (event, blob) = self.tied.pop_front()?;
        Some((event, &self.tied_blobs[blob]))
    }

    /// Gathers the rows of one time, and puts points in time between the spans that they stand between.
    fn tie(&mut self, first: SortedRow) {
        let mut next = Some(first);
        while let Some(row) = next {
            let (event, blob) = self.event(&row);
            let blob = blob.to_vec();
            let start = self.tied_blobs.len();
            self.tied_blobs.extend_from_slice(&blob);
            self.tied.push_back((event, start..self.tied_blobs.len()));
            let more = self.tied.len() < TIED_ROWS_MAX && self.next_start_ns() == Some(first.row.start_ns);
            next = if more { self.next_row() } else { None };
        }
        self.tied.make_contiguous().sort_by_key(|(event, _)| match event.kind {
            EventKind::Complete => (event.depth, true),
            // The depth is how many spans are around it.
            _ => (event.depth, false),
        });
    }

    fn next_row(&mut self) -> Option<SortedRow> {
        let is_held_next = match (self.held.peek(), self.rows.peek()) {
            (Some(held), Some(row)) => held.row.start_ns <= row.row.start_ns,
            (held, _) => held.is_some(),
        };
        if is_held_next { self.held.next() } else { self.rows.next() }
    }

    fn next_start_ns(&mut self) -> Option<i64> {
        let starts = [self.held.peek(), self.rows.peek()].map(|row| row.map(|row| row.row.start_ns));
        starts.into_iter().flatten().min()
    }

    fn event(&mut self, row: &SortedRow) -> (Event, &[u8]) {
        let lane = self.snapshot.lane(row.index.lane);
        let event = event_of(row, lane.track, lane.depth);
        if row.kind == LaneKind::Flows || row.row.detail == 0 {
            return (event, &[]);
        }
        let reader = &mut self.readers[usize::from(lane.depth).min(DETAIL_READERS - 1)];
        (event, self.snapshot.store().detail(DetailRef(row.row.detail), reader))
    }
}

/// A row as the event of a sorted capture: its depth is known, so that it is not nested again.
fn event_of(row: &SortedRow, track: TrackIdx, depth: u16) -> Event {
    let kept = &row.row;
    let (kind, value, depth, flags) = match row.kind {
        LaneKind::Spans => {
            let unfinished = if row.unfinished { EventFlags::UNFINISHED } else { EventFlags::NONE };
            (EventKind::Complete, kept.value, depth, unfinished)
        }
        LaneKind::Instants => (EventKind::Instant, 0, kept.value as u16, EventFlags::NONE),
        LaneKind::Samples => (EventKind::Sample, kept.value, 0, EventFlags::NONE),
        LaneKind::Counter => (EventKind::Counter, kept.value, 0, EventFlags::NONE),
        LaneKind::Flows => {
            let point = FlowPoint::from_bits(kept.detail);
            let kind = match point.role {
                FlowRole::Start => EventKind::FlowStart,
                FlowRole::Step => EventKind::FlowStep,
                FlowRole::End => EventKind::FlowEnd,
            };
            let flags = if point.binds_enclosing { EventFlags::BIND_ENCLOSING } else { EventFlags::NONE };
            // 0: there is no span around it.
            (kind, kept.value, point.depth.map_or(0, |depth| depth.saturating_add(1)), flags)
        }
    };
    let flags = flags.with(EventFlags::PLACED);
    Event { ts_ns: kept.start_ns, value, track, name: NameIdx(kept.name), detail: 0, depth, kind, flags }
}

/// The last value of a counter before `from_ns`.
fn held_value(snapshot: &Snapshot, lane: LaneIdx, from_ns: i64) -> Option<SortedRow> {
    let kind = snapshot.lane(lane).kind;
    if kind != LaneKind::Counter {
        return None;
    }
    let mut cursor = LaneCursor::new(snapshot, lane);
    let row = cursor.first_from(from_ns).row.checked_sub(1)?;
    Some(SortedRow { index: RowIdx { lane, row }, kind, row: cursor.row(row)?, unfinished: false })
}

/// Whether a track's name, its process's name, or an id of either has a match.
fn matches(snapshot: &Snapshot, track: TrackIdx, expression: &Regex) -> bool {
    let track = snapshot.track(track);
    let process = snapshot.tracks().processes.get(track.process.index());
    expression.is_match(&track.name)
        || process.is_some_and(|process| expression.is_match(&process.name))
        || [&track.key.pid, &track.key.tid].into_iter().any(|id| expression.is_match(&id.to_string()))
}
