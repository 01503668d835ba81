//! Preferences in one JSON file, and the view of each trace in its own file. A file that cannot be read is set aside,
//! with a notice; it is never overwritten.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::recent::RecentTraces;
use crate::base::budget::Memory;
use crate::base::disk::{Disk, SystemDisk};
use crate::base::{files, folders, replace};
use crate::ingest::LoadOptions;
use crate::scene::color::Shade;
use crate::scene::palette::Colors;
use crate::scene::rows::TrackDensity;
use crate::store::cache::CacheKey;
use crate::ui::command_table::{TEXT_PERCENT_MAX, TEXT_PERCENT_MIN};
use crate::ui::panels::dock::Dock;
use crate::ui::panels::preferences::SOURCE_FOLDERS_MAX;
use crate::ui::settings::{Navigation, SecondStart, TableLayout};
use crate::ui::timeline::saved::SavedTimeline;
use crate::ui::timeline::state::Timeline;

/// Limit for saved timelines; the least recently opened are deleted first.
const KEPT_MAX: usize = 300;

/// Minimum memory limit of an import in the window.
const MEMORY_BYTES_MIN: u64 = 64 << 20;

/// The folders of the program's own files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// Folder of the preferences file.
    pub config: PathBuf,
    /// Folder of saved timelines.
    pub state: PathBuf,
}

/// Position and size of the window, in points.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WindowGeometry {
    /// Distance from the left edge of the screen.
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// Whether the window is maximised. The other fields then have its previous position and size.
    pub(crate) maximized: bool,
}

/// The user's preferences, as in their file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Preferences {
    /// The theme, dark or light; `None` follows the desktop.
    pub shade: Option<Shade>,
    /// The window in which a second start opens its trace.
    pub second_start: SecondStart,
    /// The colour scheme of spans.
    pub colors: Colors,
    /// Font size, in percent of the default.
    pub text_percent: u16,
    /// Navigation settings; `None` follows the desktop.
    pub navigation: Option<Navigation>,
    /// The height of the rows of all tracks.
    pub density: TrackDensity,
    /// Memory limit of an import.
    pub memory_bytes: u64,
    /// Size limit of the cache.
    pub cache_bytes: u64,
    /// Whether CSV escapes text that a spreadsheet would take for a formula.
    pub csv_safe: bool,
    /// Source folders, as `FOLDER` or `FROM=FOLDER`.
    pub source_folders: Vec<String>,
    /// Recently opened traces, newest first.
    pub recent: RecentTraces,
    /// Position and size of the window.
    pub window: Option<WindowGeometry>,
    /// Height of the dock, in points.
    pub dock_points: u16,
    /// Width of the track names, in points.
    pub gutter_points: u16,
    /// Layouts of tables, by name.
    pub tables: BTreeMap<String, TableLayout>,
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            shade: None,
            second_start: SecondStart::default(),
            colors: Colors::default(),
            text_percent: 100,
            navigation: None,
            density: TrackDensity::default(),
            memory_bytes: Memory::DEFAULT_BYTES,
            cache_bytes: LoadOptions::CACHE_BYTES_MAX,
            csv_safe: false,
            source_folders: Vec::new(),
            recent: RecentTraces::default(),
            window: None,
            dock_points: Dock::POINTS,
            gutter_points: Timeline::GUTTER_POINTS,
            tables: BTreeMap::new(),
        }
    }
}

impl Folders {
    /// Returns the user's own folders; `None` if the system has none, or only a relative `HOME`.
    #[must_use]
    pub(crate) fn for_user() -> Option<Self> {
        let own = |folder: PathBuf| folder.join("longspan");
        Some(Self { config: own(folders::config()?), state: own(folders::state()?) })
    }

    /// Reads the preferences. Returns defaults and a sentence if the file cannot be read.
    #[must_use]
    pub fn preferences(&self) -> (Preferences, Option<String>) {
        let (saved, note) = read_or_note::<Preferences>(&self.preferences_path());
        let mut preferences = saved.unwrap_or_default();
        // A font size of 0 percent would make the preferences unreadable, and so impossible to fix.
        preferences.text_percent = preferences.text_percent.clamp(TEXT_PERCENT_MIN, TEXT_PERCENT_MAX);
        preferences.memory_bytes = preferences.memory_bytes.max(MEMORY_BYTES_MIN);
        preferences.source_folders.truncate(SOURCE_FOLDERS_MAX);
        (preferences, note)
    }

    /// Reads the action of a second start before there is a window to report a broken file.
    #[must_use]
    pub fn second_start(&self) -> SecondStart {
        let text = fs::read(self.preferences_path()).unwrap_or_default();
        serde_json::from_slice::<Preferences>(&text).map(|saved| saved.second_start).unwrap_or_default()
    }

    /// Writes the preferences to their file.
    ///
    /// # Errors
    /// Returns the I/O error of the write.
    pub fn save_preferences(&self, preferences: &Preferences) -> io::Result<()> {
        write(&self.preferences_path(), preferences)
    }

    /// Reads the saved timeline of a trace, by the key of its content. Returns a sentence if the file cannot be read.
    #[must_use]
    pub(crate) fn timeline(&self, trace: &CacheKey) -> (Option<SavedTimeline>, Option<String>) {
        read_or_note(&self.timeline_path(trace))
    }

    /// Saves the timeline of a trace. Returns the I/O error of the write.
    pub(crate) fn save_timeline(&self, trace: &CacheKey, timeline: &SavedTimeline) -> io::Result<()> {
        write(&self.timeline_path(trace), timeline)?;
        forget_oldest(&self.state.join("captures"), KEPT_MAX)
    }

    /// Saves what differs between `before` and `now`. The rest stays as another window of the trace may have saved it.
    /// Returns a sentence if the saved file was damaged and set aside. Fails as [`Self::save_timeline`] does, or if the
    /// saved file cannot be read.
    pub(super) fn save_changed_timeline(
        &self,
        trace: &CacheKey,
        before: &SavedTimeline,
        now: &SavedTimeline,
    ) -> io::Result<Option<String>> {
        fs::create_dir_all(&self.state)?;
        // Two windows must not merge at once. A file system may not support locks.
        let lock = fs::File::create(self.state.join("captures.lock"))?;
        lock.lock().ok();
        let (saved, note) = read(&self.timeline_path(trace))?;
        match saved {
            Some(saved) => self.save_timeline(trace, &SavedTimeline::merged(saved, before, now)),
            None => self.save_timeline(trace, now),
        }?;
        Ok(note)
    }

    pub(super) fn preferences_path(&self) -> PathBuf {
        self.config.join("preferences.json")
    }

    fn timeline_path(&self, trace: &CacheKey) -> PathBuf {
        self.state.join("captures").join(format!("{}.json", trace.as_str()))
    }
}

/// Reads a JSON file. Returns a sentence if it is damaged, and renamed so that it can be repaired, or cannot be read.
fn read_or_note<T: DeserializeOwned>(path: &Path) -> (Option<T>, Option<String>) {
    read(path).unwrap_or_else(|error| (None, Some(error.to_string())))
}

/// Reads a JSON file. A damaged file is renamed, so that it can be repaired, and reported in a sentence. Returns the
/// I/O error of a file that exists and cannot be read.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<(Option<T>, Option<String>)> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((None, None)),
        Err(error) => {
            return Err(io::Error::new(error.kind(), format!("{}: cannot be read: {error}", path.display())));
        }
    };
    Ok(match serde_json::from_slice(&text) {
        Ok(value) => (Some(value), None),
        Err(error) => {
            let aside = path.with_extension("json.broken");
            let moved = match fs::rename(path, &aside) {
                Ok(()) => format!("renamed to {}", aside.display()),
                Err(error) => format!("cannot be renamed: {error}"),
            };
            (None, Some(format!("{}: invalid ({error}); {moved}", path.display())))
        }
    })
}

/// Writes a JSON file atomically.
fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    write_on(path, value, &SystemDisk)
}

fn write_on(path: &Path, value: &impl Serialize, disk: &dyn Disk) -> io::Result<()> {
    fs::create_dir_all(files::folder_of(path))?;
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    replace::write(path, &text, disk)
}

/// Deletes the oldest files of a folder until `most` are left.
fn forget_oldest(folder: &Path, most: usize) -> io::Result<()> {
    let files = fs::read_dir(folder)?
        .flatten()
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())));
    let mut files: Vec<_> = files.collect();
    files.sort();
    let excess = files.len().saturating_sub(most);
    files.iter().take(excess).try_for_each(|(_, path)| fs::remove_file(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Sources, TrackIdx};
    use crate::scene::arrange::{Arrangement, TrackOrder};
    use crate::scene::palette::{ColorBy, Hues};
    use crate::ui::settings::Wheel;

    fn folders(root: &Path) -> Folders {
        Folders { config: root.join("config"), state: root.join("state") }
    }

    #[test]
    fn preferences_are_restored_unchanged_and_missing_ones_have_defaults() {
        let root = tempfile::tempdir().unwrap();
        let folders = folders(root.path());
        assert_eq!(folders.preferences(), (Preferences::default(), None));
        let mut recent = RecentTraces::default();
        recent.note(&Sources::from("/a trace.json"));
        let chosen = Preferences {
            shade: Some(Shade::Light),
            density: TrackDensity::Tall,
            second_start: SecondStart::Window,
            csv_safe: true,
            colors: Colors { by: ColorBy::Duration, hues: Hues::ColorBlind },
            navigation: Some(Navigation { wheel: Wheel::Zooms, inertia: false, animation: false }),
            recent,
            window: Some(WindowGeometry { x: -5.0, y: 7.5, width: 900.0, height: 700.0, maximized: true }),
            ..Preferences::default()
        };
        assert_eq!(folders.second_start(), SecondStart::Tab);
        folders.save_preferences(&chosen).unwrap();
        assert_eq!(folders.second_start(), SecondStart::Window);
        assert_eq!(folders.preferences(), (chosen, None));
        // From another version: missing fields have defaults, unknown ones are ignored.
        fs::write(folders.preferences_path(), r#"{"shade":"Light","unknown":[1]}"#).unwrap();
        let (read, note) = folders.preferences();
        assert_eq!((read, note), (Preferences { shade: Some(Shade::Light), ..Preferences::default() }, None));
    }

    #[test]
    fn a_full_disk_leaves_the_saved_preferences_unchanged() {
        /// Writes half of the data of the request that fails.
        #[derive(Debug)]
        struct Full(std::sync::atomic::AtomicU32);

        impl Full {
            fn request(&self) -> io::Result<()> {
                let left = self.0.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
                if left == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
            }
        }

        impl Disk for Full {
            fn write_all_at(&self, file: &fs::File, bytes: &[u8], offset: u64) -> io::Result<()> {
                SystemDisk.write_all_at(file, &bytes[..bytes.len() / 2], offset)?;
                self.request()?;
                SystemDisk.write_all_at(file, bytes, offset)
            }

            fn sync(&self, _: &fs::File) -> io::Result<()> {
                self.request()
            }

            fn sync_folder(&self, _: &Path) -> io::Result<()> {
                Ok(())
            }

            fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
                self.request()?;
                SystemDisk.rename(from, to)
            }
        }

        let root = tempfile::tempdir().unwrap();
        let folders = folders(root.path());
        let link = folders.preferences_path();
        let old = Preferences { text_percent: 120, ..Preferences::default() };
        folders.save_preferences(&old).unwrap();
        // Some users link such files to another folder.
        let elsewhere = root.path().join("elsewhere.json");
        fs::rename(&link, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
        for request in 0..2 {
            let full = Full(request.into());
            let refused = write_on(&link, &Preferences::default(), &full);
            assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::StorageFull);
            assert_eq!(folders.preferences(), (old.clone(), None));
            assert_eq!(fs::read_dir(folders.config.as_path()).unwrap().count(), 1, "nothing is left behind");
        }
        folders.save_preferences(&Preferences::default()).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(folders.preferences(), (Preferences::default(), None));
    }

    #[test]
    fn a_file_cut_at_any_byte_is_set_aside_with_a_notice() {
        let root = tempfile::tempdir().unwrap();
        let folders = folders(root.path());
        folders.save_preferences(&Preferences::default()).unwrap();
        let path = folders.preferences_path();
        let whole = fs::read(&path).unwrap();
        let end = whole.iter().rposition(|&byte| byte == b'}').unwrap();
        for length in 0..end {
            fs::write(&path, &whole[..length]).unwrap();
            let (read, note) = folders.preferences();
            assert_eq!(read, Preferences::default());
            assert!(note.is_some_and(|note| note.contains("preferences.json.broken")), "{length}");
            assert!(!path.exists());
            assert_eq!(fs::read(path.with_extension("json.broken")).unwrap(), &whole[..length]);
        }
    }

    #[test]
    fn a_saved_timeline_is_restored_until_its_trace_changes() {
        let root = tempfile::tempdir().unwrap();
        let folders = folders(root.path());
        let path = root.path().join("capture.json");
        let key = || CacheKey::from_sources(&Sources::from(&path)).unwrap();
        fs::write(&path, "[]").unwrap();
        let trace = key();
        assert_eq!(folders.timeline(&trace), (None, None));
        let arrangement = Arrangement { order: TrackOrder::Name, pinned: vec![TrackIdx(3)], ..Arrangement::default() };
        let color_by = Some(ColorBy::Track);
        let saved = SavedTimeline { start_ns: -5, end_ns: i64::MAX, arrangement, color_by, ..SavedTimeline::default() };
        folders.save_timeline(&trace, &saved).unwrap();
        assert_eq!(folders.timeline(&trace), (Some(saved), None));
        // A version that saved neither the scope nor the panels.
        fs::write(folders.timeline_path(&trace), r#"{"start_ns":-5,"end_ns":9,"unknown":[1]}"#).unwrap();
        let old = SavedTimeline { start_ns: -5, end_ns: 9, ..SavedTimeline::default() };
        assert!(old.scope.is_whole() && old.panels.is_none());
        assert_eq!(folders.timeline(&trace), (Some(old), None));
        fs::write(&path, "[ ]").unwrap();
        assert_eq!(folders.timeline(&key()), (None, None));
    }

    #[test]
    fn the_oldest_saved_timelines_are_deleted() {
        let root = tempfile::tempdir().unwrap();
        for number in 0..5 {
            fs::write(root.path().join(format!("{number}")), "").unwrap();
            std::thread::sleep(std::time::Duration::from_millis(12));
        }
        forget_oldest(root.path(), 2).unwrap();
        let mut left: Vec<_> = fs::read_dir(root.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
        left.sort();
        assert_eq!(left, ["3", "4"]);
    }
}
