//! Scheduling from a Perfetto trace in the dump: the thread on each CPU and the state of each thread. A native export
//! has the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{data, gunzip, longspan, records, text};
use crate::protobuf::{Message, message};

/// Encodes an event: a switch from a thread, with the bits of its state, to another.
fn switch(ts_ns: u64, (from, bits): (u64, u64), (to, comm): (u64, &str)) -> Message {
    let event = message().number(2, from).number(4, bits).bytes(5, comm.as_bytes()).number(6, to).number(7, 120);
    message().number(1, ts_ns).message(4, &event)
}

fn waking(ts_ns: u64, tid: u64) -> Message {
    message().number(1, ts_ns).message(20, &message().number(2, tid))
}

/// Two CPUs that a tracer drains in sequence: thread 7 moves from CPU 0 to CPU 1.
fn scheduling_trace() -> Vec<u8> {
    let process = message().message(2, &message().number(1, 7).number(3, 5));
    let cpu_0 = message()
        .number(1, 0)
        .message(2, &switch(1000, (0, 0), (7, "worker")))
        .message(2, &switch(3000, (7, 1), (8, "other")))
        .message(2, &switch(6000, (8, 0x100), (0, "swapper/0")));
    let cpu_1 = message()
        .number(1, 1)
        .message(2, &waking(4000, 7))
        .message(2, &switch(4500, (0, 0), (7, "worker")))
        .message(2, &switch(9000, (7, 2), (0, "swapper/1")));
    let packets = [(2, process), (1, cpu_0), (1, cpu_1)];
    let packet = |(field, part): (u64, Message)| message().number(10, 1).message(field, &part);
    packets.map(packet).iter().fold(message(), |trace, packet| trace.message(1, packet)).0
}

fn dump(file: &Path) -> Vec<Value> {
    let lines = longspan(&["dump", "--no-cache", "--no-symbols", text(file)]).done();
    lines.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn runs_and_thread_states_are_dumped_and_survive_a_native_export() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (folder.path().join("sched.pftrace"), folder.path().join("out.longspan"));
    fs::write(&file, scheduling_trace()).expect("written");
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
    // The event has no thread, so it is an interrupt on an idle CPU.
    let mut woken = state(4000, 500, &worker, "R");
    woken["waker_utid"] = json!(0);
    let mut expected = vec![
        running(1000, 2000, &worker, 0),
        state(3000, 1000, &worker, "S"),
        woken,
        running(4500, 4500, &worker, 1),
        // Begins at the last moment of the trace, and is unfinished.
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

/// Returns the rows of `stats --scheduling`, by the first two columns.
fn scheduling(file: &Path, options: &[&str]) -> BTreeMap<(String, String), Vec<String>> {
    let csv = longspan(&[&["stats", "--no-cache", "--no-symbols", text(file)], options].concat()).done();
    let rows = records(&csv).into_iter();
    rows.map(|row| ((row[0].clone(), row[1].clone()), row[2..].to_vec())).collect()
}

/// Compares with `perf sched timehist --summary` of the same trace: the number, total and maximum of runs per thread,
/// in microseconds. Fractions of a microsecond are truncated or rounded.
#[test]
fn cpu_times_match_perf_sched_timehist() {
    let expected = fs::read_to_string(data("expected/perf_sched.data.gz.timehist.txt")).expect("the summary of perf");
    let found = scheduling(&data("perf_sched.data.gz"), &["--scheduling"]);
    let of_tid: BTreeMap<&str, &Vec<String>> = found.iter().map(|((_, tid), row)| (tid.as_str(), row)).collect();
    let dumped = dump(&data("perf_sched.data.gz"));
    let of = |kind: &str| dumped.iter().filter(|line| line["t"] == kind).collect::<Vec<_>>();
    let info = longspan(&["info", "--json", "--no-cache", text(&data("perf_sched.data.gz"))]).done();
    let end_ns = serde_json::from_str::<Value>(&info).expect("JSON")["end_ns"].as_f64().expect("the end");
    let unfinished = |tid: &str| -> f64 {
        let tid: i64 = tid.parse().expect("a number");
        let thread = of("thread").into_iter().find(|thread| thread["tid"] == tid).expect("listed");
        let last = of("sched").into_iter().find(|run| run["utid"] == thread["utid"] && run["dur"] == -1);
        last.map_or(0.0, |run| end_ns - run["ts"].as_f64().expect("a time"))
    };
    let ms = |text: &str| text.parse::<f64>().expect("a number") * 1e6;
    let mut compared = 0;
    let (mut ended_ns, mut others) = (0.0, BTreeMap::new());
    for line in expected.lines() {
        // `comm[tid/pid]  parent  sched-in  run-time  min-run  avg-run  max-run  ..`
        let Some((ids, numbers)) = line.rsplit_once(']') else { continue };
        let tid = ids.rsplit('[').next().and_then(|ids| ids.split('/').next()).expect("ids");
        let numbers: Vec<&str> = numbers.split_whitespace().collect();
        let Some(row) = of_tid.get(tid) else {
            assert_eq!(tid, "-1", "{line}");
            ended_ns += ms(numbers[2]);
            continue;
        };
        let ns = |column: usize| row[column].parse::<f64>().expect("a number");
        let (running, slices, longest) = (ns(2) - unfinished(tid), ns(7), ns(8));
        if (running - ms(numbers[2])).abs() > 1e3 {
            others.insert(tid, running - ms(numbers[2]));
        }
        assert!((longest - ms(numbers[5])).abs() <= 1e3 || unfinished(tid) == longest, "{line}: {row:?}");
        // perf counts a thread that ran before the first event with an empty run.
        let counted: f64 = numbers[1].parse().expect("a count");
        assert!((slices - counted).abs() <= 2.0, "{line}: {row:?}");
        compared += 1;
    }
    assert_eq!(compared, 33, "{expected}");
    // Two switches to this thread were lost, and perf attributes all time since the previous switch to it.
    let lost = others.remove("7901").expect("off");
    assert!((lost + 3_045_268.0).abs() <= 1e3, "{lost}");
    // perf attributes the last runs of exiting threads to no thread, in one line.
    let sum: f64 = others.values().sum();
    assert!(others.len() == 7 && (sum - ended_ns).abs() <= 8e3, "{others:?} and {ended_ns}");
    // The line of the first CPU: idle for 11.004 ms of 126.664.
    let cpus = scheduling(&data("perf_sched.data.gz"), &["--scheduling=cpu"]);
    let ((_, busy), rest) = cpus.first_key_value().expect("a CPU");
    let (busy, idle): (f64, f64) = (busy.parse().expect("busy"), rest[0].parse().expect("idle"));
    // The time of perf begins with the first switch.
    let before = busy + idle - 126_664e3;
    assert!((0.0..50e3).contains(&before) && (idle - before - 11_004e3).abs() <= 2e3, "{cpus:?}");
}

#[test]
fn scheduling_statistics_are_limited_to_the_scope_and_clipped_to_its_range() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("sched.pftrace");
    fs::write(&file, scheduling_trace()).expect("written");
    let key = |name: &str, tid: &str| (name.to_owned(), tid.to_owned());
    let whole = scheduling(&file, &["--scheduling"]);
    let row = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
    // The range has 8000 ns. The process is 5, which has no name.
    assert_eq!(whole[&key("worker", "7")], row(",5,6500,500,1000,0,0,2,4500,500,0.8125"));
    assert_eq!(whole[&key("other", "8")], row("other,8,3000,3000,0,0,0,1,3000,3000,0.375"));
    let part = scheduling(&file, &["--scheduling", "--from", "2500", "--to", "5000", "--thread", "worker"]);
    assert_eq!(part.len(), 1);
    // Times are clipped; the longest run and wait are not.
    assert_eq!(part[&key("worker", "7")], row(",5,1000,500,1000,0,0,2,4500,500,0.4"));
    let processes = scheduling(&file, &["--scheduling=process"]);
    assert_eq!(processes[&key("", "5")], row("1,6500,500,1000,0,0,2,4500,500,0.8125"));
    let json = longspan(&["stats", "--no-cache", "--scheduling=cpu", "--format", "jsonl", text(&file)]).done();
    let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let cpu = |cpu: u64, busy: u64, slices: u64, longest: u64| {
        let share = busy as f64 / 8000.0;
        json!({"cpu": cpu, "busy": busy, "idle": 8000 - busy, "slices": slices, "longest_run": longest, "utilisation": share})
    };
    assert_eq!(lines, [cpu(0, 5000, 2, 3000), cpu(1, 4500, 1, 4500)]);
}

#[test]
fn terms_that_do_not_apply_to_scheduling_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("sched.pftrace");
    fs::write(&file, scheduling_trace()).expect("written");
    let stderr = |filter| longspan(&["stats", "--no-cache", "--scheduling", "--filter", filter, text(&file)]).stderr;
    let said = "not applied to scheduling: `dur`; a thread is selected by `thread:`, `process:` or --track";
    assert!(stderr("dur>5s thread:worker").contains(said), "{}", stderr("dur>5s thread:worker"));
    assert!(!stderr("thread:worker").contains("not applied"), "{}", stderr("thread:worker"));
}

#[test]
fn a_trace_without_scheduling_prints_only_the_header_and_a_message() {
    let output = longspan(&["stats", "--no-cache", "--scheduling=cpu", text(&data("go_trace.json"))]);
    assert!(output.stderr.contains("this trace has no scheduling data"), "{}", output.stderr);
    assert_eq!(output.done(), "cpu,busy,idle,slices,longest_run,utilisation\n");
    let message = longspan(&["stats", "--scheduling", "--by", "name", text(&data("go_trace.json"))]).failed(2);
    assert!(message.contains("cannot be used with"), "{message}");
}

/// Each wakeup of a waiting thread is in the dump with its waker, as in the output of `perf script`.
#[test]
fn wakers_match_perf_script() {
    let script = gunzip(&data("perf_sched_script.txt.gz"));
    let mut wakings: BTreeSet<(i64, i64, i64)> = BTreeSet::new();
    for line in script.lines().filter(|line| line.contains(" sched:sched_wak")) {
        // `comm tid [cpu] seconds: sched:sched_waking: comm=.. pid=.. prio=..`
        let (head, fields) = line.split_once(" sched:sched_wak").expect("an event");
        let mut words = head.split_whitespace().rev();
        let time: String = words.next().expect("a time").chars().filter(char::is_ascii_digit).collect();
        let waker = words.nth(1).expect("a thread");
        let woken = fields.split(" pid=").nth(1).and_then(|rest| rest.split(' ').next()).expect("a thread");
        let number = |text: &str| text.parse::<i64>().expect("a number");
        wakings.insert((number(&time), number(woken), number(waker)));
    }
    for file in ["perf_sched_script.txt.gz", "perf_sched.data.gz"] {
        let dumped = dump(&data(file));
        let threads = dumped.iter().filter(|line| line["t"] == "thread");
        let tids: BTreeMap<u64, i64> =
            threads.filter_map(|thread| Some((thread["utid"].as_u64()?, thread["tid"].as_i64()?))).collect();
        let woken = dumped.iter().filter(|line| line["t"] == "thread_state" && line.get("waker_utid").is_some());
        let mut count = 0;
        for state in woken {
            let tid = |key: &str| tids[&state[key].as_u64().expect("a thread")];
            let waking = (state["ts"].as_i64().expect("a time"), tid("utid"), tid("waker_utid"));
            assert!(wakings.contains(&waking), "{file}: {state}");
            assert_eq!(state["state"], "R", "{file}: {state}");
            count += 1;
        }
        assert!(count > 100, "{file}: {count}");
    }
}

/// The states of a thread without the runs on CPUs are slices, so that no time is lost.
#[test]
fn a_perfetto_export_of_one_thread_has_all_of_its_cpu_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (data("perf_sched_script.txt.gz"), folder.path().join("out.pftrace"));
    let rows = scheduling(&file, &["--scheduling", "--thread", "7238"]);
    let running = rows.values().next().expect("a thread")[2].clone();
    longspan(&["export", "--no-cache", text(&file), "-o", text(&out), "--thread", "7238"]).done();
    let totals = longspan(&["stats", "--no-cache", text(&out)]).done();
    let of_running = records(&totals).into_iter().find(|row| row[0] == "Running").expect("states");
    assert!(of_running.contains(&running), "{of_running:?}, {running} ns");
    // A filter may leave out the runs, too.
    let filter = ["--filter", "cat:/^Running$/"];
    longspan(&[&["export", "--no-cache", text(&file), "-o", text(&out)][..], &filter].concat()).done();
    let count = |file: &Path, options: &[&str]| {
        let csv = longspan(&[&["stats", "--no-cache", text(file)][..], options].concat()).done();
        records(&csv).into_iter().map(|row| (row[0].clone(), row[2].clone())).collect::<Vec<_>>()
    };
    assert_eq!(count(&out, &[]), count(&file, &filter));
}

/// With several files, the threads and processes of each have the times and names that they have alone.
#[test]
fn scheduling_of_a_file_does_not_depend_on_other_files() {
    let (perf, ftrace) = (data("perf_sched_script.txt.gz"), data("ftrace.txt.gz"));
    for [first, second] in [[&perf, &ftrace], [&ftrace, &perf]] {
        for kind in ["--scheduling", "--scheduling=process"] {
            // The utilisation is of the whole range, which is longer.
            let without_utilisation = |rows: BTreeMap<(String, String), Vec<String>>| -> BTreeMap<_, _> {
                rows.into_iter().map(|(key, mut row)| (key, row.drain(..row.len() - 1).collect::<Vec<_>>())).collect()
            };
            let alone = without_utilisation(scheduling(second, &[kind]));
            let args = ["stats", "--no-cache", "--no-symbols", kind, text(first), text(second)];
            let both = records(&longspan(&args).done());
            let pid_column = if kind == "--scheduling" { 3 } else { 1 };
            let of_second = both.into_iter().filter_map(|mut row| {
                let (pid, file) = row[pid_column].split_once(" in ")?;
                assert!(text(second).ends_with(file), "{row:?}");
                row[pid_column] = pid.to_owned();
                Some(((row[0].clone(), row[1].clone()), row[2..].to_vec()))
            });
            assert_eq!(without_utilisation(of_second.collect()), alone, "{kind} of {}", text(second));
        }
    }
}

/// Only the lines of a thread have its process, so a switch to the thread or a wakeup may come first.
#[test]
fn a_thread_that_runs_before_its_process_is_known_is_one_thread() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("trace.txt");
    let switch = |line: &str, from: (&str, u64, &str), to: (&str, u64)| {
        let ((from, from_tid, state), (to, to_tid)) = (from, to);
        let before = format!("prev_comm={from} prev_pid={from_tid} prev_prio=120 prev_state={state}");
        format!("{line}: sched_switch: {before} ==> next_comm={to} next_pid={to_tid} next_prio=120\n")
    };
    let lines = [
        "# tracer: nop\n".to_owned(),
        switch("<idle>-0 (-----) [000] d..2 1.000000", ("swapper/0", 0, "R"), ("worker", 103)),
        switch("worker-103 ( 100) [000] d..2 1.001000", ("worker", 103, "S"), ("main", 100)),
        switch("main-100 ( 100) [000] d..2 2.000000", ("main", 100, "S"), ("swapper/0", 0)),
    ];
    fs::write(&file, lines.concat()).expect("written");
    let rows = scheduling(&file, &["--scheduling"]);
    let running = |thread: &str, tid: &str| {
        let row = &rows[&(thread.to_owned(), tid.to_owned())];
        (row[0].clone(), row[1].clone(), row[2].clone())
    };
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!(running("worker", "103"), ("main".to_owned(), "100".to_owned(), "1000000".to_owned()));
    assert_eq!(running("main", "100"), ("main".to_owned(), "100".to_owned(), "999000000".to_owned()));
    let dumped = dump(&file);
    assert!(!dumped.iter().any(|line| line["t"] == "process" && line["pid"] == 103), "{dumped:?}");
    let last = dumped.iter().find(|line| line["t"] == "thread_state" && line["state"] == "Running").expect("a state");
    assert_eq!((&last["ts"], &last["dur"]), (&json!(1_000_000_000), &json!(1_000_000)));
}
