//! Loads a capture for a command: progress and losses on stderr, a snapshot to ask.

use std::path::Path;

use super::CliError;
use super::args::Load;
use super::progress_line::ProgressLine;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::ingest::{self, CachePolicy, LoadOptions, Loaded};
use crate::model::Losses;
use crate::store::Store;
use crate::store::cache::Cache;

/// Loads `file`, or takes its kept store, and says on stderr what was lost.
pub fn load(file: &Path, how: &Load) -> Result<Loaded, CliError> {
    let progress = Progress::default();
    let line = ProgressLine::start(&progress, how.progress);
    let loaded = ingest::open(file, &how.options(), &Cancel::default(), &progress);
    drop(line);
    let loaded = loaded?;
    if let Some(note) = &loaded.report.note {
        eprintln!("longspan: {note}");
    }
    report(file, &loaded.store.meta().losses);
    Ok(loaded)
}

/// Tells whether a store was as it was written wherever a command has read it. One that was not is forgotten.
///
/// # Errors
/// [`CliError::Damaged`] if it was not: what was printed or written lacks something.
pub fn check(file: &Path, store: &Store) -> Result<(), CliError> {
    let parts = store.damaged();
    if parts == 0 {
        return Ok(());
    }
    Cache::forget(store).map_err(|source| CliError::File { path: store.path().to_owned(), source })?;
    Err(CliError::Damaged { path: file.to_owned(), parts })
}

impl Load {
    /// The same for the loader.
    #[must_use]
    pub fn options(&self) -> LoadOptions {
        let cache = self.cache.clone().map_or(CachePolicy::None, CachePolicy::Folder);
        LoadOptions { budget_bytes: self.budget_bytes, threads: self.threads, cache, ..LoadOptions::default() }
    }
}

fn report(file: &Path, losses: &Losses) {
    for (loss, entry) in losses.iter() {
        let (path, name, count) = (file.display(), loss.name(), entry.count);
        eprintln!("longspan: {path}: {count} {name}, first at {}: {}", entry.first, loss.advice());
    }
}
