//! `longspan cache`: lists and clears the stores in the cache. Also lists interrupted traces, whose live window was
//! killed. Their bytes exist nowhere else, so they are deleted only on request. Touches nothing else in the folder.

use std::path::{Path, PathBuf};

use super::error::CliError;
use super::messages::say;
use super::stdout::to_stdout;
use crate::base::escape::escaped;
use crate::live::spool_folder::{FOLLOWED, LeftFolder};
use crate::store::cache::Cache;
use crate::symbols::cache::NameCache;

/// Prints size and path of each store in the cache, most recently used first.
pub(super) fn list(folder: &Path) -> Result<(), CliError> {
    let unreadable = |source| CliError::Folder { path: folder.into(), source };
    let entries = if folder.exists() {
        Cache::open(folder).and_then(|cache| cache.entries()).map_err(unreadable)?
    } else {
        vec![]
    };
    let left = leftover_spools(folder)?;
    let demos = demos(folder);
    to_stdout(|out| {
        for entry in &entries {
            writeln!(out, "{:>15} bytes  {}", entry.bytes, path_text(&entry.path))?;
        }
        for demo in &demos {
            writeln!(out, "{:>15} bytes  {}  (the demo)", bytes_of(demo), path_text(demo))?;
        }
        for file in left.iter().flat_map(|left| &left.files) {
            let bytes = bytes_of(file);
            writeln!(out, "{bytes:>15} bytes  {}  (followed, but not sorted: open it)", path_text(file))?;
        }
        let of_demos: u64 = demos.iter().map(|demo| bytes_of(demo)).sum();
        let total = of_demos + entries.iter().map(|entry| entry.bytes).sum::<u64>();
        let count = entries.len() + demos.len();
        Ok(writeln!(out, "{total:>15} bytes in {count} cached traces in {}", path_text(folder))?)
    })
}

/// Deletes every store in the cache, with the cached symbol names and the demo, and interrupted traces if `followed`.
pub(super) fn clear(folder: &Path, followed: bool) -> Result<(), CliError> {
    let left = leftover_spools(folder)?;
    let left_bytes: u64 = left.iter().map(|left| left.bytes).sum();
    let of_left = if followed {
        left.iter().try_for_each(LeftFolder::remove).map_err(|source| cache_error(folder, source))?;
        left_bytes
    } else {
        0
    };
    if left_bytes > of_left {
        say(format_args!(
            "{left_bytes} bytes of followed traces stay, because there is no other copy: delete them with --followed"
        ));
    }
    let freed_bytes = if folder.exists() {
        let of_traces =
            Cache::open(folder).and_then(|cache| cache.clear()).map_err(|source| cache_error(folder, source))?;
        let mut of_demos = 0;
        for demo in demos(folder) {
            of_demos += bytes_of(&demo);
            std::fs::remove_file(&demo).map_err(|source| cache_error(folder, source))?;
        }
        of_traces + of_demos + NameCache::in_folder(folder).clear() + of_left
    } else {
        0
    };
    to_stdout(|out| Ok(writeln!(out, "{freed_bytes} bytes freed in {}", path_text(folder))?))
}

/// Returns the demo traces in the folder, such as `demo-0.1.0.longspan`: each version generates another trace.
fn demos(folder: &Path) -> Vec<PathBuf> {
    let is_demo = |name: &str| {
        let version = name.strip_prefix("demo-").and_then(|rest| rest.strip_suffix(".longspan"));
        version.is_some_and(|version| version.split('.').all(|part| part.parse::<u32>().is_ok()))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let demos = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_demo));
    let mut demos: Vec<_> = demos.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    demos.sort();
    demos
}

fn bytes_of(file: &Path) -> u64 {
    std::fs::symlink_metadata(file).map_or(0, |file| file.len())
}

/// Returns the spool folders of killed windows.
fn leftover_spools(folder: &Path) -> Result<Vec<LeftFolder>, CliError> {
    LeftFolder::all(&folder.join(FOLLOWED)).map_err(|source| CliError::Folder { path: folder.into(), source })
}

/// Formats a path for one line of a terminal.
fn path_text(path: &Path) -> String {
    escaped(&path.to_string_lossy()).into_owned()
}

fn cache_error(folder: &Path, source: std::io::Error) -> CliError {
    CliError::File { path: folder.into(), source }
}
