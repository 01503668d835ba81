//! The spool folder of a followed trace, removed once its data is sorted and saved elsewhere. A killed process leaves
//! it unlocked, so that it can be listed, opened and removed. A note in it names the sources of its files; if it is
//! damaged or missing, only the names are lost.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::base::files;
use crate::model::{Input, SourceFile, Sources};

/// The folder of spool folders, in the cache folder.
pub(crate) const FOLLOWED: &str = "followed";

/// Name of the file that is locked while the folder is in use.
const LOCK: &str = "lock";

/// Name of the note, and its size limit.
const NOTE: &str = "note.json";
const NOTE_BYTES_MAX: u64 = 1 << 20;

/// Prefix of the names of folders.
const PREFIX: &str = "follow-";

/// A spool folder. Dropping it removes it with its content; a killed process or a panic leaves it.
#[derive(Debug)]
pub(crate) struct SpoolFolder {
    path: Option<PathBuf>,
    /// Locked as long as it is open.
    _lock: File,
}

/// The content of a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SpoolNote {
    /// Number of recorded rows; 0 if unknown.
    pub(crate) rows: u64,
    /// Each file by name, with its source. Files of one source are together, in the order of their traces.
    pub(crate) files: Vec<(String, String)>,
}

/// A folder that a killed process left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftFolder {
    pub(crate) path: PathBuf,
    /// The recorded bytes, file by file.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) bytes: u64,
    /// When the last bytes were recorded, if the system reports it.
    pub(crate) changed: Option<SystemTime>,
    note: SpoolNote,
}

/// A folder that a killed process left, locked against others. Dropping it keeps the folder.
#[derive(Debug)]
pub(crate) struct HeldFolder {
    pub(crate) folder: LeftFolder,
    _lock: File,
}

impl SpoolFolder {
    /// Creates a private folder in `parent`. Returns the error of the system.
    pub(crate) fn new(parent: &Path) -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(1);
        fs::create_dir_all(parent)?;
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
            // An earlier process with this id may have been killed.
            if path.symlink_metadata().is_err() {
                files::make_private_folder(&path)?;
                let lock = File::create(path.join(LOCK))?;
                lock.lock()?;
                return Ok(Self { path: Some(path), _lock: lock });
            }
        }
    }

    /// Keeps the folder, and returns its path.
    pub(crate) fn keep(mut self) -> Option<PathBuf> {
        self.path.take()
    }

    /// Keeps the folder with some of its files, and returns its path.
    pub(crate) fn keep_only(self, files: &[PathBuf]) -> Option<PathBuf> {
        let path = self.keep()?;
        let mut left = LeftFolder::from_path(path.clone())?;
        left.files.iter().filter(|file| !files.contains(file)).for_each(|file| drop(fs::remove_file(file)));
        // The noted rows count all files, so their number is unknown now.
        left.note.rows = 0;
        left.note.files.retain(|(name, _)| files.contains(&path.join(name)));
        write_note(&path, &left.note);
        Some(path)
    }

    pub(crate) fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new(""))
    }

    /// Writes the note, for recovery after the process was killed.
    pub(crate) fn write_note(&self, note: &SpoolNote) {
        write_note(self.path(), note);
    }
}

impl Drop for SpoolFolder {
    fn drop(&mut self) {
        // A defect of the program must not cost the data.
        if let Some(path) = self.path.as_ref().filter(|_| !std::thread::panicking()) {
            fs::remove_dir_all(path).ok(); // it stays, and can be opened
        }
    }
}

impl LeftFolder {
    /// Returns the unlocked folders in `parent`, the latest first. Returns the error of the system.
    pub(crate) fn all(parent: &Path) -> io::Result<Vec<Self>> {
        let entries = match fs::read_dir(parent) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut all: Vec<Self> = entries.flatten().filter_map(|entry| Self::from_path(entry.path())).collect();
        all.sort_by(|a, b| b.changed.cmp(&a.changed).then_with(|| a.path.cmp(&b.path)));
        Ok(all)
    }

    fn from_path(path: PathBuf) -> Option<Self> {
        let is_ours = path.file_name()?.to_str()?.starts_with(PREFIX);
        // A link could lead anywhere.
        if !is_ours || !path.symlink_metadata().ok()?.is_dir() {
            return None;
        }
        match File::open(path.join(LOCK)).map(|lock| lock.try_lock()) {
            // A folder that is being created has no lock file yet.
            Ok(Err(TryLockError::WouldBlock)) | Err(_) => return None,
            Ok(_) => {}
        }
        let files = fs::read_dir(&path).ok()?.flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> = files.filter(|file| file.extension().is_some_and(|end| end == "spool")).collect();
        files.sort();
        let all_metadata = || files.iter().filter_map(|file| fs::symlink_metadata(file).ok());
        let bytes = all_metadata().map(|file| file.len()).sum();
        let changed = all_metadata().filter_map(|file| file.modified().ok()).max();
        let note = read_note(&path.join(NOTE)).unwrap_or_default();
        Some(Self { path, files, bytes, changed, note })
    }

    /// Returns the number of recorded rows, if known.
    pub(crate) fn rows(&self) -> Option<u64> {
        Some(self.note.rows).filter(|&rows| rows > 0)
    }

    /// Returns the files under the names of their sources, as far as these are known.
    pub(crate) fn sources(&self) -> Sources {
        let name_of = |file: &PathBuf| {
            let name = file.file_name()?.to_str()?;
            self.note.files.iter().position(|(noted_name, _)| noted_name == name)
        };
        let mut files: Vec<(Option<usize>, &PathBuf)> = self.files.iter().map(|file| (name_of(file), file)).collect();
        // Files missing from the note come last.
        files.sort_by_key(|&(position, _)| position.unwrap_or(usize::MAX));
        let named = files.iter().map(|(position, file)| {
            let name = position.map_or_else(|| (*file).clone(), |position| PathBuf::from(&self.note.files[position].1));
            SourceFile { input: Input::Fd(name), offset_ns: 0 }
        });
        let mut sources = Sources::new(named.collect());
        (0..).zip(&files).for_each(|(position, (_, file))| sources.read_instead(position, (*file).clone()));
        sources
    }

    /// Locks it against others; `None` if another process has it.
    pub(crate) fn hold(&self) -> Option<HeldFolder> {
        let lock = File::open(self.path.join(LOCK)).ok()?;
        lock.try_lock().ok()?;
        Some(HeldFolder { folder: self.clone(), _lock: lock })
    }

    /// Removes it with its content. Returns the error of the system.
    pub(crate) fn remove(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.path)
    }
}

fn write_note(folder: &Path, note: &SpoolNote) {
    // Without a note, the files can still be recovered.
    let new = folder.join("note.new");
    if serde_json::to_vec(note).is_ok_and(|text| fs::write(&new, text).is_ok()) {
        fs::rename(new, folder.join(NOTE)).ok();
    }
}

fn read_note(path: &Path) -> Option<SpoolNote> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(NOTE_BYTES_MAX).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftover_spools_have_the_names_of_their_note_and_one_owner_at_a_time() {
        let parent = tempfile::tempdir().unwrap();
        let folder = SpoolFolder::new(parent.path()).unwrap();
        for (name, bytes) in [("received.spool", "12345"), ("received.2.spool", "6"), ("received.3.spool", "78")] {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        let files = [("received.2.spool", "app.json"), ("received.spool", "strace")];
        let files = files.map(|(file, source)| (file.to_owned(), source.to_owned())).to_vec();
        folder.write_note(&SpoolNote { rows: 7, files });
        let path = folder.keep().unwrap();
        let left = LeftFolder::all(parent.path()).unwrap().pop().unwrap();
        let names = |left: &LeftFolder| left.sources().names().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!((left.rows(), left.bytes, left.changed.is_some()), (Some(7), 8, true));
        assert_eq!(names(&left)[..2], ["app.json".to_owned(), "strace".to_owned()]);
        let held = left.hold().unwrap();
        assert!(left.hold().is_none() && LeftFolder::all(parent.path()).unwrap().is_empty());
        drop(held);
        // A damaged note, or one that is much too long, names nothing.
        for damage in [&b"{\"rows\":"[..], b"[1,2]", &vec![b' '; 2 << 20]] {
            fs::write(path.join(NOTE), damage).unwrap();
            let left = LeftFolder::all(parent.path()).unwrap().pop().unwrap();
            assert_eq!((left.rows(), names(&left).len()), (None, 3));
        }
    }

    #[test]
    fn a_folder_of_which_some_files_are_kept_has_no_others() {
        let parent = tempfile::tempdir().unwrap();
        let folder = SpoolFolder::new(parent.path()).unwrap();
        let [read, unread] = ["received.spool", "received.2.spool"].map(|name| folder.path().join(name));
        for path in [&read, &unread] {
            fs::write(path, "12345").unwrap();
        }
        let files = [("received.spool", "app.json"), ("received.2.spool", "strace")];
        let files = files.map(|(file, source)| (file.to_owned(), source.to_owned())).to_vec();
        folder.write_note(&SpoolNote { rows: 7, files });
        let path = folder.keep_only(std::slice::from_ref(&unread)).unwrap();
        let [left] = &LeftFolder::all(parent.path()).unwrap()[..] else { panic!("one") };
        assert_eq!((&left.path, &left.files, read.exists()), (&path, &vec![unread], false));
        assert_eq!((left.rows(), left.sources().to_string().as_str()), (None, "strace"), "the rows are of both");
    }

    #[test]
    fn a_panic_leaves_the_recorded_data() {
        let parent = tempfile::tempdir().unwrap();
        let folder = SpoolFolder::new(parent.path()).unwrap();
        fs::write(folder.path().join("received.spool"), "12345").unwrap();
        let failed = std::panic::catch_unwind(move || {
            let _folder = folder;
            panic!("a defect");
        });
        assert!(failed.is_err());
        assert_eq!(LeftFolder::all(parent.path()).unwrap().iter().map(|left| left.bytes).collect::<Vec<_>>(), [5]);
    }

    #[test]
    fn the_latest_folder_is_listed_first() {
        let parent = tempfile::tempdir().unwrap();
        let since_1970 = [3, 9, 5].map(std::time::Duration::from_secs);
        let paths = since_1970.map(|since| {
            let folder = SpoolFolder::new(parent.path()).unwrap();
            let file = File::create(folder.path().join("received.spool")).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + since).unwrap();
            folder.keep().unwrap()
        });
        let listed: Vec<_> = LeftFolder::all(parent.path()).unwrap().into_iter().map(|left| left.path).collect();
        assert_eq!(listed, [&paths[1], &paths[2], &paths[0]].map(Clone::clone));
    }

    #[test]
    fn only_a_folder_that_no_process_uses_is_listed() {
        let parent = tempfile::tempdir().unwrap();
        let all = || LeftFolder::all(parent.path()).unwrap();
        let folder = SpoolFolder::new(parent.path()).unwrap();
        fs::write(folder.path().join("received.spool"), "12345").unwrap();
        fs::create_dir(parent.path().join("other")).unwrap();
        fs::create_dir(parent.path().join("follow-being-made")).unwrap();
        assert_eq!(all(), [], "it is needed");
        let path = folder.keep().unwrap();
        let [left] = &all()[..] else { panic!("one: {:?}", all()) };
        assert_eq!((left.bytes, left.files.clone()), (5, vec![path.join("received.spool")]));
        left.remove().unwrap();
        assert!(all().is_empty() && !path.exists() && parent.path().join("other").exists());
        assert_eq!(LeftFolder::all(&parent.path().join("none")).unwrap(), []);
    }
}
