//! Times off CPU: for each switch-out with a recorded stack, a sample of the event `off-CPU` with this stack. It weighs
//! the time until the thread runs again. As in `perf record --off-cpu` and bcc's `offcputime`, this is all time in
//! which the thread does not run: asleep, blocked, or runnable. The idle thread and exiting threads have none.
//!
//! A thread runs again at its next switch-in. Recordings of one command have only the switches of its own threads, so
//! any other event of a thread shows that it runs too. A thread that does not run again is off CPU to the last event.
//!
//! A sample is at the time of the switch-out, but its weight is known when the thread runs again: it is late. Samples
//! of long waits are collected and added together: chunks with very early events would stay open while they are
//! sorted. Which ones are collected does not depend on batches, and thus neither does the order of the samples.
//!
//! The naive way searches all later events for the first that shows that the thread runs again.

use rustc_hash::FxHashMap;

use super::CPUS_MAX;
use super::carried_stacks::CarriedStacks;
use super::task_state::TaskState;
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::model::sample_measure::{NANOSECONDS, OFF_CPU};
use crate::model::{Loss, SourcePos, StackIdx, TrackKey};

/// Limit for threads that wait at once.
const WAITS_MAX: usize = 1 << 20;

/// Time after a switch-out in which events of the thread do not show that it runs again. Until the kernel has switched,
/// samples still count for the old thread.
pub(super) const SWITCHING_NS: i64 = 20_000;

/// Waits of at least this time are collected.
const LONG_WAIT_NS: u64 = 10_000_000;

/// Limits for collected waits, and for the time in the trace during which they are collected.
const COLLECTED_MAX: usize = 1 << 14;
const COLLECTED_NS: u64 = 1_000_000_000;

/// A thread that is switched out.
#[derive(Debug, Clone, Copy)]
struct Wait {
    tid: i64,
    since_ns: i64,
    state: Option<TaskState>,
    /// Row of [`OffCpu::stacks`].
    stack: StackIdx,
}

/// The threads that are switched out, with their stacks.
#[derive(Debug, Default)]
pub(super) struct OffCpu {
    waits: FxHashMap<i64, Wait>,
    /// The threads of the last switch-outs by CPU, whose stacks may follow.
    switched_out: FxHashMap<u64, Wait>,
    /// CPU of the last switch.
    last_cpu: u64,
    stacks: CarriedStacks,
    /// Ended long waits with their lengths.
    collected: Vec<(Wait, u64)>,
    /// Time at which the first of them ended.
    collected_from_ns: i64,
    newest_ns: i64,
    args: ArgsWriter,
}

impl OffCpu {
    /// Handles a switch on a CPU: the previous thread has run until now, and the next thread runs from now on. `key_of`
    /// returns the track of a thread.
    pub(super) fn switch(
        &mut self,
        batch: &mut BatchBuilder,
        (ts_ns, cpu): (i64, u64),
        previous: Option<(i64, Option<TaskState>)>,
        next: i64,
        key_of: impl Fn(i64) -> TrackKey,
    ) {
        self.last_cpu = cpu;
        self.switched_out.remove(&cpu);
        if !self.waits.is_empty() {
            self.end(batch, ts_ns, next, &key_of);
        }
        let Some((tid, state)) = previous else { return };
        if !self.waits.is_empty() {
            self.end(batch, ts_ns, tid, &key_of);
        }
        if tid != 0 && !state.is_some_and(TaskState::is_exit) && self.switched_out.len() < CPUS_MAX {
            self.switched_out.insert(cpu, Wait { tid, since_ns: ts_ns, state, stack: StackIdx::EMPTY });
        }
    }

    /// Handles an event of a thread, which shows that it is running. The stack of a switch no longer follows on its
    /// CPU, or on any if `cpu` is `None`.
    pub(super) fn runs(
        &mut self,
        batch: &mut BatchBuilder,
        (ts_ns, cpu): (i64, Option<u64>),
        tid: i64,
        key_of: impl Fn(i64) -> TrackKey,
    ) {
        match cpu {
            Some(cpu) => _ = self.switched_out.remove(&cpu),
            None => self.switched_out.clear(),
        }
        if self.waits.is_empty() {
            return;
        }
        self.newest_ns = self.newest_ns.max(ts_ns);
        if self.waits.get(&tid).is_some_and(|wait| ts_ns.saturating_sub(wait.since_ns) >= SWITCHING_NS) {
            self.end(batch, ts_ns, tid, &key_of);
        }
    }

    /// Adds the stack, a row of the batch, of the last switch-out on a CPU, or on any CPU. Does nothing after another
    /// event.
    pub(super) fn add_stack(
        &mut self,
        batch: &mut BatchBuilder,
        cpu: Option<u64>,
        stack: StackIdx,
        pos: SourcePos,
        key_of: impl Fn(i64) -> TrackKey,
    ) {
        let Some(wait) = self.switched_out.remove(&cpu.unwrap_or(self.last_cpu)) else { return };
        if self.stacks.needs_cleaning() {
            self.add_collected(batch, &key_of);
            self.stacks.retain(self.waits.values_mut().map(|wait| &mut wait.stack));
        }
        let carried = if self.waits.len() < WAITS_MAX { self.stacks.carry(batch, stack) } else { None };
        match carried {
            Some(stack) => {
                self.newest_ns = self.newest_ns.max(wait.since_ns);
                let replaced = self.waits.insert(wait.tid, Wait { stack, ..wait });
                if replaced.is_some() {
                    // A switch in between was lost, or is out of order.
                    batch.lose(Loss::LostSwitch, pos);
                }
            }
            None => batch.lose(Loss::OverLimit, pos),
        }
    }

    /// Ends the waits of all threads, at the end of the trace.
    pub(super) fn finish(&mut self, batch: &mut BatchBuilder, key_of: impl Fn(i64) -> TrackKey) {
        let mut waits: Vec<Wait> = std::mem::take(&mut self.waits).into_values().collect();
        waits.sort_unstable_by_key(|wait| (wait.since_ns, wait.tid));
        for wait in waits {
            self.add_ended(batch, wait, self.newest_ns, &key_of);
        }
        self.add_collected(batch, &key_of);
    }

    /// Ends the wait of a thread, unless it has none or began it later.
    fn end(&mut self, batch: &mut BatchBuilder, ts_ns: i64, tid: i64, key_of: &impl Fn(i64) -> TrackKey) {
        self.newest_ns = self.newest_ns.max(ts_ns);
        if self.waits.get(&tid).is_some_and(|wait| wait.since_ns <= ts_ns)
            && let Some(wait) = self.waits.remove(&tid)
        {
            self.add_ended(batch, wait, ts_ns, key_of);
        }
    }

    fn add_ended(&mut self, batch: &mut BatchBuilder, wait: Wait, end_ns: i64, key_of: &impl Fn(i64) -> TrackKey) {
        let dur_ns = end_ns.abs_diff(wait.since_ns);
        if dur_ns < LONG_WAIT_NS {
            self.add_sample(batch, wait, dur_ns, key_of);
        } else {
            if self.collected.is_empty() {
                self.collected_from_ns = end_ns;
            }
            self.collected.push((wait, dur_ns));
        }
        let is_old = end_ns.abs_diff(self.collected_from_ns) >= COLLECTED_NS;
        if self.collected.len() >= COLLECTED_MAX || is_old && !self.collected.is_empty() {
            self.add_collected(batch, key_of);
        }
    }

    fn add_collected(&mut self, batch: &mut BatchBuilder, key_of: &impl Fn(i64) -> TrackKey) {
        let mut collected = std::mem::take(&mut self.collected);
        for (wait, dur_ns) in collected.drain(..) {
            self.add_sample(batch, wait, dur_ns, key_of);
        }
        self.collected = collected;
    }

    fn add_sample(&mut self, batch: &mut BatchBuilder, wait: Wait, dur_ns: u64, key_of: &impl Fn(i64) -> TrackKey) {
        let stack = self.stacks.put_into(batch, wait.stack, SourcePos::Time(wait.since_ns));
        self.args.clear();
        self.args.measure(OFF_CPU, NANOSECONDS, dur_ns);
        if let Some(state) = wait.state {
            self.args.text("state", state.letters().as_bytes());
        }
        let detail = batch.args(self.args.finish());
        let track = batch.track_with(&key_of(wait.tid));
        batch.push_sample(wait.since_ns, track, stack, detail);
    }
}
