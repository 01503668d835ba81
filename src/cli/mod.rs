//! The command line: words in, an exit status out. Each command is one file; none of them parses, sorts or draws.
//!
//! In two steps: `low_args` takes the words as typed, `args` says what they mean. Results go to stdout, everything about
//! them (progress, losses, errors) to stderr. A reader of stdout that has seen enough and closes it is no failure.

mod args;
mod bench;
mod cache;
mod desktop;
mod dump;
mod export;
mod info;
mod load;
mod low_args;
mod messages;
mod progress_line;
mod spans;
mod stats;
mod synth;
mod units;
#[cfg_attr(not(feature = "window"), path = "no_window.rs")]
mod window;

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use self::args::Command;
use self::low_args::LowArgs;
use self::messages::{say, say_lines, show};
use crate::base::signals;
use crate::export::output::is_stdout;
use crate::export::{ExportError, check};
use crate::formats::ReadError;
use crate::formats::native::write::WriteError;
use crate::ingest::LoadError;
use crate::store::Store;

/// As much as a pipe takes at once.
const STDOUT_BYTES: usize = 1 << 16;

/// The input or the output failed.
const FAILED: u8 = 1;

/// The words make no sense.
const WRONG_USAGE: u8 = 2;

/// Why a command did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
enum CliError {
    /// It was asked for what cannot be meant.
    #[error("{0}")]
    Usage(String),
    /// A capture could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A capture could not be written.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// A generated capture could not be written.
    #[error("{}: cannot write: {source}", path.display())]
    Generated { path: PathBuf, source: WriteError },
    /// The result could not be written to stdout.
    #[error("cannot write the result: {0}")]
    Output(#[from] io::Error),
    /// A file could not be made or changed.
    #[error("{}: cannot write: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// The window could not be opened, or a picture not be drawn.
    #[cfg(feature = "window")]
    #[error(transparent)]
    App(#[from] crate::app::AppError),
    /// The demo capture could not be made.
    #[cfg(feature = "window")]
    #[error("{0}")]
    Demo(String),
    /// This build draws nothing.
    #[cfg(not(feature = "window"))]
    #[error("this build has no window (it was made without the feature `window`); see `longspan --help` for the rest")]
    NoWindow,
}

impl CliError {
    /// The store that turned out to be damaged, and whether some of the result is out already.
    fn damaged_store(&self) -> Option<(&Path, bool)> {
        match self {
            #[cfg(feature = "window")]
            Self::App(crate::app::AppError::Write(ExportError::Damaged { store, is_streamed, .. })) => {
                Some((store, *is_streamed))
            }
            Self::Export(ExportError::Damaged { store, is_streamed, .. }) => Some((store, *is_streamed)),
            _ => None,
        }
    }

    /// Whether it is only that the reader of stdout has closed it.
    fn is_of_a_reader_that_has_seen_enough(&self) -> bool {
        let error = match self {
            Self::Output(error) => error,
            Self::Export(ExportError::Io { path, source })
            | Self::Generated { path, source: WriteError::Io(source) }
                if is_stdout(path) =>
            {
                source
            }
            _ => return false,
        };
        error.kind() == io::ErrorKind::BrokenPipe
    }
}

/// Does what the words of a command line ask for, the program's name first.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().collect();
    let low = match LowArgs::try_parse_from(&words) {
        Ok(low) => low,
        Err(answer) => return printed(&answer, &words),
    };
    signals::watch(say);
    let error = match Command::from_low(low).and_then(perform) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(error) if error.is_of_a_reader_that_has_seen_enough() => return ExitCode::SUCCESS,
        Err(error) => error,
    };
    if let CliError::Usage(text) = &error {
        show(&format!("longspan: {}\n", messages::lines_about(text, &words)));
        return ExitCode::from(WRONG_USAGE);
    }
    if let CliError::Load(LoadError::Read(ReadError::Several { .. })) = &error {
        say_lines(&error);
    } else {
        say(&error);
    }
    ExitCode::from(FAILED)
}

/// Prints a help text, or why the words make no sense.
fn printed(answer: &clap::Error, words: &[OsString]) -> ExitCode {
    match messages::answer(answer, words) {
        // A usage error has nowhere else to go than the stderr that has just failed.
        _ if answer.use_stderr() => ExitCode::from(WRONG_USAGE),
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            say(CliError::Output(error));
            ExitCode::from(FAILED)
        }
        _ => ExitCode::SUCCESS,
    }
}

/// Why words are no command, as the user reads it; `None`: they are one. Does nothing.
#[must_use]
pub fn problem_of(words: &[OsString]) -> Option<String> {
    match LowArgs::try_parse_from(words) {
        Ok(low) => Command::from_low(low).err().map(|error| messages::lines_about(&error.to_string(), words)),
        Err(answer) => Some(messages::usage_text(words, &answer)),
    }
}

fn perform(command: Command) -> Result<(), CliError> {
    match command {
        Command::Info { sources, json, load } => info::print(&sources, json, &load),
        Command::Spans { spans, load } => spans::print(&spans, &load),
        Command::Stats { stats, load } => stats::print(&stats, &load),
        Command::Dump { sources, load } => dump::print(&sources, &load),
        Command::CacheList { folder } => cache::list(&folder),
        Command::CacheClear { folder } => cache::clear(&folder),
        Command::Window { sources, demo, load } => window::open(sources, demo, &load),
        Command::InstallDesktop => desktop::install(),
        Command::UninstallDesktop => desktop::uninstall(),
        Command::Demo { load } => window::demo(&load),
        Command::Export { export, load } => export::write(&export, &load),
        Command::Render { render, load } => window::render(&render, &load),
        Command::Synth(wanted) => synth::write(&wanted),
        Command::Bench { sources, frames, size, load } => bench::print(&sources, frames, size, &load),
    }
}

/// Hands `write` a buffered stdout, and flushes it: a full disk is an error even in the last bytes.
fn to_stdout(write: impl FnOnce(&mut dyn Write) -> Result<(), CliError>) -> Result<(), CliError> {
    let mut out = BufWriter::with_capacity(STDOUT_BYTES, io::stdout().lock());
    write(&mut out)?;
    Ok(out.flush()?)
}

/// The same for rows of a store. One that turns out to be damaged is an error; what is still in the buffer then stays there.
fn rows_to_stdout(store: &Store, write: impl FnOnce(&mut dyn Write) -> Result<(), CliError>) -> Result<(), CliError> {
    let mut out = BufWriter::with_capacity(STDOUT_BYTES, Guarded { out: io::stdout().lock(), store, bytes: 0 });
    let written = write(&mut out);
    if let Err(damaged) = check(store) {
        let (guarded, _) = out.into_parts();
        return Err(damaged.streamed(guarded.bytes > 0).into());
    }
    written?;
    Ok(out.flush()?)
}

/// Counts what it has taken, and takes nothing more once the store is found damaged: what was taken before is right.
struct Guarded<'a, W> {
    out: W,
    store: &'a Store,
    bytes: u64,
}

impl<W: Write> Write for Guarded<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        check(self.store).map_err(io::Error::other)?;
        let taken = self.out.write(bytes)?;
        self.bytes += taken as u64;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
