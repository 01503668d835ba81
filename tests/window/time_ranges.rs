//! Time ranges selected and resized by the pointer, the minimap, file offsets, the wheel with swapped roles, and
//! animated zooms. The input is real; the screen reader and pixels check the result.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::accessibility::view_s;
use crate::open::TWO_SPANS;
use crate::screenshot::{Color, Rect, span_color};
use crate::session::{Session, Window, text};
use crate::tracks::{self, find_span};

/// The background of the minimap.
const MINIMAP_BACKGROUND: Color = [0x1b, 0x1e, 0x24];
/// A loss on the minimap.
const LOSS: Color = [0xf2, 0xb1, 0x4a];
/// A search hit on the minimap.
const HIT: Color = [0xdd, 0xe1, 0xe8];

/// Opens the two spans, in a session with a screen reader.
fn open_trace(session: &Session) -> Window<'_> {
    let window = tracks::open_trace(session, "two.json", TWO_SPANS, "omega");
    window.wait_for_label("Timeline of 1 tracks");
    window
}

/// Returns the duration of the selected time in milliseconds.
fn selected_ms(window: &Window<'_>) -> f64 {
    let label = window.wait_for_label("Statistics of the selected ");
    let words: Vec<&str> = label.split(' ').collect();
    let [.., number, "ms"] = words[..] else { panic!("no milliseconds: {label}") };
    number.parse().unwrap_or_else(|_| panic!("no number: {label}"))
}

#[test]
fn a_time_range_selected_with_the_middle_button_is_resized_at_its_edges() {
    let session = Session::with_screen_reader();
    let window = open_trace(&session);
    let (ruler, view) = (window.rect_of("Ruler: drag to select time"), view_s(&window));
    let ms_per_px = (view.1 - view.0) * 1000.0 / ruler.width() as f64;
    let is_near = |ms: f64, pixels: usize| (ms - ms_per_px * pixels as f64).abs() <= 2.0 * ms_per_px;
    window.drag_with("2", (500, 600), (800, 610));
    window.wait_for("the dragged time range", |window| is_near(selected_ms(window), 300).then_some(()));
    let y = ruler.middle().1;
    window.drag((800, y), (900, y));
    window.wait_for("a longer time range", |window| is_near(selected_ms(window), 400).then_some(()));
    window.drag((500, y), (700, y));
    window.wait_for("a shorter time range", |window| is_near(selected_ms(window), 200).then_some(()));
    // Both edges have moved, but not the view.
    assert_eq!(view_s(&window), view);
    window.key("Escape");
    window.wait_for_no_label("Statistics of the selected");
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
fn a_drag_with_shift_selects_time_and_tracks_and_a_click_with_ctrl_removes_a_track() {
    let session = Session::with_screen_reader();
    let window = tracks::open_trace(&session, "three.json", THREE_THREADS, "omega");
    window.wait_for_label("Timeline of 3 tracks");
    let [first, second] = ["first 1, unfolded", "second 2, unfolded"].map(|name| window.rect_of(name));
    let view = view_s(&window);
    window.xdotool(&["keydown", "shift"]);
    window.drag((first.right + 300, second.middle().1), (first.right + 600, first.middle().1));
    window.xdotool(&["keyup", "shift"]);
    window.wait_for_label("2 threads of Process 1");
    let ms_per_px = (view.1 - view.0) * 1000.0 / window.rect_of("Ruler: drag to select time").width() as f64;
    assert!((selected_ms(&window) - ms_per_px * 300.0).abs() <= 2.0 * ms_per_px);
    assert_eq!(view_s(&window), view, "the view has not moved");
    // The third thread is dimmed, the first is not.
    let [first, third] = ["first 1, in the scope, unfolded", "third 3, unfolded"].map(|name| window.rect_of(name));
    let screenshot = window.settled();
    let at = |rect: Rect| screenshot.at(rect.right + 450, rect.top + 8);
    let brightness = |color: Color| color.iter().map(|&part| u32::from(part)).sum::<u32>();
    assert!(brightness(at(third)) * 3 < brightness(span_color("omega")) * 2, "{:?}", at(third));
    assert_eq!(at(first), span_color("alpha"));
    window.move_pointer((first.left + 60, first.top + 10));
    window.xdotool(&["keydown", "ctrl", "click", "1"]);
    window.wait_for_label("second of Process 1");
    window.xdotool(&["keyup", "ctrl"]);
    window.key("Escape");
    window.wait_for_no_label("Remove the time from the scope");
}

#[test]
fn tracks_selected_with_ctrl_form_a_named_group_that_folds_to_a_summary_strip() {
    let session = Session::with_screen_reader();
    let window = tracks::open_trace(&session, "three.json", THREE_THREADS, "omega");
    window.wait_for_label("Timeline of 3 tracks");
    for (name, scope) in [("first 1, unfolded", "first of Process 1"), ("third 3, unfolded", "2 threads of Process 1")]
    {
        let head = window.rect_of(name);
        window.move_pointer((head.left + 60, head.top + 10));
        window.xdotool(&["keydown", "ctrl", "click", "1"]);
        window.wait_for_label(scope);
        window.xdotool(&["keyup", "ctrl"]);
    }
    window.run_command("Group selected tracks...");
    window.wait_for_label("Name of the group");
    window.xdotool(&["type", "--delay", "10", "Pair"]);
    window.key("Return");
    window.wait_for_label("Pair 2 tracks, in the scope, unfolded");
    window.click_node("Pair 2 tracks, in the scope, unfolded");
    window.wait_for_label("Pair 2 tracks, in the scope, folded");
    let head = window.rect_of("Pair 2 tracks, in the scope, folded");
    let strip = Rect { left: head.right, right: tracks::TRACK_AREA.right, ..head };
    window.wait_for("the strip", |window| window.screenshot().find_in(strip, span_color("alpha")));
    // The remaining thread is below its own process.
    let rest = window.rect_of("second 2, unfolded");
    assert!(rest.top > head.bottom, "{rest:?} {head:?}");
}

#[test]
fn the_minimap_shows_span_density_search_hits_and_import_issues() {
    let session = Session::with_screen_reader();
    let lossy = TWO_SPANS.replace(']', r#",{"ph":"E","pid":1,"tid":1,"ts":500000}]"#);
    let window = tracks::open_trace(&session, "lossy.json", &lossy, "omega");
    let map = window.rect_of("Map of the whole trace");
    let x_of = |part: f64| map.left + (map.width() as f64 * part) as usize;
    let around = |part: f64| Rect { left: x_of(part) - 3, right: x_of(part) + 4, ..map };
    let screenshot = window.settled();
    let density = |part: f64| screenshot.at(x_of(part), map.bottom - 12);
    assert!(density(0.2) != MINIMAP_BACKGROUND && density(0.8) != MINIMAP_BACKGROUND, "spans are not on the minimap");
    assert_eq!(density(0.45), MINIMAP_BACKGROUND);
    assert!(screenshot.find_in(around(0.5), LOSS).is_some(), "the loss is not on the minimap");
    assert!(screenshot.find_in(around(0.3), LOSS).is_none());
    assert!(screenshot.find_in(map, HIT).is_none());
    window.key("ctrl+f");
    window.wait_for_label("Search");
    window.xdotool(&["type", "--delay", "10", "omega"]);
    window.wait_for_label("1 hit");
    // The search field and the list of hits have moved the minimap.
    let (map, hit) = window.wait_for("the hit", |window| {
        let map = window.rect_of("Map of the whole trace");
        window.screenshot().find_in(Rect { top: map.top + 2, bottom: map.top + 7, ..map }, HIT).map(|hit| (map, hit))
    });
    let expected = map.left + map.width() * 6 / 10;
    assert!(hit.left.abs_diff(expected) <= 4 && hit.width() <= 8, "{hit:?} and not at {expected}");
}

#[test]
fn the_view_on_the_minimap_is_moved_by_a_drag_and_widened_at_its_edge() {
    let session = Session::with_screen_reader();
    let window = open_trace(&session);
    let map = window.rect_of("Map of the whole trace");
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
    window.wait_for("a later view", |window| is(window, from_s + by_s, to_s + by_s));
    let edge = x_of(from_s + by_s);
    window.drag((edge, y), (edge - 100, y));
    window.wait_for("a wider view", |window| is(window, from_s + by_s / 2.0, to_s + by_s));
}

#[test]
fn a_drag_with_ctrl_shifts_one_file_in_time_and_escape_cancels_the_drag() {
    let session = Session::with_screen_reader();
    let others = TWO_SPANS.replace("alpha", "gamma").replace("omega", "delta").replace(r#""pid":1"#, r#""pid":2"#);
    let files = [session.file("one.json", TWO_SPANS), session.file("two.json", &others)];
    let window = session.open(&files.each_ref().map(|file| text(file)));
    window.wait_for_color("the second file", span_color("delta"));
    window.move_pointer((700, 700));
    let before = window.settled();
    let span = |name: &str| find_span(&window.screenshot(), name);
    let (alpha, gamma) = (span("alpha").expect("a span"), span("gamma").expect("a span"));
    let from = (gamma.right - 60, gamma.middle().1);
    let to = (from.0 + 100, from.1);
    window.xdotool(&["keydown", "ctrl"]);
    window.drag_without_release("1", from, to);
    window.wait_for("the file follows the pointer", |_| {
        span("gamma").filter(|now| now.right.abs_diff(gamma.right + 100) <= 2)
    });
    assert_eq!(span("alpha"), Some(alpha), "the other file stays");
    window.key("Escape");
    window.wait_for("the file is at its old offset", |_| span("gamma").filter(|now| *now == gamma));
    window.xdotool(&["mouseup", "1", "keyup", "ctrl"]);
    window.move_pointer((700, 700));
    window.wait_for("the screen is as before the drag", |window| (window.settled() == before).then_some(()));
    window.xdotool(&["keydown", "ctrl"]);
    window.drag(from, to);
    window.xdotool(&["keyup", "ctrl"]);
    window.run_command("Files and their clocks");
    let moved = window.wait_for("the file is moved", |window| {
        window.text_in("Moved by: two.json").filter(|moved| moved != "0s" && moved.ends_with("ms"))
    });
    let moved_ms: f64 = moved.trim_end_matches("ms").trim().parse().unwrap_or_else(|_| panic!("no time: {moved}"));
    let expected_ms = 100.0 * 400.0 / gamma.width() as f64;
    assert!((moved_ms - expected_ms).abs() < 2.0, "{moved_ms} and not {expected_ms}");
    assert_eq!(window.text_in("Moved by: one.json").as_deref(), Some("0s"));
}

#[test]
fn the_wheel_zooms_and_ctrl_scrolls_if_that_preference_is_set_and_it_is_saved() {
    let session = Session::with_screen_reader();
    let window = tracks::open_trace(&session, "many.json", &tracks::many_threads(), "span 0");
    window.run_command("Wheel zooms, Ctrl + wheel scrolls");
    let check = |window: &Window<'_>| {
        window.move_pointer((700, 600));
        let (from_s, to_s) = view_s(window);
        window.xdotool(&["click", "--repeat", "3", "4"]);
        window.wait_for("a closer view", |window| Some(view_s(window)).filter(|now| now.0 > from_s && now.1 < to_s));
        window.settled();
        assert!(find_span(&window.screenshot(), "span 0").is_some(), "the wheel has scrolled the tracks");
        window.xdotool(&["keydown", "ctrl", "click", "--repeat", "30", "5"]);
        window.wait_for("the last track", |window| {
            window.screenshot().find_in(tracks::TRACK_AREA, span_color("span 59"))
        });
        window.xdotool(&["keyup", "ctrl"]);
    };
    check(&window);
    window.key("Home");
    let (status, stderr) = window.close();
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    std::fs::remove_dir_all(session.folder.path().join("state")).expect("the saved state of the trace");
    check(&tracks::open_trace(&session, "many.json", &tracks::many_threads(), "span 0"));
}

/// Returns the views during a zoom in and back.
fn views_during_zoom(window: &Window<'_>) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    for key in ["plus", "Home"] {
        let before = window.wait_for_label("Timeline of ");
        window.key(key);
        let other = |window: &Window<'_>| Some(window.wait_for_label("Timeline of ")).filter(|view| *view != before);
        seen.insert(window.wait_for("another view", other));
        let mut since = Instant::now();
        while since.elapsed() < Duration::from_millis(400) {
            if seen.insert(window.wait_for_label("Timeline of ")) {
                since = Instant::now();
            }
        }
    }
    seen
}

/// Waits until the view is unchanged for a second, so that the last animation is over, also on a busy machine.
fn wait_for_rest(window: &Window<'_>) {
    let (mut view, mut since) = (window.wait_for_label("Timeline of "), Instant::now());
    while since.elapsed() < Duration::from_secs(1) {
        let now = window.wait_for_label("Timeline of ");
        if now != view {
            (view, since) = (now, Instant::now());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn zooms_are_animated_unless_the_desktop_reduces_motion_and_its_theme_is_followed() {
    let session = Session::with_screen_reader();
    let portal = session.reader.as_ref().expect("a reader").portal();
    portal.set("color-scheme", 1);
    let window = open_trace(&session);
    // On a busy machine, an animation may end before its second frame.
    let is_animated = (0..20).any(|_| views_during_zoom(&window).len() > 2);
    assert!(is_animated, "no animation frames are shown");
    portal.set("reduced-motion", 1);
    portal.set("color-scheme", 2);
    window.wait_for("the light theme", |window| {
        (window.screenshot().count(crate::screenshot::CANVAS) == 0).then_some(())
    });
    wait_for_rest(&window);
    for _ in 0..3 {
        let views = views_during_zoom(&window);
        assert_eq!(views.len(), 2, "{views:?}");
    }
}

#[test]
fn the_ruler_shows_the_time_of_day_and_the_time_under_the_pointer() {
    let session = Session::with_screen_reader();
    let window = session.open(&[text(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/otlp.jsonl.gz"))]);
    window.wait_for_label("Timeline of ");
    window.move_pointer((5, 5));
    let ruler = window.rect_of("Ruler: drag to select time");
    let before = window.settled();
    assert!(before.find_area(ruler, HIT).is_none(), "the time under the pointer is shown without a pointer");
    window.run_command("Ruler by the time of day (UTC)");
    window.wait_for("other times", |window| window.screenshot().differs(&before, ruler).then_some(()));
    for x in [500, 900] {
        window.move_pointer((x, 600));
        window.wait_for("the time under the pointer", |window| {
            window
                .screenshot()
                .find_area(ruler, HIT)
                .filter(|time| time.left < x && x < time.right && time.width() < 200)
        });
    }
}
