//! Tracks arranged by pointer and keys, commands found by name, and the restored state of a reopened trace.

use crate::open::TWO_SPANS;
use crate::screenshot::{CANVAS, Rect, Screenshot, span_color};
use crate::session::{Session, Window, text};

/// The canvas below the ruler and to the right of the names, in a window of the usual size.
pub(crate) const TRACK_AREA: Rect = Rect { left: 240, top: 96, right: 1270, bottom: 775 };

/// Positions of the name of the first process, and of its first track.
const FIRST_PROCESS: (usize, usize) = (100, 107);
pub(crate) const FIRST_TRACK: (usize, usize) = (100, 132);

/// Sixty threads, each with one span over the whole time, named after it.
pub(crate) fn many_threads() -> String {
    let lines = (0..60).map(|thread| {
        format!(
            r#"{{"ph":"M","name":"thread_name","pid":1,"tid":{thread},"args":{{"name":"worker {thread}"}}}},
            {{"ph":"X","name":"span {thread}","pid":1,"tid":{thread},"ts":0,"dur":1000}}"#
        )
    });
    format!("[{}]", lines.collect::<Vec<_>>().join(","))
}

pub(crate) fn open_trace<'a>(session: &'a Session, name: &str, json: &str, shows: &str) -> Window<'a> {
    session.file(name, json);
    reopen_trace(session, name, shows)
}

/// Like `open_trace`, for an existing file.
pub(crate) fn reopen_trace<'a>(session: &'a Session, name: &str, shows: &str) -> Window<'a> {
    let window = session.open(&[text(&session.folder.path().join(name))]);
    window.wait_for_color("the spans", span_color(shows));
    window.move_pointer((700, 700));
    window.settled();
    window
}

pub(crate) fn find_span(screenshot: &Screenshot, name: &str) -> Option<Rect> {
    screenshot.find_in(TRACK_AREA, span_color(name))
}

#[test]
fn a_click_on_a_process_folds_it_to_a_summary_strip_and_another_unfolds_it() {
    let session = Session::new();
    let window = open_trace(&session, "two.json", TWO_SPANS, "omega");
    let unfolded = find_span(&window.settled(), "omega").expect("the span");
    window.click(FIRST_PROCESS);
    let strip = window.wait_for("the strip", |window| {
        find_span(&window.screenshot(), "omega").filter(|now| now.bottom <= FIRST_PROCESS.1 + 14)
    });
    assert!(
        strip.left.abs_diff(unfolded.left) <= 4 && strip.right.abs_diff(unfolded.right) <= 4,
        "{strip:?} {unfolded:?}"
    );
    window.move_pointer((700, 700));
    window.settled();
    window.click(FIRST_PROCESS);
    window.wait_for("the unfolded track", |window| {
        find_span(&window.screenshot(), "omega").filter(|now| *now == unfolded)
    });
}

#[test]
fn a_pinned_track_stays_while_the_wheel_scrolls_tracks_and_after_the_trace_is_reopened() {
    let session = Session::new();
    let json = many_threads();
    let window = open_trace(&session, "many.json", &json, "span 0");
    window.move_pointer(FIRST_TRACK);
    window.settled();
    // The pin is to the left of the cross at the right edge of the name.
    window.click((199, FIRST_TRACK.1));
    let pinned = window.wait_for("the pinned track", |window| {
        find_span(&window.screenshot(), "span 0").filter(|now| now.top < 110 && now.bottom > 130)
    });
    window.move_pointer((700, 600));
    window.xdotool(&["click", "--repeat", "30", "5"]);
    let last = span_color("span 59");
    window.wait_for("the last track", |window| window.screenshot().find_in(TRACK_AREA, last));
    let after = find_span(&window.settled(), "span 0").expect("the pinned track stays");
    assert!(after.top == pinned.top && after.bottom < pinned.bottom, "{after:?} {pinned:?}");
    let (status, stderr) = window.close();
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    let window = session.open(&[text(&session.folder.path().join("many.json"))]);
    let again = window.wait_for("the pinned track again", |window| find_span(&window.screenshot(), "span 0"));
    assert_eq!((again.top, again.bottom), (after.top, after.bottom));
}

#[test]
fn a_track_filter_shows_only_matching_tracks_and_escape_shows_all_again() {
    let session = Session::new();
    let window = open_trace(&session, "many.json", &many_threads(), "span 0");
    window.key("ctrl+shift+f");
    window.settled();
    window.xdotool(&["type", "--delay", "10", "WORKER 17"]);
    window.wait_for("fewer tracks", |window| {
        let screenshot = window.screenshot();
        (find_span(&screenshot, "span 0").is_none() && find_span(&screenshot, "span 17").is_some()).then_some(())
    });
    window.key("Escape");
    window.wait_for("all tracks", |window| find_span(&window.screenshot(), "span 0"));
}

#[test]
fn f_zooms_to_the_time_selected_with_shift_and_alt_left_goes_back() {
    let session = Session::new();
    let window = open_trace(&session, "two.json", TWO_SPANS, "omega");
    let whole = find_span(&window.settled(), "omega").expect("the span");
    window.xdotool(&["keydown", "shift"]);
    window.drag((whole.left - 40, 600), (whole.right - 40, 600));
    window.xdotool(&["keyup", "shift"]);
    window.key("f");
    let fitted = window.wait_for("the selected time", |window| {
        find_span(&window.screenshot(), "omega").filter(|now| now.width() > whole.width() + 300)
    });
    assert!(fitted.left > TRACK_AREA.left, "the selected time before the span is in view: {fitted:?}");
    window.key("alt+Left");
    window.wait_for("the previous view", |window| {
        // The selected time dims the rest, so the span is fully drawn only after the selection is cleared.
        window.key("Escape");
        find_span(&window.settled(), "omega")
            .filter(|now| now.left.abs_diff(whole.left) <= 2 && now.right.abs_diff(whole.right) <= 2)
    });
}

#[test]
fn a_click_on_the_minimap_moves_the_view() {
    let session = Session::new();
    let window = open_trace(&session, "two.json", TWO_SPANS, "omega");
    window.xdotool(&["key", "--repeat", "4", "plus"]);
    let before = window.settled();
    // The last span ends at the right end of the minimap.
    window.click((1260, 50));
    window.wait_for("the end of the trace", |window| {
        let now = window.screenshot();
        (now != before && find_span(&now, "omega").is_some() && find_span(&now, "alpha").is_none()).then_some(())
    });
}

#[test]
fn the_command_palette_finds_a_command_by_name_and_enter_runs_it() {
    let session = Session::new();
    let window = open_trace(&session, "two.json", TWO_SPANS, "omega");
    let before = window.settled();
    window.key("ctrl+shift+p");
    window.wait_for("the list of commands", |window| (window.screenshot() != before).then_some(()));
    window.xdotool(&["type", "--delay", "10", "light theme"]);
    window.key("Return");
    window.wait_for("the light theme", |window| (window.screenshot().count(CANVAS) == 0).then_some(()));
}
