//! `longspan stats`: the spans of a trace by name or another key, most time first; for a trace without spans, the
//! samples by function.

use super::args::{ImportArgs, Stats};
use super::counter_stats;
use super::empty_answers::{say_no_samples, say_no_spans};
use super::error::CliError;
use super::heat_map_stats;
use super::load::retry_if_damaged;
use super::low_stats::LowSampleBy;
use super::messages::{counted, say};
use super::progress_line::ProgressLine;
use super::sample_stats;
use super::scheduling_stats;
use super::stdout::to_stdout;
use super::symbols::load_with_names;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::export::check;
use crate::export::group_table::{compare_groups, group_columns, group_values};
use crate::export::values::TableValueWriter;
use crate::query::Snapshot;
use crate::query::groups::GroupBy;
use crate::query::samples::SampleHistogram;
use crate::query::totals::{GroupValue, GrowingTotals, Totals, VALUE_TEXT_BYTES_MAX, VALUES_MAX, add_up};

pub(super) fn print(stats: &Stats, import: &ImportArgs) -> Result<(), CliError> {
    retry_if_damaged(&stats.sources, import, |import| print_once(stats, import))
}

fn print_once(stats: &Stats, import: &ImportArgs) -> Result<(), CliError> {
    let snapshot = load_with_names(&stats.sources, import)?;
    if stats.counters {
        return counter_stats::print(&snapshot, &stats.scope, stats.format, import);
    }
    if let Some(kind) = stats.scheduling {
        return scheduling_stats::print(&snapshot, &stats.scope, kind, stats.format, import);
    }
    if let Some(grid) = stats.heat_map {
        let scope = stats.scope.named(stats.name.as_ref());
        return heat_map_stats::print(&snapshot, &scope, grid, stats.format, import);
    }
    let summary = snapshot.summary();
    let has_samples_alone = summary.spans == 0 && summary.samples > 0 && stats.by == GroupBy::default();
    match stats.samples.or_else(|| has_samples_alone.then(LowSampleBy::default)) {
        Some(by) => print_samples(&snapshot, stats, by, import),
        None => print_spans(&snapshot, stats, import),
    }
}

fn print_samples(snapshot: &Snapshot, stats: &Stats, by: LowSampleBy, import: &ImportArgs) -> Result<(), CliError> {
    let (scope, progress) = (stats.scope.on(snapshot)?, Progress::default());
    let line = ProgressLine::start(&progress, import.progress);
    let counted = SampleHistogram::count(snapshot, &scope, &Cancel::default(), &progress);
    drop(line);
    check(snapshot.store())?;
    let Ok(histogram) = counted else { return Ok(()) }; // never cancelled
    if !sample_stats::print(snapshot, &histogram, (by, stats.name.as_ref()), stats.format)? {
        say_no_samples(snapshot, &stats.scope.named(stats.name.as_ref()));
    }
    Ok(())
}

fn print_spans(snapshot: &Snapshot, stats: &Stats, import: &ImportArgs) -> Result<(), CliError> {
    let scope_args = stats.scope.named(stats.name.as_ref());
    let scope = scope_args.on(snapshot)?;
    let (growing, progress) = (GrowingTotals::grouped(stats.by.clone()), Progress::default());
    let line = ProgressLine::start(&progress, import.progress);
    add_up(snapshot, &scope, &growing, &Cancel::default(), &progress).ok(); // never cancelled
    drop(line);
    check(snapshot.store())?;
    let totals = growing.into_totals();
    if totals.by().is_pair() && totals.has_others() {
        return Err(CliError::TooManyGroups { most: Totals::PAIRS_MAX });
    }
    say_others(&totals);
    say_missing(&totals);
    // A trace may have millions of names, so rows are sorted by their indices.
    let mut rows: Vec<u32> = totals.numbered().map(|(row, ..)| row).collect();
    if rows.is_empty() {
        say_no_spans(snapshot, &scope_args);
    }
    // Rows with equal times are sorted by name, since their indices follow the trace.
    rows.sort_unstable_by(|&one, &other| {
        let by_label = || compare_groups(&totals, totals.group_at(one), totals.group_at(other), snapshot);
        totals.at(other).total_ns.cmp(&totals.at(one).total_ns).then_with(by_label)
    });
    to_stdout(|out| {
        let columns = group_columns(totals.by());
        let mut table = TableValueWriter::begin(out, stats.format.into(), &columns)?;
        for row in rows {
            table.row(&group_values(&totals, row, snapshot))?;
        }
        table.end()?;
        Ok(())
    })
}

/// Reports the spans whose values have no separate row.
fn say_others(totals: &Totals) {
    let others = totals.numbered().filter(|(_, group, _)| totals.value(*group) == GroupValue::Others);
    let others: u64 = others.map(|(.., row)| row.count).sum();
    if others > 0 && matches!(totals.by(), GroupBy::Argument(_)) {
        say(format_args!(
            "{} are in `others`, whatever their values: only the first {VALUES_MAX} values, of {} MiB of text at most, \
             have rows of their own",
            counted(others, "span"),
            VALUE_TEXT_BYTES_MAX >> 20
        ));
    }
}

/// Reports an argument that no span has: its key may be mistyped.
fn say_missing(totals: &Totals) {
    let GroupBy::Argument(path) = totals.by() else { return };
    let mut groups = totals.numbered().map(|(_, group, _)| totals.value(group)).peekable();
    if groups.peek().is_some() && groups.all(|value| value == GroupValue::Missing) {
        say(format_args!("no span here has the argument `{}`: everything after `arg:` is one key", path.dotted()));
    }
}
