//! The state of a trace whose files are imported again. Its view is restored at once. Everything that names tracks is
//! restored at the end, because tracks may get other indices, and the last ones appear late.

use super::open_trace::{OpenTrace, SavedState};
use crate::query::Snapshot;
use crate::query::track_map::TrackMap;
use crate::ui::timeline::saved::SavedTimeline;

/// A trace and its timeline, before its files are imported again.
#[derive(Debug)]
pub(super) struct Reimport {
    earlier: Snapshot,
    saved: SavedTimeline,
    /// Whether the saved state of the trace is not in the timeline yet, since only a part was sorted.
    needs_saved: bool,
    has_view: bool,
}

impl Reimport {
    pub(super) fn new(trace: &OpenTrace) -> Self {
        let earlier = trace.timeline.snapshot().clone();
        let needs_saved = trace.saved == SavedState::Pending;
        Self { earlier, saved: trace.timeline.to_saved(), needs_saved, has_view: false }
    }

    /// Returns the state for another attempt, after an attempt that did not complete.
    pub(super) fn again(self) -> Self {
        Self { has_view: false, ..self }
    }

    /// Returns the state for the first part of the trace; `None` for later ones.
    pub(super) fn view(&mut self) -> Option<SavedTimeline> {
        let has_view = std::mem::replace(&mut self.has_view, true);
        (!has_view).then(|| self.saved.view())
    }

    /// Returns the states for the whole trace. `read` is the saved state.
    pub(super) fn into_states(self, now: &Snapshot, read: Option<SavedTimeline>) -> [Option<SavedTimeline>; 2] {
        let state = self.saved.mapped(&TrackMap::new(&self.earlier, now));
        // The user may have removed some of it since.
        let state = if self.has_view { state.without_view() } else { state };
        [Some(state), read.filter(|_| self.needs_saved)]
    }
}
