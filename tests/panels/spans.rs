//! The list of spans of the scope, by duration or by time, linked with the timeline.

use egui::{Key, Modifiers, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use serde_json::json;

use crate::copied::copied;
use crate::frame::run_by_shell;
use crate::scope::{CTRL, click_head};
use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

/// Returns the rows of the list by their accessibility labels.
fn rows(session: &Session) -> Vec<String> {
    let rows = session.harness.query_all_by_role(egui::Role::ListItem);
    rows.map(|row| row.accesskit_node().label().unwrap_or_default()).collect()
}

/// Returns the labels of the selected rows.
fn marked(session: &Session) -> Vec<String> {
    let rows = session.harness.query_all_by_role(egui::Role::ListItem);
    let marked = rows.filter(|row| row.accesskit_node().toggled() == Some(egui::accesskit::Toggled::True));
    marked.map(|row| row.accesskit_node().label().unwrap_or_default()).collect()
}

#[track_caller]
fn until_rows(session: &mut Session, names: &[&str]) {
    let first_words = |session: &Session| -> Vec<String> {
        rows(session).iter().map(|row| row.split(',').next().unwrap_or_default().to_owned()).collect()
    };
    session.until("the rows", |session| first_words(session) == names);
}

fn with_list() -> Session {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.press(Modifiers::COMMAND, Key::L);
    session
}

#[test]
fn the_longest_come_first_or_all_in_order_of_time_with_instants_if_they_are_wanted() {
    let mut session = with_list();
    until_rows(&mut session, &["request", "write", "write", "read", "read"]);
    assert!(
        session.says("exact") && session.says("Label: 5") && session.says("Label: of the whole trace"),
        "{}",
        session.node_texts().join("\n")
    );
    session.click("By time");
    until_rows(&mut session, &["request", "write", "read", "read", "write"]);
    assert!(session.says("Label: 5") && session.says("Label: of the whole trace"));
    session.click("With instants");
    until_rows(&mut session, &["request", "write", "read", "read", "write", "flushed"]);
}

#[test]
fn a_click_on_a_header_lists_the_first_rows_in_the_order_of_its_column() {
    let mut session = with_list();
    until_rows(&mut session, &["request", "write", "write", "read", "read"]);
    let click = |session: &mut Session, header: &str| {
        session.harness.get_by_role_and_label(egui::Role::Button, header).click();
        session.harness.step();
    };
    click(&mut session, "Name");
    until_rows(&mut session, &["read", "read", "request", "write", "write"]);
    session.until("the number", |session| session.says("Label: 5"));
    click(&mut session, "Name");
    until_rows(&mut session, &["write", "write", "request", "read", "read"]);
    click(&mut session, "Track");
    until_rows(&mut session, &["request", "read", "read", "write", "write"]);
    click(&mut session, "Start");
    until_rows(&mut session, &["write", "read", "read", "request", "write"]);
    // In time order, all rows are available.
    click(&mut session, "Start");
    until_rows(&mut session, &["request", "write", "read", "read", "write"]);
    session.click("With instants");
    click(&mut session, "Name");
    until_rows(&mut session, &["flushed", "read", "read", "request", "write", "write"]);
    click(&mut session, "Duration");
    until_rows(&mut session, &["request", "write", "write", "read", "read"]);
}

#[test]
fn a_trace_of_instants_alone_lists_them_at_once() {
    let mut session = Session::empty(SCREEN, 1.0);
    let log = |name: &str, ts: u32| json!({"ph": "i", "name": name, "pid": 1, "tid": 1, "ts": ts, "s": "t"});
    session.open_text("log.json", &json!([log("started", 0), log("stopped", 500)]).to_string());
    session.harness.run_steps(3);
    session.give("Spans");
    until_rows(&mut session, &["started", "stopped"]);
}

#[test]
fn a_row_selects_its_span_and_a_span_that_is_selected_elsewhere_marks_its_row() {
    for order in ["Longest", "By time"] {
        let mut session = with_list();
        session.click(order);
        session.until("five rows", |session| rows(session).len() == 5);
        let row =
            rows(&session).into_iter().find(|row| row.starts_with("read") && row.contains("200 µs")).expect("a row");
        session.click(&row);
        session.until("the span", |session| session.summary().contains("Selected: read, 200 µs"));
        assert_eq!(marked(&session), [row], "{order}");
        assert_eq!(rows(&session).len(), 5, "the list stays in front, with the details beside it");
        // A key of the timeline selects the next span of the lane.
        session.give("Next span");
        session.until("the next one", |session| session.summary().contains("Selected: read, 100 µs"));
        session.until("its row", |session| marked(session).iter().any(|row| row.contains("100 µs")));
    }
}

#[test]
fn a_clicked_row_has_the_keyboard_when_its_details_open_beside_the_list() {
    let mut session = with_list();
    session.until("five rows", |session| rows(session).len() == 5);
    let (first, last) = (rows(&session)[1].clone(), rows(&session)[4].clone());
    session.click(&first);
    session.until("the span", |session| session.summary().contains("Selected: write"));
    session.harness.run_steps(3);
    session.press(Modifiers::NONE, Key::End);
    session.harness.step();
    let row = session.harness.get_by_role_and_label(egui::Role::ListItem, &last);
    assert!(row.is_focused(), "{}", session.node_texts().join("\n"));
}

#[test]
fn the_list_is_of_the_scope_and_says_why_it_is_empty() {
    let mut session = with_list();
    session.until("five rows", |session| rows(session).len() == 5);
    let edit = |session: &mut Session, text: &str| {
        session.harness.get_by_label("Filter of the scope").focus();
        session.harness.step();
        session.press(Modifiers::COMMAND, Key::A);
        session.type_text(text);
    };
    session.harness.run_steps(3);
    click_head(&mut session, "main", CTRL);
    until_rows(&mut session, &["request", "read", "read"]);
    edit(&mut session, "dur>=200us");
    until_rows(&mut session, &["request", "read"]);
    session.click("By time");
    session.until("the command", |session| session.says("Copy as command"));
    session.click("Copy as command");
    let line = copied(&session).expect("a command");
    let printed = run_by_shell(&line);
    let names: Vec<_> = printed.lines().skip(1).filter_map(|line| line.split(',').nth(3)).collect();
    assert_eq!(names, ["request", "read"], "{line}");
    edit(&mut session, "nothing");
    session.until("why", |session| session.says("Nothing here: extend the scope in time, or choose other tracks."));
}

#[test]
fn arrow_keys_move_the_selection_and_never_the_focus_to_a_button() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.press(Modifiers::NONE, Key::CloseBracket);
    session.harness.run_steps(3);
    let canvas = session.harness.get_by_role(egui::Role::Canvas);
    canvas.focus();
    session.harness.run_steps(3);
    for key in [Key::ArrowDown, Key::ArrowUp, Key::ArrowDown, Key::ArrowDown, Key::ArrowLeft, Key::ArrowRight] {
        session.press(Modifiers::NONE, key);
        session.harness.run_steps(3);
        let is_focused = session.harness.get_by_role(egui::Role::Canvas).is_focused();
        assert!(is_focused, "{key:?}:\n{}", session.node_texts().join("\n"));
    }
}

#[test]
fn the_listed_spans_are_copied_as_a_table_and_of_many_those_in_view() {
    let mut session = with_list();
    until_rows(&mut session, &["request", "write", "write", "read", "read"]);
    session.click("Copy");
    let table = copied(&session).expect("a table");
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 6, "{table}");
    assert_eq!(lines[0], "Name\tDuration (ns)\tStart\tTrack\tProcess");
    assert_eq!(lines[2], "write\t400000\t0.000000000 s\tThread 2\tserver 1");
    assert!(!session.says("rows are copied"));
    session.click("With instants");
    until_rows(&mut session, &["request", "write", "read", "read", "write", "flushed"]);
    session.click("Copy");
    let table = copied(&session).expect("a table");
    assert!(table.ends_with("flushed\t\t0.000950000 s\tThread 2\tserver 1\n"), "{table}");
    // Pages of a long list are loaded as it is scrolled. The longest span is the last, unlike the first by time: rows
    // of the other order would be seen.
    let mut session = Session::empty(SCREEN, 1.0);
    let span = |ts| format!(r#"{{"ph":"X","name":"s{ts}","pid":1,"tid":1,"ts":{ts},"dur":{}}}"#, 1 + ts / 1499);
    session.open_text("many.json", &format!("[{}]", (0..1500).map(span).collect::<Vec<_>>().join(",")));
    session.press(Modifiers::COMMAND, Key::L);
    session.until("the longest", |session| session.says("ListItem: s1499,"));
    session.click("By time");
    session.until("the first", |session| session.says("ListItem: s0,") && !session.says("ListItem: s1499,"));
    session.click("Copy");
    let table = copied(&session).expect("a table");
    assert_eq!(
        (table.lines().count(), table.lines().nth(1).and_then(|line| line.split('\t').next())),
        (201, Some("s0"))
    );
    session.until("how many", |session| {
        session.says("200 of 1\u{2009}500 rows are copied. Export... writes all of them.")
    });
}

#[test]
fn a_span_without_length_has_a_duration_of_zero_unlike_an_instant() {
    let mut session = Session::empty(SCREEN, 1.0);
    let span = |name: &str, dur: i64| format!(r#"{{"ph":"X","name":"{name}","pid":1,"tid":1,"ts":1,"dur":{dur}}}"#);
    let instant = r#"{"ph":"i","name":"point","pid":1,"tid":1,"ts":3,"s":"t"}"#;
    session.open_text("zero.json", &format!("[{},{instant}]", span("empty", 0)));
    session.press(Modifiers::COMMAND, Key::L);
    session.until("the list", |session| session.says("With instants"));
    session.click("With instants");
    until_rows(&mut session, &["empty", "point"]);
    assert!(rows(&session)[0].ends_with(", 0 ns"), "{:?}", rows(&session));
    session.click("Copy");
    let table = copied(&session).expect("a table");
    let durations: Vec<_> = table.lines().skip(1).map(|line| line.split('\t').nth(1)).collect();
    assert_eq!(durations, [Some("0"), Some("")], "{table}");
}

#[test]
fn no_row_is_marked_without_a_selected_span() {
    let mut session = with_list();
    session.until("five rows", |session| rows(session).len() == 5);
    let row = rows(&session)[1].clone();
    session.click(&row);
    session.until("its mark", |session| marked(session).len() == 1);
    session.give("Clear selection");
    session.until("no selection", |session| !session.summary().contains("Selected"));
    session.harness.run_steps(2);
    assert_eq!(marked(&session), [""; 0]);
}

#[test]
fn a_list_that_is_not_answered_is_not_exact_and_says_that_it_is_counted() {
    let mut session = with_list();
    // No answer arrives in these frames.
    for _ in 0..4 {
        session.harness.step();
        assert!(!session.says("Label: exact"), "{}", session.node_texts().join("\n"));
        assert!(session.says("The spans are being counted."), "{}", session.node_texts().join("\n"));
    }
    session.until("the answer", |session| session.says("Label: exact"));
    assert!(!session.says("The spans are being counted."));
}

#[test]
fn threads_of_one_name_are_told_apart_by_their_ids() {
    let mut session = Session::empty(SCREEN, 1.0);
    let thread = |tid: u32, name: &str| {
        format!(
            r#"{{"ph":"M","name":"thread_name","pid":1,"tid":{tid},"args":{{"name":"{name}"}}}},
            {{"ph":"X","name":"work","pid":1,"tid":{tid},"ts":{tid},"dur":9}}"#
        )
    };
    let threads = [thread(11, "pool"), thread(12, "pool"), thread(13, "main")];
    session.open_text("pool.json", &format!("[{}]", threads.join(",")));
    session.press(Modifiers::COMMAND, Key::L);
    session.click("By time");
    session.until("the rows", |session| rows(session).len() == 3);
    let tracks: Vec<_> = rows(&session).iter().filter_map(|row| row.split(", ").nth(1).map(str::to_owned)).collect();
    assert_eq!(tracks, ["pool 11", "pool 12", "main"]);
    session.click("Copy");
    assert!(copied(&session).is_some_and(|table| table.contains("\tpool 12\t")));
}

#[test]
fn a_row_offers_the_statistics_and_the_flame_graph_of_its_name_and_groups_by_its_track() {
    let mut session = with_list();
    until_rows(&mut session, &["request", "write", "write", "read", "read"]);
    let column = |session: &Session, title: &str| session.harness.get_by_label(title).rect().center().x;
    let row = |session: &Session| session.harness.get_all_by_label_contains("request, main").next().expect("it").rect();
    let at = egui::pos2(column(&session, "Duration"), row(&session).center().y);
    session.right_click(at);
    for entry in ["Find spans with this value", "Statistics of this name", "Heat map of this name"] {
        assert!(session.says(entry), "{entry}");
    }
    session.press(Modifiers::NONE, Key::Escape);
    let at = egui::pos2(column(&session, "Track"), row(&session).center().y);
    session.right_click(at);
    assert!(session.says("Group by this key"));
    session.click("Flame graph of this name");
    session.until("the scope", |session| session.says("Remove the filter from the scope"));
}
