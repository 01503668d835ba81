//! Finds the points of flows on a track, and the span that each belongs to.

use std::ops::Range;

use super::cursor::LaneCursor;
use super::snapshot::Snapshot;
use super::span_sweep::SpanSweep;
use crate::base::cancel::{Cancel, Cancelled};
use crate::model::{NameIdx, TrackIdx};
use crate::store::flow::{FlowBound, FlowPoint, FlowRole};
use crate::store::{LaneIdx, LaneKind, RowIdx};

/// A point of a flow with its position.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlowRow {
    pub(crate) flow: u64,
    pub(crate) ts_ns: i64,
    pub(crate) track: TrackIdx,
    pub(crate) name: NameIdx,
    pub(crate) point: FlowPoint,
}

/// The points of a track to visit.
#[derive(Debug, Clone, Copy)]
pub(super) struct PointRange {
    pub(super) from_ns: i64,
    /// The last time, which is included.
    pub(super) to_ns: i64,
}

impl PointRange {
    /// All points of a track.
    pub(super) const ALL: Self = Self { from_ns: i64::MIN, to_ns: i64::MAX };

    /// Returns the range of all points that may belong to some rows of a lane.
    ///
    /// A point that binds to the next span lies between the first row and the row before it. A departure of the last
    /// row lies between it and the row after it.
    pub(super) fn around(snapshot: &Snapshot, lane: LaneIdx, rows: Range<u64>) -> Self {
        let mut cursor = LaneCursor::new(snapshot.store(), lane);
        let before = rows.start.checked_sub(1).and_then(|row| cursor.span(row));
        let last = cursor.span(rows.end.saturating_sub(1));
        let after = cursor.span(rows.end);
        let from_ns = before.map_or(i64::MIN, |before| before.start_ns);
        let to_ns = after.zip(last).map_or(i64::MAX, |(after, last)| after.start_ns.max(last.end_ns()));
        Self { from_ns, to_ns }
    }
}

/// Passes each point of a track in a range with the row that it belongs to. Returns an error if cancelled.
pub(super) fn each_point(
    snapshot: &Snapshot,
    track: TrackIdx,
    range: PointRange,
    cancel: &Cancel,
    mut take: impl FnMut(&FlowRow, RowIdx),
) -> Result<(), Cancelled> {
    /// Points between two checks for cancellation: about a millisecond.
    const POINTS_AT_ONCE: u64 = 4096;
    let mut sweep = SpanSweep::new(snapshot, track);
    for lane in lanes_of_kind(snapshot, track, LaneKind::Flows) {
        let mut cursor = LaneCursor::new(snapshot.store(), lane);
        let from = cursor.first_from(range.from_ns).row;
        let to = cursor.first_after(range.to_ns).row;
        for number in from..to {
            if number.is_multiple_of(POINTS_AT_ONCE) {
                cancel.check()?;
            }
            let Some(point) = flow_row(&mut cursor, number, track) else { continue };
            if let Some(row) = span_of(snapshot, &mut sweep, &point) {
                take(&point, row);
            }
        }
    }
    Ok(())
}

/// Returns the lanes of a track with rows of a kind. Late points of a live trace have lanes of their own.
pub(super) fn lanes_of_kind(snapshot: &Snapshot, track: TrackIdx, kind: LaneKind) -> impl Iterator<Item = LaneIdx> {
    snapshot.equal_lanes(track, |lane| lane.kind.cmp(&kind)).map(LaneIdx)
}

/// Returns a point of a lane of flows.
pub(super) fn flow_row(cursor: &mut LaneCursor<'_>, number: u64, track: TrackIdx) -> Option<FlowRow> {
    let row = cursor.row(number)?;
    let point = FlowPoint::from_bits(row.detail);
    Some(FlowRow { flow: row.value, ts_ns: row.start_ns, track, name: NameIdx(row.name), point })
}

/// Returns the span or the instant that a point belongs to. `sweep` is of its track.
pub(crate) fn span_of(snapshot: &Snapshot, sweep: &mut SpanSweep<'_>, flow_row: &FlowRow) -> Option<RowIdx> {
    sweep.seek(flow_row.ts_ns);
    if flow_row.point.role == FlowRole::End && !flow_row.point.binds_enclosing {
        // Among spans that start with the point, spans below the enclosing one come after the point in the trace.
        return sweep.next_from(flow_row.point.depth.map_or(0, |depth| depth.saturating_add(1)));
    }
    let begun_at_depth = flow_row.point.depth.and_then(|depth| sweep.begun_at_depth(depth));
    let at_depth = begun_at_depth.map(|(row, _)| row);
    match flow_row.point.bound {
        FlowBound::Time => {
            // Among spans that start at its time, the order in the trace decides. Elsewhere the order matters only for
            // a point exactly at the end of a span. A point without an enclosing span was written right after its span.
            let between = begun_at_depth.filter(|&(_, start_ns)| start_ns == flow_row.ts_ns).map(|(row, _)| row);
            between.or_else(|| sweep.innermost()).or(at_depth).or_else(|| sweep.last_begun())
        }
        FlowBound::Span => at_depth,
        FlowBound::Instant => instant_at(snapshot, flow_row).or(at_depth),
    }
}

/// Returns the last instant at a point's track and time: tracers write an instant right before its points.
fn instant_at(snapshot: &Snapshot, flow_row: &FlowRow) -> Option<RowIdx> {
    let last_in = |lane| {
        let mut cursor = LaneCursor::new(snapshot.store(), lane);
        let row = cursor.first_after(flow_row.ts_ns).row.checked_sub(1)?;
        (cursor.span(row)?.start_ns == flow_row.ts_ns).then_some(RowIdx { lane, row })
    };
    lanes_of_kind(snapshot, flow_row.track, LaneKind::Instants).filter_map(last_in).last()
}
