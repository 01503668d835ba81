//! The calls and memory of Xdebug traces, in both text formats. Each call is a begin and an end in file order. Written
//! times are coarse, so a line is at least 1 ns after the previous one, and calls of equal times nest as recorded.
//! Several runs in one file follow each other by their dates. Calls of a fiber overlap the calls of the program, so a
//! fiber is a separate thread. Each line waits for the time of the next line, so that a single late time does not move
//! all later lines.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::base::time::epoch_nanos;
use crate::formats::ReadError;
use crate::formats::input::lines::{LineParser, Output, TextLine};
use crate::formats::output::batch::BatchBuilder;
use crate::model::{Event, EventFlags, EventKind, Id, Loss, Metadata, NameIdx, SourcePos, TrackKey, TrackKind};

/// Limit for open calls. PHP nests a few thousand deep.
const OPEN_MAX: usize = 1 << 19;

/// Start of the heading of a run; a date follows.
pub(super) const RUN_START: &[u8] = b"TRACE START [";

/// The call that starts a fiber.
const FIBER_START: &[u8] = b"Fiber->start";

/// A text format of lines with times.
pub(super) trait XdebugFormat: Default + Send {
    fn calls(&mut self) -> &mut XdebugCalls;

    /// Returns the time of a line in its run; `None` for a line to skip. Counts the loss if it is malformed.
    fn time(line: TextLine<'_>, batch: &mut BatchBuilder) -> Option<i64>;

    /// Parses a line, given its time in the trace.
    fn timed_line(&mut self, line: TextLine<'_>, ts_ns: i64, batch: &mut BatchBuilder);
}

/// Parses the lines of a format, each once the time of the next line is known.
#[derive(Debug, Default)]
pub(super) struct XdebugLines<F> {
    format: F,
    waiting: WaitingLine,
}

/// The last line with a time.
#[derive(Debug, Default)]
struct WaitingLine {
    bytes: Vec<u8>,
    offset: u64,
    has_end: bool,
    /// Its time in its run; `None` if no line is waiting.
    ts_ns: Option<i64>,
}

impl<F: XdebugFormat> XdebugLines<F> {
    /// Parses the waiting line. `next_ns` is the time of the next line of its run, if there is one.
    fn take_waiting(&mut self, next_ns: Option<i64>, batch: &mut BatchBuilder) {
        let Some(ts_ns) = self.waiting.ts_ns.take() else { return };
        let WaitingLine { bytes, offset, has_end, .. } = &self.waiting;
        let line = TextLine { bytes, offset: *offset, has_end: *has_end };
        let ts_ns = self.format.calls().run.moved(ts_ns, next_ns, line.pos(), batch);
        self.format.timed_line(line, ts_ns, batch);
    }
}

impl<F: XdebugFormat> LineParser for XdebugLines<F> {
    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        let text = line.bytes.trim_ascii();
        if text.starts_with(RUN_START) {
            self.take_waiting(None, batch);
            return self.format.calls().begin_run(text, line.pos(), batch);
        }
        // No line of the run follows.
        if text.starts_with(b"TRACE END") {
            return self.take_waiting(None, batch);
        }
        let headings = [&b"Version: "[..], b"File format: ", b"TRACE START"];
        if text.is_empty() || headings.iter().any(|begin| text.starts_with(begin)) {
            return;
        }
        let Some(ts_ns) = F::time(line, batch) else { return };
        self.take_waiting(Some(ts_ns), batch);
        let WaitingLine { bytes, offset, has_end, ts_ns: waiting_ns } = &mut self.waiting;
        bytes.clear();
        bytes.extend_from_slice(line.bytes);
        (*offset, *has_end, *waiting_ns) = (line.offset, line.has_end, Some(ts_ns));
    }

    fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.take_waiting(None, out.batch);
        Ok(())
    }
}

/// A call at its entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct XdebugCall<'a> {
    /// Unique within its run.
    pub(super) number: u64,
    /// Depth of the call, counted from the start of its fiber.
    pub(super) level: u64,
    pub(super) name: &'a [u8],
    pub(super) args_json: &'a str,
}

/// The open calls of the current run, and its position in time.
#[derive(Debug, Default)]
pub(super) struct XdebugCalls {
    /// Open calls by stack, outermost first. The program has a stack, and each of its fibers.
    stacks: Vec<Vec<OpenCall>>,
    stack_by_number: FxHashMap<u64, usize>,
    empty_stacks: BTreeSet<usize>,
    /// Stack of the last call.
    current: usize,
    run: XdebugRun,
}

#[derive(Debug, Clone, Copy)]
struct OpenCall {
    number: u64,
    level: u64,
    starts_fiber: bool,
}

/// Times of the current run.
#[derive(Debug, Default)]
struct XdebugRun {
    /// Date of the first run, and the time of its first line.
    first: Option<(i64, i64)>,
    /// Whether the run has no line so far.
    is_new: bool,
    /// Date of a new run.
    date_ns: Option<i64>,
    /// Difference between times of the trace and of the run.
    offset_ns: i64,
    /// The latest written time, moved to its position in the trace.
    newest_written_ns: Option<i64>,
    /// The time of the last line. It is later than written if several lines have the same time.
    newest_ns: Option<i64>,
}

impl XdebugRun {
    /// Moves a time to its position in the trace, after the previous line. Limits it to the range from the newest time
    /// to the time of the next line, unless the next is before the newest. A time out of range counts as a loss.
    fn moved(&mut self, ts_ns: i64, next_ns: Option<i64>, pos: SourcePos, batch: &mut BatchBuilder) -> i64 {
        let newest_ns =
            self.newest_written_ns.filter(|_| !self.is_new).map(|newest_ns| newest_ns.saturating_sub(self.offset_ns));
        let next_ns =
            next_ns.filter(|&next_ns| next_ns < ts_ns && newest_ns.is_none_or(|newest_ns| newest_ns <= next_ns));
        if next_ns.is_some() {
            batch.lose(Loss::NegativeDuration, pos);
        }
        let ts_ns = next_ns.unwrap_or(ts_ns);
        if std::mem::take(&mut self.is_new) {
            let dated_ns = self.date_ns.take().map(|date_ns| {
                let (first_date_ns, first_ns) = *self.first.get_or_insert((date_ns, ts_ns));
                first_ns.saturating_add(date_ns.saturating_sub(first_date_ns))
            });
            // Dates may be less exact than times, or of another clock. Without a date, the run follows the previous
            // one.
            let start_ns = dated_ns.max(self.newest_ns).unwrap_or(ts_ns);
            self.offset_ns = start_ns.saturating_sub(ts_ns);
        }
        let moved_ns = ts_ns.saturating_add(self.offset_ns);
        let newest_ns = self.newest_written_ns.map_or(moved_ns, |newest_ns| newest_ns.max(moved_ns));
        if moved_ns < newest_ns {
            batch.lose(Loss::NegativeDuration, pos);
        }
        self.newest_written_ns = Some(newest_ns);
        let next_ns = self.newest_ns.map_or(newest_ns, |line_ns| newest_ns.max(line_ns.saturating_add(1)));
        self.newest_ns = Some(next_ns);
        next_ns
    }
}

impl XdebugCalls {
    /// Begins a run at its heading. Calls of the previous run end at its last time.
    fn begin_run(&mut self, heading: &[u8], pos: SourcePos, batch: &mut BatchBuilder) {
        for stack in 0..self.stacks.len() {
            while !self.stacks[stack].is_empty() {
                batch.lose(Loss::UnmatchedBegin, pos);
                self.end_innermost(stack, self.run.newest_ns.unwrap_or_default(), batch);
            }
        }
        let date = heading.strip_prefix(RUN_START).and_then(|rest| rest.split(|&byte| byte == b']').next());
        self.run.date_ns = date.and_then(|date| epoch_nanos(std::str::from_utf8(date).ok()?));
        (self.run.is_new, self.current) = (true, 0);
    }

    pub(super) fn begin(&mut self, call: &XdebugCall<'_>, ts_ns: i64, pos: SourcePos, batch: &mut BatchBuilder) {
        if self.stack_by_number.contains_key(&call.number) {
            return batch.lose(Loss::BadRecord, pos);
        }
        if self.stack_by_number.len() >= OPEN_MAX {
            return batch.lose(Loss::OverLimit, pos);
        }
        let stack = self.stack_for(call.level, ts_ns, pos, batch);
        self.current = stack;
        self.stack_by_number.insert(call.number, stack);
        let starts_fiber = call.name == FIBER_START;
        self.stacks[stack].push(OpenCall { number: call.number, level: call.level, starts_fiber });
        let (track, name) = (batch.track_with(&thread(stack)), batch.name(call.name, None, pos));
        let detail = batch.args(call.args_json);
        batch.push(Event { detail, ..Event::new(ts_ns, EventKind::Begin, track, name) });
    }

    /// Ends a call by its number. Calls inside it end with it, if their ends are missing.
    pub(super) fn end(&mut self, number: u64, ts_ns: i64, pos: SourcePos, batch: &mut BatchBuilder) {
        let Some(&stack) = self.stack_by_number.get(&number) else { return batch.lose(Loss::UnmatchedEnd, pos) };
        self.current = stack;
        while self.end_innermost(stack, ts_ns, batch).is_some_and(|ended| ended.number != number) {
            batch.lose(Loss::TruncatedSpan, pos);
        }
    }

    /// Ends the calls of the current stack from this level on. Returns their number.
    pub(super) fn end_from_level(&mut self, level: u64, ts_ns: i64, batch: &mut BatchBuilder) -> u64 {
        let mut ended = 0;
        while self.innermost().is_some_and(|call| call.level >= level) {
            self.end_innermost(self.current, ts_ns, batch);
            ended += 1;
        }
        ended
    }

    /// Returns the innermost open call of the current stack.
    fn innermost(&self) -> Option<&OpenCall> {
        self.stacks.get(self.current)?.last()
    }

    /// Returns the stack for a call: the current stack, or an empty stack for the first call of the program or a fiber.
    /// A fiber counts its levels from 1, or from 2 as Xdebug does. Open calls from the level on end, since their own
    /// ends are missing.
    fn stack_for(&mut self, level: u64, ts_ns: i64, pos: SourcePos, batch: &mut BatchBuilder) -> usize {
        let is_in_fiber = self.innermost().is_some_and(|call| call.starts_fiber && call.level >= level);
        if level > 1 && !is_in_fiber && self.current < self.stacks.len() {
            let ended = self.end_from_level(level, ts_ns, batch);
            batch.losses().add_many(Loss::TruncatedSpan, pos, ended);
            self.empty_stacks.remove(&self.current);
            return self.current;
        }
        self.empty_stacks.pop_first().unwrap_or_else(|| {
            let stack = self.stacks.len();
            self.stacks.push(Vec::new());
            let name = if stack == 0 { "PHP".into() } else { format!("PHP fiber {stack}").into() };
            let TrackKey { pid, tid, .. } = thread(stack);
            batch.add_metadata(Metadata::ThreadName { pid, tid, name });
            stack
        })
    }

    fn end_innermost(&mut self, stack: usize, ts_ns: i64, batch: &mut BatchBuilder) -> Option<OpenCall> {
        let ended = self.stacks[stack].pop()?;
        self.stack_by_number.remove(&ended.number);
        if self.stacks[stack].is_empty() {
            self.empty_stacks.insert(stack);
        }
        let track = batch.track_with(&thread(stack));
        batch.push(Event { flags: EventFlags::UNNAMED, ..Event::new(ts_ns, EventKind::End, track, NameIdx::EMPTY) });
        Some(ended)
    }
}

/// Returns the key of the thread of a stack.
fn thread(stack: usize) -> TrackKey {
    TrackKey::thread(Id::None, Id::Number(i64::try_from(stack).map_or(i64::MAX, |stack| stack + 1)))
}

pub(super) fn memory_in_use(ts_ns: i64, bytes: u64, batch: &mut BatchBuilder) {
    let name = "memory".into();
    let key = TrackKey { kind: TrackKind::Counter, pid: Id::None, tid: Id::None, name, slot: 0 };
    let value = (bytes as f64).to_bits();
    let track = batch.counter_track(&key, "bytes");
    batch.push(Event { value, ..Event::new(ts_ns, EventKind::Counter, track, NameIdx::EMPTY) });
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::formats::testing::Reading;

    /// Pairs begins with ends: start and duration in microseconds, depth and name, in order of the begins.
    pub(in crate::formats::profiles) fn spans(reading: &Reading) -> Vec<(i64, Option<i64>, usize, &str)> {
        let (mut spans, mut open) = (Vec::new(), BTreeMap::<String, Vec<usize>>::new());
        for event in &reading.events {
            let open = open.entry(event.track.tid.to_string()).or_default();
            match event.kind {
                EventKind::Begin => {
                    spans.push((event.ts_ns / 1000, None, open.len(), &*event.name));
                    open.push(spans.len() - 1);
                }
                EventKind::End => {
                    let ended = open.pop().expect("a begin");
                    spans[ended].1 = Some(event.ts_ns / 1000 - spans[ended].0);
                }
                _ => {}
            }
        }
        spans
    }
}
