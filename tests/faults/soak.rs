//! Long recordings: memory stays constant after the first seconds, and every written span is there. Takes some seconds
//! each, and two minutes with `LONGSPAN_LONG_TESTS`, which `.ci/run --long` sets.

use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::{anonymous_kib, folder};

/// Limits the disk usage on fast machines.
const BYTES_MAX: u64 = 2 << 30;
const MEMORY: &str = "16MiB";
const MEMORY_KIB: u64 = 16 << 10;
/// Memory of a process in addition to its memory limit.
const BESIDE_KIB: u64 = 64 << 10;

fn length() -> Duration {
    Duration::from_secs(if std::env::var_os("LONGSPAN_LONG_TESTS").is_some() { 120 } else { 4 })
}

fn start(args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longspan"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("it starts")
}

/// Writes calls of eight spans on four threads, innermost first, with changing names and arguments, for the whole time.
/// A flow is inside of each call. Returns the number of spans, and the peak memory in each quarter of the time.
fn feed(child: &mut Child) -> (u64, [u64; 4]) {
    let mut out = BufWriter::new(child.stdin.take().expect("a pipe"));
    out.write_all(b"[\n").expect("taken");
    let (began, length) = (Instant::now(), length());
    let (mut spans, mut bytes, mut most_kib) = (0, 0, [0; 4]);
    let mut text = String::new();
    while began.elapsed() < length && bytes < BYTES_MAX {
        text.clear();
        for _ in 0..500 {
            let call = spans / 8;
            for depth in (0..8).rev() {
                let (tid, ts, dur) = (call % 4, call / 4 * 100 + depth, 90 - 2 * depth);
                writeln!(
                    text,
                    r#"{{"ph":"X","pid":1,"tid":{tid},"name":"f{}","ts":{ts},"dur":{dur},"args":{{"n":{spans}}}}},"#,
                    spans % 1000
                )
                .expect("into memory");
                spans += 1;
            }
            let (tid, ts) = (call % 4, call / 4 * 100 + 10);
            for (phase, ts) in [("s", ts), ("f", ts + 5)] {
                writeln!(
                    text,
                    r#"{{"ph":"{phase}","bp":"e","pid":1,"tid":{tid},"name":"flow","id":{call},"ts":{ts}}},"#
                )
                .expect("into memory");
            }
        }
        bytes += text.len() as u64;
        out.write_all(text.as_bytes()).expect("taken");
        let quarter = began.elapsed().as_millis() * 4 / length.as_millis();
        let most = &mut most_kib[usize::try_from(quarter).expect("small").min(3)];
        *most = (*most).max(anonymous_kib(child));
    }
    out.flush().expect("taken");
    (spans, most_kib)
}

#[track_caller]
fn assert_steady(most_kib: [u64; 4]) {
    let [first, .., last] = most_kib;
    assert!(most_kib.iter().all(|kib| *kib < MEMORY_KIB + BESIDE_KIB), "{most_kib:?}");
    // Memory does not grow with the input.
    assert!(last < first + (8 << 10), "{most_kib:?}");
}

fn spans_of(path: &Path) -> u64 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longspan"));
    let info = command.args(["info", "--json", "--no-cache"]).arg(path).output().expect("it runs").stdout;
    let info: serde_json::Value = serde_json::from_slice(&info).expect("JSON");
    info["spans"].as_u64().expect("a number")
}

#[test]
fn a_long_recording_has_constant_memory_and_every_span() {
    let folder = folder();
    let out = folder.path().join("out.longspan");
    let mut child = start(&["record", "-o", out.to_str().expect("text"), "--memory", MEMORY, "-"]);
    let (spans, most_kib) = feed(&mut child);
    assert!(child.wait().expect("it ends").success());
    assert_steady(most_kib);
    assert_eq!(spans_of(&out), spans);
}

#[test]
fn a_long_ring_buffer_recording_has_constant_memory_and_disk_usage() {
    let folder = folder();
    let out = folder.path().join("out.longspan");
    // This is trace time, in which a few hundred thousand calls take ten seconds.
    let args = ["record", "-o", out.to_str().expect("text"), "--memory", MEMORY, "--keep", "200ms", "-"];
    let mut child = start(&args);
    let (spans, most_kib) = feed(&mut child);
    assert!(child.wait().expect("it ends").success());
    assert_steady(most_kib);
    // Whole extents are dropped, so more than the requested time is retained.
    let retained = spans_of(&out);
    assert!(retained > 1000 && retained <= spans, "{retained} of {spans}");
}
