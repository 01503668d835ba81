//! Tracks of other kinds than spans, and the order, height and colour of all tracks. The input is real; the screen
//! reader and pixels check the result.

use std::path::Path;

use longspan::facade::scene::color::Shade;
use longspan::facade::scene::palette::{ColorBy, Colors, Hues, Palette};

use crate::screenshot::{Color, Rect, span_color};
use crate::session::{Session, Window, text};
use crate::tracks::{self, TRACK_AREA, find_span};

/// A flow between two threads, an async span, an instant, and a counter.
const KINDS: &str = r#"[
    {"ph":"X","name":"send","pid":1,"tid":1,"ts":0,"dur":300000},
    {"ph":"s","name":"message","id":7,"pid":1,"tid":1,"ts":250000},
    {"ph":"X","name":"receive","pid":1,"tid":2,"ts":600000,"dur":400000},
    {"ph":"f","bp":"e","name":"message","id":7,"pid":1,"tid":2,"ts":650000},
    {"ph":"i","name":"flushed","pid":1,"tid":1,"ts":500000,"s":"t"},
    {"ph":"b","cat":"net","name":"download","id":3,"pid":1,"tid":1,"ts":100000},
    {"ph":"e","cat":"net","name":"download","id":3,"pid":1,"tid":1,"ts":900000},
    {"ph":"C","name":"queue","pid":1,"ts":0,"args":{"length":3}},
    {"ph":"C","name":"queue","pid":1,"ts":500000,"args":{"length":5}}]"#;

/// The curve of a flow of the selected span.
const FLOW: Color = [0x5b, 0xa4, 0xf5];

/// Returns the area of a track on the canvas.
fn track_rect(window: &Window<'_>, track: &str) -> Rect {
    let node = window.nodes().into_iter().find(|node| node.name.starts_with(track) && node.name.ends_with("folded"));
    let node = node.unwrap_or_else(|| window.fail(&format!("a track named {track}")));
    Rect { left: TRACK_AREA.left, right: TRACK_AREA.right, ..window.rect_of(&node.name) }
}

#[test]
fn instants_counters_async_spans_and_flows_are_shown_and_react_to_the_pointer() {
    let session = Session::with_screen_reader();
    let window = tracks::open_trace(&session, "kinds.json", KINDS, "receive");
    let (send, receive) = (find_span(&window.screenshot(), "send"), find_span(&window.screenshot(), "receive"));
    let (send, receive) = (send.expect("the span"), receive.expect("the span"));
    // An async span has its own track, with its duration.
    let download = find_span(&window.screenshot(), "download").expect("the async span");
    assert!((download.width() * 3).abs_diff(send.width() * 8) < 16, "{download:?} {send:?}");
    assert!(download.top >= track_rect(&window, "download").top, "the async span is not on its own track");
    // The track has nothing else at the time of the instant. Its shape is a few pixels wide.
    let middle = usize::midpoint(send.left, receive.right);
    let track = track_rect(&window, "Thread 1");
    let instant =
        window.screenshot().find_in(Rect { left: middle - 8, right: middle + 8, ..track }, span_color("flushed"));
    window.click(instant.expect("the instant").middle());
    window.wait_for_label("Selected: flushed");
    window.key("Escape");
    window.wait_for_label("Nothing selected");
    // The tooltip has the value of the counter: the first one before the middle, the second after it.
    let counter = track_rect(&window, "queue");
    for (x, value) in [(middle - 100, "3  ·  since 0."), (middle + 100, "5  ·  changed by +2  ·  since 0.5")] {
        window.move_pointer((x, counter.middle().1));
        window.wait_for_label(value);
    }
    // The flow connects the selected span with the other one, on the canvas and in the details.
    window.click((send.left + 20, send.bottom - 4));
    window.wait_for_label("Selected: send");
    window.wait_for_label("Outgoing flows");
    let between = Rect { left: send.right + 4, right: receive.left - 12, top: send.top, bottom: receive.bottom };
    window
        .wait_for("the curve", |window| window.screenshot().find_in(between, FLOW).filter(|curve| curve.width() > 100));
    window.click_node("+400 ms  receive  ·  Thread 2");
    window.wait_for_label("Selected: receive");
    window.wait_for_label("Incoming flows");
}

#[test]
fn each_cpu_has_a_track_of_the_threads_that_ran() {
    let session = Session::with_screen_reader();
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/perf_sched.data.gz");
    let window = session.open(&[text(&trace)]);
    window.wait_for_label("Timeline of ");
    let tracks = window.wait_for("CPU tracks", |window| {
        let tracks = window.tracks();
        tracks.iter().any(|track| track.starts_with("CPU 0")).then_some(tracks)
    });
    assert!(tracks.iter().any(|track| track.starts_with("CPU 1")), "{tracks:?}");
}

/// Four tracks: the first in the trace begins last, the second has the first name, and the third has the most work.
fn four_tracks() -> String {
    let named = |tid: u32, name: &str| {
        format!(r#"{{"ph":"M","name":"thread_name","pid":1,"tid":{tid},"args":{{"name":"{name}"}}}}"#)
    };
    let span = |tid: u32, name: &str, category: &str, ts: u32, dur: u32| {
        format!(r#"{{"ph":"X","name":"{name}","cat":"{category}","pid":1,"tid":{tid},"ts":{ts},"dur":{dur}}}"#)
    };
    let busy = (0..20).map(|n| span(3, "small", "io", 300 + n * 30, 20));
    let lines = [named(1, "delta"), named(2, "alpha"), named(3, "charlie"), named(4, "bravo")].into_iter();
    let spans = [span(1, "work", "cpu", 600, 300), span(2, "work", "io", 200, 300), span(4, "other", "io", 0, 1000)];
    format!("[{}]", lines.chain(spans).chain(busy).collect::<Vec<_>>().join(","))
}

/// Returns the names of the threads, without their ids.
fn threads(window: &Window<'_>) -> Vec<String> {
    let tracks = window.tracks().into_iter().filter(|track| !track.starts_with("Process"));
    tracks.map(|track| track.split(' ').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_track_order_and_height_are_applied_and_saved() {
    let session = Session::with_screen_reader();
    let window = tracks::open_trace(&session, "four.json", &four_tracks(), "other");
    let wait_for_order = |window: &Window<'_>, order: [&str; 4]| {
        window.wait_for(&order.join(" "), |window| (threads(window) == order).then_some(()));
    };
    wait_for_order(&window, ["delta", "alpha", "bravo", "charlie"]);
    window.run_command("Order by name");
    wait_for_order(&window, ["alpha", "bravo", "charlie", "delta"]);
    window.run_command("Order by first event");
    wait_for_order(&window, ["bravo", "alpha", "charlie", "delta"]);
    window.run_command("Order by number of events");
    wait_for_order(&window, ["charlie", "delta", "alpha", "bravo"]);
    window.run_command("Trace order");
    wait_for_order(&window, ["delta", "alpha", "bravo", "charlie"]);
    // Tracks are ordered and sized by the menu too.
    window.click_node("Arrange tracks");
    window.click_node("By name");
    wait_for_order(&window, ["alpha", "bravo", "charlie", "delta"]);
    let height = |window: &Window<'_>| find_span(&window.settled(), "other").expect("the span").height();
    let normal = height(&window);
    window.run_command("Tall tracks");
    window.wait_for("higher spans", |window| (height(window) > normal + 2).then_some(()));
    window.click_node("Arrange tracks");
    window.click_node("Compact");
    window.wait_for("lower spans", |window| (height(window) + 2 < normal).then_some(()));
    let compact = height(&window);
    let (status, stderr) = window.close();
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    let window = tracks::reopen_trace(&session, "four.json", "other");
    wait_for_order(&window, ["alpha", "bravo", "charlie", "delta"]);
    assert_eq!(height(&window), compact);
}

#[test]
fn spans_are_coloured_by_the_chosen_property_also_in_the_colour_blind_safe_palette() {
    let session = Session::with_screen_reader();
    let window = tracks::open_trace(&session, "four.json", &four_tracks(), "other");
    let work = window.screenshot();
    // The two spans with the same name are on the first and second track.
    let first = work.find_in(track_rect(&window, "delta"), span_color("work")).expect("a span").middle();
    let second = work.find_in(track_rect(&window, "alpha"), span_color("work")).expect("a span").middle();
    let other = (first.0, find_span(&work, "other").expect("a span").middle().1);
    let colors = |window: &Window<'_>| {
        let screenshot = window.settled();
        // These pixels are below the text of the name.
        [first, second, other].map(|(x, y)| screenshot.at(x, y + 4))
    };
    let color_of = |by: ColorBy, hues: Hues, text: &str| -> Color {
        let [red, green, blue, _] = Palette::from_colors(Colors { by, hues }, Shade::Dark).hashed_color(text).0;
        [red, green, blue]
    };
    let [name, blind] = [Hues::Usual, Hues::ColorBlind].map(|hues| move |text| color_of(ColorBy::Name, hues, text));
    let wait_for_colors = |expected: [Color; 3]| {
        window.wait_for("the colours", |window| (colors(window) == expected).then_some(()));
    };
    wait_for_colors([name("work"), name("work"), name("other")]);
    window.run_command("Colour by category");
    wait_for_colors([name("cpu"), name("io"), name("io")]);
    window.run_command("Colour by thread");
    let [first_now, second_now, _] = window.wait_for("other colours", |window| {
        Some(colors(window)).filter(|now| now[1] != name("io") && now[1] != now[0])
    });
    assert!(first_now != second_now, "both threads have one colour");
    window.run_command("Colour by duration");
    let [first_now, second_now, other_now] =
        window.wait_for("other colours", |window| Some(colors(window)).filter(|now| now[0] == now[1]));
    assert!(first_now == second_now && first_now != other_now, "the longer one has the same colour");
    window.run_command("Colour by name");
    wait_for_colors([name("work"), name("work"), name("other")]);
    window.run_command("Colour-blind-safe palette");
    wait_for_colors([blind("work"), blind("work"), blind("other")]);
}
