//! Pan, zoom, selection and scaling of the timeline, checked by the resulting positions of spans.

use crate::open::TWO_SPANS;
use crate::screenshot::{Rect, SELECTION, span_color};
use crate::session::{Session, Window, text};
use crate::tracks;

fn open_trace(session: &Session) -> Window<'_> {
    tracks::open_trace(session, "two.json", TWO_SPANS, "omega")
}

fn span_rect(window: &Window<'_>, name: &str) -> Rect {
    let found = window.settled().find(span_color(name));
    found.unwrap_or_else(|| window.fail(&format!("a span {name} in view")))
}

/// Turns the wheel forward to zoom in. Two steps are visible, and keep an edge in view.
fn zoom_in(window: &Window<'_>, at: (usize, usize)) {
    window.move_pointer(at);
    turn_wheel(window, 2, "4");
}

/// Turns the wheel with Ctrl held.
fn turn_wheel(window: &Window<'_>, times: usize, button: &str) {
    window.xdotool(&["keydown", "ctrl"]);
    window.xdotool(&["click", "--repeat", &times.to_string(), button]);
    window.settled();
    window.xdotool(&["keyup", "ctrl"]);
}

#[test]
fn ctrl_and_the_wheel_zoom_at_the_time_under_the_pointer() {
    let session = Session::new();
    let window = open_trace(&session);
    let before = span_rect(&window, "omega");
    zoom_in(&window, (before.left, 700));
    window.wait_for("a wider span", |window| {
        window.screenshot().find(span_color("omega")).filter(|now| now.width() > before.width() + 20)
    });
    let after = span_rect(&window, "omega");
    assert!(after.left.abs_diff(before.left) <= 1, "{before:?} {after:?}");
    turn_wheel(&window, 6, "5");
    let out = span_rect(&window, "omega");
    assert!(out.width().abs_diff(before.width()) <= 2, "zooming out ends at the whole trace: {before:?} {out:?}");
}

#[test]
fn a_drag_pans_the_timeline_by_the_distance_of_the_pointer() {
    let session = Session::new();
    let window = open_trace(&session);
    let edge = span_rect(&window, "omega").left;
    zoom_in(&window, (edge, 700));
    let before = span_rect(&window, "omega");
    window.drag((800, 700), (720, 690));
    let after = span_rect(&window, "omega");
    assert!((after.left + 80).abs_diff(before.left) <= 1, "{before:?} {after:?}");
}

#[test]
fn keys_zoom_and_pan_in_both_directions() {
    let session = Session::new();
    let window = open_trace(&session);
    let whole = span_rect(&window, "omega");
    let wait = |what: &str, is_right: &dyn Fn(Rect) -> bool| {
        window.wait_for(what, |window| window.screenshot().find(span_color("omega")).filter(|&now| is_right(now)))
    };
    for (zoom_in, zoom_out) in [("w", "s"), ("plus", "minus")] {
        window.xdotool(&["key", "--repeat", "3", zoom_in]);
        wait("zoomed in", &|now| now.left > whole.left + 5);
        window.xdotool(&["key", "--repeat", "8", zoom_out]);
        wait("zoomed out", &|now| now.left.abs_diff(whole.left) <= 2);
    }
    for (right, left) in [("d", "a"), ("Right", "Left")] {
        window.xdotool(&["key", "--repeat", "3", "plus"]);
        window.settled();
        let zoomed = span_rect(&window, "omega");
        window.key(right);
        wait("later times come into view", &|now| now.left + 10 < zoomed.left);
        window.xdotool(&["key", "--repeat", "2", left]);
        wait("earlier times come into view", &|now| now.left > zoomed.left + 10);
        window.key("Home");
        wait("the whole trace", &|now| now.left.abs_diff(whole.left) <= 2);
    }
}

#[test]
fn a_click_shows_the_details_of_a_span_and_escape_clears_the_selection() {
    let session = Session::new();
    let window = open_trace(&session);
    let before = window.settled();
    // This area is above the resting pointer, whose cursor has white pixels.
    let rows = Rect { bottom: 200, ..before.whole() };
    let select = |name: &str| {
        let rect = span_rect(&window, name);
        // This point is near the right edge, beside the text of the name.
        window.click((rect.right - 20, rect.middle().1));
        window.wait_for("the outline", |window| {
            let outline = window.screenshot().find_in(rows, SELECTION)?;
            (outline.left.abs_diff(rect.left) <= 3 && outline.right.abs_diff(rect.right) <= 3).then_some(())
        });
        window.move_pointer((700, 350));
        window.settled()
    };
    let first = select("alpha");
    let second = select("omega");
    let below = |screenshot: &crate::screenshot::Screenshot| {
        (600..780).flat_map(|y| (0..1280).map(move |x| (x, y))).map(|(x, y)| screenshot.at(x, y)).collect::<Vec<_>>()
    };
    assert!(below(&first) != below(&before), "no details are shown");
    assert!(below(&second) != below(&first), "another span has the same details");
    window.move_pointer((700, 700));
    window.key("Escape");
    window.wait_for("the details are gone", |window| (window.screenshot() == before).then_some(()));
}

#[test]
fn the_timeline_is_redrawn_in_the_new_size_after_the_window_shrinks_and_grows() {
    let session = Session::new();
    let window = open_trace(&session);
    let before = span_rect(&window, "alpha");
    window.resize(640, 400);
    let small = window.wait_for("a narrower span", |window| {
        window.screenshot().find(span_color("alpha")).filter(|now| now.width() * 2 < before.width())
    });
    assert!(small.right < 640, "{small:?}");
    window.resize(1600, 900);
    window.wait_for("a wider span", |window| {
        window.screenshot().find(span_color("alpha")).filter(|now| now.width() > before.width() + 100)
    });
    // Every pixel of the window is drawn, since the root window under it is black.
    let screenshot = window.settled();
    let corners = [(2, 2), (1597, 2), (2, 897), (1597, 897), (800, 600)];
    assert!(corners.iter().all(|&(x, y)| screenshot.at(x, y) != [0, 0, 0]), "a part of the window stays black");
}

#[test]
fn spans_grow_with_a_scale_of_2_and_3_and_the_window_stays_within_the_screen() {
    let session = Session::new();
    let single = span_rect(&open_trace(&session), "alpha").height();
    let trace = session.file("two.json", TWO_SPANS);
    for scale in [2, 3] {
        // The saved preferences of the previous window are for another screen.
        std::fs::remove_dir_all(session.folder.path().join("config")).expect("preferences");
        let window =
            session.open_command(session.command(&[text(&trace)]).env("WINIT_X11_SCALE_FACTOR", scale.to_string()));
        let height = window.wait_for_color("the span", span_color("alpha")).height();
        assert!(height.abs_diff(scale * single) <= 2, "{single} {height}");
        let (width, height) = window.size();
        assert!(width <= 1920 && height <= 1080 && width >= 480 * scale, "{width} x {height}");
        window.close();
    }
}

#[test]
fn the_window_fits_a_screen_smaller_than_its_default_size() {
    let session = Session::with_screen(800, 480);
    let window = session.open(&[text(&session.file("two.json", TWO_SPANS))]);
    window.wait_for_color("the last span", span_color("omega"));
    let (width, height) = window.size();
    assert!(width <= 800 && height <= 480, "{width} x {height}");
    let omega = span_rect(&window, "omega");
    assert!(omega.right < width && omega.width() > 150, "{omega:?}");
}
