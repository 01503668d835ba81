//! Tests of the whole reader, on a real page and on pages of other versions.

use crate::formats::testing::{ReadEvent, Reading, data, format_of, read, read_bytes, read_path};
use crate::model::{EventKind, Id, Loss, Metadata};

/// Writes a page with these lists.
fn page(units: &str, rest: &str) -> String {
    format!(
        "\n<html>\n<head>\n  <title>Cargo Build Timings \u{2014} demo 0.1.0</title>\n</head>\n<body><script>\n\
         DURATION = 1;\nconst UNIT_DATA = [{units}];\n{rest}for (const unit of UNIT_DATA) {{ }}\n</script>\n</body></html>\n"
    )
}

/// Returns time, duration, name and row of the spans.
fn spans(reading: &Reading) -> Vec<(i64, u64, &str, &Id)> {
    let spans = reading.events.iter().filter(|event| event.kind == EventKind::Complete);
    spans.map(|event| (event.ts_ns / 1_000_000, event.value / 1_000_000, &*event.name, &event.track.tid)).collect()
}

fn of_kind(reading: &Reading, kind: EventKind) -> impl Iterator<Item = &ReadEvent> {
    reading.events.iter().filter(move |event| event.kind == kind)
}

#[test]
fn a_real_page_has_its_units_parts_flows_and_counters() {
    let reading = read_path(&data("cargo_timing.html.gz")).expect("a capture");
    let start_ms = spans(&reading).first().map_or(0, |span| span.0) - 80;
    assert_eq!(start_ms, 1_795_883_036_221, "the start of the build");
    let short: Vec<_> =
        spans(&reading).into_iter().map(|(ts, dur, name, tid)| (ts - start_ms, dur, name, tid)).collect();
    let (one, two) = (&Id::Number(1), &Id::Number(2));
    let expected = [
        (80, 70, "demo v0.1.0 build-script", one),
        (80, 40, "util v1.2.3", two),
        (80, 20, "frontend", two),
        (100, 20, "codegen", two),
        (160, 30, "demo v0.1.0", one),
        (160, 20, "frontend", one),
        (160, 0, "demo v0.1.0 build-script (run)", two),
        (180, 10, "codegen", one),
        (190, 70, "demo v0.1.0 demo \"bin\"", one),
    ];
    assert_eq!(short, expected);
    let ends: Vec<_> = of_kind(&reading, EventKind::FlowEnd)
        .map(|flow| (flow.ts_ns / 1_000_000 - start_ms, &flow.track.tid))
        .collect();
    assert_eq!(ends, [(190, one)], "the others are from and to a unit without a duration");
    assert_eq!(of_kind(&reading, EventKind::FlowStart).count(), ends.len());
    let util = reading.events.iter().find(|event| event.name == "util v1.2.3").expect("there");
    let args: serde_json::Value = serde_json::from_str(&util.args).expect("JSON");
    assert_eq!(args, serde_json::json!({"features": ["a", "default"]}));
    let names: std::collections::BTreeSet<_> = reading.counters().into_iter().collect();
    assert_eq!(names, [("Active", "units"), ("Waiting", "units"), ("Inactive", "units"), ("CPU usage", "%")].into());
    let process = |said: &Metadata| matches!(said, Metadata::ProcessName { name, .. } if &**name == "demo 0.1.0");
    assert!(reading.metadata.iter().any(process));
    let is_below = |said: &Metadata| {
        let workers = 2;
        matches!(said, Metadata::TrackSortIndex { key, sort_index } if &*key.name == "Active" && *sort_index > workers)
    };
    assert!(reading.metadata.iter().any(is_below));
    assert_eq!(reading.lost(), []);
}

#[test]
fn old_pages_have_the_time_of_the_metadata_instead_of_parts() {
    let units = r#"{"i":0,"name":"a","version":"1.0.0","mode":"todo","target":"","start":0.5,"duration":1.5,"rmeta_time":0.5,
        "unlocked_units":[2],"unlocked_rmeta_units":[1]},
        {"i":1,"name":"b","version":"1.0.0","mode":"run-custom-build","target":" build-script (run)","start":1.0,"duration":0.25,
        "rmeta_time":null,"unlocked_units":[],"unlocked_rmeta_units":[]},
        {"i":2,"name":"c","version":"","mode":"todo","target":"","start":2.0,"duration":"1"}"#;
    let reading = read(&page(units, ""));
    let (one, two) = (&Id::Number(1), &Id::Number(2));
    let expected = [
        (500, 1500, "a v1.0.0", one),
        (500, 500, "frontend", one),
        (1000, 1000, "codegen", one),
        (1000, 250, "b v1.0.0 build-script (run)", two),
        (2000, 1000, "c", one),
    ];
    assert_eq!(spans(&reading), expected);
    let starts: Vec<_> = of_kind(&reading, EventKind::FlowStart).map(|flow| flow.ts_ns).collect();
    assert_eq!(starts, [999_999_999, 1_999_999_999], "within the metadata and the unit");
    let args: Vec<_> =
        of_kind(&reading, EventKind::Complete).map(|span| &*span.args).filter(|args| !args.is_empty()).collect();
    assert_eq!(args, [r#"{"rmeta_time":0.5}"#, r#"{"mode":"run-custom-build"}"#]);
    assert_eq!(reading.lost(), []);
}

#[test]
fn damage_costs_its_own_unit_part_or_point_only() {
    let unit = |rest: &str| format!(r#"{{"i":1,"name":"a","version":"1",{rest}}}"#);
    let units = [
        unit(r#""start":1,"duration":-1"#),
        unit(r#""start":null,"duration":1"#),
        unit(r#""start":2"#),
        unit(r#""start":3,"duration":1,"sections":[["x",{"start":0,"end":1.009}],["y",{"start":"z","end":1}],7]"#),
        "17".to_owned(),
        r#"{"name" "x"}"#.to_owned(),
        format!(r#"{{"i":"5","name":"{}","start":4,"duration":1,"unblocked_units":["x",1]}}"#, "n".repeat(500)),
    ];
    let rest = "const CONCURRENCY_DATA = [{\"t\":1,\"active\":2,\"waiting\":\"x\",\"inactive\":0},{\"active\":1}];\n\
                const CPU_USAGE = 7;\n";
    let reading = read(&page(&units.join(",\n"), rest));
    let names: Vec<_> = spans(&reading).into_iter().map(|(ts, dur, name, _)| (ts, dur, name.len())).collect();
    assert_eq!(names, [(1000, 0, 4), (2000, 0, 4), (3000, 1000, 4), (3000, 1000, 1), (4000, 1000, 500)]);
    let lost = [
        (Loss::BadNumber, 2),
        (Loss::BadTime, 4),
        (Loss::NegativeDuration, 1),
        (Loss::BadRecord, 5),
        (Loss::BadCounter, 1),
    ];
    assert_eq!(reading.lost(), lost);
}

#[test]
fn a_counter_value_that_is_no_number_is_counted() {
    let unit = r#"{"i":1,"name":"a","version":"1","start":1,"duration":1}"#;
    let reading = read(&page(unit, "const CPU_USAGE = [[0.1,50.0],[0.2,NaN],[0.3,\"inf\"]];\n"));
    let values: Vec<f64> = of_kind(&reading, EventKind::Counter).map(|event| f64::from_bits(event.value)).collect();
    assert_eq!((values, reading.losses.count(Loss::BadCounter)), (vec![50.0], 2));
}

#[test]
fn a_page_that_is_cut_anywhere_keeps_the_units_before_the_cut() {
    let units: Vec<String> = (0..3).map(|i| format!(r#"{{"i":{i},"name":"u{i}","start":{i},"duration":1}}"#)).collect();
    let text = page(&units.join(","), "const CONCURRENCY_DATA = [{\"t\":1,\"active\":2}];\n");
    let list = text.find("UNIT_DATA = ").expect("there") + 12;
    let end = text.find("</script>").expect("there");
    for len in 70..list {
        assert!(read_bytes(&text.as_bytes()[..len]).is_err(), "{len}");
    }
    for len in list..text.len() {
        let reading = read_bytes(&text.as_bytes()[..len]).expect("a part");
        let whole = units.iter().filter(|unit| text[..len].contains(&***unit)).count();
        let count = of_kind(&reading, EventKind::Complete).count();
        assert!(count == whole || count + 1 == whole, "{len}: {count} of {whole}");
        assert_eq!(reading.losses.count(Loss::Truncated), u64::from(len < end + 9), "{len}");
    }
}

#[test]
fn more_units_than_one_layout_holds_are_all_shown_in_any_order() {
    let count = super::UNITS_MAX + 10;
    let unit = |i: usize| {
        format!(
            r#"{{"i":{i},"name":"u","start":{},"duration":2,"unlocked_units":[{}]}}"#,
            count - i,
            i.wrapping_sub(1) as i32
        )
    };
    let reading = read(&page(&(0..count).map(unit).collect::<Vec<_>>().join(","), ""));
    assert_eq!(of_kind(&reading, EventKind::Complete).count(), count);
    assert_eq!(of_kind(&reading, EventKind::FlowEnd).count(), count - 2);
    assert_eq!(reading.lost(), [(Loss::BadFlow, 2)], "of a unit that is not there, and of one in an earlier layout");
}

#[test]
fn pages_without_data_and_other_pages_are_told_apart() {
    assert_eq!(format_of(page("", "").as_bytes()), Some("Cargo timings"));
    assert_eq!(read(&page("", "")).events.len(), 0);
    let crlf = page(r#"{"name":"a","start":1,"duration":1}"#, "").replace('\n', "\r\n");
    assert_eq!(read(&format!("\u{feff}{crlf}")).events.len(), 1);
    assert_ne!(format_of(b"<html><title>Cargo</title><script>const UNIT_DATA = [];</script>"), Some("Cargo timings"));
    assert!(read_bytes(b"<html><title>Cargo Build Timings</title></html>").is_err());
}
