//! Saves the state of a timeline soon after it changes, in the background: a crash or a log-out loses a second of it.
//!
//! An idle window is not woken: the frame that changes something asks for the one that saves it, and no other.

use std::sync::{Arc, Mutex};

use super::background::spawn;
use super::capture::OpenCapture;
use super::preferences::Folders;
use crate::model::Sources;
use crate::ui::timeline::saved::SavedTimeline;

/// The time from a change until it is written: changes of a drag are written together.
const DELAY_S: f64 = 0.8;

/// Changes of the timeline of a tab that are not saved yet.
#[derive(Debug, Default)]
pub(super) struct TimelineKeeper {
    /// The view of the frame before: its first and last nanosecond, and how far it was scrolled.
    last_view: Option<(i64, i64, f64)>,
    /// The time of the first change that is not saved, in seconds of the window's clock.
    changed_s: Option<f64>,
    is_changed: bool,
    /// The number of the last write that was begun.
    writes: u64,
    /// The number of the last write that was made: an older state never replaces a newer one.
    written: Arc<Mutex<u64>>,
}

impl TimelineKeeper {
    /// Takes note of a change that the view does not show: of bookmarks, pins, folds, scopes.
    pub(super) fn note_change(&mut self) {
        self.is_changed = true;
    }

    /// Saves in the background what changed a while ago. Returns the seconds until it must be called again, if
    /// anything is to be saved.
    pub(super) fn attend(&mut self, capture: &OpenCapture, folders: &Folders, now_s: f64) -> Option<f64> {
        let view = capture.timeline.place_in_view();
        let has_moved = self.last_view.replace(view).is_some_and(|before| before != view);
        if std::mem::take(&mut self.is_changed) || has_moved {
            self.changed_s.get_or_insert(now_s);
        }
        let left_s = DELAY_S - (now_s - self.changed_s?);
        if left_s > 0.0 {
            return Some(left_s);
        }
        self.changed_s = None;
        if capture.is_whole() {
            let write = self.write(capture, folders);
            spawn("keep", write).ok(); // it is saved when the tab closes
        }
        None
    }

    /// Saves the state at once, before the capture is gone.
    pub(super) fn finish(&mut self, capture: &OpenCapture, folders: &Folders) {
        if capture.is_whole() {
            self.write(capture, folders)();
        }
        *self = Self { writes: self.writes, written: Arc::clone(&self.written), ..Self::default() };
    }

    fn write(&mut self, capture: &OpenCapture, folders: &Folders) -> impl FnOnce() + Send + use<> {
        self.writes += 1;
        let (number, written, folders) = (self.writes, Arc::clone(&self.written), folders.clone());
        let (sources, state): (Sources, SavedTimeline) = (capture.sources.clone(), capture.timeline.to_keep());
        move || {
            let Ok(mut written) = written.lock() else { return };
            if *written < number {
                *written = number;
                // The capture may have been removed; what is not kept is not missed.
                folders.keep_timeline(&sources, &state).ok();
            }
        }
    }
}
