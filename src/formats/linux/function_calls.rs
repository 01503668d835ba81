//! Computes the times of functions, for graphs drawn by the kernel and for function events as text.
//!
//! Durations are exact, but times are cut to microseconds, so functions are moved by less than a microsecond to keep
//! the nesting of the braces. A function starts no earlier than its previous sibling ends, and ends no earlier than its
//! last callee. Functions of equal times are emitted in order of their entries, callers first.

use rustc_hash::FxHashMap;

use super::function_text::{FunctionText, KeptFunction};
use crate::formats::output::batch::BatchBuilder;
use crate::model::{Event, EventFlags, EventKind, Id, Loss, SourcePos, TrackIdx, TrackKey};

/// Limit for nested functions; the kernel's own graph stack has 50 entries.
const DEPTH_MAX: usize = 1024;

/// Limit for CPUs, and for tasks with open functions; lines beyond it are counted as lost.
pub(super) const STACKS_MAX: usize = 1 << 16;

/// Maximum difference of a time and a duration that both describe one moment. Beyond it, the duration excludes sleeps
/// (`nosleep-time`), or the clock went back.
const SLACK_NS: i64 = 2000;

/// The owner of a call stack: a task, or a CPU whose task is not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum GraphOwner {
    Cpu(u32),
    Task(i64),
}

impl GraphOwner {
    pub(super) fn tid(self) -> i64 {
        match self {
            Self::Cpu(cpu) => -1 - i64::from(cpu),
            Self::Task(tid) => tid,
        }
    }

    pub(super) fn key(self) -> TrackKey {
        let (pid, tid) = match self {
            Self::Cpu(cpu) => (Id::None, Id::Text(format!("CPU {cpu}").into())),
            Self::Task(tid) => (Id::Number(tid), Id::Number(tid)),
        };
        TrackKey::thread(pid, tid)
    }
}

/// Where and when a function is entered or left.
#[derive(Debug, Clone, Copy)]
pub(super) struct FunctionMoment {
    pub(super) owner: GraphOwner,
    pub(super) cpu: u32,
    pub(super) ts_ns: Option<i64>,
    pub(super) pos: SourcePos,
}

/// A function whose start and duration are known. Without a duration, it is unfinished.
#[derive(Debug, Clone, Copy)]
pub(super) struct FunctionSpan {
    start_ns: i64,
    dur_ns: Option<u64>,
    pos: SourcePos,
}

impl FunctionSpan {
    fn end_ns(&self) -> i64 {
        self.start_ns.saturating_add_unsigned(self.dur_ns.unwrap_or(0))
    }

    /// Adds the function as a span.
    pub(super) fn add_span(&self, text: &FunctionText<'_>, track: TrackIdx, batch: &mut BatchBuilder) {
        let (name, detail) = (batch.name(text.name, None, self.pos), text.detail(batch));
        let span = Event { detail, ..Event::new(self.start_ns, EventKind::Complete, track, name) };
        if let Some(dur_ns) = self.dur_ns {
            batch.push(Event { value: dur_ns.min(i64::MAX.abs_diff(self.start_ns)), ..span });
        } else {
            batch.lose(Loss::BadNumber, self.pos);
            batch.push(Event { flags: EventFlags::UNFINISHED, ..span });
        }
    }
}

/// Functions that have not ended yet, by owner, and the current time of each CPU.
#[derive(Debug, Default)]
pub(super) struct FunctionCalls {
    open: FxHashMap<GraphOwner, Vec<OpenFunction>>,
    /// End of the last function on each CPU, or without times its current time.
    now_ns: FxHashMap<u32, i64>,
}

#[derive(Debug)]
struct OpenFunction {
    function: KeptFunction,
    start_ns: i64,
    pos: SourcePos,
    /// Start of the first callee and end of the last.
    callees_ns: Option<(i64, i64)>,
    /// The only callee so far and its only callees, innermost first. Their caller may have the same times, and is
    /// emitted before them.
    only_callees: Vec<(KeptFunction, FunctionSpan)>,
}

impl OpenFunction {
    /// Returns the earliest start of the next callee.
    fn now_ns(&self) -> i64 {
        self.callees_ns.map_or(self.start_ns, |(_, end_ns)| end_ns)
    }

    /// Returns the span of the function, when it ends.
    fn span(&self, end_ns: Option<i64>, dur_ns: Option<u64>) -> FunctionSpan {
        let Self { start_ns, pos, callees_ns, .. } = *self;
        let (first_ns, last_ns) = callees_ns.unwrap_or((start_ns, start_ns));
        let from_start = |end_ns: i64| {
            let dur_ns = end_ns.max(last_ns).saturating_sub(start_ns).max(0);
            FunctionSpan { start_ns, dur_ns: Some(dur_ns.cast_unsigned()), pos }
        };
        let Some(dur_ns) = dur_ns else {
            return end_ns.map_or(FunctionSpan { start_ns, dur_ns: None, pos }, from_start);
        };
        // The true start may be up to a microsecond later, which keeps the duration if the callees end late.
        let start_ns = last_ns.saturating_sub_unsigned(dur_ns).clamp(start_ns, first_ns.max(start_ns));
        let dur_ns = dur_ns.max(last_ns.saturating_sub(start_ns).max(0).cast_unsigned());
        let span = FunctionSpan { start_ns, dur_ns: Some(dur_ns), pos };
        match end_ns {
            Some(end_ns) if end_ns.abs_diff(span.end_ns()) > SLACK_NS.cast_unsigned() => from_start(end_ns),
            _ => span,
        }
    }
}

impl FunctionCalls {
    /// Opens a function. Fails beyond the limits.
    pub(super) fn enter(&mut self, at: &FunctionMoment, text: FunctionText<'_>) -> Result<(), Loss> {
        self.check_limit(at, !self.open.contains_key(&at.owner))?;
        let start_ns = self.start_ns(at);
        let open = self.open.entry(at.owner).or_default();
        if open.len() >= DEPTH_MAX {
            return Err(Loss::DeepNesting);
        }
        let (callees_ns, only_callees) = (None, Vec::new());
        open.push(OpenFunction { function: text.into(), start_ns, pos: at.pos, callees_ns, only_callees });
        self.advance(at, start_ns);
        Ok(())
    }

    /// Closes the innermost function, and passes the functions to emit to `emit`. Fails if none is open.
    pub(super) fn leave(
        &mut self,
        at: &FunctionMoment,
        result: &[u8],
        dur_ns: Option<u64>,
        mut emit: impl FnMut(&FunctionText<'_>, &FunctionSpan),
    ) -> Result<(), Loss> {
        let open = self.open.get_mut(&at.owner).ok_or(Loss::UnmatchedEnd)?;
        let mut function = open.pop().ok_or(Loss::UnmatchedEnd)?;
        if open.is_empty() {
            self.open.remove(&at.owner);
        }
        function.function.result = result.into();
        let span = function.span(at.ts_ns, dur_ns);
        let mut only_callees = std::mem::take(&mut function.only_callees);
        if let Some(caller) = self.add_callee(at, &span, &mut emit) {
            only_callees.push((function.function, span));
            caller.only_callees = only_callees;
            return Ok(());
        }
        emit(&function.function.text(), &span);
        only_callees.iter().rev().for_each(|(callee, span)| emit(&callee.text(), span));
        Ok(())
    }

    /// Adds a function without callees, like [`Self::leave`]. Fails beyond the limits.
    pub(super) fn leaf(
        &mut self,
        at: &FunctionMoment,
        text: FunctionText<'_>,
        dur_ns: Option<u64>,
        mut emit: impl FnMut(&FunctionText<'_>, &FunctionSpan),
    ) -> Result<(), Loss> {
        self.check_limit(at, false)?;
        let span = FunctionSpan { start_ns: self.start_ns(at), dur_ns, pos: at.pos };
        match self.add_callee(at, &span, &mut emit) {
            Some(caller) => caller.only_callees.push((text.into(), span)),
            None => emit(&text, &span),
        }
        Ok(())
    }

    /// Counts a callee of the innermost open function, and emits the previous callee. Returns the caller if this is its
    /// first callee, which must not be emitted yet.
    fn add_callee(
        &mut self,
        at: &FunctionMoment,
        span: &FunctionSpan,
        emit: &mut impl FnMut(&FunctionText<'_>, &FunctionSpan),
    ) -> Option<&mut OpenFunction> {
        self.advance(at, span.end_ns());
        let caller = self.open.get_mut(&at.owner)?.last_mut()?;
        let end_ns = span.end_ns();
        let is_first = caller.callees_ns.is_none();
        caller.callees_ns = match caller.callees_ns {
            Some((first_ns, last_ns)) => Some((first_ns, last_ns.max(end_ns))),
            None => Some((span.start_ns, end_ns)),
        };
        caller.only_callees.drain(..).rev().for_each(|(callee, span)| emit(&callee.text(), &span));
        is_first.then_some(caller)
    }

    /// Adds the functions that have not ended, callers first.
    pub(super) fn finish(&mut self, batch: &mut BatchBuilder, mut key: impl FnMut(GraphOwner) -> TrackKey) {
        let mut stacks: Vec<_> = std::mem::take(&mut self.open).into_iter().collect();
        // The map is unordered.
        stacks.sort_by_key(|(owner, stack)| (stack.first().map(|function| function.start_ns), owner.tid()));
        for (owner, stack) in stacks {
            let track = batch.track_with(&key(owner));
            for function in stack {
                let text = function.function.text();
                let (name, detail) = (batch.name(text.name, None, function.pos), text.detail(batch));
                batch.push(Event { detail, ..Event::new(function.start_ns, EventKind::Begin, track, name) });
                function.only_callees.iter().rev().for_each(|(callee, span)| {
                    span.add_span(&callee.text(), track, batch);
                });
            }
        }
    }

    /// Gives the open functions of a CPU to the task that runs on it.
    pub(super) fn set_task(&mut self, cpu: u32, task: GraphOwner) {
        if let Some(open) = self.open.remove(&GraphOwner::Cpu(cpu)) {
            self.open.entry(task).or_insert(open);
        }
    }

    /// Returns the current time: the time of the line, or the end of the last function on its CPU.
    pub(super) fn time_ns(&self, at: &FunctionMoment) -> i64 {
        at.ts_ns.unwrap_or_else(|| self.now_ns.get(&at.cpu).copied().unwrap_or_default())
    }

    /// Returns the start of a function that is entered.
    fn start_ns(&self, at: &FunctionMoment) -> i64 {
        let caller = self.open.get(&at.owner).and_then(|open| open.last());
        let earliest = [self.now_ns.get(&at.cpu).copied(), caller.map(OpenFunction::now_ns)];
        let ts_ns = self.time_ns(at);
        let is_exact = |now_ns: &i64| at.ts_ns.is_none() || now_ns.saturating_sub(ts_ns) <= SLACK_NS;
        earliest.into_iter().flatten().filter(is_exact).fold(ts_ns, i64::max)
    }

    /// Moves the current time of a CPU to the start or end of a function, back only with its clock. A CPU beyond the
    /// limit has no current time.
    fn advance(&mut self, at: &FunctionMoment, ts_ns: i64) {
        if self.is_beyond_cpus(at) {
            return;
        }
        let now_ns = self.now_ns.entry(at.cpu).or_insert(ts_ns);
        let went_back = at.ts_ns.is_some() && now_ns.saturating_sub(ts_ns) > SLACK_NS;
        *now_ns = if went_back { ts_ns } else { ts_ns.max(*now_ns) };
    }

    fn check_limit(&self, at: &FunctionMoment, is_new_stack: bool) -> Result<(), Loss> {
        let is_over = self.is_beyond_cpus(at) || is_new_stack && self.open.len() >= STACKS_MAX;
        if is_over { Err(Loss::OverLimit) } else { Ok(()) }
    }

    fn is_beyond_cpus(&self, at: &FunctionMoment) -> bool {
        self.now_ns.len() >= STACKS_MAX && !self.now_ns.contains_key(&at.cpu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_on_ever_new_cpus_end_their_functions_in_limited_memory() {
        let mut calls = FunctionCalls::default();
        let at = |cpu: usize, ts_ns| FunctionMoment {
            owner: GraphOwner::Task(1),
            cpu: cpu as u32,
            ts_ns: Some(ts_ns),
            pos: SourcePos::Offset(0),
        };
        let mut ended = 0;
        for cpu in 0..STACKS_MAX + 10 {
            assert_eq!(calls.enter(&at(0, 1000), FunctionText::default()), Ok(()));
            assert_eq!(calls.leave(&at(cpu, 3000), b"", Some(2000), |_, _| ended += 1), Ok(()));
        }
        assert_eq!((ended, calls.open.len(), calls.now_ns.len()), (STACKS_MAX + 10, 0, STACKS_MAX));
        assert_eq!(calls.enter(&at(STACKS_MAX + 1, 5000), FunctionText::default()), Err(Loss::OverLimit));
    }
}
