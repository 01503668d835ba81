//! Saves one state soon after a change, in the background. A failed write is reported once, and its changes are saved
//! with the next ones, or at the end.

use std::io;
use std::sync::{Arc, Mutex};

use super::background_writes::BackgroundWrites;

/// Delay between a change and the write, so that changes of a drag are written together.
const DELAY_S: f64 = 0.8;

/// The unsaved changes of a state.
#[derive(Debug, Default)]
pub(super) struct StateKeeper<T> {
    /// The state as last written, or as read: the next write saves only what has changed since.
    written: Arc<Mutex<T>>,
    /// Time of the first unsaved change, in seconds of the window's clock.
    changed_s: Option<f64>,
    /// The error of the last write, if it has failed.
    failure: Arc<Mutex<Option<io::Error>>>,
    has_told: bool,
    /// A sentence of the last write, not shown yet.
    note: Arc<Mutex<Option<String>>>,
}

impl<T: Send + 'static> StateKeeper<T> {
    /// Records the state as it was read. A write that still runs has its own record.
    pub(super) fn note_read(&mut self, state: T) {
        self.written = Arc::new(Mutex::new(state));
    }

    /// Returns the error of the last write, the first time that it fails.
    pub(super) fn take_failure(&mut self) -> Option<String> {
        let failure = self.failure.lock().ok()?;
        let has_told = std::mem::replace(&mut self.has_told, failure.is_some());
        failure.as_ref().filter(|_| !has_told).map(ToString::to_string)
    }

    /// Returns the sentence of a write, once.
    pub(super) fn take_note(&mut self) -> Option<String> {
        self.note.lock().ok()?.take()
    }

    /// Returns the seconds until unsaved changes must be written, at most 0 once they must; `None` without any.
    pub(super) fn wait_s(&mut self, has_changed: bool, now_s: f64) -> Option<f64> {
        if has_changed {
            self.changed_s.get_or_insert(now_s);
        }
        Some(DELAY_S - (now_s - self.changed_s?))
    }

    /// Returns whether there are earlier changes that are not saved.
    pub(super) fn has_unsaved(&self) -> bool {
        self.changed_s.is_some() || self.failure.lock().is_ok_and(|failure| failure.is_some())
    }

    /// Drops unsaved changes and the last failure, because another state follows.
    pub(super) fn restart(&mut self) {
        (self.changed_s, self.has_told) = (None, false);
        if let Ok(mut failure) = self.failure.lock() {
            *failure = None;
        }
    }

    /// Writes a state in the background: `save` gets the state as last written, and the given state. It may return a
    /// sentence for the user.
    pub(super) fn write(
        &mut self,
        state: T,
        writes: &BackgroundWrites,
        save: impl FnOnce(&T, &T) -> io::Result<Option<String>> + Send + 'static,
    ) {
        self.changed_s = None;
        let (written, failure, note) = (Arc::clone(&self.written), Arc::clone(&self.failure), Arc::clone(&self.note));
        writes.start(move || {
            let Ok(mut written) = written.lock() else { return };
            let error = match save(&written, &state) {
                Ok(said) => {
                    *written = state;
                    if let (Some(said), Ok(mut note)) = (said, note.lock()) {
                        *note = Some(said);
                    }
                    None
                }
                Err(error) => Some(error),
            };
            if let Ok(mut failure) = failure.lock() {
                *failure = error;
            }
        });
    }
}
