//! The output of `strace`, `ltrace` and `perf trace`: one line per call, `PID time name(args) = result <seconds>`. With
//! `-T` a call is a span; without it only a call that another thread interrupted has two times, and all others are instants. Times
//! without a date (`-tt`) begin at midnight and go on past the next one; distances from the line before (`-r`) begin at
//! 0. The stacks of `-k` are samples at the begins of their calls. The table of sums that `-C` prints after the calls
//! has no times, so the reader skips it.

mod line;
mod perf_trace;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use self::line::{StackLine, StraceClock, StraceEvent, StraceRecord, is_of_table, number, stack_line, word};
use crate::formats::format::{Format, Opener, Shown};
use crate::formats::input::lines::{LineParser, Output, TextLine, head_lines};
use crate::formats::input::source::Source;
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::{BatchBuilder, bare, text};
use crate::formats::{ReadError, Reader};
use crate::model::args::Detail;
use crate::model::{Event, EventFlags, EventKind, Id, Loss, Metadata, SourcePos, StackIdx, TrackKey, TrackKind};

/// Limit for threads with unfinished calls.
const WAITING_MAX: usize = 1 << 20;

/// Limit for nested unfinished calls of a thread; some calls never end.
const CALLS_DEEP_MAX: usize = 64;

const DAY_NS: i64 = 86_400_000_000_000;

pub(crate) const FORMAT: Format = Format {
    name: "strace",
    record: "A call is a line of time and call: \"977 1795166531.000001 getpid() = 977 <0.000004>\".",
    sniff: looks_like_strace,
    shows: &[Shown::Spans, Shown::Instants, Shown::Arguments, Shown::Samples],
    opener: Opener::Capture(|source, _| Ok(open(source))),
};

/// Parses a line of `perf trace`, or else of `strace` or `ltrace`. Returns `None` if it is of neither.
fn parse_record(line: &[u8]) -> Option<StraceRecord<'_>> {
    perf_trace::record(line).or_else(|| StraceRecord::from_line(line))
}

/// Returns whether the first line is from `strace` with times.
fn looks_like_strace(head: &[u8]) -> bool {
    let mut lines = head_lines(head).filter(|line| !line.is_empty() && !line.starts_with(b"strace: "));
    lines.next().is_some_and(|line| parse_record(line).is_some_and(|record| record.what != StraceEvent::Unknown))
}

/// Returns whether the first line is a call from `strace` without times.
#[must_use]
pub(crate) fn looks_like_strace_without_times(head: &[u8]) -> bool {
    let Some(line) = head_lines(head).find(|line| !line.is_empty() && !line.starts_with(b"strace: ")) else {
        return false;
    };
    // Only a process id may precede the call.
    let (first, after) = word(line.trim_ascii_start());
    let rest = if number(first).is_some() { after } else { line.trim_ascii_start() };
    matches!(StraceEvent::from_text(rest), StraceEvent::Call { .. } | StraceEvent::Begun { .. })
        && !looks_like_strace(head)
}

/// Creates a reader for `strace` output.
fn open(source: Source) -> Reader {
    let first_tid = first_process(source.head());
    crate::formats::input::lines::open(source, Strace { first_tid, ..Strace::default() })
}

/// Returns the process that `strace` started, for terminal output. Lines have a process id only while several processes
/// run, so the first lines have none. It is the first id that is printed without an attach message.
fn first_process(head: &[u8]) -> i64 {
    const ATTACHED: &[u8] = b"strace: Process ";
    let attached = |line: &[u8]| number(word(&line[memchr::memmem::find(line, ATTACHED)? + ATTACHED.len()..]).0);
    let attached: Vec<i64> = head_lines(head).filter_map(attached).collect();
    let named = |line: &[u8]| {
        let inside = line.strip_prefix(b"[pid ")?;
        number(inside[..memchr::memchr(b']', inside)?].trim_ascii())
    };
    head_lines(head).filter_map(named).find(|tid| !attached.contains(tid)).unwrap_or(0)
}

#[derive(Debug, Default)]
struct Strace {
    /// Unfinished calls by thread, outermost first. `ltrace -S` nests system calls in the library calls that make them.
    waiting: FxHashMap<i64, SmallVec<[UnfinishedCall; 1]>>,
    /// Offset of the current day, and the last time of day.
    day_ns: i64,
    last_of_day_ns: i64,
    /// Current time, for lines with relative times.
    distance_ns: i64,
    /// Process of lines without an id, while it is the only one.
    first_tid: i64,
    /// Processes seen in lines that have not exited.
    running: FxHashSet<i64>,
    /// The call of the previous line, whose stack may follow.
    last_call: Option<LastCall>,
    /// Frames of its stack, innermost first.
    frames: Vec<StackLine>,
    /// Last known thread names.
    named: FxHashMap<i64, Box<[u8]>>,
    /// Whether the batch already marks times as UTC.
    has_utc: bool,
    /// Whether the previous line was part of a summary table.
    is_in_table: bool,
    args: ArgsWriter,
}

/// Thread and start of a call.
#[derive(Debug, Clone, Copy)]
struct LastCall {
    tid: i64,
    start_ns: i64,
    place: SourcePos,
    is_shown: bool,
}

#[derive(Debug)]
struct UnfinishedCall {
    start_ns: i64,
    name: Box<[u8]>,
    args: Box<[u8]>,
    place: SourcePos,
}

impl LineParser for Strace {
    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        let place = line.place();
        if line.bytes.trim_ascii().is_empty() {
            return;
        }
        if line.bytes.starts_with(b"strace: ") {
            return batch.lose(Loss::IgnoredMetadata, place);
        }
        if self.last_call.is_some()
            && let Some(frame) = stack_line(line.bytes)
        {
            if line.has_end {
                self.frames.push(frame);
            } else {
                batch.lose(Loss::Truncated, place);
            }
            return;
        }
        self.stack(batch);
        let Some(record) = parse_record(line.bytes) else {
            let begins_table = line.bytes.trim_ascii_start().starts_with(b"% time ");
            self.is_in_table = begins_table || self.is_in_table && is_of_table(line.bytes);
            return match (begins_table, self.is_in_table) {
                (false, true) => {}
                (true, _) => batch.lose(Loss::IgnoredMetadata, place),
                _ => batch.lose(line.loss(), place),
            };
        };
        self.is_in_table = false;
        let Some(ts_ns) = self.time(record) else { return batch.lose(Loss::BadTime, place) };
        if record.clock == StraceClock::Utc && !std::mem::replace(&mut self.has_utc, true) {
            batch.batch.metadata.push(Metadata::Utc { offset_ns: 0 });
        }
        let tid = self.thread_of(&record);
        if !record.comm.is_empty() && self.named.get(&tid).is_none_or(|known| **known != *record.comm) {
            self.named.insert(tid, record.comm.into());
            let name = text(record.comm, place, &mut batch.batch.losses);
            batch.batch.metadata.push(Metadata::ThreadName { pid: Id::None, tid: Id::Number(tid), name });
        }
        let is_shown = record.what != StraceEvent::Skipped;
        self.last_call = Some(LastCall { tid, start_ns: ts_ns, place, is_shown });
        match record.what {
            StraceEvent::Call { name, args, result, dur_ns } => {
                let result = Some(result);
                self.call(batch, &Done { tid, start_ns: ts_ns, dur_ns, name, args: [args, b""], result, place });
                if name == b"execve" && result == Some(b"0") {
                    name_thread(batch, tid, args, place);
                }
            }
            StraceEvent::Begun { name, args } => {
                let begun = UnfinishedCall { start_ns: ts_ns, name: name.into(), args: args.into(), place };
                if self.waiting.len() >= WAITING_MAX && !self.waiting.contains_key(&tid) {
                    return batch.lose(Loss::OverLimit, place);
                }
                let calls = self.waiting.entry(tid).or_default();
                calls.push(begun);
                if calls.len() > CALLS_DEEP_MAX {
                    let outermost = calls.remove(0);
                    self.endless(batch, tid, &outermost);
                }
            }
            StraceEvent::Resumed { name, args, result, dur_ns } => {
                let result = Some(result);
                let mut calls = self.waiting.remove(&tid).unwrap_or_default();
                match calls.iter().rposition(|begun| is_name_of(&begun.name, name)) {
                    Some(position) => {
                        // Nested calls end with it at the latest, at an unknown time.
                        for within in calls.drain(position + 1..) {
                            self.endless(batch, tid, &within);
                        }
                        let begun = calls.remove(position);
                        let start_ns = begun.start_ns;
                        self.last_call = Some(LastCall { tid, start_ns, place, is_shown });
                        let dur_ns = dur_ns.or_else(|| ts_ns.checked_sub(start_ns));
                        let args = [&*begun.args, args];
                        self.call(batch, &Done { tid, start_ns, dur_ns, name: &begun.name, args, result, place });
                        if name == b"execve" && result == Some(b"0") {
                            name_thread(batch, tid, &begun.args, place);
                        }
                    }
                    None => batch.lose(Loss::UnmatchedEnd, place),
                }
                if !calls.is_empty() {
                    self.waiting.insert(tid, calls);
                }
            }
            StraceEvent::Note(note) => {
                if note.starts_with(b"exited ") || note.starts_with(b"killed ") {
                    self.running.remove(&tid);
                }
                let (track, name) = (batch.track_with(&thread(tid)), batch.name(note, None, place));
                batch.push(bare(ts_ns, EventKind::Instant, track, name));
            }
            StraceEvent::Skipped => batch.lose(Loss::IgnoredMetadata, place),
            StraceEvent::Unknown => batch.lose(line.loss(), place),
        }
    }

    fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.stack(out.batch);
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let mut waiting: Vec<_> =
            waiting.flat_map(|(tid, calls)| calls.into_iter().map(move |begun| (tid, begun))).collect();
        waiting.sort_by_key(|(tid, begun)| (begun.start_ns, *tid));
        for (tid, begun) in waiting {
            self.endless(out.batch, tid, &begun);
            out.flush_if_full()?;
        }
        Ok(())
    }
}

/// Returns whether a call is resumed under this name: `ltrace` omits the library of `library->function`.
fn is_name_of(begun: &[u8], resumed: &[u8]) -> bool {
    begun.strip_suffix(resumed).is_some_and(|before| before.is_empty() || before.ends_with(b"->"))
}

/// A complete call.
struct Done<'a> {
    tid: i64,
    start_ns: i64,
    dur_ns: Option<i64>,
    name: &'a [u8],
    /// The arguments, in two parts if the call was interrupted.
    args: [&'a [u8]; 2],
    result: Option<&'a [u8]>,
    place: SourcePos,
}

impl Strace {
    /// Returns the thread of a line. A line without an id belongs to the only running process.
    fn thread_of(&mut self, record: &StraceRecord<'_>) -> i64 {
        let Some(tid) = record.tid else {
            let mut running = self.running.iter();
            return match (running.next(), running.next()) {
                (Some(&only), None) => only,
                _ => self.first_tid,
            };
        };
        if self.running.len() < WAITING_MAX {
            self.running.insert(tid);
        }
        tid
    }

    /// Adds the stack of the previous call as a sample at its start.
    fn stack(&mut self, batch: &mut BatchBuilder) {
        let Some(call) = self.last_call.take() else { return };
        if self.frames.is_empty() || !call.is_shown {
            return self.frames.clear();
        }
        let mut stack = StackIdx::EMPTY;
        while let Some(StackLine { name, module }) = self.frames.pop() {
            let module = (!module.is_empty()).then_some(&*module);
            let name = batch.name(&name, module, call.place);
            stack = batch.batch.stacks.intern(stack, name);
        }
        let track = batch.track_with(&thread(call.tid));
        batch.push_sample(call.start_ns, track, stack, 0);
    }

    /// Returns the time of a line. A time of day that goes back by half a day has passed midnight.
    fn time(&mut self, record: StraceRecord<'_>) -> Option<i64> {
        match record.clock {
            StraceClock::Utc | StraceClock::Machine => return Some(record.ns),
            StraceClock::Distance => {
                self.distance_ns = self.distance_ns.checked_add(record.ns)?;
                return Some(self.distance_ns);
            }
            StraceClock::TimeOfDay => {}
        }
        if record.ns < self.last_of_day_ns - DAY_NS / 2 {
            self.day_ns = self.day_ns.checked_add(DAY_NS)?;
        }
        self.last_of_day_ns = record.ns;
        self.day_ns.checked_add(record.ns)
    }

    fn call(&mut self, batch: &mut BatchBuilder, call: &Done<'_>) {
        let mut event = self.event(batch, call);
        match call.dur_ns {
            Some(dur_ns) if dur_ns >= 0 => event.value = dur_ns.unsigned_abs(),
            Some(_) => batch.lose(Loss::NegativeDuration, call.place),
            None => event.kind = EventKind::Instant,
        }
        batch.push(event);
    }

    /// Adds a call whose end is missing.
    fn endless(&mut self, batch: &mut BatchBuilder, tid: i64, begun: &UnfinishedCall) {
        batch.lose(Loss::UnmatchedBegin, SourcePos::Time(begun.start_ns));
        let UnfinishedCall { start_ns, name, args, place } = begun;
        let (start_ns, place, args) = (*start_ns, *place, [&**args, b""]);
        let event = self.event(batch, &Done { tid, start_ns, dur_ns: None, name, args, result: None, place });
        batch.push(Event { flags: EventFlags::UNFINISHED, ..event });
    }

    fn event(&mut self, batch: &mut BatchBuilder, call: &Done<'_>) -> Event {
        let (track, name) = (batch.track_with(&thread(call.tid)), batch.name(call.name, None, call.place));
        self.args.clear();
        if call.args.iter().any(|part| !part.is_empty()) {
            self.args.text("args", &call.args.join(&b""[..]));
        }
        if let Some(result) = call.result {
            self.args.text("ret", result);
        }
        let args_json = self.args.finish();
        let detail = batch.batch.chunk.details.push(&Detail { args_json, ..Detail::default() });
        Event { detail, ..bare(call.start_ns, EventKind::Complete, track, name) }
    }
}

/// Returns the key of a thread; `strace` does not record its process.
fn thread(tid: i64) -> TrackKey {
    TrackKey { kind: TrackKind::Thread, pid: Id::None, tid: Id::Number(tid), name: Arc::default(), slot: 0 }
}

/// Names a thread after the program that it executes: the last component of the first quoted path.
fn name_thread(batch: &mut BatchBuilder, tid: i64, args: &[u8], place: SourcePos) {
    let path = args.split(|&byte| byte == b'"').nth(1).unwrap_or_default();
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    if !name.is_empty() {
        let name = text(name, place, &mut batch.batch.losses);
        batch.batch.metadata.push(Metadata::ThreadName { pid: Id::None, tid: Id::Number(tid), name });
    }
}

#[cfg(test)]
mod tests;
