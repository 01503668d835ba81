//! `longspan stats --counters`: the counters of a scope, in track order.

use super::args::Load;
use super::empty_answers::say_no_counters;
use super::error::CliError;
use super::messages::say;
use super::progress_line::ProgressLine;
use super::scope::ScopeArgs;
use super::stdout::to_stdout;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::export::check;
use crate::export::counter_table::counter_values;
use crate::export::table::RowFormat;
use crate::export::values::TableValueWriter;
use crate::query::Snapshot;
use crate::query::counters::{COUNTER_COLUMNS, counters};
use crate::query::filter::{Filter, Test};

/// Prints the counters with a value in the scope.
pub(super) fn print(snapshot: &Snapshot, scope: &ScopeArgs, format: RowFormat, how: &Load) -> Result<(), CliError> {
    let in_scope = scope.on(snapshot)?;
    say_ignored_terms(&scope.filter);
    let progress = Progress::default();
    let line = ProgressLine::start(&progress, how.progress);
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

/// Reports the terms of a filter that do not apply to counters.
fn say_ignored_terms(filter: &Filter) {
    let mut keys: Vec<_> = filter.terms.iter().filter_map(|term| row_key(&term.test)).collect();
    keys.sort_unstable();
    keys.dedup();
    if !keys.is_empty() {
        let keys = keys.join(", ");
        say(format_args!("not applied to counters: {keys}; a counter is selected by `thread:`, `process:` or --track"));
    }
}

/// Returns the key of a test of rows; `None` for a test of tracks.
fn row_key(test: &Test) -> Option<&'static str> {
    Some(match test {
        Test::Name(_) => "names",
        Test::Category(_) => "`cat:`",
        Test::Duration(_) => "`dur`",
        Test::Start(_) => "`start`",
        Test::Argument { .. } => "`arg.`",
        Test::Failed => "`is:`",
        Test::Has(_) => "`has:`",
        Test::Inside(_) => "`in:`",
        Test::Within(_) => "`within:`",
        Test::Thread(_) | Test::Process(_) => return None,
    })
}
