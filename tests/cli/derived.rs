//! Counters from `export --derive`, compared with loops over the rows of the trace.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{folder, longspan, records, text};

/// A span of the trace, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Call {
    start: i64,
    dur: i64,
    name: i64,
    bytes: Option<i64>,
}

/// Returns calls on two threads with ties, gaps and empty durations. Times start at 100 microseconds.
fn calls() -> Vec<Call> {
    let call = |number: i64| Call {
        start: (100 + number * 13 - number % 3 * 5) * 1000,
        dur: (number * 7 % 29) * 1000,
        name: number % 4,
        bytes: (number % 5 != 0).then_some(number * 100),
    };
    (0..120).map(call).collect()
}

fn trace(folder: &Path) -> PathBuf {
    let path = folder.join("calls.json");
    let lines = calls().into_iter().enumerate().map(|(number, Call { start, dur, name, bytes })| {
        let args = bytes.map_or(String::from("{}"), |bytes| format!(r#"{{"io":{{"bytes":{bytes}}}}}"#));
        let (ts, dur, tid) = (start / 1000, dur / 1000, number % 2);
        format!(r#"{{"ph":"X","name":"call {name}","pid":7,"tid":{tid},"ts":{ts},"dur":{dur},"args":{args}}}"#)
    });
    let instant = r#"{"ph":"i","name":"call 1","pid":7,"tid":1,"ts":900,"s":"t"}"#.to_owned();
    let lines: Vec<String> = lines.chain([instant]).collect();
    fs::write(&path, format!("[{}]", lines.join(",\n"))).expect("written");
    path
}

/// Returns the changes of each counter of a file, by name.
fn counters(file: &Path) -> BTreeMap<String, Vec<(i64, f64)>> {
    let dump = longspan(&["dump", "--no-cache", text(file)]).done();
    let lines: Vec<Value> = dump.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let mut counters = BTreeMap::new();
    for track in lines.iter().filter(|line| line["t"] == "track" && line["counter"] == 1) {
        let values = lines.iter().filter(|line| line["t"] == "counter" && line["track"] == track["id"]);
        let values =
            values.map(|line| (line["ts"].as_i64().expect("a time"), line["value"].as_f64().expect("a value")));
        let unit = track["unit"].as_str().map(|unit| format!(" ({unit})")).unwrap_or_default();
        let name = format!("{}{unit}", track["name"].as_str().expect("a name"));
        assert!(counters.insert(name, values.collect()).is_none());
    }
    counters
}

fn export(file: &Path, output: &Path, derived: &[&str], more: &[&str]) -> String {
    let derived = derived.iter().flat_map(|track| ["--derive", track]);
    let args = ["export", "--no-cache", text(file), "-o", text(output)].into_iter().chain(derived);
    let result = longspan(&args.chain(more.iter().copied()).collect::<Vec<_>>());
    result.stderr.clone() + &result.done()
}

/// Computes the changes per step from the start of the trace.
fn steps(every: i64, value: impl Fn(&[Call], i64) -> f64) -> Vec<(i64, f64)> {
    let calls = calls();
    let (first, last) = (100_000, calls.iter().map(|call| call.start + call.dur).max().unwrap_or(0));
    let mut changes: Vec<(i64, f64)> = Vec::new();
    for start in (first..=last).step_by(every as usize) {
        let starting = calls.iter().filter(|call| (start..start + every).contains(&call.start));
        let value = value(&starting.copied().collect::<Vec<_>>(), start);
        if changes.last().is_none_or(|&(_, before)| before != value) {
            changes.push((start, value));
        }
    }
    changes
}

#[test]
fn every_export_format_with_counters_has_derived_counters() {
    let folder = folder();
    let file = trace(folder.path());
    let tracks = [
        "count every:50us cat:none",
        "rate every:100us \"call 2\"",
        "concurrency \"call 3\"",
        "max-duration every:70us",
        "sum:arg.io.bytes every:90us name:call",
        "busy every:80us \"call 2\"",
        "p90 every:300us",
    ];
    let is_named = |name: i64| move |call: &&Call| call.name == name;
    let all = calls();
    let open =
        |ts: i64| all.iter().filter(|call| call.name == 3 && (call.start..call.start + call.dur).contains(&ts)).count();
    let mut changes: Vec<i64> =
        all.iter().filter(is_named(3)).flat_map(|call| [call.start, call.start + call.dur]).collect();
    changes.extend([100_000]);
    changes.sort_unstable();
    let mut concurrency: Vec<(i64, f64)> = changes.into_iter().map(|ts| (ts, open(ts) as f64)).collect();
    concurrency.dedup_by_key(|change| change.1);
    let mut expected = BTreeMap::from([
        (tracks[0].to_owned(), vec![(100_000, 0.0)]),
        (
            format!("{} (/s)", tracks[1]),
            steps(100_000, |calls, _| calls.iter().filter(is_named(2)).count() as f64 * 1e4),
        ),
        (tracks[2].to_owned(), concurrency),
        (
            format!("{} (ns)", tracks[3]),
            steps(70_000, |calls, _| calls.iter().map(|call| call.dur).max().unwrap_or(0) as f64),
        ),
        (
            tracks[4].to_owned(),
            steps(90_000, |calls, _| calls.iter().filter_map(|call| call.bytes).sum::<i64>() as f64),
        ),
    ]);
    let busy = |start: i64| {
        let (end, calls) = (start + 80_000, all.iter().filter(|call| is_named(2)(call)));
        let open_ns: i64 = calls.map(|call| (end.min(call.start + call.dur) - start.max(call.start)).max(0)).sum();
        open_ns as f64 * 100.0 / 80_000.0
    };
    expected.insert(format!("{} (%)", tracks[5]), steps(80_000, |_, start| busy(start)));
    let p90 = |calls: &[Call]| {
        let mut durations: Vec<i64> = calls.iter().map(|call| call.dur).collect();
        durations.sort_unstable();
        durations.get((durations.len() * 9).div_ceil(10).saturating_sub(1)).map_or(0.0, |&dur| dur as f64)
    };
    expected.insert(format!("{} (ns)", tracks[6]), steps(300_000, |calls, _| p90(calls)));
    for name in ["out.longspan", "out.json", "out.json.gz", "out.pftrace"] {
        let output = folder.path().join(name);
        // A track that is given twice is one counter.
        let stderr = export(&file, &output, &[&tracks[..], &tracks[..2]].concat(), &[]);
        assert!(stderr.contains("cat:none' has no rows"), "{stderr}");
        assert_eq!(counters(&output), expected, "{name}");
        // The rows equal the rows of the trace. Perfetto's format has tracks for overlapping spans.
        let spans = |file: &Path| {
            let rows = records(&longspan(&["spans", "--no-cache", text(file)]).done()).into_iter();
            rows.map(|row| [0, 1, 3, 5].map(|column| row[column].clone())).collect::<Vec<_>>()
        };
        assert_eq!(spans(&output), spans(&file), "{name}");
    }
    // A counter that was derived earlier is an ordinary counter.
    let again = folder.path().join("again.longspan");
    export(&folder.path().join("out.longspan"), &again, &tracks[..1], &[]);
    let found = counters(&again);
    assert_eq!(found.len(), 8);
    assert_eq!(found[&format!("{} #2", tracks[0])], [(100_000, 0.0)]);
}

#[test]
fn derived_counters_of_a_scope_count_its_rows_and_are_in_tables() {
    let folder = folder();
    let file = trace(folder.path());
    let output = folder.path().join("part.json");
    let (from, to) = (400_000, 900_000);
    export(&file, &output, &["count every:100us"], &["--from", "400us", "--to", "900us", "--filter", "\"call 1\""]);
    let count = |start: i64| {
        let starts = start..(start + 100_000).min(to);
        calls().iter().filter(|call| call.name == 1 && starts.contains(&call.start)).count() as f64
    };
    let mut expected: Vec<(i64, f64)> = (from..to).step_by(100_000).map(|start| (start, count(start))).collect();
    expected.dedup_by_key(|change| change.1);
    assert_eq!(counters(&output)["count every:100us"], expected);
    for more in [&[][..], &["--by-process"]] {
        let tables = folder.path().join(format!("tables{}.parquet", more.len()));
        let stderr = export(&file, &tables, &["count", "rate"], more);
        assert!(stderr.contains("as Parquet tables"), "{stderr}");
    }
}

#[test]
fn invalid_derived_tracks_are_refused_before_the_trace_is_read() {
    let folder = folder();
    let output = folder.path().join("out.csv");
    for (track, output, part) in [
        ("rate", "out.csv", "comma-separated text contains none"),
        ("rate", "out.pprof", "contains none"),
        ("median", "out.json", "expected count, rate, concurrency, busy, max-duration, p50"),
        ("sum:arg.", "out.json", "such as sum:arg.bytes"),
        ("rate every:0", "out.json", "a time above 0"),
        ("rate dur>soon", "out.json", "dur>soon"),
    ] {
        let path = folder.path().join(output);
        let message = longspan(&["export", "/nowhere.json", "-o", text(&path), "--derive", track]).failed(2);
        assert!(message.contains(part), "{message}");
    }
    assert!(!output.exists());
}

#[test]
fn a_negative_sum_of_counters_stays_negative_in_the_last_step_of_a_range() {
    let folder = folder();
    let (file, out) = (folder.path().join("negative.json"), folder.path().join("out.longspan"));
    let value = |ts: i64, value: i64| format!(r#"{{"ph":"C","ts":{ts},"name":"t","pid":1,"args":{{"c":{value}}}}}"#);
    let rows = [value(0, -20), value(10, -10), value(25, -5), r#"{"ph":"X","ts":0,"dur":33,"name":"s"}"#.to_owned()];
    fs::write(&file, format!("[{}]", rows.join(","))).expect("written");
    for (range, expected) in [
        (&["--to", "29us"][..], &[(0, -20.0), (10_000, -10.0), (20_000, -5.0)][..]),
        (&["--from", "5us", "--to", "12us"], &[(5_000, -10.0)]),
    ] {
        let derive = ["--derive", r#"sum:counter."t c" every:10us"#, "--format", "native"];
        let args = ["export", "--no-cache", text(&file), "-o", text(&out)];
        longspan(&[&args[..], &derive, range].concat()).done();
        let found = counters(&out);
        let (_, sums) = found.iter().find(|(name, _)| name.starts_with("sum")).unwrap_or_else(|| panic!("{found:?}"));
        assert_eq!(sums, expected, "{range:?}");
    }
}

#[test]
fn the_sum_of_an_unknown_counter_is_refused_with_the_nearest_name() {
    let folder = folder();
    let file = folder.path().join("counters.json");
    let value = |name: &str, ts: u32| format!(r#"{{"ph":"C","name":"{name}","pid":1,"ts":{ts},"args":{{"v":5}}}}"#);
    fs::write(&file, format!("[{},{}]", value("mem heap", 1), value("queue", 2))).expect("written");
    let output = folder.path().join("out.json");
    let refused = |track: &str| {
        longspan(&["export", "--no-cache", text(&file), "-o", text(&output), "--derive", track]).failed(2)
    };
    let known = longspan(&["stats", "--no-cache", "--counters", text(&file)]).done();
    let name = known.lines().find(|line| line.contains("mem heap")).expect("a counter");
    assert!(name.starts_with("mem heap"), "{known}");
    let message = refused("sum:counter.mem heap");
    let advice = "no counter is named `mem`; quote names with spaces: did you mean 'sum:\"counter.mem heap v\"'?";
    assert!(message.contains(advice), "{message}");
    let message = refused("sum:counter.queu");
    assert!(message.contains("no counter is named `queu`: did you mean 'sum:\"counter.queue v\"'?"), "{message}");
    let message = refused("sum:counter.temperature");
    assert!(message.contains("no counter is named `temperature`; `longspan stats --counters` lists them"), "{message}");
    assert!(!output.exists());
}
