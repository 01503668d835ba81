//! Navigation between spans and markers by pointer and keys, hidden tracks, and kinetic panning. The input is real;
//! pixels check the result.

use crate::open::TWO_SPANS;
use crate::screenshot::{Color, Rect, SELECTION, Screenshot};
use crate::session::{Session, Window};
use crate::tracks::{FIRST_TRACK, TRACK_AREA, find_span, many_threads, open_trace};

/// A span with a nested one, and a third after both.
const NESTED: &str = r#"[
    {"ph":"X","name":"alpha","pid":1,"tid":1,"ts":0,"dur":400000},
    {"ph":"X","name":"inner","pid":1,"tid":1,"ts":100000,"dur":200000},
    {"ph":"X","name":"omega","pid":1,"tid":1,"ts":600000,"dur":400000}]"#;

/// The line of the last marker that was added or selected.
const MARKER: Color = [0xf2, 0xb1, 0x4a];

/// The area above the resting pointer, whose cursor has white pixels.
const TOP_TRACKS: Rect = Rect { bottom: 200, ..TRACK_AREA };

/// Position of the resting pointer: on the canvas, but on no span.
const FREE: (usize, usize) = (700, 600);

#[track_caller]
fn wait_for_selection(window: &Window<'_>, name: &str) {
    window.wait_for(&format!("{name} is selected"), |window| {
        let screenshot = window.screenshot();
        let (span, outline) = (find_span(&screenshot, name)?, screenshot.find_in(TOP_TRACKS, SELECTION)?);
        (outline.left.abs_diff(span.left) <= 3 && outline.right.abs_diff(span.right) <= 3).then_some(())
    });
}

fn marker_x(screenshot: &Screenshot) -> Option<usize> {
    screenshot.find_in(TRACK_AREA, MARKER).map(|line| line.left)
}

#[test]
fn keys_select_the_previous_and_next_span_the_parent_and_the_longest_child() {
    let session = Session::new();
    let window = open_trace(&session, "nested.json", NESTED, "omega");
    let alpha = find_span(&window.settled(), "alpha").expect("the span");
    window.click((alpha.right - 10, alpha.middle().1));
    window.settled();
    window.move_pointer((700, 350));
    wait_for_selection(&window, "alpha");
    for (key, selected) in [
        ("bracketright", "omega"),
        ("bracketleft", "alpha"),
        ("Down", "inner"),
        ("Up", "alpha"),
        ("period", "omega"),
        ("comma", "alpha"),
    ] {
        window.key(key);
        wait_for_selection(&window, selected);
    }
}

#[test]
fn a_double_click_zooms_to_a_span_and_keys_zoom_out_and_go_back_and_forward() {
    let session = Session::new();
    let window = open_trace(&session, "two.json", TWO_SPANS, "omega");
    let whole = find_span(&window.settled(), "omega").expect("the span");
    let wait_for_width = |what: &str, is_right: &dyn Fn(usize) -> bool| {
        window.wait_for(what, |window| find_span(&window.screenshot(), "omega").filter(|span| is_right(span.width())));
        window.settled();
    };
    window.move_pointer(whole.middle());
    window.xdotool(&["click", "--repeat", "2", "--delay", "60", "1"]);
    // In a slow frame, the pointer would move before the click is handled.
    window.settled();
    window.move_pointer(FREE);
    wait_for_width("the span fills the view", &|width| width > 800);
    window.key("0");
    wait_for_width("the whole trace", &|width| width.abs_diff(whole.width()) <= 2);
    window.key("alt+Left");
    wait_for_width("the previous view of the span", &|width| width > 800);
    window.key("alt+Right");
    wait_for_width("the next view of the whole trace", &|width| width.abs_diff(whole.width()) <= 2);
    window.key("f");
    wait_for_width("the selected span", &|width| width > 800);
}

#[test]
fn markers_are_added_at_the_pointer_and_the_view_zooms_to_the_time_between_two() {
    let session = Session::new();
    let window = open_trace(&session, "two.json", TWO_SPANS, "omega");
    for x in [600, 900] {
        window.move_pointer((x, FREE.1));
        window.settled();
        window.key("m");
        window.wait_for("the marker", |window| marker_x(&window.screenshot()).filter(|at| at.abs_diff(x) <= 1));
    }
    window.key("shift+n");
    window.wait_for("the previous marker", |window| marker_x(&window.screenshot()).filter(|at| at.abs_diff(600) <= 1));
    window.key("n");
    window.wait_for("the next marker", |window| marker_x(&window.screenshot()).filter(|at| at.abs_diff(900) <= 1));
    let before = find_span(&window.settled(), "omega").expect("the span");
    window.key("shift+m");
    window.wait_for("the time between the markers", |window| {
        find_span(&window.screenshot(), "omega").filter(|now| now.left > before.left + 100)
    });
}

#[test]
fn a_hidden_track_stays_hidden_until_all_are_shown() {
    let session = Session::new();
    let window = open_trace(&session, "many.json", &many_threads(), "span 0");
    let row = find_span(&window.settled(), "span 0").expect("the first track");
    window.move_pointer(FIRST_TRACK);
    window.settled();
    window.click((217, FIRST_TRACK.1));
    window.settled();
    window.move_pointer(FREE);
    window.wait_for("the next track in its place", |window| {
        let screenshot = window.screenshot();
        let next = find_span(&screenshot, "span 1").filter(|next| next.top == row.top);
        next.filter(|_| find_span(&screenshot, "span 0").is_none())
    });
    let before = window.settled();
    window.key("ctrl+shift+p");
    window.wait_for("the list of commands", |window| (window.screenshot() != before).then_some(()));
    window.xdotool(&["type", "--delay", "10", "show hidden"]);
    window.key("Return");
    window.wait_for("the track again", |window| {
        find_span(&window.screenshot(), "span 0").filter(|now| now.top == row.top)
    });
}

/// Drags left by 100 pixels and releases at speed. Returns the total distance that the span moved.
fn throw_px(window: &Window<'_>) -> usize {
    window.key("Home");
    window.settled();
    window.xdotool(&["key", "--repeat", "4", "plus"]);
    let before = find_span(&window.settled(), "omega").expect("the span").left;
    let mut args: Vec<String> = ["mousemove", "900", "600", "mousedown", "1"].map(str::to_owned).into();
    for step in 1..=10 {
        args.extend(["sleep", "0.02", "mousemove", &(900 - 10 * step).to_string(), "600"].map(str::to_owned));
    }
    args.extend(["mouseup", "1"].map(str::to_owned));
    window.xdotool(&args.iter().map(String::as_str).collect::<Vec<_>>());
    before - find_span(&window.settled(), "omega").expect("the span").left
}

#[test]
fn a_drag_released_at_speed_keeps_panning_unless_kinetic_panning_is_off() {
    // On a small screen, software rendering keeps up with the drag on a busy machine too.
    let session = Session::with_screen(1000, 700);
    // The span is in the middle, so it stays visible during a zoom.
    let trace = r#"[{"ph":"X","name":"first","pid":1,"tid":1,"ts":0,"dur":10},
        {"ph":"X","name":"omega","pid":1,"tid":1,"ts":1000000,"dur":20000},
        {"ph":"X","name":"last","pid":1,"tid":1,"ts":2000000,"dur":10}]"#;
    let window = open_trace(&session, "thrown.json", trace, "omega");
    // Below some twenty frames per second, the speed of the drag is unknown; with fewer than three frames the drag is
    // a click. So not every throw works on a busy machine.
    let throws: Vec<_> = (0..20).map(|_| throw_px(&window)).take_while(|&moved_px| moved_px <= 110).collect();
    assert!(throws.len() < 20, "a throw by 100 pixels moves the span by {throws:?}");
    let (status, stderr) = window.close();
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    std::fs::remove_dir_all(session.folder.path().join("state")).expect("the saved state of the trace");
    session.file("config/longspan/preferences.json", r#"{"navigation":{"inertia":false}}"#);
    let window = open_trace(&session, "thrown.json", trace, "omega");
    let throws: Vec<_> = (0..3).map(|_| throw_px(&window)).collect();
    assert!(throws.iter().all(|&moved_px| moved_px <= 103), "a throw by 100 pixels moves the span by {throws:?}");
}
