//! Describes one row in full, for a panel or a tooltip.

use super::cursor::LaneCursor;
use super::snapshot::Snapshot;
use crate::model::args::Detail;
use crate::model::{Id, TrackIdx};
use crate::store::details::DetailReader;
use crate::store::{LaneIdx, LaneKind, RowIdx};

/// The description of a row, for the panel and the exports.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Description {
    pub(crate) name: String,
    pub(crate) category: Option<String>,
    pub(crate) start_ns: i64,
    /// Duration in nanoseconds; 0 for instants.
    pub(crate) dur_ns: u64,
    /// Whether its end is missing from the trace.
    pub(crate) unfinished: bool,
    /// Self time: the part of its duration in which none of its children runs. `None` if computing it would take too
    /// long.
    pub(crate) self_ns: Option<u64>,
    /// Name of its process; empty if the trace has none.
    pub(crate) process_name: String,
    pub(crate) pid: Id,
    pub(crate) track_name: String,
    pub(crate) tid: Id,
    pub(crate) track: TrackIdx,
    pub(crate) depth: u16,
    /// Thread clock at its start.
    pub(crate) thread_ts_ns: Option<i64>,
    /// Duration by the thread clock.
    pub(crate) thread_dur_ns: Option<i64>,
    /// Its arguments as one JSON object, or empty.
    pub(crate) args_json: String,
    /// The enclosing spans on its track, outermost first.
    pub(crate) ancestors: Vec<RowIdx>,
}

/// Describes a row; `None` if there is no such row.
#[must_use]
pub fn describe(snapshot: &Snapshot, row: RowIdx) -> Option<Description> {
    let store = snapshot.store();
    let info = store.lane(row.lane).info();
    let mut cursor = LaneCursor::new(snapshot.store(), row.lane);
    let decoded_row = cursor.row(row.row)?;
    let span = cursor.span_of(decoded_row, row.row);
    let name = snapshot.names().get(span.name);
    let track = snapshot.track(info.track);
    let process = &snapshot.tracks().processes[track.process.index()];
    let mut reader = DetailReader::default();
    let detail = Detail::decode(store.detail(span.detail, &mut reader));
    let is_span = info.kind == LaneKind::Spans;
    let depth = if info.kind == LaneKind::Instants { decoded_row.value as u16 } else { info.depth };
    Some(Description {
        name: name.text.to_owned(),
        category: name.category.map(str::to_owned),
        start_ns: span.start_ns,
        dur_ns: span.dur_ns,
        unfinished: span.unfinished,
        self_ns: if is_span { self_ns(snapshot, row) } else { None },
        process_name: process.name.to_string(),
        pid: process.pid.clone(),
        track_name: track.name.to_string(),
        tid: track.key.tid.clone(),
        track: info.track,
        depth,
        thread_ts_ns: detail.thread_ts_ns,
        thread_dur_ns: detail.thread_dur_ns,
        args_json: detail.args_json.to_owned(),
        ancestors: ancestors(snapshot, info.track, depth, span.start_ns, span.end_ns()),
    })
}

/// Returns the spans of `track` above `depth` that contain `[start_ns, end_ns)`, outermost first.
#[must_use]
pub(crate) fn ancestors(snapshot: &Snapshot, track: TrackIdx, depth: u16, start_ns: i64, end_ns: i64) -> Vec<RowIdx> {
    let mut spans = Vec::new();
    for lane in snapshot.lanes_of(track).map(LaneIdx) {
        let info = snapshot.lane(lane);
        if info.kind != LaneKind::Spans || info.depth >= depth {
            continue;
        }
        if let Some(row) = containing(snapshot, lane, start_ns, end_ns) {
            spans.push(row);
        }
    }
    spans
}

fn containing(snapshot: &Snapshot, lane: LaneIdx, start_ns: i64, end_ns: i64) -> Option<RowIdx> {
    let mut cursor = LaneCursor::new(snapshot.store(), lane);
    let after = cursor.first_from(start_ns.saturating_add(1));
    let row = after.row.checked_sub(1)?;
    let span = cursor.span(row)?;
    (span.end_ns() >= end_ns && span.start_ns <= start_ns).then_some(RowIdx { lane, row })
}

/// Returns the duration of a span minus that of its children: the spans of the lane below that lie within it.
///
/// Returns `None` for too many children: a tooltip must not take longer than a frame.
#[must_use]
pub(crate) fn self_ns(snapshot: &Snapshot, row: RowIdx) -> Option<u64> {
    /// A thousand blocks of 64 rows: about a millisecond.
    const CHILDREN_MAX: u64 = 64 * 1024;
    let span = snapshot.row(row);
    let Some(below) = snapshot.lane_below(row.lane) else { return Some(span.dur_ns) };
    let mut cursor = LaneCursor::new(snapshot.store(), below);
    let from = cursor.first_from(span.start_ns);
    let to = cursor.first_from(span.end_ns());
    if to.row - from.row > CHILDREN_MAX {
        return None;
    }
    let end_ns = span.end_ns();
    let mut children_ns = 0u64;
    for child in from.row..to.row {
        let child = cursor.span(child)?;
        children_ns += child.end_ns().min(end_ns).abs_diff(child.start_ns);
    }
    Some(span.dur_ns.saturating_sub(children_ns))
}
