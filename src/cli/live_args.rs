//! The words for traces that still run, checked. Touches no file.

use std::time::Duration;

use super::error::CliError;
use super::low_live::LowFollow;
use crate::live::arrivals::LiveInput;
use crate::live::row_filter::LiveFilter;
use crate::model::Sources;
use crate::query::filter::Filter;

/// The sources that the window follows.
#[derive(Debug)]
#[cfg_attr(not(feature = "window"), expect(dead_code, reason = "this build has no window"))]
pub(super) struct Follow {
    pub(crate) inputs: Vec<LiveInput>,
    /// How long events wait for earlier ones, if that is given.
    pub(crate) delay: Option<Duration>,
    /// It ends with a row that passes.
    pub(crate) until: Option<LiveFilter>,
}

/// The sources that the window is asked to follow.
pub(super) fn follow_args(low: LowFollow, sources: &Sources) -> Result<Option<Follow>, CliError> {
    let LowFollow { follow, until, delay, command } = low;
    let follows = follow || !command.is_empty();
    if let Some(option) = [("--until", until.is_some()), ("--delay", delay.is_some())].iter().find(|(_, given)| *given)
        && !follows
    {
        return Err(CliError::Usage(format!("{} is for traces that still run: give --follow too", option.0)));
    }
    let until = live_filter("--until", until)?;
    let mut inputs: Vec<LiveInput> = sources.files().iter().map(|file| LiveInput::Input(file.input.clone())).collect();
    inputs.extend((!command.is_empty()).then_some(LiveInput::Command(command)));
    if follow && inputs.is_empty() {
        let message = "--follow: expected a FILE, a pipe or - for stdin, or -- and a COMMAND whose output is followed";
        return Err(CliError::Usage(message.to_owned()));
    }
    Ok(follows.then_some(Follow { inputs, delay: delay.map(Duration::from_nanos), until }))
}

pub(super) fn live_filter(option: &str, text: Option<String>) -> Result<Option<LiveFilter>, CliError> {
    let Some(text) = text else { return Ok(None) };
    let live = LiveFilter::new(Filter::parse(&text).map_err(|error| CliError::Usage(format!("{option}: {error}")))?);
    live.map(Some).map_err(|problem| CliError::Usage(format!("{option}: {problem}")))
}
