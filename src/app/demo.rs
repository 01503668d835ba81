//! The capture that is opened when one has none: generated once, kept beside the stores.

use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use crate::base::cancel::Cancel;
use crate::synth::write::write_native;
use crate::synth::{Synth, SynthOptions};

/// The demo capture in `folder`, generated if it is not there.
///
/// # Errors
/// A sentence that names the file.
pub fn demo_capture(folder: &Path, cancel: &Cancel) -> Result<PathBuf, String> {
    let path = demo_path(folder);
    if path.is_file() {
        return Ok(path);
    }
    let failed = |error: &dyn std::fmt::Display| format!("{}: cannot write the demo capture: {error}", path.display());
    fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    // Renamed when it is whole: a demo that was stopped half way leaves nothing.
    let file = tempfile::NamedTempFile::new_in(folder).map_err(|error| failed(&error))?;
    write_native(&Synth::new(SynthOptions::demo()), BufWriter::new(file.as_file())).map_err(|error| failed(&error))?;
    cancel.check().map_err(|error| failed(&error))?;
    file.persist(&path).map_err(|error| failed(&error))?;
    Ok(path)
}

/// The demo capture in `folder`, generated or not. The version is in its name: another version may generate another.
#[must_use]
pub fn demo_path(folder: &Path) -> PathBuf {
    folder.join(concat!("demo-", env!("CARGO_PKG_VERSION"), ".longspan"))
}

/// Where the demo capture is kept: the user's cache folder, or else the temporary one.
#[must_use]
pub fn demo_folder() -> PathBuf {
    dirs::cache_dir().map_or_else(std::env::temp_dir, |cache| cache.join("longspan"))
}
