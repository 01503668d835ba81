//! Rows of other kinds than spans, and the order, height and colour of all rows. With real input, checked by screen
//! reader and pixels.

use std::path::Path;

use longspan::facade::scene::color::Shade;
use longspan::facade::scene::palette::{ColorBy, Colors, Hues, Palette};

use crate::picture::{Color, Place, span_color};
use crate::rows::{self, ROWS, span_on};
use crate::session::{Session, Window, text};

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

/// Returns the rows of a track.
fn row_of(window: &Window<'_>, track: &str) -> Place {
    let name = window.nodes().into_iter().find(|told| told.name.starts_with(track) && told.name.ends_with("folded"));
    let name = name.unwrap_or_else(|| window.give_up(&format!("a track {track}")));
    Place { left: ROWS.left, right: ROWS.right, ..window.place_of(&name.name) }
}

#[test]
fn instants_counters_asynchronous_spans_and_flows_are_shown_and_answer_the_hand() {
    let session = Session::with_reader();
    let window = rows::opened(&session, "kinds.json", KINDS, "receive");
    let (send, receive) = (span_on(&window.look(), "send"), span_on(&window.look(), "receive"));
    let (send, receive) = (send.expect("the span"), receive.expect("the span"));
    // An async span has its own row, with its duration.
    let download = span_on(&window.look(), "download").expect("the span of no thread");
    assert!((download.width() * 3).abs_diff(send.width() * 8) < 16, "{download:?} {send:?}");
    assert!(download.top >= row_of(&window, "download").top, "it is not on a row of its own");
    // The track has nothing else at the time of the instant. Its shape is a few pixels wide.
    let middle = usize::midpoint(send.left, receive.right);
    let track = row_of(&window, "Thread 1");
    let instant =
        window.look().find_within(Place { left: middle - 8, right: middle + 8, ..track }, span_color("flushed"));
    window.click(instant.expect("the instant").middle());
    window.until_said("Selected: flushed");
    window.key("Escape");
    window.until_said("Nothing selected");
    // The tooltip has the value of the counter: the first one before the middle, the second after it.
    let counter = row_of(&window, "queue");
    for (x, value) in [(middle - 100, "3  ·  since 0."), (middle + 100, "5  ·  changed by +2  ·  since 0.5")] {
        window.point((x, counter.middle().1));
        window.until_said(value);
    }
    // The flow connects the selected span with the other one, on the canvas and in the details.
    window.click((send.left + 20, send.bottom - 4));
    window.until_said("Selected: send");
    window.until_said("Outgoing flows");
    let between = Place { left: send.right + 4, right: receive.left - 12, top: send.top, bottom: receive.bottom };
    window.until("the curve", |window| window.look().find_within(between, FLOW).filter(|curve| curve.width() > 100));
    window.press("+400 ms  receive  ·  Thread 2");
    window.until_said("Selected: receive");
    window.until_said("Incoming flows");
}

#[test]
fn each_processor_has_a_row_of_the_threads_that_ran() {
    let session = Session::with_reader();
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/perf_sched.data.gz");
    let window = session.open(&[text(&capture)]);
    window.until_said("Timeline of ");
    let tracks = window.until("processors", |window| {
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
fn rows_are_ordered_and_sized_as_chosen_and_stay_so() {
    let session = Session::with_reader();
    let window = rows::opened(&session, "four.json", &four_tracks(), "other");
    let is_ordered = |window: &Window<'_>, order: [&str; 4]| {
        window.until(&order.join(" "), |window| (threads(window) == order).then_some(()));
    };
    is_ordered(&window, ["delta", "alpha", "bravo", "charlie"]);
    window.give("Order by name");
    is_ordered(&window, ["alpha", "bravo", "charlie", "delta"]);
    window.give("Order by first event");
    is_ordered(&window, ["bravo", "alpha", "charlie", "delta"]);
    window.give("Order by number of events");
    is_ordered(&window, ["charlie", "delta", "alpha", "bravo"]);
    window.give("Trace order");
    is_ordered(&window, ["delta", "alpha", "bravo", "charlie"]);
    // By the menu.
    window.press("Arrange tracks");
    window.press("By name");
    is_ordered(&window, ["alpha", "bravo", "charlie", "delta"]);
    let height = |window: &Window<'_>| span_on(&window.settled(), "other").expect("the span").height();
    let normal = height(&window);
    window.give("Tall tracks");
    window.until("higher spans", |window| (height(window) > normal + 2).then_some(()));
    window.press("Arrange tracks");
    window.press("Compact");
    window.until("lower spans", |window| (height(window) + 2 < normal).then_some(()));
    let compact = height(&window);
    let (status, said) = window.close();
    assert_eq!((status, said.as_str()), (Some(0), ""));
    let window = rows::reopened(&session, "four.json", "other");
    is_ordered(&window, ["alpha", "bravo", "charlie", "delta"]);
    assert_eq!(height(&window), compact);
}

#[test]
fn spans_are_coloured_by_what_is_chosen_also_for_colour_blind_eyes() {
    let session = Session::with_reader();
    let window = rows::opened(&session, "four.json", &four_tracks(), "other");
    let work = window.look();
    // The two spans of one name, on the first and second row.
    let first = work.find_within(row_of(&window, "delta"), span_color("work")).expect("a span").middle();
    let second = work.find_within(row_of(&window, "alpha"), span_color("work")).expect("a span").middle();
    let other = (first.0, span_on(&work, "other").expect("a span").middle().1);
    let colors = |window: &Window<'_>| {
        let picture = window.settled();
        // Below the text of the name.
        [first, second, other].map(|(x, y)| picture.at(x, y + 4))
    };
    let of_text = |by: ColorBy, hues: Hues, text: &str| -> Color {
        let [red, green, blue, _] = Palette::from_colors(Colors { by, hues }, Shade::Dark).hashed_color(text).0;
        [red, green, blue]
    };
    let [name, blind] = [Hues::Usual, Hues::ColorBlind].map(|hues| move |text| of_text(ColorBy::Name, hues, text));
    let is = |expected: [Color; 3]| {
        window.until("the colours", |window| (colors(window) == expected).then_some(()));
    };
    is([name("work"), name("work"), name("other")]);
    window.give("Colour by category");
    is([name("cpu"), name("io"), name("io")]);
    window.give("Colour by thread");
    let [first_now, second_now, _] = window
        .until("other colours", |window| Some(colors(window)).filter(|now| now[1] != name("io") && now[1] != now[0]));
    assert!(first_now != second_now, "both threads have one colour");
    window.give("Colour by duration");
    let [first_now, second_now, other_now] =
        window.until("other colours", |window| Some(colors(window)).filter(|now| now[0] == now[1]));
    assert!(first_now == second_now && first_now != other_now, "the longer one has the same colour");
    window.give("Colour by name");
    is([name("work"), name("work"), name("other")]);
    window.give("Colour-blind-safe palette");
    is([blind("work"), blind("work"), blind("other")]);
}
