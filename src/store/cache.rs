//! The cache folder of finished stores: one file per trace, named by a hash of its input files, created by rename only.
//!
//! A changed trace has another key and is imported again. A killed import leaves an unlocked `.building` file, which
//! the next import removes. The folder belongs to the user (0700); a link or a folder of another user is refused.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::format::{Trailer, VERSION};
use super::read::{Store, StoreError};
use crate::base::disk::{Disk, SystemDisk};
use crate::base::temporary::{self, Access, Temporary};
use crate::base::{files, folders};
use crate::model::Sources;

const STORE_EXTENSION: &str = "lsstore";
const BUILDING_EXTENSION: &str = "building";

/// A last use that is further in the future than this was recorded under a wrong clock.
const CLOCK_ERROR_MAX: Duration = Duration::from_hours(24);

/// Identity of a trace on disk: its files in their order, and the time offset of each. Any change gives another key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CacheKey(String);

impl CacheKey {
    /// Computes the key of a trace in its present state.
    ///
    /// # Errors
    /// Returns the first path that does not exist or cannot be resolved, with the error of the system.
    pub(crate) fn from_sources(sources: &Sources) -> Result<Self, (&Path, io::Error)> {
        let mut bytes = Vec::new();
        for file in sources.files() {
            describe(file.path(), &mut bytes).map_err(|error| (file.path(), error))?;
            bytes.extend(file.offset_ns.to_le_bytes());
        }
        // Without a unit nothing is hashed, so older keys stay valid.
        bytes.extend(sources.weight_unit().map(|unit| unit as u8));
        if sources.alone().is_none() {
            // The file names are hashed too, since they label processes.
            sources.names().iter().for_each(|name| bytes.extend_from_slice(name.as_bytes()));
        }
        Ok(Self(format!("{:032x}", xxhash_rust::xxh3::xxh3_128(&bytes))))
    }

    /// Returns the key in letters and digits, for a file name.
    #[must_use]
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Appends the identity of a file on disk to the bytes that the key hashes. A folder includes its files.
fn describe(path: &Path, bytes: &mut Vec<u8>) -> io::Result<()> {
    let resolved = fs::canonicalize(path)?;
    let metadata = fs::metadata(&resolved)?;
    let mut add = |name: &OsStr, metadata: &fs::Metadata| {
        bytes.extend_from_slice(name.as_encoded_bytes());
        bytes.push(0);
        bytes.extend(files::stamps(metadata).into_iter().chain([u64::from(VERSION)]).flat_map(u64::to_le_bytes));
    };
    add(resolved.as_os_str(), &metadata);
    // For uftrace, the file `info` stands for the recording in its folder.
    let around = || {
        let folder = resolved.parent().filter(|_| resolved.file_name() == Some(OsStr::new("info")))?;
        folder.join("task.txt").is_file().then_some(folder)
    };
    if let Some(folder) = if metadata.is_dir() { Some(&*resolved) } else { around() } {
        let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            // A link counts as its target, if there is one.
            add(&entry.file_name(), &fs::metadata(entry.path()).or_else(|_| entry.metadata())?);
        }
    }
    Ok(())
}

/// The cache folder, and the disk through which stores are written.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
    disk: Arc<dyn Disk>,
}

/// A store in the cache folder, as listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CacheEntry {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// Modification time, which every open sets; 1970 if it is in the future.
    pub(crate) used: SystemTime,
}

/// A store being written in the cache folder. Dropping it without publishing removes the file.
#[derive(Debug)]
pub(crate) struct Building(Temporary);

impl Cache {
    /// Returns `longspan` in the user's cache folder. A relative `HOME` counts as unset: a cache does not belong in the
    /// current folder.
    #[must_use]
    pub(crate) fn default_folder() -> Option<PathBuf> {
        folders::cache().map(|folder| folder.join("longspan"))
    }

    /// Opens `folder` as a cache, and creates it if it is missing.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created, is a link or not a folder, or belongs to another user.
    pub fn open(folder: &Path) -> io::Result<Self> {
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent)?;
        }
        files::make_private_folder(folder)?;
        sweep(folder);
        Ok(Self { folder: folder.into(), disk: Arc::new(SystemDisk) })
    }

    /// Sets the disk that stores are written to; [`SystemDisk`] by default.
    #[must_use]
    pub(crate) fn on(self, disk: Arc<dyn Disk>) -> Self {
        Self { disk, ..self }
    }

    #[must_use]
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the cached store of a trace if it is intact. Removes a damaged one, and anything else of its name:
    /// opening a pipe would wait for ever, and a link may lead to a file that another program changes.
    #[must_use]
    pub(crate) fn get(&self, key: &CacheKey) -> Option<Store> {
        let path = self.path_of(key);
        if fs::symlink_metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
            fs::remove_file(&path).or_else(|_| fs::remove_dir(&path)).ok(); // a folder with files stays
            return None;
        }
        match Store::open(&path) {
            Ok(store) => {
                // A read-only folder serves its stores, but cannot record the last use.
                File::open(&path).and_then(|file| file.set_modified(SystemTime::now())).ok();
                Some(store)
            }
            Err(StoreError::Damaged { .. }) => {
                fs::remove_file(&path).ok(); // the new store replaces it anyway
                None
            }
            Err(StoreError::Io { .. }) => None,
        }
    }

    /// Removes a damaged store, so that its trace is imported again on the next open. Returns an error if it cannot be
    /// removed. A missing file is not an error.
    pub(crate) fn forget(store: &Path) -> io::Result<()> {
        if store.extension().is_none_or(|ending| ending != STORE_EXTENSION) {
            return Ok(());
        }
        remove(store)
    }

    /// Creates a new store, locked until this process ends. Returns an error if the folder is not writable.
    pub(crate) fn build(&self, key: &CacheKey) -> io::Result<Building> {
        sweep(&self.folder);
        // Two threads of one process may import the same trace at once.
        let name = |number| format!("{}-{}-{number}.{BUILDING_EXTENSION}", key.0, std::process::id());
        Temporary::named(&self.folder, name, Access::Private).map(Building)
    }

    /// Renames a finished store to its final name and replaces an older one. Returns the I/O error of the rename.
    pub(crate) fn publish(&self, building: Building, key: &CacheKey) -> io::Result<PathBuf> {
        let path = self.path_of(key);
        building.0.publish(|from| self.disk.rename(from, &path))?;
        // Without the sync, a crash of the system may lose the name: the trace is then imported again.
        self.disk.sync_folder(&self.folder).ok();
        Ok(path)
    }

    /// Lists the stores, most recently used first. Returns an error if the folder cannot be read.
    pub(crate) fn entries(&self) -> io::Result<Vec<CacheEntry>> {
        let latest = SystemTime::now().checked_add(CLOCK_ERROR_MAX).unwrap_or(SystemTime::UNIX_EPOCH);
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == STORE_EXTENSION)
                && let Ok(meta) = entry.metadata()
            {
                // A last use in the future would keep such a store for years. The next use corrects the time.
                let used = meta.modified()?;
                let used = if used > latest { SystemTime::UNIX_EPOCH } else { used };
                entries.push(CacheEntry { path, bytes: meta.len(), used });
            }
        }
        entries.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.path.cmp(&b.path)));
        Ok(entries)
    }

    /// Removes all stores and the leftovers of killed imports. Returns the bytes of the stores. Open stores stay
    /// readable until they are closed.
    ///
    /// # Errors
    /// Returns an error if the folder or a store cannot be removed.
    pub fn clear(&self) -> io::Result<u64> {
        sweep(&self.folder);
        self.entries()?.iter().try_fold(0, |removed_bytes, entry| {
            remove(&entry.path)?;
            Ok(removed_bytes + entry.bytes)
        })
    }

    /// Keeps the most recently used stores that fit in `bytes_max`, and removes all others. A large store may go while
    /// an older, smaller one stays. The store of `spared` is never removed, and is counted first. Returns the size of
    /// the removed stores, or an error if the folder or a store cannot be removed.
    pub(crate) fn shrink_to(&self, bytes_max: u64, spared: Option<&CacheKey>) -> io::Result<u64> {
        let spared = spared.map(|key| self.path_of(key));
        let mut entries = self.entries()?;
        let is_spared = |entry: &CacheEntry| Some(&entry.path) == spared.as_ref();
        entries.sort_by_key(|entry| !is_spared(entry));
        let (mut kept_bytes, mut removed_bytes) = (0u64, 0);
        for entry in entries {
            if is_spared(&entry) || kept_bytes + entry.bytes <= bytes_max {
                kept_bytes += entry.bytes;
            } else {
                remove(&entry.path)?;
                removed_bytes += entry.bytes;
            }
        }
        Ok(removed_bytes)
    }

    /// Removes the stores of earlier versions, which no import can use, and returns their number. Stores of later
    /// versions belong to another installation and stay. Returns an error if the folder or a store cannot be removed.
    pub(crate) fn remove_earlier_versions(&self) -> io::Result<u64> {
        let mut removed = 0;
        for entry in self.entries()? {
            if version_of(&entry.path).is_some_and(|version| version < VERSION) {
                remove(&entry.path)?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    fn path_of(&self, key: &CacheKey) -> PathBuf {
        self.folder.join(format!("{}.{STORE_EXTENSION}", key.0))
    }
}

impl Building {
    /// The file to write to. Fails if the system has no file handle left.
    pub(crate) fn file(&self) -> io::Result<File> {
        self.0.open_file()
    }
}

/// Removes a store, unless another process has removed it.
fn remove(store: &Path) -> io::Result<()> {
    match fs::remove_file(store) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Reads the version from the tail of a store; `None` if the tail is invalid.
fn version_of(path: &Path) -> Option<u32> {
    const TAIL_BYTES: usize = 32;
    let mut file = File::open(path).ok()?;
    file.seek(SeekFrom::End(-(TAIL_BYTES as i64))).ok()?;
    let mut tail = [0; TAIL_BYTES];
    file.read_exact(&mut tail).ok()?;
    Trailer::version_of(&tail)
}

/// Removes the leftovers of killed imports.
fn sweep(folder: &Path) {
    let is_building = |name: &OsStr| Path::new(name).extension().is_some_and(|ending| ending == BUILDING_EXTENSION);
    temporary::sweep_where(folder, is_building);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SourceFile;
    use crate::store::{Meta, StoreWriter};

    fn build_empty(cache: &Cache, key: &CacheKey) -> PathBuf {
        let building = cache.build(key).unwrap();
        StoreWriter::new(building.file().unwrap(), 1 << 20).unwrap().finish(&Meta::default()).unwrap();
        cache.publish(building, key).unwrap()
    }

    #[test]
    fn a_cleared_cache_is_empty_whatever_its_stores_are_and_whoever_else_clears_it() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path()).unwrap();
        let store = |number: usize| folder.path().join(format!("{number}.{STORE_EXTENSION}"));
        (0..600).for_each(|number| fs::write(store(number), if number % 2 == 0 { "" } else { "store" }).unwrap());
        let removed: Vec<u64> = std::thread::scope(|scope| {
            let clearing: Vec<_> = (0..4).map(|_| scope.spawn(|| cache.clear().unwrap())).collect();
            clearing.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(cache.entries().unwrap().is_empty());
        assert!(removed.iter().sum::<u64>() >= 300 * 5, "{removed:?}");
    }

    #[test]
    fn a_changed_capture_has_another_key() {
        let folder = tempfile::tempdir().unwrap();
        let capture = folder.path().join("capture");
        fs::write(&capture, "a").unwrap();
        let before = CacheKey::from_sources(&Sources::from(&capture)).unwrap();
        assert_eq!(CacheKey::from_sources(&Sources::from(&capture)).unwrap(), before);
        fs::write(&capture, "ab").unwrap();
        assert_ne!(CacheKey::from_sources(&Sources::from(&capture)).unwrap(), before);
    }

    #[test]
    fn a_folder_with_a_changed_file_has_another_key_also_when_a_file_of_a_recording_opens_it() {
        let folder = tempfile::tempdir().unwrap();
        let [info, calls] = ["info", "1.dat"].map(|name| folder.path().join(name));
        let others = [("info", "Ftrace!"), ("task.txt", "TASK"), ("1.dat", "calls")];
        others.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
        let keys = || [folder.path(), &info].map(|path| CacheKey::from_sources(&Sources::from(path)).unwrap());
        let before = keys();
        assert_eq!(keys(), before);
        fs::write(&calls, "call").unwrap();
        let [of_folder, of_info] = keys();
        assert!(of_folder != before[0] && of_info != before[1]);
    }

    #[test]
    fn files_in_another_order_or_moved_otherwise_are_another_capture() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        fs::write(&a, "a").unwrap();
        fs::write(&b, "b").unwrap();
        let file = |path: &Path, offset_ns| SourceFile::new(path.to_owned(), offset_ns);
        let combinations = [
            vec![file(&a, 0)],
            vec![file(&a, 5)],
            vec![file(&a, 0), file(&b, 0)],
            vec![file(&b, 0), file(&a, 0)],
            vec![file(&a, 0), file(&b, 5)],
            vec![file(&a, 5), file(&b, 0)],
            vec![file(&a, 0), file(&a, 0)],
        ];
        let keys = combinations.map(|files| CacheKey::from_sources(&Sources::new(files)).unwrap().0);
        let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len());
        fs::remove_file(&b).unwrap();
        let both = Sources::unmoved([a, b.clone()]);
        assert_eq!(CacheKey::from_sources(&both).map_err(|(path, _)| path), Err(&*b));
    }

    #[test]
    fn a_store_that_is_cut_or_altered_is_removed_and_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(&folder.path().join("cache")).unwrap();
        let key = CacheKey("k".into());
        let path = build_empty(&cache, &key);
        assert!(cache.get(&key).is_some());
        let whole = fs::read(&path).unwrap();
        for damage in 0..whole.len() {
            let mut altered = whole.clone();
            altered[damage] ^= 1;
            fs::write(&path, &altered).unwrap();
            // Padding between sections is the only part without a checksum, and it is never read.
            assert!(cache.get(&key).is_none() || whole[damage] == 0, "byte {damage}");
            fs::write(&path, &whole[..damage]).unwrap();
            assert!(cache.get(&key).is_none(), "cut at {damage}");
            assert!(!path.exists());
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_pipe_a_folder_and_a_link_in_place_of_a_store_are_removed_and_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(&folder.path().join("cache")).unwrap();
        let key = CacheKey("k".into());
        let (path, elsewhere) = (cache.path_of(&key), folder.path().join("elsewhere"));
        fs::write(&elsewhere, "not a store").unwrap();
        // Opening the pipe would wait for its other end.
        let pipe = || assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let makers: [&dyn Fn(); 3] =
            [&pipe, &|| fs::create_dir(&path).unwrap(), &|| std::os::unix::fs::symlink(&elsewhere, &path).unwrap()];
        for make in makers {
            make();
            assert!(cache.get(&key).is_none());
            assert!(fs::symlink_metadata(&path).is_err(), "it is still there");
        }
        assert_eq!(fs::read(elsewhere).unwrap(), b"not a store");
    }

    #[test]
    fn stores_of_earlier_versions_go_and_all_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(&folder.path().join("cache")).unwrap();
        let keys = ["earlier", "own", "later", "cut"].map(|key| CacheKey(key.into()));
        let paths = keys.each_ref().map(|key| build_empty(&cache, key));
        for (path, version) in [(&paths[0], VERSION - 1), (&paths[2], VERSION + 1)] {
            let mut bytes = fs::read(path).unwrap();
            let at = bytes.len() - 24;
            bytes[at..at + 4].copy_from_slice(&version.to_le_bytes());
            fs::write(path, bytes).unwrap();
        }
        fs::write(&paths[3], "short").unwrap();
        assert_eq!(cache.remove_earlier_versions().unwrap(), 1);
        assert_eq!(paths.map(|path| path.exists()), [false, true, true, true]);
        assert_eq!(cache.remove_earlier_versions().unwrap(), 0);
    }

    #[test]
    fn an_abandoned_load_is_removed_and_a_running_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(&folder.path().join("cache")).unwrap();
        let abandoned = cache.folder().join("x-1-0.building");
        fs::write(&abandoned, "half").unwrap();
        let running = cache.build(&CacheKey("a".into())).unwrap();
        let other = cache.build(&CacheKey("a".into())).unwrap();
        assert!(!abandoned.exists());
        assert!(running.0.path().exists() && other.0.path().exists());
        let path = other.0.path().to_owned();
        drop(other);
        assert!(!path.exists());
    }

    #[test]
    fn the_store_used_longest_ago_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(&folder.path().join("cache")).unwrap();
        let keys = ["a", "b", "c"].map(|name| CacheKey(name.into()));
        for (age, key) in keys.iter().enumerate() {
            let path = build_empty(&cache, key);
            let used = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(age as u64);
            File::open(path).unwrap().set_modified(used).unwrap();
        }
        let bytes = cache.entries().unwrap()[0].bytes;
        assert_eq!(cache.shrink_to(bytes * 2, None).unwrap(), bytes);
        assert!(cache.get(&keys[0]).is_none());
        assert!(cache.get(&keys[1]).is_some());
        assert_eq!(cache.shrink_to(0, Some(&keys[1])).unwrap(), bytes);
        assert!(cache.get(&keys[1]).is_some(), "the one in use stays, though it alone is too much");
        assert_eq!(cache.clear().unwrap(), bytes);
    }

    #[test]
    fn a_store_used_under_a_clock_that_was_ahead_goes_before_one_that_was_used_today() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(&folder.path().join("cache")).unwrap();
        let [today, ahead] = ["a", "b"].map(|name| CacheKey(name.into()));
        build_empty(&cache, &today);
        let in_a_year = SystemTime::now() + Duration::from_hours(365 * 24);
        File::open(build_empty(&cache, &ahead)).unwrap().set_modified(in_a_year).unwrap();
        let bytes = cache.entries().unwrap()[0].bytes;
        assert_eq!(cache.shrink_to(bytes, None).unwrap(), bytes);
        assert!(cache.get(&today).is_some() && cache.get(&ahead).is_none());
    }

    #[test]
    fn loads_that_start_at_once_do_not_take_each_other_for_abandoned() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(&folder.path().join("cache")).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let building = cache.build(&CacheKey("a".into())).unwrap();
                        assert!(building.0.path().exists());
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(cache.folder()).unwrap().count(), 0);
    }

    #[test]
    #[cfg(unix)]
    fn a_planted_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("longspan");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        assert!(Cache::open(&link).is_err());
    }
}
