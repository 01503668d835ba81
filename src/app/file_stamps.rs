//! The sizes and times of the files of a trace when it was opened, to notice that one has changed since.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::model::{SourceFile, Sources};

/// Maximum number of files with a stamp: the window's thread reads them.
const FILES_MAX: usize = 100;

/// The first files of a trace with the stamps that they had when it was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FileStamps(Vec<(PathBuf, Stamp)>);

/// The size and the modification time of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: SystemTime,
}

impl Stamp {
    /// Reads the stamp of a file; `None` for a pipe, a folder or a missing file.
    fn from_path(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        Some(Self { bytes: metadata.len(), modified: metadata.modified().ok()? })
    }
}

impl FileStamps {
    /// Reads the stamps of the files that other processes can open too.
    pub(super) fn from_sources(sources: &Sources) -> Self {
        let files = sources.files().iter().take(FILES_MAX);
        let paths = files.filter(|file| !file.input.is_open_file()).map(SourceFile::path);
        Self(paths.filter_map(|path| Some((path.to_owned(), Stamp::from_path(path)?))).collect())
    }

    /// Returns the first file that has changed or is missing.
    pub(super) fn first_changed(&self) -> Option<&Path> {
        let changed = self.0.iter().find(|(path, stamp)| Stamp::from_path(path) != Some(*stamp));
        changed.map(|(path, _)| &**path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_changed_if_its_size_or_its_time_differs_or_it_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
        [&one, &other].into_iter().for_each(|path| std::fs::write(path, "[]").unwrap());
        let stamps = || FileStamps::from_sources(&Sources::unmoved([one.clone(), other.clone()]));
        let opened = stamps();
        assert_eq!(opened.first_changed(), None);
        std::fs::write(&other, "[ ]").unwrap();
        assert_eq!(opened.first_changed(), Some(&*other));
        let opened = stamps();
        let file = std::fs::File::options().append(true).open(&one).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(opened.first_changed(), Some(&*one));
        let opened = stamps();
        std::fs::remove_file(&other).unwrap();
        assert_eq!(opened.first_changed(), Some(&*other));
        assert_eq!(FileStamps::from_sources(&Sources::unmoved([folder.path().to_owned()])), FileStamps::default());
    }
}
