//! System calls and interrupts of generated files: entries without exits, exits without entries, and records out of
//! order.

use super::*;

/// Tracepoints by the id of their event, which is their position plus 1.
const TRACEPOINTS: [(&str, &str); 7] = [
    ("syscalls", "sys_enter_read"),
    ("syscalls", "sys_exit_read"),
    ("syscalls", "sys_enter_openat"),
    ("raw_syscalls", "sys_enter"),
    ("raw_syscalls", "sys_exit"),
    ("irq_vectors", "local_timer_entry"),
    ("irq_vectors", "local_timer_exit"),
];

/// Builds a file in pipe mode with these tracepoints: attributes, then records.
fn calls(records: &[Vec<u8>]) -> Vec<u8> {
    let points: Vec<_> = (1..).zip(TRACEPOINTS).map(|(id, (group, name))| (group, name, id, "long id")).collect();
    // Id, address, thread, time, raw data.
    let fields = 1 << 16 | 0b111 | 1 << 10;
    let attrs = (1..=TRACEPOINTS.len() as u64).map(|id| attr(2, id, fields, Some(id)));
    let records: Vec<_> = attrs.chain([tracing_data(&points)]).chain(records.iter().cloned()).collect();
    [&b"PERFILE2"[..], &16u64.to_le_bytes(), &records.concat()].concat()
}

/// Builds a sample of a tracepoint with its first field.
fn call(tracepoint: &str, (pid, tid): (u32, u32), time: u64, value: i64) -> Vec<u8> {
    let id = 1 + TRACEPOINTS.iter().position(|point| format!("{}:{}", point.0, point.1) == tracepoint).expect("known");
    let head = [&(id as u64).to_le_bytes()[..], &0u64.to_le_bytes(), &pid.to_le_bytes(), &tid.to_le_bytes()].concat();
    let raw = [&[0; 8][..], &value.to_le_bytes()].concat();
    record(9, &[&head[..], &time.to_le_bytes(), &16u32.to_le_bytes(), &raw, &[0; 4]].concat())
}

fn shown(reading: &Reading) -> Vec<(i64, EventKind, &str, &str)> {
    reading.events.iter().map(|event| (event.ts_ns, event.kind, &*event.name, &*event.args)).collect()
}

const BEGIN: EventKind = EventKind::Begin;
const END: EventKind = EventKind::End;
const INSTANT: EventKind = EventKind::Instant;

#[test]
fn calls_without_exits_last_until_the_next_call_and_exits_without_entries_are_instants() {
    let thread = (7, 8);
    let reading = read_bytes(&calls(&[
        // A round whose CPUs are not in order.
        call("syscalls:sys_enter_openat", thread, 30, 1),
        call("syscalls:sys_enter_read", thread, 40, 2),
        call("syscalls:sys_exit_read", thread, 10, 3),
        call("syscalls:sys_enter_read", thread, 20, 4),
        call("syscalls:sys_enter_read", (7, 9), 35, 5),
        record(68, &[]),
        // Older than the newest record of the round before.
        call("syscalls:sys_exit_read", (7, 9), 38, 6),
        call("syscalls:sys_exit_read", thread, 50, 7),
        call("syscalls:sys_exit_read", thread, 60, 8),
    ]))
    .expect("a capture");
    let expected = [
        (10, INSTANT, "sys_read", r#"{"id":3}"#),
        (20, BEGIN, "sys_read", r#"{"id":4}"#),
        (30, END, "", ""),
        (30, BEGIN, "sys_openat", r#"{"id":1}"#),
        (35, BEGIN, "sys_read", r#"{"id":5}"#),
        (38, END, "sys_read", r#"{"id":6}"#),
        (40, END, "", ""),
        (40, BEGIN, "sys_read", r#"{"id":2}"#),
        (50, END, "sys_read", r#"{"id":7}"#),
        (60, INSTANT, "sys_read", r#"{"id":8}"#),
    ];
    assert_eq!((shown(&reading), reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn interrupts_are_spans_and_those_without_their_other_half_instants() {
    let thread = (7, 8);
    let reading = read_bytes(&calls(&[
        call("irq_vectors:local_timer_exit", thread, 10, 1),
        call("irq_vectors:local_timer_entry", thread, 20, 2),
        call("irq_vectors:local_timer_entry", thread, 30, 3),
        call("irq_vectors:local_timer_exit", thread, 35, 4),
        call("irq_vectors:local_timer_entry", thread, 40, 5),
    ]))
    .expect("a capture");
    let (entry, exit) = ("irq_vectors:local_timer_entry", "irq_vectors:local_timer_exit");
    let expected = [
        (10, INSTANT, exit, r#"{"id":1}"#),
        (20, INSTANT, entry, r#"{"id":2}"#),
        (30, EventKind::Complete, "IRQ (LocalTimer)", r#"{"id":3}"#),
        (40, INSTANT, entry, r#"{"id":5}"#),
    ];
    assert_eq!((shown(&reading), reading.lost()), (expected.to_vec(), vec![]));
    assert_eq!(reading.events[2].value, 5);
}

#[test]
fn the_exit_of_rt_sigreturn_has_no_number_and_ends_the_call_of_its_thread() {
    let thread = (7, 8);
    let reading = read_bytes(&calls(&[
        call("raw_syscalls:sys_exit", thread, 10, -1),
        call("raw_syscalls:sys_enter", thread, 20, 15),
        call("raw_syscalls:sys_exit", thread, 30, -1),
        call("raw_syscalls:sys_exit", thread, 40, 15),
    ]))
    .expect("a capture");
    let expected = [
        (10, INSTANT, "syscall -1", r#"{"id":-1}"#),
        (20, BEGIN, "syscall 15", r#"{"id":15}"#),
        (30, END, "", r#"{"id":-1}"#),
        (40, INSTANT, "syscall 15", r#"{"id":15}"#),
    ];
    assert_eq!((shown(&reading), reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn a_new_thread_is_not_in_the_call_of_an_earlier_thread_with_its_id() {
    let fork = [9u32, 7, 9, 7].map(u32::to_le_bytes).concat();
    let reading = read_bytes(&calls(&[
        call("raw_syscalls:sys_enter", (7, 9), 10, 60),
        call("raw_syscalls:sys_enter", (7, 7), 20, 56),
        record(7, &fork),
        call("raw_syscalls:sys_exit", (9, 9), 30, 56),
        call("raw_syscalls:sys_exit", (7, 7), 40, 56),
    ]))
    .expect("a capture");
    let found: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, event.kind, event.track.pid.clone())).collect();
    let expected = [(10, BEGIN, 7), (20, BEGIN, 7), (20, END, 7), (30, INSTANT, 9), (40, END, 7)];
    let expected = expected.map(|(ts_ns, kind, pid)| (ts_ns, kind, Id::Number(pid))).to_vec();
    assert_eq!((found, reading.lost()), (expected, vec![]));
}
