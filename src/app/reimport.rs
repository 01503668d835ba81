//! The state of a trace whose files are imported again. Its view is restored at once, and everything that names tracks
//! at the end, because tracks may get other indices and the last ones appear late.

use crate::query::Snapshot;
use crate::query::track_map::TrackMap;
use crate::ui::timeline::saved::SavedTimeline;

/// A trace and its timeline, before its files are imported again.
#[derive(Debug)]
pub(super) struct Reimport {
    earlier: Snapshot,
    saved: SavedTimeline,
    has_view: bool,
}

impl Reimport {
    pub(super) fn new(earlier: Snapshot, saved: SavedTimeline) -> Self {
        Self { earlier, saved, has_view: false }
    }

    /// Returns the state for the first part of the trace; `None` for later ones.
    pub(super) fn view(&mut self) -> Option<SavedTimeline> {
        let has_view = std::mem::replace(&mut self.has_view, true);
        (!has_view).then(|| self.saved.view())
    }

    /// Returns the state for the whole trace.
    pub(super) fn into_state(self, now: &Snapshot) -> SavedTimeline {
        self.saved.mapped(&TrackMap::new(&self.earlier, now))
    }
}
