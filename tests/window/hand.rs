//! Navigation by pointer and keys: from span to span, to bookmarks, into a span, away from a hidden row, and kinetic
//! panning. With real input, checked by pixels.

use crate::open::TWO_SPANS;
use crate::picture::{Color, Picture, Place, SELECTION};
use crate::rows::{FIRST_TRACK, ROWS, many_threads, opened, span_on};
use crate::session::{Session, Window};

/// A span with a nested one, and a third after both.
const NESTED: &str = r#"[
    {"ph":"X","name":"alpha","pid":1,"tid":1,"ts":0,"dur":400000},
    {"ph":"X","name":"inner","pid":1,"tid":1,"ts":100000,"dur":200000},
    {"ph":"X","name":"omega","pid":1,"tid":1,"ts":600000,"dur":400000}]"#;

/// The line of the last bookmark that was added or selected.
const MARK: Color = [0xf2, 0xb1, 0x4a];

/// Above the resting pointer, which has white pixels itself.
const TOP_ROWS: Place = Place { bottom: 200, ..ROWS };

/// Position of the resting pointer: on the canvas, but on no span.
const FREE: (usize, usize) = (700, 600);

#[track_caller]
fn until_selected(window: &Window<'_>, name: &str) {
    window.until(&format!("{name} is selected"), |window| {
        let picture = window.look();
        let (span, outline) = (span_on(&picture, name)?, picture.find_within(TOP_ROWS, SELECTION)?);
        (outline.left.abs_diff(span.left) <= 3 && outline.right.abs_diff(span.right) <= 3).then_some(())
    });
}

fn mark_at(picture: &Picture) -> Option<usize> {
    picture.find_within(ROWS, MARK).map(|line| line.left)
}

#[test]
fn keys_go_from_span_to_span_into_one_and_out_of_it() {
    let session = Session::new();
    let window = opened(&session, "nested.json", NESTED, "omega");
    let alpha = span_on(&window.settled(), "alpha").expect("the span");
    window.click((alpha.right - 10, alpha.middle().1));
    window.settled();
    window.point((700, 350));
    until_selected(&window, "alpha");
    for (key, selected) in [
        ("bracketright", "omega"),
        ("bracketleft", "alpha"),
        ("Down", "inner"),
        ("Up", "alpha"),
        ("period", "omega"),
        ("comma", "alpha"),
    ] {
        window.key(key);
        until_selected(&window, selected);
    }
}

#[test]
fn a_double_click_fills_the_view_with_a_span_and_the_keys_lead_out_back_and_forward() {
    let session = Session::new();
    let window = opened(&session, "two.json", TWO_SPANS, "omega");
    let whole = span_on(&window.settled(), "omega").expect("the span");
    let width = |name: &str, held: &dyn Fn(usize) -> bool| {
        window.until(name, |window| span_on(&window.look(), "omega").filter(|span| held(span.width())));
        window.settled();
    };
    window.point(whole.middle());
    window.xdotool(&["click", "--repeat", "2", "--delay", "60", "1"]);
    // In a slow frame, the pointer would move before the click is handled.
    window.settled();
    window.point(FREE);
    width("the span fills the view", &|width| width > 800);
    window.key("0");
    width("the whole trace", &|width| width.abs_diff(whole.width()) <= 2);
    window.key("alt+Left");
    width("the span again", &|width| width > 800);
    window.key("alt+Right");
    width("forward to the whole", &|width| width.abs_diff(whole.width()) <= 2);
    window.key("f");
    width("the selected span", &|width| width > 800);
}

#[test]
fn marks_stand_where_the_pointer_was_and_the_time_between_two_fills_the_view() {
    let session = Session::new();
    let window = opened(&session, "two.json", TWO_SPANS, "omega");
    for x in [600, 900] {
        window.point((x, FREE.1));
        window.settled();
        window.key("m");
        window.until("the mark", |window| mark_at(&window.look()).filter(|at| at.abs_diff(x) <= 1));
    }
    window.key("shift+n");
    window.until("the mark before", |window| mark_at(&window.look()).filter(|at| at.abs_diff(600) <= 1));
    window.key("n");
    window.until("the next mark", |window| mark_at(&window.look()).filter(|at| at.abs_diff(900) <= 1));
    let before = span_on(&window.settled(), "omega").expect("the span");
    window.key("shift+m");
    window.until("the time between the marks", |window| {
        span_on(&window.look(), "omega").filter(|now| now.left > before.left + 100)
    });
}

#[test]
fn a_hidden_track_stays_hidden_until_all_are_shown() {
    let session = Session::new();
    let window = opened(&session, "many.json", &many_threads(), "span 0");
    let row = span_on(&window.settled(), "span 0").expect("the first row");
    window.point(FIRST_TRACK);
    window.settled();
    window.click((217, FIRST_TRACK.1));
    window.settled();
    window.point(FREE);
    window.until("the next row in its place", |window| {
        let picture = window.look();
        let next = span_on(&picture, "span 1").filter(|next| next.top == row.top);
        next.filter(|_| span_on(&picture, "span 0").is_none())
    });
    let before = window.settled();
    window.key("ctrl+shift+p");
    window.until("the list of commands", |window| (window.look() != before).then_some(()));
    window.xdotool(&["type", "--delay", "10", "show hidden"]);
    window.key("Return");
    window.until("the row again", |window| span_on(&window.look(), "span 0").filter(|now| now.top == row.top));
}

/// Drags left by 100 pixels and releases at speed. Returns the total distance that the span moved.
fn thrown(window: &Window<'_>) -> usize {
    window.key("Home");
    window.settled();
    window.xdotool(&["key", "--repeat", "4", "plus"]);
    let before = span_on(&window.settled(), "omega").expect("the span").left;
    let mut words: Vec<String> = ["mousemove", "900", "600", "mousedown", "1"].map(str::to_owned).into();
    for step in 1..=10 {
        words.extend(["sleep", "0.02", "mousemove", &(900 - 10 * step).to_string(), "600"].map(str::to_owned));
    }
    words.extend(["mouseup", "1"].map(str::to_owned));
    window.xdotool(&words.iter().map(String::as_str).collect::<Vec<_>>());
    before - span_on(&window.settled(), "omega").expect("the span").left
}

#[test]
fn a_drag_that_is_let_go_at_speed_goes_on_unless_that_is_turned_off() {
    // A small screen, so that software rendering keeps up with the drag on a busy machine too.
    let session = Session::with_screen(1000, 700);
    // In the middle, where it stays during a zoom.
    let capture = r#"[{"ph":"X","name":"first","pid":1,"tid":1,"ts":0,"dur":10},
        {"ph":"X","name":"omega","pid":1,"tid":1,"ts":1000000,"dur":20000},
        {"ph":"X","name":"last","pid":1,"tid":1,"ts":2000000,"dur":10}]"#;
    let window = opened(&session, "thrown.json", capture, "omega");
    // Below some twenty frames per second, the speed of the drag is unknown; with fewer than three frames it is a
    // click. So not every throw works on a busy machine.
    let throws: Vec<_> = (0..20).map(|_| thrown(&window)).take_while(|&gone| gone <= 110).collect();
    assert!(throws.len() < 20, "the hand moved 100 pixels, and it went {throws:?}");
    let (status, said) = window.close();
    assert_eq!((status, said.as_str()), (Some(0), ""));
    std::fs::remove_dir_all(session.folder.path().join("state")).expect("what was kept of the capture");
    session.file("config/longspan/preferences.json", r#"{"navigation":{"inertia":false}}"#);
    let window = opened(&session, "thrown.json", capture, "omega");
    let throws: Vec<_> = (0..3).map(|_| thrown(&window)).collect();
    assert!(throws.iter().all(|&gone| gone <= 103), "the hand moved 100 pixels, and it went {throws:?}");
}
