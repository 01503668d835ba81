//! Saves the state of a timeline and its open panels soon after a change, in the background: a crash loses at most a
//! second. It is saved for the content that was opened, even if the file has changed since.
//!
//! An idle window is not woken: the frame that changes something schedules the frame that saves it.

use super::background_writes::BackgroundWrites;
use super::open_trace::OpenTrace;
use super::preferences::Folders;
use super::state_keeper::StateKeeper;
use crate::store::lane::RowIdx;
use crate::ui::panel::SavedPanels;
use crate::ui::selected_scope::SelectedScope;
use crate::ui::timeline::saved::SavedTimeline;

/// Unsaved changes of a tab's timeline.
#[derive(Debug, Default)]
pub(super) struct TimelineKeeper {
    /// The view of the previous frame: its first and last nanosecond, and its scroll offset.
    last_view: Option<(i64, i64, f64)>,
    /// The scope of the previous frame, which a drag changes without a command, the selected row and the panels.
    last_shown: Option<(SelectedScope, Option<RowIdx>, SavedPanels)>,
    is_changed: bool,
    keeper: StateKeeper<SavedTimeline>,
}

impl TimelineKeeper {
    /// Records the state of the file when the timeline was restored from it.
    pub(super) fn note_read(&mut self, state: SavedTimeline) {
        self.keeper.note_read(state);
        // Restored state is not a change.
        self.last_shown = None;
    }

    /// Records a change that is not in the view: of bookmarks, pinned or folded tracks, scopes.
    pub(super) fn note_change(&mut self) {
        self.is_changed = true;
    }

    /// Returns why changes cannot be saved, the first time that this fails, or that a damaged file was set aside.
    pub(super) fn take_failure(&mut self) -> Option<String> {
        let failure = self.keeper.take_failure();
        let failure = failure.map(|error| format!("Markers and the view could not be saved: {error}"));
        failure.or_else(|| self.keeper.take_note())
    }

    /// Saves earlier changes in the background. Returns the seconds until it must be called again, if there are unsaved
    /// changes.
    pub(super) fn save_if_due(
        &mut self,
        (trace, panels): (&OpenTrace, &SavedPanels),
        (folders, writes): (&Folders, &BackgroundWrites),
        now_s: f64,
    ) -> Option<f64> {
        let has_changed = self.has_changed(trace, panels);
        let wait_s = self.keeper.wait_s(has_changed, now_s)?;
        if wait_s > 0.0 {
            return Some(wait_s);
        }
        // The changes of a part are saved once all is sorted.
        if trace.is_whole() {
            self.write(trace, panels, (folders, writes));
        }
        None
    }

    /// Saves unsaved changes in the background, because the trace is closed. Without unsaved changes, another window
    /// may have saved newer ones.
    pub(super) fn finish(
        &mut self,
        trace: &OpenTrace,
        panels: &SavedPanels,
        (folders, writes): (&Folders, &BackgroundWrites),
    ) {
        let is_unsaved = self.has_changed(trace, panels) || self.keeper.has_unsaved();
        self.keeper.restart();
        *self = Self { keeper: std::mem::take(&mut self.keeper), ..Self::default() };
        if is_unsaved && trace.is_whole() {
            self.write(trace, panels, (folders, writes));
        }
    }

    /// Returns whether anything has changed since the last call.
    fn has_changed(&mut self, trace: &OpenTrace, panels: &SavedPanels) -> bool {
        let view = trace.timeline.view_position();
        let has_moved = self.last_view.replace(view).is_some_and(|before| before != view);
        let scope = trace.timeline.scope();
        let selected = trace.timeline.selected();
        let shows_same = self.last_shown.as_ref().map(|last| (&last.0, last.1, &last.2) == (scope, selected, panels));
        if shows_same != Some(true) {
            self.last_shown = Some((scope.clone(), selected, panels.clone()));
        }
        std::mem::take(&mut self.is_changed) || has_moved || shows_same == Some(false)
    }

    /// Writes the state of a trace, unless the trace has no key.
    fn write(&mut self, trace: &OpenTrace, panels: &SavedPanels, (folders, writes): (&Folders, &BackgroundWrites)) {
        let Some(key) = trace.files.key.clone() else { return };
        let SavedPanels { open, search } = panels.clone();
        let state = SavedTimeline { panels: Some(open), search, ..trace.timeline.to_saved() };
        let folders = folders.clone();
        self.keeper.write(state, writes, move |before, now| folders.save_changed_timeline(&key, before, now));
    }
}
