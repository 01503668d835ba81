//! The command line: arguments in, an exit status out. Each command is one file; no command parses, sorts or draws
//! itself.
//!
//! Two steps: `low_args` parses the arguments, `args` validates them. Results go to stdout, everything about them
//! (progress, losses, errors) to stderr. An early close of stdout by its reader is not a failure.

mod annotate;
mod args;
mod bench;
mod cache;
mod completions;
mod counter_stats;
mod desktop;
mod dump;
mod empty_answers;
mod error;
mod event_choice;
mod examples;
mod export;
mod flame;
mod flame_view;
mod heat_map_stats;
mod info;
mod last_argument;
mod live_args;
mod live_rows;
mod load;
mod low_args;
mod low_cache;
mod low_choices;
mod low_live;
mod low_scope;
mod low_stats;
mod man;
mod messages;
mod mistyped;
mod number_args;
mod progress_line;
mod question_args;
mod record;
mod record_ring;
mod sample_stats;
mod scheduling_stats;
mod scope;
mod search;
mod shared_args;
mod spans;
mod stats;
mod stdout;
mod symbols;
mod synth;
mod tail;
mod task_args;
mod units;
#[cfg_attr(not(feature = "window"), path = "no_window.rs")]
mod window;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use self::args::{CliCommand, ImportArgs, TraceCommand};
use self::error::CliError;
use self::messages::{say, say_lines, show};
use crate::base::signals;
use crate::base::threads::start_query_threads;
use crate::formats::ReadError;
use crate::ingest::LoadError;

/// Exit status of a failed input or output.
const FAILED: u8 = 1;

/// Exit status of a usage error.
const WRONG_USAGE: u8 = 2;

/// Runs a command line. The first argument is the name of the program.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().collect();
    let low = match messages::parsed(&words) {
        Ok(low) => low,
        Err(answer) => return printed(&answer, &words),
    };
    let command = CliCommand::from_low(low);
    // These threads start before all others, since no command works without them.
    let limit = command.as_ref().map_or(usize::MAX, CliCommand::threads);
    let threads = start_query_threads(limit).map_err(CliError::Threads);
    signals::watch(say);
    let error = match command.and_then(|command| threads.and_then(|()| perform(command))) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(error) if error.is_closed_stdout() => return ExitCode::SUCCESS,
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

/// Prints the parser's response: a help text, the version or a usage error.
fn printed(answer: &clap::Error, words: &[OsString]) -> ExitCode {
    let answered = messages::answer(answer, words);
    if answer.use_stderr() {
        mistyped::question_about(words).into_iter().for_each(|question| show(&format!("longspan: {question}\n")));
    }
    match answered {
        // A usage error is written to stderr, so a failure to write it could not be reported there.
        _ if answer.use_stderr() => ExitCode::from(WRONG_USAGE),
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            say(CliError::Output(error));
            ExitCode::from(FAILED)
        }
        _ => ExitCode::SUCCESS,
    }
}

/// Returns the usage error of a command line as the user sees it; `None` if it is valid. Runs nothing.
#[must_use]
pub fn problem_of(words: &[OsString]) -> Option<String> {
    match messages::parsed(words) {
        Ok(low) => CliCommand::from_low(low).err().map(|error| messages::lines_about(&error.to_string(), words)),
        Err(answer) => Some(messages::usage_text(words, &answer)),
    }
}

fn perform(command: CliCommand) -> Result<(), CliError> {
    match command {
        CliCommand::OnTrace(command, import) => perform_on_trace(command, &import),
        CliCommand::Tail(tail) => tail::print(&tail),
        CliCommand::CacheList { folder } => cache::list(&folder),
        CliCommand::CacheClear { folder, followed } => cache::clear(&folder, followed),
        CliCommand::InstallDesktop => desktop::install(),
        CliCommand::UninstallDesktop => desktop::uninstall(),
        CliCommand::Synth(args) => synth::write(&args),
        CliCommand::Completions { shell } => completions::print(shell),
        CliCommand::ManPage { words } => man::print(&words.join(" ")),
        CliCommand::ManPages { folder } => man::write_all(&folder),
    }
}

fn perform_on_trace(command: TraceCommand, import: &ImportArgs) -> Result<(), CliError> {
    match command {
        TraceCommand::Info { sources, json } => info::print(&sources, json, import),
        TraceCommand::Spans(spans) => spans::print(&spans, import),
        TraceCommand::Stats(stats) => stats::print(&stats, import),
        TraceCommand::Flame(flame) => flame::print(&flame, import),
        TraceCommand::Search(search) => search::print(&search, import),
        TraceCommand::Annotate(annotate) => annotate::print(&annotate, import),
        TraceCommand::Symbols(symbols) => symbols::print(&symbols, import),
        TraceCommand::Record(record) => match record.keep {
            Some(part) => record_ring::write(&record, part, import),
            None => record::write(&record, import),
        },
        TraceCommand::Dump { sources } => dump::print(&sources, import),
        TraceCommand::Window { sources, follow, demo } => {
            mistyped::refuse(&sources)?;
            window::open(sources, follow, demo, import)
        }
        TraceCommand::Demo => window::demo(import),
        TraceCommand::Export(export) => export::write(&export, import),
        TraceCommand::Render(render) => window::render(&render, import),
        TraceCommand::Bench(bench) => bench::print(&bench, import),
    }
}
