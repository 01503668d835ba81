//! Chooses the file of a trace's store: in the cache under the trace's key, or else an unnamed file. A file is unnamed
//! without a cache, if the cache is not writable, or if the trace changed during the load.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::load::{CacheHint, CachePolicy, Ledgers, LoadError, LoadOptions};
use super::spill::SpillFile;
use crate::base::disk::Disk;
use crate::formats::ReadError;
use crate::model::{Sources, TextSpill};
use crate::store::cache::{Building, Cache, CacheKey};
use crate::store::{FinishedStore, Store, StoreWriter};

/// The destination of a trace's store.
#[derive(Debug)]
pub(crate) struct StoreTarget {
    sources: Sources,
    /// The cache key of a trace that can be opened again.
    key: Option<CacheKey>,
    cache: Option<Cache>,
    cache_bytes_max: u64,
    ledgers: Ledgers,
    /// Folder of unnamed files: the cache folder, or the system's folder for temporary files.
    folder: PathBuf,
    disk: Arc<dyn Disk>,
    /// Why the cache folder is not used, for errors: they replace the notes.
    cache_hint: CacheHint,
    /// Sentences for the user, such as that the store cannot be cached.
    pub(crate) notes: Vec<String>,
}

/// The file of a store that is being written.
#[derive(Debug)]
pub(crate) struct StoreFile {
    file: File,
    disk: Arc<dyn Disk>,
    /// Its entry in the cache, if any.
    building: Option<Building>,
    /// Whether the store gets ledgers.
    pub(crate) has_ledgers: bool,
}

impl StoreTarget {
    /// Chooses the destination for the store of a trace.
    ///
    /// # Errors
    /// Returns [`ReadError::Missing`] if a file does not exist.
    pub(crate) fn choose(sources: &Sources, options: &LoadOptions) -> Result<Self, LoadError> {
        let key = CacheKey::from_sources(sources);
        let key = key.map_err(|(path, source)| {
            let first = ReadError::inaccessible(path, source);
            let missing = sources.files().iter().filter_map(|file| {
                let source = std::fs::metadata(file.path()).err()?;
                Some(ReadError::inaccessible(file.path(), source))
            });
            let errors: Vec<_> = missing.collect();
            if errors.len() > 1 { ReadError::Several { errors } } else { first }
        })?;
        Ok(Self::with_key(sources, Some(key), options))
    }

    /// Chooses an uncached destination, for input that cannot be opened again.
    #[must_use]
    pub(crate) fn for_once(sources: &Sources, options: &LoadOptions) -> Self {
        Self::with_key(sources, None, options)
    }

    fn with_key(sources: &Sources, key: Option<CacheKey>, options: &LoadOptions) -> Self {
        let mut target = Self {
            sources: sources.clone(),
            key,
            cache: None,
            cache_bytes_max: options.cache_bytes_max,
            ledgers: options.ledgers,
            folder: std::env::temp_dir(),
            disk: Arc::clone(&options.disk),
            cache_hint: CacheHint::default(),
            notes: Vec::new(),
        };
        if let CachePolicy::Folder(folder) = &options.cache {
            match Cache::open(folder) {
                Ok(cache) => {
                    target.folder.clone_from(folder);
                    target.cache = target.key.is_some().then(|| cache.on(Arc::clone(&options.disk)));
                }
                Err(error) => target.cannot_keep(folder, &error),
            }
        }
        target
    }

    /// Returns the cached store of the trace's current version.
    #[must_use]
    pub(crate) fn cached_store(&self) -> Option<Store> {
        self.cache.as_ref()?.get(self.key.as_ref()?)
    }

    /// Starts a new store. If the cache folder is not writable, falls back to an unnamed file. Returns an error if that
    /// cannot be created either.
    pub(crate) fn start(&mut self) -> io::Result<StoreFile> {
        if let (Some(cache), Some(key)) = (self.cache.take(), &self.key) {
            match cache.build(key) {
                Ok(building) => {
                    self.cache = Some(cache);
                    let (file, disk) = (building.file()?, Arc::clone(&self.disk));
                    return Ok(StoreFile { file, disk, building: Some(building), has_ledgers: true });
                }
                Err(error) => {
                    self.folder = std::env::temp_dir();
                    self.cannot_keep(cache.folder(), &error);
                }
            }
        }
        let file = tempfile::tempfile_in(&self.folder)?;
        let has_ledgers = self.ledgers == Ledgers::Always;
        Ok(StoreFile { file, disk: Arc::clone(&self.disk), building: None, has_ledgers })
    }

    /// Creates a spill file beside the store.
    pub(crate) fn spill(&self) -> io::Result<SpillFile> {
        SpillFile::on(Arc::clone(&self.disk), &self.folder)
            .or_else(|_| SpillFile::on(Arc::clone(&self.disk), &std::env::temp_dir()))
    }

    /// Returns the spill for name texts beyond `held_bytes_max`, in a file beside the store.
    #[must_use]
    pub(crate) fn text_spill(&self, held_bytes_max: u64) -> TextSpill {
        let held_bytes_max = usize::try_from(held_bytes_max).unwrap_or(usize::MAX);
        TextSpill::new(&self.folder, Arc::clone(&self.disk), held_bytes_max)
    }

    /// Adds a note if a finished store has no ledgers, because they could not be written. It is not cached, so that the
    /// next load builds them.
    pub(super) fn note_finished(&mut self, store: &mut StoreFile, finished: FinishedStore) {
        let Some(error) = finished.ledger_error else { return };
        let again = if store.building.take().is_some() { " It is sorted again when it is opened again." } else { "" };
        self.notes.push(format!(
            "Sums cannot be written in {} ({error}): the trace is complete, but statistics take longer.{again}",
            self.folder.display()
        ));
    }

    /// Publishes a finished store in the cache, unless the trace changed during the load. Returns its file and path; if
    /// it is not in the cache, the folder of unnamed files.
    pub(crate) fn keep(&mut self, store: StoreFile) -> (File, PathBuf) {
        let StoreFile { file, building, .. } = store;
        let Some(key) = &self.key else { return (file, self.folder.clone()) };
        if CacheKey::from_sources(&self.sources).ok().as_ref() != Some(key) {
            let sources = &self.sources;
            self.notes.push(format!("{sources} changed while it was read: load it again to see it as it is now."));
            return (file, self.folder.clone());
        }
        let (Some(cache), Some(building)) = (&self.cache, building) else { return (file, self.folder.clone()) };
        let path = match cache.publish(building, key) {
            // Another process may have removed the folder. The store is complete, and its file is open.
            Err(error) => {
                self.folder = std::env::temp_dir();
                let folder = cache.folder().to_owned();
                self.cannot_keep(&folder, &error);
                return (file, self.folder.clone());
            }
            Ok(path) => path,
        };
        let earlier = cache.remove_earlier_versions();
        if let Ok(removed @ 1..) = earlier {
            let stores = if removed == 1 { "1 sorted store" } else { &format!("{removed} sorted stores") };
            self.notes
                .push(format!("Removed {stores} of an earlier version: their traces are sorted again when opened."));
        }
        if let Err(error) = earlier.and_then(|_| cache.shrink_to(self.cache_bytes_max, Some(key))) {
            let folder = cache.folder().display();
            self.notes.push(format!("Old stores in {folder} cannot be removed ({error})."));
        }
        (file, path)
    }

    /// Returns the folder of unnamed files.
    #[must_use]
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the error of a failed write.
    #[must_use]
    pub(crate) fn write_error(&self, source: io::Error) -> LoadError {
        LoadError::Write { folder: self.folder.clone(), source, cache: self.cache_hint.clone() }
    }

    /// Returns the error of failed storage of input from a pipe with the reason why it is not in the cache folder.
    #[must_use]
    pub(crate) fn explained(&self, mut error: LoadError) -> LoadError {
        if let LoadError::Keep { cache, .. } = &mut error {
            cache.clone_from(&self.cache_hint);
        }
        error
    }

    fn cannot_keep(&mut self, folder: &Path, error: &io::Error) {
        let reason = format!("cache folder {} cannot be used ({error})", folder.display());
        self.notes.push(format!("The {reason}: the sorted store is in {} until it is closed.", self.folder.display()));
        self.cache_hint = CacheHint(Some(reason));
    }
}

impl StoreFile {
    /// Creates a writer for the file; see [`StoreWriter::on`]. Returns an error if no file handle is available.
    pub(crate) fn writer(&self, held_bytes_max: usize) -> io::Result<StoreWriter> {
        StoreWriter::on(Arc::clone(&self.disk), self.file.try_clone()?, held_bytes_max)
    }
}
