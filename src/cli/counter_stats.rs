//! `longspan stats --counters`: the counters of a scope, in track order.

use super::args::ImportArgs;
use super::empty_answers::say_no_counters;
use super::error::CliError;
use super::progress_line::ProgressLine;
use super::scope::{ScopeArgs, say_ignored_terms};
use super::stdout::to_stdout;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::export::check;
use crate::export::counter_table::counter_values;
use crate::export::table::RowFormat;
use crate::export::values::TableValueWriter;
use crate::query::Snapshot;
use crate::query::counters::{COUNTER_COLUMNS, counters};

/// Prints the counters with a value in the scope.
pub(super) fn print(
    snapshot: &Snapshot,
    scope: &ScopeArgs,
    format: RowFormat,
    import: &ImportArgs,
) -> Result<(), CliError> {
    let in_scope = scope.on(snapshot)?;
    say_ignored_terms(&scope.filter, "counters", "a counter");
    let progress = Progress::default();
    let line = ProgressLine::start(&progress, import.progress);
    let counter_rows = counters(snapshot, &in_scope, &Cancel::default(), &progress).unwrap_or_default(); // never cancelled
    drop(line);
    check(snapshot.store())?;
    if counter_rows.is_empty() {
        say_no_counters(snapshot, scope);
    }
    to_stdout(|out| {
        let mut table = TableValueWriter::begin(out, format.into(), &COUNTER_COLUMNS)?;
        for counter in &counter_rows {
            table.row(&counter_values(snapshot, counter))?;
        }
        table.end()?;
        Ok(())
    })
}
