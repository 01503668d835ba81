//! `longspan export`: writes a sorted trace or a part of it.

use std::sync::Arc;

use super::args::{Export, ImportArgs};
use super::empty_answers::{say_no_rows, say_no_spans};
use super::error::CliError;
use super::load::{load, retry_if_damaged};
use super::messages::{counted, say};
use super::progress_line::ProgressLine;
use super::symbols::load_with_names;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::base::shell;
use crate::export::derived::DerivedCounter;
use crate::export::{self, ExportFormat, ExportOptions, ExportReport, PPROF_EVENTS_MAX};
use crate::query::Snapshot;
use crate::query::derived::{DerivedRoom, DerivedTrack, UnknownCounter, derive};
use crate::query::filter::Filter;
use crate::query::matcher::Matcher;
use crate::query::scope::Scope;

/// Writes the export, and prints the spans and bytes written to stderr.
pub(super) fn write(wanted: &Export, import: &ImportArgs) -> Result<(), CliError> {
    retry_if_damaged(&wanted.sources, import, |import| write_once(wanted, import))
}

fn write_once(wanted: &Export, import: &ImportArgs) -> Result<(), CliError> {
    let snapshot = if wanted.is_symbolized {
        load_with_names(&wanted.sources, import)?
    } else {
        Snapshot::new(load(&wanted.sources, import)?.store)
    };
    let scope = wanted.scope.on(&snapshot)?;
    let progress = Progress::default();
    let line = ProgressLine::start(&progress, import.progress);
    let derived = derived(wanted, import, &snapshot, &scope, &progress)?;
    let options = ExportOptions { format: wanted.format, scope, derived };
    let written = export::export(&snapshot, &wanted.sources, &wanted.output, &options, &Cancel::default(), &progress);
    drop(line);
    let written = written?;
    let (path, bytes) = (wanted.output.display(), written.bytes);
    let things = written_things(&written, wanted.format);
    say(format_args!("{path}: {things} written, {bytes} bytes, as {}", wanted.format.label()));
    if written.samples_left_out > 0 {
        say(format_args!(
            "{} not written: a pprof profile has at most {PPROF_EVENTS_MAX} events; --filter arg.event=NAME exports \
             those of one",
            counted(written.samples_left_out, "sample")
        ));
    }
    written.notes().for_each(say);
    if written.spans == 0 && matches!(wanted.format, ExportFormat::Csv { .. }) {
        say_no_spans(&snapshot, &wanted.scope);
    } else if counts(&written).iter().all(|&(count, _)| count == 0) && !wanted.scope.options().is_empty() {
        say_no_rows(&snapshot, &wanted.scope);
    }
    Ok(())
}

/// Returns the number of written rows of each kind.
fn counts(written: &ExportReport) -> [(u64, &'static str); 6] {
    [
        (written.spans.saturating_sub(written.connected_spans), "span"),
        (written.connected_spans, "connected span"),
        (written.instants, "instant"),
        (written.counters, "counter value"),
        (written.flows, "flow point"),
        (written.samples, "sample"),
    ]
}

/// Lists the counts of an export that are not 0. If all are 0, gives the count of spans or samples.
pub(super) fn written_things(written: &ExportReport, format: ExportFormat) -> String {
    let things: Vec<_> =
        counts(written).iter().filter(|(count, _)| *count > 0).map(|&(count, it)| counted(count, it)).collect();
    if things.is_empty() {
        return counted(0, if format == ExportFormat::Pprof { "sample" } else { "span" });
    }
    things.join(", ")
}

/// Computes the requested derived tracks, each from the rows of the scope that also match the filter of the track.
fn derived(
    wanted: &Export,
    import: &ImportArgs,
    snapshot: &Snapshot,
    scope: &Scope,
    progress: &Progress,
) -> Result<Vec<DerivedCounter>, CliError> {
    let folder = import.cache.clone().filter(|folder| folder.is_dir()).unwrap_or_else(std::env::temp_dir);
    let room = DerivedRoom::new(folder, import.memory.limit_bytes());
    let make = |track: &DerivedTrack| {
        if let Some(unknown) = UnknownCounter::of(track, snapshot) {
            let text = unknown.sentence(shell::quoted, "`longspan stats --counters` lists them");
            return Err(CliError::Usage(format!("--derive '{track}': {text}")));
        }
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
    // A repeated track is one counter.
    let is_first = |&(index, track): &(usize, &DerivedTrack)| !wanted.derived[..index].contains(track);
    wanted.derived.iter().enumerate().filter(is_first).map(|(_, track)| make(track)).collect()
}
