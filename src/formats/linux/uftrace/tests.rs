//! Tests of uftrace recordings: one of the tool itself, and folders that a naive writer makes.

mod damage;

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use tempfile::TempDir;

use crate::formats::testing::{Reading, context, data, read_path, read_with};
use crate::formats::{ChunkLimits, ReadContext, ReadError};
use crate::model::{EventKind, Id, Loss, Metadata, TrackKind};

const ENTRY: u64 = 0;
const EXIT: u64 = 1;
const LOST: u64 = 2;
const EVENT: u64 = 3;

/// Start of the program in memory, and of its functions `f0` to `f9` relative to it, 16 bytes apart.
const BASE: u64 = 0x5555_0000_0000;
const FUNCTIONS: u64 = 0x1000;

fn address(function: u64) -> u64 {
    BASE + FUNCTIONS + 16 * function
}

/// Writes the records of a thread.
#[derive(Default)]
struct Records {
    bytes: Vec<u8>,
    /// Lengths at which a record ends.
    ends: Vec<usize>,
}

impl Records {
    fn add(mut self, kind: u64, ts_ns: u64, depth: u64, address: u64) -> Self {
        self.push((kind, ts_ns, depth, address), false);
        self.ends.push(self.bytes.len());
        self
    }

    /// Adds a record with values, which are padded.
    fn with(mut self, kind: u64, ts_ns: u64, depth: u64, address: u64, values: &[u8]) -> Self {
        self.push((kind, ts_ns, depth, address), true);
        self.bytes.extend_from_slice(values);
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self.ends.push(self.bytes.len());
        self
    }

    fn push(&mut self, (kind, ts_ns, depth, address): (u64, u64, u64, u64), has_values: bool) {
        let fields = kind | u64::from(has_values) << 2 | 5 << 3 | depth << 6 | address << 16;
        self.bytes.extend(ts_ns.to_le_bytes());
        self.bytes.extend(fields.to_le_bytes());
    }
}

fn info(text: &str) -> Vec<u8> {
    let mut info = b"Ftrace!\0".to_vec();
    info.extend(4u32.to_le_bytes());
    info.extend(40u16.to_le_bytes());
    info.extend([1, 2]);
    info.extend(0x363u64.to_le_bytes());
    info.resize(40, 0);
    info.extend_from_slice(text.as_bytes());
    info
}

/// Creates the folder of a program with threads 1 to 9 of process 1.
fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let mut tasks = "SESS timestamp=0.000000000 pid=1 sid=ab12 exename=\"/srv/a b/prog\"\n".to_owned();
    tasks.extend((1..10).map(|tid| format!("TASK timestamp=0.000000001 tid={tid} pid=1\n")));
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).expect("written");
    write("info", &info("argspec:lines=1\nargauto:f1@arg1/d32,arg2/s;f2@fparg1/64\nretauto:f1@retval/u\n"));
    write("task.txt", tasks.as_bytes());
    let end = BASE + 0x10000;
    write(
        "sid-ab12.map",
        format!("{BASE:x}-{end:x} r-xp 00000000 00:00 0          /srv/a b/prog build-id:0a0b0c0d\n").as_bytes(),
    );
    let symbols = (0..10).map(|k| format!("{:016x} T f{k}\n", FUNCTIONS + 16 * k));
    let symbols = symbols.collect::<String>() + &format!("{:016x} ? __sym_end\n", FUNCTIONS + 160);
    write("prog.sym", symbols.as_bytes());
    for (name, bytes) in files {
        write(name, bytes);
    }
    folder
}

fn read(folder: &Path) -> Reading {
    read_path(folder).expect("a recording")
}

/// Returns start, end, depth and name of each span of a thread, in order of their starts, paired naively.
fn spans(reading: &Reading, tid: i64) -> Vec<(i64, Option<i64>, usize, String)> {
    let (mut spans, mut open) = (Vec::new(), Vec::<usize>::new());
    let is_of = |event: &&crate::formats::testing::ReadEvent| {
        event.track.tid == Id::Number(tid) && event.track.kind == TrackKind::Thread
    };
    for event in reading.events.iter().filter(is_of) {
        match event.kind {
            EventKind::Begin => {
                open.push(spans.len());
                spans.push((event.ts_ns, None, open.len() - 1, event.name.clone()));
            }
            EventKind::End => spans[open.pop().expect("an open span")].1 = Some(event.ts_ns),
            _ => {}
        }
    }
    spans
}

#[test]
fn a_recording_of_uftrace_has_its_calls_values_switches_and_no_losses() {
    let reading = read(&data("uftrace"));
    assert_eq!(reading.lost(), [(Loss::UnmatchedBegin, 0); 0]);
    let calls = |tid| spans(&reading, tid).into_iter().map(|(_, _, depth, name)| (depth, name)).collect::<Vec<_>>();
    let named = |rows: &[(usize, &str)]| rows.iter().map(|&(depth, name)| (depth, name.to_owned())).collect::<Vec<_>>();
    let main = [
        (0, "__monstartup"),
        (0, "__cxa_atexit"),
        (0, "main"),
        (1, "pthread_create"),
        (1, "half"),
        (1, "greet"),
        (1, "pthread_join"),
    ];
    assert_eq!(calls(23776), named(&main));
    assert_eq!(calls(23778), named(&[(0, "work"), (1, "add"), (1, "usleep"), (1, "add"), (1, "usleep")]));
    let args = |name: &str| -> Vec<&str> {
        let of_name = reading.events.iter().filter(|event| event.name == name);
        of_name.map(|event| &*event.args).collect()
    };
    assert_eq!(args("add"), [r#"{"arg1":0,"arg2":7}"#, r#"{"arg1":1,"arg2":7}"#]);
    assert_eq!(args("greet"), [r#"{"arg1":"world"}"#]);
    assert_eq!(args("half"), [r#"{"fparg1":3.0}"#]);
    assert_eq!(args("read:proc/statm"), [r#"{"vmsize":23828,"vmrss":8216,"shared":5896}"#]);
    // The second sum is 8.
    assert!(reading.events.iter().any(|event| event.args == r#"{"retval":8}"#));
    let on_cpus = reading.events.iter().filter(|event| event.track.kind == TrackKind::Cpu).count();
    assert!(on_cpus > 5, "{on_cpus}");
    let is_named = |said: &Metadata| matches!(said, Metadata::ProcessName { name, .. } if &**name == "calls");
    assert!(reading.metadata.iter().any(is_named));
    // The file in the folder opens it too.
    assert_eq!(read(&data("uftrace/info")), reading);
}

/// A call with its callees, in time order.
#[derive(Debug, Clone)]
struct Call {
    function: u64,
    before_ns: u64,
    after_ns: u64,
    values: Option<(i32, String)>,
    callees: Vec<Call>,
}

impl Call {
    /// Writes the call, and adds its span: start, end, depth, name and arguments.
    fn write(
        &self,
        now_ns: &mut u64,
        depth: u64,
        records: &mut Records,
        spans: &mut Vec<(u64, u64, u64, u64, String)>,
    ) {
        *now_ns += self.before_ns;
        let at = spans.len();
        let args = match &self.values {
            Some((number, text)) if self.function == 1 => {
                let mut values = number.to_le_bytes().to_vec();
                values.extend((text.len() as u16).to_le_bytes());
                values.extend_from_slice(text.as_bytes());
                *records = std::mem::take(records).with(ENTRY, *now_ns, depth, address(self.function), &values);
                format!(r#"{{"arg1":{number},"arg2":"{text}"}}"#)
            }
            _ => {
                *records = std::mem::take(records).add(ENTRY, *now_ns, depth, address(self.function));
                String::new()
            }
        };
        spans.push((*now_ns, 0, depth, self.function, args));
        self.callees.iter().for_each(|callee| callee.write(now_ns, depth + 1, records, spans));
        *now_ns += self.after_ns;
        spans[at].1 = *now_ns;
        *records = std::mem::take(records).add(EXIT, *now_ns, depth, address(self.function));
    }
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let values = prop::option::of((any::<i32>(), "[a-z ]{0,40}"));
    let leaf = (0u64..10, 1u64..50, 1u64..50, values.clone()).prop_map(|(function, before_ns, after_ns, values)| {
        Call { function, before_ns, after_ns, values, callees: Vec::new() }
    });
    let tree = leaf.prop_recursive(5, 40, 5, move |inner| {
        let callees = prop::collection::vec(inner, 0..5);
        (0u64..10, 1u64..50, 1u64..50, values.clone(), callees).prop_map(
            |(function, before_ns, after_ns, values, callees)| Call { function, before_ns, after_ns, values, callees },
        )
    });
    prop::collection::vec(tree, 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_calls_of_any_threads_are_read_as_written_in_blocks_of_any_size(
        threads in prop::collection::vec(calls(), 1..4),
        block_bytes in 1usize..200,
        batch_events in 1usize..20,
    ) {
        let mut files = Vec::new();
        let mut expected = Vec::new();
        for calls in &threads {
            let (mut records, mut now_ns, mut written) = (Records::default(), 1000, Vec::new());
            calls.iter().for_each(|call| call.write(&mut now_ns, 0, &mut records, &mut written));
            files.push((format!("{}.dat", files.len() + 1), records.bytes));
            expected.push(written);
        }
        let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (&**name, &**bytes)).collect();
        let folder = folder(&files);
        let limits = ChunkLimits { block_bytes: Some(block_bytes), batch_events: Some(batch_events) };
        let small = ReadContext { chunk_limits: limits, ..context(1) };
        for reading in [read(folder.path()), read_with(folder.path(), &small).expect("a recording")] {
            prop_assert_eq!(reading.lost(), vec![]);
            for (tid, written) in (1i64..).zip(&expected) {
                let row = |&(start, end, depth, function, _): &(u64, u64, u64, u64, String)| {
                    (start as i64, Some(end as i64), depth as usize, format!("f{function}"))
                };
                prop_assert_eq!(spans(&reading, tid), written.iter().map(row).collect::<Vec<_>>());
                let begins = reading.events.iter().filter(|event| {
                    event.kind == EventKind::Begin && event.track.tid == Id::Number(tid)
                });
                let args: Vec<&str> = begins.map(|event| &*event.args).collect();
                prop_assert_eq!(args, written.iter().map(|(.., args)| &**args).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn values_of_unknown_types_are_skipped_and_counted() {
    // Text that has the mark of a record in each word, and an early time.
    let text = [0x28u8; 64];
    let records = Records::default()
        .with(ENTRY, 0x4000_0000_0000_0000, 0, address(3), &text)
        .add(ENTRY, 0x4000_0000_0000_0010, 1, address(4))
        .with(EXIT, 0x4000_0000_0000_0020, 1, address(4), &[1, 2, 3])
        .with(EXIT, 0x4000_0000_0000_0030, 0, address(3), &[]);
    let reading = read(folder(&[("1.dat", &records.bytes)]).path());
    let base = 0x4000_0000_0000_0000;
    let expected =
        [(base, Some(base + 0x30), 0, "f3".to_owned()), (base + 0x10, Some(base + 0x20), 1, "f4".to_owned())];
    assert_eq!(spans(&reading, 1), expected);
    assert_eq!(reading.lost(), [(Loss::IgnoredArguments, 3)]);
    assert!(reading.losses.iter().all(|lost| lost.file == Some("1.dat")));
}

#[test]
fn functions_without_exit_end_with_their_caller_or_are_unfinished() {
    let records = Records::default()
        .add(ENTRY, 10, 0, address(0))
        .add(ENTRY, 20, 1, address(1))
        .add(ENTRY, 30, 2, address(2))
        // An exception leaves both.
        .add(EXIT, 40, 0, address(0))
        .add(ENTRY, 50, 0, address(3))
        // Another program starts within a call.
        .add(ENTRY, 60, 0, address(4))
        .add(EXIT, 70, 3, address(5));
    let reading = read(folder(&[("1.dat", &records.bytes)]).path());
    let row = |start, end, depth, name: &str| (start, end, depth, name.to_owned());
    let expected = [
        row(10, Some(40), 0, "f0"),
        row(20, Some(40), 1, "f1"),
        row(30, Some(40), 2, "f2"),
        row(50, Some(60), 0, "f3"),
        row(60, None, 0, "f4"),
    ];
    assert_eq!(spans(&reading, 1), expected);
    assert_eq!(reading.lost(), [(Loss::UnmatchedEnd, 1)]);
}

#[test]
fn a_forked_process_runs_the_program_of_its_parent_and_its_first_exits_are_not_losses() {
    let tasks = "SESS timestamp=0.000000005 pid=1 sid=ab12 exename=\"/srv/a b/prog\"\n\
                 TASK timestamp=0.000000005 tid=1 pid=1\n\
                 FORK timestamp=0.000000020 pid=2 ppid=1\n\
                 FORK timestamp=0.000000030 pid=3 ppid=2\n\
                 SESS timestamp=0.000000050 pid=3 sid=cd34 exename=\"/srv/other\"\n\
                 TASK timestamp=0.000000050 tid=3 pid=3\n";
    let other = format!("{BASE:x}-{:x} r-xp 00000000 00:00 0   /srv/other\n", BASE + 0x10000);
    let child = Records::default()
        .add(EXIT, 25, 1, address(9))
        .add(ENTRY, 30, 1, address(1))
        .add(EXIT, 40, 1, address(1))
        .add(ENTRY, 60, 0, address(1))
        .add(EXIT, 70, 0, address(1));
    let files = [
        ("task.txt", tasks.as_bytes()),
        ("3.dat", &child.bytes),
        ("sid-cd34.map", other.as_bytes()),
        ("other.sym", b"0000000000001010 T another\n"),
    ];
    let reading = read(folder(&files).path());
    let named = |(start, end, name): (i64, i64, &str)| (start, Some(end), 0, name.to_owned());
    assert_eq!(spans(&reading, 3), [named((30, 40, "f1")), named((60, 70, "another"))]);
    assert_eq!(reading.lost(), []);
}

#[test]
fn a_process_runs_the_program_of_its_first_ancestor_however_many_forks_are_between() {
    let mut tasks = "SESS timestamp=0.000000005 pid=1 sid=ab12 exename=\"/srv/a b/prog\"\n".to_owned();
    tasks.extend((2..=3000).map(|pid| format!("FORK timestamp=0.000000020 pid={pid} ppid={}\n", pid - 1)));
    let records = Records::default().add(ENTRY, 30, 0, address(1)).add(EXIT, 40, 0, address(1));
    let reading = read(folder(&[("task.txt", tasks.as_bytes()), ("3000.dat", &records.bytes)]).path());
    assert_eq!(reading.names()[0], "f1");
    let is_named =
        |said: &Metadata| matches!(said, Metadata::ProcessName { pid: Id::Number(3000), name } if &**name == "prog");
    assert!(reading.metadata.iter().any(is_named));
}

#[test]
fn odd_files_beside_the_calls_cost_their_own_names_only() {
    let records = Records::default().add(ENTRY, 10, 0, address(1)).add(EXIT, 20, 0, address(1));
    let folder = folder(&[("1.dat", &records.bytes), ("kernel-cpu0.dat", b""), ("extern.dat", b"")]);
    fs::remove_file(folder.path().join("prog.sym")).expect("removed");
    fs::create_dir(folder.path().join("prog.sym")).expect("created");
    #[cfg(unix)]
    std::os::unix::fs::symlink("nowhere", folder.path().join("77.dat")).expect("linked");
    let reading = read(folder.path());
    assert_eq!(spans(&reading, 1), [(10, Some(20), 0, "prog+0x1010".to_owned())]);
    assert_eq!(reading.lost(), [(Loss::MissingText, 1)]);
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_the_file_is_not_opened() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("info")).status();
    assert!(made.expect("started").success());
    assert!(matches!(read_path(folder.path()), Err(ReadError::NotAFile { .. })));
    // Nor in place of a file that is rarely there.
    let records = Records::default().add(EVENT, 12, 0, 1_000_000);
    let folder = self::folder(&[("1.dat", &records.bytes)]);
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("events.txt")).status();
    assert!(made.expect("started").success());
    let reading = read(folder.path());
    assert_eq!(reading.names(), ["event 1000000"]);
    let advice: Vec<_> = reading.losses.iter().map(|lost| lost.advice.into_owned()).collect();
    assert!(advice[0].ends_with(", so events are shown by their ids"), "{advice:?}");
}

#[test]
fn mappings_and_events_beyond_the_limit_are_counted() {
    let records = Records::default().add(ENTRY, 10, 0, address(1)).add(EXIT, 20, 0, address(1));
    let mapping = |k: u64| format!("{:x}-{:x} r-xp 00000000 00:00 0   /srv/lib\n", k << 12, (k + 1) << 12);
    let (most, more) = (1 << 16, (1 << 16) + 2);
    let read_with = |name: &str, text: &str| {
        read(folder(&[("1.dat", &records.bytes), (name, text.as_bytes())]).path()).losses.count(Loss::OverLimit)
    };
    for (count, expected) in [(most, 0), (more, 1)] {
        let mappings: String = (1..=count).map(mapping).collect();
        assert_eq!(read_with("sid-ab12.map", &mappings), expected, "{count} mappings");
        let events: Vec<_> = (0..count).map(|k| format!("EVENT: {k} prov:step")).collect();
        assert_eq!(read_with("events.txt", &events.join("\n")), expected, "{count} events");
    }
}

#[test]
fn a_table_of_symbols_beyond_the_limit_is_cut_and_counted() {
    let records = Records::default().add(ENTRY, 10, 0, address(1)).add(EXIT, 20, 0, address(1));
    let line = format!("0000000000001010 T {}\n", "n".repeat(60_000));
    let symbols = line.repeat(1200);
    let reading = read(folder(&[("1.dat", &records.bytes), ("prog.sym", symbols.as_bytes())]).path());
    assert_eq!(spans(&reading, 1).len(), 1);
    assert_eq!(reading.losses.count(Loss::OverLimit), 1);
}

#[test]
fn untyped_values_of_32_bit_programs_have_four_bytes() {
    let mut info = info("argspec:lines=1\nargauto:f1@arg1,arg2/u,arg3/s\n");
    info[15] = 1;
    let values = [&(-5i32).to_le_bytes()[..], &7u32.to_le_bytes(), &[2, 0, b'a', b'b']].concat();
    let records = Records::default().with(ENTRY, 10, 0, address(1), &values).add(EXIT, 20, 0, address(1));
    let reading = read(folder(&[("info", &info), ("1.dat", &records.bytes)]).path());
    assert_eq!(reading.events[0].args, r#"{"arg1":-5,"arg2":7,"arg3":"ab"}"#);
    assert_eq!(reading.lost(), []);
}

#[test]
fn events_have_names_and_numbers() {
    let mut numbers = vec![24, 0];
    [300u64, 200, 100].iter().for_each(|number| numbers.extend(number.to_le_bytes()));
    let records = Records::default()
        .with(EVENT, 10, 0, 100_001, &numbers)
        .with(EVENT, 11, 0, 100_011, &[4, 0, 3, 0, 0, 0])
        .add(EVENT, 12, 0, 1_000_000)
        .add(EVENT, 13, 0, 1_000_001);
    let reading = read(folder(&[("1.dat", &records.bytes), ("events.txt", b"EVENT: 1000000 prov:step\n")]).path());
    let rows: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, &*event.name, &*event.args)).collect();
    let expected = [
        (10, "read:proc/statm", r#"{"vmsize":300,"vmrss":200,"shared":100}"#),
        (11, "watch:cpu", r#"{"cpu":3}"#),
        (12, "prov:step", ""),
        (13, "event 1000001", ""),
    ];
    assert_eq!(rows, expected);
    assert_eq!(reading.lost(), []);
}

#[test]
fn addresses_without_symbols_are_shown_with_their_file() {
    let records = Records::default()
        .add(ENTRY, 10, 0, BASE + 0x800)
        .add(ENTRY, 20, 1, 0x1234)
        .add(ENTRY, 30, 2, address(10))
        .add(ENTRY, 40, 3, address(1) + 3);
    let reading = read(folder(&[("1.dat", &records.bytes)]).path());
    let names: Vec<&str> = reading.names();
    assert_eq!(names, ["prog+0x800", "0x1234", "prog+0x10a0", "f1"]);
    let without = folder(&[("1.dat", &records.bytes)]);
    fs::remove_file(without.path().join("prog.sym")).expect("removed");
    let reading = read(without.path());
    assert_eq!(reading.names(), ["prog+0x800", "0x1234", "prog+0x10a0", "prog+0x1013"]);
    assert_eq!(reading.lost(), [(Loss::MissingText, 1)]);
}

#[test]
fn names_of_cpp_are_demangled_and_libraries_loaded_later_have_their_symbols() {
    let records = Records::default().add(ENTRY, 10, 0, address(0)).add(ENTRY, 20, 1, 0x7fff_0000_0010);
    let tasks = "SESS timestamp=0.000000005 pid=1 sid=ab12 exename=\"prog\"\n\
                 TASK timestamp=0.000000005 tid=1 pid=1\n\
                 DLOP timestamp=0.000000006 tid=1 sid=ab12 base=7fff00000000 libname=\"./libplug.so\"\n";
    let files = [
        ("1.dat", &*records.bytes),
        ("task.txt", tasks.as_bytes()),
        ("prog.sym", b"0000000000001000 T _ZN2ns4workEi\n"),
        ("libplug.so.sym", b"0000000000000010 T plugin_work\n"),
    ];
    assert_eq!(read(folder(&files).path()).names(), ["ns::work(int)", "plugin_work"]);
}

#[test]
fn switches_become_runs_on_cpus_and_states() {
    let mut switches = Vec::new();
    let (switch, exit) = (14u32, 4u32);
    for (kind, ts_ns, flags) in [
        (switch, 10u64, 0u16),
        (switch, 20, 1 << 13),
        (switch, 30, 0),
        (switch, 40, 1 << 13 | 1 << 14),
        (switch, 50, 0),
        (exit, 60, 0),
    ] {
        let body_bytes = if kind == exit { 24 } else { 0 };
        switches.extend(kind.to_le_bytes());
        switches.extend([flags.to_le_bytes(), (24u16 + body_bytes).to_le_bytes()].concat());
        switches.extend(vec![0; body_bytes.into()]);
        switches.extend([1u32.to_le_bytes(), 2u32.to_le_bytes()].concat());
        switches.extend(ts_ns.to_le_bytes());
    }
    let reading = read(folder(&[("perf-cpu3.dat", &switches)]).path());
    let runs: Vec<_> = reading.events.iter().filter(|event| event.track.kind == TrackKind::Cpu).collect();
    assert_eq!(runs.iter().map(|run| (run.ts_ns, run.value)).collect::<Vec<_>>(), [(10, 10), (30, 10), (50, 10)]);
    let states = reading.events.iter().filter(|event| event.kind == EventKind::State);
    let states: Vec<_> = states.map(|state| (state.ts_ns, &*state.name)).collect();
    assert_eq!(
        states,
        [(10, "Running"), (20, "Sleeping"), (30, "Running"), (40, "Runnable (preempted)"), (50, "Running"), (60, "")]
    );
    assert_eq!(reading.lost(), []);
}

#[test]
fn recordings_that_are_not_read_are_refused_with_the_reason() {
    let refused = |head: &[u8]| match read_path(folder(&[("info", head)]).path()) {
        Err(ReadError::Malformed { offset, expected, .. }) => (offset, expected),
        other => panic!("{other:?}"),
    };
    let mut other = info("");
    other[8] = 9;
    assert_eq!(refused(&other), (8, "version 3 or 4".to_owned()));
    other[14] = 2;
    assert_eq!(refused(&other).0, 14);
    assert_eq!(refused(b"Ftrace!\0").0, 8);
    // The file alone, as sent by mail.
    let alone = crate::formats::testing::read_bytes(&info("")).expect_err("no folder");
    assert!(alone.to_string().contains("found no task.txt"), "{alone}");
    // The id of a session is part of a file name.
    let tasks = "SESS timestamp=0.000000005 pid=1 sid=../../x exename=\"prog\"\n";
    let records = Records::default().add(ENTRY, 10, 0, address(0));
    let reading = read(folder(&[("task.txt", tasks.as_bytes()), ("1.dat", &records.bytes)]).path());
    assert_eq!(reading.losses.count(Loss::BadRecord), 1);
}

#[test]
fn messages_of_other_programs_are_instants_between_the_calls() {
    let calls = Records::default().add(ENTRY, 1_000_000_000, 0, address(0)).add(EXIT, 3_000_000_000, 0, address(0));
    let messages =
        "# TIMESTAMP MESSAGE\n\n  2.000000005 this is  text\n2.5\tnext message\r\nnonsense here\n3.5\n4.0 last";
    let folder = folder(&[("1.dat", &calls.bytes), ("extern.dat", messages.as_bytes())]);
    let reading = read_path(folder.path()).expect("a recording");
    let found: Vec<_> = reading.events.iter().filter(|event| event.kind == EventKind::Instant).collect();
    let of: Vec<_> = found.iter().map(|event| (event.ts_ns, &*event.name)).collect();
    let expected = [(2_000_000_005, "this is  text"), (2_500_000_000, "next message"), (4_000_000_000, "last")];
    assert_eq!(of, expected);
    assert!(found.iter().all(|event| event.track.tid == Id::Text("external data".into())));
    assert_eq!(reading.lost(), [(Loss::BadRecord, 2), (Loss::UnendedLine, 1)]);
}
