//! The commands that draw, in a build without the feature `window`: each is an error.

use super::args::{Load, Render};
use super::error::CliError;
use super::live_args::Follow;
use crate::model::Sources;

pub(crate) fn open(_sources: Sources, _follow: Option<Follow>, _demo: bool, _how: &Load) -> Result<(), CliError> {
    Err(CliError::NoWindow)
}

pub(crate) fn demo(_how: &Load) -> Result<(), CliError> {
    Err(CliError::NoWindow)
}

pub(crate) fn render(_: &Render, _: &Load) -> Result<(), CliError> {
    Err(CliError::NoWindow)
}
