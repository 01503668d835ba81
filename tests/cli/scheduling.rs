//! Scheduling as scripts see it: the thread on each CPU and the state of each thread, from a Perfetto trace to the
//! dump, and the same from a native export.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{longspan, text};

/// A field of a protobuf message: its number with the kind of its value, and the value.
fn field(number: u64, kind: u64, value: &[u8]) -> Vec<u8> {
    [&varint(number << 3 | kind)[..], value].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn number(field_number: u64, value: u64) -> Vec<u8> {
    field(field_number, 0, &varint(value))
}

fn message(field_number: u64, parts: &[Vec<u8>]) -> Vec<u8> {
    let bytes = parts.concat();
    field(field_number, 2, &[varint(bytes.len() as u64), bytes].concat())
}

fn name(field_number: u64, name: &str) -> Vec<u8> {
    message(field_number, &[name.as_bytes().to_vec()])
}

/// A switch from one thread, in a state given by its bits, to another.
fn switch(ts_ns: u64, (from, bits): (u64, u64), (to, comm): (u64, &str)) -> Vec<u8> {
    let event = [number(2, from), number(4, bits), name(5, comm), number(6, to), number(7, 120)];
    message(2, &[number(1, ts_ns), message(4, &event)])
}

fn waking(ts_ns: u64, tid: u64) -> Vec<u8> {
    message(2, &[number(1, ts_ns), message(20, &[number(2, tid)])])
}

/// Two CPUs, which a tracer drains one after the other: thread 7 goes from CPU 0 to CPU 1.
fn capture() -> Vec<u8> {
    let process = message(2, &[number(1, 7), number(3, 5)]);
    let cpu_0 = [
        number(1, 0),
        switch(1000, (0, 0), (7, "worker")),
        switch(3000, (7, 1), (8, "other")),
        switch(6000, (8, 0x100), (0, "swapper/0")),
    ];
    let cpu_1 =
        [number(1, 1), waking(4000, 7), switch(4500, (0, 0), (7, "worker")), switch(9000, (7, 2), (0, "swapper/1"))];
    [message(2, &[process]), message(1, &cpu_0), message(1, &cpu_1)]
        .map(|packet| message(1, &[number(10, 1), packet]))
        .concat()
}

fn dump(file: &Path) -> Vec<Value> {
    let lines = longspan(&["dump", "--no-cache", "--no-symbols", text(file)]).done();
    lines.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn runs_and_states_are_dumped_with_their_threads_and_kept_by_a_native_export() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (folder.path().join("sched.pftrace"), folder.path().join("out.longspan"));
    fs::write(&file, capture()).expect("written");
    let dumped = dump(&file);
    let of = |kind: &str| dumped.iter().filter(|line| line["t"] == kind).cloned().collect::<Vec<_>>();
    let utid = |tid: u64| {
        let thread = of("thread").into_iter().find(|thread| thread["tid"] == tid).expect("listed");
        assert_eq!(thread["name"], if tid == 7 { "worker" } else { "other" });
        thread["utid"].clone()
    };
    let (worker, other) = (utid(7), utid(8));
    let run = |ts: u64, dur: u64, cpu: u64, utid: &Value, end: &str| json!({"t": "sched", "ts": ts, "dur": dur, "cpu": cpu, "utid": utid, "end_state": end, "priority": 120});
    let runs = [run(1000, 2000, 0, &worker, "S"), run(3000, 3000, 0, &other, "R+"), run(4500, 4500, 1, &worker, "D")];
    assert_eq!(of("sched"), runs);
    let state = |ts: u64, dur: i64, utid: &Value, state: &str| json!({"t": "thread_state", "ts": ts, "dur": dur, "utid": utid, "state": state});
    let running = |ts: u64, dur: i64, utid: &Value, cpu: u64| {
        let mut line = state(ts, dur, utid, "Running");
        (line["cpu"], line["ucpu"]) = (cpu.into(), cpu.into());
        line
    };
    let mut states = of("thread_state");
    states.sort_by_key(|state| (state["utid"].as_u64(), state["ts"].as_u64()));
    let mut expected = vec![
        running(1000, 2000, &worker, 0),
        state(3000, 1000, &worker, "S"),
        state(4000, 500, &worker, "R"),
        running(4500, 4500, &worker, 1),
        // Entered at the last moment of the capture, and not over.
        state(9000, -1, &worker, "D"),
        running(3000, 3000, &other, 0),
        state(6000, -1, &other, "R+"),
    ];
    expected.sort_by_key(|state| (state["utid"].as_u64(), state["ts"].as_u64()));
    assert_eq!(states, expected);
    assert_eq!((of("slice").len(), of("loss").len()), (0, 0));

    longspan(&["export", "--no-cache", text(&file), "-o", text(&out), "--format", "native"]).done();
    assert_eq!(dump(&out), dumped);
    let rows = longspan(&["spans", "--no-cache", "--format", "jsonl", text(&file)]).done();
    let cpus: Vec<Value> = rows.lines().map(|row| serde_json::from_str(row).expect("JSON")).collect();
    let first = cpus.iter().find(|row| row["track"] == "CPU 0").expect("listed");
    assert_eq!((&first["name"], &first["dur"]), (&json!("worker"), &json!(2000)));
}
