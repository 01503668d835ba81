//! The calls and memory of Xdebug traces, in both text formats. Each call is a begin and an end in file order, so that
//! calls of equal times nest as recorded. Several runs in one file follow each other by their dates. Calls of a fiber
//! overlap those of the program, and are on a thread of their own.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::base::time::epoch_nanos;
use crate::formats::output::batch::{BatchBuilder, bare};
use crate::model::args::Detail;
use crate::model::{Event, EventFlags, EventKind, Id, Loss, Metadata, NameIdx, SourcePos, TrackKey, TrackKind};

/// Limit for open calls. PHP nests a few thousand deep.
const OPEN_MAX: usize = 1 << 19;

/// Start of the heading of a run; a date follows.
pub(super) const RUN_START: &[u8] = b"TRACE START [";

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
}

/// Times of the current run.
#[derive(Debug, Default)]
struct XdebugRun {
    /// Date of the first run, and the time of its first line.
    first: Option<(i64, i64)>,
    /// Date of a run without lines so far.
    date_ns: Option<i64>,
    /// Difference between times of the trace and of the run.
    offset_ns: i64,
    newest_ns: Option<i64>,
}

impl XdebugRun {
    /// Moves a time to its position in the trace. A time before the newest one becomes that one, and counts as a loss.
    fn moved(&mut self, ts_ns: i64, pos: SourcePos, batch: &mut BatchBuilder) -> i64 {
        if let Some(date_ns) = self.date_ns.take() {
            let (first_date_ns, first_ns) = *self.first.get_or_insert((date_ns, ts_ns));
            let start_ns = first_ns.saturating_add(date_ns.saturating_sub(first_date_ns));
            // Dates may be less exact than times, or of another clock.
            let start_ns = start_ns.max(self.newest_ns.unwrap_or(i64::MIN));
            self.offset_ns = start_ns.saturating_sub(ts_ns);
        }
        let moved_ns = ts_ns.saturating_add(self.offset_ns);
        let newest_ns = self.newest_ns.map_or(moved_ns, |newest_ns| newest_ns.max(moved_ns));
        if moved_ns < newest_ns {
            batch.lose(Loss::NegativeDuration, pos);
        }
        self.newest_ns = Some(newest_ns);
        newest_ns
    }
}

impl XdebugCalls {
    /// Begins a run at its heading. Calls of the previous run end at its last time.
    pub(super) fn begin_run(&mut self, heading: &[u8], pos: SourcePos, batch: &mut BatchBuilder) {
        for stack in 0..self.stacks.len() {
            while !self.stacks[stack].is_empty() {
                batch.lose(Loss::UnmatchedBegin, pos);
                self.end_innermost(stack, self.run.newest_ns.unwrap_or_default(), batch);
            }
        }
        let date = heading.strip_prefix(RUN_START).and_then(|rest| rest.split(|&byte| byte == b']').next());
        let date_ns = date.and_then(|date| epoch_nanos(std::str::from_utf8(date).ok()?));
        // Without a date, the run follows the previous one.
        self.run.date_ns = date_ns.or(self.run.first.map(|(first_date_ns, _)| first_date_ns));
    }

    /// Returns the time of a line in the trace.
    pub(super) fn time(&mut self, ts_ns: i64, pos: SourcePos, batch: &mut BatchBuilder) -> i64 {
        self.run.moved(ts_ns, pos, batch)
    }

    pub(super) fn begin(&mut self, call: &XdebugCall<'_>, ts_ns: i64, pos: SourcePos, batch: &mut BatchBuilder) {
        if self.stack_by_number.contains_key(&call.number) {
            return batch.lose(Loss::BadRecord, pos);
        }
        if self.stack_by_number.len() >= OPEN_MAX {
            return batch.lose(Loss::OverLimit, pos);
        }
        let stack = self.stack_for(call.level, batch);
        self.current = stack;
        self.stack_by_number.insert(call.number, stack);
        self.stacks[stack].push(OpenCall { number: call.number, level: call.level });
        let (track, name) = (batch.track_with(&thread(stack)), batch.name(call.name, None, pos));
        let detail = batch.batch.chunk.details.push(&Detail { args_json: call.args_json, ..Detail::default() });
        batch.push(Event { detail, ..bare(ts_ns, EventKind::Begin, track, name) });
    }

    /// Ends a call by its number. Calls inside it end with it, if their ends are missing.
    pub(super) fn end(&mut self, number: u64, ts_ns: i64, pos: SourcePos, batch: &mut BatchBuilder) {
        let Some(&stack) = self.stack_by_number.get(&number) else { return batch.lose(Loss::UnmatchedEnd, pos) };
        self.current = stack;
        while self.end_innermost(stack, ts_ns, batch).is_some_and(|ended| ended.number != number) {
            batch.lose(Loss::TruncatedSpan, pos);
        }
    }

    /// Ends the calls of the current stack from this level on.
    pub(super) fn end_from_level(&mut self, level: u64, ts_ns: i64, batch: &mut BatchBuilder) {
        let stack = self.current;
        while self.stacks.get(stack).and_then(|stack| stack.last()).is_some_and(|call| call.level >= level) {
            self.end_innermost(stack, ts_ns, batch);
        }
    }

    /// Returns the stack for a call. A fiber counts its levels from the start, so that a call that is not deeper than
    /// an open one is the first of a fiber.
    fn stack_for(&mut self, level: u64, batch: &mut BatchBuilder) -> usize {
        let innermost = self.stacks.get(self.current).and_then(|stack| stack.last());
        if innermost.is_some_and(|innermost| innermost.level < level) {
            return self.current;
        }
        self.empty_stacks.pop_first().unwrap_or_else(|| {
            let stack = self.stacks.len();
            self.stacks.push(Vec::new());
            let name = if stack == 0 { "PHP".into() } else { format!("PHP fiber {stack}").into() };
            let TrackKey { pid, tid, .. } = thread(stack);
            batch.batch.metadata.push(Metadata::ThreadName { pid, tid, name });
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
        batch.push(Event { flags: EventFlags::UNNAMED, ..bare(ts_ns, EventKind::End, track, NameIdx::EMPTY) });
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
    batch.push(Event { value, ..bare(ts_ns, EventKind::Counter, track, NameIdx::EMPTY) });
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
