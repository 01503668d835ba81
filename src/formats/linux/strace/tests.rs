//! Tests of `strace` and `ltrace` output, on a real trace and on lines of every form.

use super::clock::DAY_NS;
use super::unfinished::CALLS_DEEP_MAX;
use super::*;
use crate::formats::output::batch::STACK_FRAMES_MAX;
use crate::formats::testing::{data, read, read_bytes, read_path};
use crate::model::{EventFlags, Id};

mod cut_lines;
mod libraries;
mod threads;

#[test]
fn every_call_of_a_real_capture_is_there_with_its_time() {
    let reading = read_path(&data("strace_ttt.txt.gz")).expect("a capture");
    let mut text = String::new();
    let file = std::fs::File::open(data("strace_ttt.txt.gz")).expect("a file");
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut text).expect("text");
    // Naive oracle: each line except resumed calls starts an event at its time, in microseconds.
    let mut expected: Vec<(i64, String)> = Vec::new();
    for line in text.lines().filter(|line| !line.contains("resumed>")) {
        let mut words = line.split_ascii_whitespace();
        let (_, time, what) = (words.next(), words.next().expect("a time"), words.next().expect("a call"));
        let name = match what.split('(').next() {
            Some("+++") => "exited with 0",
            name => name.expect("a name"),
        };
        expected.push((time.replace('.', "").parse::<i64>().expect("digits") * 1000, name.to_owned()));
    }
    let mut found: Vec<(i64, String)> = reading.events.iter().map(|event| (event.ts_ns, event.name.clone())).collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    assert_eq!(reading.losses.count(Loss::UnmatchedBegin), reading.losses.total(), "{:?}", reading.lost());
    let spans = reading.events.iter().filter(|event| event.kind == EventKind::Complete).count();
    assert_eq!(spans, text.matches("<unfinished").count());
    let node: Id = Id::Number(8272);
    let Some([Metadata::Utc { offset_ns: 0 }, Metadata::ThreadName { name, .. }]) = reading.metadata.first_chunk()
    else {
        panic!("{:?}", reading.metadata);
    };
    assert_eq!(&**name, "node");
    assert!(reading.metadata.contains(&Metadata::ProcessName { pid: node.clone(), name: "node".into() }));
    assert!(reading.events.iter().all(|event| event.track.pid == node), "its threads are of one process");
}

#[test]
fn a_call_that_another_thread_interrupts_is_one_span_with_all_its_arguments() {
    let reading = read(
        "7  1795166531.000001 read(3,  <unfinished ...>\n8  1795166531.000002 close(3) = 0 <0.000004>\n\
         7  1795166531.000005 <... read resumed>\"a = b\", 4096) = 5 <0.000003>\n\
         8  1795166531.000009 <... poll resumed>) = 1\n8  1795166531.000010 +++ exited with 0 +++\n\
         8  1795166531.000020 wait4(-1,  <unfinished ...>\n",
    );
    let base = 1_795_166_531_000_000_000;
    assert_eq!(
        reading.short().iter().map(|&(ts, value, name)| (ts - base, value, name)).collect::<Vec<_>>(),
        [
            (1000, 3000, "read"),
            (2000, 4000, "close"),
            (9000, 0, "poll"),
            (10_000, 0, "exited with 0"),
            (20_000, 0, "wait4")
        ]
    );
    assert_eq!(reading.events[0].args, r#"{"args":"3,\"a = b\", 4096","ret":"5"}"#);
    assert!(reading.events[4].flags.has(EventFlags::UNFINISHED));
    assert_eq!(reading.lost(), [(Loss::UnmatchedBegin, 1)]);
}

#[test]
fn calls_within_a_call_that_waits_are_resumed_by_their_names() {
    // As `ltrace -S` prints a library call and the system call in it.
    let reading = read(
        "7 1795166531.000001 pthread_create(0x2 <unfinished ...>\n\
         7 1795166531.000002 SYS_mask(0, 8 <unfinished ...>\n\
         7 1795166531.000003 <... SYS_mask resumed> ) = 0\n\
         7 1795166531.000004 SYS_lost(0 <unfinished ...>\n\
         7 1795166531.000009 <... pthread_create resumed> ) = 0\n",
    );
    let mut found: Vec<_> = reading
        .events
        .iter()
        .map(|event| {
            (event.ts_ns % 1_000_000, &*event.name, (!event.flags.has(EventFlags::UNFINISHED)).then_some(event.value))
        })
        .collect();
    found.sort_unstable();
    let expected =
        [(1_000, "pthread_create", Some(8_000)), (2_000, "SYS_mask", Some(1_000)), (4_000, "SYS_lost", None)];
    assert_eq!((found, reading.lost()), (expected.to_vec(), vec![(Loss::UnmatchedBegin, 1)]));
    let endless = "7 1795166531.000001 f(0 <unfinished ...>\n".repeat(CALLS_DEEP_MAX * 3);
    assert_eq!(read(&endless).events.len(), CALLS_DEEP_MAX * 3);
}

#[test]
fn times_of_day_go_on_past_midnight() {
    let reading = read("[pid 7] 23:59:59.999999 getpid() = 7\r\n[pid 8] 00:00:00.000001 getpid() = 8\r\n");
    let times: Vec<i64> = reading.events.iter().map(|event| event.ts_ns).collect();
    assert_eq!(times, [DAY_NS - 1000, DAY_NS + 1000]);
    assert_eq!(reading.events[1].track.tid, Id::Number(8));
    assert_eq!(reading.lost(), []);
    let seconds = read("12:00:01 getpid() = 7\n");
    assert_eq!(seconds.events[0].ts_ns, 43_201_000_000_000);
}

#[test]
fn lines_that_are_not_calls_are_counted_and_the_rest_is_shown() {
    let reading = read(
        "7 1795166531.000001 getpid() = 7\nstrace: Process 9 attached\n7 1795166531.0x getuid() = 0\n\
         output of the program\n7 1795166531.000003 getgid() = 0\n",
    );
    assert_eq!(reading.events.len(), 2);
    assert_eq!(reading.lost(), [(Loss::BadRecord, 2), (Loss::IgnoredMetadata, 1)]);
}

#[test]
fn the_summary_table_after_the_calls_is_not_damage() {
    let table = "% time     seconds  usecs/call     calls    errors syscall\n------ ----------- ----------- --------- --------- ----------------\n 62.50    0.000500         250         2         1 openat\n 37.50    0.000300         300         1           read\n------ ----------- ----------- --------- --------- ----------------\n100.00    0.000800                     3         1 total\n";
    let call = "7 1795166531.000001 getpid() = 7\n";
    let reading = read(&format!("{call}{table}{call}"));
    assert_eq!(reading.events.len(), 2);
    assert_eq!(reading.lost(), [(Loss::IgnoredMetadata, 1)]);
    // Program output is not part of the table, and rows without a heading are not a table.
    let reading = read(&format!("{call}{table}output of the program\n 37.50 of it\n{call}{}", &table[60..]));
    assert_eq!(reading.events.len(), 2);
    assert_eq!(reading.lost(), [(Loss::BadRecord, 7), (Loss::IgnoredMetadata, 1)]);
}

#[test]
fn a_capture_that_is_cut_anywhere_keeps_the_calls_before_the_cut() {
    let whole = b"7 1795166531.000001 getpid() = 7\n7 1795166531.000002 read(0, \"\", 1) = 0\n";
    let events = read_bytes(whole).expect("a capture").events;
    for len in 33..whole.len() {
        let reading = read_bytes(&whole[..len]).expect("a capture");
        assert_eq!(reading.events[0], events[0], "{len} bytes");
        let lost = reading.losses.total();
        assert!(reading.events.len() == 2 || lost == u64::from(len > 33), "{len} bytes, {:?}", reading.lost());
    }
}

#[test]
fn distances_from_the_line_before_add_up_to_times() {
    // As -r, -r -T and -r -f print them.
    let reading = read(
        "7      0.000000 execve(\"/bin/w\", [\"w\"], 0x7f /* 1 var */) = 0\n7      0.000150 brk(NULL) = 0x5 <0.000003>\n8      0.000050 getpid() = 8\n",
    );
    let found: Vec<_> =
        reading.events.iter().map(|event| (event.ts_ns, event.value, event.track.tid.clone())).collect();
    let [first, second] = [7, 8].map(Id::Number);
    assert_eq!(found, [(0, 0, first.clone()), (150_000, 3000, first), (200_000, 0, second)]);
    assert_eq!(reading.lost(), []);
    assert!(!reading.metadata.iter().any(|told| matches!(told, Metadata::Utc { .. })));
}

#[test]
fn columns_between_the_time_and_the_call_are_skipped() {
    for between in
        ["(+     0.000027) ", "[ 257] ", "[00007f56f6ba8b1d] ", "[ 257] [????????????????] ", "[0x401136] ", "  "]
    {
        let reading = read(&format!("7 1795166531.000001 {between}openat(AT_FDCWD, \"[1] x\") = 3 <0.000004>\n"));
        assert_eq!(reading.short(), [(1_795_166_531_000_001_000, 4000, "openat")], "{between}");
        assert_eq!(reading.lost(), []);
    }
}

#[test]
fn names_of_threads_beside_their_ids_are_theirs() {
    let reading = read(
        "7<my sh> 1795166531.000001 getpid() = 7\n[pid 8<b>] 1795166531.000002 getpid() = 8\n7<w> 1795166531.000003 getpid() = 7\n",
    );
    let names: Vec<_> = reading
        .metadata
        .iter()
        .filter_map(|told| match told {
            Metadata::ThreadName { tid, name, .. } => Some((tid.clone(), name.to_string())),
            _ => None,
        })
        .collect();
    let expected = [(7, "my sh"), (8, "b"), (7, "w")].map(|(tid, name)| (Id::Number(tid), name.to_owned()));
    assert_eq!((names, reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn lines_without_a_process_are_those_of_the_only_one_that_runs() {
    // Output to a terminal: process ids appear while several processes run.
    let reading = read(
        "12:00:01 clone(child_stack=NULL <unfinished ...>\nstrace: Process 9 attached\n[pid 9] 12:00:01 getpid() = 9\n\
         [pid 8] 12:00:02 <... clone resumed>, tidptr=0x7) = 9\n[pid 8] 12:00:02 wait4(-1,  <unfinished ...>\n\
         [pid 9] 12:00:03 +++ exited with 0 +++\n12:00:03 <... wait4 resumed>0x0) = 9\n12:00:04 +++ exited with 0 +++\n",
    );
    let of = |name: &str| reading.events.iter().find(|event| event.name == name).map(|event| event.track.tid.clone());
    assert_eq!(
        (of("clone"), of("wait4"), of("getpid")),
        (Some(Id::Number(8)), Some(Id::Number(8)), Some(Id::Number(9)))
    );
    assert_eq!(reading.lost(), [(Loss::IgnoredMetadata, 1)]);
}

#[test]
fn stacks_below_calls_are_samples_at_their_starts() {
    let reading = read(
        "7 1795166531.000001 brk(NULL) = 0x5 <0.000003>\n > /lib/ld.so(_dl_start+0x1e7f) [0x1a2ff]\n > /lib/ld.so(+0x5) [0x5]\n > main+0x1 [0x2]\n\
         7 1795166531.000009 getpid() = 7 <0.000003>\n",
    );
    let found: Vec<_> =
        reading.events.iter().map(|event| (event.ts_ns % 1_000_000, event.kind, event.stack.join(";"))).collect();
    let (call, sample) = (EventKind::Complete, EventKind::Sample);
    let expected =
        [(1000, call, String::new()), (1000, sample, "main;[ld.so];_dl_start".to_owned()), (9000, call, String::new())];
    assert_eq!((found, reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn frames_beyond_the_limit_are_counted() {
    let frames = " > /x(f+0x1) [0x2]\n".repeat(STACK_FRAMES_MAX + 3);
    let reading = read(&format!("7 1795166531.000001 brk(NULL) = 0x5 <0.000003>\n{frames}"));
    assert_eq!(reading.events[1].stack.len(), STACK_FRAMES_MAX);
    assert_eq!(reading.lost(), [(Loss::DeepNesting, 3)]);
}

#[test]
fn the_end_of_an_unfinished_call_may_follow_without_a_time_if_failed_calls_are_left_out() {
    // strace -f -z -ttt -T, of a version that prints the held line after it has decided to show the call.
    let reading = read(
        "8 1700000000.000001 close(3 <unfinished ...>\n)                                       = 0 <0.000052>\n\
         8 1700000000.000100 read(4,  <unfinished ...>\n\"\", 4096)                               = 0 <0.000261>\n\
         8 1700000000.000400 read(5,  <unfinished ...>\n7 1700000000.000401 getppid() = 1 <0.000002>\n\
         )   = 3 <0.000001>\n8 1700000000.000500 <... read resumed>\"a\", 1) = 1 <0.000100>\n",
    );
    let calls: Vec<_> = reading.events.iter().map(|event| (&*event.name, event.value, &*event.args)).collect();
    let args = |text: &str, result: &str| format!(r#"{{"args":"{text}","ret":"{result}"}}"#);
    let expected = [
        ("close", 52_000, args("3", "0")),
        ("read", 261_000, args(r#"4,\"\", 4096"#, "0")),
        ("getppid", 2_000, r#"{"ret":"1"}"#.to_owned()),
        ("read", 100_000, args(r#"5,\"a\", 1"#, "1")),
    ];
    let mut calls: Vec<_> = calls.into_iter().map(|(name, value, args)| (name, value, args.to_owned())).collect();
    calls.sort();
    let mut expected = expected.to_vec();
    expected.sort();
    assert_eq!(calls, expected);
    assert_eq!(reading.lost(), [(Loss::BadRecord, 1)], "the end that follows another call");
}

#[test]
fn calls_that_perf_trace_prints_are_spans_from_the_times_before_them() {
    let reading = read(
        "         ? (         ): my prog/7  ... [continued]: execve())                                           = 0\n                                       _start (/lib/ld.so)\n\
         \x20    0.055 ( 0.017 ms): my prog/7 fcntl(fd: 6</tmp/a (deleted)>, cmd: GETFD)                    = 0\n\
         \x20                                      brk (/lib/ld.so)\n                                       main (/bin/w)\n\
         \x20    0.100 (         ): my prog/7 nanosleep(rqtp: 0x7f                                          ) ...\n\
         \x20    0.120 ( 0.002 ms): sh/8 close(fd: 3)                                                      = -1 EBADF (Bad)\n\
         LOST 5 events!\n\
         \x20    0.300 ( 0.200 ms): my prog/7  ... [continued]: nanosleep())                                 = 0\n\
         \x20    0.400 ( 0.000 ms): sh/8 minfault [elf_load+0x28a] => 0x5574 (?k)\n",
    );
    let of = |kind: EventKind| {
        let events = reading.events.iter().filter(move |event| event.kind == kind);
        events.map(|event| (event.ts_ns, event.value, &*event.name)).collect::<Vec<_>>()
    };
    assert_eq!(
        of(EventKind::Complete),
        [(55_000, 17_000, "fcntl"), (100_000, 200_000, "nanosleep"), (120_000, 2_000, "close")]
    );
    assert_eq!(of(EventKind::Instant), [(400_000, 0, "minfault")]);
    let sample = reading.events.iter().find(|event| event.kind == EventKind::Sample).expect("a stack");
    assert_eq!((sample.ts_ns, &*sample.stack), (55_000, &["main".to_owned(), "brk".to_owned()][..]));
    let close = reading.events.iter().find(|event| event.name == "close").expect("a call");
    assert_eq!((&close.track.tid, &*close.args), (&Id::Number(8), r#"{"args":"fd: 3","ret":"-1 EBADF (Bad)"}"#));
    assert_eq!(reading.lost(), [(Loss::IgnoredMetadata, 1), (Loss::RecorderLost, 5)]);
}

#[test]
fn a_call_that_a_new_process_cuts_on_the_terminal_is_resumed() {
    let reading = read(
        "12:00:01 clone(child_stack=NULL, flags=SIGCHLDstrace: Process 9 attached\n[pid 9] 12:00:01 getpid() = 9\n\
         [pid 8] 12:00:02 <... clone resumed>, tidptr=0x7) = 9\n",
    );
    let clone = reading.events.iter().find(|event| event.name == "clone").expect("a call");
    assert_eq!((clone.value, &clone.track.tid), (1_000_000_000, &Id::Number(8)));
    assert_eq!(clone.args, r#"{"args":"child_stack=NULL, flags=SIGCHLD, tidptr=0x7","ret":"9"}"#);
    assert_eq!(reading.lost(), []);
}

#[test]
fn a_call_that_is_killed_before_it_can_be_read_is_shown_as_strace_prints_it() {
    let reading = read(
        "7 1795166531.000001 ????( <unfinished ...>\n7 1795166531.000003 <... ???? resumed>) = ?\n\
         7 1795166531.000004 +++ killed by SIGKILL +++\n",
    );
    assert_eq!((reading.names(), reading.lost()), (vec!["????", "killed by SIGKILL"], vec![]));
    assert_eq!((reading.events[0].kind, reading.events[0].value), (EventKind::Complete, 2_000));
}

#[test]
fn brackets_in_paths_and_comments_do_not_end_the_name_of_a_call() {
    let reading = read(
        "7 1795166531.000001 close(3</tmp/a)b(c>) = 0 <0.000003>\n\
         7 1795166531.000101 prctl(PR_SET_NAME, f(x) /* a) b( */) = 0 <0.000003>\n",
    );
    assert_eq!((reading.names(), reading.lost()), (vec!["close", "prctl"], vec![]));
}

#[test]
fn a_line_of_spaces_takes_one_pass() {
    // A pass from each of the spaces would take minutes.
    let line = format!("7 1795166531.000002 a{}b\n", " ".repeat(1_000_000));
    assert!(read(&format!("7 1795166531.000001 close(3) = 0 <0.000003>\n{line}")).names().contains(&"close"));
}

#[test]
fn dumped_data_is_skipped_also_before_the_stack_of_its_call() {
    let reading = read(
        "7 1795166531.000001 write(1, \"hello\\0world\", 11) = 11 <0.000003>\n \
         | 00000  68 65 6c 6c 6f 00 77 6f  72 6c 64                 hello.world      |\n \
         > /bin/x(main+0x5b) [0x11bd1b]\n\
         7 1795166531.000011 readv(3, [{iov_base=\"a\", iov_len=1}], 1) = 1 <0.000003>\n \
         * 1 bytes in buffer 0\n | 00000  61                                                a                |\n",
    );
    assert_eq!((reading.names(), reading.lost()), (vec!["write", "", "readv"], vec![]));
    assert_eq!(reading.events.iter().filter(|event| event.stack == ["main"]).count(), 1);
}

#[test]
fn security_contexts_before_the_time_are_skipped() {
    let text = "1234 [unconfined_t] 1700000000.000001 close(3) = 0 <0.000010>\n\
        1234 [unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023] 1700000000.000021 close(4) = 0 <0.000010>\n";
    let reading = read(text);
    assert_eq!((reading.names(), reading.lost()), (vec!["close", "close"], vec![]));
    assert_eq!((&reading.events[0].track.tid, reading.events[0].value), (&Id::Number(1234), 10_000));
}

#[test]
fn frames_with_source_lines_and_brackets_keep_their_functions() {
    for (line, name, module) in [
        (" > /usr/lib/libc.so.6(__open64+0x5b) io.c:5 [0x11bd1b]", "__open64", "/usr/lib/libc.so.6"),
        (" > /usr/lib/a (deleted)(foo+0x1) [0x1]", "foo", "/usr/lib/a"),
        (" > /usr/lib/a(f(int, g(*)(char))+0x1) a (b).c:5 [0x1]", "f(int, g(*)(char))", "/usr/lib/a"),
        (" > /usr/lib/a(+0x51) [0x51]", "[a]", "/usr/lib/a"),
        (" > /usr/lib/a(main) [0x51]", "main", "/usr/lib/a"),
        (" > main+0x1 [0x51]", "main", ""),
    ] {
        let frame = super::line::stack_line(line.as_bytes()).expect(line);
        assert_eq!((&*frame.name, &*frame.module), (name.as_bytes(), module.as_bytes()), "{line}");
    }
}
