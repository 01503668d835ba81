//! The span that is open at the end of a lane: no end of it is in the trace.
//!
//! Its duration counts up to the last event of its track, the last time at which it is known to run. On a thread that
//! hangs, that is its start. So the picture continues it up to the end of the trace.

use super::cursor::LaneCursor;
use super::snapshot::Snapshot;
use crate::model::{NameIdx, TrackKind};
use crate::store::{LaneIdx, LaneKind, RowIdx};

/// A span without an end, and the time up to the end of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenEnd {
    pub(crate) row: RowIdx,
    pub(crate) name: NameIdx,
    /// The duration up to `from_ns`, the part that is known.
    pub(crate) dur_ns: u64,
    /// The last event of the track.
    pub(crate) from_ns: i64,
    /// The end of the trace.
    pub(crate) to_ns: i64,
}

/// Returns the span that is open at the end of a lane, unless its track has an event at the end of the trace. Runs on
/// CPUs and states of threads end with the scheduling of their file instead.
#[must_use]
pub(crate) fn open_end(snapshot: &Snapshot, lane: LaneIdx) -> Option<OpenEnd> {
    let row = open_row(snapshot, lane)?;
    let span = LaneCursor::new(snapshot.store(), lane).span(row)?;
    let (row, to_ns) = (RowIdx { lane, row }, snapshot.end_ns());
    Some(OpenEnd { row, name: span.name, dur_ns: span.dur_ns, from_ns: span.end_ns(), to_ns })
}

/// Returns the row of the span that is open at the end of a lane. Reads no rows.
pub(crate) fn open_row(snapshot: &Snapshot, lane: LaneIdx) -> Option<u64> {
    let (info, stored) = (snapshot.lane(lane), snapshot.store().lane(lane));
    let row = info.rows.checked_sub(1)?;
    if info.kind != LaneKind::Spans || info.end_ns >= snapshot.end_ns() || !stored.is_unfinished(row) {
        return None;
    }
    let kind = snapshot.track(info.track).key.kind;
    (!matches!(kind, TrackKind::Cpu | TrackKind::State | TrackKind::Samples)).then_some(row)
}

/// Returns the open span of some lanes whose part without events is longest, the outermost one first. Reads one row.
#[must_use]
pub(crate) fn longest_open_end(snapshot: &Snapshot, lanes: impl Iterator<Item = LaneIdx>) -> Option<OpenEnd> {
    let open = lanes.filter(|&lane| open_row(snapshot, lane).is_some());
    let longest = open.min_by_key(|&lane| {
        let info = snapshot.lane(lane);
        (info.end_ns, info.depth, lane)
    });
    open_end(snapshot, longest?)
}
