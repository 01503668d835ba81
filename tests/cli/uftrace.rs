//! Recordings of uftrace: records a program, and compares the calls with the tool's own export.

use std::fs;
use std::process::Command;

use crate::harness::{folder, longspan, records, text};
use crate::recording::run;

/// A program with threads, recursion, a fork, arguments of all kinds and a function that never returns.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
double half(double x) { return x / 2; }
const char *greet(const char *name) { return name; }
char letter(char c, unsigned short s, long long wide) { return c + s + (wide > 0); }
void leave(void) { exit(0); }
void *work(void *unused) { fib(5); usleep(50); return unused; }
int main(void) {
    pthread_t threads[3];
    for (int k = 0; k < 3; k++) pthread_create(&threads[k], 0, work, 0);
    half(3.5);
    greet("a \"quoted\" name");
    greet(0);
    letter('x', 7, -1);
    for (int k = 0; k < 3; k++) pthread_join(threads[k], 0);
    if (fork() == 0) { fib(3); leave(); }
    fib(4);
    leave();
}
"#;

/// Returns start, duration, thread and name of each call. A call that never returns has no duration.
fn spans(trace: &str) -> Vec<(i64, Option<i64>, String, String)> {
    let output = longspan(&["spans", "--kind", "thread", trace]);
    let mut rows = Vec::new();
    for mut row in records(&output.done()) {
        let (ts, dur, tid, name) = (row[0].parse(), row[1].parse(), row.remove(6), row.remove(3));
        if !name.starts_with("linux:") {
            let returns = !matches!(&*name, "main" | "leave" | "exit");
            rows.push((ts.expect("a time"), dur.ok().filter(|_| returns), tid, name));
        }
    }
    rows.sort();
    rows
}

#[test]
fn calls_match_the_export_of_uftrace() {
    let folder = folder();
    let (source, program, recorded) =
        (folder.path().join("calls.c"), folder.path().join("calls"), folder.path().join("recorded"));
    fs::write(&source, PROGRAM).expect("written");
    run(Command::new("gcc").args(["-O0", "-g", "-pg", "-pthread", "-o"]).arg(&program).arg(&source));
    for options in [&[][..], &["-a"]] {
        fs::remove_dir_all(&recorded).ok();
        run(Command::new("uftrace").args(["record", "--no-pager", "-d"]).arg(&recorded).args(options).arg(&program));
        let exported = run(Command::new("uftrace").args(["dump", "--chrome", "--no-pager", "-d"]).arg(&recorded));
        let chrome = folder.path().join("chrome.json");
        fs::write(&chrome, exported).expect("written");
        let (own, theirs) = (spans(text(&recorded)), spans(text(&chrome)));
        assert!(own.len() > 60, "{} spans", own.len());
        assert_eq!(own.iter().filter(|row| row.3 == "fib").count(), 3 * 15 + 5 + 9);
        assert_eq!(own, theirs, "{options:?}");
        let info = longspan(&["info", text(&recorded)]).done();
        assert!(info.contains("losses       none"), "{info}");
    }
}
