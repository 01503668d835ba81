//! The capture that is opened when one has none: generated once, kept beside the stores.

use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use crate::base::cancel::Cancel;
use crate::base::disk::SystemDisk;
use crate::base::files;
use crate::base::replace::Replacement;
use crate::synth::write::write_native;
use crate::synth::{Synth, SynthOptions};

/// The demo capture in `folder`, generated if it is not there. An error is a sentence that names the file.
pub(crate) fn demo_capture(folder: &Path, cancel: &Cancel) -> Result<PathBuf, String> {
    let folder = private_folder(folder).map_err(|error| format!("there is no folder for the demo trace: {error}"))?;
    let path = demo_path(&folder);
    if path.is_file() {
        return Ok(path);
    }
    let failed = |error: &dyn std::fmt::Display| format!("{}: cannot write the demo trace: {error}", path.display());
    // Renamed when it is whole: a demo that was stopped half way leaves nothing.
    let replacement = Replacement::begin(&path).map_err(|error| failed(&error))?;
    let file = replacement.file().map_err(|error| failed(&error))?;
    write_native(&Synth::new(SynthOptions::demo()), BufWriter::new(file)).map_err(|error| failed(&error))?;
    cancel.check().map_err(|error| failed(&error))?;
    replacement.publish(&SystemDisk).map_err(|error| failed(&error))?;
    Ok(path)
}

/// The folder if only this user can write to it, or else one of that kind among the temporary files: what lies in a
/// folder of others is not what was generated.
fn private_folder(folder: &Path) -> io::Result<PathBuf> {
    let made = folder.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| files::make_private_folder(folder));
    if made.is_ok() {
        return Ok(folder.to_owned());
    }
    let own = std::env::temp_dir().join(format!("longspan-{}", files::user()));
    files::make_private_folder(&own).map(|()| own)
}

/// The demo capture in `folder`, generated or not. The version is in its name: another version may generate another.
#[must_use]
pub(crate) fn demo_path(folder: &Path) -> PathBuf {
    folder.join(concat!("demo-", env!("CARGO_PKG_VERSION"), ".longspan"))
}

/// Where the demo capture is kept: the user's cache folder, or else the temporary one.
#[must_use]
pub(crate) fn demo_folder() -> PathBuf {
    dirs::cache_dir().map_or_else(std::env::temp_dir, |cache| cache.join("longspan"))
}
