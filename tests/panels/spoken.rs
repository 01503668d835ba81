//! Texts for screen readers: live nodes announce their changes. Choices have labels, and menu entries state whether
//! they are checked.

use egui::accesskit::{Live, Role, Toggled};
use egui::{Key, Modifiers, Vec2, pos2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::session::Session;

const SCREEN: Vec2 = vec2(1200.0, 800.0);

/// Returns the texts of all live nodes.
fn spoken(session: &Session) -> Vec<String> {
    let nodes = session.harness.root().children_recursive();
    let live = nodes.filter(|node| node.accesskit_node().live() == Live::Polite);
    live.map(|node| node.accesskit_node().label().or_else(|| node.accesskit_node().value()).unwrap_or_default())
        .collect()
}

#[track_caller]
fn assert_spoken(session: &Session, text: &str) {
    let spoken = spoken(session);
    assert!(spoken.iter().any(|said| said.contains(text)), "{text:?} is not spoken: {spoken:?}");
}

#[test]
fn a_selected_span_the_count_of_hits_and_the_chosen_command_are_spoken() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.harness.run_steps(2);
    assert_spoken(&session, "Nothing selected.");
    session.press(Modifiers::NONE, Key::CloseBracket);
    session.harness.run_steps(2);
    assert_spoken(&session, "Selected: ");
    assert!(!spoken(&session).iter().any(|said| said.contains("Nothing selected.")));
    session.search("name:request");
    session.until("the hits", |session| spoken(session).iter().any(|said| said.contains(" hit")));
    session.press(Modifiers::NONE, Key::Escape);
    session.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
    session.harness.step();
    session.type_text("track");
    session.harness.run_steps(2);
    let first = spoken(&session);
    session.press(Modifiers::NONE, Key::ArrowDown);
    session.harness.run_steps(2);
    assert_ne!(spoken(&session), first, "the next command is not spoken");
    session.type_text("xyzzy");
    session.harness.run_steps(2);
    assert_spoken(&session, "No such command");
}

#[test]
fn an_error_is_an_alert_that_is_spoken_and_dialogs_have_names() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    let missing = session.capture.with_file_name("missing.json");
    session.harness.state_mut().open_files(&[missing]);
    session.until("the message", |session| spoken(session).iter().any(|said| said.contains("missing.json")));
    let nodes = session.harness.root().children_recursive();
    let alerts = nodes.filter(|node| node.accesskit_node().role() == Role::AlertDialog);
    let names: Vec<_> = alerts.filter_map(|node| node.accesskit_node().label()).collect();
    assert_eq!(names, ["The trace cannot be opened"]);
}

#[test]
fn choices_say_what_they_are_for_and_entries_of_menus_whether_they_are_checked() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.give("Preferences");
    session.harness.run_steps(3);
    let tall = session.harness.get_by_label("Tall");
    assert_eq!(tall.accesskit_node().description().as_deref(), Some("Track height"));
    session.press(Modifiers::NONE, Key::Escape);
    session.click("View");
    session.harness.run_steps(3);
    session.click("Theme");
    session.harness.run_steps(3);
    let nodes = session.harness.root().children_recursive();
    let entries = nodes.filter(|node| node.accesskit_node().role() == Role::MenuItemCheckBox);
    let checked: Vec<_> = entries.filter_map(|node| node.accesskit_node().toggled()).collect();
    assert!(checked.contains(&Toggled::True) && checked.contains(&Toggled::False), "{checked:?}");
}

#[test]
fn times_of_hovered_and_selected_rows_count_from_the_origin_of_the_ruler() {
    let mut session = Session::empty(vec2(1280.0, 800.0), 1.0);
    let span = r#"{"ph":"X","name":"a","pid":1,"tid":1,"ts":7000000,"dur":4000000}"#;
    let value = |ts: u32| format!(r#"{{"ph":"C","name":"n","pid":1,"ts":{ts},"args":{{"n":1}}}}"#);
    session.open_text("late.json", &format!("[{span},{},{}]", value(5_000_000), value(15_000_000)));
    session.harness.run_steps(3);
    session.press(Modifiers::NONE, Key::CloseBracket);
    session.until("from the start", |session| session.summary().contains("Selected: a, 4 s, at 2.000000000 s."));
    session.give("Ruler by the trace's clock");
    session.until("of the clock", |session| session.summary().contains("Selected: a, 4 s, at 7.000000000 s."));
    let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
    let middle = pos2(canvas.left() + canvas.width() * 0.4, canvas.top() + 1.0);
    let is_hovered = |session: &Session, text: &str| session.node_texts().iter().any(|node| node.contains(text));
    for text in ["4 s  \u{b7}  at 7.000000000 s", "since 5.000000000 s"] {
        let hovered = (0..40).any(|step| {
            session.harness.event(egui::Event::PointerMoved(middle + vec2(0.0, 8.0 * step as f32)));
            session.harness.run_steps(4);
            is_hovered(&session, text)
        });
        assert!(hovered, "{text}:\n{}", session.node_texts().join("\n"));
    }
}

#[test]
fn the_window_is_spoken_with_its_title() {
    let title = |session: &Session| session.harness.root().accesskit_node().label();
    let mut session = Session::empty(SCREEN, 1.0);
    session.harness.run_steps(2);
    assert_eq!(title(&session).as_deref(), Some("Longspan"));
    session.open_text("late.json", r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":7,"dur":4}]"#);
    session.harness.run_steps(2);
    assert_eq!(title(&session).as_deref(), Some("late.json - Longspan"));
}

#[test]
fn a_table_without_a_row_says_so() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the rows", |session| session.says("List: Rows 1 to "));
    session.harness.get_by_label("Filter names").click();
    session.harness.run_steps(2);
    session.type_text("nothing is called so");
    session.until("no row", |session| session.says("List: No rows"));
}

#[test]
fn preferences_are_a_dialog_with_the_focus_and_named_fields() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.harness.run_steps(3);
    let focused = |session: &Session| {
        let nodes = session.harness.root().children_recursive();
        let mut focused = nodes.filter(|node| node.accesskit_node().is_focused());
        focused.next().and_then(|node| node.accesskit_node().label().or(node.accesskit_node().value()))
    };
    session.click("Filter tracks");
    session.harness.run_steps(2);
    let before = focused(&session);
    session.press(Modifiers::COMMAND, Key::Comma);
    session.harness.run_steps(3);
    let dialog = session.harness.get_by_role_and_label(egui::Role::Dialog, "Preferences");
    let fields = dialog.children_recursive().filter(|node| node.accesskit_node().role() == Role::SpinButton);
    let names: Vec<_> = fields.filter_map(|node| node.accesskit_node().label()).collect();
    assert_eq!(names, ["Import memory limit", "Cache size"]);
    assert_eq!(focused(&session).as_deref(), Some("Preferences"));
    session.press(Modifiers::NONE, Key::Tab);
    session.harness.run_steps(2);
    let focused_within = |session: &Session| {
        let dialog = session.harness.get_by_role_and_label(egui::Role::Dialog, "Preferences");
        dialog.children_recursive().any(|node| node.accesskit_node().is_focused())
    };
    assert!(focused_within(&session), "{:?}", focused(&session));
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.run_steps(3);
    assert!(session.harness.query_by_role_and_label(egui::Role::Dialog, "Preferences").is_none());
    assert_eq!(focused(&session), before);
}
