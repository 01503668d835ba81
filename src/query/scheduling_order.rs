//! Sorts and filters the rows of a scheduling table. A trace may have a million threads, so the window does this in the
//! background.

use std::cmp::Ordering;

use super::scheduling::{ScheduledKind, ScheduledTime, ScheduledUnit, Scheduling, ThreadState};
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::model::{Id, Process, ProcessIdx};

/// Rows between two checks for cancellation.
const ROWS_BETWEEN_CHECKS: usize = 1 << 14;

/// A column to sort by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchedulingColumn {
    /// Names of threads and processes, numbers of CPUs.
    Name,
    /// The process of a thread.
    Process,
    Threads,
    Time(ThreadState),
    Slices,
    LongestRun,
    LongestWait,
}

/// The wanted rows of a table.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ScheduledFilter<'a> {
    /// Words in lower case; a thread matches by its name or id, or the name or id of its process.
    pub(crate) words: &'a str,
    /// The process of the threads; `None` for the threads of all processes.
    pub(crate) process: Option<ProcessIdx>,
}

impl ScheduledFilter<'_> {
    fn passes(self, snapshot: &Snapshot, row: &ScheduledTime) -> bool {
        let of_process = match (self.process, row.unit) {
            (Some(process), ScheduledUnit::Thread(track)) => snapshot.track(track).process == process,
            _ => true,
        };
        of_process && (self.words.is_empty() || has_words(snapshot, row, self.words))
    }
}

/// Returns the rows of a kind that pass the filter, sorted by a column. The sort is stable. Returns `Cancelled` if
/// cancelled.
pub(crate) fn order(
    snapshot: &Snapshot,
    scheduling: &Scheduling,
    kind: ScheduledKind,
    (column, ascending): (SchedulingColumn, bool),
    filter: ScheduledFilter<'_>,
    cancel: &Cancel,
) -> Result<Vec<u32>, Cancelled> {
    let rows = scheduling.rows(kind);
    let mut order = Vec::with_capacity(rows.len());
    for (number, row) in (0u32..).zip(rows) {
        if (number as usize).is_multiple_of(ROWS_BETWEEN_CHECKS) {
            cancel.check()?;
        }
        if filter.passes(snapshot, row) {
            order.push(number);
        }
    }
    let row = |number: u32| &rows[number as usize];
    let turned = |order: Ordering| if ascending { order } else { order.reverse() };
    match column {
        SchedulingColumn::Name => {
            let key = |number: u32| name_key(snapshot, row(number));
            order.sort_by(|&one, &other| turned(key(one).cmp(&key(other))));
        }
        SchedulingColumn::Process => {
            let key = |number: u32| process_of(snapshot, row(number)).map(|process| (&*process.name, &process.pid));
            order.sort_by(|&one, &other| turned(key(one).cmp(&key(other))));
        }
        _ => order.sort_by(|&one, &other| turned(number(row(one), column).cmp(&number(row(other), column)))),
    }
    cancel.check()?;
    Ok(order)
}

/// Returns the number of a row in a column; 0 for text columns.
#[must_use]
pub(crate) fn number(row: &ScheduledTime, column: SchedulingColumn) -> u64 {
    match column {
        SchedulingColumn::Name | SchedulingColumn::Process => 0,
        SchedulingColumn::Threads => row.threads.into(),
        SchedulingColumn::Time(state) => row.time_ns(state),
        SchedulingColumn::Slices => row.slices,
        SchedulingColumn::LongestRun => row.longest_run_ns,
        SchedulingColumn::LongestWait => row.longest_wait_ns,
    }
}

/// CPUs are sorted by slot, because their names sort 10 before 2.
fn name_key<'s>(snapshot: &'s Snapshot, row: &ScheduledTime) -> (u32, &'s str, &'s Id) {
    match row.unit {
        ScheduledUnit::Thread(track) => (0, &*snapshot.track(track).name, &snapshot.track(track).key.tid),
        ScheduledUnit::Cpu(track) => (snapshot.track(track).key.slot, "", &snapshot.track(track).key.tid),
        ScheduledUnit::Process(process) => {
            let process = &snapshot.tracks().processes[process.index()];
            (0, &*process.name, &process.pid)
        }
    }
}

/// Returns the process of a thread or of a process row.
fn process_of<'s>(snapshot: &'s Snapshot, row: &ScheduledTime) -> Option<&'s Process> {
    let process = match row.unit {
        ScheduledUnit::Thread(track) => snapshot.track(track).process,
        ScheduledUnit::Process(process) => process,
        ScheduledUnit::Cpu(_) => return None,
    };
    snapshot.tracks().processes.get(process.index())
}

fn has_words(snapshot: &Snapshot, row: &ScheduledTime, words: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(words);
    let of_track = match row.unit {
        ScheduledUnit::Thread(track) | ScheduledUnit::Cpu(track) => {
            let track = snapshot.track(track);
            has(&track.name) || has(&track.key.tid.to_string())
        }
        ScheduledUnit::Process(_) => false,
    };
    of_track || process_of(snapshot, row).is_some_and(|process| has(&process.name) || has(&process.pid.to_string()))
}
