//! `longspan synth`: writes a generated capture. The same arguments give the same bytes.

use super::args::Synth as Wanted;
use super::low_args::LowCaptureFormat;
use super::{CliError, new_file};
use crate::formats::native::write::WriteError;
use crate::synth::{Flavour, Synth, SynthOptions, write};

/// Generates what is wanted, and writes it.
pub fn write(wanted: &Wanted) -> Result<(), CliError> {
    let synth = Synth::new(SynthOptions {
        spans: wanted.spans,
        threads: wanted.threads,
        depth: wanted.depth,
        disorder: wanted.disorder,
        seed: wanted.seed,
        flavour: Flavour::Spans,
    });
    new_file::write(&wanted.output, |file| match wanted.format {
        LowCaptureFormat::Native => Ok(write::write_native(&synth, file)?),
        LowCaptureFormat::Chrome => Ok(write::write_chrome_json(&synth, file).map_err(WriteError::from)?),
    })
}
