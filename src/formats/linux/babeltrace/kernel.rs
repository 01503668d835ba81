//! Events of the Linux kernel in `LTTng`'s spelling: scheduling, system calls and interrupts. Interrupts have a row for
//! each CPU, since they belong to no thread.

use std::borrow::Cow;

use super::pairs::{PairSide, UnpairedBegin, pair_of};
use super::rows::{EventRow, HostIdx};
use super::value::LttngFields;
use super::{Babeltrace, TimedEvent};
use crate::formats::linux::kernel_pairs::SOFTIRQS;
use crate::formats::linux::scheduler::{Scheduler, SchedulerTask, Switch, TaskState};
use crate::formats::linux::syscalls::{CallThread, SystemCall};
use crate::formats::output::batch::BatchBuilder;
use crate::model::{Event, Id, SourcePos, TrackKey};

/// Names of pairs that run outside of any thread.
const INTERRUPTS: [(&[u8], &str); 4] = [
    (b"irq_handler", "Irq Cpu"),
    (b"softirq", "SoftIrq Cpu"),
    (b"irq_softirq", "SoftIrq Cpu"),
    (b"irq_tasklet", "Tasklet Cpu"),
];

/// A thread in the fields of an event.
struct LttngTask {
    tid: i64,
    name: String,
    priority: Option<i64>,
}

impl LttngTask {
    /// Reads a thread whose fields begin with `prefix`, such as `next_`.
    fn read(fields: &LttngFields, prefix: &str) -> Option<Self> {
        let key = |name: &str| format!("{prefix}{name}");
        let tid = fields.number(&key("tid")).or_else(|| fields.number(&key("pid")))?;
        let name = fields.text(&key("comm")).unwrap_or_default();
        Some(Self { tid, name, priority: fields.number(&key("prio")) })
    }

    fn task(&self) -> SchedulerTask<'_> {
        SchedulerTask { tid: self.tid, name: self.name.as_bytes(), priority: self.priority }
    }
}

impl Babeltrace {
    /// Adds an event of the kernel. Returns `false` for an event that is read like any other.
    pub(super) fn kernel_event(&mut self, event: &TimedEvent<'_>, row: &EventRow, batch: &mut BatchBuilder) -> bool {
        let Some(host) = row.kernel else { return false };
        let (name, fields) = (event.line.name, &event.line.payload);
        let scheduler = &mut self.rows.host(host).kernel.scheduler;
        match name {
            b"sched_switch" => return switch(scheduler, event, row, batch),
            b"sched_waking" | b"sched_wakeup" | b"sched_wakeup_new" => {
                let Some(task) = LttngTask::read(fields, "") else { return false };
                scheduler.wake(batch, event.ts_ns, &task.task(), row.tid, event.pos);
                return true;
            }
            b"sched_process_fork" => {
                learn_task(scheduler, fields, ["child_tid", "child_pid", "child_comm"], event.pos, batch);
            }
            b"lttng_statedump_process_state" => {
                learn_task(scheduler, fields, ["tid", "pid", "name"], event.pos, batch);
            }
            _ => {}
        }
        if let Some((base, side)) = pair_of(name)
            && let Some((_, label)) = INTERRUPTS.iter().find(|(interrupt, _)| *interrupt == base)
            && let Some(cpu) = row.cpu
        {
            let owner = self.rows.host(host).kernel.scheduler.host_id();
            let track = TrackKey::thread(owner, Id::Text(format!("{label} {cpu}").into()));
            match side {
                PairSide::Begin => self.begin(base, &track, event, batch),
                PairSide::End => self.end(base, &track, event, batch),
            }
            return true;
        }
        self.system_call(event, (row, host), batch)
    }

    /// Adds the begin or the end of a system call of a known thread.
    fn system_call(
        &mut self,
        event: &TimedEvent<'_>,
        (row, host): (&EventRow, HostIdx),
        batch: &mut BatchBuilder,
    ) -> bool {
        let (Some(call), Some(tid)) = (SystemCall::from_lttng(event.line.name), row.tid) else { return false };
        let thread = CallThread { ts_ns: event.ts_ns, tid, track: batch.track_with(&row.key) };
        if let Some(shown) = self.rows.host(host).calls.event(batch, thread, &call, event.pos) {
            let detail = self.detail(event, batch);
            batch.push(Event { detail, ..shown });
        }
        true
    }
}

/// Adds a context switch; returns `false` if its fields are missing.
fn switch(scheduler: &mut Scheduler, event: &TimedEvent<'_>, row: &EventRow, batch: &mut BatchBuilder) -> bool {
    let fields = &event.line.payload;
    let tasks = LttngTask::read(fields, "prev_").zip(LttngTask::read(fields, "next_"));
    let (Some((previous, next)), Some(cpu)) = (tasks, row.cpu) else { return false };
    let state = fields.number("prev_state").map(i64::cast_unsigned);
    let previous_state = state.map(|state| TaskState::from_bits(state, false));
    let (previous, next) = (Some(previous.task()), next.task());
    let switch = Switch { ts_ns: event.ts_ns, cpu, previous, previous_state, next };
    scheduler.switch(batch, &switch, event.pos);
    true
}

/// Sets process and name of the thread that an event describes.
fn learn_task(
    scheduler: &mut Scheduler,
    fields: &LttngFields,
    [tid, pid, name]: [&str; 3],
    pos: SourcePos,
    batch: &mut BatchBuilder,
) {
    let (Some(tid), Some(pid)) = (fields.number(tid), fields.number(pid)) else { return };
    scheduler.set_process(tid, pid);
    if let Some(name) = fields.text(name) {
        scheduler.rename(batch, tid, name.as_bytes(), pos);
    }
}

/// Returns the name of the span of a pair. Interrupts have their own names among their fields.
pub(super) fn span_name(begin: &UnpairedBegin) -> Cow<'_, str> {
    let softirq = || {
        let vector = begin.fields.number("vec")?.cast_unsigned();
        SOFTIRQS.iter().find(|(number, _)| *number == vector).map(|(_, name)| Cow::Borrowed(*name))
    };
    let name = match &*begin.base {
        b"irq_handler" => begin.fields.text("name").map(|name| format!("IRQ ({name})").into()),
        b"softirq" | b"irq_softirq" => softirq(),
        _ => None,
    };
    name.unwrap_or_else(|| String::from_utf8_lossy(&begin.base))
}
