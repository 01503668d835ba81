//! Generates the spans of one thread, in order of begin, properly nested. Holds only its open spans.

use super::program::{Program, Role, ThreadPlan};
use super::random::{Random, Spread};

/// Time between two frames: 60 per second.
const FRAME_NS: u64 = 16_666_667;
/// A shorter span calls nothing, so the depth follows from the durations, as in real programs.
const PARENT_NS_MIN: u64 = 400;
/// Maximum number of children of a span.
const CHILDREN_MAX: u64 = 12;

/// A generated span of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MadeSpan {
    pub(crate) start_ns: i64,
    pub(crate) dur_ns: u64,
    pub(crate) function: u16,
    /// Nesting depth: 0 for a root.
    pub(crate) depth: u16,
}

/// A span that can still have children.
#[derive(Debug)]
struct OpenParent {
    /// The earliest start of the next child.
    cursor_ns: i64,
    end_ns: i64,
    child_median_ns: u64,
    children_left: u64,
    function: u16,
}

/// A running thread of the program.
#[derive(Debug)]
pub(super) struct Thread {
    plan: ThreadPlan,
    random: Random,
    seed: u64,
    depth_max: u16,
    /// The next frame to work on.
    frame: u64,
    /// The end of the last root.
    cursor_ns: i64,
    /// Remaining jobs in this frame's burst.
    jobs_left: u64,
    open: Vec<OpenParent>,
    next: Option<MadeSpan>,
}

/// Processes start a third of a frame after each other, in a cycle of this length: even the last of thousands starts
/// soon.
const PROCESS_PHASES: u32 = 48;

/// Returns the start of a frame of a process. Every part of the generator computes it independently.
#[must_use]
pub(super) fn frame_start_ns(seed: u64, process: u32, frame: u64) -> i64 {
    let jitter_ns = Random::new(seed ^ 0xf7a3e, frame).below(FRAME_NS / 20);
    let phase_ns = u64::from(process % PROCESS_PHASES) * FRAME_NS / 3;
    i64::try_from(phase_ns + FRAME_NS.saturating_mul(frame) + jitter_ns).unwrap_or(i64::MAX)
}

/// Returns the start of a worker's burst of jobs in a frame.
#[must_use]
pub(super) fn burst_start_ns(seed: u64, plan: &ThreadPlan, frame: u64) -> i64 {
    frame_start_ns(seed, plan.process, frame).saturating_add(400_000 + i64::from(plan.index) * 17_000)
}

impl Thread {
    /// Creates a thread that starts at time 0. `depth_max` is at least 1.
    #[must_use]
    pub(super) fn new(seed: u64, plan: ThreadPlan, depth_max: u16) -> Self {
        let random = Random::new(seed, 1 + u64::from(plan.track.0));
        let depth_max = depth_max.max(1);
        Self { plan, random, seed, depth_max, frame: 0, cursor_ns: 0, jobs_left: 0, open: Vec::new(), next: None }
    }

    #[must_use]
    pub(super) fn plan(&self) -> &ThreadPlan {
        &self.plan
    }

    /// Returns the next span, if it begins before `until_ns`.
    pub(super) fn next_before(&mut self, program: &Program, until_ns: i64) -> Option<MadeSpan> {
        let span = match self.next.take() {
            Some(span) => span,
            None => self.make(program),
        };
        if span.start_ns < until_ns {
            return Some(span);
        }
        self.next = Some(span);
        None
    }

    fn make(&mut self, program: &Program) -> MadeSpan {
        while let Some(parent) = self.open.last_mut() {
            if parent.children_left > 0 {
                parent.children_left -= 1;
                let dur_ns = self.random.log_normal(parent.child_median_ns, Spread(220));
                let choices = self.random.next();
                // Calls follow each other closely: the gap is at most a sixteenth of a typical child.
                let gap_ns = ((choices & 0xff) * parent.child_median_ns) >> 12;
                let start_ns = parent.cursor_ns.saturating_add_unsigned(gap_ns);
                let end_ns = start_ns.saturating_add_unsigned(dur_ns);
                if end_ns <= parent.end_ns {
                    parent.cursor_ns = end_ns;
                    // The smaller of two random numbers below eight, so that the first callees are the most frequent.
                    let choice = (choices >> 8 & 7).min(choices >> 11 & 7);
                    let function = program.callee(parent.function, choice);
                    return self.begin(start_ns, dur_ns, function);
                }
            }
            self.open.pop();
        }
        let (start_ns, dur_ns) = self.next_root();
        self.cursor_ns = start_ns.saturating_add_unsigned(dur_ns);
        let function = Program::root(self.plan.role, &mut self.random);
        self.begin(start_ns, dur_ns, function)
    }

    fn begin(&mut self, start_ns: i64, dur_ns: u64, function: u16) -> MadeSpan {
        let depth = self.open.len() as u16;
        if depth + 1 < self.depth_max && dur_ns >= PARENT_NS_MIN {
            let children = 1 + self.random.skewed_below(CHILDREN_MAX);
            self.open.push(OpenParent {
                cursor_ns: start_ns.saturating_add_unsigned(dur_ns >> 7),
                end_ns: start_ns.saturating_add_unsigned(dur_ns),
                child_median_ns: dur_ns / (children + 1),
                children_left: children,
                function,
            });
        }
        MadeSpan { start_ns, dur_ns, function, depth }
    }

    /// Returns start and duration of the next root, which begins after the last one has ended.
    fn next_root(&mut self) -> (i64, u64) {
        match self.plan.role {
            Role::Frames => {
                let start_ns = self.enter_frame();
                let room_ns = frame_start_ns(self.seed, self.plan.process, self.frame).saturating_sub(start_ns);
                let room_ns = u64::try_from(room_ns).unwrap_or(0).saturating_sub(50_000);
                (start_ns, self.random.log_normal(11_000_000, Spread(80)).min(room_ns))
            }
            Role::Jobs => {
                let start_ns = if self.jobs_left == 0 {
                    // A frame without a job for this worker is not rare.
                    while self.jobs_left == 0 {
                        self.enter_frame();
                        self.jobs_left = self.random.skewed_below(24);
                    }
                    burst_start_ns(self.seed, &self.plan, self.frame - 1).max(self.cursor_ns)
                } else {
                    self.cursor_ns.saturating_add_unsigned(self.random.log_normal(12_000, Spread(300)))
                };
                self.jobs_left -= 1;
                (start_ns, self.random.log_normal(500_000, Spread(256)))
            }
            Role::Background => {
                let idle_ns = self.random.log_normal(60_000_000, Spread(400));
                (self.cursor_ns.saturating_add_unsigned(idle_ns), self.random.log_normal(20_000_000, Spread(400)))
            }
        }
    }

    /// Enters the next frame that begins after the end of the last root. Returns its start.
    fn enter_frame(&mut self) -> i64 {
        loop {
            let start_ns = frame_start_ns(self.seed, self.plan.process, self.frame);
            self.frame += 1;
            if start_ns >= self.cursor_ns {
                return start_ns;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_begin_in_order_and_lie_within_their_parents() {
        let program = Program::new(9, 20);
        for &plan in program.threads() {
            let mut thread = Thread::new(9, plan, 7);
            let mut parents: Vec<(i64, i64)> = Vec::new();
            let mut last_start_ns = i64::MIN;
            let mut deepest = 0;
            for _ in 0..20_000 {
                let span = thread.next_before(&program, i64::MAX).unwrap();
                let end_ns = span.start_ns + span.dur_ns as i64;
                assert!(span.start_ns >= last_start_ns);
                parents.truncate(span.depth.into());
                assert_eq!(parents.len(), usize::from(span.depth), "no level is left out");
                if let Some(&(start_ns, parent_end_ns)) = parents.last() {
                    assert!(start_ns <= span.start_ns && end_ns <= parent_end_ns);
                }
                parents.push((span.start_ns, end_ns));
                last_start_ns = span.start_ns;
                deepest = deepest.max(span.depth);
            }
            assert_eq!(deepest, 6, "the depth that was asked for is reached, {:?}", plan.role);
        }
    }

    #[test]
    fn a_span_that_begins_too_late_is_kept_for_the_next_call() {
        let program = Program::new(9, 1);
        let mut whole = Thread::new(9, program.threads()[0], 7);
        let mut cut = Thread::new(9, program.threads()[0], 7);
        for _ in 0..1000 {
            let span = whole.next_before(&program, i64::MAX).unwrap();
            assert_eq!(cut.next_before(&program, span.start_ns), None);
            assert_eq!(cut.next_before(&program, span.start_ns + 1), Some(span));
        }
    }
}
