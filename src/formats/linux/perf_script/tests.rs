//! Tests of `perf script` text, on two recordings and on lines of every form.

mod fields;
mod headers;

use super::{looks_like_perf_script, script_frame};
use crate::formats::output::batch::STACK_FRAMES_MAX;
use crate::formats::testing::{data, read, read_path};
use crate::model::{EventKind, Id, Loss, TrackKind};

fn text_of(file: &str) -> String {
    let mut text = String::new();
    let file = std::fs::File::open(data(file)).expect("a file");
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut text).expect("text");
    text
}

#[test]
fn samples_have_their_stacks_outermost_first() {
    let reading = read(
        "# captured on: today\nmy prog  7238/7239 [000]  1167.083392:     200040 cpu-clock:uhH: \n\
         \t    38b68887449c leaf+0x12 (/usr/bin/x)\n\t    38b6 [unknown] (/tmp/perf-7177.map)\n\
         \t    55 operator() (int) const+0x1f (/x/y (deleted))\n\tffff0 [unknown] ([kernel.kallsyms])\n\n\
         a 8 2.5: cycles: \r\n",
    );
    assert_eq!(reading.events.len(), 2);
    let sample = &reading.events[1];
    assert_eq!((sample.ts_ns, sample.kind), (1_167_083_392_000, EventKind::Sample));
    assert_eq!(sample.stack, ["[kernel.kallsyms]", "operator() (int) const", "[perf-7177.map]", "leaf"]);
    assert_eq!((&sample.track.pid, &sample.track.tid), (&Id::Number(7238), &Id::Number(7239)));
    assert_eq!(sample.args, r#"{"event":"cpu-clock:uhH","period":200040,"cpu":0}"#);
    assert_eq!((reading.events[0].ts_ns, reading.events[0].stack.len()), (2_500_000_000, 0));
    assert_eq!(reading.lost(), []);
}

#[test]
fn frames_beyond_the_limit_are_counted() {
    let frames = "\t    55 f+0x1 (/x)\n".repeat(STACK_FRAMES_MAX + 3);
    let reading = read(&format!("a  7 [000]  1.5:     1 cycles: \n{frames}\n"));
    assert_eq!(reading.events[0].stack.len(), STACK_FRAMES_MAX);
    assert_eq!(reading.lost(), [(Loss::DeepNesting, 3)]);
}

#[test]
fn a_switch_without_its_record_is_an_instant_and_a_cut_record_is_counted() {
    let head = |us: u32| format!("m 7 [000] 1.{us:06}:          1 sched:sched_switch: ");
    let reading = read(&format!(
        "{} ffffffff821facd8 __schedule\n  [kernel.kallsyms][ffffffff821facd8]\n\
         {}prev_comm=m prev_pid=7 prev_pri\n\
         m 7 [000] 1.000003:          1 my:event: a=1\n  core.c:12\n",
        head(1),
        head(2),
    ));
    let shown: Vec<_> =
        reading.events.iter().map(|event| (event.ts_ns % 1_000_000, event.kind, &*event.name)).collect();
    let (instant, sample) = (EventKind::Instant, EventKind::Sample);
    assert_eq!(shown, [(1_000, instant, "sched_switch"), (1_000, sample, ""), (3_000, instant, "my:event")]);
    assert_eq!(reading.events[1].stack, ["__schedule"]);
    assert_eq!(reading.lost(), [(Loss::BadRecord, 1)]);
}

#[test]
fn frames_keep_the_file_of_their_code() {
    for (line, name, module) in [
        ("38b68887449c leaf+0x12 (/usr/bin/x)", "leaf", "/usr/bin/x"),
        ("55 operator() (int) const+0x1f (/x/y (deleted))", "operator() (int) const", "/x/y"),
        ("ffff0 ksys_read+0x9 ([kernel.kallsyms])", "ksys_read", "[kernel.kallsyms]"),
        ("ffff0 [unknown] ([kernel.kallsyms])", "[kernel.kallsyms]", "[kernel.kallsyms]"),
        ("38b6 [unknown] (/tmp/perf-7177.map)", "[perf-7177.map]", "/tmp/perf-7177.map"),
        ("38b6 [unknown] ([unknown])", "[unknown]", ""),
        ("57 cmp (inlined)", "cmp", ""),
        ("57 cmp", "cmp", ""),
    ] {
        let frame = script_frame(line.as_bytes()).expect(line);
        assert_eq!((&*frame.name, &*frame.module), (name.as_bytes(), module.as_bytes()), "{line}");
    }
}

#[test]
fn a_frame_on_the_line_of_its_sample_is_its_stack_and_fields_are_an_instant() {
    let reading = read(
        "a 8 [001] 1.000001: cycles:  7f12 main+0x10 (/bin/a)\na 8 [001] 1.000002: my:event: x=1 (y)\n\
         a 8 [001] 1.000003: sched:sched_waking: comm=b pid=9 prio=120 target_cpu=001\n",
    );
    assert_eq!(reading.events[0].stack, ["main"]);
    assert_eq!((reading.events[1].kind, &*reading.events[1].name), (EventKind::Instant, "my:event"));
    assert_eq!(reading.events[2].track.kind, TrackKind::State);
    assert_eq!(reading.lost(), []);
}

#[test]
fn every_sample_of_a_real_capture_is_there_with_as_many_frames_as_lines() {
    let reading = read_path(&data("perf_script.txt.gz")).expect("a capture");
    let text = text_of("perf_script.txt.gz");
    let mut expected: Vec<(i64, usize)> = Vec::new();
    for block in text.split("\n\n").filter(|block| !block.trim().is_empty()) {
        let mut lines = block.trim_start_matches('\n').lines();
        let header = lines.next().expect("a header");
        let time = header.split_whitespace().find(|word| word.ends_with(':') && word.contains('.')).expect("a time");
        let (seconds, fraction) = time.trim_end_matches(':').split_once('.').expect("a point");
        let ns: i64 = format!("{seconds}{fraction:0<9}").parse().expect("digits");
        expected.push((ns, lines.count()));
    }
    expected.sort_unstable();
    let mut found: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, event.stack.len())).collect();
    found.sort_unstable();
    assert_eq!(found.len(), 1204);
    assert_eq!(found, expected);
    assert_eq!(reading.lost(), []);
}

#[test]
fn every_event_of_a_real_scheduler_is_scheduling_or_an_instant() {
    let reading = read_path(&data("perf_sched_script.txt.gz")).expect("a capture");
    let text = text_of("perf_sched_script.txt.gz");
    let count = |what: &str| text.lines().filter(|line| line.contains(what)).count();
    let of = |kind: TrackKind| reading.events.iter().filter(|event| event.track.kind == kind).count();
    let scheduling = count("sched:sched_switch:") + count("sched:sched_waking:") + count("sched:sched_wakeup");
    assert_eq!(of(TrackKind::Thread), text.lines().count() - scheduling);
    assert_eq!(of(TrackKind::Cpu), count("sched:sched_switch:") - count("next_pid=0 "));
    // Naive count: switches on a CPU whose previous thread is not the next thread of the switch before.
    let mut running = std::collections::BTreeMap::new();
    let mut odd = 0;
    for line in text.lines().filter(|line| line.contains("sched_switch")) {
        let after = |key: &str| line.split(key).nth(1).and_then(|rest| rest.split(' ').next()).expect("a field");
        let (cpu, next) = (after(" ["), after("next_pid="));
        let before = running.insert(cpu, next);
        odd += u64::from(before.is_some_and(|before| before != "0" && before != after("prev_pid=")));
    }
    assert_eq!(reading.losses.total(), odd);
    assert_eq!(reading.losses.count(Loss::LostSwitch), odd);
}

#[test]
fn damage_costs_its_line_and_a_cut_the_last_one() {
    let whole = "a 8 1.000001: cycles: \n\t55 main+0x1 (/bin/a)\n\na 8 1.000002: cycles: \n\t55 other+0x1 (/bin/a)\n\n";
    let reading = read(&whole.replace("\n\na", "\n\n%%%\nb 8 x: y\n\na"));
    assert_eq!(reading.events, read(whole).events);
    assert_eq!(reading.lost(), [(Loss::BadRecord, 2)]);
    let events = read(whole).events;
    let enough = whole.find("\n\n").expect("there") + 2;
    for len in enough..whole.len() {
        let reading = read(&whole[..len]);
        assert_eq!(reading.events[0], events[0], "{len} bytes");
        let is_whole = reading.events == events;
        let lost = reading.losses.total();
        assert!(is_whole || reading.events.len() == 2 || lost == u64::from(len > enough), "{len} bytes");
    }
}

#[test]
fn tracepoints_with_stacks_are_instants_and_samples() {
    let reading = read(
        "a b 7/8 [001] 5.000001: kmem:kfree: call_site=x ptr=0x1\n\tffff1 kfree+0x1 ([kernel.kallsyms])\n\t55 main+0x2 (/bin/a)\n\n\
         a b 7/8 [001] 5.000002: kmem:kfree: call_site=y ptr=0x2\n\
         a b 7/8 [001] 5.000003: syscalls:sys_enter_read: fd: 0x3\n\t77 read+0x9 (/lib/libc.so.6)\n",
    );
    assert_eq!(reading.lost(), []);
    let found: Vec<_> = reading
        .events
        .iter()
        .map(|event| (event.ts_ns, event.kind, event.stack.iter().map(String::as_str).collect::<Vec<_>>()))
        .collect();
    let (instant, sample) = (EventKind::Instant, EventKind::Sample);
    let expected = [
        (5_000_001_000, instant, vec![]),
        (5_000_001_000, sample, vec!["main", "kfree"]),
        (5_000_002_000, instant, vec![]),
        (5_000_003_000, EventKind::Begin, vec![]),
        (5_000_003_000, sample, vec!["read"]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn samples_without_an_event_name_are_samples_and_other_numbers_are_not_a_trace() {
    // As `-F comm,tid,time,ip,sym` prints them.
    let reading = read("a 8 5.000001: \n\t55 leaf\n\t56 main\n\na 8 5.000002: \n\t55 leaf\n");
    let found: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, event.stack.len(), &*event.args)).collect();
    assert_eq!(found, [(5_000_001_000, 2, ""), (5_000_002_000, 1, "")]);
    assert_eq!(reading.lost(), []);
    assert!(!looks_like_perf_script(b"took 8 5.000001: \nor so\n"));
}

#[test]
fn source_lines_below_frames_are_arguments_and_leave_a_function_one() {
    let reading = read(
        "a 7/8 5.000001: cycles: \n\t55 leaf+0x2 (/bin/a)\n  main.c:12\n\t56 main+0x9 (/bin/a)\n  x y.c:140\n\n\
         a 7/8 5.000002: cycles: \n\t55 leaf+0x2 (/bin/a)\n  no number\n\n\
         a 7/8 5.000003: cycles: \n\tff81 read+0x2 ([kernel.kallsyms])\n  [kernel.kallsyms][ff81]\n\t56 f+0x1 (/bin/a)\n  :0\n\n\
         a 7/8 5.000004: cycles: \n\t57 cmp (inlined)\n  msort.c:44 (inlined)\n\t56 main+0x9 (/bin/a)\n  a.c:9\n",
    );
    let stacks: Vec<_> = reading.events.iter().map(|event| event.stack.clone()).collect();
    assert_eq!(stacks, [vec!["main", "leaf"], vec!["leaf"], vec!["f", "read"], vec!["main", "cmp"]]);
    let lines: Vec<_> = reading
        .events
        .iter()
        .map(|event| serde_json::from_str::<serde_json::Value>(&event.args).expect("JSON")["lines"].to_string())
        .collect();
    assert_eq!(lines, [r#""main.c:12;x y.c:140""#, "null", "null", r#""msort.c:44;a.c:9""#]);
    assert_eq!(reading.lost(), [(Loss::BadRecord, 1)]);
}

#[test]
fn programs_whose_names_are_hex_digits_are_not_frames_of_the_previous_event() {
    let reading = read(
        "  gcc  1679  8.395191:    1001001 cpu-clock:  ffff81 queue+0x45 ([kernel.kallsyms])\n\
         \x20 cc1  1681  8.397631:    1001001 cpu-clock:  55d1 main+0x1 (/usr/bin/cc1)\n\
         \x20  dd  2201 [001]  8.428524: syscalls:sys_enter_write: fd: 0x1\n\
         \x20  dd  2201 [001]  8.428531:  syscalls:sys_exit_write: 0x400\n",
    );
    let found: Vec<_> = reading.events.iter().map(|event| (event.kind, &event.track.tid, event.stack.len())).collect();
    let (sample, begin, end) = (EventKind::Sample, EventKind::Begin, EventKind::End);
    let [gcc, cc1, dd] = [1679, 1681, 2201].map(Id::Number);
    assert_eq!(found, [(sample, &gcc, 1), (sample, &cc1, 1), (begin, &dd, 0), (end, &dd, 0)]);
    assert_eq!(reading.lost(), []);
}

#[test]
fn lines_of_tasks_and_maps_are_skipped_also_before_the_first_event() {
    let text = "swapper     0     0.000000: PERF_RECORD_MMAP -1/0: [0xffff(0x1209) @ 0xffff]: x [kernel.kallsyms]_text\n\
         w  2613  3.813302: PERF_RECORD_COMM exec: w:2613/2613\nw  2613  3.9: cycles: \n\t55 main+0x1 (/bin/w)\n\
         w  2613  4.0: PERF_RECORD_EXIT(2613:2613):(2600:2600)\n\n";
    let reading = read(text);
    let found: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, event.stack.len())).collect();
    assert_eq!((found, reading.lost()), (vec![(3_900_000_000, 1)], vec![]));
    assert!(looks_like_perf_script(text.as_bytes()) && !looks_like_perf_script(b"what: PERF_RECORD_COMM\n"));
}

#[test]
fn a_thread_is_in_one_call_at_a_time() {
    let enter = |ts: u32, tid: u32, call: &str| format!("w {tid} [001] 5.{ts:06}: syscalls:sys_enter_{call}: fd: 3\n");
    let reading = read(&[enter(1, 7, "read"), enter(2, 8, "read"), enter(5, 7, "mmap"), enter(9, 8, "brk")].concat());
    let found: Vec<_> =
        reading.events.iter().map(|event| (event.ts_ns % 1_000_000, event.kind, &*event.name)).collect();
    let (begin, end) = (EventKind::Begin, EventKind::End);
    let expected = [
        (1_000, begin, "sys_read"),
        (2_000, begin, "sys_read"),
        (5_000, end, ""),
        (5_000, begin, "sys_mmap"),
        (9_000, end, ""),
        (9_000, begin, "sys_brk"),
    ];
    assert_eq!((found, reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn distances_of_times_are_added_up_and_times_that_begin_at_zero_are_not() {
    let lines = |times: [&str; 4]| {
        times.map(|time| format!("prog 7 [000] {time}: 1 cycles: \n\t55 main+0x1 (/x)\n\n")).concat()
    };
    let times = |text: &str| read(text).events.iter().map(|event| event.ts_ns / 1000).collect::<Vec<_>>();
    // As --deltatime and as --reltime print them.
    assert_eq!(times(&lines(["0.000000", "0.000300", "0.000200", "0.001000"])), [0, 300, 500, 1500]);
    assert_eq!(times(&lines(["0.000000", "0.000200", "0.000300", "0.001000"])), [0, 200, 300, 1000]);
    assert_eq!(
        times(&lines(["5.000000", "5.000300", "5.000200", "5.001000"])),
        [5_000_000, 5_000_200, 5_000_300, 5_001_000]
    );
}

#[test]
fn threads_without_ids_are_distinguished_by_their_names() {
    let text = "my prog  1.5:   250000 cycles: \n\t55 main+0x1 (/x)\n\nother  1.6:   250000 cycles: \n\t55 main+0x1 (/x)\n\n\
        my prog  1.7:   250000 cycles: \n\t56 f+0x1 (/x)\n";
    let reading = read(text);
    let tids: Vec<_> = reading.events.iter().map(|event| event.track.tid.clone()).collect();
    assert_eq!(tids, [Id::Number(-1), Id::Number(-2), Id::Number(-1)]);
    assert!(reading.events.iter().all(|event| event.stack.len() == 1));
    assert_eq!(reading.lost(), []);
    assert!(!looks_like_perf_script(b"INFO 1.5: cycles: a log\nINFO 1.6: more: of it\n"));
}

#[test]
fn threads_that_clone_creates_are_in_their_process() {
    let text = "a 7 [000] 1.000001: task:task_newtask: pid=8 comm=a clone_flags=3d0f00 oom_score_adj=0\n\
        a 7 [000] 1.000002: task:task_newtask: pid=9 comm=a clone_flags=1200000 oom_score_adj=0\n\
        a 8 [000] 1.000003: my:event: x=1\na 9 [000] 1.000004: my:event: x=1\n";
    let reading = read(text);
    let ids: Vec<_> =
        reading.events[2..].iter().map(|event| (event.track.pid.clone(), event.track.tid.clone())).collect();
    assert_eq!(ids, [(Id::Number(7), Id::Number(8)), (Id::Number(9), Id::Number(9))]);
}

/// Returns time in microseconds, process, thread, event and stack of each sample.
fn samples(text: &str) -> Vec<(i64, Id, Id, String, String)> {
    let reading = read(text);
    assert_eq!(reading.lost(), [], "{text}");
    let event = |args: &str| {
        serde_json::from_str::<serde_json::Value>(args)
            .map_or(String::new(), |args| args["event"].as_str().unwrap_or("").to_owned())
    };
    let of = |seen: &crate::formats::testing::ReadEvent| {
        (seen.ts_ns / 1000, seen.track.pid.clone(), seen.track.tid.clone(), event(&seen.args), seen.stack.join(";"))
    };
    reading.events.iter().map(of).collect()
}

#[test]
fn fields_may_be_added_and_left_out_and_the_samples_are_the_same() {
    let stack = "\t55aa leaf+0x2 (/bin/a)\n\t56aa main+0x9 (/bin/a)\n";
    let whole = |header: &str| format!("{header} \n{stack}\n");
    let (process, thread) = (Id::Number(7), Id::Number(8));
    let expected =
        |event: &str| vec![(1_000_001, process.clone(), thread.clone(), event.to_owned(), "main;leaf".to_owned())];
    for header in [
        "my prog 7/8 [001] 1.000001:     200040 cpu-clock:uhH:",
        "my prog 7/8 K      [001] 1.000001: cpu-clock:uhH:",
        "my prog 7/8  U     1.000001: cpu-clock:uhH:",
        " 7/8  1.000001: cpu-clock:uhH:",
    ] {
        assert_eq!(samples(&whole(header)), expected("cpu-clock:uhH"), "{header}");
    }
    // Branches, registers, instructions and source lines are ignored.
    let more = " 0x55/0x66/P/-/-/0  0x1/0x2/M/-/-/1 \n ABI:2    AX:0x0    BX:0x1\n\tmain+5:\n\t000000000040052d\tinsn: 55 48  # PRED 6 cycles\n|5        f();\n";
    assert_eq!(samples(&format!("my prog 7/8 1.000001: cycles: \n{stack}{more}\n")), expected("cycles"));
    // Data addresses with their sources precede the code address.
    let data = "my prog 7/8 1.000001: 5 cpu/mem-loads,ldlat=30/P:     7ff012 |OP LOAD|LVL L1 hit|SNP None   30   56aa main+0x9 (/bin/a)\n";
    let found = read(data);
    assert_eq!((found.events[0].kind, &*found.events[0].stack), (EventKind::Sample, &["main".to_owned()][..]));
    assert!(found.events[0].args.contains("OP LOAD"), "{}", found.events[0].args);
}

#[test]
fn events_without_names_are_recognised_by_their_fields() {
    let reading = read(
        "a 7/7 [000] 1.000001: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=9 next_prio=120\n\
         a 7/7 [000] 1.000002: runtime=5 [ns]\na 7/7 [000] 1.000003: fd: 0x1, count: 2\n",
    );
    assert!(reading.events.iter().any(|event| event.track.kind == TrackKind::Cpu));
    assert!(reading.events.iter().any(|event| event.name == "(unnamed event)" && event.args.contains("runtime=5")));
    assert!(reading.events.iter().any(|event| event.name == "fd" && event.kind == EventKind::Instant));
    assert_eq!(reading.lost(), []);
    let bare = read("a 7/8 1.000001: \na 7/8 1.000002: \n");
    assert_eq!((bare.events.len(), bare.events[0].kind, bare.lost()), (2, EventKind::Sample, vec![]));
    // A switch without a CPU is an instant.
    let switch = read(
        "a 7 1.000001: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=9 next_prio=120\n",
    );
    assert_eq!((switch.events[0].kind, switch.lost()), (EventKind::Instant, vec![]));
}

#[test]
fn samples_without_times_follow_each_other_and_are_a_loss() {
    let stack = |name: &str| format!("\t55aa {name}+0x2 (/bin/a)\n\t56aa main+0x9 (/bin/a)\n\n");
    for (first, second, tids) in [
        ("a 7/8 [001] 5 cycles: \n", "b 9/9 [001] 5 cycles: \n", [8, 9]),
        ("a 7/8 cycles: \n", "b 9/9 cycles: \n", [8, 9]),
        ("my a cycles: \n", "b cycles: \n", [-1, -2]),
        ("", "", [-1, -1]),
    ] {
        let reading = read(&[first, &stack("f"), second, &stack("g")].concat());
        let found: Vec<_> =
            reading.events.iter().map(|event| (event.ts_ns, event.track.tid.clone(), event.stack.join(";"))).collect();
        let [one, two] = tids.map(Id::Number);
        let expected = [(1_000_000, one, "main;f".to_owned()), (2_000_000, two, "main;g".to_owned())];
        assert_eq!((found, reading.lost()), (expected.to_vec(), vec![(Loss::NoTimes, 1)]), "{first}");
        let advice = reading.losses.iter().map(|lost| lost.advice.into_owned()).collect::<String>();
        assert!(advice.contains("perf script") && !advice.contains("funcgraph"), "{advice}");
    }
    for space in ["", " "] {
        let timed = [space, "1.000001: \n", &stack("f"), space, "2.000001: \n", &stack("g")].concat();
        let reading = read(&timed);
        assert_eq!((reading.events.len(), reading.events[1].ts_ns, reading.lost()), (2, 2_000_001_000, vec![]));
    }
    assert!(!looks_like_perf_script(b"Traceback (most recent call last):\n  File x\n"));
    assert!(!looks_like_perf_script(b"list of things:\n\tadd one\n"));
}

#[test]
fn headers_without_time_and_event_are_the_lines_between_the_stacks() {
    let stack = |name: &str| format!("\t            55aa {name}\n\tffffffff8157aacc main\n\n");
    let no = || Id::Number(-1);
    // Thread names may look like the other fields.
    for (first, second, expected) in [
        ("w x  2291 \n", "worker 5  2292 \n", [Id::Number(2291), Id::Number(2292)]),
        ("w x  2291/2291 \n", "worker 5/6 2291/2292 \n", [Id::Number(2291), Id::Number(2292)]),
        ("w x  2291 [001] \n", "a [x]  2292 [000] \n", [Id::Number(2291), Id::Number(2292)]),
        ("w x  2291    1001001 \n", "worker 5  2292    1001001 \n", [Id::Number(2291), Id::Number(2292)]),
        ("w x  2291  K     \n", "w x  2292  U     \n", [Id::Number(2291), Id::Number(2292)]),
        (" 2291 \n", " 2292 \n", [Id::Number(2291), Id::Number(2292)]),
        ("w x \n", "worker 5 \n", [no(), Id::Number(-2)]),
        ("cc1 [001] \n", "worker 5 [001] \n", [no(), Id::Number(-2)]),
        ("w    1001001 \n", "w      99999 \n", [no(), no()]),
    ] {
        let text = [first, &stack("f"), second, &stack("g")].concat();
        let reading = read(&text);
        let found: Vec<_> =
            reading.events.iter().map(|event| (event.ts_ns, &event.track.tid, event.stack.join(";"))).collect();
        let [one, two] = &expected;
        assert_eq!(found, [(1_000_000, one, "main;f".to_owned()), (2_000_000, two, "main;g".to_owned())], "{first}");
        assert_eq!(reading.lost(), [(Loss::NoTimes, 1)], "{first}");
    }
    let reading = read(&["w 7 \n", &stack("f"), "damage\n", "w 7 \n", &stack("g"), "w 8"].concat());
    assert_eq!(
        (reading.events.len(), reading.lost()),
        (2, vec![(Loss::BadRecord, 1), (Loss::Truncated, 1), (Loss::NoTimes, 1)])
    );
    for text in ["a b\n\tface the music\n", "a b\n\tcafe00 x\n", "a b\n\t 55aa main\n"] {
        assert!(!looks_like_perf_script(text.as_bytes()), "{text}");
    }
}

#[test]
fn brackets_in_thread_names_are_not_processors() {
    let stack = "\t            55aa leaf\n\n";
    for header in ["a:b/2 [x]  1.000002: cycles: \n", "w [5]  1.000002: cycles: \n", "[x] y 8 1.000002: cycles: \n"] {
        let reading = read(&["w x  1.000001: cycles: \n", stack, header, stack].concat());
        assert_eq!((reading.events.len(), reading.lost()), (2, vec![]), "{header}");
        assert!(!reading.events[1].args.contains("cpu"), "{header}");
    }
    let reading =
        read(&["w x cycles: \n", stack, "a:b/2 [x] cycles: \n", stack, "w [5] 7/8 cycles: \n", stack].concat());
    assert_eq!((reading.events.len(), reading.lost()), (3, vec![(Loss::NoTimes, 1)]));
    assert_eq!(reading.events[2].track.tid, Id::Number(8));
}

#[test]
fn records_of_the_recorder_are_skipped_but_for_what_it_lost() {
    let text = "w  2613  3.9: cycles: \n\t55 main+0x1 (/bin/w)\n\nPERF_RECORD_FINISHED_ROUND\n\
        w  2613 [000]  4.0: PERF_RECORD_LOST lost 25\nw  2613  4.9: cycles: \n\t55 main+0x1 (/bin/w)\n";
    let reading = read(text);
    assert_eq!((reading.events.len(), reading.lost()), (2, vec![(Loss::RecorderLost, 25)]));
}

#[test]
fn ids_that_begin_a_line_are_ids() {
    // As `-F pid,tid,time,ip,sym` and `-F tid,time,event` print them; ids of fewer digits have spaces before them.
    let reading =
        read("22051/22053 14507.463829: \n\t    55 leaf\n\t    56 main\n\n 9051/9053  14507.463830: \n\t    55 leaf\n");
    let ids = |pid, tid| (Id::Number(pid), Id::Number(tid));
    let found: Vec<_> = reading.events.iter().map(|event| (event.track.pid.clone(), event.track.tid.clone())).collect();
    assert_eq!(found, [ids(22051, 22053), ids(9051, 9053)]);
    assert_eq!((reading.events[0].stack.len(), reading.lost()), (2, vec![]));
    let reading = read("22053 14507.463829: cycles: \n22053 14507.463830: cycles: \n");
    let found: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, event.track.tid.clone())).collect();
    assert_eq!(found, [(14_507_463_829_000, Id::Number(22053)), (14_507_463_830_000, Id::Number(22053))]);
    assert_eq!(reading.lost(), []);
}

#[test]
fn system_calls_without_arguments_are_spans() {
    let reading = read(
        "  sh  2029 [000]    10.000100:  syscalls:sys_enter_getpid: \n  sh  2029 [000]    10.000101:  syscalls:sys_exit_getpid: 0x7ed\n\
         \x20 sh  2029 [000]    10.000200:  syscalls:sys_enter_vfork: \n\t55 vfork+0x1 (/lib/libc.so)\n\n\
         \x20 sh  2029 [000]    10.009300:  syscalls:sys_exit_vfork: 0x7ee\n",
    );
    let found: Vec<_> = reading.events.iter().map(|event| (event.ts_ns / 1000, event.kind, &*event.name)).collect();
    let (begin, end, sample) = (EventKind::Begin, EventKind::End, EventKind::Sample);
    let expected = [
        (10_000_100, begin, "sys_getpid"),
        (10_000_101, end, "sys_getpid"),
        (10_000_200, begin, "sys_vfork"),
        (10_000_200, sample, ""),
        (10_009_300, end, "sys_vfork"),
    ];
    assert_eq!((found, reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn negative_distances_between_events_go_back_in_time() {
    let line = |time: &str| format!("    perf  43 [000] {time}: syscalls:sys_enter_ioctl: fd: 0x1\n");
    let text = [line("    0.000000"), line("    0.003975"), line("18446744073.709544"), line("    0.000010")].concat();
    let reading = read(&text);
    let begins = reading.events.iter().filter(|event| event.kind == EventKind::Begin);
    let mut times: Vec<i64> = begins.map(|event| event.ts_ns).collect();
    times.sort_unstable();
    assert_eq!((times, reading.lost()), (vec![0, 3_967_384, 3_975_000, 3_977_384], vec![]));
    let sorted = [line("    1.000000"), line("18446744073.709544"), line("    2.000000")].concat();
    assert_eq!(read(&sorted).lost(), [(Loss::BadTime, 1)], "no distances");
}
