//! Heat maps, compared with a fold over the listed spans.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::harness::{data, folder, longspan, records, spans_of, text};

/// Time range, minimum and maximum duration, number of spans.
type Cells = BTreeMap<(i64, i64, u64, u64), u64>;

fn heat_map(file: &Path, options: &[&str]) -> Cells {
    let args = [&["stats", "--no-cache", "--no-symbols", text(file)], options].concat();
    let csv = longspan(&args).done();
    assert!(csv.starts_with("from,to,least,most,count\n"), "{csv}");
    let rows = records(&csv);
    let cell = |row: &Vec<String>| {
        let time = |at: usize| row[at].parse().expect("a time");
        let number = |at: usize| row[at].parse().expect("a number");
        ((time(0), time(1), number(2), number(3)), number(4))
    };
    let cells: Vec<_> = rows.iter().map(cell).collect();
    assert!(cells.is_sorted(), "in order of time, then duration");
    cells.into_iter().collect()
}

/// Returns start, duration and name of each span. Unfinished spans last until the end of the trace.
fn spans(file: &Path) -> (Vec<(i64, u64, String)>, i64, i64) {
    let info = longspan(&["info", "--json", "--no-cache", text(file)]).done();
    let info: Value = serde_json::from_str(&info).expect("JSON");
    let (start, end) = (info["start_ns"].as_i64().expect("the start"), info["end_ns"].as_i64().expect("the end"));
    let span = |row: &Vec<String>| {
        let ts: i64 = row[0].parse().expect("a start");
        let dur: i64 = row[1].parse().expect("a duration");
        (ts, if dur < 0 { end.abs_diff(ts) } else { dur.unsigned_abs() }, row[3].clone())
    };
    (records(&spans_of(file)).iter().map(span).collect(), start, end)
}

/// Computes the cells of spans in `parts` of a range, with four rows per doubling.
fn folded<'a>(spans: impl Iterator<Item = &'a (i64, u64, String)>, (from, to): (i64, i64), parts: i64) -> Cells {
    let mut cells = Cells::new();
    let bound = |part: i64| from + ((to - from) * part).div_euclid(parts) + i64::from((to - from) * part % parts != 0);
    for (ts, dur, _) in spans.filter(|(ts, ..)| (from..to).contains(ts)) {
        let part = (0..parts).rev().find(|&part| bound(part) <= *ts).expect("a part");
        let octave = if *dur < 4 { 4 } else { 1u64 << dur.ilog2() };
        let least = if *dur < 4 { *dur } else { dur / (octave / 4) * (octave / 4) };
        *cells.entry((bound(part), bound(part + 1), least, least + octave / 4 - 1)).or_default() += 1;
    }
    cells
}

#[test]
fn cells_match_a_fold_over_the_listed_spans() {
    for file in ["go_trace.json", "perf_sched.data.gz", "ugly_ends.json", "tracing_chrome_threads.json.gz"] {
        let file = data(file);
        let (spans, start, end) = spans(&file);
        assert!(!spans.is_empty());
        let whole = (start, end + 1);
        assert_eq!(heat_map(&file, &["--heat-map"]), folded(spans.iter(), whole, 100), "{}", file.display());
        assert_eq!(heat_map(&file, &["--heat-map=7x4"]), folded(spans.iter(), whole, 7), "{}", file.display());
        let range = (start + (end - start) / 4, start + (end - start) / 3);
        let [from, to] = [range.0, range.1].map(|ts| ts.to_string());
        let found = heat_map(&file, &["--heat-map=12", "--from", &from, "--to", &to]);
        assert_eq!(found, folded(spans.iter(), range, 12.min(range.1 - range.0)), "{}", file.display());
        let long = spans.iter().filter(|(_, dur, _)| *dur > 50_000);
        let found = heat_map(&file, &["--heat-map", "--filter", "dur>50us"]);
        assert_eq!(found, folded(long, whole, 100), "{}", file.display());
    }
}

/// The filter of a cell matches exactly its spans.
#[test]
fn a_filter_by_the_bounds_of_a_cell_matches_its_spans() {
    let file = data("go_trace.json");
    let cells = heat_map(&file, &["--heat-map=9x2"]);
    for ((from, to, least, most), count) in cells {
        let filter = format!("start>={from} start<{to} dur>={least} dur<={most}");
        let found = longspan(&["spans", "--no-cache", "--filter", &filter, text(&file)]).done();
        assert_eq!(records(&found).len() as u64, count, "{filter}");
    }
}

#[test]
fn empty_spans_name_filters_and_invalid_grids_are_handled() {
    let folder = folder();
    let file = folder.path().join("zero.json");
    let spans = [
        r#"{"ph":"X","name":"none","pid":1,"tid":1,"ts":0,"dur":0}"#,
        r#"{"ph":"X","name":"none","pid":1,"tid":1,"ts":0,"dur":0}"#,
        r#"{"ph":"X","name":"one","pid":1,"tid":1,"ts":1,"dur":0.001}"#,
        r#"{"ph":"B","name":"open","pid":1,"tid":1,"ts":3}"#,
        r#"{"ph":"i","name":"moment","pid":1,"tid":1,"ts":9,"s":"t"}"#,
    ];
    std::fs::write(&file, format!("[{}]", spans.join(","))).expect("written");
    let found = heat_map(&file, &["--heat-map=3x1"]);
    // The trace has 9,001 ns, and the open span is from 3,000 to 9,000.
    assert_eq!(found, Cells::from([((0, 3001, 0, 0), 2), ((0, 3001, 1, 1), 1), ((0, 3001, 4096, 8191), 1)]));
    assert_eq!(heat_map(&file, &["--heat-map=1", "--name", "^one$"]), Cells::from([((0, 9001, 1, 1), 1)]));
    let line = longspan(&["stats", "--no-cache", "--heat-map=1", "--name", "^one$", "--format", "jsonl", text(&file)]);
    assert_eq!(line.done(), "{\"from\":0,\"to\":9001,\"least\":1,\"most\":1,\"count\":1}\n");
    for wrong in ["0", "5000", "10x3", "10x", "x4", "a"] {
        let message = longspan(&["stats", &format!("--heat-map={wrong}"), text(&file)]).failed(2);
        assert!(message.contains("1 to 4096 parts"), "{message}");
    }
    let message = longspan(&["stats", "--heat-map", "--counters", text(&file)]).failed(2);
    assert!(message.contains("cannot be used with"), "{message}");
}
