//! The folder of what came while a trace was followed, which goes once it is sorted. A process that is killed leaves it:
//! nobody holds its lock then, so that it can be listed, opened and removed.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::base::files;

/// The folder of such folders, in that of the sorted traces.
pub(crate) const FOLLOWED: &str = "followed";

/// The name of the file that is locked while somebody needs the folder.
const LOCK: &str = "lock";

/// The beginning of the names of folders.
const PREFIX: &str = "follow-";

/// The folder of what came. Removed with everything in it when this is dropped; a process that is killed leaves it.
#[derive(Debug)]
pub(crate) struct SpoolFolder {
    path: Option<PathBuf>,
    /// Locked as long as it is open.
    _lock: File,
}

/// A folder that a killed process left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeftFolder {
    path: PathBuf,
    /// The bytes that came, file by file.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) bytes: u64,
}

impl SpoolFolder {
    /// A folder of the user's own in `parent`. Fails with the error of the system.
    pub(crate) fn new(parent: &Path) -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(1);
        fs::create_dir_all(parent)?;
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
            // A process of this number before may have been killed.
            if path.symlink_metadata().is_err() {
                files::make_private_folder(&path)?;
                let lock = File::create(path.join(LOCK))?;
                lock.lock()?;
                return Ok(Self { path: Some(path), _lock: lock });
            }
        }
    }

    /// Leaves the folder where it is; returns its path.
    pub(crate) fn keep(mut self) -> Option<PathBuf> {
        self.path.take()
    }

    pub(crate) fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new(""))
    }
}

impl Drop for SpoolFolder {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            fs::remove_dir_all(path).ok(); // it stays, and can be opened
        }
    }
}

impl LeftFolder {
    /// The folders in `parent` that nobody needs any more, by name. Fails with the error of the system.
    pub(crate) fn all(parent: &Path) -> io::Result<Vec<Self>> {
        let entries = match fs::read_dir(parent) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut all: Vec<Self> = entries.flatten().filter_map(|entry| Self::of(entry.path())).collect();
        all.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(all)
    }

    fn of(path: PathBuf) -> Option<Self> {
        let is_ours = path.file_name()?.to_str()?.starts_with(PREFIX);
        // A link could lead anywhere.
        if !is_ours || !path.symlink_metadata().ok()?.is_dir() {
            return None;
        }
        match File::open(path.join(LOCK)).map(|lock| lock.try_lock()) {
            // One that is being made has none yet.
            Ok(Err(TryLockError::WouldBlock)) | Err(_) => return None,
            Ok(_) => {}
        }
        let files = fs::read_dir(&path).ok()?.flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> = files.filter(|file| file.extension().is_some_and(|end| end == "spool")).collect();
        files.sort();
        let bytes = files.iter().filter_map(|file| fs::symlink_metadata(file).ok()).map(|file| file.len()).sum();
        Some(Self { path, files, bytes })
    }

    /// Removes it with everything in it. Fails with the error of the system.
    pub(crate) fn remove(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_listed_once_nobody_needs_it_and_nothing_else_ever() {
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
