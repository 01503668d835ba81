//! The parents of a dump against scans over all rows.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;
use crate::scene::tests::snapshot;

/// Returns the lines of a dump of one kind.
fn lines_of(kind: &str, snapshot: &Snapshot) -> Vec<Value> {
    let (mut tables, mut out) = (Vec::new(), Vec::new());
    let utids = tables::print(snapshot, &mut tables).unwrap();
    let mut dump = Dump::new(snapshot, &utids, &mut out);
    SortedRows::new(snapshot, snapshot.event_lanes(), None, None).for_each(|row| dump.row(&row).unwrap());
    dump.states().unwrap();
    let lines = std::str::from_utf8(&out).unwrap().lines().map(|line| serde_json::from_str(line).unwrap());
    lines.filter(|line: &Value| line["t"] == kind).collect()
}

/// Returns the number of the innermost earlier span that is open for all of each row.
fn scanned(snapshot: &Snapshot) -> Vec<Option<u64>> {
    let rows: Vec<SortedRow> = SortedRows::new(snapshot, snapshot.event_lanes(), None, None).collect();
    let depth = |row: &SortedRow| match row.kind {
        LaneKind::Instants => row.row.value as u16,
        _ => snapshot.lane(row.index.lane).depth,
    };
    let end_ns = |row: &SortedRow| match row.kind {
        LaneKind::Instants => row.row.start_ns,
        _ => row.row.start_ns + row.row.value as i64,
    };
    // The stored depth of an instant decides only among spans that start at the time of the instant.
    let is_around =
        |outer: &SortedRow, row: &SortedRow| row.kind == LaneKind::Instants && outer.row.start_ns < row.row.start_ns;
    let parent = |(position, row): (usize, &SortedRow)| {
        let outer = (0u64..).zip(&rows[..position]).filter(|(_, outer)| {
            outer.kind == LaneKind::Spans
                && snapshot.lane(outer.index.lane).track == snapshot.lane(row.index.lane).track
                && (depth(outer) < depth(row) || is_around(outer, row))
                && end_ns(outer) >= end_ns(row)
                && (end_ns(outer) > row.row.start_ns || outer.unfinished)
        });
        outer.max_by_key(|(_, outer)| depth(outer)).map(|(id, _)| id)
    };
    rows.iter().enumerate().map(parent).collect()
}

#[test]
fn a_span_without_an_end_is_the_parent_of_rows_at_its_last_moment() {
    let snapshot = snapshot(
        r#"[{"ph":"B","name":"outer","ts":0,"pid":1,"tid":1},{"ph":"B","name":"inner","ts":10,"pid":1,"tid":1},
            {"ph":"i","s":"t","name":"instant","ts":10,"pid":1,"tid":1}]"#,
    );
    let slices = lines_of("slice", &snapshot);
    let found: Vec<_> = slices.iter().map(|slice| (&slice["name"], &slice["parent"])).collect();
    let expected = [("outer", json!(null)), ("inner", json!(0)), ("instant", json!(1))];
    assert!(
        found.iter().zip(&expected).all(|(found, expected)| *found.0 == expected.0 && *found.1 == expected.1),
        "{found:?}"
    );
}

#[test]
fn a_state_does_not_get_the_cpu_of_a_run_of_another_time() {
    let snapshot = snapshot(
        r#"[{"ph":"X","name":"main","ts":0,"dur":50,"pid":1,"tid":2},
            {"ph":"X","cpu":"3","name":"work","ts":10,"dur":5,"args":{"pid":1,"tid":2}},
            {"ph":"T","cat":"thread_state","name":"Running","ts":30,"dur":5,"pid":1,"tid":2},
            {"ph":"X","cpu":"4","name":"work","ts":40,"dur":5,"args":{"pid":1,"tid":2}},
            {"ph":"T","cat":"thread_state","name":"Running","ts":40,"dur":5,"pid":1,"tid":2}]"#,
    );
    let states = lines_of("thread_state", &snapshot);
    let cpus: Vec<_> = states.iter().map(|state| (&state["state"], &state["cpu"])).collect();
    assert_eq!(cpus, [(&json!("Running"), &json!(null)), (&json!("Running"), &json!(4))]);
}

#[test]
fn a_run_from_before_the_process_of_its_thread_is_known_is_of_that_thread() {
    let snapshot = snapshot(
        r#"[{"ph":"X","name":"main","ts":0,"dur":50,"pid":10,"tid":11},{"ph":"i","name":"other","ts":0,"pid":20,"tid":11},
            {"ph":"X","cpu":"3","name":"work","ts":10,"dur":5,"args":{"pid":11,"tid":11}},
            {"ph":"X","cpu":"3","name":"work","ts":20,"dur":5,"args":{"pid":20,"tid":11}},
            {"ph":"X","cpu":"3","name":"work","ts":30,"dur":5,"args":{"pid":9,"tid":11}},
            {"ph":"T","cat":"thread_state","name":"Running","ts":10,"dur":5,"pid":10,"tid":11,
             "args":{"waker_pid":11,"waker_tid":11}}]"#,
    );
    let utids: Vec<Value> = lines_of("sched", &snapshot).iter().map(|run| run["utid"].clone()).collect();
    let states = lines_of("thread_state", &snapshot);
    let [utid, other] = [&states[0]["utid"], &utids[1]];
    assert!(utid.is_number() && other.is_number() && utid != other, "{utid}, {other}");
    assert_eq!(utids, [utid.clone(), other.clone(), json!(null)]);
    assert_eq!([&states[0]["cpu"], &states[0]["waker_utid"]], [&json!(3), utid]);
}

proptest! {
    #[test]
    fn parents_are_those_of_a_scan(
        events in prop::collection::vec((prop::sample::select(vec!["B", "E", "X", "i"]), 0u8..3, 0u8..4), 1..30),
    ) {
        let (mut json, mut ts) = (String::from("["), 0);
        for (kind, later, dur) in events {
            ts += u64::from(later);
            let comma = if json.len() > 1 { "," } else { "" };
            write!(json, r#"{comma}{{"ph":"{kind}","name":"n","s":"t","pid":1,"tid":1,"ts":{ts},"dur":{dur}}}"#).unwrap();
        }
        let snapshot = snapshot(&(json + "]"));
        let parents: Vec<Option<u64>> = lines_of("slice", &snapshot).iter().map(|slice| slice["parent"].as_u64()).collect();
        prop_assert_eq!(parents, scanned(&snapshot));
    }
}
