//! Edits of markers and tracks are undone and redone by keys and by the menu, which says what they are.

use egui::{Key, Modifiers, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);
const REDO: Modifiers = Modifiers { shift: true, ..Modifiers::COMMAND };

/// Opens the trace and adds a marker.
fn with_marker() -> Session {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.harness.run_steps(3);
    session.press(Modifiers::NONE, Key::M);
    session.harness.run_steps(2);
    assert!(has_marker(&session));
    session
}

fn has_marker(session: &Session) -> bool {
    session.says("Button: Marker 1")
}

fn undo(session: &mut Session) {
    session.press(Modifiers::COMMAND, Key::Z);
    session.harness.run_steps(2);
}

#[test]
fn a_removed_marker_returns_by_the_menu_that_says_what_it_takes_back() {
    let mut session = with_marker();
    let flag = session.harness.get_by_label("Marker 1").rect().center();
    session.right_click(flag);
    session.click("Remove");
    session.harness.run_steps(2);
    assert!(!has_marker(&session));
    session.click("Edit");
    session.harness.run_steps(2);
    let redo = session.harness.get_by_role_and_label(egui::Role::Button, "Redo Ctrl+Shift+Z").accesskit_node();
    assert!(redo.is_disabled());
    assert_eq!(redo.description().as_deref(), Some("Nothing to redo"));
    session.click("Undo removal of the marker Ctrl+Z");
    session.harness.run_steps(2);
    assert!(has_marker(&session));
    assert!(session.says("Undone: removal of the marker."), "{}", session.node_texts().join("\n"));
    session.click("Edit");
    session.harness.run_steps(2);
    session.click("Redo removal of the marker Ctrl+Shift+Z");
    session.harness.run_steps(2);
    assert!(!has_marker(&session));
    undo(&mut session);
    assert!(has_marker(&session));
    undo(&mut session);
    assert!(!has_marker(&session), "the addition is undone too");
    undo(&mut session);
    assert!(session.says("Undo: Nothing to undo."));
    for key in [Key::Y, Key::Z] {
        session.press(if key == Key::Z { REDO } else { Modifiers::COMMAND }, key);
        session.harness.run_steps(2);
    }
    assert!(!has_marker(&session), "added and removed again");
    undo(&mut session);
    assert!(has_marker(&session));
}

#[test]
fn a_text_field_undoes_its_own_text_and_no_edit() {
    let mut session = with_marker();
    session.harness.get_by_label("Filter tracks").focus();
    session.harness.run_steps(2);
    session.type_text("main");
    session.harness.run_steps(3);
    let has_text = |session: &Session| session.node_texts().iter().any(|text| text == "TextInput: Filter tracksmain");
    undo(&mut session);
    assert!(has_marker(&session) && !has_text(&session));
    session.press(REDO, Key::Z);
    session.harness.run_steps(2);
    assert!(has_marker(&session) && has_text(&session));
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.run_steps(3);
    assert!(session.offers("Undo"));
}

#[test]
fn an_undone_edit_is_saved_with_the_trace() {
    let mut session = with_marker();
    session.wait_for_the_write();
    undo(&mut session);
    session.wait_for_the_write();
    let mut again = session.opened_again(SCREEN, "capture.json");
    again.harness.run_steps(3);
    assert!(!has_marker(&again));
    assert!(!again.offers("Undo"), "nothing was changed since it was opened");
}

#[test]
fn a_hidden_track_is_shown_again_where_it_was() {
    let mut session = with_marker();
    let tracks = |session: &Session| {
        let nodes = session.node_texts().into_iter().filter(|text| text.ends_with("folded"));
        nodes.collect::<Vec<_>>()
    };
    let before = tracks(&session);
    let nodes = session.harness.root().children_recursive();
    let head = nodes.into_iter().find(|node| {
        let label = node.accesskit_node().label().unwrap_or_default();
        label.starts_with("main") && label.ends_with("folded")
    });
    let at = head.expect("the track").rect().center();
    session.right_click(at);
    session.click("Hide the track");
    session.harness.run_steps(3);
    assert_ne!(tracks(&session), before);
    undo(&mut session);
    assert_eq!(tracks(&session), before);
}
