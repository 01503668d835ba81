//! Systems without sockets in the user's folders: every start opens a window of its own.

use super::{HandOverError, Host, SingleInstance};
use crate::app::event::Wake;
use crate::model::Sources;

impl SingleInstance {
    #[must_use]
    pub(crate) fn for_user(_: Option<&std::path::Path>) -> Option<Self> {
        None
    }

    /// Fails with [`HandOverError::NoWindow`] each time.
    pub(crate) fn hand_over(&self, _: &Sources) -> Result<(), HandOverError> {
        Err(HandOverError::NoWindow)
    }

    /// Always `Ok(None)`: no window receives files.
    pub(crate) fn host(&self, _: &Wake) -> Result<Option<Host>, HandOverError> {
        Ok(None)
    }
}
