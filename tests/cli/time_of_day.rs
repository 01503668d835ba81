//! The time of day at the start of a trace: known if the trace has it, kept by exports, and independent of offsets on
//! the timeline.

use std::path::Path;

use serde_json::Value;

use crate::harness::{data, folder, longspan, text};

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
    let native = folder.path().join("same.longspan");
    longspan(&["export", text(&trace), "-o", text(&native), "--no-cache"]).done();
    assert_eq!(began(&[text(&native)]), expected);
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
