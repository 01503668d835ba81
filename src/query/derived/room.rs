//! The room that the making of a derived track may take, and why one was not made. Makes nothing.

use std::io;
use std::path::PathBuf;

use crate::base::cancel::Cancelled;

/// The folder for curves, and the memory for making one.
#[derive(Debug, Clone)]
pub(crate) struct DerivedRoom {
    /// The folder of its temporary files.
    pub(crate) folder: PathBuf,
    /// The bytes of rows that are sorted in memory.
    pub(crate) held_bytes: u64,
}

impl DerivedRoom {
    /// A sixteenth of a limit of memory, and at most 64 MiB: a larger part makes nothing faster.
    #[must_use]
    pub(crate) fn new(folder: PathBuf, memory_bytes: u64) -> Self {
        Self { folder, held_bytes: (memory_bytes / 16).clamp(64 << 10, 64 << 20) }
    }
}

/// Why a derived track was not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DerivedError {
    /// It was asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// Its points cannot be kept.
    #[error("the points of a derived track cannot be kept in a temporary file: {0}")]
    Io(#[from] io::Error),
}
