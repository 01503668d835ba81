//! Exports, cancelled loads and import issues in the window. An idle window does no work.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::open::TWO_SPANS;
use crate::screenshot::{BUTTON, Rect, Screenshot, span_color};
use crate::session::{Session, Window, text, wait_for};

/// Returns the button that cancels a load; the buttons of an empty window are wider.
fn cancel_button(screenshot: &Screenshot) -> Option<Rect> {
    let canvas = Rect { left: 240, top: 40, right: 1280, bottom: 770 };
    screenshot.find_area(canvas, BUTTON).filter(|rect| rect.width() < 100)
}

/// Returns a button in the status bar.
fn status_button(screenshot: &Screenshot) -> Option<Rect> {
    screenshot.find_area(Rect { left: 0, top: 776, right: 1280, bottom: 800 }, BUTTON)
}

#[test]
fn an_export_from_the_menu_has_every_span_in_order() {
    let session = Session::new();
    let late = r#"[{"ph":"X","name":"omega","pid":1,"tid":1,"ts":600000,"dur":400000},
        {"ph":"X","name":"alpha","pid":1,"tid":1,"ts":0,"dur":400000}]"#;
    let trace = session.file("late.json", late);
    let output = session.folder.path().join("sorted.longspan");
    let window = session.open(&[text(&trace)]);
    window.wait_for_color("the spans", span_color("alpha"));
    let before = window.settled();
    window.key("ctrl+s");
    window.wait_for("the picker", |window| (window.screenshot() != before).then_some(()));
    window.settled();
    window.enter_text(text(&output));
    wait_for("the exported file", || output.is_file().then_some(()));
    let spans = |path: &Path| {
        let output = session.command(&["spans", "--no-cache", "--format", "csv", text(path)]).output();
        String::from_utf8(output.expect("the program starts").stdout).expect("text")
    };
    assert_eq!(spans(&trace).lines().count(), 3);
    assert_eq!(spans(&output), spans(&trace));
    let info = session.command(&["info", "--no-cache", "--json", text(&output)]).output().expect("the program starts");
    let info: serde_json::Value = serde_json::from_slice(&info.stdout).expect("JSON");
    assert_eq!((info["spans"].as_u64(), info["late_events"].as_u64()), (Some(2), Some(0)));
}

#[test]
fn a_compact_export_from_the_menu_is_smaller_and_has_the_same_events() {
    let session = Session::with_screen_reader();
    let window = session.open(&[text(&session.file("two.json", TWO_SPANS))]);
    window.wait_for_color("the spans", span_color("alpha"));
    let exported = |title: &str, name: &str| {
        let output = session.folder.path().join(name);
        window.wait_for_label(title);
        window.enter_text(text(&output));
        window.wait_for("the exported file", |_| output.is_file().then_some(()));
        let spans = session.command(&["spans", "--no-cache", text(&output)]).output().expect("the program starts");
        (fs::metadata(&output).expect("there").len(), String::from_utf8(spans.stdout).expect("text"))
    };
    window.key("ctrl+s");
    let (full, spans) = exported("Export the trace", "full.longspan");
    window.wait_for_no_label("Export the trace");
    window.run_command("Export sorted trace, compact");
    let (compact, same) = exported("Export the trace, compact", "compact.longspan");
    assert!(compact < full, "{compact} and {full} bytes");
    assert_eq!(spans.lines().count(), 3, "{spans}");
    assert_eq!(same, spans);
}

#[test]
fn closing_during_an_export_asks_first_and_leaves_no_partial_file() {
    let session = Session::with_screen_reader();
    // The export takes several times as long as the request to close and its answer.
    let trace = large_trace(&session, 16);
    let outputs = session.folder.path().join("outputs");
    fs::create_dir(&outputs).expect("made");
    let window = session.open(&[text(&trace)]);
    window.wait_for_label("8 tracks");
    window.wait_for_no_label("Opening");
    window.key("ctrl+s");
    window.wait_for_label("Export the trace");
    window.settled();
    window.enter_text(text(&outputs.join("large-again.json.gz")));
    let names = || {
        let files = fs::read_dir(&outputs).expect("a folder").flatten();
        files.map(|file| file.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    window.wait_for("the partial file", |_| (!names().is_empty()).then_some(()));
    window.key("ctrl+q");
    window.wait_for_label("An export is in progress, and would be stopped");
    let written = names();
    assert!(written.iter().all(|name| name.starts_with(".longspan-")), "the export ended too early: {written:?}");
    let (status, stderr) = window.discard();
    assert_eq!((status, stderr.as_str(), names()), (Some(0), "", Vec::new()));
}

#[test]
fn import_issues_are_a_button_in_the_status_bar_that_opens_their_list() {
    let session = Session::new();
    let lossy = TWO_SPANS.replace(']', r#",{"ph":"E","pid":1,"tid":1,"ts":500000}]"#);
    let window = session.open(&[text(&session.file("lossy.json", &lossy))]);
    window.wait_for_color("the spans", span_color("alpha"));
    let badge = window.wait_for("the button", |window| status_button(&window.screenshot()));
    window.move_pointer(badge.middle());
    let before = window.settled();
    let rows_changed = |now: &Screenshot| {
        // The tooltip of the button appears just above the status bar, so those rows are left out.
        (40..700).filter(|&y| (0..1280).any(|x| now.at(x, y) != before.at(x, y))).count()
    };
    window.click(badge.middle());
    window.wait_for("the list", |window| (rows_changed(&window.screenshot()) > 60).then_some(()));
    window.settled();
    window.click(badge.middle());
    window.wait_for("the list is gone", |window| (rows_changed(&window.screenshot()) == 0).then_some(()));
    // A trace without losses has no such button.
    drop(window);
    let window = session.open(&[text(&session.file("whole.json", TWO_SPANS))]);
    window.wait_for_color("the spans", span_color("alpha"));
    assert_eq!(status_button(&window.settled()), None);
}

#[test]
fn a_cancelled_load_leaves_no_partial_store_and_the_next_file_opens() {
    let session = Session::new();
    let trace = large_trace(&session, 30);
    let window = session.open(&["--threads", "1", text(&trace)]);
    window.wait_for("the cancel button", |window| cancel_button(&window.screenshot()));
    // The button moves when a row appears above or below it, so a press may miss it.
    window.wait_for("the load has stopped", |window| {
        let Some(rect) = cancel_button(&window.screenshot()) else { return Some(()) };
        window.click(rect.middle());
        window.wait_for("the button disappears or moves", |window| {
            (cancel_button(&window.screenshot()) != Some(rect)).then_some(())
        });
        // A hovered button has another colour.
        window.move_pointer((5, 5));
        let is_there = |window: &Window<'_>| cancel_button(&window.screenshot()).is_some() || !window.is_working();
        window.wait_for("the button or an idle program", |window| is_there(window).then_some(()));
        None
    });
    // The cache has neither an unfinished store nor a finished one.
    let cached_files = || {
        let files = fs::read_dir(session.cache().join("longspan")).into_iter().flatten().flatten();
        files.map(|file| file.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    wait_for("an empty cache", || match cached_files() {
        files if files.is_empty() => Some(()),
        files => {
            assert!(
                !files.iter().any(|file| file.ends_with(".lsstore")),
                "the load ended before it was cancelled: {files:?}"
            );
            None
        }
    });
    let stopped = window.settled();
    window.key("ctrl+o");
    window.wait_for("the picker", |window| (window.screenshot() != stopped).then_some(()));
    window.settled();
    window.enter_text(text(&session.file("next.json", TWO_SPANS)));
    window.wait_for_title("next.json - Longspan");
    window.wait_for_color("the span", span_color("alpha"));
}

#[test]
fn an_idle_window_uses_no_cpu_time() {
    let session = Session::new();
    let window = session.open(&[text(&session.file("two.json", TWO_SPANS))]);
    window.wait_for_color("the spans", span_color("alpha"));
    window.move_pointer((700, 700));
    let pid = window.process.0.id();
    let ticks = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
        // The name, which may contain spaces, ends with the last parenthesis. User and system time are fields 14 and
        // 15.
        let fields: Vec<_> = stat.rsplit(')').next().expect("a name").split_whitespace().collect();
        [fields[11], fields[12]].map(|ticks| ticks.parse::<u64>().expect("a number")).iter().sum::<u64>()
    };
    // Work caused by the pointer and by the load ends, even on a busy machine. Repeated work does not end.
    let mut last = (ticks(), Instant::now());
    window.wait_for("the end of all work", |_| {
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

/// Writes a compressed trace with 100,000 spans per block. The text of a block is compressed once and repeated.
fn large_trace(session: &Session, blocks: u32) -> PathBuf {
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
