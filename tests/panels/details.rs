//! The details of a span with many or long arguments and with many flows: a frame shows a part, and says so.

use egui::{Key, Modifiers, Vec2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use serde_json::{Map, Value, json};

use crate::copied::copied;
use crate::session::Session;

const SCREEN: Vec2 = vec2(1280.0, 800.0);

/// Opens a trace whose first span has these arguments, and selects it.
fn with_arguments(args: &Value) -> Session {
    let mut session = Session::empty(SCREEN, 1.0);
    let span = json!({"ph": "X", "name": "big", "pid": 1, "tid": 1, "ts": 0, "dur": 1000, "args": args});
    session.open_text("big.json", &json!([span]).to_string());
    session.harness.run_steps(3);
    session.press(Modifiers::NONE, Key::CloseBracket);
    session.until("the span", |session| session.summary().contains("Selected: big"));
    session.harness.run_steps(3);
    session
}

#[test]
fn a_long_value_is_shown_in_part_and_copied_whole() {
    let text = "word and ".repeat(100_000);
    let mut session = with_arguments(&json!({"text": text}));
    let longest = session.node_texts().iter().map(String::len).max();
    assert!(longest < Some(5000), "{longest:?}");
    assert!(session.says("and 874.9 KiB more"), "{}", session.node_texts().join("\n"));
    let value = session.harness.get_by_label_contains("word and").rect();
    session.right_click(value.min + vec2(20.0, 8.0));
    session.until("the menu", |session| session.says("Copy value"));
    assert!(!session.says("Find spans with this value"), "no field takes so much");
    session.click("Copy value");
    assert!(copied(&session).is_some_and(|copy| copy == text));
    let mut session = with_arguments(&json!({"k".repeat(100_000): 7, "after": "it"}));
    let longest = session.node_texts().iter().map(String::len).max();
    assert!(longest < Some(5000), "{longest:?}");
    assert!(session.says("after"), "{}", session.node_texts().join("\n"));
    session.click("Copy");
    assert!(copied(&session).is_some_and(|copy| copy.len() > 100_000));
}

#[test]
fn a_child_that_ends_after_its_span_has_the_share_of_its_time_inside() {
    let mut session = Session::empty(SCREEN, 1.0);
    let span =
        |name: &str, ts: u32, dur: u32| json!({"ph": "X", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur});
    let trace = json!([span("outer", 0, 100), span("inner", 10, 30), span("later", 80, 60)]);
    session.open_text("overlap.json", &trace.to_string());
    session.harness.run_steps(3);
    session.press(Modifiers::NONE, Key::CloseBracket);
    session.until("the span", |session| session.summary().contains("Selected: outer"));
    let of_child = |session: &Session, name: &str| {
        session.node_texts().into_iter().find(|text| text.ends_with(name)).unwrap_or_default()
    };
    session.until("the children", |session| session.says("30.0 %  inner"));
    let later = of_child(&session, "later");
    assert!(later.contains("60 µs, 20 µs inside  20.0 %"), "{later}");
    assert!(!of_child(&session, "inner").contains("inside"));
}

#[test]
fn an_unfinished_span_has_no_shares_of_its_unknown_duration() {
    let mut session = Session::empty(SCREEN, 1.0);
    let trace = json!([
        {"ph": "B", "name": "open", "pid": 1, "tid": 1, "ts": 0},
        {"ph": "X", "name": "inner", "pid": 1, "tid": 1, "ts": 10, "dur": 30},
        {"ph": "i", "name": "last", "pid": 1, "tid": 2, "ts": 1000},
    ]);
    session.open_text("open.json", &trace.to_string());
    session.harness.run_steps(3);
    session.press(Modifiers::NONE, Key::CloseBracket);
    session.until("the span", |session| session.summary().contains("Selected: open"));
    session.until("its child", |session| session.says("30 µs  inner"));
    assert!(!session.says(" %  inner") && !session.says("10 µs  25.0 %"), "{}", session.node_texts().join("\n"));
    // A fit shows the span up to the end at which it is drawn.
    session.press(Modifiers::NONE, Key::F);
    session.harness.run_steps(30);
    let view = *session.harness.state_mut().timeline_mut().expect("a timeline").view();
    let canvas_px = f64::from(session.harness.get_by_role(egui::Role::Canvas).rect().width());
    assert!(view.x_from_time(1_000_000) <= canvas_px, "the pale part is in view");
}

#[test]
fn the_exact_duration_and_the_end_of_a_span_are_in_its_details() {
    let mut session = Session::empty(SCREEN, 1.0);
    let span = json!({"ph": "X", "name": "long", "pid": 1, "tid": 1, "ts": 5, "dur": 1_207_279.999});
    session.open_text(
        "exact.json",
        &json!([{"ph": "X", "name": "a", "pid": 1, "tid": 2, "ts": 0, "dur": 1}, span]).to_string(),
    );
    session.harness.run_steps(3);
    session.give("Next span");
    session.search("long");
    session.press(Modifiers::NONE, Key::Enter);
    session.until("the span", |session| session.summary().contains("Selected: long"));
    session.press(Modifiers::NONE, Key::Escape);
    session.until("its end", |session| session.says("Label: 1.207284999 s"));
    let duration = session.harness.get_by_label("1.207 s").rect();
    session.harness.event(egui::Event::PointerMoved(duration.left_center() + vec2(5.0, 0.0)));
    session.until("the tooltip", |session| session.says("1\u{2009}207\u{2009}279\u{2009}999 ns"));
    session.right_click(duration.left_center() + vec2(5.0, 0.0));
    session.until("the menu", |session| session.says("Copy value"));
    session.click("Copy value");
    assert_eq!(copied(&session).as_deref(), Some("1207279999"));
    session.click("Copy");
    assert!(copied(&session).is_some_and(|text| text.contains("\nend: 1.207284999 s\n")));
}

#[test]
fn the_sum_of_a_number_is_derived_from_its_menu_and_that_of_a_text_is_not_offered() {
    let mut session = with_arguments(&json!({"bytes": 4711, "url": "/index.html"}));
    let open_menu = |session: &mut Session, value: &str| {
        let rect = session.harness.get_by_label(value).rect();
        session.right_click(rect.left_center() + vec2(5.0, 0.0));
        session.until("the menu", |session| session.says("Copy value"));
    };
    open_menu(&mut session, "/index.html");
    assert!(!session.says("Derive sum"));
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.run_steps(2);
    open_menu(&mut session, "4711");
    session.click("Derive sum");
    session.until("the track", |session| session.says("Derived track Sum of bytes"));
}

#[test]
fn the_name_of_a_parent_does_not_push_the_other_facts_away() {
    let mut session = Session::empty(SCREEN, 1.0);
    let name = format!("outer<{}>::end", "Map, ".repeat(800));
    let span = |name: &str, dur: u64| json!({"ph": "X", "name": name, "pid": 1, "tid": 1, "ts": 0, "dur": dur});
    session.open_text("long.json", &json!([span(&name, 1000), span("inner", 500)]).to_string());
    session.harness.run_steps(3);
    for (key, selected) in [(Key::CloseBracket, "outer"), (Key::ArrowDown, "inner")] {
        session.press(Modifiers::NONE, key);
        session.until("the span", |session| session.summary().contains(&format!("Selected: {selected}")));
    }
    session.until("the share", |session| session.says("50.0 % of outer<Map"));
    let texts = session.node_texts();
    let share = texts.iter().find(|text| text.contains("50.0 % of outer<Map")).expect("the share");
    assert!(share.len() < 200 && share.ends_with(">::end"), "{share}");
}

#[test]
fn a_text_too_long_for_the_clipboard_is_not_copied_and_a_note_says_so() {
    let mut session = with_arguments(&json!({"text": "w".repeat((15 << 20) + 1)}));
    session.click("Copy");
    assert_eq!(copied(&session), None);
    session.harness.run_steps(2);
    assert!(session.says("Nothing is copied: it is longer than 15 MiB. Export... writes tables of any length."));
}

#[test]
fn of_many_arguments_the_first_are_shown_with_the_number_of_the_others() {
    let keys: Map<String, Value> = (0..1500).map(|number| (format!("key{number:04}"), json!("v"))).collect();
    let session = with_arguments(&Value::Object(keys));
    let shown = |session: &Session, what: &str| {
        let labels = session.harness.query_all_by_role(egui::Role::Label);
        labels.filter(|label| label.accesskit_node().value().is_some_and(|text| text.starts_with(what))).count()
    };
    assert_eq!(shown(&session, "key"), 200);
    assert!(session.says("and 1\u{2009}300 more"));
    let items: Vec<_> = (0..1500).map(|number| format!("item{number}")).collect();
    let mut session = with_arguments(&json!({"list": items}));
    assert!(!session.says("item0"), "it is folded");
    session.click("list  [1500]");
    session.until("its members", |session| session.says("item199"));
    assert_eq!(shown(&session, "item"), 200);
    assert!(session.says("and 1\u{2009}300 more"));
}

/// Opens a trace with flows from 60 spans to one, which is selected.
fn with_flows() -> Session {
    let mut session = Session::empty(SCREEN, 1.0);
    let mut events = vec![json!({"ph": "X", "name": "sink", "pid": 1, "tid": 1, "ts": 0, "dur": 10000})];
    for id in 0..60 {
        let flow = |ph: &str, tid: i64, ts: i64| json!({"ph": ph, "bp": "e", "name": "f", "cat": "c", "id": id, "pid": 1, "tid": tid, "ts": ts});
        events.push(json!({"ph": "X", "name": format!("source{id}"), "pid": 1, "tid": 2, "ts": id * 10, "dur": 8}));
        events.extend([flow("s", 2, id * 10 + 1), flow("f", 1, 5000 + id)]);
    }
    session.open_text("flows.json", &Value::Array(events).to_string());
    session.harness.run_steps(3);
    session.press(Modifiers::NONE, Key::CloseBracket);
    session.until("the flows", |session| session.says("Incoming flows"));
    session
}

#[test]
fn keys_go_along_the_flows_of_the_selected_span() {
    let mut session = with_flows();
    assert!(!session.offers("Next in flow"), "no flow leaves it");
    session.press(Modifiers::ALT, Key::OpenBracket);
    session.until("the last source", |session| session.summary().contains("Selected: source59"));
    session.until("its flow", |session| session.says("Outgoing flows"));
    assert!(!session.offers("Previous in flow"), "it is the first");
    session.press(Modifiers::ALT, Key::CloseBracket);
    session.until("its sink", |session| session.summary().contains("Selected: sink"));
}

#[test]
fn of_many_flows_the_first_are_shown_with_their_delays_and_the_number_of_the_others() {
    let session = with_flows();
    let texts = session.node_texts();
    let links: Vec<_> = texts.iter().filter(|text| text.starts_with("Link: +") && text.contains(" source")).collect();
    assert_eq!(links.len(), 50);
    assert!(links[0].starts_with("Link: +4.999 ms  source0  ·  "), "from 1 us to 5 ms: {}", links[0]);
    assert!(session.says("and 10 more"), "{}", session.node_texts().join("\n"));
    assert!(!session.says("Outgoing flows"));
}

#[test]
fn a_flow_from_another_process_names_it_and_one_of_its_own_does_not() {
    let mut session = Session::empty(SCREEN, 1.0);
    let span = |name: &str, pid: i64, tid: i64| json!({"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": pid + tid, "dur": 9});
    let flow = |ph: &str, id: i64, pid: i64, tid: i64, ts: i64| json!({"ph": ph, "bp": "e", "name": "f", "cat": "c", "id": id, "pid": pid, "tid": tid, "ts": ts});
    let process = |pid: i64, name: &str| json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}});
    let trace = json!([
        process(1, "front"),
        process(2, "shop"),
        span("sink", 1, 1),
        span("near", 1, 2),
        span("far", 2, 1),
        flow("s", 1, 1, 2, 4),
        flow("f", 1, 1, 1, 6),
        flow("s", 2, 2, 1, 5),
        flow("f", 2, 1, 1, 7)
    ]);
    session.open_text("flows.json", &trace.to_string());
    session.harness.run_steps(3);
    session.search("sink");
    session.press(Modifiers::NONE, Key::Enter);
    session.until("the flows", |session| session.says("Incoming flows"));
    let texts = session.node_texts();
    let link =
        |name: &str| texts.iter().find(|text| text.starts_with("Link: +") && text.contains(name)).expect("a link");
    assert!(link("far  ·  ").ends_with(" of shop 2"), "{}", link("far"));
    assert!(!link("near  ·  ").contains(" of "), "{}", link("near"));
    assert!(session.says("Label: Top level of its track"), "{texts:?}");
}

#[test]
fn the_spans_of_a_distributed_trace_are_one_click_away() {
    let mut session = Session::empty(vec2(1280.0, 800.0), 1.0);
    let span = |id: &str, trace: &str, ts: u64| {
        serde_json::json!({"traceId": trace, "id": id, "name": format!("call {id}"), "timestamp": ts, "duration": 50,
            "localEndpoint": {"serviceName": "front"}})
    };
    let trace = serde_json::json!([span("01", "0a", 100), span("02", "0b", 200), span("03", "0a", 300)]);
    session.open_text("zipkin.json", &trace.to_string());
    session.press(Modifiers::COMMAND, Key::L);
    session.until("the spans", |session| session.harness.query_all_by_role(egui::Role::ListItem).count() == 3);
    session.harness.run_steps(2);
    let rows = session.harness.query_all_by_role(egui::Role::ListItem);
    let row = rows.map(|row| row.rect()).next().expect("a row");
    session.left_click(row.left_center() + vec2(20.0, 0.0));
    session.until("the details", |session| session.says("Spans of this trace"));
    session.click("Spans of this trace");
    session.until("the hits", |session| session.says("hits") || session.says("1 hit"));
    assert!(session.says("arg.trace_id="), "{}", session.node_texts().join("\n"));
    // The cursor is at the end of the filter, so that typing extends it.
    session.harness.step();
    session.type_text(" dur>1us");
    session.harness.step();
    let is_extended = |text: &String| text.contains("arg.trace_id=") && text.ends_with(" dur>1us");
    assert!(session.node_texts().iter().any(is_extended), "{}", session.node_texts().join("\n"));
}

#[test]
fn a_span_that_failed_is_marked_in_its_details_and_found_by_its_state() {
    let mut session = Session::empty(SCREEN, 1.0);
    let span = |name: &str, start: u32, error: bool| {
        json!({"traceID": "1", "spanID": name, "operationName": name, "startTime": start, "duration": 5,
            "processID": "p", "tags": [{"key": "error", "value": error}]})
    };
    let spans = [span("good", 0, false), span("bad", 10, true)];
    let trace = json!({"data": [{"traceID": "1", "spans": spans, "processes": {"p": {"serviceName": "shop"}}}]});
    session.open_text("spans.json", &trace.to_string());
    session.harness.run_steps(3);
    session.press(Modifiers::NONE, Key::CloseBracket);
    session.until("the first span", |session| session.summary().contains("Selected: good"));
    session.harness.run_steps(3);
    assert!(!session.says("Failed"), "{}", session.node_texts().join("\n"));
    session.search("is:failed");
    session.press(Modifiers::NONE, Key::Enter);
    session.until("the span that failed", |session| session.summary().contains("Selected: bad"));
    session.harness.run_steps(3);
    assert!(session.says("Failed"), "{}", session.node_texts().join("\n"));
    // The failed span is at the right end of its row.
    let at = session.harness.get_by_role(egui::Role::Canvas).rect();
    let row = session.harness.get_by_label_contains("Spans 1,").rect().top() + 12.0;
    session.right_click(egui::pos2(at.left() + at.width() * 0.9, row));
    session.click("Statistics of this name");
    session.until("the durations of the name", |session| session.says("Durations (log scale)"));
    session.until("its longest span", |session| session.says("5.000 µs  at"));
}

#[test]
fn a_long_name_leaves_room_for_its_state_and_the_buttons() {
    for width in [1280.0, 700.0] {
        let mut session = Session::empty(vec2(width, 800.0), 1.0);
        let name = "GET /very/long/".repeat(40);
        let span = json!({"traceID": "1", "spanID": "2", "operationName": name, "startTime": 1, "duration": 9,
            "processID": "p", "tags": [{"key": "error", "value": true}]});
        let trace = json!({"traceID": "1", "spans": [span], "processes": {"p": {"serviceName": "s"}}});
        session.open_text("jaeger.json", &json!({"data": [trace]}).to_string());
        session.harness.run_steps(3);
        session.give("Next span");
        session.until("the buttons", |session| session.says("Spans of this trace"));
        session.harness.run_steps(3);
        let state = session.harness.get_by_label("Failed").rect();
        let button = session.harness.get_by_label("Zoom to selection").rect();
        assert!(state.right() <= button.left(), "{state} {button}");
        let names = session.harness.query_all_by_label_contains("GET /very");
        let mut names = names.map(|node| node.rect()).filter(|rect| rect.y_range().contains(state.center().y));
        let name = names.next().expect("the name");
        assert!(name.right() <= state.left(), "{name} {state}");
    }
}
