//! Work that the window starts or shows: exports, cancelled loads, losses. An idle window does no work.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::open::TWO_SPANS;
use crate::picture::{BUTTON, Picture, Place, span_color};
use crate::session::{Session, Window, text, until};

/// Returns the button that cancels a load; those of an empty window are wider.
fn cancel_button(picture: &Picture) -> Option<Place> {
    let canvas = Place { left: 240, top: 40, right: 1280, bottom: 770 };
    picture.find_area(canvas, BUTTON).filter(|place| place.width() < 100)
}

/// Returns a button in the status bar.
fn button_in_status(picture: &Picture) -> Option<Place> {
    picture.find_area(Place { left: 0, top: 776, right: 1280, bottom: 800 }, BUTTON)
}

#[test]
fn an_export_from_the_menu_holds_every_span_sorted() {
    let session = Session::new();
    let late = r#"[{"ph":"X","name":"omega","pid":1,"tid":1,"ts":600000,"dur":400000},
        {"ph":"X","name":"alpha","pid":1,"tid":1,"ts":0,"dur":400000}]"#;
    let capture = session.file("late.json", late);
    let output = session.folder.path().join("sorted.longspan");
    let window = session.open(&[text(&capture)]);
    window.until_found("the spans", span_color("alpha"));
    let before = window.settled();
    window.key("ctrl+s");
    window.until("the picker", |window| (window.look() != before).then_some(()));
    window.settled();
    window.enter(text(&output));
    until("the exported file", || output.is_file().then_some(()));
    let spans = |path: &Path| {
        let output = session.command(&["spans", "--no-cache", "--format", "csv", text(path)]).output();
        String::from_utf8(output.expect("the program starts").stdout).expect("text")
    };
    assert_eq!(spans(&capture).lines().count(), 3);
    assert_eq!(spans(&output), spans(&capture));
    let info = session.command(&["info", "--no-cache", "--json", text(&output)]).output().expect("the program starts");
    let info: serde_json::Value = serde_json::from_slice(&info.stdout).expect("JSON");
    assert_eq!((info["spans"].as_u64(), info["late_events"].as_u64()), (Some(2), Some(0)));
}

#[test]
fn a_compact_export_from_the_menu_is_smaller_and_has_the_same_events() {
    let session = Session::with_reader();
    let window = session.open(&[text(&session.file("two.json", TWO_SPANS))]);
    window.until_found("the spans", span_color("alpha"));
    let exported = |title: &str, name: &str| {
        let output = session.folder.path().join(name);
        window.until_said(title);
        window.enter(text(&output));
        window.until("the exported file", |_| output.is_file().then_some(()));
        let spans = session.command(&["spans", "--no-cache", text(&output)]).output().expect("the program starts");
        (fs::metadata(&output).expect("there").len(), String::from_utf8(spans.stdout).expect("text"))
    };
    window.key("ctrl+s");
    let (carrying, spans) = exported("Export the sorted trace", "carrying.longspan");
    window.until_unsaid("Export the sorted trace");
    window.give("Export sorted trace, compact");
    let (compact, same) = exported("Export the sorted trace, compact", "compact.longspan");
    assert!(compact < carrying, "{compact} and {carrying} bytes");
    assert_eq!(spans.lines().count(), 3, "{spans}");
    assert_eq!(same, spans);
}

#[test]
fn a_window_that_writes_a_file_asks_before_it_closes_and_leaves_no_part_of_the_file() {
    let session = Session::with_reader();
    // The export takes several times as long as the request to close and its answer.
    let capture = large_capture(&session, 16);
    let outputs = session.folder.path().join("outputs");
    fs::create_dir(&outputs).expect("made");
    let window = session.open(&[text(&capture)]);
    window.until_said("8 tracks");
    window.until_unsaid("Opening");
    window.key("ctrl+s");
    window.until_said("Export the sorted trace");
    window.settled();
    window.enter(text(&outputs.join("large-again.json.gz")));
    let names = || {
        let files = fs::read_dir(&outputs).expect("a folder").flatten();
        files.map(|file| file.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    window.until("a part of the file", |_| (!names().is_empty()).then_some(()));
    window.key("ctrl+q");
    window.until_said("An export is in progress, and would be stopped");
    let written = names();
    assert!(written.iter().all(|name| name.starts_with(".longspan-")), "it was over too early: {written:?}");
    let (status, said) = window.discard();
    assert_eq!((status, said.as_str(), names()), (Some(0), "", Vec::new()));
}

#[test]
fn losses_are_a_button_in_the_status_bar_that_opens_their_list() {
    let session = Session::new();
    let lossy = TWO_SPANS.replace(']', r#",{"ph":"E","pid":1,"tid":1,"ts":500000}]"#);
    let window = session.open(&[text(&session.file("lossy.json", &lossy))]);
    window.until_found("the spans", span_color("alpha"));
    let badge = window.until("the button", |window| button_in_status(&window.look()));
    window.point(badge.middle());
    let before = window.settled();
    let rows_changed = |now: &Picture| {
        // Without the rows above the status bar, where the tooltip of the button appears.
        (40..700).filter(|&y| (0..1280).any(|x| now.at(x, y) != before.at(x, y))).count()
    };
    window.click(badge.middle());
    window.until("the list", |window| (rows_changed(&window.look()) > 60).then_some(()));
    window.settled();
    window.click(badge.middle());
    window.until("the list is gone", |window| (rows_changed(&window.look()) == 0).then_some(()));
    // A trace without losses has no such button.
    drop(window);
    let window = session.open(&[text(&session.file("whole.json", TWO_SPANS))]);
    window.until_found("the spans", span_color("alpha"));
    assert_eq!(button_in_status(&window.settled()), None);
}

#[test]
fn a_load_that_is_stopped_leaves_a_window_that_opens_the_next_file_and_no_half_of_a_store() {
    let session = Session::new();
    let capture = large_capture(&session, 30);
    let window = session.open(&["--threads", "1", text(&capture)]);
    window.until("the way to stop", |window| cancel_button(&window.look()));
    // The button moves when a row appears above or below it, so a press may miss it.
    window.until("the load has stopped", |window| {
        let Some(place) = cancel_button(&window.look()) else { return Some(()) };
        window.click(place.middle());
        window.until("the button answers", |window| (cancel_button(&window.look()) != Some(place)).then_some(()));
        // A hovered button has another colour.
        window.point((5, 5));
        let is_there = |window: &Window<'_>| cancel_button(&window.look()).is_some() || !window.is_working();
        window.until("the button or the end", |window| is_there(window).then_some(()));
        None
    });
    // The cache has neither an unfinished store nor a finished one.
    let left_over = || {
        let files = fs::read_dir(session.cache().join("longspan")).into_iter().flatten().flatten();
        files.map(|file| file.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    until("an empty cache", || match left_over() {
        files if files.is_empty() => Some(()),
        files => {
            assert!(
                !files.iter().any(|file| file.ends_with(".lsstore")),
                "the load was over before it was stopped: {files:?}"
            );
            None
        }
    });
    let stopped = window.settled();
    window.key("ctrl+o");
    window.until("the picker", |window| (window.look() != stopped).then_some(()));
    window.settled();
    window.enter(text(&session.file("next.json", TWO_SPANS)));
    window.until_title("next.json - Longspan");
    window.until_found("the span", span_color("alpha"));
}

#[test]
fn a_window_in_which_nothing_happens_uses_no_processor() {
    let session = Session::new();
    let window = session.open(&[text(&session.file("two.json", TWO_SPANS))]);
    window.until_found("the spans", span_color("alpha"));
    window.point((700, 700));
    let pid = window.process.0.id();
    let ticks = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
        // The name, which may contain spaces, ends with the last parenthesis. User and system time are fields 14 and
        // 15.
        let fields: Vec<_> = stat.rsplit(')').next().expect("a name").split_whitespace().collect();
        [fields[11], fields[12]].map(|ticks| ticks.parse::<u64>().expect("a number")).iter().sum::<u64>()
    };
    // Work caused by the pointer and the load ends, also on a busy machine. Repeated work does not.
    let mut last = (ticks(), Instant::now());
    window.until("the end of all work", |_| {
        let now = ticks();
        if now != last.0 {
            last = (now, Instant::now());
        }
        (last.1.elapsed() > Duration::from_secs(1)).then_some(())
    });
    let before = ticks();
    // The only fixed wait is the measured time.
    std::thread::sleep(Duration::from_secs(3));
    let used = ticks() - before;
    assert!(used <= 3, "{used} ticks in three seconds");
}

/// Three million spans, which take some seconds on one thread: one block of text, compressed once and repeated.
/// Writes a compressed capture with this many times 100,000 spans.
fn large_capture(session: &Session, blocks: u32) -> PathBuf {
    let path = session.folder.path().join("large.json.gz");
    let compressed = |text: &str| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).expect("into memory");
        encoder.finish().expect("into memory")
    };
    let line = |n: u32| {
        format!("{{\"ph\":\"X\",\"name\":\"n{}\",\"pid\":1,\"tid\":{},\"ts\":{n},\"dur\":0.7}},\n", n % 50, n % 8)
    };
    let block = compressed(&(0..100_000).map(line).collect::<String>());
    let mut file = fs::File::create(&path).expect("made");
    file.write_all(&compressed("[")).expect("written");
    (0..blocks).for_each(|_| file.write_all(&block).expect("written"));
    file.write_all(&compressed("{}]")).expect("written");
    path
}
