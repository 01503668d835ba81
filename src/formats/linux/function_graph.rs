//! The `ftrace` function graph as drawn by the kernel: `TIME | CPU) TASK-PID | DURATION | f() {`, where time and task
//! are optional. The text of the functions is parsed in `function_text`.
//!
//! Without times, each call on a CPU starts where the previous one ended. Durations and nesting are exact, but idle
//! time between calls is unknown, which is reported as one loss.
//!
//! Without tasks, the first switch of a CPU names the task of the calls before it, which wait for it.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::function_calls::{FunctionCalls, FunctionMoment, FunctionSpan, GraphOwner};
use super::function_text::{FunctionSide, FunctionText, KeptFunction};
use super::thread_table::{TaskName, ThreadTable, push_kernel_name};
use super::tracer_text::{comm_and_tid, function_dur_ns};
use crate::formats::input::decimal::{nanos_from_micros, nanos_from_seconds};
use crate::formats::input::text::parsed;
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::model::{Event, EventKind, Loss, SourcePos, TrackIdx, TrackKey};

/// A parsed line of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GraphLine<'a> {
    ts_ns: Option<i64>,
    cpu: u32,
    task: Option<GraphTask<'a>>,
    event: GraphEvent<'a>,
}

/// A task, written as `name-pid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GraphTask<'a> {
    name: &'a [u8],
    tid: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GraphEvent<'a> {
    /// A function, with its duration in nanoseconds at its exit.
    Function(FunctionSide, FunctionText<'a>, Option<u64>),
    /// A tracer comment: `/* text */`.
    Comment(&'a [u8]),
    /// `a-1 => b-2`: the CPU switches to another task.
    Switch(GraphTask<'a>, GraphTask<'a>),
    /// Start or end of an interrupt, redundant with its functions.
    Arrow,
}

impl<'a> GraphLine<'a> {
    /// Parses a line; returns `None` if it is not part of a graph.
    pub(crate) fn from_line(line: &'a [u8]) -> Option<Self> {
        let mut rest = line.trim_ascii();
        let mut ts_ns = None;
        if let Some((before, after)) = cell(rest)
            && (before.contains(&b'.') || before.ends_with(b"us"))
        {
            // Relative times of the latency format are in microseconds, with or without decimals.
            let time = match before.strip_suffix(b"us") {
                Some(micros) => nanos_from_micros(micros.trim_ascii_end()),
                None => nanos_from_seconds(before),
            };
            if let Ok(time) = time {
                (ts_ns, rest) = (Some(time), after);
            }
        }
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let cpu = u32::try_from(parsed::<i64>(&rest[..digits])?).ok()?;
        rest = rest[digits..].strip_prefix(b")")?.trim_ascii_start();
        if let Some(arrow) = memchr::memmem::find(rest, b"=>")
            && let (Some(before), Some(after)) = (task(&rest[..arrow]), task(&rest[arrow + 2..]))
        {
            return Some(Self { ts_ns, cpu, task: None, event: GraphEvent::Switch(before, after) });
        }
        let (mut column, mut code) = cell(rest)?;
        let owner = task(column);
        if owner.is_some() {
            (column, code) = cell(code)?;
        }
        // The flags of the latency format are one short word.
        let is_flags = |text: &[u8]| !text.is_empty() && text.len() <= 8 && !text.contains(&b' ');
        if is_flags(column)
            && let Some((next, after)) = cell(code).filter(|(next, _)| is_duration(next))
        {
            (column, code) = (next, after);
        }
        let is_arrow = |text: &[u8]| text.starts_with(b"====") || text.starts_with(b"<===");
        if is_arrow(column) || is_arrow(code) {
            return Some(Self { ts_ns, cpu, task: owner, event: GraphEvent::Arrow });
        }
        if !is_duration(column) {
            return None;
        }
        let event = if let Some(text) = code.strip_prefix(b"/*") {
            GraphEvent::Comment(text.strip_suffix(b"*/").unwrap_or(text).trim_ascii())
        } else {
            let (side, text) = FunctionText::from_column(code)?;
            GraphEvent::Function(side, text, function_dur_ns(column))
        };
        Some(Self { ts_ns, cpu, task: owner, event })
    }
}

/// Returns the text before the next bar, and the text after it.
fn cell(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let bar = memchr::memchr(b'|', text)?;
    Some((text[..bar].trim_ascii(), text[bar + 1..].trim_ascii()))
}

fn task(text: &[u8]) -> Option<GraphTask<'_>> {
    let (name, tid) = comm_and_tid(text.trim_ascii())?;
    Some(GraphTask { name: name.trim_ascii(), tid })
}

/// Returns whether a column is a duration column: empty, or a number of microseconds.
fn is_duration(column: &[u8]) -> bool {
    column.is_empty() || column.ends_with(b"us")
}

const NO_TIMES: &str = "The trace has no times, so its events are shown one after the other. Record with the trace option funcgraph-abstime, to see when they were.";

/// Limit for calls that wait for the task of their CPU; calls beyond it belong to the CPU.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// A call or a comment on a CPU whose task is not known yet.
#[derive(Debug)]
struct WaitingCall {
    /// A comment has a name only.
    text: KeptFunction,
    event: WaitingEvent,
    pos: SourcePos,
}

impl WaitingCall {
    fn bytes(&self) -> usize {
        let args = match &self.event {
            WaitingEvent::Call(_) => 0,
            WaitingEvent::Comment { args, .. } => args.len(),
        };
        size_of::<Self>() + self.text.bytes() + args
    }
}

#[derive(Debug)]
enum WaitingEvent {
    Call(FunctionSpan),
    Comment { ts_ns: i64, args: Box<str> },
}

/// State of the graph up to the current line.
#[derive(Debug, Default)]
pub(crate) struct FunctionGraph {
    calls: FunctionCalls,
    /// Ended calls by CPU, until its first switch names their task.
    waiting: BTreeMap<u32, Vec<WaitingCall>>,
    waiting_bytes: usize,
    /// Current task of each CPU, if known; `None` while the CPU is idle.
    running: FxHashMap<u32, Option<i64>>,
    /// Last known names of tasks.
    named: ThreadTable<TaskName>,
    args: ArgsWriter,
    has_no_times: bool,
}

impl FunctionGraph {
    /// Converts a line to events of the batch.
    pub(crate) fn add_line(&mut self, drawn: &GraphLine<'_>, batch: &mut BatchBuilder, pos: SourcePos) {
        let cpu = drawn.cpu;
        if let GraphEvent::Switch(before, after) = drawn.event {
            return self.switch(cpu, before, after, batch, pos);
        }
        if drawn.ts_ns.is_none() && !std::mem::replace(&mut self.has_no_times, true) {
            batch.losses().add_because(NO_TIMES, Loss::NoTimes, pos);
        }
        let owner = match (drawn.task, self.running.get(&cpu)) {
            (Some(task), _) => self.name(cpu, task, batch, pos),
            (None, Some(&Some(tid))) => GraphOwner::Task(tid),
            (None, _) => GraphOwner::Cpu(cpu),
        };
        let at = FunctionMoment { owner, cpu, ts_ns: drawn.ts_ns, pos };
        let waits = drawn.task.is_none() && !self.running.contains_key(&cpu) && self.waiting_bytes < WAITING_BYTES_MAX;
        let mut ended = Vec::new();
        let emit = |text: &FunctionText<'_>, span: &FunctionSpan| {
            if waits {
                ended.push(WaitingCall { text: (*text).into(), event: WaitingEvent::Call(*span), pos });
            } else {
                span.add_span(text, batch.track_with(&owner.key()), batch);
            }
        };
        let added = match drawn.event {
            GraphEvent::Function(FunctionSide::Entry, text, _) => self.calls.enter(&at, text),
            GraphEvent::Function(FunctionSide::Leaf, text, dur_ns) => self.calls.leaf(&at, text, dur_ns, emit),
            GraphEvent::Function(FunctionSide::Exit, text, dur_ns) => self.calls.leave(&at, text.result, dur_ns, emit),
            GraphEvent::Comment(text) if waits => {
                ended.push(self.waiting_comment(&at, text));
                Ok(())
            }
            GraphEvent::Comment(text) => {
                self.comment(&at, text, batch);
                Ok(())
            }
            GraphEvent::Switch(..) | GraphEvent::Arrow => Ok(()),
        };
        if let Err(loss) = added {
            batch.lose(loss, pos);
        }
        if !ended.is_empty() {
            self.waiting_bytes += ended.iter().map(WaitingCall::bytes).sum::<usize>();
            self.waiting.entry(cpu).or_default().extend(ended);
        }
    }

    /// Adds the calls that wait for the task of their CPU to the CPUs, since a live trace has no more lines yet.
    pub(crate) fn pause(&mut self, batch: &mut BatchBuilder) {
        for (cpu, calls) in std::mem::take(&mut self.waiting) {
            self.add_waiting(calls, GraphOwner::Cpu(cpu), batch);
        }
    }

    fn add_waiting(&mut self, calls: Vec<WaitingCall>, owner: GraphOwner, batch: &mut BatchBuilder) {
        self.waiting_bytes -= calls.iter().map(WaitingCall::bytes).sum::<usize>();
        let track = batch.track_with(&owner.key());
        for WaitingCall { text, event, pos } in calls {
            let text = text.text();
            match event {
                WaitingEvent::Call(span) => span.add_span(&text, track, batch),
                WaitingEvent::Comment { ts_ns, args } => add_comment(text.name, &args, (ts_ns, track), pos, batch),
            }
        }
    }

    /// Adds the functions that never ended.
    pub(crate) fn finish(&mut self, batch: &mut BatchBuilder) {
        self.pause(batch);
        self.calls.finish(batch, GraphOwner::key);
    }

    /// Adds a comment, printed by the kernel or an event between functions, as an instant.
    fn comment(&mut self, at: &FunctionMoment, text: &[u8], batch: &mut BatchBuilder) {
        let name = self.write_comment(at, text);
        let place = (self.calls.time_ns(at), batch.track_with(&at.owner.key()));
        add_comment(name, self.args.finish(), place, at.pos, batch);
    }

    fn waiting_comment(&mut self, at: &FunctionMoment, text: &[u8]) -> WaitingCall {
        let text = FunctionText { name: self.write_comment(at, text), ..FunctionText::default() }.into();
        let (ts_ns, args) = (self.calls.time_ns(at), self.args.finish().into());
        WaitingCall { text, event: WaitingEvent::Comment { ts_ns, args }, pos: at.pos }
    }

    /// Writes the arguments of a comment. Returns its name.
    fn write_comment<'t>(&mut self, at: &FunctionMoment, text: &'t [u8]) -> &'t [u8] {
        let (name, fields) = match memchr::memmem::find(text, b": ") {
            Some(colon) => (&text[..colon], text[colon + 2..].trim_ascii()),
            None => (text, &b""[..]),
        };
        self.args.clear();
        if !fields.is_empty() {
            self.args.text("fields", fields);
        }
        self.args.number("cpu", at.cpu.into());
        name
    }

    fn switch(
        &mut self,
        cpu: u32,
        before: GraphTask<'_>,
        after: GraphTask<'_>,
        batch: &mut BatchBuilder,
        pos: SourcePos,
    ) {
        let before = self.name(cpu, before, batch, pos);
        // The first switch names the task of the functions recorded so far on this CPU.
        if !self.running.contains_key(&cpu) {
            self.calls.set_task(cpu, before);
            let calls = self.waiting.remove(&cpu).unwrap_or_default();
            self.add_waiting(calls, before, batch);
        }
        match self.name(cpu, after, batch, pos) {
            GraphOwner::Task(tid) => self.running.insert(cpu, Some(tid)),
            GraphOwner::Cpu(_) => self.running.insert(cpu, None),
        };
    }

    /// Returns the owner of a call, and adds the task name to the batch if it changed. Each CPU has its own idle task
    /// 0.
    fn name(&mut self, cpu: u32, task: GraphTask<'_>, batch: &mut BatchBuilder, pos: SourcePos) -> GraphOwner {
        if task.tid == 0 {
            return GraphOwner::Cpu(cpu);
        }
        let owner = GraphOwner::Task(task.tid);
        let is_nameless = matches!(task.name, b"<...>" | b"<idle>" | b"");
        if !is_nameless && self.named.set_name(task.tid, task.name, batch, pos) {
            let TrackKey { pid, tid, .. } = owner.key();
            push_kernel_name(batch, pid, tid, task.name, pos);
        }
        owner
    }
}

/// Adds a comment as an instant at a time of a track.
fn add_comment(
    name: &[u8],
    args_json: &str,
    (ts_ns, track): (i64, TrackIdx),
    pos: SourcePos,
    batch: &mut BatchBuilder,
) {
    let detail = batch.args(args_json);
    let name = batch.name(name, None, pos);
    batch.push(Event { detail, ..Event::new(ts_ns, EventKind::Instant, track, name) });
}

#[cfg(test)]
mod tests;
