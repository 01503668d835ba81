//! The files that keep what a recording has received, beside its output: written before anything is counted, so that
//! all of it can be opened after the program was killed. One file for each source and each trace of it. Never replaces
//! a file, and never fills the disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::spool_folder::SpoolNote;
use crate::base::files;
use crate::model::{SourceFile, Sources};

/// Bytes left free on the disk at least, for all that others do there meanwhile.
const FREE_BYTES_MIN: u64 = 256 << 20;

/// Bytes between two looks at how much room there is.
const ROOM_STEP_BYTES: u64 = 16 << 20;

/// The files of a recording.
#[derive(Debug, Clone)]
pub(crate) struct SpoolFiles(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The path of the recording.
    output: PathBuf,
    /// The most bytes that all files may have.
    bytes_max: u64,
    bytes: AtomicU64,
    /// Bytes that are written beside them: those of pictures.
    beside: AtomicU64,
    /// Those that have a byte, in the order in which they were made, each with the position of its source.
    made: Mutex<Vec<(usize, PathBuf)>>,
}

/// The file of one source.
#[derive(Debug)]
pub(crate) struct SpoolPart {
    shared: Arc<Shared>,
    /// The position of the source among those of the recording.
    source: usize,
    /// `None`: nothing has come yet.
    file: Option<(PathBuf, File)>,
    file_bytes: u64,
    unlooked_bytes: u64,
}

impl SpoolFiles {
    /// Files beside `output`, of `bytes_max` bytes in all.
    #[must_use]
    pub(crate) fn beside(output: &Path, bytes_max: u64) -> Self {
        let made = Mutex::default();
        let (bytes, beside) = Default::default();
        Self(Arc::new(Shared { output: output.to_owned(), bytes_max, bytes, beside, made }))
    }

    /// The file of a source, by its position among those of the recording. Fails with the path that is in the way: what
    /// an earlier recording left.
    pub(super) fn part(&self, source: usize) -> Result<SpoolPart, (PathBuf, io::Error)> {
        let path = self.0.path_of(0);
        if path.exists() && self.paths().is_empty() {
            let why = "an earlier recording left it there: open it, and remove it";
            return Err((path, io::Error::new(io::ErrorKind::AlreadyExists, why)));
        }
        Ok(SpoolPart {
            shared: Arc::clone(&self.0),
            source,
            file: None,
            file_bytes: 0,
            unlooked_bytes: ROOM_STEP_BYTES,
        })
    }

    /// The files that hold anything.
    #[must_use]
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.made().into_iter().map(|(_, path)| path).collect()
    }

    fn made(&self) -> Vec<(usize, PathBuf)> {
        self.0.made.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The files under the names of where their bytes came from, without those of some sources: those of the first
    /// source first, so that its processes keep their ids.
    #[must_use]
    pub(crate) fn sources(&self, inputs: &[SourceFile], without: &[usize]) -> Sources {
        let mut made = self.made();
        made.retain(|(source, _)| !without.contains(source));
        made.sort_by_key(|(source, _)| *source);
        let named = made.iter().filter_map(|(source, _)| inputs.get(*source).cloned());
        let mut sources = Sources::new(named.collect());
        (0..).zip(made).for_each(|(position, (_, path))| sources.read_instead(position, path));
        sources
    }

    /// The names and sources of the files, for whoever finds them after the process was killed.
    pub(super) fn note(&self, rows: u64, inputs: &[SourceFile]) -> SpoolNote {
        let mut made = self.made();
        made.sort_by_key(|(source, _)| *source);
        let named = made.iter().filter_map(|(source, path)| {
            let file = path.file_name()?.to_string_lossy().into_owned();
            Some((file, inputs.get(*source)?.path().to_string_lossy().into_owned()))
        });
        SpoolNote { rows, files: named.collect() }
    }

    /// Bytes in all files.
    #[must_use]
    pub(crate) fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Bytes that are left on the disk, where the system says so.
    #[must_use]
    pub(crate) fn free_bytes(&self) -> Option<u64> {
        files::free_bytes(files::folder_of(&self.0.output))
    }

    /// The files of some sources.
    #[must_use]
    pub(crate) fn paths_of(&self, sources: &[usize]) -> Vec<PathBuf> {
        self.made().into_iter().filter(|(source, _)| sources.contains(source)).map(|(_, path)| path).collect()
    }

    /// Fails with a sentence where a folder has no room for what is made of `rows` rows that came, so many times: nobody
    /// wants to learn that after an hour of sorting.
    pub(crate) fn check_sort(&self, rows: u64, times: u64, folder: &Path) -> Result<(), String> {
        let needed = bytes_to_sort(rows, self.bytes()).saturating_mul(times);
        match files::free_bytes(folder) {
            Some(free) if free.saturating_sub(FREE_BYTES_MIN) < needed => Err(format!(
                "it is not sorted: that may take {needed} bytes in {}, where {free} are free, and {FREE_BYTES_MIN} stay so",
                folder.display()
            )),
            _ => Ok(()), // a full disk says so itself
        }
    }

    /// Counts bytes that are written for a recording beside its files.
    pub(crate) fn set_beside(&self, bytes: u64) {
        self.0.beside.store(bytes, Ordering::Relaxed);
    }

    /// Removes the files, once they are part of the recording, but for those of some sources.
    pub(crate) fn remove(&self, without: &[usize]) {
        let made = self.made().into_iter().filter(|(source, _)| !without.contains(source));
        made.for_each(|(_, path)| drop(fs::remove_file(path)));
    }
}

impl Shared {
    /// `OUT.spool`, `OUT.2.spool` and so on.
    fn path_of(&self, number: usize) -> PathBuf {
        let mut name = self.output.clone().into_os_string();
        name.push(if number == 0 { ".spool".to_owned() } else { format!(".{}.spool", number + 1) });
        name.into()
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
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let len = bytes.len() as u64;
        self.unlooked_bytes += len;
        if self.unlooked_bytes >= ROOM_STEP_BYTES {
            self.unlooked_bytes = 0;
            check_room(files::folder_of(&self.shared.output))?;
        }
        let beside = self.shared.beside.load(Ordering::Relaxed);
        if self.shared.bytes.fetch_add(len, Ordering::Relaxed) + len + beside > self.shared.bytes_max {
            self.shared.bytes.fetch_sub(len, Ordering::Relaxed);
            let why = format!("the {} bytes of --disk-cap are used up", self.shared.bytes_max);
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, why));
        }
        let (_, file) = match &mut self.file {
            Some(file) => file,
            none => none.insert(self.shared.make(self.source).map_err(|(_, error)| error)?),
        };
        file.write_all(bytes)?;
        self.file_bytes += len;
        Ok(())
    }

    /// Bytes in the file.
    pub(super) fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Begins another trace of the source.
    pub(super) fn next(&mut self) {
        (self.file, self.file_bytes) = (None, 0);
    }

    pub(super) fn path(&self) -> &Path {
        self.file.as_ref().map_or(&self.shared.output, |(path, _)| path)
    }
}

/// About the most bytes that a sorted trace takes, by its rows and by the bytes that they came in; arguments are packed.
fn bytes_to_sort(rows: u64, bytes: u64) -> u64 {
    /// Spans of generated traces take 8, and those of programs with a few short arguments some 16.
    const ROW_BYTES: u64 = 32;
    if rows == 0 { bytes } else { rows.saturating_mul(ROW_BYTES).saturating_add(bytes / 4) }
}

fn check_room(folder: &Path) -> io::Result<()> {
    match files::free_bytes(folder) {
        Some(free) if free < FREE_BYTES_MIN => {
            let why = format!("only {free} bytes are free there, and Longspan keeps {FREE_BYTES_MIN} free");
            Err(io::Error::new(io::ErrorKind::StorageFull, why))
        }
        _ => Ok(()), // a full disk says so itself
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sort_that_cannot_fit_is_refused_before_it_begins() {
        let folder = tempfile::tempdir().unwrap();
        let files = SpoolFiles::beside(&folder.path().join("out"), u64::MAX);
        assert_eq!(files.check_sort(1000, 2, folder.path()), Ok(()));
        let refused = files.check_sort(u64::MAX / 64, 2, folder.path()).unwrap_err();
        assert!(refused.contains("it is not sorted") && refused.contains("are free"), "{refused}");
        assert_eq!((bytes_to_sort(0, 1000), bytes_to_sort(10, 1000)), (1000, 320 + 250));
        assert!(bytes_to_sort(u64::MAX, u64::MAX) == u64::MAX, "no overflow");
    }

    #[test]
    fn a_cap_counts_what_is_written_beside() {
        let folder = tempfile::tempdir().unwrap();
        let files = SpoolFiles::beside(&folder.path().join("out"), 100);
        let mut part = files.part(0).unwrap();
        part.write(&[0; 40]).unwrap();
        files.set_beside(50);
        part.write(&[0; 10]).unwrap();
        assert_eq!(part.write(&[0]).unwrap_err().kind(), io::ErrorKind::QuotaExceeded);
        assert_eq!((files.bytes(), files.sources(&[], &[]).files().len()), (50, 0));
    }
}
