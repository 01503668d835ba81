//! `longspan cache`: lists and clears the stores in the cache. Touches nothing else in the folder.

use std::path::Path;

use super::error::CliError;
use super::stdout::to_stdout;
use crate::base::escape::escaped;
use crate::store::cache::Cache;
use crate::symbols::cache::NameCache;

/// Prints the size and path of each store in the cache, the most recently used first.
pub(super) fn list(folder: &Path) -> Result<(), CliError> {
    let entries =
        if folder.exists() { open(folder)?.entries().map_err(|source| failed(folder, source))? } else { vec![] };
    to_stdout(|out| {
        for entry in &entries {
            writeln!(out, "{:>15} bytes  {}", entry.bytes, shown(&entry.path))?;
        }
        let total: u64 = entries.iter().map(|entry| entry.bytes).sum();
        Ok(writeln!(out, "{total:>15} bytes in {} kept traces in {}", entries.len(), shown(folder))?)
    })
}

/// Deletes every store in the cache, and the names of functions that are kept beside them.
pub(super) fn clear(folder: &Path) -> Result<(), CliError> {
    let freed_bytes = if folder.exists() {
        let of_traces = open(folder)?.clear().map_err(|source| failed(folder, source))?;
        of_traces + NameCache::in_folder(folder).clear()
    } else {
        0
    };
    to_stdout(|out| Ok(writeln!(out, "{freed_bytes} bytes freed in {}", shown(folder))?))
}

/// A path on one line of a terminal.
fn shown(path: &Path) -> String {
    escaped(&path.to_string_lossy()).into_owned()
}

fn open(folder: &Path) -> Result<Cache, CliError> {
    Cache::open(folder).map_err(|source| failed(folder, source))
}

fn failed(folder: &Path, source: std::io::Error) -> CliError {
    CliError::File { path: folder.into(), source }
}
