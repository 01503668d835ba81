//! Hostile names of files, processes, threads, spans, arguments and losses: control characters, line breaks and
//! overrides of the text direction. Each panel shows them as escapes.

use egui::{Key, Modifiers, Vec2};
use egui_kittest::kittest::Queryable;
use longspan::facade::base::escape::is_control;
use serde_json::json;

use crate::session::Session;

const SCREEN: Vec2 = Vec2::new(1200.0, 800.0);

const EVIL: &str = "n\u{1b}]0;t\u{7}\r\nfake line\u{202e}\u{9b}31m\u{7f}\u{2066}";

fn trace() -> String {
    let span = |ts: i64| json!({"ph": "X", "name": EVIL, "cat": EVIL, "pid": 1, "tid": 1, "ts": ts, "dur": 50, "args": {EVIL: EVIL}});
    json!([
        span(1),
        span(100),
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": EVIL}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": EVIL}},
        {"ph": "C", "name": EVIL, "pid": 1, "ts": 5, "args": {EVIL: 1}},
        {"ph": "i", "name": EVIL, "pid": EVIL, "tid": EVIL, "ts": 5},
        {"ph": "X", "name": EVIL, "pid": 1, "tid": 1, "ts": EVIL},
    ])
    .to_string()
}

#[track_caller]
fn assert_harmless(session: &Session, panel: &str) {
    let told = session.node_texts();
    for text in &told {
        let control = text.chars().find(|&letter| letter != '\n' && is_control(letter));
        assert_eq!(control, None, "{panel}: {text:?}");
        assert!(!text.lines().any(|line| line.starts_with("fake")), "{panel}: {text:?}");
    }
    assert!(told.iter().any(|text| text.contains("fake line")), "{panel} says no hostile name:\n{}", told.join("\n"));
}

#[test]
fn no_panel_says_a_control_character_of_a_name() {
    let mut session = Session::empty(SCREEN, 1.0);
    let folder = session.capture.parent().expect("a folder").to_owned();
    let paths = ["a", "b"].map(|name| folder.join(format!("{name}{EVIL}.json")));
    for path in &paths {
        std::fs::write(path, trace()).expect("written");
    }
    session.open(&paths);
    let title = session.harness.state().title();
    assert!(title.contains("fake line") && !title.chars().any(is_control), "{title:?}");
    assert_harmless(&session, "the timeline");
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the lines", |session| session.harness.query_all_by_role(egui::Role::ListItem).count() > 0);
    assert_harmless(&session, "statistics");
    session.search("fake");
    session.until("the hits", |session| session.says("Label: 6 hits"));
    assert_harmless(&session, "the search");
    session.press(Modifiers::NONE, Key::Enter);
    session.until("the details", |session| session.summary().contains("Selected"));
    assert_harmless(&session, "details");
    session.press(Modifiers::COMMAND, Key::G);
    session.until("the flame graph", |session| session.says("Flame graph of"));
    assert_harmless(&session, "the flame graph");
    for list in ["Import issues", "Files and their clocks"] {
        session.give(list);
        assert_harmless(&session, list);
    }
    session.press(Modifiers::NONE, Key::Escape);
    let missing = folder.join(format!("missing{EVIL}.json"));
    session.harness.state_mut().open_files(&[missing]);
    session.until("the message", |session| session.says("missingn"));
    assert_harmless(&session, "a message");
}

#[test]
fn a_long_file_name_is_cut_and_leaves_the_counts_and_the_import_issues_in_view() {
    for (width, note) in [(1200.0, "Label: 1 span"), (640.0, "Label: 1 span"), (420.0, "")] {
        let screen = Vec2::new(width, 500.0);
        let mut session = Session::empty(screen, 1.0);
        let events = r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":5},{"ph":"Z","pid":1,"tid":1,"ts":2}]"#;
        session.open_text(&format!("{}.json", "w".repeat(240)), events);
        session.until("the badge", |session| session.says("Button: 1 import issue"));
        session.harness.run_steps(2);
        assert!(session.says(note), "{width}: {}", session.node_texts().join("\n"));
        let badge = session.harness.get_by_label("1 import issue").rect();
        assert!(badge.right() <= screen.x && badge.width() > 40.0, "{width}: {badge:?}");
    }
}
