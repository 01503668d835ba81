//! Sorts the kernel events of all CPUs by time, since many of them make sense only after events of other CPUs: the end
//! of a request, the reply of a call, the first event of a new thread.
//!
//! The recorder reads the buffer of one CPU after the other, in cycles, and skips empty buffers. So a CPU number below
//! the previous one begins a cycle. After a cycle, no event is older than the newest event of the cycle before. If a
//! CPU had more events than the recorder reads at once, its events are not older than the last event of this CPU.
//!
//! Equivalent to a stable sort of all events by time, if the memory suffices.

use std::mem;

use crate::base::budget::Budget;
use crate::base::budget_shares::BudgetShare;
use crate::formats::input::lengths::saturating_len;
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::SourcePos;

/// Least limit for the waiting events of a trace, whatever the budget is: some 100,000 events.
const WAITING_BYTES_LEAST: usize = 8 << 20;

/// Most bytes of waiting events, so that offsets into them have 32 bits.
const WAITING_BYTES_MOST: usize = 1 << 30;

/// An event that waits for older ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct WaitingEvent {
    pub(super) ts_ns: i64,
    pub(super) cpu: u64,
    pub(super) tid: i64,
    pub(super) pos: SourcePos,
    /// The kind of the event; [`FieldNumber::NONE`] for one of compact scheduling.
    pub(super) number: FieldNumber,
    start: u32,
    len: u32,
    name_len: u32,
}

// A second of a busy machine has a million events.
const _: () = assert!(size_of::<WaitingEvent>() <= 56);

impl WaitingEvent {
    /// Creates an event of a thread, whose content [`KernelWindow::push`] adds.
    pub(super) fn new(ts_ns: i64, number: FieldNumber, (cpu, tid): (u64, i64), pos: SourcePos) -> Self {
        Self { ts_ns, cpu, tid, pos, number, start: 0, len: 0, name_len: 0 }
    }

    /// Returns the fields of the event, and the interned name that they refer to.
    pub(super) fn content(self, bytes: &[u8]) -> (&[u8], &[u8]) {
        let [start, len, name_len] = [self.start, self.len, self.name_len].map(|len| len as usize);
        bytes[start..][..len + name_len].split_at(len)
    }
}

/// Events in time order, and the bytes of their contents.
#[derive(Debug, Default)]
pub(super) struct SortedEvents {
    pub(super) events: Vec<WaitingEvent>,
    pub(super) bytes: Vec<u8>,
}

impl SortedEvents {
    fn push(&mut self, event: WaitingEvent, fields: &[u8], name: &[u8]) {
        let [start, len, name_len] = [self.bytes.len(), fields.len(), name.len()].map(|len| len as u32);
        self.bytes.extend_from_slice(fields);
        self.bytes.extend_from_slice(name);
        self.events.push(WaitingEvent { start, len, name_len, ..event });
    }
}

/// The waiting events of the bundles of one packet sequence.
#[derive(Debug, Default)]
pub(super) struct KernelWindow {
    waiting: SortedEvents,
    /// CPU of the last bundle.
    cpu: Option<u64>,
    /// Newest time of that CPU in this cycle.
    cpu_end_ns: Option<i64>,
    /// Oldest end of the CPUs before this CPU in the cycle.
    oldest_end_ns: Option<i64>,
    newest_ns: Option<i64>,
    /// Newest time of all earlier cycles.
    earlier_newest_ns: Option<i64>,
    /// Newest time of the events that were emitted early for lack of memory.
    early_ns: Option<i64>,
}

impl KernelWindow {
    /// Begins the bundle of a CPU. Returns the time up to which events need not wait any more.
    pub(super) fn begin_bundle(&mut self, cpu: u64) -> Option<i64> {
        let last = self.cpu.replace(cpu);
        if last == Some(cpu) {
            return None;
        }
        let end_ns = self.cpu_end_ns.take();
        self.oldest_end_ns = [self.oldest_end_ns, end_ns].into_iter().flatten().min();
        if last.is_none_or(|last| last < cpu) {
            return None;
        }
        let oldest_end_ns = self.oldest_end_ns.take();
        let earlier_ns = mem::replace(&mut self.earlier_newest_ns, self.newest_ns)?;
        Some(oldest_end_ns.map_or(earlier_ns, |end_ns| end_ns.min(earlier_ns)))
    }

    /// Adds an event with its fields and the name that they refer to. Returns false if newer events have been taken for
    /// want of memory.
    pub(super) fn push(&mut self, event: WaitingEvent, fields: &[u8], name: &[u8]) -> bool {
        self.waiting.push(event, fields, name);
        self.cpu_end_ns = self.cpu_end_ns.max(Some(event.ts_ns));
        self.newest_ns = self.newest_ns.max(Some(event.ts_ns));
        Some(event.ts_ns) >= self.early_ns
    }

    pub(super) fn newest_ns(&self) -> Option<i64> {
        self.newest_ns
    }

    /// Returns the memory of the waiting events.
    pub(super) fn memory_bytes(&self) -> usize {
        self.waiting.bytes.len() + size_of_val(&*self.waiting.events)
    }

    /// Takes the events up to a time.
    pub(super) fn take_until(&mut self, up_to_ns: i64) -> SortedEvents {
        self.waiting.events.sort_by_key(|event| event.ts_ns);
        let count = self.waiting.events.partition_point(|event| event.ts_ns <= up_to_ns);
        self.split_off(count)
    }

    /// Takes the older half of the events, to make room.
    pub(super) fn take_half(&mut self) -> SortedEvents {
        self.waiting.events.sort_by_key(|event| event.ts_ns);
        let taken = self.split_off(self.waiting.events.len().div_ceil(2));
        self.early_ns = self.early_ns.max(taken.events.last().map(|event| event.ts_ns));
        taken
    }

    /// Takes the first events, and moves the others together.
    fn split_off(&mut self, count: usize) -> SortedEvents {
        if count == 0 {
            return SortedEvents::default();
        }
        let later = self.waiting.events.split_off(count);
        let taken = mem::take(&mut self.waiting);
        for event in later {
            let (fields, name) = event.content(&taken.bytes);
            self.waiting.push(event, fields, name);
        }
        taken
    }
}

/// Returns the limit for the waiting events of all windows. Buffers grow by doubling, so they may take twice as much.
pub(super) fn waiting_bytes_max(budget: &Budget) -> usize {
    let share = BudgetShare::PerfettoKernel.bytes(budget) / 2;
    saturating_len(share).clamp(WAITING_BYTES_LEAST, WAITING_BYTES_MOST)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn push(window: &mut KernelWindow, cpu: u64, ts_ns: i64) -> bool {
        let event = WaitingEvent::new(ts_ns, FieldNumber::NONE, (cpu, 0), SourcePos::Offset(0));
        window.push(event, ts_ns.to_string().as_bytes(), b"f")
    }

    fn times(sorted: &SortedEvents) -> Vec<i64> {
        for event in &sorted.events {
            assert_eq!(event.content(&sorted.bytes), (event.ts_ns.to_string().as_bytes(), &b"f"[..]));
        }
        sorted.events.iter().map(|event| event.ts_ns).collect()
    }

    #[test]
    fn events_wait_for_two_cycles() {
        let mut window = KernelWindow::default();
        let mut bundle = |cpu: u64, events: &[i64]| {
            let safe_ns = window.begin_bundle(cpu);
            let taken = safe_ns.map(|safe_ns| times(&window.take_until(safe_ns)));
            events.iter().for_each(|&ts_ns| assert!(push(&mut window, cpu, ts_ns)));
            taken
        };
        assert_eq!(bundle(0, &[1, 8]), None);
        assert_eq!(bundle(1, &[2, 9]), None);
        // A bundle may continue in another.
        assert_eq!(bundle(1, &[10]), None);
        assert_eq!(bundle(0, &[11, 20]), None);
        assert_eq!(bundle(2, &[12, 30]), None);
        assert_eq!(bundle(1, &[13, 40]), Some(vec![1, 2, 8, 9, 10]));
        assert_eq!(bundle(2, &[31]), None);
        // CPU 2 may have further events from 31 on.
        assert_eq!(bundle(0, &[50]), Some(vec![11, 12, 13, 20, 30]));
    }

    #[test]
    fn an_event_is_late_if_newer_ones_were_taken_for_want_of_memory() {
        let mut window = KernelWindow::default();
        [5, 1, 4, 2, 3].into_iter().for_each(|ts_ns| assert!(push(&mut window, 0, ts_ns)));
        let bytes = window.memory_bytes();
        assert_eq!(times(&window.take_half()), [1, 2, 3]);
        assert!(window.memory_bytes() < bytes);
        assert!(!push(&mut window, 1, 2) && push(&mut window, 1, 3));
        assert_eq!(times(&window.take_until(i64::MAX)), [2, 3, 4, 5]);
    }

    proptest! {
        /// A recorder that reads only a part of some buffers in a cycle.
        #[test]
        fn cycles_of_a_recorder_are_sorted_like_all_events(
            events in proptest::collection::vec((0u64..4, 1i64..5), 0..200),
            reads in proptest::collection::vec((0usize..12, proptest::option::of(1usize..4)), 1..60),
        ) {
            // Events in order of time, on any CPU.
            let mut now = 0;
            let all: Vec<(u64, i64)> = events.into_iter().map(|(cpu, after)| { now += after; (cpu, now) }).collect();
            let (mut window, mut sorted) = (KernelWindow::default(), Vec::new());
            let mut buffers = vec![std::collections::VecDeque::new(); 4];
            let mut written = all.iter().copied();
            for (events, part) in reads.into_iter().chain([(usize::MAX, None)]) {
                for cpu in 0..4 {
                    // Events happen while the recorder reads.
                    written.by_ref().take(events).for_each(|(cpu, ts_ns)| buffers[cpu as usize].push_back(ts_ns));
                    let buffer = &mut buffers[cpu as usize];
                    let count = part.unwrap_or(usize::MAX).min(buffer.len());
                    if count == 0 {
                        continue;
                    }
                    if let Some(safe_ns) = window.begin_bundle(cpu) {
                        sorted.extend(times(&window.take_until(safe_ns)));
                    }
                    for ts_ns in buffer.drain(..count) {
                        push(&mut window, cpu, ts_ns);
                    }
                }
            }
            // The recorder reads on until all buffers are empty.
            for (cpu, buffer) in (0..).zip(buffers) {
                buffer.into_iter().for_each(|ts_ns| _ = push(&mut window, cpu, ts_ns));
            }
            sorted.extend(times(&window.take_until(i64::MAX)));
            let expected: Vec<i64> = all.iter().map(|event| event.1).collect();
            prop_assert_eq!(sorted, expected);
        }
    }
}
