//! State changes of threads, in the form of a generic kernel.

use std::io::{self, Write};

use super::PerfettoWriter;
use crate::formats::perfetto::fields::trace_packet;
use crate::formats::perfetto::generic_kernel::{has_state, state_number};
use crate::formats::perfetto::kernel_fields::task_state_event;
use crate::formats::perfetto::own_fields::own_task_state_event;
use crate::formats::protobuf::encode::{push_bytes, push_number};

/// A thread that runs on a CPU, or is in a state.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct TaskRun {
    pub(crate) cpu: Option<u64>,
    pub(crate) tid: i64,
    pub(crate) name: Box<str>,
    pub(crate) priority: Option<i64>,
}

/// A state change of a thread.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WrittenState<'a> {
    /// The letters of the state that begins, or `Running`.
    pub(crate) letters: &'a str,
    /// Whether the trace has no state from here on: the letters only say how a run ended.
    pub(crate) enters_none: bool,
    /// The duration of a state or run without an end.
    pub(crate) unfinished_dur_ns: Option<u64>,
}

impl<W: Write> PerfettoWriter<'_, W> {
    /// Writes a state change of a thread. `cpu` and the known properties of the thread are set if it runs or has run.
    pub(crate) fn task_state(&mut self, ts_ns: i64, task: &TaskRun, state: WrittenState<'_>) -> io::Result<()> {
        let WrittenState { letters, enters_none, unfinished_dur_ns } = state;
        if let Some(cpu) = task.cpu {
            push_number(&mut self.message, task_state_event::CPU, cpu);
        }
        if !task.name.is_empty() {
            push_bytes(&mut self.message, task_state_event::COMM, task.name.as_bytes());
        }
        push_number(&mut self.message, task_state_event::TID, task.tid.cast_unsigned());
        push_number(&mut self.message, task_state_event::STATE, state_number(letters));
        if let Some(priority) = task.priority {
            push_number(&mut self.message, task_state_event::PRIO, priority.cast_unsigned());
        }
        if !has_state(letters) {
            push_bytes(&mut self.message, own_task_state_event::LETTERS, letters.as_bytes());
        }
        if enters_none {
            push_number(&mut self.message, own_task_state_event::ENTERS_NO_STATE, 1);
        }
        if let Some(dur_ns) = unfinished_dur_ns {
            push_number(&mut self.message, own_task_state_event::UNFINISHED_DUR_NS, dur_ns);
        }
        self.end_packet(Some(ts_ns), trace_packet::GENERIC_KERNEL_TASK_STATE_EVENT)
    }
}
