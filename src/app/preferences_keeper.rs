//! Saves the preferences soon after a change, in the background. A window that is resized changes them in every frame.

use std::sync::{Arc, Mutex};

use super::background_writes::BackgroundWrites;
use super::preferences::{Folders, Preferences};
use super::timeline_keeper::DELAY_S;

/// Unsaved changes of the preferences.
#[derive(Debug)]
pub(super) struct PreferencesKeeper {
    /// The preferences as last saved, to find those that have changed.
    saved: Preferences,
    /// Time of the first unsaved change, in seconds of the window's clock.
    changed_s: Option<f64>,
    /// The reason why they cannot be saved, until it is shown.
    failed: Arc<Mutex<Option<String>>>,
}

impl PreferencesKeeper {
    /// Creates a keeper of preferences as they were read.
    pub(super) fn new(read: &Preferences) -> Self {
        Self { saved: read.clone(), changed_s: None, failed: Arc::default() }
    }

    /// Returns why the last changes could not be saved, once.
    pub(super) fn take_failure(&self) -> Option<String> {
        self.failed.lock().ok()?.take()
    }

    /// Saves earlier changes. Returns the seconds until it must be called again, if there are unsaved changes.
    pub(super) fn save_if_due(
        &mut self,
        preferences: &Preferences,
        target: (&Folders, &BackgroundWrites),
        now_s: f64,
    ) -> Option<f64> {
        if *preferences == self.saved {
            self.changed_s = None;
            return None;
        }
        let left_s = DELAY_S - (now_s - *self.changed_s.get_or_insert(now_s));
        if left_s > 0.0 {
            return Some(left_s);
        }
        self.finish(preferences, target);
        None
    }

    /// Saves unsaved changes.
    pub(super) fn finish(&mut self, preferences: &Preferences, (folders, writes): (&Folders, &BackgroundWrites)) {
        self.changed_s = None;
        if *preferences == self.saved {
            return;
        }
        let before = std::mem::replace(&mut self.saved, preferences.clone());
        let (now, folders, failed) = (preferences.clone(), folders.clone(), Arc::clone(&self.failed));
        writes.start(move || {
            if let Err(error) = folders.keep_changed_preferences(&before, &now)
                && let Ok(mut failed) = failed.lock()
            {
                *failed = Some(format!("The preferences could not be saved: {error}"));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::preferences::WindowGeometry;

    #[test]
    fn a_window_that_is_resized_saves_its_size_once_and_not_in_each_frame() {
        let root = tempfile::tempdir().unwrap();
        let folders = Folders { config: root.path().join("config"), state: root.path().join("state") };
        let writes = BackgroundWrites::default();
        let mut keeper = PreferencesKeeper::new(&Preferences::default());
        let of_width = |width| WindowGeometry { x: 0.0, y: 0.0, width, height: 500.0, maximized: false };
        let sized = |width| Preferences { window: Some(of_width(width)), ..Preferences::default() };
        let saved = || {
            writes.wait();
            folders.preferences().0.window.map(|window| window.width)
        };
        let mut save = |width, now_s| keeper.save_if_due(&sized(width), (&folders, &writes), now_s);
        for step in 0..8 {
            let left_s = save(600.0 + f64::from(step), f64::from(step) * 0.1).expect("another frame");
            assert!(left_s > 0.0 && saved().is_none(), "at step {step}");
        }
        assert_eq!((save(700.0, 0.9), saved()), (None, Some(700.0)));
        assert_eq!(save(700.0, 5.0), None);
        keeper.finish(&sized(800.0), (&folders, &writes));
        assert_eq!(saved(), Some(800.0), "at the end, at once");
    }
}
