//! Names are dragged up and down to order processes and tracks, which is undone and saved as other edits are.

use egui::{Event, Key, Modifiers, PointerButton, Pos2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

/// Two processes of three threads each.
fn session() -> Session {
    let mut events = Vec::new();
    for (pid, process) in [(1, "one"), (2, "two")] {
        events.push(format!(r#"{{"ph":"M","name":"process_name","pid":{pid},"args":{{"name":"{process}"}}}}"#));
        for (tid, thread) in [(10 * pid, "a"), (10 * pid + 1, "b"), (10 * pid + 2, "c")] {
            let ids = format!(r#""pid":{pid},"tid":{tid}"#);
            events.push(format!(r#"{{"ph":"M","name":"thread_name",{ids},"args":{{"name":"{process} {thread}"}}}}"#));
            events.push(format!(r#"{{"ph":"X","name":"span {thread}",{ids},"ts":0,"dur":1000}}"#));
        }
    }
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("capture.json", &format!("[{}]", events.join(",")));
    session.harness.run_steps(3);
    session
}

/// Returns the names with their middles, top to bottom.
fn heads(session: &Session) -> Vec<(String, Pos2)> {
    let nodes = session.harness.root().children_recursive().filter_map(|node| {
        let label = node.accesskit_node().label()?;
        let name = label.strip_suffix(", unfolded").or_else(|| label.strip_suffix(", folded"))?;
        // The id of a thread or process follows its name.
        let name = name.rsplit_once(' ').map_or(name, |(name, _)| name);
        Some((name.to_owned(), node.rect().center()))
    });
    let mut heads: Vec<_> = nodes.collect();
    heads.sort_by(|one, other| one.1.y.total_cmp(&other.1.y));
    heads
}

fn order(session: &Session) -> Vec<String> {
    heads(session).into_iter().map(|(name, _)| name).collect()
}

fn head(session: &Session, name: &str) -> Pos2 {
    let found = heads(session).into_iter().find(|(head, _)| head == name);
    found.unwrap_or_else(|| panic!("{name} is in {:?}", heads(session))).1
}

const BEFORE: [&str; 8] = ["one", "one a", "one b", "one c", "two", "two a", "two b", "two c"];

fn button(session: &mut Session, pos: Pos2, pressed: bool) {
    let (button, modifiers) = (PointerButton::Primary, Modifiers::NONE);
    session.harness.event(Event::PointerButton { pos, button, pressed, modifiers });
    session.harness.step();
}

#[test]
fn a_name_is_dragged_up_and_down_and_that_is_one_step_which_is_saved() {
    let mut session = session();
    assert_eq!(order(&session), BEFORE);
    session.drag(head(&session, "one c"), head(&session, "one a") - vec2(0.0, 5.0));
    let up = ["one", "one c", "one a", "one b", "two", "two a", "two b", "two c"];
    assert_eq!(order(&session), up);
    session.drag(head(&session, "one c"), head(&session, "one a") + vec2(0.0, 5.0));
    let down = ["one", "one a", "one c", "one b", "two", "two a", "two b", "two c"];
    assert_eq!(order(&session), down);
    session.press(Modifiers::COMMAND, Key::Z);
    assert!(session.says("Undone: move of the track."), "{}", session.node_texts().join("\n"));
    assert_eq!(order(&session), up);
    session.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
    assert_eq!(order(&session), down);
    // A process moves with its tracks.
    session.drag(head(&session, "two"), head(&session, "one") - vec2(0.0, 3.0));
    let swapped = ["two", "two a", "two b", "two c", "one", "one a", "one c", "one b"];
    assert_eq!(order(&session), swapped);
    session.wait_for_the_write();
    let mut again = session.opened_again(SCREEN, "capture.json");
    again.harness.run_steps(3);
    assert_eq!(order(&again), swapped);
    again.give("Reload");
    again.harness.run_steps(10);
    again.until("the same order", |session| order(session) == swapped);
    again.give("Reset moved tracks");
    again.harness.run_steps(2);
    assert_eq!(order(&again), BEFORE);
}

#[test]
fn a_track_stays_below_its_header_and_escape_ends_a_drag_without_a_move() {
    let mut session = session();
    session.drag(head(&session, "one a"), head(&session, "two b"));
    assert_eq!(order(&session), BEFORE, "not into another process");
    session.drag(head(&session, "one a"), head(&session, "one b") - vec2(0.0, 5.0));
    assert_eq!(order(&session), BEFORE, "the gap right below it");
    // A span is selected, which Escape must not clear.
    session.select_hit("\"span a\" thread:one", "Selected: span a");
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.run_steps(2);
    let (from, to) = (head(&session, "one c"), head(&session, "one a") - vec2(0.0, 5.0));
    session.harness.event(Event::PointerMoved(from));
    button(&mut session, from, true);
    for at in [from.lerp(to, 0.5), to] {
        session.harness.event(Event::PointerMoved(at));
        session.harness.step();
    }
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.event(Event::PointerMoved(to - vec2(0.0, 2.0)));
    session.harness.step();
    button(&mut session, to, false);
    session.harness.run_steps(3);
    assert_eq!(order(&session), BEFORE);
    assert!(session.summary().contains("Selected: span a"), "{}", session.summary());
    // A click is not a drag.
    session.left_click(head(&session, "one"));
    assert_eq!(order(&session), ["one", "two", "two a", "two b", "two c"]);
}

#[test]
fn a_drag_in_another_order_scrolls_and_commands_and_menus_move_a_track_too() {
    let mut session = session();
    session.select_hit("\"span b\" thread:one", "Selected: span b");
    session.press(Modifiers::NONE, Key::Escape);
    session.press(Modifiers::ALT, Key::ArrowUp);
    session.harness.run_steps(2);
    assert_eq!(order(&session)[..4], ["one", "one b", "one a", "one c"]);
    session.press(Modifiers::ALT, Key::ArrowUp);
    session.harness.run_steps(2);
    assert!(session.says("It is already first."), "{}", session.node_texts().join("\n"));
    session.right_click(head(&session, "one b"));
    session.click("Move down");
    session.harness.run_steps(3);
    assert_eq!(order(&session)[..4], ["one", "one a", "one b", "one c"]);
    session.give("Order by name");
    session.harness.run_steps(2);
    session.drag(head(&session, "one c"), head(&session, "one a") - vec2(0.0, 5.0));
    assert_eq!(order(&session)[..4], ["one", "one a", "one b", "one c"]);
    session.give("Move track up");
    session.harness.run_steps(2);
    assert!(session.says("Tracks can be moved only in trace order"), "{}", session.node_texts().join("\n"));
}

#[test]
fn a_step_of_a_track_that_is_not_shown_says_so_and_a_lone_pinned_one_moves_below() {
    let mut session = session();
    session.select_hit("\"span b\" thread:one", "Selected: span b");
    session.press(Modifiers::NONE, Key::Escape);
    session.left_click(head(&session, "one"));
    session.press(Modifiers::ALT, Key::ArrowUp);
    session.harness.run_steps(2);
    assert!(session.says("The track is not shown"), "{}", session.node_texts().join("\n"));
    session.left_click(head(&session, "one"));
    session.right_click(head(&session, "one b"));
    session.click("Pin the track to the top");
    session.harness.run_steps(3);
    session.press(Modifiers::ALT, Key::ArrowUp);
    session.harness.run_steps(3);
    assert_eq!(order(&session)[..5], ["one b", "one", "one b", "one a", "one c"]);
    // Several pinned ones move among each other alone.
    session.right_click(head(&session, "one c"));
    session.click("Pin the track to the top");
    session.harness.run_steps(3);
    for _ in 0..2 {
        session.press(Modifiers::ALT, Key::ArrowDown);
        session.harness.run_steps(3);
        assert_eq!(order(&session)[..6], ["one c", "one b", "one", "one b", "one a", "one c"]);
    }
    assert!(session.says("It is already last."), "{}", session.node_texts().join("\n"));
}

#[test]
fn repeated_steps_keep_the_track_in_view() {
    let mut session = Session::with_workers(SCREEN);
    session.select_hit("\"job 2\"", "Selected: job 2");
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.run_steps(3);
    for _ in 0..60 {
        session.press(Modifiers::ALT, Key::ArrowDown);
        session.harness.run_steps(2);
    }
    session.harness.run_steps(20);
    let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
    let at = head(&session, "worker 2");
    assert!(canvas.y_range().contains(at.y), "{at} {canvas}");
    assert!(order(&session).iter().all(|name| name != "worker 3"), "it was scrolled");
}

#[test]
fn pinned_names_are_dragged_among_each_other() {
    let mut session = session();
    for name in ["one a", "two b"] {
        session.right_click(head(&session, name));
        session.click("Pin the track to the top");
        session.harness.run_steps(3);
    }
    let pinned = |session: &Session| order(session)[..2].to_vec();
    assert_eq!(pinned(&session), ["one a", "two b"]);
    let heads = heads(&session);
    session.drag(heads[1].1, heads[0].1 - vec2(0.0, 5.0));
    assert_eq!(pinned(&session), ["two b", "one a"]);
    assert_eq!(order(&session)[2..], BEFORE, "the rows below stay");
    session.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(pinned(&session), ["one a", "two b"]);
}

#[test]
fn a_drag_at_the_edge_scrolls_to_rows_that_are_out_of_view() {
    let mut session = Session::with_workers(SCREEN);
    session.harness.run_steps(3);
    let from = head(&session, "worker 2");
    let edge = Pos2::new(from.x, 790.0);
    session.harness.event(Event::PointerMoved(from));
    button(&mut session, from, true);
    for at in [from.lerp(edge, 0.5), edge] {
        session.harness.event(Event::PointerMoved(at));
        session.harness.step();
    }
    session.until("the last row", |session| order(session).iter().any(|name| name == "worker 79"));
    session.harness.run_steps(3);
    button(&mut session, edge, false);
    session.harness.run_steps(3);
    assert_eq!(order(&session).last().map(String::as_str), Some("worker 2"));
}
