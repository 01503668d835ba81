//! The samples of the scope as a table and as a call tree, and the function that is selected there.

use egui::{Event, Key, Modifiers, pos2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::copied::copied;
use crate::frame::run_by_shell;
use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

/// Six milliseconds of a clock on two threads: `main` calls `spin`, which recurses, and `wait`. Seven page faults.
fn with_samples() -> Session {
    let mut session = Session::empty(SCREEN, 1.0);
    let sample = |tid: u32, ts: u32, event: &str, unit: &str, period: u32, frame: &str| {
        format!(
            r#"{{"ph":"P","name":"s","pid":1,"tid":{tid},"ts":{ts},"sf":"{frame}","args":{{"event":"{event}","unit":"{unit}","period":{period}}}}}"#
        )
    };
    let rows = [
        sample(1, 1, "clock", "ns", 3_000_000, "spin2"),
        sample(1, 2, "clock", "ns", 1_000_000, "spin"),
        sample(2, 3, "clock", "ns", 2_000_000, "wait"),
        sample(2, 4, "faults", "count", 7, "wait"),
    ];
    let frames = r#"{"main":{"name":"main","category":"app"},"spin":{"name":"spin","category":"app","parent":"main"},
        "spin2":{"name":"spin","category":"app","parent":"spin"},"wait":{"name":"wait","category":"libc","parent":"main"}}"#;
    let trace = format!(r#"{{"stackFrames":{frames},"traceEvents":[{}]}}"#, rows.join(","));
    session.open_text("capture.json", &trace);
    session.press(Modifiers::COMMAND, Key::E);
    rows_are(
        &mut session,
        &["spin, self 4.000 ms, total 4.000 ms, 2 samples", "wait, self 2.000 ms", "main, self 0 ns"],
    );
    session
}

#[track_caller]
fn rows_are(session: &mut Session, expected: &[&str]) {
    rows_of_role_are(session, egui::Role::ListItem, expected);
}

#[track_caller]
fn rows_of_role_are(session: &mut Session, role: egui::Role, expected: &[&str]) {
    let rows = |session: &Session| -> Vec<String> {
        let rows = session.harness.query_all_by_role(role);
        rows.map(|row| row.accesskit_node().label().unwrap_or_default()).collect()
    };
    session.until(&format!("{expected:?}"), |session| {
        let rows = rows(session);
        rows.len() == expected.len() && rows.iter().zip(expected).all(|(row, text)| row.starts_with(text))
    });
    session.harness.run_steps(2);
}

#[test]
fn samples_add_up_by_function_module_thread_and_event() {
    let mut session = with_samples();
    assert!(
        session.says("Label: exact") && session.says("3 functions, Self 6.000 ms, Self share 100.0 %, Self samples 3")
    );
    session.click("Total");
    rows_are(&mut session, &["main, self 0 ns, total 6.000 ms", "spin", "wait"]);
    session.click("Copy");
    let table = copied(&session).expect("a table");
    assert!(table.contains("main\tapp\t0\t0.000000\t6000000\t1.000000\t0\t3\n"), "{table}");
    session.click("Copy as command");
    let printed = run_by_shell(&copied(&session).expect("a command"));
    assert!(printed.contains("clock,ns,main,app,0,6000000,0,3"), "{printed}");
    session.click("By module");
    // The application has its own frames and their callees.
    rows_are(&mut session, &["app, self 4.000 ms, total 6.000 ms, 3 samples", "libc, self 2.000 ms, total 2.000 ms"]);
    session.click("By thread");
    session.until("two threads", |session| session.says("2 threads, Self 6.000 ms"));
    session.click("By event");
    session.until("two events", |session| session.says("clock, self 6.000 ms") && session.says("faults, self 7"));
}

#[track_caller]
fn calls_are(session: &mut Session, expected: &[&str]) {
    rows_of_role_are(session, egui::Role::TreeItem, expected);
}

#[test]
fn a_call_tree_expands_by_arrow_and_keys_and_is_sorted_below_each_call() {
    let mut session = with_samples();
    session.click("Call tree");
    // The only path is expanded until it branches.
    let calls = [
        "main, level 1, expanded, self 0 ns, total 6.000 ms, 3 samples",
        "spin, level 2, collapsed, self 1.000 ms, total 4.000 ms, 2 samples",
        "wait, level 2, self 2.000 ms, total 2.000 ms, 1 sample",
    ];
    calls_are(&mut session, &calls);
    session.harness.get_by_label_contains("spin, level 2").focus();
    session.harness.step();
    session.press(Modifiers::NONE, Key::ArrowRight);
    let recursion = "spin, level 3, self 3.000 ms, total 3.000 ms";
    calls_are(&mut session, &["main", "spin, level 2, expanded", recursion, "wait"]);
    session.press(Modifiers::NONE, Key::ArrowRight);
    session.press(Modifiers::NONE, Key::ArrowLeft);
    session.press(Modifiers::NONE, Key::ArrowLeft);
    calls_are(&mut session, &calls);
    session.press(Modifiers::NONE, Key::ArrowLeft);
    session.press(Modifiers::NONE, Key::ArrowLeft);
    calls_are(&mut session, &["main, level 1, collapsed"]);
    session.type_text("*");
    calls_are(&mut session, &["main", "spin, level 2, expanded", recursion, "wait"]);
    session.click("Self");
    calls_are(&mut session, &["main", "wait", "spin, level 2", recursion]);
    session.click("Copy");
    let table = copied(&session).expect("a table");
    assert!(table.contains("\n  spin\tapp\t1000000\t0.166667\t4000000\t0.666667\t1\t2\n"), "{table}");
    session.click("Copy as command");
    let printed = run_by_shell(&copied(&session).expect("a command"));
    assert!(printed.contains("main;spin;spin 3000000") && printed.contains("main;wait 2000000"), "{printed}");
}

#[test]
fn an_inverted_call_tree_begins_with_the_functions_that_ran() {
    let mut session = with_samples();
    session.click("Call tree");
    session.click("Invert");
    calls_are(&mut session, &["spin, level 1, collapsed, self 4.000 ms, total 4.000 ms", "wait, level 1, collapsed"]);
    session.harness.get_by_label_contains("spin, level 1").focus();
    session.harness.step();
    session.type_text("*");
    let callers = ["spin, level 1", "spin, level 2, expanded, self 0 ns, total 3.000 ms", "main, level 3"];
    calls_are(&mut session, &[&callers[..], &["main, level 2, self 0 ns, total 1.000 ms", "wait"]].concat());
    // The other direction has its own expanded calls.
    session.click("By function");
    rows_are(&mut session, &["spin", "wait", "main"]);
    session.click("Call tree");
    calls_are(&mut session, &["main, level 1", "spin", "wait"]);
}

#[test]
fn a_filtered_call_tree_shows_matches_with_their_callers_and_callees() {
    let mut session = with_samples();
    session.click("Call tree");
    calls_are(&mut session, &["main, level 1", "spin, level 2", "wait"]);
    session.harness.get_by_label_contains("main, level 1").focus();
    session.harness.step();
    session.press(Modifiers::NONE, Key::ArrowLeft);
    calls_are(&mut session, &["main, level 1, collapsed"]);
    session.click("Filter names");
    session.type_text("WAIT");
    calls_are(&mut session, &["main, level 1, expanded", "wait, level 2"]);
    // The filter also matches modules.
    session.press(Modifiers::COMMAND, Key::A);
    session.type_text("libc");
    calls_are(&mut session, &["main, level 1, expanded", "wait, level 2"]);
    session.press(Modifiers::COMMAND, Key::A);
    session.type_text("nothing");
    session.until("no rows", |session| session.says("No name matches."));
    session.press(Modifiers::COMMAND, Key::A);
    session.type_text("main");
    calls_are(&mut session, &["main, level 1, collapsed"]);
    session.press(Modifiers::COMMAND, Key::A);
    session.press(Modifiers::NONE, Key::Backspace);
    calls_are(&mut session, &["main, level 1, collapsed"]);
}

#[test]
fn keys_of_a_call_tree_are_not_commands_of_the_timeline() {
    let mut session = with_samples();
    session.click("Call tree");
    calls_are(&mut session, &["main", "spin, level 2, collapsed", "wait"]);
    session.harness.get_by_label_contains("main, level 1").focus();
    session.harness.step();
    // On a German keyboard, the star is Shift and the key of a bracket, which selects the next span.
    let key = Key::CloseBracket;
    let pressed =
        Event::Key { key, physical_key: Some(key), pressed: true, repeat: false, modifiers: Modifiers::SHIFT };
    // A window gets both events at once.
    session.harness.input_mut().events.extend([pressed, Event::Text("*".to_owned())]);
    session.harness.step();
    calls_are(&mut session, &["main", "spin, level 2, expanded", "spin, level 3", "wait"]);
    assert!(session.summary().contains("Nothing selected."));
    // Without the star, the key is a key of the timeline.
    session.press(Modifiers::NONE, key);
    session.until("a selected row", |session| !session.summary().contains("Nothing selected."));
    // Alt and Left lead back in the view history, if there is one.
    session.press(Modifiers::ALT, Key::ArrowLeft);
    calls_are(&mut session, &["main, level 1, expanded", "spin", "spin", "wait"]);
}

#[test]
fn a_call_tree_of_a_scope_without_samples_says_so() {
    let mut session = with_samples();
    session.click("Call tree");
    calls_are(&mut session, &["main", "spin", "wait"]);
    // The first two samples are at 5 % and 35 % of the time in view.
    let ruler = session.harness.get_by_label("Ruler: drag to select time").rect();
    let at = |part: f32| pos2(ruler.left() + ruler.width() * part, ruler.center().y);
    session.drag(at(0.1), at(0.3));
    session.until("the reason", |session| session.says("No samples here"));
    assert!(!session.says("No name matches"));
}

#[test]
fn a_click_on_the_arrow_of_a_call_expands_it_and_a_click_on_its_name_finds_it() {
    let mut session = with_samples();
    session.click("Call tree");
    calls_are(&mut session, &["main", "spin, level 2, collapsed", "wait"]);
    let row = session.harness.get_by_label_contains("spin, level 2").rect();
    // One level in, the middle of the arrow.
    session.left_click(row.left_center() + vec2(11.0 + 7.0, 0.0));
    calls_are(&mut session, &["main", "spin, level 2, expanded", "spin, level 3", "wait"]);
    session.harness.get_by_label_contains("spin, level 3").click();
    session.until("hits", |session| session.says("Search"));
    // The keys still belong to the row that was clicked.
    session.press(Modifiers::NONE, Key::ArrowLeft);
    session.press(Modifiers::NONE, Key::ArrowLeft);
    calls_are(&mut session, &["main", "spin, level 2, collapsed", "wait"]);
}

#[test]
fn functions_without_a_module_are_a_named_row() {
    let mut session = Session::empty(SCREEN, 1.0);
    let frames = r#"{"main":{"name":"main","category":"app"},"jit":{"name":"jit","parent":"main"}}"#;
    let sample = r#"{"ph":"P","name":"s","pid":1,"tid":1,"ts":1,"sf":"jit"}"#;
    session.open_text("samples.json", &format!(r#"{{"stackFrames":{frames},"traceEvents":[{sample}]}}"#));
    session.press(Modifiers::COMMAND, Key::E);
    rows_are(&mut session, &["jit, self", "main, self"]);
    session.click("By module");
    rows_are(&mut session, &["[no module], self", "app, self"]);
    // No words in the field would find the functions of this row.
    session.harness.get_by_label_contains("[no module], self").click();
    session.harness.step();
    rows_are(&mut session, &["[no module], self", "app, self"]);
    session.harness.get_by_label_contains("app, self").click();
    session.harness.step();
    rows_are(&mut session, &["main, self"]);
}

#[test]
fn the_command_line_prints_the_functions_of_the_module_in_the_field() {
    let mut session = with_samples();
    session.click("By module");
    rows_are(&mut session, &["app, self", "libc, self"]);
    session.click("Copy as command");
    let printed = run_by_shell(&copied(&session).expect("a command"));
    assert!(printed.contains("clock,ns,libc,2000000") && printed.contains("clock,ns,app,"), "{printed}");
    session.harness.get_by_label_contains("libc, self").click();
    session.harness.step();
    rows_are(&mut session, &["wait, self"]);
    session.click("Copy as command");
    let printed = run_by_shell(&copied(&session).expect("a command"));
    assert!(printed.contains("clock,ns,wait,libc,2000000"), "{printed}");
    session.click("Filter names");
    session.press(Modifiers::COMMAND, Key::A);
    session.type_text("SPIN");
    rows_are(&mut session, &["spin, self"]);
    session.click("Copy as command");
    let printed = run_by_shell(&copied(&session).expect("a command"));
    assert!(printed.contains("clock,ns,spin,app,4000000") && !printed.contains("wait"), "{printed}");
}

#[test]
fn a_function_that_is_chosen_is_found_on_the_tracks_and_shown_with_its_callers_and_callees() {
    let mut session = with_samples();
    session.harness.get_by_label("spin, self 4.000 ms, total 4.000 ms, 2 samples").click();
    session.harness.step();
    // Its caller `main`, the function, and its recursive call.
    session.until("the sandwich", |session| session.says("Image: Flame graph of 3 bars"));
    session.until("the hits", |session| session.says("hits"));
    session.click("Flame graph");
    session.until("the panel", |session| session.says("Tab: Flame graph panel"));
    session.until("the same picture", |session| session.says("Image: Flame graph of 3 bars"));
    session.click("Top-down");
    session.until("all", |session| session.says("Image: Flame graph of 4 bars"));
}

#[test]
fn callers_of_one_function_are_not_shown_under_the_name_of_the_next() {
    let mut session = with_samples();
    let shows_callers = |session: &Session| session.says("Flame graph of ");
    for function in ["spin, self", "wait, self", "spin, self"] {
        session.harness.get_by_label_contains(function).click();
        for _ in 0..3 {
            // No answer is handled meanwhile.
            session.harness.step();
            assert!(!shows_callers(&session), "of the earlier function, for {function}");
        }
        session.until("the callers", shows_callers);
    }
}

#[test]
fn menus_of_sampled_functions_lead_to_samples_and_not_to_sums_of_spans() {
    let mut session = with_samples();
    let row = session.harness.get_by_label("spin, self 4.000 ms, total 4.000 ms, 2 samples").rect();
    session.right_click(row.left_center() + egui::vec2(12.0, 0.0));
    session.until("the menu", |session| session.says("Button: Copy row"));
    assert!(!session.says("Statistics of this name") && !session.says("Heat map of this name"));
    session.press(Modifiers::NONE, Key::Escape);
    session.give("Samples");
    // The frames are drawn like spans.
    session.press(Modifiers::NONE, Key::CloseBracket);
    session.harness.run_steps(3);
    let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
    let chart = session.harness.get_by_label_contains("samples 1, unfolded").rect();
    session.right_click(egui::pos2(canvas.left() + canvas.width() * 0.3, chart.top() + 12.0));
    session.until("the menu", |session| session.says("Samples by function"));
    assert!(!session.says("Statistics of this name"));
    session.harness.get_by_label_contains("Samples by function").click();
    session.harness.step();
    rows_are(&mut session, &["spin, self 4.000 ms", "wait, self 2.000 ms", "main, self 0 ns"]);
}

#[test]
fn the_details_of_a_bar_count_its_samples() {
    let mut session = Session::empty(SCREEN, 1.0);
    let sample = |ts: u32| format!(r#"{{"ph":"P","name":"s","pid":1,"tid":1,"ts":{ts},"sf":"work"}}"#);
    let rows = [0, 100, 200].map(sample).join(",");
    session.open_text(
        "capture.json",
        &format!(
            r#"{{"stackFrames":{{"work":{{"name":"work"}}}},"traceEvents":[{rows},
            {{"ph":"i","name":"end","pid":1,"tid":2,"ts":1000}}]}}"#
        ),
    );
    session.press(Modifiers::NONE, Key::CloseBracket);
    session.harness.run_steps(3);
    let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
    let chart = session.harness.get_by_label_contains("samples 1, unfolded").rect();
    session.left_click(egui::pos2(canvas.left() + canvas.width() * 0.2, chart.top() + 12.0));
    session.until("the bar", |session| session.says("Label: Sampled"));
    assert!(session.says("Label: 3 samples, one every 100 µs"), "{}", session.node_texts().join("\n"));
    assert!(!session.says("Label: Arguments"), "{}", session.node_texts().join("\n"));
}

#[test]
fn the_details_of_a_sample_and_of_a_frame_name_their_module() {
    let mut session = with_samples();
    session.press(Modifiers::COMMAND, Key::E);
    session.search("wait");
    // A sample first, then a bar.
    for row in ["Depth0", "Depth1"] {
        session.press(Modifiers::NONE, Key::Enter);
        session.until(row, |session| {
            let facts: String = session.node_texts().iter().filter_map(|text| text.strip_prefix("Label: ")).collect();
            session.summary().contains("Selected: wait") && facts.contains(row)
        });
        assert!(session.says("Label: Module") && session.says("Label: libc"), "{}", session.node_texts().join("\n"));
        assert!(!session.says("Label: Category"), "{}", session.node_texts().join("\n"));
        let is_sample = row == "Depth0";
        assert_eq!(session.says("Label: Call stack"), is_sample, "{}", session.node_texts().join("\n"));
        assert!(!session.says("Label: Top level"), "{}", session.node_texts().join("\n"));
    }
}

#[test]
fn the_whole_view_has_the_samples_without_times_that_end_after_the_trace() {
    let mut session = Session::empty(SCREEN, 1.0);
    let args = r#""args":{"event":"x","unit":"ns","period":40000}"#;
    let trace = format!(
        r#"[{{"ph":"P","untimed":true,"pid":1,"tid":1,"ts":0,"stack":["f"],{args}}},{{"ph":"X","name":"s","pid":1,"tid":1,"ts":1000000,"dur":10}}]"#
    );
    session.open_text("capture.json", &trace);
    session.until_timeline();
    let summary = session.summary();
    // With the margin at both ends; the span is 10 µs long.
    assert!(summary.contains("-0.000002223 s to 0.000042223 s in view"), "{summary}");
}
