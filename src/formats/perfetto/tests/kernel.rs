//! The kernel's events.

use super::encode::{Message, clock, message};
use super::*;
use crate::model::EventKind as K;
use crate::model::{Id, Metadata, TrackKind};

fn bundle(events: impl IntoIterator<Item = Message>) -> Message {
    let bundle = events.into_iter().fold(message().number(1, 3), |bundle, event| bundle.message(2, event));
    message().number(10, 1).message(1, bundle)
}

/// A switch from a thread that sleeps from here on.
fn switch(ts_ns: u64, previous: u64, tid: u64, name: &str) -> Message {
    let previous = message().number(2, previous).number(4, 1);
    message().number(1, ts_ns).number(2, 0).message(4, previous.bytes(5, name).number(6, tid).number(7, 120))
}

fn print(ts_ns: u64, tid: u64, text: &str) -> Message {
    message().number(1, ts_ns).number(2, tid).message(3, message().bytes(2, text))
}

#[test]
fn each_switch_ends_the_run_before_it_and_a_cpu_at_rest_has_none() {
    let reading = read([
        bundle([
            switch(10, 0, 7, "a"),
            switch(30, 7, 0, "swapper"),
            message().number(1, 40).message(20, message().number(2, 7)),
            message().number(1, 41).message(17, message().number(2, 7)),
            switch(50, 0, 8, "b"),
            message().number(1, 60).message(11, message().number(1, 1_800_000).number(2, 3)),
        ]),
        message().number(10, 1).message(2, message().message(2, message().number(1, 7).number(3, 5))),
    ]);
    let expected = [
        (10, K::State, "Running"),
        (10, K::Complete, "a"),
        (30, K::State, "Sleeping"),
        (40, K::State, "Runnable"),
        (41, K::State, "Runnable"),
        (50, K::State, "Running"),
        (50, K::Complete, "b"),
        (60, K::Counter, ""),
    ];
    let mut short = reading.kinds();
    short.sort_by_key(|event| (event.0, event.1 == K::Complete));
    assert_eq!(short, expected);
    let runs: Vec<_> = reading.events.iter().filter(|event| event.kind == K::Complete).collect();
    assert_eq!(runs[0].value, 20);
    assert_eq!(runs[0].args, r#"{"pid":5,"tid":7,"prio":120,"end_state":"S"}"#);
    assert_eq!(runs[1].flags, EventFlags::UNFINISHED.with(EventFlags::PLACED));
    assert_eq!(
        (runs[0].track.kind, &runs[0].track.tid, &*runs[0].track.name),
        (TrackKind::Cpu, &Id::Number(3), "CPU 3")
    );
    let named = Metadata::KernelName { pid: Id::Number(5), tid: Id::Number(7), name: "a".into() };
    assert!(reading.metadata.contains(&named), "{:?}", reading.metadata);
    let clock = reading.events.iter().find(|event| event.kind == K::Counter).unwrap();
    assert_eq!((&*clock.track.name, f64::from_bits(clock.value)), ("CPU 3 frequency (kHz)", 1.8e6));
}

#[test]
fn system_calls_are_spans_of_their_threads_named_as_the_machine_numbers_them() {
    let call = |ts_ns, tid, number, call| message().number(1, ts_ns).number(2, tid).message(number, call);
    let events = || {
        bundle([
            call(10, 7, 329, message().number(1, 0).number(2, 3).number(2, 0x7ffd)),
            call(20, 8, 329, message().number(1, 64)),
            call(30, 7, 330, message().number(1, 0).number(2, (-11i64).cast_unsigned())),
            call(40, 8, 330, message()),
        ])
    };
    let system =
        message().number(10, 1).message(45, message().message(1, message().bytes(3, "6.1.0").bytes(4, "x86_64")));
    let reading = read([
        message().number(10, 1).message(2, message().message(2, message().number(1, 7).number(3, 5))),
        system,
        events(),
    ]);
    assert_eq!(reading.kinds(), [(10, K::Begin, "read"), (20, K::Begin, "semget"), (30, K::End, "read")]);
    let args: Vec<&str> = reading.events.iter().map(|event| &*event.args).collect();
    assert_eq!(args, [r#"{"fields":"3, 7ffd","cpu":3}"#, r#"{"cpu":3}"#, r#"{"ret":-11,"cpu":3}"#]);
    let track = &reading.events[0].track;
    assert_eq!((track.kind, &track.pid, &track.tid), (TrackKind::Thread, &Id::Number(5), &Id::Number(7)));
    assert_eq!(reading.lost(), [(Loss::BadRecord, 1)], "a call that is not told which");
    // The description of the machine may come after them, or never.
    assert_eq!(read([events()]).kinds()[1], (20, K::Begin, "syscall 64"));
}

#[test]
fn switches_and_wakings_as_columns_are_the_same() {
    let packed = |values: &[u8]| values.to_vec();
    let columns = message()
        .bytes(1, packed(&[10, 20, 20]))
        .bytes(2, packed(&[1, 1, 1]))
        .bytes(3, packed(&[7, 0, 8]))
        .bytes(4, packed(&[120, 120, 120]))
        .bytes(5, "a")
        .bytes(5, "swapper")
        .bytes(5, "b")
        .bytes(6, packed(&[0, 1, 2]))
        .bytes(7, packed(&[40, 5]))
        .bytes(8, packed(&[7, 7]))
        .bytes(11, packed(&[0, 0]));
    let compact = read([message().number(10, 1).message(1, message().number(1, 3).message(4, columns))]);
    let waking = |ts_ns| message().number(1, ts_ns).message(20, message().bytes(1, "a").number(2, 7));
    let plain = read([bundle([
        switch(10, 0, 7, "a"),
        switch(30, 7, 0, "swapper"),
        switch(50, 0, 8, "b"),
        waking(40),
        waking(45),
    ])]);
    assert_eq!(compact, plain);
}

#[test]
fn an_old_kernel_tells_states_by_other_bits() {
    let of_release = |release: &str| {
        let system = message().message(45, message().message(1, message().bytes(3, release)));
        let parked = message().number(1, 10).message(4, message().number(2, 7).number(4, 512).number(6, 0));
        read([system, bundle([parked])]).events[0].name.clone()
    };
    assert_eq!(of_release("4.9.270-g862f51bac900-ab7613625"), "Parked");
    assert_eq!(of_release("4.14.1"), "Runnable");
    assert_eq!(of_release("5.4"), "Runnable");
}

#[test]
fn markers_of_programs() {
    let reading = read([bundle([
        print(1, 11, "B|10|draw\n"),
        print(2, 11, "C|10|frames|3.5\n"),
        print(3, 11, "E|10\n"),
        print(4, 11, "S|10|load|77\n"),
        print(5, 12, "F|10|load|77\n"),
        print(6, 11, "I|10|tick\n"),
        print(7, 11, "E\n"),
        print(8, 11, "C|10|frames|many\n"),
        print(9, 11, "hello | world\n"),
        print(10, 11, "G|10|track|span|5\n"),
        print(11, 11, "H|10|track|5\n"),
        message().number(1, 12).message(200, message()),
    ])]);
    let expected = [
        (1, K::Begin, "draw"),
        (2, K::Counter, "frames"),
        (3, K::End, ""),
        (4, K::AsyncBegin, "load"),
        (5, K::AsyncEnd, "load"),
        (6, K::Instant, "tick"),
        (7, K::End, ""),
        (9, K::Instant, "hello | world"),
        (10, K::AsyncBegin, "span"),
        (11, K::AsyncEnd, ""),
    ];
    assert_eq!(reading.kinds(), expected);
    assert_eq!(f64::from_bits(reading.events[1].value), 3.5);
    assert_eq!(reading.events[3].value, reading.events[4].value);
    assert_eq!(reading.events[8].value, reading.events[9].value);
    let draw = &reading.events[0].track;
    assert_eq!((draw.kind, &draw.pid, &draw.tid), (TrackKind::Thread, &Id::Number(10), &Id::Number(11)));
    assert_eq!(reading.events[6].track, *draw, "an end without a process is of the thread's own");
    assert_eq!(reading.lost(), [(Loss::BadCounter, 1), (Loss::IgnoredPacket, 1)]);
}

#[test]
fn a_bundle_of_another_clock_is_brought_to_the_captures_clock() {
    let events = |bundle: Message| bundle.number(1, 3).message(2, print(10, 11, "B|10|draw\n"));
    // The kernel's local clock, with a reading of it and of the capture's clock.
    let local = events(message().number(5, 3).number(6, 8).number(7, 108).message(8, message()));
    let reading = read([message().number(10, 1).message(1, local)]);
    assert_eq!(reading.kinds(), [(110, K::Begin, "draw")]);
    // The raw monotonic clock, which a snapshot relates to the boot clock.
    let snapshot = message().message(6, message().message(1, clock(6, 1_000)).message(1, clock(5, 7)));
    let reading = read([snapshot, message().number(10, 1).message(1, events(message().number(5, 4)))]);
    assert_eq!(reading.kinds(), [(1_003, K::Begin, "draw")]);
    assert_eq!(reading.lost(), []);
}

#[test]
fn tasks_that_clone_made_are_threads_or_processes_and_have_their_latest_name() {
    let made = |ts_ns, tid, number, task| message().number(1, ts_ns).number(2, tid).message(number, task);
    let reading = read([bundle([
        made(10, 7, 235, message().number(1, 8).bytes(2, "a").number(3, 0x3d_0f00)),
        made(11, 7, 235, message().number(1, 9).bytes(2, "a").number(3, 0x120_0000)),
        made(12, 9, 236, message().number(1, 9).bytes(2, "a").bytes(3, "true_name")),
        print(20, 8, "hi"),
        print(21, 9, "ho"),
    ])]);
    let ids: Vec<_> = reading.events.iter().map(|event| (event.track.pid.clone(), event.track.tid.clone())).collect();
    assert_eq!(ids, [(Id::Number(7), Id::Number(8)), (Id::Number(9), Id::Number(9))]);
    let named = |pid, tid, name: &str| {
        let (pid, tid) = (Id::Number(pid), Id::Number(tid));
        reading.metadata.contains(&Metadata::KernelName { pid, tid, name: name.into() })
    };
    assert!(named(7, 8, "a") && named(9, 9, "true_name"), "{:?}", reading.metadata);
    assert_eq!(reading.lost(), []);
}
