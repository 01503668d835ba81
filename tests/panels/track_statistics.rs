//! The statistics of a track, a group or a process, in the menu of its name: of spans, or of the rows that it has.

use egui::vec2;
use egui_kittest::kittest::{NodeT, Queryable};

use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

/// Two counters of a process, a thread of instants and one of spans.
const TRACE: &str = r#"[
    {"ph":"C","name":"queue","pid":1,"ts":0,"args":{"length":2}},
    {"ph":"C","name":"queue","pid":1,"ts":100,"args":{"length":6}},
    {"ph":"C","name":"heat","pid":1,"ts":500,"args":{"degrees":21.5}},
    {"ph":"i","name":"tick","pid":1,"tid":1,"ts":5,"s":"t"},
    {"ph":"X","name":"all","pid":1,"tid":2,"ts":0,"dur":1000}]"#;

fn opened(text: &str) -> Session {
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("trace.json", text);
    session.harness.run_steps(3);
    session
}

/// Returns the place of the first name of a track with these letters.
fn head(session: &Session, name: &str) -> egui::Pos2 {
    let mut nodes = session.harness.root().children_recursive();
    let head = nodes.find(|node| {
        let label = node.accesskit_node().label().unwrap_or_default();
        label.contains(name) && label.contains("folded")
    });
    head.unwrap_or_else(|| panic!("no {name}:\n{}", session.node_texts().join("\n"))).rect().center()
}

/// Chooses the statistics in the menu of a name.
fn sum_up(session: &mut Session, name: &str, entry: &str) {
    let at = head(session, name);
    session.right_click(at);
    session.click(entry);
    session.harness.run_steps(3);
}

fn tabs(session: &Session) -> Vec<String> {
    let tabs = session.harness.query_all_by_role(egui::Role::Tab);
    tabs.map(|tab| tab.accesskit_node().label().unwrap_or_default()).collect()
}

fn rows(session: &Session) -> Vec<String> {
    let items = session.harness.query_all_by_role(egui::Role::ListItem);
    items.map(|item| item.accesskit_node().label().unwrap_or_default()).collect()
}

#[test]
fn a_counter_and_a_group_of_counters_lead_to_the_counters() {
    let mut session = opened(TRACE);
    sum_up(&mut session, "queue length", "Statistics of the track");
    session.until("the counter", |session| rows(session).len() == 1 && session.says("from 2 to 6"));
    assert_eq!(tabs(&session), ["Counters panel"]);
    let counter = |number: u32| format!(r#"{{"ph":"C","name":"n{number}","pid":1,"ts":{number},"args":{{"v":1}}}}"#);
    let counters: Vec<_> = (0..12).map(counter).collect();
    let mut session = opened(&format!("[{}]", counters.join(",")));
    sum_up(&mut session, "Counters", "Statistics of the group");
    session.until("the counters", |session| rows(session).len() == 12);
    assert_eq!(tabs(&session), ["Counters panel"]);
}

#[test]
fn a_track_of_instants_leads_to_their_list_and_one_with_spans_to_the_statistics() {
    let mut session = opened(TRACE);
    sum_up(&mut session, "Thread 1", "Statistics of the track");
    session.until("the instant", |session| rows(session) == ["tick, Thread 1, at 0.000005000 s"]);
    assert_eq!(tabs(&session), ["Spans panel"]);
    let mut session = opened(TRACE);
    sum_up(&mut session, "Process 1", "Statistics of the process");
    session.until("the span", |session| rows(session) == ["all"]);
    assert_eq!(tabs(&session), ["Statistics panel"]);
}

#[test]
fn a_track_of_samples_leads_to_the_samples_from_each_of_its_rows() {
    let sample = |tid: u32, ts: u32, frame: &str| {
        let args = r#"{"event":"clock","unit":"ns","period":1000}"#;
        format!(r#"{{"ph":"P","name":"s","pid":1,"tid":{tid},"ts":{ts},"sf":"{frame}","args":{args}}}"#)
    };
    let samples = [sample(1, 1, "spin"), sample(1, 2, "spin"), sample(2, 3, "wait")].join(",");
    let frames = r#"{"spin":{"name":"spin"},"wait":{"name":"wait"}}"#;
    let trace = format!(r#"{{"stackFrames":{frames},"traceEvents":[{samples}]}}"#);
    for row in ["Thread 1", "samples"] {
        let mut session = opened(&trace);
        sum_up(&mut session, row, "Statistics of the track");
        session.until("the function", |session| {
            rows(session) == ["spin, self 2.000 \u{b5}s, total 2.000 \u{b5}s, 2 samples"]
        });
        assert_eq!(tabs(&session), ["Samples panel"], "{row}");
    }
}

#[test]
fn runs_on_a_cpu_and_states_of_a_thread_are_summed_up_by_name() {
    for (row, expected) in [("CPU 0", "busy"), ("busy 7 state", "Running")] {
        let mut session = Session::empty(SCREEN, 1.0);
        session.open_text("trace.txt", crate::scheduling::TRACE);
        session.harness.run_steps(3);
        sum_up(&mut session, row, "Statistics of the track");
        session.until("the sums", |session| rows(session).iter().any(|row| row == expected));
        assert_eq!(tabs(&session), ["Statistics panel"], "{row}");
    }
}
