//! Samples are counted, dumped with their stacks, and exported without their flame chart.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use longspan::facade::formats::native::write::NativeWriter;
use longspan::facade::model::args::Detail;
use longspan::facade::model::{
    Chunk, Event, EventFlags, EventKind, Id, Losses, NameIdx, Names, Registry, Stacks, TrackKey, TrackKind,
};
use serde_json::{Value, json};

use crate::harness::{folder, longspan, text};

/// Two threads, sampled every millisecond, with a span around some samples of the first.
fn sampled(folder: &Path) -> PathBuf {
    let path = folder.join("sampled.longspan");
    let (mut names, mut stacks, mut registry) = (Names::default(), Stacks::default(), Registry::default());
    let [main, parse, read] = ["main", "parse \"x\"", "read"].map(|name| names.intern(name, None));
    let paths = [vec![main], vec![main, parse], vec![main, parse, read], vec![]].map(|path| stacks.intern_path(path));
    let tracks = [1, 2].map(|tid| {
        let (pid, tid) = (Id::Number(1), Id::Number(tid));
        registry.track(&TrackKey { kind: TrackKind::Thread, pid, tid, name: "".into(), slot: 0 }).expect("room")
    });
    let mut chunk = Chunk::default();
    let args = Detail { args_json: r#"{"weight":7}"#, ..Detail::default() };
    let event = |ts_ns, value, track, name, detail, kind| {
        let (depth, flags) = (0, EventFlags::NONE);
        Event { ts_ns, value, track, name, detail, depth, kind, flags }
    };
    for k in 0..40i64 {
        let (stack, track) = (paths[(k / 3 % 4) as usize], tracks[usize::from(k % 5 == 0)]);
        let detail = if k == 3 { chunk.details.push(&args) } else { 0 };
        let value = u64::from(stack.0);
        chunk.events.push(event(k * 1_000_000, value, track, NameIdx::EMPTY, detail, EventKind::Sample));
    }
    chunk.events.push(event(500, 9_000_000, tracks[0], parse, 0, EventKind::Complete));
    let mut writer = NativeWriter::new(File::create(&path).expect("created"), false).expect("written");
    writer.write_tables(&names, registry.tables()).expect("written");
    writer.write_stacks(&stacks).expect("written");
    writer.write_chunk(&chunk).expect("written");
    writer.finish(&Losses::default()).expect("written");
    path
}

fn info(file: &Path) -> Value {
    serde_json::from_str(&longspan(&["info", "--no-cache", "--json", text(file)]).done()).expect("JSON")
}

fn dump(file: &Path) -> Vec<Value> {
    let lines = longspan(&["dump", "--no-cache", "--no-symbols", text(file)]).done();
    lines.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn samples_are_counted_and_dumped_leaf_first_without_their_flame_chart() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = sampled(folder.path());
    let info = info(&file);
    assert_eq!((&info["samples"], &info["spans"], &info["tracks"]), (&json!(40), &json!(1), &json!(2)));
    let dumped = dump(&file);
    let of = |kind: &str| dumped.iter().filter(|line| line["t"] == kind).cloned().collect::<Vec<_>>();
    assert_eq!((of("slice").len(), of("track").len(), of("sample").len()), (1, 2, 40));
    let samples = of("sample");
    let expected = json!({"t": "sample", "ts": 3_000_000, "utid": 1, "stack": ["parse \"x\"", "main"],
                          "args": [["args.weight", 7]]});
    assert_eq!(samples[3], expected);
    assert_eq!(samples[9], json!({"t": "sample", "ts": 9_000_000, "utid": 1, "stack": []}));
    let spans = longspan(&["spans", "--no-cache", "--format", "jsonl", text(&file)]).done();
    assert_eq!(spans.lines().count(), 1);
}

#[test]
fn a_native_export_keeps_samples_and_their_stacks() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = sampled(folder.path());
    let out = folder.path().join("out.longspan");
    longspan(&["export", "--no-cache", text(&file), "-o", text(&out), "--format", "native"]).done();
    assert_eq!(dump(&out), dump(&file));
    let (before, after) = (info(&file), info(&out));
    for member in ["spans", "samples", "threads", "tracks", "lanes", "start_ns", "end_ns"] {
        assert_eq!(before[member], after[member], "{member}");
    }
}

#[test]
fn a_chrome_export_has_samples_with_frames_that_name_their_callers() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = sampled(folder.path());
    let out = folder.path().join("out.json");
    longspan(&["export", "--no-cache", text(&file), "-o", text(&out), "--format", "chrome"]).done();
    let json: Value = serde_json::from_str(&std::fs::read_to_string(&out).expect("written")).expect("JSON");
    let stack_of = |event: &Value| {
        let mut stack = Vec::new();
        let mut frame = event["sf"].as_u64();
        while let Some(number) = frame {
            let row = &json["stackFrames"][number.to_string()];
            stack.push(row["name"].clone());
            frame = row["parent"].as_u64();
        }
        Value::Array(stack)
    };
    let events = json["traceEvents"].as_array().expect("a list");
    let exported: Vec<Value> = events.iter().filter(|event| event["ph"] == "P").map(stack_of).collect();
    let dumped: Vec<Value> =
        dump(&file).iter().filter(|line| line["t"] == "sample").map(|line| line["stack"].clone()).collect();
    assert_eq!(exported, dumped);
    // Another load gives the same result, except for thread numbers.
    let sample_rows = |file: &Path| {
        let dumped = dump(file);
        let tid = |line: &Value| {
            let thread = dumped.iter().find(|thread| thread["t"] == "thread" && thread["utid"] == line["utid"]);
            thread.map_or(Value::Null, |thread| thread["tid"].clone())
        };
        let samples = dumped.iter().filter(|line| line["t"] == "sample");
        samples.map(|line| json!([line["ts"], tid(line), line["stack"], line["args"]])).collect::<Vec<_>>()
    };
    assert_eq!((sample_rows(&out), sample_rows(&out).len()), (sample_rows(&file), 40));
}

#[test]
fn collapsed_stacks_have_the_requested_unit_and_units_stay_separate() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, cache) = (folder.path().join("stacks.txt"), folder.path().join("cache"));
    std::fs::write(&file, "main;f 3\nmain;g 2\n").expect("written");
    let stats = |unit: &[&str]| {
        let args = [&["stats", "--samples", "--cache", text(&cache), text(&file)], unit].concat();
        let rows = longspan(&args).done();
        rows.lines().nth(1).expect("a row").to_owned()
    };
    for _ in 0..2 {
        // The weights are the numbers of samples.
        assert_eq!(stats(&[]), "stacks,samples,f,3,3,3,3");
        assert_eq!(stats(&["--unit", "ms"]), "stacks,ns,f,3000000,3000000,1,1");
        assert_eq!(stats(&["--unit", "bytes"]), "stacks,bytes,f,3,3,1,1");
    }
    let json = folder.path().join("spans.json");
    std::fs::write(&json, r#"[{"ph":"X","name":"a","ts":0,"dur":1,"pid":1,"tid":1}]"#).expect("written");
    for (files, is_useless) in [(&[&json][..], true), (&[&file], false), (&[&json, &file], false)] {
        let files: Vec<&str> = files.iter().map(|file| text(file)).collect();
        let output = longspan(&[&["spans", "--no-cache", "--unit", "ms"], &files[..]].concat());
        assert_eq!(output.stderr.contains("--unit has no effect"), is_useless, "{files:?}: {}", output.stderr);
    }
    let error = longspan(&["stats", text(&file), "--unit", "years"]).failed(2);
    assert!(error.contains("bytes"), "{error}");
}

#[test]
fn samples_are_summed_by_module_thread_and_event_with_recursion_counted_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("trace.json");
    let frames = json!({
        "1": { "name": "main", "category": "app" },
        "2": { "name": "read", "category": "libc", "parent": "1" },
        "3": { "name": "callback", "category": "app", "parent": "2" },
        "4": { "name": "lost" },
    });
    // These are threads and innermost frames.
    let taken = [(7, "1"), (7, "2"), (7, "3"), (8, "3"), (8, "4")];
    let sample = |(number, (tid, frame))| json!({ "cpu": 0, "tid": tid, "ts": number, "name": "cycles", "weight": 10, "sf": frame });
    let samples: Vec<Value> = taken.into_iter().enumerate().map(sample).collect();
    let named = json!([
        { "ph": "M", "pid": 1, "tid": 7, "name": "thread_name", "args": { "name": "=worker, 7" } },
        { "ph": "i", "pid": 1, "tid": 7, "name": "started", "ts": 0 },
    ]);
    let trace = json!({ "traceEvents": named, "stackFrames": frames, "samples": samples });
    std::fs::write(&file, trace.to_string()).expect("written");
    let stats = |options: &[&str]| {
        let printed = longspan(&[&["stats", "--no-cache", text(&file)], options].concat()).done();
        printed.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let event_of = |row: &String| row.split(',').take(2).collect::<Vec<_>>().join(",");
    let event = event_of(&stats(&["--samples=event"])[0]);
    assert_eq!(event, "cycles,count");
    let with_event = |rows: &[&str]| rows.iter().map(|row| format!("{event},{row}")).collect::<Vec<_>>();
    let modules = ["app,30,40,3,4", "libc,10,30,1,3", "[no module],10,10,1,1"];
    assert_eq!(stats(&["--samples=module"]), with_event(&modules));
    assert_eq!(stats(&["--samples=module", "--name", "^l"]), with_event(&modules[1..2]));
    assert_eq!(stats(&["--samples=thread"]), with_event(&["\"=worker, 7\",7,,1,30,30,3,3", ",8,,,20,20,2,2"]));
    assert_eq!(stats(&["--samples=event"]), with_event(&["50,50,5,5"]));
    assert_eq!(stats(&["--samples=function"]), stats(&["--samples"]));
    let functions = ["callback,app,20,20,2,2", "main,app,10,40,1,4", "read,libc,10,30,1,3", "lost,,10,10,1,1"];
    assert_eq!(stats(&["--samples=function-module"]), with_event(&functions));
    let lines = longspan(&["stats", "--no-cache", "--samples=thread", "--format", "jsonl", text(&file)]).done();
    let first: Value = serde_json::from_str(lines.lines().next().expect("a row")).expect("JSON");
    assert_eq!((&first["thread"], &first["tid"], &first["self_samples"]), (&json!("=worker, 7"), &json!(7), &json!(3)));
    longspan(&["stats", "--no-cache", "--samples=module", "--by", "name", text(&file)]).failed(2);
}

#[test]
fn austin_samples_last_as_long_as_stated_also_the_last_of_a_thread() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, profile) = (folder.path().join("austin.txt"), folder.path().join("p.pb.gz"));
    let samples = "P1;T1;/a.py:f:1 100\nP1;T1;/a.py:g:1 300\nP1;T2;/a.py:h:1 50\n";
    std::fs::write(&file, samples).expect("written");
    let info = info(&file);
    assert_eq!((&info["start_ns"], &info["end_ns"]), (&json!(0), &json!(400_000)), "{info}");
    // A profile keeps the threads.
    longspan(&["export", "--no-cache", text(&file), "-o", text(&profile)]).done();
    let mut threads = Vec::new();
    for line in dump(&profile).iter().filter(|line| line["t"] == "sample") {
        let labels = line["args"].as_array().expect("arguments");
        let tid = labels.iter().find(|label| label[0] == "args.labels.tid").expect("a thread");
        threads.push((tid[1].as_i64(), line["stack"][0].as_str().map(str::to_owned)));
    }
    threads.sort();
    let expected = [(1, "f (a.py:1)"), (1, "g (a.py:1)"), (2, "h (a.py:1)")];
    assert_eq!(threads, expected.map(|(tid, frame)| (Some(tid), Some(frame.to_owned()))));
}

#[test]
fn samples_that_pprof_cannot_represent_are_counted() {
    let folder = folder();
    let [file, output] = ["events.perf", "out.pb.gz"].map(|name| folder.path().join(name));
    let sample =
        |number: u32| format!("app 10/10 1.{number:06}: 1 event{}:\n\t1000 main+0x1 (/bin/app)\n\n", number % 80);
    fs::write(&file, (0..240).map(sample).collect::<String>()).expect("written");
    let result = longspan(&["export", "--no-cache", text(&file), "-o", text(&output)]);
    assert!(result.stderr.contains(": 192 samples written"), "{}", result.stderr);
    assert!(
        result.stderr.contains("48 samples not written: a pprof profile has at most 64 events"),
        "{}",
        result.stderr
    );
    result.done();
    let args = ["export", "--no-cache", text(&file), "-o", text(&output), "--filter", "arg.event=event79"];
    let result = longspan(&args);
    assert!(result.stderr.contains(": 3 samples written") && !result.stderr.contains("beyond"), "{}", result.stderr);
}

#[test]
fn spans_with_names_like_addresses_are_functions_in_a_flame_graph_as_pprof() {
    let folder = folder();
    let [file, profile] = ["in.json", "out.pb"].map(|name| folder.path().join(name));
    let span = |ts: u32, name: &str| format!(r#"{{"ph":"X","pid":1,"tid":1,"ts":{ts},"dur":5,"name":"{name}"}}"#);
    fs::write(&file, format!("[{},{}]", span(1, "tile+0x20"), span(9, "rax+0x10"))).expect("written");
    let flame = ["flame", "--no-cache", "--format", "pprof", text(&file)];
    let output = crate::harness::command(&flame).output().expect("it runs");
    fs::write(&profile, output.stdout).expect("written");
    let modules = longspan(&["symbols", "--no-cache", text(&profile)]).done();
    assert!(!modules.contains("tile") && !modules.contains("rax"), "{modules}");
    let stacks: BTreeSet<String> = dump(&profile).iter().map(|line| line["stack"].to_string()).collect();
    assert!([r#"["tile+0x20"]"#, r#"["rax+0x10"]"#].iter().all(|stack| stacks.contains(*stack)), "{stacks:?}");
}

/// A sample without a weight is one of its event, as is a weight without a unit.
#[test]
fn samples_of_an_event_with_and_without_weights_are_one_value_type_of_pprof() {
    let folder = folder();
    let [file, output] = ["in.json", "out.pb.gz"].map(|name| folder.path().join(name));
    let sample =
        |ts: u32, rest: &str| format!(r#"{{"ph":"P","name":"cycles","pid":1,"tid":3,"ts":{ts},"stack":["a"]{rest}}}"#);
    let samples = [sample(4, r#","weight":3"#), sample(5, ""), sample(6, "")];
    fs::write(&file, format!("[{}]", samples.join(","))).expect("written");
    longspan(&["export", "--no-cache", text(&file), "-o", text(&output)]).done();
    let lines = dump(&output);
    // Each value type of a profile is a thread.
    let is_of_type = |line: &&Value| line["t"] == "thread" && line["tid"].to_string().contains("cycles");
    assert_eq!(lines.iter().filter(is_of_type).count(), 1, "{lines:?}");
    let samples = lines.iter().filter(|line| line["t"] == "sample");
    let periods: Vec<_> = samples.flat_map(|sample| sample["args"].as_array().expect("an array")).collect();
    assert!(periods.contains(&&json!(["args.period", 5])), "{periods:?}");
}

#[test]
fn an_export_reports_every_kind_of_row_that_it_wrote() {
    let folder = folder();
    let [file, chrome, csv] = ["in.json", "out.json", "out.csv"].map(|name| folder.path().join(name));
    let records = [
        r#"{"ph":"i","pid":1,"tid":1,"ts":1,"name":"a"}"#,
        r#"{"ph":"C","pid":1,"ts":1,"name":"c","args":{"v":1}}"#,
        r#"{"ph":"C","pid":1,"ts":2,"name":"c","args":{"v":2}}"#,
    ];
    fs::write(&file, format!("[{}]", records.join(","))).expect("written");
    let stderr_of = |output: &Path| longspan(&["export", "--no-cache", text(&file), "-o", text(output)]).stderr;
    assert!(stderr_of(&chrome).contains(": 1 instant, 2 counter values written, "), "{}", stderr_of(&chrome));
    assert!(stderr_of(&csv).contains("this trace has no spans"), "{}", stderr_of(&csv));
}

#[test]
fn a_line_without_frames_is_not_a_module_in_brackets() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("stacks.txt");
    fs::write(&file, "main;run 3\n[no frames] 2\n").expect("written");
    let table = |by: &str| longspan(&["stats", "--no-cache", &format!("--samples={by}"), text(&file)]).done();
    assert!(table("module").contains(",[no frames],2,2,"), "{}", table("module"));
    assert!(table("function-module").contains(",[no frames],,2,2,"), "{}", table("function-module"));
}

#[test]
fn samples_without_a_stack_have_the_same_name_in_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = sampled(folder.path());
    for (by, row) in [("function", ",[no frames],"), ("function-module", ",[no frames],,"), ("module", ",[no frames],")]
    {
        let table = longspan(&["stats", "--no-cache", &format!("--samples={by}"), text(&file)]).done();
        assert!(table.contains(row), "{by}: {table}");
    }
    let flame = |options: &[&str]| longspan(&[&["flame", "--no-cache", "--samples", text(&file)], options].concat());
    let all = flame(&[]).done();
    let paths: Vec<&str> = all.lines().filter(|path| !path.starts_with("[no frames] ")).collect();
    assert_eq!(paths.len() + 1, all.lines().count(), "{all}");
    let hidden = flame(&["--hide", "[no frames]"]);
    assert!(!hidden.stderr.contains("no function has this name"), "{}", hidden.stderr);
    assert_eq!(hidden.done().lines().collect::<Vec<_>>(), paths);
}

#[test]
fn a_profile_of_bytes_has_no_times() {
    let folder = folder();
    let file = folder.path().join("stacks.txt");
    fs::write(&file, "main;a 1024\nmain;b 1024\n").expect("written");
    for (unit, time) in
        [("bytes", "none, samples have weights only"), ("ns", "0.000000000 s to 0.000002048 s, 2.048 µs")]
    {
        let output = longspan(&["info", "--no-cache", "--unit", unit, text(&file)]);
        assert!(output.stdout.contains(&format!("time         {time}\n")), "{}", output.stdout);
    }
}

#[test]
fn weights_beyond_the_maximum_of_a_format_are_clamped_and_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("heavy.json");
    let sample =
        |ts: u32| format!(r#"{{"cpu":0,"tid":1,"ts":{ts},"name":"c","sf":"1","weight":15000000000000000000}}"#);
    let samples = format!("{},{}", sample(1), sample(2));
    fs::write(&file, format!(r#"{{"traceEvents":[],"stackFrames":{{"1":{{"name":"f"}}}},"samples":[{samples}]}}"#))
        .expect("written");
    let profile = folder.path().join("heavy.pprof");
    let capped = "1 value is written as 2^63 - 1, the maximum of the format";
    let export = longspan(&["export", "--no-cache", text(&file), "-o", text(&profile)]);
    assert!(export.stderr.contains(capped), "{}", export.stderr);
    let back = longspan(&["stats", "--no-cache", "--samples", text(&profile)]).done();
    assert!(back.contains(",f,9223372036854775807,9223372036854775807,"), "{back}");
    // The sum is above 64 bits too.
    let total = "the total (count) is written as 2^64 - 1, the maximum\n";
    for args in [&["stats", "--samples"][..], &["flame", "--samples"]] {
        let output = longspan(&[args, &["--no-cache", text(&file)]].concat());
        assert!(output.stderr.contains(total) && output.stdout.contains("18446744073709551615"), "{}", output.stderr);
    }
}

#[test]
fn an_unnamed_function_has_no_address_in_a_perfetto_export() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("nameless.json");
    let frames = r#"{"1":{"name":"","category":"/d/app"},"2":{"name":"f","category":"/d/app","parent":1}}"#;
    let samples = r#"{"cpu":0,"tid":1,"ts":1,"name":"c","sf":"1","weight":3},{"cpu":0,"tid":1,"ts":2,"name":"c","sf":"2","weight":2}"#;
    fs::write(&file, format!(r#"{{"traceEvents":[],"stackFrames":{frames},"samples":[{samples}]}}"#)).expect("written");
    let output = folder.path().join("nameless.pftrace");
    longspan(&["export", "--no-cache", text(&file), "-o", text(&output)]).done();
    let functions = |file: &Path| {
        let table = longspan(&["stats", "--no-cache", "--samples=function-module", text(file)]).done();
        let rows: Vec<String> =
            table.lines().skip(1).map(|row| row.split_once(",count,").map_or(row, |it| it.1).to_owned()).collect();
        rows
    };
    assert_eq!(functions(&file), ["[no name],app,3,5,1,2", "f,app,2,2,1,1"]);
    assert_eq!(functions(&output), functions(&file));
}

#[test]
fn an_event_is_chosen_by_its_title_if_another_one_has_its_name() {
    let folder = folder();
    let file = folder.path().join("events.json");
    let sample = |ts: u32, more: &str| {
        format!(r#"{{"ph":"P","pid":1,"tid":1,"ts":{ts},"name":"cycles",{more}"stack":["main"]}}"#)
    };
    fs::write(&file, format!("[{},{}]", sample(12, r#""weight":5,"#), sample(15, ""))).expect("written");
    let flame = |event: &str| longspan(&["flame", "--no-cache", "--samples", "--event", event, text(&file)]).done();
    assert_eq!(flame("cycles (count)"), "main 5\n");
    assert_eq!(flame("cycles"), "main 1\n", "the one whose unit is samples");
    assert_eq!(flame("cycles (samples)"), "main 1\n");
}

#[test]
fn an_expression_that_no_function_matches_is_named() {
    let folder = folder();
    let file = sampled(folder.path());
    for by in ["function", "module", "thread", "event"] {
        let args = ["stats", "--no-cache", &format!("--samples={by}"), "--name", "nosuch", text(&file)];
        let output = longspan(&args);
        assert!(output.stderr.contains("none matches --name nosuch"), "{by}: {}", output.stderr);
        assert_eq!(output.done().lines().count(), 1, "{by}: the header");
    }
}
