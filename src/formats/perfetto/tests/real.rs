//! A Chromium trace against the output of Perfetto v52. Spans and instants with depths are compared in
//! `tests/cli/golden.rs`; these tests cover the other values.

use std::collections::BTreeMap;
use std::io::Read as _;

use super::*;
use crate::model::TrackKey;

fn rows(file: &str) -> Vec<Vec<String>> {
    let mut text = String::new();
    let file = std::fs::File::open(data(file)).expect("a file");
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("text");
    // These columns contain no commas.
    text.lines().skip(1).map(|line| line.split(',').map(|cell| cell.trim_matches('"').to_owned()).collect()).collect()
}

#[test]
fn chromium_counters_and_thread_times_are_those_of_perfetto() {
    let reading = read_path(&data("chromium.pftrace.gz")).expect("a capture");
    let mut balance: BTreeMap<(i64, i64, String), i64> = BTreeMap::new();
    for row in rows("expected/chromium.pftrace.gz.counters.csv.gz") {
        let value = row[1].parse().expect("whole");
        *balance.entry((row[0].parse().expect("a time"), value, row[2].clone())).or_default() += 1;
    }
    assert_eq!(balance.values().sum::<i64>(), 86_811);
    for event in &reading.events {
        let found = match (event.kind, event.thread_ts_ns) {
            (EventKind::Counter, _) => (f64::from_bits(event.value) as i64, event.track.name.to_string()),
            // Perfetto shows the thread time as a counter; here it is an attribute of the span.
            (_, Some(thread_ts_ns)) => (thread_ts_ns, "thread_time".to_owned()),
            _ => continue,
        };
        *balance.entry((event.ts_ns, found.0, found.1)).or_default() -= 1;
    }
    let differences: Vec<_> = balance.into_iter().filter(|(_, count)| *count != 0).take(5).collect();
    assert_eq!(differences, []);
    assert_eq!(reading.lost(), [(Loss::IgnoredPacket, 1)]);
}

/// The oracle is Google's protobuf library with the descriptors in the trace, which are near its end.
#[test]
fn chromium_typed_arguments_are_those_of_the_protobuf_library() {
    fn flatten(value: &serde_json::Value, path: String, into: &mut BTreeMap<(String, String), i64>) {
        match value {
            serde_json::Value::Object(members) => {
                members.iter().for_each(|(key, value)| flatten(value, format!("{path}.{key}"), into));
            }
            serde_json::Value::Array(values) => {
                values.iter().enumerate().for_each(|(index, value)| flatten(value, format!("{path}[{index}]"), into));
            }
            value => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                *into.entry((path, text)).or_default() += 1;
            }
        }
    }
    let reading = read_path(&data("chromium.pftrace.gz")).expect("a capture");
    let mut found = BTreeMap::new();
    for event in reading.events.iter().filter(|event| !event.args.is_empty()) {
        let args: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&event.args).expect("an object");
        let typed = args.iter().filter(|(key, _)| !key.starts_with("debug.") && *key != "task.posted_from");
        typed.for_each(|(key, value)| flatten(value, key.clone(), &mut found));
    }
    let expected: BTreeMap<(String, String), i64> = rows("expected/chromium.pftrace.gz.typed_args.csv.gz")
        .into_iter()
        .map(|row| ((row[0].clone(), row[1].clone()), row[2].parse().expect("a count")))
        .collect();
    assert_eq!(expected.values().sum::<i64>(), 16_806);
    let first = found.iter().zip(&expected).find(|(found, expected)| found != expected);
    assert_eq!(first, None);
    assert_eq!(found.len(), expected.len());
}

/// Flows as Perfetto joins them: all events of an id in time order, up to one that ends the flow. A flow event without
/// a name is at the end of a span, which is still open there.
#[test]
fn chromium_flows_join_the_events_that_perfetto_joins() {
    let reading = read_path(&data("chromium.pftrace.gz")).expect("a capture");
    let mut last: BTreeMap<u64, (i64, String)> = BTreeMap::new();
    let mut joined: BTreeMap<[String; 4], i64> = BTreeMap::new();
    let mut open: Vec<(&TrackKey, Vec<(i64, String)>)> = Vec::new();
    for event in &reading.events {
        let position = open.iter().position(|(track, _)| **track == event.track).unwrap_or_else(|| {
            open.push((&event.track, Vec::new()));
            open.len() - 1
        });
        let open = &mut open[position].1;
        let here = match event.kind {
            EventKind::Begin => {
                open.push((event.ts_ns, event.name.clone()));
                continue;
            }
            EventKind::End => {
                open.pop();
                continue;
            }
            EventKind::FlowStep | EventKind::FlowEnd if event.name.is_empty() => open.last().expect("a span").clone(),
            EventKind::FlowStep | EventKind::FlowEnd => (event.ts_ns, event.name.clone()),
            _ => continue,
        };
        let before = match event.kind {
            EventKind::FlowEnd => last.remove(&event.value),
            _ => last.insert(event.value, here.clone()),
        };
        if let Some((out_ns, out_name)) = before {
            *joined.entry([out_ns.to_string(), out_name, here.0.to_string(), here.1]).or_default() += 1;
        }
    }
    let expected = rows("expected/chromium.pftrace.gz.flows.csv.gz");
    assert_eq!(expected.len(), 514);
    for row in &expected {
        let row = <[String; 4]>::try_from(row.clone()).expect("four columns");
        *joined.entry(row).or_default() -= 1;
    }
    let differences: Vec<_> = joined.into_iter().filter(|(_, count)| *count != 0).take(5).collect();
    assert_eq!(differences, []);
}
