//! How to load, what comes of it, and why nothing did.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::base::budget::Memory;
use crate::base::cancel::Cancelled;
use crate::base::disk::{Disk, SystemDisk};
use crate::formats::ReadError;
use crate::model::Sources;
use crate::model::unwind::UnwindFiles;
use crate::store::cache::Cache;
use crate::store::{Store, StoreError};

/// The policy for keeping finished stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CachePolicy {
    /// Keeps the store in this folder, for the next time.
    Folder(PathBuf),
    /// Nowhere: the store has no name and is gone when it is closed.
    None,
}

/// Limits of a load, and its targets on disk.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// The memory that the load may hold its part of: clones of these options share it.
    pub memory: Memory,
    /// How many threads may work at once, at least 1.
    pub threads: usize,
    /// Whether and where the store is kept.
    pub cache: CachePolicy,
    /// The most bytes that all kept stores may take; the least recently used go first, and the one of this load stays.
    pub cache_bytes_max: u64,
    /// The disk that the store is written through.
    pub disk: Arc<dyn Disk>,
    /// The files that recorded stacks are unwound by.
    pub unwind_files: Option<Arc<dyn UnwindFiles>>,
}

impl LoadOptions {
    /// The default limit of all kept stores: two captures of a billion spans, or hundreds of usual ones.
    pub(crate) const CACHE_BYTES_MAX: u64 = 32 << 30;
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            memory: Memory::default(),
            threads: std::thread::available_parallelism().map_or(2, usize::from),
            cache: Cache::default_folder().map_or(CachePolicy::None, CachePolicy::Folder),
            cache_bytes_max: Self::CACHE_BYTES_MAX,
            disk: Arc::new(SystemDisk),
            unwind_files: None,
        }
    }
}

/// An opened store and how it came to be.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The store, mapped and ready for queries.
    pub store: Arc<Store>,
    /// The course of the load, for the user.
    pub report: LoadReport,
}

/// The course of a load, for the user.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadReport {
    /// Whether a kept store was used.
    pub cached: bool,
    /// Wall time, from the call to the opened store.
    pub(crate) seconds: f64,
    /// A sentence for the user, such as that the store could not be kept.
    pub note: Option<String>,
}

/// Why a capture could not be loaded.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named as the message shows them")]
pub enum LoadError {
    /// The capture cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The store cannot be written.
    #[error("{}: cannot write the sorted store: {source}", folder.display())]
    Write { folder: PathBuf, source: io::Error },
    /// Input from a pipe cannot be kept.
    #[error("{}: cannot keep what comes through a pipe: {source}", folder.display())]
    Keep { folder: PathBuf, source: io::Error },
    /// The store that was just written cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The load was asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// Headers of the capture still contradict its events after they were all read.
    #[error("{sources}: chunk {chunk} changed while it was read")]
    Changing { sources: String, chunk: usize },
    /// The capture has more chunks than 32 bits can number.
    #[error("{sources}: has {chunks} chunks; the most is 4,294,967,295")]
    TooManyChunks { sources: String, chunks: usize },
}

impl LoadError {
    /// The same error with the files that the user named, where it names a spooled copy of one.
    pub(super) fn named(self, sources: &Sources) -> Self {
        let Self::Read(error) = self else { return self };
        let files =
            sources.files().iter().enumerate().map(|(position, file)| (sources.path_to_read(position), file.path()));
        // Few: the input is read once, and an error may be about each of many files.
        let elsewhere = files.filter(|(read, named)| read != named);
        Self::Read(elsewhere.fold(error, |error, (read, named)| error.renamed(read, named)))
    }
}
