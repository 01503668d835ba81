//! Compact scheduling in bundles of kernel events: columns of time deltas, threads, and indices into a name table. The
//! events wait for older ones like all others.

use super::emit::EmitBatch;
use super::ftrace::{OpenBundle, SystemEventBuilder};
use super::kernel_fields::compact_sched;
use super::kernel_window::WaitingEvent;
use super::limits::has_room;
use crate::base::bytes::ByteCursor;
use crate::formats::ReadError;
use crate::formats::linux::scheduler::{SchedulerTask, Switch};
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::formats::protobuf::numbers::FieldNumber;

/// Limit for CPUs; machines have fewer.
const CPUS_MAX: usize = 1 << 16;

/// Bits of the first byte of an event.
mod flag {
    pub(super) const SWITCH: u8 = 1;
    pub(super) const STATE: u8 = 1 << 1;
    pub(super) const PRIORITY: u8 = 1 << 2;
}

/// A switch to a thread, or its waking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CompactEvent {
    is_switch: bool,
    /// State of the previous thread.
    state: Option<u64>,
    priority: Option<i64>,
}

impl CompactEvent {
    fn bytes(self) -> [u8; 17] {
        let flags = [(self.is_switch, flag::SWITCH), (self.state.is_some(), flag::STATE)];
        let flags = flags.into_iter().chain([(self.priority.is_some(), flag::PRIORITY)]);
        let mut bytes = [0; 17];
        bytes[0] = flags.filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum();
        bytes[1..9].copy_from_slice(&self.state.unwrap_or(0).to_le_bytes());
        bytes[9..].copy_from_slice(&self.priority.unwrap_or(0).to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&flags, values) = bytes.split_first()?;
        let mut values = ByteCursor(values);
        let (state, priority) = (values.u64()?, values.u64()?.cast_signed());
        let has = |bit: u8| flags & bit != 0;
        Some(Self {
            is_switch: has(flag::SWITCH),
            state: Some(state).filter(|_| has(flag::STATE)),
            priority: Some(priority).filter(|_| has(flag::PRIORITY)),
        })
    }
}

impl SystemEventBuilder<'_> {
    /// Reads the columns of a bundle. A switch at the time of a waking comes after it.
    pub(super) fn compact(
        &mut self,
        bundle: &mut OpenBundle,
        bytes: &[u8],
        emit: EmitBatch<'_>,
    ) -> Result<(), ReadError> {
        let column = |number: FieldNumber| bytes.numbers(number);
        let names: Vec<&[u8]> = bytes.repeated(compact_sched::INTERN_TABLE).collect();
        let name_of = |row: Option<u64>| row.and_then(|row| names.get(row as usize).copied()).unwrap_or_default();
        let mut rows = column(compact_sched::WAKING_COMM_INDEX);
        let mut raw = 0u64;
        for (distance, tid) in column(compact_sched::WAKING_TIMESTAMP).zip(column(compact_sched::WAKING_PID)) {
            raw = raw.wrapping_add(distance);
            let waking = CompactEvent { is_switch: false, state: None, priority: None };
            self.hold_compact(bundle, (raw, tid.cast_signed()), waking, name_of(rows.next()), emit)?;
        }
        let mut states = column(compact_sched::SWITCH_PREV_STATE);
        let mut priorities = column(compact_sched::SWITCH_NEXT_PRIO);
        let mut rows = column(compact_sched::SWITCH_NEXT_COMM_INDEX);
        raw = 0;
        for (distance, tid) in column(compact_sched::SWITCH_TIMESTAMP).zip(column(compact_sched::SWITCH_NEXT_PID)) {
            raw = raw.wrapping_add(distance);
            let (state, priority) = (states.next(), priorities.next().map(u64::cast_signed));
            let switch = CompactEvent { is_switch: true, state, priority };
            self.hold_compact(bundle, (raw, tid.cast_signed()), switch, name_of(rows.next()), emit)?;
        }
        Ok(())
    }

    fn hold_compact(
        &mut self,
        bundle: &mut OpenBundle,
        (raw, tid): (u64, i64),
        compact: CompactEvent,
        name: &[u8],
        emit: EmitBatch<'_>,
    ) -> Result<(), ReadError> {
        let time = self.time(bundle, raw);
        let Some(ts_ns) = self.usable(time) else { return Ok(()) };
        let event = WaitingEvent::new(ts_ns, FieldNumber::NONE, (bundle.cpu, tid), self.pos);
        self.hold(bundle, event, (&compact.bytes(), name), emit)
    }

    /// Adds a switch or a waking in time order.
    pub(super) fn compact_event(&mut self, event: &WaitingEvent, bytes: &[u8], name: &[u8]) {
        let Some(CompactEvent { is_switch, state, priority }) = CompactEvent::from_bytes(bytes) else { return };
        let &WaitingEvent { ts_ns, cpu, tid, .. } = event;
        let next = SchedulerTask { tid, name, priority };
        let system = &mut *self.state;
        if !is_switch {
            // The running thread is the waker.
            let waker = system.compact_running.get(&cpu).copied().or_else(|| system.scheduler.running_on(cpu));
            return system.scheduler.wake(self.batch, ts_ns, &next, waker, self.pos);
        }
        if has_room(&system.compact_running, &cpu, CPUS_MAX) {
            system.compact_running.insert(cpu, tid);
        }
        let previous_state = state.map(|bits| system.task_state(bits));
        let switch = Switch { ts_ns, cpu, previous: None, previous_state, next };
        system.scheduler.switch(self.batch, &switch, self.pos);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_back_from_their_bytes() {
        for (is_switch, state, priority) in
            [(true, Some(u64::MAX), Some(-1)), (true, None, Some(120)), (false, None, None), (true, Some(0), None)]
        {
            let event = CompactEvent { is_switch, state, priority };
            assert_eq!(CompactEvent::from_bytes(&event.bytes()), Some(event));
        }
    }
}
