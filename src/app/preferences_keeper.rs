//! Saves the preferences soon after a change, in the background. A window that is resized changes them in every frame.

use super::background_writes::BackgroundWrites;
use super::preferences::{Folders, Preferences};
use super::state_keeper::StateKeeper;

/// Unsaved changes of the preferences.
#[derive(Debug)]
pub(super) struct PreferencesKeeper {
    /// The preferences as last read or passed to a write, which may have failed.
    last: Preferences,
    keeper: StateKeeper<Preferences>,
}

impl PreferencesKeeper {
    /// Creates a keeper of preferences as they were read.
    pub(super) fn new(read: &Preferences) -> Self {
        let mut keeper = StateKeeper::default();
        keeper.note_read(read.clone());
        Self { last: read.clone(), keeper }
    }

    /// Returns why changes cannot be saved, the first time that this fails, or that a damaged file was set aside.
    pub(super) fn take_failure(&mut self) -> Option<String> {
        let failure = self.keeper.take_failure();
        failure.map(|error| format!("The preferences could not be saved: {error}")).or_else(|| self.keeper.take_note())
    }

    /// Saves earlier changes. Returns the seconds until it must be called again, if there are unsaved changes.
    pub(super) fn save_if_due(
        &mut self,
        preferences: &Preferences,
        target: (&Folders, &BackgroundWrites),
        now_s: f64,
    ) -> Option<f64> {
        let wait_s = self.keeper.wait_s(*preferences != self.last, now_s)?;
        if wait_s > 0.0 {
            return Some(wait_s);
        }
        self.write(preferences, target);
        None
    }

    /// Saves unsaved changes, also after an earlier failure.
    pub(super) fn finish(&mut self, preferences: &Preferences, target: (&Folders, &BackgroundWrites)) {
        if *preferences != self.last || self.keeper.has_unsaved() {
            self.write(preferences, target);
        }
    }

    fn write(&mut self, preferences: &Preferences, (folders, writes): (&Folders, &BackgroundWrites)) {
        preferences.clone_into(&mut self.last);
        let folders = folders.clone();
        self.keeper
            .write(preferences.clone(), writes, move |before, now| folders.save_changed_preferences(before, now));
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

    #[test]
    fn a_file_that_was_damaged_meanwhile_is_reported_once() {
        let root = tempfile::tempdir().unwrap();
        let folders = Folders { config: root.path().join("config"), state: root.path().join("state") };
        let writes = BackgroundWrites::default();
        let mut keeper = PreferencesKeeper::new(&Preferences::default());
        folders.save_preferences(&Preferences::default()).unwrap();
        std::fs::write(folders.preferences_path(), "{").unwrap();
        keeper.finish(&Preferences { csv_safe: true, ..Preferences::default() }, (&folders, &writes));
        writes.wait();
        assert!(keeper.take_failure().is_some_and(|note| note.contains("renamed to")));
        assert_eq!(keeper.take_failure(), None);
    }

    #[test]
    fn preferences_that_could_not_be_saved_are_saved_with_later_ones_and_at_the_end() {
        let root = tempfile::tempdir().unwrap();
        let folders = Folders { config: root.path().join("config"), state: root.path().join("state") };
        let writes = BackgroundWrites::default();
        let mut keeper = PreferencesKeeper::new(&Preferences::default());
        // A file in place of the folder.
        std::fs::write(&folders.config, "").unwrap();
        let mut now = Preferences { csv_safe: true, ..Preferences::default() };
        for text_percent in [120, 130] {
            now.text_percent = text_percent;
            keeper.finish(&now, (&folders, &writes));
            writes.wait();
            assert_eq!(keeper.take_failure().is_some(), text_percent == 120, "it is told once");
        }
        std::fs::remove_file(&folders.config).unwrap();
        folders.save_preferences(&Preferences::default()).unwrap();
        keeper.finish(&now, (&folders, &writes));
        writes.wait();
        let (saved, _) = folders.preferences();
        assert_eq!((saved.csv_safe, saved.text_percent, keeper.take_failure()), (true, 130, None));
    }
}
