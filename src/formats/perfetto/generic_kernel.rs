//! Scheduling of non-Linux kernels: packets with one thread state change each, thread names, and CPU frequencies.

use super::fields::trace_packet;
use super::ftrace::SystemEventBuilder;
use super::kernel_fields::{kernel_frequency_event, kernel_rename_event, task_state, task_state_event};
use super::own_fields::own_task_state_event;
use crate::formats::linux::scheduler::{SchedulerTask, TaskChange, TaskState};
use crate::formats::protobuf::decode::Fields;
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::facts::{END_TS, START_TS, Subject, TraceFact};
use crate::model::{Id, Metadata};

const HERTZ_PER_KILOHERTZ: f64 = 1000.0;

impl SystemEventBuilder<'_> {
    /// Decodes a packet of one of these kinds.
    pub(super) fn generic_kernel(&mut self, kind: FieldNumber, ts_ns: i64, bytes: &[u8]) {
        self.state.begin(self.tracks.all_described());
        match kind {
            trace_packet::GENERIC_KERNEL_CPU_FREQ_EVENT => {
                let (mut cpu, mut hertz) = (0, 0);
                for field in Fields::new(bytes) {
                    match field.number {
                        kernel_frequency_event::CPU => cpu = field.value.number(),
                        kernel_frequency_event::FREQ_HZ => hertz = field.value.number(),
                        _ => {}
                    }
                }
                self.push_frequency(ts_ns, cpu, hertz as f64 / HERTZ_PER_KILOHERTZ);
            }
            trace_packet::GENERIC_KERNEL_TASK_RENAME_EVENT => {
                let (mut tid, mut name) = (0, &b""[..]);
                for field in Fields::new(bytes) {
                    match field.number {
                        kernel_rename_event::TID => tid = field.value.signed(),
                        kernel_rename_event::COMM => name = field.value.bytes(),
                        _ => {}
                    }
                }
                self.state.scheduler.rename(self.batch, tid, name, self.pos);
            }
            _ => self.task_state(ts_ns, bytes),
        }
    }

    fn task_state(&mut self, ts_ns: i64, bytes: &[u8]) {
        let (mut cpu, mut state, mut task) = (None, TaskChange::Unknown, SchedulerTask::default());
        let (mut letters, mut enters_no_state, mut unfinished_dur_ns) = (&b""[..], false, None);
        for field in Fields::new(bytes) {
            match field.number {
                task_state_event::CPU => cpu = Some(field.value.number()),
                task_state_event::COMM => task.name = field.value.bytes(),
                task_state_event::TID => task.tid = field.value.signed(),
                task_state_event::STATE => state = change(field.value.number()),
                task_state_event::PRIO => task.priority = Some(field.value.signed()),
                own_task_state_event::LETTERS => letters = field.value.bytes(),
                own_task_state_event::ENTERS_NO_STATE => enters_no_state = field.value.number() != 0,
                own_task_state_event::UNFINISHED_DUR_NS => unfinished_dur_ns = Some(field.value.number()),
                _ => {}
            }
        }
        // Writers omit CPU 0, but a running thread always has a CPU.
        let cpu = cpu.or((state == TaskChange::Running).then_some(0));
        let state = TaskState::from_letters(letters).map_or(state, TaskChange::Linux);
        self.add_lifetime(ts_ns, task.tid, state);
        let scheduler = &mut self.state.scheduler;
        scheduler.change(self.batch, (ts_ns, cpu), &task, state, self.pos);
        if enters_no_state {
            scheduler.leave(self.batch, ts_ns, task.tid, self.pos);
        }
        if let Some(dur_ns) = unfinished_dur_ns {
            scheduler.lasts_to(task.tid, ts_ns.saturating_add_unsigned(dur_ns));
        }
    }
}

impl SystemEventBuilder<'_> {
    /// Adds the start or the end of a thread as a fact.
    fn add_lifetime(&mut self, ts_ns: i64, tid: i64, state: TaskChange) {
        let key = match state {
            TaskChange::Created => START_TS,
            TaskChange::Destroyed => END_TS,
            _ => return,
        };
        let thread = Subject::Thread(Id::Number(self.pid_of(tid)), Id::Number(tid));
        self.batch.add_metadata(Metadata::Fact { fact: Box::new(TraceFact::number(thread, key, ts_ns)) });
    }
}

fn change(state: u64) -> TaskChange {
    match state {
        task_state::TASK_STATE_CREATED => TaskChange::Created,
        task_state::TASK_STATE_RUNNABLE => TaskChange::Runnable,
        task_state::TASK_STATE_RUNNING => TaskChange::Running,
        task_state::TASK_STATE_INTERRUPTIBLE_SLEEP => TaskChange::Sleeping,
        task_state::TASK_STATE_UNINTERRUPTIBLE_SLEEP => TaskChange::Uninterruptible,
        task_state::TASK_STATE_STOPPED => TaskChange::Stopped,
        task_state::TASK_STATE_DEAD => TaskChange::Dead,
        task_state::TASK_STATE_DESTROYED => TaskChange::Destroyed,
        _ => TaskChange::Unknown,
    }
}

/// Converts the letters of a state; 0 for states that the format does not have.
pub(super) fn state_number(letters: &str) -> u64 {
    match letters.as_bytes() {
        b"Running" => task_state::TASK_STATE_RUNNING,
        b"Created" => task_state::TASK_STATE_CREATED,
        [b'R', ..] => task_state::TASK_STATE_RUNNABLE,
        // An idle kernel thread counts as sleeping, not as blocked.
        [b'S' | b'I', ..] => task_state::TASK_STATE_INTERRUPTIBLE_SLEEP,
        [b'D', ..] => task_state::TASK_STATE_UNINTERRUPTIBLE_SLEEP,
        [b'T' | b't', ..] => task_state::TASK_STATE_STOPPED,
        [b'Z', ..] => task_state::TASK_STATE_DEAD,
        [b'X' | b'x', ..] => task_state::TASK_STATE_DESTROYED,
        _ => task_state::TASK_STATE_UNKNOWN,
    }
}

/// Returns whether the format has the state with these letters. Also true for letters of no state.
pub(super) fn has_state(letters: &str) -> bool {
    TaskState::from_letters(letters.as_bytes()).is_none() || change(state_number(letters)).letters() == letters
}
