//! Text of Linux `ftrace`, `trace-cmd report` and Android `systrace`. Lines are `TASK-PID (TGID) [CPU] FLAGS TIME:
//! event`, where TGID and flags are optional, or `TASK-PID CPU+FLAGS TIME: event` in the latency format. Stacks below
//! events become samples, called functions instants, and the switches of the wakeup tracers scheduling. Function graphs
//! as drawn by the kernel are in `function_graph`, pages (HTML) that contain such text in [`crate::formats::page`].

mod switch_line;
mod tracer_row;

use self::switch_line::SwitchLine;
use self::tracer_row::{is_tracer_row, write_row};
use super::event_text::{KernelText, TextEvent};
use super::function_graph::{FunctionGraph, GraphLine};
use super::scheduler::{SchedulerTask, Switch};
use super::tracer_text::comm_and_tid;
use crate::formats::format::{ArrivalKey, DataKind, Format, Opener};
use crate::formats::input::decimal::{nanos_from_micros, nanos_from_millis, nanos_from_nanos, nanos_from_seconds};
use crate::formats::input::lines::{LineParser, Output, TextLine, head_lines};
use crate::formats::input::source::Source;
use crate::formats::input::text::{parsed, split_word};
use crate::formats::json::sniff::looks_like_json;
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::{BatchBuilder, STACK_FRAMES_MAX};
use crate::formats::{ReadError, Reader};
use crate::model::{Loss, SourcePos, StackIdx};

pub(crate) const FORMAT: Format = Format {
    name: "ftrace",
    record: "An event is a line of task, processor in brackets, time and event: \"bash-977 [000] 17284.993652: sched_switch: ...\".",
    sniff: looks_like_ftrace,
    is_event: Some(begins_with_record),
    live: Some(ArrivalKey::End),
    shows: &DataKind::ALL,
    opener: Opener::Trace(|source, _| Ok(open(source))),
};

/// Returns whether this is trace text.
pub(crate) fn looks_like_ftrace(head: &[u8]) -> bool {
    // The status line of `atrace` alone could begin any log.
    let is_status = head.starts_with(b"capturing trace");
    let first = head_lines(head).nth(usize::from(is_status)).unwrap_or_default();
    let begins = [&b"# tracer:"[..], b"TRACE:"].iter().any(|begin| first.starts_with(begin));
    // JSON traces may contain such lines as strings.
    begins || !looks_like_json(head) && begins_with_record(head)
}

/// Returns whether the first line that is not a comment is an event.
fn begins_with_record(head: &[u8]) -> bool {
    let is_record = |line| {
        let record = FtraceRecord::from_line(line).or_else(|| FtraceRecord::from_latency_line(line));
        let record = record.or_else(|| FtraceRecord::from_verbose_line(line));
        record.is_some_and(|record| !record.has_period()) || GraphLine::from_line(line).is_some()
    };
    head_lines(head).find(|line| !is_note(line)).is_some_and(is_record)
}

/// Creates a reader for trace text.
pub(crate) fn open(source: Source) -> Reader {
    crate::formats::input::lines::open(source, Ftrace::default())
}

/// Returns whether a line is a header or comment, not an event.
fn is_note(line: &[u8]) -> bool {
    let beginnings = [&b"#"[..], b"TRACE:", b"capturing trace", b"cpus=", b"version =", b"CPU "];
    let is_about = beginnings.iter().any(|begin| line.starts_with(begin));
    // QEMU names its threads `CPU 0/KVM`.
    let is_record = || line.starts_with(b"CPU ") && FtraceRecord::from_latency_line(line).is_some();
    // A function graph has rulers around each switch.
    let is_ruler = || line.trim_ascii().iter().all(|&byte| byte == b'-');
    is_ruler() || is_about && !line.contains(&b']') && !is_record()
}

/// Parses the lines of a trace.
#[derive(Debug, Default)]
pub(crate) struct Ftrace {
    kernel: KernelText,
    graph: FunctionGraph,
    /// Whether any line was an event or a function.
    has_event: bool,
    /// Name of the tracer, from the heading.
    tracer: Box<[u8]>,
    /// The event whose stack lines follow.
    stack: Option<StackOwner>,
    /// Frames of its stack, innermost first.
    frames: Vec<StackFrame>,
    /// Whether an event with a time in ticks has been counted.
    has_ticks: bool,
    args: ArgsWriter,
}

/// A function of a stack, or an offset in a file that the kernel cannot symbolize.
#[derive(Debug)]
struct StackFrame {
    name: Box<[u8]>,
    /// File of its code; empty if the line has none.
    module: Box<[u8]>,
}

/// An event with a stack.
#[derive(Debug, Clone, Copy)]
struct StackOwner {
    ts_ns: i64,
    tid: i64,
    cpu: u64,
    pos: SourcePos,
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FtraceLine {
    Event,
    /// A function of a graph that the kernel drew.
    GraphFunction,
    /// A comment, a frame of a stack, or a count of lost events.
    Other,
    /// None of these; the caller counts it.
    Unknown,
}

/// Limit for brackets up to the one of the CPU. Task names have at most 15 bytes, so few precede it.
const BRACKETS_MAX: usize = 32;

/// The fields of an event line.
#[derive(Debug, Clone, Copy)]
struct FtraceRecord<'a> {
    task: &'a [u8],
    tid: i64,
    tgid: Option<i64>,
    cpu: u64,
    ts_ns: i64,
    /// Whether the time is a number of ticks, whose length the text does not say.
    is_in_ticks: bool,
    event: &'a [u8],
}

/// Message about times without a unit.
const TICKS: &str = "The times are ticks without a unit, as the clocks x86-tsc, counter and uptime of ftrace write them; each tick is shown as 1 ns. `echo mono > trace_clock` records nanoseconds.";

impl<'a> FtraceRecord<'a> {
    fn from_line(line: &'a [u8]) -> Option<Self> {
        // Task names are arbitrary. The CPU is the first number in brackets between a task and a time.
        memchr::memmem::find_iter(line, b"[").take(BRACKETS_MAX).find_map(|open| {
            let close = open + memchr::memchr(b']', &line[open..])?;
            let cpu = u64::try_from(parsed::<i64>(&line[open + 1..close])?).ok()?;
            let (task, tid, tgid) = task(line[..open].trim_ascii_end())?;
            let (mut word, mut rest) = split_word(line[close + 1..].trim_ascii_start());
            let is_time = |word: &[u8]| word.ends_with(b":") && word[0].is_ascii_digit();
            if !is_time(word) {
                match without_flags(word) {
                    time if is_time(time) => word = time,
                    _ => (word, rest) = split_word(rest),
                }
            }
            let time = word.strip_suffix(b":")?;
            let is_in_ticks = !time.contains(&b'.');
            let ts_ns = if is_in_ticks { nanos_from_nanos(time) } else { nanos_from_seconds(time) }.ok()?;
            Some(Self { task: without_buffer(task), tid, tgid, cpu, ts_ns, is_in_ticks, event: without_distance(rest) })
        })
    }

    /// Parses a line of the latency format, such as `comm-12  0d..2. 34us+: event`, where the CPU precedes the flags.
    /// `trace-cmd` writes seconds instead of microseconds.
    fn from_latency_line(line: &'a [u8]) -> Option<Self> {
        let is_flag = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'#' | b'*');
        memchr::memchr_iter(b':', line).take(8).find_map(|colon| {
            // A mark after the time means a long delay until the next event.
            let marked = line[..colon].trim_ascii_end();
            let marked = marked.strip_suffix(&[*marked.last()?]).filter(|rest| rest.ends_with(b"us")).unwrap_or(marked);
            let (before, time) = marked.split_at(memchr::memrchr(b' ', marked)? + 1);
            let ts_ns = match time.strip_suffix(b"us") {
                Some(micros) => nanos_from_micros(micros).ok()?,
                None if time.contains(&b'.') => nanos_from_seconds(time).ok()?,
                None => return None,
            };
            let before = before.trim_ascii_end();
            let (owner, flags) = before.split_at(memchr::memrchr(b' ', before)? + 1);
            let digits = flags.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let cpu = u64::try_from(parsed::<i64>(&flags[..digits])?).ok()?;
            if !(3..=8).contains(&(flags.len() - digits)) || !flags.iter().all(is_flag) {
                return None;
            }
            let (task, tid, tgid) = task(owner.trim_ascii_end())?;
            let event = without_distance(line[colon + 1..].trim_ascii());
            Some(Self { task: without_buffer(task), tid, tgid, cpu, ts_ns, is_in_ticks: false, event })
        })
    }

    /// Parses a line of the latency format with the option `verbose`: task, thread, CPU, flags, preemption count,
    /// index, and the time in two units, as in `bash 22450 1 9 00000002 0000000a [333d7bcf2] 10.148ms (+0.005ms): e`.
    fn from_verbose_line(line: &'a [u8]) -> Option<Self> {
        let at = memchr::memmem::find(line, b"ms (+")?;
        let (before, time) = line[..at].split_at(memchr::memrchr(b' ', &line[..at])? + 1);
        let ts_ns = nanos_from_millis(time).ok()?;
        let rest = &line[at + b"ms (+".len()..];
        let event = rest[memchr::memmem::find(rest, b"ms): ")? + b"ms): ".len()..].trim_ascii();
        let is_hex = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_hexdigit);
        let (before, cycles) = split_last_word(before)?;
        let (before, index) = split_last_word(before)?;
        let (before, preemptions) = split_last_word(before)?;
        let (before, flags) = split_last_word(before)?;
        let (before, cpu) = split_last_word(before)?;
        let (task, tid) = split_last_word(before)?;
        let cycles = cycles.strip_prefix(b"[")?.strip_suffix(b"]")?;
        if ![cycles, index, preemptions, flags].into_iter().all(is_hex) {
            return None;
        }
        let cpu = u64::try_from(parsed::<i64>(cpu)?).ok()?;
        let tid = parsed(tid).filter(|&tid| tid >= 0)?;
        Some(Self { task: task.trim_ascii(), tid, tgid: None, cpu, ts_ns, is_in_ticks: false, event })
    }

    /// Returns whether the event is the heading of a stack, in the format of the kernel or of `trace-cmd`.
    fn is_stack(&self) -> bool {
        let heading = |text: &[u8]| text.starts_with(b"<stack trace") || text.starts_with(b"<user stack trace");
        heading(self.event) || heading(self.parts().1)
    }

    /// Returns whether a number precedes the event, as the period in `perf script`, whose task may be `:-1    -1`.
    fn has_period(&self) -> bool {
        let digits = self.event.iter().take_while(|byte| byte.is_ascii_digit()).count();
        digits > 0 && self.event.get(digits) == Some(&b' ')
    }

    /// Returns the name of the event and its fields.
    fn parts(&self) -> (&'a [u8], &'a [u8]) {
        let event = self.event;
        let end = event.iter().position(|byte| matches!(byte, b':' | b'(' | b' ')).unwrap_or(event.len());
        let (name, rest) = event.split_at(end);
        let rest = rest.strip_prefix(b":").unwrap_or(rest).trim_ascii();
        (name, rest)
    }

    /// Returns whether this is a line of the function tracer: `function <-caller`, where recent kernels add arguments.
    fn is_function_call(&self) -> bool {
        let name_end = self.event.iter().position(|byte| matches!(byte, b':' | b'(' | b' '));
        if name_end.is_some_and(|end| self.event[end] == b':') {
            return false; // a tracepoint
        }
        let caller = memchr::memmem::rfind(self.event, b" <-").map(|at| &self.event[at + 3..]);
        // The arguments of a call end with a bracket, and may contain an arrow.
        caller.is_some_and(|caller| !caller.is_empty() && !caller.ends_with(b")"))
    }
}

/// Splits off the last word of a text.
fn split_last_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_end();
    let at = memchr::memrchr(b' ', text)?;
    Some((&text[..at], &text[at + 1..]))
}

/// Parses `TASK-PID` with an optional `(TGID)`.
fn task(text: &[u8]) -> Option<(&[u8], i64, Option<i64>)> {
    let (text, tgid) = match text.strip_suffix(b")") {
        Some(inside) => {
            let open = memchr::memrchr(b'(', inside)?;
            // An unknown group is printed as dashes.
            (text[..open].trim_ascii_end(), parsed(inside[open + 1..].trim_ascii()))
        }
        None => (text, None),
    };
    let (comm, tid) = comm_and_tid(text)?;
    Some((comm.trim_ascii_start(), tid, tgid))
}

/// Splits the function from the fields of an event that `trace-cmd report` names after its tracer: `function: f <-- g`.
/// The events of `trace_printk` are `bprint: f: text` and `bputs: f: text`.
fn reported_function<'a>(name: &[u8], fields: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let (function, rest) = split_word(fields);
    let function = match name {
        b"function" => function,
        b"bprint" | b"bputs" => function.strip_suffix(b":")?,
        _ => return None,
    };
    // With -R, the fields are numbers.
    (!function.is_empty() && !function.contains(&b'=')).then_some((function, rest))
}

/// Strips the name of the trace buffer that `trace-cmd` prints before the task: `host:      comm`.
fn without_buffer(task: &[u8]) -> &[u8] {
    match memchr::memmem::find(task, b":  ") {
        Some(colon) if !task[..colon].contains(&b' ') => task[colon + 1..].trim_ascii_start(),
        _ => task,
    }
}

/// Strips the time since the previous event, which `trace-cmd report --ts-diff` prints: `(+100)   sched_waking: ..`.
fn without_distance(event: &[u8]) -> &[u8] {
    let after = event.strip_prefix(b"(+").and_then(|inside| {
        let digits = inside.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
        inside[digits..].strip_prefix(b")")
    });
    after.map_or(event, <[u8]>::trim_ascii_start)
}

/// Parses a stack line: ` => function`, `=> function+0x1/0x2 <addr>`, `=> function (addr)`, or ` => file[+0x1] <addr>`
/// of a program.
fn stack_frame(line: &[u8]) -> Option<StackFrame> {
    let text = line.trim_ascii().strip_prefix(b"=>")?.trim_ascii();
    let end = memchr::memmem::find(text, b" (").or_else(|| memchr::memmem::find(text, b" <")).unwrap_or(text.len());
    let text = &text[..end];
    if let Some(inside) = text.strip_suffix(b"]")
        && let Some(at) = memchr::memmem::rfind(inside, b"[+0x")
    {
        let (module, offset) = (&inside[..at], &inside[at + 1..]);
        let base = module.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        return Some(StackFrame { name: [base, offset].concat().into(), module: module.into() });
    }
    let text = &text[..memchr::memmem::find(text, b"+0x").unwrap_or(text.len())];
    (!text.is_empty()).then(|| StackFrame { name: text.into(), module: Box::default() })
}

/// Returns the time after flags without a separating space, as in `d..1316.196720:`. There are four flags, which may be
/// digits, or five flags, the last of which is not a digit.
fn without_flags(word: &[u8]) -> &[u8] {
    const FLAGS: usize = 4;
    let Some(point) = memchr::memrchr(b'.', word) else { return word };
    let digits = word[..point].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    &word[(point - digits).max(FLAGS.min(point))..]
}

impl LineParser for Ftrace {
    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        if self.parse_line(line, batch) == FtraceLine::Unknown {
            batch.lose(line.loss(), line.pos());
        }
    }

    fn pause(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.graph.pause(out.batch);
        Ok(())
    }

    fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.end_stack(out.batch);
        self.kernel.finish(out.batch);
        self.graph.finish(out.batch);
        out.flush_if_full()
    }
}

impl Ftrace {
    /// Returns whether any line was an event or a function.
    pub(crate) fn has_event(&self) -> bool {
        self.has_event
    }

    /// Parses a line into the batch, and returns its kind.
    pub(crate) fn parse_line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) -> FtraceLine {
        let bytes = line.bytes;
        if let Some(lost) = lost_events(bytes) {
            batch.losses().add_many(Loss::RecorderLost, line.pos(), lost);
            return FtraceLine::Other;
        }
        if self.stack.is_some()
            && let Some(frame) = stack_frame(bytes)
        {
            self.add_frame(frame, line, batch);
            return FtraceLine::Other;
        }
        if is_note(bytes) {
            if let Some(tracer) = bytes.strip_prefix(b"# tracer:") {
                self.tracer = tracer.trim_ascii().into();
            }
            return FtraceLine::Other;
        }
        self.end_stack(batch);
        let record = FtraceRecord::from_line(bytes);
        if record.is_none()
            && let Some(drawn) = GraphLine::from_line(bytes)
        {
            self.has_event = true;
            self.graph.add_line(&drawn, batch, line.pos());
            return FtraceLine::GraphFunction;
        }
        let record = record.or_else(|| FtraceRecord::from_latency_line(bytes));
        let Some(record) = record.or_else(|| FtraceRecord::from_verbose_line(bytes)) else {
            return FtraceLine::Unknown;
        };
        self.has_event = true;
        self.record(&record, line, batch);
        FtraceLine::Event
    }

    /// Adds a frame to the stack of the last event.
    fn add_frame(&mut self, frame: StackFrame, line: TextLine<'_>, batch: &mut BatchBuilder) {
        if !line.has_end {
            batch.lose(line.loss(), line.pos());
        } else if self.frames.len() >= STACK_FRAMES_MAX {
            batch.lose(Loss::DeepNesting, line.pos());
        } else {
            self.frames.push(frame);
        }
    }

    /// Adds an event, or begins a stack.
    fn record(&mut self, record: &FtraceRecord<'_>, line: TextLine<'_>, batch: &mut BatchBuilder) {
        if record.is_in_ticks && !std::mem::replace(&mut self.has_ticks, true) {
            batch.losses().add_because(TICKS, Loss::UnknownClock, line.pos());
        }
        if let Some(tgid) = record.tgid {
            self.kernel.scheduler.learn_process(batch, record.tid, tgid);
        }
        if record.is_stack() {
            self.stack = Some(StackOwner { ts_ns: record.ts_ns, tid: record.tid, cpu: record.cpu, pos: line.pos() });
            return;
        }
        let (mut name, mut fields) = record.parts();
        let reported = reported_function(name, fields);
        if let Some(reported) = reported {
            (name, fields) = reported;
        }
        if name.is_empty() {
            return batch.lose(line.loss(), line.pos());
        }
        let is_known = !matches!(record.task, b"<...>" | b"<idle>");
        let task = if is_known { record.task } else { &b""[..] };
        let &FtraceRecord { ts_ns, tid, cpu, .. } = record;
        let event = TextEvent { ts_ns, tid, task, cpu: Some(cpu), name, fields, pos: line.pos() };
        self.kernel.scheduler.runs(batch, (ts_ns, Some(cpu)), tid);
        if let Some(switch) = SwitchLine::parse(record.event) {
            self.switch(&switch, cpu, &event, batch);
        } else if is_tracer_row(record.event) && !matches!(&*self.tracer, b"" | b"nop") {
            self.tracer_row(record.event, &event, batch);
        } else if reported.is_some() || record.is_function_call() {
            self.function_call(&event, batch);
        } else {
            self.kernel.add_event(batch, &event);
        }
    }

    /// Adds a called function as an instant.
    fn function_call(&mut self, event: &TextEvent<'_>, batch: &mut BatchBuilder) {
        self.args.clear();
        if !event.fields.is_empty() {
            self.args.text("fields", event.fields);
        }
        self.kernel.add_instant(batch, event, &mut self.args);
    }

    /// Adds a row of a tracer as an instant with the name of the tracer.
    fn tracer_row(&mut self, row: &[u8], event: &TextEvent<'_>, batch: &mut BatchBuilder) {
        let name = std::mem::take(&mut self.tracer);
        self.args.clear();
        write_row(&name, row, &mut self.args);
        self.kernel.add_instant(batch, &TextEvent { name: &name, ..*event }, &mut self.args);
        self.tracer = name;
    }

    /// Adds a switch or a wakeup, as the wakeup tracers print them.
    fn switch(&mut self, line: &SwitchLine<'_>, cpu: u64, event: &TextEvent<'_>, batch: &mut BatchBuilder) {
        let &TextEvent { ts_ns, tid, task, pos, .. } = event;
        self.kernel.name_task(batch, event);
        if line.is_wakeup {
            return self.kernel.scheduler.wake(batch, ts_ns, &line.next, Some(tid), pos);
        }
        let name = if line.previous.tid == tid { task } else { b"" };
        let previous = Some(SchedulerTask { name, ..line.previous });
        let switch = Switch { ts_ns, cpu, previous, previous_state: line.previous_state, next: line.next };
        self.kernel.scheduler.switch(batch, &switch, pos);
    }

    /// Adds a sample for the collected stack.
    fn end_stack(&mut self, batch: &mut BatchBuilder) {
        let Some(owner) = self.stack.take() else { return };
        let frames = self.frames.iter().rev().map(|frame| (&*frame.name, &*frame.module));
        let stack = batch.stack(frames, owner.pos);
        self.frames.clear();
        if stack != StackIdx::EMPTY {
            self.kernel.scheduler.add_switch_stack(batch, Some(owner.cpu), stack, owner.pos);
            let track = batch.track_with(&self.kernel.thread(owner.tid));
            batch.push_sample(owner.ts_ns, track, stack, 0);
        }
    }
}

/// Parses the count of a line such as `CPU:3 [LOST 15 EVENTS]`, or `CPU:3 [15 EVENTS DROPPED]` of `trace-cmd`. The
/// count is 1 if the recorder does not know it.
fn lost_events(line: &[u8]) -> Option<u64> {
    let line = line.trim_ascii();
    let inside = line.strip_prefix(b"CPU:")?.strip_suffix(b"]")?;
    let lost = &inside[memchr::memchr(b'[', inside)? + 1..];
    let count = match lost {
        b"LOST EVENTS" | b"EVENTS DROPPED" => return Some(1),
        _ => lost.strip_prefix(b"LOST ").and_then(|lost| lost.strip_suffix(b" EVENTS")),
    };
    let count = count.or_else(|| lost.strip_suffix(b" EVENTS DROPPED"))?;
    u64::try_from(parsed::<i64>(count)?).ok()
}

#[cfg(test)]
mod tests;
