//! The files that record everything received, beside the output. Bytes are written before anything else happens, so
//! that all of them can be opened after the program was killed. There is a file per source and trace. Never replaces a
//! file, and never fills the disk.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::spool_folder::SpoolNote;
use crate::base::files;
use crate::base::free_space::{self, CHECK_EVERY_BYTES, FREE_BYTES_MIN};
use crate::model::{Loss, Losses, SourceFile, Sources};

/// The files of a recording.
#[derive(Debug, Clone)]
pub(crate) struct SpoolFiles(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The path of the recording.
    output: PathBuf,
    /// Limit for the bytes of all files.
    bytes_max: u64,
    bytes: Arc<AtomicU64>,
    /// Bytes of snapshots, which count too.
    snapshot_bytes: AtomicU64,
    /// Files with a byte, in order of creation, each with the index of its source.
    made: Mutex<Vec<(usize, PathBuf)>>,
}

/// Error of recording received bytes.
#[derive(Debug)]
pub(super) enum SpoolError {
    /// The user's limit for the bytes of all files is reached.
    Full { bytes_max: u64 },
    /// The path cannot be written.
    Write(PathBuf, io::Error),
}

/// The file of one source.
#[derive(Debug)]
pub(crate) struct SpoolPart {
    shared: Arc<Shared>,
    /// Index of the source in the recording.
    source: usize,
    /// `None` until a byte arrives.
    file: Option<(PathBuf, File)>,
    file_bytes: u64,
    /// Bytes written since the last check of the free space.
    unchecked_bytes: u64,
}

impl SpoolFiles {
    /// Creates files beside `output`, of `bytes_max` bytes in total.
    #[must_use]
    pub(crate) fn beside(output: &Path, bytes_max: u64) -> Self {
        Self::counting(output, bytes_max, Arc::default())
    }

    /// Like [`Self::beside`], and adds the bytes of all files to `bytes`.
    pub(super) fn counting(output: &Path, bytes_max: u64, bytes: Arc<AtomicU64>) -> Self {
        let (made, snapshot_bytes) = Default::default();
        Self(Arc::new(Shared { output: output.to_owned(), bytes_max, bytes, snapshot_bytes, made }))
    }

    /// Prepares the file of a source, by its index in the recording; it is created with the first byte. Returns an
    /// error with the path of a file that an earlier recording left.
    pub(super) fn part(&self, source: usize) -> Result<SpoolPart, (PathBuf, io::Error)> {
        if self.paths().is_empty()
            && let Some(path) = self.0.earlier_file()
        {
            let why = "an earlier recording left it there: open it, and remove it";
            return Err((path, io::Error::new(io::ErrorKind::AlreadyExists, why)));
        }
        Ok(SpoolPart {
            shared: Arc::clone(&self.0),
            source,
            file: None,
            file_bytes: 0,
            unchecked_bytes: CHECK_EVERY_BYTES,
        })
    }

    /// Returns the files with content.
    #[must_use]
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.created_files().into_iter().map(|(_, path)| path).collect()
    }

    fn created_files(&self) -> Vec<(usize, PathBuf)> {
        self.0.made.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the files that were removed by others, each with an error that says so.
    pub(super) fn removed_files(&self) -> Vec<(PathBuf, io::Error)> {
        let removed = self.paths().into_iter().filter(|path| !path.exists());
        removed.map(|path| (path, removed_error())).collect()
    }

    /// Returns the files under the names of their sources, except for some sources and for removed files. The files of
    /// the first source come first, so that its processes keep their ids.
    #[must_use]
    pub(crate) fn sources(&self, inputs: &[SourceFile], without: &[usize]) -> Sources {
        let mut made = self.created_files();
        made.retain(|(source, path)| !without.contains(source) && path.exists());
        made.sort_by_key(|(source, _)| *source);
        let named = made.iter().filter_map(|(source, _)| inputs.get(*source).cloned());
        let mut sources = Sources::new(named.collect());
        (0..).zip(made).for_each(|(position, (_, path))| sources.read_instead(position, path));
        sources
    }

    /// Returns the names and sources of the files, for recovery after the process was killed.
    pub(super) fn note(&self, rows: u64, inputs: &[SourceFile]) -> SpoolNote {
        let mut made = self.created_files();
        made.sort_by_key(|(source, _)| *source);
        let named = made.iter().filter_map(|(source, path)| {
            let file = path.file_name()?.to_string_lossy().into_owned();
            Some((file, inputs.get(*source)?.path().to_string_lossy().into_owned()))
        });
        SpoolNote { rows, files: named.collect() }
    }

    /// Returns the bytes in all files.
    #[must_use]
    pub(crate) fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Returns the free bytes on the disk, if the system reports them.
    #[must_use]
    pub(crate) fn free_bytes(&self) -> Option<u64> {
        files::free_bytes(files::folder_of(&self.0.output))
    }

    /// Returns the files of some sources.
    #[must_use]
    pub(crate) fn paths_of(&self, sources: &[usize]) -> Vec<PathBuf> {
        self.created_files().into_iter().filter(|(source, _)| sources.contains(source)).map(|(_, path)| path).collect()
    }

    /// Returns an error sentence if one of `folders` has not enough space for a store of `rows` rows; each folder gets
    /// one. The error must not come after an hour of sorting.
    pub(crate) fn check_sort(&self, rows: u64, folders: &[&Path]) -> Result<(), String> {
        folders.iter().try_for_each(|folder| {
            let stores = folders.iter().filter(|other| free_space::is_same_disk(folder, other)).count();
            let needed = bytes_to_sort(rows, self.bytes()).saturating_mul(stores as u64);
            match files::free_bytes(folder) {
                Some(free) if free.saturating_sub(FREE_BYTES_MIN) < needed => Err(format!(
                    "it is not sorted: that may take {needed} bytes in {}, where {free} are free and \
                     {FREE_BYTES_MIN} must stay free",
                    folder.display()
                )),
                _ => Ok(()), // a full disk reports itself
            }
        })
    }

    /// Sets the bytes of the snapshots, which count too.
    pub(crate) fn set_snapshot_bytes(&self, bytes: u64) {
        self.0.snapshot_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Removes the files once they are in the recording, except for some.
    pub(crate) fn remove(&self, without: &[PathBuf]) {
        let made = self.paths().into_iter().filter(|path| !without.contains(path));
        made.for_each(|path| drop(fs::remove_file(path)));
    }
}

/// Returns the files of recorded sources that could not be read by a sort with these losses: nothing else has their
/// bytes.
pub(crate) fn unread_paths(sources: &Sources, losses: &Losses) -> Vec<PathBuf> {
    let unread: Vec<_> = losses.iter().filter(|lost| lost.loss == Loss::UnreadableFile).map(|lost| lost.file).collect();
    // Losses of very many files have no names.
    let is_unread = |name: &str| unread.iter().any(|file| file.is_none_or(|file| file == name));
    let names = sources.names().into_iter().enumerate().filter(|(_, name)| is_unread(name));
    names.map(|(position, _)| sources.path_to_read(position).to_owned()).collect()
}

impl Shared {
    /// Returns `OUT.spool`, `OUT.2.spool` and so on.
    fn path_of(&self, number: usize) -> PathBuf {
        let mut name = self.output.clone().into_os_string();
        name.push(if number == 0 { ".spool".to_owned() } else { format!(".{}.spool", number + 1) });
        name.into()
    }

    /// Returns the first spool file that exists, of any source or trace.
    fn earlier_file(&self) -> Option<PathBuf> {
        let output = self.output.file_name()?.as_encoded_bytes();
        let number_of = |name: &OsStr| {
            let number = name.as_encoded_bytes().strip_prefix(output)?.strip_suffix(b".spool")?;
            Some(number.to_owned()) // empty, or as in `.2`
        };
        let is_number =
            |text: &[u8]| text.strip_prefix(b".").is_some_and(|digits| digits.iter().all(u8::is_ascii_digit));
        let is_spool = |name: &OsStr| number_of(name).is_some_and(|number| number.is_empty() || is_number(&number));
        let entries = fs::read_dir(files::folder_of(&self.output)).ok()?.flatten();
        entries.filter(|entry| is_spool(&entry.file_name())).map(|entry| entry.path()).min()
    }

    /// Counts bytes to write. Returns the number of them that fit within the limit.
    fn reserve(&self, len: usize) -> usize {
        let used = self.bytes.fetch_add(len as u64, Ordering::Relaxed) + self.snapshot_bytes.load(Ordering::Relaxed);
        let room = usize::try_from(self.bytes_max.saturating_sub(used)).unwrap_or(usize::MAX);
        self.bytes.fetch_sub(len.saturating_sub(room) as u64, Ordering::Relaxed);
        len.min(room)
    }

    fn make(&self, source: usize) -> Result<(PathBuf, File), (PathBuf, io::Error)> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.path_of(made.len());
        match files::private(OpenOptions::new().write(true).create_new(true)).open(&path) {
            Ok(file) => {
                made.push((source, path.clone()));
                Ok((path, file))
            }
            Err(error) => Err((path, error)),
        }
    }
}

impl SpoolPart {
    /// Appends the bytes that fit within the limit to the file.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), SpoolError> {
        self.unchecked_bytes += bytes.len() as u64;
        if self.unchecked_bytes >= CHECK_EVERY_BYTES {
            self.unchecked_bytes = 0;
            let folder = files::folder_of(&self.shared.output);
            free_space::check(folder).map_err(|error| SpoolError::Write(folder.to_owned(), error))?;
        }
        let fitting = &bytes[..self.shared.reserve(bytes.len())];
        if !fitting.is_empty() {
            let (path, file) = match &mut self.file {
                Some(file) => file,
                none => {
                    none.insert(self.shared.make(self.source).map_err(|(path, error)| SpoolError::Write(path, error))?)
                }
            };
            let written = check_linked(file).and_then(|()| file.write_all(fitting));
            written.map_err(|error| SpoolError::Write(path.clone(), error))?;
            self.file_bytes += fitting.len() as u64;
        }
        if fitting.len() < bytes.len() { Err(SpoolError::Full { bytes_max: self.shared.bytes_max }) } else { Ok(()) }
    }

    /// Returns the bytes in the file.
    pub(super) fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Starts another trace of the source.
    pub(super) fn next(&mut self) {
        (self.file, self.file_bytes) = (None, 0);
    }

    pub(super) fn path(&self) -> &Path {
        self.file.as_ref().map_or(&self.shared.output, |(path, _)| path)
    }
}

/// Returns an error if the file was removed: its bytes would be lost when it is closed.
#[cfg(unix)]
fn check_linked(file: &File) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    if file.metadata()?.nlink() > 0 { Ok(()) } else { Err(removed_error()) }
}

#[cfg(not(unix))]
fn check_linked(_: &File) -> io::Result<()> {
    Ok(()) // other systems keep a file that is open
}

fn removed_error() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "it was removed, and its data is lost")
}

/// Estimates the maximum size of a sorted trace by its rows and bytes; arguments are compressed.
fn bytes_to_sort(rows: u64, bytes: u64) -> u64 {
    /// Spans of generated traces take 8 bytes, and spans of programs with a few short arguments about 16.
    const ROW_BYTES: u64 = 32;
    if rows == 0 { bytes } else { rows.saturating_mul(ROW_BYTES).saturating_add(bytes / 4) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sort_that_cannot_fit_is_refused_before_it_begins() {
        let folder = tempfile::tempdir().unwrap();
        let files = SpoolFiles::beside(&folder.path().join("out"), u64::MAX);
        let path = folder.path();
        assert_eq!(files.check_sort(1000, &[path, path]), Ok(()));
        let refused = files.check_sort(u64::MAX / 64, &[path, path]).unwrap_err();
        assert!(refused.contains("it is not sorted") && refused.contains("are free"), "{refused}");
        assert_eq!((bytes_to_sort(0, 1000), bytes_to_sort(10, 1000)), (1000, 320 + 250));
        assert!(bytes_to_sort(u64::MAX, u64::MAX) == u64::MAX, "no overflow");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn each_disk_needs_room_for_what_is_written_there() {
        let (folder, memory) = (tempfile::tempdir().unwrap(), Path::new("/dev/shm"));
        let files = SpoolFiles::beside(&folder.path().join("out"), u64::MAX);
        let room = |folder| files::free_bytes(folder).unwrap_or(0).saturating_sub(FREE_BYTES_MIN);
        // Two thirds of the free space: one store fits, and two do not.
        let rows = |bytes: u64| bytes / 3 * 2 / 32;
        let (path, room_there) = (folder.path(), room(folder.path()));
        assert_eq!(files.check_sort(rows(room_there), &[path]), Ok(()));
        assert!(files.check_sort(rows(room_there), &[path, path]).is_err());
        if free_space::is_same_disk(path, memory) || room(memory) == 0 {
            return; // there is no second disk
        }
        assert_eq!(files.check_sort(rows(room_there.min(room(memory))), &[path, memory]), Ok(()));
    }

    #[test]
    fn a_file_that_an_earlier_recording_left_is_refused_by_its_own_path() {
        let folder = tempfile::tempdir().unwrap();
        let (output, left) = (folder.path().join("out"), folder.path().join("out.2.spool"));
        for name in ["out", "out.x.spool", "outer.spool", "out.2.spool.txt"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let files = SpoolFiles::beside(&output, u64::MAX);
        assert!(files.part(0).is_ok());
        fs::write(&left, "").unwrap();
        assert_eq!(files.part(0).map(drop).unwrap_err().0, left);
        // If the file appears later, the write that finds it reports its path.
        fs::remove_file(&left).unwrap();
        let [mut first, mut second] = [0, 1].map(|source| files.part(source).unwrap());
        fs::write(&left, "").unwrap();
        first.write(b"first").unwrap();
        let Err(SpoolError::Write(path, error)) = second.write(b"second") else { panic!("it is left unchanged") };
        assert_eq!((path, error.kind()), (left, io::ErrorKind::AlreadyExists));
    }

    /// The second source writes first, and the first one is replaced by another trace.
    #[test]
    fn files_are_called_by_their_sources_and_come_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let files = SpoolFiles::beside(&folder.path().join("out"), u64::MAX);
        let [mut app, mut silent, mut db] = [0, 1, 2].map(|source| files.part(source).unwrap());
        db.write(b"db").unwrap();
        app.write(b"app").unwrap();
        app.next();
        app.write(b"app again").unwrap();
        silent.next();
        let inputs = ["x/app.json", "silent.json", "db.json"].map(|path| SourceFile::new(path.into(), 0));
        let sources = files.sources(&inputs, &[]);
        let names: Vec<_> = sources.names().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["x/app.json", "x/app.json (2)", "db.json"]);
        let read = |position| fs::read(sources.path_to_read(position)).unwrap();
        assert_eq!([0, 1, 2].map(read), [b"app".to_vec(), b"app again".to_vec(), b"db".to_vec()]);
    }

    #[test]
    #[cfg(unix)]
    fn a_removed_file_is_noticed_by_the_next_write_or_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let files = SpoolFiles::beside(&folder.path().join("out"), 100);
        let [mut first, mut second] = [0, 1].map(|source| files.part(source).unwrap());
        first.write(b"first").unwrap();
        second.write(b"second").unwrap();
        fs::remove_file(folder.path().join("out.spool")).unwrap();
        let Err(SpoolError::Write(path, error)) = first.write(b"more") else { panic!("it is gone") };
        assert_eq!((path, error.kind()), (folder.path().join("out.spool"), io::ErrorKind::NotFound));
        assert_eq!(files.removed_files().into_iter().map(|(path, _)| path).collect::<Vec<_>>(), files.paths()[..1]);
        let inputs = ["a", "b"].map(|path| SourceFile::new(path.into(), 0));
        assert_eq!(files.sources(&inputs, &[]).to_string(), "b");
    }

    #[test]
    fn a_cap_counts_what_is_written_beside() {
        let folder = tempfile::tempdir().unwrap();
        let files = SpoolFiles::beside(&folder.path().join("out"), 100);
        let mut part = files.part(0).unwrap();
        part.write(&[0; 40]).unwrap();
        files.set_snapshot_bytes(50);
        part.write(&[0; 8]).unwrap();
        // The part that fits is written.
        for bytes in [&[0; 5][..], &[0]] {
            assert!(matches!(part.write(bytes), Err(SpoolError::Full { bytes_max: 100 })));
        }
        assert_eq!(fs::read(folder.path().join("out.spool")).unwrap().len(), 50);
        assert_eq!((files.bytes(), files.sources(&[], &[]).files().len()), (50, 0));
    }
}
