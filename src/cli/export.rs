//! `longspan export`: writes a sorted trace, whole or a part of it.

use std::sync::Arc;

use super::args::{Export, Load};
use super::error::CliError;
use super::load::{load, starting_over};
use super::messages::{counted, say};
use super::progress_line::ProgressLine;
use super::symbols::load_with_names;
use crate::base::budget::Memory;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::export::derived::DerivedCounter;
use crate::export::{self, ExportFormat, ExportOptions};
use crate::query::Snapshot;
use crate::query::derived::{DerivedRoom, DerivedTrack, derive};
use crate::query::filter::Filter;
use crate::query::matcher::Matcher;
use crate::query::scope::Scope;

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
    let scope = wanted.scope.on(&snapshot)?;
    let progress = Progress::default();
    let line = ProgressLine::start(&progress, how.progress);
    let derived = derived(wanted, how, &snapshot, &scope, &progress)?;
    let options = ExportOptions { format: wanted.format, scope, derived };
    let written = export::export(&snapshot, &wanted.sources, &wanted.output, &options, &Cancel::default(), &progress);
    drop(line);
    let written = written?;
    let (path, bytes) = (wanted.output.display(), written.bytes);
    let things = if wanted.format == ExportFormat::Pprof {
        counted(written.samples, "sample")
    } else {
        counted(written.spans, "span")
    };
    say(format_args!("{path}: {things} written, {bytes} bytes, as {}", wanted.format.label()));
    Ok(())
}

/// Computes the requested derived tracks, from the rows of the scope that also match the filter of each.
fn derived(
    wanted: &Export,
    how: &Load,
    snapshot: &Snapshot,
    scope: &Scope,
    progress: &Progress,
) -> Result<Vec<DerivedCounter>, CliError> {
    let folder = how.cache.clone().filter(|folder| folder.is_dir()).unwrap_or_else(std::env::temp_dir);
    let room = DerivedRoom::new(folder, how.memory_bytes.unwrap_or(Memory::DEFAULT_BYTES));
    let make = |track: &DerivedTrack| {
        // Filters from the command line are valid.
        let own_filter = Filter::parse(&track.filter).unwrap_or_default();
        let terms = wanted.scope.filter.terms.iter().chain(&own_filter.terms).cloned().collect();
        let scope = scope.clone().matching(Matcher::new(snapshot, &Filter { terms }));
        let series = Arc::new(derive(snapshot, &scope, &track.kind, &room, &Cancel::default(), progress)?);
        if series.rows() == 0 {
            say(format_args!("--derive '{track}' has no rows: its counter stays at 0"));
        }
        Ok(DerivedCounter { name: track.to_string(), track: track.clone(), series })
    };
    wanted.derived.iter().map(make).collect()
}
