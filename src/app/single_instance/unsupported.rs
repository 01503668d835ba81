//! For systems without sockets in user folders: every start opens its own window.

use super::{HandOverError, Host, SingleInstance};
use crate::app::event::Wake;
use crate::model::Sources;

impl SingleInstance {
    #[must_use]
    pub(crate) fn for_user(_: Option<&std::path::Path>) -> Option<Self> {
        None
    }

    pub(crate) fn hand_over(&self, _: &Sources) -> Result<(), HandOverError> {
        Err(HandOverError::NoWindow)
    }

    /// Always returns `Ok(None)`: no window receives files.
    pub(crate) fn host(&self, _: &Wake) -> Result<Option<Host>, HandOverError> {
        Ok(None)
    }
}
