//! Text of `perf script`. Each event is a line `comm pid/tid [cpu] time: period event: fields`, then the stack,
//! innermost frame first, and an empty line. An event with a stack is a sample, and so is an event without fields,
//! except a system call. Scheduler events also become scheduling, system calls spans, others instants. Names stay as
//! `perf` prints them; unresolved addresses are named after their file, as in `[libc.so.6]`. Lines without times are
//! placed a millisecond apart, which is reported as a loss. Source lines of frames are arguments. Branches, registers
//! and instructions are ignored.

mod header;
mod messages;

use rustc_hash::FxHashMap;

use self::header::{HeaderForm, ScriptHeader, is_task_line};
use self::messages::PerfMessage;
use super::event_text::{KernelText, TextEvent};
use super::perf_fields::{
    event_of_fields, is_cgroup, is_hardware_event, is_machine_line, is_page_line, sampled_fields, split_blank,
    traced_call,
};
use super::switch_records::{SwitchChange, SwitchRecord, SwitchRecords};
use super::syscalls::SystemCall;
use crate::formats::format::{ArrivalKey, DataKind, Format, Opener};
use crate::formats::input::lines::{LineParser, Output, TextLine, head_lines};
use crate::formats::input::source::Source;
use crate::formats::input::text::{parsed, split_word};
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::{BatchBuilder, STACK_FRAMES_MAX};
use crate::formats::{ReadError, Reader};
use crate::model::{Event, EventKind, Loss, LossValue, NameIdx, SourcePos};

pub(crate) const FORMAT: Format = Format {
    name: "perf script",
    record: "An event is a line of command, thread, time and event: \"bash 977 [000] 17284.993652: cycles: ...\".",
    sniff: looks_like_perf_script,
    is_event: Some(looks_like_perf_script),
    live: Some(ArrivalKey::End),
    shows: &[DataKind::Spans, DataKind::Instants, DataKind::Arguments, DataKind::Scheduling, DataKind::Samples],
    opener: Opener::Trace(|source, _| Ok(open(source))),
};

/// Returns whether the first line that is not a comment is an event of `perf script`.
fn looks_like_perf_script(head: &[u8]) -> bool {
    let is_text = |line: &&[u8]| !line.trim_ascii().is_empty() && !line.starts_with(b"#");
    let mut lines = head_lines(head).filter(is_text).filter(|line| PerfMessage::from_line(line).is_none());
    let Some(first) = lines.next() else { return false };
    if is_task_line(first) {
        return true;
    }
    let second = lines.next();
    let is_frame = |line: &[u8]| line.first().is_some_and(u8::is_ascii_whitespace) && script_frame(line).is_some();
    let is_sample = |line: &[u8]| {
        let header = ScriptHeader::parse(line, false);
        header.is_some_and(|header| is_hardware_event(header.event) && !sampled_fields(header.fields).1.is_empty())
    };
    let Some(header) = ScriptHeader::from_line(first) else {
        // Logs have similar lines without ids.
        return second.is_some_and(is_frame) && ScriptHeader::parse(first, false).is_some()
            || is_sample(first) && second.is_some_and(is_sample)
            || is_untimed_frame(first) && second.is_some_and(is_frame)
            || second.is_some_and(is_untimed_frame) && ScriptHeader::untimed(first).is_some()
            || second.is_some_and(is_padded_frame) && !first.starts_with(b"\t");
    };
    // Without an event name, a sample is only recognised by its stack, or by a second line of the same form.
    let is_bare = |line: &[u8]| {
        ScriptHeader::from_line(line).is_some_and(|header| header.event.is_empty() && header.fields.is_empty())
    };
    !header.event.is_empty()
        || header.fields.ends_with(b")")
        || !header.fields.is_empty() && second.is_some_and(|line| ScriptHeader::from_line(line).is_some())
        || second.is_some_and(|line| script_frame(line).is_some() || is_bare(first) && is_bare(line))
}

/// Returns whether a line is certainly a stack frame, for text without any headers.
fn is_untimed_frame(line: &[u8]) -> bool {
    let digits = line.trim_ascii().iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    line.starts_with(b"\t") && digits >= 4 && script_frame(line).is_some()
}

/// Returns whether a line is certainly a stack frame of `perf script`, which aligns addresses to the right.
fn is_padded_frame(line: &[u8]) -> bool {
    /// Number of columns of an address.
    const ADDRESS_WIDTH: usize = 16;
    let Some(text) = line.strip_prefix(b"\t") else { return false };
    let spaces = text.iter().take_while(|&&byte| byte == b' ').count();
    let digits = text[spaces..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    spaces + digits == ADDRESS_WIDTH && script_frame(line).is_some()
}

/// Creates a reader for `perf script` text.
fn open(source: Source) -> Reader {
    let is_delta = has_delta_times(source.head());
    let form = HeaderForm::from_head(source.head());
    crate::formats::input::lines::open(source, PerfScript { is_delta, form, ..PerfScript::default() })
}

const NO_TIMES: &str = "The trace has no times, so its samples are shown one after the other. Print the fields of `perf script` with `time`, to see when they were.";

/// Distance between samples without times.
const UNTIMED_NS: i64 = 1_000_000;

#[derive(Debug, Default)]
struct PerfScript {
    kernel: KernelText,
    /// The sample whose stack is being read.
    pending: Option<Pending>,
    frames: Vec<ScriptFrame>,
    args: ArgsWriter,
    /// Buffer for the source lines of the frames.
    lines: Vec<u8>,
    /// Whether times are relative to the previous line; `now_ns` is their sum.
    is_delta: bool,
    form: HeaderForm,
    /// Whether lines with two tabs continue a record such as `PERF_RECORD_NAMESPACES`.
    is_in_record: bool,
    now_ns: i64,
    /// Generated negative thread ids by name, for lines without ids.
    unnumbered: FxHashMap<Box<[u8]>, i64>,
    switches: SwitchRecords,
}

/// Limit for named threads without ids; more share an id.
const UNNUMBERED_MAX: usize = 1 << 16;

#[derive(Debug)]
struct Pending {
    ts_ns: i64,
    tid: i64,
    cpu: Option<u64>,
    period: Option<u64>,
    event: Box<[u8]>,
    /// The other fields of the line.
    fields: Box<[u8]>,
    pos: SourcePos,
    /// Whether the event is already added, so that only a stack makes it a sample.
    is_emitted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ScriptFrame {
    name: Box<[u8]>,
    /// File of its code; empty if unknown.
    module: Box<[u8]>,
    /// Source line that was running or calling, as `file:line`; empty if unknown.
    line: Box<[u8]>,
}

/// Returns whether times are relative to the previous event, as with `--deltatime`. Then the first is 0, and they are
/// not sorted; all other times are sorted.
fn has_delta_times(head: &[u8]) -> bool {
    let lines = head_lines(head).filter(|line| line.first().is_some_and(|first| *first != b'\t' && *first != b'#'));
    let times: Vec<i64> = lines.filter_map(|line| Some(ScriptHeader::parse(line, false)?.ts_ns)).collect();
    times.first() == Some(&0) && !times.is_sorted()
}

/// Parses `address symbol+offset (file)`; returns `None` for anything else.
fn script_frame(text: &[u8]) -> Option<ScriptFrame> {
    let text = text.trim_ascii();
    let (address, rest) = split_blank(text);
    if address.is_empty() || !address.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    // A file may be deleted, `(/x/y (deleted))`, and symbols may contain parentheses.
    let open = memchr::memmem::rfind(rest, b" (/").or_else(|| memchr::memmem::rfind(rest, b" ([")).map(|at| at + 1);
    let open =
        open.or_else(|| rest.starts_with(b"(").then_some(0)).or_else(|| Some(memchr::memmem::rfind(rest, b" (")? + 1));
    let (symbol, file) = open.map_or((rest, &b""[..]), |open| (rest[..open].trim_ascii_end(), &rest[open..]));
    let file = file.strip_prefix(b"(").map_or(file, |file| file.strip_suffix(b")").unwrap_or(file));
    let file = file.strip_suffix(b" (deleted)").unwrap_or(file);
    // Inlined functions have `inlined` instead of a file.
    let module = if matches!(file, b"inlined" | b"[unknown]" | b"unknown") { b"" } else { file };
    if symbol.is_empty() || symbol == b"[unknown]" {
        let base = file.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        let base = if base.is_empty() { &b"unknown"[..] } else { base };
        let base = base.strip_prefix(b"[").and_then(|base| base.strip_suffix(b"]")).unwrap_or(base);
        return Some(ScriptFrame {
            name: [b"[", base, b"]"].concat().into(),
            module: module.into(),
            line: Box::default(),
        });
    }
    let plus = memchr::memmem::rfind(symbol, b"+0x").filter(|&at| symbol[at + 3..].iter().all(u8::is_ascii_hexdigit));
    let name = symbol[..plus.unwrap_or(symbol.len())].into();
    Some(ScriptFrame { name, module: module.into(), line: Box::default() })
}

/// Returns whether this is a tracepoint whose record changes the states of threads.
fn is_scheduling(tracepoint: &[u8]) -> bool {
    matches!(tracepoint, b"sched_switch" | b"sched_waking" | b"sched_wakeup" | b"sched_wakeup_new")
}

/// Returns whether the text after a tracepoint is empty or a frame, as `-F` without `trace` prints instead of a record.
fn lacks_record(fields: &[u8]) -> bool {
    fields.is_empty() || !fields.contains(&b'=') && script_frame(fields).is_some()
}

/// Returns the source position of a `-F +srcline` line below a frame, such as `  file.c:12`. Returns an empty text for
/// unknown positions: `??:0`, `:0` and `module[ff81c37]`.
fn source_line(line: &[u8]) -> Option<&[u8]> {
    let location = line.trim_ascii();
    let location = location.strip_suffix(b" (inlined)").unwrap_or(location);
    if !line.first()?.is_ascii_whitespace() {
        return None;
    }
    if let Some(inside) = location.strip_suffix(b"]") {
        let (module, address) = inside.split_at(memchr::memrchr(b'[', inside)?);
        let is_address = address.len() > 1 && address[1..].iter().all(u8::is_ascii_hexdigit);
        return (is_address && !module.is_empty()).then_some(b"");
    }
    let (file, number) = location.split_at(memchr::memrchr(b':', location)?);
    let is_number = number.len() > 1 && number[1..].iter().all(u8::is_ascii_digit);
    is_number.then_some(if file.is_empty() || file == b"??" { b"" } else { location })
}

/// Splits the line of a switch or an exit before its record; `None` for other lines.
fn switch_change(line: &[u8]) -> Option<(&[u8], SwitchChange)> {
    let at = memchr::memmem::find(line, b": PERF_RECORD_")? + 2;
    let (before, record) = line.split_at(at);
    let (kind, rest) = split_word(record);
    let change = match kind {
        b"PERF_RECORD_SWITCH" | b"PERF_RECORD_SWITCH_CPU_WIDE" => match split_word(rest) {
            (b"IN", _) => SwitchChange::In,
            (b"OUT", rest) if split_word(rest).0 == b"preempt" => SwitchChange::Preempted,
            (b"OUT", _) => SwitchChange::Out,
            _ => return None,
        },
        kind if kind.starts_with(b"PERF_RECORD_EXIT(") => SwitchChange::Exit,
        _ => return None,
    };
    Some((before, change))
}

impl LineParser for PerfScript {
    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        let bytes = line.bytes;
        self.is_in_record &= bytes.starts_with(b"\t\t");
        if bytes.trim_ascii().is_empty() {
            return self.sample(batch);
        }
        if bytes.starts_with(b"#") {
            return self.comment(bytes);
        }
        if self.is_in_record {
            return;
        }
        match PerfMessage::from_line(bytes) {
            Some(PerfMessage::Note) => return batch.lose(Loss::IgnoredMetadata, line.pos()),
            Some(PerfMessage::Lost(count)) => {
                return batch.losses().add_many(Loss::RecorderLost, line.pos(), count);
            }
            None => {}
        }
        // Frames are indented by a tab. Spaces may also precede a program name, which may look like an address.
        let is_indented = bytes[0] == b'\t' || bytes[0] == b' ' && ScriptHeader::from_line(bytes).is_none();
        // A header without a stack may end with an instruction.
        if (self.pending.is_some() || self.is_untimed())
            && (is_machine_line(bytes) || self.is_memory_line(bytes))
            && ScriptHeader::parse(bytes, false).is_none()
        {
            return;
        }
        if self.form == HeaderForm::Untimed && self.pending.is_none() && bytes[0] == b'\t' {
            // Without headers, stacks are separated by empty lines.
            self.begin(ScriptHeader::bare(b"", false), line, batch);
        }
        if let HeaderForm::Bare { has_ids } = self.form
            && self.pending.is_none()
            && bytes[0] != b'\t'
            && !is_task_line(bytes)
        {
            return self.begin_bare(has_ids, line, batch);
        }
        if self.pending.is_some()
            && is_indented
            && let Some(frame) = script_frame(bytes)
        {
            return self.add_frame(frame, line, batch);
        }
        if is_task_line(bytes) {
            self.sample(batch);
            self.is_in_record = true;
            self.switch(line, batch);
            return count_lost_records(line, batch);
        }
        let header = self.header(bytes, is_indented);
        if header.is_none() && line.has_end && (self.add_source_line(bytes) || self.add_cgroup(bytes)) {
            return;
        }
        self.sample(batch);
        match header {
            Some(header) => self.begin(header, line, batch),
            None => batch.lose(line.loss(), line.pos()),
        }
    }

    fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.sample(out.batch);
        self.kernel.finish(out.batch);
        out.flush_if_full()
    }
}

/// Counts the records that `perf` lost, from the line of a task.
fn count_lost_records(line: TextLine<'_>, batch: &mut BatchBuilder) {
    const PREFIX: &[u8] = b"PERF_RECORD_LOST lost ";
    let count = memchr::memmem::find(line.bytes, PREFIX).map(|at| &line.bytes[at + PREFIX.len()..]);
    if let Some(count) = count.and_then(parsed::<i64>).and_then(|count| u64::try_from(count).ok()) {
        batch.losses().add_many(Loss::RecorderLost, line.pos(), count);
    }
}

impl PerfScript {
    /// Adds the switch or the exit of a line that `--show-switch-events` or `--show-task-events` prints.
    fn switch(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        let Some((before, change)) = switch_change(line.bytes) else { return };
        let header = ScriptHeader::from_line(before.trim_ascii_end()).filter(|_| !self.is_delta);
        let Some(ScriptHeader { comm, pid, tid: Some(tid), cpu, ts_ns, .. }) = header else {
            if change != SwitchChange::Exit {
                let value = LossValue::text(b"switch without a time or a thread");
                batch.lose_value(Loss::IgnoredPacket, value, line.pos());
            }
            return;
        };
        if !line.has_end {
            return batch.lose(line.loss(), line.pos());
        }
        // perf names threads that it does not know by their number.
        let name = if comm.starts_with(b":") { b"" } else { comm };
        if let Some(pid) = pid.filter(|_| tid > 0) {
            self.kernel.scheduler.learn_process(batch, tid, pid);
        }
        let record = SwitchRecord { ts_ns, cpu, tid, name, change };
        self.switches.add(&mut self.kernel.scheduler, batch, &record, line.pos());
    }

    fn is_untimed(&self) -> bool {
        self.form != HeaderForm::Timed
    }

    /// Reads the architecture, which defines the numbers of system calls, from a comment.
    fn comment(&mut self, bytes: &[u8]) {
        if let Some(machine) = bytes.strip_prefix(b"# arch : ") {
            self.kernel.machine = String::from_utf8_lossy(machine.trim_ascii()).into_owned();
        }
    }

    /// Parses a header with a time, or without if the text has no times.
    fn header<'a>(&self, bytes: &'a [u8], is_indented: bool) -> Option<ScriptHeader<'a>> {
        let header = ScriptHeader::from_line(bytes).or_else(|| {
            // Lines with a time but no program start with spaces.
            let is_first = |header: &ScriptHeader<'_>| header.comm.is_empty() && bytes[0] == b' ';
            ScriptHeader::parse(bytes, false).filter(|header| !is_indented || is_first(header))
        });
        let is_untimed = self.form == HeaderForm::Untimed;
        header.or_else(|| ScriptHeader::untimed(bytes).filter(|_| is_untimed))
    }

    /// Starts a sample from a header that has only a program name, and maybe ids.
    fn begin_bare(&mut self, has_ids: bool, line: TextLine<'_>, batch: &mut BatchBuilder) {
        let header = ScriptHeader::bare(line.bytes, has_ids);
        // Any text is a header, and a truncated one may have another name or id.
        if line.has_end && header.tid.is_some() == has_ids {
            self.begin(header, line, batch);
        } else {
            batch.lose(line.loss(), line.pos());
        }
    }

    fn add_frame(&mut self, frame: ScriptFrame, line: TextLine<'_>, batch: &mut BatchBuilder) {
        // A truncated file may cut a name at any byte.
        if !line.has_end && !line.bytes.ends_with(b")") {
            batch.lose(line.loss(), line.pos());
        } else if self.frames.len() >= STACK_FRAMES_MAX {
            batch.lose(Loss::DeepNesting, line.pos());
        } else {
            self.frames.push(frame);
        }
    }

    /// Adds a source line to the frame above it. Returns whether this is a source line.
    fn add_source_line(&mut self, bytes: &[u8]) -> bool {
        let Some(location) = source_line(bytes) else { return false };
        let Some(frame) = self.frames.last_mut() else {
            // A tracepoint without a stack also has a source line, and no frame for it.
            return self.pending.as_ref().is_some_and(|pending| pending.is_emitted);
        };
        if !location.is_empty() {
            frame.line = location.into();
        }
        true
    }

    /// Adds the control group of the pending sample, which `perf` before 6.5 prints below the stack.
    fn add_cgroup(&mut self, bytes: &[u8]) -> bool {
        let Some(pending) = self.pending.as_mut().filter(|_| !self.frames.is_empty()) else { return false };
        let text = bytes.trim_ascii();
        if !bytes.starts_with(b" ") || !is_cgroup(text) || !pending.fields.is_empty() {
            return false;
        }
        pending.fields = text.into();
        true
    }

    /// Returns whether a line below a stack has a physical address or sizes of pages.
    fn is_memory_line(&self, bytes: &[u8]) -> bool {
        // A frame that is only an address follows a tab, and other such frames.
        let is_frame = |frame: &ScriptFrame| &*frame.name == b"[unknown]";
        let is_address = || {
            let text = bytes.trim_ascii();
            bytes[0] == b' ' && text.iter().all(u8::is_ascii_hexdigit) && !self.frames.iter().all(is_frame)
        };
        !self.frames.is_empty() && (is_page_line(bytes) || is_address())
    }

    /// Starts an event from its header; the stack of a sample follows.
    fn begin(&mut self, header: ScriptHeader<'_>, line: TextLine<'_>, batch: &mut BatchBuilder) {
        let ScriptHeader { comm, pid, tid, cpu, mut ts_ns, period, event, fields } = header;
        let tid = tid.unwrap_or_else(|| self.unnumbered_thread(comm));
        if self.is_untimed() {
            if self.now_ns == 0 {
                batch.losses().add_because(NO_TIMES, Loss::NoTimes, line.pos());
            }
            ts_ns = UNTIMED_NS;
        }
        if ts_ns < 0 && !self.is_delta {
            return batch.lose(Loss::BadTime, line.pos());
        }
        if self.is_delta || self.is_untimed() {
            self.now_ns = self.now_ns.saturating_add(ts_ns);
            ts_ns = self.now_ns;
        }
        if let Some(pid) = pid {
            self.kernel.scheduler.learn_process(batch, tid, pid);
        }
        if !self.is_untimed() {
            self.kernel.scheduler.runs(batch, (ts_ns, None), tid);
        }
        let is_unnamed = event.is_empty() && !fields.is_empty();
        if is_unnamed && let Some((fields, name)) = traced_call(fields) {
            let call = TextEvent { ts_ns, tid, task: comm, cpu, name, fields, pos: line.pos() };
            self.args.clear();
            self.args.text("fields", fields);
            return self.kernel.add_instant(batch, &call, &mut self.args);
        }
        let event = if is_unnamed { event_of_fields(fields) } else { event };
        let short = event.strip_prefix(b"sched:").or(event.strip_prefix(b"task:")).unwrap_or(event);
        let pos = line.pos();
        let event_text = TextEvent { ts_ns, tid, task: comm, cpu, name: short, fields, pos };
        let (field_text, frame) = sampled_fields(fields);
        // Without a file, the fields of a tracepoint may look like a frame.
        let is_certain = frame.ends_with(b")") || is_unnamed || is_hardware_event(event);
        let frame = script_frame(frame).filter(|_| is_certain);
        let is_data =
            || field_text.contains(&b'|') || field_text.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b' ');
        // A system call without arguments has no fields either.
        let is_sample = fields.is_empty() && SystemCall::from_tracepoint(event).is_none()
            || is_hardware_event(event) && (frame.is_some() || is_data())
            || field_text.is_empty() && frame.is_some()
            || is_cgroup(field_text) && (is_unnamed || is_hardware_event(event));
        let fields = if is_sample { field_text } else { b"" }.into();
        let event = if is_sample && is_unnamed { b"" } else { event };
        self.pending =
            Some(Pending { ts_ns, tid, cpu, period, event: event.into(), fields, pos, is_emitted: !is_sample });
        if is_sample {
            self.kernel.name_task(batch, &event_text);
            self.frames.extend(frame);
        } else if is_scheduling(short) && lacks_record(event_text.fields) {
            self.args.clear();
            self.kernel.add_instant(batch, &event_text, &mut self.args);
            self.frames.extend(script_frame(event_text.fields));
        } else {
            // A tracepoint may have a stack.
            if short == b"sched_switch" {
                self.switches.see_tracepoint();
            }
            self.kernel.add_event(batch, &event_text);
        }
    }

    /// Returns the generated id of a thread without one.
    fn unnumbered_thread(&mut self, comm: &[u8]) -> i64 {
        if let Some(&number) = self.unnumbered.get(comm) {
            return number;
        }
        let number = -1 - self.unnumbered.len() as i64;
        if self.unnumbered.len() < UNNUMBERED_MAX {
            self.unnumbered.insert(comm.into(), number);
        }
        number
    }

    /// Adds the source lines of the frames as an argument, innermost first; an unknown source line is empty. As parts
    /// of names they would split a function into one function per line.
    fn write_lines(&mut self) {
        if self.frames.iter().all(|frame| frame.line.is_empty()) {
            return;
        }
        self.lines.clear();
        for frame in &self.frames {
            self.lines.extend_from_slice(&frame.line);
            self.lines.push(b';');
        }
        self.lines.pop();
        // A list would make all reading of the weights slower.
        self.args.text("lines", &self.lines);
    }

    /// Adds the pending sample, whose stack is complete.
    fn sample(&mut self, batch: &mut BatchBuilder) {
        let Some(pending) = self.pending.take() else { return };
        if pending.is_emitted && self.frames.is_empty() {
            return;
        }
        let frames = self.frames.iter().rev().map(|frame| (&*frame.name, &*frame.module));
        let stack = batch.stack(frames, pending.pos);
        if pending.is_emitted && !self.is_untimed() {
            self.kernel.scheduler.add_switch_stack(batch, None, stack, pending.pos);
        }
        self.args.clear();
        if !pending.event.is_empty() {
            self.args.text("event", &pending.event);
        }
        if let Some(period) = pending.period {
            self.args.number("period", period);
        }
        if let Some(cpu) = pending.cpu {
            self.args.number("cpu", cpu);
        }
        if !pending.fields.is_empty() {
            self.args.text(if is_cgroup(&pending.fields) { "cgroup" } else { "fields" }, &pending.fields);
        }
        self.write_lines();
        self.frames.clear();
        let detail = batch.args(self.args.finish());
        let track = batch.track_with(&self.kernel.thread(pending.tid));
        let value = u64::from(stack.0);
        batch.push(Event { value, detail, ..Event::new(pending.ts_ns, EventKind::Sample, track, NameIdx::EMPTY) });
    }
}

#[cfg(test)]
mod tests;
