//! Converts records in time order to events.

use std::sync::Arc;

use super::counts::CounterValues;
use super::fields::{KnownField, Tracepoint};
use super::header::PerfHeader;
use super::jit_loads::JitLoads;
use super::lost::LostRecords;
use super::maps::{FrameLocation, Maps};
use super::modules::{FileIdentity, MappedFile};
use super::raw_stacks::RawStacks;
use super::rounds::PerfRecord;
use super::wire::{Attr, PerfSample, SampleId, attr_type, kind};
use rustc_hash::FxHashMap;

use crate::base::bytes::ByteCursor;
use crate::formats::ReadContext;
use crate::formats::linux::kernel_pairs::{
    KernelPair, KernelPairs, PairEvent, PairLabel, SOFTIRQS, label, pair_from_name, probed_function,
};
use crate::formats::linux::scheduler::{Scheduler, SchedulerTask, Switch, TaskState};
use crate::formats::linux::switch_records::{SwitchChange, SwitchRecord, SwitchRecords};
use crate::formats::linux::syscalls::{CallThread, SystemCall, ThreadCalls, end_of_current};
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::output::modules::path_text;
use crate::model::modules::jit_dump_pid;
use crate::model::sample_measure::unit_of_event;
use crate::model::unwind::StackEnd;
use crate::model::{
    BuildId, Event, EventKind, Id, Loss, LossValue, Metadata, NameIdx, SourcePos, StackIdx, TrackIdx, TrackKey,
};

/// Flag of a ksymbol record: the kernel has unregistered the function.
const FUNCTION_GONE: u32 = 1;

/// Flag of a mapping record that contains the build-id of its file.
const HAS_BUILD_ID: u16 = 1 << 14;

/// Flag of a comm record that was caused by `exec`.
const EXEC: u16 = 1 << 13;

/// Flag of a switch record: the thread leaves the CPU.
const SWITCH_OUT: u16 = 1 << 13;

/// Flag of a switch record: the thread that leaves was preempted.
const SWITCH_OUT_PREEMPT: u16 = 1 << 14;

/// Limit for remembered thread names, which new threads inherit.
const NAMED_THREADS_MAX: usize = 1 << 20;

/// Converts records to events of a batch.
#[derive(Debug, Default)]
pub(super) struct PerfEventBuilder {
    counters: CounterValues,
    /// Command names by thread id.
    names: FxHashMap<i32, Arc<str>>,
    maps: Maps,
    /// Frame names by module and address, and the number of the name table that they belong to.
    frame_names: (u32, FxHashMap<(usize, u64), NameIdx>),
    scheduler: Scheduler,
    switches: SwitchRecords,
    calls: ThreadCalls,
    pairs: KernelPairs,
    lost: LostRecords,
    args: ArgsWriter,
    raw_stacks: RawStacks,
    jit: JitLoads,
}

fn number(id: i32) -> Id {
    Id::Number(id.into())
}

fn thread_key(pid: i64, tid: i64) -> TrackKey {
    let (pid, tid) = (Id::Number(pid), Id::Number(tid));
    TrackKey::thread(pid, tid)
}

/// A sample with its event and time.
struct SampledEvent<'a> {
    header: &'a PerfHeader,
    attr: &'a Attr,
    sample: PerfSample<'a>,
    ts_ns: i64,
    pos: SourcePos,
}

impl PerfEventBuilder {
    pub(super) fn new(context: &ReadContext) -> Self {
        Self { raw_stacks: RawStacks::new(context), jit: JitLoads::new(context), ..Self::default() }
    }

    /// Ends the scheduler states, adds modules and UTC to the metadata, and counts lost records, at the end of the
    /// trace.
    pub(super) fn finish(&mut self, header: &PerfHeader, batch: &mut BatchBuilder) {
        self.lost.finish(batch);
        self.pairs.finish(batch);
        self.scheduler.finish(batch, SourcePos::Offset(0));
        batch.extend_metadata(header.utc_offset_ns.map(|offset_ns| Metadata::Utc { offset_ns }));
        let unwound = self.raw_stacks.modules().into_iter().chain(std::mem::take(&mut self.jit).modules());
        batch.extend_metadata(unwound.map(|module| Metadata::Unwound { module: Box::new(module) }));
        let modules = std::mem::take(&mut self.maps.modules);
        let used = modules.used_modules(header.release.as_deref());
        batch.extend_metadata(used.map(|module| Metadata::Module { module: Box::new(module) }));
    }

    pub(super) fn add_record(&mut self, header: &PerfHeader, record: PerfRecord<'_>, batch: &mut BatchBuilder) {
        let pos = SourcePos::Offset(record.offset);
        if !self.jit.map_until(record.time_ns, &mut self.maps) {
            batch.lose(Loss::OverLimit, pos);
        }
        let taken = match record.kind {
            kind::SAMPLE => {
                let attr = header.attr(record.kind, record.body);
                attr.and_then(|attr| self.sample(header, attr, record, batch))
            }
            kind::MMAP | kind::MMAP2 => self.map(header, record, pos, batch),
            kind::COMM => self.name(record, pos, batch),
            kind::FORK => self.fork(record, pos, batch),
            kind::EXIT => self.exit(header, record, pos, batch),
            kind::SWITCH | kind::SWITCH_CPU_WIDE => {
                self.switch(header, record, pos, batch);
                Some(())
            }
            kind::KSYMBOL => self.function(record.body, pos, batch),
            kind => {
                let time_ns = || header.attr(kind, record.body)?.time(kind, record.body);
                self.lost.add((kind, record.body), time_ns(), pos, batch)
            }
        };
        if taken.is_none() {
            batch.lose(Loss::BadRecord, pos);
        }
    }

    /// Reads entries of the build-id list. Returns `None` at damage.
    pub(super) fn list_build_ids(&mut self, bytes: &[u8]) -> Option<()> {
        self.maps.modules.list(bytes)
    }

    /// Reads one entry of the build-id list, without its header. Returns `None` if it is damaged.
    pub(super) fn list_build_id(&mut self, misc: u16, body: &[u8]) -> Option<()> {
        self.maps.modules.list_one(misc, body)
    }

    fn map(
        &mut self,
        header: &PerfHeader,
        record: PerfRecord<'_>,
        pos: SourcePos,
        batch: &mut BatchBuilder,
    ) -> Option<()> {
        let mut front = ByteCursor(record.body);
        let (pid, _tid) = (front.i32()?, front.i32()?);
        let (start, len, offset) = (front.u64()?, front.u64()?, front.u64()?);
        let (mut build_id, mut identity) = (None, None);
        if record.kind == kind::MMAP2 {
            // Device, inode and generation, or a build-id with its length before it; then protection and flags.
            let bytes = front.bytes(24)?;
            front.bytes(8)?;
            if record.misc & HAS_BUILD_ID != 0 {
                build_id = BuildId::from_field(&bytes[4..], Some(bytes[0].into()));
            } else {
                let mut fields = ByteCursor(bytes);
                let (device, inode, generation) = (fields.u64()?, fields.u64()?, fields.u64()?);
                identity = (inode != 0).then_some(FileIdentity { device, inode, generation });
            }
        }
        let file = MappedFile { path: front.text(), build_id, identity };
        if !self.maps.add(pid.into(), start, len, offset, &file) {
            batch.lose(Loss::OverLimit, pos);
        }
        if header.has_monotonic_clock() {
            let path = path_text(file.path);
            if jit_dump_pid(&path).is_some() && !self.jit.add_dump(pid.into(), &path) {
                batch.lose(Loss::OverLimit, pos);
            }
        }
        Some(())
    }

    fn name(&mut self, record: PerfRecord<'_>, pos: SourcePos, batch: &mut BatchBuilder) -> Option<()> {
        let mut front = ByteCursor(record.body);
        let (pid, tid) = (front.i32()?, front.i32()?);
        self.scheduler.learn_process(batch, tid.into(), pid.into());
        if record.misc & EXEC != 0 {
            self.maps.forget(pid.into());
        }
        let name = crate::formats::output::batch::label(front.text(), pos, batch.losses());
        self.remember_name(tid, (&*name).into());
        batch.add_metadata(Metadata::KernelName { pid: number(pid), tid: number(tid), name });
        Some(())
    }

    /// Handles the exit of a thread, which shows that it is running. Recordings of one command lack the switch that
    /// follows.
    fn exit(
        &mut self,
        header: &PerfHeader,
        record: PerfRecord<'_>,
        pos: SourcePos,
        batch: &mut BatchBuilder,
    ) -> Option<()> {
        let mut front = ByteCursor(record.body);
        let (pid, _parent, tid) = (front.i32()?, front.i32()?, front.i32()?);
        if pid == tid {
            self.maps.exit(pid.into());
        }
        self.scheduler.runs(batch, (record.time_ns, None), tid.into());
        self.change(header, record, SwitchChange::Exit, pos, batch);
        Some(())
    }

    /// Handles a switch record of perf itself. Counts a record without a time or a thread.
    fn switch(&mut self, header: &PerfHeader, record: PerfRecord<'_>, pos: SourcePos, batch: &mut BatchBuilder) {
        if header.has_sched_switch() {
            self.switches.see_tracepoint();
        }
        let change = match (record.misc & SWITCH_OUT != 0, record.misc & SWITCH_OUT_PREEMPT != 0) {
            (false, _) => SwitchChange::In,
            (true, false) => SwitchChange::Out,
            (true, true) => SwitchChange::Preempted,
        };
        if !self.change(header, record, change, pos, batch) {
            batch.lose_value(Loss::IgnoredPacket, LossValue::text(b"switch without a time or a thread"), pos);
        }
    }

    /// Adds the change of the thread at the end of a record. Returns false if the record has no thread or time there.
    fn change(
        &mut self,
        header: &PerfHeader,
        record: PerfRecord<'_>,
        change: SwitchChange,
        pos: SourcePos,
        batch: &mut BatchBuilder,
    ) -> bool {
        let attr = header.attr(record.kind, record.body);
        let Some(id) = attr.and_then(|attr| attr.sample_id(record.body)) else { return false };
        let SampleId { pid, tid, cpu } = id;
        if tid > 0 {
            self.scheduler.learn_process(batch, tid, pid);
        }
        let name = i32::try_from(tid).ok().and_then(|tid| self.names.get(&tid)).map_or("", |name| name);
        let record = SwitchRecord { ts_ns: record.time_ns, cpu, tid, name: name.as_bytes(), change };
        self.switches.add(&mut self.scheduler, batch, &record, pos);
        true
    }

    fn fork(&mut self, record: PerfRecord<'_>, pos: SourcePos, batch: &mut BatchBuilder) -> Option<()> {
        let mut front = ByteCursor(record.body);
        let (pid, parent, tid, parent_tid) = (front.i32()?, front.i32()?, front.i32()?, front.i32()?);
        if self.calls.start_thread(tid.into()) {
            let earlier = self.scheduler.process(tid.into()).unwrap_or(pid.into());
            let track = batch.track_with(&thread_key(earlier, tid.into()));
            batch.push(end_of_current(record.time_ns, track));
        }
        self.scheduler.set_process(tid.into(), pid.into());
        // A new thread inherits the name of its creator until it is renamed.
        if let Some(name) = self.names.get(&parent_tid).cloned() {
            batch.add_metadata(Metadata::KernelName { pid: number(pid), tid: number(tid), name: (&*name).into() });
            self.remember_name(tid, name);
        }
        if !self.maps.fork(parent.into(), pid.into()) {
            batch.lose(Loss::OverLimit, pos);
        }
        Some(())
    }

    fn remember_name(&mut self, tid: i32, name: Arc<str>) {
        if self.names.len() < NAMED_THREADS_MAX || self.names.contains_key(&tid) {
            self.names.insert(tid, name);
        }
    }

    /// Handles a function that the kernel registered or unregistered.
    fn function(&mut self, body: &[u8], pos: SourcePos, batch: &mut BatchBuilder) -> Option<()> {
        let mut front = ByteCursor(body);
        let (start, len, kind_and_flags) = (front.u64()?, front.u32()?, front.u32()?);
        if kind_and_flags >> 16 & FUNCTION_GONE != 0 {
            self.maps.remove_function(start);
        } else if !self.maps.add_function(start, len.into(), front.text()) {
            batch.lose(Loss::OverLimit, pos);
        }
        Some(())
    }

    fn sample(
        &mut self,
        header: &PerfHeader,
        attr: &Attr,
        record: PerfRecord<'_>,
        batch: &mut BatchBuilder,
    ) -> Option<()> {
        let (ts_ns, pos) = (record.time_ns, SourcePos::Offset(record.offset));
        let event = SampledEvent { header, attr, sample: PerfSample::read(attr, record.body)?, ts_ns, pos };
        let sample = &event.sample;
        if sample.tid > 0 {
            self.scheduler.learn_process(batch, sample.tid, sample.pid);
        }
        if attr.has_time() {
            self.scheduler.runs(batch, (ts_ns, None), sample.tid);
        }
        let is_tracepoint = attr.kind == attr_type::TRACEPOINT;
        let is_scheduling = is_tracepoint && self.scheduling(&event, batch).is_some();
        // A tracepoint without callers has itself as its only frame.
        let has_program = sample.program.is_some_and(|program| program.abi != 0);
        let has_stack = has_program || sample.addresses().nth(usize::from(is_tracepoint)).is_some();
        if is_scheduling && !has_stack {
            return Some(());
        }
        let stack = self.stack(&event, batch);
        if is_scheduling && attr.has_time() {
            self.scheduler.add_switch_stack(batch, None, stack, pos);
        }
        let track = batch.track_with(&thread_key(sample.pid, sample.tid));
        if !is_tracepoint && !sample.counts.is_empty() {
            return self.counted_samples(&event, record.body, (track, stack), batch);
        }
        let tracepoint = header.tracepoints.get(attr.config).filter(|_| is_tracepoint);
        if is_tracepoint && !is_scheduling {
            self.tracepoint(&event, track, batch);
        }
        if !is_tracepoint || has_stack {
            begin_args(&mut self.args, attr);
            // The fields of other tracepoints are arguments of their own event.
            if let Some(tracepoint) = tracepoint.filter(|_| is_scheduling)
                && tracepoint.write(sample.raw, &mut self.args).is_none()
            {
                batch.lose(Loss::BadRecord, pos);
            }
            let detail = finish_args(&mut self.args, sample.period, sample.cpu, batch);
            batch.push_sample(ts_ns, track, stack, detail);
        }
        Some(())
    }

    /// Adds the event of a tracepoint: a part of a system call, of an interrupt or of a work item, or an instant.
    fn tracepoint(&mut self, sampled: &SampledEvent<'_>, track: TrackIdx, batch: &mut BatchBuilder) {
        let &SampledEvent { header, attr, ref sample, ts_ns, pos } = sampled;
        self.args.clear();
        match header.tracepoints.get(attr.config).map(|tracepoint| tracepoint.write(sample.raw, &mut self.args)) {
            None => batch.lose(Loss::IgnoredArguments, pos),
            Some(None) => batch.lose(Loss::BadRecord, pos),
            Some(Some(())) => {}
        }
        let name = attr.name.as_bytes();
        if let Some((pair, is_begin)) = pair_from_name(name) {
            let thread = thread_key(sample.pid, sample.tid);
            let event = PairEvent { ts_ns, cpu: sample.cpu, thread: &thread, name, pos };
            if !is_begin && self.pairs.end(batch, pair, &event, None) {
                return;
            }
            let layout = header.tracepoints.layout(attr.config);
            if let Some(label) = span_label(pair, name, layout, sample.raw).filter(|_| is_begin) {
                write_period(&mut self.args, sample.period, sample.cpu);
                return self.pairs.begin(batch, pair, &event, (label, self.args.finish()));
            }
        }
        let detail = finish_args(&mut self.args, sample.period, sample.cpu, batch);
        let call = SystemCall::from_tracepoint(name).or_else(|| {
            let number = header.tracepoints.layout(attr.config).number(KnownField::Id, sample.raw)?;
            SystemCall::from_number(name, number, &header.machine)
        });
        let thread = CallThread { ts_ns, tid: sample.tid, track };
        let event = match &call {
            Some(call) => self.calls.event(batch, thread, call, pos),
            None => Some(Event::new(ts_ns, EventKind::Instant, track, batch.name(name, None, pos))),
        };
        if let Some(event) = event {
            batch.push(Event { detail, ..event });
        }
    }

    /// Returns the stack of a sample. Unwinds the user stack if it was recorded as bytes.
    fn stack(&mut self, event: &SampledEvent<'_>, batch: &mut BatchBuilder) -> StackIdx {
        let &SampledEvent { header, attr, ref sample, pos, .. } = event;
        let unwound =
            sample.program.and_then(|it| self.raw_stacks.unwind(&it, &header.machine, &mut self.maps, sample.pid));
        // Kernel threads have no user stack.
        let has_program = sample.program.is_none_or(|program| program.abi != 0);
        if attr.has_raw_stacks() && has_program && unwound.is_none_or(|end| end == StackEnd::NoFile) {
            batch.lose(Loss::RawStack, pos);
        }
        let mut stack = StackIdx::EMPTY;
        let Some(end) = unwound else {
            for address in sample.addresses().rev() {
                let name = self.frame_name(sample.pid, address, pos, batch);
                stack = batch.frame(stack, name);
            }
            return stack;
        };
        if let Some(mark) = end.mark() {
            let name = batch.name(mark.as_bytes(), None, pos);
            stack = batch.frame(stack, name);
        }
        let program = std::mem::take(&mut self.raw_stacks.addresses);
        for address in sample.kernel_addresses(program.first().copied()).chain(program.iter().copied()).rev() {
            let name = self.frame_name(sample.pid, address, pos, batch);
            stack = batch.frame(stack, name);
        }
        self.raw_stacks.addresses = program;
        stack
    }

    /// Returns the name of a frame. Cached, since formatting the text for each sample would be slow.
    fn frame_name(&mut self, pid: i64, address: u64, pos: SourcePos, batch: &mut BatchBuilder) -> NameIdx {
        let location = self.maps.locate(pid, address);
        let key = match location {
            FrameLocation::File { module, address } => Some((module, address)),
            FrameLocation::Function(_) | FrameLocation::Unmapped { .. } => None,
        };
        if self.frame_names.0 != batch.names_number() {
            self.frame_names = (batch.names_number(), FxHashMap::default());
        }
        if let Some(&name) = key.and_then(|key| self.frame_names.1.get(&key)) {
            return name;
        }
        let frame = self.maps.text(&location);
        let name = batch.name(frame.text.as_bytes(), frame.category.as_deref().map(str::as_bytes), pos);
        // A name beyond the limit is counted as lost each time.
        if let Some(key) = key.filter(|_| name != NameIdx::EMPTY) {
            self.frame_names.1.insert(key, name);
        }
        name
    }

    /// Adds a sample for each counter that increased since the previous sample.
    fn counted_samples(
        &mut self,
        sampled: &SampledEvent<'_>,
        body: &[u8],
        (track, stack): (TrackIdx, StackIdx),
        batch: &mut BatchBuilder,
    ) -> Option<()> {
        let &SampledEvent { header, attr, ref sample, ts_ns, .. } = sampled;
        let thread = i32::try_from(sample.tid).ok().filter(|_| attr.counts_threads());
        let counted = self.counters.count(attr.counts(), sample.counts, attr.id(kind::SAMPLE, body), thread)?;
        for &(id, period) in counted {
            let event = header.by_id.get(&id).and_then(|&row| header.attrs.get(row)).unwrap_or(attr);
            begin_args(&mut self.args, event);
            let detail = finish_args(&mut self.args, Some(period), sample.cpu, batch);
            batch.push_sample(ts_ns, track, stack, detail);
        }
        Some(())
    }

    /// Handles scheduler tracepoints. Returns `None` for other tracepoints, and if the fields of a thread are missing.
    fn scheduling(&mut self, event: &SampledEvent<'_>, batch: &mut BatchBuilder) -> Option<()> {
        let &SampledEvent { header, attr, ref sample, ts_ns, pos } = event;
        let layout = header.tracepoints.layout(attr.config);
        let task = |name, tid, priority| {
            let (name, tid) = (layout.text(name, sample.raw)?, layout.number(tid, sample.raw)?);
            Some(SchedulerTask { name, tid, priority: layout.number(priority, sample.raw) })
        };
        match attr.name.strip_prefix("sched:")? {
            "sched_switch" => {
                let previous = task(KnownField::PrevComm, KnownField::PrevPid, KnownField::PrevPrio)?;
                let mut next = task(KnownField::NextComm, KnownField::NextPid, KnownField::NextPrio)?;
                if attr.is_of_command && next.tid != 0 && self.scheduler.process(next.tid).is_none() {
                    // No switch will end the run of a thread that is not recorded.
                    batch.lose(Loss::UnrecordedRun, pos);
                    next = SchedulerTask::default();
                }
                let state = layout.number(KnownField::PrevState, sample.raw)?;
                let previous_state = Some(TaskState::from_bits(state.cast_unsigned(), false));
                let switch = Switch { ts_ns, cpu: sample.cpu?, previous: Some(previous), previous_state, next };
                self.scheduler.switch(batch, &switch, pos);
            }
            "sched_waking" | "sched_wakeup" | "sched_wakeup_new" => {
                let waker = Some(sample.tid).filter(|tid| *tid >= 0);
                self.scheduler.wake(
                    batch,
                    ts_ns,
                    &task(KnownField::Comm, KnownField::Pid, KnownField::Prio)?,
                    waker,
                    pos,
                );
            }
            _ => return None,
        }
        Some(())
    }
}

/// Begins the arguments of a sample with its event, and the unit if the name of the event does not say it.
fn begin_args(args: &mut ArgsWriter, attr: &Attr) {
    args.clear();
    args.text("event", attr.name.as_bytes());
    if attr.unit() != unit_of_event(&attr.name) {
        args.text("unit", attr.unit().as_bytes());
    }
}

/// Returns the name of the span that a tracepoint starts.
fn span_label(pair: &KernelPair, name: &[u8], layout: &Tracepoint, raw: &[u8]) -> Option<String> {
    let what = match pair.label {
        PairLabel::Irq => String::from_utf8_lossy(layout.text(KnownField::Name, raw)?),
        PairLabel::Softirq => {
            let vector = layout.number(KnownField::Vec, raw)?.cast_unsigned();
            SOFTIRQS.iter().find(|(number, _)| *number == vector)?.1.into()
        }
        PairLabel::Function => format!("{:#x}", layout.number(KnownField::Function, raw)?).into(),
        PairLabel::Probe => String::from_utf8_lossy(probed_function(pair, name)),
        PairLabel::Fixed(text) => text.into(),
    };
    Some(label(pair, &what))
}

/// Adds the last arguments, and returns the index for [`Event::detail`].
fn finish_args(args: &mut ArgsWriter, period: Option<u64>, cpu: Option<u64>, batch: &mut BatchBuilder) -> u32 {
    write_period(args, period, cpu);
    batch.args(args.finish())
}

fn write_period(args: &mut ArgsWriter, period: Option<u64>, cpu: Option<u64>) {
    if let Some(period) = period {
        args.number("period", period);
    }
    if let Some(cpu) = cpu {
        args.number("cpu", cpu);
    }
}
