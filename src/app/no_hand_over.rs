//! Where the system has no sockets in folders of the user's, every start opens a window of its own.

use crate::app::event::Wake;
use crate::model::Sources;

/// Why files were not handed over.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HandOverError {
    /// There is no window to take them.
    #[error("no window takes files over")]
    NoWindow,
}

/// Where windows would meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meeting;

/// A window that would take files over.
#[derive(Debug)]
pub(crate) struct Host;

impl Meeting {
    /// Nowhere.
    #[must_use]
    pub(crate) fn of_user() -> Option<Self> {
        None
    }

    /// Hands over nothing.
    ///
    /// # Errors
    /// Always.
    pub(crate) fn hand_over(&self, _: &Sources) -> Result<(), HandOverError> {
        Err(HandOverError::NoWindow)
    }

    /// Takes over nothing.
    ///
    /// # Errors
    /// Never.
    pub(crate) fn host(&self, _: &Wake) -> Result<Option<Host>, HandOverError> {
        Ok(None)
    }
}
