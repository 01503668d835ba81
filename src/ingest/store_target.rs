//! Where the store of one capture goes: into the cache folder under the capture's key, or into a file without a name
//! where there is no such folder, where it cannot be written, or where the capture has changed under the load.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::load::{CachePolicy, LoadError, LoadOptions};
use super::spill::SpillFile;
use crate::base::disk::Disk;
use crate::formats::ReadError;
use crate::model::{Sources, TextSpill};
use crate::store::cache::{Building, Cache, CacheKey};
use crate::store::{Store, StoreWriter};

/// The place of one capture's store.
#[derive(Debug)]
pub(crate) struct StoreTarget {
    sources: Sources,
    /// The key of a capture that can be opened again.
    key: Option<CacheKey>,
    cache: Option<Cache>,
    cache_bytes_max: u64,
    /// The folder for files without a name.
    folder: PathBuf,
    disk: Arc<dyn Disk>,
    /// Sentences that the user should read.
    pub(crate) notes: Vec<String>,
}

/// A file for a store that is being made.
#[derive(Debug)]
pub(crate) struct StoreFile {
    file: File,
    disk: Arc<dyn Disk>,
    /// Its name in the cache, if it is to have one.
    building: Option<Building>,
}

impl StoreTarget {
    /// Finds the place for the store of a capture.
    ///
    /// # Errors
    /// [`ReadError::Io`] about each file that is not there.
    pub(crate) fn choose(sources: &Sources, options: &LoadOptions) -> Result<Self, LoadError> {
        let key = CacheKey::from_sources(sources);
        let key = key.map_err(|(path, source)| {
            let first = ReadError::Io { path: path.into(), offset: 0, source };
            let missing = sources.files().iter().filter_map(|file| {
                let source = std::fs::metadata(file.path()).err()?;
                Some(ReadError::Io { path: file.path().to_owned(), offset: 0, source })
            });
            let errors: Vec<_> = missing.collect();
            if errors.len() > 1 { ReadError::Several { errors } } else { first }
        })?;
        Ok(Self::with_key(sources, Some(key), options))
    }

    /// The place of a store that nobody can ask for again.
    #[must_use]
    pub(crate) fn for_once(sources: &Sources, options: &LoadOptions) -> Self {
        Self::with_key(sources, None, options)
    }

    fn with_key(sources: &Sources, key: Option<CacheKey>, options: &LoadOptions) -> Self {
        let mut place = Self {
            sources: sources.clone(),
            key,
            cache: None,
            cache_bytes_max: options.cache_bytes_max,
            folder: std::env::temp_dir(),
            disk: Arc::clone(&options.disk),
            notes: Vec::new(),
        };
        if let CachePolicy::Folder(folder) = &options.cache {
            match Cache::open(folder) {
                Ok(cache) => {
                    place.folder.clone_from(folder);
                    place.cache = place.key.is_some().then(|| cache.on(Arc::clone(&options.disk)));
                }
                Err(error) => place.cannot_keep(folder, &error),
            }
        }
        place
    }

    /// The store that is kept for the capture as it is now.
    #[must_use]
    pub(crate) fn kept(&self) -> Option<Store> {
        self.cache.as_ref()?.get(self.key.as_ref()?)
    }

    /// Starts a new store. A cache folder that cannot be written is given up for files without a name. Fails if
    /// those cannot be made either.
    pub(crate) fn start(&mut self) -> io::Result<StoreFile> {
        if let (Some(cache), Some(key)) = (self.cache.take(), &self.key) {
            match cache.build(key) {
                Ok(building) => {
                    self.cache = Some(cache);
                    let (file, disk) = (building.file()?, Arc::clone(&self.disk));
                    return Ok(StoreFile { file, disk, building: Some(building) });
                }
                Err(error) => {
                    self.folder = std::env::temp_dir();
                    self.cannot_keep(cache.folder(), &error);
                }
            }
        }
        let file = tempfile::tempfile_in(&self.folder)?;
        Ok(StoreFile { file, disk: Arc::clone(&self.disk), building: None })
    }

    /// A spill file beside the store. Fails if it cannot be made.
    pub(crate) fn spill(&self) -> io::Result<SpillFile> {
        SpillFile::on(Arc::clone(&self.disk), &self.folder)
            .or_else(|_| SpillFile::on(Arc::clone(&self.disk), &std::env::temp_dir()))
    }

    /// The place for letters of names beyond `held_bytes_max`: a file beside the store.
    #[must_use]
    pub(crate) fn text_spill(&self, held_bytes_max: u64) -> TextSpill {
        let held_bytes_max = usize::try_from(held_bytes_max).unwrap_or(usize::MAX);
        TextSpill::new(&self.folder, Arc::clone(&self.disk), held_bytes_max)
    }

    /// Keeps a finished store, unless the capture is no longer what it was when the load began. Returns its file, and
    /// where that lies. Fails if it cannot be given its name.
    pub(crate) fn keep(&mut self, store: StoreFile) -> io::Result<(File, PathBuf)> {
        let StoreFile { file, building, .. } = store;
        let Some(key) = &self.key else { return Ok((file, self.folder.clone())) };
        if CacheKey::from_sources(&self.sources).ok().as_ref() != Some(key) {
            let sources = &self.sources;
            self.notes.push(format!("{sources} changed while it was read: load it again to see it as it is now."));
            return Ok((file, self.folder.clone()));
        }
        let (Some(cache), Some(building)) = (&self.cache, building) else { return Ok((file, self.folder.clone())) };
        let path = match cache.publish(building, key) {
            // Somebody has removed the folder. The store is whole, and open.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.folder = std::env::temp_dir();
                let folder = cache.folder().to_owned();
                self.cannot_keep(&folder, &error);
                return Ok((file, self.folder.clone()));
            }
            published => published?,
        };
        let earlier = cache.remove_earlier_versions();
        if let Ok(removed @ 1..) = earlier {
            let stores = if removed == 1 { "1 sorted store" } else { &format!("{removed} sorted stores") };
            self.notes
                .push(format!("{stores} of an earlier version removed: their traces are sorted again when opened."));
        }
        if let Err(error) = earlier.and_then(|_| cache.shrink_to(self.cache_bytes_max, Some(key))) {
            let folder = cache.folder().display();
            self.notes.push(format!("Old stores in {folder} cannot be removed ({error})."));
        }
        Ok((file, path))
    }

    /// The folder for files without a name.
    #[must_use]
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A failure to write here.
    #[must_use]
    pub(crate) fn write_error(&self, source: io::Error) -> LoadError {
        LoadError::Write { folder: self.folder.clone(), source }
    }

    fn cannot_keep(&mut self, folder: &Path, error: &io::Error) {
        self.notes.push(format!(
            "The cache folder {} cannot be used ({error}): the sorted store is in {} until it is closed.",
            folder.display(),
            self.folder.display()
        ));
    }
}

impl StoreFile {
    /// Starts to write to it; see [`StoreWriter::on`]. Fails if the system has no file handle left.
    pub(crate) fn writer(&self, held_bytes_max: usize) -> io::Result<StoreWriter> {
        StoreWriter::on(Arc::clone(&self.disk), self.file.try_clone()?, held_bytes_max)
    }
}
