//! Tests of header lines of other forms, and of lines that continue a record.

use super::super::ScriptHeader;
use crate::formats::testing::read;
use crate::model::{EventKind, Id, Loss, TrackKind};

#[test]
fn tabs_separate_the_parts_of_lines_as_spaces_do() {
    // Newer and older versions of simpleperf's report_sample.py.
    let new = "main\t4242/4242 [001] 100.500000: 250000 cpu-cycles:\n\t    7f1234 art::Foo (/apex/libart.so)\n\n\
               RenderThread\t4242/4250 [001] 100.501000: 250000 cpu-cycles:\n\t    7f1234 art::Foo (/apex/libart.so)\n";
    let reading = read(new);
    assert_eq!((reading.events.len(), reading.lost()), (2, vec![]));
    let sample = &reading.events[1];
    assert_eq!((&sample.track.pid, &sample.track.tid), (&Id::Number(4242), &Id::Number(4250)));
    assert_eq!((sample.ts_ns, &*sample.stack), (100_501_000_000, &["art::Foo".to_owned()][..]));
    assert_eq!(sample.args, r#"{"event":"cpu-cycles","period":250000,"cpu":1}"#);
    let old = "main\t4242 [001] 100.500000:\t\t250000 cpu-cycles:\n          7f1234\tart::Foo (/apex/libart.so)\n\
               \x20         7f1235\tcom.x.Main.run (/data/app/base.apk)\n\n\
               RenderThread\t4250 [001] 100.501000:\t\t250000 cpu-cycles:\n          7f1234\tart::Foo (/apex/libart.so)\n";
    let reading = read(old);
    let found: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, &event.track.tid, event.stack.len())).collect();
    let expected = [(100_500_000_000, &Id::Number(4242), 2), (100_501_000_000, &Id::Number(4250), 1)];
    assert_eq!((found, reading.lost()), (expected.to_vec(), vec![]));
    assert_eq!(reading.events[0].args, r#"{"event":"cpu-cycles","period":250000,"cpu":1}"#);
}

#[test]
fn flags_after_the_cpu_are_not_part_of_the_name() {
    let reading = read(
        "w 5/6 [001] U        1.000001:          1 cpu-clock: \n\t21f8298 main (/bin/w)\n\n\
         w     6 [001] Kp     1.000002:          1 cpu-clock: \n\t21f8298 main (/bin/w)\n\n\
         w 5/6 [001] K        1.000003: sched:sched_switch: prev_comm=w prev_pid=6 prev_prio=120 prev_state=S ==> \
         next_comm=v next_pid=7 next_prio=120\n",
    );
    let samples: Vec<_> = reading.events.iter().filter(|event| event.kind == EventKind::Sample).collect();
    let ids: Vec<_> = samples.iter().map(|sample| (&sample.track.pid, &sample.track.tid)).collect();
    assert_eq!(ids, [(&Id::Number(5), &Id::Number(6)); 2]);
    assert_eq!(samples[0].args, r#"{"event":"cpu-clock","period":1,"cpu":1}"#);
    assert!(reading.events.iter().any(|event| event.track.kind == TrackKind::Cpu), "{reading:?}");
    assert!(!reading.events.iter().any(|event| event.kind == EventKind::Instant), "{reading:?}");
    let reading = read("w [001] U     1.000001:          1 cpu-clock: \n\t21f8298 main (/bin/w)\n\n");
    assert_eq!(reading.events[0].args, r#"{"event":"cpu-clock","period":1,"cpu":1}"#, "no ids");
}

#[test]
fn lines_that_continue_a_record_are_not_lost_records() {
    let reading = read(
        "sh     0     0.000000: PERF_RECORD_NAMESPACES 11717/11717 - nr_namespaces: 7\n\
         \t\t[0/net: 4/0xeffffff9, 1/uts: 4/0xeffffffe, 2/ipc: 4/0xefffffff, 3/pid: 4/0xeffffffc, \n\
         \t\t 4/user: 4/0xeffffffd, 5/mnt: 4/0xeffffff8, 6/cgroup: 4/0xeffffffb]\n\
         sh 11717 1.000001:     250000 cpu-clock: \n\t           14645 main+0x25 (/bin/sh)\n\n\
         \t\t[0/net: 4/0xeffffff9\n",
    );
    assert_eq!((reading.events.len(), reading.lost()), (1, vec![(Loss::BadRecord, 1)]));
    assert_eq!(reading.events[0].stack, ["main"]);
}

#[test]
fn lines_after_the_end_of_a_record_are_counted() {
    let sample = "sh 7 1.000002: 250000 cpu-clock: \n\t           14645 main+0x25 (/bin/sh)\n\n";
    for end in ["\n", "# a comment\n"] {
        let reading =
            read(&format!("sh 7 1.000001: PERF_RECORD_COMM: sh:7/7\n{end}\t\tlost line\n\t\tanother\n{sample}"));
        assert_eq!((reading.events.len(), reading.lost()), (1, vec![(Loss::BadRecord, 2)]), "{end}");
    }
}

#[test]
fn exits_without_a_thread_are_not_lost_switches() {
    let sample = "sh 7/7 [000]     1.000001:      1 cpu-clock: \n\t21f8298 main (/bin/w)\n\n";
    let exit = read(&format!("{sample}sh     1.2: PERF_RECORD_EXIT(7:8):(1:1)\n"));
    assert_eq!((exit.events.len(), exit.lost()), (1, vec![]));
    let switch = read(&format!("{sample}sh     1.2: PERF_RECORD_SWITCH OUT\n"));
    assert_eq!((switch.events.len(), switch.lost()), (1, vec![(Loss::IgnoredPacket, 1)]));
}

#[test]
fn names_of_text_without_ids_keep_their_last_letters() {
    let parts = |text: &'static str, has_ids| {
        let ScriptHeader { comm, tid, cpu, .. } = ScriptHeader::bare(text.as_bytes(), has_ids);
        (String::from_utf8_lossy(comm), tid, cpu)
    };
    assert_eq!(parts("pool 3 K", false), ("pool 3 K".into(), None, None));
    assert_eq!(parts("pool 3 [001]", false), ("pool 3".into(), None, Some(1)));
    assert_eq!(parts("pool 3 [001] K", false), ("pool 3".into(), None, Some(1)));
    assert_eq!(parts("pool 3 K", true), ("pool".into(), Some(3), None));
}
