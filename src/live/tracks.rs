//! The tracks of a live trace: rows in, and out into a growing store. Each track has a window of rows that may still
//! move, and lanes of settled rows.

use std::collections::BTreeMap;
use std::io;

use super::density::LiveDensity;
use super::placing::{OpenRow, PlacedRow, TrackWindow, WindowRow, WindowValue};
use crate::ingest::flame::{FlameChart, FlameSpan, TimedStack};
use crate::model::{Stacks, TrackIdx};
use crate::store::flow::FlowPoint;
use crate::store::growing::GrowingStore;
use crate::store::{LaneIdx, LaneKind, Row};

/// Rows older than this, in trace time, no longer move.
const WINDOW_NS: i64 = 10_000_000_000;

/// Limit for the windows of late rows of a track. Beyond it, a row is left to the final sort.
const LATE_WINDOWS_MAX: u8 = 16;

/// Limit for the spans of a track without an end, since all are placed again in each snapshot. Beyond it, a span lasts
/// until its arrival.
const ENDLESS_MAX: usize = 4096;

/// A track with its lanes.
#[derive(Debug, Default)]
pub(super) struct LiveTrack {
    window: TrackWindow,
    /// Number of spans without an end.
    endless: usize,
    spans: Vec<LaneIdx>,
    /// Late rows, in lanes of their own, where they nest among themselves.
    late: Option<Box<LiveTrack>>,
    /// Depth of its first lane of spans: 0, unless its rows are late.
    first_depth: u16,
    /// Number of windows that its rows are too late for.
    late_windows: u8,
    /// The latest start of a row.
    newest_ns: Option<i64>,
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
pub(super) enum RowPlacement {
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
        let late = self.late.as_ref().map_or(0, |late| late.window_len());
        self.window.len() + self.points.as_ref().map_or(0, |points| points.rows.len()) + late
    }

    /// Adds a span, an instant or a flow point.
    pub(super) fn add(&mut self, row: WindowRow) -> RowPlacement {
        self.is_changed = true;
        self.newest_ns = self.newest_ns.max(Some(row.start_ns));
        match self.window.add(row) {
            Ok(()) => RowPlacement::InWindow,
            Err(late_row) => self.late().map_or(RowPlacement::LeftOut, |late| late.add(late_row).apart()),
        }
    }

    /// Returns the track of rows that are too late for this track; `None` if they are left out.
    fn late(&mut self) -> Option<&mut Self> {
        let late_windows = self.late_windows + 1;
        if late_windows > LATE_WINDOWS_MAX {
            return None;
        }
        Some(self.late.get_or_insert_with(|| Box::new(Self { late_windows, ..Self::default() })))
    }

    /// Moves late rows below all lanes of this track, where late spans hide nothing, and returns them. Settled points
    /// among them keep the depth that they had.
    fn lower_late(&mut self) -> Option<&mut Self> {
        let lanes = u16::try_from(self.spans.len()).unwrap_or(u16::MAX);
        let first_depth = self.first_depth.saturating_add(lanes);
        let late = self.late.as_deref_mut()?;
        late.is_changed |= std::mem::replace(&mut late.first_depth, first_depth) != first_depth;
        Some(late)
    }

    /// Adds a span that has no end. Returns false if it is late, or one of too many.
    pub(super) fn add_endless(&mut self, open: OpenRow) -> bool {
        let is_added = self.endless < ENDLESS_MAX && self.window.add_endless(open).is_ok();
        self.endless += usize::from(is_added);
        self.is_changed |= is_added;
        is_added
    }

    /// Adds a counter value or a sample. Late values are left out: a value holds until the next one in its lane.
    /// Returns the I/O error of a failed write.
    pub(super) fn add_point(
        &mut self,
        store: &mut GrowingStore,
        (track, kind): (TrackIdx, LaneKind),
        row: Row,
    ) -> io::Result<RowPlacement> {
        let points = match &mut self.points {
            Some(points) => points,
            none => {
                let lane = store.add_lane(track, kind, 0)?;
                let is_on_map = kind == LaneKind::Samples;
                none.insert(Points { lane, is_on_map, rows: Vec::new(), is_sorted: true, settled_to_ns: None })
            }
        };
        self.is_changed = true;
        self.newest_ns = self.newest_ns.max(Some(row.start_ns));
        if points.settled_to_ns.is_some_and(|settled_ns| row.start_ns < settled_ns) {
            let late = if kind == LaneKind::Counter { None } else { self.late() };
            let Some(late) = late else { return Ok(RowPlacement::LeftOut) };
            return Ok(late.add_point(store, (track, kind), row)?.apart());
        }
        points.is_sorted &= points.rows.last().is_none_or(|last| last.start_ns <= row.start_ns);
        points.rows.push(row);
        Ok(RowPlacement::InWindow)
    }

    /// Returns the time at which settling halves the window.
    fn middle_ns(&mut self) -> Option<i64> {
        let of_points = self.points.as_mut().and_then(|points| {
            points.sort();
            points.rows.get(points.rows.len() / 2).map(|row| row.start_ns)
        });
        self.window.middle_ns().max(of_points)
    }

    /// Settles the older half of the rows that may still move. Returns the I/O error of a failed write.
    pub(super) fn settle_half(
        &mut self,
        (store, density): (&mut GrowingStore, &mut LiveDensity),
        track: TrackIdx,
        open: &OpenRows,
    ) -> io::Result<()> {
        if let Some(middle_ns) = self.middle_ns() {
            // If most rows start together, all of them are settled.
            self.settle((&mut *store, &mut *density), track, middle_ns.saturating_add(1), open)?;
        }
        let Some(late) = self.lower_late() else { return Ok(()) };
        late.settle_half((store, density), track, &OpenRows::default())?;
        // A snapshot visits late rows only if their track has changed.
        let is_late_changed = late.is_changed;
        self.is_changed |= is_late_changed;
        Ok(())
    }

    /// Settles all rows that are too old to move at `now_ns`. Late rows are old once later ones have come. Returns the
    /// I/O error of a failed write.
    pub(super) fn settle_old(
        &mut self,
        (store, density): (&mut GrowingStore, &mut LiveDensity),
        track: TrackIdx,
        now_ns: i64,
        open: &OpenRows,
    ) -> io::Result<()> {
        self.settle((&mut *store, &mut *density), track, now_ns.saturating_sub(WINDOW_NS), open)?;
        match self.lower_late() {
            Some(late) if late.is_changed => {
                let newest_ns = late.newest_ns.unwrap_or(now_ns);
                late.settle_old((store, density), track, newest_ns, &OpenRows::default())
            }
            _ => Ok(()),
        }
    }

    /// Settles all rows that start before `to_ns`. Returns the I/O error of a failed write.
    fn settle(
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
                let lane = point_lane(store, (track, LaneKind::Instants), &mut self.instants)?;
                (lane, instant_row(&row, depth, self.first_depth))
            }
            PlacedRow::Flow { id, around, row } => {
                let lane = point_lane(store, (track, LaneKind::Flows), &mut self.flows)?;
                (lane, flow_row(&row, id, around, self.first_depth))
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
        let first_depth = self.first_depth;
        let Self { window, placed, placed_instants, placed_flows, counted, .. } = self;
        counted.drain(..).for_each(|(start_ns, end_ns)| density.remove(start_ns, end_ns));
        let of_points = self.points.iter().filter(|points| points.is_on_map).flat_map(|points| &points.rows);
        counted.extend(of_points.map(|row| (row.start_ns, row.start_ns)));
        window.place(open, now_ns, &mut |row| {
            counted.extend(outermost(&row));
            match row {
                PlacedRow::Instant { depth, row } => placed_instants.push(instant_row(&row, depth, first_depth)),
                PlacedRow::Flow { id, around, row } => placed_flows.push(flow_row(&row, id, around, first_depth)),
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
            store.set_depth(lane, first_depth.saturating_add(depth as u16));
            if placed.len() <= depth {
                placed.resize_with(depth + 1, MovingRows::default);
            }
            let is_open = std::mem::take(&mut placed[depth].is_open);
            store.set_moving(lane, &mut placed[depth].rows, is_open);
        }
        if let Some(late) = self.lower_late().filter(|late| late.is_changed) {
            late.place((&mut *store, density), track, &mut Vec::new(), now_ns)?;
        }
        if let Some(points) = &mut self.points {
            points.sort();
            store.set_moving(points.lane, &mut points.rows.clone(), false);
        }
        self.is_changed = !open.is_empty() || self.window.has_growing();
        Ok(())
    }
}

impl RowPlacement {
    /// Returns the placement of a row that was too late for another window.
    fn apart(self) -> Self {
        match self {
            Self::InWindow | Self::Apart => Self::Apart,
            Self::LeftOut => Self::LeftOut,
        }
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
    /// Adds a sample, which is held if it lasts for its period. The chart leaves out a late sample, which its thread
    /// still has. Returns the I/O error of a failed write.
    pub(super) fn add(
        &mut self,
        store: &mut GrowingStore,
        track: TrackIdx,
        (sample, is_held): (TimedStack, bool),
        stacks: &Stacks,
    ) -> io::Result<()> {
        if self.last_ns.is_some_and(|last_ns| sample.ts_ns < last_ns) {
            return Ok(());
        }
        self.last_ns = Some(sample.ts_ns);
        self.is_changed = true;
        let Self { chart, lanes, spans, .. } = self;
        if is_held {
            chart.hold(sample, stacks, spans);
        } else {
            chart.sample(sample, stacks, spans);
        }
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

/// Returns the row of an instant. `depth` counts from `first_depth`.
fn instant_row(row: &WindowRow, depth: u64, first_depth: u16) -> Row {
    Row { start_ns: row.start_ns, value: depth + u64::from(first_depth), detail: row.detail, name: row.name }
}

/// Returns the row of a flow point. Its depth counts from `first_depth`.
fn flow_row(row: &WindowRow, id: u64, around: Option<u16>, first_depth: u16) -> Row {
    let mut point = FlowPoint::from_bits(row.detail);
    if !matches!(row.value, WindowValue::Flow { is_placed: true, .. }) {
        point.depth = around;
    }
    point.depth = point.depth.map(|depth| depth.saturating_add(first_depth));
    Row { start_ns: row.start_ns, value: id, detail: point.to_bits(), name: row.name }
}

fn flame_row(span: &FlameSpan) -> Row {
    Row { start_ns: span.start_ns, value: span.end_ns.abs_diff(span.start_ns), detail: 0, name: span.name.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::pairs::RowOrder;

    #[test]
    fn rows_that_come_earlier_and_earlier_are_left_out_once_they_need_too_many_windows() {
        let mut store = GrowingStore::new(tempfile::tempfile().unwrap(), 1000).unwrap();
        let (mut track, mut density) = (LiveTrack::default(), LiveDensity::default());
        let mut added = Vec::new();
        for number in 0..i64::from(LATE_WINDOWS_MAX) + 3 {
            let start_ns = -number * 2 * WINDOW_NS;
            let instant =
                WindowRow { start_ns, order: RowOrder::default(), value: WindowValue::Instant, name: 0, detail: 0 };
            let sample = Row { start_ns, value: 0, detail: 0, name: 0 };
            let of_sample = track.add_point(&mut store, (TrackIdx(0), LaneKind::Samples), sample).unwrap();
            added.push(track.add(instant));
            assert_eq!(of_sample, added[added.len() - 1]);
            track.settle_half((&mut store, &mut density), TrackIdx(0), &OpenRows::default()).unwrap();
        }
        let expected = [
            (RowPlacement::InWindow, 1),
            (RowPlacement::Apart, usize::from(LATE_WINDOWS_MAX)),
            (RowPlacement::LeftOut, 2),
        ];
        let expected: Vec<RowPlacement> = expected.iter().flat_map(|&(added, count)| vec![added; count]).collect();
        assert_eq!(added, expected);
    }

    #[test]
    fn a_late_value_is_left_out_because_its_counter_has_one_lane() {
        let mut store = GrowingStore::new(tempfile::tempfile().unwrap(), 1000).unwrap();
        let (mut track, mut density) = (LiveTrack::default(), LiveDensity::default());
        let mut added = Vec::new();
        for start_ns in [10, 5, 20] {
            let value = Row { start_ns, value: 0, detail: 0, name: 0 };
            added.push(track.add_point(&mut store, (TrackIdx(0), LaneKind::Counter), value).unwrap());
            track.settle_half((&mut store, &mut density), TrackIdx(0), &OpenRows::default()).unwrap();
        }
        assert_eq!(added, [RowPlacement::InWindow, RowPlacement::LeftOut, RowPlacement::InWindow]);
        assert!(track.late.is_none());
    }
}
