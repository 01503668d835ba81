//! Options, results and errors of a load.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::budget::Memory;
use crate::base::cancel::Cancelled;
use crate::base::disk::{Disk, SystemDisk};
use crate::formats::ReadError;
use crate::model::Sources;
use crate::model::unwind::UnwindFiles;
use crate::store::cache::Cache;
use crate::store::{Store, StoreError};

/// The cache policy of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CachePolicy {
    /// Caches the store in this folder.
    Folder(PathBuf),
    /// Writes the store to an unnamed file, which is gone when it is closed.
    None,
}

/// Limits of a load, and where it writes.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// Memory that the load may use a share of; clones of these options share it.
    pub memory: Memory,
    /// Maximum number of worker threads, at least 1.
    pub threads: usize,
    /// Whether and where the store is cached.
    pub cache: CachePolicy,
    /// Maximum total size of cached stores, in bytes. The least recently used are removed first, but never the store of
    /// this load.
    pub cache_bytes_max: u64,
    /// Which stores get ledgers, which speed up later queries.
    pub ledgers: Ledgers,
    /// The disk that the store is written to.
    pub disk: Arc<dyn Disk>,
    /// The files for unwinding raw stacks.
    pub unwind_files: Option<Arc<dyn UnwindFiles>>,
    /// Whether profiles are read by address instead of by name, for the code of their functions. Such a store must not
    /// be cached, so `cache` must be [`CachePolicy::None`].
    pub code_addresses: bool,
}

impl LoadOptions {
    /// Default maximum size of the cache: two traces of a billion spans, or hundreds of usual ones.
    pub(crate) const CACHE_BYTES_MAX: u64 = 32 << 30;
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            memory: Memory::default(),
            threads: std::thread::available_parallelism().map_or(2, usize::from),
            cache: Cache::default_folder().map_or(CachePolicy::None, CachePolicy::Folder),
            cache_bytes_max: Self::CACHE_BYTES_MAX,
            ledgers: Ledgers::Always,
            disk: Arc::new(SystemDisk),
            unwind_files: None,
            code_addresses: false,
        }
    }
}

/// Which stores get ledgers. Building them takes longer than any one question that they answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ledgers {
    /// Every store, for a window with many questions.
    Always,
    /// Stores in the cache, for a command with one question: later commands use the ledgers as well.
    IfCached,
}

/// An opened store with the report of its load.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The store, mapped and ready for queries.
    pub store: Arc<Store>,
    /// The report for the user.
    pub report: LoadReport,
}

/// The report of a load, for the user.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadReport {
    /// Whether a cached store was used.
    pub cached: bool,
    /// Wall time until the store was opened, in seconds.
    pub(crate) seconds: f64,
    /// A message for the user, such as that the store could not be cached.
    pub note: Option<String>,
}

/// An error of a load.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named as the message shows them")]
pub enum LoadError {
    /// The trace cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The store cannot be written.
    #[error("{}: cannot write the sorted store: {source}{}{cache}", folder.display(), room_hint(folder, source))]
    Write { folder: PathBuf, source: io::Error, cache: CacheHint },
    /// Input from a pipe cannot be stored.
    #[error("{}: cannot store input from a pipe: {source}{cache}", folder.display())]
    Keep { folder: PathBuf, source: io::Error, cache: CacheHint },
    /// The new store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// Chunk headers of the trace contradict the events even after all chunks were read.
    #[error("{sources}: chunk {chunk} changed while it was read")]
    Changing { sources: String, chunk: usize },
    /// The trace has more chunks than 32 bits can count.
    #[error("{sources}: has {chunks} chunks; the maximum is 4,294,967,295")]
    TooManyChunks { sources: String, chunks: usize },
}

/// The reason why the given cache folder is not used, as the end of a message; empty if there is none.
#[derive(Debug, Clone, Default)]
pub struct CacheHint(pub(super) Option<String>);

impl fmt::Display for CacheHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |reason| write!(f, "; the {reason}"))
    }
}

/// Returns what helps if the disk is full.
fn room_hint(folder: &Path, source: &io::Error) -> &'static str {
    match source.kind() {
        // A store that is not cached is among the temporary files.
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded if folder == std::env::temp_dir() => {
            "; free some space there, or choose another folder with the variable TMPDIR"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space there, or choose another folder with --cache DIR"
        }
        _ => "",
    }
}

impl LoadError {
    /// Returns the error with the displayed path of a file in place of the path of its spooled copy.
    pub(super) fn named(self, sources: &Sources) -> Self {
        let Self::Read(error) = self else { return self };
        let files =
            sources.files().iter().enumerate().map(|(position, file)| (sources.path_to_read(position), file.path()));
        // There are few: a spooled file is read once, and an archive may cause errors in many files.
        let elsewhere = files.filter(|(read, named)| read != named);
        Self::Read(elsewhere.fold(error, |error, (read, named)| error.renamed(read, named)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_reported_with_the_setting_that_moves_the_store() {
        let hint = |folder: &Path| room_hint(folder, &io::ErrorKind::StorageFull.into());
        assert!(hint(&std::env::temp_dir()).contains("TMPDIR"));
        assert!(hint(Path::new("/somewhere/cache")).contains("--cache"));
    }
}
