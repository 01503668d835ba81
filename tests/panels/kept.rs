//! The state of a timeline is saved soon after a change, so that it survives a crash.

use egui::{Key, Modifiers, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

fn open_again(session: Session) -> Session {
    // The window disappears, as in a crash.
    let mut again = session.opened_again(SCREEN, "capture.json");
    again.harness.run_steps(3);
    again
}

#[test]
fn markers_and_the_view_outlive_a_window_that_dies() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.harness.run_steps(3);
    session.press(Modifiers::NONE, Key::M);
    session.press(Modifiers::NONE, Key::Plus);
    session.harness.run_steps(5);
    // The end of the view may differ by a nanosecond, since it is derived from the width of a pixel.
    let view = |session: &Session| session.summary().split(" to ").next().map(str::to_owned);
    let zoomed = view(&session);
    session.wait_for_the_write();
    let again = open_again(session);
    assert!(again.says("Button: Marker 1"), "{}", again.node_texts().join("\n"));
    assert_eq!(view(&again), zoomed);
}

#[test]
fn the_scope_and_the_open_panels_return_with_the_trace_and_escape_clears_the_scope() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.harness.run_steps(3);
    session.give("Statistics");
    session.give("Counters");
    session.give("Statistics");
    session.harness.run_steps(2);
    let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
    session.drag_with(canvas.center(), canvas.center() + vec2(200.0, 0.0), Modifiers::SHIFT);
    session.harness.run_steps(3);
    let shows_scope = |session: &Session| session.says("Save scope");
    assert!(shows_scope(&session), "{}", session.node_texts().join("\n"));
    session.wait_for_the_write();
    let mut again = open_again(session);
    assert!(shows_scope(&again), "{}", again.node_texts().join("\n"));
    let note = "The scope was restored: Esc clears it";
    assert!(again.says(note), "{}", again.node_texts().join("\n"));
    let tabs = |session: &Session| {
        let tabs = session.harness.query_all_by_role(egui::Role::Tab).map(|tab| {
            let node = tab.accesskit_node();
            (node.label().unwrap_or_default(), node.toggled() == Some(egui::accesskit::Toggled::True))
        });
        tabs.collect::<Vec<_>>()
    };
    assert_eq!(tabs(&again), [("Statistics panel".to_owned(), true), ("Counters panel".to_owned(), false)]);
    again.press(Modifiers::NONE, Key::Escape);
    again.harness.run_steps(3);
    assert!(!shows_scope(&again) && !again.says(note), "{}", again.node_texts().join("\n"));
    again.wait_for_the_write();
    let last = open_again(again);
    assert!(!shows_scope(&last), "{}", last.node_texts().join("\n"));
}

#[test]
fn a_change_while_another_is_written_is_not_lost_and_a_window_that_is_left_alone_writes_nothing() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.harness.run_steps(3);
    for _ in 0..3 {
        session.press(Modifiers::NONE, Key::M);
        session.harness.run_steps(5);
    }
    session.wait_for_the_write();
    let before = session.saved_times();
    assert_eq!(before.len(), 1);
    session.harness.run_steps(20);
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(session.saved_times(), before);
    let again = open_again(session);
    assert!(again.says("Button: Marker 3"), "{}", again.node_texts().join("\n"));
}

#[test]
fn a_tab_that_is_left_right_after_a_change_is_saved_too() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.harness.run_steps(3);
    session.wait_for_the_write();
    session.press(Modifiers::NONE, Key::M);
    let other = session.capture.with_file_name("other.json");
    let span = r#"[{"ph":"X","name":"other","pid":9,"tid":9,"ts":0,"dur":10}]"#;
    std::fs::write(&other, span).expect("written");
    session.harness.state_mut().open_files(&[other]);
    let shows_other = |session: &Session| {
        let canvas = session.harness.query_by_role(egui::Role::Canvas);
        canvas.is_some() && session.summary().contains("Timeline of 1 tracks")
    };
    session.until("the other tab", shows_other);
    session.wait_for_the_write();
    let again = open_again(session);
    assert!(again.says("Button: Marker 1"), "{}", again.node_texts().join("\n"));
}
