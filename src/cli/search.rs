//! `longspan search`: counts the spans, instants and samples of a trace that match a filter. `spans --filter` lists the
//! spans.

use super::args::{ImportArgs, Search};
use super::empty_answers::say_no_rows;
use super::error::CliError;
use super::load::retry_if_damaged;
use super::progress_line::ProgressLine;
use super::stdout::to_stdout;
use super::symbols::load_with_names;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::export::check;
use crate::query::hit_count::count;

/// Prints the number of hits.
pub(super) fn print(wanted: &Search, import: &ImportArgs) -> Result<(), CliError> {
    retry_if_damaged(&wanted.sources, import, |import| print_once(wanted, import))
}

fn print_once(wanted: &Search, import: &ImportArgs) -> Result<(), CliError> {
    let snapshot = load_with_names(&wanted.sources, import)?;
    let scope = wanted.scope.on(&snapshot)?;
    let progress = Progress::default();
    let line = ProgressLine::start(&progress, import.progress);
    let count = count(&snapshot, &scope, &Cancel::default(), &progress);
    drop(line);
    check(snapshot.store())?;
    let Ok(count) = count else { return Ok(()) }; // never cancelled
    to_stdout(|out| Ok(writeln!(out, "{}", count.hits)?))?;
    if count.hits == 0 {
        say_no_rows(&snapshot, &wanted.scope);
    }
    Ok(())
}
