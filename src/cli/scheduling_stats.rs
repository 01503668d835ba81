//! `longspan stats --scheduling`: the threads or processes of a scope, most running time first, or its CPUs by number.

use std::sync::Arc;

use super::args::ImportArgs;
use super::empty_answers::say_no_rows;
use super::error::CliError;
use super::messages::say;
use super::progress_line::ProgressLine;
use super::scope::{ScopeArgs, say_ignored_terms};
use super::stdout::to_stdout;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::export::check;
use crate::export::scheduling_table::{SchedulingTable, scheduling_columns};
use crate::export::table::RowFormat;
use crate::export::values::TableValueWriter;
use crate::query::Snapshot;
use crate::query::scheduling::{ScheduledKind, ThreadState, scheduling};
use crate::query::scheduling_order::{ScheduledFilter, SchedulingColumn, order};

/// Prints the scheduling of the scope, or a note on stderr if the trace has none.
pub(super) fn print(
    snapshot: &Snapshot,
    scope_args: &ScopeArgs,
    kind: ScheduledKind,
    format: RowFormat,
    import: &ImportArgs,
) -> Result<(), CliError> {
    let scope = &scope_args.on(snapshot)?;
    say_ignored_terms(&scope_args.filter, "scheduling", "a thread");
    let (cancel, progress) = (Cancel::default(), Progress::default());
    let line = ProgressLine::start(&progress, import.progress);
    let scheduling = Arc::new(scheduling(snapshot, scope, &cancel, &progress).unwrap_or_default()); // never cancelled
    drop(line);
    check(snapshot.store())?;
    if !scheduling.is_in_trace {
        say(format_args!("this trace has no scheduling data: record sched_switch with ftrace, perf sched or Perfetto"));
    } else if scheduling.rows(kind).is_empty() {
        say_no_rows(snapshot, scope_args);
    }
    let sorted_by = match kind {
        ScheduledKind::Cpus => (SchedulingColumn::Name, true),
        ScheduledKind::Threads | ScheduledKind::Processes => (SchedulingColumn::Time(ThreadState::Running), false),
    };
    let order = Arc::new(
        order(snapshot, &scheduling, kind, sorted_by, ScheduledFilter::default(), &cancel).unwrap_or_default(),
    );
    let table = SchedulingTable { snapshot: snapshot.clone(), scheduling, kind, order };
    to_stdout(|out| {
        let mut rows = TableValueWriter::begin(out, format.into(), scheduling_columns(kind))?;
        for values in table.values() {
            rows.row(&values)?;
        }
        rows.end()?;
        Ok(())
    })
}
