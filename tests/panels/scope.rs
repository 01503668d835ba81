//! The scope: selected by drags, headers and menus, shown in the bar, used by all queries, and cleared with Escape.

use egui::{Event, Key, Modifiers, PointerButton, Pos2, Vec2, pos2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::session::Session;

const SCREEN: Vec2 = vec2(1280.0, 800.0);

const TIME: &str = "Remove the time from the scope";
const TRACKS: &str = "Remove the tracks from the scope";
const FILTER: &str = "Remove the filter from the scope";

fn opened() -> Session {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.harness.run_steps(3);
    session
}

/// Returns the label of the header of a track.
pub(crate) fn head(session: &Session, track: &str) -> String {
    let nodes = session.harness.root().children_recursive();
    let mut labels = nodes.filter_map(|node| node.accesskit_node().label());
    let is_head = |label: &String| label.starts_with(track) && label.ends_with("folded");
    labels.find(is_head).unwrap_or_else(|| panic!("no {track}:\n{}", session.node_texts().join("\n")))
}

/// Returns a point in the first lane of a track, at a fraction of the visible time.
fn on_track(session: &Session, track: &str, part: f32) -> Pos2 {
    let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
    let place = session.harness.get_by_label(&head(session, track)).rect();
    pos2(canvas.left() + canvas.width() * part, place.top() + 12.0)
}

fn button(session: &mut Session, at: Pos2, (button, modifiers): (PointerButton, Modifiers), pressed: bool) {
    session.harness.event_modifiers(Event::PointerButton { pos: at, button, pressed, modifiers }, modifiers);
    session.harness.step();
}

fn click_at(session: &mut Session, at: Pos2, with: (PointerButton, Modifiers)) {
    session.harness.event_modifiers(Event::PointerMoved(at), with.1);
    session.harness.step();
    button(session, at, with, true);
    button(session, at, with, false);
    session.harness.run_steps(2);
}

pub(crate) fn click_head(session: &mut Session, track: &str, with: (PointerButton, Modifiers)) {
    let at = session.harness.get_by_label(&head(session, track)).rect().left_top() + vec2(40.0, 10.0);
    click_at(session, at, with);
}

pub(crate) const CTRL: (PointerButton, Modifiers) = (PointerButton::Primary, Modifiers::COMMAND);
const RIGHT: (PointerButton, Modifiers) = (PointerButton::Secondary, Modifiers::NONE);

/// Returns the visible time range, in nanoseconds.
fn view(session: &mut Session) -> (i64, i64) {
    let view = session.harness.state_mut().timeline_mut().expect("a timeline").view();
    (view.start_ns(), view.end_ns())
}

fn range(session: &mut Session) -> Option<(i64, i64)> {
    session.harness.state_mut().timeline_mut().expect("a timeline").range()
}

/// Opens the statistics and waits until they contain exactly these names.
#[track_caller]
fn until_statistics(session: &mut Session, names: &[&str]) {
    if !session.says("Filter names") {
        session.press(Modifiers::COMMAND, Key::T);
    }
    session.until(&format!("statistics of {names:?}"), |session| {
        ["request", "read", "write"]
            .iter()
            .all(|name| session.says(&format!("ListItem: {name}")) == names.contains(name))
    });
}

#[test]
fn shift_and_a_drag_select_time_and_the_tracks_that_it_crosses() {
    let mut session = opened();
    let before = view(&mut session);
    let (from, to) = (on_track(&session, "main", 0.3), on_track(&session, "main", 0.7));
    session.drag_with(from, to, Modifiers::SHIFT);
    let (from_ns, to_ns) = range(&mut session).expect("a range");
    assert!(from_ns < to_ns);
    assert_eq!(view(&mut session), before);
    assert!(session.says("Label: main of server 1"), "{}", session.node_texts().join("\n"));
    assert!(session.says(TIME) && session.says(TRACKS) && !session.says(FILTER));
    until_statistics(&mut session, &["request", "read"]);
    assert!(session.says("of the scope"));
    // Further down, the drag covers another track. The reverse drag has the same effect.
    let (from, to) = (on_track(&session, "Thread 2", 0.7), on_track(&session, "main", 0.3));
    session.drag_with(from, to, Modifiers::SHIFT);
    assert!(session.says("Label: 2 threads of server 1"), "{}", session.node_texts().join("\n"));
    until_statistics(&mut session, &["request", "read", "write"]);
    session.click(TRACKS);
    session.until("all tracks", |session| !session.says(TRACKS) && session.says("of the selected "));
    session.click(TIME);
    session.until("the whole trace", |session| !session.says(TIME) && session.says("of the whole trace"));
}

#[test]
fn escape_during_a_drag_restores_the_scope_of_before_and_leaves_no_view_in_the_history() {
    let mut session = opened();
    let shift = (PointerButton::Primary, Modifiers::SHIFT);
    session.drag_with(on_track(&session, "main", 0.3), on_track(&session, "main", 0.7), Modifiers::SHIFT);
    let before = range(&mut session).expect("a range");
    assert!(session.says("Label: main of server 1"));
    let ruler = session.harness.get_by_label("Ruler: drag to select time").rect();
    let on_ruler = |part: f32| pos2(ruler.left() + ruler.width() * part, ruler.center().y);
    let head_at = |session: &Session, track: &str| session.harness.get_by_label(&head(session, track)).rect().center();
    let drags = [
        (on_track(&session, "Thread 2", 0.1), on_track(&session, "main", 0.9), shift),
        (head_at(&session, "Thread 2"), head_at(&session, "main") + vec2(0.0, 8.0), shift),
        (on_ruler(0.1), on_ruler(0.2), (PointerButton::Primary, Modifiers::NONE)),
        (on_track(&session, "main", 0.1), on_track(&session, "main", 0.9), (PointerButton::Middle, Modifiers::NONE)),
    ];
    for (from, to, with) in drags {
        session.harness.event_modifiers(Event::PointerMoved(from), with.1);
        session.harness.step();
        button(&mut session, from, with, true);
        for at in [from.lerp(to, 0.5), to] {
            session.harness.event_modifiers(Event::PointerMoved(at), with.1);
            session.harness.run_steps(5);
        }
        let is_changed = range(&mut session) != Some(before) || !session.says("Label: main of server 1");
        assert!(is_changed, "the drag from {from} changes the scope");
        session.press(with.1, Key::Escape);
        session.harness.event_modifiers(Event::PointerMoved(to + vec2(5.0, 0.0)), with.1);
        session.harness.step();
        button(&mut session, to, with, false);
        session.harness.run_steps(5);
        assert_eq!(range(&mut session), Some(before));
        assert!(session.says("Label: main of server 1"), "{}", session.node_texts().join("\n"));
    }
    session.press(Modifiers::ALT, Key::ArrowLeft);
    session.harness.run_steps(5);
    assert_eq!(range(&mut session), None, "the view before the scope is the last one");
    session.press(Modifiers::ALT, Key::ArrowRight);
    session.harness.run_steps(5);
    assert_eq!(range(&mut session), Some(before));
    session.press(Modifiers::NONE, Key::Escape);
    assert_eq!(range(&mut session), None, "without a drag, Escape clears the scope");
}

#[test]
fn a_filter_that_is_cut_is_whole_in_its_tip() {
    let mut session = opened();
    let from = on_track(&session, "main", 0.2);
    session.drag_with(from, from + vec2(200.0, 0.0), Modifiers::SHIFT);
    session.until("the scope", |session| session.says(TIME));
    session.click("Filter of the scope");
    let long = format!("name:{}", "x".repeat(200));
    session.type_text(&long);
    session.harness.run_steps(3);
    let field = session.harness.get_by_label("Filter of the scope").rect();
    assert!(field.width() > 400.0 && field.right() < SCREEN.x - 200.0, "{field}");
    let is_tip = |text: &String| text.starts_with("Label") && text.contains(&long);
    assert!(!session.node_texts().iter().any(is_tip));
    session.harness.event(Event::PointerMoved(field.center()));
    session.until("the tip", |session| session.node_texts().iter().any(is_tip));
}

#[test]
fn the_ruler_selects_time_on_all_tracks_and_an_edge_on_the_rows_moves_alone() {
    let mut session = opened();
    click_head(&mut session, "main", CTRL);
    assert!(session.says(TRACKS));
    let ruler = session.harness.get_by_label("Ruler: drag to select time").rect();
    let on_ruler = |part: f32| pos2(ruler.left() + ruler.width() * part, ruler.center().y);
    session.drag(on_ruler(0.2), on_ruler(0.5));
    assert!(session.says(TIME) && !session.says(TRACKS));
    let (from_ns, to_ns) = range(&mut session).expect("a range");
    click_head(&mut session, "main", CTRL);
    let before = view(&mut session);
    let (edge, further) = (on_track(&session, "main", 0.5), on_track(&session, "main", 0.8));
    session.drag(edge, further);
    let longer = range(&mut session).expect("a range");
    assert!(longer.0 == from_ns && longer.1 > to_ns, "{longer:?} after {from_ns}..{to_ns}");
    assert_eq!(view(&mut session), before, "the view stays");
    assert!(session.says("Label: main of server 1"), "and so do the tracks");
}

#[test]
fn ctrl_and_clicks_on_heads_add_tracks_and_take_them_away_and_fold_nothing() {
    let mut session = opened();
    click_head(&mut session, "Thread 2", CTRL);
    assert!(head(&session, "Thread 2").ends_with(", in the scope, unfolded"));
    assert_eq!(head(&session, "main"), "main 1, unfolded");
    assert!(session.says("Label: Thread 2 of server 1"), "{}", session.node_texts().join("\n"));
    until_statistics(&mut session, &["write"]);
    click_head(&mut session, "main", CTRL);
    assert!(session.says("Label: 2 threads of server 1"));
    until_statistics(&mut session, &["request", "read", "write"]);
    click_head(&mut session, "Thread 2", CTRL);
    assert!(session.says("Label: main of server 1"));
    until_statistics(&mut session, &["request", "read"]);
    // Without the last track, the scope is the whole trace.
    click_head(&mut session, "main", CTRL);
    assert!(!session.says(TRACKS) && head(&session, "main") == "main 1, unfolded");
    // A process selects all of its tracks.
    click_head(&mut session, "server 1", CTRL);
    assert!(session.says("Label: server 1") && head(&session, "main").contains("in the scope"));
    click_head(&mut session, "main", (PointerButton::Primary, Modifiers::NONE));
    assert!(head(&session, "main").ends_with("in the scope, folded"), "a plain click folds as ever");
}

#[test]
fn the_menu_of_a_span_selects_what_is_inside_it_and_escape_takes_back_one_layer_at_a_time() {
    let mut session = opened();
    let at = on_track(&session, "main", 0.45);
    click_at(&mut session, at, RIGHT);
    assert!(session.summary().contains("Selected: request"), "{}", session.summary());
    session.click("More for this span");
    session.until("the submenu", |session| session.says("Scope: inside this span"));
    session.click("Scope: inside this span");
    session.harness.run_steps(2);
    assert!(session.says(TIME) && session.says(TRACKS) && session.says("Remove the span from the scope"));
    assert!(session.says("Label: inside request"), "{}", session.node_texts().join("\n"));
    until_statistics(&mut session, &["read"]);
    // The search is limited to the scope.
    session.search("r");
    session.until("the hits in the scope", |session| session.says("2 hits"));
    session.press(Modifiers::COMMAND, Key::T);
    session.harness.get_by_label("Filter names").focus();
    session.harness.step();
    // Escape clears the field, the search, the scope and the span, in this order.
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.run_steps(2);
    assert!(session.harness.query_by_label("Search").is_some(), "the field alone has lost the keyboard");
    session.press(Modifiers::NONE, Key::Escape);
    session.until("no search", |session| session.harness.query_by_label("Search").is_none());
    assert!(session.says("Remove the span from the scope"));
    session.press(Modifiers::NONE, Key::Escape);
    session.until("no scope", |session| !session.says(TIME) && !session.says(TRACKS) && !session.says(FILTER));
    assert!(session.summary().contains("Selected: request"), "{}", session.summary());
    session.press(Modifiers::NONE, Key::Escape);
    session.until("nothing selected", |session| session.summary().contains("Nothing selected."));
}

#[test]
fn every_span_of_a_name_is_a_filter_that_can_be_typed_on_and_one_that_is_wrong_is_not_taken() {
    let mut session = opened();
    let at = on_track(&session, "main", 0.45);
    click_at(&mut session, at, RIGHT);
    session.click("More for this span");
    session.until("the submenu", |session| session.says("Scope: spans of this name"));
    session.click("Scope: spans of this name");
    session.harness.run_steps(2);
    assert!(session.says("name:/^request$/") && session.says(FILTER) && !session.says(TRACKS));
    until_statistics(&mut session, &["request"]);
    session.harness.get_by_label("Filter of the scope").focus();
    session.harness.step();
    session.press(Modifiers::COMMAND, Key::A);
    session.type_text("dur>soon");
    session.until("what is wrong", |session| session.says("nanoseconds"));
    until_statistics(&mut session, &["request"]);
    session.press(Modifiers::COMMAND, Key::A);
    session.type_text("in:request");
    until_statistics(&mut session, &["read"]);
    session.click(FILTER);
    until_statistics(&mut session, &["request", "read", "write"]);
    assert!(!session.says(FILTER), "without any part there is no bar");
}

#[test]
fn the_menu_of_a_head_asks_about_its_tracks() {
    let mut session = opened();
    click_head(&mut session, "Thread 2", RIGHT);
    session.click("Statistics of the track");
    session.harness.run_steps(2);
    until_statistics(&mut session, &["write"]);
    click_head(&mut session, "main", RIGHT);
    session.click("Search in the track");
    session.harness.run_steps(2);
    assert!(session.says("Label: main of server 1"));
    session.type_text("r");
    session.until("the hits of the track", |session| session.says("3 hits"));
    // The search continues in the new tracks of the scope.
    click_head(&mut session, "Thread 2", CTRL);
    session.until("the hits of both", |session| session.says("5 hits"));
    session.click(TRACKS);
    click_head(&mut session, "server 1", RIGHT);
    session.until("the menu", |session| session.says("Export the process..."));
    session.click("Statistics of the process");
    session.harness.run_steps(2);
    until_statistics(&mut session, &["request", "read", "write"]);
    assert!(session.says("Label: server 1"));
    // The context menu of the rows has the same commands.
    let at = on_track(&session, "main", 0.45);
    click_at(&mut session, at, RIGHT);
    session.click("The track");
    session.until("the submenu", |session| session.says("Statistics of the track"));
    session.click("Statistics of the track");
    session.harness.run_steps(2);
    until_statistics(&mut session, &["request", "read"]);
    assert!(session.says("Label: main of server 1"));
}

#[test]
fn a_scope_is_saved_under_a_name_kept_with_the_trace_and_forgotten() {
    let mut session = opened();
    click_head(&mut session, "main", CTRL);
    session.harness.run_steps(2);
    session.click("Save scope");
    session.harness.run_steps(2);
    session.harness.get_by_label("Name of the scope").focus();
    session.harness.step();
    session.press(Modifiers::COMMAND, Key::A);
    session.type_text("the main thread");
    session.click("Save");
    session.harness.run_steps(2);
    session.click(TRACKS);
    session.harness.run_steps(2);
    assert!(!session.says(TRACKS));
    let saved = |session: &mut Session| {
        session.click("Go");
        session.harness.run_steps(2);
        session.click("Saved scopes");
        session.harness.run_steps(2);
    };
    saved(&mut session);
    session.click("the main thread");
    session.harness.run_steps(2);
    assert!(session.says(TRACKS) && session.says("Label: main of server 1"));
    // Back to the state before the scope was set, and forward again.
    session.press(Modifiers::ALT, Key::ArrowLeft);
    session.harness.run_steps(2);
    assert!(!session.says(TRACKS), "the history has the scope");
    session.press(Modifiers::ALT, Key::ArrowRight);
    session.harness.run_steps(2);
    assert!(session.says("Label: main of server 1"));
    session.give("Close the tab");
    let mut again = session.opened_again(SCREEN, "capture.json");
    again.harness.run_steps(2);
    saved(&mut again);
    assert!(again.says("the main thread"), "{}", again.node_texts().join("\n"));
    again.click("Delete the scope the main thread");
    again.harness.run_steps(2);
    assert!(!again.says("the main thread"));
}

#[test]
fn only_the_tracks_of_the_scope_are_shown_and_the_others_are_one_click_away() {
    let mut session = Session::with_two_files(SCREEN);
    session.harness.run_steps(3);
    let name = session.harness.get_by_label("main 1, unfolded").rect().center();
    session.right_click(name);
    session.click("Statistics of the track");
    session.until("the scope", |session| session.says("Show only these"));
    session.click("Show only these");
    session.until("one track", |session| session.says("3 hidden tracks: show"));
    assert!(session.says("main 1, in the scope") && !session.says("Thread 2"), "{}", session.node_texts().join("\n"));
    assert!(!session.says("Process 9"), "a process without a shown track has no header");
    session.click("3 hidden tracks: show");
    session.until("all of them", |session| session.says("Thread 2") && session.says("Process 9"));
}

#[test]
fn the_tracks_of_a_scope_are_shown_also_if_they_were_hidden() {
    let mut session = Session::with_two_files(SCREEN);
    session.harness.run_steps(3);
    for track in ["Thread 2, unfolded", "main 1, unfolded"] {
        let name = session.harness.get_by_label(track).rect().center();
        session.right_click(name);
        session.click("Statistics of the track");
        session.until("the scope", |session| session.says("Show only these"));
    }
    session.click("Show only these");
    session.until("one track", |session| session.says("3 hidden tracks: show") && !session.says("Thread 2"));
    // The first of the two scopes.
    session.press(Modifiers::ALT, Key::ArrowLeft);
    session.harness.run_steps(2);
    session.click("Show only these");
    session.until("the other track", |session| session.says("Thread 2, in the scope"));
    assert!(session.says("3 hidden tracks: show") && !session.says("main 1, in the scope"));
}

#[test]
fn the_field_for_the_name_of_a_scope_has_the_keys_and_the_last_saved_scope_is_in_reach() {
    let mut session = Session::with_capture(vec2(900.0, 500.0), 1.0);
    session.harness.run_steps(3);
    click_head(&mut session, "main", CTRL);
    session.harness.run_steps(2);
    let save_as = |session: &mut Session, name: &str| {
        session.click("Save scope");
        session.harness.run_steps(2);
        // Letters outside the field would be shortcuts: m adds a marker.
        session.type_text(name);
        session.press(Modifiers::NONE, Key::Enter);
        session.harness.run_steps(2);
    };
    for number in 0..50 {
        save_as(&mut session, &format!("my scope {number}"));
    }
    assert!(!session.says("Marker 1") && !session.says("Name of the scope"), "{}", session.node_texts().join("\n"));
    save_as(&mut session, "one more");
    assert!(session.says("At most 50: delete one, or replace one by its name."));
    assert!(session.says("Name of the scope"), "the field stays open");
    let screen = egui::Rect::from_min_size(egui::Pos2::ZERO, vec2(900.0, 500.0));
    let first = session.harness.get_by_label("my scope 0").rect();
    assert!(screen.contains_rect(first), "{first:?}");
    session.harness.event(egui::Event::PointerMoved(first.center()));
    session.harness.step();
    for _ in 0..30 {
        session.harness.event(egui::Event::MouseWheel {
            unit: egui::MouseWheelUnit::Line,
            delta: vec2(0.0, -10.0),
            modifiers: Modifiers::NONE,
            phase: egui::TouchPhase::Move,
            source: egui::MouseWheelSource::Unknown,
        });
        session.harness.step();
    }
    let last = session.harness.get_by_label("my scope 49").rect();
    assert!(screen.contains_rect(last), "{last:?}");
    session.click("Delete the scope my scope 49");
    session.harness.run_steps(2);
    assert!(!session.says("At most 50"), "{}", session.node_texts().join("\n"));
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.run_steps(2);
    session.click("Go");
    session.harness.run_steps(2);
    session.click("Saved scopes");
    session.harness.run_steps(3);
    let first = session.harness.get_by_label("my scope 0").rect();
    assert!(screen.contains_rect(first), "{first:?}");
}

#[test]
fn a_range_on_all_tracks_says_that_it_has_hidden_tracks_too() {
    let mut session = opened();
    session.click("Filter tracks");
    session.harness.get_by_label("Filter tracks").focus();
    session.harness.step();
    session.type_text("main");
    session.harness.run_steps(3);
    let ruler = session.harness.get_by_label("Ruler: drag to select time").rect();
    let at = |part: f32| pos2(ruler.left() + ruler.width() * part, ruler.center().y);
    session.drag(at(0.2), at(0.6));
    session.until("the scope", |session| session.says(TIME) && session.says("with hidden tracks"));
}

#[test]
fn an_invalid_filter_is_said_to_be_invalid_and_not_to_match_no_span() {
    let mut session = opened();
    session.press(Modifiers::COMMAND, Key::T);
    click_head(&mut session, "main", CTRL);
    let filter = |session: &mut Session, text: &str| {
        session.harness.get_by_label("Filter of the scope").focus();
        session.harness.step();
        session.press(Modifiers::COMMAND, Key::A);
        session.type_text(text);
    };
    filter(&mut session, "nosuch");
    session.until("no line", |session| session.says("No span matches the filter of the scope"));
    filter(&mut session, "dur>");
    session.until("the reason", |session| session.says("The filter of the scope is invalid."));
    assert!(!session.says("No span matches") && !session.says("Label: exact"), "{}", session.node_texts().join("\n"));
    filter(&mut session, "read");
    session.until("the lines", |session| session.says("Label: exact"));
}
