//! Recordings of Callgrind: records a program, and compares the costs of its functions with `callgrind_annotate`.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use crate::harness::{folder, longspan, records, text};
use crate::recording::run;

/// A program with calls, recursion and functions of the C library.
const PROGRAM: &str = r#"
#include <stdio.h>
static int cold(int n) { int s = 0; for (int i = 0; i < n; i++) s += i ^ (s << 1); return s; }
static int hot(int n) { int s = 0; for (int i = 0; i < n; i++) s += cold(i % 50); return s; }
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void) { printf("%d %d\n", hot(2000), fib(12)); return 0; }
"#;

/// Returns the own cost of each function from lines such as ` 28,013 ( 6.09%)  w.c:hot [/tmp/w]`.
fn annotated(lines: &str) -> BTreeMap<String, u64> {
    let mut costs = BTreeMap::new();
    for line in lines.lines() {
        let Some((cost, function)) = line.split_once("%)  ") else { continue };
        let (Some((cost, _)), false) = (cost.split_once('('), function == "PROGRAM TOTALS") else { continue };
        let cost: u64 = cost.trim().replace(',', "").parse().expect("a cost");
        let function = function.rsplit_once(" [").map_or(function, |(function, _)| function);
        let name = function.rsplit_once(':').map_or(function, |(_, name)| name);
        // The lines of sources follow the functions.
        if function.contains(':') {
            *costs.entry(name.to_owned()).or_default() += cost;
        }
    }
    costs
}

#[test]
fn the_own_cost_of_each_function_is_that_of_callgrind_annotate() {
    let folder = folder();
    let (source, program, recorded) =
        (folder.path().join("w.c"), folder.path().join("w"), folder.path().join("callgrind.out"));
    fs::write(&source, PROGRAM).expect("written");
    run(Command::new("gcc").args(["-O1", "-g", "-fno-inline", "-o"]).arg(&program).arg(&source));
    let out = format!("--callgrind-out-file={}", text(&recorded));
    run(Command::new("valgrind").args(["--tool=callgrind", "--quiet", &out]).arg(&program));
    let lines = run(Command::new("callgrind_annotate").args(["--threshold=100", "--auto=no"]).arg(&recorded));
    let expected = annotated(&lines);
    assert!(expected["cold"] > expected["hot"] && expected.contains_key("fib"), "{lines}");
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for row in records(&longspan(&["stats", "--no-cache", "--samples", text(&recorded)]).done()) {
        // The file of a function is in brackets behind its name.
        let name = row[2].rsplit_once(" (").map_or(&*row[2], |(name, _)| name);
        *found.entry(name.to_owned()).or_default() += row[3].parse::<u64>().expect("a cost");
    }
    found.retain(|_, cost| *cost > 0);
    assert_eq!(found, expected);
}
