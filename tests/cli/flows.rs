//! The connections of flows in exports, compared with the connections in the source.

use std::collections::{BTreeMap, BTreeSet};
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

#[test]
fn a_part_has_the_instants_and_empty_spans_that_its_flows_connect() {
    let from = |kind: &str, tid: u32, ts: u32| format!(r#"{{"name":"from","pid":1,"tid":{tid},"ts":{ts},{kind}}}"#);
    let to = |kind: &str, tid: u32, ts: u32| format!(r#"{{"name":"to","pid":1,"tid":{tid},"ts":{ts},{kind}}}"#);
    let (instant, empty) = (r#""ph":"i","s":"t""#, r#""ph":"X","dur":0"#);
    let folder = folder();
    let source = folder.path().join("source.json");
    for (tid, start_us, other) in [(1, 5, "from"), (2, 15, "to")] {
        let around = format!(r#"{{"ph":"X","name":"around","pid":1,"tid":{tid},"ts":{start_us},"dur":10}}"#);
        let start = r#"{"ph":"s","name":"f","id":1,"pid":1,"tid":1,"ts":8}"#;
        let end = r#"{"ph":"f","bp":"e","name":"f","id":1,"pid":1,"tid":2,"ts":20}"#;
        // Only the start of a flow binds to an instant.
        for kind in [instant, empty].into_iter().filter(|kind| other == "from" || *kind == empty) {
            let of = |name: &str| if name == other { kind } else { r#""ph":"X","dur":5"# };
            let events =
                [around.clone(), from(of("from"), 1, 8), start.to_owned(), to(of("to"), 2, 20), end.to_owned()];
            fs::write(&source, format!("[{}]", events.join(","))).expect("written");
            let expected = [(r#""from""#.to_owned(), r#""to""#.to_owned())];
            assert_eq!(connections(&source), expected, "the source");
            let scope = if other == "from" { ["--thread", "2"] } else { ["--to", "10us"] };
            for name in ["part.json", "part.pftrace", "part.longspan"] {
                let part = folder.path().join(name);
                longspan(&[&["export", "--no-cache", text(&source), "-o", text(&part)], &scope[..]].concat()).done();
                assert_eq!(connections(&part), expected, "{name} of {events:?}");
            }
        }
    }
}

/// Creates two threads of spans, empty spans and instants on a coarse clock, whose flows meet these at random. No two
/// rows of a thread and no two points of a flow there have one time, since nothing tells which is first.
fn random_flows(seed: u64) -> String {
    let mut state = seed;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut events = vec![String::from(r#"{"ph":"X","name":"whole","pid":1,"tid":3,"ts":0,"dur":1}"#)];
    let (mut rows, mut points) = (BTreeSet::new(), BTreeSet::new());
    for number in 0..24 {
        let (tid, ts) = (1 + random(2), 10 * random(4));
        let (name, time) = (format!("{number} at {ts}"), format!(r#""pid":1,"tid":{tid},"ts":{}"#, ts + random(3)));
        let kind = random(4);
        if !rows.insert(time.clone()) {
            continue;
        }
        events.push(match kind {
            0 => format!(r#"{{"ph":"X","name":"{name}","dur":{},{time}}}"#, 4 + random(2)),
            1 => format!(r#"{{"ph":"X","name":"{name}","dur":0,{time}}}"#),
            _ => format!(r#"{{"ph":"i","s":"t","name":"{name}",{time}}}"#),
        });
        for _ in 0..random(3) {
            let phase = ["s", "t", "f"][random(3) as usize];
            let binds = if random(2) == 0 { r#""bp":"e","# } else { "" };
            let flow = random(3);
            if points.insert((flow, time.clone())) {
                events.push(format!(r#"{{"ph":"{phase}",{binds}"name":"f","id":{flow},{time}}}"#));
            }
        }
    }
    format!("[{}]", events.join(",\n"))
}

#[test]
fn flows_of_a_part_connect_the_same_spans_and_instants_as_in_the_whole() {
    let folder = folder();
    let (source, part) = (folder.path().join("source.json"), folder.path().join("part.longspan"));
    let mut connected = 0;
    for seed in 0..40 {
        fs::write(&source, random_flows(seed)).expect("written");
        let whole = connections(&source);
        for scope in
            [&["--thread", "2"][..], &["--from", "+12us"], &["--to", "+21us"], &["--from", "+3us", "--to", "+12us"]]
        {
            let export = [&["export", "--no-cache", text(&source), "-o", text(&part)], scope].concat();
            longspan(&export).done();
            let found = connections(&part);
            connected += found.len();
            let others: Vec<_> = found.iter().filter(|flow| !whole.contains(flow)).collect();
            assert!(others.is_empty(), "seed {seed}, {scope:?}: {others:?}\nwhole: {whole:?}");
        }
    }
    assert!(connected > 500, "{connected}");
}
