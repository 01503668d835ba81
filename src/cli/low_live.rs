//! The options of commands for running traces, as parsed by clap; see [`super::low_args`].

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::base::units::{bytes, signed_time_ns};
use crate::live::picture::KeptPart;

/// Sources that still run.
#[derive(Debug, Args)]
pub(super) struct LowLive {
    /// A file, which is followed as it grows, a pipe, - for stdin, unix:PATH for a socket to listen at, or otlp for
    /// OpenTelemetry's exporters; several are put on one timeline
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<PathBuf>,
    /// A program to start, with its arguments, whose output is read
    #[arg(value_name = "COMMAND", last = true)]
    pub(crate) command: Vec<OsString>,
    /// How long spans wait for earlier ones; those that come later are shown at once, and counted [default: 100ms; of
    /// `tail`, 6s with otlp, since exporters send every five seconds]
    #[arg(long, value_name = "TIME", value_parser = delay)]
    pub(crate) delay: Option<u64>,
}

/// Sources that still run, in the window.
#[derive(Debug, Args)]
#[command(next_help_heading = "Following")]
pub(super) struct LowFollow {
    /// Show the files while they are still written, and open them when that ends; a pipe is followed anyway
    #[arg(long, conflicts_with = "offsets")]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) limits: LowFollowLimits,
    /// A program to start, with its arguments, whose output is followed
    #[arg(value_name = "COMMAND", last = true)]
    pub(crate) command: Vec<OsString>,
}

/// When following ends in the window, and which part of the trace it keeps.
#[derive(Debug, Args)]
pub(super) struct LowFollowLimits {
    /// Stop with the first span that passes this filter; the words are those of `tail --filter`
    #[arg(long, value_name = "QUERY", allow_hyphen_values = true)]
    pub(crate) until: Option<String>,
    /// Stop when so many bytes are on disk, such as 20GB
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) disk_cap: Option<u64>,
    /// Keep the last part of the trace alone, such as 30min or 20GB: the oldest spans go
    #[arg(long, value_name = "TIME|BYTES", value_parser = kept_part)]
    pub(crate) keep: Option<KeptPart>,
    /// How long spans wait for earlier ones; those that come later are shown at once, and counted [default: 100ms]
    #[arg(long, value_name = "TIME", value_parser = delay)]
    pub(crate) delay: Option<u64>,
}

/// The file format of rows as they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LowTailFormat {
    /// A line for people: time, duration, process and thread, name, arguments
    Text,
    /// One JSON object a line, with the keys of `spans` and `dump`
    #[value(alias = "json")]
    Jsonl,
}

#[derive(Debug, Args)]
pub(super) struct LowTail {
    #[command(flatten)]
    pub(crate) live: LowLive,
    /// Only what passes a filter, with the words of `spans --filter` except in: and within:
    #[arg(long, value_name = "QUERY", allow_hyphen_values = true)]
    pub(crate) filter: Option<String>,
    /// End with the first span that passes this filter, which is printed if it passes --filter, too
    #[arg(long, value_name = "QUERY", allow_hyphen_values = true)]
    pub(crate) until: Option<String>,
    /// How to write them
    #[arg(long, default_value = "text")]
    pub(crate) format: LowTailFormat,
    /// The most memory for spans that wait, such as 64MiB, at least 8MiB [default: 1GiB]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) memory: Option<u64>,
}

/// Where a recording is kept, and when it ends.
#[derive(Debug, Args)]
pub(super) struct LowKept {
    /// The native trace to write; until it is whole, what came is in files beside it whose names end in .spool
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// End the recording with the first span that passes this filter; the words are those of `tail --filter`
    #[arg(long, value_name = "QUERY", allow_hyphen_values = true)]
    pub(crate) until: Option<String>,
    /// End the recording when so many bytes have come, such as 20GB
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) disk_cap: Option<u64>,
    /// Keep the last part of the trace alone, such as 30min or 20GB: the oldest spans go
    #[arg(long, value_name = "TIME|BYTES", value_parser = kept_part)]
    pub(crate) keep: Option<KeptPart>,
}

pub(super) fn delay(text: &str) -> Result<u64, String> {
    u64::try_from(signed_time_ns(text)?).map_err(|_| format!("expected a time of 0 or more, such as 100ms, not {text}"))
}

pub(super) fn kept_part(text: &str) -> Result<KeptPart, String> {
    let expected = || format!("expected a time such as 30min, or bytes such as 20GB, not {text}");
    let ends_in_letters = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic()).len() < text.len();
    let time = signed_time_ns(text).ok().filter(|_| ends_in_letters).map(u64::try_from);
    match time {
        Some(Ok(ns)) if ns > 0 => Ok(KeptPart::Time(ns)),
        Some(_) => Err(expected()),
        None => bytes(text).ok().filter(|bytes| *bytes > 0).map(KeptPart::Bytes).ok_or_else(expected),
    }
}
