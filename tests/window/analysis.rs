//! Search, statistics of a time range and of one name, the context menu, and the list of keyboard shortcuts. The input
//! is real; the screen reader, the clipboard and pixels check the result.

use crate::accessibility::view_s;
use crate::screenshot::span_color;
use crate::session::{Session, Window, wait_for};
use crate::tracks::{self, find_span};

/// A request with two nested reads on one thread, and two writes on another.
const SERVER: &str = r#"[
    {"ph":"X","name":"request","cat":"net","pid":1,"tid":1,"ts":0,"dur":1000000},
    {"ph":"X","name":"read","cat":"io","pid":1,"tid":1,"ts":100000,"dur":200000},
    {"ph":"X","name":"read","cat":"io","pid":1,"tid":1,"ts":500000,"dur":100000},
    {"ph":"X","name":"write","cat":"io","pid":1,"tid":2,"ts":0,"dur":400000},
    {"ph":"X","name":"write","cat":"io","pid":1,"tid":2,"ts":600000,"dur":300000}]"#;

fn open_trace(session: &Session) -> Window<'_> {
    let window = tracks::open_trace(session, "server.json", SERVER, "write");
    window.wait_for_label("Timeline of 2 tracks");
    window
}

/// Types a filter into the search field and replaces its text.
fn search(window: &Window<'_>, filter: &str) {
    window.key("ctrl+f");
    window.wait_for_label("Search");
    window.xdotool(&["key", "ctrl+a"]);
    window.xdotool(&["type", "--delay", "10", filter]);
}

#[test]
fn a_search_by_text_regex_or_condition_dims_other_spans_and_steps_through_its_hits() {
    let session = Session::with_screen_reader();
    let window = open_trace(&session);
    let request = find_span(&window.screenshot(), "request").expect("a span");
    for (filter, hits) in [
        ("REA", "2 hits"),
        ("/^w.*e$/", "2 hits"),
        ("~rqst", "1 hit"),
        ("cat:io dur>=200ms", "3 hits"),
        ("nobody", "No hits"),
        ("dur>soon", "expected a number of"),
    ] {
        search(&window, filter);
        window.wait_for_label(hits);
    }
    search(&window, "cat:io dur>=200ms");
    window.wait_for_label("Hits 1 to 3 of 3");
    window.wait_for("the request dimmed", |window| find_span(&window.screenshot(), "request").is_none().then_some(()));
    window.wait_for("the hits in full colour", |window| find_span(&window.screenshot(), "write"));
    window.key("Return");
    window.wait_for_label("Selected: write, 400 ms");
    window.key("Return");
    window.wait_for_label("Selected: read, 200 ms");
    window.key("F3");
    window.wait_for_label("Selected: write, 300 ms");
    window.key("shift+F3");
    window.wait_for_label("2 of 3 hits");
    window.click_node("write, Thread 2, at 0.600000000 s, 300 ms");
    window.wait_for_label("Selected: write, 300 ms");
    window.click_node("Search");
    window.settled();
    window.key("Escape");
    window.wait_for_no_label("Search");
    window.wait_for("all in full colour", |window| {
        find_span(&window.screenshot(), "request").filter(|now| now.top == request.top)
    });
}

/// Returns the clipboard as pasted by another program.
fn clipboard_text(window: &Window<'_>) -> String {
    window.session.tool("xclip", &["-selection", "clipboard", "-out"])
}

#[test]
fn statistics_of_a_time_range_are_sorted_and_copied_and_link_to_the_longest_spans() {
    let session = Session::with_screen_reader();
    let window = open_trace(&session);
    // The second half has one write, one read, and the request.
    let ruler = window.rect_of("Ruler: drag to select time");
    let request = find_span(&window.screenshot(), "request").expect("a span");
    let middle = usize::midpoint(request.left, request.right) - 40;
    window.drag((middle, ruler.middle().1), (request.right + 10, ruler.middle().1));
    window.key("ctrl+t");
    window.wait_for_label("of the selected ");
    let lines = |window: &Window<'_>| {
        let names = ["request", "read", "write"];
        let nodes = window.nodes().into_iter().map(|node| node.name);
        nodes.filter(|name| names.contains(&name.as_str())).collect::<Vec<_>>()
    };
    let wait_for_order = |expected: &[&str]| {
        window.wait_for(&expected.join(" "), |window| (lines(window) == expected).then_some(()));
    };
    wait_for_order(&["request", "write", "read"]);
    window.click_node("Name");
    wait_for_order(&["read", "request", "write"]);
    window.click_node("Name");
    wait_for_order(&["write", "request", "read"]);
    window.click_node("Copy");
    let table =
        window.wait_for("the table", |window| Some(clipboard_text(window)).filter(|table| table.contains("request")));
    let rows: Vec<&str> = table.lines().collect();
    assert!(rows[0].starts_with("Name\tCount\tTotal (ns)\tTotal share\tSelf (ns)\tMean (ns)\t"), "{table}");
    assert!(rows[1].starts_with("write\t1\t") && rows.len() == 4, "{table}");
    // The selected name has a histogram and its longest spans beside it.
    window.click_node("read");
    window.wait_for_label("Over time");
    window.click_node("100.0 ms  at 0.500000000 s");
    window.wait_for_label("Selected: read, 100 ms");
    window.move_pointer((700, 350));
    window.key("Escape");
    window.wait_for_label("of the whole trace");
}

#[test]
fn histogram_bars_of_a_name_search_its_durations_and_zoom_to_its_times() {
    let session = Session::with_screen_reader();
    let window = open_trace(&session);
    let write = find_span(&window.screenshot(), "write").expect("a span");
    window.move_pointer((write.left + 100, write.middle().1));
    window.xdotool(&["click", "3"]);
    window.click_node("Statistics of this name");
    window.wait_for_label("Over time");
    let over_time = window.rect_of("Over time");
    // The bars are below the labels, with the first one at the left.
    window.click((over_time.left + 4, over_time.bottom + 40));
    window.wait_for("the first part of the time", |window| Some(view_s(window)).filter(|view| view.1 < 0.2));
    let durations = window.rect_of("Durations (log scale)");
    window.click((durations.left + 4, durations.bottom + 40));
    let filter =
        window.wait_for("the search", |window| window.text_in("Search").filter(|text| text.starts_with("dur>=")));
    assert!(filter.contains("dur<=") && filter.ends_with("name:/^write$/"), "{filter}");
    // The shorter write is at the left.
    window.wait_for_label("1 hit");
    window.wait_for_label("write, Thread 2, at 0.600000000 s, 300 ms");
}

#[test]
fn the_context_menu_has_actions_for_the_span_the_time_and_the_track() {
    let session = Session::with_screen_reader();
    let window = open_trace(&session);
    let write = find_span(&window.screenshot(), "write").expect("a span");
    let open_at = |at: (usize, usize)| {
        window.move_pointer(at);
        window.xdotool(&["click", "3"]);
    };
    open_at((write.right - 20, write.middle().1));
    window.click_node("Zoom to the span F");
    window.wait_for_label("Selected: write, 300 ms");
    window
        .wait_for("the span fills the view", |window| Some(view_s(window)).filter(|view| view.0 > 0.5 && view.1 < 1.0));
    window.move_pointer((700, 500));
    window.key("Home");
    window.wait_for("the whole", |window| Some(view_s(window)).filter(|view| view.0 <= 0.0));
    window.settled();
    open_at((write.right - 20, write.middle().1));
    window.click_node("Search for this name");
    window.wait_for("the search", |window| window.text_in("Search").filter(|text| text.contains("write")));
    window.settled();
    window.key("Escape");
    window.wait_for_no_label("Search");
    // Escape closes only the menu. Without a span under the pointer, the menu has no zoom.
    window.settled();
    open_at((700, 420));
    window.wait_for_label("Add marker");
    assert!(!window.has_label("Zoom to the span"));
    window.key("Escape");
    window.wait_for_no_label("Add marker");
    window.wait_for_label("Selected: write");
    open_at((write.right - 20, find_span(&window.settled(), "write").expect("a span").middle().1));
    window.click_node("The track");
    window.click_node("Hide the track");
    window.wait_for_no_label("Thread 2, unfolded");
}

#[test]
fn the_question_mark_shows_the_keyboard_shortcuts_and_escape_closes_them() {
    let session = Session::with_screen_reader();
    let window = open_trace(&session);
    for key in ["question", "F1"] {
        window.key(key);
        window.wait_for_label("Mouse and held keys");
        assert!(window.has_label("Longest child") && window.has_label("Select time and the tracks that it crosses"));
        window.key("Escape");
        window.wait_for_no_label("Mouse and held keys");
    }
}

#[test]
fn the_keyboard_alone_opens_a_trace_folds_its_tracks_and_uses_its_menus() {
    let session = Session::with_screen_reader();
    let trace = session.file("server.json", SERVER);
    let window = session.open(&[]);
    window.move_pointer((700, 700));
    window.wait_for_label("Open a demo");
    window.key("ctrl+o");
    window.wait_for_label("Open a trace, or several on one timeline");
    window.enter_text(crate::session::text(&trace));
    window.wait_for_label("Timeline of 2 tracks");
    let focused_nodes = || {
        let mut focused: Vec<_> = window.nodes().into_iter().filter(|node| node.is_focused).collect();
        focused.sort_by(|a, b| a.path.cmp(&b.path));
        focused
    };
    // Waits until the focus is stable: between two controls, none or both may claim it.
    let stable_focus = || {
        let mut last = Vec::new();
        window.wait_for("a focused node", |_| {
            let before = std::mem::replace(&mut last, focused_nodes());
            (!last.is_empty() && last == before).then(|| last.clone())
        })
    };
    let go_to = |name: &str| {
        window.wait_for(&format!("{name} has the focus"), |window| {
            let before = stable_focus();
            if before.iter().any(|node| node.name.starts_with(name)) {
                return Some(());
            }
            window.key("Tab");
            window.wait_for("the next node has the focus", |_| (stable_focus() != before).then_some(()));
            None
        });
    };
    // The names of tracks are one stop, and arrow keys go through them.
    go_to("Process 1");
    window.key("Down");
    window.wait_for("Thread 1 has the focus", |_| {
        stable_focus().iter().any(|node| node.name.starts_with("Thread 1")).then_some(())
    });
    window.key("Return");
    window.wait_for_label("Thread 1, folded");
    window.key("Return");
    window.wait_for_label("Thread 1, unfolded");
    go_to("Analyze");
    window.key("Return");
    window.wait_for_label("Statistics Ctrl+T");
    go_to("Statistics");
    window.key("Return");
    window.wait_for_label("of the whole trace");
    wait_for("the unchanged trace file", || std::fs::read_to_string(&trace).ok().filter(|now| now == SERVER));
    assert!(window.screenshot().find(span_color("write")).is_some());
}

#[test]
fn a_row_of_the_span_list_selects_its_span_and_a_right_click_on_a_header_hides_a_column() {
    let session = Session::with_screen_reader();
    let window = open_trace(&session);
    window.key("ctrl+l");
    window.wait_for_label("exact");
    window.click_node("write, Thread 2, at 0.600000000 s, 300 ms");
    window.wait_for_label("Selected: write, 300 ms");
    window.settled();
    // The node is the handle at the right edge of the header, which resizes the column.
    let edge = window.rect_of("Width of Start");
    window.move_pointer((edge.left - 20, edge.middle().1));
    window.xdotool(&["click", "3"]);
    window.click_node("Column Start");
    window.key("Escape");
    window.wait_for_no_label("Width of Start");
    assert!(window.has_label("Selected: write"), "Escape closes the menu and nothing under it");
}
