//! Errors of commands. Each message names the file that it is about.

use std::io;
use std::path::{Path, PathBuf};

use crate::base::files::FileKind;
use crate::export::ExportError;
use crate::export::output::is_stdout;
use crate::formats::native::write::WriteError;
use crate::ingest::LoadError;
use crate::live::feed::FeedError;
use crate::live::follow::FollowError;
use crate::query::derived::DerivedError;

/// An error that ends a command.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    /// A command line option is invalid or contradicts another.
    #[error("{0}")]
    Usage(String),
    /// A trace could not be imported.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A trace could not be exported.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// A derived track could not be computed.
    #[error(transparent)]
    Derived(#[from] DerivedError),
    /// A generated trace could not be written.
    #[error("{}: cannot write: {source}", path.display())]
    Generated { path: PathBuf, source: WriteError },
    /// There are more groups than the limit.
    #[error("more than {most} groups of two keys: give a scope of fewer tracks or names, or one key")]
    TooManyGroups { most: usize },
    /// A running source could not be read to its end.
    #[error(transparent)]
    Live(#[from] FeedError),
    #[error("the recording ended early (see above); the data received before is written")]
    CutRecording,
    /// The output of an incomplete recording has content.
    #[error("{}: is left unchanged, because the recording ended early (see above)", path.display())]
    OutputUnchanged { path: PathBuf },
    #[error(transparent)]
    Follow(FollowError),
    #[error("{0}")]
    NoRoomToSort(String),
    /// The output of a recording is a pipe, a device or the like.
    #[error("{}: is {kind}: a recording is kept in files beside OUT, so that OUT must be a file", path.display())]
    NoFile { path: PathBuf, kind: FileKind },
    #[error("no received event could be read, for the reasons above")]
    NothingRead,
    #[error("no data was received: there is nothing to record")]
    NothingCame,
    #[error("{0}; nothing is recorded")]
    NothingRecorded(String),
    #[error("the system refuses to start a thread: {0}")]
    Threads(#[source] io::Error),
    /// The result could not be written to stdout.
    #[error("cannot write the result: {0}")]
    Output(#[from] io::Error),
    #[error("{}: cannot read: {source}", path.display())]
    Folder { path: PathBuf, source: io::Error },
    /// A file could not be created or changed.
    #[error("{}: cannot write: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// The window could not be opened, or a picture could not be drawn.
    #[cfg(feature = "window")]
    #[error(transparent)]
    App(#[from] crate::app::AppError),
    /// The demo trace could not be generated.
    #[cfg(feature = "window")]
    #[error("{0}")]
    Demo(String),
    #[cfg(not(feature = "window"))]
    #[error("this build has no window (it was built without the feature `window`); see `longspan --help` for the rest")]
    NoWindow,
}

impl CliError {
    /// Returns the damaged store, and whether stdout or a device has received a part of the result.
    pub(super) fn damaged_store(&self) -> Option<(&Path, bool)> {
        match self {
            #[cfg(feature = "window")]
            Self::App(crate::app::AppError::Write(ExportError::Damaged { store, is_streamed, .. })) => {
                Some((store, *is_streamed))
            }
            Self::Export(ExportError::Damaged { store, is_streamed, .. }) => Some((store, *is_streamed)),
            _ => None,
        }
    }

    /// Returns whether the reader of stdout has closed it, which is not a failure.
    pub(super) fn is_closed_stdout(&self) -> bool {
        let error = match self {
            Self::Output(error) => error,
            Self::Export(ExportError::Io { path, source })
            | Self::Generated { path, source: WriteError::Io(source) }
                if is_stdout(path) =>
            {
                source
            }
            #[cfg(feature = "window")]
            Self::App(crate::app::AppError::Write(ExportError::Io { path, source })) if is_stdout(path) => source,
            _ => return false,
        };
        error.kind() == io::ErrorKind::BrokenPipe
    }
}
