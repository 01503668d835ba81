//! The connections of flows in exports, compared with the connections in the source.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::harness::{folder, longspan, text};

/// Returns the names of the connected spans, from and to, in order.
fn connections(file: &Path) -> Vec<(String, String)> {
    let dump = longspan(&["dump", "--no-cache", text(file)]).done();
    let lines: Vec<Value> = dump.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let slices = lines.iter().filter(|line| line["t"] == "slice");
    let names: BTreeMap<_, _> = slices.map(|slice| (slice["id"].as_u64(), slice["name"].to_string())).collect();
    let flows = lines.iter().filter(|line| line["t"] == "flow");
    let mut connections: Vec<_> =
        flows.map(|flow| (names[&flow["out"].as_u64()].clone(), names[&flow["in"].as_u64()].clone())).collect();
    connections.sort();
    connections
}

/// Checks the connections of a source, and of its export to each format.
#[track_caller]
fn assert_connects(events: &str, expected: &[(&str, &str)]) {
    let folder = folder();
    let source = folder.path().join("source.json");
    fs::write(&source, events).expect("written");
    let expected: Vec<_> = expected.iter().map(|(from, to)| (format!("{from:?}"), format!("{to:?}"))).collect();
    assert_eq!(connections(&source), expected, "the source");
    for name in ["out.json", "out.pftrace", "out.longspan"] {
        let output = folder.path().join(name);
        longspan(&["export", "--no-cache", text(&source), "-o", text(&output)]).done();
        assert_eq!(connections(&output), expected, "{name}");
    }
}

#[test]
fn a_flow_leaves_its_span_and_not_an_instant_after_it_at_its_time() {
    let events = r#"[{"ph":"X","name":"send","pid":1,"tid":1,"ts":0,"dur":10},
        {"ph":"s","name":"f","id":1,"pid":1,"tid":1,"ts":5},{"ph":"i","name":"mark","s":"t","pid":1,"tid":1,"ts":5},
        {"ph":"X","name":"receive","pid":1,"tid":2,"ts":20,"dur":10},
        {"ph":"f","bp":"e","name":"f","id":1,"pid":1,"tid":2,"ts":25}]"#;
    assert_connects(events, &[("send", "receive")]);
}

#[test]
fn a_flow_leaves_its_span_and_not_a_child_that_starts_at_its_time() {
    for dur in [0, 1] {
        let events = format!(
            r#"[{{"ph":"X","name":"parent","pid":1,"tid":1,"ts":15,"dur":5}},
            {{"ph":"s","name":"f","id":1,"pid":1,"tid":1,"ts":15}},
            {{"ph":"X","name":"child","pid":1,"tid":1,"ts":15,"dur":{dur}}},
            {{"ph":"X","name":"receive","pid":1,"tid":2,"ts":20,"dur":10}},
            {{"ph":"f","bp":"e","name":"f","id":1,"pid":1,"tid":2,"ts":25}}]"#
        );
        assert_connects(&events, &[("parent", "receive")]);
    }
}

/// Spans that overlap without nesting are on separate tracks of a Perfetto trace.
#[test]
fn flows_of_overlapping_spans_stay_with_their_spans() {
    let events = |leaves: u32| {
        format!(
            r#"[{{"ph":"X","name":"A","pid":1,"tid":1,"ts":0,"dur":10}},
            {{"ph":"X","name":"B","pid":1,"tid":1,"ts":5,"dur":10}},
            {{"ph":"s","name":"f","id":1,"pid":1,"tid":1,"ts":{leaves}}},
            {{"ph":"X","name":"D","pid":1,"tid":2,"ts":20,"dur":10}},
            {{"ph":"f","bp":"e","name":"f","id":1,"pid":1,"tid":2,"ts":25}}]"#
        )
    };
    // In A alone, in both, in B alone, and after both.
    for (leaves, from) in [(4, "A"), (8, "B"), (12, "B"), (18, "B")] {
        assert_connects(&events(leaves), &[(from, "D")]);
    }
    let arrives = r#"[{"ph":"X","name":"D","pid":1,"tid":2,"ts":0,"dur":2},
        {"ph":"s","name":"f","id":1,"pid":1,"tid":2,"ts":1},
        {"ph":"X","name":"A","pid":1,"tid":1,"ts":0,"dur":10},{"ph":"X","name":"B","pid":1,"tid":1,"ts":5,"dur":10},
        {"ph":"t","name":"f","id":1,"pid":1,"tid":1,"ts":12},{"ph":"f","bp":"e","name":"f","id":1,"pid":1,"tid":2,"ts":30},
        {"ph":"X","name":"E","pid":1,"tid":2,"ts":28,"dur":5}]"#;
    assert_connects(arrives, &[("B", "E"), ("D", "B")]);
}

#[test]
fn a_flow_from_an_instant_of_the_same_time_arrives() {
    let events = r#"[{"ph":"X","name":"around","pid":1,"tid":2,"ts":7,"dur":2},{"ph":"i","name":"mark","s":"t","pid":1,"tid":2,"ts":7},
        {"ph":"s","name":"f","id":1,"pid":1,"tid":2,"ts":7},{"ph":"f","bp":"e","name":"f","id":1,"pid":1,"tid":2,"ts":7}]"#;
    assert_connects(events, &[("mark", "around")]);
}

#[test]
fn a_step_at_the_time_of_the_end_precedes_it() {
    let events = r#"[{"ph":"X","name":"first","pid":1,"tid":2,"ts":19,"dur":5},{"ph":"X","name":"second","pid":1,"tid":2,"ts":37,"dur":5},
        {"ph":"t","name":"f","id":1,"pid":1,"tid":2,"ts":20},{"ph":"f","name":"f","id":1,"pid":1,"tid":2,"ts":20}]"#;
    assert_connects(events, &[("first", "second")]);
}

#[test]
fn a_flow_arrives_at_the_next_span_also_if_that_overlaps() {
    let events = |leaves: &str| {
        format!(
            r#"[{leaves},{{"ph":"X","name":"A","pid":1,"tid":1,"ts":0,"dur":10}},
            {{"ph":"f","name":"f","id":1,"pid":1,"tid":1,"ts":5}},{{"ph":"X","name":"B","pid":1,"tid":1,"ts":7,"dur":10}},
            {{"ph":"X","name":"C","pid":1,"tid":1,"ts":30,"dur":1}}]"#
        )
    };
    let start = r#"{"ph":"s","name":"f","id":1,"pid":1,"tid":2,"ts":2}"#;
    let span = r#"{"ph":"X","name":"send","pid":1,"tid":2,"ts":0,"dur":3}"#;
    assert_connects(&events(&format!("{span},{start}")), &[("send", "B")]);
    // From an instant, the points are bound by the id of the flow.
    let instant = r#"{"ph":"i","name":"mark","s":"t","pid":1,"tid":2,"ts":2}"#;
    assert_connects(&events(&format!("{instant},{start}")), &[("mark", "B")]);
}

#[test]
fn a_flow_to_the_next_span_does_not_arrive_at_the_one_around_its_end() {
    let events = r#"[{"ph":"i","name":"mark","s":"t","pid":1,"tid":2,"ts":2},{"ph":"s","name":"f","id":1,"pid":1,"tid":2,"ts":2},
        {"ph":"X","name":"last","pid":1,"tid":2,"ts":6,"dur":3},{"ph":"f","name":"f","id":1,"pid":1,"tid":2,"ts":8}]"#;
    assert_connects(events, &[]);
}
