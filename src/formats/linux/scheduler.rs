//! The kernel scheduler, from the events of any tracer: the thread that runs on each CPU, and the states of all
//! threads.
//!
//! Use one [`Scheduler`] per host. Call [`Scheduler::learn_process`] for each event that states the process of a
//! thread; until then a thread counts as its own process. Call [`Scheduler::switch`] for each `sched_switch`,
//! [`Scheduler::wake`] for each `sched_waking`, `sched_wakeup` and `sched_wakeup_new`, [`Scheduler::blocked`] for each
//! `sched_blocked_reason`, and [`Scheduler::finish`] at the end. Switches of one CPU must be in order. Switches of
//! different CPUs and wakeups need not be, since thread states are sorted later.
//!
//! A state entered by a wakeup has its waker as `waker_pid` and `waker_tid`, if the tracer records it. Waker thread 0
//! is an interrupt on an idle CPU.
//!
//! Each CPU has a track with a span for each run of a thread, named after the thread. Its arguments are `pid`, `tid`,
//! `prio` and `end_state`. The idle thread 0 has no spans. Each thread has a state track.
//!
//! If switches have stacks, call [`Scheduler::runs`] before each event of a thread, and [`Scheduler::add_switch_stack`]
//! after each switch with a stack. Threads then have samples of their times off CPU.

mod carried_stacks;
mod off_cpu;
mod task_state;

use rustc_hash::FxHashMap;

use self::off_cpu::OffCpu;
pub(crate) use self::task_state::{TaskChange, TaskState};
use super::thread_table::{THREADS_MAX, TaskName, ThreadTable, push_kernel_name, short_name};
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::model::{
    Event, EventFlags, EventKind, Id, Loss, NameIdx, SourcePos, StackIdx, TrackIdx, TrackKey, TrackKind,
};

/// Limit for CPUs; machines have fewer.
const CPUS_MAX: usize = 1 << 16;

/// A thread as in an event.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SchedulerTask<'a> {
    /// 0 for the idle thread.
    pub(crate) tid: i64,
    /// Empty if the event has no name.
    pub(crate) name: &'a [u8],
    pub(crate) priority: Option<i64>,
}

/// A context switch on a CPU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Switch<'a> {
    pub(crate) ts_ns: i64,
    pub(crate) cpu: u64,
    /// `None` if the event does not record it; then it is the next thread of the switch before.
    pub(crate) previous: Option<SchedulerTask<'a>>,
    /// State of the previous thread after the switch.
    pub(crate) previous_state: Option<TaskState>,
    pub(crate) next: SchedulerTask<'a>,
}

/// State of the scheduler up to the current event.
#[derive(Debug, Default)]
pub(crate) struct Scheduler {
    running: FxHashMap<u64, RunningTask>,
    process_of: ThreadTable<OwnProcess>,
    threads: ThreadTable<ScheduledThread>,
    off_cpu: OffCpu,
    newest_ns: i64,
    /// The thread whose open state lasts to `newest_ns`, as the trace states.
    lasting: Option<i64>,
    args: ArgsWriter,
    /// Name of the host, which extends the ids of its processes; `None` for the first host of a trace.
    host: Option<Box<str>>,
}

/// The process of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OwnProcess {
    /// No event states it yet, and tracks or names of the thread have its own number as their process.
    Assumed,
    Stated(i64),
}

impl OwnProcess {
    fn stated(self) -> Option<i64> {
        match self {
            Self::Assumed => None,
            Self::Stated(pid) => Some(pid),
        }
    }
}

#[derive(Debug)]
struct RunningTask {
    since_ns: i64,
    tid: i64,
    name: Box<[u8]>,
    priority: Option<i64>,
}

/// How a thread stops running on a CPU.
#[derive(Debug, Clone, Copy)]
enum RunEnd {
    /// By a switch, into a state that is unknown if a switch was lost.
    Switched(Option<TaskState>),
    /// Not before the end of the trace.
    Unfinished,
}

#[derive(Debug)]
struct ScheduledThread {
    pid: i64,
    name: TaskName,
    /// Its state track in the batch of this number.
    states: (u32, TrackIdx),
    /// Time of its last switch-out and the state entered; `None` while it is running or runnable.
    left: Option<(i64, TaskState)>,
    /// The CPU that it runs on, by the events so far.
    cpu: Option<u64>,
}

impl ScheduledThread {
    fn new(pid: i64) -> Self {
        Self { pid, name: TaskName::new(), states: (u32::MAX, TrackIdx(0)), left: None, cpu: None }
    }
}

/// Returns the id of a process on a host, in the form of the ids of several files.
fn process_id(host: Option<&str>, pid: i64) -> Id {
    match host {
        None => Id::Number(pid),
        Some(host) => Id::Text(format!("{pid} in {host}").into()),
    }
}

/// Returns the track of each thread, in its process if that is known.
fn thread_keys<'a>(process_of: &'a ThreadTable<OwnProcess>, host: Option<&'a str>) -> impl Fn(i64) -> TrackKey + 'a {
    move |tid| {
        let pid = process_of.get(tid).and_then(|process| process.stated()).unwrap_or(tid);
        TrackKey::thread(process_id(host, pid), Id::Number(tid))
    }
}

/// A state that a thread enters.
#[derive(Debug, Clone, Copy)]
struct NewState<'a> {
    name: &'a str,
    letters: &'a str,
    flags: EventFlags,
    /// Index of its payload, as in [`Event::detail`].
    detail: u32,
}

impl NewState<'static> {
    const RUNNING: Self = Self { name: "Running", letters: "Running", flags: EventFlags::AWAKE, detail: 0 };
    const UNKNOWN: Self = Self { name: "Unknown", letters: "", flags: EventFlags::NONE, detail: 0 };
    /// Ends the state before.
    const NONE: Self = Self { name: "", letters: "", flags: EventFlags::NONE, detail: 0 };
}

/// The reason of a blocked thread; `sched_blocked_reason` follows the switch-out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockedReason<'a> {
    pub(crate) tid: i64,
    pub(crate) is_io_wait: bool,
    /// Kernel function that it waits in; empty if unknown.
    pub(crate) function: &'a [u8],
}

impl Scheduler {
    /// Creates the scheduler of another host than the first one of the trace.
    pub(crate) fn for_host(host: &str) -> Self {
        Self { host: Some(host.into()), ..Self::default() }
    }

    /// Returns the key of a track of a thread.
    pub(crate) fn thread_key(&self, kind: TrackKind, pid: i64, tid: i64) -> TrackKey {
        TrackKey::new(kind, process_id(self.host.as_deref(), pid), Id::Number(tid))
    }

    /// Returns the owner of tracks without a process.
    pub(crate) fn host_id(&self) -> Id {
        self.host.as_deref().map_or(Id::None, |host| Id::Text(host.into()))
    }

    /// Sets the process of a thread that starts, or that has no events yet.
    pub(crate) fn set_process(&mut self, tid: i64, pid: i64) {
        let stated = OwnProcess::Stated(pid);
        if let Some(process) = self.process_of.get_or_add(tid, THREADS_MAX, || stated) {
            *process = stated;
        }
    }

    /// Sets the process of a running thread. Tracks of the thread from before its process was known move to it. If the
    /// thread had another process, its id belongs to a new thread.
    pub(crate) fn learn_process(&mut self, batch: &mut BatchBuilder, tid: i64, pid: i64) {
        let before = self.process_of.get(tid).copied();
        if before == Some(OwnProcess::Stated(pid)) {
            return;
        }
        self.set_process(tid, pid);
        if before != Some(OwnProcess::Assumed) || pid == tid {
            return;
        }
        let [before, after] = [tid, pid].map(|pid| process_id(self.host.as_deref(), pid));
        batch.move_thread(Id::Number(tid), before, after);
        if let Some(thread) = self.threads.get_mut(tid) {
            thread.pid = pid;
        }
    }

    /// Handles a new task: a thread of the process of `maker`, or a new process.
    pub(crate) fn new_task(&mut self, maker: i64, tid: i64, clone_flags: u64) {
        /// Flag of `clone` that creates a thread in the same process.
        const CLONE_THREAD: u64 = 0x10000;
        let is_thread = clone_flags & CLONE_THREAD != 0;
        let pid = if is_thread { self.process(maker).unwrap_or(maker) } else { tid };
        self.set_process(tid, pid);
    }

    /// Sets the name of a task from now on.
    pub(crate) fn rename(&mut self, batch: &mut BatchBuilder, tid: i64, name: &[u8], pos: SourcePos) {
        if tid == 0 || name.is_empty() {
            return;
        }
        let pid = self.process_or_own(tid);
        if let Some(thread) = self.threads.get_mut(tid) {
            thread.name = short_name(name).into();
        }
        push_kernel_name(batch, process_id(self.host.as_deref(), pid), Id::Number(tid), name, pos);
    }

    /// Returns the process of a thread, if it is known.
    pub(crate) fn process(&self, tid: i64) -> Option<i64> {
        self.process_of.get(tid).and_then(|process| process.stated())
    }

    /// Returns the process for the tracks and names of a thread: its own number until an event states another, to which
    /// they then move.
    pub(crate) fn process_or_own(&mut self, tid: i64) -> i64 {
        let process = self.process_of.get_or_add(tid, THREADS_MAX, || OwnProcess::Assumed);
        process.and_then(|process| process.stated()).unwrap_or(tid)
    }

    /// Adds the events of a `sched_switch`.
    pub(crate) fn switch(&mut self, batch: &mut BatchBuilder, switch: &Switch<'_>, pos: SourcePos) {
        let &Switch { ts_ns, cpu, previous, previous_state, next } = switch;
        self.newest_ns = self.newest_ns.max(ts_ns);
        let ran = self.running.remove(&cpu);
        let previous =
            previous.or_else(|| ran.as_ref().map(|ran| SchedulerTask { tid: ran.tid, ..SchedulerTask::default() }));
        let switched_out = previous.map(|previous| (previous.tid, previous_state));
        let key_of = thread_keys(&self.process_of, self.host.as_deref());
        self.off_cpu.switch(batch, (ts_ns, cpu), switched_out, next.tid, key_of);
        if let Some(ran) = ran {
            let is_same = previous.is_none_or(|previous| previous.tid == ran.tid);
            if !is_same {
                // A switch in between was lost, so the true end of the run is unknown.
                batch.lose(Loss::LostSwitch, pos);
            }
            let end_state = previous_state.filter(|_| is_same);
            self.add_run(batch, (cpu, &ran), (ts_ns, RunEnd::Switched(end_state)), pos);
            if !is_same {
                self.lose_track_of(batch, (ts_ns, cpu), &ran, pos);
            }
        }
        if let Some(previous) = previous {
            let letters = previous_state.map(TaskState::letters);
            let entered = previous_state.zip(letters.as_deref()).map_or(NewState::UNKNOWN, |(state, letters)| {
                NewState { name: state.name(), letters, flags: state.flags(), detail: 0 }
            });
            self.enter(batch, ts_ns, &previous, entered, pos);
            if let Some(thread) = self.threads.get_mut(previous.tid) {
                thread.cpu = None;
                let is_asleep = |state: &TaskState| !state.flags().has(EventFlags::AWAKE);
                thread.left = previous_state.filter(is_asleep).map(|state| (ts_ns, state));
            }
        }
        if next.tid == 0 {
            return;
        }
        if self.running.len() >= CPUS_MAX {
            return batch.lose(Loss::OverLimit, pos);
        }
        let name = if next.name.is_empty() { self.name(next.tid) } else { short_name(next.name) }.into();
        self.running.insert(cpu, RunningTask { since_ns: ts_ns, tid: next.tid, name, priority: next.priority });
        self.enter(batch, ts_ns, &next, NewState::RUNNING, pos);
        if let Some(thread) = self.threads.get_mut(next.tid) {
            (thread.left, thread.cpu) = (None, Some(cpu));
        }
    }

    /// Handles an event of a thread, which shows that it is running: its time off CPU ends. `cpu` is `None` where
    /// events have their stacks themselves.
    pub(crate) fn runs(&mut self, batch: &mut BatchBuilder, (ts_ns, cpu): (i64, Option<u64>), tid: i64) {
        let key_of = thread_keys(&self.process_of, self.host.as_deref());
        self.off_cpu.runs(batch, (ts_ns, cpu), tid, key_of);
    }

    /// Adds the stack of the last switch, a row of the batch: the time off CPU of the previous thread begins. A stack
    /// that is separate from its event belongs to the last event on its `cpu`. Does nothing if another event was last.
    pub(crate) fn add_switch_stack(
        &mut self,
        batch: &mut BatchBuilder,
        cpu: Option<u64>,
        stack: StackIdx,
        pos: SourcePos,
    ) {
        let key_of = thread_keys(&self.process_of, self.host.as_deref());
        self.off_cpu.add_stack(batch, cpu, stack, pos, key_of);
    }

    /// Handles a thread whose CPU has switched away from a different thread: its own switch-out was lost. Its state
    /// becomes unknown unless a later event has set it.
    fn lose_track_of(&mut self, batch: &mut BatchBuilder, (ts_ns, cpu): (i64, u64), ran: &RunningTask, pos: SourcePos) {
        if self.is_on(ran.tid, cpu) {
            let ran = SchedulerTask { tid: ran.tid, ..SchedulerTask::default() };
            self.enter(batch, ts_ns, &ran, NewState::UNKNOWN, pos);
            if let Some(thread) = self.threads.get_mut(ran.tid) {
                thread.cpu = None;
            }
        }
    }

    /// Adds the reason to the state that the thread entered at its switch-out, by writing the state again. Of two
    /// states with the same time, the last counts.
    pub(crate) fn blocked(&mut self, batch: &mut BatchBuilder, reason: &BlockedReason<'_>, pos: SourcePos) {
        let left = self.threads.get(reason.tid).and_then(|thread| thread.left);
        let Some((ts_ns, state)) = left else { return };
        self.args.clear();
        self.args.number("io_wait", reason.is_io_wait.into());
        if !reason.function.is_empty() {
            self.args.text("blocked_function", reason.function);
        }
        let task = SchedulerTask { tid: reason.tid, ..SchedulerTask::default() };
        let Some(track) = self.state_track(batch, &task, pos) else { return batch.lose(Loss::OverLimit, pos) };
        let detail = batch.args(self.args.finish());
        let name = batch.name(state.name().as_bytes(), Some(state.letters().as_bytes()), pos);
        batch.push(Event { detail, flags: state.flags(), ..Event::new(ts_ns, EventKind::State, track, name) });
    }

    /// Adds a `sched_waking` or a `sched_wakeup`; the first of both counts. `waker` is the thread that emitted the
    /// event, if known.
    pub(crate) fn wake(
        &mut self,
        batch: &mut BatchBuilder,
        ts_ns: i64,
        task: &SchedulerTask<'_>,
        waker: Option<i64>,
        pos: SourcePos,
    ) {
        self.newest_ns = self.newest_ns.max(ts_ns);
        let mut detail = 0;
        if let Some(tid) = waker {
            self.args.clear();
            self.args.signed("waker_pid", self.process(tid).unwrap_or(tid));
            self.args.signed("waker_tid", tid);
            let args_json = self.args.finish();
            detail = batch.args(args_json);
        }
        let flags = EventFlags::AWAKE.with(EventFlags::FROM_REST);
        let entered = NewState { name: TaskState::RUNNABLE.name(), letters: "R", flags, detail };
        self.enter(batch, ts_ns, task, entered, pos);
    }

    /// Returns the thread that runs on a CPU; `None` if it is idle or unknown.
    pub(crate) fn running_on(&self, cpu: u64) -> Option<i64> {
        self.running.get(&cpu).map(|ran| ran.tid)
    }

    /// Adds a state change of one thread, for tracers that do not record the other thread of a switch. Without a CPU,
    /// the change ends no run.
    pub(crate) fn change(
        &mut self,
        batch: &mut BatchBuilder,
        (ts_ns, cpu): (i64, Option<u64>),
        task: &SchedulerTask<'_>,
        state: TaskChange,
        pos: SourcePos,
    ) {
        self.newest_ns = self.newest_ns.max(ts_ns);
        let is_running = state == TaskChange::Running;
        if let Some(cpu) = cpu {
            let is_own = self.running.get(&cpu).is_some_and(|ran| ran.tid == task.tid);
            if (is_running || is_own)
                && let Some(ran) = self.running.remove(&cpu)
            {
                let end_state = if is_own { TaskState::from_letters(state.letters().as_bytes()) } else { None };
                self.add_run(batch, (cpu, &ran), (ts_ns, RunEnd::Switched(end_state)), pos);
                if !is_own {
                    self.lose_track_of(batch, (ts_ns, cpu), &ran, pos);
                } else if state == TaskChange::Unknown && !self.is_on(task.tid, cpu) {
                    return;
                }
            }
            if is_running && task.tid != 0 {
                if self.running.len() >= CPUS_MAX {
                    return batch.lose(Loss::OverLimit, pos);
                }
                let name = if task.name.is_empty() { self.name(task.tid) } else { short_name(task.name) }.into();
                let run = RunningTask { since_ns: ts_ns, tid: task.tid, name, priority: task.priority };
                self.running.insert(cpu, run);
            }
        }
        let letters = state.letters();
        let entered = NewState { name: state.name(), letters: &letters, flags: state.flags(), detail: 0 };
        self.enter(batch, ts_ns, task, entered, pos);
        if let Some(thread) = self.threads.get_mut(task.tid) {
            thread.cpu = cpu.filter(|_| is_running);
        }
    }

    /// Ends the state of a thread without entering another.
    pub(crate) fn leave(&mut self, batch: &mut BatchBuilder, ts_ns: i64, tid: i64, pos: SourcePos) {
        let task = SchedulerTask { tid, ..SchedulerTask::default() };
        self.enter(batch, ts_ns, &task, NewState::NONE, pos);
    }

    /// Extends the scheduling of the trace to the time to which the open state or run of a thread lasts.
    pub(crate) fn lasts_to(&mut self, tid: i64, until_ns: i64) {
        self.newest_ns = self.newest_ns.max(until_ns);
        self.lasting = Some(tid);
    }

    /// Returns whether a thread is last known to run on this CPU.
    fn is_on(&self, tid: i64, cpu: u64) -> bool {
        self.threads.get(tid).is_some_and(|thread| thread.cpu == Some(cpu))
    }

    /// Ends the trace: adds the runs and the times off CPU that last to its end.
    pub(crate) fn finish(&mut self, batch: &mut BatchBuilder, pos: SourcePos) {
        self.off_cpu.finish(batch, thread_keys(&self.process_of, self.host.as_deref()));
        let mut running: Vec<_> = std::mem::take(&mut self.running).into_iter().collect();
        running.sort_by_key(|&(cpu, _)| cpu);
        for (cpu, running) in running {
            self.add_run(batch, (cpu, &running), (self.newest_ns, RunEnd::Unfinished), pos);
        }
        if let Some(tid) = self.lasting.take()
            && let Some(track) = self.state_track(batch, &SchedulerTask { tid, ..SchedulerTask::default() }, pos)
        {
            let last = Event::new(self.newest_ns, EventKind::State, track, NameIdx::EMPTY);
            batch.push(Event { flags: EventFlags::UNFINISHED, ..last });
        }
    }

    /// Adds a run of a thread on a CPU, with its end and the state that the thread then enters, if known.
    fn add_run(
        &mut self,
        batch: &mut BatchBuilder,
        (cpu, ran): (u64, &RunningTask),
        (end_ns, end): (i64, RunEnd),
        pos: SourcePos,
    ) {
        let name = format!("CPU {cpu}").into();
        // The slot sorts CPUs by number. CPUs from 2^32 share one slot, but have separate ids.
        let (slot, tid) = (u32::try_from(cpu).unwrap_or(u32::MAX), Id::Number(cpu.cast_signed()));
        let pid = self.host_id();
        let track = batch.track_with(&TrackKey { kind: TrackKind::Cpu, pid, tid, name, slot });
        let name = batch.name(&ran.name, None, pos);
        self.args.clear();
        self.args.signed("pid", self.threads.get(ran.tid).map_or(ran.tid, |thread| thread.pid));
        self.args.signed("tid", ran.tid);
        if let Some(priority) = ran.priority {
            self.args.signed("prio", priority);
        }
        if let RunEnd::Switched(Some(end_state)) = end {
            self.args.text("end_state", end_state.letters().as_bytes());
        }
        let detail = batch.args(self.args.finish());
        let dur_ns = end_ns.checked_sub(ran.since_ns).and_then(|dur_ns| u64::try_from(dur_ns).ok());
        if dur_ns.is_none() {
            batch.lose(Loss::NegativeDuration, pos);
        }
        let value = dur_ns.unwrap_or(0);
        // A CPU has a single lane. An empty run stays before the run that began at its time.
        let flags = match end {
            RunEnd::Switched(_) => EventFlags::PLACED,
            RunEnd::Unfinished => EventFlags::UNFINISHED.with(EventFlags::PLACED),
        };
        batch.push(Event { value, detail, flags, ..Event::new(ran.since_ns, EventKind::Complete, track, name) });
    }

    /// Adds a state of a thread.
    fn enter(
        &mut self,
        batch: &mut BatchBuilder,
        ts_ns: i64,
        task: &SchedulerTask<'_>,
        state: NewState<'_>,
        pos: SourcePos,
    ) {
        if task.tid == 0 {
            return;
        }
        self.end_former(batch, ts_ns, task.tid);
        let Some(track) = self.state_track(batch, task, pos) else { return batch.lose(Loss::OverLimit, pos) };
        let NewState { name, letters, flags, detail } = state;
        let name = batch.name(name.as_bytes(), (!name.is_empty()).then_some(letters.as_bytes()), pos);
        batch.push(Event { detail, flags, ..Event::new(ts_ns, EventKind::State, track, name) });
    }

    /// Ends the state of the thread that had this id before, in another process.
    fn end_former(&mut self, batch: &mut BatchBuilder, ts_ns: i64, tid: i64) {
        let pid = self.process(tid).unwrap_or(tid);
        if let Some(former) = self.threads.get_mut(tid).filter(|thread| thread.pid != pid) {
            let former_pid = process_id(self.host.as_deref(), former.pid);
            let track = batch.track_with(&TrackKey::new(TrackKind::State, former_pid, Id::Number(tid)));
            batch.push(Event::new(ts_ns, EventKind::State, track, NameIdx::EMPTY));
            let name = std::mem::take(&mut former.name);
            *former = ScheduledThread { name, ..ScheduledThread::new(pid) };
        }
    }

    /// Returns the state track of a thread. Adds the thread name to the batch if it changed.
    fn state_track(&mut self, batch: &mut BatchBuilder, task: &SchedulerTask<'_>, pos: SourcePos) -> Option<TrackIdx> {
        let tid = task.tid;
        let pid = self.process_or_own(tid);
        let thread = self.threads.get_or_add(tid, THREADS_MAX, || ScheduledThread::new(pid))?;
        if !task.name.is_empty() && *thread.name != *short_name(task.name) {
            thread.name = short_name(task.name).into();
            push_kernel_name(batch, process_id(self.host.as_deref(), pid), Id::Number(tid), task.name, pos);
        }
        let (number, track) = thread.states;
        if number == batch.number {
            return Some(track);
        }
        // Creates the thread track even if the thread has no spans.
        let pid = process_id(self.host.as_deref(), pid);
        batch.track_with(&TrackKey::thread(pid.clone(), Id::Number(tid)));
        let track = batch.track_with(&TrackKey::new(TrackKind::State, pid, Id::Number(tid)));
        thread.states = (batch.number, track);
        Some(track)
    }

    fn name(&self, tid: i64) -> &[u8] {
        self.threads.get(tid).map_or(&[], |thread| &thread.name)
    }
}

#[cfg(test)]
mod tests;
