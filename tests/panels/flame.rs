//! The flame graph: its views, its search, the context menu of a bar, and the way back.

use std::fmt::Write as _;

use egui::{Event, Key, Modifiers, PointerButton, Pos2, pos2, vec2};
use egui_kittest::kittest::Queryable;

use crate::copied::copied;
use crate::frame::run_by_shell;
use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

/// Height of a bar, in points.
const BAR: f32 = 18.0;

/// A request with two reads, and writes: 1,000 us with 300 us, and 700 us.
fn with_graph() -> Session {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.press(Modifiers::COMMAND, Key::G);
    bars(&mut session, 3);
    session
}

#[track_caller]
fn bars(session: &mut Session, count: usize) {
    let label = format!("Image: Flame graph of {count} bars");
    session.until(&label, |session| session.says(&label));
    session.harness.run_steps(2);
}

/// Returns the point of a bar, by its row from the top and its fraction of the width.
fn place(session: &Session, row: usize, part: f32) -> Pos2 {
    let nodes = session.harness.query_all_by_role(egui::Role::Image);
    let image = nodes.map(|node| node.rect()).next_back().expect("the graph");
    pos2(image.left() + image.width() * part, image.top() + (row as f32 + 0.5) * BAR)
}

fn click(session: &mut Session, at: Pos2, button: PointerButton) {
    session.harness.event(Event::PointerMoved(at));
    session.harness.step();
    for pressed in [true, false] {
        session.harness.event(Event::PointerButton { pos: at, button, pressed, modifiers: Modifiers::NONE });
        session.harness.step();
    }
    session.harness.run_steps(3);
}

#[test]
fn a_graph_is_top_down_or_inverted_and_back_leads_to_the_view_before() {
    let mut session = with_graph();
    assert!(session.says("Label: exact"));
    // Reads with their caller, the self time of the request, and the writes.
    session.click("Inverted");
    bars(&mut session, 4);
    session.click("Back");
    bars(&mut session, 3);
    session.click("Forward");
    bars(&mut session, 4);
    session.click("Top-down");
    bars(&mut session, 3);
    // A click on a bar zooms to it, and a click in the breadcrumbs goes back.
    let request = place(&session, 1, 0.1);
    click(&mut session, request, PointerButton::Primary);
    bars(&mut session, 2);
    session.click("All");
    bars(&mut session, 3);
}

#[test]
fn time_order_shows_the_scope_on_the_first_track_that_has_rows_in_it() {
    let mut session = Session::with_workers(SCREEN);
    session.harness.run_steps(3);
    // A worker runs from as many microseconds on as its number, for 500: the last ones are alone at the end.
    let ruler = session.harness.get_by_label("Ruler: drag to select time").rect();
    let on_ruler = |part: f32| pos2(ruler.left() + ruler.width() * part, ruler.center().y);
    session.drag(on_ruler(0.92), on_ruler(0.935));
    let timeline = |session: &mut Session| {
        let timeline = session.harness.state_mut().timeline_mut().expect("a timeline");
        (timeline.range().expect("a range"), (timeline.view().start_ns(), timeline.view().end_ns()))
    };
    let ((from_ns, to_ns), _) = timeline(&mut session);
    let first = (from_ns / 1000 - 499).to_string();
    assert!(!session.head_labels().iter().any(|label| label.starts_with(&format!("worker {first}"))), "out of view");
    session.press(Modifiers::COMMAND, Key::G);
    session.until("the graph", |session| session.says("Label: exact"));
    let (_, before) = timeline(&mut session);
    session.click("Time order");
    session.harness.run_steps(60);
    let (_, (start_ns, end_ns)) = timeline(&mut session);
    assert!(start_ns.abs_diff(from_ns) <= 1000 && end_ns.abs_diff(to_ns) <= 1000, "{start_ns}..{end_ns}");
    let heads = session.head_labels();
    assert!(heads.iter().any(|label| label.starts_with(&format!("worker {first}"))), "{first}: {heads:?}");
    // One step of the history leads back.
    session.press(Modifiers::ALT, Key::ArrowLeft);
    session.harness.run_steps(60);
    assert_eq!(timeline(&mut session).1, before);
    assert!(!session.head_labels().iter().any(|label| label.starts_with(&format!("worker {first}"))), "scrolled back");
    session.click("Full");
    let has_canvas = |session: &Session| session.harness.query_by_role(egui::Role::Canvas).is_some();
    session.until("the panel alone", |session| !has_canvas(session));
    session.click("Time order");
    session.until("the track above the panel", |session| has_canvas(session));
}

#[test]
fn a_search_says_the_share_of_the_paths_that_have_it() {
    let mut session = with_graph();
    session.click("Find functions");
    session.type_text("read");
    session.until("the share", |session| session.says("Label: 17.6 % in 1 function"));
    session.type_text("|");
    session.until("no hit", |session| session.says("0.0 % in 0 functions"));
    session.press(Modifiers::NONE, Key::Escape);
    session.until("no words", |session| !session.says(" % in "));
    session.click("Find functions");
    session.type_text("/read|request/");
    session.until("each path once", |session| session.says("58.8 % in 2 functions"));
    session.type_text("(");
    session.until("no hit", |session| session.says("0.0 % in 0 functions"));
}

#[test]
fn a_search_in_a_sandwich_finds_callers_too() {
    let mut session = with_graph();
    let read = place(&session, 2, 0.1);
    click(&mut session, read, PointerButton::Secondary);
    session.click("Callers and callees");
    bars(&mut session, 2);
    assert!(session.says("Label: of read: 17.6 %, self 17.6 %"), "{}", session.node_texts().join("\n"));
    session.click("Find functions");
    session.type_text("request");
    session.until("the share", |session| session.says("Label: 17.6 % in 1 function"));
}

#[test]
fn the_menu_of_a_bar_edits_the_paths_and_the_command_line_says_the_same() {
    let mut session = with_graph();
    let read = place(&session, 2, 0.1);
    click(&mut session, read, PointerButton::Secondary);
    session.click("Callers and callees");
    // The request above the reads.
    bars(&mut session, 2);
    assert!(!session.says("Copy as command"), "two trees");
    session.click("Back");
    bars(&mut session, 3);
    let read = place(&session, 2, 0.1);
    click(&mut session, read, PointerButton::Secondary);
    session.click("Merge into callers");
    bars(&mut session, 2);
    session.click("Copy as command");
    let line = copied(&session).expect("a command");
    let printed = run_by_shell(&line);
    let mut lines: Vec<_> = printed.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["request 1000000", "write 700000"], "{line}");
    // The edit has a button that undoes it.
    session.click("merged read ×");
    bars(&mut session, 3);
    let request = place(&session, 1, 0.1);
    click(&mut session, request, PointerButton::Secondary);
    session.click("Hide function");
    bars(&mut session, 1);
    let write = place(&session, 1, 0.1);
    click(&mut session, write, PointerButton::Secondary);
    session.click("Hide function");
    session.until("no path", |session| session.says("All paths are hidden. Back returns to the previous view."));
    session.click("Back");
    bars(&mut session, 1);
    session.click("without request ×");
    bars(&mut session, 3);
}

#[test]
fn widths_are_counts_and_neighbours_of_a_module_are_one() {
    let mut session = with_graph();
    session.click("Options");
    session.harness.run_steps(2);
    assert!(session.says("Widths: time"), "{}", session.node_texts().join("\n"));
    session.click("Widths: count");
    session.click("Find functions");
    session.type_text("read");
    // Two of five functions.
    session.until("the share", |session| session.says("40.0 % in 1 function"));
    let read = place(&session, 2, 0.1);
    click(&mut session, read, PointerButton::Secondary);
    session.click("Collapse category io");
    // The reads and writes are both of this category, and their names are no longer found.
    session.until("one edit", |session| session.says("collapsed io ×") && session.says("0.0 % in 0 functions"));
}

#[test]
fn small_paths_are_others_until_all_spans_are_counted() {
    // A call that takes half of the time, and 280,000 calls with other names.
    let mut text = r#"[{"ph":"X","name":"main","pid":1,"tid":1,"ts":0,"dur":600000}"#.to_owned();
    text += r#",{"ph":"X","name":"long","pid":1,"tid":1,"ts":0,"dur":300000}"#;
    for number in 0..280_000 {
        write!(text, r#",{{"ph":"X","name":"n{number}","pid":1,"tid":1,"ts":{},"dur":1}}"#, 300_000 + number).unwrap();
    }
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("many.json", &(text + "]"));
    session.until_at_last("all spans", |session| session.says("002 spans"));
    session.press(Modifiers::COMMAND, Key::G);
    session.until_at_last("the bound", |session| session.says("Label: bars within 0.0"));
    assert!(!session.says("Label: exact"));
    session.until_at_last("everything is counted", |session| session.says("Label: exact"));
    assert!(!session.says("bars within"));
    // In the inverted view, the others are a part of all.
    session.click("Inverted");
    session.until_at_last("the view", |session| session.says("Label: exact"));
}

#[test]
fn the_menu_of_a_bar_copies_its_name_and_no_word_for_it() {
    let mut session = with_graph();
    let bar = place(&session, 1, 0.25);
    click(&mut session, bar, PointerButton::Secondary);
    session.until("the menu", |session| session.says("Copy name"));
    assert!(!session.says("Copy key"), "{}", session.node_texts().join("\n"));
    session.click("Copy name");
    assert_eq!(copied(&session).as_deref(), Some("request"));
    // Another right click, while the menu is open, shows it at the new position.
    for part in [0.25, 0.15] {
        let at = place(&session, 1, part);
        click(&mut session, at, PointerButton::Secondary);
        session.harness.run_steps(3);
        assert!(session.says("Copy name"), "{part}:\n{}", session.node_texts().join("\n"));
    }
}

/// Returns a trace of 80 functions. Each function is called by the previous one.
fn deep_stack() -> String {
    let span = |depth: u32| {
        let (ts, dur) = (depth, 200 - 2 * depth);
        format!(r#"{{"ph":"X","name":"f{depth}","pid":1,"tid":1,"ts":{ts},"dur":{dur}}}"#)
    };
    format!("[{}]", (0..80).map(span).collect::<Vec<_>>().join(","))
}

#[test]
fn a_scrolled_sandwich_leaves_the_other_views_at_their_top() {
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("deep.json", &deep_stack());
    session.press(Modifiers::COMMAND, Key::G);
    bars(&mut session, 80);
    let top = |session: &Session| {
        let images = session.harness.query_all_by_role(egui::Role::Image);
        images.map(|image| image.rect().top()).next_back().expect("the graph")
    };
    let at_top = top(&session);
    // A function in the middle of the stack, whose sandwich scrolls to it.
    session.harness.event(Event::PointerMoved(place(&session, 1, 0.5)));
    session.harness.step();
    session.click("Sandwich");
    session.harness.run_steps(6);
    let sandwiched = place(&session, 1, 0.5);
    session.harness.event(Event::PointerMoved(pos2(sandwiched.x, at_top + 40.0)));
    session.harness.step();
    for _ in 0..6 {
        let (unit, phase) = (egui::MouseWheelUnit::Point, egui::TouchPhase::Move);
        let (delta, source, modifiers) = (vec2(0.0, -120.0), egui::MouseWheelSource::Unknown, Modifiers::NONE);
        session.harness.event(Event::MouseWheel { unit, delta, phase, source, modifiers });
        session.harness.run_steps(2);
    }
    assert!(top(&session) < at_top - 50.0, "{} {at_top}", top(&session));
    session.click("Inverted");
    session.harness.run_steps(6);
    assert!((top(&session) - at_top).abs() < 1.0, "{} {at_top}", top(&session));
}

#[test]
fn the_graph_is_copied_as_the_folded_stacks_of_the_command_line() {
    let mut session = with_graph();
    session.click("Copy");
    let folded = copied(&session).expect("folded stacks");
    let mut lines: Vec<_> = folded.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["request 700000", "request;read 300000", "write 700000"]);
    session.click("Copy as command");
    assert_eq!(run_by_shell(&copied(&session).expect("a command")), folded);
    session.click("Sandwich");
    session.harness.run_steps(4);
    session.until("two trees", |session| session.harness.query_by_label("Copy").is_none());
}

#[test]
fn the_flame_graph_says_why_it_may_be_wider_than_the_statistics() {
    let mut session = Session::with_capture(vec2(1280.0, 800.0), 1.0);
    session.press(Modifiers::COMMAND, Key::G);
    session.until("the graph", |session| session.says("Label: exact"));
    let exact = session.harness.get_by_label("exact").rect().center();
    session.harness.event(egui::Event::PointerMoved(exact));
    session.until("the reason", |session| session.says("Overlapping children of a span are counted in full"));
}

/// Changes these options of the graph.
fn choose_options(session: &mut Session, options: &[&str]) {
    for option in options {
        session.click("Options");
        session.harness.run_steps(2);
        session.click(option);
        session.harness.run_steps(4);
    }
}

#[test]
fn the_edits_of_a_graph_are_in_reach_of_a_small_window() {
    let mut session = Session::with_capture(vec2(640.0, 400.0), 1.0);
    session.press(Modifiers::COMMAND, Key::G);
    bars(&mut session, 3);
    choose_options(&mut session, &["Collapse recursion", "Merge kernel into callers", "Hide idle"]);
    let edits = ["recursion collapsed ×", "kernel merged ×", "without idle ×"];
    for label in ["Back", "Find functions", "Options"].into_iter().chain(edits) {
        let rect = session.harness.get_by_label(label).rect();
        assert!(rect.left() >= 0.0 && rect.right() <= 640.0, "{label}: {rect:?}");
    }
    session.click("without idle ×");
    session.harness.run_steps(4);
    assert!(!session.says("without idle"));
}

#[test]
fn edits_beyond_the_fourth_are_in_a_menu() {
    let mut session = with_graph();
    choose_options(&mut session, &["Collapse recursion", "Merge kernel into callers", "Hide idle"]);
    bars(&mut session, 3);
    let read = place(&session, 2, 0.01);
    click(&mut session, read, PointerButton::Secondary);
    session.click("Merge into callers");
    bars(&mut session, 2);
    let request = place(&session, 1, 0.1);
    click(&mut session, request, PointerButton::Secondary);
    session.click("Hide function");
    bars(&mut session, 1);
    assert!(session.says("merged read") && !session.says("without request"));
    session.click("More edits");
    session.harness.run_steps(2);
    session.click("without request ×");
    bars(&mut session, 2);
    assert!(!session.says("More edits"));
}

#[test]
fn a_sandwich_moves_no_button_under_the_pointer() {
    let mut session = with_graph();
    let places = |session: &Session| {
        ["Time order", "Options", "Find functions"].map(|label| session.harness.get_by_label(label).rect())
    };
    let before = places(&session);
    session.click("Sandwich");
    session.until("the sums of the function", |session| session.says("Label: of "));
    assert_eq!(places(&session), before);
}

#[test]
fn the_function_of_a_sandwich_stays_in_view_when_the_panel_is_restored() {
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("deep.json", &deep_stack());
    session.press(Modifiers::COMMAND, Key::G);
    bars(&mut session, 80);
    session.click("Full");
    session.harness.run_steps(3);
    session.click("Sandwich");
    session.until("the function", |session| session.says("Label: of f79"));
    session.harness.run_steps(6);
    // The innermost function, which has the largest self time, is below all of its callers.
    let function = |session: &Session| {
        let images = session.harness.query_all_by_role(egui::Role::Image);
        images.map(|image| image.rect().bottom()).next_back().expect("the graph") - BAR / 2.0
    };
    let tools = |session: &Session| session.harness.get_by_label("Find functions").rect().bottom();
    assert!((tools(&session)..780.0).contains(&function(&session)), "{}", function(&session));
    session.click("Full");
    session.harness.run_steps(6);
    assert!((tools(&session)..780.0).contains(&function(&session)), "{} {}", function(&session), tools(&session));
}
