//! Loads a capture for a command: progress and losses on stderr, a snapshot to ask.

use super::CliError;
use super::args::Load;
use super::messages::say;
use super::progress_line::ProgressLine;
use crate::base::budget::Memory;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::ingest::received::is_read_once;
use crate::ingest::{self, CachePolicy, LoadOptions, Loaded};
use crate::model::{Losses, Sources};
use crate::store::Store;
use crate::store::cache::Cache;

/// Loads a capture, or takes its kept store, and says on stderr what was lost.
pub fn load(sources: &Sources, how: &Load) -> Result<Loaded, CliError> {
    let progress = Progress::default();
    let pipes = sources.files().iter().filter(|file| is_read_once(&file.path));
    let pipes: Vec<_> = pipes.map(|file| file.path.display().to_string()).collect();
    let line = ProgressLine::with_pipes(&progress, how.progress, pipes.join(", "));
    let loaded = ingest::open(sources.clone(), &how.options(), &Cancel::default(), &progress);
    drop(line);
    let loaded = loaded?;
    if let Some(note) = &loaded.report.note {
        say(note);
    }
    report(sources, &loaded.store.meta().losses);
    Ok(loaded)
}

/// Tells whether a store was as it was written wherever a command has read it. One that was not is forgotten.
///
/// # Errors
/// [`CliError::Damaged`] if it was not: what was printed or written lacks something.
pub fn check(sources: &Sources, store: &Store) -> Result<(), CliError> {
    let parts = store.damaged();
    if parts == 0 {
        return Ok(());
    }
    Cache::forget(store.path()).map_err(|source| CliError::File { path: store.path().to_owned(), source })?;
    Err(CliError::Damaged { sources: sources.to_string(), parts })
}

impl Load {
    /// The same for the loader.
    #[must_use]
    pub fn options(&self) -> LoadOptions {
        let cache = self.cache.clone().map_or(CachePolicy::None, CachePolicy::Folder);
        LoadOptions { memory: Memory::new(self.budget_bytes), threads: self.threads, cache, ..LoadOptions::default() }
    }
}

fn report(sources: &Sources, losses: &Losses) {
    for lost in losses.iter() {
        let (name, count) = (lost.loss.name(), lost.count);
        let file = match (lost.file, sources.files()) {
            (Some(file), [archive]) => format!("{}/{file}", archive.path.display()),
            (Some(file), _) => file.to_owned(),
            (None, _) => sources.to_string(),
        };
        say(format_args!("{file}: {count} {name}, first at {}: {}", lost.first, lost.advice));
    }
}
