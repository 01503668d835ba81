//! The heat map of the scope or of a name: its cells by pointer and keyboard, and the scope that they select.

use egui::{Key, Modifiers, Rect, pos2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::copied::copied;
use crate::frame::run_by_shell;
use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1400.0, 900.0);

/// A thousand short spans in the first half of a millisecond, and a long span near its end. Two spans are empty, and
/// one has no end.
fn trace() -> String {
    let short = (0..1000).map(|number| {
        let (ts, dur) = (f64::from(number) * 0.5, 0.1 + f64::from(number % 3) * 0.1);
        format!(r#"{{"ph":"X","name":"short","cat":"io","pid":1,"tid":1,"ts":{ts},"dur":{dur}}}"#)
    });
    let others = [
        r#"{"ph":"X","name":"long","pid":1,"tid":2,"ts":900,"dur":90}"#,
        r#"{"ph":"X","name":"none","pid":1,"tid":2,"ts":1,"dur":0}"#,
        r#"{"ph":"X","name":"none","pid":1,"tid":2,"ts":2,"dur":0}"#,
        r#"{"ph":"B","name":"open","pid":1,"tid":3,"ts":700}"#,
        r#"{"ph":"i","name":"end","pid":1,"tid":2,"ts":1000,"s":"t"}"#,
    ];
    format!("[{}]", short.chain(others.map(str::to_owned)).collect::<Vec<_>>().join(","))
}

fn opened() -> Session {
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("trace.json", &trace());
    session.give("Heat map");
    session.until("the map", |session| session.says("Heat map of 1\u{2009}004 spans") && session.says("Label: exact"));
    session
}

/// Returns the area of the cells, by their accessibility label.
fn map(session: &Session) -> Rect {
    session.harness.get_by_label_contains("Heat map of ").rect()
}

fn filter(session: &Session) -> String {
    let field = session.harness.query_by_label("Filter of the scope");
    field.and_then(|field| field.accesskit_node().value()).unwrap_or_default()
}

/// Returns the cell counts that the copied command line prints.
fn printed(session: &mut Session) -> (String, u64) {
    session.click("Copy as command");
    let line = copied(session).expect("a command");
    let printed = run_by_shell(&line);
    let count = |row: &str| row.rsplit(',').next().and_then(|count| count.parse::<u64>().ok()).expect("a count");
    let sum = printed.lines().skip(1).map(count).sum();
    (printed, sum)
}

#[test]
fn a_drag_over_cells_selects_their_spans_and_no_others() {
    let mut session = opened();
    assert!(session.says("1\u{2009}004 spans, 1 without an end"), "{}", session.node_texts().join("\n"));
    session.click("Copy");
    let table = copied(&session).expect("cells");
    assert!(table.starts_with("from\tto\tleast\tmost\tcount\n"), "{table}");
    let (printed, count) = printed(&mut session);
    assert_eq!(printed.replace(',', "\t"), table, "the command prints what is shown");
    assert_eq!(count, 1004);
    // The long span is in the upper right part. The unfinished one lasts as long as its track has events.
    let place = map(&session);
    let at = |x: f32, y: f32| pos2(place.left() + place.width() * x, place.top() + place.height() * y);
    session.drag(at(0.8, 0.5), at(0.95, 0.0));
    session.until("a scope", |session| !filter(session).is_empty());
    let made = filter(&session);
    assert!(made.contains("dur>=") && made.contains("dur<=") && made.contains("start>="), "{made}");
    assert!(session.says("Heat map of 1\u{2009}004 spans"), "the map stays as it is");
    let field = session.harness.get_by_label("Filter of the scope").rect();
    assert!(field.width() > 300.0, "the field grows to its text while there is room: {field}");
    session.give("Spans");
    session.until("one span", |session| session.says("ListItem: ") && session.says("long"));
    let rows: Vec<_> = session.harness.query_all_by_role(egui::Role::ListItem).collect();
    assert_eq!(rows.len(), 1);
    // Without the scope, the map covers everything again.
    session.give("Heat map");
    session.give("Clear selection");
    session.until("no scope", |session| filter(session).is_empty());
    assert!(session.says("Heat map of 1\u{2009}004 spans"));
    // A band over all times selects durations only.
    let place = map(&session);
    let at = |x: f32, y: f32| pos2(place.left() + place.width() * x, place.top() + place.height() * y);
    session.drag(at(0.0, 0.99), at(1.0, 0.99));
    session.until("a scope", |session| filter(session) == "dur=0s");
}

#[test]
fn the_keys_lead_through_cells_and_enter_selects_one() {
    let mut session = opened();
    let place = map(&session);
    let node = session.harness.get_by_label_contains("Heat map of ");
    node.focus();
    session.harness.run_steps(3);
    assert!(session.says("% of those shown"), "{}", session.node_texts().join("\n"));
    let view = |session: &mut Session| {
        let timeline = session.harness.state_mut().timeline_mut().expect("a timeline");
        (timeline.view().start_ns(), timeline.view().end_ns())
    };
    let before = view(&mut session);
    let cell = |session: &Session| {
        let texts = session.node_texts();
        texts.into_iter().find(|text| text.contains("% of those shown")).unwrap_or_default()
    };
    let first = cell(&session);
    for key in [Key::ArrowRight, Key::ArrowUp] {
        session.press(Modifiers::NONE, key);
        session.harness.run_steps(2);
    }
    assert_ne!(cell(&session), first);
    for key in [Key::ArrowLeft, Key::ArrowDown] {
        session.press(Modifiers::NONE, key);
        session.harness.run_steps(2);
    }
    assert_eq!((cell(&session), view(&mut session)), (first, before), "the timeline does not move");
    session.press(Modifiers::NONE, Key::Enter);
    session.until("a scope", |session| filter(session).contains("start>="));
    assert!(place.width() > 200.0);
}

#[test]
fn the_spans_of_a_name_are_a_map_by_themselves_and_a_filter_is_followed() {
    let mut session = Session::empty(SCREEN, 1.0);
    let long = "n".repeat(500);
    session.open_text("trace.json", &trace().replace("\"long\"", &format!("\"{long}/a b\"")));
    session.give("Statistics");
    session.until("the names", |session| session.says("ListItem: short"));
    let mut rows = session.harness.query_all_by_role(egui::Role::ListItem);
    let is_short = |label: Option<String>| label.is_some_and(|label| label.starts_with("short"));
    let row = rows.find(|row| is_short(row.accesskit_node().label())).expect("a row").rect();
    drop(rows);
    session.right_click(row.left_center() + vec2(20.0, 0.0));
    session.until("the menu", |session| session.says("Heat map of this name"));
    session.click("Heat map of this name");
    session.until("the map", |session| session.says("Heat map of 1\u{2009}000 spans of short"));
    assert!(session.says("Label: of short"));
    let (printed, count) = printed(&mut session);
    assert_eq!(count, 1000, "{printed}");
    let place = map(&session);
    session.drag(place.left_top(), place.right_bottom());
    session.until("a scope", |session| filter(session) == "name:/^short$/");
    session.give("Clear selection");
    session.click("All names");
    session.until("all names", |session| session.says("Heat map of 1\u{2009}004 spans that"));
    // The map shows the visible part.
    for _ in 0..3 {
        session.give("Zoom in");
        session.harness.run_steps(4);
    }
    session.until("the spans in view", |session| session.says("Heat map of 32") || session.says("Heat map of 33"));
    assert!(session.says("Label: exact"));
}

#[test]
fn an_empty_heat_map_says_that_it_has_no_spans() {
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("none.json", r#"[{"ph":"C","name":"queue","pid":1,"ts":0,"args":{"length":2}}]"#);
    session.give("Heat map");
    session.until("the reason", |session| session.says("The trace has no spans."));
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.give("Heat map");
    session.until("the map", |session| session.says("Heat map of 5 spans"));
}
