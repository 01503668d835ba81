//! Exports traces as Perfetto protobuf and Chrome JSON, and reads them back: same spans with arguments, flows, values
//! and samples.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::harness::{data, folder, longspan, text};

/// Number of occurrences of each item in a trace, without numbers that the dump assigns.
type Counted = BTreeMap<String, u64>;

/// Returns the content of a dump, with all times moved. With `with_tracks`, slices include their thread or track name.
/// Samples have only the arguments that `is_json` or the protobuf supports. States are compared by the letters that all
/// formats have.
fn counted(file: &Path, with_tracks: bool, later_ns: i64, is_json: bool) -> Counted {
    let dump = longspan(&["dump", "--no-cache", "--no-symbols", text(file)]).done();
    let lines: Vec<Value> = dump.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let of = |kind: &'static str| lines.iter().filter(move |line| line["t"] == kind);
    let by = |kind, id: &str| of(kind).map(|line| (line[id].to_string(), line)).collect::<BTreeMap<_, _>>();
    let (threads, tracks, slices) = (by("thread", "utid"), by("track", "id"), by("slice", "id"));
    let thread = |utid: &Value| threads.get(&utid.to_string()).map_or(&Value::Null, |thread| &thread["tid"]);
    let place = |id: &Value| {
        let track = tracks[&id.to_string()];
        if track["utid"].is_null() { track["name"].to_string() } else { thread(&track["utid"]).to_string() }
    };
    let ts = |line: &Value| line["ts"].as_i64().expect("a time") + later_ns;
    let mut counted = Counted::new();
    let mut count = |text: String| *counted.entry(text).or_default() += 1;
    for slice in of("slice") {
        let mut args: Vec<String> = slice["args"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|pair| format!("{}={}", pair[0].as_str().expect("a key"), pair[1]))
            .collect();
        args.sort();
        let place = if with_tracks { place(&slice["track"]) } else { String::new() };
        count(format!("{} {} {} {} {place} {args:?}", ts(slice), slice["dur"], slice["name"], slice["cat"]));
    }
    for flow in of("flow") {
        let end = |which: &str| slices[&flow[which].to_string()];
        let (out, into) = (end("out"), end("in"));
        count(format!("flow {} {} to {} {}", ts(out), out["name"], ts(into), into["name"]));
    }
    for value in of("counter") {
        count(format!("{} {} is {}", ts(value), place(&value["track"]), value["value"]));
    }
    for sample in of("sample") {
        let thread = if with_tracks { thread(&sample["utid"]).to_string() } else { String::new() };
        // Samples of the protobuf have fields for these arguments only.
        let keys = ["event", "period", "cpu", "mode", "count"].map(|key| format!("args.{key}"));
        let args = sample["args"].as_array().into_iter().flatten();
        let args = args.filter(|pair| is_json || keys.iter().any(|key| pair[0] == **key));
        let mut args: Vec<String> = args.map(Value::to_string).collect();
        args.sort();
        count(format!("{} {thread} {} {args:?}", ts(sample), sample["stack"]));
    }
    let letter = |state: &Value| match state.as_str().unwrap_or_default() {
        "Running" => "Running".to_owned(),
        "" | "I" => "D".to_owned(),
        letters => letters[..1].to_owned(),
    };
    for run in of("sched") {
        let (tid, state) = (thread(&run["utid"]), letter(&run["end_state"]));
        count(format!("{} {} on {} {tid} {} {state}", ts(run), run["dur"], run["cpu"], run["priority"]));
    }
    // After a lost switch, a thread has no state or its previous state until it runs again. An exit may be a state.
    let is_lost = |run: &&Value| run["end_state"].is_null() && run["dur"] != -1;
    let lost: Vec<&Value> = of("sched").filter(is_lost).map(|run| &run["utid"]).collect();
    let is_sure = |state: &&Value| !lost.contains(&&state["utid"]) && !["X", "Z"].contains(&&*letter(&state["state"]));
    for state in of("thread_state").filter(is_sure) {
        let (tid, cpu) = (thread(&state["utid"]), &state["cpu"]);
        count(format!("{} {} {tid} is {} {cpu}", ts(state), state["dur"], letter(&state["state"])));
    }
    counted
}

#[track_caller]
fn assert_same(what: &str, found: &Counted, expected: &Counted) {
    let differs = |a: &Counted, b: &Counted| {
        a.iter().filter(|(text, count)| b.get(*text) != Some(count)).map(|(text, _)| text.clone()).take(6).collect()
    };
    let (missing, added): (Vec<String>, Vec<String>) = (differs(expected, found), differs(found, expected));
    assert!(missing.is_empty() && added.is_empty(), "{what}\nmissing: {missing:#?}\nadded: {added:#?}");
}

/// Traces in which each span stays on its track, if tracks have numbers or names.
const WITH_TRACKS: [&str; 8] = [
    "go_trace.json",
    "jax.trace.json.gz",
    "pyspy_chrome.json",
    "tracing_chrome_async.json.gz",
    "viztracer_ring.json.gz",
    "ugly_ends.json",
    "chromium.pftrace.gz",
    "nested_tracks.pftrace.gz",
];

#[test]
fn exported_traces_are_read_back_the_same() {
    let folder = folder();
    let traces = fs::read_dir(data("")).expect("the test data").map(|entry| entry.expect("an entry").path());
    let traces: Vec<_> = traces.filter(|path| path.is_file()).collect();
    assert!(traces.len() > 20);
    for source in &traces {
        let trace = source.file_name().expect("a name").to_string_lossy();
        for output in ["out.pftrace", "out.json"] {
            let (is_json, output) = (output.ends_with("json"), folder.path().join(output));
            longspan(&["export", "--no-cache", text(source), "-o", text(&output)]).done();
            let with_tracks = WITH_TRACKS.contains(&&*trace) && !is_json;
            // Times of the protobuf start at 0, and one trace starts before it.
            let later_ns = if trace == "ugly.json" && !is_json { 5000 } else { 0 };
            let mut expected = counted(source, with_tracks, later_ns, is_json);
            let mut found = BTreeMap::new();
            for (text, count) in counted(&output, with_tracks, 0, is_json) {
                // Chrome JSON keeps counters with the same name apart by a number.
                *found.entry(text.replace("[#2]", "")).or_insert(0) += count;
            }
            assert!(expected.len() > 2, "{trace}");
            if is_json {
                // Chrome JSON cannot express a flow point on an async track; all others are there.
                expected.retain(|text, _| {
                    !(text.starts_with("flow") && text.ends_with("\"AnimationFrame::Presentation\""))
                });
            }
            assert_same(&format!("{trace} as {}", output.display()), &found, &expected);
        }
    }
}
