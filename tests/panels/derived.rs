//! Derived tracks: created from a name, a scope or a text, shown with range and values, saved with the trace.

use egui::{Key, Modifiers, Pos2, Vec2, pos2, vec2};
use egui_kittest::kittest::Queryable;

use crate::copied::copied;
use crate::session::Session;

const SCREEN: Vec2 = vec2(1280.0, 800.0);

/// Calls of 100 us on two threads: one every 100 us, and one every 200 us.
fn opened() -> Session {
    let mut session = Session::empty(SCREEN, 1.0);
    let call = |tid: i64, ts: i64, name: &str| {
        let args = format!(r#"{{"bytes":{}}}"#, tid + 1);
        format!(r#"{{"ph":"X","name":"{name}","pid":1,"tid":{tid},"ts":{ts},"dur":100,"args":{args}}}"#)
    };
    let reads = (0..100).map(|number| call(0, number * 100, "read"));
    let writes = (0..50).map(|number| call(1, number * 200, "write"));
    let lines: Vec<_> = reads.chain(writes).collect();
    session.open_text("calls.json", &format!("[{}]", lines.join(",")));
    session.harness.run_steps(3);
    session
}

/// Adds a derived track from its text.
fn add(session: &mut Session, text: &str) {
    session.click("Kind and filter of a derived track");
    session.press(Modifiers::COMMAND, Key::A);
    session.type_text(text);
    session.harness.run_steps(3);
    session.click("Add");
    session.harness.run_steps(2);
}

/// Returns a point in the row of a track, at a fraction of the canvas width.
fn on_strip(session: &Session, track: &str, part: f32) -> Pos2 {
    let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
    let strip = session.harness.get_by_label_contains(track).rect();
    pos2(canvas.left() + canvas.width() * part, strip.center().y)
}

#[test]
fn the_field_has_the_keys_each_time_that_the_list_is_opened() {
    let mut session = opened();
    for (text, label) in [("count name:read", "Count: name:read"), ("count name:write", "Count: name:write")] {
        session.give("Derived tracks");
        session.harness.run_steps(2);
        // A letter outside the field would be a shortcut: m adds a marker.
        session.type_text(text);
        session.press(Modifiers::NONE, Key::Enter);
        session.until(label, |session| session.says(&format!("Derived track {label}")));
        assert!(!session.says("Marker 1"));
        session.press(Modifiers::NONE, Key::Escape);
        session.until("the list is closed", |session| !session.says("Kind and filter of a derived track"));
    }
}

#[test]
fn the_sum_of_an_unknown_counter_names_the_one_that_is_meant() {
    let mut session = Session::empty(SCREEN, 1.0);
    let values = [(1, 3), (5, 4)];
    let lines = values.map(|(ts, a)| format!(r#"{{"ph":"C","name":"many","pid":1,"ts":{ts},"args":{{"a":{a}}}}}"#));
    session.open_text("counters.json", &format!("[{}]", lines.join(",")));
    session.give("Derived tracks");
    session.harness.run_steps(2);
    add(&mut session, "sum:counter.many a");
    let advice = r#"no counter is named `many`; quote names with spaces: did you mean `sum:"counter.many a"`?"#;
    session.until("the advice", |session| session.says(advice));
    assert!(!session.says("Derived track "), "a curve without rows");
    add(&mut session, r#"sum:"counter.many a""#);
    session.until("the sum", |session| session.says("Derived track Sum of counters many a"));
    assert!(!session.says(advice));
}

#[test]
fn the_field_keeps_the_keys_after_enter_and_too_many_tracks_are_said() {
    let mut session = opened();
    session.give("Derived tracks");
    session.harness.run_steps(2);
    for number in 0..16 {
        session.type_text(&format!("count dur>{number}us"));
        session.press(Modifiers::NONE, Key::Enter);
        session.harness.run_steps(2);
    }
    assert!(!session.says("Marker 1"));
    assert!(session.says("At most 16: remove one to add another."), "{}", session.node_texts().join("\n"));
    session.press(Modifiers::NONE, Key::Escape);
    session.give("Derive rate of the scope");
    session.until("why there is none", |session| session.says("At most 16 derived tracks: remove one to add another."));
}

#[test]
fn the_list_fits_a_small_window() {
    let mut session = opened();
    session.give("Derived tracks");
    session.harness.run_steps(2);
    for number in 0..6 {
        session.type_text(&format!("count dur>{number}us"));
        session.press(Modifiers::NONE, Key::Enter);
        session.harness.run_steps(2);
    }
    let size = vec2(700.0, 450.0);
    session.harness.set_size(size);
    session.harness.run_steps(4);
    let window = session.harness.get_by_role_and_label(egui::Role::Dialog, "Derived tracks").rect();
    let screen = egui::Rect::from_min_size(Pos2::ZERO, size).expand(1.0);
    assert!(screen.contains_rect(window), "{window:?}");
}

#[test]
fn a_track_of_any_text_is_made_with_its_range_its_values_and_its_name() {
    let mut session = opened();
    session.give("Derived tracks");
    session.harness.run_steps(2);
    add(&mut session, "median name:read");
    assert!(session.says("expected count, rate, concurrency"), "{}", session.node_texts().join("\n"));
    add(&mut session, "count every:1s");
    assert!(session.says("every: is the step of"), "{}", session.node_texts().join("\n"));
    assert!(!session.says("Derived track Count"));
    add(&mut session, "concurrency");
    add(&mut session, "concurrency");
    session.until("why there is one only", |session| session.says("This derived track exists already."));
    add(&mut session, "max-duration name:read");
    add(&mut session, "sum:arg.bytes name:write");
    for label in
        ["Concurrency: all, 0 to 2", "Longest duration: name:read, 0 to 100 µs", "Sum of bytes: name:write, 0 to 2 in "]
    {
        let label = format!("Derived track {label}");
        session.until(&label, |session| session.says(&label));
    }
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.run_steps(2);
    // Both threads are in a call, shortly after the start.
    let at = on_strip(&session, "Derived track Concurrency", 0.5);
    session.harness.event(egui::Event::PointerMoved(at));
    session.until("the value", |session| session.says(" open"));
    session.right_click(on_strip(&session, "Derived track Sum of bytes", -0.05));
    session.until("the menu", |session| session.says("Copy as an option of export"));
    session.click("Copy as an option of export");
    assert_eq!(copied(&session).as_deref(), Some("--derive 'sum:arg.bytes name:write'"));
    session.right_click(on_strip(&session, "Derived track Longest", -0.05));
    session.until("the menu", |session| session.says("Name of the derived track"));
    session.click("Name of the derived track");
    session.type_text("slowest");
    session.until("the name", |session| session.says("Derived track slowest, 0 to 100 µs"));
    session.click("Logarithmic scale");
    session.until("the scale", |session| session.says("Derived track slowest, 10 µs to 100 µs, log"));
    session.click("Remove");
    session.until("two tracks", |session| !session.says("Derived track slowest"));
}

#[test]
fn a_track_of_the_scope_outlives_the_window_and_is_made_again() {
    let mut session = opened();
    session.give("Derive rate of the scope");
    session.until("the rate", |session| session.says("Derived track Rate: all, 0 to "));
    crate::scope::click_head(&mut session, "Thread 1", crate::scope::CTRL);
    session.until("the bar", |session| session.says("Button: Derive track"));
    session.click("Derive track");
    session.harness.run_steps(2);
    session.click("Count");
    session.until("the count", |session| session.says("Derived track Count: 1 track, 0 to "));
    session.wait_for_the_write();
    let path = session.capture.with_file_name("calls.json");
    let mut again = session.started_again(SCREEN);
    again.harness.state_mut().open_files(&[path]);
    for label in ["Derived track Rate: all, 0 to ", "Derived track Count: 1 track, 0 to "] {
        again.until(label, |session| session.says(label));
    }
}

#[test]
fn a_span_derives_tracks_of_its_name() {
    let mut session = opened();
    let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
    let track = session.harness.get_by_label_contains("Thread 1").rect();
    session.right_click(pos2(canvas.center().x, track.top() + 12.0));
    session.until("the menu", |session| session.says("Derive track of this name"));
    session.click("Derive track of this name");
    session.harness.run_steps(2);
    session.click("Concurrency");
    session.until("the track", |session| session.says("Derived track Concurrency: name:/^write$/, 0 to 1"));
}

#[test]
fn a_search_becomes_a_derived_track() {
    let mut session = opened();
    session.press(Modifiers::COMMAND, Key::F);
    session.harness.run_steps(2);
    session.type_text("write");
    session.until("the hits", |session| session.says("50 hits"));
    session.click("Derive track");
    session.harness.run_steps(2);
    session.click("Concurrency");
    session.until("the track", |session| session.says("Derived track Concurrency: write, 0 to 1"));
}
