//! The preferences file: any bytes are preferences within their limits, or the file is set aside unchanged with a
//! message. Saved preferences are read back the same.

use std::fs;

use longspan::facade::app::preferences::{Folders, Preferences};

pub(super) fn check(bytes: &[u8]) {
    let root = tempfile::tempdir().expect("a folder for temporary files");
    let folders = Folders { config: root.path().to_owned(), state: root.path().join("state") };
    let path = root.path().join("preferences.json");
    fs::write(&path, bytes).expect("written");
    let (preferences, note) = folders.preferences();
    assert!((60..=200).contains(&preferences.text_percent) && preferences.memory_bytes >= 64 << 20);
    match note {
        None => assert_eq!(fs::read(&path).expect("still there"), bytes),
        Some(note) => {
            assert!(note.contains("preferences.json.broken"), "{note}");
            assert_eq!(fs::read(root.path().join("preferences.json.broken")).expect("set aside"), bytes);
            assert_eq!(preferences, Preferences::default());
        }
    }
    let _second_start = folders.second_start();
    folders.save_preferences(&preferences).expect("written");
    // The window position has floats, which may differ in the last digit.
    let without_window = |preferences: Preferences| Preferences { window: None, ..preferences };
    let (again, note) = folders.preferences();
    assert_eq!((without_window(again), note), (without_window(preferences), None));
}
