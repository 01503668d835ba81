//! `longspan export`: writes a capture back, sorted, whole or a part of it.

use super::args::{Export, Load};
use super::error::CliError;
use super::load::{load, starting_over};
use super::messages::say;
use super::progress_line::ProgressLine;
use super::symbols::load_with_names;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::export::{self, ExportFormat, ExportOptions};
use crate::query::Snapshot;

/// Writes the export, and prints the spans and bytes written to stderr.
pub(super) fn write(wanted: &Export, how: &Load) -> Result<(), CliError> {
    starting_over(&wanted.sources, how, |how| write_once(wanted, how))
}

fn write_once(wanted: &Export, how: &Load) -> Result<(), CliError> {
    let snapshot = if wanted.is_symbolized {
        load_with_names(&wanted.sources, how)?
    } else {
        Snapshot::new(load(&wanted.sources, how)?.store)
    };
    let options = ExportOptions { format: wanted.format, scope: wanted.scope.on(&snapshot)? };
    let progress = Progress::default();
    let line = ProgressLine::start(&progress, how.progress);
    let written = export::export(&snapshot, &wanted.sources, &wanted.output, &options, &Cancel::default(), &progress);
    drop(line);
    let written = written?;
    let (path, bytes) = (wanted.output.display(), written.bytes);
    let (count, things) =
        if wanted.format == ExportFormat::Pprof { (written.samples, "samples") } else { (written.spans, "spans") };
    say(format_args!("{path}: {count} {things} written, {bytes} bytes, as {}", wanted.format.label()));
    Ok(())
}
