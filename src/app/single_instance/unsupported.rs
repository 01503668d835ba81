//! Systems without sockets in the user's folders: every start opens a window of its own.

use super::{HandOverError, Host, SingleInstance};
use crate::app::event::Wake;
use crate::model::Sources;

impl SingleInstance {
    #[must_use]
    pub(crate) fn of_user() -> Option<Self> {
        None
    }

    /// # Errors
    /// Always.
    pub(crate) fn hand_over(&self, _: &Sources) -> Result<(), HandOverError> {
        Err(HandOverError::NoWindow)
    }

    /// # Errors
    /// Never.
    pub(crate) fn host(&self, _: &Wake) -> Result<Option<Host>, HandOverError> {
        Ok(None)
    }
}
