//! Empty views: each states the reason, and one action to take.

use egui::accesskit::Toggled;
use egui::{Key, Modifiers, Vec2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::session::Session;

const SCREEN: Vec2 = vec2(1200.0, 800.0);

#[test]
fn a_filter_that_no_track_passes_is_said_and_cleared_with_a_click() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::F);
    session.harness.step();
    session.type_text("no such track");
    session.until("the reason", |session| session.says("No track name matches."));
    session.click("Clear the filter");
    session.until("the tracks", |session| session.says("Button: main 1, unfolded"));
    assert!(!session.says("No track name matches"));
}

#[test]
fn tracks_that_are_all_hidden_come_back_with_a_click() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    let process = session.harness.get_by_label("server 1, unfolded").rect().left_center() + vec2(60.0, 0.0);
    session.right_click(process);
    session.click("Hide the process");
    session.until("the reason", |session| session.says("All tracks are hidden."));
    session.click("Show them");
    session.until("the tracks", |session| session.says("Button: main 1, unfolded"));
}

#[test]
fn a_scope_of_instants_leads_to_their_list() {
    let mut session = Session::empty(SCREEN, 1.0);
    let trace = r#"[{"ph":"X","name":"call","pid":1,"tid":1,"ts":0,"dur":100},
        {"ph":"i","name":"signal","pid":1,"tid":1,"ts":500,"s":"t"},
        {"ph":"X","name":"call","pid":1,"tid":1,"ts":900,"dur":100}]"#;
    session.open_text("instants.json", trace);
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the statistics", |session| session.says("Label: exact"));
    let ruler = session.harness.get_by_label("Ruler: drag to select time").rect();
    let at = |part: f32| egui::pos2(ruler.left() + ruler.width() * part, ruler.center().y);
    session.drag(at(0.4), at(0.6));
    let instants = "No spans here. Analyze > Spans > With instants lists the instants.";
    session.until("the reason", |session| session.says(instants));
    session.drag(at(0.7), at(0.8));
    session.until("no instants", |session| session.says("No spans here.") && !session.says(instants));
}

#[test]
fn a_trace_without_events_says_so_and_leads_to_its_import_issues() {
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("none.json", r#"{"traceEvents":[]}"#);
    session.until("the reason", |session| session.says("This trace has no events."));
    session.click("Import issues say why");
    session.until("the issues", |session| session.says("no event"));
    session.press(Modifiers::COMMAND, Key::E);
    session.until("the samples", |session| session.says("This trace has no samples."));
    assert!(!session.says("of its spans"), "{}", session.node_texts().join("\n"));
}

#[test]
fn counters_that_are_all_there_is_are_shown_unfolded() {
    let mut session = Session::empty(SCREEN, 1.0);
    let counter = |number: u32| format!(r#"{{"ph":"C","name":"n{number}","pid":1,"ts":{number},"args":{{"v":1}}}}"#);
    let events: Vec<_> = (0..12).map(counter).collect();
    session.open_text("counters.json", &format!("[{}]", events.join(",")));
    session.harness.run_steps(3);
    assert!(session.says("Counters 12 tracks, unfolded"), "{}", session.node_texts().join("\n"));
}

#[test]
fn a_span_without_a_name_is_not_blank_in_any_table() {
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text(
        "blank.json",
        r#"[{"ph":"X","name":"","pid":1,"tid":1,"ts":0,"dur":5},{"ph":"X","name":" ","pid":1,"tid":1,"ts":9,"dur":5}]"#,
    );
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the statistics", |session| session.says("ListItem: [no name]"));
    session.press(Modifiers::COMMAND, Key::L);
    session.until("the spans", |session| session.says("ListItem: [no name], Thread 1"));
    session.press(Modifiers::NONE, Key::CloseBracket);
    session.harness.run_steps(3);
    assert!(session.summary().contains("Selected: [no name]"), "{}", session.summary());
}

#[test]
fn the_preferences_are_all_within_the_smallest_window() {
    let size = vec2(640.0, 400.0);
    let mut session = Session::with_capture(size, 1.0);
    session.give("Preferences");
    session.until("the preferences", |session| session.says("Font size"));
    session.harness.run_steps(4);
    for text in ["Theme", "Track height", "Colour of spans", "Colours"] {
        let place = session.harness.get_by_label(text).rect();
        assert!(place.left() >= 0.0 && place.right() <= size.x, "{text} at {place}");
    }
    let usual = session.harness.get_by_label("Usual");
    assert!(usual.rect().right() <= size.x, "{}", usual.rect());
    assert_eq!(usual.accesskit_node().toggled(), Some(Toggled::True));
}

#[test]
fn a_trace_of_samples_offers_no_flame_graph_of_spans() {
    let mut session = Session::empty(SCREEN, 1.0);
    let samples = r#"{"stackFrames":{"1":{"name":"main"}},"samples":[{"cpu":0,"tid":1,"ts":1,"name":"cycles","sf":1,"weight":1}]}"#;
    session.open_text("samples.json", samples);
    session.press(Modifiers::COMMAND, Key::G);
    session.until("the graph", |session| session.says("Image: Flame graph of"));
    let buttons = session.node_texts();
    assert!(!buttons.iter().any(|text| text == "Button: Spans"), "{}", buttons.join("\n"));
}

#[test]
fn lists_of_a_trace_without_spans_do_not_ask_for_a_wider_scope() {
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("instants.json", r#"[{"ph":"i","name":"tick","pid":1,"tid":1,"ts":5,"s":"t"}]"#);
    session.give("Spans");
    session.until("the instant", |session| session.says("tick"));
    session.click("Longest");
    session
        .until("the reason", |session| session.says("The trace has no spans. \"With instants\" lists its instants."));
    session.press(Modifiers::COMMAND, Key::G);
    session.until("the reason", |session| session.says("The trace has no spans. Analyze > Spans lists its instants."));
    session.give("Counters");
    session.until("the reason", |session| session.says("Label: The trace has no counters."));
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("counters.json", r#"[{"ph":"C","name":"n","pid":1,"ts":5,"args":{"v":1}}]"#);
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the reason", |session| session.says("No spans here. Analyze > Counters sums up their values."));
    session.press(Modifiers::COMMAND, Key::G);
    session.until("the reason", |session| {
        session.says("The trace has no spans. Analyze > Counters sums up its counters.")
    });
    session.press(Modifiers::COMMAND, Key::L);
    session.click("With instants");
    session.until("the reason", |session| session.says("The trace has no spans, instants or samples."));
}

#[test]
fn a_flame_graph_of_a_scope_without_spans_asks_for_a_wider_one() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.press(Modifiers::COMMAND, Key::G);
    session.until("the graph", |session| session.says("Image: Flame graph of"));
    let head = session.harness.get_by_label_contains("queue length").rect().center();
    session.click_with(head, Modifiers::COMMAND);
    session.until("the reason", |session| {
        session.says("Nothing runs here: extend the scope in time, or choose other tracks.")
    });
}

#[test]
fn spans_without_a_duration_have_a_flame_graph_by_their_number() {
    let mut session = Session::empty(SCREEN, 1.0);
    let span = |ts: u32| format!(r#"{{"ph":"X","name":"tick","pid":1,"tid":1,"ts":{ts},"dur":0}}"#);
    session.open_text("ticks.json", &format!("[{},{}]", span(5), span(9)));
    session.press(Modifiers::COMMAND, Key::G);
    session.until("the reason", |session| session.says("The spans take no time. Options > Widths: count"));
    session.click("Options");
    session.until("the options", |session| session.says("Widths: count"));
    session.click("Widths: count");
    session.until("the graph", |session| session.says("Image: Flame graph of 1 bars"));
}

#[test]
fn an_empty_table_blames_the_filter_of_the_scope_and_offers_counters_only_where_there_are_some() {
    let mut session = Session::empty(SCREEN, 1.0);
    let trace = r#"[{"ph":"X","name":"call","pid":1,"tid":1,"ts":5000000,"dur":100},
        {"ph":"i","name":"signal","pid":1,"tid":2,"ts":5000500,"s":"t"},
        {"ph":"C","name":"queue","pid":1,"ts":5000010,"args":{"length":3}}]"#;
    session.open_text("scope.json", trace);
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the statistics", |session| session.says("Label: exact"));
    crate::scope::click_head(&mut session, "Thread 2", crate::scope::CTRL);
    session.until("the reason", |session| session.says("No spans here. Analyze > Spans"));
    assert!(!session.says("Analyze > Counters sums up"), "{}", session.node_texts().join("\n"));
    crate::scope::click_head(&mut session, "Thread 2", crate::scope::CTRL);
    crate::scope::click_head(&mut session, "Thread 1", crate::scope::CTRL);
    for (filter, hint) in [
        ("nothing", "No span matches the filter of the scope: shorten it"),
        ("catt:io", "No span matches the filter of the scope: unknown key `catt`"),
        ("start<300ms", "with a plus, such as start<+300ms, it counts from the first event"),
    ] {
        session.harness.get_by_label("Filter of the scope").focus();
        session.harness.step();
        session.press(Modifiers::COMMAND, Key::A);
        session.type_text(filter);
        session.until("the reason", |session| session.says(hint));
    }
    session.press(Modifiers::COMMAND, Key::A);
    session.type_text("start<+300ms");
    session.until("the span", |session| session.says("1 name, Count 1"));
}
