//! Traces that are large in one dimension have the memory use, order and results of small ones.

use std::fs;
use std::io::{BufWriter, Write};

use serde_json::Value;

use crate::harness::{folder, longspan, spans_of, text};

#[test]
fn results_do_not_depend_on_threads_or_memory() {
    let folder = folder();
    let file = folder.path().join("disordered.longspan");
    longspan(&["synth", "-o", text(&file), "--spans", "400000", "--disorder", "0.3", "--seed", "7"]).done();
    let expected = spans_of(&file);
    assert_eq!(expected.lines().count(), 400_001);
    for options in [["--threads", "1"], ["--threads", "5"], ["--memory", "8MiB"]] {
        let found = longspan(&[&["spans", "--no-cache", text(&file)], &options[..]].concat()).done();
        assert!(found == expected, "{options:?}");
    }
    let info = longspan(&["info", "--no-cache", "--json", "--memory", "8MiB", text(&file)]).done();
    let info: Value = serde_json::from_str(&info).expect("JSON");
    assert!(info["load"]["spilled_bytes"].as_u64() > Some(0), "the budget was too large to matter: {info}");
    assert_eq!(info["spans"], 400_000);
}

/// Bytes on disk are what most loads and cold frames wait for. The limits are 1 % above the bytes of this version.
#[test]
fn a_span_takes_no_more_bytes_in_the_store_and_in_exports() {
    const SPANS: f64 = 300_000.0;
    let folder = folder();
    let file = folder.path().join("in.longspan");
    longspan(&["synth", "-o", text(&file), "--spans", "300000", "--threads", "64"]).done();
    let info = longspan(&["info", "--no-cache", "--json", text(&file)]).done();
    let info: Value = serde_json::from_str(&info).expect("JSON");
    let per_span = |bytes: &Value| bytes.as_f64().expect("a number") / SPANS;
    let (file_bytes, store_bytes) = (per_span(&info["source_bytes"]), per_span(&info["store_bytes"]));
    assert!(file_bytes < 4.41, "{file_bytes} bytes in the native format");
    assert!(store_bytes < 5.80, "{store_bytes} bytes in the store");
    for (options, name, limit) in [
        (&["--compact"][..], "compact.longspan", 4.68),
        (&[], "with its store.longspan", 9.86),
        (&[], "out.json", 106.6),
        (&[], "out.pftrace", 40.7),
    ] {
        let output = folder.path().join(name);
        longspan(&[&["export", "--no-cache", text(&file), "-o", text(&output)], options].concat()).done();
        let bytes = fs::metadata(&output).expect("written").len() as f64 / SPANS;
        assert!(bytes < limit, "{bytes} bytes in {name}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let folder = folder();
    let [first, again, other] = ["first", "again", "other"].map(|name| folder.path().join(name));
    for (file, seed) in [(&first, "3"), (&again, "3"), (&other, "4")] {
        longspan(&["synth", "-o", text(file), "--spans", "50000", "--seed", seed]).done();
    }
    let bytes = |file| fs::read(file).expect("written");
    assert!(bytes(&first) == bytes(&again));
    assert!(bytes(&first) != bytes(&other));
}

#[test]
fn a_million_distinct_names_are_all_kept() {
    const NAMES: usize = 1_000_000;
    let folder = folder();
    let file = folder.path().join("names.json");
    let mut out = BufWriter::new(fs::File::create(&file).expect("created"));
    out.write_all(b"[").expect("written");
    for k in 0..NAMES {
        let comma = if k > 0 { "," } else { "" };
        writeln!(out, r#"{comma}{{"ph":"X","pid":1,"tid":1,"ts":{k},"dur":1,"name":"n{k}"}}"#).expect("written");
    }
    out.write_all(b"]").expect("written");
    drop(out);
    let spans = spans_of(&file);
    let names: std::collections::HashSet<&str> = spans.lines().filter_map(|line| line.split(',').nth(3)).collect();
    assert_eq!(names.len(), NAMES + 1, "and the header");
    assert_eq!(longspan(&["spans", "--no-cache", "--name", "^n777777$", text(&file)]).done().lines().count(), 2);
}

#[test]
fn folded_paths_beyond_2048_frames_are_cut_with_a_note_and_json_has_all_frames() {
    let folder = folder();
    let file = folder.path().join("deep.json");
    let span =
        |depth: u32| format!(r#"{{"ph":"X","pid":1,"tid":1,"ts":{depth},"dur":{},"name":"f"}}"#, 10_000 - 2 * depth);
    let spans: Vec<String> = (0..2100).map(span).collect();
    fs::write(&file, format!("[{}]", spans.join(","))).expect("written");
    let folded = longspan(&["flame", "--no-cache", text(&file)]);
    assert!(folded.stderr.contains("52 paths are cut to their first 2048 frames"), "{}", folded.stderr);
    let folded = folded.done();
    let weights =
        folded.lines().map(|line| line.rsplit_once(' ').expect("a weight").1.parse::<u64>().expect("a number"));
    assert_eq!(weights.sum::<u64>(), 10_000_000, "all time is counted");
    assert_eq!(folded.lines().map(|line| line.matches(';').count()).max(), Some(2047));
    let json = longspan(&["flame", "--no-cache", "--format", "json", text(&file)]);
    assert_eq!(json.stderr, "");
    assert_eq!(json.done().lines().filter(|line| line.contains("\"name\":\"f\"")).count(), 2100);
}
