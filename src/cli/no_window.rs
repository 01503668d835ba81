//! What a build without the feature `window` says to those commands that draw.

use std::path::{Path, PathBuf};

use super::CliError;
use super::args::{Load, TimeRange};
use super::units::SizeArg;

/// Refuses to open the window.
pub fn open(_files: Vec<PathBuf>, _demo: bool, _how: &Load) -> Result<(), CliError> {
    Err(CliError::NoWindow)
}

/// Refuses to show the demo.
pub fn demo(_how: &Load) -> Result<(), CliError> {
    Err(CliError::NoWindow)
}

/// Refuses to draw.
pub fn render(_: &Path, _: &Path, _: SizeArg, _: TimeRange, _: &Load) -> Result<(), CliError> {
    Err(CliError::NoWindow)
}
