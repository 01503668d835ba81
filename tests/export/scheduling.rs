//! Exports of scheduling in which runs and switches share times, read back: no run is lost, moved or nested.

use std::fs;

use longspan::facade::export::{ExportFormat, ExportOptions};
use longspan::facade::query::Snapshot;
use longspan::facade::query::scope::Scope;
use proptest::prelude::*;

use super::{COMPACT, NATIVE, Seen, exported, load, seen};

/// Returns a text trace in which each step switches a CPU to a thread, 0 being idle, some microseconds after the last.
/// All CPUs are idle at its end.
fn switches(steps: &[(usize, u32, u32)]) -> String {
    let (mut at_us, mut running) = (100, [0; 2]);
    let mut lines = vec!["# tracer: nop\n#\n".to_owned()];
    let mut switch = |at_us: u32, cpu: usize, next: u32| {
        let previous = std::mem::replace(&mut running[cpu], next);
        let name = |tid: u32| if tid == 0 { format!("swapper/{cpu}") } else { format!("t{tid}") };
        let state = if previous == 0 { "R" } else { "S" };
        lines.push(format!(
            "  {0}-{previous}  [{cpu:03}] d..2 1.{at_us:06}: sched_switch: prev_comm={0} prev_pid={previous} \
             prev_prio=120 prev_state={state} ==> next_comm={1} next_pid={next} next_prio=120\n",
            name(previous),
            name(next),
        ));
    };
    for &(cpu, tid, later_us) in steps {
        at_us += later_us;
        switch(at_us, cpu, if tid == 0 { 0 } else { 10 * (cpu as u32 + 1) + tid });
    }
    for cpu in 0..2 {
        switch(at_us + 50, cpu, 0);
    }
    lines.concat()
}

/// Returns CPU, start, duration and thread of each run, in the order of a CPU's lane, by the definition of a switch.
fn expected_runs(steps: &[(usize, u32, u32)]) -> Vec<(usize, i64, u64, String)> {
    let mut runs = Vec::new();
    for cpu in 0..2 {
        let (mut at_us, mut current) = (100, None);
        let mut end = |at_us: i64, next: Option<u32>| {
            if let Some((since_us, tid)) = current {
                let ns = |us: i64| 1_000_000_000 + us * 1000;
                runs.push((cpu, ns(since_us), (at_us - since_us) as u64 * 1000, format!("t{tid}")));
            }
            current = next.map(|tid| (at_us, tid));
        };
        for &(on, tid, later_us) in steps {
            at_us += i64::from(later_us);
            if on == cpu {
                end(at_us, (tid != 0).then_some(10 * (cpu as u32 + 1) + tid));
            }
        }
        end(at_us + 50, None);
    }
    runs.sort();
    runs
}

/// Returns the runs of a trace in the same form.
fn runs(snapshot: &Snapshot) -> Vec<(usize, i64, u64, String)> {
    let is_run = |row: &Seen| row.track.starts_with("Cpu");
    let of = |row: Seen| {
        assert_eq!(row.depth, 0, "the runs of a CPU share a lane: {row:?}");
        let cpu = usize::from(row.track.contains("CPU 1"));
        (cpu, row.start_ns, row.dur_ns, row.name)
    };
    let mut runs: Vec<_> = seen(snapshot).into_iter().filter(is_run).map(of).collect();
    runs.sort();
    runs
}

fn check(text: &str, expected: &[(usize, i64, u64, String)]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("in.txt");
    fs::write(&path, text).expect("written");
    let snapshot = load(&path);
    assert_eq!(runs(&snapshot), expected, "{text}");
    for format in [NATIVE, COMPACT, ExportFormat::ChromeJson { gzip: false }, ExportFormat::Perfetto] {
        let back = exported(&snapshot, &ExportOptions::whole(format));
        assert_eq!(runs(&back), expected, "{format:?} of {text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn runs_at_one_time_survive_every_format(
        steps in prop::collection::vec((0..2usize, 0..4u32, prop::sample::select(vec![0, 0, 0, 7])), 1..40),
    ) {
        check(&switches(&steps), &expected_runs(&steps));
    }
}

/// An empty run before a run that lasts to the end once came after it in its lane. A native export with such a lane was
/// taken for a damaged file.
#[test]
fn an_empty_run_before_an_unfinished_one_keeps_its_order() {
    let text = "# tracer: nop\n#\n\
        <idle>-0 [001] d..2 1.000100: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> \
        next_comm=t5 next_pid=15 next_prio=120\n\
        t5-15 [001] d..2 1.000100: sched_switch: prev_comm=t5 prev_pid=15 prev_prio=120 prev_state=S ==> \
        next_comm=t6 next_pid=16 next_prio=120\n\
        t6-16 [001] d..2 1.000200: sched_waking: comm=t5 pid=15 prio=120 target_cpu=001\n";
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("in.txt");
    fs::write(&path, text).expect("written");
    let snapshot = load(&path);
    let expected = [(1, 1_000_100_000, 0, "t5".to_owned()), (1, 1_000_100_000, 100_000, "t6".to_owned())];
    assert_eq!(runs(&snapshot), expected);
    for format in [NATIVE, COMPACT, ExportFormat::ChromeJson { gzip: false }] {
        let back = exported(&snapshot, &ExportOptions::whole(format));
        assert_eq!(runs(&back), expected, "{format:?}");
        let unfinished: Vec<String> =
            seen(&back).into_iter().filter(|row| row.unfinished).map(|row| row.name).collect();
        assert!(unfinished.contains(&"t6".to_owned()) && !unfinished.contains(&"t5".to_owned()), "{unfinished:?}");
    }
}

/// An idle kernel thread, a preempted thread, an exit, and a wakeup as the last event.
const STATES: &str = "# tracer: nop\n#\n\
    bash-100 [000] d..2. 1.000000: sched_switch: prev_comm=bash prev_pid=100 prev_prio=120 prev_state=S ==> \
    next_comm=kw next_pid=57 next_prio=120\n\
    kw-57 [000] d..2. 1.000100: sched_switch: prev_comm=kw prev_pid=57 prev_prio=120 prev_state=I ==> \
    next_comm=bash next_pid=100 next_prio=120\n\
    bash-100 [000] d..2. 1.000300: sched_switch: prev_comm=bash prev_pid=100 prev_prio=120 prev_state=R+ ==> \
    next_comm=kw next_pid=57 next_prio=120\n\
    kw-57 [000] d..2. 1.000500: sched_switch: prev_comm=kw prev_pid=57 prev_prio=120 prev_state=X ==> \
    next_comm=bash next_pid=100 next_prio=120\n\
    bash-100 [000] d..2. 1.000600: sched_switch: prev_comm=bash prev_pid=100 prev_prio=120 prev_state=D ==> \
    next_comm=sh next_pid=7 next_prio=120\n\
    sh-7 [000] d..2. 1.000700: sched_waking: comm=bash pid=100 prio=120 target_cpu=000\n\
    sh-7 [000] d..2. 1.000900: sched_waking: comm=bash pid=100 prio=120 target_cpu=000\n";

/// Returns start, duration, name and category of each run and state, and whether it has no end.
fn scheduling(snapshot: &Snapshot) -> Vec<(i64, u64, String, Option<String>, bool)> {
    let is_task = |row: &Seen| row.track.starts_with("Cpu") || row.track.starts_with("State");
    let of = |row: Seen| (row.start_ns, row.dur_ns, row.name, row.category, row.unfinished);
    let mut rows: Vec<_> = seen(snapshot).into_iter().filter(is_task).map(of).collect();
    rows.sort();
    rows
}

#[test]
fn thread_states_keep_names_and_durations_in_full_and_partial_exports_of_every_format() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("in.txt");
    fs::write(&path, STATES).expect("written");
    let snapshot = load(&path);
    let all = scheduling(&snapshot);
    assert!(all.iter().any(|row| row.2 == "Idle") && all.iter().any(|row| row.2 == "Runnable (preempted)"));
    assert!(all.contains(&(1_000_600_000, 300_000, "sh".to_owned(), None, true)), "{all:?}");
    let us = |us: i64| 1_000_000_000 + us * 1000;
    for (from, to) in [(0, 1000), (0, 50), (50, 250), (250, 400), (400, 650), (650, 800), (550, 1000)] {
        let scope = Scope::from_range(Some(us(from)), Some(us(to)));
        let is_in = |row: &&(i64, u64, String, Option<String>, bool)| {
            row.0 < us(to) && (row.0 >= us(from) || row.0 + row.1 as i64 > us(from))
        };
        let expected: Vec<_> = all.iter().filter(is_in).cloned().collect();
        for format in [NATIVE, COMPACT, ExportFormat::ChromeJson { gzip: false }, ExportFormat::Perfetto] {
            let back = exported(&snapshot, &ExportOptions { scope: scope.clone(), ..ExportOptions::whole(format) });
            assert_eq!(scheduling(&back), expected, "{format:?} of {from} to {to}");
        }
    }
}

/// Thread 0 is idle, so a run of it would be lost.
#[test]
fn runs_on_a_cpu_without_a_thread_are_spans_in_a_perfetto_trace() {
    let run = |cpu: u32, ts: u32, name: &str, args: &str| {
        format!(r#"{{"ph":"X","tid":"CPU {cpu}","ts":{ts},"dur":2,"name":"{name}","cpu":"{cpu}","args":{args}}}"#)
    };
    let unknown = [
        run(0, 1, "alpha", "{}"),
        run(0, 5, "beta", r#"{"note":"x"}"#),
        run(0, 8, "text", r#"{"tid":"7"}"#),
        run(0, 11, "idle", r#"{"tid":0}"#),
    ];
    let known = run(1, 5, "gamma", r#"{"tid":7,"prio":120,"end_state":"S"}"#);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("in.json");
    fs::write(&path, format!("[{},{known}]", unknown.join(","))).expect("written");
    let back = folder.path().join("back");
    super::export_to(&load(&path), &back, &ExportOptions::whole(ExportFormat::Perfetto));
    let rows: Vec<_> = seen(&load(&back)).into_iter().map(|row| (row.name, row.start_ns, row.dur_ns)).collect();
    for (name, start_ns) in [("alpha", 1000), ("beta", 5000), ("text", 8000), ("idle", 11_000), ("gamma", 5000)] {
        assert!(rows.contains(&(name.to_owned(), start_ns, 2000)), "{name}: {rows:?}");
    }
}
