//! The rows of the scheduling tables: threads, processes or CPUs. Texts are computed for the rows in view.

use std::borrow::Cow;
use std::sync::Arc;

use super::number::{self, TableNumber};
use super::table::{Rows, TableCell};
use super::table_column::TableColumn;
use crate::base::time::{counted, grouped_digits};
use crate::export::scheduling_table::SchedulingTable;
use crate::frame::lit::{Lit, LitSpans, LitTracks};
use crate::query::Snapshot;
use crate::query::scheduling::{ScheduledKind, ScheduledTime, ScheduledUnit, ThreadState};
use crate::query::scheduling_order::{SchedulingColumn, number};
use crate::scene::labels::shown;
use crate::scene::titles::{process_title, track_title};
use crate::ui::questions::SchedulingAnswer;

/// The content of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Sorted(SchedulingColumn),
    /// The id of a thread.
    Id,
    /// The share of the range on a CPU.
    Share,
    /// The rest of the range.
    Idle,
}

const RUNNING: Field = Field::Sorted(SchedulingColumn::Time(ThreadState::Running));

/// The columns of the thread table, with their content.
const THREADS: [(TableColumn, Field); 12] = [
    (TableColumn::text("Thread", 150.0), Field::Sorted(SchedulingColumn::Name)),
    (TableColumn::text("TID", 58.0).unsortable(), Field::Id),
    (TableColumn::text("Process", 110.0), Field::Sorted(SchedulingColumn::Process)),
    (time("On CPU"), RUNNING),
    SHARE,
    RUNNABLE,
    SLEEPING,
    UNINTERRUPTIBLE,
    OTHER,
    SLICES,
    LONGEST_RUN,
    LONGEST_WAIT,
];

const PROCESSES: [(TableColumn, Field); 11] = [
    (TableColumn::text("Process", 150.0), Field::Sorted(SchedulingColumn::Name)),
    (TableColumn::number("Threads", 60.0), Field::Sorted(SchedulingColumn::Threads)),
    (time("On CPU"), RUNNING),
    SHARE,
    RUNNABLE,
    SLEEPING,
    UNINTERRUPTIBLE,
    OTHER,
    SLICES,
    LONGEST_RUN,
    LONGEST_WAIT,
];

const CPUS: [(TableColumn, Field); 6] = [
    (TableColumn::text("CPU", 120.0), Field::Sorted(SchedulingColumn::Name)),
    (time("Busy"), RUNNING),
    SHARE,
    (time("Idle").unsortable(), Field::Idle),
    SLICES,
    LONGEST_RUN,
];

const SHARE: (TableColumn, Field) = (
    TableColumn::number("Utilisation", 74.0).unsortable().meaning("Time on CPU as a share of the time of the scope."),
    Field::Share,
);
const RUNNABLE: (TableColumn, Field) = (
    time("Runnable").meaning("Time in which it was ready to run and waited for a CPU."),
    Field::Sorted(SchedulingColumn::Time(ThreadState::Runnable)),
);
const SLEEPING: (TableColumn, Field) = (
    time("Sleeping").meaning("Time of waits that a signal can end."),
    Field::Sorted(SchedulingColumn::Time(ThreadState::Sleeping)),
);
const UNINTERRUPTIBLE: (TableColumn, Field) = (
    TableColumn::number("Uninterruptible", 98.0)
        .meaning("Time of waits that no signal can end, mostly for disks and locks of the kernel."),
    Field::Sorted(SchedulingColumn::Time(ThreadState::Uninterruptible)),
);
const OTHER: (TableColumn, Field) = (
    time("Other").meaning("Time in other states, such as stopped or exiting."),
    Field::Sorted(SchedulingColumn::Time(ThreadState::Other)),
);
const SLICES: (TableColumn, Field) = (
    TableColumn::number("Slices", 62.0).meaning("Number of times that it got a CPU."),
    Field::Sorted(SchedulingColumn::Slices),
);
const LONGEST_RUN: (TableColumn, Field) = (time("Longest run"), Field::Sorted(SchedulingColumn::LongestRun));
const LONGEST_WAIT: (TableColumn, Field) = (
    time("Longest wait").meaning("Longest time from being ready to run until it ran."),
    Field::Sorted(SchedulingColumn::LongestWait),
);

const THREAD_COLUMNS: [TableColumn; THREADS.len()] = columns_of(&THREADS);
const PROCESS_COLUMNS: [TableColumn; PROCESSES.len()] = columns_of(&PROCESSES);
const CPU_COLUMNS: [TableColumn; CPUS.len()] = columns_of(&CPUS);

const fn time(title: &'static str) -> TableColumn {
    TableColumn::number(title, 82.0)
}

const fn columns_of<const N: usize>(fields: &[(TableColumn, Field); N]) -> [TableColumn; N] {
    let mut columns = [fields[0].0; N];
    let mut index = 0;
    while index < N {
        columns[index] = fields[index].0;
        index += 1;
    }
    columns
}

/// Returns the columns of the table of a kind.
pub(super) fn columns(kind: ScheduledKind) -> &'static [TableColumn] {
    match kind {
        ScheduledKind::Threads => &THREAD_COLUMNS,
        ScheduledKind::Processes => &PROCESS_COLUMNS,
        ScheduledKind::Cpus => &CPU_COLUMNS,
    }
}

/// Formats a number of rows.
fn count_text(kind: ScheduledKind, rows: u64) -> String {
    match kind {
        ScheduledKind::Threads => counted(rows, "thread"),
        ScheduledKind::Processes if rows == 1 => counted(rows, "process"),
        ScheduledKind::Processes => format!("{} processes", grouped_digits(rows)),
        ScheduledKind::Cpus => counted(rows, "CPU"),
    }
}

fn field(kind: ScheduledKind, column: usize) -> Option<Field> {
    let fields: &[(TableColumn, Field)] = match kind {
        ScheduledKind::Threads => &THREADS,
        ScheduledKind::Processes => &PROCESSES,
        ScheduledKind::Cpus => &CPUS,
    };
    fields.get(column).map(|(_, field)| *field)
}

/// Returns the column of the default sort order, largest first: the running time.
pub(super) fn first_sorted(kind: ScheduledKind) -> Option<usize> {
    (0..columns(kind).len()).find(|&column| field(kind, column) == Some(RUNNING))
}

/// The rows of the current table.
#[derive(Debug, Default)]
pub(super) struct SchedulingRows {
    answer: Option<(Snapshot, Arc<SchedulingAnswer>)>,
    kind: ScheduledKind,
    /// The sort order of each kind; `None` until its table is shown.
    sorted_by: [Option<(SchedulingColumn, bool)>; 3],
    pub(super) chosen: Option<ScheduledUnit>,
}

impl SchedulingRows {
    pub(super) fn set_answer(&mut self, answer: &Arc<SchedulingAnswer>, snapshot: &Snapshot) {
        self.answer = Some((snapshot.clone(), Arc::clone(answer)));
    }

    pub(super) fn clear(&mut self) {
        self.answer = None;
    }

    /// Returns no rows, to be sorted like these.
    #[must_use]
    pub(super) fn with_same_order(&self) -> Self {
        Self { kind: self.kind, sorted_by: self.sorted_by, ..Self::default() }
    }

    /// Switches to another table, which is empty until its answer arrives.
    pub(super) fn set_kind(&mut self, kind: ScheduledKind) {
        self.kind = kind;
    }

    /// Returns the sort order of the current table.
    pub(super) fn sorted_by(&self) -> (SchedulingColumn, bool) {
        let first = (SchedulingColumn::Time(ThreadState::Running), false);
        self.sorted_by[self.kind as usize].unwrap_or(first)
    }

    /// Returns the unit of a row.
    pub(super) fn unit(&self, row: u64) -> Option<ScheduledUnit> {
        self.row(row).map(|(.., time)| time.unit)
    }

    /// Returns the rows as shown, for a file.
    pub(super) fn to_export(&self) -> Option<SchedulingTable> {
        let (snapshot, answer) = self.answer.as_ref()?;
        let (scheduling, order) = (Arc::clone(&answer.scheduling), Arc::clone(&answer.order));
        Some(SchedulingTable { snapshot: snapshot.clone(), scheduling, kind: answer.kind, order })
    }

    fn shown_answer(&self) -> Option<(&Snapshot, &SchedulingAnswer)> {
        let (snapshot, answer) = self.answer.as_ref()?;
        (answer.kind == self.kind).then_some((snapshot, answer))
    }

    fn row(&self, row: u64) -> Option<(&Snapshot, &SchedulingAnswer, &ScheduledTime)> {
        let (snapshot, answer) = self.shown_answer()?;
        let number = *answer.order.get(usize::try_from(row).ok()?)?;
        Some((snapshot, answer, &answer.scheduling.rows(answer.kind)[number as usize]))
    }

    fn cell_of<'s>(
        answer: &SchedulingAnswer,
        snapshot: &'s Snapshot,
        row: &ScheduledTime,
        field: Field,
    ) -> TableCell<'s> {
        let busy_ns = row.time_ns(ThreadState::Running);
        match field {
            Field::Sorted(SchedulingColumn::Name) => TableCell::Text(name(snapshot, row.unit)),
            Field::Sorted(SchedulingColumn::Process) => match row.unit {
                ScheduledUnit::Thread(track) => {
                    let process = snapshot.track(track).process;
                    TableCell::Text(name(snapshot, ScheduledUnit::Process(process)))
                }
                ScheduledUnit::Process(_) | ScheduledUnit::Cpu(_) => TableCell::Empty,
            },
            Field::Id => match row.unit {
                ScheduledUnit::Thread(track) => {
                    TableCell::Text(shown(&snapshot.track(track).key.tid.to_string()).into_owned().into())
                }
                ScheduledUnit::Process(_) | ScheduledUnit::Cpu(_) => TableCell::Empty,
            },
            Field::Share => {
                let whole = answer.scheduling.range_ns.into();
                TableCell::Number(TableNumber::Share { part: busy_ns.into(), whole })
            }
            Field::Idle => {
                let idle_ns = answer.scheduling.range_ns.saturating_sub(busy_ns);
                TableCell::Number(TableNumber::Duration(idle_ns.into()))
            }
            Field::Sorted(column @ (SchedulingColumn::Threads | SchedulingColumn::Slices)) => {
                TableCell::Number(TableNumber::Count(number(row, column)))
            }
            Field::Sorted(column) => TableCell::Number(TableNumber::Duration(number(row, column).into())),
        }
    }
}

fn name(snapshot: &Snapshot, unit: ScheduledUnit) -> Cow<'static, str> {
    match unit {
        ScheduledUnit::Thread(track) | ScheduledUnit::Cpu(track) => track_title(snapshot.track(track)).0,
        ScheduledUnit::Process(process) => process_title(&snapshot.tracks().processes[process.index()]),
    }
    .into()
}

impl Rows for SchedulingRows {
    fn count(&self) -> u64 {
        self.shown_answer().map_or(0, |(_, answer)| answer.order.len() as u64)
    }

    fn cell(&self, row: u64, column: usize) -> TableCell<'_> {
        let Some(((snapshot, answer, row), field)) = self.row(row).zip(field(self.kind, column)) else {
            return TableCell::Empty;
        };
        Self::cell_of(answer, snapshot, row, field)
    }

    fn spoken(&self, row: u64) -> String {
        let Some((snapshot, _, row)) = self.row(row) else { return String::new() };
        let text = |ns: u64| TableNumber::Duration(ns.into()).text();
        let busy = text(row.time_ns(ThreadState::Running));
        let slices = counted(row.slices, "slice");
        let name = name(snapshot, row.unit);
        match row.unit {
            ScheduledUnit::Cpu(_) => format!("{name}, busy {busy}, {slices}"),
            ScheduledUnit::Thread(_) | ScheduledUnit::Process(_) => {
                let wait = text(row.longest_wait_ns);
                format!("{name}, on CPU {busy}, {slices}, longest wait {wait}")
            }
        }
    }

    fn lit(&self, row: u64) -> Option<Lit> {
        let tracks = match self.unit(row)? {
            ScheduledUnit::Thread(track) | ScheduledUnit::Cpu(track) => LitTracks::Like(track),
            ScheduledUnit::Process(process) => LitTracks::Process(process),
        };
        Some(Lit::Spans(LitSpans::on(tracks)))
    }

    fn is_chosen(&self, row: u64) -> bool {
        self.chosen.is_some() && self.unit(row) == self.chosen
    }

    fn bar(&self, row: u64, column: usize) -> Option<f64> {
        let Some(Field::Sorted(by)) = field(self.kind, column) else { return None };
        let (_, answer, time) = self.row(row)?;
        if by != answer.sorted_by.0 {
            return None;
        }
        let largest = if answer.sorted_by.1 { self.count() - 1 } else { 0 };
        let (.., most) = self.row(largest)?;
        Some(number::fraction(number(time, by).into(), number(most, by).into()))
    }

    fn total(&self, column: usize) -> Option<TableCell<'_>> {
        let (snapshot, answer) = self.shown_answer()?;
        let sum = answer.sum.as_ref()?;
        Some(match field(self.kind, column)? {
            Field::Sorted(SchedulingColumn::Name) => TableCell::Text(count_text(self.kind, self.count()).into()),
            Field::Sorted(SchedulingColumn::Process) | Field::Id => TableCell::Empty,
            Field::Share if self.kind != ScheduledKind::Cpus => Self::cell_of(answer, snapshot, sum, Field::Share),
            // The share of all CPUs together.
            Field::Share => {
                let whole = u128::from(answer.scheduling.range_ns) * answer.order.len() as u128;
                let part = sum.time_ns(ThreadState::Running).into();
                TableCell::Number(TableNumber::Share { part, whole })
            }
            Field::Idle => {
                let whole = u128::from(answer.scheduling.range_ns) * answer.order.len() as u128;
                let busy_ns = u128::from(sum.time_ns(ThreadState::Running));
                TableCell::Number(TableNumber::Duration(whole.saturating_sub(busy_ns)))
            }
            field @ Field::Sorted(_) => Self::cell_of(answer, snapshot, sum, field),
        })
    }

    fn sort(&mut self, column: usize, ascending: bool) {
        if let Some(Field::Sorted(by)) = field(self.kind, column) {
            self.sorted_by[self.kind as usize] = Some((by, ascending));
        }
    }

    fn copies_all(&self) -> bool {
        true
    }
}
