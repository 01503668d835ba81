//! The ends of runs and thread states in a Perfetto trace, which has changes of state only. A state that no other
//! exported state follows gets an end of its own. Otherwise it would last to the end of the trace.
//!
//! Memory holds the open runs and states, and a time for each thread.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::formats::perfetto::write::{PerfettoWriter, TaskRun, WrittenState};

/// The end of a run, its thread, the letters of its next state, and its start.
type RunEnd = (i64, TaskRun, Box<str>, i64);

/// The end of a state, its thread, and its start.
type StateEnd = (i64, i64, i64);

/// The ends to be written, earliest first.
#[derive(Debug, Default)]
pub(super) struct TaskEnds {
    /// Whether the export has states. Otherwise, readers take them from the runs.
    has_states: bool,
    runs: BinaryHeap<Reverse<RunEnd>>,
    states: BinaryHeap<Reverse<StateEnd>>,
    /// By thread: the start of the last written state or run.
    since_ns: FxHashMap<i64, i64>,
    /// The current time, and the threads that enter a state at it.
    entering: (i64, FxHashSet<i64>),
}

impl TaskEnds {
    pub(super) fn new(has_states: bool) -> Self {
        Self { has_states, ..Self::default() }
    }

    /// Sets the current time and the threads that enter a state at it.
    pub(super) fn begin_time(&mut self, ts_ns: i64, threads: impl Iterator<Item = i64>) {
        self.entering.0 = ts_ns;
        self.entering.1.clear();
        if self.has_states {
            self.entering.1.extend(threads);
        }
    }

    /// Records the start of a written state or run.
    pub(super) fn enter(&mut self, tid: i64, start_ns: i64) {
        if self.has_states {
            self.since_ns.insert(tid, start_ns);
        }
    }

    /// Adds the end of a run; the letters name the next state, and may be empty.
    pub(super) fn add_run(&mut self, start_ns: i64, end_ns: i64, run: TaskRun, letters: &str) {
        self.runs.push(Reverse((end_ns, run, letters.into(), start_ns)));
    }

    /// Adds the end of a state other than running.
    pub(super) fn add_state(&mut self, start_ns: i64, end_ns: i64, tid: i64) {
        if self.has_states {
            self.states.push(Reverse((end_ns, tid, start_ns)));
        }
    }

    /// Writes the ends of runs up to a time, and the ends of states before it.
    pub(super) fn write_to<W: Write>(&mut self, ts_ns: i64, writer: &mut PerfettoWriter<'_, W>) -> io::Result<()> {
        loop {
            let run_ns = self.runs.peek().map(|Reverse((end_ns, ..))| *end_ns).filter(|&end_ns| end_ns <= ts_ns);
            let state_ns = self.states.peek().map(|Reverse((end_ns, ..))| *end_ns).filter(|&end_ns| end_ns < ts_ns);
            match (run_ns, state_ns) {
                (None, None) => return Ok(()),
                (Some(run_ns), _) if state_ns.is_none_or(|state_ns| run_ns <= state_ns) => self.write_run(writer)?,
                _ => self.write_state(writer)?,
            }
        }
    }

    fn write_run<W: Write>(&mut self, writer: &mut PerfettoWriter<'_, W>) -> io::Result<()> {
        let Some(Reverse((end_ns, run, letters, start_ns))) = self.runs.pop() else { return Ok(()) };
        let is_entering = self.entering.0 == end_ns && self.entering.1.contains(&run.tid);
        let enters_none = self.has_states && !is_entering && self.is_last(run.tid, start_ns);
        writer.task_state(end_ns, &run, WrittenState { letters: &letters, enters_none, ..WrittenState::default() })
    }

    fn write_state<W: Write>(&mut self, writer: &mut PerfettoWriter<'_, W>) -> io::Result<()> {
        let Some(Reverse((end_ns, tid, start_ns))) = self.states.pop() else { return Ok(()) };
        if !self.is_last(tid, start_ns) {
            return Ok(());
        }
        let task = TaskRun { tid, ..TaskRun::default() };
        writer.task_state(end_ns, &task, WrittenState { enters_none: true, ..WrittenState::default() })
    }

    /// Returns whether the state or run that started at `start_ns` is the last of its thread that was written.
    fn is_last(&self, tid: i64, start_ns: i64) -> bool {
        self.since_ns.get(&tid) == Some(&start_ns)
    }
}
