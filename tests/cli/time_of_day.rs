//! The time of day at the start of a trace. It is known if the trace has it, kept by exports, and independent of
//! offsets on the timeline. Files with a time of day share one clock.

use std::path::Path;

use serde_json::Value;

use crate::harness::{data, folder, longspan, records, text};

/// Returns the start of a trace in nanoseconds of UTC since 1970.
fn began(args: &[&str]) -> Option<i64> {
    let info = longspan(&[&["info", "--json", "--no-cache"], args].concat()).done();
    let info: Value = serde_json::from_str(&info).expect("JSON");
    Some(info["start_ns"].as_i64().expect("a time") + info["utc_offset_ns"].as_i64()?)
}

#[test]
fn real_traces_have_the_correct_time_of_day_or_none() {
    for (name, expected) in [
        // The first snapshot of its clocks, and its first event on its own clock: 1795169362568453984 of UTC were
        // 4033302265140.
        ("chromium.pftrace.gz", Some(1_795_169_362_568_453_984 - 4_033_302_265_140 + 4_032_816_425_517)),
        // Both have UTC times.
        ("otlp.jsonl.gz", Some(1_795_167_008_097_092_932)),
        ("strace_ttt.txt.gz", Some(1_795_166_531_250_955_000)),
        // It counts from the boot of the machine, and its profile start is another moment.
        ("samply.json.gz", None),
        ("go_trace.json", None),
        ("spall_v3.spall.gz", None),
        ("perf.data.gz", None),
    ] {
        assert_eq!(began(&[text(&data(name))]), expected, "{name}");
    }
    let info = longspan(&["info", text(&data("otlp.jsonl.gz")), "--no-cache"]).done();
    assert!(info.contains("\nbegan        2026-11-20 09:30:08.097 UTC\n"), "{info}");
}

#[test]
fn the_time_of_day_survives_an_export_and_an_offset() {
    let folder = folder();
    let trace = data("chromium.pftrace.gz");
    let expected = began(&[text(&trace)]);
    for name in ["same.longspan", "same.json", "same.pftrace"] {
        let output = folder.path().join(name);
        longspan(&["export", text(&trace), "-o", text(&output), "--no-cache"]).done();
        assert_eq!(began(&[text(&output)]), expected, "{name}");
    }
    let native = folder.path().join("same.longspan");
    assert_eq!(began(&[text(&native), "--offset", "same.longspan=-90s"]), expected);
    // The first file with a time of day counts.
    let other = data("go_trace.json");
    let together = [text(&other), text(&native), "--offset", "same.longspan=-4000s"];
    let first_ns = began(&together).expect("the time of day");
    let from_zero_ns = expected.expect("the time of day") - first_ns;
    assert!((32_000_000_000..33_000_000_000).contains(&from_zero_ns), "{from_zero_ns}");
}

fn gecko(folder: &Path, product: &str) -> std::path::PathBuf {
    let path = folder.join(format!("{product}.json"));
    let profile = format!(
        r#"{{"meta":{{"version":24,"interval":1,"startTime":1795165362000.5,"product":"{product}","categories":[]}},"libs":[],
        "threads":[{{"name":"Main","pid":1,"tid":2,"samples":{{"schema":{{"stack":0,"time":1}},"data":[[null,250]]}}}}]}}"#
    );
    std::fs::write(&path, profile).expect("written");
    path
}

#[test]
fn only_browser_profiles_count_times_from_their_start() {
    let folder = folder();
    let firefox = gecko(folder.path(), "Firefox");
    assert_eq!(began(&[text(&firefox)]), Some(1_795_165_362_250_500_000));
    assert_eq!(began(&[text(&gecko(folder.path(), "python"))]), None);
}

/// Writes a Chrome trace of one span at `ts_us` with this member before its events.
fn chrome(folder: &Path, name: &str, member: &str, ts_us: u64) -> std::path::PathBuf {
    let path = folder.join(name);
    let span = format!(r#"{{"name":"{name}","ph":"X","ts":{ts_us},"dur":1,"pid":1,"tid":1}}"#);
    let members = [member, &format!(r#""traceEvents":[{span}]"#)];
    let members: Vec<&str> = members.into_iter().filter(|member| !member.is_empty()).collect();
    std::fs::write(&path, format!("{{{}}}", members.join(","))).expect("written");
    path
}

#[test]
fn recorders_of_chrome_json_state_the_start_of_their_clock() {
    let folder = folder();
    for (member, expected) in [
        // PyTorch and Proton, VizTracer, Bazel.
        (r#""baseTimeNanoseconds": 1795165362000000007"#, Some(1_795_165_362_000_005_007)),
        (
            r#""viztracer_metadata":{"overflow":false,"baseTimeNanoseconds":1795165362000000007}"#,
            Some(1_795_165_362_000_005_007),
        ),
        (r#""otherData":{"bazel_version":"9","profile_start_ts":1795165362001}"#, Some(1_795_165_362_001_005_000)),
        // Older versions of PyTorch count from 1970.
        (r#""baseTimeNanoseconds":0"#, Some(5000)),
        (r#""baseTimeNanoseconds":"soon""#, None),
        (r#""baseTimeNanoseconds":1e30"#, None),
        (r#""otherData":{"profile_start_ts":9223372036854775807}"#, None),
        (r#""otherData":{"version":1}"#, None),
    ] {
        assert_eq!(began(&[text(&chrome(folder.path(), "a.json", member, 5))]), expected, "{member}");
    }
    // The member may also follow the events.
    let path = folder.path().join("after.json");
    let after =
        r#"{"traceEvents":[{"name":"a","ph":"X","ts":5,"dur":1,"pid":1}],"baseTimeNanoseconds":1795165362000000007}"#;
    std::fs::write(&path, after).expect("written");
    assert_eq!(began(&[text(&path)]), Some(1_795_165_362_000_005_007));
}

/// Returns the starts of the spans of files by name, and the messages of the command.
fn starts(files: &[&Path], more: &[&str]) -> (Vec<(String, i64)>, String) {
    let files: Vec<&str> = files.iter().map(|path| text(path)).collect();
    let output = longspan(&[&["spans", "--no-cache"], more, &files].concat());
    let messages = output.stderr.clone();
    let row = |record: &Vec<String>| (record[3].clone(), record[0].parse().expect("a time"));
    let mut starts: Vec<(String, i64)> = records(&output.done()).iter().map(row).collect();
    starts.sort();
    (starts, messages)
}

#[test]
fn files_with_a_time_of_day_are_moved_to_one_clock() {
    const BASE_NS: i64 = 1_795_165_362_000_000_000;
    let folder = folder();
    let with_base = |name: &str, base_ns: i64, ts_us| {
        chrome(folder.path(), name, &format!(r#""baseTimeNanoseconds":{base_ns}"#), ts_us)
    };
    let a = with_base("a", BASE_NS, 10);
    let b = with_base("b", BASE_NS + 2_500_000_000, 10);
    // Two readings of one clock never agree to the nanosecond.
    let c = with_base("c", BASE_NS + 999_999, 10);
    let d = chrome(folder.path(), "d", "", 10);
    let expected = |times: [i64; 4]| ["a", "b", "c", "d"].map(str::to_owned).into_iter().zip(times).collect::<Vec<_>>();
    let (found, messages) = starts(&[&a, &b, &c, &d], &[]);
    assert_eq!(found, expected([10_000, 2_500_010_000, 10_000, 10_000]));
    assert_eq!(messages.matches("is moved by").count(), 1, "{messages}");
    let moved = "b is moved by 2.5s, to its time of day on the clock of the files before it.";
    assert!(messages.contains(moved), "{messages}");
    // The first file with a time of day has the clock, and a given offset is added.
    let (found, _) = starts(&[&d, &b, &a, &c], &["--offset", "a=1s"]);
    assert_eq!(found, expected([10_000 - 1_500_000_000, 10_000, 10_000 - 2_500_000_000 + 999_999, 10_000]));
    // Moved files have the time of day that they had alone.
    assert_eq!(began(&[text(&b), text(&a)]), Some(BASE_NS + 10_000));
    // The times of the second file would exceed 64 bits.
    let (found, messages) =
        starts(&[&with_base("e", -BASE_NS, 10), &with_base("f", 9_000_000_000_000_000_000, 10)], &[]);
    assert_eq!(found, [("e".to_owned(), 10_000), ("f".to_owned(), 10_000)]);
    assert!(!messages.contains("is moved by"), "{messages}");
    // A clock sync is more precise.
    let synced = |name: &str, base_ns: i64, ts_us: i64| {
        let sync = r#"{"name":"clock_sync","ph":"c","ts":10,"pid":1,"args":{"sync_id":"x"}}"#;
        let span = format!(r#"{{"name":"{name}","ph":"X","ts":{ts_us},"dur":1,"pid":1,"tid":1}}"#);
        let path = folder.path().join(name);
        let trace = format!(r#"{{"baseTimeNanoseconds":{base_ns},"traceEvents":[{sync},{span}]}}"#);
        std::fs::write(&path, trace).expect("written");
        path
    };
    let (found, _) = starts(&[&synced("g", BASE_NS, 20), &synced("h", BASE_NS + 7_000_000_000, 30)], &[]);
    assert_eq!(found, [("g".to_owned(), 20_000), ("h".to_owned(), 30_000)]);
}
