//! Exports of random nested spans, many of them empty, read back with their depths.

use std::fs;

use longspan::facade::export::{ExportFormat, ExportOptions};
use longspan::facade::query::Snapshot;
use longspan::facade::query::scope::Scope;
use proptest::prelude::*;

use super::{COMPACT, FORMATS, Seen, assert_same, exported, load, seen};

/// Returns nested begins and ends, and instants, on two threads. Most steps take no time.
fn nested(steps: &[(u8, usize, u32)]) -> String {
    let (mut ts, mut depths, mut records) = (0, [0; 2], Vec::new());
    let record = |ph: &str, tid: usize, ts: u32, number: usize| {
        format!(r#"{{"ph":"{ph}","pid":1,"tid":{tid},"ts":{ts},"name":"n{number}","s":"t"}}"#)
    };
    for (number, &(step, tid, later)) in steps.iter().enumerate() {
        ts += later;
        match step {
            0..=2 => {
                depths[tid] += 1;
                records.push(record("B", tid, ts, number));
            }
            3..=6 if depths[tid] > 0 => {
                depths[tid] -= 1;
                records.push(format!(r#"{{"ph":"E","pid":1,"tid":{tid},"ts":{ts}}}"#));
            }
            _ => records.push(record("i", tid, ts, number)),
        }
    }
    for (tid, depth) in depths.into_iter().enumerate() {
        records.extend((0..depth).map(|_| format!(r#"{{"ph":"E","pid":1,"tid":{tid},"ts":{}}}"#, ts + 1)));
    }
    format!("[{}]", records.join(",\n"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn empty_spans_at_the_time_of_others_keep_their_depth(
        steps in prop::collection::vec((0..8u8, 0..2usize, prop::sample::select(vec![0, 0, 0, 1])), 0..60),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("in.json");
        let text = nested(&steps);
        fs::write(&path, &text).expect("written");
        let snapshot = load(&path);
        let spans = |snapshot: &Snapshot| {
            let mut spans = seen(snapshot);
            spans.retain(|row| row.kind == "span");
            spans
        };
        let expected = spans(&snapshot);
        for format in [ExportFormat::ChromeJson { gzip: false }, ExportFormat::Perfetto] {
            let back = exported(&snapshot, &ExportOptions::whole(format));
            prop_assert_eq!(back.losses(), snapshot.losses());
            let expected = match format {
                ExportFormat::Perfetto => expected.clone(),
                _ => with_empty_spans_side_by_side(&expected),
            };
            assert_same(&spans(&back), &expected, &format!("{format:?} of {text}"));
        }
    }
}

/// Moves empty spans out of other empty ones, as Chrome JSON has them.
fn with_empty_spans_side_by_side(spans: &[Seen]) -> Vec<Seen> {
    let is_around = |outer: &Seen, inner: &Seen| {
        let ends_later = outer.start_ns + outer.dur_ns as i64 > inner.start_ns;
        outer.track == inner.track && outer.depth < inner.depth && outer.start_ns <= inner.start_ns && ends_later
    };
    let depth = |span: &Seen| spans.iter().filter(|outer| is_around(outer, span)).count() as u16;
    let mut moved: Vec<Seen> = spans.iter().map(|span| Seen { depth: depth(span), ..span.clone() }).collect();
    moved.sort();
    moved
}

/// The end of a begin in Chrome JSON ends what is open inside of it.
#[test]
fn an_unfinished_span_stays_unfinished_in_a_parent_that_begins_with_another() {
    let record = |ph: &str, ts: u32, name: &str, dur: u32| {
        format!(r#"{{"ph":"{ph}","pid":1,"tid":2,"ts":{ts},"dur":{dur},"name":"{name}"}}"#)
    };
    for (outer, inner) in [("open", "open"), ("a", "open"), ("open", "a"), ("a", "a")] {
        let records = [record("B", 7, inner, 0), record("B", 6, outer, 0), record("X", 6, "a", 8)];
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("in.json");
        fs::write(&path, format!("[{}]", records.join(",\n"))).expect("written");
        let snapshot = load(&path);
        let unfinished = |snapshot: &Snapshot| {
            let rows = seen(snapshot).into_iter().filter(|row| row.unfinished);
            rows.map(|row| (row.start_ns, row.name)).collect::<Vec<_>>()
        };
        let back = exported(&snapshot, &ExportOptions::whole(ExportFormat::ChromeJson { gzip: false }));
        assert_eq!(unfinished(&back), [(6000, outer.to_owned()), (7000, inner.to_owned())]);
    }
}

#[test]
fn a_thousand_overlapping_spans_of_a_thread_keep_their_ends_in_a_perfetto_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("in.json");
    // Each span ends after the ones that began before it.
    let span = |number: u32| {
        format!(r#"{{"ph":"X","pid":1,"tid":1,"ts":{number},"dur":{},"name":"n{number}"}}"#, 2000 + number % 7 * 3)
    };
    fs::write(&path, format!("[{}]", (0..1000).map(span).collect::<Vec<_>>().join(",\n"))).expect("written");
    let snapshot = load(&path);
    let spans = |snapshot: &Snapshot| {
        let mut spans: Vec<_> =
            seen(snapshot).into_iter().map(|span| (span.start_ns, span.dur_ns, span.name)).collect();
        spans.sort();
        spans
    };
    let expected = spans(&snapshot);
    assert_eq!(expected.len(), 1000);
    assert_eq!(spans(&exported(&snapshot, &ExportOptions::whole(ExportFormat::Perfetto))), expected);
}

#[test]
fn an_unfinished_span_keeps_its_duration_in_a_partial_export() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("json");
    let text = r#"[{"ph":"B","name":"open","pid":1,"tid":1,"ts":0},{"ph":"B","name":"inner","pid":1,"tid":1,"ts":45},
        {"ph":"X","name":"later","pid":1,"tid":1,"ts":100,"dur":100},{"ph":"X","name":"other","pid":1,"tid":2,"ts":50,"dur":10}]"#;
    fs::write(&path, text).expect("written");
    let snapshot = load(&path);
    for format in [ExportFormat::ChromeJson { gzip: false }, ExportFormat::Perfetto, COMPACT] {
        let scope = Scope::from_range(Some(40_000), Some(90_000));
        let back = exported(&snapshot, &ExportOptions { scope, ..ExportOptions::whole(format) });
        let rows = seen(&back).into_iter().map(|row| (row.start_ns, row.dur_ns, row.name, row.unfinished));
        let expected = [
            (0, 200_000, "open".to_owned(), true),
            (45_000, 155_000, "inner".to_owned(), true),
            (50_000, 10_000, "other".to_owned(), false),
        ];
        assert_eq!(rows.collect::<Vec<_>>(), expected, "{format:?}");
    }
}

#[test]
fn a_span_that_its_child_outlasts_stays_the_parent() {
    let record = |ph: &str, ts: u32, name: &str, dur: u32| {
        format!(r#"{{"ph":"{ph}","pid":1,"tid":2,"ts":{ts},"dur":{dur},"name":"{name}"}}"#)
    };
    let records = [
        record("B", 10, "outer", 0),
        record("X", 10, "longer", 16),
        record("X", 10, "inner", 5),
        record("E", 21, "outer", 0),
        record("X", 40, "after", 1),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("in.json");
    fs::write(&path, format!("[{}]", records.join(",\n"))).expect("written");
    let snapshot = load(&path);
    let depths = |snapshot: &Snapshot| {
        let mut rows: Vec<_> = seen(snapshot).into_iter().map(|row| (row.name, row.depth, row.dur_ns)).collect();
        rows.sort();
        rows
    };
    let expected = [("after", 0, 1000), ("inner", 2, 5000), ("longer", 1, 16_000), ("outer", 0, 11_000)];
    assert_eq!(depths(&snapshot), expected.map(|(name, depth, dur_ns)| (name.to_owned(), depth, dur_ns)));
    let back = exported(&snapshot, &ExportOptions::whole(ExportFormat::ChromeJson { gzip: false }));
    assert_eq!(depths(&back), depths(&snapshot));
}

#[test]
fn an_unfinished_async_span_keeps_its_duration_in_a_partial_export() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("in.json");
    let text = r#"[{"ph":"b","pid":1,"cat":"net","name":"fetch","id":1,"ts":10},
        {"ph":"b","pid":1,"cat":"net","name":"step","id":1,"ts":500},{"ph":"e","pid":1,"cat":"net","name":"step","id":1,"ts":900},
        {"ph":"X","pid":1,"tid":1,"name":"work","ts":150,"dur":20}]"#;
    fs::write(&path, text).expect("written");
    let snapshot = load(&path);
    for format in FORMATS.into_iter().chain([ExportFormat::Perfetto]) {
        let scope = Scope::from_range(Some(100_000), Some(200_000));
        let back = exported(&snapshot, &ExportOptions { scope, ..ExportOptions::whole(format) });
        let rows = seen(&back).into_iter().map(|row| (row.start_ns, row.dur_ns, row.name, row.unfinished));
        let expected = [(10_000, 890_000, "fetch".to_owned(), true), (150_000, 20_000, "work".to_owned(), false)];
        assert_eq!(rows.collect::<Vec<_>>(), expected, "{format:?}");
    }
}

#[test]
fn a_span_that_ends_at_the_maximum_time_does_not_end_its_unfinished_parent() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("in.json");
    let text = r#"[{"ph":"B","name":"open","pid":1,"tid":1,"ts":1},
        {"ph":"X","name":"last","pid":1,"tid":1,"ts":10,"dur":9223372036854765.807},
        {"ph":"C","name":"c","pid":1,"ts":9223372036854775.807,"args":{"v":1}}]"#;
    fs::write(&path, text).expect("written");
    let snapshot = load(&path);
    let spans = |snapshot: &Snapshot| {
        let spans = seen(snapshot).into_iter().filter(|row| row.kind == "span");
        spans.map(|row| (row.start_ns, row.dur_ns, row.name, row.depth, row.unfinished)).collect::<Vec<_>>()
    };
    assert_eq!(snapshot.end_ns(), i64::MAX);
    for format in FORMATS.into_iter().chain([ExportFormat::Perfetto]) {
        let back = exported(&snapshot, &ExportOptions::whole(format));
        assert_eq!(spans(&back), spans(&snapshot), "{format:?}");
        assert_eq!(back.losses(), snapshot.losses(), "{format:?}");
    }
}

/// The end of a span comes before what else is at its time, except for what is in the span.
#[test]
fn an_instant_at_the_end_of_its_span_stays_inside_in_a_perfetto_trace() {
    let record = |ph: &str, ts: u32, name: &str| {
        format!(r#"{{"ph":"{ph}","pid":1,"tid":1,"ts":{ts},"name":"{name}","cat":"c","id":1,"s":"t"}}"#)
    };
    let nested = [record("B", 11, "a"), record("B", 11, "b"), record("i", 12, "in b"), record("E", 12, "b")];
    let outer = [record("i", 12, "in a"), record("E", 12, "a"), record("B", 14, "c"), record("E", 16, "c")];
    let next = [record("B", 16, "d"), record("i", 16, "in d"), record("E", 20, "d"), record("i", 20, "after")];
    let asyncs = [record("b", 31, "request"), record("n", 35, "last"), record("e", 35, "request")];
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("in.json");
    fs::write(&path, format!("[{}]", [&nested[..], &outer, &next, &asyncs].concat().join(",\n"))).expect("written");
    let snapshot = load(&path);
    let back = exported(&snapshot, &ExportOptions::whole(ExportFormat::Perfetto));
    for snapshot in [&snapshot, &back] {
        let rows = seen(snapshot);
        let depth_of = |name: &str| rows.iter().find(|row| row.name == name).map(|row| row.depth);
        assert_eq!(["in b", "in a", "in d", "after", "last"].map(depth_of), [2, 1, 1, 0, 1].map(Some));
    }
}
