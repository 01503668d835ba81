//! Flame graphs of the times in which threads do not run.

use std::collections::BTreeMap;
use std::fs;

use crate::harness::{folder, longspan, records, text};

/// Returns folded stacks, by path.
fn folded(args: &[&str]) -> BTreeMap<String, u64> {
    let lines = longspan(&[&["flame", "--no-cache"], args].concat()).done();
    let split = |line: &str| {
        let (path, weight) = line.rsplit_once(' ').expect("a weight");
        (path.to_owned(), weight.parse().expect("a number"))
    };
    lines.lines().map(split).collect()
}

#[test]
fn switches_with_stacks_give_an_off_cpu_flame_graph_and_spans_of_thread_states() {
    let switch = |micros: u32, [previous, next]: [(&str, u32); 2], function: &str| {
        let (name, tid) = previous;
        let (next_name, next_tid) = next;
        format!(
            "{name} {tid}/{tid} [000] 1.{micros:06}: sched:sched_switch: prev_comm={name} prev_pid={tid} prev_prio=120 \
             prev_state=S ==> next_comm={next_name} next_pid={next_tid} next_prio=120\n\
             \tff {function}+0x1 ([kernel.kallsyms])\n\t55 main+0x1 (/bin/{name})\n\n"
        )
    };
    let (a, b) = (("a", 7), ("b", 9));
    let script = [
        switch(0, [a, b], "nanosleep"),
        switch(300, [b, a], "read"),
        switch(400, [a, b], "futex"),
        switch(1000, [b, a], "read"),
        switch(1001, [a, b], "exit"),
    ];
    let (folder, script) = (folder(), script.concat());
    let file = folder.path().join("switches.txt");
    fs::write(&file, script).expect("written");
    let file = text(&file);
    let mut found = folded(&[file]);
    found.retain(|_, weight| *weight > 0);
    let off_cpu = [("main;futex", 600_000), ("main;nanosleep", 300_000), ("main;read", 100_000 + 1_000)];
    assert_eq!(found, off_cpu.map(|(path, weight)| (path.to_owned(), weight)).into());
    assert_eq!(folded(&[file, "--event", "off-CPU", "--count"])["main;read"], 2);
    assert_eq!(folded(&[file, "--event", "sched:sched_switch", "--count"])["main;read"], 2);
    assert_eq!(folded(&[file, "--spans"])["Sleeping"], 300_000 + 100_000 + 600_000 + 1_000);
    longspan(&["flame", "--no-cache", file, "--spans", "--samples"]).failed(2);
    let samples = records(&longspan(&["stats", "--no-cache", file, "--samples", "--name", "^nanosleep"]).done());
    assert!(samples.iter().any(|row| row[..5] == ["off-CPU", "ns", "nanosleep", "300000", "300000"]), "{samples:?}");
}
