//! Errors of exports, and the check of the store that precedes publishing.

use std::io;
use std::path::{Path, PathBuf};

use crate::base::cancel::Cancelled;
use crate::formats::native::write::WriteError;
use crate::formats::perfetto::write::OVERLAP_MAX;
use crate::store::Store;

/// Error of an export. The file at the path is unchanged.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named as the message shows them")]
pub enum ExportError {
    /// The file cannot be written.
    #[error("{}: cannot write: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// The output is the trace itself, possibly under another name.
    #[error("{}: is one of the sources; choose another output", path.display())]
    IsSource { path: PathBuf },
    #[error("{}: is a folder", path.display())]
    IsFolder { path: PathBuf },
    /// The format creates a folder, and the path exists already.
    #[error("{}: already exists; this format needs a new or an empty folder", path.display())]
    IsThere { path: PathBuf },
    /// The trace has no samples, and the format has nothing else.
    #[error("{}: the trace has no samples, and a pprof profile contains only samples", path.display())]
    NoSamples { path: PathBuf },
    /// The format moves times before 0 to begin at 0, and its readers have 63 bits.
    #[error("{}: the trace lasts {dur_ns} ns; a Perfetto trace with times before 0 lasts {} ns at most", path.display(), i64::MAX)]
    TooLong { path: PathBuf, dur_ns: u64 },
    /// More spans of a track overlap than the maximum in a Perfetto trace.
    #[error("{}: at {ts_ns} ns, more than {} spans of a track overlap, the maximum in a Perfetto trace", path.display(), OVERLAP_MAX)]
    TooManyOverlaps { path: PathBuf, ts_ns: i64 },
    /// The arguments of an event exceed the size of a chunk.
    #[error("{}: cannot write: {source}", path.display())]
    TooLarge { path: PathBuf, source: WriteError },
    /// The store is damaged, so the result would lack rows. `is_streamed` means that a device or a pipe has received a
    /// part of the output.
    #[error("{}: the sorted store is damaged (damaged parts: {parts}){}", store.display(), if *is_streamed { ": the output is incomplete; run this again" } else { "" })]
    Damaged { store: PathBuf, parts: u64, is_streamed: bool },
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Checks that the parts of the store that were read are intact. Must be called before a result replaces a file.
/// Returns [`ExportError::Damaged`] if any is not.
pub(crate) fn check(store: &Store) -> Result<(), ExportError> {
    match store.damaged() {
        0 => Ok(()),
        parts => Err(ExportError::Damaged { store: store.path().to_owned(), parts, is_streamed: false }),
    }
}

impl ExportError {
    /// Sets `is_streamed` of a damaged store.
    #[must_use]
    pub(crate) fn streamed(mut self, streamed: bool) -> Self {
        if let Self::Damaged { is_streamed, .. } = &mut self {
            *is_streamed = streamed;
        }
        self
    }
}

/// Error of the writer of a format.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SinkError {
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("the trace lasts {dur_ns} ns, and times before 0 are moved to begin at 0")]
    TooLong { dur_ns: u64 },
    #[error("at {ts_ns} ns, more than {OVERLAP_MAX} spans of a track overlap")]
    TooManyOverlaps { ts_ns: i64 },
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl SinkError {
    /// Adds the path of the output.
    pub(super) fn at(self, path: &Path) -> ExportError {
        match self {
            Self::Cancelled(cancelled) => ExportError::Cancelled(cancelled),
            Self::TooLong { dur_ns } => ExportError::TooLong { path: path.into(), dur_ns },
            Self::TooManyOverlaps { ts_ns } => ExportError::TooManyOverlaps { path: path.into(), ts_ns },
            Self::Write(WriteError::Io(source)) => ExportError::Io { path: path.into(), source },
            Self::Write(source) => ExportError::TooLarge { path: path.into(), source },
        }
    }
}

impl From<io::Error> for SinkError {
    fn from(error: io::Error) -> Self {
        Self::Write(WriteError::Io(error))
    }
}
