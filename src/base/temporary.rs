//! Temporary files and folders: outputs until they are complete, and copies of inputs that can be read once.
//!
//! A temporary is removed when it is dropped, when a signal ends the program ([`remove_all`]), and after a kill by the
//! next start ([`sweep`]). Its name contains the process id, and it is locked as long as that process lives. A leftover
//! is a file of such a name without a lock, because process ids are reused. Never follows a link.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::files;

/// Prefix of all names: hidden in listings, and recognised by [`sweep`].
const PREFIX: &str = ".longspan-";
const EXTENSION: &str = ".tmp";

/// Digits appended to the number of a renamed folder: the result is longer than any count, so no other temporary has
/// it.
const UNUSED_DIGITS: &str = "0000000000";

/// The permissions of a temporary file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Only this user may read and write it.
    Private,
    /// The default permissions of new files.
    Usual,
}

/// A file or folder with a unique name; removed when dropped, unless it was published.
#[derive(Debug)]
pub(crate) struct Temporary {
    path: PathBuf,
    /// Holds the lock. `None` for a folder on a system that cannot open folders.
    file: Option<File>,
    is_published: bool,
}

/// The temporaries of this process, and whether each is a folder.
static LIVE: Mutex<BTreeMap<PathBuf, bool>> = Mutex::new(BTreeMap::new());

fn live() -> MutexGuard<'static, BTreeMap<PathBuf, bool>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Temporary {
    /// Creates an empty file in `folder`, open for reading and writing. Returns an I/O error, such as a folder that is
    /// not writable.
    pub(crate) fn file(folder: &Path, access: Access) -> io::Result<Self> {
        Self::named(folder, |number| format!("{PREFIX}{}-{number}{EXTENSION}", std::process::id()), access)
    }

    /// Creates a file under a name that `name` builds from a number unique in this process. Fails as
    /// [`Temporary::file`] does.
    pub(crate) fn named(folder: &Path, name: impl Fn(u32) -> String, access: Access) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        if access == Access::Private {
            files::private(&mut options);
        }
        Self::make(folder, name, false, |path| options.open(path).map(Some))
    }

    /// Creates an empty folder in `folder`. Fails as [`Temporary::file`] does.
    pub(crate) fn folder(folder: &Path) -> io::Result<Self> {
        let name = |number| format!("{PREFIX}{}-{number}{EXTENSION}", std::process::id());
        Self::make(folder, name, true, |path| fs::create_dir(path).map(|()| File::open(path).ok()))
    }

    fn make(
        folder: &Path,
        name: impl Fn(u32) -> String,
        is_folder: bool,
        make: impl Fn(&Path) -> io::Result<Option<File>>,
    ) -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        loop {
            let path = folder.join(name(COUNT.fetch_add(1, Ordering::Relaxed)));
            let made = {
                // One lock covers both steps, so a signal finds either nothing or a registered temporary.
                let mut live = live();
                let made = make(&path);
                if made.is_ok() {
                    live.insert(path.clone(), is_folder);
                }
                made
            };
            let file = match made {
                // A process of another container may have the same id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            };
            let temporary = Self { path, file, is_published: false };
            let Some(file) = &temporary.file else { return Ok(temporary) };
            // On a file system without locks, no process takes a file for a leftover.
            file.lock().ok();
            // Between creation and locking, another process may have removed it as a leftover.
            if fs::symlink_metadata(&temporary.path).is_ok() {
                return Ok(temporary);
            }
        }
    }

    /// Returns its name until it is published.
    #[must_use]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a handle of the file; the lock lasts until the last handle is closed. Returns an error if the system has
    /// no free file handle.
    pub(crate) fn open_file(&self) -> io::Result<File> {
        self.file.as_ref().ok_or(io::ErrorKind::IsADirectory)?.try_clone()
    }

    /// Publishes it by `rename`, from the temporary name to the final one, atomically with respect to signals. Returns
    /// the error of `rename`; the temporary is then removed.
    pub(crate) fn publish(mut self, rename: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
        let mut live = live();
        rename(&self.path)?;
        live.remove(&self.path);
        self.is_published = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_published {
            let mut live = live();
            if let Some(is_folder) = live.remove(&self.path) {
                remove(&self.path, is_folder).ok(); // the next start removes what stays
            }
        }
    }
}

/// Removes the temporaries of this process, and prevents new ones. Only a program that is about to end calls it:
/// threads that need a temporary then block for ever.
pub(crate) fn remove_all() {
    let mut live = live();
    for (path, is_folder) in std::mem::take(&mut *live) {
        // A thread that still writes to the renamed folder cannot add to it.
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let moved = path.with_file_name(format!("{stem}{UNUSED_DIGITS}{EXTENSION}"));
        let path = if is_folder && fs::rename(&path, &moved).is_ok() { moved } else { path };
        for _ in 0..3 {
            if remove(&path, is_folder).is_ok() {
                break;
            }
        }
    }
    std::mem::forget(live);
}

/// Removes the leftovers of killed processes from a folder. Errors are ignored.
pub(crate) fn sweep(folder: &Path) {
    sweep_where(folder, |_| false);
}

/// Removes leftovers whose names satisfy `is_temporary`, too.
pub(crate) fn sweep_where(folder: &Path, is_temporary: impl Fn(&OsStr) -> bool) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Ok(kind) = entry.file_type() else { continue };
        if !(has_own_name(&name) || is_temporary(&name)) || !(kind.is_file() || kind.is_dir()) {
            continue;
        }
        let path = entry.path();
        let Ok(file) = File::open(&path) else { continue };
        // Locked until it is removed: its creator waits for the lock, and then checks that the file still exists.
        if file.try_lock().is_ok() {
            remove(&path, kind.is_dir()).ok(); // another process may be faster
        }
    }
}

/// Returns whether a name belongs to a temporary file: `.longspan-PROCESS-NUMBER.tmp`.
fn has_own_name(name: &OsStr) -> bool {
    let numbers = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(EXTENSION)?.split_once('-'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(process, number)| is_number(process) && is_number(number))
}

fn remove(path: &Path, is_folder: bool) -> io::Result<()> {
    let removed = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// A scratch file that can be reopened by a path. It has no name if the system can reopen it otherwise, so that nothing
/// is left however the program ends.
#[derive(Debug)]
pub(crate) struct Scratch {
    file: File,
    path: PathBuf,
    /// Removes the name, if it has one.
    _name: Option<Temporary>,
}

impl Scratch {
    /// Creates an empty file in `folder`. Returns an I/O error, such as a folder that is not writable.
    pub(crate) fn new(folder: &Path) -> io::Result<Self> {
        let file = tempfile::tempfile_in(folder)?;
        if let Some(path) = files::path_of_open(&file) {
            return Ok(Self { file, path, _name: None });
        }
        let name = Temporary::file(folder, Access::Private)?;
        Ok(Self { file: name.open_file()?, path: name.path().into(), _name: Some(name) })
    }

    /// Returns the file to write to.
    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Returns a path that opens it, as long as this exists.
    #[must_use]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the length of a file in bytes.
    #[must_use]
    pub(crate) fn len(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| metadata.len())
    }

    /// Returns the open file, and removes its name.
    #[must_use]
    pub(crate) fn into_file(self) -> File {
        self.file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_temporary_is_gone_when_it_is_dropped_and_stays_when_it_is_published() {
        let folder = tempfile::tempdir().unwrap();
        let file = Temporary::file(folder.path(), Access::Usual).unwrap();
        let sub = Temporary::folder(folder.path()).unwrap();
        fs::write(sub.path().join("part"), "x").unwrap();
        assert_eq!(names(folder.path()).len(), 2);
        drop((file, sub));
        assert_eq!(names(folder.path()), [] as [String; 0]);
        let file = Temporary::file(folder.path(), Access::Usual).unwrap();
        file.publish(|from| fs::rename(from, folder.path().join("out"))).unwrap();
        assert_eq!(names(folder.path()), ["out"]);
        let refused = Temporary::file(folder.path(), Access::Usual).unwrap();
        assert!(refused.publish(|_| Err(io::ErrorKind::StorageFull.into())).is_err());
        assert_eq!(names(folder.path()), ["out"]);
    }

    #[test]
    fn leftovers_are_swept_and_temporaries_in_use_and_files_of_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (file, sub) = (Temporary::file(folder.path(), Access::Private), Temporary::folder(folder.path()));
        let (file, sub) = (file.unwrap(), sub.unwrap());
        for leftover in [".longspan-1-0.tmp", ".longspan-4000000000-17.tmp", "x.building"] {
            fs::write(at(leftover), "half").unwrap();
        }
        fs::create_dir_all(at(".longspan-1-1.tmp/ts=1")).unwrap();
        let of_others = [".longspan-.tmp", ".longspan-1.tmp", ".longspan-a-1.tmp", "longspan-1-0.tmp", ".longspan-1-0"];
        of_others.iter().for_each(|name| fs::write(at(name), "").unwrap());
        sweep_where(folder.path(), |name| name.to_string_lossy().ends_with(".building"));
        assert_eq!(names(folder.path()).len(), of_others.len() + 2, "{:?}", names(folder.path()));
        assert!(file.path().exists() && sub.path().exists());
    }

    #[test]
    fn sweeps_do_not_take_what_another_thread_is_making() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let file = Temporary::file(folder.path(), Access::Private).unwrap();
                        sweep(folder.path());
                        assert!(file.path().exists());
                    }
                });
            }
        });
        assert_eq!(names(folder.path()), [] as [String; 0]);
    }

    #[test]
    fn a_scratch_file_is_read_by_its_path_and_leaves_nothing() {
        use std::io::Write as _;
        let folder = tempfile::tempdir().unwrap();
        let mut scratch = Scratch::new(folder.path()).unwrap();
        scratch.file().write_all(b"bytes").unwrap();
        assert_eq!((fs::read(scratch.path()).unwrap(), scratch.len()), (b"bytes".to_vec(), 5));
        drop(scratch);
        assert_eq!(names(folder.path()), [] as [String; 0]);
    }
}
