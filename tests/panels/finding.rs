//! Ways to find a span: search, statistics, flame graph, the names of commands; by the keyboard and read aloud.

use egui::{Key, Modifiers, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::desk::Desk;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

#[test]
fn a_search_by_the_keyboard_counts_and_reads_out_each_hit() {
    let mut desk = Desk::with_capture(SCREEN, 1.0);
    desk.press(Modifiers::COMMAND, Key::F);
    desk.harness.step();
    assert!(desk.harness.get_by_label("Search").is_focused());
    desk.type_text("cat:io dur>=200us");
    desk.until("the number of hits", |desk| desk.says("3 hits"));
    desk.until("the list of hits", |desk| desk.says("Hits 1 to 3 of 3"));
    desk.until("the hits", |desk| desk.says("ListItem: write"));
    let hits = desk.harness.query_all_by_role(egui::Role::ListItem);
    let told: Vec<_> = hits.map(|hit| hit.accesskit_node().label().unwrap_or_default()).collect();
    let expected = [
        "write, Thread 2, at 0.000000000 s, 400 µs",
        "read, main, at 0.000100000 s, 200 µs",
        "write, Thread 2, at 0.000600000 s, 300 µs",
    ];
    assert_eq!(told, expected, "each hit in view is told with its thread, its start and its duration");
    let order = ["write, 400 µs", "read, 200 µs", "write, 300 µs"];
    for expected in order {
        desk.press(Modifiers::NONE, Key::Enter);
        desk.until(expected, |desk| desk.summary().contains(&format!("Selected: {expected}")));
    }
    desk.press(Modifiers::SHIFT, Key::Enter);
    desk.until("the hit before", |desk| desk.summary().contains("Selected: read, 200 µs"));
    desk.press(Modifiers::NONE, Key::Escape);
    desk.until("no search", |desk| desk.harness.query_by_label("Search").is_none());
    assert!(desk.summary().contains("Selected: read"), "{}", desk.summary());
}

#[test]
fn a_hit_that_the_tabulator_leads_to_is_gone_to_with_enter() {
    let mut desk = Desk::with_capture(SCREEN, 1.0);
    desk.press(Modifiers::COMMAND, Key::F);
    desk.harness.step();
    desk.type_text("read");
    desk.until("the hits", |desk| desk.says("ListItem: read"));
    let second = "read, main, at 0.000500000 s, 100 µs";
    for _ in 0..30 {
        if desk.harness.get_by_label(second).is_focused() {
            break;
        }
        desk.press(Modifiers::NONE, Key::Tab);
    }
    assert!(desk.harness.get_by_label(second).is_focused(), "{}", desk.told().join("\n"));
    desk.press(Modifiers::NONE, Key::Enter);
    desk.until("the second hit", |desk| desk.summary().contains("Selected: read, 100 µs"));
}

#[test]
fn a_search_that_finds_nothing_or_cannot_be_meant_says_so() {
    let mut desk = Desk::with_capture(SCREEN, 1.0);
    desk.press(Modifiers::COMMAND, Key::F);
    desk.harness.step();
    desk.type_text("nobody");
    desk.until("no hits", |desk| desk.says("Label: No hits") && desk.says("List: No hits"));
    desk.type_text(" dur>soon");
    desk.until("what is wrong", |desk| desk.says("expected a number of"));
}

#[test]
fn statistics_are_a_table_whose_lines_and_heads_are_told() {
    let mut desk = Desk::with_capture(SCREEN, 1.0);
    desk.press(Modifiers::COMMAND, Key::T);
    desk.until("the lines", |desk| desk.harness.query_all_by_role(egui::Role::ListItem).count() == 3);
    let order = |desk: &Desk| {
        let lines = desk.harness.query_all_by_role(egui::Role::ListItem);
        lines.map(|line| line.accesskit_node().label().unwrap_or_default()).collect::<Vec<_>>()
    };
    let names = |lines: Vec<String>| {
        lines.iter().map(|line| line.split([',', ' ']).next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(order(&desk)), ["request", "write", "read"]);
    desk.click("Name");
    assert_eq!(names(order(&desk)), ["read", "request", "write"]);
    desk.click("Count");
    assert_eq!(names(order(&desk)).last().map(String::as_str), Some("request"), "one request, two of the others");
}

#[test]
fn a_command_is_found_by_a_part_of_its_name_and_given_with_enter() {
    let mut desk = Desk::with_capture(SCREEN, 1.0);
    let whole = desk.summary();
    desk.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
    desk.harness.step();
    desk.type_text("zoom in");
    desk.press(Modifiers::NONE, Key::Enter);
    desk.until("a closer view", |desk| desk.summary() != whole);
    desk.press(Modifiers::NONE, Key::Home);
    desk.until("the whole again", |desk| desk.summary() == whole);
}

#[test]
fn keys_lead_from_span_to_span_and_each_is_read_out() {
    let mut desk = Desk::with_capture(SCREEN, 1.0);
    desk.press(Modifiers::COMMAND, Key::F);
    desk.harness.step();
    // Enter at once: who types fast does not wait until the hits are counted.
    desk.type_text("request");
    desk.press(Modifiers::NONE, Key::Enter);
    desk.until("the request", |desk| desk.summary().contains("Selected: request, 1 ms, at 0"));
    desk.until("its arguments", |desk| desk.says("/index.html"));
    desk.press(Modifiers::NONE, Key::Escape);
    desk.harness.step();
    for (key, expected) in [
        (Key::ArrowDown, "read, 200 µs"),
        (Key::CloseBracket, "read, 100 µs"),
        (Key::OpenBracket, "read, 200 µs"),
        (Key::ArrowUp, "request, 1 ms"),
    ] {
        desk.press(Modifiers::NONE, key);
        desk.until(expected, |desk| desk.summary().contains(&format!("Selected: {expected}")));
    }
    desk.press(Modifiers::NONE, Key::Escape);
    desk.until("nothing selected", |desk| desk.summary().contains("Nothing selected."));
}

#[test]
fn a_capture_that_was_opened_is_one_click_away_when_the_window_opens_again() {
    let mut desk = Desk::with_capture(SCREEN, 1.0).started_again(SCREEN);
    desk.harness.step();
    assert!(desk.harness.query_by_role(egui::Role::Canvas).is_none());
    desk.click("capture.json");
    desk.until("the timeline", |desk| desk.harness.query_by_role(egui::Role::Canvas).is_some());
    assert!(desk.summary().contains("Timeline of 3 tracks"), "{}", desk.summary());
}

#[test]
fn losses_are_read_out_with_their_number_and_reason() {
    let mut desk = Desk::with_capture(SCREEN, 1.0);
    desk.until("the number of losses", |desk| desk.says("Button: 1 loss"));
    desk.click("1 loss");
    desk.until("the list", |desk| desk.says("unmatched_end") || desk.says("no begin"));
}

#[test]
fn escape_closes_the_windows_before_it_lets_go_of_the_selection() {
    let mut desk = Desk::with_capture(SCREEN, 1.0);
    desk.press(Modifiers::COMMAND, Key::F);
    desk.harness.step();
    desk.type_text("request");
    desk.press(Modifiers::NONE, Key::Enter);
    desk.until("the request", |desk| desk.summary().contains("Selected: request"));
    desk.press(Modifiers::NONE, Key::Escape);
    desk.harness.step();
    desk.give("Losses");
    desk.give("Keys");
    let (losses, keys) = (|desk: &Desk| desk.says("no begin"), |desk: &Desk| desk.says("Ctrl + wheel"));
    desk.until("both windows", |desk| losses(desk) && keys(desk));
    desk.press(Modifiers::NONE, Key::Escape);
    desk.until("one window", |desk| losses(desk) && !keys(desk));
    desk.press(Modifiers::NONE, Key::Escape);
    desk.until("no window", |desk| !losses(desk));
    assert!(desk.summary().contains("Selected: request"), "{}", desk.summary());
    desk.press(Modifiers::NONE, Key::Escape);
    desk.until("nothing selected", |desk| desk.summary().contains("Nothing selected."));
}
