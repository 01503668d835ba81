//! Tests of the times off CPU of threads whose switches were recorded with stacks.

use super::*;
use crate::formats::testing::file_of;
use crate::formats::{BatchSink, ChunkLimits, ReadContext, ReadError, Reader, sniff};
use crate::model::{Batch, SampleMeasure};

/// State bits of a thread: sleeping, preempted, and exiting.
const SLEEPS: u64 = 1;
const EXITS: u64 = 0x10;

const SWITCH: u64 = 1;
const CLOCK: u64 = 2;

/// An event of a recording.
#[derive(Debug, Clone, Copy)]
struct Recorded {
    ts_ns: i64,
    cpu: u32,
    tid: u32,
    /// The next thread of a switch, and the state of the previous one; `None` for a sample of the clock or an exit.
    switch: Option<(u32, u64)>,
    is_exit: bool,
    /// Addresses of the stack, innermost first.
    stack: [u64; 2],
}

/// A sample of a time off CPU: time, thread, length and stack, outermost first.
type Off = (i64, Id, u64, Vec<String>);

impl Recorded {
    fn record(&self) -> Vec<u8> {
        if self.is_exit {
            let ids = [7, 7, self.tid, 7].map(u32::to_le_bytes).concat();
            return record(4, &[ids, self.ts_ns.to_le_bytes().to_vec()].concat());
        }
        let id = if self.switch.is_some() { SWITCH } else { CLOCK };
        let raw = self.switch.map_or(Vec::new(), |(next, state)| {
            let task = |tid: u32| [&[b'a'; 15][..], &[0], &tid.to_le_bytes(), &120u32.to_le_bytes()].concat();
            [&[0; 8][..], &task(self.tid), &state.to_le_bytes(), &task(next)].concat()
        });
        let thread = [7u32.to_le_bytes(), self.tid.to_le_bytes()].concat();
        let chain: Vec<u8> = [2, self.stack[0], self.stack[1]].into_iter().flat_map(u64::to_le_bytes).collect();
        let head = [&id.to_le_bytes()[..], &0u64.to_le_bytes(), &thread, &self.ts_ns.to_le_bytes()].concat();
        let cpu = [&self.cpu.to_le_bytes()[..], &[0; 4]].concat();
        // A clock has no raw data.
        let raw_len = (raw.len() as u32).to_le_bytes();
        let raw = if self.switch.is_some() { [&raw_len[..], &raw, &[0; 4]].concat() } else { Vec::new() };
        record(9, &[head, cpu, chain, raw].concat())
    }

    /// Returns the event as a line of `perf script` with its stack, and times in microseconds.
    fn text(&self) -> String {
        let (seconds, micros) = (self.ts_ns / 1_000_000_000, self.ts_ns / 1000 % 1_000_000);
        let event = match self.switch {
            None => "cpu-clock: ".to_owned(),
            Some((next, state)) => {
                let state = if state == SLEEPS {
                    "S"
                } else if state == EXITS {
                    "X"
                } else {
                    "R"
                };
                let tid = self.tid;
                format!(
                    "sched:sched_switch: prev_comm=a prev_pid={tid} prev_prio=120 prev_state={state} ==> next_comm=a next_pid={next} next_prio=120"
                )
            }
        };
        let frame = |address: &u64| format!("\t{address:x} {address:#x}+0x0 (/bin/a)\n");
        let stack: String = self.stack.iter().map(frame).collect();
        format!("a 7/{} [{:03}] {seconds}.{micros:06}: {event}\n{stack}\n", self.tid, self.cpu)
    }
}

fn recording(events: &[Recorded]) -> Vec<u8> {
    // Id, address, thread, time, CPU, chain; switches also have raw data.
    let fields = 1 << 16 | 0b111 | 1 << 7 | 1 << 5;
    let attrs = [attr(2, 70, fields | 1 << 10, Some(SWITCH)), attr(1, 0, fields, Some(CLOCK))].concat();
    let points = layouts::USUAL.described();
    let records: Vec<u8> = events.iter().flat_map(Recorded::record).collect();
    [&b"PERFILE2"[..], &16u64.to_le_bytes(), &attrs, &points, &records].concat()
}

fn off_cpu(reading: &Reading) -> Vec<Off> {
    let mut found: Vec<Off> = Vec::new();
    for event in reading.events.iter().filter(|event| event.kind == EventKind::Sample) {
        let SampleMeasure { event: name, unit, weight } = SampleMeasure::from_args(&event.args);
        if name == "off-CPU" {
            assert_eq!((&*unit, &event.track.pid), ("ns", &Id::Number(7)));
            found.push((event.ts_ns, event.track.tid.clone(), weight, event.stack.clone()));
        }
    }
    found.sort();
    found
}

/// Searches, for each switch-out, all later events for the first one that shows that the thread runs again.
fn naive(events: &[Recorded]) -> Vec<Off> {
    let last_ns = events.last().map_or(0, |event| event.ts_ns);
    let mut found = Vec::new();
    for (position, event) in events.iter().enumerate() {
        let Some((_, state)) = event.switch.filter(|(_, state)| *state != EXITS && event.tid != 0) else { continue };
        assert_ne!(state, EXITS);
        let runs = |later: &&Recorded| match later.switch {
            Some((next, _)) => next == event.tid || later.tid == event.tid,
            None => later.tid == event.tid && later.ts_ns - event.ts_ns >= 20_000,
        };
        let end_ns = events[position + 1..].iter().find(runs).map_or(last_ns, |later| later.ts_ns);
        let stack = event.stack.iter().rev().map(|address| format!("{address:#x}")).collect();
        found.push((event.ts_ns, Id::Number(event.tid.into()), end_ns.abs_diff(event.ts_ns), stack));
    }
    found.sort();
    found
}

fn recorded() -> impl Strategy<Value = Vec<Recorded>> {
    // Steps of some microseconds, and of long waits, which are collected.
    let step = prop_oneof![4 => 1i64..30, 2 => 1000i64..30_000, 1 => Just(1_500_000i64)];
    let event = (step, 0u32..3, 0u32..6, 0u32..6, 0usize..5, 0u64..3, 0u64..3);
    proptest::collection::vec(event, 0..80).prop_map(|steps| {
        let mut ts_ns = 1_000_000;
        let mut events = Vec::new();
        for (micros, cpu, tid, next, kind, inner, outer) in steps {
            let is_exit = kind == 4;
            // An exit has the time of the record before it, because these recordings have no ids of other records.
            if !is_exit {
                ts_ns += micros * 1000;
            } else if events.is_empty() {
                continue;
            }
            let state = [SLEEPS, 0, EXITS, SLEEPS, SLEEPS][kind];
            let next = if next == tid { (next + 1) % 6 } else { next };
            let switch = (kind < 3).then_some((next, state));
            let stack = [0x9000 + inner, 0x8000 + outer];
            events.push(Recorded { ts_ns, cpu, tid, switch, is_exit, stack });
        }
        events
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn times_off_cpu_are_those_of_a_search_of_all_later_events(events in recorded(), batch_events in 1usize..40) {
        let expected = naive(&events);
        let bytes = recording(&events);
        prop_assert_eq!(&off_cpu(&read_bytes(&bytes).expect("a capture")), &expected);
        let cut = read_cut(&bytes, 100, batch_events).expect("a capture");
        prop_assert_eq!(&off_cpu(&cut), &expected);
        prop_assert_eq!(cut.events, read_bytes(&bytes).expect("a capture").events);
    }

    #[test]
    fn times_off_cpu_of_text_are_those_of_the_recording(mut events in recorded()) {
        // The text has no exits.
        events.retain(|event| !event.is_exit);
        let text: String = events.iter().map(Recorded::text).collect();
        prop_assume!(!events.is_empty());
        let found = off_cpu(&read_bytes(text.as_bytes()).expect("a capture"));
        prop_assert_eq!(found, naive(&events));
    }
}

#[test]
fn a_time_off_cpu_says_the_state_of_the_thread() {
    let switch = |ts_ns, tid, next, state| Recorded {
        ts_ns,
        cpu: 0,
        tid,
        switch: Some((next, state)),
        is_exit: false,
        stack: [2, 1],
    };
    let events = [switch(1000, 8, 9, SLEEPS), switch(2000, 9, 8, 0), switch(5000, 8, 9, 2)];
    let reading = read_bytes(&recording(&events)).expect("a capture");
    let args: Vec<_> =
        reading.events.iter().filter(|event| event.args.contains("off-CPU")).map(|event| &*event.args).collect();
    let expected = [
        r#"{"event":"off-CPU","unit":"ns","period":1000,"state":"S"}"#,
        r#"{"event":"off-CPU","unit":"ns","period":3000,"state":"R"}"#,
        r#"{"event":"off-CPU","unit":"ns","period":0,"state":"D"}"#,
    ];
    assert_eq!(args, expected);
    assert_eq!(reading.lost(), []);
}

/// The time between the first and the last event of each batch.
#[derive(Default)]
struct BatchLengths(Vec<i64>);

impl BatchSink for BatchLengths {
    fn accept(&mut self, batch: Batch) -> Result<(), ReadError> {
        let events = &batch.chunk.events;
        if let (Some(first), Some(last)) = (events.first(), events.last()) {
            self.0.push(last.ts_ns - first.ts_ns);
        }
        Ok(())
    }
}

#[test]
fn long_waits_of_many_threads_open_few_early_chunks() {
    const THREADS: u32 = 50;
    let switch = |ts_ns, tid, next| Recorded {
        ts_ns,
        cpu: 0,
        tid,
        switch: Some((next, SLEEPS)),
        is_exit: false,
        stack: [0x9000, 0x8000],
    };
    // Each thread runs for a millisecond every 50 milliseconds, so that every batch ends waits of many earlier ones.
    let events: Vec<_> = (0..5000u32)
        .map(|turn| switch(i64::from(turn) * 1_000_000, 1 + turn % THREADS, 1 + (turn + 1) % THREADS))
        .collect();
    let file = file_of(&recording(&events));
    let chunk_limits = ChunkLimits { block_bytes: None, batch_events: Some(100) };
    let context = ReadContext { chunk_limits, ..ReadContext::default() };
    let mut lengths = BatchLengths::default();
    let Reader::Stream(reader) = sniff::open(file.path(), &context).expect("a capture") else { panic!("a stream") };
    reader.read(&mut lengths, &context).expect("read");
    let early = lengths.0.iter().filter(|&&length_ns| length_ns > 45_000_000).count();
    assert!(lengths.0.len() > 150 && (1..=7).contains(&early), "{early} of {}", lengths.0.len());
    assert_eq!(off_cpu(&read_path(file.path()).expect("a capture")), naive(&events));
}
