//! One window for all starts: a second start passes its files to the open window.

#[cfg(unix)]
mod socket;
#[cfg(not(unix))]
mod unsupported;

#[cfg(unix)]
use std::fs::File;
#[cfg(unix)]
use std::io;
#[cfg(unix)]
use std::path::PathBuf;
#[cfg(unix)]
use std::time::Duration;

/// The reason why files were not passed on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HandOverError {
    /// There is no open window that this process may contact.
    #[error("no open window accepts files")]
    NoWindow,
    #[cfg(unix)]
    #[error("the open window did not answer within {} ms", waited.as_millis())]
    NoAnswer { waited: Duration },
    #[cfg(unix)]
    #[error("a message has at most {most} bytes, and these files need {bytes}")]
    TooLong { bytes: usize, most: u32 },
    #[cfg(unix)]
    #[error("expected {expected}, found {found}")]
    NotAMessage { expected: &'static str, found: String },
    #[cfg(unix)]
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// The address of the single window of a display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SingleInstance {
    #[cfg(unix)]
    socket: PathBuf,
    #[cfg(unix)]
    lock: PathBuf,
}

/// The claim of this process to be the single window, until it is dropped.
#[derive(Debug)]
pub(crate) struct Host {
    #[cfg(unix)]
    instance: SingleInstance,
    /// Released by the system when the program ends or crashes.
    #[cfg(unix)]
    _lock: File,
}
