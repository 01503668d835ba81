//! `longspan search`: counts the spans, instants and samples of a trace that match a filter. `spans --filter` lists the
//! spans.

use super::args::{Load, Search};
use super::empty_answers::say_no_rows;
use super::error::CliError;
use super::load::starting_over;
use super::progress_line::ProgressLine;
use super::stdout::to_stdout;
use super::symbols::load_with_names;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::export::check;
use crate::query::hit_count::count;

/// Prints the number of hits.
pub(super) fn print(wanted: &Search, how: &Load) -> Result<(), CliError> {
    starting_over(&wanted.sources, how, |how| print_once(wanted, how))
}

fn print_once(wanted: &Search, how: &Load) -> Result<(), CliError> {
    let snapshot = load_with_names(&wanted.sources, how)?;
    let scope = wanted.scope.on(&snapshot)?;
    let progress = Progress::default();
    let line = ProgressLine::start(&progress, how.progress);
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
