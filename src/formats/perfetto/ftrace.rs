//! Ftrace events of the kernel: scheduling, CPU frequencies, system calls, and program markers such as `B|pid|name`.
//! All others become spans, counters or instants by the tables of the `kernel_*` files.

use std::collections::BTreeMap;
use std::mem;

use rustc_hash::FxHashMap;

use super::clocks::{Clocks, FTRACE_CLOCK, Time};
use super::descriptors::Descriptors;
use super::emit::{EmitBatch, emit_if_full};
use super::fields::builtin_clock;
use super::kernel_counters::{CounterOwner, battery_values, counter_values, has_counters, marker_text};
use super::kernel_fields::{
    binder_received_event, binder_return_event, binder_transaction_event, cpu_frequency_event, ftrace_clock,
    ftrace_event, ftrace_event_bundle, heap_event, print_event, sched_blocked_reason_event, sched_switch_event,
    sched_waking_event, sys_enter_event, sys_exit_event, task_newtask_event, task_rename_event,
};
use super::kernel_names::{KernelEvent, function_field};
use super::kernel_state::{DeviceQueues, Devices, DiskTotals, Network};
use super::kernel_types::KernelTypes;
use super::kernel_window::{KernelWindow, SortedEvents, WaitingEvent, waiting_bytes_max};
use super::sequence::InternedTexts;
use super::tracks::{PerfettoTracks, TrackNumber};
use crate::base::budget::Budget;
use crate::formats::ReadError;
use crate::formats::linux::binder::{Binder, BinderEvent, BinderThread, BinderTransaction};
use crate::formats::linux::scheduler::{BlockedReason, Scheduler, SchedulerTask, Switch, TaskState};
use crate::formats::linux::syscalls::{CallThread, SystemCall, ThreadCalls, end_of_current};
use crate::formats::linux::trace_markers::{MarkerSource, marker};
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::{Event, EventKind, Id, Loss, NameIdx, SourcePos, TrackIdx};

/// State of kernel events across bundles.
#[derive(Debug, Default)]
pub(super) struct SystemState {
    pub(super) scheduler: Scheduler,
    /// Whether the kernel is older than 4.14, which changed the thread state bits.
    is_before_4_14: bool,
    /// Machine type, which defines the system call numbers.
    machine: String,
    is_begun: bool,
    pub(super) args: ArgsWriter,
    /// Event types described in bundles.
    pub(super) types: KernelTypes,
    binder: Binder,
    calls: ThreadCalls,
    /// Events that wait for older ones, by sequence.
    windows: BTreeMap<u32, KernelWindow>,
    /// Limit for the memory of the waiting events.
    waiting_bytes_max: usize,
    is_live: bool,
    /// The thread on each CPU by the last switch of compact scheduling, also the idle one.
    pub(super) compact_running: FxHashMap<u64, i64>,
    /// Process of each address space in `rss_stat` events.
    pub(super) spaces: FxHashMap<u64, i64>,
    /// Threads within a CMA allocation, with the pages that it has moved, as members of an object.
    pub(super) allocating: FxHashMap<i64, Box<str>>,
    /// Counter names of power rails, by session and index.
    pub(super) rails: FxHashMap<(u64, u64), Box<str>>,
    /// Time of the first trigger of the recording.
    pub(super) first_trigger_ns: Option<i64>,
    pub(super) job_queues: DeviceQueues,
    pub(super) network: Network,
    pub(super) devices: Devices,
    /// Last totals of each disk.
    pub(super) disks: FxHashMap<Box<str>, DiskTotals>,
}

impl SystemState {
    pub(super) fn new(budget: &Budget, is_live: bool) -> Self {
        Self { waiting_bytes_max: waiting_bytes_max(budget), is_live, ..Self::default() }
    }

    /// Decodes the state of a thread by the bits of the kernel's version.
    pub(super) fn task_state(&self, bits: u64) -> TaskState {
        TaskState::from_bits(bits, self.is_before_4_14)
    }

    /// Initialises the state with the descriptors of the whole trace, before the first event.
    pub(super) fn begin(&mut self, described: &Descriptors) {
        if !self.is_begun {
            described.process_of.iter().for_each(|(&tid, &pid)| self.scheduler.set_process(tid, pid));
            (self.is_begun, self.is_before_4_14) = (true, described.is_before_4_14);
            self.machine.clone_from(&described.machine);
        }
    }
}

/// Limit for the sequences whose events wait; recordings have one for each kernel.
const WINDOWS_MAX: usize = 64;

/// Time in which events of a live trace wait at most, so that the view shows them soon.
const LIVE_WAIT_NS: i64 = 2_000_000_000;

/// Message of the loss of the order of events.
const LATE: &str = "Kernel events could not all be sorted across CPUs within the memory limit. This event is shown, but spans and states that depend on it may be wrong. Raise the memory limit.";

/// Builds the events of ftrace bundles, and of packets about the system, its devices and its logs.
pub(super) struct SystemEventBuilder<'t> {
    pub(super) state: &'t mut SystemState,
    pub(super) clocks: &'t mut Clocks,
    pub(super) tracks: &'t mut PerfettoTracks,
    pub(super) batch: &'t mut BatchBuilder,
    /// Interned texts of the sequence.
    pub(super) texts: Option<&'t InternedTexts>,
    pub(super) sequence: u32,
    pub(super) pos: SourcePos,
}

/// The clock of a bundle, and the offset of its times.
#[derive(Debug, Clone, Copy)]
struct BundleClock {
    id: u64,
    shift_ns: i64,
}

/// A bundle of one CPU that is being read.
pub(super) struct OpenBundle {
    pub(super) cpu: u64,
    clock: BundleClock,
    window: KernelWindow,
    /// Limit for the memory of the window.
    window_bytes_max: usize,
}

impl<'t> SystemEventBuilder<'t> {
    /// Reads the bundle of one CPU. Its events wait for older ones of other CPUs.
    pub(super) fn bundle(&mut self, bytes: &[u8], emit: EmitBatch<'_>) -> Result<(), ReadError> {
        self.state.begin(self.tracks.all_described());
        let (mut cpu, mut clock, mut ftrace_ns, mut boot_ns) = (0, 0, None, None);
        let mut fields = Fields::new(bytes);
        for field in fields.by_ref() {
            match field.number {
                ftrace_event_bundle::CPU => cpu = field.value.number(),
                ftrace_event_bundle::LOST_EVENTS if field.value.number() != 0 => {
                    self.batch.lose(Loss::RecorderLost, self.pos);
                }
                ftrace_event_bundle::FTRACE_CLOCK => clock = field.value.number(),
                ftrace_event_bundle::GENERIC_EVENT_DESCRIPTORS => self.describe_event(field.value.bytes()),
                ftrace_event_bundle::FTRACE_TIMESTAMP => ftrace_ns = Some(field.value.signed()),
                ftrace_event_bundle::BOOT_TIMESTAMP => boot_ns = Some(field.value.signed()),
                _ => {}
            }
        }
        if fields.is_broken() {
            self.batch.lose(Loss::BadRecord, self.pos);
        }
        let shift_ns = ftrace_ns.and_then(|ftrace_ns| boot_ns?.checked_sub(ftrace_ns)).unwrap_or(0);
        // Snapshots have only one other kernel clock, the raw clock.
        let clock = match clock {
            ftrace_clock::FTRACE_CLOCK_MONO_RAW => BundleClock { id: builtin_clock::MONOTONIC_RAW, shift_ns: 0 },
            _ => BundleClock { id: FTRACE_CLOCK, shift_ns },
        };
        let mut window = self.state.windows.remove(&self.sequence).unwrap_or_default();
        let others: usize = self.state.windows.values().map(KernelWindow::memory_bytes).sum();
        let window_bytes_max = self.state.waiting_bytes_max.saturating_sub(others);
        let live_ns = window.newest_ns().filter(|_| self.state.is_live).map(|ns| ns.saturating_sub(LIVE_WAIT_NS));
        if let Some(safe_ns) = window.begin_bundle(cpu).max(live_ns) {
            self.add_events(&window.take_until(safe_ns), emit)?;
        }
        let mut bundle = OpenBundle { cpu, clock, window, window_bytes_max };
        for field in Fields::new(bytes) {
            match (field.number, field.value) {
                (ftrace_event_bundle::EVENT, ProtoValue::Bytes(bytes)) => self.event(&mut bundle, bytes, emit)?,
                (ftrace_event_bundle::COMPACT_SCHED, ProtoValue::Bytes(bytes)) => {
                    self.compact(&mut bundle, bytes, emit)?;
                }
                _ => {}
            }
        }
        if self.state.windows.len() < WINDOWS_MAX {
            self.state.windows.insert(self.sequence, bundle.window);
            return Ok(());
        }
        self.add_events(&bundle.window.take_until(i64::MAX), emit)
    }

    /// Lets an event wait for older ones. Adds the older half of the waiting events if they take too much memory.
    pub(super) fn hold(
        &mut self,
        bundle: &mut OpenBundle,
        event: WaitingEvent,
        (fields, name): (&[u8], &[u8]),
        emit: EmitBatch<'_>,
    ) -> Result<(), ReadError> {
        if !bundle.window.push(event, fields, name) {
            self.batch.losses().add_because(LATE, Loss::OverLimit, self.pos);
        }
        if bundle.window.memory_bytes() > bundle.window_bytes_max {
            self.add_events(&bundle.window.take_half(), emit)?;
        }
        Ok(())
    }

    /// Adds events in time order.
    fn add_events(&mut self, sorted: &SortedEvents, emit: EmitBatch<'_>) -> Result<(), ReadError> {
        let pos = self.pos;
        for event in &sorted.events {
            self.pos = event.pos;
            self.add_event(event, event.content(&sorted.bytes));
            emit_if_full(self.batch, self.tracks, emit)?;
        }
        self.pos = pos;
        Ok(())
    }

    /// Adds the type of an event that the trace describes.
    fn describe_event(&mut self, descriptor: &[u8]) {
        if let Err(loss) = self.state.types.describe(descriptor) {
            self.batch.lose(loss, self.pos);
        }
    }

    /// Adds the runs that last to the end of the trace, and the events that still wait.
    pub(super) fn finish(&mut self, emit: EmitBatch<'_>) -> Result<(), ReadError> {
        for mut window in mem::take(&mut self.state.windows).into_values() {
            self.add_events(&window.take_until(i64::MAX), emit)?;
        }
        self.finish_gpu_counters();
        self.finish_operations();
        self.finish_adreno();
        self.state.scheduler.finish(self.batch, self.pos);
        Ok(())
    }

    /// Returns the interned name of the function in an event; empty if it has none. Later events of the sequence may
    /// intern other names.
    fn function(&self, number: FieldNumber, bytes: &[u8]) -> &'t [u8] {
        let symbols = self.texts.map(|texts| &texts.kernel_symbols);
        let iid = function_field(number).map(|field| bytes.number(field));
        symbols.zip(iid).and_then(|(symbols, iid)| symbols.get(iid)).map_or(&[], |name| name)
    }

    /// Returns the time of an event in a bundle.
    pub(super) fn time(&mut self, bundle: &OpenBundle, raw: u64) -> Time {
        let BundleClock { id, shift_ns } = bundle.clock;
        let shifted = raw.checked_add_signed(shift_ns);
        shifted.map_or(Time::Bad, |raw| self.clocks.time(self.sequence, Some(id), raw))
    }

    /// Returns the process id of a thread, or the thread id if the process is unknown.
    pub(super) fn pid_of(&mut self, tid: i64) -> i64 {
        self.state.scheduler.process_or_own(tid)
    }

    /// Returns the track of a thread.
    pub(super) fn thread_track(&mut self, tid: i64) -> TrackIdx {
        let pid = self.pid_of(tid);
        let track = self.tracks.thread(pid, tid);
        self.batch.track(track, self.tracks)
    }

    /// Returns a usable time, and counts a loss for others.
    pub(super) fn usable(&mut self, time: Time) -> Option<i64> {
        time.usable(self.batch, self.pos)
    }

    /// Reads an event, which waits for older ones.
    fn event(&mut self, bundle: &mut OpenBundle, bytes: &[u8], emit: EmitBatch<'_>) -> Result<(), ReadError> {
        let (mut raw, mut tid) = (None, 0);
        let mut what = None;
        let mut fields = Fields::new(bytes);
        for field in fields.by_ref() {
            match (field.number, field.value) {
                (ftrace_event::TIMESTAMP, value) => raw = Some(value.number()),
                (ftrace_event::PID, value) => tid = value.signed(),
                (number, ProtoValue::Bytes(bytes)) => what = Some((number, bytes)),
                _ => {}
            }
        }
        let (Some(raw), false) = (raw, fields.is_broken()) else {
            self.batch.lose(Loss::BadRecord, self.pos);
            return Ok(());
        };
        let Some((number, bytes)) = what else {
            self.batch.lose(Loss::IgnoredPacket, self.pos);
            return Ok(());
        };
        let time = self.time(bundle, raw);
        let ts_ns = match (number, time) {
            // The transaction and its return have the same information.
            (ftrace_event::BINDER_COMMAND, _) => None,
            // These events only describe threads, so an unconverted time loses nothing.
            (
                ftrace_event::SCHED_BLOCKED_REASON | ftrace_event::TASK_NEWTASK | ftrace_event::TASK_RENAME,
                Time::Known(ts_ns) | Time::Foreign(ts_ns),
            ) => Some(ts_ns),
            _ => self.usable(time),
        };
        let Some(ts_ns) = ts_ns else { return Ok(()) };
        let event = WaitingEvent::new(ts_ns, number, (bundle.cpu, tid), self.pos);
        self.hold(bundle, event, (bytes, self.function(number, bytes)), emit)
    }

    /// Adds an event in time order, by its fields and the name that they refer to.
    fn add_event(&mut self, event: &WaitingEvent, (bytes, name): (&[u8], &[u8])) {
        let &WaitingEvent { ts_ns, cpu, tid, number, .. } = event;
        match number {
            FieldNumber::NONE => self.compact_event(event, bytes, name),
            ftrace_event::SCHED_BLOCKED_REASON => self.blocked(bytes, name),
            ftrace_event::TASK_NEWTASK => self.new_task(ts_ns, tid, bytes),
            ftrace_event::TASK_RENAME => self.rename_task(tid, bytes),
            ftrace_event::PRINT => self.print(ts_ns, tid, bytes),
            ftrace_event::SCHED_SWITCH => self.switch(cpu, ts_ns, bytes),
            ftrace_event::SCHED_WAKEUP | ftrace_event::SCHED_WAKING | ftrace_event::SCHED_WAKEUP_NEW => {
                self.wake(ts_ns, tid, bytes);
            }
            ftrace_event::CPU_FREQUENCY => self.frequency(ts_ns, bytes),
            ftrace_event::BINDER_TRANSACTION
            | ftrace_event::BINDER_TRANSACTION_RECEIVED
            | ftrace_event::BINDER_RETURN => self.binder(ts_ns, tid, binder_event(number, bytes)),
            ftrace_event::SYS_ENTER | ftrace_event::SYS_EXIT => self.system_call(ts_ns, (tid, cpu), number, bytes),
            _ => self.table_event(ts_ns, &KernelEvent { number, bytes, cpu, tid, function: name }),
        }
    }

    /// Adds the marker of a program.
    fn print(&mut self, ts_ns: i64, tid: i64, bytes: &[u8]) {
        // Programs write markers with a system call, whose end must not close the span that the marker opens.
        if self.state.calls.end_early(tid) {
            self.end_call(ts_ns, tid);
        }
        let text = bytes.content(print_event::BUF).unwrap_or_default();
        marker(&mut self.state.scheduler, self.batch, MarkerSource { ts_ns, tid, pos: self.pos }, text);
    }

    /// Ends the current system call of a thread.
    fn end_call(&mut self, ts_ns: i64, tid: i64) {
        let track = self.thread_track(tid);
        self.batch.push(end_of_current(ts_ns, track));
    }

    /// Sets the process and the name of a new thread.
    fn new_task(&mut self, ts_ns: i64, maker: i64, bytes: &[u8]) {
        let (mut tid, mut name, mut flags) = (0, &b""[..], 0);
        for field in Fields::new(bytes) {
            match field.number {
                task_newtask_event::PID => tid = field.value.signed(),
                task_newtask_event::COMM => name = field.value.bytes(),
                task_newtask_event::CLONE_FLAGS => flags = field.value.number(),
                _ => {}
            }
        }
        // An earlier thread may have had the id.
        if self.state.calls.start_thread(tid) {
            self.end_call(ts_ns, tid);
        }
        self.state.scheduler.new_task(maker, tid, flags);
        self.state.scheduler.rename(self.batch, tid, name, self.pos);
    }

    /// Sets the name of a thread. Without a stated thread, this is the emitter of the event.
    fn rename_task(&mut self, emitter: i64, bytes: &[u8]) {
        let (mut tid, mut name) = (emitter, &b""[..]);
        for field in Fields::new(bytes) {
            match field.number {
                task_rename_event::PID => tid = field.value.signed(),
                task_rename_event::NEWCOMM => name = field.value.bytes(),
                _ => {}
            }
        }
        self.state.scheduler.rename(self.batch, tid, name, self.pos);
    }

    /// Handles the three wakeup messages, which share their fields.
    fn wake(&mut self, ts_ns: i64, waker: i64, bytes: &[u8]) {
        let mut task = SchedulerTask::default();
        for field in Fields::new(bytes) {
            match field.number {
                sched_waking_event::COMM => task.name = field.value.bytes(),
                sched_waking_event::PID => task.tid = field.value.signed(),
                _ => {}
            }
        }
        self.state.scheduler.wake(self.batch, ts_ns, &task, Some(waker), self.pos);
    }

    fn binder(&mut self, ts_ns: i64, tid: i64, event: BinderEvent) {
        let track = self.thread_track(tid);
        self.state.binder.add_event(self.batch, BinderThread { ts_ns, tid, track, pos: self.pos }, event);
    }

    /// Handles the events listed in tables, as counters, spans and driver markers. Others are instants.
    fn table_event(&mut self, ts_ns: i64, event: &KernelEvent<'_>) {
        let is_rss = matches!(event.number, ftrace_event::RSS_STAT | ftrace_event::RSS_STAT_THROTTLED);
        let (has_counters, is_span) = (has_counters(event.number), event.is_span());
        let text = marker_text(event.number, event.tid, event.bytes);
        if event.is_of_gpu() {
            return self.gpu_event(ts_ns, event);
        }
        if event.is_of_network() {
            return self.network_event(ts_ns, event);
        }
        if event.is_of_pair() {
            return self.push_pair(ts_ns, event);
        }
        if self.device_event(ts_ns, event) {
            return;
        }
        if !is_rss && !has_counters && !is_span && text.is_none() {
            return self.push_instant(ts_ns, event);
        }
        if let Some(text) = text {
            let written = MarkerSource { ts_ns, tid: event.tid, pos: self.pos };
            marker(&mut self.state.scheduler, self.batch, written, &text);
        }
        if is_rss {
            self.rss(ts_ns, event);
        }
        if is_span {
            self.push_span(ts_ns, event);
            self.video_flow(ts_ns, event);
        }
        for (owner, name, unit, value) in counter_values(event) {
            let pid = self.pid_of(event.tid);
            let track = match owner {
                CounterOwner::Global => self.tracks.named_counter(Id::None, &name, unit),
                CounterOwner::Thread => self.tracks.thread_counter(pid, event.tid, &name, unit),
                CounterOwner::Process(field) => match event.bytes.signed(field) {
                    0 => self.tracks.named_counter(Id::None, &name, unit),
                    pid => self.tracks.named_counter(Id::Number(pid), &name, unit),
                },
            };
            self.state.args.clear();
            if event.number == ftrace_event::DMA_HEAP_STAT && owner == CounterOwner::Thread {
                self.state.args.number("inode", event.bytes.number(heap_event::INODE));
            }
            self.push_counter_with_args(ts_ns, track, value);
        }
    }

    /// Handles the reason of a blocked thread.
    fn blocked(&mut self, bytes: &[u8], function: &[u8]) {
        let (mut tid, mut is_io_wait) = (0, false);
        for field in Fields::new(bytes) {
            match field.number {
                sched_blocked_reason_event::PID => tid = field.value.signed(),
                sched_blocked_reason_event::IO_WAIT => is_io_wait = field.value.number() != 0,
                _ => {}
            }
        }
        let reason = BlockedReason { tid, is_io_wait, function };
        self.state.scheduler.blocked(self.batch, &reason, self.pos);
    }

    /// Adds the entry or exit of a system call.
    fn system_call(&mut self, ts_ns: i64, (tid, cpu): (i64, u64), number: FieldNumber, bytes: &[u8]) {
        let is_enter = number == ftrace_event::SYS_ENTER;
        let (mut id, mut result, mut values) = (None, None, Vec::new());
        for field in Fields::new(bytes) {
            match (is_enter, field.number) {
                (true, sys_enter_event::ID) | (false, sys_exit_event::ID) => id = Some(field.value.signed()),
                (true, sys_enter_event::ARGS) => {
                    values.extend(field.value.varints().map(|value| format!("{value:x}")));
                }
                (false, sys_exit_event::RET) => result = Some(field.value.signed()),
                _ => {}
            }
        }
        let name: &[u8] = if is_enter { b"sys_enter" } else { b"sys_exit" };
        let Some(call) = id.and_then(|id| SystemCall::from_number(name, id, &self.state.machine)) else {
            return self.batch.lose(Loss::BadRecord, self.pos);
        };
        let args = &mut self.state.args;
        args.clear();
        if !values.is_empty() {
            args.text("fields", values.join(", ").as_bytes());
        }
        if let Some(result) = result {
            args.signed("ret", result);
        }
        args.number("cpu", cpu);
        let detail = self.batch.args(args.finish());
        let thread = CallThread { ts_ns, tid, track: self.thread_track(tid) };
        if let Some(event) = self.state.calls.event(self.batch, thread, &call, self.pos) {
            self.batch.push(Event { detail, ..event });
        }
    }

    fn switch(&mut self, cpu: u64, ts_ns: i64, bytes: &[u8]) {
        // A field that is left out has the value 0.
        let idle = SchedulerTask { priority: Some(0), ..SchedulerTask::default() };
        let (mut previous, mut next, mut state) = (idle, idle, 0);
        for field in Fields::new(bytes) {
            match field.number {
                sched_switch_event::PREV_COMM => previous.name = field.value.bytes(),
                sched_switch_event::PREV_PID => previous.tid = field.value.signed(),
                sched_switch_event::PREV_PRIO => previous.priority = Some(field.value.signed()),
                sched_switch_event::PREV_STATE => state = field.value.number(),
                sched_switch_event::NEXT_COMM => next.name = field.value.bytes(),
                sched_switch_event::NEXT_PID => next.tid = field.value.signed(),
                sched_switch_event::NEXT_PRIO => next.priority = Some(field.value.signed()),
                _ => {}
            }
        }
        let previous_state = Some(self.state.task_state(state));
        let switch = Switch { ts_ns, cpu, previous: Some(previous), previous_state, next };
        self.state.scheduler.switch(self.batch, &switch, self.pos);
    }

    /// Adds the frequency of a CPU, in kHz.
    fn frequency(&mut self, ts_ns: i64, bytes: &[u8]) {
        let (mut khz, mut cpu) = (0, 0);
        for field in Fields::new(bytes) {
            match field.number {
                cpu_frequency_event::STATE => khz = field.value.number(),
                cpu_frequency_event::CPU_ID => cpu = field.value.number(),
                _ => {}
            }
        }
        self.push_frequency(ts_ns, cpu, khz as f64);
    }

    pub(super) fn push_frequency(&mut self, ts_ns: i64, cpu: u64, khz: f64) {
        self.push_global(ts_ns, (&format!("CPU {cpu} frequency"), "kHz"), khz);
    }

    /// Adds a reading of the battery as global counters.
    pub(super) fn battery(&mut self, ts_ns: i64, bytes: &[u8]) {
        battery_values(bytes).for_each(|(name, unit, value)| self.push_global(ts_ns, (&name, unit), value));
    }

    /// Adds a value of a global counter, with its unit.
    pub(super) fn push_global(&mut self, ts_ns: i64, (name, unit): (&str, &str), value: f64) {
        let track = self.tracks.named_counter(Id::None, name, unit);
        self.push_counter(ts_ns, track, value);
    }

    pub(super) fn push_counter(&mut self, ts_ns: i64, track: TrackNumber, value: f64) {
        self.state.args.clear();
        self.push_counter_with_args(ts_ns, track, value);
    }

    /// Adds a value of a counter with the arguments in `state.args`.
    pub(super) fn push_counter_with_args(&mut self, ts_ns: i64, track: TrackNumber, value: f64) {
        let detail = self.batch.args(self.state.args.finish());
        let track = self.batch.track(track, self.tracks);
        let event = Event::new(ts_ns, EventKind::Counter, track, NameIdx::EMPTY);
        self.batch.push(Event { value: value.to_bits(), detail, ..event });
    }
}

/// Decodes a binder event by its field number.
fn binder_event(number: FieldNumber, bytes: &[u8]) -> BinderEvent {
    match number {
        ftrace_event::BINDER_TRANSACTION => BinderEvent::Transaction(BinderTransaction {
            id: bytes.signed(binder_transaction_event::DEBUG_ID),
            to_node: bytes.signed(binder_transaction_event::TARGET_NODE),
            to_process: bytes.signed(binder_transaction_event::TO_PROC),
            to_thread: bytes.signed(binder_transaction_event::TO_THREAD),
            is_reply: bytes.signed(binder_transaction_event::REPLY) != 0,
            flags: bytes.signed(binder_transaction_event::FLAGS).cast_unsigned(),
            code: bytes.signed(binder_transaction_event::CODE).cast_unsigned(),
        }),
        ftrace_event::BINDER_TRANSACTION_RECEIVED => {
            BinderEvent::Received { id: bytes.signed(binder_received_event::DEBUG_ID) }
        }
        _ => BinderEvent::Return { code: bytes.signed(binder_return_event::CMD).cast_unsigned() },
    }
}
