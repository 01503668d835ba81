//! The scheduling of threads, processes or CPUs as a table in a file. The columns are a contract with scripts.

use std::sync::Arc;

use super::error::SinkError;
use super::values::{TableSource, TableValue, TableValueWriter, write_rows};
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::model::{Id, ProcessIdx, TrackIdx, TrackKey};
use crate::query::Snapshot;
use crate::query::scheduling::{ScheduledKind, ScheduledTime, ScheduledUnit, Scheduling, ThreadState};

const THREAD_COLUMNS: [&str; 13] = [
    "thread",
    "tid",
    "process",
    "pid",
    "running",
    "runnable",
    "sleeping",
    "uninterruptible",
    "other",
    "slices",
    "longest_run",
    "longest_wait",
    "utilisation",
];

const PROCESS_COLUMNS: [&str; 12] = [
    "process",
    "pid",
    "threads",
    "running",
    "runnable",
    "sleeping",
    "uninterruptible",
    "other",
    "slices",
    "longest_run",
    "longest_wait",
    "utilisation",
];

const CPU_COLUMNS: [&str; 6] = ["cpu", "busy", "idle", "slices", "longest_run", "utilisation"];

/// Some rows of one kind, and their trace.
pub(crate) struct SchedulingTable {
    pub(crate) snapshot: Snapshot,
    pub(crate) scheduling: Arc<Scheduling>,
    pub(crate) kind: ScheduledKind,
    /// Indices of the rows to write, sorted.
    pub(crate) order: Arc<Vec<u32>>,
}

impl SchedulingTable {
    /// Iterates over the cells of each row, in column order.
    pub(crate) fn values(&self) -> impl Iterator<Item = Vec<TableValue<'_>>> + '_ {
        let rows = self.scheduling.rows(self.kind);
        self.order.iter().map(|&row| scheduled_values(&self.snapshot, &self.scheduling, &rows[row as usize]))
    }
}

impl TableSource for SchedulingTable {
    fn columns(&self) -> Vec<&'static str> {
        scheduling_columns(self.kind).to_vec()
    }

    fn rows(&self) -> u64 {
        self.order.len() as u64
    }

    fn write(&self, table: &mut TableValueWriter<'_>, cancel: &Cancel, progress: &Progress) -> Result<(), SinkError> {
        write_rows(self.values(), table, cancel, progress)
    }
}

/// Returns the columns of a scheduling table.
pub(crate) fn scheduling_columns(kind: ScheduledKind) -> &'static [&'static str] {
    match kind {
        ScheduledKind::Threads => &THREAD_COLUMNS,
        ScheduledKind::Processes => &PROCESS_COLUMNS,
        ScheduledKind::Cpus => &CPU_COLUMNS,
    }
}

/// Returns the cells of a row, in column order. Times are nanoseconds.
fn scheduled_values<'s>(snapshot: &'s Snapshot, all: &Scheduling, row: &ScheduledTime) -> Vec<TableValue<'s>> {
    let whole = |number: u64| TableValue::Whole(number.into());
    let busy_ns = row.time_ns(ThreadState::Running);
    let mut values = match row.unit {
        ScheduledUnit::Thread(track) => thread_values(snapshot, track).to_vec(),
        ScheduledUnit::Process(process) => {
            let [name, pid] = process_values(snapshot, process);
            vec![name, pid, whole(row.threads.into())]
        }
        ScheduledUnit::Cpu(track) => {
            let idle_ns = all.range_ns.saturating_sub(busy_ns);
            vec![cpu_value(&snapshot.track(track).key), whole(busy_ns), whole(idle_ns)]
        }
    };
    if !matches!(row.unit, ScheduledUnit::Cpu(_)) {
        values.extend(ThreadState::ALL.map(|state| whole(row.time_ns(state))));
    }
    values.extend([whole(row.slices), whole(row.longest_run_ns)]);
    if !matches!(row.unit, ScheduledUnit::Cpu(_)) {
        values.push(whole(row.longest_wait_ns));
    }
    values.push(all.utilisation(row).map_or(TableValue::Empty, TableValue::Float));
    values
}

/// Returns the name and id of a thread, and the name and id of its process.
pub(crate) fn thread_values(snapshot: &Snapshot, track: TrackIdx) -> [TableValue<'_>; 4] {
    let track = snapshot.track(track);
    let [process, pid] = process_values(snapshot, track.process);
    [text_value(&track.name), id_value(&track.key.tid), process, pid]
}

/// Returns the number of a CPU. In a trace of several files, a later file has its name after the number.
fn cpu_value(key: &TrackKey) -> TableValue<'_> {
    match &key.pid {
        Id::None => id_value(&key.tid),
        pid => TableValue::Text(format!("{} in {pid}", key.tid).into()),
    }
}

fn process_values(snapshot: &Snapshot, process: ProcessIdx) -> [TableValue<'_>; 2] {
    let process = &snapshot.tracks().processes[process.index()];
    [text_value(&process.name), id_value(&process.pid)]
}

fn text_value(text: &str) -> TableValue<'_> {
    if text.is_empty() { TableValue::Empty } else { TableValue::Text(text.into()) }
}

fn id_value(id: &Id) -> TableValue<'_> {
    match id {
        Id::None => TableValue::Empty,
        Id::Number(number) => TableValue::Whole((*number).into()),
        Id::Text(text) => TableValue::Text((&**text).into()),
    }
}
