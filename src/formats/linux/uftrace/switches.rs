//! Reads the context switches of a CPU, which uftrace records as `perf` does: records of the kernel with the thread and
//! the time at their end. New threads and their names are records too.

use super::tasks::Tasks;
use crate::base::bytes::ByteCursor;
use crate::formats::input::byte_reader::ByteReader;
use crate::formats::linux::scheduler::{Scheduler, SchedulerTask, Switch, TaskState};
use crate::formats::linux::thread_table::push_kernel_name;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::{BatchSink, ReadContext, ReadError};
use crate::model::{Id, Loss, SourcePos};

/// Length of the header of a record: kind, flags and length.
const HEADER_BYTES: usize = 8;

/// Length of the process, the thread and the time at the end of a record.
const END_BYTES: usize = 16;

/// Kinds of records, as in `linux/perf_event.h`.
mod kind {
    pub(super) const COMM: u32 = 3;
    pub(super) const EXIT: u32 = 4;
    pub(super) const SWITCH: u32 = 14;
}

mod flag {
    /// The thread leaves the CPU.
    pub(super) const OUT: u16 = 1 << 13;
    /// The thread was still runnable.
    pub(super) const PREEMPTED: u16 = 1 << 14;
}

/// Reads the file of a CPU.
pub(super) struct SwitchReader<'a> {
    pub(super) input: ByteReader,
    pub(super) cpu: u64,
    pub(super) tasks: &'a Tasks,
    pub(super) scheduler: &'a mut Scheduler,
    pub(super) context: &'a ReadContext,
}

impl SwitchReader<'_> {
    /// Adds the switches to batches. After a damaged record the rest is skipped, since its length is unknown.
    pub(super) fn read(mut self, batch: &mut BatchBuilder, sink: &mut dyn BatchSink) -> Result<(), ReadError> {
        loop {
            let pos = SourcePos::Offset(self.input.offset());
            let header = self.input.peek(HEADER_BYTES)?;
            if header.is_empty() {
                return Ok(());
            }
            let Some(&[k0, k1, k2, k3, f0, f1, l0, l1]) = header.first_chunk() else {
                batch.lose(Loss::Truncated, pos);
                return Ok(());
            };
            let (kind, flags) = (u32::from_le_bytes([k0, k1, k2, k3]), u16::from_le_bytes([f0, f1]));
            let len = usize::from(u16::from_le_bytes([l0, l1]));
            if len < HEADER_BYTES + END_BYTES {
                batch.lose(Loss::BadRecord, pos);
                return Ok(());
            }
            let Some(record) = self.input.take_bytes(len)? else {
                batch.lose(Loss::Truncated, pos);
                return Ok(());
            };
            let (body, end) = record[HEADER_BYTES..].split_at(len - HEADER_BYTES - END_BYTES);
            if let Some((tid, ts_ns)) = thread_and_time(end) {
                match kind {
                    kind::SWITCH if flags & flag::OUT == 0 => {
                        let next = SchedulerTask { tid, name: self.tasks.program(tid), priority: None };
                        let switch = Switch { ts_ns, cpu: self.cpu, previous: None, previous_state: None, next };
                        self.scheduler.switch(batch, &switch, pos);
                    }
                    kind::SWITCH => {
                        let state: &[u8] = if flags & flag::PREEMPTED != 0 { b"R+" } else { b"S" };
                        self.scheduler.switch(batch, &switch_out(self.cpu, tid, ts_ns, state), pos);
                    }
                    // The switch from an ended thread is not recorded.
                    kind::EXIT => self.scheduler.switch(batch, &switch_out(self.cpu, tid, ts_ns, b"X"), pos),
                    kind::COMM => {
                        // The process and the thread are before the name.
                        let name = body.get(8..).unwrap_or_default();
                        let name = &name[..memchr::memchr(0, name).unwrap_or(name.len())];
                        let pid = self.tasks.process(tid);
                        push_kernel_name(batch, Id::Number(pid), Id::Number(tid), name, pos);
                    }
                    // New threads are in the list of tasks.
                    _ => {}
                }
            } else {
                batch.lose(Loss::BadTime, pos);
            }
            batch.flush_if_full(sink, self.context)?;
        }
    }
}

/// Parses the end of a record: process, thread and time.
fn thread_and_time(end: &[u8]) -> Option<(i64, i64)> {
    let mut values = ByteCursor(end);
    let (_process, tid, ts_ns) = (values.u32()?, values.u32()?, values.u64()?);
    Some((tid.into(), i64::try_from(ts_ns).ok()?))
}

/// Returns the switch from a thread, which enters this state. The CPU is idle then, as far as the recording knows.
fn switch_out(cpu: u64, tid: i64, ts_ns: i64, letters: &[u8]) -> Switch<'static> {
    let previous = Some(SchedulerTask { tid, ..SchedulerTask::default() });
    let previous_state = TaskState::from_letters(letters);
    Switch { ts_ns, cpu, previous, previous_state, next: SchedulerTask::default() }
}
