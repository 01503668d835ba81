//! The files that keep what a recording has received, beside its output: written before anything is counted, so that
//! all of it can be opened after the program was killed. One file for each source and each trace of it. Never replaces
//! a file, and never fills the disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::files;

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
    /// Those that have a byte, in the order in which they were made.
    made: Mutex<Vec<PathBuf>>,
}

/// The file of one source.
#[derive(Debug)]
pub(crate) struct SpoolPart {
    shared: Arc<Shared>,
    /// `None`: nothing has come yet.
    file: Option<(PathBuf, File)>,
    unlooked_bytes: u64,
}

impl SpoolFiles {
    /// Files beside `output`, of `bytes_max` bytes in all.
    #[must_use]
    pub(crate) fn beside(output: &Path, bytes_max: u64) -> Self {
        let made = Mutex::default();
        Self(Arc::new(Shared { output: output.to_owned(), bytes_max, bytes: AtomicU64::new(0), made }))
    }

    /// The file of the next source. Fails with the path that is in the way: what an earlier recording left.
    pub(super) fn part(&self) -> Result<SpoolPart, (PathBuf, io::Error)> {
        let path = self.0.path_of(0);
        if path.exists() && self.paths().is_empty() {
            let why = "an earlier recording left it there: open it, and remove it";
            return Err((path, io::Error::new(io::ErrorKind::AlreadyExists, why)));
        }
        Ok(SpoolPart { shared: Arc::clone(&self.0), file: None, unlooked_bytes: ROOM_STEP_BYTES })
    }

    /// The files that hold anything.
    #[must_use]
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.0.made.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Removes the files, once they are part of the recording.
    pub(crate) fn remove(&self) {
        self.paths().iter().for_each(|path| drop(fs::remove_file(path)));
    }
}

impl Shared {
    /// `OUT.spool`, `OUT.2.spool` and so on.
    fn path_of(&self, number: usize) -> PathBuf {
        let mut name = self.output.clone().into_os_string();
        name.push(if number == 0 { ".spool".to_owned() } else { format!(".{}.spool", number + 1) });
        name.into()
    }

    fn make(&self) -> Result<(PathBuf, File), (PathBuf, io::Error)> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.path_of(made.len());
        match files::private(OpenOptions::new().write(true).create_new(true)).open(&path) {
            Ok(file) => {
                made.push(path.clone());
                Ok((path, file))
            }
            Err(error) => Err((path, error)),
        }
    }
}

impl SpoolPart {
    /// Writes what came.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let len = bytes.len() as u64;
        self.unlooked_bytes += len;
        if self.unlooked_bytes >= ROOM_STEP_BYTES {
            self.unlooked_bytes = 0;
            check_room(files::folder_of(&self.shared.output))?;
        }
        if self.shared.bytes.fetch_add(len, Ordering::Relaxed) + len > self.shared.bytes_max {
            self.shared.bytes.fetch_sub(len, Ordering::Relaxed);
            let why = format!("the {} bytes of --disk-cap are used up", self.shared.bytes_max);
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, why));
        }
        let (_, file) = match &mut self.file {
            Some(file) => file,
            none => none.insert(self.shared.make().map_err(|(_, error)| error)?),
        };
        file.write_all(bytes)
    }

    /// Begins another trace of the source.
    pub(super) fn next(&mut self) {
        self.file = None;
    }

    pub(super) fn path(&self) -> &Path {
        self.file.as_ref().map_or(&self.shared.output, |(path, _)| path)
    }
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
