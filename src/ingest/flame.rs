//! Builds the flame chart of one thread from samples in time order. At each depth, a span lasts while consecutive
//! samples share the path down to it. Does no I/O, and stores one stack and the gaps between some samples. A sample
//! costs only the frames that it does not share with the previous sample.
//!
//! A naive builder takes all samples of the thread, and the last one of several at one time. Each sample lasts until
//! the next one. If the next one comes later than `IDLE_GAPS` times the usual gap, the thread was idle: the sample then
//! lasts for the usual gap. The last sample also lasts for the usual gap, but not beyond the last event of the trace.
//! The trace does not record how long the thread ran after it. A frame runs while samples that touch in time share the
//! path down to it.
//!
//! The usual gap at a sample is the median of `WINDOW` gaps, the lower of the two in the middle. These are the gaps up
//! to the next sample, so that it follows the rate of the sampler. For the first samples, they are the first gaps. If
//! the periods of a sample and the next one are times, the usual gap is at most the longer period. Most gaps of a
//! thread that sleeps between single samples are far longer. Among samples at one time, the first ends the previous
//! sample, so its period counts.
//!
//! Samples that know how long they last, such as samples of times off CPU, are held for this time instead.

use std::collections::VecDeque;
use std::io;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::model::sample_measure::IDLE_GAPS;
use crate::model::{NameIdx, SampleMeasure, StackIdx, Stacks};

/// Number of gaps in the median: about a second of a usual sampler, and little to sort per sample.
const WINDOW: usize = 64;

/// Depth limit of a chart. Deeper frames are only in the samples, because the lanes of an endless recursion would hide
/// all others.
pub(crate) const DEPTH_MAX: usize = 1024;

/// A frame that ran for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlameSpan {
    /// 0 for the outermost frames.
    pub(crate) depth: u16,
    /// Time of its first sample.
    pub(crate) start_ns: i64,
    /// Time of the first sample without it, or the usual gap after its last sample, up to the end of the trace.
    pub(crate) end_ns: i64,
    /// The name of the function.
    pub(crate) name: NameIdx,
}

/// A sample of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TimedStack {
    pub(crate) ts_ns: i64,
    pub(crate) stack: StackIdx,
    /// The period, or the duration of a held sample; [`Self::NO_PERIOD`] if the unit is not a time.
    pub(crate) period_ns: u64,
}

impl TimedStack {
    pub(crate) const NO_PERIOD: u64 = u64::MAX;

    /// Creates a sample with these arguments.
    pub(crate) fn from_args(ts_ns: i64, stack: StackIdx, args_json: &str) -> Self {
        let period_ns = SampleMeasure::time_ns(args_json).filter(|&period_ns| period_ns > 0);
        Self { ts_ns, stack, period_ns: period_ns.unwrap_or(Self::NO_PERIOD) }
    }

    /// Returns the end of a held sample; its start if its duration is unknown.
    pub(crate) fn held_to_ns(&self) -> i64 {
        let dur_ns = if self.period_ns == Self::NO_PERIOD { 0 } else { self.period_ns };
        self.ts_ns.saturating_add_unsigned(dur_ns)
    }
}

/// The growing chart of one thread. A trace may have a million threads with a few samples each. A chart of one sample
/// thus needs no allocation, and a chart of a few samples a small allocation.
#[derive(Debug, Default)]
pub(crate) enum FlameChart {
    #[default]
    Empty,
    /// A sample without a period.
    One(i64, StackIdx),
    /// Too few samples to draw, because the usual gap is not known yet.
    Few(Box<SmallVec<[TimedStack; 4]>>),
    Drawn(Box<DrawnChart>),
}

const _: () = assert!(size_of::<FlameChart>() <= 16);

/// The chart of the samples whose usual gap is known.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct DrawnChart {
    /// The last sample, until the gap to the next is known.
    waiting: Option<TimedStack>,
    /// The last gaps in time order, whose median is the usual gap.
    gaps: VecDeque<u64>,
    /// The same gaps, shortest first.
    sorted_gaps: Vec<u64>,
    /// The open frames, outermost first, with their starts. They are sorted, because a caller is an earlier row of the
    /// table than its callees.
    open: Vec<(StackIdx, i64)>,
    /// The stack of the last sample. `open` lacks its frames that are too deep.
    last: StackIdx,
    /// Scratch space: the frames of a stack that are not open yet, innermost first.
    #[serde(skip)]
    new: Vec<StackIdx>,
    /// The time up to which the open frames are known to run.
    open_to_ns: i64,
    cut: CutStacks,
}

/// The stacks with more frames than are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct CutStacks {
    pub(crate) count: u64,
    /// The time of the first one.
    pub(crate) first_ns: i64,
}

impl CutStacks {
    fn add(&mut self, ts_ns: i64) {
        if self.count == 0 {
            self.first_ns = ts_ns;
        }
        self.count += 1;
    }
}

impl FlameChart {
    /// Adds the next sample, in time order, and appends the spans that have ended.
    pub(crate) fn sample(&mut self, sample: TimedStack, stacks: &Stacks, spans: &mut Vec<FlameSpan>) {
        let TimedStack { ts_ns, stack, period_ns } = sample;
        let has_period = period_ns != TimedStack::NO_PERIOD;
        match self {
            Self::Empty if has_period => *self = Self::Few(Box::new([sample].into_iter().collect())),
            Self::Empty => *self = Self::One(ts_ns, stack),
            Self::One(last_ns, last) if *last_ns == ts_ns => *last = stack,
            &mut Self::One(last_ns, last) => {
                let first = TimedStack { ts_ns: last_ns, stack: last, period_ns: TimedStack::NO_PERIOD };
                *self = Self::Few(Box::new([first, sample].into_iter().collect()));
            }
            Self::Few(samples) => match samples.last_mut() {
                Some(last) if last.ts_ns == ts_ns => last.stack = stack,
                _ => {
                    samples.push(sample);
                    if samples.len() > WINDOW {
                        *self = Self::Drawn(Box::new(DrawnChart::from_samples(samples, stacks, spans)));
                    }
                }
            },
            Self::Drawn(drawn) => drawn.sample(sample, stacks, spans),
        }
    }

    /// Adds a sample that lasts for its period, from the end of the previous sample at the earliest.
    pub(crate) fn hold(&mut self, sample: TimedStack, stacks: &Stacks, spans: &mut Vec<FlameSpan>) {
        if !matches!(self, Self::Drawn(_)) {
            *self = Self::Drawn(Box::new(DrawnChart { open_to_ns: i64::MIN, ..DrawnChart::default() }));
        }
        if let Self::Drawn(drawn) = self {
            // An empty stack before it has no open frames, but takes its time, too.
            let from_ns = sample.ts_ns.max(drawn.open_to_ns);
            let end_ns = sample.held_to_ns().max(from_ns);
            drawn.draw_until(from_ns, end_ns, sample.stack, stacks, spans);
        }
    }

    /// Ends the open frames, the last sample at `trace_end_ns` at the latest. Returns the stacks that were too deep to
    /// be drawn.
    pub(crate) fn finish(self, trace_end_ns: i64, stacks: &Stacks, spans: &mut Vec<FlameSpan>) -> CutStacks {
        let mut drawn = match self {
            Self::Empty => return CutStacks::default(),
            Self::One(ts_ns, stack) => {
                let sample = TimedStack { ts_ns, stack, period_ns: TimedStack::NO_PERIOD };
                DrawnChart::from_samples(&[sample], stacks, spans)
            }
            Self::Few(samples) => DrawnChart::from_samples(&samples, stacks, spans),
            Self::Drawn(drawn) => *drawn,
        };
        if let Some(TimedStack { ts_ns, stack, period_ns }) = drawn.waiting {
            let usual_ns = drawn.usual_ns().min(period_ns);
            let end_ns = ts_ns.saturating_add_unsigned(usual_ns).min(trace_end_ns.max(ts_ns));
            drawn.draw_until(ts_ns, end_ns, stack, stacks, spans);
        }
        drawn.close(0, stacks, spans);
        drawn.cut
    }

    /// Returns the memory in addition to the chart itself.
    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Empty | Self::One(..) => 0,
            Self::Few(samples) => {
                let spilled = if samples.spilled() { samples.capacity() * size_of::<TimedStack>() } else { 0 };
                size_of_val(&**samples) + spilled
            }
            Self::Drawn(drawn) => drawn.memory_bytes(),
        }
    }

    /// Iterates over the open frames as spans that end at the time up to which they are known to run.
    pub(crate) fn open_spans<'a>(&'a self, stacks: &'a Stacks) -> impl Iterator<Item = FlameSpan> + 'a {
        let drawn = if let Self::Drawn(drawn) = self { Some(drawn) } else { None };
        drawn.into_iter().flat_map(|drawn| drawn.open_spans(stacks))
    }
}

impl DrawnChart {
    /// Returns the state as bytes, or an I/O error if it cannot be encoded.
    pub(crate) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        postcard::to_stdvec(self).map_err(io::Error::other)
    }

    /// Restores the state of [`Self::to_bytes`].
    pub(crate) fn from_bytes(bytes: &[u8]) -> io::Result<Self> {
        postcard::from_bytes(bytes).map_err(io::Error::other)
    }

    fn memory_bytes(&self) -> usize {
        let gaps = (self.gaps.capacity() + self.sorted_gaps.capacity()) * size_of::<u64>();
        let frames = self.open.capacity() * size_of::<(StackIdx, i64)>() + self.new.capacity() * size_of::<StackIdx>();
        size_of::<Self>() + gaps + frames
    }

    /// Draws all samples except the last, whose gap is not known yet.
    fn from_samples(samples: &[TimedStack], stacks: &Stacks, spans: &mut Vec<FlameSpan>) -> Self {
        let mut drawn = Self { waiting: samples.last().copied(), ..Self::default() };
        for pair in samples.windows(2) {
            drawn.push_gap(pair[0].ts_ns.abs_diff(pair[1].ts_ns));
        }
        for pair in samples.windows(2) {
            drawn.draw(pair[0], pair[1], stacks, spans);
        }
        drawn
    }

    fn sample(&mut self, sample: TimedStack, stacks: &Stacks, spans: &mut Vec<FlameSpan>) {
        match &mut self.waiting {
            Some(last) if last.ts_ns == sample.ts_ns => last.stack = sample.stack,
            waiting => {
                if let Some(last) = waiting.replace(sample) {
                    self.push_gap(last.ts_ns.abs_diff(sample.ts_ns));
                    self.draw(last, sample, stacks, spans);
                }
            }
        }
    }

    fn open_spans<'a>(&'a self, stacks: &'a Stacks) -> impl Iterator<Item = FlameSpan> + 'a {
        let end_ns = self.open_to_ns;
        (0u16..).zip(&self.open).map(move |(depth, &(stack, start_ns))| {
            let name = stacks.get(stack).name;
            FlameSpan { depth, start_ns, end_ns, name }
        })
    }

    /// Draws a sample before the next one.
    fn draw(&mut self, sample: TimedStack, next: TimedStack, stacks: &Stacks, spans: &mut Vec<FlameSpan>) {
        let usual_ns = self.usual_ns().min(sample.period_ns.max(next.period_ns));
        let is_idle = sample.ts_ns.abs_diff(next.ts_ns) > usual_ns.saturating_mul(IDLE_GAPS);
        let end_ns = if is_idle { sample.ts_ns.saturating_add_unsigned(usual_ns) } else { next.ts_ns };
        self.draw_until(sample.ts_ns, end_ns, sample.stack, stacks, spans);
    }

    /// Draws a sample that lasts for `ts_ns..end_ns`.
    fn draw_until(&mut self, ts_ns: i64, end_ns: i64, stack: StackIdx, stacks: &Stacks, spans: &mut Vec<FlameSpan>) {
        let touches = self.open_to_ns == ts_ns;
        let stack = if stack.index() < stacks.len() { stack } else { StackIdx::EMPTY };
        if !touches || self.last != stack {
            let mut new = std::mem::take(&mut self.new);
            let same = self.shared_depth(stack, stacks, &mut new);
            self.last = stack;
            if touches {
                self.close(same, stacks, spans);
            } else {
                spans.extend(self.open_spans(stacks));
                self.open.truncate(same);
                self.open.iter_mut().for_each(|(_, start_ns)| *start_ns = ts_ns);
            }
            if same + new.len() > DEPTH_MAX {
                self.cut.add(ts_ns);
            }
            self.open.extend(new.drain(..).rev().take(DEPTH_MAX - same).map(|frame| (frame, ts_ns)));
            if new.capacity() <= DEPTH_MAX {
                self.new = new;
            }
        }
        self.open_to_ns = end_ns;
    }

    /// Returns the number of drawn frames that a stack shares with the last stack, and appends its other frames to
    /// `new`. Visits only frames that the two do not share. A caller is an earlier row than its callees, so the later
    /// of two rows is not an ancestor of the other.
    fn shared_depth(&self, stack: StackIdx, stacks: &Stacks, new: &mut Vec<StackIdx>) -> usize {
        let (mut frame, mut last) = (stack, self.last);
        while frame != last {
            if frame > last {
                new.push(frame);
                frame = stacks.get(frame).parent;
            } else {
                last = stacks.get(last).parent;
            }
        }
        match self.open.binary_search_by_key(&frame, |&(open, _)| open) {
            Ok(depth) => depth + 1,
            Err(_) if frame == StackIdx::EMPTY => 0,
            // The frame is below the drawn frames.
            Err(_) => self.open.len(),
        }
    }

    fn push_gap(&mut self, gap_ns: u64) {
        let index_of = |sorted: &[u64], gap_ns| sorted.partition_point(|&sorted_gap_ns| sorted_gap_ns < gap_ns);
        if self.gaps.len() == WINDOW
            && let Some(oldest) = self.gaps.pop_front()
        {
            self.sorted_gaps.remove(index_of(&self.sorted_gaps, oldest));
        }
        self.gaps.push_back(gap_ns);
        self.sorted_gaps.insert(index_of(&self.sorted_gaps, gap_ns), gap_ns);
    }

    /// Ends the frames from `depth` on.
    fn close(&mut self, depth: usize, stacks: &Stacks, spans: &mut Vec<FlameSpan>) {
        let end_ns = self.open_to_ns;
        let closed = self.open.drain(depth..).zip(depth..);
        spans.extend(closed.map(|((frame, start_ns), depth)| FlameSpan {
            depth: depth as u16,
            start_ns,
            end_ns,
            name: stacks.get(frame).name,
        }));
    }

    /// Returns the median of the known gaps; 0 without any.
    fn usual_ns(&self) -> u64 {
        let middle = self.sorted_gaps.len().saturating_sub(1) / 2;
        self.sorted_gaps.get(middle).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
