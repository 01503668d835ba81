//! Saves the state of a timeline and its open panels soon after a change, in the background: a crash loses at most a
//! second. It is saved for the content that was opened, even if the file has changed since.
//!
//! An idle window is not woken: the frame that changes something schedules the one that saves it.

use std::sync::{Arc, Mutex};

use super::background_writes::BackgroundWrites;
use super::open_trace::OpenTrace;
use super::preferences::Folders;
use crate::store::lane::RowIdx;
use crate::ui::panel::SavedPanels;
use crate::ui::questions::SelectedScope;
use crate::ui::timeline::saved::SavedTimeline;

/// Delay between a change and the write, so that changes of a drag are written together.
pub(super) const DELAY_S: f64 = 0.8;

/// Unsaved changes of a tab's timeline.
#[derive(Debug, Default)]
pub(super) struct TimelineKeeper {
    /// The view of the previous frame: its first and last nanosecond, and its scroll offset.
    last_view: Option<(i64, i64, f64)>,
    /// The scope of the previous frame, which a drag changes without a command, the selected row and the panels.
    last_shown: Option<(SelectedScope, Option<RowIdx>, SavedPanels)>,
    /// Time of the first unsaved change, in seconds of the window's clock.
    changed_s: Option<f64>,
    is_changed: bool,
    /// The state as last written, or as read: the next write saves only what has changed since.
    written: Arc<Mutex<SavedTimeline>>,
    /// The reason why the state cannot be written, until it is shown.
    failed: Arc<Mutex<Option<String>>>,
    has_told: bool,
}

impl TimelineKeeper {
    /// Records the state of the file when the timeline was restored from it.
    pub(super) fn note_read(&mut self, state: SavedTimeline) {
        // A write that still runs has its own record.
        self.written = Arc::new(Mutex::new(state));
        // Restored state is no change.
        self.last_shown = None;
    }

    /// Records a change that is not in the view: of bookmarks, pinned or folded tracks, scopes.
    pub(super) fn note_change(&mut self) {
        self.is_changed = true;
    }

    /// Returns why changes cannot be saved, the first time that this fails.
    pub(super) fn take_failure(&mut self) -> Option<String> {
        let failed = self.failed.lock().ok()?.take()?;
        (!std::mem::replace(&mut self.has_told, true)).then_some(failed)
    }

    /// Saves earlier changes in the background. Returns the seconds until it must be called again, if there are unsaved
    /// changes.
    pub(super) fn save_if_due(
        &mut self,
        (trace, panels): (&OpenTrace, &SavedPanels),
        (folders, writes): (&Folders, &BackgroundWrites),
        now_s: f64,
    ) -> Option<f64> {
        if self.has_changed(trace, panels) {
            self.changed_s.get_or_insert(now_s);
        }
        let left_s = DELAY_S - (now_s - self.changed_s?);
        if left_s > 0.0 {
            return Some(left_s);
        }
        // The changes of a part are saved once all is sorted.
        if trace.is_whole() {
            self.changed_s = None;
            self.write(trace, panels, (folders, writes));
        }
        None
    }

    /// Saves unsaved changes in the background, because the trace is closed. Without any, another window may have saved
    /// newer ones.
    pub(super) fn finish(
        &mut self,
        trace: &OpenTrace,
        panels: &SavedPanels,
        (folders, writes): (&Folders, &BackgroundWrites),
    ) {
        let is_unsaved = self.has_changed(trace, panels) || self.changed_s.is_some();
        if is_unsaved && trace.is_whole() {
            self.write(trace, panels, (folders, writes));
        }
        *self = Self { written: Arc::clone(&self.written), failed: Arc::clone(&self.failed), ..Self::default() };
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

    /// Writes the state of a trace, unless that has no key.
    fn write(&self, trace: &OpenTrace, panels: &SavedPanels, (folders, writes): (&Folders, &BackgroundWrites)) {
        let Some(key) = trace.files.key.clone() else { return };
        let (written, failed, folders) = (Arc::clone(&self.written), Arc::clone(&self.failed), folders.clone());
        let SavedPanels { open, search } = panels.clone();
        let state = SavedTimeline { panels: Some(open), search, ..trace.timeline.to_keep() };
        writes.start(move || {
            let Ok(mut written) = written.lock() else { return };
            match folders.keep_changed_timeline(&key, &written, &state) {
                Ok(()) => *written = state,
                Err(error) => {
                    if let Ok(mut failed) = failed.lock() {
                        *failed = Some(format!("Markers and the view could not be saved: {error}"));
                    }
                }
            }
        });
    }
}
