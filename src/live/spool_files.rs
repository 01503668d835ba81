//! The files that keep what a recording has received, beside its output: written before anything is counted, so that
//! all of it can be opened after the program was killed. One file for each source and each trace of it. Never replaces
//! a file, and never fills the disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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
    /// Those that have a byte, in the order in which they were made, each with the position of its source.
    made: Mutex<Vec<(usize, PathBuf)>>,
    /// How many sources have a part.
    parts: AtomicUsize,
}

/// The file of one source.
#[derive(Debug)]
pub(crate) struct SpoolPart {
    shared: Arc<Shared>,
    /// The position of the source among those of the recording.
    source: usize,
    /// `None`: nothing has come yet.
    file: Option<(PathBuf, File)>,
    unlooked_bytes: u64,
}

impl SpoolFiles {
    /// Files beside `output`, of `bytes_max` bytes in all.
    #[must_use]
    pub(crate) fn beside(output: &Path, bytes_max: u64) -> Self {
        let made = Mutex::default();
        Self(Arc::new(Shared {
            output: output.to_owned(),
            bytes_max,
            bytes: AtomicU64::new(0),
            made,
            parts: AtomicUsize::new(0),
        }))
    }

    /// The file of the next source. Fails with the path that is in the way: what an earlier recording left.
    pub(super) fn part(&self) -> Result<SpoolPart, (PathBuf, io::Error)> {
        let path = self.0.path_of(0);
        if path.exists() && self.paths().is_empty() {
            let why = "an earlier recording left it there: open it, and remove it";
            return Err((path, io::Error::new(io::ErrorKind::AlreadyExists, why)));
        }
        let source = self.0.parts.fetch_add(1, Ordering::Relaxed);
        Ok(SpoolPart { shared: Arc::clone(&self.0), source, file: None, unlooked_bytes: ROOM_STEP_BYTES })
    }

    /// The files that hold anything.
    #[must_use]
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.made().into_iter().map(|(_, path)| path).collect()
    }

    fn made(&self) -> Vec<(usize, PathBuf)> {
        self.0.made.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The files under the names of where their bytes came from: those of the first source first, so that
    /// its processes keep their ids.
    #[must_use]
    pub(crate) fn sources(&self, inputs: &[SourceFile]) -> Sources {
        let mut made = self.made();
        made.sort_by_key(|(source, _)| *source);
        let named = made.iter().filter_map(|(source, _)| inputs.get(*source).cloned());
        let mut sources = Sources::new(named.collect());
        (0..).zip(made).for_each(|(position, (_, path))| sources.read_instead(position, path));
        sources
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
        if self.shared.bytes.fetch_add(len, Ordering::Relaxed) + len > self.shared.bytes_max {
            self.shared.bytes.fetch_sub(len, Ordering::Relaxed);
            let why = format!("the {} bytes of --disk-cap are used up", self.shared.bytes_max);
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, why));
        }
        let (_, file) = match &mut self.file {
            Some(file) => file,
            none => none.insert(self.shared.make(self.source).map_err(|(_, error)| error)?),
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
