//! Several files on one timeline: the events of all files, each moved by its offset.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{data, folder, longspan, records, spans_of, text};

/// Real traces of several formats, plain, compressed and native, some with the same ids.
const FILES: &[(&str, i64)] = &[
    ("go_trace.json", 0),
    ("ninja_log.txt", 1_500_000),
    ("tracing_chrome_async.json.gz", -7),
    ("chromium.pftrace.gz", 0),
    ("spall_v3.spall.gz", 1_000_000_000_000),
    ("viztracer_ring.json.gz", 0),
];

/// Number of spans by start, duration, depth, name, category, thread id and thread name.
type Spans = BTreeMap<(i64, [String; 6]), u32>;

/// Counts the spans of a table, moved by an offset.
fn counted(csv: &str, offset_ns: i64, into: &mut Spans) {
    for record in records(csv) {
        // ts,dur,depth,name,category,pid,tid,process,thread,track
        let ts_ns: i64 = record[0].parse().expect("a time");
        let rest = [1, 2, 3, 4, 6, 8].map(|column| record[column].clone());
        *into.entry((ts_ns + offset_ns, rest)).or_default() += 1;
    }
}

fn column(csv: &str, column: usize) -> std::collections::BTreeSet<String> {
    records(csv).into_iter().map(|record| record[column].clone()).collect()
}

#[test]
fn several_files_have_the_events_of_each_moved_by_its_offset() {
    let folder = folder();
    let native = folder.path().join("made.longspan");
    longspan(&["synth", "-o", text(&native), "--spans", "3000", "--threads", "3", "--format", "native"]).done();
    let mut files: Vec<(PathBuf, i64)> = FILES.iter().map(|&(name, offset_ns)| (data(name), offset_ns)).collect();
    files.push((native, 42));
    let mut expected = Spans::new();
    for (file, offset_ns) in &files {
        counted(&spans_of(file), *offset_ns, &mut expected);
    }
    for order in [files.clone(), files.iter().rev().cloned().collect()] {
        let mut args = vec!["spans".to_owned(), "--no-cache".to_owned()];
        for (file, offset_ns) in &order {
            args.push(text(file).to_owned());
            if *offset_ns != 0 {
                let name = file.file_name().expect("a file").to_string_lossy();
                args.extend(["--offset".to_owned(), format!("{name}={offset_ns}ns")]);
            }
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut found = Spans::new();
        counted(&longspan(&args).done(), 0, &mut found);
        assert!(found == expected, "{} kinds of spans, not {}", found.len(), expected.len());
    }
}

#[test]
fn processes_with_equal_ids_stay_separate_also_of_a_file_given_twice() {
    let file = data("viztracer_ring.json.gz");
    let alone = spans_of(&file);
    let both = longspan(&["spans", text(&file), text(&file), "--no-cache"]).done();
    assert_eq!(records(&both).len(), 2 * records(&alone).len());
    let (one, two) = (column(&alone, 5), column(&both, 5));
    assert_eq!(two.len(), 2 * one.len(), "{two:?}");
    assert!(one.is_subset(&two));
    let name = format!(" in {} (2)", text(&file));
    assert!(two.iter().filter(|pid| pid.ends_with(&name)).count() == one.len(), "{two:?}");
}

#[test]
fn names_of_processes_in_a_file_without_events_are_not_those_of_the_next_file() {
    let folder = folder();
    let (named, events) = (folder.path().join("1.json"), folder.path().join("2.json"));
    fs::write(&named, r#"[{"ph":"M","name":"process_name","pid":1,"args":{"name":"other"}}]"#).expect("written");
    fs::write(&events, r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":5}]"#).expect("written");
    let spans = longspan(&["spans", "--no-cache", text(&named), text(&events)]).done();
    assert!(spans.contains("1 in 2.json") && !spans.contains("other"), "{spans}");
}

#[test]
fn a_single_file_can_have_an_offset_and_keeps_its_ids() {
    let file = data("go_trace.json");
    let (mut expected, mut found) = (Spans::new(), Spans::new());
    let alone = spans_of(&file);
    counted(&alone, -3_000, &mut expected);
    let moved = longspan(&["spans", text(&file), "--offset", "go_trace.json=-3us", "--no-cache"]).done();
    counted(&moved, 0, &mut found);
    assert!(found == expected);
    assert_eq!(column(&moved, 5), column(&alone, 5));
}

#[test]
fn events_shifted_beyond_the_time_range_are_counted_and_all_others_are_shown() {
    let folder = folder();
    let file = folder.path().join("a.json");
    fs::write(&file, r#"[{"name":"x","ph":"X","ts":1,"dur":1,"pid":1},{"name":"y","ph":"X","ts":-5,"dur":1,"pid":1}]"#)
        .expect("written");
    let output = longspan(&["spans", text(&file), "--offset", "a.json=9223372036854775000", "--no-cache"]);
    assert!(output.stderr.contains("1 bad_time"), "{}", output.stderr);
    let csv = output.done();
    assert_eq!(column(&csv, 3), ["y".to_owned()].into());
    assert_eq!(column(&csv, 0), ["9223372036854770000".to_owned()].into());
}

#[test]
fn an_offset_that_moves_the_end_of_a_span_beyond_the_time_range_is_counted() {
    let folder = folder();
    let file = folder.path().join("a.json");
    fs::write(&file, r#"[{"name":"x","ph":"X","ts":1,"dur":1,"pid":1}]"#).expect("written");
    let output = longspan(&["spans", text(&file), "--offset", "a.json=9223372036854774000", "--no-cache"]);
    assert!(output.stderr.contains("1 bad_number"), "{}", output.stderr);
    let csv = output.done();
    assert_eq!(column(&csv, 0), ["9223372036854775000".to_owned()].into());
    assert_eq!(column(&csv, 1), ["807".to_owned()].into());
}

#[test]
fn an_unreadable_file_is_named_with_the_reason_and_the_others_are_shown() {
    let folder = folder();
    let bad = folder.path().join("notes.txt");
    fs::write(&bad, "not a trace").expect("written");
    let good = data("ninja_log.txt");
    for files in [[text(&bad), text(&good)], [text(&good), text(&bad)]] {
        let output = longspan(&["spans", files[0], files[1], "--no-cache"]);
        let loss = output.stderr.lines().find(|line| line.contains("unreadable_file")).expect("a loss").to_owned();
        assert!(loss.starts_with("longspan: notes.txt: 1 unreadable_file"), "{loss}");
        assert!(loss.contains("unrecognised file format"), "{loss}");
        let (csv, alone) = (output.done(), spans_of(&good));
        assert_eq!(records(&csv).len(), records(&alone).len());
        assert_eq!(column(&csv, 5), column(&alone, 5), "the first that can be read keeps its ids");
    }
    let message = longspan(&["info", text(&bad), text(&bad), "--no-cache"]).failed(1);
    assert!(message.contains("notes.txt") && message.contains("found"), "{message}");
    // A mistyped name is an error, not a loss.
    let message = longspan(&["info", text(&good), "/none/such", "--no-cache"]).failed(1);
    assert!(message.contains("/none/such"), "{message}");
}

#[test]
fn info_names_the_formats_of_the_files_that_were_read() {
    let folder = folder();
    let log = folder.path().join("gc.log");
    fs::write(&log, "[0.009s][info][gc] Using G1\n[0.024s][info][gc,init] CPUs: 2 total\n").expect("written");
    let format = |files: &[&Path]| {
        let args: Vec<_> =
            ["info", "--no-cache", "--json"].into_iter().chain(files.iter().map(|file| text(file))).collect();
        let info: serde_json::Value = serde_json::from_str(&longspan(&args).done()).expect("one object");
        info.get("format").cloned()
    };
    assert_eq!(format(&[&data("ninja_log.txt"), &log]), Some("Ninja log".into()), "not that of the refused file");
}

#[test]
fn losses_name_their_file_also_those_detected_by_nesting() {
    let folder = folder();
    let write = |name: &str, json: &str| -> PathBuf {
        let path = folder.path().join(name);
        fs::write(&path, json).expect("written");
        path
    };
    let ends =
        write("ends.json", r#"[{"ph":"E","ts":5,"pid":1,"tid":1},{"name":"a","ph":"X","ts":1,"dur":1,"pid":1}]"#);
    let cut = write("cut.json", r#"[{"name":"b","ph":"X","ts":1,"dur":1,"pid":1,"tid":1},{"name""#);
    let args = ["info", text(&ends), text(&cut), "--offset", "ends.json=100", "--json", "--no-cache"];
    let info: serde_json::Value = serde_json::from_str(&longspan(&args).done()).expect("JSON");
    let losses: Vec<_> = info["losses"].as_array().expect("losses").iter().collect();
    let losses: Vec<_> =
        losses.iter().map(|loss| ["file", "name", "first"].map(|key| loss[key].as_str().unwrap_or("null"))).collect();
    let cut_at = losses.first().map_or("", |loss| loss[2]);
    assert_eq!(losses, [["cut.json", "truncated", cut_at], ["ends.json", "unmatched_end", "5100 ns"]]);
    assert_eq!((&info["spans"], &info["processes"]), (&2.into(), &2.into()));
}

#[test]
fn no_source_is_overwritten() {
    let folder = folder();
    let copy = |name: &str| -> PathBuf {
        let path = folder.path().join(name);
        fs::copy(data(name), &path).expect("copied");
        path
    };
    let (one, two) = (copy("go_trace.json"), copy("ninja_log.txt"));
    let before = [&one, &two].map(|path| fs::read(path).expect("read"));
    let linked = folder.path().join("linked.json");
    fs::hard_link(&two, &linked).expect("linked");
    for output in [&one, &two, &linked] {
        let message = {
            let args = ["export", text(&one), text(&two), "-o", text(output), "--format", "native", "--no-cache"];
            longspan(&args).failed(1)
        };
        assert!(message.contains("is one of the sources"), "{message}");
    }
    assert_eq!([&one, &two].map(|path| fs::read(path).expect("read")), before);
}

#[test]
fn an_export_of_several_files_has_the_same_events() {
    let folder = folder();
    let files = ["go_trace.json", "ninja_log.txt"].map(data);
    let spans = |args: &[&str]| {
        let mut found = Spans::new();
        counted(&longspan(args).done(), 0, &mut found);
        found
    };
    let expected = spans(&["spans", text(&files[0]), text(&files[1]), "--no-cache"]);
    for name in ["out.longspan", "out.json", "out.pftrace"] {
        let output = folder.path().join(name);
        longspan(&["export", text(&files[0]), text(&files[1]), "-o", text(&output), "--no-cache"]).done();
        let found = spans(&["spans", text(&output), "--no-cache"]);
        assert_eq!(found.values().sum::<u32>(), expected.values().sum::<u32>(), "{name}");
        let short = |spans: &Spans| -> Vec<(i64, String, String)> {
            spans.keys().map(|(ts_ns, rest)| (*ts_ns, rest[0].clone(), rest[2].clone())).collect()
        };
        assert_eq!(short(&found), short(&expected), "{name}");
    }
}

#[test]
fn exports_of_several_files_keep_the_times_of_each_cpu_and_thread() {
    let folder = folder();
    let file = |name: &str, start_s: u32, task: &str| {
        let switch = |micros: &str, from: &str, from_pid: u32, to: &str, to_pid: u32| {
            format!(
                "  {task}-10 [000] d..3. {start_s}.{micros}: sched_switch: prev_comm={from} prev_pid={from_pid} \
                 prev_prio=120 prev_state=S ==> next_comm={to} next_pid={to_pid} next_prio=120\n"
            )
        };
        let (begin, end) = (switch("000000", "swapper/0", 0, task, 10), switch("001000", task, 10, "swapper/0", 0));
        let path = folder.path().join(name);
        fs::write(&path, format!("# tracer: nop\n{begin}{end}")).expect("written");
        path
    };
    let (first, second) = (file("a.txt", 1, "a"), file("b.txt", 2, "b"));
    let scheduling = |kind: &str, files: &[&Path]| {
        let files = files.iter().map(|file| text(file));
        let args: Vec<&str> = ["stats", "--no-cache", kind].into_iter().chain(files).collect();
        let table = longspan(&args).done();
        // Names of CPUs and processes differ in formats without files.
        let mut times: Vec<Vec<String>> =
            table.lines().skip(1).map(|row| row.split(',').rev().take(4).map(str::to_owned).collect()).collect();
        times.sort();
        times
    };
    let cpus = scheduling("--scheduling=cpu", &[&first, &second]);
    assert_eq!(cpus.len(), 2, "{cpus:?}");
    let output = folder.path().join("both.json");
    longspan(&["export", "--no-cache", text(&first), text(&second), "-o", text(&output)]).done();
    assert_eq!(scheduling("--scheduling=cpu", &[&output]), cpus);
    assert_eq!(scheduling("--scheduling", &[&output]), scheduling("--scheduling", &[&first, &second]));
    let output = folder.path().join("both.pftrace");
    longspan(&["export", "--no-cache", text(&first), text(&second), "-o", text(&output)]).done();
    let spans = longspan(&["spans", "--no-cache", text(&output)]).done();
    let durations: Vec<&str> = spans.lines().skip(1).filter_map(|row| row.split(',').nth(1)).collect();
    assert_eq!(durations.iter().filter(|&&dur_ns| dur_ns == "1000000").count(), 4, "two runs, two states: {spans}");
    // The last states are unfinished, with the duration -1.
    assert!(durations.iter().all(|dur_ns| dur_ns.parse::<i64>().is_ok_and(|ns| ns <= 1_000_000)), "{spans}");
}

#[test]
fn a_cached_store_is_used_only_for_the_same_files_order_and_offsets() {
    let folder = folder();
    let cache = folder.path().join("cache");
    let is_kept = |files: &[&Path], offsets: &[&str]| {
        let mut args = vec!["info", "--json", "--cache", text(&cache)];
        args.extend(files.iter().map(|file| text(file)));
        args.extend(offsets.iter().flat_map(|offset| ["--offset", offset]));
        let info: serde_json::Value = serde_json::from_str(&longspan(&args).done()).expect("JSON");
        info["load"]["cached"].as_bool().expect("a flag")
    };
    let [one, two] = ["go_trace.json", "ninja_log.txt"].map(data);
    let combinations: [(&[&Path], &[&str]); 5] = [
        (&[&one], &[]),
        (&[&one], &["go_trace.json=1"]),
        (&[&one, &two], &[]),
        (&[&two, &one], &[]),
        (&[&one, &two], &["ninja_log.txt=1"]),
    ];
    for (files, offsets) in combinations {
        assert!(!is_kept(files, offsets), "{files:?} {offsets:?}");
    }
    for (files, offsets) in combinations {
        assert!(is_kept(files, offsets), "{files:?} {offsets:?}");
    }
}

/// Writes files that clock syncs align. The second has the sync of the first between two of its times; the third has
/// one of the second only.
fn synced(folder: &Path) -> [PathBuf; 4] {
    let span = |name: &str, ts: u32| format!(r#"{{"name":"{name}","ph":"X","ts":{ts},"dur":1,"pid":1,"tid":1}}"#);
    let sync = |ts: u32, args: &str| {
        format!(r#"{{"name":"clock_sync","ph":"c","ts":{ts},"pid":1,"tid":1,"args":{{{args}}}}}"#)
    };
    let files = [
        ("a.json", [span("a", 1_500), sync(1_000, r#""sync_id":"x""#)].join(",")),
        (
            "b.json",
            [span("b", 4_600), sync(5_000, r#""sync_id":"x","issue_ts":4000"#), sync(9_000, r#""sync_id":7"#)]
                .join(","),
        ),
        ("c.json", [sync(10, r#""sync_id":7"#), span("c", 20)].join(",")),
        ("d.json", [sync(77, r#""sync_id":"y""#), span("d", 80)].join(",")),
    ];
    files.map(|(name, events)| {
        let path = folder.join(name);
        fs::write(&path, format!("[{events}]")).expect("written");
        path
    })
}

/// Returns the start of each span with a name of one letter, in microseconds.
fn starts(csv: &str) -> Vec<(String, i64)> {
    let start = |record: &Vec<String>| (record[3].clone(), record[0].parse::<i64>().expect("a time") / 1000);
    let mut starts: Vec<_> = records(csv).iter().map(start).collect();
    starts.sort();
    starts
}

#[test]
fn files_that_share_a_clock_sync_are_moved_to_one_clock() {
    let folder = folder();
    let files = synced(folder.path());
    let files = files.each_ref().map(|path| text(path));
    let at = |times: [i64; 4]| ["a", "b", "c", "d"].map(str::to_owned).into_iter().zip(times).collect::<Vec<_>>();
    // 4500 in the second file is 1000 in the first, and 10 in the third is 9000 in the second.
    let moved = [1_500, 1_100, 5_510, 80];
    let output = longspan(&[&["spans", "--no-cache"], &files[..]].concat());
    let note = r#"b.json is moved by -3.5ms, to where its clock sync "x" is in the files before it."#;
    assert!(output.stderr.contains(note) && !output.stderr.contains("d.json"), "{}", output.stderr);
    assert_eq!(starts(&output.done()), at(moved));
    // A given offset is added.
    let with_offset = [&["spans", "--no-cache", "--offset", "b.json=1ms"], &files[..]].concat();
    assert_eq!(starts(&longspan(&with_offset).done()), at([1_500, 2_100, 5_510, 80]));
    // All files use the clock of the first.
    let turned = longspan(&["spans", "--no-cache", files[2], files[1], files[0], files[3]]).done();
    assert_eq!(starts(&turned), at([1_500 - 5_490, 1_100 - 5_490, 20, 80]));
    // An archive gives the same.
    let archive = folder.path().join("all.tar");
    let mut tar = tar::Builder::new(fs::File::create(&archive).expect("a file"));
    files
        .iter()
        .for_each(|file| tar.append_path_with_name(file, Path::new(file).file_name().expect("a name")).expect("added"));
    tar.finish().expect("written");
    assert_eq!(starts(&longspan(&["spans", text(&archive), "--no-cache"]).done()), at(moved));
    let info = longspan(&["info", text(&archive), "--no-cache"]).done();
    assert!(info.contains("instants     5\n") && info.contains("losses       none"), "{info}");
}

#[test]
fn a_file_that_a_clock_sync_would_move_out_of_the_time_range_is_not_moved() {
    let folder = folder();
    let sync = |ts: &str| format!(r#"{{"name":"clock_sync","ph":"c","ts":{ts},"pid":1,"args":{{"sync_id":"x"}}}}"#);
    let files = ["9223372036854775", "0"].map(|ts| {
        let path = folder.path().join(format!("{ts}.json"));
        let span = format!(r#"{{"name":"a","ph":"X","ts":{},"dur":1,"pid":1}}"#, if ts == "0" { "5" } else { ts });
        fs::write(&path, format!("[{},{span}]", sync(ts))).expect("written");
        path
    });
    let output = longspan(&["spans", "--no-cache", text(&files[0]), text(&files[1])]);
    assert!(output.stderr.contains("0.json cannot be moved by "), "{}", output.stderr);
    assert_eq!(column(&output.done(), 0), ["5000".to_owned(), "9223372036854775000".to_owned()].into());
}

#[test]
fn each_unreadable_file_is_named_with_its_reason() {
    let folder = folder();
    let bad: Vec<_> = (0..3).map(|number| folder.path().join(format!("notes {number}.txt"))).collect();
    bad.iter().for_each(|path| fs::write(path, "not a trace").expect("written"));
    let args = [&["info"], &bad.iter().map(|path| text(path)).collect::<Vec<_>>()[..], &["--no-cache"]].concat();
    let message = longspan(&args).failed(1);
    assert!(message.contains("3 files cannot be read") && message.lines().count() == 4, "{message}");
    let message = longspan(&["info", "/none/a", text(&bad[0]), "/none/b", "--no-cache"]).failed(1);
    assert!(message.contains("/none/a: ") && message.contains("/none/b: "), "{message}");
    assert!(message.contains("2 files cannot be read") && !message.contains("notes"), "{message}");
}

#[test]
fn an_id_selects_processes_and_threads_of_every_file() {
    let folder = folder();
    let [server, client] = ["server.json", "client.json"].map(|name| folder.path().join(name));
    let span = |id: u32| format!(r#"{{"ph":"X","pid":{id},"tid":{id},"ts":1,"dur":2,"name":"read"}}"#);
    fs::write(&server, format!("[{},{}]", span(7), span(70))).expect("written");
    fs::write(&client, format!("[{},{}]", span(7), span(17))).expect("written");
    for (option, expression, expected) in [
        ("--process", "7", "2"),
        ("--process", "7|70", "3"),
        ("--process", "7 in client.json", "1"),
        ("--process", "1", "0"),
        ("--thread", "7", "2"),
        ("--thread", "1", "0"),
    ] {
        let args = ["search", "--no-cache", text(&server), text(&client), option, expression, ""];
        assert_eq!(longspan(&args).done().trim(), expected, "{option} {expression}");
    }
}

/// Writes a trace that begins after 17 minutes, and a profile of 20 ms without times.
fn trace_and_profile(folder: &Path) -> (PathBuf, PathBuf) {
    let (trace, profile) = (folder.join("trace.json"), folder.join("stacks.txt"));
    let spans = (0..10)
        .map(|k| format!(r#"{{"name":"s","ph":"X","ts":{},"dur":500,"pid":1,"tid":1}}"#, 1_000_000_000 + k * 1000));
    let counter = r#"{"name":"c","ph":"C","ts":1000000000,"pid":1,"args":{"v":2}}"#.to_owned();
    fs::write(&trace, format!("[{}]", spans.chain([counter]).collect::<Vec<_>>().join(",\n"))).expect("written");
    fs::write(&profile, "main;f 12000\nmain;g 8000\n").expect("written");
    (trace, profile)
}

#[test]
fn a_profile_without_times_changes_no_number_of_the_trace_beside_it() {
    let folder = folder();
    let (trace, profile) = trace_and_profile(folder.path());
    let run = |files: &[&Path], args: &[&str]| {
        let files: Vec<&str> = files.iter().map(|file| text(file)).collect();
        longspan(&[&args[..1], &["--no-cache"], &files, &args[1..]].concat())
    };
    for args in [
        &["stats", "--counters"][..],
        &["stats", "--heat-map"],
        &["spans", "--from", "+2ms", "--to", "+4ms"],
        &["stats", "--counters", "--from", "+1ms"],
    ] {
        let alone = run(&[&trace], args).done().replace(",1,", ",1 in trace.json,");
        let beside = run(&[&trace, &profile], args).done().replace(",1,", ",1 in trace.json,");
        assert!(alone.lines().count() > 1, "{alone}");
        assert_eq!(beside, alone, "{args:?}");
    }
    let info = |files: &[&Path]| -> serde_json::Value {
        serde_json::from_str(&run(files, &["info", "--json"]).done()).expect("JSON")
    };
    let (alone, beside) = (info(&[&trace]), info(&[&profile, &trace]));
    assert_eq!((&beside["start_ns"], &beside["end_ns"]), (&alone["start_ns"], &alone["end_ns"]));
    assert_eq!((&alone["untimed_samples"], &beside["untimed_samples"]), (&0.into(), &2.into()));
    let shown = run(&[&trace, &profile], &["info"]).done();
    assert!(shown.contains("untimed      2 samples without times"), "{shown}");
}

#[test]
fn samples_without_times_are_at_the_start_of_the_trace_also_after_exports() {
    let folder = folder();
    let (trace, profile) = trace_and_profile(folder.path());
    let samples = |files: &[&Path]| {
        let files: Vec<&str> = files.iter().map(|file| text(file)).collect();
        let dump = longspan(&[&["dump", "--no-cache"], &files[..]].concat()).done();
        let rows = dump.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
        rows.filter(|row| row["t"] == "sample").map(|row| row["ts"].clone()).collect::<Vec<_>>()
    };
    let expected = [1_000_000_000_000_i64, 1_000_012_000_000];
    assert_eq!(samples(&[&trace, &profile]), expected);
    for name in ["all.json", "all.pftrace", "all.longspan"] {
        let all = folder.path().join(name);
        longspan(&["export", "--no-cache", text(&profile), text(&trace), "-o", text(&all)]).done();
        assert_eq!(samples(&[&all]), expected, "{name}");
        let info: serde_json::Value =
            serde_json::from_str(&longspan(&["info", "--no-cache", "--json", text(&all)]).done()).expect("JSON");
        let range = (info["start_ns"].as_i64(), info["end_ns"].as_i64());
        assert_eq!(range, (Some(1_000_000_000_000), Some(1_000_009_500_000)), "{name}");
    }
}

#[test]
fn a_range_of_times_leaves_out_samples_without_times_and_says_so() {
    let folder = folder();
    let (trace, profile) = trace_and_profile(folder.path());
    let stats = |files: &[&Path], args: &[&str]| {
        let files: Vec<&str> = files.iter().map(|file| text(file)).collect();
        longspan(&[&["stats", "--samples=event", "--no-cache"], &files[..], args].concat())
    };
    let whole = stats(&[&trace, &profile], &[]);
    assert!(!whole.stderr.contains("left out"), "{}", whole.stderr);
    assert_eq!(records(&whole.done()).len(), 1);
    for args in [&["--from", "+0"][..], &["--to", "+1s"], &["--filter", "start>0"]] {
        let part = stats(&[&trace, &profile], args);
        assert!(part.stderr.contains("left out: 2 samples without times"), "{}", part.stderr);
        assert_eq!(records(&part.done()).len(), 0, "{args:?}");
    }
    let alone = stats(&[&profile], &["--to", "12ms"]);
    assert!(
        alone.stderr.contains("this trace has no times: its samples are drawn side by side, and cut there by --to"),
        "{}",
        alone.stderr
    );
    assert!(alone.done().contains("12000"));
}

#[test]
fn scheduling_of_each_file_has_the_threads_and_cpus_of_that_file() {
    let folder = folder();
    let trace = concat!(
        "# tracer: nop\n",
        "  app-7  [001] d..3. 1.000000: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> ",
        "next_comm=app next_pid=7 next_prio=120\n",
        "  app-7  [001] d..3. 1.000500: sched_waking: comm=db pid=8 prio=120 target_cpu=001\n",
        "  app-7  [001] d..3. 1.001000: sched_switch: prev_comm=app prev_pid=7 prev_prio=120 prev_state=S ==> ",
        "next_comm=db next_pid=8 next_prio=120\n",
        "  db-8   [001] d..3. 1.002000: sched_switch: prev_comm=db prev_pid=8 prev_prio=120 prev_state=S ==> ",
        "next_comm=swapper/1 next_pid=0 next_prio=120\n",
    );
    let files = ["a.txt", "b.txt"].map(|name| folder.path().join(name));
    files.iter().for_each(|file| fs::write(file, trace).expect("written"));
    let [first, second] = files.each_ref().map(|file| text(file));
    // Of each row with these columns: its thread, as the ids of process and thread.
    let described = |files: &[&str], kind: &str, columns: &[&str]| {
        let dump = longspan(&[&["dump", "--no-cache"], files].concat()).done();
        let dump: Vec<Value> = dump.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
        let all = |kind: &str| dump.iter().filter(|line| line["t"] == kind).collect::<Vec<_>>();
        let (processes, threads) = (all("process"), all("thread"));
        let thread = |utid: &Value| {
            let thread = threads.iter().find(|thread| thread["utid"] == *utid).expect("a thread");
            let process = processes.iter().find(|process| process["upid"] == thread["upid"]).expect("a process");
            format!("{}/{}", process["pid"], thread["tid"])
        };
        let mut rows: Vec<String> = all(kind)
            .iter()
            .map(|row| {
                let values = columns.iter().map(|column| match row.get(*column) {
                    Some(utid) if column.ends_with("utid") => thread(utid),
                    value => value.unwrap_or(&Value::Null).to_string(),
                });
                values.collect::<Vec<_>>().join(" ")
            })
            .collect();
        rows.sort();
        rows
    };
    let beside = |rows: &[String]| {
        let of_second = |row: &String| row.replace("7/", "\"7 in b.txt\"/").replace("8/", "\"8 in b.txt\"/");
        let mut all: Vec<String> = rows.iter().cloned().chain(rows.iter().map(of_second)).collect();
        all.sort();
        all
    };
    let runs = described(&[first], "sched", &["ts", "utid"]);
    assert_eq!(runs, ["1000000000 7/7", "1001000000 8/8"]);
    assert_eq!(described(&[first, second], "sched", &["ts", "utid"]), beside(&runs));
    let cpus = described(&[first, second], "sched", &["cpu"]);
    assert_eq!(cpus, [r#""1 in b.txt""#, r#""1 in b.txt""#, "1", "1"]);
    let states = described(&[first], "thread_state", &["ts", "state", "utid", "waker_utid"]);
    assert!(states.iter().any(|state| state.ends_with("8/8 7/7")), "a waking: {states:?}");
    assert_eq!(described(&[first, second], "thread_state", &["ts", "state", "utid", "waker_utid"]), beside(&states));
}
