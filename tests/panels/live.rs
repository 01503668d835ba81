//! A live trace: its badge, and the buttons and keys to follow, pause and stop.

use std::fs::{self, File};
use std::io::Write as _;

use egui::{Key, Modifiers, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::session::Session;

/// A file that is written while it is followed.
struct Written {
    file: File,
    spans: u32,
}

impl Written {
    /// Creates the file, and a session that follows it and shows its first ten spans.
    fn followed() -> (Self, Session) {
        let mut session = Session::empty(vec2(1400.0, 700.0), 1.0);
        let path = session.capture.with_file_name("running.json");
        let mut written = Self { file: File::create(&path).expect("created"), spans: 0 };
        written.file.write_all(b"[\n").expect("written");
        session.harness.state_mut().follow_files(&[path]);
        session.harness.step();
        assert!(session.says("Waiting for the first events of running.json"));
        written.add(10);
        session.until("the first spans", |session| session.says("10 spans"));
        (written, session)
    }

    fn add(&mut self, count: u32) {
        for _ in 0..count {
            let ts = self.spans * 1000;
            self.write_span("step", 1, (ts, 900));
            self.spans += 1;
        }
    }

    /// Adds spans inside each other, which moves the lanes of all later threads, and one span in a new thread.
    fn add_lanes(&mut self, depth: u32) {
        let ts = self.spans * 1000;
        for level in 0..depth {
            self.write_span("inside", 1, (ts + level, 900 - 2 * level));
        }
        self.write_span("new", 100 + self.spans, (ts, 900));
        self.spans += depth + 1;
    }

    fn write_span(&mut self, name: &str, tid: u32, (ts, dur): (u32, u32)) {
        let line = format!("{{\"ph\":\"X\",\"pid\":1,\"tid\":{tid},\"name\":\"{name}\",\"ts\":{ts},\"dur\":{dur}}},\n");
        self.file.write_all(line.as_bytes()).expect("written");
    }
}

fn has_button(session: &Session, label: &str) -> bool {
    session.harness.query_by_label(label).is_some()
}

/// Returns whether the view can be made to follow, because it does not.
fn offers_follow(session: &Session) -> bool {
    !session.harness.get_by_label("Follow").accesskit_node().is_disabled()
}

#[test]
fn the_buttons_of_a_live_trace_stay_where_they_are_in_every_state() {
    let (mut written, mut session) = Written::followed();
    session.harness.run_steps(2);
    let places = |session: &Session, names: [&str; 3]| names.map(|name| session.harness.get_by_label(name).rect());
    let before = places(&session, ["Follow", "Pause", "Stop"]);
    assert!(!offers_follow(&session), "it follows");
    assert!(before[0].right() < before[1].left() && before[1].right() < before[2].left());
    session.press(Modifiers::NONE, Key::Plus);
    session.press(Modifiers::NONE, Key::ArrowLeft);
    written.add(2000);
    session.until("more spans", |session| session.says("2\u{2009}010 spans"));
    assert!(offers_follow(&session));
    assert_eq!(places(&session, ["Follow", "Pause", "Stop"]), before);
    session.click("Pause");
    session.until("it pauses", |session| session.says("paused"));
    assert_eq!(places(&session, ["Follow", "Resume", "Stop"]), before);
    // From a paused view, the newest data is one click away.
    session.click("Follow");
    session.until("it goes on", |session| has_button(session, "Pause"));
    assert!(!offers_follow(&session), "it follows again");
    // They stay in view in a narrow window.
    session.harness.set_size(vec2(500.0, 500.0));
    session.harness.run_steps(3);
    let [follow, _, stop] = places(&session, ["Follow", "Pause", "Stop"]);
    assert!(follow.left() > 0.0 && stop.right() <= 500.0, "{follow} {stop}");
}

#[test]
fn the_badge_says_what_comes_and_pause_stops_the_picture_and_not_the_recording() {
    let (mut written, mut session) = Written::followed();
    assert!(session.says("events/s") && session.says("on disk"), "{:?}", session.node_texts());
    assert!(!offers_follow(&session), "it follows");
    session.click("Pause");
    session.until("it says so", |session| session.says("paused"));
    written.add(20);
    // The next picture is not shown.
    for _ in 0..20 {
        session.until("a moment", |_| true);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(session.says("10 spans") && !session.says("30 spans"));
    session.click("Resume");
    session.until("what came meanwhile", |session| session.says("30 spans"));
    session.click("Stop");
    session.until("it is sorted", |session| !has_button(session, "Stop") && !session.says("events/s"));
    session.until("all of it", |session| session.says("30 spans") && !session.says("Sorting"));
}

#[test]
fn answers_of_a_live_trace_are_those_so_far_and_their_command_says_that_it_may_differ() {
    let (mut written, mut session) = Written::followed();
    session.give("Statistics");
    session.until("the statistics", |session| session.says("of the trace so far") && session.says("exact so far"));
    assert!(!session.says("Label: of the whole trace"), "{:?}", session.node_texts());
    session.click("Copy as command");
    session.until("the note", |session| session.says("the command reads the data present when it runs"));
    written.add(10);
    session.until("more spans", |session| session.says("20 spans") && session.says("exact so far"));
    session.click("Stop");
    session.until("it is sorted", |session| session.says("Label: of the whole trace") && !session.says("so far"));
}

#[test]
fn the_view_follows_until_it_is_moved_and_space_brings_it_back() {
    let (mut written, mut session) = Written::followed();
    session.press(Modifiers::NONE, Key::Plus);
    session.press(Modifiers::NONE, Key::ArrowLeft);
    session.until("the button", offers_follow);
    written.add(50);
    session.until("more spans", |session| session.says("60 spans"));
    let moved = session.summary();
    written.add(50);
    session.until("more spans", |session| session.says("110 spans"));
    let view = |summary: &str| summary.split(", ").nth(1).map(str::to_owned);
    assert_eq!(view(&session.summary()), view(&moved), "it stays where it was moved to");
    session.press(Modifiers::NONE, Key::Space);
    session.until("it follows", |session| !offers_follow(session));
    written.add(50);
    session.until("more spans", |session| session.says("160 spans"));
    assert!(!offers_follow(&session));
    assert_ne!(view(&session.summary()), view(&moved));
    // Space pauses and resumes.
    session.press(Modifiers::NONE, Key::Space);
    session.until("it pauses", |session| session.says("paused"));
    session.press(Modifiers::NONE, Key::Space);
    session.until("it goes on", |session| has_button(session, "Pause"));
}

#[test]
fn an_empty_timeline_says_why_no_event_comes() {
    let mut session = Session::empty(vec2(900.0, 600.0), 1.0);
    let path = session.capture.with_file_name("profile.json");
    let profile =
        r#"{"type":"sampled","name":"p","unit":"none","startValue":0,"endValue":1,"samples":[[0]],"weights":[1]}"#;
    let schema = "https://www.speedscope.app/file-format-schema.json";
    // A format is known from 64 KiB on, or when the source ends.
    let name = "a".repeat(64 << 10);
    let frames = format!(r#"{{"frames":[{{"name":"{name}"}}]}}"#);
    fs::write(&path, format!(r#"{{"$schema":"{schema}","shared":{frames},"profiles":[{profile}]}}"#)).expect("written");
    session.harness.state_mut().follow_files(&[path]);
    session.until("the reason on lines of its own", |session| {
        let texts = session.node_texts();
        let mut waiting =
            texts.iter().filter_map(|text| text.split_once("Waiting for the first events of profile.json"));
        waiting.any(|(_, reason)| reason.starts_with("\n\n") && reason.contains("is read as a whole"))
    });
}

#[test]
fn a_followed_trace_that_has_sent_no_event_yet_says_so() {
    let mut session = Session::empty(vec2(900.0, 600.0), 1.0);
    let path = session.capture.with_file_name("names.json");
    fs::write(&path, r#"[{"ph":"M","name":"process_name","pid":1,"args":{"name":"server"}},"#).expect("written");
    session.harness.state_mut().follow_files(&[path]);
    session.until("the reason", |session| session.says("No events so far."));
}

/// More than ten seconds came meanwhile, so a view that follows would show the last ten.
#[test]
fn a_paused_view_stays_when_its_source_ends() {
    let (mut written, mut session) = Written::followed();
    session.press(Modifiers::NONE, Key::Space);
    session.until("it pauses", |session| session.says("paused"));
    let view = |session: &mut Session| *session.harness.state_mut().timeline_mut().expect("a timeline").view();
    let before = view(&mut session);
    written.spans += 20_000;
    written.add(10);
    session.give("Stop following");
    session.until("it is sorted", |session| !has_button(session, "Stop"));
    session.until("all of it", |session| session.says("20 spans") && !session.says("Sorting"));
    let after = view(&mut session);
    assert_eq!(after.start_ns(), before.start_ns());
    // The zoom is rounded when it is set.
    assert!(after.end_ns().abs_diff(before.end_ns()) < 10, "{after:?} and {before:?}");
}

#[test]
fn a_span_that_is_selected_and_the_view_stay_when_all_is_sorted() {
    let (mut written, mut session) = Written::followed();
    session.press(Modifiers::NONE, Key::CloseBracket);
    session.until("a span is selected", |session| session.summary().contains("step"));
    written.add(30);
    session.until("more spans", |session| session.says("40 spans"));
    let before = session.summary();
    assert!(before.contains("step"), "{before}");
    session.give("Stop following");
    session.until("it is sorted", |session| !has_button(session, "Stop"));
    session.until("all of it", |session| !session.says("Sorting"));
    assert_eq!(session.summary(), before);
}

#[test]
fn statistics_and_a_search_are_about_what_is_there() {
    let (mut written, mut session) = Written::followed();
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the statistics", |session| session.says("step"));
    session.press(Modifiers::COMMAND, Key::F);
    session.until("the field", |session| session.harness.ctx.text_edit_focused());
    session.type_text("step");
    session.until("the hits", |session| session.says("10 hits"));
    written.add(90);
    session.until("the hits among more spans", |session| session.says("100 hits"));
}

/// Returns the rows of the list by their accessibility labels.
fn rows(session: &Session) -> Vec<String> {
    let rows = session.harness.query_all_by_role(egui::Role::ListItem);
    rows.map(|row| row.accesskit_node().label().unwrap_or_default()).collect()
}

#[test]
fn statistics_keep_their_rows_and_the_selected_one_while_the_trace_grows() {
    let (mut written, mut session) = Written::followed();
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the statistics", |session| rows(session) == ["step"]);
    session.click("step");
    session.until("the selected name", |session| session.says("Durations") && session.says("Over time"));
    written.add(90);
    session.until("the totals of more spans", |session| {
        assert_eq!(rows(session), ["step"], "the table is never empty");
        assert!(session.says("Durations") && session.says("Over time"), "the name stays selected");
        session.says("Count 100")
    });
}

#[test]
fn a_call_tree_keeps_its_rows_while_the_trace_grows() {
    let (mut written, mut session) = Written::followed();
    let calls = |session: &Session| -> Vec<String> {
        let rows = session.harness.query_all_by_role(egui::Role::TreeItem);
        rows.map(|row| row.accesskit_node().label().unwrap_or_default()).collect()
    };
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the statistics", |session| rows(session) == ["step"]);
    crate::groups::group_by(&mut session, "Call tree");
    let first = "step, level 1, self 9.000 ms, total 9.000 ms, 10 spans";
    session.until("the calls", |session| calls(session) == [first] && session.says("exact so far"));
    written.add(90);
    session.until("the calls of more spans", |session| {
        assert_eq!(calls(session).len(), 1, "the tree is never empty");
        calls(session) == ["step, level 1, self 90.00 ms, total 90.00 ms, 100 spans"]
    });
}

#[test]
fn a_list_of_spans_stays_where_it_was_scrolled_to_while_the_trace_grows() {
    let (mut written, mut session) = Written::followed();
    written.add(490);
    session.until("more spans", |session| session.says("500 spans"));
    session.press(Modifiers::COMMAND, Key::L);
    session.click("By time");
    session.until("the rows", |session| {
        session.says("Label: 500") && session.says("of the trace so far") && !rows(session).is_empty()
    });
    let first = rows(&session)[0].clone();
    session.click(&first);
    session.press(Modifiers::NONE, Key::PageDown);
    session.press(Modifiers::NONE, Key::PageDown);
    session.until("other rows", |session| rows(session).first().is_some_and(|row| *row != first));
    let shown = rows(&session);
    written.add(100);
    session.until("more rows", |session| {
        assert_eq!(rows(session), shown, "the rows in view stay");
        session.says("of 600")
    });
    session.harness.run_steps(5);
    assert_eq!(rows(&session), shown);
}

#[test]
fn answers_stay_and_lead_to_their_spans_while_a_program_starts_threads_and_calls_deeper() {
    let (mut written, mut session) = Written::followed();
    written.write_span("later", 2, (3000, 500));
    session.until("another thread", |session| session.says("11 spans"));
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the statistics", |session| rows(session).len() == 2);
    for depth in 2..5 {
        written.add_lanes(depth);
        let spans = format!("{} spans", written.spans + 1);
        session.until("more lanes", |session| {
            assert!(rows(session).len() >= 2, "the table is never empty");
            session.says(&spans)
        });
    }
    session.until("the totals of more spans", |session| rows(session).iter().any(|row| row == "new"));
    session.press(Modifiers::COMMAND, Key::L);
    session.click("By time");
    let later = "later, Thread 2, at 0.003000000 s, 500 µs";
    session.until("the rows", |session| rows(session).iter().any(|row| row == later));
    written.add_lanes(9);
    let spans = format!("{} spans", written.spans + 1);
    session.until("lanes have moved", |session| {
        assert!(rows(session).iter().any(|row| row == later), "the list is never empty");
        session.says(&spans)
    });
    session.click(later);
    session.until("its details", |session| session.summary().contains("later"));
}

#[test]
fn a_heat_map_grows_with_the_trace() {
    let (mut written, mut session) = Written::followed();
    session.give("Heat map");
    session.until("the map", |session| session.says("Heat map of 10 spans"));
    written.add(30);
    session.until("more of it", |session| session.says("Heat map of 40 spans"));
}

#[test]
fn a_derived_track_grows_with_the_trace_and_is_never_blank() {
    const TITLE: &str = "Derived track Longest duration: all, ";
    let (mut written, mut session) = Written::followed();
    session.give("Derive longest duration of the scope");
    session.until("the track", |session| session.says(&format!("{TITLE}0 to 900 µs")));
    written.write_span("long", 1, (20_000, 5_000));
    session.until("the longer span", |session| {
        let states = ["counting", "waiting"].map(|state| format!("Longest duration: all, {state}"));
        assert!(!states.iter().any(|state| session.says(state)), "{:?}", session.node_texts());
        session.says(&format!("{TITLE}0 to 5 ms"))
    });
    session.give("Stop following");
    session.until("the sorted trace", |session| session.says("11 spans") && !session.says("Sorting"));
    session.until("the track of it", |session| session.says(&format!("{TITLE}0 to 5 ms")));
}

#[test]
fn more_killed_recordings_than_fit_are_counted_and_the_latest_are_offered() {
    let cache = tempfile::tempdir().expect("a folder");
    for number in 1..=5 {
        let left = cache.path().join(format!("followed/follow-7-{number}"));
        fs::create_dir_all(&left).expect("made");
        fs::write(left.join("lock"), "").expect("written");
        let name = format!("{{\"rows\":3,\"files\":[[\"received.spool\",\"app{number}.json\"]]}}");
        fs::write(left.join("note.json"), name).expect("written");
        fs::write(left.join("received.spool"), "[").expect("written");
        let spool = fs::File::options().write(true).open(left.join("received.spool")).expect("there");
        let age = std::time::Duration::from_secs(number * 100);
        spool.set_modified(std::time::SystemTime::now() - age).expect("set");
    }
    let mut session = Session::with_cache(cache.path());
    session.until("they are offered", |session| has_button(session, "Recover app1.json"));
    assert!(session.says("and 2 more: longspan cache list"), "{:?}", session.node_texts());
    let offered = [1, 2, 3, 4, 5].map(|number| has_button(&session, &format!("Recover app{number}.json")));
    assert_eq!(offered, [true, true, true, false, false]);
}

#[test]
fn the_recording_of_a_killed_window_is_offered_opened_and_deleted_only_after_a_second_question() {
    let cache = tempfile::tempdir().expect("a folder");
    let left = cache.path().join("followed/follow-7-1");
    fs::create_dir_all(&left).expect("made");
    let events =
        (0..3).map(|at| format!("{{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"step\",\"ts\":{at},\"dur\":1}},\n"));
    fs::write(left.join("received.spool"), format!("[\n{}", events.collect::<String>())).expect("written");
    fs::write(left.join("lock"), "").expect("written");
    fs::write(left.join("note.json"), r#"{"rows":3,"files":[["received.spool","app.json"]]}"#).expect("written");
    let mut session = Session::with_cache(cache.path());
    session.until("it is offered", |session| has_button(session, "Recover app.json"));
    assert!(session.says("3 events  ·  "), "{:?}", session.node_texts());
    // Another window that starts meanwhile also offers it, until one opens it.
    let mut second = Session::with_cache(cache.path());
    second.until("it is offered", |session| has_button(session, "Recover app.json"));
    session.click("Recover app.json");
    session.until("it is sorted", |session| session.says("3 spans") && !session.says("Sorting"));
    assert!(session.says("Export it to keep it for longer"));
    second.click("Recover app.json");
    second.until("it says so", |session| session.says("open in another window"));
    drop((session, second));
    let mut session = Session::with_cache(cache.path());
    session.until("it is offered again", |session| has_button(session, "Recover app.json"));
    session.click("Delete...");
    session.until("it asks", |session| session.says("This is the only copy of the data from app.json"));
    session.click("Keep it");
    session.until("it is kept", |session| !session.says("app.json"));
    assert!(left.exists());
    let mut session = Session::with_cache(cache.path());
    session.until("it is offered again", |session| has_button(session, "Recover app.json"));
    session.click("Delete...");
    session.until("it asks", |session| session.says("This is the only copy"));
    let label = session.node_texts().into_iter().find(|text| text.starts_with("Button: Delete ")).expect("a button");
    session.click(label.trim_start_matches("Button: "));
    session.until("it is gone", |session| session.says("deleted") && !session.says("Recover"));
    assert!(!left.exists());
}

#[test]
fn a_shortcut_that_must_wait_for_the_first_events_says_so() {
    let mut session = Session::empty(vec2(1400.0, 700.0), 1.0);
    let path = session.capture.with_file_name("waiting.json");
    fs::write(&path, "[\n").expect("written");
    session.harness.state_mut().follow_files(&[path]);
    session.harness.step();
    for (key, said) in
        [(Key::T, "Statistics: Wait for the first events."), (Key::F, "Search: Wait for the first events.")]
    {
        session.press(Modifiers::COMMAND, key);
        session.until("why", |session| session.says(said));
    }
}

#[cfg(unix)]
#[test]
fn received_data_is_asked_about_before_the_window_closes() {
    let mut session = Session::empty(vec2(1000.0, 600.0), 1.0);
    let path = session.capture.with_file_name("pipe.json");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    session.harness.state_mut().follow_files(std::slice::from_ref(&path));
    let span = "[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"step\",\"ts\":1,\"dur\":9},\n";
    let mut pipe = fs::OpenOptions::new().write(true).open(&path).expect("opened");
    pipe.write_all(span.as_bytes()).expect("written");
    pipe.flush().expect("flushed");
    session.until("the span", |session| session.says("1 span"));
    session.press(Modifiers::COMMAND, Key::Q);
    session.until("the question", |session| session.says("Quit Longspan?"));
    assert!(session.says("The received data is not saved") && has_button(&session, "Export..."));
    // The key pressed twice discards nothing.
    session.press(Modifiers::COMMAND, Key::Q);
    assert!(session.says("Quit Longspan?"));
    session.press(Modifiers::NONE, Key::Escape);
    session.until("no question", |session| !session.says("Quit Longspan?"));
    session.press(Modifiers::COMMAND, Key::W);
    session.until("the question", |session| session.says("Close the tab?"));
    session.click("Close anyway");
    session.until("the empty tab", |session| session.harness.state().title() == "Longspan");
}

#[cfg(unix)]
#[test]
fn received_data_that_is_read_at_its_end_is_asked_about_before_that() {
    let mut session = Session::empty(vec2(1000.0, 600.0), 1.0);
    let path = session.capture.with_file_name("pipe.json.gz");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    session.harness.state_mut().follow_files(std::slice::from_ref(&path));
    let mut pipe = fs::OpenOptions::new().write(true).open(&path).expect("opened");
    pipe.write_all(b"\x1f\x8b\x08\0\0\0\0\0\0\x03abc").expect("written");
    // The beginning of the file of rows is counted too.
    session.until("the received bytes", |session| session.says("21 B on disk"));
    for (key, question) in [(Key::Q, "Quit Longspan?"), (Key::W, "Close the tab?")] {
        session.press(Modifiers::COMMAND, key);
        session.until("the question", |session| session.says(question));
        assert!(session.says("The received data is not saved"));
        session.press(Modifiers::NONE, Key::Escape);
        session.until("no question", |session| !session.says(question));
    }
}
