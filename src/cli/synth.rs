//! `longspan synth`: writes a generated trace. The same arguments give the same bytes.

use std::io::{BufWriter, IntoInnerError};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::args::SynthArgs;
use super::error::CliError;
use crate::export::ExportFormat;
use crate::export::output::OutputFile;
use crate::formats::native::write::WriteError;
use crate::model::Sources;
use crate::synth::{Flavour, Synth, SynthOptions, write};

/// Generates a trace and writes it.
pub(super) fn write(args: &SynthArgs) -> Result<(), CliError> {
    let synth = Synth::new(SynthOptions {
        spans: args.spans,
        threads: args.threads,
        depth: args.depth,
        disorder: args.disorder,
        seed: args.seed,
        flavour: Flavour::Spans,
    });
    let failed = |source| CliError::Generated { path: args.output.clone(), source };
    let mut file = OutputFile::create(&args.output, &Sources::default())?;
    match args.format {
        ExportFormat::Native { .. } => write::write_native(&synth, file.writer()).map(drop).map_err(failed)?,
        ExportFormat::ChromeJson { gzip: true } => {
            let gzip = BufWriter::new(GzEncoder::new(file.writer(), Compression::fast()));
            let written = write::write_chrome_json(&synth, gzip)
                .and_then(|gzip| gzip.into_inner().map_err(IntoInnerError::into_error)?.finish());
            written.map(drop).map_err(|source| failed(WriteError::Io(source)))?;
        }
        ExportFormat::ChromeJson { gzip: false } => {
            write::write_chrome_json(&synth, file.writer())
                .map(drop)
                .map_err(|source| failed(WriteError::Io(source)))?;
        }
        ExportFormat::Perfetto => {
            write::write_perfetto(&synth, file.writer()).map(drop).map_err(|source| failed(WriteError::Io(source)))?;
        }
        ExportFormat::Pprof | ExportFormat::Csv { .. } | ExportFormat::Parquet { .. } => {
            return Err(CliError::Usage(format!("{} is not generated", args.format.label())));
        }
    }
    file.publish()?;
    Ok(())
}
