//! Ways to find a span: search, statistics, flame graph and command palette, by keyboard and screen reader.

use egui::{Key, Modifiers, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

#[test]
fn a_search_by_the_keyboard_counts_and_reads_out_each_hit() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.press(Modifiers::COMMAND, Key::F);
    session.harness.step();
    assert!(session.harness.get_by_label("Search").is_focused());
    session.type_text("cat:io dur>=200us");
    session.until("the number of hits", |session| session.says("3 hits"));
    session.until("the list of hits", |session| session.says("Hits 1 to 3 of 3"));
    session.until("the hits", |session| session.says("ListItem: write"));
    let hits = session.harness.query_all_by_role(egui::Role::ListItem);
    let told: Vec<_> = hits.map(|hit| hit.accesskit_node().label().unwrap_or_default()).collect();
    let expected = [
        "write, Thread 2, at 0.000000000 s, 400 µs",
        "read, main, at 0.000100000 s, 200 µs",
        "write, Thread 2, at 0.000600000 s, 300 µs",
    ];
    assert_eq!(told, expected, "each hit in view is told with its thread, its start and its duration");
    let order = ["write, 400 µs", "read, 200 µs", "write, 300 µs"];
    for expected in order {
        session.press(Modifiers::NONE, Key::Enter);
        session.until(expected, |session| session.summary().contains(&format!("Selected: {expected}")));
    }
    session.press(Modifiers::SHIFT, Key::Enter);
    session.until("the hit before", |session| session.summary().contains("Selected: read, 200 µs"));
    session.press(Modifiers::NONE, Key::Escape);
    session.until("no search", |session| session.harness.query_by_label("Search").is_none());
    assert!(session.summary().contains("Selected: read"), "{}", session.summary());
}

#[test]
fn a_hit_that_the_tabulator_and_an_arrow_lead_to_is_gone_to_with_enter() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.search("read");
    session.until("the hits", |session| session.says("ListItem: read"));
    let second = "read, main, at 0.000500000 s, 100 µs";
    for _ in 0..30 {
        if session.harness.query_all_by_role(egui::Role::ListItem).any(|row| row.is_focused()) {
            break;
        }
        session.press(Modifiers::NONE, Key::Tab);
    }
    if !session.harness.get_by_label(second).is_focused() {
        session.press(Modifiers::NONE, Key::ArrowDown);
        session.harness.run_steps(2);
    }
    assert!(session.harness.get_by_label(second).is_focused(), "{}", session.node_texts().join("\n"));
    session.press(Modifiers::NONE, Key::Enter);
    session.until("the second hit", |session| session.summary().contains("Selected: read, 100 µs"));
}

#[test]
fn hits_are_listed_in_the_order_of_the_header_that_is_clicked() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.search("e");
    let names = |session: &Session| -> Vec<String> {
        let rows = session.harness.query_all_by_role(egui::Role::ListItem);
        let label = |row: egui_kittest::Node<'_>| row.accesskit_node().label().unwrap_or_default();
        rows.map(|row| label(row).split(',').next().unwrap_or_default().to_owned()).collect()
    };
    session.until("the hits", |session| names(session).len() == 6);
    session.harness.get_by_role_and_label(egui::Role::Button, "Name").click();
    session.until("the order", |session| names(session) == ["flushed", "read", "read", "request", "write", "write"]);
    assert!(session.says("6 of the hits"), "{}", session.node_texts().join("\n"));
    session.click("By time");
    session.until("in time order", |session| names(session).last().is_some_and(|name| name == "flushed"));
}

#[test]
fn a_search_that_finds_nothing_or_cannot_be_meant_says_so() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.search("nobody");
    session.until("no hits", |session| session.says("Label: No hits") && session.says("List: No hits"));
    session.type_text(" dur>soon");
    session.until("what is wrong", |session| session.says("expected a number of"));
}

#[test]
fn lines_and_headers_of_the_statistics_are_spoken() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the lines", |session| session.harness.query_all_by_role(egui::Role::ListItem).count() == 3);
    let order = |session: &Session| {
        let lines = session.harness.query_all_by_role(egui::Role::ListItem);
        lines.map(|line| line.accesskit_node().label().unwrap_or_default()).collect::<Vec<_>>()
    };
    let names = |lines: Vec<String>| {
        lines.iter().map(|line| line.split([',', ' ']).next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(order(&session)), ["request", "write", "read"]);
    session.click("Name");
    assert_eq!(names(order(&session)), ["read", "request", "write"]);
    session.click("Count");
    assert_eq!(names(order(&session)).last().map(String::as_str), Some("request"), "one request, two of the others");
}

#[test]
fn a_command_is_found_by_a_part_of_its_name_and_given_with_enter() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    let whole = session.summary();
    session.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
    session.harness.step();
    session.type_text("zoom in");
    session.press(Modifiers::NONE, Key::Enter);
    session.until("a closer view", |session| session.summary() != whole);
    session.press(Modifiers::NONE, Key::Home);
    session.until("the whole again", |session| session.summary() == whole);
}

#[test]
fn keys_lead_from_span_to_span_and_each_is_read_out() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.press(Modifiers::COMMAND, Key::F);
    session.harness.step();
    // Enter immediately: a fast typist does not wait for the hit count.
    session.type_text("request");
    session.press(Modifiers::NONE, Key::Enter);
    session.until("the request", |session| session.summary().contains("Selected: request, 1 ms, at 0"));
    session.until("its arguments", |session| session.says("/index.html"));
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.step();
    for (key, expected) in [
        (Key::ArrowDown, "read, 200 µs"),
        (Key::CloseBracket, "read, 100 µs"),
        (Key::OpenBracket, "read, 200 µs"),
        (Key::ArrowUp, "request, 1 ms"),
    ] {
        session.press(Modifiers::NONE, key);
        session.until(expected, |session| session.summary().contains(&format!("Selected: {expected}")));
    }
    session.press(Modifiers::NONE, Key::Escape);
    session.until("nothing selected", |session| session.summary().contains("Nothing selected."));
}

#[test]
fn an_empty_search_shows_words_of_each_kind_and_a_click_takes_one() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.press(Modifiers::COMMAND, Key::F);
    session.harness.run_steps(2);
    for word in ["/^read_(all|some)$/", "~rdall", "dur>1ms", "thread:worker", "in:RunTask", "arg.url:index", "-cat:io"]
    {
        assert!(session.harness.query_by_label(word).is_some(), "{word}");
    }
    session.click("read");
    session.until("its hits", |session| session.says("2 hits"));
    session.click("Search");
    session.press(Modifiers::COMMAND, Key::A);
    session.press(Modifiers::NONE, Key::Backspace);
    session.until("the words again", |session| session.harness.query_by_label("~rdall").is_some());
}

#[test]
fn a_filter_of_tracks_that_a_jump_has_cleared_is_one_click_away() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.click("Filter tracks");
    session.type_text("queue");
    session.until("the counter alone", |session| !session.says("main 1, unfolded"));
    session.search("request");
    session.press(Modifiers::NONE, Key::Enter);
    session.until("the span", |session| session.summary().contains("Selected: request"));
    session.until("what was cleared", |session| session.says("Restore filter queue"));
    assert!(session.says("main 1, unfolded"));
    let other = session.harness.get_by_label("Thread 2, unfolded").rect().center();
    session.right_click(other);
    session.click("Hide the track");
    session.until("both", |session| session.says("1 hidden track: show") && session.says("Restore filter"));
    session.click("1 hidden track: show");
    session.until("the track", |session| session.says("Thread 2, unfolded") && !session.says("hidden track"));
    session.click("Restore filter queue");
    session.until("the filter again", |session| !session.says("main 1, unfolded"));
    assert!(!session.says("Restore filter"));
}

#[test]
fn hidden_tracks_are_counted_above_the_names_and_one_click_away() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.harness.run_steps(2);
    assert!(!session.says("hidden track"));
    for (track, said) in [("main 1, unfolded", "1 hidden track: show"), ("Thread 2, unfolded", "2 hidden tracks: show")]
    {
        let name = session.harness.get_by_label(track).rect().center();
        session.right_click(name);
        session.click("Hide the track");
        session.until(said, |session| session.says(said) && !session.says(track));
    }
    session.click("2 hidden tracks: show");
    session.until("all of them", |session| session.says("main 1, unfolded") && session.says("Thread 2, unfolded"));
    assert!(!session.says("hidden track"));
}

#[test]
fn without_a_selection_the_first_key_selects_the_span_in_the_middle_of_the_view() {
    for key in [Key::OpenBracket, Key::CloseBracket, Key::ArrowUp, Key::ArrowDown] {
        let mut session = Session::with_capture(SCREEN, 1.0);
        session.harness.run_steps(3);
        assert!(session.summary().contains("Nothing selected."));
        session.press(Modifiers::NONE, key);
        session.until("a span", |session| session.summary().contains("Selected: "));
    }
    // If no span is visible, nothing is selected, and nothing fails.
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("instants.json", r#"[{"ph":"i","name":"a","pid":1,"tid":1,"ts":5,"s":"t"}]"#);
    session.press(Modifiers::NONE, Key::CloseBracket);
    session.harness.run_steps(3);
    assert!(session.summary().contains("Nothing selected."), "{}", session.summary());
}

#[test]
fn a_capture_that_was_opened_is_one_click_away_when_the_window_opens_again() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.close();
    let mut session = session.started_again(SCREEN);
    session.harness.step();
    assert!(session.harness.query_by_role(egui::Role::Canvas).is_none());
    assert!(session.says("KiB  ·  just now") || session.says(" B  ·  just now"), "{}", session.node_texts().join("\n"));
    assert!(session.says("open") && session.says("all commands") && session.says("all keys"), "three keys");
    session.click("capture.json");
    session.until_timeline();
    assert!(session.summary().contains("Timeline of 3 tracks"), "{}", session.summary());
}

#[test]
fn a_low_welcome_page_scrolls_to_its_last_line() {
    let screen = vec2(640.0, 400.0);
    let mut session = Session::empty(screen, 1.0);
    for number in 0..5 {
        let event = format!(r#"[{{"ph":"X","name":"n{number}","pid":1,"tid":1,"ts":{number},"dur":1}}]"#);
        session.open_text(&format!("recent {number}.json"), &event);
        session.until("its tab", |session| session.harness.state().title().contains(&format!("recent {number}")));
    }
    session.close();
    let mut session = session.started_again(screen);
    session.harness.run_steps(3);
    let keys = |session: &Session| session.harness.get_by_label_contains("all commands").rect();
    assert!(keys(&session).bottom() > screen.y, "{:?}", keys(&session));
    session.harness.get_by_label_contains("all commands").scroll_to_me();
    session.harness.run_steps(8);
    assert!(keys(&session).bottom() < screen.y, "{:?}", keys(&session));
}

#[test]
fn the_number_of_the_hit_is_that_of_the_selected_span_however_it_was_selected() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.search("read");
    session.until("the hits", |session| session.says("ListItem: read"));
    session.press(Modifiers::NONE, Key::Enter);
    session.until("the first hit", |session| session.says("Label: 1 of 2 hits"));
    session.harness.run_steps(2);
    let second = session.harness.get_by_label("read, main, at 0.000500000 s, 100 µs").rect();
    session.left_click(second.left_center() + vec2(20.0, 0.0));
    session.until("the second hit", |session| session.summary().contains("Selected: read, 100 µs"));
    session.until("its number", |session| session.says("Label: 2 of 2 hits"));
    // A span that is not a hit has no number.
    session.press(Modifiers::NONE, Key::ArrowUp);
    session.give("Parent span");
    session.until("the parent", |session| session.summary().contains("Selected: request"));
    session.until("no number", |session| session.says("Label: 2 hits"));
}

#[test]
fn the_palette_shows_why_the_chosen_command_is_not_available() {
    let mut session = Session::empty(SCREEN, 1.0);
    session.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
    session.harness.step();
    session.type_text("Flame graph");
    session.press(Modifiers::NONE, Key::Enter);
    session.harness.step();
    let reason = "Label: No trace is open";
    assert!(session.says(reason), "{}", session.node_texts().join("\n"));
    session.press(Modifiers::COMMAND, Key::A);
    session.type_text("Open");
    session.harness.step();
    assert!(!session.says(reason), "{}", session.node_texts().join("\n"));
}

#[test]
fn the_next_hit_after_the_last_is_the_first_and_the_panel_says_so() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.search("read");
    session.until("the hits", |session| session.says("Label: 2 hits"));
    let (next, previous) = (Modifiers::NONE, Modifiers::SHIFT);
    for (direction, said) in [
        (next, "1 of 2 hits"),
        (next, "2 of 2 hits"),
        (next, "1 of 2 hits (from the start)"),
        (previous, "2 of 2 hits (from the end)"),
        (previous, "1 of 2 hits"),
    ] {
        session.press(direction, Key::F3);
        session.until(said, |session| session.node_texts().iter().any(|text| text.ends_with(said)));
    }
}

#[test]
fn losses_are_read_out_with_their_number_and_reason() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.until("the number of losses", |session| session.says("Button: 1 import issue"));
    session.click("1 import issue");
    session.until("the list", |session| session.says("unmatched_end") || session.says("no begin"));
}

#[test]
fn losses_stand_by_severity_and_the_badge_counts_what_is_lost() {
    let lost = r#",{"ph":"Z","name":"odd","pid":1,"tid":7,"ts":5},{"ph":"Z","name":"odd","pid":1,"tid":7,"ts":6}
        ,{"ph":"q","name":"odd","pid":1,"tid":7,"ts":7}"#;
    let changed = r#",{"ph":"X","name":"early","pid":1,"tid":7,"ts":10,"dur":10},
        {"ph":"X","name":"late","pid":1,"tid":7,"ts":15,"dur":10}"#;
    let note = r#"{"ph":"M","name":"process_uptime_seconds","pid":1,"args":{"uptime":1}}"#;
    let shown = |events: &str| {
        let mut session = Session::empty(SCREEN, 1.0);
        session.open_text("severity.json", &format!("[{note}{events}]"));
        session
    };
    let mut session = shown(&format!("{changed}{lost}"));
    session.click("3 import issues");
    session.until("the list", |session| session.says("Seen: \"Z\" × 2, \"q\" × 1."));
    assert!(session.says("Seen: \"process_uptime_seconds\" × 1."));
    let texts = session.node_texts();
    let place = |text: &str| texts.iter().position(|node| node.contains(text)).unwrap_or_else(|| panic!("{texts:?}"));
    let headings = ["Data lost", "unknown phase", "Shown with changes", "overlap", "Information", "ignored metadata"];
    assert!(headings.map(place).is_sorted(), "{texts:?}");
    // Without losses there is no warning, and an intact trace has no button.
    let mut session = shown(changed);
    session.click("1 import issue");
    let is_shown = "Every event that was read is shown, some with changes.";
    session.until("the list", |session| session.says(is_shown) && session.says("Shown with changes"));
    let session = shown(r#",{"ph":"X","name":"early","pid":1,"tid":7,"ts":10,"dur":10}"#);
    assert!(!session.node_texts().iter().any(|node| node.starts_with("Button") && node.contains("mport issue")));
}

#[test]
fn escape_closes_the_windows_before_it_lets_go_of_the_selection() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.search("request");
    session.press(Modifiers::NONE, Key::Enter);
    session.until("the request", |session| session.summary().contains("Selected: request"));
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.step();
    session.give("Import issues");
    session.give("Keys");
    let (losses, keys) =
        (|session: &Session| session.says("no begin"), |session: &Session| session.says("Ctrl + wheel"));
    session.until("both windows", |session| losses(session) && keys(session));
    session.press(Modifiers::NONE, Key::Escape);
    session.until("one window", |session| losses(session) && !keys(session));
    session.press(Modifiers::NONE, Key::Escape);
    session.until("no window", |session| !losses(session));
    assert!(session.summary().contains("Selected: request"), "{}", session.summary());
    session.press(Modifiers::NONE, Key::Escape);
    session.until("nothing selected", |session| session.summary().contains("Nothing selected."));
}

#[test]
fn the_flame_graph_of_samples_is_of_one_event_which_is_chosen() {
    let mut session = Session::empty(SCREEN, 1.0);
    let sample = |ts: u32, event: &str, unit: &str, period: u32, name: &str| {
        format!(
            r#"{{"ph":"P","name":"{name}","pid":1,"tid":1,"ts":{ts},"sf":"{name}","args":{{"event":"{event}","unit":"{unit}","period":{period}}}}}"#
        )
    };
    let rows = [
        sample(1, "clock", "ns", 3_000_000, "spin"),
        sample(2, "clock", "ns", 1_000_000, "spin"),
        sample(3, "faults", "count", 7, "touch"),
    ];
    let frames = r#"{"spin":{"name":"spin"},"touch":{"name":"touch"}}"#;
    let trace = format!(r#"{{"stackFrames":{frames},"traceEvents":[{}]}}"#, rows.join(","));
    session.open_text("capture.json", &trace);
    session.press(Modifiers::COMMAND, Key::G);
    session.until("the event", |session| session.says("clock (ns)"));
    session.until("one bar", |session| session.says("Flame graph of 1 bars"));
    let choice = session.harness.get_by_role(egui::Role::ComboBox);
    choice.click();
    session.until("the other event", |session| session.says("faults (count)"));
    session.click("faults (count)");
    session.until("its paths", |session| {
        let choice = session.harness.get_by_role(egui::Role::ComboBox);
        choice.accesskit_node().value().as_deref() == Some("faults (count)")
    });
}

#[test]
fn the_hits_of_a_search_are_copied_as_a_table() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.search("read");
    session.until("the hits", |session| session.says("ListItem: read"));
    session.harness.run_steps(2);
    session.click("Copy");
    let table = crate::copied::copied(&session).expect("a table");
    let expected = "Name\tDuration (ns)\tStart\tTrack\tProcess\n\
        read\t200000\t0.000100000 s\tmain\tserver 1\nread\t100000\t0.000500000 s\tmain\tserver 1\n";
    assert_eq!(table, expected);
}

#[test]
fn the_bar_of_the_search_has_room_for_its_hits_with_large_text_on_a_dense_screen() {
    let mut session = Session::empty(vec2(480.0, 320.0), 2.0);
    let spans = (0..1500).map(|ts| format!(r#"{{"ph":"X","name":"read","pid":1,"tid":1,"ts":{ts},"dur":1}}"#));
    session.open_text("many.json", &format!("[{}]", spans.collect::<Vec<_>>().join(",")));
    for _ in 0..3 {
        session.give("Larger text");
    }
    session.search("read");
    session.press(Modifiers::NONE, Key::Enter);
    session.until("a hit", |session| session.says("1 of 1\u{2009}500 hits"));
    session.harness.run_steps(3);
    let place = |label: &str| session.harness.get_by_label(label).rect();
    let map = place("Map of the whole trace");
    let parts = ["Search", "Previous", "Next", "1 of 1\u{2009}500 hits", "Derive track", "Close"]
        .map(|part| (part, place(part)));
    for (number, (part, rect)) in parts.iter().enumerate() {
        assert!(rect.height() > 10.0 && rect.width() > 20.0, "{part} at {rect}");
        assert!(rect.left() >= 0.0 && rect.right() <= map.right() + 10.0, "{part} at {rect}, {map}");
        assert!(rect.bottom() <= map.top(), "{part} at {rect} above {map}");
        for (other, beside) in &parts[number + 1..] {
            assert!(!rect.shrink(1.0).intersects(*beside), "{part} at {rect}, {other} at {beside}");
        }
    }
}

#[test]
fn the_error_of_a_search_is_beside_its_buttons_and_in_the_list() {
    for width in [700.0, 1024.0, 1280.0] {
        let mut session = Session::with_capture(vec2(width, 700.0), 1.0);
        session.search("dur>=5:00");
        session.until("what is wrong", |session| session.says("expected a number of"));
        session.harness.run_steps(2);
        let errors = session.harness.query_all_by_label_contains("expected a number of");
        let mut places: Vec<_> = errors.map(|error| error.rect()).collect();
        places.sort_by(|a, b| a.top().total_cmp(&b.top()));
        let [in_bar, in_list] = places[..] else { panic!("{}", session.node_texts().join("\n")) };
        assert!(in_list.top() >= in_bar.bottom(), "{in_bar} {in_list}");
        let button = session.harness.get_by_label("Derive track").rect();
        assert!(!button.intersects(in_bar), "at {width}: {in_bar} over {button}");
        let close = session.harness.get_by_label("Close").rect();
        assert!(button.right() <= close.left() && close.right() <= width, "at {width}: {button} {close}");
    }
}

#[test]
fn an_error_that_fits_beside_its_buttons_is_not_in_the_list_again() {
    let mut session = Session::with_capture(vec2(1900.0, 700.0), 1.0);
    session.search("dur>=5:00");
    session.until("what is wrong", |session| session.says("expected a number of"));
    session.harness.run_steps(2);
    assert_eq!(session.harness.query_all_by_label_contains("expected a number of").count(), 1);
    assert!(session.says("names that have these letters"), "{}", session.node_texts().join("\n"));
}

#[test]
fn the_words_of_the_last_search_are_replaced_by_typing() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.press(Modifiers::COMMAND, Key::F);
    session.harness.run_steps(2);
    session.type_text("read");
    session.until("the hits", |session| session.says("Label: 2 hits"));
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.run_steps(2);
    for word in ["write", "request"] {
        session.press(Modifiers::COMMAND, Key::F);
        session.harness.run_steps(2);
        session.type_text(word);
        let is_typed = |text: &String| text.starts_with("TextInput: Search") && text.ends_with(word);
        session.until(word, |session| session.node_texts().iter().any(is_typed));
        assert!(!session.says(&format!("read{word}")) && !session.says("writerequest"));
    }
}

#[test]
fn the_longest_hits_come_first_where_that_is_chosen_and_are_copied_and_written_so() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.search("cat:io");
    session.until("the hits", |session| session.says("ListItem: write"));
    session.click("Longest");
    let first_words = |session: &Session| -> Vec<String> {
        let rows = session.harness.query_all_by_role(egui::Role::ListItem);
        let label = |row: egui_kittest::Node<'_>| row.accesskit_node().label().unwrap_or_default();
        rows.map(label).map(|row| row.rsplit(", ").next().unwrap_or_default().to_owned()).collect()
    };
    session.until("the longest first", |session| first_words(session) == ["400 µs", "300 µs", "200 µs", "100 µs"]);
    assert!(session.says("4 of the hits that are spans"), "{}", session.node_texts().join("\n"));
    session.click("Copy");
    let table = crate::copied::copied(&session).expect("a table");
    assert!(table.lines().nth(1).is_some_and(|line| line.starts_with("write\t400000\t")), "{table}");
    session.click("Copy as command");
    let printed = crate::frame::run_by_shell(&crate::copied::copied(&session).expect("a command"));
    assert_eq!(printed.lines().count(), 5, "{printed}");
    // The next hit is still the one after the selected one in time.
    session.click("Next");
    session.until("its number", |session| session.says("of 4 hits"));
    session.click("By time");
    session.until("the order of time", |session| {
        first_words(session).get(..2).is_some_and(|first| first == ["400 µs", "200 µs"])
    });
    // An instant is a hit without a duration.
    session.click("Longest");
    session.click("Search");
    session.press(Modifiers::COMMAND, Key::A);
    session.type_text("flushed");
    session.until("why there is none", |session| session.says("No hit is a span, so none has a duration."));
}

#[test]
fn a_mistyped_key_of_a_search_is_named_where_nothing_matches() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.search("durr>1ms");
    session.until("the key that is meant", |session| session.says("did you mean `dur>`?"));
}

#[test]
fn a_low_dock_shows_several_of_the_longest_spans_of_a_name() {
    let mut session = Session::empty(SCREEN, 1.0);
    let spans = (0..40).map(|ts| format!(r#"{{"ph":"X","name":"read","pid":1,"tid":1,"ts":{},"dur":{}}}"#, ts * 10, 5));
    session.open_text("many.json", &format!("[{}]", spans.collect::<Vec<_>>().join(",")));
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the line", |session| session.says("ListItem: read"));
    session.harness.run_steps(2);
    session.click("read");
    session.until("the longest", |session| session.says("5.000 µs  at"));
    session.harness.run_steps(3);
    let bottom = session.harness.get_by_label("Map of the whole trace").rect().bottom().max(SCREEN.y - 30.0);
    let links = session.harness.query_all_by_label_contains("5.000 µs  at");
    let shown = links.filter(|link| link.rect().bottom() < bottom).count();
    assert!(shown >= 5, "{shown}");
}
