//! Generates traces of any size from a seed. They resemble real programs: frames, workers, nested calls, bursts, idle
//! gaps, log-normal durations and a few thousand names. A given fraction of events is out of order. The same seed gives
//! the same bytes on every machine. Memory does not grow with the trace; in random order, it
//! holds a 256th of the events.

mod disorder;
mod event;
mod extras;
mod program;
mod random;
mod shuffle;
mod thread;
pub(crate) mod write;

use std::io;

use disorder::Disorder;
use event::event;
use extras::Extras;
use program::{Program, ThreadPlan};
use rustc_hash::FxHashSet;
use shuffle::Shuffle;
use thread::{MadeSpan, Thread};

use crate::model::args::Detail;
use crate::model::{Chunk, Event, EventKind, NameIdx, Names, TrackIdx, TrackTables};

/// The events generated besides spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// None: only complete spans, exactly as many as requested.
    Spans,
    /// One of everything that a trace can contain: counters, flows, instants, async spans, arguments, and threads that
    /// log begins and ends. It has a few more spans than requested.
    Demo,
}

/// The parameters of a generated trace.
#[derive(Debug, Clone, PartialEq)]
pub struct SynthOptions {
    /// Number of spans to generate.
    pub spans: u64,
    /// Number of threads, at least 1. Each thread has a span if there are enough spans.
    pub threads: u32,
    /// Maximum nesting depth, at least 1.
    pub depth: u16,
    /// Fraction of the events that come later in the trace than their time, from 0 to below 1. At 1, all events are in
    /// random order.
    pub disorder: f64,
    /// Seed of all random numbers.
    pub seed: u64,
    /// The events to generate besides spans.
    pub flavour: Flavour,
}

impl Default for SynthOptions {
    fn default() -> Self {
        Self { spans: 1_000_000, threads: 16, depth: 10, disorder: 0.01, seed: 1, flavour: Flavour::Spans }
    }
}

impl SynthOptions {
    /// Returns the parameters of `longspan demo`: two million spans, generated in a second, with everything that a
    /// trace can contain.
    #[must_use]
    pub fn demo() -> Self {
        Self { spans: 2_000_000, threads: 24, depth: 12, flavour: Flavour::Demo, ..Self::default() }
    }
}

/// Generates the chunks of one trace.
#[derive(Debug)]
pub struct Synth {
    options: SynthOptions,
    program: Program,
    extras: Option<Extras>,
}

/// Events sorted at once: 4 MiB, which stay in the cache.
const ROUND_EVENTS: u64 = 128 * 1024;
/// Duration of the first round; the duration of each later round follows from the number of events in the previous
/// round.
const FIRST_ROUND_NS: u64 = 1_000_000;

impl Synth {
    /// Plans the traced program; generates nothing yet.
    #[must_use]
    pub fn new(options: SynthOptions) -> Self {
        let mut program = Program::new(options.seed, options.threads.max(1));
        let extras = (options.flavour == Flavour::Demo).then(|| Extras::new(options.seed, &mut program)).flatten();
        Self { options, program, extras }
    }

    /// Returns the names that [`Event::name`] indexes.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.program.names
    }

    /// Returns the tracks that [`Event::track`] indexes.
    #[must_use]
    pub fn tracks(&self) -> &TrackTables {
        self.program.tracks()
    }

    /// Generates the trace as [`Synth::generate`] does, or in random order if everything strays, until `sink` returns
    /// false.
    ///
    /// # Errors
    /// Returns an I/O error of the temporary file that holds all events; only in random order.
    pub fn produce(&self, sink: &mut dyn FnMut(Chunk) -> bool) -> io::Result<()> {
        /// Ends the generation early, without an error.
        struct Enough;
        if self.options.disorder < 1.0 {
            self.generate(&mut |chunk| if sink(chunk) { Ok(()) } else { Err(Enough) }).ok();
            return Ok(());
        }
        let mut shuffle = Shuffle::new(self.options.seed)?;
        self.generate(&mut |chunk| shuffle.push(&chunk))?;
        shuffle.finish(sink)
    }

    /// Generates the trace, chunk by chunk in its order. Chunks hold 64 Ki events; the last may hold fewer.
    ///
    /// # Errors
    /// Returns the first error of `sink`, which ends the generation.
    pub fn generate<E>(&self, sink: &mut dyn FnMut(Chunk) -> Result<(), E>) -> Result<(), E> {
        let SynthOptions { seed, disorder, spans, .. } = self.options;
        let mut extras = self.extras.clone();
        let mut threads = self.tracers(extras.is_some());
        let mut disorder = Disorder::new(seed, disorder);
        let mut round = Chunk::default();
        let (mut until_ns, mut round_ns) = (0i64, FIRST_ROUND_NS);
        let mut made = 0;
        // Threads without a span. One span is reserved for each; with more threads than spans, the number need not be
        // exact.
        let mut idle: FxHashSet<TrackIdx> = FxHashSet::default();
        if extras.is_none() {
            idle.extend(threads.iter().map(|tracer| tracer.thread.plan().track));
        }
        while made + (idle.len() as u64) < spans {
            until_ns = until_ns.saturating_add_unsigned(round_ns);
            round.events.clear();
            round.details.ends.clear();
            round.details.bytes.clear();
            for tracer in &mut threads {
                made += tracer.trace(&self.program, until_ns, &mut round);
            }
            if let Some(extras) = &mut extras {
                extras.trace(until_ns, &mut round);
            }
            let events = round.events.len() as u64;
            round_ns = next_round_ns(round_ns, events);
            if made >= spans && extras.is_some() {
                threads.iter_mut().for_each(|tracer| tracer.close(i64::MAX, &mut round));
                extras.iter_mut().for_each(|extras| extras.finish(&mut round));
            }
            // `Chunk::sort` would flag events as late, but none is yet.
            round.events.sort_by_key(|event| event.ts_ns);
            if extras.is_none() {
                // If every event is a span, the last ones are removed so that the number is exact.
                made -= cut(&mut round.events, &mut idle, |idle| (made + idle).saturating_sub(spans));
            }
            for event in &round.events {
                if let Some(chunk) = disorder.push(*event, round.details.blob(event.detail)) {
                    sink(chunk)?;
                }
            }
        }
        let spans_left = usize::try_from(spans.saturating_sub(made)).unwrap_or(usize::MAX);
        for event in self.first_spans(&mut threads, &idle).into_iter().take(spans_left) {
            if let Some(chunk) = disorder.push(event, &[]) {
                sink(chunk)?;
            }
        }
        disorder.finish().into_iter().try_for_each(sink)
    }

    fn tracers(&self, has_extras: bool) -> Vec<Tracer> {
        let SynthOptions { seed, depth, .. } = self.options;
        let tracer = |&plan: &ThreadPlan| {
            let style = match (has_extras, plan.index) {
                (false, _) => Style::Complete,
                (true, 2) => Style::BeginEnd,
                (true, _) => Style::CompleteWithArgs,
            };
            Tracer { thread: Thread::new(seed, plan, depth), style, open: Vec::new() }
        };
        self.program.threads().iter().map(tracer).collect()
    }

    /// Returns the first spans of threads without any, in time order. They are later than everything generated, or they
    /// would exist already.
    fn first_spans(&self, threads: &mut [Tracer], idle: &FxHashSet<TrackIdx>) -> Vec<Event> {
        let late = threads.iter_mut().filter(|tracer| idle.contains(&tracer.thread.plan().track));
        let mut firsts: Vec<Event> = late.filter_map(|tracer| tracer.first(&self.program)).collect();
        firsts.sort_by_key(|event| event.ts_ns);
        firsts
    }
}

/// Removes the last events beyond the limit, but never the first of a thread. Returns the number removed.
fn cut(events: &mut Vec<Event>, idle: &mut FxHashSet<TrackIdx>, too_many: impl Fn(u64) -> u64) -> u64 {
    let is_first: Vec<bool> = events.iter().map(|event| idle.remove(&event.track)).collect();
    let over = too_many(idle.len() as u64);
    // Scans from the end, and restores the order.
    let mut left = over;
    let mut is_cut: Vec<bool> = is_first.iter().rev().map(|&is_first| !is_first && take_one(&mut left)).collect();
    let before = events.len();
    events.retain(|_| is_cut.pop() == Some(false));
    (before - events.len()) as u64
}

/// Takes one of the remaining spans, if there are any.
fn take_one(left: &mut u64) -> bool {
    let is_left = *left > 0;
    *left -= u64::from(is_left);
    is_left
}

/// Returns the duration of the next round, for about [`ROUND_EVENTS`]; at most doubled or halved.
fn next_round_ns(round_ns: u64, events: u64) -> u64 {
    let fitting = u128::from(round_ns) * u128::from(ROUND_EVENTS) / u128::from(events.max(1));
    u64::try_from(fitting).unwrap_or(u64::MAX).clamp(round_ns.div_ceil(2), round_ns.saturating_mul(2)).min(1 << 40)
}

/// How a thread logs its spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Complete,
    CompleteWithArgs,
    BeginEnd,
}

/// A thread with its log.
#[derive(Debug)]
struct Tracer {
    thread: Thread,
    style: Style,
    /// End and name of spans whose end is not logged yet, for [`Style::BeginEnd`].
    open: Vec<(i64, NameIdx)>,
}

impl Tracer {
    /// Logs begins and ends before `until_ns`. Returns the number of spans that begin.
    fn trace(&mut self, program: &Program, until_ns: i64, round: &mut Chunk) -> u64 {
        let before = round.events.len();
        let mut ends = 0;
        while let Some(span) = self.thread.next_before(program, until_ns) {
            let name = program.name(span.function);
            match self.style {
                Style::Complete => round.events.push(self.complete(&span, name, 0)),
                Style::CompleteWithArgs => {
                    let detail = args_of(&span).map_or(0, |args_json| {
                        round.details.push(&Detail { args_json: &args_json, ..Detail::default() })
                    });
                    round.events.push(self.complete(&span, name, detail));
                }
                Style::BeginEnd => {
                    while self.open.len() > span.depth.into() {
                        ends += self.end_innermost(round);
                    }
                    let event = self.complete(&span, name, 0);
                    round.events.push(Event { kind: EventKind::Begin, value: 0, ..event });
                    self.open.push((span.start_ns.saturating_add_unsigned(span.dur_ns), name));
                }
            }
        }
        let begins = (round.events.len() - before) as u64 - ends;
        self.close(until_ns, round);
        begins
    }

    /// Returns the first span of a thread that has logged nothing.
    fn first(&mut self, program: &Program) -> Option<Event> {
        let span = self.thread.next_before(program, i64::MAX)?;
        Some(self.complete(&span, program.name(span.function), 0))
    }

    /// Logs the ends of spans before `until_ns`.
    fn close(&mut self, until_ns: i64, round: &mut Chunk) {
        while self.open.last().is_some_and(|&(end_ns, _)| end_ns < until_ns) {
            self.end_innermost(round);
        }
    }

    /// Logs the end of the innermost open span. Returns the number of ends logged.
    fn end_innermost(&mut self, round: &mut Chunk) -> u64 {
        let Some((end_ns, name)) = self.open.pop() else { return 0 };
        round.events.push(event(EventKind::End, end_ns, self.thread.plan().track, name));
        1
    }

    fn complete(&self, span: &MadeSpan, name: NameIdx, detail: u32) -> Event {
        let at = Event::at(span.start_ns, self.thread.plan().track, name);
        Event { detail, ..at.span(span.dur_ns, false) }
    }
}

/// Returns the arguments of a span; only roots, and one in 32 of the others, have any.
fn args_of(span: &MadeSpan) -> Option<String> {
    let mixed = span.start_ns.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    if span.depth == 0 {
        return Some(format!(r#"{{"items":{},"culled":{}}}"#, mixed % 2000, mixed % 37));
    }
    mixed
        .is_multiple_of(32)
        .then(|| format!(r#"{{"path":"assets/level{}/{:06x}.bin","bytes":{}}}"#, mixed % 9, mixed >> 8, mixed))
}

#[cfg(test)]
mod tests;
