//! Tables as a hand and a keyboard work them: widths, orders, copies, long names, and the menu of a value.

use egui::{Event, Key, Modifiers, PointerButton, Pos2, pos2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use serde_json::json;

use crate::copied::copied;
use crate::desk::Desk;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

/// With the table of statistics.
fn with_table() -> Desk {
    let mut desk = Desk::with_capture(SCREEN, 1.0);
    desk.press(Modifiers::COMMAND, Key::T);
    desk.until("the lines", |desk| desk.harness.query_all_by_role(egui::Role::ListItem).count() == 3);
    desk.harness.run_steps(2);
    desk
}

fn left_of(desk: &Desk, head: &str) -> f32 {
    desk.harness.get_by_label(head).rect().left()
}

/// A press, the way of the hand, and the release.
fn drag(desk: &mut Desk, from: Pos2, to: Pos2) {
    let button = |pos, pressed| Event::PointerButton {
        pos,
        button: PointerButton::Primary,
        pressed,
        modifiers: Modifiers::NONE,
    };
    for event in [
        Event::PointerMoved(from),
        button(from, true),
        Event::PointerMoved(from + (to - from) / 2.0),
        Event::PointerMoved(to),
        button(to, false),
    ] {
        desk.harness.event(event);
        desk.harness.step();
    }
}

/// A click of the right button at a place.
fn right_click(desk: &mut Desk, at: Pos2) {
    desk.harness.event(Event::PointerMoved(at));
    desk.harness.step();
    for pressed in [true, false] {
        let (button, modifiers) = (PointerButton::Secondary, Modifiers::NONE);
        desk.harness.event(Event::PointerButton { pos: at, button, pressed, modifiers });
        desk.harness.step();
    }
    desk.harness.run_steps(3);
}

/// A place within the first cell of a row.
fn name_of(desk: &Desk, row: &str) -> Pos2 {
    let row = desk.harness.get_by_label(row).rect();
    pos2(row.left() + 20.0, row.center().y)
}

#[test]
fn a_column_is_as_wide_as_the_hand_made_it_and_so_it_is_with_the_next_start() {
    let mut desk = with_table();
    let edge = desk.harness.get_by_label("Width of Name").rect().center();
    let before = left_of(&desk, "Count");
    drag(&mut desk, edge, edge - vec2(60.0, 0.0));
    desk.harness.step();
    let after = left_of(&desk, "Count");
    assert!((before - after - 60.0).abs() < 2.0, "{before} {after}");
    desk.click("Name");
    let mut again = desk.started_again(SCREEN);
    let capture = again.capture.clone();
    again.harness.state_mut().open_files(&[capture]);
    again.until("the timeline", |desk| desk.harness.query_by_role(egui::Role::Canvas).is_some());
    again.press(Modifiers::COMMAND, Key::T);
    again.until("the lines", |desk| desk.harness.query_all_by_role(egui::Role::ListItem).count() == 3);
    assert!((left_of(&again, "Count") - after).abs() < 2.0, "{after} {}", left_of(&again, "Count"));
    let lines = again.harness.query_all_by_role(egui::Role::ListItem);
    let names: Vec<_> = lines.map(|line| line.accesskit_node().label().unwrap_or_default()).collect();
    assert_eq!(names, ["read", "request", "write"], "the order is kept as well");
}

#[test]
fn arrows_home_and_end_lead_from_row_to_row_and_enter_chooses() {
    let mut desk = with_table();
    desk.click("request");
    let summary = desk.summary();
    for (key, row) in [
        (Key::ArrowDown, "write"),
        (Key::ArrowDown, "read"),
        (Key::ArrowDown, "read"),
        (Key::ArrowUp, "write"),
        (Key::Home, "request"),
        (Key::End, "read"),
    ] {
        desk.press(Modifiers::NONE, key);
        desk.harness.step();
        let row = desk.harness.get_by_role_and_label(egui::Role::ListItem, row);
        assert!(row.is_focused(), "{key:?}:\n{}", desk.told().join("\n"));
    }
    assert_eq!(desk.summary(), summary, "the keys of the table do not move the timeline");
    desk.press(Modifiers::NONE, Key::Enter);
    desk.until("the longest of that name", |desk| desk.says("200 µs  at 0.000100000 s"));
}

#[test]
fn the_key_to_copy_takes_the_row_that_has_the_keyboard_with_exact_numbers() {
    let mut desk = with_table();
    desk.click("write");
    desk.harness.event(Event::Copy);
    desk.harness.step();
    let row = copied(&desk).expect("a row");
    assert!(row.starts_with("write\t2\t700000\t0.35"), "{row}");
    assert!(row.ends_with("\t300000\t400000"), "{row}");
}

#[test]
fn a_right_click_offers_what_can_be_done_with_a_value() {
    let mut desk = with_table();
    let name = name_of(&desk, "read");
    right_click(&mut desk, name);
    assert!(!desk.says("Group by"), "no entry leads nowhere");
    desk.click("Copy value");
    assert_eq!(copied(&desk).as_deref(), Some("read"));
    right_click(&mut desk, name);
    desk.click("Copy key");
    assert_eq!(copied(&desk).as_deref(), Some("Name"));
    right_click(&mut desk, name);
    desk.click("Copy table");
    let table = copied(&desk).expect("a table");
    let lines: Vec<_> = table.lines().collect();
    assert!(lines[0].starts_with("Name\tCount\tTotal (ns)\tShare\tSelf (ns)"), "{table}");
    assert!(lines[1].starts_with("request\t1\t1000000\t0.5"), "{table}");
    assert_eq!(lines.len(), 4);
    right_click(&mut desk, name);
    desk.click("Find spans with this value");
    desk.until("the search", |desk| desk.says("2 hits"));
}

#[test]
fn a_total_adds_up_what_is_shown() {
    let mut desk = with_table();
    assert!(desk.says("3 names, Count 5, Total 2.000 ms, Share 100.0 %"), "{}", desk.told().join("\n"));
    desk.click("Filter names");
    desk.type_text("write");
    desk.until("the total of one name", |desk| desk.says("1 name, Count 2, Total 700.0 µs, Share 35.0 %"));
}

#[test]
fn a_name_of_five_hundred_letters_is_on_one_line_and_whole_in_its_tip() {
    let long = "very_long_name_".repeat(34);
    let mut desk = Desk::empty(SCREEN, 1.0);
    let path = desk.capture.with_file_name("long.json");
    let span = |ts: u64, name: &str| {
        let args = json!({ name: name, "plain": name });
        json!({"ph": "X", "name": name, "cat": name, "pid": 1, "tid": 1, "ts": ts, "dur": 5, "args": args})
    };
    let trace = json!([span(0, &long), span(10, "short")]);
    std::fs::write(&path, trace.to_string()).expect("written");
    desk.harness.state_mut().open_files(&[path]);
    desk.until("the timeline", |desk| desk.harness.query_by_role(egui::Role::Canvas).is_some());
    desk.press(Modifiers::COMMAND, Key::T);
    desk.until("the lines", |desk| desk.harness.query_all_by_role(egui::Role::ListItem).count() == 2);
    desk.harness.run_steps(2);
    let rows: Vec<_> = desk.harness.query_all_by_role(egui::Role::ListItem).map(|row| row.rect().height()).collect();
    assert!(rows.iter().all(|height| *height < 25.0), "{rows:?}");
    let name = name_of(&desk, &long);
    let tips =
        |desk: &Desk| desk.told().iter().filter(|told| told.starts_with("Label") && told.contains(&long)).count();
    assert_eq!(tips(&desk), 0, "{}", desk.told().join("\n"));
    desk.harness.event(Event::PointerMoved(name));
    desk.until("the tip", |desk| tips(desk) > 0);
}
