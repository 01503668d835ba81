//! Tests of switches that perf recorded itself.

use super::*;
use crate::formats::testing::read;

/// The time in microseconds, the thread, and the name and letters of a state.
type State = (i64, Id, String, Option<String>);

fn states(reading: &Reading) -> Vec<State> {
    let states = reading.events.iter().filter(|event| event.track.kind == TrackKind::State);
    let mut states: Vec<State> = states
        .map(|event| (event.ts_ns / 1000, event.track.tid.clone(), event.name.clone(), event.category.clone()))
        .collect();
    states.sort();
    states
}

/// Returns the CPU, start and end in microseconds, name and arguments of each run.
fn runs(reading: &Reading) -> Vec<(Id, i64, i64, &str, &str)> {
    let runs = reading.events.iter().filter(|event| event.track.kind == TrackKind::Cpu);
    let mut runs: Vec<_> = runs
        .map(|run| {
            let end_ns = run.ts_ns.strict_add_unsigned(run.value);
            (run.track.tid.clone(), run.ts_ns / 1000, end_ns / 1000, &*run.name, &*run.args)
        })
        .collect();
    runs.sort();
    runs
}

/// Returns the state that each line of `perf script` says, one after the other.
fn naive(script: &str) -> Vec<State> {
    let state = |line: &str| {
        let (before, record) = line.split_once(": PERF_RECORD_")?;
        let (name, letters) = match record.trim() {
            "SWITCH IN" => ("Running", Some("Running")),
            "SWITCH OUT" => ("Sleeping", Some("S")),
            "SWITCH OUT preempt" => ("Runnable (preempted)", Some("R+")),
            exit if exit.starts_with("EXIT") => ("", None),
            _ => return None,
        };
        let words: Vec<&str> = before.split_whitespace().collect();
        let tid = words[1].split_once('/')?.1.parse().ok()?;
        let us = words.last()?.replace('.', "").parse().ok()?;
        Some((us, Id::Number(tid), name.to_owned(), letters.map(str::to_owned)))
    };
    let mut states: Vec<State> = script.lines().filter_map(state).collect();
    states.sort();
    states
}

#[test]
fn states_and_runs_are_those_of_each_record_that_perf_script_prints() {
    let reading = read_bytes(&unpacked("perf_switch_events.data.gz")).expect("a capture");
    let printed = read_path(&data("perf_switch_events_script.txt.gz")).expect("a capture");
    let script = String::from_utf8(unpacked("perf_switch_events_script.txt.gz")).expect("text");
    assert!(states(&reading).len() > 100);
    assert_eq!(states(&reading), naive(&script));
    assert_eq!(states(&printed), naive(&script));
    assert!(runs(&reading).len() > 50);
    assert_eq!(runs(&reading), runs(&printed));
    for reading in [&reading, &printed] {
        // Every thread ends within the recording, so each run has an end.
        assert!(runs(reading).iter().all(|run| run.3 == "work" && run.4.contains("end_state")), "{:?}", runs(reading));
        assert_eq!(reading.lost(), []);
    }
}

/// Builds an event whose records all have thread, time and CPU at their end.
fn attr_with_ids(kind: u8, config: u64, fields: u64) -> Vec<u8> {
    let mut attr = [0u8; 64];
    (attr[0], attr[4]) = (kind, 64);
    attr[8..16].copy_from_slice(&config.to_le_bytes());
    attr[24..32].copy_from_slice(&fields.to_le_bytes());
    attr[40..48].copy_from_slice(&(1_u64 << 18).to_le_bytes());
    record(64, &attr)
}

/// Fields of events with address, thread, time and CPU.
const THREAD_TIME_CPU: u64 = 0b111 | 1 << 7;

/// Builds a switch on a CPU of the whole system: a thread of process 7 leaves or takes it.
fn switch(time: u64, cpu: u32, tid: i32, misc: u16) -> Vec<u8> {
    let others = [7, 9].map(i32::to_le_bytes).concat();
    let ids = [if tid < 0 { tid } else { 7 }, tid].map(i32::to_le_bytes).concat();
    let end = [&ids[..], &time.to_le_bytes(), &cpu.to_le_bytes(), &[0; 4]].concat();
    let mut switch = record(15, &[others, end].concat());
    switch[4..6].copy_from_slice(&misc.to_le_bytes());
    switch
}

const IN: u16 = 0;
const OUT: u16 = 1 << 13;
const PREEMPTED: u16 = OUT | 1 << 14;

fn exit(time: u64, cpu: u32, tid: i32) -> Vec<u8> {
    let ids = [7, 1, tid, 1].map(i32::to_le_bytes).concat();
    let end = [&[7, tid].map(i32::to_le_bytes).concat()[..], &time.to_le_bytes(), &cpu.to_le_bytes(), &[0; 4]].concat();
    record(4, &[ids, time.to_le_bytes().to_vec(), end].concat())
}

#[test]
fn a_thread_that_exits_runs_until_then_and_the_switch_of_no_thread_after_it_says_nothing() {
    let records = [
        switch(1_000, 0, 8, IN),
        switch(3_000, 0, 8, PREEMPTED),
        switch(3_000, 0, 0, IN),
        switch(4_000, 0, 0, OUT),
        switch(4_000, 0, 8, IN),
        exit(5_000, 0, 8),
        switch(6_000, 0, -1, OUT),
        switch(6_000, 0, 9, IN),
    ];
    let attr = attr_with_ids(1, 0, THREAD_TIME_CPU);
    let recording = [&b"PERFILE2"[..], &16u64.to_le_bytes(), &attr, &records.concat()].concat();
    let reading = read_bytes(&recording).expect("a capture");
    let cpu = Id::Number(0);
    let expected = [
        (cpu.clone(), 1, 3, "", r#"{"pid":7,"tid":8,"end_state":"R+"}"#),
        (cpu.clone(), 4, 5, "", r#"{"pid":7,"tid":8,"end_state":"X"}"#),
        (cpu, 6, 6, "", r#"{"pid":7,"tid":9}"#),
    ];
    assert_eq!(runs(&reading), expected);
    let state =
        |us, tid, name: &str, letters: Option<&str>| (us, Id::Number(tid), name.to_owned(), letters.map(str::to_owned));
    let (running, preempted) = (("Running", Some("Running")), ("Runnable (preempted)", Some("R+")));
    let expected = [(1, 8, running), (3, 8, preempted), (4, 8, running), (5, 8, ("", None)), (6, 9, running)];
    assert_eq!(states(&reading), expected.map(|(us, tid, (name, letters))| state(us, tid, name, letters)));
    assert_eq!(reading.lost(), []);
}

#[test]
fn switches_beside_the_tracepoint_do_not_count() {
    let task = |tid: u32| [&[b'a'; 15][..], &[0], &tid.to_le_bytes(), &120u32.to_le_bytes()].concat();
    let raw = [&[0; 8][..], &task(8), &1u64.to_le_bytes(), &task(9)].concat();
    let sample = |time: u64| {
        let ids = [7i32, 8].map(i32::to_le_bytes).concat();
        let cpu = [0; 8];
        let raw_len = (raw.len() as u32).to_le_bytes();
        record(9, &[&[0; 8][..], &ids, &time.to_le_bytes(), &cpu, &raw_len, &raw, &[0; 4]].concat())
    };
    let attr = attr_with_ids(2, 70, THREAD_TIME_CPU | 1 << 10);
    let points = layouts::USUAL.described();
    let recording = |records: &[Vec<u8>]| {
        let bytes = [&b"PERFILE2"[..], &16u64.to_le_bytes(), &attr, &points, &records.concat()].concat();
        read_bytes(&bytes).expect("a capture")
    };
    let both = recording(&[switch(500, 0, 8, IN), sample(1_000), switch(1_500, 0, 8, OUT), switch(1_600, 0, 9, IN)]);
    assert_eq!(states(&both), states(&recording(&[sample(1_000)])));
    assert_eq!(both.lost(), []);
    let text = "a 7/8 [000] 1.000001: sched:sched_switch: prev_comm=a prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=a next_pid=9 next_prio=120\n";
    let switch = "a 7/8 [000] 1.000002: PERF_RECORD_SWITCH OUT\n";
    assert_eq!(states(&read(&format!("{text}{switch}"))), states(&read(text)));
}

#[test]
fn switches_without_a_time_or_a_thread_are_counted() {
    let attr = attr_with_ids(1, 0, 0b11);
    let untimed = record(14, &[7i32, 8].map(i32::to_le_bytes).concat());
    let sample = record(9, &[&[0; 8][..], &[7i32, 8].map(i32::to_le_bytes).concat()].concat());
    let recording = [&b"PERFILE2"[..], &16u64.to_le_bytes(), &attr, &untimed, &sample].concat();
    let reading = read_bytes(&recording).expect("a capture");
    assert_eq!(states(&reading), []);
    assert_eq!(reading.losses.count(Loss::IgnoredPacket), 1);
    let cut = "a 7/8 [000] 1.000001: PERF_RECORD_SWITCH IN\na 7/8 [000] 1.000002: PERF_RECORD_SWITCH OUT pree";
    assert_eq!((states(&read(cut)).len(), read(cut).lost()), (1, vec![(Loss::Truncated, 1)]));
}
