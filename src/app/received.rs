//! The received data of a followed trace after its sort.

#[cfg(test)]
use std::path::Path;
use std::path::PathBuf;

use crate::live::spool_folder::SpoolFolder;

/// Whether a tab has rows that are in no file of the user: their sources cannot be opened again, or were replaced.
#[derive(Debug, Default)]
pub(crate) enum OnlyCopy {
    #[default]
    No,
    /// The rows are still received or sorted.
    Receiving,
    /// All rows are sorted, and the received data is on disk until they are exported.
    Stored(#[cfg_attr(not(test), expect(dead_code, reason = "dropping it removes the data"))] ReceivedData),
    /// The rows are exported, or in a folder that the user knows. The sources still lack them.
    Saved,
}

impl OnlyCopy {
    /// Notes that a source was replaced, so that it lacks rows.
    pub(crate) fn note_replaced(&mut self) {
        if matches!(self, Self::No) {
            *self = Self::Receiving;
        }
    }

    /// Notes that all rows were saved.
    pub(crate) fn note_saved(&mut self) {
        if !matches!(self, Self::No) {
            *self = Self::Saved;
        }
    }
}

/// The received data of sources that cannot be opened again, which a window that is killed leaves on disk. Dropping it
/// removes all but the files that could not be read, which are the only copy.
#[derive(Debug)]
pub(crate) struct ReceivedData {
    folder: Option<SpoolFolder>,
    unread: Vec<PathBuf>,
}

impl ReceivedData {
    pub(crate) fn new(folder: SpoolFolder, unread: Vec<PathBuf>) -> Self {
        Self { folder: Some(folder), unread }
    }

    #[cfg(test)]
    pub(crate) fn path(&self) -> &Path {
        self.folder.as_ref().map_or(Path::new(""), SpoolFolder::path)
    }
}

impl Drop for ReceivedData {
    fn drop(&mut self) {
        if let Some(folder) = self.folder.take().filter(|_| !self.unread.is_empty()) {
            folder.keep_only(&self.unread);
        }
    }
}

#[cfg(test)]
mod tests;
