//! What a build without the feature `window` says to those commands that draw.

use super::args::{Load, Render};
use super::error::CliError;
use crate::model::Sources;

/// Refuses to open the window.
pub(crate) fn open(_sources: Sources, _demo: bool, _how: &Load) -> Result<(), CliError> {
    Err(CliError::NoWindow)
}

/// Refuses to show the demo.
pub(crate) fn demo(_how: &Load) -> Result<(), CliError> {
    Err(CliError::NoWindow)
}

/// Refuses to draw.
pub(crate) fn render(_: &Render, _: &Load) -> Result<(), CliError> {
    Err(CliError::NoWindow)
}
