//! A trace that was followed until its window was killed, as the welcome page offers it.

use std::path::PathBuf;

/// A trace that is kept on disk and nowhere else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CutShortTrace {
    /// The folder of what came.
    pub(crate) folder: PathBuf,
    pub(crate) title: String,
    pub(crate) bytes: u64,
    /// Rows that had come, where that is known.
    pub(crate) rows: Option<u64>,
    /// Seconds since 1970 when something came last.
    pub(crate) changed_s: u64,
}

/// The traces that were cut short, and which of them the user may want to delete.
#[derive(Debug, Default)]
pub(crate) struct CutShort {
    pub(crate) traces: Vec<CutShortTrace>,
    /// The folder of the one that is deleted if the user says so once more.
    pub(crate) asked: Option<PathBuf>,
}
