//! Tests of function graphs, on generated text.

use super::super::function_calls::STACKS_MAX;
use super::*;
use crate::formats::testing::{Reading, read};
use crate::model::{EventKind, Id, Metadata};
use proptest::prelude::*;

/// Returns start, value, kind, name and thread of the events.
fn seen(reading: &Reading) -> Vec<(i64, u64, EventKind, &str, String)> {
    let of = |event: &crate::formats::testing::ReadEvent| event.track.tid.to_string();
    reading.events.iter().map(|event| (event.ts_ns, event.value, event.kind, &*event.name, of(event))).collect()
}

#[test]
fn without_times_functions_follow_each_other_by_their_durations_on_each_cpu() {
    let reading = read(
        "# tracer: function_graph\n#\n# CPU  DURATION                  FUNCTION CALLS\n# |     |   |\n\
         \x20 0)               |  sys_open() {\n\
         \x20 0)   0.541 us    |    getname();\n\
         \x20 1)   7 us        |  elsewhere [mod]();\n\
         \x20 0)               |    do_filp_open() {\n\
         \x20 0) + 12.5 us     |      path_walk();\n\
         \x20 0)               |      /* sched_waking: comm=a pid=7 */\n\
         \x20 0) ! 100.000 us  |    }\n\
         \x20 0)   ==========> |\n\
         \x20 0)   1.000 us    |    smp_irq();\n\
         \x20 0)   <========== |\n\
         \x20 0) @ 150.1 us    |  } /* sys_open */\n\
         \x20 0)   2 us        |  next();\n\
         \x20 1)               |  left() {\n\
         \x20 1)   3.0 us      |  }\n\
         \x20 1)   3.0 us      |  }\n\
         \x20 1)               |  open() {\n",
    );
    let complete = EventKind::Complete;
    let [cpu0, cpu1] = ["CPU 0", "CPU 1"].map(String::from);
    let mut expected = vec![
        (0, 150_100, complete, "sys_open", cpu0.clone()),
        (0, 541, complete, "getname", cpu0.clone()),
        (541, 100_000, complete, "do_filp_open", cpu0.clone()),
        (541, 12_500, complete, "path_walk", cpu0.clone()),
        (13_041, 0, EventKind::Instant, "sched_waking", cpu0.clone()),
        (100_541, 1000, complete, "smp_irq", cpu0.clone()),
        (150_100, 2000, complete, "next", cpu0),
        (0, 7000, complete, "elsewhere [mod]", cpu1.clone()),
        (7000, 3000, complete, "left", cpu1.clone()),
        (10_000, 0, EventKind::Begin, "open", cpu1),
    ];
    let mut found = seen(&reading);
    let key = |row: &(i64, u64, EventKind, &str, String)| (row.4.clone(), row.0, row.3.to_owned());
    found.sort_by_key(key);
    expected.sort_by_key(key);
    assert_eq!(found, expected);
    assert_eq!(reading.lost(), [(Loss::UnmatchedEnd, 1), (Loss::NoTimes, 1)]);
    let advice = reading.losses.iter().map(|lost| lost.advice.into_owned()).collect::<String>();
    assert!(advice.contains("funcgraph-abstime") && !advice.contains("perf script"), "{advice}");
}

#[test]
fn arguments_and_results_are_arguments_of_the_spans() {
    let kernel = "# tracer: function_graph\n#\n\
         \x20 1)               |  cgroup_attach_task(dst=0x1, leader=1) {\n\
         \x20 1)               |    cgroup_migrate() {\n\
         \x20 1)   0.651 us    |      cgroup_migrate_add_task(task=0x7); /* = 0xffff93fcfd346c00 */\n\
         \x20 1) + 19.379 us   |    } /* cgroup_migrate = -22 */\n\
         \x20 1) + 26.379 us   |  } /* cgroup_attach_task ret=-22 */\n\
         \x20 1)               |  open(x=1) {\n";
    let trace_cmd = "cpus=2\n\
         sh-48 [001] 1.000001: funcgraph_entry:                   |  cgroup_attach_task(dst=0x1, leader=1) {\n\
         sh-48 [001] 1.000002: funcgraph_entry:                   |    cgroup_migrate() {\n\
         sh-48 [001] 1.000003: funcgraph_entry:        0.651 us   |      cgroup_migrate_add_task(task=0x7); (ret=0xffff93fcfd346c00)\n\
         sh-48 [001] 1.000022: funcgraph_exit:       + 19.379 us  |    } (ret=-22)\n\
         sh-48 [001] 1.000028: funcgraph_exit:       + 26.379 us  |  } (ret=-22)\n\
         sh-48 [001] 1.000029: funcgraph_entry:                   |  open(x=1) {\n";
    for text in [kernel, trace_cmd] {
        let reading = read(text);
        let found: Vec<_> = reading.events.iter().map(|event| (&*event.name, &*event.args)).collect();
        let expected = [
            ("cgroup_attach_task", r#"{"args":"dst=0x1, leader=1","ret":"-22"}"#),
            ("cgroup_migrate", r#"{"ret":"-22"}"#),
            ("cgroup_migrate_add_task", r#"{"args":"task=0x7","ret":"0xffff93fcfd346c00"}"#),
            ("open", r#"{"args":"x=1"}"#),
        ];
        assert_eq!(found, expected, "{text}");
        assert!(reading.lost().iter().all(|lost| lost.0 == Loss::NoTimes), "{:?}", reading.lost());
    }
}

#[test]
fn ended_functions_do_not_count_towards_the_limit() {
    let mut text = "# tracer: function_graph\n#\n".to_owned();
    let tasks = STACKS_MAX + 10;
    for tid in 1..=tasks {
        text.extend([
            format!(" 1.000000 |  0)  a-{tid}  |               |  f() {{\n"),
            format!(" 1.000002 |  0)  a-{tid}  |   2.000 us    |  }}\n"),
        ]);
    }
    let reading = read(&text);
    assert_eq!((reading.events.len(), reading.lost()), (tasks, vec![]));
}

#[test]
fn beyond_the_limit_of_tasks_only_new_tasks_are_lost() {
    let mut text = "# tracer: function_graph\n#\n".to_owned();
    for tid in 1..=STACKS_MAX + 1 {
        text.extend([format!(" 1.000000 |  0)  a-{tid}  |               |  f() {{\n")]);
    }
    text += " 1.000002 |  0)  a-1  |   2.000 us    |  }\n 1.000003 |  0)  a-2  |   2.000 us    |  g();\n";
    let reading = read(&text);
    assert_eq!(reading.lost(), [(Loss::OverLimit, 1)]);
    assert_eq!(reading.events.iter().filter(|event| event.kind == EventKind::Complete).count(), 2);
}

/// A function with its self time and its callees.
#[derive(Debug, Clone)]
struct MeantCall(u64, Vec<MeantCall>);

impl MeantCall {
    fn dur_ns(&self) -> u64 {
        self.0 + self.1.iter().map(MeantCall::dur_ns).sum::<u64>()
    }

    /// Prints the function and records its start and duration; its callees run first.
    fn draw(&self, start_ns: u64, text: &mut String, told: &mut Vec<(i64, u64)>) {
        let us = format!("{}.{:03} us", self.dur_ns() / 1000, self.dur_ns() % 1000);
        told.push((start_ns as i64, self.dur_ns()));
        if self.1.is_empty() {
            text.extend([" 3) ", &us, " | f();\n"]);
            return;
        }
        text.push_str(" 3)  | f() {\n");
        let mut now_ns = start_ns;
        for call in &self.1 {
            call.draw(now_ns, text, told);
            now_ns += call.dur_ns();
        }
        text.extend([" 3) ", &us, " | }\n"]);
    }
}

fn calls() -> impl Strategy<Value = Vec<MeantCall>> {
    let leaf = (0u64..5000).prop_map(|dur_ns| MeantCall(dur_ns, Vec::new()));
    let call = leaf.prop_recursive(4, 24, 4, |inner| {
        (0u64..5000, proptest::collection::vec(inner, 1..4)).prop_map(|(dur_ns, calls)| MeantCall(dur_ns, calls))
    });
    proptest::collection::vec(call, 1..6)
}

proptest! {
    #[test]
    fn any_calls_without_times_have_their_durations_and_follow_each_other(calls in calls()) {
        let (mut text, mut expected, mut now_ns) = ("# tracer: function_graph\n".to_owned(), Vec::new(), 0);
        for call in &calls {
            call.draw(now_ns, &mut text, &mut expected);
            now_ns += call.dur_ns();
        }
        let reading = read(&text);
        let mut found: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, event.value)).collect();
        found.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(reading.lost(), [(Loss::NoTimes, 1)]);
    }
}

/// Returns start, duration, depth and name of the spans. A span is inside the last one that has not ended.
fn nested(reading: &Reading) -> Vec<(i64, u64, usize, &str)> {
    let spans = reading.events.iter().filter(|event| event.kind == EventKind::Complete);
    let mut spans: Vec<_> = spans.map(|span| (span.ts_ns, span.value, 0, &*span.name)).collect();
    // Longer spans go first, equal ones in file order.
    spans.sort_by_key(|&(start_ns, dur_ns, ..)| (start_ns, std::cmp::Reverse(dur_ns)));
    let mut ends_ns: Vec<i64> = Vec::new();
    for (start_ns, dur_ns, depth, name) in &mut spans {
        ends_ns.retain(|end_ns| end_ns > start_ns);
        let end_ns = start_ns.strict_add_unsigned(*dur_ns);
        assert!(ends_ns.iter().all(|caller_ns| *caller_ns >= end_ns), "{name} overlaps");
        *depth = ends_ns.len();
        ends_ns.push(end_ns);
    }
    spans
}

#[test]
fn functions_of_equal_times_are_inside_their_callers_and_as_long_as_recorded() {
    let lines = [
        (1, "        ", "outer() {"),
        (1, "0.850 us", "  leaf1();"),
        (2, "0.700 us", "  leaf2();"),
        (2, "1.900 us", "}"),
        (5, "        ", "quick() {"),
        (5, "0.300 us", "  inner();"),
        (5, "0.500 us", "}"),
        (7, "        ", "same1() {"),
        (7, "        ", "  same2() {"),
        (7, "0.500 us", "    same3();"),
        (7, "0.500 us", "  }"),
        (7, "0.500 us", "}"),
    ];
    let expected = [
        (1000, 1900, 0, "outer"),
        (1000, 850, 1, "leaf1"),
        (2000, 700, 1, "leaf2"),
        (5000, 500, 0, "quick"),
        (5000, 300, 1, "inner"),
        (7000, 500, 0, "same1"),
        (7000, 500, 1, "same2"),
        (7000, 500, 2, "same3"),
    ];
    let mut drawn = "# tracer: function_graph\n".to_owned();
    let mut events = "cpus=1\n".to_owned();
    for (us, dur, code) in lines {
        let kind = if code.ends_with('}') { "exit" } else { "entry" };
        drawn.extend([format!(" 0.00000{us} |   1)   {dur} |  {code}\n")]);
        events.extend([format!("  a-7  [001]  0.00000{us}: funcgraph_{kind}:  {dur} |  {code}\n")]);
    }
    assert_eq!(nested(&read(&drawn)), expected);
    assert_eq!(nested(&read(&events)), expected);
}

#[test]
fn a_caller_ends_no_earlier_than_its_callees_and_sleeps_that_its_duration_excludes_count() {
    let reading = read(
        "# tracer: function_graph\n 0)               |  o() {\n 0)   0.100 us    |    x();\n\
         \x20 0)   0.100 us    |    y();\n 0)   0.150 us    |  }\n",
    );
    assert_eq!(nested(&reading), [(0, 200, 0, "o"), (0, 100, 1, "x"), (100, 100, 1, "y")]);
    let reading = read(
        "# tracer: function_graph\n 1.000001 | 0)               |  schedule() {\n\
         \x20 1.700000 | 0)   2.500 us    |  }\n 1.700000 | 0)   0.5 us    |  next();\n",
    );
    let expected = [(1_000_001_000, 699_999_000, 0, "schedule"), (1_700_000_000, 500, 0, "next")];
    assert_eq!(nested(&reading), expected);
}

/// A function that runs for so many nanoseconds before, between and after its callees.
#[derive(Debug, Clone)]
struct TimedCall(u64, Vec<TimedCall>);

/// A recorded line: time, duration and code.
type TimedLine = (u64, Option<u64>, String);

impl TimedCall {
    /// Runs the function: adds its lines, and its start, duration and depth.
    fn run(&self, now_ns: &mut u64, depth: usize, lines: &mut Vec<TimedLine>, told: &mut Vec<(u64, u64, usize)>) {
        let (start_ns, number) = (*now_ns, told.len());
        told.push((start_ns, 0, depth));
        *now_ns += self.0;
        if !self.1.is_empty() {
            lines.push((start_ns, None, format!("f{number}() {{")));
        }
        for call in &self.1 {
            call.run(now_ns, depth + 1, lines, told);
            *now_ns += self.0;
        }
        told[number].1 = *now_ns - start_ns;
        let code = if self.1.is_empty() { format!("f{number}();") } else { "}".to_owned() };
        let ts_ns = if self.1.is_empty() { start_ns } else { *now_ns };
        lines.push((ts_ns, Some(*now_ns - start_ns), code));
    }
}

fn timed_calls() -> impl Strategy<Value = Vec<TimedCall>> {
    let leaf = (1u64..900).prop_map(|own_ns| TimedCall(own_ns, Vec::new()));
    let call = leaf.prop_recursive(5, 60, 4, |inner| {
        (1u64..300, proptest::collection::vec(inner, 1..4)).prop_map(|(own_ns, calls)| TimedCall(own_ns, calls))
    });
    proptest::collection::vec(call, 1..8)
}

proptest! {
    #[test]
    fn calls_whose_times_are_cut_to_microseconds_have_their_depths_and_durations(calls in timed_calls()) {
        let (mut lines, mut told, mut now_ns) = (Vec::new(), Vec::new(), 1_000_000_000);
        for call in &calls {
            call.run(&mut now_ns, 0, &mut lines, &mut told);
            now_ns += 50;
        }
        let mut drawn = "# tracer: function_graph\n".to_owned();
        let mut events = "cpus=1\n".to_owned();
        for (ts_ns, dur_ns, code) in lines {
            let time = format!("{}.{:06}", ts_ns / 1_000_000_000, ts_ns / 1000 % 1_000_000);
            let dur = dur_ns.map_or(String::new(), |dur_ns| format!("{}.{:03} us", dur_ns / 1000, dur_ns % 1000));
            let kind = if code == "}" { "exit" } else { "entry" };
            drawn.extend([format!(" {time} |   0)   bash-7   |  {dur}  |  {code}\n")]);
            events.extend([format!("  bash-7  [000]  {time}: funcgraph_{kind}:  {dur}  |  {code}\n")]);
        }
        for text in [drawn, events] {
            let reading = read(&text);
            prop_assert_eq!(reading.lost(), []);
            let found = nested(&reading);
            prop_assert_eq!(found.len(), told.len());
            for (number, (&(start_ns, dur_ns, depth, name), meant)) in found.iter().zip(&told).enumerate() {
                prop_assert_eq!((name, depth), (&*format!("f{number}"), meant.2));
                // Times are known to the microsecond only.
                prop_assert!(meant.0.abs_diff(start_ns.cast_unsigned()) < 1000, "{} for {}", start_ns, meant.0);
                prop_assert!((meant.1..meant.1 + 1000).contains(&dur_ns), "{} for {}", dur_ns, meant.1);
            }
        }
    }
}

#[test]
fn with_times_and_tasks_functions_are_on_their_threads_at_their_times() {
    let reading = read(
        "# tracer: function_graph\n\
         \x20 360.774522 |   1)   bash-39a-94   |               |  a() {\n\
         \x20 360.774523 |   1)   bash-39a-94   |   0.541 us    |    b(); /* = 0x0 */\n\
         \x20 360.774530 |   0)  <idle>-0       |   0.5 us      |  idle();\n\
         \x20 360.774540 |   0)   bash-39a-94   | d..1. |  9.0 us      |  } /* a = 0x1 */\n",
    );
    let complete = EventKind::Complete;
    let expected = [
        (360_774_522_000, 18_000, complete, "a", "94".to_owned()),
        (360_774_523_000, 541, complete, "b", "94".to_owned()),
        (360_774_530_000, 500, complete, "idle", "CPU 0".to_owned()),
    ];
    assert_eq!(seen(&reading), expected);
    assert_eq!(reading.lost(), []);
    let name = Metadata::KernelName { pid: Id::Number(94), tid: Id::Number(94), name: "bash-39a".into() };
    assert_eq!(reading.metadata, [name]);
}

#[test]
fn a_switch_names_the_tasks_of_the_functions_before_and_after_it() {
    let reading = read(
        "# tracer: function_graph\n\
         \x20 2)               |  schedule() {\n\
         \x20------------------------------------------\n\
         \x20 2)    bash-7     =>    kworker/2:1-8\n\
         \x20------------------------------------------\n\n\
         \x20 2)   4 us        |  work();\n\
         \x20------------------------------------------\n\
         \x20 2)  kworker/2:1-8 => bash-7\n\
         \x20------------------------------------------\n\
         \x20 2)   9 us        |  }\n",
    );
    let complete = EventKind::Complete;
    let expected = [(0, 4000, complete, "work", "8".to_owned()), (0, 9000, complete, "schedule", "7".to_owned())];
    assert_eq!(seen(&reading), expected);
    assert_eq!(reading.lost(), [(Loss::NoTimes, 1)]);
}

#[test]
fn lines_that_are_cut_or_damaged_cost_themselves_only() {
    let whole = " 0)               |  f() {\n 0)   1.5 us      |    g();\n 0)   2.5 us      |  }\n";
    let text = format!("# tracer: function_graph\n{whole}");
    let undamaged = read(&text);
    let undamaged = seen(&undamaged);
    assert_eq!(undamaged.len(), 2);
    for len in 0..=text.len() {
        let head = &text[..len];
        let Ok(reading) = crate::formats::testing::read_bytes(head.as_bytes()) else { continue };
        let leaves = head.matches("g();").count();
        assert_eq!(reading.events.iter().filter(|event| event.name == "g").count(), leaves, "{len}");
    }
    for (line, lost) in [(" 0) x us | g();", Loss::BadNumber), (" 0) nonsense | g();", Loss::BadRecord)] {
        let reading = read(&format!("{text}{line}\n"));
        assert_eq!(reading.losses.count(lost), 1, "{line}");
        assert_eq!(seen(&reading)[..2], undamaged, "{line}");
    }
    for line in ["0)", "|", "0) |", "0) | ", "1.5 | 2) | 3 us |", "0) a-1 => ", "99999999999) | f();", "0) } | x"] {
        assert_eq!(GraphLine::from_line(line.as_bytes()), None, "{line}");
    }
}

#[test]
fn relative_times_are_whole_microseconds_in_the_latency_format() {
    // As the kernel's documentation has it.
    let reading = read(
        "# tracer: irqsoff\n#   REL TIME      CPU  TASK/PID       ||||     DURATION                  FUNCTION CALLS\n\
         \x20       0 us |   0)   bash-1507    |  d... |   0.000 us    |  _raw_spin_lock_irqsave();\n\
         \x20       1 us |   0)   bash-1507    |  d..2 |               |    set_track() {\n\
         \x20       2 us |   0)   bash-1507    |  d..2 |   0.100 us    |      save();\n\
         \x20    3750 us |   0)   bash-1507    |  d..1 | 3749.500 us   |    }\n",
    );
    let found: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, event.value, &*event.name)).collect();
    let expected = [(0, 0, "_raw_spin_lock_irqsave"), (1000, 3_749_500, "set_track"), (2000, 100, "save")];
    assert_eq!((found, reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn calls_before_the_first_switch_of_a_cpu_are_of_the_task_that_leaves_it() {
    let reading = read(
        "# tracer: function_graph\n 0)               |  vfs_read() {\n 0)   0.500 us    |    rw_verify_area();\n\
         \x200)               |      /* sched_waking: comm=a pid=7 */\n 1)   0.500 us    |  elsewhere();\n\
         \x200) + 12.000 us   |  }\n ------------------------------------------\n 0)   cat-55   =>  bash-66\n\
         \x20------------------------------------------\n\n 0) ! 150.000 us  |  schedule();\n",
    );
    let mut found: Vec<_> = seen(&reading).into_iter().map(|(.., name, thread)| (name, thread)).collect();
    found.sort();
    let expected = [
        ("elsewhere", "CPU 1"),
        ("rw_verify_area", "55"),
        ("sched_waking", "55"),
        ("schedule", "66"),
        ("vfs_read", "55"),
    ];
    assert_eq!(found, expected.map(|(name, thread)| (name, thread.to_owned())));
    assert_eq!(reading.lost(), [(Loss::NoTimes, 1)]);
}
