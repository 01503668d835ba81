//! Imports a trace for a command: progress and losses on stderr, and a snapshot to query.

use std::sync::Arc;

use super::args::ImportArgs;
use super::error::CliError;
use super::messages::say;
use super::progress_line::ProgressLine;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::formats::sniff::has_own_units;
use crate::ingest::spool::is_read_once;
use crate::ingest::{self, CachePolicy, Ledgers, LoadError, LoadOptions, Loaded};
use crate::model::unwind::UnwindFiles;
use crate::model::{Losses, Sources};
use crate::store::cache::Cache;
use crate::symbols::unwind::SymbolUnwinding;

/// Imports a trace, or opens its cached store, and prints warnings to stderr.
pub(super) fn load(sources: &Sources, import: &ImportArgs) -> Result<Loaded, CliError> {
    load_by(sources, import, |options, progress| ingest::open(sources.clone(), options, &Cancel::default(), progress))
}

/// Imports spooled sources, which are read from their spool files.
pub(super) fn load_spooled(sources: &Sources, import: &ImportArgs) -> Result<Loaded, CliError> {
    load_by(sources, import, |options, progress| ingest::open_spooled(sources, options, &Cancel::default(), progress))
}

fn load_by(
    sources: &Sources,
    import: &ImportArgs,
    open: impl FnOnce(&LoadOptions, &Progress) -> Result<Loaded, LoadError>,
) -> Result<Loaded, CliError> {
    let progress = Progress::default();
    let pipes = sources.files().iter().filter(|file| is_read_once(&file.input));
    let pipes: Vec<_> = pipes.map(|file| file.path().display().to_string()).collect();
    let line = ProgressLine::with_pipes(&progress, import.progress, pipes.join(", "));
    let options = LoadOptions { ledgers: Ledgers::IfCached, ..import.options() };
    let loaded = open(&options, &progress);
    drop(line);
    let loaded = loaded?;
    if let Some(note) = &loaded.report.note {
        say(note);
    }
    if !import.is_retry && !import.code_addresses {
        if sources.weight_unit().is_some() && sources.files().iter().all(has_own_units) {
            say("--unit has no effect: only the weights of collapsed stacks have no unit of their own");
        }
        report(sources, &loaded.store.meta().losses);
    }
    Ok(loaded)
}

/// Runs `work`, which imports `sources` and writes a result. If the store is damaged and no part of the result is
/// written, removes the store and runs `work` again, which sorts the sources. Returns the error of `work`.
pub(super) fn retry_if_damaged(
    sources: &Sources,
    import: &ImportArgs,
    work: impl Fn(&ImportArgs) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let error = match work(import) {
        Ok(()) => return Ok(()),
        Err(error) => error,
    };
    let Some((store, is_streamed)) = error.damaged_store() else { return Err(error) };
    let forgotten = Cache::forget(store);
    // The bytes of a pipe are gone.
    if is_streamed || sources.files().iter().any(|file| is_read_once(&file.input)) {
        return Err(error);
    }
    say(format_args!("{error}: {sources} is sorted again"));
    let mut again = ImportArgs { is_retry: true, ..import.clone() };
    if let Err(failure) = forgotten {
        say(format_args!("{}: cannot remove the damaged store: {failure}", store.display()));
        again.cache = None;
    }
    work(&again)
}

impl ImportArgs {
    /// Returns the options for the importer.
    #[must_use]
    pub(super) fn options(&self) -> LoadOptions {
        // The cache has only the store by name.
        let cache = self.cache.clone().filter(|_| !self.code_addresses);
        let cache = cache.map_or(CachePolicy::None, CachePolicy::Folder);
        let unwinding = SymbolUnwinding { folders: self.symbols.clone(), has_system: true };
        let unwind_files: Option<Arc<dyn UnwindFiles>> = Some(Arc::new(unwinding));
        let Self { threads, code_addresses, .. } = *self;
        LoadOptions {
            memory: self.memory.clone(),
            threads,
            cache,
            unwind_files,
            code_addresses,
            ..LoadOptions::default()
        }
    }
}

/// Prints warnings; `info` lists the other losses.
fn report(sources: &Sources, losses: &Losses) {
    for lost in losses.iter().filter(|lost| !lost.loss.is_note()) {
        let (name, count) = (lost.loss.name(), lost.count);
        let file = match (lost.file, sources.files()) {
            (Some(file), [archive]) => format!("{}/{file}", archive.path().display()),
            (Some(file), _) => file.to_owned(),
            (None, _) => sources.to_string(),
        };
        say(format_args!("{file}: {count} {name}, first at {}: {}", lost.first, lost.advice));
    }
}
