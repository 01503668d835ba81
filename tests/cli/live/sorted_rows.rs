//! Rows of streams, compared with those of the sorted file: their threads, tracks and stacks.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::fed;
use crate::harness::{folder, longspan, text};

/// A row without what depends on the order of rows: time, duration, name, process, thread and its name, track.
type RowColumns = (i64, i64, [String; 5]);

/// Returns the rows that `tail` prints as JSON lines, sorted.
fn tailed(lines: &str) -> Vec<RowColumns> {
    let mut rows: Vec<RowColumns> = lines.lines().map(|line| row(&json(line))).collect();
    rows.sort_unstable();
    rows
}

/// Returns the slices of a file, sorted.
fn dumped(file: &Path) -> Vec<RowColumns> {
    let dump = longspan(&["dump", "--no-cache", text(file)]).done();
    let lines: Vec<Value> = dump.lines().map(json).collect();
    let found = |kind: &str, key: &str, id: &Value| lines.iter().find(|line| line["t"] == kind && line[key] == *id);
    let mut rows = Vec::new();
    for slice in lines.iter().filter(|line| line["t"] == "slice") {
        let track = found("track", "id", &slice["track"]).expect("its track");
        let thread = found("thread", "utid", &track["utid"]);
        let process = found("process", "upid", thread.map_or(&track["upid"], |thread| &thread["upid"]));
        let member = |object: Option<&Value>, key: &str| object.map_or(Value::Null, |object| object[key].clone());
        let mut columns = slice.clone();
        columns["pid"] = member(process, "pid");
        columns["tid"] = member(thread, "tid");
        columns["thread"] = member(thread, "name");
        columns["track"] = if thread.is_some() { Value::Null } else { track["name"].clone() };
        rows.push(row(&columns));
    }
    rows.sort_unstable();
    rows
}

fn json(line: &str) -> Value {
    serde_json::from_str(line).expect("JSON")
}

fn row(columns: &Value) -> RowColumns {
    let number = |key: &str| columns[key].as_i64().expect("a number");
    let shown = |key: &str| columns[key].as_str().map_or_else(|| columns[key].to_string(), str::to_owned);
    // A missing name is null or empty.
    let texts = ["name", "pid", "tid", "thread", "track"].map(shown).map(|text| text.replace("null", ""));
    (number("ts"), number("dur"), texts)
}

/// Checks that a stream has the spans and instants of the sorted file, with `tail` and with `record --keep`.
#[track_caller]
fn assert_same_rows(bytes: &[u8], name: &str) {
    let folder = folder();
    let (path, kept) = (folder.path().join(name), folder.path().join("kept.longspan"));
    fs::write(&path, bytes).expect("written");
    let expected = dumped(&path);
    assert!(!expected.is_empty());
    let (status, lines, stderr) = fed(&["tail", "-", "--format", "jsonl"], bytes, 1000);
    assert_eq!((status, tailed(&lines)), (Some(0), expected.clone()), "tail: {stderr}");
    let (status, _, stderr) = fed(&["record", "-", "-o", text(&kept), "--keep", "1h"], bytes, 1000);
    assert_eq!((status, dumped(&kept)), (Some(0), expected), "record --keep: {stderr}");
}

/// Returns the bytes of words of a Fuchsia trace.
fn fuchsia(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The magic number, and a clock of nanoseconds.
const FUCHSIA_HEAD: [u64; 3] = [0x0016_5478_4604_0010, 0x21, 1_000_000_000];

#[test]
fn threads_of_one_id_stay_in_the_processes_that_their_events_state() {
    // Threads 1 of processes 1 and 2, and three instants.
    let [thread_1, thread_2] = [[0x0001_0033, 1, 1], [0x0002_0033, 2, 1]];
    let instant = |thread: u64, ts: u64, name: u64| [0x8001_0000_0000_0034 | thread << 24, ts, name];
    let events = [instant(2, 10, 0x70), instant(1, 20, 0x71), instant(2, 30, 0x72)];
    let words = [&FUCHSIA_HEAD[..], &thread_1, &thread_2, &events.concat()].concat();
    assert_same_rows(&fuchsia(&words), "threads.fxt");
    let event = |task: &str, time: &str| format!("{task} [000] {time}: probe:f: (1)\n\n");
    let script = [event("a 2/1", "1.000001"), event("b 1/1", "1.000002"), event("a 2/1", "1.000003")].concat();
    assert_same_rows(script.as_bytes(), "threads.perf");
}

#[test]
fn tracks_of_async_spans_have_the_names_of_the_sorted_file() {
    let events = [
        r#""ph":"b","ts":10,"id":"1","name":"Request""#,
        r#""ph":"b","ts":11,"id":"1","name":"parse""#,
        r#""ph":"n","ts":12,"id":"1","name":"step""#,
        r#""ph":"e","ts":13,"id":"1","name":"Request""#,
        r#""ph":"n","ts":14,"id":"1","name":"late""#,
        r#""ph":"e","ts":15,"id":"1","name":"parse""#,
        r#""ph":"n","ts":16,"id":"2","name":"lone""#,
        r#""ph":"e","ts":17,"id":"3","name":"unmatched""#,
        r#""ph":"b","ts":18,"id":"1","name":"open""#,
    ];
    let events = events.map(|event| format!(r#"{{"cat":"net","pid":1,"tid":2,{event}}}"#)).join(",");
    assert_same_rows(format!("[{events}]").as_bytes(), "async.json");
    // Begin, instant and end of an id on a thread.
    let event = |kind: u64, ts: u64, name: u64| [0x8001_0000_0100_0044 | kind << 16, ts, name, 7];
    let events = [event(5, 10, 0x70), event(6, 12, 0x71), event(7, 15, 0x70)];
    let words = [&FUCHSIA_HEAD[..], &[0x0001_0033, 1, 2], &events.concat()].concat();
    assert_same_rows(&fuchsia(&words), "async.fxt");
}

#[test]
fn stacks_of_frames_before_their_events_are_kept_and_others_are_a_loss() {
    let folder = folder();
    let out = folder.path().join("kept.longspan");
    let frames = |name: &str| format!(r#""stackFrames":{{"1":{{"name":"{name}"}}}}"#);
    let events = r#""traceEvents":[{"ph":"P","pid":1,"tid":2,"ts":2,"name":"event","sf":1}]"#;
    let (first, last) = (frames("first"), frames("last"));
    let (before, after) = (format!("{{{first},{events}}}"), format!("{{{events},{last}}}"));
    for (document, functions, lost) in [
        (before.clone(), &["first"][..], 0),
        (after.clone(), &["[no frames]"], 1),
        // The frames of a document are not those of the next one.
        (format!("{before}\n{after}"), &["[no frames]", "first"], 1),
    ] {
        let args = ["record", "-", "-o", text(&out), "--keep", "1h"];
        let (status, _, stderr) = fed(&args, document.as_bytes(), 7);
        assert_eq!(status, Some(0), "{stderr}");
        let stacks = longspan(&["flame", text(&out), "--no-cache"]).done();
        let mut found: Vec<&str> = stacks.lines().map(|line| line.rsplit_once(' ').expect("a weight").0).collect();
        found.sort_unstable();
        assert_eq!(found, functions, "{document}");
        let info: Value = serde_json::from_str(&longspan(&["info", text(&out), "--json"]).done()).expect("JSON");
        let losses = info["losses"].as_array().expect("an array");
        assert_eq!(losses.iter().map(|loss| loss["count"].as_u64()).collect::<Vec<_>>(), vec![Some(1); lost], "{info}");
    }
}
