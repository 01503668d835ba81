//! The lanes of a layout in a later snapshot, in which tracks may have more lanes. Each lane is looked up when it is in
//! view, so that a new snapshot can be shown before its tracks are laid out.

use super::RowLayout;
use crate::query::Snapshot;
use crate::store::lane::LaneIdx;

/// The snapshot that was laid out, and the snapshot that is shown.
#[derive(Debug, Clone)]
pub(super) struct MovedLanes {
    laid_out: Snapshot,
    shown: Snapshot,
}

impl MovedLanes {
    /// Maps a lane of the layout to the shown snapshot, unless it is gone.
    pub(super) fn shown(&self, lane: LaneIdx) -> Option<LaneIdx> {
        self.shown.lane_since(&self.laid_out, lane)
    }

    /// Maps a lane of the shown snapshot to the layout, unless it is new. Its track must be laid out.
    pub(super) fn laid_out(&self, lane: LaneIdx) -> Option<LaneIdx> {
        self.laid_out.lane_since(&self.shown, lane)
    }
}

impl PartialEq for MovedLanes {
    fn eq(&self, other: &Self) -> bool {
        self.laid_out.has_store_of(&other.laid_out) && self.shown.has_store_of(&other.shown)
    }
}

impl Eq for MovedLanes {}

impl RowLayout {
    /// Shows the rows of `earlier` with the lanes of `later`, a snapshot of the same trace. If `later` lacks tracks,
    /// there are no rows until the next layout.
    pub(crate) fn move_lanes(&mut self, earlier: &Snapshot, later: &Snapshot) {
        let (before, now) = (earlier.tracks(), later.tracks());
        if now.tracks.len() < before.tracks.len() || now.processes.len() < before.processes.len() {
            *self = Self::default();
            return;
        }
        let laid_out = self.moved.take().map_or_else(|| earlier.clone(), |moved| moved.laid_out);
        self.moved = Some(MovedLanes { laid_out, shown: later.clone() });
    }
}
