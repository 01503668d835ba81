//! Kernel events are interpreted in order of time, although the recorder writes the events of one CPU after the other.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::encode::{Message, capture, kernel_event, message};
use super::*;
use crate::base::budget::Budget;
use crate::formats::ReadContext;
use crate::formats::testing::{context, file_of, read_with};
use crate::model::EventKind as K;

/// Returns the bundle of a CPU.
fn on_cpu(cpu: u64, events: impl IntoIterator<Item = Message>) -> Message {
    let bundle = events.into_iter().fold(message().number(1, cpu), |bundle, event| bundle.message(2, event));
    message().number(10, 1).message(1, bundle)
}

fn sent(ts_ns: u64, tid: u64, id: u64, is_reply: bool) -> Message {
    kernel_event(ts_ns, tid, 50, message().number(1, id).number(5, is_reply.into()))
}

fn received(ts_ns: u64, tid: u64, id: u64) -> Message {
    kernel_event(ts_ns, tid, 51, message().number(1, id))
}

fn switch(ts_ns: u64, previous: u64, state: u64, next: u64) -> Message {
    kernel_event(ts_ns, 0, 4, message().number(2, previous).number(4, state).number(6, next))
}

fn blocked(ts_ns: u64, tid: u64, is_io_wait: bool) -> Message {
    kernel_event(ts_ns, 0, 18, message().number(1, tid).number(2, 9).number(3, is_io_wait.into()))
}

fn block_io(ts_ns: u64, number: u32, sector: u64) -> Message {
    kernel_event(ts_ns, 0, number, message().number(1, 8 << 20).number(2, sector))
}

fn call(ts_ns: u64, number: u32, id: i64) -> Message {
    kernel_event(ts_ns, 100, number, message().number(1, id.cast_unsigned()))
}

fn print(ts_ns: u64, text: &str) -> Message {
    kernel_event(ts_ns, 100, 3, message().bytes(2, text))
}

#[test]
fn a_call_whose_reply_comes_from_the_bundle_of_an_earlier_cpu_is_whole() {
    let client = || [sent(10, 100, 1, false), received(40, 100, 2)];
    let server = || [received(20, 200, 1), sent(30, 200, 2, true)];
    let expected = [
        (10, K::Begin, "binder transaction"),
        (10, K::FlowStart, ""),
        (20, K::Begin, "binder reply"),
        (20, K::FlowEnd, ""),
        (30, K::End, "binder reply"),
        (40, K::End, "binder transaction"),
    ];
    for bundles in [[on_cpu(0, server()), on_cpu(1, client())], [on_cpu(0, client()), on_cpu(1, server())]] {
        let reading = read(bundles);
        assert_eq!((reading.kinds(), reading.lost()), (expected.to_vec(), vec![]));
    }
}

#[test]
fn a_request_that_ends_in_the_bundle_of_an_earlier_cpu_is_one_span() {
    let reading = read([
        on_cpu(0, [block_io(20, 547, 10), block_io(50, 547, 20)]),
        on_cpu(1, [block_io(10, 546, 10), block_io(40, 546, 20)]),
    ]);
    let kinds: Vec<_> = reading.kinds().into_iter().map(|(ts_ns, kind, _)| (ts_ns, kind)).collect();
    assert_eq!(kinds, [(10, K::AsyncBegin), (20, K::AsyncEnd), (40, K::AsyncBegin), (50, K::AsyncEnd)]);
    assert_eq!(reading.lost(), []);
}

#[test]
fn the_reason_of_a_blocked_thread_is_that_of_its_state_at_the_time() {
    let run = || [switch(10, 0, 0, 7), switch(20, 7, 2, 0), switch(35, 0, 0, 7), switch(50, 7, 2, 0)];
    let reasons = || [blocked(29, 7, true), blocked(60, 7, false)];
    for bundles in [[on_cpu(0, reasons()), on_cpu(1, run())], [on_cpu(0, run()), on_cpu(1, reasons())]] {
        let reading = read(bundles);
        let states = reading.events.iter().filter(|event| event.kind == K::State && event.args.contains("io_wait"));
        let states: Vec<_> = states.map(|event| (event.ts_ns, &*event.args)).collect();
        assert_eq!(states, [(20, r#"{"io_wait":1}"#), (50, r#"{"io_wait":0}"#)]);
    }
}

#[test]
fn a_thread_is_of_one_process_although_its_creation_is_in_a_later_bundle() {
    let new = kernel_event(15, 100, 235, message().number(1, 200).bytes(2, "main").number(3, 0x10000));
    let reading = read([
        on_cpu(0, [switch(20, 0, 0, 200), switch(30, 200, 1, 0)]),
        on_cpu(3, [new]),
        on_cpu(0, [switch(90, 0, 0, 200), switch(95, 200, 1, 0)]),
    ]);
    let mut states = reading.events.iter().filter(|event| event.kind == K::State);
    assert!(states.all(|event| event.track.pid.to_string() == "100"));
}

#[test]
fn a_function_has_the_name_that_its_sequence_had_interned_then() {
    let interned =
        |name: &str| message().number(13, 1).message(12, message().message(26, message().number(1, 9).bytes(2, name)));
    let named = |name: &str, cpu, events: Vec<Message>| Message([interned(name).0, on_cpu(cpu, events).0].concat());
    let reading = read([
        named("first", 0, vec![switch(10, 0, 0, 7), switch(20, 7, 2, 0), blocked(25, 7, true)]),
        named("second", 1, vec![switch(11, 0, 0, 8), switch(21, 8, 2, 0), blocked(26, 8, true)]),
    ]);
    let reasons = reading.events.iter().filter(|event| event.args.contains("blocked_function"));
    let reasons: Vec<_> = reasons.map(|event| (event.ts_ns, &*event.args)).collect();
    let reason = |name| format!(r#"{{"io_wait":1,"blocked_function":"{name}"}}"#);
    assert_eq!(reasons, [(20, &*reason("first")), (21, &*reason("second"))]);
}

#[test]
fn a_marker_inside_of_a_system_call_outlives_it() {
    let reading = read([on_cpu(
        0,
        [
            call(10, 329, 1),
            print(15, "B|100|frame\n"),
            call(20, 330, 1),
            call(30, 329, 0),
            call(40, 330, 0),
            call(80, 329, 1),
            print(85, "E|100\n"),
            call(90, 330, 1),
        ],
    )]);
    let expected = [
        (10, K::Begin, "syscall 1"),
        (15, K::End, ""),
        (15, K::Begin, "frame"),
        (30, K::Begin, "syscall 0"),
        (40, K::End, "syscall 0"),
        (80, K::Begin, "syscall 1"),
        (85, K::End, ""),
        (85, K::End, ""),
    ];
    assert_eq!((reading.kinds(), reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn exits_without_a_number_and_lost_exits_end_the_calls_of_their_thread() {
    let lost_exit = [call(5, 330, 0), call(10, 329, 1), call(20, 329, 0), call(21, 330, 0)];
    let no_number = [call(30, 329, 15), call(31, 330, -1), call(40, 329, 0), call(41, 330, 0)];
    let new = kernel_event(60, 1, 235, message().number(1, 100).bytes(2, "new").number(3, 0x10000));
    let reading = read([on_cpu(0, lost_exit.into_iter().chain(no_number).chain([call(50, 329, 60), new]))]);
    let expected = [
        (5, K::Instant, "syscall 0"),
        (10, K::Begin, "syscall 1"),
        (20, K::End, ""),
        (20, K::Begin, "syscall 0"),
        (21, K::End, "syscall 0"),
        (30, K::Begin, "syscall 15"),
        (31, K::End, ""),
        (40, K::Begin, "syscall 0"),
        (41, K::End, "syscall 0"),
        (50, K::Begin, "syscall 60"),
        (60, K::End, ""),
    ];
    assert_eq!((reading.kinds(), reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn events_that_come_after_later_ones_were_read_for_want_of_memory_are_counted_and_shown() {
    let text = "x".repeat(1 << 15);
    let long = |from: u64| (0..400).map(move |number| from + number).map(|ts_ns| print(ts_ns, &text));
    let bytes = capture([
        on_cpu(0, long(1000).collect::<Vec<_>>()),
        on_cpu(1, [print(10, "late")]),
        on_cpu(2, [print(5000, "end")]),
    ]);
    let file = file_of(&bytes);
    let small = ReadContext { budget: Budget::new(1), ..context(1) };
    let reading = read_with(file.path(), &small).expect("a trace");
    assert_eq!((reading.events.len(), reading.lost()), (402, vec![(Loss::OverLimit, 1)]));
    let reading = read_with(file.path(), &context(1)).expect("a trace");
    assert_eq!((reading.events.len(), reading.lost()), (402, vec![]));
}

/// Writes events in order of time as a recorder does. It reads the buffers of four CPUs in cycles while more events
/// happen, and of some buffers only a part.
fn recorded(events: &[(u64, Message)], reads: &[(usize, Option<usize>)]) -> Vec<Message> {
    let mut buffers = vec![VecDeque::new(); 4];
    let (mut written, mut bundles) = (events.iter(), Vec::new());
    for &(happen, part) in reads.iter().chain(&[(usize::MAX, None)]) {
        for cpu in 0..4 {
            written.by_ref().take(happen).for_each(|(cpu, event)| buffers[*cpu as usize].push_back(event.clone()));
            let buffer = &mut buffers[cpu];
            let count = part.unwrap_or(usize::MAX).min(buffer.len());
            if count > 0 {
                bundles.push(on_cpu(cpu as u64, buffer.drain(..count)));
            }
        }
    }
    bundles
}

/// An event of one of few threads, calls, requests and functions, so that most have partners on other CPUs.
fn any_event() -> impl Strategy<Value = (u64, u8, u64, u64)> {
    (0u64..4, 0u8..14, 1u64..4, 1u64..4)
}

fn encoded(ts_ns: u64, cpu: u64, (kind, a, b): (u8, u64, u64)) -> Message {
    let tid = 90 + b;
    let on_thread = |number: u32, event: Message| kernel_event(ts_ns, tid, number, event);
    match kind {
        0 => sent(ts_ns, tid, a, false),
        1 => sent(ts_ns, tid, a, true),
        2 | 3 => received(ts_ns, tid, a),
        4 => block_io(ts_ns, 546, a),
        5 => block_io(ts_ns, 547, a),
        6 => switch(ts_ns, tid, a, 90 + a),
        7 => blocked(ts_ns, tid, a == 1),
        8 => on_thread(235, message().number(1, 90 + a).bytes(2, format!("new{cpu}")).number(3, 0x10000)),
        9 => on_thread(329, message().number(1, a)),
        10 => on_thread(330, message().number(1, a)),
        11 => on_thread(3, message().bytes(2, format!("B|{a}|frame"))),
        12 => on_thread(3, message().bytes(2, format!("E|{a}"))),
        _ => on_thread(20, message().bytes(1, "woken").number(2, 90 + a)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_do_not_depend_on_the_cycles_of_the_recorder(
        events in proptest::collection::vec(any_event(), 1..120),
        reads in proptest::collection::vec((0usize..12, proptest::option::of(1usize..4)), 0..40),
    ) {
        let events: Vec<(u64, Message)> = (1..)
            .zip(events)
            .map(|(ts_ns, (cpu, kind, a, b))| (cpu, encoded(ts_ns * 10, cpu, (kind, a, b))))
            .collect();
        // Each event is in its own bundle, in order of time.
        let expected = read(events.iter().map(|(cpu, event)| on_cpu(*cpu, [event.clone()])));
        let reading = read(recorded(&events, &reads));
        prop_assert_eq!(&reading.events, &expected.events);
        prop_assert_eq!(reading.metadata, expected.metadata);
        prop_assert_eq!(reading.losses.total(), expected.losses.total());
    }
}
