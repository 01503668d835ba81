//! The state of the files of a trace when its import starts. It is read in the background, because files may be on a
//! slow file system.

use std::sync::OnceLock;

use super::background_writes::BackgroundWrites;
use super::file_stamps::FileStamps;
use super::preferences::Folders;
use crate::ingest::spool::is_unseekable;
use crate::model::Sources;
use crate::store::cache::CacheKey;
use crate::ui::timeline::saved::SavedTimeline;

/// The state of the files of a trace when its import started.
#[derive(Debug, Default)]
pub struct OpenedFiles {
    /// Stamps of the files, to notice that one has changed since.
    pub(super) stamps: FileStamps,
    /// Identifies the saved timeline of this content; it changes with the files. `None` if a file is missing.
    pub(super) key: Option<CacheKey>,
    /// Whether all files can be read again, unlike pipes.
    pub(super) can_be_read_again: bool,
    saved: OnceLock<ReadTimeline>,
}

/// A saved timeline, and a sentence if its file cannot be read.
pub(super) type ReadTimeline = (Option<SavedTimeline>, Option<String>);

#[derive(Clone)]
pub(crate) struct TimelineReader {
    /// The folders of saved state; `None` reads nothing.
    pub(super) folders: Option<Folders>,
    pub(super) writes: BackgroundWrites,
}

/// Returns whether the files of a trace can be read again, unlike pipes. Asks the file system.
pub(super) fn can_be_read_again(sources: &Sources) -> bool {
    /// Maximum number of files that are checked. Reading them again checks all.
    const FILES_MAX: usize = 100;
    let mut files = sources.files().iter().take(FILES_MAX);
    !sources.files().is_empty() && !files.any(|file| is_unseekable(&file.input))
}

impl OpenedFiles {
    /// Asks the file system about the files of a trace.
    pub(super) fn from_sources(sources: &Sources) -> Self {
        let stamps = FileStamps::from_sources(sources);
        Self { stamps, key: CacheKey::from_sources(sources).ok(), ..Self::from_followed(sources) }
    }

    /// Asks the file system about files that other programs still write.
    pub(super) fn from_followed(sources: &Sources) -> Self {
        Self { can_be_read_again: can_be_read_again(sources), ..Self::default() }
    }

    /// Reads the saved timeline, once.
    pub(super) fn read_saved(&self, reader: &TimelineReader) {
        self.saved.get_or_init(|| self.key.as_ref().map(|key| reader.read(key)).unwrap_or_default());
    }

    /// Returns the saved timeline, if it was read.
    pub(super) fn saved(&self) -> ReadTimeline {
        self.saved.get().cloned().unwrap_or_default()
    }
}

impl TimelineReader {
    /// Reads a saved timeline, once all earlier changes are written.
    fn read(&self, key: &CacheKey) -> ReadTimeline {
        self.writes.wait();
        self.folders.as_ref().map(|folders| folders.timeline(key)).unwrap_or_default()
    }
}
