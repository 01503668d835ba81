//! Tests of the counters panel.

use egui::{Key, Modifiers, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::copied::copied;
use crate::frame::run_by_shell;
use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

/// Queue: 2 for 100 us, 6 for 300 us, 4 for 600 us. Heat: one value.
const TRACE: &str = r#"[
    {"ph":"C","name":"queue","pid":1,"ts":0,"args":{"length":2}},
    {"ph":"C","name":"queue","pid":1,"ts":100,"args":{"length":6}},
    {"ph":"C","name":"queue","pid":1,"ts":400,"args":{"length":4}},
    {"ph":"C","name":"heat","pid":2,"ts":500,"args":{"degrees":21.5}},
    {"ph":"X","name":"all","pid":1,"tid":1,"ts":0,"dur":1000}]"#;

#[test]
fn the_value_under_the_pointer_says_by_how_much_and_since_when_it_changed() {
    let mut session = Session::empty(SCREEN, 1.0);
    let path = session.capture.with_file_name("counters.json");
    std::fs::write(&path, TRACE.replace("queue", "a queue whose name leaves no room for its range")).expect("written");
    session.harness.state_mut().open_files(&[path]);
    session.until("the range", |session| session.says("2 to 6, unfolded"));
    let row = session.harness.get_by_label_contains("2 to 6, unfolded").rect().center().y;
    let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
    // In the middle of the trace, which has margins on both sides.
    session.harness.event(egui::Event::PointerMoved(egui::pos2(canvas.center().x, row)));
    session.until("the tooltip", |session| session.says("4  ·  changed by -2  ·  since 0.000400000 s"));
    let name = session.harness.get_by_label_contains("2 to 6, unfolded").rect().center();
    session.right_click(name);
    session.click("Show its rate per second");
    // At this point the value is 6. It changes to 4 after 300 us, so the rate is -2 in 300 us.
    let at = canvas.left() + canvas.width() * 0.275;
    session.harness.event(egui::Event::PointerMoved(egui::pos2(at, row)));
    let rate = "-6\u{2009}666.66667 /s  ·  6  ·  changed by +4";
    session.until("the drawn rate", |session| session.says(rate));
}

#[test]
fn a_click_on_a_counter_shows_the_value_its_change_and_its_duration_and_keys_step_to_its_neighbours() {
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("counters.json", &TRACE.replace("length", "(bytes)"));
    session.until("the range", |session| session.says("2 to 6 bytes, unfolded"));
    let row = session.harness.get_by_label_contains("2 to 6 bytes, unfolded").rect().center().y;
    let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
    // This point is between 100 us and 400 us.
    session.left_click(egui::pos2(canvas.left() + canvas.width() * 0.275, row));
    session.until("the sample", |session| {
        session.summary().contains("Selected: queue (bytes), 6 bytes, at 0.000100000 s")
    });
    session.until("its details", |session| session.says("+4 bytes") && session.says("300 µs"));
    assert!(!session.says("Top level"), "a sample has no parents");
    session.press(Modifiers::NONE, Key::CloseBracket);
    session.until("the last sample", |session| session.summary().contains("Selected: queue (bytes), 4 bytes"));
    session.until("its end", |session| session.says("to the end of the trace: it is the last value"));
    for _ in 0..2 {
        session.press(Modifiers::NONE, Key::OpenBracket);
    }
    session.until("the first sample", |session| session.summary().contains("Selected: queue (bytes), 2 bytes"));
    session.until("no change", |session| session.says("none: it is the first value"));
    session.click("Copy");
    let text = copied(&session).expect("the details");
    assert!(text.contains("value: 2 bytes\nduration: 100000 ns\n"), "{text}");
    // A click before the first sample selects nothing.
    session.left_click(egui::pos2(canvas.left() + 10.0, row));
    session.until("nothing", |session| session.summary().contains("Nothing selected."));
}

#[test]
fn counters_have_their_range_their_mean_over_time_their_change_and_their_rate() {
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("counters.json", TRACE);
    session.give("Counters");
    session.until("the rows", |session| session.harness.query_all_by_role(egui::Role::ListItem).count() == 2);
    assert!(session.says("from 2 to 6, mean 4.4"), "{}", session.node_texts().join("\n"));
    assert!(session.says("from 21.5 to 21.5, mean 21.5") && session.says("Label: exact"));
    session.click("Copy");
    let table = copied(&session).expect("a table");
    assert!(
        table.starts_with("Counter\tProcess\tSamples\tMin\tMax\tMean\tChange\tRate /s\tFirst\tLast\tUnit\n"),
        "{table}"
    );
    assert!(table.contains("\t3\t2\t6\t4.4\t2\t2000\t2\t4\t\n"), "{table}");
    session.click("Copy as command");
    let line = copied(&session).expect("a command");
    let printed = run_by_shell(&line);
    assert!(printed.starts_with("counter,process,pid,samples,min,max,mean,first,last,change,rate,unit\n"), "{printed}");
    assert!(printed.contains(",1,3,2,6,4.4,2,4,2,2000,\n"), "{printed}");
    // A header sorts, and a field filters.
    session.click("Mean");
    session.harness.run_steps(2);
    let first = session.harness.query_all_by_role(egui::Role::ListItem).next().expect("a row");
    assert!(first.accesskit_node().label().unwrap_or_default().contains("21.5"));
    session.click("Filter counters");
    session.type_text("queue");
    session.until("one row", |session| session.harness.query_all_by_role(egui::Role::ListItem).count() == 1);
    session.click("Copy as command");
    session.until("the note", |session| session.says("it has no option for the filter field"));
}

#[test]
fn a_counter_that_is_always_zero_is_a_thin_row_until_it_is_unfolded() {
    let mut session = Session::empty(SCREEN, 1.0);
    let zeros = r#"{"ph":"C","name":"idle","pid":1,"ts":0,"args":{"(bytes)":0}},
        {"ph":"C","name":"idle","pid":1,"ts":900,"args":{"(bytes)":0}},"#;
    session.open_text("counters.json", &TRACE.replacen('[', &format!("[{zeros}"), 1));
    session.until("the ranges", |session| session.says("0 to 0 bytes, folded") && session.says("2 to 6, unfolded"));
    let height = |session: &Session, label: &str| session.harness.get_by_label_contains(label).rect().height();
    let (thin, full) = (height(&session, "0 to 0 bytes, folded"), height(&session, "2 to 6, unfolded"));
    assert!(thin < 0.6 * full, "{thin} and {full}");
    let head = session.harness.get_by_label_contains("0 to 0 bytes, folded").rect().center();
    session.left_click(head);
    session.until("the whole row", |session| session.says("0 to 0 bytes, unfolded"));
    assert_eq!(height(&session, "0 to 0 bytes, unfolded"), full);
    // Any other counter can be folded too.
    let head = session.harness.get_by_label_contains("2 to 6, unfolded").rect().center();
    session.left_click(head);
    session.until("a thin row", |session| session.says("2 to 6, folded"));
    assert_eq!(height(&session, "2 to 6, folded"), thin);
    // The value includes its unit.
    let row = session.harness.get_by_label_contains("0 to 0 bytes, unfolded").rect().center().y;
    let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
    session.harness.event(egui::Event::PointerMoved(egui::pos2(canvas.center().x, row)));
    session.until("the tooltip", |session| session.says("0 bytes  ·  "));
}

#[test]
fn a_counter_is_drawn_as_its_changes_or_its_rate_and_that_is_kept_with_the_trace() {
    let mut session = Session::empty(SCREEN, 1.0);
    let path = session.capture.clone();
    std::fs::write(&path, TRACE).expect("written");
    session.harness.state_mut().open_files(std::slice::from_ref(&path));
    session.until("the range", |session| session.says("queue length 2 to 6, unfolded"));
    let choose = |session: &mut Session, entry: &str| {
        let head = session.harness.get_by_label_contains("queue length").rect().center();
        session.right_click(head);
        session.click(entry);
    };
    choose(&mut session, "Show its changes");
    session.until("the changes", |session| session.says("queue length change -2 to 4, unfolded"));
    choose(&mut session, "Show its rate per second");
    // 4 in 100 us and -2 in 300 us.
    let has_rates = |session: &Session| session.says("queue length -6667 to 40k /s, unfolded");
    session.until("the rates", has_rates);
    session.wait_for_the_write();
    let mut again = session.started_again(SCREEN);
    again.harness.state_mut().open_files(&[path]);
    again.until("the rates", has_rates);
    choose(&mut again, "Show its values");
    again.until("the values", |session| session.says("queue length 2 to 6, unfolded"));
    // The scale of the values in view: without the first sample after a zoom to the last.
    choose(&mut again, "Fit the scale to its values");
    again.press(Modifiers::NONE, Key::Home);
    again.until("the whole range", |session| session.says("queue length 2 to 6, unfolded"));
    let row = again.harness.get_by_label_contains("queue length 2 to 6, unfolded").rect().center().y;
    let canvas = again.harness.get_by_role(egui::Role::Canvas).rect();
    again.left_click(egui::pos2(canvas.left() + canvas.width() * 0.9, row));
    again.until("the last sample", |session| session.summary().contains("Selected: queue length, 4"));
    again.press(Modifiers::NONE, Key::F);
    again.until("the range in view", |session| session.says("queue length 4 to 6, unfolded"));
}

/// Two counters in bytes, one without a unit, and one of another process.
const UNITS: &str = r#"[
    {"ph":"C","name":"heap","pid":1,"ts":0,"args":{"(bytes)":100}},
    {"ph":"C","name":"pool","pid":1,"ts":0,"args":{"(bytes)":20}},
    {"ph":"C","name":"depth","pid":1,"ts":0,"args":{"n":3}},
    {"ph":"C","name":"heap","pid":1,"ts":400,"args":{"(bytes)":300}},
    {"ph":"C","name":"pool","pid":1,"ts":600,"args":{"(bytes)":50}},
    {"ph":"C","name":"depth","pid":1,"ts":700,"args":{"n":9}},
    {"ph":"X","name":"all","pid":1,"tid":1,"ts":0,"dur":1000}]"#;

/// Adds the tracks whose headers start with these texts to the scope.
fn take_into_scope(session: &mut Session, heads: &[&str]) {
    for head in heads {
        let at = session.harness.get_by_label_contains(head).rect().center();
        session.click_with(at, egui::Modifiers::COMMAND);
        session.harness.run_steps(2);
    }
}

#[test]
fn counters_of_a_scope_share_a_row_with_a_scale_for_each_unit_and_that_is_kept_with_the_trace() {
    let mut session = Session::empty(SCREEN, 1.0);
    let path = session.capture.clone();
    std::fs::write(&path, UNITS).expect("written");
    session.harness.state_mut().open_files(std::slice::from_ref(&path));
    session.until("the range", |session| session.says("heap (bytes) 100 to 300 bytes, unfolded"));
    let is_enabled = |session: &mut Session, title: &str| session.offers(title);
    assert!(!is_enabled(&mut session, "Overlay counters"), "nothing is in the scope");
    take_into_scope(&mut session, &["heap (bytes)", "depth n"]);
    assert!(is_enabled(&mut session, "Overlay counters"));
    assert!(!is_enabled(&mut session, "Stack counters"), "bytes and a number");
    session.give("Overlay counters");
    let is_shared = |session: &Session| {
        let texts = session.node_texts();
        texts.iter().any(|text| {
            text.contains("2 overlaid counters 100 to 300 bytes; 3 to 9") && text.contains("heap (bytes), depth n")
        })
    };
    session.until("the row of both", is_shared);
    assert!(!session.says("depth n 3 to 9"), "its own row is gone");
    // The tooltip has both values.
    let row = session.harness.get_by_label_contains("2 overlaid counters").rect().center().y;
    let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
    session.harness.event(egui::Event::PointerMoved(egui::pos2(canvas.center().x, row)));
    session.until("the values", |session| {
        session.says("heap (bytes): 300 bytes  ·  changed by +200") && session.says("depth n: 3")
    });
    session.wait_for_the_write();
    let mut again = session.started_again(SCREEN);
    again.harness.state_mut().open_files(&[path]);
    again.until("the row of both", is_shared);
    // The context menu separates them.
    let head = again.harness.get_by_label_contains("2 overlaid counters").rect().center();
    again.right_click(head);
    again.click("Separate the counters");
    again.until("rows of their own", |session| session.says("depth n 3 to 9, ") && !is_shared(session));
}

#[test]
fn counters_of_one_unit_are_stacked_and_the_pointer_has_their_sum() {
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("stack.json", UNITS);
    session.until("the range", |session| session.says("heap (bytes) 100 to 300 bytes, unfolded"));
    take_into_scope(&mut session, &["heap (bytes)", "pool (bytes)"]);
    session.give("Stack counters");
    session.until("the stack", |session| session.says("2 stacked counters 120 to 350 bytes"));
    let row = session.harness.get_by_label_contains("2 stacked counters").rect().center().y;
    let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
    session.harness.event(egui::Event::PointerMoved(egui::pos2(canvas.center().x, row)));
    session.until("the sum", |session| session.says("sum: 320 bytes") && session.says("pool (bytes): 20 bytes"));
    // A jump to a counter in a shared row goes to that row.
    session.give("Show counters as rates");
    session.until("the rates", |session| session.says("bytes/s"));
}

#[test]
fn a_stack_of_counters_that_balance_has_the_range_of_its_sums_in_view() {
    let values = |ts: u32, used: u32| {
        let free = if ts < 900 { 100 - used } else { 20 - used };
        let value = |name: &str, value: u32| {
            format!(r#"{{"ph":"C","name":"{name}","pid":1,"ts":{ts},"args":{{"(bytes)":{value}}}}}"#)
        };
        format!("{},{}", value("used", used), value("free", free))
    };
    let all = [(0, 10), (200, 70), (400, 30), (600, 90), (900, 5)].map(|(ts, used)| values(ts, used)).join(",");
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("memory.json", &format!(r#"[{all},{{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1000}}]"#));
    session.until("the range", |session| session.says("used (bytes) 5 to 90 bytes, unfolded"));
    take_into_scope(&mut session, &["used (bytes)", "free (bytes)"]);
    session.give("Stack counters");
    session.until("the stack", |session| session.says("2 stacked counters 20 to 100 bytes"));
    // At this time the sums are 100; they are 20 only from 900 us on.
    session.give("Clear selection");
    session.harness.run_steps(2);
    let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
    let between = egui::pos2(canvas.left() + canvas.width() * 0.3, canvas.top() + 100.0);
    session.harness.event(egui::Event::PointerMoved(between));
    for _ in 0..9 {
        session.press(egui::Modifiers::NONE, egui::Key::Plus);
    }
    session.until("one sum", |session| session.says("2 stacked counters 100 to 100 bytes"));
}
