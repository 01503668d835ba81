//! `longspan symbols`: the modules of a trace, whether they are resolved, and a command that installs missing symbols.
//! Also resolves names for other commands.

use super::args::{ImportArgs, Symbols};
use super::error::CliError;
use super::load::{load, retry_if_damaged};
use super::messages::say;
use super::progress_line::ProgressLine;
use super::stdout::to_stdout;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::export::check;
use crate::export::symbol_table::{SYMBOL_COLUMNS, symbol_values};
use crate::export::values::TableValueWriter;
use crate::model::{SourceFile, Sources};
use crate::query::Snapshot;
use crate::symbols::cache::NameCache;
use crate::symbols::locate::{Locator, symbols_problem};
use crate::symbols::lookup::{FrameCounts, TraceFrames, TraceNames, look_up, overlay};
use crate::symbols::report::{ModuleReport, report};

/// Prints a row per module, most samples first.
pub(super) fn print(symbols: &Symbols, import: &ImportArgs) -> Result<(), CliError> {
    retry_if_damaged(&symbols.sources, import, |import| print_once(symbols, import))
}

fn print_once(symbols: &Symbols, import: &ImportArgs) -> Result<(), CliError> {
    let snapshot = Snapshot::new(load(&symbols.sources, import)?.store);
    if snapshot.tracks().modules.is_empty() {
        say(format_args!("{}: no frame has an address in a module", symbols.sources));
    }
    let frames = TraceFrames::from_snapshot(&snapshot);
    let trace_names = if import.symbolizes {
        names(&snapshot, &frames, &symbols.sources, import)
    } else {
        if !import.is_retry {
            say(format_args!("{}: nothing was searched, because of --no-symbols", symbols.sources));
        }
        TraceNames::default()
    };
    let progress = Progress::default();
    let line = ProgressLine::start(&progress, import.progress);
    let traces: Vec<_> = symbols.sources.files().iter().map(SourceFile::path).collect();
    let rows = report(&snapshot, &frames, &trace_names, &traces, &Cancel::default(), &progress);
    drop(line);
    check(snapshot.store())?;
    let Ok(rows) = rows else { return Ok(()) }; // never cancelled
    for ModuleReport { module, frames, replaced, .. } in rows.iter().filter(|row| row.replaced > 0 && !import.is_retry)
    {
        let module = &snapshot.tracks().modules[*module].category;
        say(format_args!("{module}: {replaced} of {frames} addresses had several functions, and have the last name"));
    }
    to_stdout(|out| {
        let mut table = TableValueWriter::begin(out, symbols.format.into(), &SYMBOL_COLUMNS)?;
        for row in &rows {
            table.row(&symbol_values(&snapshot, row))?;
        }
        table.end()?;
        Ok(())
    })
}

/// Imports a trace, and resolves its functions unless the command line disables that.
pub(super) fn load_with_names(sources: &Sources, import: &ImportArgs) -> Result<Snapshot, CliError> {
    let snapshot = Snapshot::new(load(sources, import)?.store).within_memory(import.memory.limit_bytes());
    if !import.symbolizes {
        return Ok(snapshot);
    }
    let frames = TraceFrames::from_snapshot(&snapshot);
    if frames.is_empty() {
        return Ok(snapshot);
    }
    let trace_names = names(&snapshot, &frames, sources, import);
    let shown = overlay(&snapshot, &frames, &trace_names, &Cancel::default()).unwrap_or_default(); // never cancelled
    let counts = frames.counts(&trace_names);
    let [all, named] =
        [|it: &FrameCounts| it.frames, |it: &FrameCounts| it.named].map(|count| counts.iter().map(count).sum::<u64>());
    if named < all && !import.is_retry {
        say(format_args!(
            "{sources}: {named} of {all} addresses have names; `longspan symbols` lists the modules without symbols"
        ));
    }
    Ok(snapshot.with_overlay(shown.map(Into::into)))
}

/// Resolves the names of all frames.
pub(super) fn names(snapshot: &Snapshot, frames: &TraceFrames, sources: &Sources, import: &ImportArgs) -> TraceNames {
    let progress = Progress::default();
    let _line = ProgressLine::start(&progress, import.progress);
    let (locator, bytes_max) = (locator(sources, import), symbol_bytes_max(import));
    let names = look_up(snapshot, frames, &locator, bytes_max, &Cancel::default(), &progress);
    // Missing folders were already reported. Damage of an archive is known once it is unpacked.
    for problem in import.symbols.iter().filter(|path| path.is_file()).filter_map(|path| symbols_problem(path)) {
        say(format_args!("--symbols {problem}"));
    }
    names.unwrap_or_default() // never cancelled
}

/// Returns where the files of modules are searched.
pub(super) fn locator(sources: &Sources, import: &ImportArgs) -> Locator {
    let locator = Locator::for_traces(sources.files().iter().map(SourceFile::path), &import.symbols);
    locator.with_cache(import.cache.as_deref().map(NameCache::in_folder))
}

/// Returns the limit for the bytes of debug information read per file.
pub(super) fn symbol_bytes_max(import: &ImportArgs) -> u64 {
    import.memory.limit_bytes() / 2
}
