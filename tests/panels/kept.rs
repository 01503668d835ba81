//! The state of a timeline is saved soon after a change, so that it survives a crash.

use egui::{Event, Key, Modifiers, vec2};
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
    let note = "Restored the last scope; clear it with the crosses in the scope bar";
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
fn the_selected_span_and_the_search_return_with_the_trace_and_so_does_their_end() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.search("read dur<150us");
    session.until("the hit", |session| session.says("1 hit"));
    session.press(Modifiers::NONE, Key::Enter);
    let selects = |session: &Session| session.summary().contains("Selected: read, 100 µs");
    session.until("the selected hit", selects);
    session.click("Longest");
    session.harness.run_steps(5);
    let before = session.summary();
    session.wait_for_the_write();
    let mut again = open_again(session);
    again.until("the same hit", |session| session.says("1 hit") && session.says("1 of the hits that are spans"));
    assert_eq!(again.summary(), before, "the view and the selected span");
    assert!(again.says("read dur<150us") && !again.harness.get_by_label("Search").is_focused());
    // One layer at a time, as before the trace was closed.
    again.press(Modifiers::NONE, Key::Escape);
    again.until("no search", |session| session.harness.query_by_label("Search").is_none());
    assert!(selects(&again), "{}", again.summary());
    again.press(Modifiers::NONE, Key::Escape);
    again.harness.run_steps(3);
    again.wait_for_the_write();
    let mut last = open_again(again);
    assert!(last.summary().contains("Nothing selected"), "{}", last.summary());
    assert!(last.harness.query_by_label("Search").is_none());
    // The text waits for the next search.
    last.press(Modifiers::COMMAND, Key::F);
    last.until("the hits of the last text", |session| session.says("1 hit") && session.says("read dur<150us"));
    // It is selected, so that typing replaces it.
    last.type_text("write");
    last.until("the hits of another text", |session| session.says("2 hits"));
    assert!(!last.says("dur<150us"), "{}", last.node_texts().join("\n"));
}

#[test]
fn a_reload_keeps_the_search_and_the_selected_span_unless_the_file_no_longer_has_it() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.search("write");
    session.until("the hits", |session| session.says("2 hits"));
    session.press(Modifiers::NONE, Key::Enter);
    session.until("the first hit", |session| session.summary().contains("Selected: write, 400 µs"));
    let capture = session.capture.clone();
    let text = std::fs::read_to_string(&capture).expect("the trace");
    let more = text.replacen('[', r#"[{"ph":"X","name":"write","pid":0,"tid":0,"ts":0,"dur":1},"#, 1);
    std::fs::write(&capture, &more).expect("written");
    session.give("Reload");
    session.until("another hit on another track", |session| session.says("3 hits"));
    assert!(session.summary().contains("Selected: write, 400 µs"), "{}", session.summary());
    std::fs::write(&capture, more.replace("\"dur\":400", "\"dur\":401")).expect("written");
    session.give("Reload");
    session.until("no selected span", |session| session.summary().contains("Nothing selected"));
    session.until("the hits of the same text", |session| session.says("3 hits") && session.says("Searchwrite"));
}

#[test]
fn a_selected_span_that_is_out_of_view_does_not_scroll_the_restored_view() {
    let mut session = Session::with_workers(SCREEN);
    let heads = |session: &Session| {
        let heads = session.harness.root().children_recursive().filter_map(|node| {
            let label = node.accesskit_node().label()?;
            label.starts_with("worker").then(|| (label, node.rect().top().round()))
        });
        heads.collect::<Vec<_>>()
    };
    // A span in the middle of the trace is selected, in the middle of the view, and at the edge of it.
    for scrolled in [0, 1, 3] {
        session.select_hit("\"job 40\"", "Selected: job 40");
        session.press(Modifiers::NONE, Key::Escape);
        for _ in 0..scrolled {
            session.press(Modifiers::NONE, Key::PageUp);
            session.harness.run_steps(5);
        }
        session.harness.run_steps(5);
        let before = heads(&session);
        assert!(!before.is_empty());
        session.wait_for_the_write();
        session = open_again(session);
        session.harness.run_steps(5);
        assert!(session.summary().contains("Selected: job 40"), "{}", session.summary());
        assert_eq!(heads(&session), before, "{scrolled} pages");
    }
}

#[test]
fn a_change_while_another_is_written_is_not_lost_and_a_window_that_is_left_alone_writes_nothing() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.harness.run_steps(3);
    let at = session.harness.get_by_role(egui::Role::Canvas).rect().left_bottom();
    for right in [100.0, 200.0, 300.0] {
        session.harness.event(Event::PointerMoved(at + vec2(right, -5.0)));
        session.harness.step();
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
    // An opened trace has no change to save.
    session.harness.run_steps(8);
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
