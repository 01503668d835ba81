//! Limits for building a derived track, and the error of a failed build.

use std::io;
use std::path::PathBuf;

use crate::base::cancel::Cancelled;

/// The folder for series, and the memory to build one.
#[derive(Debug, Clone)]
pub(crate) struct DerivedRoom {
    pub(crate) folder: PathBuf,
    /// Bytes of rows that are sorted in memory.
    pub(crate) held_bytes: u64,
}

impl DerivedRoom {
    /// Takes a sixteenth of a memory limit, at most 64 MiB; larger parts are no faster.
    #[must_use]
    pub(crate) fn new(folder: PathBuf, memory_bytes: u64) -> Self {
        Self { folder, held_bytes: (memory_bytes / 16).clamp(64 << 10, 64 << 20) }
    }
}

/// Error of building a derived track.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DerivedError {
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// Its points cannot be written.
    #[error("the points of a derived track cannot be kept in a temporary file: {0}")]
    Io(#[from] io::Error),
}
