//! Navigation by mouse on the timeline, checked by the resulting positions of spans.

use crate::open::TWO_SPANS;
use crate::picture::{Place, SELECTION, span_color};
use crate::rows;
use crate::session::{Session, Window, text};

fn opened(session: &Session) -> Window<'_> {
    rows::opened(session, "two.json", TWO_SPANS, "omega")
}

fn place_of(window: &Window<'_>, name: &str) -> Place {
    let found = window.settled().find(span_color(name));
    found.unwrap_or_else(|| window.give_up(&format!("{name} is in view")))
}

/// Turns the wheel forward to zoom in. Two steps are visible, and keep an edge in view.
fn zoom_in(window: &Window<'_>, at: (usize, usize)) {
    window.point(at);
    turn(window, 2, "4");
}

/// Turns the wheel with Ctrl held.
fn turn(window: &Window<'_>, times: usize, button: &str) {
    window.xdotool(&["keydown", "ctrl"]);
    window.xdotool(&["click", "--repeat", &times.to_string(), button]);
    window.settled();
    window.xdotool(&["keyup", "ctrl"]);
}

#[test]
fn the_wheel_zooms_with_ctrl_and_the_time_under_the_pointer_stays() {
    let session = Session::new();
    let window = opened(&session);
    let before = place_of(&window, "omega");
    zoom_in(&window, (before.left, 700));
    window.until("a wider span", |window| {
        window.look().find(span_color("omega")).filter(|now| now.width() > before.width() + 20)
    });
    let after = place_of(&window, "omega");
    assert!(after.left.abs_diff(before.left) <= 1, "{before:?} {after:?}");
    turn(&window, 6, "5");
    let out = place_of(&window, "omega");
    assert!(out.width().abs_diff(before.width()) <= 2, "zooming out ends at the whole trace: {before:?} {out:?}");
}

#[test]
fn a_drag_moves_the_picture_with_the_hand() {
    let session = Session::new();
    let window = opened(&session);
    let edge = place_of(&window, "omega").left;
    zoom_in(&window, (edge, 700));
    let before = place_of(&window, "omega");
    window.drag((800, 700), (720, 690));
    let after = place_of(&window, "omega");
    assert!((after.left + 80).abs_diff(before.left) <= 1, "{before:?} {after:?}");
}

#[test]
fn keys_zoom_and_move_and_come_back() {
    let session = Session::new();
    let window = opened(&session);
    let whole = place_of(&window, "omega");
    let wait = |what: &str, held: &dyn Fn(Place) -> bool| {
        window.until(what, |window| window.look().find(span_color("omega")).filter(|&now| held(now)))
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
        let zoomed = place_of(&window, "omega");
        window.key(right);
        wait("later times come into view", &|now| now.left + 10 < zoomed.left);
        window.xdotool(&["key", "--repeat", "2", left]);
        wait("earlier times come into view", &|now| now.left > zoomed.left + 10);
        window.key("Home");
        wait("the whole trace", &|now| now.left.abs_diff(whole.left) <= 2);
    }
}

#[test]
fn a_click_shows_the_details_of_a_span_and_escape_lets_go_of_it() {
    let session = Session::new();
    let window = opened(&session);
    let before = window.settled();
    // Above the resting pointer, which has white pixels itself.
    let rows = Place { bottom: 200, ..before.whole() };
    let select = |name: &str| {
        let place = place_of(&window, name);
        // Near the right edge, without the text of the name.
        window.click((place.right - 20, place.middle().1));
        window.until("the outline", |window| {
            let outline = window.look().find_within(rows, SELECTION)?;
            (outline.left.abs_diff(place.left) <= 3 && outline.right.abs_diff(place.right) <= 3).then_some(())
        });
        window.point((700, 350));
        window.settled()
    };
    let first = select("alpha");
    let second = select("omega");
    let below = |picture: &crate::picture::Picture| {
        (600..780).flat_map(|y| (0..1280).map(move |x| (x, y))).map(|(x, y)| picture.at(x, y)).collect::<Vec<_>>()
    };
    assert!(below(&first) != below(&before), "no details are shown");
    assert!(below(&second) != below(&first), "another span has the same details");
    window.point((700, 700));
    window.key("Escape");
    window.until("the details are gone", |window| (window.look() == before).then_some(()));
}

#[test]
fn a_small_window_shows_the_same_and_a_large_one_again() {
    let session = Session::new();
    let window = opened(&session);
    let before = place_of(&window, "alpha");
    window.resize(640, 400);
    let small = window.until("a narrower span", |window| {
        window.look().find(span_color("alpha")).filter(|now| now.width() * 2 < before.width())
    });
    assert!(small.right < 640, "{small:?}");
    window.resize(1600, 900);
    window.until("a wider span", |window| {
        window.look().find(span_color("alpha")).filter(|now| now.width() > before.width() + 100)
    });
    // Every pixel of the window is drawn, since the root window under it is black.
    let picture = window.settled();
    let corners = [(2, 2), (1597, 2), (2, 897), (1597, 897), (800, 600)];
    assert!(corners.iter().all(|&(x, y)| picture.at(x, y) != [0, 0, 0]), "a part of the window stays black");
}

#[test]
fn at_twice_and_three_times_the_scale_spans_are_as_much_higher_and_the_window_is_no_larger_than_its_screen() {
    let session = Session::new();
    let single = place_of(&opened(&session), "alpha").height();
    let capture = session.file("two.json", TWO_SPANS);
    for scale in [2, 3] {
        // The saved preferences of the previous window are for another screen.
        std::fs::remove_dir_all(session.folder.path().join("config")).expect("preferences");
        let window =
            session.open_by(session.command(&[text(&capture)]).env("WINIT_X11_SCALE_FACTOR", scale.to_string()));
        let height = window.until_found("the span", span_color("alpha")).height();
        assert!(height.abs_diff(scale * single) <= 2, "{single} {height}");
        let (width, height) = window.size();
        assert!(width <= 1920 && height <= 1080 && width >= 480 * scale, "{width} x {height}");
        window.close();
    }
}

#[test]
fn on_a_screen_smaller_than_the_usual_window_all_of_it_is_seen() {
    let session = Session::with_screen(800, 480);
    let window = session.open(&[text(&session.file("two.json", TWO_SPANS))]);
    window.until_found("the last span", span_color("omega"));
    let (width, height) = window.size();
    assert!(width <= 800 && height <= 480, "{width} x {height}");
    let omega = place_of(&window, "omega");
    assert!(omega.right < width && omega.width() > 150, "{omega:?}");
}
