//! Merges the preferences that a window has changed into the preferences that another window has saved since. If two
//! windows change the same preference, the later change is kept.

use std::{fs, io};

use serde_json::{Map, Value};

use super::preferences::{Folders, Preferences, read};
use super::recent::RecentTraces;

impl Folders {
    /// Writes the preferences that differ between `before` and `now`. The others stay as another window may have saved
    /// them. Returns a sentence if the saved file was damaged and set aside. Fails if it cannot be read or written.
    pub(super) fn save_changed_preferences(
        &self,
        before: &Preferences,
        now: &Preferences,
    ) -> io::Result<Option<String>> {
        fs::create_dir_all(&self.config)?;
        // Two windows must not merge at once. A file system may not support locks.
        let lock = fs::File::create(self.config.join("preferences.lock"))?;
        lock.lock().ok();
        let (saved, note) = read(&self.preferences_path())?;
        match saved {
            Some(saved) => self.save_preferences(&merged(saved, before, now)?),
            None => self.save_preferences(now),
        }?;
        Ok(note)
    }
}

/// Applies the changes from `before` to `now` to `saved`. Recent traces of both windows are kept.
fn merged(saved: Preferences, before: &Preferences, now: &Preferences) -> serde_json::Result<Preferences> {
    let recent = RecentTraces::merged(&saved.recent, &before.recent, &now.recent);
    let mut value = serde_json::to_value(saved)?;
    merge(&mut value, &serde_json::to_value(before)?, &serde_json::to_value(now)?);
    Ok(Preferences { recent, ..serde_json::from_value(value)? })
}

/// Sets the members of `saved` that differ between `before` and `now`, also within objects.
fn merge(saved: &mut Value, before: &Value, now: &Value) {
    match (saved, before, now) {
        (Value::Object(saved), Value::Object(before), Value::Object(now)) => merge_members(saved, before, now),
        (saved, _, now) => now.clone_into(saved),
    }
}

fn merge_members(saved: &mut Map<String, Value>, before: &Map<String, Value>, now: &Map<String, Value>) {
    saved.retain(|key, _| now.contains_key(key) || !before.contains_key(key));
    for (key, now) in now {
        let before = before.get(key).unwrap_or(&Value::Null);
        // An unchanged member stays out of a file that lacks it.
        if before != now {
            merge(saved.entry(key).or_insert(Value::Null), before, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Sources;
    use crate::scene::color::Shade;
    use crate::scene::palette::{ColorBy, Colors, Hues};
    use crate::ui::settings::TableLayout;

    #[test]
    fn each_window_changes_only_what_its_user_has_changed() {
        let before = Preferences::default();
        let with_recent = |paths: &[&str], preferences: Preferences| {
            let mut preferences = preferences;
            paths.iter().for_each(|path| preferences.recent.note(&Sources::from(path)));
            preferences
        };
        let before = with_recent(&["/old", "/older"], before);
        let colors = Colors { hues: Hues::ColorBlind, ..Colors::default() };
        let one = with_recent(&["/one"], Preferences { shade: Some(Shade::Light), colors, ..before.clone() });
        let colors = Colors { by: ColorBy::Category, ..Colors::default() };
        let other = with_recent(&["/other"], Preferences { csv_safe: true, colors, ..before.clone() });
        let both = merged(one, &before, &other).unwrap();
        assert_eq!((both.shade, both.csv_safe), (Some(Shade::Light), true));
        assert_eq!(both.colors, Colors { by: ColorBy::Category, hues: Hues::ColorBlind });
        let paths: Vec<_> = both.recent.traces().iter().map(|trace| trace.sources.to_string()).collect();
        assert_eq!(paths, ["/other", "/one", "/older", "/old"]);
        // A file that was edited by hand lacks the layout of a table that stays the same.
        let tables = [("samples".to_owned(), TableLayout::default())].into();
        let with_table = Preferences { tables, ..before.clone() };
        let now = Preferences { csv_safe: true, ..with_table.clone() };
        let edited = merged(before.clone(), &with_table, &now).unwrap();
        assert!(edited.csv_safe && edited.tables.is_empty());
        // A preference that is set back to its default.
        let back = Preferences { shade: None, ..both.clone() };
        assert_eq!(merged(both.clone(), &both, &back).unwrap(), back);
    }

    #[test]
    fn a_file_that_was_damaged_or_cannot_be_read_is_not_overwritten() {
        let root = tempfile::tempdir().unwrap();
        let folders = Folders { config: root.path().join("config"), state: root.path().join("state") };
        let (before, path) = (Preferences::default(), folders.preferences_path());
        let now = Preferences { csv_safe: true, ..before.clone() };
        folders.save_preferences(&before).unwrap();
        fs::write(&path, "{ edited by hand").unwrap();
        let note = folders.save_changed_preferences(&before, &now).unwrap().expect("a note");
        assert!(note.contains("renamed to") && folders.preferences() == (now.clone(), None), "{note}");
        assert_eq!(fs::read(path.with_extension("json.broken")).unwrap(), b"{ edited by hand");
        // A link to itself cannot be read.
        #[cfg(unix)]
        {
            fs::remove_file(&path).unwrap();
            std::os::unix::fs::symlink(&path, &path).unwrap();
            let error = folders.save_changed_preferences(&before, &now).unwrap_err();
            assert!(error.to_string().contains("cannot be read") && path.is_symlink(), "{error}");
        }
    }

    #[test]
    fn windows_that_save_at_once_all_save_their_changes() {
        let root = tempfile::tempdir().unwrap();
        let folders = Folders { config: root.path().join("config"), state: root.path().join("state") };
        let tables: Vec<String> = (0..8).map(|number| format!("table {number}")).collect();
        std::thread::scope(|scope| {
            for table in &tables {
                let before = Preferences::default();
                let now = Preferences { tables: [(table.clone(), TableLayout::default())].into(), ..before.clone() };
                let folders = &folders;
                scope.spawn(move || drop(folders.save_changed_preferences(&before, &now).unwrap()));
            }
        });
        let (saved, note) = folders.preferences();
        assert_eq!((saved.tables.into_keys().collect::<Vec<_>>(), note), (tables, None));
    }
}
