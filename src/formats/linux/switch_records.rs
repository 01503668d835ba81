//! Context switches that `perf record --switch-events` adds to other events: one record when a thread leaves its CPU,
//! and another when a thread takes it. They contain less than `sched_switch`, so they are ignored if it is recorded.
//! Without a CPU, as in recordings of one command by default, there are only the states of threads.

use super::scheduler::{Scheduler, SchedulerTask, TaskChange, TaskState};
use crate::formats::output::batch::BatchBuilder;
use crate::model::SourcePos;

/// The change of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SwitchChange {
    /// It takes the CPU.
    In,
    /// It waits for something.
    Out,
    /// Preempted by another thread while still runnable.
    Preempted,
    /// It exits. No record of its switch follows, or one of the thread -1.
    Exit,
}

/// A record of a switch, or of an exit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SwitchRecord<'a> {
    pub(crate) ts_ns: i64,
    pub(crate) cpu: Option<u64>,
    /// Negative for a thread that has exited.
    pub(crate) tid: i64,
    /// Empty if it is unknown.
    pub(crate) name: &'a [u8],
    pub(crate) change: SwitchChange,
}

/// The state of the records up to the current one.
#[derive(Debug, Default)]
pub(crate) struct SwitchRecords {
    has_switches: bool,
    /// Whether `sched_switch` is recorded too.
    is_redundant: bool,
}

impl SwitchRecords {
    /// Handles an event `sched_switch`: later records are ignored.
    pub(crate) fn see_tracepoint(&mut self) {
        self.is_redundant = true;
    }

    /// Adds the change of a thread. Does nothing beside `sched_switch`, and for exits without any switch.
    pub(crate) fn add(
        &mut self,
        scheduler: &mut Scheduler,
        batch: &mut BatchBuilder,
        record: &SwitchRecord<'_>,
        pos: SourcePos,
    ) {
        let &SwitchRecord { ts_ns, cpu, tid, name, change } = record;
        self.has_switches |= change != SwitchChange::Exit;
        if self.is_redundant || !self.has_switches || tid < 0 {
            return;
        }
        let left_as = |letters: &[u8]| TaskState::from_letters(letters).map_or(TaskChange::Unknown, TaskChange::Linux);
        let change = match change {
            SwitchChange::In => TaskChange::Running,
            SwitchChange::Out => TaskChange::Sleeping,
            SwitchChange::Preempted => left_as(b"R+"),
            SwitchChange::Exit => left_as(b"X"),
        };
        let task = SchedulerTask { tid, name, priority: None };
        scheduler.change(batch, (ts_ns, cpu), &task, change, pos);
    }
}
