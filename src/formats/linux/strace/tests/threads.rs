//! Tests of the threads of lines: a main thread without an id, and programs that threads execute.

use super::super::threads::MAIN_TID;
use crate::formats::testing::{Reading, read, read_cut, read_path};
use crate::model::{EventKind, Id, Loss, Metadata};

/// Returns the threads of the calls of a name, in order of time.
fn threads_of(reading: &Reading, name: &str) -> Vec<Id> {
    reading.events.iter().filter(|event| event.name == name).map(|event| event.track.tid.clone()).collect()
}

/// Returns the thread names, in order.
fn names(reading: &Reading) -> Vec<(Id, String)> {
    let name_of = |metadata: &Metadata| match metadata {
        Metadata::ThreadName { tid, name, .. } => Some((tid.clone(), name.to_string())),
        _ => None,
    };
    reading.metadata.iter().filter_map(name_of).collect()
}

/// Text of a shell that starts two processes: its lines have an id only while these run.
fn shell(calls_before: usize) -> String {
    let mut text = "1795166531.000000 execve(\"/usr/bin/sh\", [\"sh\"], 0x7f /* 1 var */) = 0 <0.000001>\n".to_owned();
    text.extend((0..calls_before).map(|_| "1795166531.000001 brk(NULL) = 0x5 <0.000001>\n"));
    text + "1795166531.000010 vfork(strace: Process 8 attached\n <unfinished ...>\n\
         [pid 8] 1795166531.000011 read(0,  <unfinished ...>\n\
         [pid 7] 1795166531.000012 <... vfork resumed>) = 8 <0.000002>\n[pid 7] 1795166531.000015 brk(NULL) = 0x5\n\
         [pid 8] 1795166531.000016 <... read resumed>\"\", 1) = 0 <0.000002>\n\
         [pid 8] 1795166531.000017 +++ exited with 0 +++\n1795166531.000018 brk(NULL) = 0x5 <0.000001>\n"
}

#[test]
fn a_main_thread_is_one_row_in_any_batches() {
    // Beyond the head of the file, the row is the one that is there, and its name has the id.
    let late = vec![(Id::Number(MAIN_TID), "sh".to_owned()), (Id::Number(MAIN_TID), "sh (7)".to_owned())];
    for (calls_before, row, expected) in [(10, 7, vec![(Id::Number(7), "sh".to_owned())]), (1000, MAIN_TID, late)] {
        let text = shell(calls_before);
        for reading in [read(&text), read_cut(text.as_bytes(), 4096, 1).expect("a capture")] {
            assert_eq!(threads_of(&reading, "brk"), vec![Id::Number(row); calls_before + 2]);
            assert_eq!(
                (threads_of(&reading, "vfork"), threads_of(&reading, "read")),
                (vec![Id::Number(row)], vec![Id::Number(8)])
            );
            assert_eq!(names(&reading), expected);
        }
    }
}

#[test]
fn threads_are_in_the_process_of_a_main_thread_whose_id_is_known_later() {
    // As `strace -f 2> FILE` prints it, with the id beyond the head of the file.
    let flags = "flags=CLONE_VM|CLONE_THREAD";
    let start = "1795166531.000000 execve(\"/bin/m\", [\"m\"], 0x7f /* 1 var */) = 0 <0.000001>\n";
    let text = format!(
        "{start}{}1795166531.000010 clone3({{{flags}}}strace: Process 8 attached\n => {{parent_tid=[8]}}, 88) = 8 <0.000061>\n\
         [pid 8] 1795166531.000100 close(4) = 0 <0.000001>\n[pid 7] 1795166531.000200 getpid() = 7 <0.000001>\n",
        "1795166531.000001 brk(NULL) = 0x5 <0.000001>\n".repeat(1000)
    );
    for reading in [read(&text), read_cut(text.as_bytes(), 4096, 1).expect("a capture")] {
        assert!(reading.events.iter().all(|event| event.track.pid == Id::Number(7)), "{:?}", reading.events.last());
        assert_eq!((threads_of(&reading, "close"), reading.lost()), (vec![Id::Number(8)], vec![]));
    }
}

#[test]
fn the_name_of_a_created_thread_may_follow_its_id() {
    // As `strace -Y` prints it; names may contain spaces.
    let flags = "flags=CLONE_VM|CLONE_THREAD";
    for result in ["9<m>", "9<m> <0.000032>", "9<my m> <0.000032>"] {
        let reading = read(&format!(
            "7<m> 1.000100 execve(\"/bin/m\", [\"m\"], 0x7ffe /* 5 vars */) = 0 <0.000300>\n\
             7<m> 1.000500 clone(child_stack=0x7, {flags}) = {result}\n9<m> 1.000900 close(1) = 0 <0.0001>\n"
        ));
        let pids: Vec<_> = reading.events.iter().map(|event| event.track.pid.clone()).collect();
        assert_eq!((pids, reading.lost()), (vec![Id::Number(7); 3], vec![]), "{result}");
    }
}

#[test]
fn a_process_that_a_message_names_within_a_call_is_not_the_main_thread() {
    let reading = read(
        "12:00:01 clone3({flags=CLONE_VM}strace: Process 8 attached\n => {parent_tid=[8]}, 88) = 8\n\
         [pid 8] 12:00:01 close(4) = 0\n[pid 7] 12:00:01 getpid() = 7\n",
    );
    let [main, child] = [7, 8].map(Id::Number);
    assert_eq!((threads_of(&reading, "clone3"), threads_of(&reading, "getpid")), (vec![main.clone()], vec![main]));
    assert_eq!((threads_of(&reading, "close"), reading.lost()), (vec![child], vec![]));
}

#[test]
fn a_new_process_without_a_message_is_not_the_main_thread() {
    // As `strace -q -f` and `ltrace -f` print it.
    for first in ["clone(flags=0) = 8", "fork( <unfinished ...>", "vfork( <unfinished ...>"] {
        let fork = first.split(['(', ' ']).next().expect("a name");
        let rest =
            if first.ends_with('8') { "brk(NULL) = 0".to_owned() } else { format!("<... {fork} resumed> ) = 8") };
        let reading = read(&format!(
            "12:00:01 getpid() = 7\n12:00:01 {first}\n[pid 8] 12:00:01 <... {fork} resumed> ) = 0\n\
             [pid 8] 12:00:01 close(4) = 0\n[pid 7] 12:00:02 {rest}\n[pid 7] 12:00:03 getpid() = 7\n"
        ));
        assert_eq!(threads_of(&reading, "getpid"), vec![Id::Number(7); 2], "{first}");
        assert_eq!(threads_of(&reading, "close"), [Id::Number(8)], "{first}");
    }
}

#[test]
fn a_process_that_was_attached_by_its_id_has_it() {
    for program in ["strace", "/usr/bin/strace"] {
        let reading = read(&format!(
            "{program}: Process 7 attached\n12:00:01 getpid() = 7\n12:00:01 clone() = 8\n{program}: Process 8 attached\n\
             [pid 8] 12:00:01 close(4) = 0\n[pid 7] 12:00:02 getpid() = 7\n"
        ));
        assert_eq!(threads_of(&reading, "getpid"), vec![Id::Number(7); 2]);
        assert_eq!(reading.lost(), [(Loss::IgnoredMetadata, 2)]);
    }
}

#[test]
fn a_program_that_a_thread_executes_goes_on_under_the_id_of_its_process() {
    let begins = ["<unfinished ...>", "<pid changed to 7 ...>"];
    for (begin, prefix) in begins.iter().flat_map(|begin| [(begin, ""), (begin, "[pid ")]) {
        let id = |id: i64| if prefix.is_empty() { id.to_string() } else { format!("{prefix}{id}]") };
        let (leader, thread) = (id(7), id(8));
        let reading = read(&format!(
            "{thread} 1795166531.000100 execve(\"/bin/true\", [\"true\"], 0x7f /* 1 var */ {begin}\n\
             {leader} 1795166531.000200 pause() = ?\n{leader} 1795166531.000300 +++ superseded by execve in pid 8 +++\n\
             {leader} 1795166531.000400 <... execve resumed>) = 0 <0.000290>\n{leader} 1795166531.000500 brk(NULL) = 0\n"
        ));
        let execve = reading.events.iter().find(|event| event.name == "execve").expect("a call");
        assert_eq!((execve.kind, execve.value, &execve.track.tid), (EventKind::Complete, 290_000, &Id::Number(8)));
        assert_eq!(execve.args, r#"{"args":"\"/bin/true\", [\"true\"], 0x7f /* 1 var */","ret":"0"}"#);
        assert_eq!(threads_of(&reading, "brk"), [Id::Number(7)]);
        assert_eq!((names(&reading), reading.lost()), (vec![(Id::Number(7), "true".to_owned())], vec![]));
    }
    // A message without the call, and a call without the message.
    let reading = read("7 1795166531.000001 +++ superseded by execve in pid 8 +++\n7 1795166531.000002 brk(0) = 0\n");
    assert_eq!(reading.lost(), []);
}

#[test]
fn the_thread_of_a_file_per_thread_is_the_number_at_the_end_of_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let read_as = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        read_path(&path).expect("a capture")
    };
    let text = "1795166531.000000 execve(\"/usr/bin/sh\", [\"sh\"], 0x7f /* 1 var */) = 0 <0.000001>\n\
                1795166531.000001 clone(child_stack=NULL, flags=SIGCHLD) = 31247 <0.000001>\n\
                1795166531.000002 brk(NULL) = 0x5 <0.000001>\n1795166531.000003 +++ exited with 0 +++\n";
    let reading = read_as("st.31246", text);
    assert!(reading.events.iter().all(|event| event.track.tid == Id::Number(31246)), "{:?}", reading.events);
    assert_eq!(names(&reading), [(Id::Number(31246), "sh".to_owned())]);
    assert_eq!(threads_of(&read_as("st.txt", text), "brk"), [Id::Number(MAIN_TID)]);
    // Ids in the lines count more than the name.
    let with_ids: String = text.lines().flat_map(|line| ["7 ", line, "\n"]).collect();
    assert_eq!(threads_of(&read_as("trace.2026", &with_ids), "brk"), [Id::Number(7)]);
}

#[test]
fn threads_and_processes_that_calls_create_are_told_apart_by_the_flags() {
    let thread_flags = "CLONE_VM|CLONE_SIGHAND|CLONE_THREAD|CLONE_SYSVSEM";
    let lines = [
        r#"100 1.000100 execve("/bin/sh", ["sh", "-c", "ls"], 0x7ffe /* 5 vars */) = 0 <0.000300>"#.to_owned(),
        "100 1.001000 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD, child_tidptr=0x7f) = 101 <0.0002>"
            .into(),
        r#"101 1.001300 execve("/bin/ls", ["ls"], 0x7ffe /* 5 vars */) = 0 <0.000300>"#.into(),
        format!("101 1.002000 clone3({{flags={thread_flags}, child_tid=0x7}}, 88 <unfinished ...>"),
        // The line of the thread is before the end of the call that has created it.
        "102 1.002100 write(1, \"x\", 1) = 1 <0.000010>".into(),
        "101 1.002200 <... clone3 resumed>) = 102 <0.000200>".into(),
        "102 1.002300 write(1, \"x\", 1) = 1 <0.000010>".into(),
        "100 1.003000 vfork( <unfinished ...>".into(),
        r#"103 1.003100 execve("/bin/cat", ["cat"], 0x7ffe /* 5 vars */) = 0 <0.000300>"#.into(),
        "100 1.003200 <... vfork resumed>) = 103 <0.000200>".into(),
        "103 1.003300 read(0, \"\", 1) = 0 <0.000010>".into(),
        // Without flags, it may be either.
        "100 1.004000 clone(...) = 104 <0.0002>".into(),
        "104 1.004100 close(1) = 0 <0.000010>".into(),
        "100 1.005000 fork() = -1 EAGAIN (Resource temporarily unavailable) <0.0002>".into(),
    ];
    let reading = read(&lines.join("\n"));
    let mut threads: Vec<_> =
        reading.events.iter().map(|event| (event.track.pid.clone(), event.track.tid.clone())).collect();
    threads.sort();
    threads.dedup();
    let in_process = |pid, tid| (Id::Number(pid), Id::Number(tid));
    let mut expected =
        [in_process(100, 100), in_process(101, 101), in_process(101, 102), in_process(103, 103)].to_vec();
    expected.push((Id::None, Id::Number(104)));
    expected.sort();
    assert_eq!((threads, reading.lost()), (expected, vec![]));
    let names = reading.metadata.iter().filter_map(|metadata| match metadata {
        Metadata::ProcessName { pid: Id::Number(pid), name } => Some((*pid, &**name)),
        _ => None,
    });
    assert_eq!(names.collect::<Vec<_>>(), [(100, "sh"), (101, "ls"), (103, "cat")]);
}

#[test]
fn another_thread_with_the_id_of_one_that_has_exited_is_separate() {
    let flags = "flags=CLONE_VM|CLONE_THREAD";
    let lines = [
        r#"100 1.000100 execve("/bin/sh", ["sh"], 0x7ffe /* 5 vars */) = 0 <0.000300>"#,
        &format!("100 1.001000 clone(child_stack=0x7, {flags}) = 101 <0.0002>"),
        "101 1.001100 read(0,  <unfinished ...>",
        "101 1.001900 +++ exited with 0 +++",
        // A process, whose creation ends before its first line.
        "100 1.002000 vfork() = 101 <0.0001>",
        r#"101 1.002100 execve("/bin/ls", ["ls"], 0x7ffe /* 5 vars */) = 0 <0.000300>"#,
        "101 1.002200 read(0, \"\", 1) = 0 <0.000010>",
        &format!("101 1.002300 clone(child_stack=0x7, {flags}) = 102 <0.0002>"),
        "102 1.002350 write(1, \"x\", 1) = 1 <0.000010>",
        "101 1.002400 +++ exited with 0 +++",
        // A process, whose creation ends after its exit.
        "100 1.003000 vfork( <unfinished ...>",
        "101 1.003100 close(1) = 0 <0.000010>",
        "101 1.003200 +++ killed by SIGKILL +++",
        "100 1.003300 <... vfork resumed>) = 101 <0.000310>",
        "100 1.003400 wait4(101, NULL, 0, NULL) = 101 <0.000010>",
    ];
    let reading = read(&lines.join("\n"));
    let of = |name: &str| {
        let events = reading.events.iter().filter(|event| event.name == name);
        events.map(|event| (event.track.pid.to_string(), event.track.tid.to_string())).collect::<Vec<_>>()
    };
    let track = |pid: &str, tid: &str| (pid.to_owned(), tid.to_owned());
    assert_eq!(of("read"), [track("100", "101"), track("101 (2)", "101 (2)")]);
    assert_eq!(of("write"), [track("101 (2)", "102")]);
    assert_eq!(of("close"), [track("101 (3)", "101 (3)")]);
    assert_eq!(of("exited with 0"), [track("100", "101"), track("101 (2)", "101 (2)")]);
    assert_eq!(of("killed by SIGKILL"), [track("101 (3)", "101 (3)")]);
    let names = reading.metadata.iter().filter_map(|metadata| match metadata {
        Metadata::ProcessName { pid, name } => Some((pid.to_string(), &**name)),
        _ => None,
    });
    assert_eq!(names.collect::<Vec<_>>(), [("100".to_owned(), "sh"), ("101 (2)".to_owned(), "ls")]);
    assert_eq!(reading.lost(), [(Loss::UnmatchedBegin, 1)]);
}

#[test]
fn threads_of_an_attached_process_have_no_process_since_any_of_them_may_be_the_first() {
    let flags = "flags=CLONE_VM|CLONE_THREAD";
    let reading =
        read(&format!("7 1.000100 clone(child_stack=0x7, {flags}) = 8 <0.0002>\n8 1.000500 close(1) = 0 <0.0001>\n"));
    assert!(reading.events.iter().all(|event| event.track.pid == Id::None));
}
