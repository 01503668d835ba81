//! Time by pointer: ranges selected and changed, the map, file offsets, the wheel with swapped roles, and animated
//! zooms. With real input, checked by screen reader and pixels.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::open::TWO_SPANS;
use crate::picture::{Color, Place, span_color};
use crate::rows::{self, span_on};
use crate::session::{Session, Window, text};
use crate::told::view_s;

/// The background of the map.
const GROUND: Color = [0x1b, 0x1e, 0x24];
/// A loss on the map.
const LOSS: Color = [0xf2, 0xb1, 0x4a];
/// A search hit on the map.
const HIT: Color = [0xdd, 0xe1, 0xe8];

/// Opens the two spans, in a session with a screen reader.
fn opened(session: &Session) -> Window<'_> {
    let window = rows::opened(session, "two.json", TWO_SPANS, "omega");
    window.until_said("Timeline of 1 tracks");
    window
}

/// Returns the duration of the selected time in milliseconds.
fn selected_ms(window: &Window<'_>) -> f64 {
    let told = window.until_said("Statistics of the selected ");
    let words: Vec<&str> = told.split(' ').collect();
    let [.., number, "ms"] = words[..] else { panic!("no milliseconds: {told}") };
    number.parse().unwrap_or_else(|_| panic!("no number: {told}"))
}

#[test]
fn time_selected_with_the_middle_button_is_changed_by_its_edges() {
    let session = Session::with_reader();
    let window = opened(&session);
    let (ruler, view) = (window.place_of("Ruler: drag to select time"), view_s(&window));
    let ms_per_px = (view.1 - view.0) * 1000.0 / ruler.width() as f64;
    let is_near = |ms: f64, pixels: usize| (ms - ms_per_px * pixels as f64).abs() <= 2.0 * ms_per_px;
    window.drag_with("2", (500, 600), (800, 610));
    window.until("the time under the hand", |window| is_near(selected_ms(window), 300).then_some(()));
    let y = ruler.middle().1;
    window.drag((800, y), (900, y));
    window.until("more time", |window| is_near(selected_ms(window), 400).then_some(()));
    window.drag((500, y), (700, y));
    window.until("less time", |window| is_near(selected_ms(window), 200).then_some(()));
    // Both edges have moved, but not the view.
    assert_eq!(view_s(&window), view);
    window.key("Escape");
    window.until_unsaid("Statistics of the selected");
}

/// Three threads, each with one span over the whole time.
const THREE_THREADS: &str = r#"[
    {"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"first"}},
    {"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"second"}},
    {"ph":"M","name":"thread_name","pid":1,"tid":3,"args":{"name":"third"}},
    {"ph":"X","name":"alpha","pid":1,"tid":1,"ts":0,"dur":1000000},
    {"ph":"X","name":"beta","pid":1,"tid":2,"ts":0,"dur":1000000},
    {"ph":"X","name":"omega","pid":1,"tid":3,"ts":0,"dur":1000000}]"#;

#[test]
fn a_drag_with_shift_selects_time_and_tracks_and_ctrl_with_a_click_takes_one_away() {
    let session = Session::with_reader();
    let window = rows::opened(&session, "three.json", THREE_THREADS, "omega");
    window.until_said("Timeline of 3 tracks");
    let [first, second] = ["first 1, unfolded", "second 2, unfolded"].map(|name| window.place_of(name));
    let view = view_s(&window);
    window.xdotool(&["keydown", "shift"]);
    window.drag((first.right + 300, second.middle().1), (first.right + 600, first.middle().1));
    window.xdotool(&["keyup", "shift"]);
    window.until_said("2 threads of Process 1");
    let ms_per_px = (view.1 - view.0) * 1000.0 / window.place_of("Ruler: drag to select time").width() as f64;
    assert!((selected_ms(&window) - ms_per_px * 300.0).abs() <= 2.0 * ms_per_px);
    assert_eq!(view_s(&window), view, "the view has not moved");
    // The third thread is dimmed, the first is not.
    let [first, third] = ["first 1, in the scope, unfolded", "third 3, unfolded"].map(|name| window.place_of(name));
    let picture = window.settled();
    let at = |place: Place| picture.at(place.right + 450, place.top + 8);
    let brightness = |color: Color| color.iter().map(|&part| u32::from(part)).sum::<u32>();
    assert!(brightness(at(third)) * 3 < brightness(span_color("omega")) * 2, "{:?}", at(third));
    assert_eq!(at(first), span_color("alpha"));
    window.point((first.left + 60, first.top + 10));
    window.xdotool(&["keydown", "ctrl", "click", "1"]);
    window.until_said("second of Process 1");
    window.xdotool(&["keyup", "ctrl"]);
    window.key("Escape");
    window.until_unsaid("Remove the time from the scope");
}

#[test]
fn tracks_chosen_with_ctrl_are_grouped_under_a_typed_name_and_fold_to_a_strip_of_their_colours() {
    let session = Session::with_reader();
    let window = rows::opened(&session, "three.json", THREE_THREADS, "omega");
    window.until_said("Timeline of 3 tracks");
    for (name, scope) in [("first 1, unfolded", "first of Process 1"), ("third 3, unfolded", "2 threads of Process 1")]
    {
        let head = window.place_of(name);
        window.point((head.left + 60, head.top + 10));
        window.xdotool(&["keydown", "ctrl", "click", "1"]);
        window.until_said(scope);
        window.xdotool(&["keyup", "ctrl"]);
    }
    window.give("Group selected tracks...");
    window.until_said("Name of the group");
    window.xdotool(&["type", "--delay", "10", "Pair"]);
    window.key("Return");
    window.until_said("Pair 2 tracks, in the scope, unfolded");
    window.press("Pair 2 tracks, in the scope, unfolded");
    window.until_said("Pair 2 tracks, in the scope, folded");
    let head = window.place_of("Pair 2 tracks, in the scope, folded");
    let strip = Place { left: head.right, right: rows::ROWS.right, ..head };
    window.until("the strip", |window| window.look().find_within(strip, span_color("alpha")));
    // The remaining thread is below its own process.
    let rest = window.place_of("second 2, unfolded");
    assert!(rest.top > head.bottom, "{rest:?} {head:?}");
}

#[test]
fn the_map_shows_where_spans_are_what_was_found_and_what_was_lost() {
    let session = Session::with_reader();
    let lossy = TWO_SPANS.replace(']', r#",{"ph":"E","pid":1,"tid":1,"ts":500000}]"#);
    let window = rows::opened(&session, "lossy.json", &lossy, "omega");
    let map = window.place_of("Map of the whole trace");
    let x_of = |part: f64| map.left + (map.width() as f64 * part) as usize;
    let around = |part: f64| Place { left: x_of(part) - 3, right: x_of(part) + 4, ..map };
    let picture = window.settled();
    let density = |part: f64| picture.at(x_of(part), map.bottom - 12);
    assert!(density(0.2) != GROUND && density(0.8) != GROUND, "spans leave no trace");
    assert_eq!(density(0.45), GROUND);
    assert!(picture.find_within(around(0.5), LOSS).is_some(), "nothing was lost");
    assert!(picture.find_within(around(0.3), LOSS).is_none());
    assert!(picture.find_within(map, HIT).is_none());
    window.key("ctrl+f");
    window.until_said("Search");
    window.xdotool(&["type", "--delay", "10", "omega"]);
    window.until_said("1 hit");
    // The field and the list have moved the map.
    let (map, hit) = window.until("the hit", |window| {
        let map = window.place_of("Map of the whole trace");
        window.look().find_within(Place { top: map.top + 2, bottom: map.top + 7, ..map }, HIT).map(|hit| (map, hit))
    });
    let expected = map.left + map.width() * 6 / 10;
    assert!(hit.left.abs_diff(expected) <= 4 && hit.width() <= 8, "{hit:?} and not at {expected}");
}

#[test]
fn the_window_on_the_map_is_dragged_through_time_and_made_wider_at_its_edge() {
    let session = Session::with_reader();
    let window = opened(&session);
    let map = window.place_of("Map of the whole trace");
    let x_of = |part_s: f64| map.left + (map.width() as f64 * part_s).round() as usize;
    let y = map.middle().1;
    window.xdotool(&["key", "--repeat", "3", "plus"]);
    window.settled();
    let (from_s, to_s) = view_s(&window);
    let px_s = 1.0 / map.width() as f64;
    let is = |window: &Window<'_>, from: f64, to: f64| {
        let now = view_s(window);
        ((now.0 - from).abs() < 3.0 * px_s && (now.1 - to).abs() < 3.0 * px_s).then_some(())
    };
    let middle = x_of(f64::midpoint(from_s, to_s));
    window.drag((middle, y), (middle + 200, y));
    let by_s = 200.0 * px_s;
    window.until("a later view", |window| is(window, from_s + by_s, to_s + by_s));
    let edge = x_of(from_s + by_s);
    window.drag((edge, y), (edge - 100, y));
    window.until("a wider view", |window| is(window, from_s + by_s / 2.0, to_s + by_s));
}

#[test]
fn a_file_dragged_with_ctrl_moves_against_the_other_and_escape_lets_it_go_back() {
    let session = Session::with_reader();
    let others = TWO_SPANS.replace("alpha", "gamma").replace("omega", "delta").replace(r#""pid":1"#, r#""pid":2"#);
    let files = [session.file("one.json", TWO_SPANS), session.file("two.json", &others)];
    let window = session.open(&files.each_ref().map(|file| text(file)));
    window.until_found("the second file", span_color("delta"));
    window.point((700, 700));
    let before = window.settled();
    let place = |name: &str| span_on(&window.look(), name);
    let (alpha, gamma) = (place("alpha").expect("a span"), place("gamma").expect("a span"));
    let from = (gamma.right - 60, gamma.middle().1);
    let to = (from.0 + 100, from.1);
    window.xdotool(&["keydown", "ctrl"]);
    window.pull_with("1", from, to);
    window.until("it follows the hand", |_| place("gamma").filter(|now| now.right.abs_diff(gamma.right + 100) <= 2));
    assert_eq!(place("alpha"), Some(alpha), "the other file stays");
    window.key("Escape");
    window.until("it is where it was", |_| place("gamma").filter(|now| *now == gamma));
    window.xdotool(&["mouseup", "1", "keyup", "ctrl"]);
    window.point((700, 700));
    window.until("as before", |window| (window.settled() == before).then_some(()));
    window.xdotool(&["keydown", "ctrl"]);
    window.drag(from, to);
    window.xdotool(&["keyup", "ctrl"]);
    window.give("Files and their clocks");
    let moved = window.until("the file is moved", |window| {
        window.text_in("Moved by: two.json").filter(|moved| moved != "0s" && moved.ends_with("ms"))
    });
    let moved_ms: f64 = moved.trim_end_matches("ms").trim().parse().unwrap_or_else(|_| panic!("no time: {moved}"));
    let expected_ms = 100.0 * 400.0 / gamma.width() as f64;
    assert!((moved_ms - expected_ms).abs() < 2.0, "{moved_ms} and not {expected_ms}");
    assert_eq!(window.text_in("Moved by: one.json").as_deref(), Some("0s"));
}

#[test]
fn the_wheel_zooms_and_ctrl_scrolls_where_that_is_chosen_and_it_stays_chosen() {
    let session = Session::with_reader();
    let window = rows::opened(&session, "many.json", &rows::many_threads(), "span 0");
    window.give("Wheel zooms, Ctrl + wheel scrolls");
    let check = |window: &Window<'_>| {
        window.point((700, 600));
        let (from_s, to_s) = view_s(window);
        window.xdotool(&["click", "--repeat", "3", "4"]);
        window.until("a closer view", |window| Some(view_s(window)).filter(|now| now.0 > from_s && now.1 < to_s));
        window.settled();
        assert!(span_on(&window.look(), "span 0").is_some(), "nothing has scrolled");
        window.xdotool(&["keydown", "ctrl", "click", "--repeat", "30", "5"]);
        window.until("the last row", |window| window.look().find_within(rows::ROWS, span_color("span 59")));
        window.xdotool(&["keyup", "ctrl"]);
    };
    check(&window);
    window.key("Home");
    let (status, said) = window.close();
    assert_eq!((status, said.as_str()), (Some(0), ""));
    std::fs::remove_dir_all(session.folder.path().join("state")).expect("what was kept of the capture");
    check(&rows::opened(&session, "many.json", &rows::many_threads(), "span 0"));
}

/// Returns the views during a zoom in and back.
fn views_on_the_way(window: &Window<'_>) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    for key in ["plus", "Home"] {
        let before = window.until_said("Timeline of ");
        window.key(key);
        let other = |window: &Window<'_>| Some(window.until_said("Timeline of ")).filter(|view| *view != before);
        seen.insert(window.until("another view", other));
        let mut since = Instant::now();
        while since.elapsed() < Duration::from_millis(400) {
            if seen.insert(window.until_said("Timeline of ")) {
                since = Instant::now();
            }
        }
    }
    seen
}

/// Waits until the view is unchanged for a second, so that the last animation is over, also on a busy machine.
fn until_at_rest(window: &Window<'_>) {
    let (mut view, mut since) = (window.until_said("Timeline of "), Instant::now());
    while since.elapsed() < Duration::from_secs(1) {
        let now = window.until_said("Timeline of ");
        if now != view {
            (view, since) = (now, Instant::now());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn zooms_fly_unless_the_desktop_asks_for_no_movement_and_its_theme_is_followed() {
    let session = Session::with_reader();
    let portal = session.reader.as_ref().expect("a reader").portal();
    portal.set("color-scheme", 1);
    let window = opened(&session);
    // On a busy machine, an animation may end before its second frame.
    let flies = (0..20).any(|_| views_on_the_way(&window).len() > 2);
    assert!(flies, "nothing is seen on the way");
    portal.set("reduced-motion", 1);
    portal.set("color-scheme", 2);
    window.until("the light theme", |window| (window.look().count(crate::picture::CANVAS) == 0).then_some(()));
    until_at_rest(&window);
    for _ in 0..3 {
        let views = views_on_the_way(&window);
        assert_eq!(views.len(), 2, "{views:?}");
    }
}

#[test]
fn the_ruler_tells_the_time_of_day_and_the_time_under_the_pointer() {
    let session = Session::with_reader();
    let window = session.open(&[text(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/otlp.jsonl.gz"))]);
    window.until_said("Timeline of ");
    window.point((5, 5));
    let ruler = window.place_of("Ruler: drag to select time");
    let before = window.settled();
    assert!(before.find_area(ruler, HIT).is_none(), "a time without a pointer");
    window.give("Ruler by the time of day (UTC)");
    window.until("other times", |window| window.look().differs(&before, ruler).then_some(()));
    for x in [500, 900] {
        window.point((x, 600));
        window.until("the time above the pointer", |window| {
            window.look().find_area(ruler, HIT).filter(|time| time.left < x && x < time.right && time.width() < 200)
        });
    }
}
