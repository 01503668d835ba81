//! JSON of `perf data convert --to-json`: a document with headers and samples in order of time. A sample has a thread,
//! a command and a stack, innermost frame first, with names of functions and files. Newer versions add the fields of
//! tracepoints, from which scheduling, system calls and instants are read. The document names no events and no periods.
//! Frames without a function are shown by address.

mod sample;
mod tracepoint;

use self::sample::{JsonSample, SampleFrame, SampleMembers};
use self::tracepoint::{JsonTracepoint, TracepointFields};
use super::event_text::{KernelText, TextEvent};
use super::syscalls::{CallThread, ThreadCalls};
use crate::formats::format::{DataKind, Format, Opener};
use crate::formats::input::source::Source;
use crate::formats::json::document::Document;
use crate::formats::json::outline::Outline;
use crate::formats::json::sniff::looks_like_json;
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::{BatchBuilder, STACK_FRAMES_MAX};
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::{Event, EventKind, Loss, Metadata, SourcePos, StackIdx, TrackIdx};

pub(crate) const FORMAT: Format = Format {
    name: "perf JSON",
    record: "A sample is an object with timestamp, pid, tid, comm and a callchain of frames with ip, symbol and dso.",
    sniff: looks_like_perf_json,
    is_event: None,
    live: None,
    shows: &[DataKind::Spans, DataKind::Instants, DataKind::Arguments, DataKind::Scheduling, DataKind::Samples],
    opener: Opener::Trace(|source, _| Ok(Reader::stream(PerfJson { source }))),
};

/// Key of the version, with which each document begins.
const VERSION_KEY: &str = "linux-perf-json-version";

/// Distance between samples without times.
const UNTIMED_NS: i64 = 1_000_000;

/// Returns whether this is a document with the version of perf. Beside the events of Chrome JSON, the key is metadata.
fn looks_like_perf_json(head: &[u8]) -> bool {
    if !looks_like_json(head) {
        return false;
    }
    let outline = Outline::from_head(head);
    outline.has_all(&[VERSION_KEY]) && !outline.has_all(&["traceEvents"])
}

struct PerfJson {
    source: Source,
}

impl StreamReader for PerfJson {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let document = Document::open(self.source, context)?;
        let [headers, samples] = document.pick(document.whole(), ["headers", "samples"])?;
        let Some(samples) = samples else { return Err(document.without("the JSON of perf with samples")) };
        let (mut batch, mut builder) = (BatchBuilder::new(context.chunk_limits), SampleBuilder::default());
        if let Some(headers) = headers {
            let [machine, clock, utc] = document.pick(headers, ["arch", "clock-time", "real-time"])?;
            let machine = document.value::<String>(machine, batch.losses())?;
            builder.kernel.machine = machine.unwrap_or_default();
            let clock_ns = document.value::<i64>(clock, batch.losses())?;
            let utc_ns = document.value::<i64>(utc, batch.losses())?;
            // Both clocks were read together, if the recording has a clock (`-k`).
            let offset_ns = utc_ns.zip(clock_ns).and_then(|(utc_ns, clock_ns)| utc_ns.checked_sub(clock_ns));
            batch.extend_metadata(offset_ns.map(|offset_ns| Metadata::Utc { offset_ns }));
        }
        if !document.is_array(samples)? && !document.is_cut() {
            batch.lose(Loss::BadRecord, samples.pos());
        }
        let mut samples = document.elements(Some(samples));
        while let Some(element) = samples.next()? {
            let pos = SourcePos::Offset(element.offset);
            if let Some(members) = element.parse::<SampleMembers<'_>>(batch.losses()) {
                builder.add(&JsonSample::from_members(&members), pos, &mut batch);
            }
            batch.flush_if_full(sink, context)?;
        }
        builder.kernel.finish(&mut batch);
        document.count_rest(batch.losses())?;
        batch.flush(sink)
    }
}

#[derive(Debug, Default)]
struct SampleBuilder {
    kernel: KernelText,
    calls: ThreadCalls,
    args: ArgsWriter,
    /// Time of the last sample; `None` before the first.
    last_ns: Option<i64>,
    /// Whether a sample had a time.
    has_times: bool,
}

impl SampleBuilder {
    fn add(&mut self, sample: &JsonSample<'_>, pos: SourcePos, batch: &mut BatchBuilder) {
        let Some(ts_ns) = self.time(sample, pos, batch) else { return batch.lose(Loss::BadTime, pos) };
        let (Some(pid), Some(tid)) = (sample.pid.or(sample.tid), sample.tid.or(sample.pid)) else {
            return batch.lose(Loss::BadRecord, pos);
        };
        batch.losses().add_many(Loss::BadRecord, pos, sample.bad_count);
        if tid > 0 {
            self.kernel.scheduler.learn_process(batch, tid, pid);
        }
        if self.has_times {
            self.kernel.scheduler.runs(batch, (ts_ns, None), tid);
        }
        let fields = TracepointFields(&sample.fields);
        let tracepoint = fields.tracepoint(sample.event.as_deref(), &self.kernel.machine);
        let name = tracepoint.as_ref().map_or(&b""[..], |tracepoint| tracepoint.name());
        // perf names a thread by its id if it does not know the command.
        let task = sample.comm.as_deref().filter(|comm| *comm != format!(":{tid}")).unwrap_or_default().as_bytes();
        let event = TextEvent { ts_ns, tid, task, cpu: sample.cpu, name, fields: b"", pos };
        self.kernel.name_task(batch, &event);
        let is_scheduling = tracepoint.as_ref().is_some_and(|tracepoint| self.schedule(tracepoint, &event, batch));
        // A tracepoint without callers has itself as its only frame.
        let has_stack = sample.frames.len() > usize::from(tracepoint.is_some());
        if is_scheduling && !has_stack {
            return;
        }
        let track = batch.track_with(&self.kernel.thread(tid));
        if let Some(tracepoint) = tracepoint.as_ref().filter(|_| !is_scheduling) {
            self.tracepoint(tracepoint, &fields, &event, track, batch);
        }
        if tracepoint.is_none() || has_stack {
            self.args.clear();
            let event_name =
                if name.is_empty() { sample.event.as_deref().unwrap_or_default().as_bytes() } else { name };
            if !event_name.is_empty() {
                self.args.text("event", event_name);
            }
            if is_scheduling {
                // The fields of other tracepoints are arguments of their own event.
                fields.write(&mut self.args);
            }
            let detail = self.finish_args(sample.cpu, batch);
            let stack = stack(&sample.frames, pos, batch);
            if is_scheduling && self.has_times {
                self.kernel.scheduler.add_switch_stack(batch, None, stack, pos);
            }
            batch.push_sample(ts_ns, track, stack, detail);
        }
    }

    /// Returns the time of a sample; `None` if it is unreadable. perf writes -1 for a sample without a time.
    fn time(&mut self, sample: &JsonSample<'_>, pos: SourcePos, batch: &mut BatchBuilder) -> Option<i64> {
        /// All bits set.
        const NO_TIME: i64 = -1;
        let written = sample.ts_ns?;
        let ts_ns = match self.last_ns {
            _ if written != NO_TIME => written,
            Some(last_ns) if self.has_times => last_ns,
            Some(last_ns) => last_ns.saturating_add(UNTIMED_NS),
            None => UNTIMED_NS,
        };
        if written != NO_TIME {
            self.has_times = true;
        } else if self.last_ns.is_none() {
            batch.lose(Loss::NoTimes, pos);
        }
        self.last_ns = Some(ts_ns);
        Some(ts_ns)
    }

    /// Adds a scheduler event; returns `false` for all others, and for a switch without a CPU.
    fn schedule(&mut self, tracepoint: &JsonTracepoint<'_>, event: &TextEvent<'_>, batch: &mut BatchBuilder) -> bool {
        match (tracepoint, event.cpu) {
            (JsonTracepoint::Switch(switch), Some(cpu)) => {
                let switch = switch.on_cpu(event.ts_ns, cpu);
                self.kernel.scheduler.switch(batch, &switch, event.pos);
            }
            (JsonTracepoint::Wakeup(task), _) => {
                let waker = Some(event.tid).filter(|tid| *tid >= 0);
                self.kernel.scheduler.wake(batch, event.ts_ns, &task.task(), waker, event.pos);
            }
            _ => return false,
        }
        true
    }

    /// Adds the event of another tracepoint: the begin or end of a system call, or an instant.
    fn tracepoint(
        &mut self,
        tracepoint: &JsonTracepoint<'_>,
        fields: &TracepointFields<'_, '_>,
        event: &TextEvent<'_>,
        track: TrackIdx,
        batch: &mut BatchBuilder,
    ) {
        let &TextEvent { ts_ns, tid, cpu, name, pos, .. } = event;
        let shown = match tracepoint {
            JsonTracepoint::Call(call) => self.calls.event(batch, CallThread { ts_ns, tid, track }, call, pos),
            _ => Some(Event::new(ts_ns, EventKind::Instant, track, batch.name(name, None, pos))),
        };
        let Some(shown) = shown else { return };
        self.args.clear();
        fields.write(&mut self.args);
        let detail = self.finish_args(cpu, batch);
        batch.push(Event { detail, ..shown });
    }

    /// Adds the last argument, and returns the index for [`Event::detail`].
    fn finish_args(&mut self, cpu: Option<u64>, batch: &mut BatchBuilder) -> u32 {
        if let Some(cpu) = cpu {
            self.args.number("cpu", cpu);
        }
        batch.args(self.args.finish())
    }
}

/// Returns the stack of a sample, whose innermost frame is the first.
fn stack(frames: &[SampleFrame<'_>], pos: SourcePos, batch: &mut BatchBuilder) -> StackIdx {
    let (frames, outer) = frames.split_at(frames.len().min(STACK_FRAMES_MAX));
    batch.losses().add_many(Loss::DeepNesting, pos, outer.len() as u64);
    let mut stack = StackIdx::EMPTY;
    for frame in frames.iter().rev() {
        let module = frame.module();
        let name = batch.name(frame.name().as_bytes(), module.as_deref().map(str::as_bytes), pos);
        stack = batch.frame(stack, name);
    }
    stack
}

#[cfg(test)]
mod tests;
