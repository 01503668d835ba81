//! The options of commands for live traces, as parsed by clap; see [`super::low_args`].

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::base::units::{bytes, signed_time_ns};
use crate::live::live_store::Retention;

#[derive(Debug, Args)]
pub(super) struct LowLive {
    /// A growing file, a pipe, - for stdin, unix:PATH for a socket to listen on, or otlp for OpenTelemetry
    /// exporters; several share one timeline
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<PathBuf>,
    /// A program to start, with arguments; its output is read
    #[arg(value_name = "COMMAND", last = true)]
    pub(crate) command: Vec<OsString>,
    /// How long to wait for earlier spans; later ones are shown at once, and counted as late [default: 100ms; for
    /// `tail` with otlp 6s, since exporters send every five seconds]
    #[arg(long, value_name = "TIME", value_parser = delay)]
    pub(crate) delay: Option<u64>,
}

/// Sources that still run, in the window.
#[derive(Debug, Args)]
#[command(next_help_heading = "Following")]
pub(super) struct LowFollow {
    /// Show files while they are written, and open them when that ends; pipes are always followed
    #[arg(long, conflicts_with = "offsets")]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) limits: LowFollowLimits,
    /// A program to start, with arguments; its output is followed
    #[arg(value_name = "COMMAND", last = true)]
    pub(crate) command: Vec<OsString>,
}

/// When following ends in the window, and which part of the trace it keeps.
#[derive(Debug, Args)]
pub(super) struct LowFollowLimits {
    /// Stop at the first span that matches this filter, with the terms of `tail --filter`
    #[arg(long, value_name = "QUERY", allow_hyphen_values = true)]
    pub(crate) until: Option<String>,
    /// Stop at this number of bytes on disk, such as 20GB
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) disk_cap: Option<u64>,
    /// Keep only the last part of the trace, such as 30min or 20GB; older spans are deleted
    #[arg(long, value_name = "TIME|BYTES", value_parser = retention)]
    pub(crate) keep: Option<Retention>,
    /// How long to wait for earlier spans; later ones are shown at once, and counted as late [default: 100ms]
    #[arg(long, value_name = "TIME", value_parser = delay)]
    pub(crate) delay: Option<u64>,
}

/// The format of rows that are printed as they arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LowTailFormat {
    /// Text: time, duration, process and thread, name, arguments
    Text,
    /// One JSON object a line, with the keys of `spans` and `dump`
    #[value(alias = "json")]
    Jsonl,
}

#[derive(Debug, Args)]
pub(super) struct LowTail {
    #[command(flatten)]
    pub(crate) live: LowLive,
    /// Only rows that match a filter, with the terms of `spans --filter` except in: and within:
    #[arg(long, value_name = "QUERY", allow_hyphen_values = true)]
    pub(crate) filter: Option<String>,
    /// End at the first span that matches this filter; it is printed if it also matches --filter
    #[arg(long, value_name = "QUERY", allow_hyphen_values = true)]
    pub(crate) until: Option<String>,
    /// Output format
    #[arg(long, default_value = "text")]
    pub(crate) format: LowTailFormat,
    /// Memory limit of waiting spans, such as 64MiB, at least 8MiB [default: 1GiB]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) memory: Option<u64>,
}

/// Where a recording is kept, and when it ends.
#[derive(Debug, Args)]
pub(super) struct LowRetention {
    /// The native trace to write; until it is complete, the received data is in .spool files beside it
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// End the recording at the first span that matches this filter, with the terms of `tail --filter`
    #[arg(long, value_name = "QUERY", allow_hyphen_values = true)]
    pub(crate) until: Option<String>,
    /// End the recording after this number of bytes, such as 20GB
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) disk_cap: Option<u64>,
    /// Keep only the last part of the trace, such as 30min or 20GB; older spans are deleted
    #[arg(long, value_name = "TIME|BYTES", value_parser = retention)]
    pub(crate) keep: Option<Retention>,
}

pub(super) fn delay(text: &str) -> Result<u64, String> {
    u64::try_from(signed_time_ns(text)?).map_err(|_| format!("expected a time of 0 or more, such as 100ms, not {text}"))
}

pub(super) fn retention(text: &str) -> Result<Retention, String> {
    let expected = || format!("expected a time such as 30min, or bytes such as 20GB, not {text}");
    let ends_in_letters = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic()).len() < text.len();
    let time = signed_time_ns(text).ok().filter(|_| ends_in_letters).map(u64::try_from);
    match time {
        Some(Ok(ns)) if ns > 0 => Ok(Retention::Time(ns)),
        Some(_) => Err(expected()),
        None => bytes(text).ok().filter(|bytes| *bytes > 0).map(Retention::Bytes).ok_or_else(expected),
    }
}
