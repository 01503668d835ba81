//! The call tree of spans in the statistics: its numbers, its keys, its order, its filter and its copies.

use egui::{Key, Modifiers, pos2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::copied::{copied, copied_as_csv};
use crate::frame::run_by_shell;
use crate::groups::group_by;
use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

/// Two requests on one thread, of 1,000 and 600 microseconds, and one `read` on another.
const TRACE: &str = r#"[
    {"ph":"X","name":"request","cat":"net","pid":1,"tid":1,"ts":0,"dur":1000},
    {"ph":"X","name":"parse","cat":"io","pid":1,"tid":1,"ts":100,"dur":200},
    {"ph":"X","name":"read","cat":"io","pid":1,"tid":1,"ts":150,"dur":100},
    {"ph":"X","name":"read","cat":"io","pid":1,"tid":1,"ts":400,"dur":300},
    {"ph":"X","name":"request","cat":"net","pid":1,"tid":1,"ts":2000,"dur":600},
    {"ph":"X","name":"parse","cat":"io","pid":1,"tid":1,"ts":2100,"dur":400},
    {"ph":"X","name":"read","cat":"io","pid":1,"tid":1,"ts":2200,"dur":100},
    {"ph":"X","name":"read","cat":"io","pid":1,"tid":2,"ts":0,"dur":500}]"#;

const REQUEST: &str = "request, level 1, collapsed, self 700.0 µs, total 1.600 ms, 2 spans";
const PARSE: &str = "parse, level 2, collapsed, self 400.0 µs, total 600.0 µs, 2 spans";
const READ_IN_PARSE: &str = "read, level 3, self 200.0 µs, total 200.0 µs, 2 spans";
const READ_IN_REQUEST: &str = "read, level 2, self 300.0 µs, total 300.0 µs, 1 span";
const READ: &str = "read, level 1, self 500.0 µs, total 500.0 µs, 1 span";

fn rows(session: &Session) -> Vec<String> {
    let rows = session.harness.query_all_by_role(egui::Role::TreeItem);
    rows.map(|row| row.accesskit_node().label().unwrap_or_default()).collect()
}

#[track_caller]
fn rows_are(session: &mut Session, expected: &[&str]) {
    session.until(&format!("{expected:?}"), |session| {
        let rows = rows(session);
        rows.len() == expected.len() && rows.iter().zip(expected).all(|(row, text)| row.starts_with(text))
    });
    session.harness.run_steps(2);
}

/// Opens a trace and shows the call tree of its spans.
fn with_tree(trace: &str) -> Session {
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("calls.json", trace);
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the statistics", |session| session.harness.query_by_label("Group by").is_some());
    group_by(&mut session, "Call tree");
    session
}

/// Moves the keyboard to a row.
fn focus(session: &mut Session, row: &str) {
    session.harness.get_by_label_contains(row).focus();
    session.harness.step();
}

/// Returns the tree with all rows.
fn expanded() -> Session {
    let mut session = with_tree(TRACE);
    rows_are(&mut session, &[REQUEST, READ]);
    focus(&mut session, "request, level 1");
    session.type_text("*");
    rows_are(
        &mut session,
        &["request, level 1, expanded", "parse, level 2, expanded", READ_IN_PARSE, READ_IN_REQUEST, READ],
    );
    session
}

#[test]
fn the_call_tree_of_spans_expands_by_arrow_and_keys_and_adds_up_all_threads() {
    let mut session = with_tree(TRACE);
    rows_are(&mut session, &[REQUEST, READ]);
    assert!(session.says("call tree") && session.says("Label: exact"), "{}", session.node_texts().join("\n"));
    let total = "2 paths, Count 8, Self 2.100 ms, Self share 100.0 %";
    assert!(session.says(total), "{}", session.node_texts().join("\n"));
    // The middle of the arrow.
    let row = session.harness.get_by_label_contains("request, level 1").rect();
    session.left_click(row.left_center() + vec2(7.0, 0.0));
    rows_are(&mut session, &["request, level 1, expanded", PARSE, READ_IN_REQUEST, READ]);
    for key in [Key::ArrowRight, Key::ArrowRight] {
        session.press(Modifiers::NONE, key);
    }
    rows_are(
        &mut session,
        &["request, level 1, expanded", "parse, level 2, expanded", READ_IN_PARSE, READ_IN_REQUEST, READ],
    );
    for key in [Key::ArrowLeft, Key::ArrowLeft, Key::ArrowLeft] {
        session.press(Modifiers::NONE, key);
    }
    rows_are(&mut session, &[REQUEST, READ]);
    // By a key again.
    group_by(&mut session, "Thread");
    session.until("the threads", |session| session.says("2 threads, Count 8"));
    group_by(&mut session, "Call tree");
    rows_are(&mut session, &[REQUEST, READ]);
}

#[test]
fn an_inverted_call_tree_of_spans_begins_with_those_that_take_the_time() {
    let mut session = with_tree(TRACE);
    rows_are(&mut session, &[REQUEST, READ]);
    session.click("Invert");
    rows_are(
        &mut session,
        &[
            "read, level 1, collapsed, self 1.000 ms, total 1.000 ms, 4 spans",
            "request, level 1, self 700.0 µs, total 700.0 µs, 2 spans",
            "parse, level 1, collapsed, self 400.0 µs, total 400.0 µs, 2 spans",
        ],
    );
    focus(&mut session, "read, level 1");
    session.type_text("*");
    rows_are(
        &mut session,
        &[
            "read, level 1, expanded",
            "request, level 2, self 0 ns, total 300.0 µs, 1 span",
            "parse, level 2, expanded, self 0 ns, total 200.0 µs, 2 spans",
            "request, level 3, self 0 ns, total 200.0 µs, 2 spans",
            "request, level 1",
            "parse, level 1",
        ],
    );
    session.click("Copy as command");
    let line = copied(&session).expect("a command");
    assert!(line.starts_with("longspan flame --format json --inverted "), "{line}");
}

#[test]
fn rows_of_the_call_tree_are_sorted_below_each_span_by_every_column() {
    let mut session = expanded();
    let (request, parse) = ("request, level 1", "parse, level 2");
    for (column, order) in [
        ("Name", [READ, request, parse, READ_IN_PARSE, READ_IN_REQUEST]),
        ("Name", [request, READ_IN_REQUEST, parse, READ_IN_PARSE, READ]),
        ("Self", [request, parse, READ_IN_PARSE, READ_IN_REQUEST, READ]),
        ("Self", [READ, request, READ_IN_REQUEST, parse, READ_IN_PARSE]),
        ("Count", [request, parse, READ_IN_PARSE, READ_IN_REQUEST, READ]),
        ("Mean", [request, parse, READ_IN_PARSE, READ_IN_REQUEST, READ]),
        ("Category", [READ, request, parse, READ_IN_PARSE, READ_IN_REQUEST]),
        ("Total", [request, parse, READ_IN_PARSE, READ_IN_REQUEST, READ]),
    ] {
        session.click(column);
        rows_are(&mut session, &order);
    }
}

#[test]
fn a_filtered_call_tree_shows_the_spans_around_and_within_a_match() {
    let mut session = with_tree(TRACE);
    rows_are(&mut session, &[REQUEST, READ]);
    session.click("Filter names");
    session.type_text("PARSE");
    rows_are(&mut session, &["request, level 1, expanded", PARSE]);
    session.press(Modifiers::COMMAND, Key::A);
    session.type_text("nothing");
    session.until("no rows", |session| session.says("No name matches."));
    session.press(Modifiers::COMMAND, Key::A);
    session.press(Modifiers::NONE, Key::Backspace);
    rows_are(&mut session, &[REQUEST, READ]);
}

#[test]
fn the_call_tree_is_copied_as_shown_and_as_csv_and_the_command_prints_the_same_numbers() {
    let mut session = expanded();
    session.click("Copy");
    let table = copied(&session).expect("a table");
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines[0], "Name\tCount\tTotal (ns)\tTotal share\tSelf (ns)\tSelf share\tMean (ns)\tCategory");
    assert_eq!(lines[1], "request\t2\t1600000\t0.761905\t700000\t0.333333\t800000\tnet");
    assert_eq!(lines[2], "  parse\t2\t600000\t0.285714\t400000\t0.190476\t300000\tio");
    assert_eq!((lines[3], lines.len()), ("    read\t2\t200000\t0.095238\t200000\t0.095238\t100000\tio", 6));
    // A file has all rows, including collapsed ones.
    focus(&mut session, "request, level 1");
    session.press(Modifiers::NONE, Key::ArrowLeft);
    rows_are(&mut session, &[REQUEST, READ]);
    let csv = copied_as_csv(&mut session);
    let expected = "depth,name,category,count,total,self,mean\n0,request,net,2,1600000,700000,800000\n\
                    1,parse,io,2,600000,400000,300000\n2,read,io,2,200000,200000,100000\n\
                    1,read,io,1,300000,300000,300000\n0,read,io,1,500000,500000,500000\n";
    assert_eq!(csv, expected);
    session.click("Copy as command");
    let line = copied(&session).expect("a command");
    let printed: serde_json::Value = serde_json::from_str(&run_by_shell(&line)).expect("JSON");
    let nodes = printed["nodes"].as_array().expect("nodes");
    let parse = nodes.iter().find(|node| node["name"] == "parse").expect("a node");
    assert_eq!(["count", "total", "self"].map(|key| parse[key].as_u64()), [2, 600_000, 400_000].map(Some));
}

#[test]
fn the_call_tree_follows_the_scope_and_a_pinned_one_keeps_it() {
    let mut session = with_tree(TRACE);
    rows_are(&mut session, &[REQUEST, READ]);
    session.click("Pin panel");
    session.harness.run_steps(3);
    let ruler = session.harness.get_by_label("Ruler: drag to select time").rect();
    let at = |part: f32| pos2(ruler.left() + ruler.width() * part, ruler.center().y);
    session.drag(at(0.7), at(0.99));
    rows_are(&mut session, &[REQUEST, READ]);
    session.press(Modifiers::COMMAND, Key::T);
    // The only path is expanded until it branches.
    rows_are(
        &mut session,
        &[
            "request, level 1, expanded, self 200.0 µs, total 600.0 µs, 1 span",
            "parse, level 2, expanded, self 300.0 µs, total 400.0 µs, 1 span",
            "read, level 3, self 100.0 µs, total 100.0 µs, 1 span",
        ],
    );
    session.drag(at(0.6), at(0.68));
    session.until("the reason", |session| session.says("No spans here.") && rows(session).is_empty());
}

#[test]
fn a_name_of_the_call_tree_is_found_on_the_tracks_and_has_the_menu_of_its_spans() {
    let mut session = expanded();
    session.harness.get_by_label_contains("parse, level 2").click();
    session.until("the hits", |session| session.says("2 hits"));
    let row = session.harness.get_by_label_contains("parse, level 2").rect();
    session.right_click(row.left_center() + vec2(60.0, 0.0));
    for entry in ["Copy name", "Search for this name", "Heat map of this name", "Flame graph of this name"] {
        assert!(session.harness.query_by_label(entry).is_some(), "{entry}");
    }
    session.click("Statistics of this name");
    session.until("its statistics", |session| session.says("3 names, Count 8") && session.says("Over time"));
}

#[test]
fn a_call_tree_without_spans_says_what_there_is() {
    let mut session = with_tree(r#"[{"ph":"C","name":"queue","pid":1,"ts":10,"args":{"length":3}}]"#);
    session.until("the reason", |session| session.says("No spans here. Analyze > Counters sums up their values."));
    session.open_text("empty.json", r#"[{"ph":"X","name":"","cat":"c","pid":1,"tid":1,"ts":0,"dur":5}]"#);
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the statistics", |session| session.harness.query_by_label("Group by").is_some());
    group_by(&mut session, "Call tree");
    rows_are(&mut session, &["[no name], level 1, self 5.000 µs, total 5.000 µs, 1 span"]);
}
