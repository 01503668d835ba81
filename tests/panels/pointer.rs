//! The pointer on the timeline: headers, double clicks, drags of time and of the scroll bar, the wheel, menus.

use std::fmt::Write as _;

use egui::{Event, Modifiers, MouseWheelSource, MouseWheelUnit, PointerButton, Pos2, Rect, TouchPhase};
use egui::{Key, Vec2, pos2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::session::Session;

const SCREEN: Vec2 = vec2(1280.0, 800.0);
const RULER: &str = "Ruler: drag to select time";
const TIME: &str = "Remove the time from the scope";

fn opened() -> Session {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.harness.run_steps(3);
    session
}

/// Opens a trace of processes with the same number of threads, each with one span: 900 µs on the first one.
fn with_processes(processes: u32, threads: u32) -> Session {
    let mut session = Session::empty(SCREEN, 1.0);
    let mut spans = String::new();
    for (pid, tid) in (1..=processes).flat_map(|pid| (0..threads).map(move |tid| (pid, tid))) {
        let dur = if tid == 0 { 900 } else { 90 };
        let comma = if spans.is_empty() { "" } else { "," };
        write!(spans, r#"{comma}{{"ph":"X","name":"p{pid}t{tid}e","pid":{pid},"tid":{tid},"ts":{tid},"dur":{dur}}}"#)
            .expect("a string grows");
    }
    session.open_text("threads.json", &format!("[{spans}]"));
    session.until("the rows", |session| head(session, "Process 1, ").is_some());
    session.harness.run_steps(3);
    session
}

fn canvas(session: &Session) -> Rect {
    session.harness.get_by_role(egui::Role::Canvas).rect()
}

/// Returns the place of the header whose label starts with this text.
fn head(session: &Session, name: &str) -> Option<Rect> {
    let nodes = session.harness.root().children_recursive();
    let mut heads = nodes.filter(|node| {
        let label = node.accesskit_node().label().unwrap_or_default();
        label.starts_with(name) && label.ends_with("folded")
    });
    heads.next().map(|node| node.rect())
}

fn on_track(session: &Session, track: &str, part: f32) -> Pos2 {
    let canvas = canvas(session);
    let place = head(session, track).unwrap_or_else(|| panic!("no {track}"));
    // The first lane of the second thread is of instants.
    let y = if track == "Thread 2" { place.bottom() - 8.0 } else { place.top() + 12.0 };
    pos2(canvas.left() + canvas.width() * part, y)
}

fn on_ruler(session: &Session, part: f32) -> Pos2 {
    let ruler = session.harness.get_by_label(RULER).rect();
    pos2(ruler.left() + ruler.width() * part, ruler.center().y)
}

fn wheel(session: &mut Session, at: Pos2, down: f32, modifiers: Modifiers) {
    session.harness.event(Event::PointerMoved(at));
    session.harness.step();
    let (unit, phase, source) = (MouseWheelUnit::Point, TouchPhase::Move, MouseWheelSource::Unknown);
    let event = Event::MouseWheel { unit, delta: vec2(0.0, -down), phase, source, modifiers };
    session.harness.event_modifiers(event, modifiers);
    session.harness.run_steps(10);
}

fn view(session: &mut Session) -> longspan::facade::scene::viewport::Viewport {
    *session.harness.state_mut().timeline_mut().expect("a timeline").view()
}

fn range(session: &mut Session) -> Option<(i64, i64)> {
    session.harness.state_mut().timeline_mut().expect("a timeline").range()
}

/// Returns the position of the scroll bar, from 0 to 1.
fn scrolled(session: &Session) -> f64 {
    session.harness.get_by_label("Scroll tracks").accesskit_node().numeric_value().expect("a position")
}

/// Returns the first names in view with their positions.
fn first_names(session: &Session) -> Vec<(String, f32)> {
    let nodes = session.harness.root().children_recursive();
    let mut names: Vec<_> = nodes
        .filter_map(|node| Some((node.accesskit_node().label()?, node.rect().bottom())))
        .filter(|(label, _)| label.ends_with("folded"))
        .collect();
    names.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    names.truncate(6);
    names
}

fn page_down(session: &mut Session, pages: usize) {
    for _ in 0..pages {
        session.press(Modifiers::NONE, Key::PageDown);
    }
    session.harness.run_steps(3);
}

#[test]
fn a_click_on_the_sticky_header_folds_its_process_and_the_next_click_unfolds_it() {
    let mut session = with_processes(3, 60);
    page_down(&mut session, 1);
    assert!(head(&session, "Thread 0,").is_none_or(|thread| thread.top() > canvas(&session).center().y));
    let at = head(&session, "Process 1, unfolded").expect("a sticky header").center();
    session.left_click(at);
    let folded = head(&session, "Process 1, folded").expect("the header");
    assert!(folded.contains(at), "{folded} is under {at}");
    session.left_click(at);
    let unfolded = head(&session, "Process 1, unfolded").expect("the header");
    assert!(unfolded.contains(at), "{unfolded} is under {at}");
}

#[test]
fn a_click_beside_a_sticky_header_selects_no_span_that_it_covers() {
    let mut session = with_processes(3, 60);
    page_down(&mut session, 1);
    let header = head(&session, "Process 1, unfolded").expect("a sticky header");
    let x = canvas(&session).left() + canvas(&session).width() * 0.08;
    // All threads of the process have a span at that time.
    session.left_click(pos2(x, header.center().y));
    assert!(!session.summary().contains("Selected"), "{}", session.summary());
    session.left_click(pos2(x, header.bottom() + 60.0));
    assert!(session.summary().contains("Selected: p1t"), "{}", session.summary());
}

#[test]
fn folding_and_unfolding_all_keeps_the_process_at_the_top() {
    // Many tracks are laid out in the background, few at once.
    for (processes, threads) in [(100, 10), (100, 25)] {
        let mut session = with_processes(processes, threads);
        page_down(&mut session, 10);
        let names: Vec<_> = (1..=processes).map(|pid| format!("Process {pid}, ")).collect();
        let first = |session: &Session| {
            let heads = names.iter().filter_map(|name| Some((name, head(session, name)?)));
            heads.min_by(|(_, a), (_, b)| a.top().total_cmp(&b.top())).map(|(name, place)| (name.clone(), place.top()))
        };
        let before = first(&session).expect("a header");
        assert_ne!(before.0, names[0]);
        for (key, state) in [(Key::OpenBracket, "folded"), (Key::CloseBracket, "unfolded")] {
            session.press(Modifiers::COMMAND, key);
            session.until(state, |session| session.says(&format!("{}{state}", before.0)));
            session.harness.run_steps(3);
            assert_eq!(first(&session), Some(before.clone()), "{state}, {threads} threads each");
        }
    }
}

#[test]
fn a_double_click_on_a_span_shows_the_span_although_time_is_selected() {
    let mut session = opened();
    let (from, to) = (on_ruler(&session, 0.7), on_ruler(&session, 0.9));
    session.drag(from, to);
    assert!(session.says(TIME));
    let at = on_track(&session, "Thread 2", 0.2);
    session.harness.event(Event::PointerMoved(at));
    session.harness.step();
    let press =
        |pressed| Event::PointerButton { pos: at, button: PointerButton::Primary, pressed, modifiers: Modifiers::NONE };
    session.harness.input_mut().events.extend([press(true), press(false), press(true), press(false)]);
    session.harness.run_steps(8);
    assert!(session.summary().contains("Selected: write, 400 µs"), "{}", session.summary());
    let shown = view(&mut session);
    assert!(shown.start_ns() <= 0 && (400_000..500_000).contains(&shown.end_ns()), "{shown:?}");
    // The button in the details does the same.
    session.press(Modifiers::NONE, Key::Home);
    session.harness.run_steps(8);
    session.click("Zoom to selection");
    session.harness.run_steps(8);
    assert_eq!(view(&mut session), shown);
}

#[test]
fn drags_beyond_the_ends_of_the_trace_select_up_to_its_ends() {
    /// With an instant at the end.
    const WHOLE_NS: i64 = 1_000_001;
    let mut session = opened();
    let (middle, beyond) = (on_track(&session, "main", 0.5), on_track(&session, "main", 0.99));
    session.drag_with(middle, beyond, Modifiers::SHIFT);
    let (from_ns, to_ns) = range(&mut session).expect("a range");
    assert!((1..1_000_000).contains(&from_ns) && to_ns == WHOLE_NS, "{from_ns} to {to_ns}");
    let before = on_track(&session, "main", 0.01);
    session.drag_with(beyond, before, Modifiers::SHIFT);
    assert_eq!(range(&mut session), Some((0, WHOLE_NS)));
    let (from, to) = (on_ruler(&session, 0.005), on_ruler(&session, 0.6));
    session.drag(from, to);
    assert_eq!(range(&mut session).expect("a range").0, 0);
    let (edge, beyond) = (on_ruler(&session, 0.6), on_ruler(&session, 0.995));
    session.drag(edge, beyond);
    assert_eq!(range(&mut session), Some((0, WHOLE_NS)), "an edge too");
    // Nothing of the trace is within this drag.
    let (from, to) = (on_ruler(&session, 0.97), on_ruler(&session, 0.99));
    session.drag(from, to);
    assert_eq!(range(&mut session), None);
}

#[test]
fn the_handle_of_the_scroll_bar_stays_where_it_is_gripped() {
    /// The least height of the handle.
    const HANDLE: f32 = 28.0;
    let mut session = with_processes(100, 25);
    page_down(&mut session, 20);
    let track = session.harness.get_by_label("Scroll tracks").rect();
    let free = f64::from(track.height() - HANDLE);
    let before = scrolled(&session);
    let at = |part: f64, inside: f32| pos2(track.center().x, track.top() + (part * free) as f32 + inside);
    for inside in [4.0, HANDLE - 4.0] {
        session.left_click(at(before, inside));
        assert_eq!(scrolled(&session), before, "a click at {inside} points");
    }
    let from = at(before, 4.0);
    session.drag(from, from + vec2(0.0, 60.0));
    let moved = (scrolled(&session) - before) * free;
    assert!((moved - 60.0).abs() < 1.0, "moved by {moved} points");
    // A press beside the handle centres it there.
    session.left_click(pos2(track.center().x, track.top() + 300.0));
    let middle = scrolled(&session) * free + f64::from(HANDLE / 2.0);
    assert!((middle - 300.0).abs() < 1.0, "{middle}");
}

#[test]
fn the_wheel_works_over_the_scroll_bar_the_ruler_and_the_minimap() {
    let mut session = with_processes(10, 25);
    let bar = session.harness.get_by_label("Scroll tracks").rect().center();
    assert_eq!(scrolled(&session), 0.0);
    wheel(&mut session, bar, 200.0, Modifiers::NONE);
    let by_bar = scrolled(&session);
    assert!(by_bar > 0.0);
    let ruler = session.harness.get_by_label(RULER).rect();
    let map = session.harness.get_by_label("Map of the whole trace").rect();
    for place in [ruler, map] {
        let at = pos2(place.left() + place.width() * 0.25, place.center().y);
        session.press(Modifiers::NONE, Key::Home);
        session.harness.run_steps(8);
        let before = view(&mut session);
        wheel(&mut session, at, -250.0, Modifiers::COMMAND);
        let after = view(&mut session);
        assert!(after.ns_per_px() < before.ns_per_px() * 0.5, "{place}: {after:?}");
        // The trace covers 900 µs, and the time under the pointer stays.
        let right = f64::from(at.x - place.left());
        let at_ns = if place == map { 225_000 } else { before.time_from_x(right) };
        let moved_px = after.x_from_time(at_ns) - before.x_from_time(at_ns);
        assert!(moved_px.abs() < 1.5, "{place}: {moved_px}");
    }
    assert_eq!(scrolled(&session), by_bar, "the rows stay");
}

#[test]
fn a_further_right_click_opens_the_menu_at_the_new_position() {
    let mut session = opened();
    let entry = |session: &Session, text: &str| {
        let nodes = session.harness.query_all_by_role(egui::Role::Button);
        let mut nodes = nodes.filter(|node| node.accesskit_node().label().is_some_and(|label| label.starts_with(text)));
        nodes.next().map(|node| node.rect())
    };
    let (request, write) = (on_track(&session, "main", 0.85), on_track(&session, "Thread 2", 0.1));
    session.right_click(request);
    assert!(entry(&session, "Zoom to the span").is_some());
    // An open submenu is closed.
    session.click("More for this span");
    session.until("the submenu", |session| session.says("Scope: inside this span"));
    session.right_click(write);
    assert!(session.summary().contains("Selected: write, 400 µs"), "{}", session.summary());
    let place = entry(&session, "Zoom to the span").expect("a menu");
    assert!((place.left() - write.x).abs() < 30.0 && (place.top() - write.y).abs() < 60.0, "{place} at {write}");
    assert!(!session.says("Scope: inside this span"));
    let first = on_track(&session, "main", 0.7);
    session.right_click(first);
    assert!(entry(&session, "Zoom to the span").is_some(), "a third time");
    // The menus of names.
    let name = head(&session, "main").expect("a name").left_top();
    for at in [name + vec2(80.0, 8.0), name + vec2(20.0, 8.0)] {
        session.right_click(at);
        let place = entry(&session, "Statistics of the track").expect("the menu of a name");
        assert!((place.left() - at.x).abs() < 30.0, "{place} at {at}");
    }
    let other = head(&session, "server 1").expect("a name").left_top() + vec2(20.0, 8.0);
    session.right_click(other);
    assert!(
        entry(&session, "Statistics of the process").is_some() && entry(&session, "Statistics of the track").is_none()
    );
    session.left_click(canvas(&session).center());
    assert!(entry(&session, "Statistics of the process").is_none(), "a click beside it closes it");
}

#[test]
fn shift_and_a_drag_across_names_select_their_tracks_and_no_time() {
    let mut session = opened();
    let on_name = |session: &Session, name: &str| head(session, name).expect("a name").left_top() + vec2(40.0, 10.0);
    let (from, to) = (on_name(&session, "main"), on_name(&session, "Thread 2"));
    session.drag_with(from, to, Modifiers::SHIFT);
    assert!(session.says("Label: 2 threads of server 1"), "{}", session.node_texts().join("\n"));
    assert!(!session.says(TIME) && head(&session, "main 1, in the scope, unfolded").is_some());
    // The selected time stays.
    let (start, end) = (on_ruler(&session, 0.2), on_ruler(&session, 0.5));
    session.drag(start, end);
    let time = range(&mut session);
    session.drag_with(to, to + vec2(60.0, 0.0), Modifiers::SHIFT);
    assert!(session.says("Label: Thread 2 of server 1"), "{}", session.node_texts().join("\n"));
    assert_eq!(range(&mut session), time);
}

#[test]
fn back_and_forward_restore_the_rows_in_view() {
    let mut session = with_processes(20, 25);
    page_down(&mut session, 2);
    let before = first_names(&session);
    // The whole trace is in view, so the jump only scrolls.
    session.search("p15t20e");
    session.until("the hit", |session| session.says("1 hit"));
    session.press(Modifiers::NONE, Key::F3);
    session.until("the span", |session| session.summary().contains("Selected: p15t20e"));
    session.press(Modifiers::NONE, Key::Escape);
    session.until("no search", |session| session.harness.query_by_label("Search").is_none());
    session.harness.run_steps(3);
    let at_hit = first_names(&session);
    assert_ne!(at_hit, before);
    session.press(Modifiers::ALT, Key::ArrowLeft);
    session.harness.run_steps(8);
    assert_eq!(first_names(&session), before);
    session.press(Modifiers::ALT, Key::ArrowRight);
    session.harness.run_steps(8);
    assert_eq!(first_names(&session), at_hit);
    // A jump in time and rows is one step.
    page_down(&mut session, 5);
    let (elsewhere, whole) = (first_names(&session), view(&mut session));
    session.click("Zoom to selection");
    session.harness.run_steps(8);
    assert!(view(&mut session).ns_per_px() < whole.ns_per_px());
    assert_ne!(first_names(&session), elsewhere);
    session.press(Modifiers::ALT, Key::ArrowLeft);
    session.harness.run_steps(8);
    assert_eq!(view(&mut session), whole);
    assert_eq!(first_names(&session), elsewhere);
}

#[test]
fn a_click_at_the_pin_of_a_track_unpins_it_and_hides_nothing() {
    let mut session = opened();
    let name = head(&session, "main 1").expect("a name").center();
    session.right_click(name);
    session.click("Pin the track to the top");
    session.harness.event(Event::PointerMoved(canvas(&session).center()));
    session.until("the pin", |session| session.says("Button: Unpin"));
    session.harness.run_steps(3);
    let pin = session.harness.query_all_by_label("Unpin").next().expect("a pin").rect().center();
    session.left_click(pin);
    session.harness.event(Event::PointerMoved(canvas(&session).center()));
    session.until("no pin", |session| !session.says("Button: Unpin"));
    session.harness.run_steps(2);
    assert!(session.says("main 1, unfolded") && !session.says("hidden track"), "{}", session.node_texts().join("\n"));
}

#[test]
fn the_tooltip_of_a_span_below_a_pixel_says_how_many_share_the_pixel() {
    let mut session = Session::empty(SCREEN, 1.0);
    let span = |k: u32| format!(r#"{{"ph":"X","name":"tick","pid":1,"tid":1,"ts":{},"dur":2}}"#, k * 4);
    let spans: Vec<_> = (0..20_000).map(span).collect();
    session.open_text("ticks.json", &format!("[{}]", spans.join(",")));
    session.harness.run_steps(5);
    let at = on_track(&session, "Thread 1", 0.4);
    session.harness.event(Event::PointerMoved(at));
    session.until("the tooltip", |session| session.says("spans in this pixel: zoom in to see each"));
    session.press(Modifiers::NONE, Key::CloseBracket);
    session.press(Modifiers::NONE, Key::F);
    session.harness.run_steps(20);
    session.harness.event(Event::PointerMoved(at + vec2(3.0, 0.0)));
    session.until("another", |session| session.says("Label: 2 \u{b5}s"));
    assert!(!session.says("in this pixel"));
}

/// Returns a point of the second thread, whose spans are from 0 to 400 us and from 600 to 900 us.
fn beside_us(session: &Session, ts_us: f32, points: f32) -> Pos2 {
    // A twentieth of the view is free on either side of the trace of 1 ms.
    on_track(session, "Thread 2", 0.05 + 0.9 * ts_us / 1000.0) + vec2(points, 0.0)
}

#[test]
fn a_marker_near_an_edge_of_a_span_is_exactly_at_it_and_elsewhere_on_the_selected_span_at_the_pointer() {
    let mut session = opened();
    let near_the_end = beside_us(&session, 400.0, 3.0);
    session.harness.event(Event::PointerMoved(near_the_end));
    session.harness.run_steps(2);
    session.press(Modifiers::NONE, Key::M);
    let inside = beside_us(&session, 720.0, 0.0);
    session.left_click(inside);
    session.press(Modifiers::NONE, Key::M);
    session.press(Modifiers::COMMAND, Key::M);
    session.until("the markers", |session| session.says("Between the last two: "));
    let between = session.node_texts().into_iter().find_map(|text| {
        let us = text.strip_prefix("Label: Between the last two: ")?.strip_suffix(" µs")?;
        us.parse::<f64>().ok()
    });
    assert!(between.is_some_and(|us| (us - 320.0).abs() < 2.0), "{between:?}");
}

/// Escape cancels a drag, but clears the selection of one that has ended. A slow frame has both events.
#[test]
fn escape_after_the_release_clears_the_time_that_a_drag_has_resized() {
    let mut session = opened();
    let (from, edge, to) = (on_ruler(&session, 0.2), on_ruler(&session, 0.4), on_ruler(&session, 0.6));
    session.drag(from, edge);
    let before = range(&mut session);
    let press = |pos, pressed| Event::PointerButton {
        pos,
        button: PointerButton::Primary,
        pressed,
        modifiers: Modifiers::NONE,
    };
    let escape =
        Event::Key { key: Key::Escape, physical_key: None, pressed: true, repeat: false, modifiers: Modifiers::NONE };
    for (is_released_first, cancelled) in [(false, before), (true, None)] {
        for event in [Event::PointerMoved(edge), press(edge, true), Event::PointerMoved(to)] {
            session.harness.event(event);
            session.harness.step();
        }
        assert!(range(&mut session) > before, "the drag has resized the time");
        let mut events = [escape.clone(), press(to, false)];
        if is_released_first {
            events.reverse();
        }
        session.harness.input_mut().events.extend(events);
        session.harness.run_steps(3);
        assert_eq!(range(&mut session), cancelled);
    }
}

#[test]
fn selected_times_near_an_edge_of_a_span_are_exactly_at_it_unless_alt_is_held() {
    let mut session = opened();
    let (from, to) = (beside_us(&session, 400.0, 3.0), beside_us(&session, 600.0, -3.0));
    session.drag_with(from, to, Modifiers::SHIFT);
    assert_eq!(range(&mut session), Some((400_000, 600_000)));
    session.drag_with(from, to, Modifiers::SHIFT | Modifiers::ALT);
    let (from_ns, to_ns) = range(&mut session).expect("a range");
    assert!((400_001..410_000).contains(&from_ns) && (590_000..600_000).contains(&to_ns), "{from_ns} to {to_ns}");
    // On the ruler, no row is under the pointer, but a span is selected.
    session.press(Modifiers::NONE, Key::Escape);
    let inside = beside_us(&session, 720.0, 0.0);
    session.left_click(inside);
    let (from, to) = (on_ruler(&session, 0.3), beside_us(&session, 900.0, 3.0));
    let to = pos2(to.x, from.y);
    session.drag(from, to);
    assert_eq!(range(&mut session).map(|(_, to_ns)| to_ns), Some(900_000));
}

#[test]
fn a_typed_time_is_shown_in_the_middle_and_a_time_outside_the_trace_is_an_error() {
    let mut session = opened();
    let middle_ns = |session: &mut Session| {
        let view = view(session);
        view.start_ns().midpoint(view.end_ns())
    };
    for (text, expected_ns) in [("0.7 ms", 700_000), ("+300us", 300_000), ("500000", 500_000)] {
        session.give("Go to time...");
        session.harness.run_steps(2);
        session.type_text(text);
        session.press(Modifiers::NONE, Key::Enter);
        session.harness.run_steps(10);
        assert!(middle_ns(&mut session).abs_diff(expected_ns) < 2000, "{text}: {}", middle_ns(&mut session));
        assert!(!session.says("Time to go to"), "the field is closed");
    }
    let before = view(&mut session);
    session.give("Go to time...");
    session.harness.run_steps(2);
    session.type_text("5 s");
    session.press(Modifiers::NONE, Key::Enter);
    session.until("the range", |session| session.says("The trace is from 0.000000000 s to 0.001000000 s"));
    session.type_text("x");
    session.press(Modifiers::NONE, Key::Enter);
    session.until("the units", |session| session.says("expected a number of nanoseconds"));
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.run_steps(3);
    assert!(!session.says("Time to go to"));
    assert_eq!(view(&mut session), before);
}

#[test]
fn the_time_under_the_pointer_does_not_cover_the_length_of_the_selection() {
    let mut session = opened();
    let (from, to) = (on_ruler(&session, 0.45), on_ruler(&session, 0.55));
    session.drag(from, to);
    let label = session.harness.get_by_label_contains("Statistics of the selected").rect();
    let at = pos2(label.center().x, canvas(&session).center().y);
    session.left_click(at);
    session.press(Modifiers::NONE, Key::M);
    session.harness.run_steps(2);
    let flag = session.harness.get_by_label("Marker 1").rect();
    let moved = session.harness.get_by_label_contains("Statistics of the selected").rect();
    assert!(!flag.intersects(moved), "{flag} and {moved}");
}
