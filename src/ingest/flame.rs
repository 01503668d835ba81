//! Samples in order of time in, a flame chart out: for each depth the spans in which consecutive samples share the path
//! down to it. Knows one thread at a time; writes nothing, and keeps one stack and the gaps of some samples.
//! A sample costs no more than the frames that it does not share with the one before.
//!
//! The slow answer: take all samples of the thread, of several at one time the last. Each counts until the next
//! one; but if that comes later than `IDLE_GAPS` times the usual gap, and for the last one, only for the usual
//! gap, since the thread was not sampled from there on. A frame runs while samples that touch in time have the
//! same path down to it.
//!
//! The usual gap at a sample is the median of `WINDOW` gaps (the lower of two in the middle): of those up to the one
//! that follows it, so that it changes with the rate of the sampler; for the first samples, of the first gaps.

use std::collections::VecDeque;
use std::io;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::model::{NameIdx, StackIdx, Stacks};

/// Gaps in the median: a second of a usual sampler, and little to sort for each sample.
const WINDOW: usize = 64;
/// A sampler that is late skips a beat or two, also on a busy machine; a gap of more beats means that the thread did
/// not run, or was not looked at.
const IDLE_GAPS: u64 = 5;
/// Frames below this depth are in the samples, and not in the chart: a lane for each level of an endless
/// recursion would hide all others.
pub(crate) const DEPTH_MAX: usize = 1024;

/// A frame that ran for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlameSpan {
    /// 0 for the outermost frames.
    pub(crate) depth: u16,
    /// When it was first seen.
    pub(crate) start_ns: i64,
    /// When something else was seen, or the usual gap after it was seen last.
    pub(crate) end_ns: i64,
    /// The name of the function.
    pub(crate) name: NameIdx,
}

/// A sample: its time and its stack.
pub(crate) type TimedStack = (i64, StackIdx);

/// The samples of one thread on their way to a chart. A trace may have a million threads with a few samples each, so a
/// chart of one sample needs no allocation, and one of a few samples only a small one.
#[derive(Debug, Default)]
pub(crate) enum FlameChart {
    #[default]
    Empty,
    One(i64, StackIdx),
    /// Too few samples to draw: the usual gap is not known yet.
    Few(Box<SmallVec<[TimedStack; 4]>>),
    Drawn(Box<DrawnChart>),
}

const _: () = assert!(size_of::<FlameChart>() <= 16);

/// The chart of the samples whose usual gap is known.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct DrawnChart {
    /// The last sample, whose gap to the next one is not known yet.
    waiting: Option<TimedStack>,
    /// The gaps that the usual one is the median of.
    gaps: VecDeque<u64>,
    /// The same gaps from the shortest.
    sorted_gaps: Vec<u64>,
    /// The frames that run, outermost first, with the time since which they do. A caller is an earlier row of the
    /// table than what it calls, so they are sorted.
    open: Vec<(StackIdx, i64)>,
    /// The stack of the last sample, of which `open` lacks the frames that are too deep.
    last: StackIdx,
    /// The frames of a stack that do not run yet, innermost first.
    #[serde(skip)]
    new: Vec<StackIdx>,
    /// The time up to which the open frames run.
    open_to_ns: i64,
    /// Whether a stack had more frames than are drawn.
    too_deep: bool,
}

impl FlameChart {
    /// Takes the next sample, no earlier than those before, and appends the spans that are known to be over.
    pub(crate) fn sample(&mut self, ts_ns: i64, stack: StackIdx, stacks: &Stacks, spans: &mut Vec<FlameSpan>) {
        match self {
            Self::Empty => *self = Self::One(ts_ns, stack),
            Self::One(last_ns, last) if *last_ns == ts_ns => *last = stack,
            &mut Self::One(last_ns, last) => {
                *self = Self::Few(Box::new([(last_ns, last), (ts_ns, stack)].into_iter().collect()));
            }
            Self::Few(samples) => match samples.last_mut() {
                Some(last) if last.0 == ts_ns => last.1 = stack,
                _ => {
                    samples.push((ts_ns, stack));
                    if samples.len() > WINDOW {
                        *self = Self::Drawn(Box::new(DrawnChart::from_samples(samples, stacks, spans)));
                    }
                }
            },
            Self::Drawn(drawn) => drawn.sample((ts_ns, stack), stacks, spans),
        }
    }

    /// Takes a sample that is drawn up to `end_ns`, where the one after it begins: of a profile without times.
    pub(crate) fn hold(
        &mut self,
        (ts_ns, end_ns): (i64, i64),
        stack: StackIdx,
        stacks: &Stacks,
        spans: &mut Vec<FlameSpan>,
    ) {
        if !matches!(self, Self::Drawn(_)) {
            *self = Self::Drawn(Box::default());
        }
        if let Self::Drawn(drawn) = self {
            drawn.stand(ts_ns, end_ns, stack, stacks, spans);
        }
    }

    /// Ends the chart with what still runs, and says whether frames were too deep to be drawn.
    pub(crate) fn finish(self, stacks: &Stacks, spans: &mut Vec<FlameSpan>) -> bool {
        let mut drawn = match self {
            Self::Empty => return false,
            Self::One(ts_ns, stack) => DrawnChart::from_samples(&[(ts_ns, stack)], stacks, spans),
            Self::Few(samples) => DrawnChart::from_samples(&samples, stacks, spans),
            Self::Drawn(drawn) => *drawn,
        };
        if let Some((ts_ns, stack)) = drawn.waiting {
            drawn.stand(ts_ns, ts_ns.saturating_add_unsigned(drawn.usual_ns()), stack, stacks, spans);
        }
        drawn.close(0, stacks, spans);
        drawn.too_deep
    }

    /// Returns the memory beside the chart itself.
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

    /// The spans that run, as far as is known.
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

    /// Draws all samples but the last, which waits.
    fn from_samples(samples: &[TimedStack], stacks: &Stacks, spans: &mut Vec<FlameSpan>) -> Self {
        let mut drawn = Self { waiting: samples.last().copied(), ..Self::default() };
        for pair in samples.windows(2) {
            drawn.push_gap(pair[0].0.abs_diff(pair[1].0));
        }
        for pair in samples.windows(2) {
            drawn.draw(pair[0], pair[1].0, stacks, spans);
        }
        drawn
    }

    fn sample(&mut self, (ts_ns, stack): TimedStack, stacks: &Stacks, spans: &mut Vec<FlameSpan>) {
        match &mut self.waiting {
            Some(last) if last.0 == ts_ns => last.1 = stack,
            waiting => {
                if let Some(last) = waiting.replace((ts_ns, stack)) {
                    self.push_gap(last.0.abs_diff(ts_ns));
                    self.draw(last, ts_ns, stacks, spans);
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

    /// Draws a sample that another follows at `next_ns`.
    fn draw(&mut self, (ts_ns, stack): (i64, StackIdx), next_ns: i64, stacks: &Stacks, spans: &mut Vec<FlameSpan>) {
        let usual_ns = self.usual_ns();
        let is_idle = ts_ns.abs_diff(next_ns) > usual_ns.saturating_mul(IDLE_GAPS);
        let end_ns = if is_idle { ts_ns.saturating_add_unsigned(usual_ns) } else { next_ns };
        self.stand(ts_ns, end_ns, stack, stacks, spans);
    }

    /// Applies a sample that counts for `ts_ns..end_ns`.
    fn stand(&mut self, ts_ns: i64, end_ns: i64, stack: StackIdx, stacks: &Stacks, spans: &mut Vec<FlameSpan>) {
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
            self.too_deep |= same + new.len() > DEPTH_MAX;
            self.open.extend(new.drain(..).rev().take(DEPTH_MAX - same).map(|frame| (frame, ts_ns)));
            if new.capacity() <= DEPTH_MAX {
                self.new = new;
            }
        }
        self.open_to_ns = end_ns;
    }

    /// Returns the number of drawn frames that a stack shares with the last one, and appends its other frames to `new`.
    /// Visits only frames that the two do not share: a caller is an earlier row than its callees, so the later of two
    /// rows is not an ancestor of the other.
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
            // It is below the frames that are drawn.
            Err(_) => self.open.len(),
        }
    }

    fn push_gap(&mut self, gap_ns: u64) {
        let place = |sorted: &[u64], gap_ns| sorted.partition_point(|&sorted_gap_ns| sorted_gap_ns < gap_ns);
        if self.gaps.len() == WINDOW
            && let Some(oldest) = self.gaps.pop_front()
        {
            self.sorted_gaps.remove(place(&self.sorted_gaps, oldest));
        }
        self.gaps.push_back(gap_ns);
        self.sorted_gaps.insert(place(&self.sorted_gaps, gap_ns), gap_ns);
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

    /// The median of the gaps that are known; 0 while there is none.
    fn usual_ns(&self) -> u64 {
        let middle = self.sorted_gaps.len().saturating_sub(1) / 2;
        self.sorted_gaps.get(middle).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
