//! The commands that draw, in a build without the feature `window`: each is an error.

use std::time::Duration;

use super::args::{ImportArgs, Render};
use super::error::CliError;
use super::live_args::Follow;
use super::units::SizeArg;
use crate::frame::FrameCost;
use crate::model::Sources;
use crate::query::Snapshot;
use crate::store::RowIdx;

pub(crate) fn open(_sources: Sources, _follow: Option<Follow>, _demo: bool, _how: &ImportArgs) -> Result<(), CliError> {
    Err(CliError::NoWindow)
}

pub(crate) fn demo(_how: &ImportArgs) -> Result<(), CliError> {
    Err(CliError::NoWindow)
}

pub(crate) fn render(_: &Render, _: &ImportArgs) -> Result<(), CliError> {
    Err(CliError::NoWindow)
}

pub(crate) fn draw_frames(
    _: &Snapshot,
    _: Option<RowIdx>,
    _: Vec<(i64, i64)>,
    _: SizeArg,
    _: Duration,
) -> Result<Vec<FrameCost>, CliError> {
    Err(CliError::NoWindow)
}
