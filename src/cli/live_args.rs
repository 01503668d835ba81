//! Validates the options of live traces. Reads no file.

use std::path::PathBuf;
use std::time::Duration;

use super::error::CliError;
use super::low_args::{LowCommon, LowListen};
use super::low_live::{LowFollow, LowFollowLimits};
use crate::ingest::spool::is_pipe;
use crate::live::arrivals::LiveInput;
use crate::live::listen::OTLP_PORT;
use crate::live::live_store::Retention;
use crate::live::row_filter::LiveFilter;
use crate::model::{SourceFile, Sources, WeightUnit};
use crate::query::filter::Filter;

/// The sources that the window follows.
#[derive(Debug)]
#[cfg_attr(not(feature = "window"), expect(dead_code, reason = "this build has no window"))]
pub(super) struct Follow {
    pub(crate) inputs: Vec<LiveInput>,
    /// How long events wait for earlier ones, if given.
    pub(crate) delay: Option<Duration>,
    /// Stops at the first matching row.
    pub(crate) until: Option<LiveFilter>,
    /// Limit for the bytes to record, if given.
    pub(crate) disk_cap: Option<u64>,
    /// The retained part of the trace, if not everything.
    pub(crate) kept: Option<Retention>,
    /// Unit of weights that have no unit.
    pub(crate) weight_unit: Option<WeightUnit>,
}

/// Returns the sources for the window to follow; a pipe is followed while it is written.
pub(super) fn follow_args(low: LowFollow, sources: &Sources) -> Result<Option<Follow>, CliError> {
    let LowFollow { follow, limits, command } = low;
    let is_pipe = |file: &SourceFile| file.offset_ns == 0 && is_pipe(&file.input);
    let are_pipes = !sources.files().is_empty() && sources.files().iter().all(is_pipe);
    let follows = follow || !command.is_empty() || are_pipes;
    let options = [
        ("--until", limits.until.is_some()),
        ("--delay", limits.delay.is_some()),
        ("--disk-cap", limits.disk_cap.is_some()),
        ("--keep", limits.keep.is_some()),
    ];
    if let Some(option) = options.iter().find(|(_, given)| *given)
        && !follows
    {
        return Err(CliError::Usage(format!(
            "{} requires --follow: it is for traces that are still written",
            option.0
        )));
    }
    let mut inputs = if follows { live_sources(sources)? } else { Vec::new() };
    inputs.extend((!command.is_empty()).then_some(LiveInput::Command(command)));
    if follow && inputs.is_empty() {
        let message = "--follow: expected a FILE, a pipe or - for stdin, or -- and a COMMAND whose output is followed";
        return Err(CliError::Usage(message.to_owned()));
    }
    follows.then(|| Follow::new(inputs, limits, sources.weight_unit())).transpose()
}

impl Follow {
    fn new(inputs: Vec<LiveInput>, limits: LowFollowLimits, weight_unit: Option<WeightUnit>) -> Result<Self, CliError> {
        let LowFollowLimits { until, disk_cap, keep: kept, delay } = limits;
        let until = until_filter(until)?;
        Ok(Self { inputs, delay: delay.map(Duration::from_nanos), until, disk_cap, kept, weight_unit })
    }
}

/// Parses the sources: `unix:PATH` and `otlp` are listeners, everything else is a file, a pipe or stdin.
pub(super) fn live_sources(sources: &Sources) -> Result<Vec<LiveInput>, CliError> {
    let live = |file: &SourceFile| {
        let words = file.path().to_str().unwrap_or_default();
        match words.strip_prefix("unix:") {
            Some("") => return Err(CliError::Usage("unix: expected the path of a socket, as in unix:PATH".to_owned())),
            Some(path) => return Ok(LiveInput::Socket(path.into())),
            None => {}
        }
        match words.strip_prefix("otlp") {
            Some("") => Ok(LiveInput::Otlp { port: OTLP_PORT }),
            Some(rest) if rest.starts_with(':') => match rest[1..].parse() {
                Ok(port) => Ok(LiveInput::Otlp { port }),
                Err(_) => {
                    Err(CliError::Usage(format!("{words}: expected a port of 0 to 65535, as in otlp:{OTLP_PORT}")))
                }
            },
            _ => Ok(LiveInput::Input(file.input.clone())),
        }
    };
    sources.files().iter().map(live).collect()
}

/// Returns the sources of `longspan listen`, and its import options.
pub(super) fn listen_args(low: LowListen) -> Result<(Follow, LowCommon), CliError> {
    let LowListen { path, otlp, limits, common } = low;
    // Without XDG_RUNTIME_DIR, or beside another listener, OTLP alone still works.
    let path = if path.is_none() && otlp.is_none() { Some(default_socket()?) } else { path };
    let mut inputs: Vec<LiveInput> = path.map(LiveInput::Socket).into_iter().collect();
    inputs.extend(otlp.map(|port| LiveInput::Otlp { port }));
    Ok((Follow::new(inputs, limits, None)?, common))
}

/// Returns the default socket, in the user's runtime folder.
fn default_socket() -> Result<PathBuf, CliError> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
    let usage = || CliError::Usage("the system names no XDG_RUNTIME_DIR for a socket: give a PATH".to_owned());
    Ok(PathBuf::from(runtime.ok_or_else(usage)?).join("longspan").join("listen.sock"))
}

/// Parses the filter of the row that ends a recording.
pub(super) fn until_filter(text: Option<String>) -> Result<Option<LiveFilter>, CliError> {
    if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
        return Err(CliError::Usage("--until: expected a filter; an empty one matches the first row".to_owned()));
    }
    live_filter("--until", text)
}

pub(super) fn live_filter(option: &str, text: Option<String>) -> Result<Option<LiveFilter>, CliError> {
    let Some(text) = text else { return Ok(None) };
    let live = LiveFilter::new(Filter::parse(&text).map_err(|error| CliError::Usage(format!("{option}: {error}")))?);
    live.map(Some).map_err(|problem| CliError::Usage(format!("{option}: {problem}")))
}
