//! Recordings of perf and Perfetto, followed while they are written, have the rows of the finished file.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use super::{fed, slices, wait_until};
use crate::harness::{command, data, folder, longspan, text};

/// Returns the number of rows of each kind.
fn count_by_kind(lines: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in lines.lines() {
        let row: Value = serde_json::from_str(line).expect("JSON");
        *counts.entry(row["t"].as_str().expect("a kind").to_owned()).or_default() += 1;
    }
    counts
}

fn unpacked(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let packed = fs::read(data(name)).expect("test data");
    std::io::copy(&mut flate2::read::GzDecoder::new(&*packed), &mut bytes).expect("gzip");
    bytes
}

#[test]
fn a_followed_recording_has_the_rows_of_the_finished_one() {
    let folder = folder();
    let path = folder.path().join("recording");
    for (name, kind) in [("perf_pipe.data.gz", "sample"), ("chromium.pftrace.gz", "slice")] {
        let bytes = unpacked(name);
        fs::write(&path, &bytes).expect("a file");
        let expected = longspan(&["dump", text(&path), "--no-cache"]).done();
        let expected_counts = count_by_kind(&expected);
        assert!(expected_counts[kind] > 100, "{name}: {expected_counts:?}");
        for piece in [1000, 1 << 20] {
            let (status, found, errors) = fed(&["tail", "-", "--format", "jsonl"], &bytes, piece);
            assert_eq!(status, Some(0), "{name}: {errors}");
            assert_eq!(count_by_kind(&found)[kind], expected_counts[kind], "{name} in pieces of {piece}: {errors}");
            let starts = |lines: &str| slices(lines).into_iter().map(|(ts, _, name)| (ts, name)).collect::<Vec<_>>();
            assert_eq!(starts(&found), starts(&expected), "{name} in pieces of {piece}");
        }
    }
}

#[test]
fn the_last_packet_is_shown_while_the_recorder_is_silent() {
    /// A `TracePacket` with a time, sequence 1, and a `TrackEvent`: an instant with a name, on track 5.
    fn packet(ts_ns: u8) -> Vec<u8> {
        let event = [0x48, 3, 0xba, 1, 1, b'a', 0x58, 5];
        let body = [&[0x40, ts_ns, 0x50, 1, 0x5a, 8][..], &event].concat();
        [&[0x0a, 14][..], &body].concat()
    }
    let mut child = command(&["tail", "-", "--format", "jsonl", "--delay", "0ms"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    let mut output = child.stdout.take().expect("a pipe");
    let received = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = std::sync::Arc::clone(&received);
    let reader = std::thread::spawn(move || {
        let mut block = [0; 4096];
        while let Ok(len @ 1..) = std::io::Read::read(&mut output, &mut block) {
            sink.lock().expect("no panic").extend_from_slice(&block[..len]);
        }
    });
    let count = || memchr::memchr_iter(b'\n', &received.lock().expect("no panic")).count();
    for sent in 1..4 {
        input.write_all(&packet(sent)).expect("it reads");
        wait_until(|| count() >= usize::from(sent));
    }
    drop(input);
    assert!(child.wait().expect("it ends").success());
    reader.join().expect("read");
    assert_eq!(count(), 3);
}
