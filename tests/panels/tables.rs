//! Tables by pointer and keyboard: column widths, sort orders, copies, long names, and the context menu of a value.

use egui::{Event, Key, Modifiers, Pos2, pos2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use serde_json::json;

use crate::copied::copied;
use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

fn left_of(session: &Session, head: &str) -> f32 {
    session.harness.get_by_label(head).rect().left()
}

/// Returns a point in the first cell of a row.
fn name_of(session: &Session, row: &str) -> Pos2 {
    let row = session.harness.get_by_label(row).rect();
    pos2(row.left() + 20.0, row.center().y)
}

#[test]
fn a_column_is_as_wide_as_the_hand_made_it_and_so_it_is_with_the_next_start() {
    let mut session = Session::with_statistics(SCREEN);
    let edge = session.harness.get_by_label("Width of Name").rect().center();
    let before = left_of(&session, "Count");
    session.drag(edge, edge - vec2(60.0, 0.0));
    session.harness.step();
    let after = left_of(&session, "Count");
    assert!((before - after - 60.0).abs() < 2.0, "{before} {after}");
    session.click("Name");
    session.close();
    let mut again = session.opened_again(SCREEN, "capture.json");
    // The panel is open again, as the trace was left.
    again.until("the lines", |session| session.harness.query_all_by_role(egui::Role::ListItem).count() == 3);
    assert!((left_of(&again, "Count") - after).abs() < 2.0, "{after} {}", left_of(&again, "Count"));
    let lines = again.harness.query_all_by_role(egui::Role::ListItem);
    let names: Vec<_> = lines.map(|line| line.accesskit_node().label().unwrap_or_default()).collect();
    assert_eq!(names, ["read", "request", "write"], "the order is kept as well");
}

#[test]
fn arrows_home_and_end_lead_from_row_to_row_and_enter_chooses() {
    let mut session = Session::with_statistics(SCREEN);
    session.click("request");
    let summary = session.summary();
    for (key, row) in [
        (Key::ArrowDown, "write"),
        (Key::ArrowDown, "read"),
        (Key::ArrowDown, "read"),
        (Key::ArrowUp, "write"),
        (Key::Home, "request"),
        (Key::End, "read"),
    ] {
        session.press(Modifiers::NONE, key);
        session.harness.step();
        let row = session.harness.get_by_role_and_label(egui::Role::ListItem, row);
        assert!(row.is_focused(), "{key:?}:\n{}", session.node_texts().join("\n"));
    }
    assert_eq!(session.summary(), summary, "the keys of the table do not move the timeline");
    session.press(Modifiers::NONE, Key::Enter);
    session.until("the longest of that name", |session| session.says("200.0 µs  at 0.000100000 s"));
}

#[test]
fn the_key_to_copy_takes_the_row_that_has_the_keyboard_with_exact_numbers() {
    let mut session = Session::with_statistics(SCREEN);
    session.click("write");
    session.harness.event(Event::Copy);
    session.harness.step();
    let row = copied(&session).expect("a row");
    assert!(row.starts_with("write\t2\t700000\t0.411765"), "{row}");
    assert!(row.contains("\t350000\t300000\t"), "mean and minimum: {row}");
    assert!(row.contains("\t400000\t50000\t700000\t"), "maximum, deviation and distinct: {row}");
}

#[test]
fn a_right_click_offers_what_can_be_done_with_a_value() {
    let mut session = Session::with_statistics(SCREEN);
    let name = name_of(&session, "read");
    session.right_click(name);
    assert!(!session.says("Group by this key"), "no entry leads nowhere");
    session.click("Copy name");
    assert_eq!(copied(&session).as_deref(), Some("read"));
    session.right_click(name);
    assert!(!session.says("Copy key"), "a column is no key");
    session.click("Copy table");
    let table = copied(&session).expect("a table");
    let lines: Vec<_> = table.lines().collect();
    assert!(lines[0].starts_with("Name\tCount\tTotal (ns)\tTotal share\tSelf (ns)"), "{table}");
    assert!(lines[1].starts_with("request\t1\t1000000\t0.588235"), "{table}");
    assert_eq!(lines.len(), 4);
    session.right_click(name);
    session.click("Search for this name");
    session.until("the search", |session| session.says("2 hits"));
}

#[test]
fn a_total_adds_up_what_is_shown() {
    let mut session = Session::with_statistics(SCREEN);
    assert!(session.says("3 names, Count 5, Total 2.000 ms, Self 1.700 ms"), "{}", session.node_texts().join("\n"));
    session.click("Filter names");
    session.type_text("write");
    session.until("the total of one name", |session| session.says("1 name, Count 2, Total 700.0 µs, Self 700.0 µs"));
}

#[test]
fn shares_say_what_they_are_shares_of() {
    let mut session = Session::with_statistics(SCREEN);
    let meaning = |session: &mut Session, title: &str| {
        let head = session.harness.get_by_label(title).rect().center();
        session.harness.event(Event::PointerMoved(head));
        session.until("the meaning", |session| session.says("as a part of the self time of all groups"));
    };
    meaning(&mut session, "Total share");
    assert!(session.says("may add up to more than 100 %"));
    session.click("Self");
    session.until("the order", |session| session.says("Total 2.000 ms, Self share 100.0 %, Self 1.700 ms"));
    meaning(&mut session, "Self share");
    assert!(!session.says("may add up to more than 100 %"));
    session.click("Copy");
    let table = copied(&session).expect("a table");
    assert!(table.starts_with("Name\tCount\tTotal (ns)\tSelf share\tSelf (ns)"), "{table}");
    session.click("Filter names");
    session.type_text("write");
    session.until("the share of one name", |session| session.says("Self share 41.2 %"));
}

#[test]
fn a_name_of_five_hundred_letters_is_on_one_line_and_whole_in_its_tip() {
    let long = "very_long_name_".repeat(34);
    let mut session = Session::empty(SCREEN, 1.0);
    let span = |ts: u64, name: &str| {
        let args = json!({ name: name, "plain": name });
        json!({"ph": "X", "name": name, "cat": name, "pid": 1, "tid": 1, "ts": ts, "dur": 5, "args": args})
    };
    let trace = json!([span(0, &long), span(10, "short")]);
    session.open_text("long.json", &trace.to_string());
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the lines", |session| session.harness.query_all_by_role(egui::Role::ListItem).count() == 2);
    session.harness.run_steps(2);
    let rows: Vec<_> = session.harness.query_all_by_role(egui::Role::ListItem).map(|row| row.rect().height()).collect();
    assert!(rows.iter().all(|height| *height < 25.0), "{rows:?}");
    let name = name_of(&session, &long);
    let tips = |session: &Session| {
        session.node_texts().iter().filter(|told| told.starts_with("Label") && told.contains(&long)).count()
    };
    assert_eq!(tips(&session), 0, "{}", session.node_texts().join("\n"));
    session.harness.event(Event::PointerMoved(name));
    session.until("the tip", |session| tips(session) > 0);
    // The details of the name have its whole search beside the cut heading.
    session.left_click(name);
    session.until("the details", |session| session.says("Label: Over time"));
    let button = session.harness.get_by_role_and_label(egui::Role::Button, "Search").rect();
    assert!(button.left() > 640.0 && button.right() <= SCREEN.x, "{button}");
    for title in ["Durations (log scale)", "Over time"] {
        for place in session.harness.query_all_by_label(title).map(|node| node.rect()) {
            assert!(place.right() <= SCREEN.x, "{title} at {place}");
        }
    }
}

#[test]
fn a_tip_is_beside_the_pointer_and_not_at_the_start_of_its_row() {
    let mut session = Session::with_statistics(SCREEN);
    let row = name_of(&session, "request");
    let column = session.harness.get_by_label("Mean").rect();
    let at = egui::pos2(column.right() - 10.0, row.y);
    session.harness.event(Event::PointerMoved(at));
    let tip = "1\u{2009}000\u{2009}000 ns";
    session.until("the tip", |session| session.says(tip));
    session.harness.run_steps(3);
    let tip = session.harness.get_by_label(tip).rect();
    assert!((tip.left() - at.x).abs() < 80.0 && (tip.top() - at.y).abs() < 80.0, "{tip} at {at}");
}

#[test]
fn a_head_whose_title_is_not_plain_says_what_its_numbers_are() {
    let mut session = Session::with_statistics(SCREEN);
    let head = session.harness.get_by_label("Distinct").rect().center();
    session.harness.event(Event::PointerMoved(head));
    let meaning = "Time in which at least one span of the group is open on its track, only the part within the scope";
    session.until("the tip", |session| session.says(meaning));
}

#[test]
fn names_have_room_in_a_small_window_whose_least_used_columns_are_hidden_until_they_are_chosen() {
    let mut session = Session::with_capture(vec2(1024.0, 700.0), 1.0);
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the lines", |session| session.harness.query_all_by_role(egui::Role::ListItem).count() == 3);
    session.harness.run_steps(2);
    let shows = |session: &Session, head: &str| session.harness.query_by_label(head).is_some();
    assert!(session.harness.get_by_label("Name").rect().width() >= 200.0);
    for head in ["Count", "Total", "Self", "Mean", "Max"] {
        assert!(shows(&session, head), "{head}");
        assert!(session.harness.get_by_label(head).rect().right() <= 1024.0, "{head}");
    }
    assert!(!shows(&session, "Deviation") && !shows(&session, "p95"));
    session.right_click(session.harness.get_by_label("Total").rect().center());
    session.click("Column Deviation");
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.run_steps(2);
    assert!(shows(&session, "Deviation") && !shows(&session, "p95"));
    // The choice stays in a window with more room.
    session.harness.set_size(vec2(1800.0, 700.0));
    session.harness.run_steps(2);
    assert!(shows(&session, "Deviation") && !shows(&session, "p95"));
    session.right_click(session.harness.get_by_label("Total").rect().center());
    session.click("Columns that fit");
    session.harness.run_steps(2);
    assert!(shows(&session, "p95"));
}

#[test]
fn a_click_with_control_adds_the_name_to_the_scope_and_chooses_nothing() {
    let mut session = Session::with_statistics(SCREEN);
    let filter = |session: &Session| {
        let field = session.harness.query_by_label("Filter of the scope");
        field.and_then(|field| field.accesskit_node().value()).unwrap_or_default()
    };
    let name = name_of(&session, "read");
    session.click_with(name, Modifiers::COMMAND);
    session.until("one name", |session| session.says("1 name, Count 2, Total 300.0 µs"));
    assert_eq!(filter(&session), "name:/^read$/");
    assert!(!session.says("Longest"), "no name is chosen");
    // A list of spans adds the track of the cell.
    session.give("Spans");
    session.until("the spans", |session| session.says("read, main, at"));
    let row = session.harness.query_all_by_label_contains("read, main, at").next().expect("a row").rect();
    let track = pos2(left_of(&session, "Track") + 20.0, row.center().y);
    session.click_with(track, Modifiers::COMMAND);
    session.until("the track", |session| filter(session) == "name:/^read$/ thread:/^main$/");
}

#[test]
fn a_chosen_name_has_its_exact_quantiles_and_a_scope_without_it_says_so() {
    let mut session = Session::empty(SCREEN, 1.0);
    let span = |tid: u32, name: &str, index: u32, dur: u32| {
        format!(r#"{{"ph":"X","name":"{name}","pid":1,"tid":{tid},"ts":{},"dur":{dur}}}"#, index * 1000)
    };
    let spans: Vec<_> = (1..=200).map(|index| span(1, "work", index, index)).chain([span(2, "rest", 1, 10)]).collect();
    session.open_text("many.json", &format!("[{}]", spans.join(",")));
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the statistics", |session| session.says("Label: exact"));
    let name = name_of(&session, "work");
    session.left_click(name);
    let quantiles = ["Label: p50 100.0 µs", "Label: p90 180.0 µs", "Label: p95 190.0 µs", "Label: p99 198.0 µs"];
    session.until("the quantiles", |session| quantiles.iter().all(|text| session.says(text)));
    crate::scope::click_head(&mut session, "Thread 2", crate::scope::CTRL);
    session.until("why there is nothing", |session| session.says("The scope has no span of this name"));
    assert!(!session.says("Longest"));
}
