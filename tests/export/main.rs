//! Exports read back: the same rows as before, in both formats, whole and in part; and the effect on files.

mod early_times;
mod flows;
mod nesting;
mod scheduling;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use longspan::facade::base::cancel::Cancel;
use longspan::facade::base::progress::Progress;
use longspan::facade::export::{ExportError, ExportFormat, ExportOptions, ExportReport, export};
use longspan::facade::ingest::{self, CachePolicy, LoadOptions};
use longspan::facade::model::args::Detail;
use longspan::facade::model::{Loss, NameIdx, Sources};
use longspan::facade::query::Snapshot;
use longspan::facade::query::rows::SortedRows;
use longspan::facade::query::scope::{Scope, TrackChoice};
use longspan::facade::store::details::DetailReader;
use longspan::facade::store::flow::FlowPoint;
use longspan::facade::store::{DetailRef, LaneIdx, LaneKind};
use longspan::facade::synth::{Synth, SynthOptions, write};
use proptest::prelude::*;
use regex::Regex;

/// Without a store: a load reads the events.
const COMPACT: ExportFormat = ExportFormat::Native { compact: true };
/// With a store, which a load uses.
const NATIVE: ExportFormat = ExportFormat::Native { compact: false };
const FORMATS: [ExportFormat; 4] =
    [NATIVE, COMPACT, ExportFormat::ChromeJson { gzip: false }, ExportFormat::ChromeJson { gzip: true }];

/// A row with resolved names and details, without indices.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    start_ns: i64,
    dur_ns: u64,
    depth: u16,
    kind: &'static str,
    name: String,
    category: Option<String>,
    unfinished: bool,
    counter_bits: u64,
    /// Its flow, numbered in order of appearance, and whether it binds to the enclosing span.
    flow: Option<(usize, bool)>,
    detail: (Option<i64>, Option<i64>, String),
    track: String,
}

fn load(path: &Path) -> Snapshot {
    let options = LoadOptions { threads: 2, cache: CachePolicy::None, ..LoadOptions::default() };
    let loaded = ingest::open(path, &options, &Cancel::default(), &Progress::default());
    Snapshot::new(loaded.unwrap_or_else(|error| panic!("{}: {error}", path.display())).store)
}

/// Returns all rows in time order. Rows with the same time have an order that does not depend on tables.
fn seen(snapshot: &Snapshot) -> Vec<Seen> {
    let lanes = (0..snapshot.store().lane_count()).map(LaneIdx);
    let mut reader = DetailReader::default();
    let mut all: Vec<(Seen, u64)> = Vec::new();
    for row in SortedRows::new(snapshot, lanes, None, None) {
        let lane = snapshot.lane(row.index.lane);
        let track = snapshot.track(lane.track);
        let process = &snapshot.tracks().processes[track.process.index()];
        let name = snapshot.names().get(NameIdx(row.row.name));
        let mut seen = Seen {
            start_ns: row.row.start_ns,
            dur_ns: 0,
            depth: lane.depth,
            kind: "",
            name: name.text.into(),
            category: name.category.map(Into::into),
            unfinished: row.unfinished,
            counter_bits: 0,
            flow: None,
            detail: Default::default(),
            track: format!(
                "{:?} {:?} {} / {:?} {} {} / {} {} {}",
                track.key.kind,
                track.key.pid,
                process.name,
                track.key.tid,
                track.name,
                track.key.slot,
                process.sort_index,
                track.sort_index,
                process.labels
            ),
        };
        if row.kind != LaneKind::Flows {
            let detail = Detail::decode(snapshot.store().detail(DetailRef(row.row.detail), &mut reader));
            seen.detail = (detail.thread_ts_ns, detail.thread_dur_ns, detail.args_json.into());
        }
        match row.kind {
            LaneKind::Spans => (seen.kind, seen.dur_ns) = ("span", row.row.value),
            LaneKind::Instants => (seen.kind, seen.depth) = ("instant", row.row.value as u16),
            LaneKind::Samples => seen.kind = "sample",
            LaneKind::Counter => (seen.kind, seen.counter_bits) = ("counter", row.row.value),
            LaneKind::Flows => {
                let point = FlowPoint::from_bits(row.row.detail);
                seen.flow = Some((0, point.binds_enclosing));
                // The number of enclosing spans, as for instants.
                seen.depth = point.depth.map_or(0, |depth| depth + 1);
                seen.kind = match point.role {
                    longspan::facade::store::flow::FlowRole::Start => "flow start",
                    longspan::facade::store::flow::FlowRole::Step => "flow step",
                    longspan::facade::store::flow::FlowRole::End => "flow end",
                };
            }
        }
        all.push((seen, row.row.value));
    }
    number_flows(all)
}

/// Sorts the rows, and numbers their flows in the order of all other fields, since flow ids are arbitrary.
fn number_flows(mut all: Vec<(Seen, u64)>) -> Vec<Seen> {
    all.iter_mut().for_each(|(row, _)| row.flow = row.flow.map(|(_, binds)| (0, binds)));
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut flows: BTreeMap<u64, usize> = BTreeMap::new();
    let numbered = all.into_iter().map(|(mut row, id)| {
        let count = flows.len();
        row.flow = row.flow.map(|(_, binds)| (*flows.entry(id).or_insert(count), binds));
        row
    });
    let mut rows: Vec<Seen> = numbered.collect();
    rows.sort();
    rows
}

fn export_to(snapshot: &Snapshot, output: &Path, options: &ExportOptions) -> ExportReport {
    let progress = Progress::default();
    export(snapshot, &"/none".into(), output, options, &Cancel::default(), &progress).expect("exported")
}

/// Exports a trace with `options` and reads it back.
fn exported(snapshot: &Snapshot, options: &ExportOptions) -> Snapshot {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out");
    let report = export_to(snapshot, &path, options);
    assert_eq!(report.bytes, fs::metadata(&path).expect("there").len());
    let back = load(&path);
    let summary = back.summary();
    let found = (summary.spans, summary.instants, summary.counters, summary.flows);
    assert_eq!(found, (report.spans, report.instants, report.counters, report.flows), "{:?}", options.format);
    back
}

#[track_caller]
fn assert_same(found: &[Seen], expected: &[Seen], what: &str) {
    if found != expected {
        let (found, expected): (BTreeSet<_>, BTreeSet<_>) = (found.iter().collect(), expected.iter().collect());
        let missing: Vec<_> = expected.difference(&found).take(5).collect();
        let added: Vec<_> = found.difference(&expected).take(5).collect();
        panic!("{what}: {} rows, {} expected\nmissing: {missing:#?}\nadded: {added:#?}", found.len(), expected.len());
    }
}

fn demo(folder: &Path, spans: u64, disorder: f64) -> PathBuf {
    let path = folder.join("demo");
    let synth = Synth::new(SynthOptions { spans, disorder, ..SynthOptions::demo() });
    write::write_native(&synth, fs::File::create(&path).expect("created")).expect("written");
    path
}

#[test]
fn the_demo_survives_an_export_to_every_format() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = load(&demo(folder.path(), 150_000, 0.05));
    let expected = seen(&snapshot);
    assert!(expected.iter().any(|row| row.kind == "flow step"));
    for format in FORMATS {
        let back = exported(&snapshot, &ExportOptions::whole(format));
        assert_same(&seen(&back), &expected, &format!("{format:?}"));
        assert_eq!(back.losses(), snapshot.losses());
        assert_eq!(back.summary().late_events, 0, "an export is in order");
        assert_eq!((back.start_ns(), back.end_ns()), (snapshot.start_ns(), snapshot.end_ns()));
    }
}

#[test]
fn a_generated_trace_is_the_same_as_chrome_json_and_in_the_native_format() {
    let folder = tempfile::tempdir().expect("a folder");
    let native = demo(folder.path(), 60_000, 0.02);
    let json = folder.path().join("json");
    let synth = Synth::new(SynthOptions { spans: 60_000, disorder: 0.02, ..SynthOptions::demo() });
    write::write_chrome_json(&synth, std::io::BufWriter::new(fs::File::create(&json).expect("created")))
        .expect("written");
    assert_same(&seen(&load(&json)), &seen(&load(&native)), "json");
}

#[test]
fn a_flow_between_spans_binds_to_the_last_begun_span_where_perfetto_would_drop_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("json");
    let text = r#"[
        {"ph":"X","name":"outer","pid":1,"tid":1,"ts":10,"dur":10},{"ph":"X","name":"inner","pid":1,"tid":1,"ts":11,"dur":2},
        {"ph":"s","name":"f","id":1,"pid":1,"tid":1,"ts":15},{"ph":"s","name":"f","id":2,"pid":1,"tid":1,"ts":25},
        {"ph":"i","name":"instant","pid":1,"tid":1,"ts":30,"s":"t"},{"ph":"t","name":"f","id":2,"pid":1,"tid":1,"ts":35},
        {"ph":"f","name":"f","id":1,"pid":1,"tid":1,"ts":36},{"ph":"f","name":"f","id":2,"pid":1,"tid":1,"ts":37},
        {"ph":"X","name":"next","pid":1,"tid":1,"ts":40,"dur":1},
        {"ph":"s","name":"f","id":3,"pid":1,"tid":2,"ts":5},{"ph":"X","name":"other","pid":1,"tid":2,"ts":6,"dur":1}]"#;
    fs::write(&path, text).expect("written");
    let back = exported(&load(&path), &ExportOptions::whole(ExportFormat::Perfetto));
    let points = seen(&back).into_iter().filter(|row| row.flow.is_some()).map(|row| (row.start_ns, row.kind));
    let expected = [
        // Nothing began earlier on its thread.
        (5000, "flow start"),
        // The last moment of the inner span, which began last, although the outer one ended last.
        (12_999, "flow start"),
        // A span is open.
        (15_000, "flow start"),
        (30_000, "flow step"),
        // Ends bind to the next span.
        (36_000, "flow end"),
        (37_000, "flow end"),
    ];
    assert_eq!(points.collect::<Vec<_>>(), expected);
}

/// Special cases that are hard to express in one of the formats.
const UGLY: &str = r#"[
{"ph":"M","name":"process_name","pid":"server é","args":{"name":"the \"server\""}},
{"ph":"M","name":"process_labels","pid":"server é","args":{"labels":"a,b"}},
{"ph":"M","name":"process_sort_index","pid":"server é","args":{"sort_index":-7}},
{"ph":"M","name":"thread_name","pid":"server é","tid":140000000000001,"args":{"name":"T\t1"}},
{"ph":"M","name":"thread_sort_index","pid":"server é","tid":140000000000001,"args":{"sort_index":9}},
{"ph":"X","name":"before zero","pid":"server é","tid":140000000000001,"ts":-2000.001,"dur":4000.5,"tts":-1.5,"tdur":7},
{"ph":"X","name":"child","cat":"","pid":"server é","tid":140000000000001,"ts":-1,"dur":0,"args":{"big":123456789012345678901234567890,"deep":[[{"x":null}]]}},
{"ph":"X","name":"overlaps","pid":"server é","tid":140000000000001,"ts":1000,"dur":9000},
{"ph":"X","name":"overlaps too","pid":"server é","tid":140000000000001,"ts":1500,"dur":9000},
{"ph":"B","name":"never ends","cat":"c","pid":1,"tid":1,"ts":10,"args":{"s":"\u00e9\ud83d\ude00\n"}},
{"ph":"X","name":"inside","pid":1,"tid":1,"ts":20,"dur":30},
{"ph":"B","name":"ends","pid":1,"tid":1,"ts":60},{"ph":"E","name":"ends","pid":1,"tid":1,"ts":70,"args":{"added":1}},
{"ph":"X","name":"no duration","pid":1,"tid":2,"ts":5},
{"ph":"X","name":"epoch","pid":1,"tid":3,"ts":1700000000000000.123,"dur":0.001},
{"ph":"i","name":"everywhere","ts":3,"s":"g"},{"ph":"i","name":"process","pid":1,"ts":3.5,"s":"p"},
{"ph":"i","name":"thread","pid":1,"tid":1,"ts":25},
{"ph":"C","name":"mem","pid":1,"ts":1,"args":{"heap":1.5,"pool":-3e300}},
{"ph":"C","name":"mem","id":"0x7","pid":1,"ts":2,"args":{"heap":0.1}},
{"ph":"C","name":"alone","id":3,"pid":1,"ts":2,"args":{"":2}},
{"ph":"b","name":"request","cat":"net","id":1,"pid":1,"ts":100},
{"ph":"b","name":"request","cat":"net","id":2,"pid":1,"ts":110},
{"ph":"b","name":"inner","cat":"net","id":1,"pid":1,"ts":120},
{"ph":"n","name":"mark","cat":"net","id":1,"pid":1,"ts":125,"args":{"k":"v"}},
{"ph":"e","name":"inner","cat":"net","id":1,"pid":1,"ts":130},
{"ph":"b","name":"inner","cat":"net","id":1,"pid":1,"ts":130},
{"ph":"e","name":"inner","cat":"net","id":1,"pid":1,"ts":130},
{"ph":"e","name":"request","cat":"net","id":1,"pid":1,"ts":150},
{"ph":"e","name":"request","cat":"net","id":2,"pid":1,"ts":140},
{"ph":"b","name":"zero","cat":"net","id":4,"pid":1,"ts":160},{"ph":"e","name":"zero","cat":"net","id":4,"pid":1,"ts":160},
{"ph":"b","name":"zero","cat":"net","id":5,"pid":1,"ts":160},{"ph":"e","name":"zero","cat":"net","id":5,"pid":1,"ts":160},
{"ph":"b","name":"open","cat":"net","id":6,"pid":1,"ts":170},
{"ph":"n","name":"alone","cat":"net","id":7,"pid":1,"ts":171},
{"ph":"s","name":"flow","cat":"f","id":"a","pid":1,"tid":1,"ts":21},
{"ph":"t","name":"flow","cat":"f","id":"a","pid":1,"tid":1,"ts":65},
{"ph":"f","name":"flow","cat":"f","id":"a","bp":"e","pid":"server é","tid":140000000000001,"ts":1600},
{"ph":"f","name":"flow","cat":"f","id":"a","pid":"server é","tid":140000000000001,"ts":900},
{"ph":"X","name":"leaves","bind_id":"0x5","flow_out":true,"pid":1,"tid":4,"ts":1,"dur":2},
{"ph":"X","name":"arrives","bind_id":"0x5","flow_in":true,"pid":1,"tid":5,"ts":4,"dur":2}
]"#;

fn ugly(folder: &Path) -> Snapshot {
    let path = folder.join("ugly.json");
    fs::write(&path, UGLY).expect("written");
    load(&path)
}

#[test]
fn unusual_values_survive_an_export() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = ugly(folder.path());
    let mut expected = seen(&snapshot);
    assert!(expected.iter().any(|row| row.unfinished && row.track.starts_with("Async")));
    for format in FORMATS {
        let back = exported(&snapshot, &ExportOptions::whole(format));
        let mut found = seen(&back);
        if !matches!(format, ExportFormat::Native { .. }) {
            // In other formats, all points of a flow have the same name, so they use the name of its start.
            found.iter_mut().chain(&mut expected).filter(|row| row.flow.is_some()).for_each(|row| {
                row.name.clear();
                row.category = None;
            });
            found.sort();
            expected.sort();
        }
        assert_same(&found, &expected, &format!("{format:?}"));
    }
}

#[test]
fn losses_are_in_a_native_export_and_are_not_counted_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = ugly(folder.path());
    assert!(snapshot.losses().count(Loss::Overlap) > 0 && snapshot.losses().count(Loss::UnmatchedBegin) > 0);
    let back = exported(&snapshot, &ExportOptions::whole(COMPACT));
    assert_eq!(back.losses(), snapshot.losses());
    let again = exported(&back, &ExportOptions::whole(COMPACT));
    assert_eq!(again.losses(), snapshot.losses());
}

/// Uses the traces of the reader's own tests.
#[test]
fn traces_of_real_tracers_survive_an_export() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut traces = 0;
    for entry in fs::read_dir(folder).expect("the data of the tests") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if !name.contains(".json") {
            continue;
        }
        traces += 1;
        let snapshot = load(&path);
        let expected = seen(&snapshot);
        for format in &FORMATS[..2] {
            let back = exported(&snapshot, &ExportOptions::whole(*format));
            assert_same(&seen(&back), &expected, &format!("{name} as {format:?}"));
        }
    }
    assert!(traces > 4);
}

/// Oracle: selects the rows of a partial export. These are the rows that overlap the range, and the last value of each
/// counter before it. Flows with a point in the part have all of their points, and the spans that these connect.
fn part_of(all: &[Seen], range: (i64, i64), is_wanted: impl Fn(&Seen) -> bool) -> Vec<Seen> {
    let (from_ns, to_ns) = range;
    let end_ns = |row: &Seen| row.start_ns + row.dur_ns as i64;
    let inside = |row: &Seen| {
        let reaches_in = row.start_ns >= from_ns || row.kind == "span" && end_ns(row) > from_ns;
        is_wanted(row) && row.start_ns < to_ns && reaches_in
    };
    let mut part: BTreeSet<&Seen> = all.iter().filter(|row| inside(row)).collect();
    let mut held: BTreeMap<&str, &Seen> = BTreeMap::new();
    for row in all.iter().filter(|row| row.kind == "counter" && row.start_ns < from_ns && is_wanted(row)) {
        held.insert(&row.track, row);
    }
    part.extend(held.into_values());
    let flow_of = |row: &Seen| row.flow.map(|(id, _)| id);
    let flows: BTreeSet<usize> = part.iter().filter_map(|row| flow_of(row)).collect();
    for point in all.iter().filter(|row| flow_of(row).is_some_and(|id| flows.contains(&id))) {
        if !part.insert(point) {
            continue;
        }
        let spans = || all.iter().filter(|row| row.kind == "span" && row.track == point.track);
        let around = |ts_ns: i64| spans().filter(move |span| span.start_ns <= ts_ns && end_ns(span) >= ts_ns);
        part.extend(around(point.start_ns).filter(|span| span.depth < point.depth));
        if point.kind == "flow end" && !point.flow.is_some_and(|(_, binds)| binds) {
            let is_next = |span: &&Seen| {
                span.start_ns > point.start_ns || span.start_ns == point.start_ns && span.depth >= point.depth
            };
            let next = spans().filter(is_next).min_by_key(|span| (span.start_ns, span.depth));
            part.extend(next);
            part.extend(next.into_iter().flat_map(|next| {
                around(next.start_ns).filter(|span| span.depth < next.depth && end_ns(span) >= end_ns(next))
            }));
        }
    }
    part.into_iter().cloned().collect()
}

#[test]
fn a_partial_export_is_a_complete_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = load(&demo(folder.path(), 100_000, 0.0));
    let all = seen(&snapshot);
    // The range ends right after the start of a flow.
    let begun = all.iter().filter(|row| row.kind == "flow start").map(|row| row.start_ns);
    let to_ns = begun.max().expect("a flow") + 1;
    let range = (to_ns - 50_000, to_ns);
    let worker = Regex::new("^worker").expect("an expression");
    for (track, name) in [(None, ""), (Some(worker), " worker ")] {
        let mut expected = part_of(&all, range, |row| row.track.contains(name));
        let has_parent = expected.iter().any(|row| row.kind == "span" && row.start_ns < range.0);
        let has_other_end = expected.iter().any(|row| row.flow.is_some() && row.start_ns >= range.1);
        assert!(has_parent && has_other_end || track.is_some());
        for format in FORMATS {
            let (from_ns, to_ns) = (Some(range.0), Some(range.1));
            let choice = TrackChoice { track: track.clone(), ..TrackChoice::default() };
            let scope = Scope::from_range(from_ns, to_ns).on_tracks(&snapshot, &choice);
            let options = ExportOptions { scope, ..ExportOptions::whole(format) };
            let mut found = seen(&exported(&snapshot, &options));
            // Flows are numbered from the first one in the part.
            found.iter_mut().chain(&mut expected).for_each(|row| row.flow = row.flow.map(|(_, binds)| (0, binds)));
            found.sort();
            expected.sort();
            assert_same(&found, &expected, &format!("{format:?} of {name:?}"));
        }
    }
}

#[test]
fn rows_outside_the_exported_range_are_marked() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = ugly(folder.path());
    let path = folder.path().join("part.json");
    let options = ExportOptions {
        scope: Scope::from_range(Some(20_500), Some(22_000)),
        ..ExportOptions::whole(ExportFormat::ChromeJson { gzip: false })
    };
    export_to(&snapshot, &path, &options);
    let json: serde_json::Value = serde_json::from_slice(&fs::read(&path).expect("there")).expect("valid");
    let events = json["traceEvents"].as_array().expect("an array").iter().filter(|event| event["ph"] != "M");
    let found: BTreeSet<(String, bool)> =
        events.map(|event| (format!("{} {}", event["ph"], event["name"]), event["outside"] == true)).collect();
    let has = |what: &str, outside: bool| found.contains(&(what.to_owned(), outside));
    assert!(has(r#""s" "flow""#, false) && has(r#""t" "flow""#, true) && has(r#""f" "flow""#, true), "{found:?}");
    assert!(has(r#""B" "never ends""#, true) && has(r#""X" "ends""#, true) && has(r#""C" "mem""#, true), "{found:?}");
    assert!(!found.iter().any(|(what, _)| what.contains("request")), "{found:?}");
}

#[test]
fn events_at_the_maximum_time_are_exported() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("in.json");
    let last = r#"[{"ph":"X","name":"last","pid":1,"tid":1,"ts":9223372036854775.807,"dur":0},
        {"ph":"i","name":"too","pid":1,"tid":1,"ts":9223372036854775.807}]"#;
    fs::write(&path, last).expect("written");
    let snapshot = load(&path);
    let expected = seen(&snapshot);
    assert_eq!(expected.len(), 2);
    for format in FORMATS {
        assert_same(&seen(&exported(&snapshot, &ExportOptions::whole(format))), &expected, &format!("{format:?}"));
    }
}

fn on_tracks(snapshot: &Snapshot, expression: &str) -> Scope {
    let track = Some(Regex::new(expression).expect("an expression"));
    Scope::default().on_tracks(snapshot, &TrackChoice { track, ..TrackChoice::default() })
}

#[test]
fn only_requested_tracks_are_exported() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = load(&demo(folder.path(), 60_000, 0.0));
    let all = seen(&snapshot);
    for (expression, part) in
        [("^worker 1$", " worker 1 "), ("memory", " memory "), ("game", " game "), ("^1004$", "1004")]
    {
        let scope = on_tracks(&snapshot, expression);
        let options = ExportOptions { scope, ..ExportOptions::whole(COMPACT) };
        let mut found = seen(&exported(&snapshot, &options));
        assert!(!found.is_empty() && found.len() < all.len(), "{expression}");
        let mut expected = part_of(&all, (i64::MIN, i64::MAX), |row| row.track.contains(part));
        found.iter_mut().chain(&mut expected).for_each(|row| row.flow = row.flow.map(|(_, binds)| (0, binds)));
        found.sort();
        expected.sort();
        assert_same(&found, &expected, expression);
    }
    let scope = on_tracks(&snapshot, "no such track");
    let options = ExportOptions { scope, ..ExportOptions::whole(COMPACT) };
    assert!(seen(&exported(&snapshot, &options)).is_empty());
}

#[test]
fn chrome_json_is_sorted_by_time_with_parents_before_children() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = load(&demo(folder.path(), 60_000, 0.1));
    let path = folder.path().join("out.json");
    export_to(&snapshot, &path, &ExportOptions::whole(ExportFormat::ChromeJson { gzip: false }));
    let json: serde_json::Value = serde_json::from_slice(&fs::read(&path).expect("there")).expect("valid");
    let events = json["traceEvents"].as_array().expect("an array");
    let nanos = |value: &serde_json::Value| (value.as_f64().expect("a number") * 1000.0).round() as i64;
    let timed = events.iter().filter(|event| event["ph"] != "M");
    assert!(timed.map(|event| nanos(&event["ts"])).is_sorted());
    let mut open: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let (ts, dur) = (nanos(&event["ts"]), nanos(&event["dur"]));
        let ends = open.entry(event["tid"].to_string()).or_default();
        ends.retain(|end| *end > ts);
        assert!(ends.last().is_none_or(|end| ts + dur <= *end), "{event}");
        ends.push(ts + dur);
    }
}

#[test]
fn the_input_trace_is_never_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = demo(folder.path(), 10_000, 0.0);
    let snapshot = load(&path);
    let before = fs::read(&path).expect("there");
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).expect("linked");
    for output in [&path, &link] {
        let options = ExportOptions::whole(COMPACT);
        let refused =
            export(&snapshot, &Sources::from(&path), output, &options, &Cancel::default(), &Progress::default());
        assert!(matches!(refused, Err(ExportError::IsSource { .. })));
    }
    assert_eq!(fs::read(&path).expect("there"), before);
}

#[test]
fn a_cancelled_export_and_a_full_disk_leave_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = load(&demo(folder.path(), 60_000, 0.0));
    let output = folder.path().join("out");
    for format in FORMATS {
        let options = ExportOptions::whole(format);
        let cancel = Cancel::default();
        cancel.cancel();
        let stopped = export(&snapshot, &"/none".into(), &output, &options, &cancel, &Progress::default());
        assert!(matches!(stopped, Err(ExportError::Cancelled(_))));
        let full = Path::new("/dev/full");
        let failed = export(&snapshot, &"/none".into(), full, &options, &Cancel::default(), &Progress::default());
        assert!(matches!(failed, Err(ExportError::Io { .. })));
    }
    assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1, "only the demo is there");
}

/// Generates arbitrary records with few threads, names and times, so that many combinations occur.
fn any_record() -> impl Strategy<Value = String> {
    let phase = prop::sample::select(vec!["X", "X", "X", "B", "E", "i", "C", "b", "b", "e", "n", "s", "t", "f"]);
    (phase, 0..30u32, 0..12u32, 0..3u32, 0..3u32, 0..3u32).prop_map(|(ph, ts, dur, tid, name, id)| {
        let name = ["alpha", "beta", "gamma"][name as usize];
        format!(
            r#"{{"ph":"{ph}","pid":1,"tid":{tid},"ts":{ts},"dur":{dur},"name":"{name}","cat":"c","id":{id},"args":{{"v":{dur}}}}}"#
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_traces_survive_an_export(records in prop::collection::vec(any_record(), 0..40)) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("in.json");
        fs::write(&path, format!("[{}]", records.join(",\n"))).expect("written");
        let snapshot = load(&path);
        let expected = seen(&snapshot);
        for format in [COMPACT, NATIVE] {
            let native = exported(&snapshot, &ExportOptions::whole(format));
            assert_same(&seen(&native), &expected, &format!("{format:?} of {}", records.join("\n")));
        }
        let json = exported(&snapshot, &ExportOptions::whole(ExportFormat::ChromeJson { gzip: false }));
        let (found, expected) = (as_json_says(seen(&json)), as_json_says(expected));
        assert_same(&found, &expected, &format!("JSON of {}", records.join("\n")));
    }
}

/// Removes what Chrome JSON cannot express for spans that overlap: their lane, and which of several tracks of one name
/// an async tree is on.
fn as_json_says(mut rows: Vec<Seen>) -> Vec<Seen> {
    for row in &mut rows {
        row.depth = 0;
        // A step of an instant that begins its flow is written as a start, which other readers need.
        if row.kind == "flow step" {
            row.kind = "flow start";
        }
        if row.track.starts_with("Async") {
            row.track = "Async".into();
        }
    }
    // Flow numbers depended on the removed fields too.
    let with_ids = rows.into_iter().map(|row| {
        let id = row.flow.map_or(0, |(id, _)| id as u64);
        (row, id)
    });
    number_flows(with_ids.collect())
}

#[test]
fn a_flow_between_spans_is_not_written_before_its_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("json");
    let text = r#"[{"ph":"X","name":"to","pid":123,"tid":1,"ts":70,"dur":5},{"ph":"X","name":"from","pid":7,"tid":1,"ts":73,"dur":54},
        {"ph":"s","name":"fl","id":2,"pid":7,"tid":1,"ts":77},{"ph":"f","bp":"e","name":"fl","id":2,"pid":123,"tid":1,"ts":90}]"#;
    fs::write(&path, text).expect("written");
    let back = exported(&load(&path), &ExportOptions::whole(ExportFormat::Perfetto));
    let points = seen(&back).into_iter().filter(|row| row.flow.is_some()).map(|row| (row.start_ns, row.kind));
    assert_eq!(points.collect::<Vec<_>>(), [(77_000, "flow start"), (90_000, "flow end")]);
}

#[test]
fn a_flow_from_an_instant_to_the_span_around_its_end_stays_connected() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("json");
    let text = r#"[{"ph":"X","pid":1,"tid":1,"ts":0,"dur":100,"name":"outer"},{"ph":"I","s":"t","pid":1,"tid":1,"ts":10,"name":"post"},
        {"ph":"s","pid":1,"tid":1,"ts":10,"name":"post","id":7,"cat":"c"},{"ph":"X","pid":1,"tid":2,"ts":50,"dur":10,"name":"run"},
        {"ph":"f","bp":"e","pid":1,"tid":2,"ts":55,"name":"post","id":7,"cat":"c"}]"#;
    fs::write(&path, text).expect("written");
    let back = exported(&load(&path), &ExportOptions::whole(ExportFormat::Perfetto));
    let flows: Vec<_> = seen(&back).into_iter().filter_map(|row| row.flow.map(|flow| (flow.0, row.kind))).collect();
    // An event of Perfetto has a flow, and may end it, but does not start it.
    assert_eq!(flows.iter().map(|(_, kind)| *kind).collect::<Vec<_>>(), ["flow step", "flow end"]);
    assert_eq!(flows[0].0, flows[1].0, "one flow");
}
