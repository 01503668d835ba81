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
    /// Duration up to `from_ns`.
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
    let (info, stored, to_ns) = (snapshot.lane(lane), snapshot.store().lane(lane), snapshot.end_ns());
    let row = info.rows.checked_sub(1)?;
    if info.kind != LaneKind::Spans || info.end_ns >= to_ns || !stored.is_unfinished(row) {
        return None;
    }
    if matches!(snapshot.track(info.track).key.kind, TrackKind::Cpu | TrackKind::State | TrackKind::Samples) {
        return None;
    }
    let span = LaneCursor::new(snapshot.store(), lane).span(row)?;
    let row = RowIdx { lane, row };
    Some(OpenEnd { row, name: span.name, dur_ns: span.dur_ns, from_ns: span.end_ns(), to_ns })
}
