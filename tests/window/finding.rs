//! Ways to find something: search, totals of a time range, one name, the context menu, the list of keys. With real
//! input, checked by screen reader, clipboard and pixels.

use crate::picture::span_color;
use crate::rows::{self, span_on};
use crate::session::{Session, Window, until};
use crate::told::view_s;

/// A request with two nested reads on one thread, and two writes on another.
const SERVER: &str = r#"[
    {"ph":"X","name":"request","cat":"net","pid":1,"tid":1,"ts":0,"dur":1000000},
    {"ph":"X","name":"read","cat":"io","pid":1,"tid":1,"ts":100000,"dur":200000},
    {"ph":"X","name":"read","cat":"io","pid":1,"tid":1,"ts":500000,"dur":100000},
    {"ph":"X","name":"write","cat":"io","pid":1,"tid":2,"ts":0,"dur":400000},
    {"ph":"X","name":"write","cat":"io","pid":1,"tid":2,"ts":600000,"dur":300000}]"#;

fn opened(session: &Session) -> Window<'_> {
    let window = rows::opened(session, "server.json", SERVER, "write");
    window.until_said("Timeline of 2 tracks");
    window
}

/// Types a filter into the search field and replaces its text.
fn search(window: &Window<'_>, filter: &str) {
    window.key("ctrl+f");
    window.until_said("Search");
    window.xdotool(&["key", "ctrl+a"]);
    window.xdotool(&["type", "--delay", "10", filter]);
}

#[test]
fn a_search_takes_letters_patterns_and_terms_dims_the_rest_and_leads_from_hit_to_hit() {
    let session = Session::with_reader();
    let window = opened(&session);
    let request = span_on(&window.look(), "request").expect("a span");
    for (filter, hits) in [
        ("REA", "2 hits"),
        ("/^w.*e$/", "2 hits"),
        ("~rqst", "1 hit"),
        ("cat:io dur>=200ms", "3 hits"),
        ("nobody", "No hits"),
        ("dur>soon", "expected a number of"),
    ] {
        search(&window, filter);
        window.until_said(hits);
    }
    search(&window, "cat:io dur>=200ms");
    window.until_said("Hits 1 to 3 of 3");
    window.until("the request dimmed", |window| span_on(&window.look(), "request").is_none().then_some(()));
    window.until("what was found in full colour", |window| span_on(&window.look(), "write"));
    window.key("Return");
    window.until_said("Selected: write, 400 ms");
    window.key("Return");
    window.until_said("Selected: read, 200 ms");
    window.key("F3");
    window.until_said("Selected: write, 300 ms");
    window.key("shift+F3");
    window.until_said("2 of 3 hits");
    window.press("write, Thread 2, at 0.600000000 s, 300 ms");
    window.until_said("Selected: write, 300 ms");
    window.press("Search");
    window.settled();
    window.key("Escape");
    window.until_unsaid("Search");
    window
        .until("all in full colour", |window| span_on(&window.look(), "request").filter(|now| now.top == request.top));
}

/// Returns the clipboard as pasted by another program.
fn copied(window: &Window<'_>) -> String {
    window.session.tool("xclip", &["-selection", "clipboard", "-out"])
}

#[test]
fn totals_of_a_slice_of_time_are_sorted_narrowed_copied_and_lead_to_the_longest() {
    let session = Session::with_reader();
    let window = opened(&session);
    // The second half: one write, one read, and the request.
    let ruler = window.place_of("Ruler: drag to select time");
    let request = span_on(&window.look(), "request").expect("a span");
    let middle = usize::midpoint(request.left, request.right) - 40;
    window.drag((middle, ruler.middle().1), (request.right + 10, ruler.middle().1));
    window.key("ctrl+t");
    window.until_said("of the selected ");
    let lines = |window: &Window<'_>| {
        let names = ["request", "read", "write"];
        let told = window.nodes().into_iter().map(|told| told.name);
        told.filter(|name| names.contains(&name.as_str())).collect::<Vec<_>>()
    };
    let are = |expected: &[&str]| {
        window.until(&expected.join(" "), |window| (lines(window) == expected).then_some(()));
    };
    are(&["request", "write", "read"]);
    window.press("Name");
    are(&["read", "request", "write"]);
    window.press("Name");
    are(&["write", "request", "read"]);
    window.press("Copy");
    let table = window.until("the table", |window| Some(copied(window)).filter(|table| table.contains("request")));
    let rows: Vec<&str> = table.lines().collect();
    assert!(rows[0].starts_with("Name\tCount\tTotal (ns)\tTotal share\tSelf (ns)\tMean (ns)\t"), "{table}");
    assert!(rows[1].starts_with("write\t1\t") && rows.len() == 4, "{table}");
    // The selected name has a histogram and its longest spans beside it.
    window.press("read");
    window.until_said("Over time");
    window.press("100.0 ms  at 0.500000000 s");
    window.until_said("Selected: read, 100 ms");
    window.point((700, 350));
    window.key("Escape");
    window.until_said("of the whole trace");
}

#[test]
fn a_bar_of_a_name_finds_the_spans_that_take_as_long_and_a_part_of_its_time_fills_the_view() {
    let session = Session::with_reader();
    let window = opened(&session);
    let write = span_on(&window.look(), "write").expect("a span");
    window.point((write.left + 100, write.middle().1));
    window.xdotool(&["click", "3"]);
    window.press("Statistics of this name");
    window.until_said("Over time");
    let over_time = window.place_of("Over time");
    // The bars are below the labels, with the first one at the left.
    window.click((over_time.left + 4, over_time.bottom + 40));
    window.until("the first part of the time", |window| Some(view_s(window)).filter(|view| view.1 < 0.2));
    let durations = window.place_of("Durations (log scale)");
    window.click((durations.left + 4, durations.bottom + 40));
    let filter = window.until("the search", |window| window.text_in("Search").filter(|text| text.starts_with("dur>=")));
    assert!(filter.contains("dur<=") && filter.ends_with("name:/^write$/"), "{filter}");
    // The shorter one is at the left.
    window.until_said("1 hit");
    window.until_said("write, Thread 2, at 0.600000000 s, 300 ms");
}

#[test]
fn the_right_button_offers_what_can_be_done_with_a_span_the_time_and_the_track() {
    let session = Session::with_reader();
    let window = opened(&session);
    let write = span_on(&window.look(), "write").expect("a span");
    let open_at = |at: (usize, usize)| {
        window.point(at);
        window.xdotool(&["click", "3"]);
    };
    open_at((write.right - 20, write.middle().1));
    window.press("Zoom to the span F");
    window.until_said("Selected: write, 300 ms");
    window.until("the span fills the view", |window| Some(view_s(window)).filter(|view| view.0 > 0.5 && view.1 < 1.0));
    window.point((700, 500));
    window.key("Home");
    window.until("the whole", |window| Some(view_s(window)).filter(|view| view.0 <= 0.0));
    window.settled();
    open_at((write.right - 20, write.middle().1));
    window.press("Search for this name");
    window.until("the search", |window| window.text_in("Search").filter(|text| text.contains("write")));
    window.settled();
    window.key("Escape");
    window.until_unsaid("Search");
    // Escape closes only the menu. Without a span under the pointer, the menu has no zoom.
    window.settled();
    open_at((700, 420));
    window.until_said("Add marker");
    assert!(!window.says("Zoom to the span"));
    window.key("Escape");
    window.until_unsaid("Add marker");
    window.until_said("Selected: write");
    open_at((write.right - 20, span_on(&window.settled(), "write").expect("a span").middle().1));
    window.press("The track");
    window.press("Hide the track");
    window.until_unsaid("Thread 2, unfolded");
}

#[test]
fn the_question_mark_shows_the_keys_and_escape_puts_them_away() {
    let session = Session::with_reader();
    let window = opened(&session);
    for key in ["question", "F1"] {
        window.key(key);
        window.until_said("Mouse and held keys");
        assert!(window.says("Longest child") && window.says("Select time and the tracks that it crosses"));
        window.key("Escape");
        window.until_unsaid("Mouse and held keys");
    }
}

#[test]
fn the_keyboard_alone_opens_a_capture_folds_its_tracks_and_goes_through_its_menus() {
    let session = Session::with_reader();
    let capture = session.file("server.json", SERVER);
    let window = session.open(&[]);
    window.point((700, 700));
    window.until_said("Open a demo");
    window.key("ctrl+o");
    window.until_said("Open a trace, or several on one timeline");
    window.enter(crate::session::text(&capture));
    window.until_said("Timeline of 2 tracks");
    let have_keys = || {
        let mut have: Vec<_> = window.nodes().into_iter().filter(|told| told.is_focused).collect();
        have.sort_by(|a, b| a.path.cmp(&b.path));
        have
    };
    // Waits until the focus is stable: between two controls, none or both may claim it.
    let focused = || {
        let mut last = Vec::new();
        window.until("something has the keys", |_| {
            let before = std::mem::replace(&mut last, have_keys());
            (!last.is_empty() && last == before).then(|| last.clone())
        })
    };
    let go_to = |name: &str| {
        window.until(&format!("{name} has the keys"), |window| {
            let before = focused();
            if before.iter().any(|told| told.name.starts_with(name)) {
                return Some(());
            }
            window.key("Tab");
            window.until("the next has the keys", |_| (focused() != before).then_some(()));
            None
        });
    };
    go_to("Thread 1");
    window.key("Return");
    window.until_said("Thread 1, folded");
    window.key("Return");
    window.until_said("Thread 1, unfolded");
    go_to("Analyze");
    window.key("Return");
    window.until_said("Statistics Ctrl+T");
    go_to("Statistics");
    window.key("Return");
    window.until_said("of the whole trace");
    until("no capture is changed", || std::fs::read_to_string(&capture).ok().filter(|now| now == SERVER));
    assert!(window.look().find(span_color("write")).is_some());
}

#[test]
fn a_row_of_the_list_of_spans_selects_its_span_and_a_right_click_on_a_head_hides_a_column() {
    let session = Session::with_reader();
    let window = opened(&session);
    window.key("ctrl+l");
    window.until_said("exact");
    window.press("write, Thread 2, at 0.600000000 s, 300 ms");
    window.until_said("Selected: write, 300 ms");
    window.settled();
    // The right edge of the header, which resizes the column.
    let edge = window.place_of("Width of Start");
    window.point((edge.left - 20, edge.middle().1));
    window.xdotool(&["click", "3"]);
    window.press("Column Start");
    window.key("Escape");
    window.until_unsaid("Width of Start");
    assert!(window.says("Selected: write"), "Escape closes the menu and nothing under it");
}
