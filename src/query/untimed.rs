//! Samples without times, as in profiles. They are drawn side by side from the start of the trace, and may end after.

use crate::model::TrackIdx;
use crate::store::{LaneIdx, LaneKind, Store};

/// The samples of a trace without times.
#[derive(Debug, Clone, Copy)]
pub(super) struct UntimedSamples {
    pub(super) count: u64,
    /// Start and end of their bars, if there are any.
    pub(super) range_ns: Option<(i64, i64)>,
}

impl UntimedSamples {
    pub(super) fn of_store(store: &Store) -> Self {
        let (mut count, mut range_ns) = (0, None);
        let tracks = (0..).map(TrackIdx).zip(&store.meta().tracks.tracks);
        for (track, _) in tracks.filter(|(_, track)| track.key.is_untimed()) {
            for info in store.lanes_of(track).map(|lane| store.lane(LaneIdx(lane)).info()) {
                count += if info.kind == LaneKind::Samples { info.rows } else { 0 };
                let (start_ns, end_ns) = range_ns.unwrap_or((info.start_ns, info.end_ns));
                range_ns = Some((info.start_ns.min(start_ns), info.end_ns.max(end_ns)));
            }
        }
        Self { count, range_ns }
    }
}
