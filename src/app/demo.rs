//! The demo trace, generated once and stored beside the cache.

use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use crate::base::cancel::Cancel;
use crate::base::disk::SystemDisk;
use crate::base::files;
use crate::base::replace::Replacement;
use crate::ingest::CachePolicy;
use crate::synth::write::write_native;
use crate::synth::{Synth, SynthOptions};

/// Returns the demo trace in `folder`; generates it if it is missing. The error is a sentence that names the file.
pub(crate) fn demo_trace(folder: &Path, cancel: &Cancel) -> Result<PathBuf, String> {
    let folder = private_folder(folder).map_err(|error| format!("there is no folder for the demo trace: {error}"))?;
    let path = demo_path(&folder);
    if path.is_file() {
        return Ok(path);
    }
    let failed = |error: &dyn std::fmt::Display| format!("{}: cannot write the demo trace: {error}", path.display());
    // Renamed when it is complete: a cancelled generation leaves nothing.
    let replacement = Replacement::begin(&path).map_err(|error| failed(&error))?;
    let file = replacement.file().map_err(|error| failed(&error))?;
    write_native(&Synth::new(SynthOptions::demo()), BufWriter::new(file)).map_err(|error| failed(&error))?;
    cancel.check().map_err(|error| failed(&error))?;
    replacement.publish(&SystemDisk).map_err(|error| failed(&error))?;
    Ok(path)
}

/// Returns the folder if only this user can write to it, or else a private temporary folder. A file in a folder of
/// another user may be anything.
fn private_folder(folder: &Path) -> io::Result<PathBuf> {
    let made = folder.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| files::make_private_folder(folder));
    if made.is_ok() {
        return Ok(folder.to_owned());
    }
    let own = std::env::temp_dir().join(format!("longspan-{}", files::user()));
    files::make_private_folder(&own).map(|()| own)
}

/// Returns the path of the demo trace in `folder`. The name has the version, because another version may generate
/// another trace.
#[must_use]
pub(crate) fn demo_path(folder: &Path) -> PathBuf {
    folder.join(concat!("demo-", env!("CARGO_PKG_VERSION"), ".longspan"))
}

/// Returns the folder of the demo trace: the cache, or else the temporary folder.
#[must_use]
pub(crate) fn demo_folder(cache: &CachePolicy) -> PathBuf {
    match cache {
        CachePolicy::Folder(folder) => folder.clone(),
        CachePolicy::None => std::env::temp_dir(),
    }
}
