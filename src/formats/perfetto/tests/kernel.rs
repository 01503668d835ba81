//! Tests of kernel events.

use super::encode::{Message, bundle, clock, kernel_event, message, packet};
use super::*;
use crate::model::EventKind as K;
use crate::model::{Id, Metadata, TrackKind};

/// Returns a switch from a thread that goes to sleep.
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
    assert_eq!((&*clock.track.name, f64::from_bits(clock.value)), ("CPU 3 frequency", 1.8e6));
    assert_eq!(reading.unit(&clock.track), "kHz");
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
    assert_eq!(reading.kinds(), [(10, K::Begin, "sys_read"), (20, K::Begin, "sys_semget"), (30, K::End, "sys_read")]);
    let args: Vec<&str> = reading.events.iter().map(|event| &*event.args).collect();
    assert_eq!(args, [r#"{"fields":"3, 7ffd","cpu":3}"#, r#"{"cpu":3}"#, r#"{"ret":-11,"cpu":3}"#]);
    let track = &reading.events[0].track;
    assert_eq!((track.kind, &track.pid, &track.tid), (TrackKind::Thread, &Id::Number(5), &Id::Number(7)));
    assert_eq!(reading.lost(), [(Loss::BadRecord, 1)], "a call without a number");
    // The machine type may follow the events, or be missing.
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
        .bytes(7, packed(&[40, 5, 10]))
        .bytes(8, packed(&[7, 7, 7]))
        .bytes(11, packed(&[0, 0, 0]));
    let compact = read([message().number(10, 1).message(1, message().number(1, 3).message(4, columns))]);
    let waking = |ts_ns, waker| {
        let woken = message().bytes(1, "a").number(2, 7);
        message().number(1, ts_ns).number(2, waker).message(20, woken)
    };
    let plain = read([bundle([
        switch(10, 0, 7, "a"),
        switch(30, 7, 0, "swapper"),
        switch(50, 0, 8, "b"),
        waking(40, 0),
        waking(45, 0),
        waking(55, 8),
    ])]);
    assert_eq!(compact, plain);
    // The running thread at the time of a wakeup is the waker.
    let woken =
        plain.events.iter().filter(|event| event.args.contains("waker")).map(|event| (event.ts_ns, &*event.args));
    let by = |waker: u32| format!(r#"{{"waker_pid":{waker},"waker_tid":{waker}}}"#);
    assert_eq!(woken.collect::<Vec<_>>(), [(40, &*by(0)), (45, &*by(0)), (55, &*by(8))]);
}

#[test]
fn an_old_kernel_encodes_states_by_other_bits() {
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
        message().number(1, 12).number(2, 11).message(200, message()),
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
        (12, K::Instant, "ext4_mballoc_alloc"),
    ];
    assert_eq!(reading.kinds(), expected);
    assert_eq!(f64::from_bits(reading.events[1].value), 3.5);
    assert_eq!(reading.events[3].value, reading.events[4].value);
    assert_eq!(reading.events[8].value, reading.events[9].value);
    let draw = &reading.events[0].track;
    assert_eq!((draw.kind, &draw.pid, &draw.tid), (TrackKind::Thread, &Id::Number(10), &Id::Number(11)));
    assert_eq!(reading.events[6].track, *draw, "an end without a process is of the thread's own");
    assert_eq!(reading.lost(), [(Loss::BadCounter, 1)]);
}

#[test]
fn a_bundle_of_another_clock_is_converted_to_the_trace_clock() {
    let events = |bundle: Message| bundle.number(1, 3).message(2, print(10, 11, "B|10|draw\n"));
    // The local clock of the kernel, with a reading of it and of the trace clock.
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

/// Returns a generic kernel thread state change.
fn change(ts_ns: u64, cpu: u64, tid: u64, state: u64) -> Message {
    let task = message().number(1, cpu).bytes(2, format!("task{tid}")).number(3, tid).number(4, state).number(5, 100);
    message().number(8, ts_ns).number(10, 1).message(117, task)
}

#[test]
fn changes_of_state_of_any_kernel_are_runs_and_states() {
    const RUNNING: u64 = 3;
    const SLEEPING: u64 = 4;
    const DEAD: u64 = 7;
    const DESTROYED: u64 = 8;
    let reading = read([
        change(10, 0, 1, RUNNING),
        // Thread 1 is switched out here; its state follows.
        change(20, 0, 2, RUNNING),
        change(30, 5, 1, SLEEPING),
        change(40, 0, 2, DEAD),
        change(50, 0, 2, DESTROYED),
        message().number(8, 60).number(10, 1).message(118, message().number(1, 2).number(2, 1_500_000)),
    ]);
    let of = |kind: K| reading.events.iter().filter(move |event| event.kind == kind);
    let runs: Vec<_> = of(K::Complete).map(|run| (run.ts_ns, run.value, &*run.name, &*run.args)).collect();
    let expected = [
        (10, 10, "task1", r#"{"pid":1,"tid":1,"prio":100}"#),
        (20, 20, "task2", r#"{"pid":2,"tid":2,"prio":100,"end_state":"Z"}"#),
    ];
    assert_eq!(runs, expected);
    let mut states: Vec<_> =
        of(K::State).map(|state| (state.ts_ns, state.track.tid.to_string(), &*state.name)).collect();
    states.sort();
    let expected = [
        (10, "1", "Running"),
        (20, "1", "Unknown"),
        (20, "2", "Running"),
        (30, "1", "Sleeping"),
        (40, "2", "Zombie"),
        (50, "2", "Exited"),
    ];
    assert_eq!(states, expected.map(|(at, tid, name)| (at, tid.to_owned(), name)));
    let clock = of(K::Counter).next().expect("a value");
    assert_eq!((&*clock.track.name, f64::from_bits(clock.value)), ("CPU 2 frequency", 1500.0));
    assert_eq!(reading.lost(), []);
}

#[test]
fn calls_of_binder_and_reasons_of_blocked_threads_are_read_as_from_text() {
    let at = |ts_ns: u64, tid: u64, number: u32, event: Message| {
        message().number(1, ts_ns).number(2, tid).message(number, event)
    };
    let call = message().number(1, 5).number(3, 20).number(7, 0x10);
    let interned = message().message(26, message().number(1, 9).bytes(2, "wait_on_page"));
    let events = [
        at(1, 10, 50, call),
        at(2, 20, 51, message().number(1, 5)),
        at(3, 20, 50, message().number(1, 6).number(5, 1)),
        at(4, 10, 51, message().number(1, 6)),
        switch(5, 7, 0, "swapper"),
        at(6, 0, 18, message().number(1, 7).number(2, 9).number(3, 1)),
    ];
    let reading = read([message().number(10, 1).message(12, interned), bundle(events)]);
    let spans = reading.events.iter().filter(|event| matches!(event.kind, K::Begin | K::End));
    let spans: Vec<_> = spans.map(|span| (span.ts_ns, span.track.tid.to_string(), span.kind, &*span.name)).collect();
    let (call, answer) = ("binder transaction", "binder reply");
    let expected =
        [(1, "10", K::Begin, call), (2, "20", K::Begin, answer), (3, "20", K::End, answer), (4, "10", K::End, call)];
    assert_eq!(spans, expected.map(|(at, tid, kind, name)| (at, tid.to_owned(), kind, name)));
    let reason = reading.events.iter().rfind(|event| event.kind == K::State).expect("a state");
    assert_eq!((reason.ts_ns, &*reason.args), (5, r#"{"io_wait":1,"blocked_function":"wait_on_page"}"#));
    assert_eq!(reading.lost(), []);
}

#[test]
fn events_of_the_tables_are_counters_and_markers_and_batteries_have_counters() {
    let at = |ts_ns: u64, number: u32, event: Message| message().number(1, ts_ns).number(2, 40).message(number, event);
    let battery = message().number(1, 3000).bytes(5, "BAT0").number(4, u64::MAX);
    let events = [
        at(1, 13, message().number(1, 2).number(2, 6)),
        at(2, 13, message().number(1, u32::MAX.into()).number(2, 6)),
        at(3, 12, message().number(1, 500).number(2, 2800).number(3, 6)),
        at(4, 421, message().number(2, 1004).number(4, 6).number(6, 1)),
        at(5, 332, message().number(1, 1).number(2, 700)),
        at(6, 348, message().number(1, 40).bytes(4, "vote").number(5, b'C'.into()).number(6, 123)),
        at(7, 333, message().number(1, 40).bytes(2, "frame").number(5, 1)),
        at(8, 333, message().number(1, 40).bytes(2, "frame").number(5, 0)),
    ];
    let reading = read([bundle(events), message().number(8, 9).number(10, 1).message(38, battery)]);
    let values: Vec<_> = reading
        .events
        .iter()
        .filter(|event| event.kind == K::Counter)
        .map(|event| (event.ts_ns, &*event.track.name, f64::from_bits(event.value)))
        .collect();
    let expected = [
        (1, "CPU 6 idle state", 2.0),
        (2, "CPU 6 idle state", -1.0),
        (3, "Cpu 6 Max Freq Limit", 2800.0),
        (3, "Cpu 6 Min Freq Limit", 500.0),
        (4, "Cpu 6 Util", 1.0),
        (4, "Cpu 6 Cap", 1004.0),
        (4, "Cpu 6 Nr Running", 0.0),
        (5, "GPU 1 frequency", 700.0),
        (6, "vote", 123.0),
        (9, "batt.BAT0.charge_uah", 3000.0),
        (9, "batt.BAT0.current.avg_ua", -1.0),
    ];
    assert_eq!(values, expected);
    let units: Vec<&str> = reading.counters().into_iter().map(|(_, unit)| unit).collect();
    assert_eq!(units, ["", "", "kHz", "kHz", "", "", "", "kHz", "", "µAh", "µA"]);
    let spans: Vec<_> = reading.kinds().into_iter().filter(|(_, kind, _)| matches!(kind, K::Begin | K::End)).collect();
    assert_eq!((spans, reading.lost()), (vec![(7, K::Begin, "frame"), (8, K::End, "")], vec![]));
}

#[test]
fn interrupts_and_drivers_have_spans_by_their_tables() {
    let ufs = |end: u64| message().number(5, 0x2a).number(7, 2).number(9, 0x16).number(10, end);
    let interned = message().message(26, message().number(1, 9).bytes(2, "do_fault"));
    let events = [
        kernel_event(1, 7, 36, message().number(1, 5).bytes(2, "eth0")),
        kernel_event(2, 7, 24, message().number(1, 3)),
        kernel_event(3, 7, 25, message().number(1, 3)),
        kernel_event(4, 7, 37, message().number(1, 5).number(2, 1)),
        kernel_event(5, 7, 406, ufs(0)),
        kernel_event(6, 8, 406, ufs(1)),
        // Older kernels do not record whether a command starts or ends.
        kernel_event(7, 8, 406, message().number(5, 0x2a)),
        kernel_event(8, 7, 437, message().number(2, 9)),
        kernel_event(9, 7, 438, message().number(3, 9)),
        kernel_event(10, 7, 363, message().number(2, 80).number(6, 5000)),
        kernel_event(11, 7, 542, message().bytes(1, "probe").number(2, 3)),
        kernel_event(12, 7, 593, message().bytes(1, "gfx").number(5, 4).number(6, 1)),
    ];
    let reading = read([message().number(10, 1).message(12, interned), bundle(events)]);
    let all: Vec<_> = reading
        .events
        .iter()
        .map(|event| (event.ts_ns, event.kind, &*event.track.name, &*event.name, &*event.args))
        .collect();
    let expected = [
        (1, K::Begin, "Irq Cpu 3", "IRQ (eth0)", r#"{"irq":5}"#),
        (2, K::Begin, "SoftIrq Cpu 3", "NET_RX", r#"{"vec":3}"#),
        (3, K::End, "SoftIrq Cpu 3", "", ""),
        (4, K::End, "Irq Cpu 3", "", r#"{"ret":1}"#),
        (5, K::Begin, "io.ufs.command.tag[002]", "WRITE (10) (GID=0x16)", ""),
        (6, K::End, "io.ufs.command.tag[002]", "WRITE (10) (GID=0x16)", ""),
        (7, K::Instant, "", "ufshcd_command", r#"{"opcode":42,"cpu":3}"#),
        (8, K::Begin, "", "do_fault", ""),
        (9, K::End, "", "do_fault", ""),
        (10, K::Instant, "TCP Retransmit Skb", "sport=5000,dport=80", ""),
        (11, K::Instant, "", "probe", ""),
        (12, K::Instant, "", "drm_sched_job_queue", r#"{"gpu sched ring":"gfx","fence context":4,"fence seqno":1}"#),
    ];
    assert_eq!(all, expected);
    assert!(reading.events[2].flags.has(EventFlags::UNNAMED), "closes whatever is open");
    assert_eq!(reading.lost(), []);
}

#[test]
fn memory_and_devices_have_counters_of_their_process_thread_or_the_capture() {
    let rss = |member: u64, size: i64| message().number(1, member).number(2, size.cast_unsigned());
    let events = [
        kernel_event(1, 7, 313, rss(0, 4096).number(3, 1).number(4, 99)),
        // Another task frees memory of that process.
        kernel_event(2, 8, 313, rss(0, 100).number(3, 0).number(4, 99)),
        kernel_event(3, 8, 313, rss(2, -5)),
        kernel_event(4, 8, 359, message().number(1, 0).number(2, 1).number(3, 99).number(4, 50)),
        kernel_event(5, 8, 313, rss(0, 1).number(3, 0).number(4, 11)),
        kernel_event(6, 8, 313, rss(9, 1)),
        kernel_event(7, 8, 351, message().number(2, (-64i64).cast_unsigned()).number(3, 128)),
        kernel_event(8, 8, 340, message().number(2, 0).number(3, 10)),
        kernel_event(9, 8, 340, message().number(2, 7).number(3, 11)),
        kernel_event(10, 8, 341, message().number(2, 30_000).bytes(4, "cpu")),
        kernel_event(11, 8, 16, message().bytes(1, "bus").number(2, 200)),
    ];
    let reading = read([bundle(events)]);
    let values: Vec<_> = reading
        .events
        .iter()
        .map(|event| {
            let (pid, tid) = (event.track.pid.to_string(), event.track.tid.to_string());
            (event.ts_ns, event.track.name.to_string(), pid, tid, f64::from_bits(event.value))
        })
        .collect();
    let expected = [
        (1, "mem.rss.file", "7", "", 4096.0),
        (2, "mem.rss.file", "7", "", 100.0),
        (3, "mem.swap", "8", "", 0.0),
        (4, "mem.rss.anon", "7", "", 50.0),
        (7, "mem.dma_heap", "", "", 128.0),
        (7, "mem.dma_heap_change", "8", "8", -64.0),
        (8, "GPU Memory", "", "", 10.0),
        (9, "GPU Memory", "7", "", 11.0),
        (10, "cpu Temperature", "", "", 30_000.0),
        (11, "bus Frequency", "", "", 200.0),
    ];
    assert_eq!(values, expected.map(|(at, name, pid, tid, value)| (at, name.into(), pid.into(), tid.into(), value)));
    assert_eq!(reading.lost(), [(Loss::BadRecord, 1), (Loss::IgnoredPacket, 1)]);
}

#[test]
fn the_system_has_counters_of_memory_clocks_rails_and_the_display() {
    let at = |ts_ns: u64| message().number(8, ts_ns).number(10, 1);
    let memory = |key: u64| message().message(1, message().number(1, key).number(2, 3));
    let rail = |index: u64, name: &str| message().message(1, message().number(1, index).bytes(2, name));
    let energy = |index: u64, value: u64| message().number(1, index).number(3, value);
    let reading = read([
        at(1).message(7, memory(2).number(11, 800).number(11, 900).number(17, 300).number(4, 5)),
        // An unknown `/proc/meminfo` key.
        at(2).message(7, memory(99)),
        at(3).message(70, message().number(1, 2)),
        message().number(10, 1).message(40, rail(4, "main").number(3, 9)),
        message().number(10, 1).message(40, rail(4, "S2S_VDD_G3D").number(3, 8)),
        at(4).message(40, message().message(2, energy(4, 10)).number(3, 9)),
        at(5).message(40, message().message(2, energy(4, 11).number(2, 6)).number(3, 8)),
        // The session has no such rail, and then the time is missing.
        at(6).message(40, message().message(2, energy(4, 12))),
        message().number(10, 1).message(40, message().message(2, energy(4, 13)).number(3, 9)),
    ]);
    let values: Vec<_> =
        reading.events.iter().map(|event| (event.ts_ns, &*event.track.name, f64::from_bits(event.value))).collect();
    let expected = [
        (1, "MemFree", 3072.0),
        (1, "CPU 0 frequency", 800.0),
        (1, "CPU 1 frequency", 900.0),
        (1, "gpufreq", 300.0),
        (1, "num_forks", 5.0),
        (3, "ScreenState", 2.0),
        (4, "power.main_uws", 10.0),
        (6_000_000, "power.rails.gpu", 11.0),
    ];
    assert_eq!(values, expected);
    let units: Vec<&str> = reading.counters().into_iter().map(|(_, unit)| unit).collect();
    assert_eq!(units, ["bytes", "kHz", "kHz", "MHz", "", "", "µWs", "µWs"]);
    let args: Vec<&str> = reading.events.iter().map(|event| &*event.args).filter(|args| !args.is_empty()).collect();
    let expected = [r#"{"packet_ts":4}"#, r#"{"packet_ts":5}"#];
    assert_eq!(args, expected, "the time of the packet, beside the own time of a rail");
    let lost = [(Loss::BadTime, 1), (Loss::MissingState, 1), (Loss::IgnoredPacket, 1)];
    assert!(lost.iter().all(|loss| reading.lost().contains(loss)), "{:?}", reading.lost());
}

#[test]
fn the_own_time_of_a_rail_needs_a_snapshot_of_its_clock() {
    let energy = message().number(1, 4).number(2, 6).number(3, 11);
    let reading = read([
        message().number(10, 1).message(6, message().message(1, clock(3, 5)).number(2, 3)),
        message().number(10, 1).message(40, message().message(1, message().number(1, 4).bytes(2, "main"))),
        message().number(10, 1).message(40, message().message(2, energy)),
    ]);
    assert_eq!(reading.events.iter().map(|event| event.ts_ns).collect::<Vec<_>>(), [6_000_000]);
    assert_eq!(reading.lost(), [(Loss::UnknownClock, 1)]);
}

#[test]
fn the_largest_number_is_an_idle_state_that_has_ended_and_a_value_of_other_counters() {
    let largest = || message().number(1, u32::MAX.into()).number(2, u32::MAX.into()).number(3, 6);
    let idle = message().number(1, u32::MAX.into()).number(2, 6);
    let reading = read([bundle([kernel_event(1, 0, 13, idle), kernel_event(2, 0, 12, largest())])]);
    let values: Vec<_> = values(&reading).into_iter().map(|(_, _, name, value)| (name, value)).collect();
    let largest = f64::from(u32::MAX);
    assert_eq!(
        values,
        [("CPU 6 idle state", -1.0), ("Cpu 6 Max Freq Limit", largest), ("Cpu 6 Min Freq Limit", largest)]
    );
}

#[test]
fn names_of_rails_and_wakelocks_change_at_their_limit_and_new_ones_are_counted() {
    const RAILS: u64 = 1 << 16;
    let rail = |index: u64, name: &str| message().number(1, index).bytes(2, name);
    let energy = |index: u64| message().number(1, index).number(3, 11);
    let all = (0..RAILS).fold(message(), |rails, index| rails.message(1, rail(index, "old")));
    let late = [RAILS, 0].into_iter().fold(message(), |rails, index| rails.message(1, rail(index, "new")));
    let values_of = |packets: Vec<Message>| {
        let reading = read(packets);
        let values: Vec<_> = values(&reading).into_iter().map(|(.., name, value)| (name.to_owned(), value)).collect();
        (values, reading.lost())
    };
    let packets = vec![
        message().number(10, 1).message(40, all),
        packet(4).message(40, late.message(2, energy(0)).message(2, energy(RAILS))),
    ];
    let lost = vec![(Loss::OverLimit, 1), (Loss::MissingState, 1)];
    let (mut found, found_lost) = values_of(packets);
    assert_eq!((found.pop(), found_lost.clone()), (Some(("power.new_uws".to_owned(), 11.0)), lost.clone()));
    let wakelock = |id: u64, name: &str| message().number(1, id).bytes(2, name);
    let all = (0..RAILS).fold(message(), |locks, id| locks.message(1, wakelock(id, "old")));
    let late = [RAILS, 0].into_iter().fold(message(), |locks, id| locks.message(1, wakelock(id, "new")));
    let late = late.number(2, 0).number(2, RAILS).number(3, 7).number(3, 7);
    let packets = vec![packet(1).message(115, all), packet(4).message(115, late)];
    let (found, found_lost) = values_of(packets);
    assert_eq!((found, found_lost), (vec![("Wakelock new (Kernel)".to_owned(), 7.0)], lost));
}

#[test]
fn an_allocation_of_contiguous_memory_ends_at_the_first_of_two_events() {
    let reading = read([bundle([
        kernel_event(1, 7, 465, message().number(2, 64).bytes(3, "heap")),
        kernel_event(2, 7, 576, message()),
        kernel_event(3, 7, 466, message()),
        kernel_event(4, 7, 465, message()),
        kernel_event(5, 7, 466, message().number(8, 2)),
    ])]);
    let name = "mm_cma_alloc";
    let expected = [(1, K::Begin, name), (2, K::End, name), (4, K::Begin, name), (5, K::End, name)];
    assert_eq!((reading.kinds(), reading.lost()), (expected.to_vec(), vec![]));
    assert_eq!(&*reading.events[0].args, r#"{"cma_name":"heap","cma_req_pages":64}"#);
}
