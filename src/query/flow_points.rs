//! Finds the span that a point of a flow belongs to.

use super::cursor::LaneCursor;
use super::snapshot::Snapshot;
use super::span_sweep::SpanSweep;
use crate::model::{NameIdx, TrackIdx};
use crate::store::flow::{FlowBound, FlowPoint, FlowRole};
use crate::store::{LaneIdx, LaneKind, RowIdx};

/// A point of a flow with its position.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlowRow {
    pub(super) flow: u64,
    pub(super) ts_ns: i64,
    pub(super) track: TrackIdx,
    pub(super) name: NameIdx,
    pub(super) point: FlowPoint,
}

/// Returns the lanes of a track with rows of a kind. Late points of a running trace have lanes of their own.
pub(super) fn lanes_of_kind(snapshot: &Snapshot, track: TrackIdx, kind: LaneKind) -> impl Iterator<Item = LaneIdx> {
    snapshot.lanes_of(track).map(LaneIdx).filter(move |&lane| snapshot.lane(lane).kind == kind)
}

/// Returns a point of a lane of flows.
pub(super) fn flow_row(cursor: &mut LaneCursor<'_>, number: u64, track: TrackIdx) -> Option<FlowRow> {
    let row = cursor.row(number)?;
    let point = FlowPoint::from_bits(row.detail);
    Some(FlowRow { flow: row.value, ts_ns: row.start_ns, track, name: NameIdx(row.name), point })
}

/// Returns the span that a point belongs to. `sweep` is of its track.
pub(super) fn span_of(snapshot: &Snapshot, sweep: &mut SpanSweep<'_>, flow_row: &FlowRow) -> Option<RowIdx> {
    sweep.seek(flow_row.ts_ns);
    if flow_row.point.role == FlowRole::End && !flow_row.point.binds_enclosing {
        // Among spans that start with the point, those below the enclosing one come after it in the trace.
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

/// Returns the instant at a point's track and time.
fn instant_at(snapshot: &Snapshot, flow_row: &FlowRow) -> Option<RowIdx> {
    lanes_of_kind(snapshot, flow_row.track, LaneKind::Instants).find_map(|lane| {
        let (row, start_ns) = first_from(snapshot, lane, flow_row.ts_ns)?;
        (start_ns == flow_row.ts_ns).then_some(row)
    })
}

/// Returns the first span of a lane that starts at or after `ts_ns`, and its start.
fn first_from(snapshot: &Snapshot, lane: LaneIdx, ts_ns: i64) -> Option<(RowIdx, i64)> {
    let mut cursor = LaneCursor::new(snapshot.store(), lane);
    let position = cursor.first_from(ts_ns);
    let (start_ns, _) = cursor.times_at(position)?;
    Some((RowIdx { lane, row: position.row }, start_ns))
}
