//! The tracks of a running trace: rows in, and out into a growing store. Each track has a window of rows that may still
//! move, and lanes of settled rows.

use std::collections::BTreeMap;
use std::io;

use super::density::LiveDensity;
use super::placing::{OpenRow, PlacedRow, TrackWindow, WindowRow, WindowValue};
use crate::ingest::flame::{FlameChart, FlameSpan};
use crate::model::{StackIdx, Stacks, TrackIdx};
use crate::store::flow::FlowPoint;
use crate::store::growing::GrowingStore;
use crate::store::{LaneIdx, LaneKind, Row};

/// Limit for the lanes of late spans. Beyond it, a span is left to the final sort.
const LATE_LANES_MAX: usize = 256;

/// Limit for the spans of a track without an end, each of which is placed again in each snapshot. Beyond it, a span
/// lasts until its arrival.
const ENDLESS_MAX: usize = 4096;

/// A track with its lanes.
#[derive(Debug, Default)]
pub(super) struct LiveTrack {
    window: TrackWindow,
    /// Number of spans without an end.
    endless: usize,
    spans: Vec<LaneIdx>,
    /// Lanes of late spans, with their ends.
    late: Vec<(LaneIdx, i64)>,
    instants: Option<LaneIdx>,
    flows: Option<LaneIdx>,
    /// Values of a counter, or samples.
    points: Option<Points>,
    /// Buffers for the rows of each lane.
    placed: Vec<MovingRows>,
    placed_instants: Vec<Row>,
    placed_flows: Vec<Row>,
    /// Times of moving rows that are counted on the minimap.
    counted: Vec<(i64, i64)>,
    /// Whether the next snapshot has to place the window.
    pub(super) is_changed: bool,
}

/// Values of a counter, or samples, in their lane.
#[derive(Debug)]
struct Points {
    lane: LaneIdx,
    /// Whether they are counted on the minimap: samples are, values are not.
    is_on_map: bool,
    /// Rows that may still move.
    rows: Vec<Row>,
    is_sorted: bool,
    settled_to_ns: Option<i64>,
}

/// The moving rows of a lane.
#[derive(Debug, Default)]
struct MovingRows {
    rows: Vec<Row>,
    /// Whether the last row is a span that has not ended.
    is_open: bool,
}

/// A chart of samples, with its lanes.
#[derive(Debug, Default)]
pub(super) struct LiveChart {
    chart: FlameChart,
    lanes: Vec<LaneIdx>,
    last_ns: Option<i64>,
    spans: Vec<FlameSpan>,
    is_changed: bool,
}

/// The placement of a row in the snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Added {
    InWindow,
    /// It arrived too late, and is shown separately.
    Apart,
    /// It arrived too late, and is shown when the trace is sorted.
    LeftOut,
}

/// The open spans of each track.
pub(super) type OpenRows = BTreeMap<TrackIdx, Vec<OpenRow>>;

impl LiveTrack {
    /// Number of rows that may still move.
    pub(super) fn window_len(&self) -> usize {
        self.window.len() + self.points.as_ref().map_or(0, |points| points.rows.len())
    }

    /// Adds a span, an instant or a flow point. Returns the I/O error of a failed write.
    pub(super) fn add(&mut self, store: &mut GrowingStore, track: TrackIdx, row: WindowRow) -> io::Result<Added> {
        self.is_changed = true;
        let Err(late) = self.window.add(row) else { return Ok(Added::InWindow) };
        let Some(end_ns) = late.end_ns() else { return Ok(Added::LeftOut) };
        let free = self.late.iter().position(|(_, lane_end_ns)| *lane_end_ns <= late.start_ns);
        let lane = match free {
            Some(free) => {
                self.late[free].1 = end_ns;
                self.late[free].0
            }
            None if self.late.len() >= LATE_LANES_MAX => return Ok(Added::LeftOut),
            None => {
                let lane = store.add_lane(track, LaneKind::Spans, u16::MAX)?;
                self.late.push((lane, end_ns));
                lane
            }
        };
        store.push(lane, span_row(&late))?;
        Ok(Added::Apart)
    }

    /// Adds a span that has no end. Returns false if it is late, or one of too many.
    pub(super) fn add_endless(&mut self, open: OpenRow) -> bool {
        let is_added = self.endless < ENDLESS_MAX && self.window.add_endless(open).is_ok();
        self.endless += usize::from(is_added);
        self.is_changed |= is_added;
        is_added
    }

    /// Adds a counter value or a sample. Returns the I/O error of a failed write.
    pub(super) fn add_point(
        &mut self,
        store: &mut GrowingStore,
        (track, kind): (TrackIdx, LaneKind),
        row: Row,
    ) -> io::Result<Added> {
        let points = match &mut self.points {
            Some(points) => points,
            none => {
                let lane = store.add_lane(track, kind, 0)?;
                let is_on_map = kind == LaneKind::Samples;
                none.insert(Points { lane, is_on_map, rows: Vec::new(), is_sorted: true, settled_to_ns: None })
            }
        };
        if points.settled_to_ns.is_some_and(|settled_ns| row.start_ns < settled_ns) {
            return Ok(Added::LeftOut);
        }
        self.is_changed = true;
        points.is_sorted &= points.rows.last().is_none_or(|last| last.start_ns <= row.start_ns);
        points.rows.push(row);
        Ok(Added::InWindow)
    }

    /// Returns the time at which settling halves the window.
    pub(super) fn middle_ns(&mut self) -> Option<i64> {
        let of_points = self.points.as_mut().and_then(|points| {
            points.sort();
            points.rows.get(points.rows.len() / 2).map(|row| row.start_ns)
        });
        self.window.middle_ns().max(of_points)
    }

    /// Settles all rows that start before `to_ns`. Returns the I/O error of a failed write.
    pub(super) fn settle(
        &mut self,
        (store, density): (&mut GrowingStore, &mut LiveDensity),
        track: TrackIdx,
        to_ns: i64,
        open: &OpenRows,
    ) -> io::Result<()> {
        let mut open = open.get(&track).cloned().unwrap_or_default();
        let mut written = Ok(());
        let mut window = std::mem::take(&mut self.window);
        window.settle(to_ns, &mut open, &mut |placed| {
            if let Some((start_ns, end_ns)) = outermost(&placed) {
                density.add(start_ns, end_ns);
            }
            if written.is_ok() {
                written = self.write(store, track, placed);
            }
        });
        self.window = window;
        written?;
        if let Some(points) = &mut self.points {
            points.sort();
            let count = points.rows.partition_point(|row| row.start_ns < to_ns);
            points.rows.drain(..count).try_for_each(|row| {
                if points.is_on_map {
                    density.add(row.start_ns, row.start_ns);
                }
                store.push(points.lane, row)
            })?;
            points.settled_to_ns = points.settled_to_ns.max(Some(to_ns));
        }
        self.is_changed = true;
        Ok(())
    }

    /// Writes a settled row. Returns the I/O error of a failed write.
    fn write(&mut self, store: &mut GrowingStore, track: TrackIdx, placed: PlacedRow) -> io::Result<()> {
        let (lane, row) = match placed {
            PlacedRow::Instant { depth, row } => {
                (point_lane(store, (track, LaneKind::Instants), &mut self.instants)?, instant_row(&row, depth))
            }
            PlacedRow::Flow { id, around, row } => {
                (point_lane(store, (track, LaneKind::Flows), &mut self.flows)?, flow_row(&row, id, around))
            }
            PlacedRow::Span { lane, row, .. } => {
                (span_lane(store, track, &mut self.spans, usize::from(lane))?, span_row(&row))
            }
        };
        store.push(lane, row)
    }

    /// Places the window for a snapshot. Returns an error when the lane indices are used up.
    pub(super) fn place(
        &mut self,
        (store, density): (&mut GrowingStore, &mut LiveDensity),
        track: TrackIdx,
        open: &mut Vec<OpenRow>,
        now_ns: i64,
    ) -> io::Result<()> {
        let Self { window, placed, placed_instants, placed_flows, counted, .. } = self;
        counted.drain(..).for_each(|(start_ns, end_ns)| density.remove(start_ns, end_ns));
        let of_points = self.points.iter().filter(|points| points.is_on_map).flat_map(|points| &points.rows);
        counted.extend(of_points.map(|row| (row.start_ns, row.start_ns)));
        window.place(open, now_ns, &mut |row| {
            counted.extend(outermost(&row));
            match row {
                PlacedRow::Instant { depth, row } => placed_instants.push(instant_row(&row, depth)),
                PlacedRow::Flow { id, around, row } => placed_flows.push(flow_row(&row, id, around)),
                PlacedRow::Span { lane, row, is_open } => {
                    let lane = usize::from(lane);
                    if placed.len() <= lane {
                        placed.resize_with(lane + 1, MovingRows::default);
                    }
                    placed[lane].rows.push(span_row(&row));
                    placed[lane].is_open = is_open;
                }
            }
        });
        counted.iter().for_each(|&(start_ns, end_ns)| density.add(start_ns, end_ns));
        if !placed_instants.is_empty() || self.instants.is_some() {
            let lane = point_lane(store, (track, LaneKind::Instants), &mut self.instants)?;
            store.set_moving(lane, placed_instants, false);
        }
        if !placed_flows.is_empty() || self.flows.is_some() {
            let lane = point_lane(store, (track, LaneKind::Flows), &mut self.flows)?;
            store.set_moving(lane, placed_flows, false);
        }
        for depth in 0..placed.len().max(self.spans.len()) {
            let lane = span_lane(store, track, &mut self.spans, depth)?;
            if placed.len() <= depth {
                placed.resize_with(depth + 1, MovingRows::default);
            }
            let is_open = std::mem::take(&mut placed[depth].is_open);
            store.set_moving(lane, &mut placed[depth].rows, is_open);
        }
        // Below all others, so that late rows hide nothing.
        for (position, (lane, _)) in self.late.iter().enumerate() {
            store.set_depth(*lane, u16::try_from(self.spans.len() + position).unwrap_or(u16::MAX));
        }
        if let Some(points) = &mut self.points {
            points.sort();
            store.set_moving(points.lane, &mut points.rows.clone(), false);
        }
        self.is_changed = !open.is_empty() || self.window.has_growing();
        Ok(())
    }
}

impl Points {
    fn sort(&mut self) {
        if !self.is_sorted {
            self.rows.sort_by_key(|row| row.start_ns);
            self.is_sorted = true;
        }
    }
}

impl LiveChart {
    /// Adds a sample; a late one is left out. Returns the I/O error of a failed write.
    pub(super) fn add(
        &mut self,
        store: &mut GrowingStore,
        track: TrackIdx,
        (ts_ns, stack, stacks): (i64, StackIdx, &Stacks),
    ) -> io::Result<()> {
        if self.last_ns.is_some_and(|last_ns| ts_ns < last_ns) {
            return Ok(());
        }
        self.last_ns = Some(ts_ns);
        self.is_changed = true;
        let Self { chart, lanes, spans, .. } = self;
        chart.sample(ts_ns, stack, stacks, spans);
        spans.drain(..).try_for_each(|span| {
            let lane = span_lane(store, track, lanes, usize::from(span.depth))?;
            store.push(lane, flame_row(&span))
        })
    }

    /// Shows the open frames. Returns an error when the lane indices are used up.
    pub(super) fn place(&mut self, store: &mut GrowingStore, track: TrackIdx, stacks: &Stacks) -> io::Result<()> {
        if !std::mem::take(&mut self.is_changed) {
            return Ok(());
        }
        let mut deepest = 0;
        for span in self.chart.open_spans(stacks) {
            let lane = span_lane(store, track, &mut self.lanes, usize::from(span.depth))?;
            store.set_moving(lane, &mut vec![flame_row(&span)], false);
            deepest = usize::from(span.depth) + 1;
        }
        self.lanes.iter().skip(deepest).for_each(|lane| store.set_moving(*lane, &mut Vec::new(), false));
        Ok(())
    }
}

fn span_lane(store: &mut GrowingStore, track: TrackIdx, lanes: &mut Vec<LaneIdx>, depth: usize) -> io::Result<LaneIdx> {
    while lanes.len() <= depth {
        // At most 65,536, the limit for lanes of a track.
        lanes.push(store.add_lane(track, LaneKind::Spans, lanes.len() as u16)?);
    }
    Ok(lanes[depth])
}

/// Returns the single lane of a track for points of a kind.
fn point_lane(
    store: &mut GrowingStore,
    (track, kind): (TrackIdx, LaneKind),
    lane: &mut Option<LaneIdx>,
) -> io::Result<LaneIdx> {
    match lane {
        Some(lane) => Ok(*lane),
        none => Ok(*none.insert(store.add_lane(track, kind, 0)?)),
    }
}

/// Returns the times of a row that the minimap counts: of a span without a parent.
fn outermost(placed: &PlacedRow) -> Option<(i64, i64)> {
    match placed {
        PlacedRow::Span { lane: 0, row, .. } => Some((row.start_ns, row.end_ns()?)),
        PlacedRow::Instant { depth: 0, row } => Some((row.start_ns, row.start_ns)),
        PlacedRow::Span { .. } | PlacedRow::Instant { .. } | PlacedRow::Flow { .. } => None,
    }
}

fn span_row(row: &WindowRow) -> Row {
    let value = row.end_ns().map_or(0, |end_ns| end_ns.abs_diff(row.start_ns));
    Row { start_ns: row.start_ns, value, detail: row.detail, name: row.name }
}

fn instant_row(row: &WindowRow, depth: u64) -> Row {
    Row { start_ns: row.start_ns, value: depth, detail: row.detail, name: row.name }
}

fn flow_row(row: &WindowRow, id: u64, around: Option<u16>) -> Row {
    let mut point = FlowPoint::from_bits(row.detail);
    if !matches!(row.value, WindowValue::Flow { is_placed: true, .. }) {
        point.depth = around;
    }
    Row { start_ns: row.start_ns, value: id, detail: point.to_bits(), name: row.name }
}

fn flame_row(span: &FlameSpan) -> Row {
    Row { start_ns: span.start_ns, value: span.end_ns.abs_diff(span.start_ns), detail: 0, name: span.name.0 }
}
