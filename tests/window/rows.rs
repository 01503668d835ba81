//! Rows arranged by pointer and keys, commands found by name, and the restored state of a reopened trace.

use crate::open::TWO_SPANS;
use crate::picture::{CANVAS, Picture, Place, span_color};
use crate::session::{Session, Window, text};

/// The canvas below the ruler and to the right of the names, in a window of the usual size.
pub(crate) const ROWS: Place = Place { left: 240, top: 96, right: 1270, bottom: 775 };

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

pub(crate) fn opened<'a>(session: &'a Session, name: &str, json: &str, shows: &str) -> Window<'a> {
    session.file(name, json);
    reopened(session, name, shows)
}

/// Like `opened`, for an existing file.
pub(crate) fn reopened<'a>(session: &'a Session, name: &str, shows: &str) -> Window<'a> {
    let window = session.open(&[text(&session.folder.path().join(name))]);
    window.until_found("the spans", span_color(shows));
    window.point((700, 700));
    window.settled();
    window
}

pub(crate) fn span_on(picture: &Picture, name: &str) -> Option<Place> {
    picture.find_within(ROWS, span_color(name))
}

#[test]
fn a_click_on_a_process_folds_it_to_a_strip_of_its_colours_and_another_unfolds_it() {
    let session = Session::new();
    let window = opened(&session, "two.json", TWO_SPANS, "omega");
    let unfolded = span_on(&window.settled(), "omega").expect("the span");
    window.click(FIRST_PROCESS);
    let strip = window
        .until("the strip", |window| span_on(&window.look(), "omega").filter(|now| now.bottom <= FIRST_PROCESS.1 + 14));
    assert!(
        strip.left.abs_diff(unfolded.left) <= 4 && strip.right.abs_diff(unfolded.right) <= 4,
        "{strip:?} {unfolded:?}"
    );
    window.point((700, 700));
    window.settled();
    window.click(FIRST_PROCESS);
    window.until("the rows", |window| span_on(&window.look(), "omega").filter(|now| *now == unfolded));
}

#[test]
fn a_pinned_track_stays_while_the_wheel_scrolls_the_rows_and_is_there_when_the_capture_is_opened_again() {
    let session = Session::new();
    let json = many_threads();
    let window = opened(&session, "many.json", &json, "span 0");
    window.point(FIRST_TRACK);
    window.settled();
    // The pin is to the left of the cross at the right edge of the name.
    window.click((199, FIRST_TRACK.1));
    let pinned = window.until("the pinned row", |window| {
        span_on(&window.look(), "span 0").filter(|now| now.top < 110 && now.bottom > 130)
    });
    window.point((700, 600));
    window.xdotool(&["click", "--repeat", "30", "5"]);
    let last = span_color("span 59");
    window.until("the last row", |window| window.look().find_within(ROWS, last));
    let after = span_on(&window.settled(), "span 0").expect("the pinned row stays");
    assert!(after.top == pinned.top && after.bottom < pinned.bottom, "{after:?} {pinned:?}");
    let (status, said) = window.close();
    assert_eq!((status, said.as_str()), (Some(0), ""));
    let window = session.open(&[text(&session.folder.path().join("many.json"))]);
    let again = window.until("the pinned row again", |window| span_on(&window.look(), "span 0"));
    assert_eq!((again.top, again.bottom), (after.top, after.bottom));
}

#[test]
fn a_filter_leaves_the_rows_that_it_names_and_escape_brings_back_the_others() {
    let session = Session::new();
    let window = opened(&session, "many.json", &many_threads(), "span 0");
    window.key("ctrl+shift+f");
    window.settled();
    window.xdotool(&["type", "--delay", "10", "WORKER 17"]);
    window.until("the rows are fewer", |window| {
        let picture = window.look();
        (span_on(&picture, "span 0").is_none() && span_on(&picture, "span 17").is_some()).then_some(())
    });
    window.key("Escape");
    window.until("all rows", |window| span_on(&window.look(), "span 0"));
}

#[test]
fn time_selected_with_shift_is_what_f_fits_and_alt_left_goes_back() {
    let session = Session::new();
    let window = opened(&session, "two.json", TWO_SPANS, "omega");
    let whole = span_on(&window.settled(), "omega").expect("the span");
    window.xdotool(&["keydown", "shift"]);
    window.drag((whole.left - 40, 600), (whole.right - 40, 600));
    window.xdotool(&["keyup", "shift"]);
    window.key("f");
    let fitted = window.until("the selected time", |window| {
        span_on(&window.look(), "omega").filter(|now| now.width() > whole.width() + 300)
    });
    assert!(fitted.left > ROWS.left, "what was selected before the span is in view: {fitted:?}");
    window.key("alt+Left");
    window.until("the view before", |window| {
        // The selected time dims the rest, so the span is fully drawn only after the selection is cleared.
        window.key("Escape");
        span_on(&window.settled(), "omega")
            .filter(|now| now.left.abs_diff(whole.left) <= 2 && now.right.abs_diff(whole.right) <= 2)
    });
}

#[test]
fn a_drag_on_the_map_moves_the_view() {
    let session = Session::new();
    let window = opened(&session, "two.json", TWO_SPANS, "omega");
    window.xdotool(&["key", "--repeat", "4", "plus"]);
    let before = window.settled();
    // The end of the last span is at the right end of the map, whatever is in its middle.
    window.click((1260, 50));
    window.until("the end of the capture", |window| {
        let now = window.look();
        (now != before && span_on(&now, "omega").is_some() && span_on(&now, "alpha").is_none()).then_some(())
    });
}

#[test]
fn a_command_is_found_by_its_name_and_given_with_enter() {
    let session = Session::new();
    let window = opened(&session, "two.json", TWO_SPANS, "omega");
    let before = window.settled();
    window.key("ctrl+shift+p");
    window.until("the list of commands", |window| (window.look() != before).then_some(()));
    window.xdotool(&["type", "--delay", "10", "light theme"]);
    window.key("Return");
    window.until("the light theme", |window| (window.look().count(CANVAS) == 0).then_some(()));
}
