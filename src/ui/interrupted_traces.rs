//! A trace whose live window was killed, as offered on the welcome page.

use std::path::PathBuf;

/// An interrupted trace, which exists only in the spool folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InterruptedTrace {
    /// Folder of the recorded bytes.
    pub(crate) folder: PathBuf,
    pub(crate) title: String,
    pub(crate) bytes: u64,
    /// Number of recorded rows, if known.
    pub(crate) rows: Option<u64>,
    /// Last recorded bytes, in seconds since 1970.
    pub(crate) changed_s: u64,
}

/// The interrupted traces, and which one the user may want to delete.
#[derive(Debug, Default)]
pub(crate) struct InterruptedOffer {
    pub(crate) traces: Vec<InterruptedTrace>,
    /// Folder of the trace to delete, once the user confirms.
    pub(crate) asked: Option<PathBuf>,
}
