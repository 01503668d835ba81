//! The output of `strace`, `ltrace` and `perf trace`: one line per call, `PID time name(args) = result <seconds>`. With
//! `-T` a call is a span. Without it, only a call that another thread interrupted has two times, and all others are
//! instants. A call that a message or output of the program cuts off continues in a line without a time. The stacks of
//! `-k` are samples at the starts of their calls. The summary table that `-C` prints after the calls has no times, so
//! the reader skips it.

mod clock;
mod line;
mod perf_trace;
mod threads;
mod unfinished;

use std::path::Path;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use self::clock::LineClock;
use self::line::{
    CallRest, StackLine, StraceClock, StraceEvent, StraceRecord, attached_process, is_dump_line, is_of_table, number,
    stack_line, tracer_message,
};
use self::threads::{CreatedThread, LineThreads, MAIN_TID};
use self::unfinished::{CutCall, UnfinishedCall};
use crate::formats::format::{ArrivalKey, DataKind, Format, Opener};
use crate::formats::input::lines::{LineParser, Output, TextLine, head_lines};
use crate::formats::input::source::Source;
use crate::formats::input::text::split_word;
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::{BatchBuilder, STACK_FRAMES_MAX};
use crate::formats::{ChunkLimits, ReadError, Reader};
use crate::model::{Event, EventKind, Loss, Metadata, SourcePos};

pub(crate) const FORMAT: Format = Format {
    name: "strace",
    record: "A call is a line of time and call: \"977 1795166531.000001 getpid() = 977 <0.000004>\".",
    sniff: looks_like_strace,
    is_event: Some(looks_like_strace),
    live: Some(ArrivalKey::End),
    shows: &[DataKind::Spans, DataKind::Instants, DataKind::Arguments, DataKind::Samples],
    opener: Opener::Trace(|source, _| Ok(open(source))),
};

/// Parses a line of `perf trace`, or else of `strace` or `ltrace`. Returns `None` if it is of neither.
fn parse_record(line: &[u8]) -> Option<StraceRecord<'_>> {
    perf_trace::record(line).or_else(|| StraceRecord::from_line(line))
}

/// Returns whether the first line is from `strace` with times.
fn looks_like_strace(head: &[u8]) -> bool {
    let mut lines = head_lines(head).filter(|line| !line.is_empty() && tracer_message(line).is_none());
    let is_call = |event| !matches!(event, StraceEvent::Unknown | StraceEvent::Cut { is_by_message: false, .. });
    lines.next().is_some_and(|line| parse_record(line).is_some_and(|record| is_call(record.event)))
}

/// Returns whether the first line is a call from `strace` without times.
#[must_use]
pub(crate) fn looks_like_strace_without_times(head: &[u8]) -> bool {
    let Some(line) = head_lines(head).find(|line| !line.is_empty() && tracer_message(line).is_none()) else {
        return false;
    };
    // Only a process id may precede the call.
    let (first, after) = split_word(line.trim_ascii_start());
    let rest = if number(first).is_some() { after } else { line.trim_ascii_start() };
    matches!(StraceEvent::from_text(rest), StraceEvent::Call { .. } | StraceEvent::Begun { .. })
        && !looks_like_strace(head)
}

/// Creates a reader for `strace` output.
fn open(source: Source) -> Reader {
    let main_id = main_id(source.head()).or_else(|| id_of_file(source.path()));
    let threads = LineThreads::with_main(main_id);
    crate::formats::input::lines::open(source, Strace { threads, ..Strace::default() })
}

/// Returns the thread id at the end of the name of a file: `strace -ff` writes a file for each thread, whose lines have
/// no ids.
fn id_of_file(path: &Path) -> Option<i64> {
    let end = path.extension()?.to_str()?;
    if end.bytes().all(|byte| byte.is_ascii_digit()) { end.parse().ok().filter(|&id| id > 0) } else { None }
}

/// Reads the head of a file for the id of its main thread, so that the number of its row does not depend on batches.
fn main_id(head: &[u8]) -> Option<i64> {
    let (mut scout, mut batch) = (Strace::default(), BatchBuilder::new(ChunkLimits::default()));
    for bytes in head_lines(head) {
        scout.line(TextLine { bytes, offset: 0, has_end: true }, &mut batch);
    }
    scout.threads.main_id()
}

#[derive(Debug, Default)]
struct Strace {
    /// Unfinished calls by thread, outermost first. `ltrace -S` nests system calls in the library calls that make them.
    waiting: FxHashMap<i64, SmallVec<[UnfinishedCall; 1]>>,
    waiting_args_bytes: usize,
    /// The call that the last line cut.
    cut: Option<CutCall>,
    /// Thread of the call that the last line left unfinished.
    last_begun: Option<i64>,
    clock: LineClock,
    threads: LineThreads,
    /// The call of the previous line, whose stack may follow.
    last_call: Option<LastCall>,
    /// Thread and end of the call of the previous line, if that line is a complete call.
    last_end: Option<(i64, i64)>,
    /// Frames of its stack, innermost first.
    frames: Vec<StackLine>,
    /// Whether the batch already marks times as UTC.
    has_utc: bool,
    /// Whether the previous line was part of a summary table.
    is_in_table: bool,
    args: ArgsWriter,
}

/// Limit for the time by which a call seems to end in the next one of its thread: `ltrace -T` reads the clock once for
/// the duration, and a moment later for the time of the line.
const LATE_END_NS: i64 = 10_000;

/// Thread and start of a call.
#[derive(Debug, Clone, Copy)]
struct LastCall {
    tid: i64,
    start_ns: i64,
    pos: SourcePos,
    is_shown: bool,
}

impl LineParser for Strace {
    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        let pos = line.pos();
        if line.bytes.trim_ascii().is_empty() {
            return;
        }
        if tracer_message(line.bytes).is_some() {
            self.attach(line.bytes);
            return batch.lose(Loss::IgnoredMetadata, pos);
        }
        if self.last_call.is_some()
            && let Some(frame) = stack_line(line.bytes)
        {
            return match line.has_end {
                false => batch.lose(Loss::Truncated, pos),
                true if self.frames.len() >= STACK_FRAMES_MAX => batch.lose(Loss::DeepNesting, pos),
                true => self.frames.push(frame),
            };
        }
        if is_dump_line(line.bytes) {
            return;
        }
        self.stack(batch);
        if let Some(count) = perf_trace::lost_events(line.bytes) {
            return batch.losses().add_many(Loss::RecorderLost, pos, count);
        }
        match parse_record(line.bytes) {
            Some(record) => self.record(&record, line, batch),
            None => self.continuation(line, batch),
        }
    }

    fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.stack(out.batch);
        self.settle_cut(out.batch);
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let mut waiting: Vec<_> =
            waiting.flat_map(|(tid, calls)| calls.into_iter().map(move |call| (tid, call))).collect();
        waiting.sort_by_key(|(tid, call)| (call.start_ns, *tid));
        for (_, call) in waiting {
            self.endless(out.batch, &call);
            out.flush_if_full()?;
        }
        Ok(())
    }
}

struct CompleteCall<'a> {
    tid: i64,
    /// Thread of its end, which differs for the `execve` of a thread.
    end_tid: i64,
    start_ns: i64,
    dur_ns: Option<i64>,
    name: &'a [u8],
    args: &'a [u8],
    result: Option<&'a [u8]>,
    pos: SourcePos,
}

impl Strace {
    /// Handles a line without a time: the rest of a cut call, a summary table, or damage.
    fn continuation(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        let pos = line.pos();
        if let Some(rest) = CallRest::continuing(line.bytes) {
            if matches!(rest, CallRest::Done { .. }) && self.cut.is_none() {
                self.cut = self.take_begun();
            }
            if self.cut.is_some() {
                self.attach(line.bytes);
                return self.continue_cut(batch, rest, pos);
            }
        }
        let is_strace_table = line.bytes.trim_ascii_start().starts_with(b"% time ");
        let begins_table = is_strace_table || perf_trace::begins_summary(line.bytes);
        let is_of_table = || is_of_table(line.bytes) || perf_trace::is_of_summary(line.bytes);
        self.is_in_table = begins_table || self.is_in_table && is_of_table();
        match (begins_table, self.is_in_table) {
            (false, true) => {}
            (true, _) => batch.lose(Loss::IgnoredMetadata, pos),
            _ => batch.lose(line.loss(), pos),
        }
    }

    /// Adds a line with a time: a call, a part of a call, or a note.
    fn record(&mut self, record: &StraceRecord<'_>, line: TextLine<'_>, batch: &mut BatchBuilder) {
        let pos = line.pos();
        self.is_in_table = false;
        self.last_begun = None;
        let last_end = self.last_end.take();
        self.settle_cut(batch);
        let Some(ts_ns) = self.clock.time(record) else { return batch.lose(Loss::BadTime, pos) };
        if matches!(record.clock, StraceClock::Utc { .. }) && !std::mem::replace(&mut self.has_utc, true) {
            batch.add_metadata(Metadata::Utc { offset_ns: 0 });
        }
        if let Some(exited) = self.threads.replaced(record) {
            self.drop_waiting(batch, exited);
            self.threads.replace(exited, batch, pos);
        }
        let main_calls = self.waiting.get(&MAIN_TID).into_iter().flatten().map(|call| &*call.name);
        let tid = self.threads.tid(record, main_calls, batch, pos);
        self.threads.name(tid, record.comm, batch, pos);
        if record.clock == StraceClock::Machine {
            self.end_at_next_call(batch, tid, ts_ns, &record.event);
        }
        let is_shown = record.event != StraceEvent::Skipped;
        self.last_call = Some(LastCall { tid, start_ns: ts_ns, pos, is_shown });
        let begun = |name: &[u8], args: &[u8]| UnfinishedCall::begin(tid, ts_ns, name, args, pos);
        match record.event {
            StraceEvent::Call { name, args, result, dur_ns } => {
                let result = (!result.is_empty()).then_some(result);
                let is_late = |end_ns: i64| (0..=LATE_END_NS).contains(&end_ns.saturating_sub(ts_ns));
                let late_end_ns = last_end.filter(|&(last_tid, end_ns)| last_tid == tid && is_late(end_ns));
                let start_ns = late_end_ns.map_or(ts_ns, |(_, end_ns)| end_ns);
                self.last_end = dur_ns.map(|dur_ns| (tid, start_ns.saturating_add(dur_ns)));
                self.call(batch, &CompleteCall { tid, end_tid: tid, start_ns, dur_ns, name, args, result, pos });
            }
            StraceEvent::Instant { name, args } => {
                let (start_ns, end_tid) = (ts_ns, tid);
                self.call(batch, &CompleteCall { tid, end_tid, start_ns, dur_ns: None, name, args, result: None, pos });
            }
            StraceEvent::Begun { name, args } => {
                self.wait(batch, tid, begun(name, args));
                self.last_begun = Some(tid);
            }
            StraceEvent::PidChanged { name, args, new_id } => {
                self.threads.exit(tid);
                self.wait(batch, self.threads.tid_of(new_id), begun(name, args));
            }
            StraceEvent::Resumed { name, args, result, dur_ns } => {
                let call = self.resumed(batch, tid, name, args);
                // Otherwise the thread was in the call when the recording started, or when the thread was created.
                let dur_ns = call.as_ref().and_then(|call| call.dur_ns(dur_ns, ts_ns));
                let call = call.unwrap_or_else(|| begun(name, args));
                self.last_call = Some(LastCall { tid, start_ns: call.start_ns, pos, is_shown });
                self.call(batch, &call.complete(tid, dur_ns, (!result.is_empty()).then_some(result), pos));
            }
            StraceEvent::Interrupted { name, args } => {
                let call = self.resumed(batch, tid, name, args);
                self.wait(batch, tid, call.unwrap_or_else(|| begun(name, args)));
            }
            StraceEvent::Cut { name, args, is_resumed, is_by_message } => {
                self.attach(line.bytes);
                let call = if is_resumed { self.resumed(batch, tid, name, args) } else { None };
                let resumed = call.is_some().then_some((ts_ns, pos));
                let loss = (!is_by_message).then(|| line.loss());
                self.cut = Some(CutCall { call: call.unwrap_or_else(|| begun(name, args)), tid, resumed, loss });
            }
            StraceEvent::Note(note) => self.note(batch, tid, ts_ns, note, pos),
            StraceEvent::Skipped => batch.lose(Loss::IgnoredMetadata, pos),
            StraceEvent::Unknown => batch.lose(line.loss(), pos),
        }
    }

    /// Adds a signal or the exit of a thread as an instant.
    fn note(&mut self, batch: &mut BatchBuilder, tid: i64, ts_ns: i64, note: &[u8], pos: SourcePos) {
        if note.starts_with(b"exited ") || note.starts_with(b"killed ") {
            self.threads.exit(tid);
        }
        if let Some(id) = note.strip_prefix(b"superseded by execve in pid ").and_then(number) {
            self.supersede(batch, tid, self.threads.tid_of(id));
        }
        let (track, name) = (batch.track_with(&self.threads.key(tid)), batch.name(note, None, pos));
        batch.push(Event::new(ts_ns, EventKind::Instant, track, name));
    }

    /// Reads the message at the end of a line that a process was attached.
    fn attach(&mut self, line: &[u8]) {
        if let Some(id) = attached_process(line) {
            self.threads.attach(id);
        }
    }

    /// Adds the stack of the previous call as a sample at its start.
    fn stack(&mut self, batch: &mut BatchBuilder) {
        let Some(call) = self.last_call.take() else { return };
        if self.frames.is_empty() || !call.is_shown {
            return self.frames.clear();
        }
        let frames = self.frames.iter().rev().map(|frame| (&*frame.name, &*frame.module));
        let stack = batch.stack(frames, call.pos);
        self.frames.clear();
        let track = batch.track_with(&self.threads.key(call.tid));
        batch.push_sample(call.start_ns, track, stack, 0);
    }

    fn call(&mut self, batch: &mut BatchBuilder, call: &CompleteCall<'_>) {
        let mut event = self.event(batch, call);
        match call.dur_ns {
            Some(dur_ns) if dur_ns >= 0 => {
                event.value = dur_ns.unsigned_abs();
                let end_ns = call.start_ns.saturating_add(dur_ns);
                self.clock.call_ended(end_ns);
                if let Some(outer) = self.waiting.get_mut(&call.tid).and_then(|calls| calls.last_mut()) {
                    outer.inner_end_ns = outer.inner_end_ns.max(end_ns);
                }
            }
            Some(_) => batch.lose(Loss::NegativeDuration, call.pos),
            None => event.kind = EventKind::Instant,
        }
        batch.push(event);
        if call.name == b"execve" && call.result == Some(b"0") {
            // The last component of the first quoted path.
            let path = call.args.split(|&byte| byte == b'"').nth(1).unwrap_or_default();
            let program = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
            self.threads.start_program(call.end_tid, program, batch, call.pos);
        } else if let Some(created) = CreatedThread::from_call(call.name, call.args, call.result) {
            self.threads.create(call.end_tid, created, batch, call.pos);
        }
    }

    fn event(&mut self, batch: &mut BatchBuilder, call: &CompleteCall<'_>) -> Event {
        let (track, name) = (batch.track_with(&self.threads.key(call.tid)), batch.name(call.name, None, call.pos));
        self.args.clear();
        if !call.args.is_empty() {
            self.args.text("args", call.args);
        }
        if let Some(result) = call.result {
            self.args.text("ret", result);
        }
        let args_json = self.args.finish();
        let detail = batch.args(args_json);
        Event { detail, ..Event::new(call.start_ns, EventKind::Complete, track, name) }
    }
}

#[cfg(test)]
mod tests;
