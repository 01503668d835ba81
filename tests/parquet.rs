//! Tables for databases, read back with the reader of the parquet crate: every row, in order, with its columns.
//! `engines` reads them with databases.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use longspan::facade::base::cancel::Cancel;
use longspan::facade::base::progress::Progress;
use longspan::facade::export::{ExportError, ExportFormat, ExportOptions, ExportReport, export};
use longspan::facade::formats::native::write::NativeWriter;
use longspan::facade::ingest::{self, CachePolicy, LoadOptions};
use longspan::facade::model::args::Detail;
use longspan::facade::model::{
    Chunk, Event, EventFlags, EventKind, Id, Losses, NameIdx, Names, Registry, Stacks, TrackKey, TrackKind,
};
use longspan::facade::query::Snapshot;
use longspan::facade::query::rows::SortedRows;
use longspan::facade::query::scope::Scope;
use longspan::facade::store::details::DetailReader;
use longspan::facade::store::{DetailRef, LaneIdx, LaneKind};
use longspan::facade::synth::{Synth, SynthOptions, write};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use parquet::record::{Field, Row};

const WHOLE: ExportFormat = ExportFormat::Parquet { by_process: false };
const BY_PROCESS: ExportFormat = ExportFormat::Parquet { by_process: true };

fn load(path: &Path) -> Snapshot {
    let options = LoadOptions { threads: 2, cache: CachePolicy::None, ..LoadOptions::default() };
    let loaded = ingest::open(path, &options, &Cancel::default(), &Progress::default());
    Snapshot::new(loaded.unwrap_or_else(|error| panic!("{}: {error}", path.display())).store)
}

fn demo(folder: &Path, spans: u64) -> Snapshot {
    let path = folder.join("demo");
    let synth = Synth::new(SynthOptions { spans, ..SynthOptions::demo() });
    write::write_native(&synth, File::create(&path).expect("created")).expect("written");
    load(&path)
}

fn export_to(snapshot: &Snapshot, output: &Path, options: &ExportOptions) -> ExportReport {
    export(snapshot, &"/none".into(), output, options, &Cancel::default(), &Progress::default()).expect("exported")
}

fn open(path: &Path) -> SerializedFileReader<File> {
    SerializedFileReader::new(File::open(path).expect("there"))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the rows of a file, each as its non-null columns by name.
fn rows(path: &Path) -> Vec<BTreeMap<String, Field>> {
    let row = |row: Row| {
        let columns = row.get_column_iter().filter(|(_, field)| **field != Field::Null);
        columns.map(|(name, field)| (name.clone(), field.clone())).collect()
    };
    open(path).get_row_iter(None).expect("readable").map(|each| row(each.expect("whole"))).collect()
}

fn files_under(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files_under(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// Computes the expected spans table from the store. The parent is the innermost span that contains the whole span.
fn expected_spans(snapshot: &Snapshot) -> Vec<BTreeMap<String, Field>> {
    let lanes = (0..snapshot.store().lane_count()).map(LaneIdx);
    let spans: Vec<_> =
        SortedRows::new(snapshot, lanes.filter(|&lane| snapshot.lane(lane).kind == LaneKind::Spans), None, None)
            .map(|row| (row, snapshot.lane(row.index.lane)))
            .collect();
    let mut reader = DetailReader::default();
    let end_ns = |k: usize| i128::from(spans[k].0.row.start_ns) + i128::from(spans[k].0.row.value);
    let mut open: Vec<usize> = Vec::new();
    let mut expected = Vec::new();
    for (k, (row, lane)) in spans.iter().enumerate() {
        let kept = &row.row;
        // Ended spans contain no later span.
        open.retain(|&outer| end_ns(outer) >= i128::from(kept.start_ns));
        let holds = |outer: &&usize| {
            let (_, outer_lane) = &spans[**outer];
            outer_lane.track == lane.track && outer_lane.depth < lane.depth && end_ns(**outer) >= end_ns(k)
        };
        let parent = open.iter().filter(holds).max_by_key(|outer| (spans[**outer].1.depth, **outer));
        let mut cells: BTreeMap<String, Field> = BTreeMap::new();
        let mut cell = |name: &str, field: Field| cells.insert(name.to_owned(), field);
        cell("id", Field::Long(k as i64));
        if let Some(&parent) = parent {
            cell("parent_id", Field::Long(parent as i64));
        }
        cell("ts", Field::Long(kept.start_ns));
        if !row.unfinished {
            cell("dur", Field::Long(kept.value as i64));
        }
        cell("depth", Field::Int(lane.depth.into()));
        let name = snapshot.names().get(NameIdx(kept.name));
        cell("name", Field::Str(name.text.into()));
        if let Some(category) = name.category {
            cell("category", Field::Str(category.into()));
        }
        let track = snapshot.track(lane.track);
        cell("track_id", Field::Int(lane.track.0 as i32));
        for (column, id) in [("pid", &track.key.pid), ("tid", &track.key.tid)] {
            if let Id::Number(number) = id {
                cell(column, Field::Long(*number));
            }
        }
        let process = &snapshot.tracks().processes[track.process.index()];
        let is_thread = track.key.kind == longspan::facade::model::TrackKind::Thread;
        for (column, text) in [("process", &*process.name), (if is_thread { "thread" } else { "track" }, &*track.name)]
        {
            if !text.is_empty() {
                cell(column, Field::Str(text.to_string()));
            }
        }
        cell("outside", Field::Bool(false));
        let detail = Detail::decode(snapshot.store().detail(DetailRef(kept.detail), &mut reader));
        for (column, time) in [("thread_ts", detail.thread_ts_ns), ("thread_dur", detail.thread_dur_ns)] {
            if let Some(time) = time {
                cell(column, Field::Long(time));
            }
        }
        if !detail.args_json.is_empty() {
            cell("args", Field::Str(detail.args_json.into()));
        }
        expected.push(cells);
        open.push(k);
    }
    expected
}

/// A trace that is hard for tables: ids that are texts, overlaps, missing ends, and times at the limits.
const UGLY: &str = r#"[
{"ph":"M","name":"process_name","pid":"server é","args":{"name":"the \"server\""}},
{"ph":"X","name":"","pid":"server é","tid":-3,"ts":-9223372036854775.808,"dur":5,"args":{"big":123456789012345678901234567890}},
{"ph":"X","name":"overlaps","pid":"server é","tid":-3,"ts":-9223372036854775.805,"dur":9000,"tts":-1.5,"tdur":7},
{"ph":"X","name":"zero","pid":1,"tid":1,"ts":5,"dur":0},{"ph":"X","name":"zero","pid":1,"tid":1,"ts":5,"dur":0},
{"ph":"B","name":"never ends","cat":"","pid":1,"tid":1,"ts":10},{"ph":"X","name":"inside","pid":1,"tid":1,"ts":20,"dur":3},
{"ph":"C","name":"mem","pid":1,"ts":1,"args":{"heap":1.5,"pool":-0.1}},
{"ph":"i","name":"mark","pid":1,"tid":1,"ts":21},{"ph":"i","name":"alone","pid":1,"tid":1,"ts":1},
{"ph":"s","name":"flow","cat":"f","id":7,"pid":1,"tid":1,"ts":21},
{"ph":"f","name":"flow","cat":"f","id":7,"bp":"e","pid":"server é","tid":-3,"ts":-9223372036854775},
{"ph":"X","name":"last","pid":2,"tid":1,"ts":9223372036854775.807,"dur":0}
]"#;

fn ugly(folder: &Path) -> Snapshot {
    let path = folder.join("ugly.json");
    fs::write(&path, UGLY).expect("written");
    load(&path)
}

#[test]
fn the_table_of_spans_equals_the_trace_with_parents_and_arguments() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, snapshot) in [("a", demo(folder.path(), 30_000)), ("b", ugly(folder.path()))] {
        let output = folder.path().join(name);
        let report = export_to(&snapshot, &output, &ExportOptions::whole(WHOLE));
        let (found, expected) = (rows(&output.join("spans.parquet")), expected_spans(&snapshot));
        assert_eq!(found.len() as u64, report.spans);
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected);
        }
        assert_eq!(found.len(), expected.len());
        assert!(expected.iter().any(|row| row.contains_key("parent_id")));
        let bytes = files_under(&output).iter().map(|path| fs::metadata(path).expect("there").len()).sum::<u64>();
        assert_eq!(report.bytes, bytes);
    }
}

#[test]
fn tables_of_instants_counters_and_flows_refer_to_their_spans() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = ugly(folder.path());
    let output = folder.path().join("out");
    let report = export_to(&snapshot, &output, &ExportOptions::whole(WHOLE));
    let table = |name: &str| rows(&output.join(format!("{name}.parquet")));
    let text = |row: &BTreeMap<String, Field>, column: &str| row.get(column).map(ToString::to_string);
    assert_eq!((report.instants, report.counters, report.flows), (2, 2, 2));

    let spans = table("spans");
    let id_of = |name: &str| {
        let found = spans.iter().find(|row| row["name"] == Field::Str(name.into()));
        found.and_then(|row| row.get("id").cloned())
    };
    let instants = table("instants");
    assert_eq!(instants[0]["name"], Field::Str("alone".into()));
    assert_eq!((instants[0].get("span_id"), instants[1].get("span_id")), (None, id_of("inside").as_ref()));
    let counters = table("counters");
    assert_eq!(counters[0]["value"], Field::Double(1.5));
    assert_eq!(counters[1]["value"], Field::Double(-0.1));
    let flows = table("flows");
    let roles: Vec<_> = flows.iter().map(|row| text(row, "role").expect("a role")).collect();
    assert_eq!(roles, ["\"end\"", "\"start\""]);
    assert_eq!(flows[0]["flow_id"], flows[1]["flow_id"]);
    assert_eq!(flows[1].get("span_id"), id_of("inside").as_ref());
    assert_eq!(flows[0]["binds_enclosing"], Field::Bool(true));

    let tracks = table("tracks");
    assert_eq!(tracks.len(), snapshot.tracks().tracks.len());
    assert!(tracks.iter().any(|row| row.get("pid_text") == Some(&Field::Str("server é".into()))));
    for row in spans.iter().chain(&instants).chain(&counters).chain(&flows) {
        let Field::Int(track) = row["track_id"] else { panic!("{row:?}") };
        let known = tracks.iter().find(|known| known["track_id"] == Field::Int(track)).expect("the track");
        assert_eq!((row.get("pid"), row.get("process")), (known.get("pid"), known.get("process")));
    }
    let losses = table("losses");
    assert_eq!(losses.len(), snapshot.losses().iter().count());
    assert!(losses.iter().any(|row| row["name"] == Field::Str("unmatched_begin".into())), "{losses:?}");
}

#[test]
fn a_duration_beyond_its_column_is_the_largest_number_and_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("long.json");
    let span = |name: &str, dur: &str| {
        format!(r#"{{"ph":"X","name":"{name}","pid":1,"tid":1,"ts":-9223372036854775.808,"dur":{dur}}}"#)
    };
    let spans = [span("fits", "9223372036854775.807"), span("longer", "9223372036854775.808")];
    fs::write(&path, format!("[{}]", spans.join(","))).expect("written");
    let output = folder.path().join("out");
    assert_eq!(export_to(&load(&path), &output, &ExportOptions::whole(WHOLE)).values_capped, 1);
    let durations: Vec<_> = rows(&output.join("spans.parquet")).iter().map(|span| span["dur"].clone()).collect();
    assert_eq!(durations, [Field::Long(i64::MAX), Field::Long(i64::MAX)]);
}

#[test]
fn samples_refer_to_their_stacks() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sampled");
    let (mut names, mut stacks, mut registry) = (Names::default(), Stacks::default(), Registry::default());
    let [main, read] = ["main", "read"].map(|name| names.intern(name, None));
    let key = TrackKey { kind: TrackKind::Thread, pid: Id::Number(1), tid: Id::None, name: "".into(), slot: 0 };
    let track = registry.track(&key).expect("room");
    let mut chunk = Chunk::default();
    for (ts_ns, frames) in (5..).zip([&[main][..], &[], &[main, read]]) {
        let value = stacks.intern_path(frames.iter().copied()).0.into();
        let (kind, flags) = (EventKind::Sample, EventFlags::NONE);
        chunk.events.push(Event { ts_ns, value, track, name: NameIdx::EMPTY, detail: 0, depth: 0, kind, flags });
    }
    let mut writer = NativeWriter::new(File::create(&path).expect("created"), false).expect("written");
    writer.write_tables(&names, registry.tables()).expect("written");
    writer.write_stacks(&stacks).expect("written");
    writer.write_chunk(&chunk).expect("written");
    writer.finish(&Losses::default()).expect("written");

    let output = folder.path().join("out");
    assert_eq!(export_to(&load(&path), &output, &ExportOptions::whole(WHOLE)).samples, 3);
    let stacks = rows(&output.join("stacks.parquet"));
    let samples = rows(&output.join("samples.parquet"));
    let frames = |sample: &BTreeMap<String, Field>| {
        let mut frames = Vec::new();
        let mut next = sample.get("stack_id");
        while let Some(frame) = stacks.iter().find(|frame| frame.get("stack_id") == next) {
            frames.push(frame["name"].to_string());
            next = frame.get("parent_id");
        }
        (sample["ts"].to_string(), frames.join(" "))
    };
    let found: Vec<_> = samples.iter().map(frames).collect();
    let expected = [("5", "\"main\""), ("6", ""), ("7", "\"read\" \"main\"")];
    assert_eq!(found, expected.map(|(ts, frames)| (ts.to_owned(), frames.to_owned())));
    assert_eq!(
        rows(&output.join("tracks.parquet")).len(),
        1,
        "the flame chart of the samples is not a track of the trace"
    );
}

#[test]
fn row_groups_have_time_statistics_so_that_queries_can_skip_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("out");
    let report = export_to(&demo(folder.path(), 260_000), &output, &ExportOptions::whole(WHOLE));
    let reader = open(&output.join("spans.parquet"));
    assert_eq!(reader.num_row_groups() as u64, report.spans.div_ceil(122_880));
    assert!(reader.num_row_groups() > 2);
    let mut last_ns = i64::MIN;
    for group in reader.metadata().row_groups() {
        let by = &group.sorting_columns().expect("sorted")[0];
        let column = group.column(by.column_idx as usize);
        assert_eq!(column.column_path().string(), "ts");
        let Some(Statistics::Int64(times)) = column.statistics() else { panic!("no statistics of times") };
        let (min_ns, max_ns) = (*times.min_opt().expect("known"), *times.max_opt().expect("known"));
        assert!(last_ns <= min_ns && min_ns < max_ns);
        last_ns = max_ns;
    }
}

#[test]
fn counters_are_found_by_name_in_every_format() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/chromium.pftrace.gz"));
    let output = folder.path().join("out");
    let report = export_to(&snapshot, &output, &ExportOptions::whole(WHOLE));
    let counters = rows(&output.join("counters.parquet"));
    assert!(report.counters > 0 && counters.len() as u64 == report.counters);
    assert!(counters.iter().all(|row| row["name"] != Field::Str(String::new())), "{:?}", counters[0]);
}

#[test]
fn partitions_by_process_have_every_row_of_their_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = demo(folder.path(), 30_000);
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    let expected = export_to(&snapshot, &whole, &ExportOptions::whole(WHOLE));
    let report = export_to(&snapshot, &parts, &ExportOptions::whole(BY_PROCESS));
    assert_eq!((report.spans, report.flows, report.counters), (expected.spans, expected.flows, expected.counters));
    // Span ids differ, since processes are written in sequence.
    let plain = |mut row: BTreeMap<String, Field>| {
        row.retain(|column, _| !column.ends_with("id") || column == "track_id");
        format!("{row:?}")
    };
    for table in ["spans", "instants", "counters", "flows"] {
        let mut expected: Vec<String> = rows(&whole.join(format!("{table}.parquet"))).into_iter().map(plain).collect();
        let mut found = Vec::new();
        for file in files_under(&parts.join(table)) {
            let partition = file.parent().and_then(|folder| folder.file_name()).expect("a folder").to_string_lossy();
            let process: usize = partition.strip_prefix("process_id=").expect("a partition").parse().expect("a number");
            let rows = rows(&file);
            let times = rows.iter().map(|row| format!("{:?}", row["ts"]));
            assert!(times.clone().count() > 0, "no empty files");
            let pid = match &snapshot.tracks().processes[process].pid {
                Id::Number(pid) => Some(Field::Long(*pid)),
                _ => None,
            };
            assert!(rows.iter().all(|row| row.get("pid") == pid.as_ref()));
            found.extend(rows.into_iter().map(plain));
        }
        expected.sort();
        found.sort();
        assert!(found == expected, "{table}");
    }
}

#[test]
fn a_partial_export_marks_rows_outside_its_range() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = demo(folder.path(), 60_000);
    let lanes = (0..snapshot.store().lane_count()).map(LaneIdx);
    let mut starts = SortedRows::new(&snapshot, lanes, None, None).map(|row| row.row.start_ns);
    let middle_ns = starts.nth(20_000).expect("as many rows");
    let output = folder.path().join("out");
    let end_ns = middle_ns + (snapshot.end_ns() - middle_ns) / 2;
    let (from_ns, to_ns) = (Some(middle_ns), Some(end_ns));
    export_to(
        &snapshot,
        &output,
        &ExportOptions { scope: Scope::from_range(from_ns, to_ns), ..ExportOptions::whole(WHOLE) },
    );
    for table in ["spans", "counters"] {
        let rows = rows(&output.join(format!("{table}.parquet")));
        let (mut inside, mut outside) = (0, 0);
        for row in rows {
            let Field::Long(ts) = row["ts"] else { panic!("{row:?}") };
            let is_outside = ts < middle_ns || ts >= end_ns;
            assert_eq!(row["outside"], Field::Bool(is_outside));
            *if is_outside { &mut outside } else { &mut inside } += 1;
        }
        assert!(inside > 0 && outside > 0, "{table}: {inside} inside, {outside} outside");
    }
}

#[test]
fn a_cancelled_export_leaves_no_file_and_existing_files_are_not_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = demo(folder.path(), 60_000);
    let output = folder.path().join("out");
    for format in [WHOLE, BY_PROCESS] {
        let cancel = Cancel::default();
        cancel.cancel();
        let options = ExportOptions::whole(format);
        let stopped = export(&snapshot, &"/none".into(), &output, &options, &cancel, &Progress::default());
        assert!(matches!(stopped, Err(ExportError::Cancelled(_))));
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1, "only the demo is there");
    }
    fs::create_dir(&output).expect("made");
    fs::write(output.join("precious"), "x").expect("written");
    let options = ExportOptions::whole(WHOLE);
    let refused = export(&snapshot, &"/none".into(), &output, &options, &Cancel::default(), &Progress::default());
    assert!(matches!(refused, Err(ExportError::IsThere { .. })));
    assert_eq!(fs::read(output.join("precious")).expect("there"), b"x");
}
