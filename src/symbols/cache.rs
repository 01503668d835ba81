//! A cache of resolved names in a folder, by build-id: the next trace of the same program needs no resolution, even if
//! the program is gone. Names are stored with stamps of the files that they came from; other files are resolved again.
//! Address spaces differ by recorder, and each has its own file.
//!
//! A damaged file, or one of another version, is ignored. If several programs write at once, the last one wins.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::names::AddressNames;
use super::state::NameState;
use crate::base::disk::SystemDisk;
use crate::base::{files, replace};
use crate::model::{BuildId, ModuleKind};

/// Magic of a cache file; the last byte is its version.
const MAGIC: [u8; 8] = *b"LSNAMES\x07";

const EXTENSION: &str = "names";

/// Size limit of one file, for some million addresses. More are resolved again.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Size limit of the content of one file: compression reaches about a third.
const CONTENT_BYTES_MAX: usize = 4 * FILE_BYTES_MAX as usize;

/// Size limit of all files; the oldest are deleted first.
const FOLDER_BYTES_MAX: u64 = 512 << 20;

/// The folder of the cache.
#[derive(Debug, Clone)]
pub(crate) struct NameCache {
    folder: PathBuf,
}

/// The cached names of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptNames {
    /// Stamps that change when any source file of the names changes.
    pub(super) stamps: Vec<u64>,
    /// The file that the names come from.
    pub(super) path: PathBuf,
    pub(super) state: NameState,
    pub(super) names: AddressNames,
}

impl NameCache {
    /// Returns the cache in a folder of sorted traces.
    #[must_use]
    pub(crate) fn in_folder(cache: &Path) -> Self {
        Self { folder: cache.join("names") }
    }

    /// Returns the names of a build, whose addresses are of the given kind. Returns `None` if names are missing or
    /// unreadable, or if another user could have written them.
    pub(super) fn get(&self, build_id: &BuildId, kind: ModuleKind) -> Option<KeptNames> {
        let folders = self.folder.parent().into_iter().chain([&*self.folder]);
        if folders.map(files::check_private_folder).any(|checked| checked.is_err()) {
            return None;
        }
        let path = self.path_of(build_id, kind);
        let is_short = fs::metadata(&path).ok()?.len() <= FILE_BYTES_MAX;
        let bytes = is_short.then(|| fs::read(&path).ok()).flatten()?;
        let (sum, packed) = bytes.strip_prefix(&MAGIC)?.split_first_chunk::<8>()?;
        if xxh3_64(packed) != u64::from_le_bytes(*sum) {
            return None;
        }
        let bytes = zstd::bulk::decompress(packed, CONTENT_BYTES_MAX).ok()?;
        postcard::from_bytes(&bytes).ok()
    }

    /// Stores the names of a build. Errors are ignored: the names are resolved again.
    pub(super) fn put(&self, build_id: &BuildId, kind: ModuleKind, names: &KeptNames) {
        let Ok(bytes) = postcard::to_stdvec(names) else { return };
        if bytes.len() > CONTENT_BYTES_MAX {
            return;
        }
        let Ok(packed) = zstd::bulk::compress(&bytes, 1) else { return };
        let file = [&MAGIC[..], &xxh3_64(&packed).to_le_bytes(), &packed].concat();
        if file.len() as u64 > FILE_BYTES_MAX || self.make_folder().is_err() {
            return;
        }
        replace::write(&self.path_of(build_id, kind), &file, &SystemDisk).ok();
        self.shrink_to(FOLDER_BYTES_MAX);
    }

    /// Removes all cached names, and returns their size.
    pub(crate) fn clear(&self) -> u64 {
        self.shrink_to(0)
    }

    fn make_folder(&self) -> std::io::Result<()> {
        if let Some(cache) = self.folder.parent() {
            if let Some(parent) = cache.parent() {
                fs::create_dir_all(parent)?;
            }
            files::make_private_folder(cache)?;
        }
        files::make_private_folder(&self.folder)
    }

    /// Removes the oldest files until the rest take at most `bytes_max`.
    fn shrink_to(&self, bytes_max: u64) -> u64 {
        let Ok(entries) = fs::read_dir(&self.folder) else { return 0 };
        let mut cached_files: Vec<_> = entries
            .flatten()
            .filter(|entry| entry.path().extension().is_some_and(|ending| ending == EXTENSION))
            .filter_map(|entry| Some((entry.metadata().ok()?, entry.path())))
            .filter_map(|(metadata, path)| Some((metadata.modified().ok()?, metadata.len(), path)))
            .collect();
        cached_files.sort();
        let mut all: u64 = cached_files.iter().map(|(_, bytes, _)| bytes).sum();
        let mut removed = 0;
        for (_, bytes, path) in cached_files {
            if all <= bytes_max {
                break;
            }
            if fs::remove_file(path).is_ok() {
                (all, removed) = (all - bytes, removed + bytes);
            }
        }
        removed
    }

    fn path_of(&self, build_id: &BuildId, kind: ModuleKind) -> PathBuf {
        let suffix = match kind {
            ModuleKind::Linked => "-linked",
            ModuleKind::Image => "-image",
            _ => "",
        };
        self.folder.join(format!("{build_id}{suffix}.{EXTENSION}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: ModuleKind = ModuleKind::File;

    fn kept(stamp: u64) -> KeptNames {
        let (path, names) = (PathBuf::from("/work"), AddressNames::default());
        KeptNames { stamps: vec![stamp], path, state: NameState::Complete, names }
    }

    #[test]
    fn names_come_back_by_build_and_damage_is_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let cache = NameCache::in_folder(folder.path());
        let [one, other] = [[1; 20], [2; 20]].map(|id| BuildId::new(&id).unwrap());
        assert_eq!(cache.get(&one, KIND), None);
        cache.put(&one, KIND, &kept(7));
        assert_eq!((cache.get(&one, KIND), cache.get(&other, KIND)), (Some(kept(7)), None));
        assert_eq!([ModuleKind::Linked, ModuleKind::Image].map(|kind| cache.get(&one, kind)), [None, None]);
        cache.put(&one, KIND, &kept(8));
        assert_eq!(cache.get(&one, KIND), Some(kept(8)));
        let path = cache.path_of(&one, KIND);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&path, &bytes).unwrap();
            assert_eq!(cache.get(&one, KIND), None, "byte {at}");
            fs::write(&path, &whole[..at]).unwrap();
            assert_eq!(cache.get(&one, KIND), None, "cut at {at}");
        }
        assert!(cache.clear() > 0);
        assert_eq!((fs::read_dir(folder.path().join("names")).unwrap().count(), cache.clear()), (0, 0));
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_can_write_is_neither_read_nor_written() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let cache = NameCache::in_folder(folder.path());
        let id = BuildId::new(&[1; 20]).unwrap();
        cache.put(&id, KIND, &kept(7));
        let set_mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        for path in [folder.path().to_owned(), folder.path().join("names")] {
            set_mode(&path, 0o777);
            cache.put(&id, KIND, &kept(8));
            assert_eq!(cache.get(&id, KIND), None, "{}", path.display());
            set_mode(&path, 0o700);
            assert_eq!(cache.get(&id, KIND), Some(kept(7)), "{}", path.display());
        }
    }

    #[test]
    fn the_names_written_longest_ago_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = NameCache::in_folder(folder.path());
        let ids = [3, 1, 2].map(|id| BuildId::new(&[id; 20]).unwrap());
        for (seconds, id) in (1..).zip(&ids) {
            cache.put(id, KIND, &kept(seconds));
            let written = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            fs::File::options().append(true).open(cache.path_of(id, KIND)).unwrap().set_modified(written).unwrap();
        }
        let bytes = fs::metadata(cache.path_of(&ids[2], KIND)).unwrap().len();
        assert!(cache.shrink_to(bytes) > bytes);
        assert_eq!(ids.each_ref().map(|id| cache.get(id, KIND).is_some()), [false, false, true]);
    }
}
