//! Tests of calls whose lines are cut by messages of `strace`, by output of the program or by the end of a process.

use crate::formats::testing::{read, read_bytes};
use crate::model::{EventFlags, EventKind, Id, Loss};

#[test]
fn a_call_that_a_message_cuts_goes_on_in_the_next_line() {
    let cases = [
        ("clone(flags=SIGCHLDstrace: Process 9 attached\n, tid=0x7) = 9 <0.000133>\n", "flags=SIGCHLD, tid=0x7", "9"),
        (
            "clone3({flags=CLONE_VM}strace: Process 9 attached\n => {parent_tid=[9]}, 88) = 9 <0.000133>\n",
            "{flags=CLONE_VM} => {parent_tid=[9]}, 88",
            "9",
        ),
        (
            "read(3, strace: Process 9 attached\n\"x\\\"y\\\\ <...> = 5\\n\", 15) = 15 <0.000133>\n",
            "3, \"x\\\"y\\\\ <...> = 5\\n\", 15",
            "15",
        ),
        // Several processes, and one that ends.
        (
            "clone(strace: Process 9 attached\nstrace: Process 10 attached\n0strace: Process 9 detached\n, 1) = 9 <0.000133>\n",
            "0, 1",
            "9",
        ),
        // The program writes to the same file.
        ("write(2, \"a b\\n\", 4a b\n)       = 4 <0.000133>\n", "2, \"a b\\n\", 4a b", "4"),
        // The message cuts the end of a call.
        (
            "clone(1 <unfinished ...>\n[pid 7] 12:00:01 <... clone resumed>, 2strace: Process 9 attached\n, 3) = 9 <0.000133>\n",
            "1, 2, 3",
            "9",
        ),
    ];
    for (text, args, result) in cases {
        let reading = read(&format!(
            "[pid 7] 12:00:01 getuid() = 0\n[pid 7] 12:00:01 {text}[pid 7] 12:00:02 getpid() = 7 <0.000001>\n"
        ));
        let spans: Vec<_> = reading.events.iter().filter(|event| event.kind == EventKind::Complete).collect();
        assert_eq!((spans.len(), spans[0].value), (2, 133_000), "{text}");
        let expected = serde_json::json!({ "args": args, "ret": result }).to_string();
        assert_eq!((&*spans[0].args, reading.losses.count(Loss::BadRecord)), (&*expected, 0), "{text}");
        assert_eq!(reading.losses.count(Loss::UnmatchedBegin), 0, "{text}");
    }
}

#[test]
fn a_call_that_a_message_cuts_may_be_interrupted_or_never_end() {
    let cut = "[pid 7] 12:00:01 wait4(-1, strace: Process 9 attached\n";
    for more in ["", " <unfinished ...>\n"] {
        let reading = read(&format!("{cut}{more}[pid 7] 12:00:03 <... wait4 resumed>NULL) = 9\n"));
        assert_eq!(reading.short(), [(43_201_000_000_000, 2_000_000_000, "wait4")], "{more}");
        assert_eq!(reading.events[0].args, r#"{"args":"-1, NULL","ret":"9"}"#);
        assert_eq!(reading.lost(), []);
    }
    for end in ["", " <unfinished ...>\n", "strace: Process 7 detached\n <detached ...>\n"] {
        let reading = read(&format!("{cut}{end}"));
        assert!(reading.events[0].flags.has(EventFlags::UNFINISHED), "{end}");
        assert_eq!(reading.losses.count(Loss::UnmatchedBegin), reading.losses.total() - u64::from(end.len() > 20));
    }
}

#[test]
fn lines_that_begin_like_calls_and_do_not_continue_are_counted() {
    let call = "7 1795166531.000001 getpid() = 7\n";
    let reading = read(&format!("{call}7 1795166531.000002 write(2, \"x\n{call}, 5) = 3 <0.000001>\nx = 5\n"));
    assert_eq!((reading.names(), reading.lost()), (vec!["getpid"; 2], vec![(Loss::BadRecord, 3)]));
    let reading = read_bytes(format!("{call}7 1795166531.000002 write(2, \"x").as_bytes()).expect("a capture");
    assert_eq!((reading.names(), reading.lost()), (vec!["getpid"], vec![(Loss::Truncated, 1)]));
    // The begin of an end that is cut is shown up to the cut.
    let begun = "7 1795166531.000001 read(3,  <unfinished ...>\n7 1795166531.000005 <... read resumed>\"a";
    let reading = read_bytes(begun.as_bytes()).expect("a capture");
    assert_eq!((reading.events[0].value, reading.lost()), (4000, vec![(Loss::Truncated, 1)]));
}

#[test]
fn a_call_that_is_killed_has_no_mark_in_its_arguments() {
    let reading = read(
        "7 1795166531.000001 nanosleep({tv_sec=1},  <unfinished ...>\n\
         7 1795166531.000002 <... nanosleep resumed> <unfinished ...>) = ?\n\
         8 1795166531.000003 pause( <unfinished ...>) = ?\n7 1795166531.000004 read(3,  <unfinished ...>\n\
         7 1795166531.000005 <... read resumed>\"a\",  <unfinished ...>\n7 1795166531.000006 <... read resumed>1) = 1\n",
    );
    let args: Vec<&str> = reading.events.iter().map(|event| &*event.args).collect();
    let expected = [r#"{"args":"{tv_sec=1},","ret":"?"}"#, r#"{"ret":"?"}"#, r#"{"args":"3,\"a\",1","ret":"1"}"#];
    assert_eq!((args, reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn the_return_of_a_new_process_is_an_instant() {
    // As `ltrace -f` prints it, and `strace` after it was attached within a call.
    for (first, child) in [("fork() = 8 <0.000641>\n", "fork"), ("vfork( <unfinished ...>\n", "vfork")] {
        let reading = read(&format!(
            "7 1795166531.000001 {first}8 1795166531.000002 <... {child} resumed> )     = 0 <0.000964>\n\
             8 1795166531.000003 usleep(100) = <void> <0.000564>\n"
        ));
        let found = reading.events.iter().find(|event| event.name == child && event.track.tid == Id::Number(8));
        let found = found.expect("the return");
        assert_eq!((found.kind, found.ts_ns % 1_000_000, &*found.args), (EventKind::Instant, 2000, r#"{"ret":"0"}"#));
        assert_eq!(reading.losses.count(Loss::UnmatchedEnd), 0);
    }
}

#[test]
fn a_call_that_is_cut_without_end_keeps_a_bounded_part_of_its_arguments() {
    let more = format!("{}strace: Process 9 attached\n", "x".repeat(1000));
    let cut = |lines: usize| format!("[pid 7] 12:00:01 clone(1{}", more.repeat(lines));
    let interrupted = |lines: usize| {
        let again = format!("[pid 7] 12:00:01 <... clone resumed>{} <unfinished ...>\n", "x".repeat(1000));
        format!("[pid 7] 12:00:01 clone(1 <unfinished ...>\n{}", again.repeat(lines))
    };
    for (text, end) in
        [(cut(10_000), ") = 9 <0.1>\n"), (interrupted(10_000), "[pid 7] 12:00:01 <... clone resumed>) = 9 <0.1>\n")]
    {
        let reading = read(&(text + end));
        assert_eq!((reading.events.len(), reading.events[0].value), (1, 100_000_000));
        assert!((60_000..70_000).contains(&reading.events[0].args.len()), "{}", reading.events[0].args.len());
        assert!(reading.losses.count(Loss::OverLimit) > 9000);
    }
}
