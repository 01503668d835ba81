//! Steps to the next and previous span of the selected one's name, on all tracks.

use egui::{Key, Modifiers, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

/// Five reads on three threads among other spans; two of them start at the same time.
const READS: &str = r#"[
    {"ph":"X","name":"read","pid":1,"tid":1,"ts":0,"dur":11},
    {"ph":"X","name":"reads","pid":1,"tid":1,"ts":100,"dur":90},
    {"ph":"X","name":"read","pid":1,"tid":2,"ts":200,"dur":12},
    {"ph":"X","name":"read","pid":1,"tid":3,"ts":200,"dur":13},
    {"ph":"X","name":"write","pid":1,"tid":2,"ts":300,"dur":90},
    {"ph":"X","name":"read","cat":"io","pid":1,"tid":1,"ts":400,"dur":14},
    {"ph":"X","name":"read","pid":1,"tid":3,"ts":900,"dur":15}]"#;

/// Opens the reads, and selects the first span of a name by a search that is closed again.
fn with_selected(name: &str) -> Session {
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("reads.json", READS);
    session.search(&format!("/^{name}$/"));
    session.press(Modifiers::NONE, Key::Enter);
    session.until(name, |session| session.summary().contains(&format!("Selected: {name},")));
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.run_steps(2);
    assert!(session.harness.query_by_label("Search").is_none());
    session
}

#[track_caller]
fn assert_goes(session: &mut Session, key: Key, to: &str) {
    session.press(Modifiers::COMMAND, key);
    session.until(to, |session| session.summary().contains(&format!("Selected: {to}")));
    assert!(session.harness.query_by_label("Search").is_none(), "no search is opened");
}

#[test]
fn ctrl_and_arrows_go_from_span_to_span_of_one_name_on_all_tracks_and_say_which_is_the_last() {
    let mut session = with_selected("read");
    for to in ["read, 12 µs", "read, 13 µs", "read, 14 µs", "read, 15 µs"] {
        assert!(!session.says("This is the"));
        assert_goes(&mut session, Key::ArrowDown, to);
    }
    session.press(Modifiers::COMMAND, Key::ArrowDown);
    session.until("the end", |session| session.says("This is the last \"read\"."));
    assert!(session.summary().contains("Selected: read, 15 µs"), "{}", session.summary());
    for to in ["read, 14 µs", "read, 13 µs", "read, 12 µs", "read, 11 µs"] {
        assert_goes(&mut session, Key::ArrowUp, to);
        assert!(!session.says("This is the"));
    }
    session.press(Modifiers::COMMAND, Key::ArrowUp);
    session.until("the start", |session| session.says("This is the first \"read\"."));
    session.press(Modifiers::NONE, Key::Escape);
    session.until("nothing selected", |session| session.summary().contains("Nothing selected."));
    assert!(!session.says("This is the"), "it is about the selected span");
}

#[test]
fn keys_pressed_at_once_are_as_many_steps() {
    let mut session = with_selected("read");
    for _ in 0..3 {
        session.harness.key_press_modifiers(Modifiers::COMMAND, Key::ArrowDown);
    }
    session.until("the fourth", |session| session.summary().contains("Selected: read, 14 µs"));
    session.harness.run_steps(5);
    assert!(session.summary().contains("Selected: read, 14 µs"), "{}", session.summary());
}

#[test]
fn the_steps_leave_an_open_search_its_hits_and_a_text_field_its_keys() {
    let mut session = with_selected("read");
    session.press(Modifiers::COMMAND, Key::F);
    session.harness.step();
    session.press(Modifiers::COMMAND, Key::A);
    session.type_text("write");
    session.until("its hits", |session| session.says("1 hit"));
    // In the field, the keys go to the start and the end of the text.
    session.press(Modifiers::COMMAND, Key::ArrowUp);
    session.type_text("a");
    session.press(Modifiers::COMMAND, Key::ArrowDown);
    session.type_text("b");
    let field = session.harness.get_by_label("Search").accesskit_node().value();
    assert_eq!(field.as_deref(), Some("awriteb"));
    assert!(session.summary().contains("Selected: read, 11 µs"), "{}", session.summary());
    session.press(Modifiers::COMMAND, Key::A);
    session.type_text("write");
    session.until("its hits", |session| session.says("1 hit") && session.says("ListItem: write"));
    // Outside the field they are steps, also in the list of hits.
    for _ in 0..30 {
        if session.harness.get_by_label("write, Thread 2, at 0.000300000 s, 90 µs").is_focused() {
            break;
        }
        session.press(Modifiers::NONE, Key::Tab);
    }
    session.press(Modifiers::COMMAND, Key::ArrowDown);
    session.until("the second", |session| session.summary().contains("Selected: read, 12 µs"));
    let field = session.harness.get_by_label("Search").accesskit_node().value();
    assert_eq!(field.as_deref(), Some("write"));
    assert!(session.says("1 hit") && session.says("ListItem: write"), "{}", session.node_texts().join("\n"));
}

#[test]
fn the_commands_are_offered_while_a_span_is_selected() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    assert!(!session.offers("Next of this name") && !session.offers("Previous of this name"));
    let mut session = with_selected("write");
    assert!(session.offers("Next of this name") && session.offers("Previous of this name"));
    session.give("Next of this name");
    session.until("the end", |session| session.says("This is the last \"write\"."));
}
