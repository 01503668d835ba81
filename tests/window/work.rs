//! Work that the window starts or shows: exports, loads that are stopped, losses. And none at all while nothing happens.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::desk::{Desk, text, until};
use crate::open::TWO_SPANS;
use crate::picture::{BUTTON, Picture, Place, span_color};

/// Below the menu, where buttons have the colour of buttons.
fn button(picture: &Picture, from_bottom: usize) -> Option<Place> {
    let bottom = 800;
    let top = if from_bottom == 0 { 40 } else { bottom - from_bottom };
    picture.find_within(Place { left: 0, top, right: 1280, bottom }, BUTTON)
}

#[test]
fn an_export_from_the_menu_holds_every_span_sorted() {
    let desk = Desk::new();
    let late = r#"[{"ph":"X","name":"omega","pid":1,"tid":1,"ts":600000,"dur":400000},
        {"ph":"X","name":"alpha","pid":1,"tid":1,"ts":0,"dur":400000}]"#;
    let capture = desk.file("late.json", late);
    let output = desk.folder.path().join("sorted.longspan");
    let window = desk.open(&[text(&capture)]);
    window.until_found("the spans", span_color("alpha"));
    let before = window.settled();
    window.key("ctrl+s");
    window.until("the picker", |window| (window.look() != before).then_some(()));
    window.settled();
    window.enter(text(&output));
    until("the exported file", || output.is_file().then_some(()));
    let spans = |path: &Path| {
        let output = desk.command(&["spans", "--no-cache", "--format", "csv", text(path)]).output();
        String::from_utf8(output.expect("the program starts").stdout).expect("text")
    };
    assert_eq!(spans(&capture).lines().count(), 3);
    assert_eq!(spans(&output), spans(&capture));
    let info = desk.command(&["info", "--no-cache", "--json", text(&output)]).output().expect("the program starts");
    let info: serde_json::Value = serde_json::from_slice(&info.stdout).expect("JSON");
    assert_eq!((info["spans"].as_u64(), info["late_events"].as_u64()), (Some(2), Some(0)));
}

#[test]
fn losses_are_a_button_in_the_status_bar_that_opens_their_list() {
    let desk = Desk::new();
    let lossy = TWO_SPANS.replace(']', r#",{"ph":"E","pid":1,"tid":1,"ts":500000}]"#);
    let window = desk.open(&[text(&desk.file("lossy.json", &lossy))]);
    window.until_found("the spans", span_color("alpha"));
    let badge = window.until("the button", |window| button(&window.look(), 24));
    window.point(badge.middle());
    let before = window.settled();
    window.click(badge.middle());
    window.until("the list", |window| {
        let now = window.look();
        let rows = (40..770).filter(|&y| (0..1280).any(|x| now.at(x, y) != before.at(x, y))).count();
        (rows > 60).then_some(())
    });
    window.settled();
    window.click(badge.middle());
    window.until("the list is gone", |window| (window.look() == before).then_some(()));
    // A capture without losses has no such button.
    drop(window);
    let window = desk.open(&[text(&desk.file("whole.json", TWO_SPANS))]);
    window.until_found("the spans", span_color("alpha"));
    assert_eq!(button(&window.settled(), 24), None);
}

#[test]
fn a_load_that_is_stopped_leaves_a_window_that_opens_the_next_file_and_no_half_of_a_store() {
    let desk = Desk::new();
    let capture = desk.folder.path().join("large.json");
    let mut file = std::io::BufWriter::new(fs::File::create(&capture).expect("made"));
    file.write_all(b"[").expect("written");
    for n in 0..1_500_000_u32 {
        let end = if n % 2 == 0 { 7 } else { 3 };
        writeln!(file, r#"{{"ph":"X","name":"work {}","pid":1,"tid":{},"ts":{n},"dur":0.{end}}},"#, n % 50, n % 8)
            .expect("written");
    }
    file.write_all(b"{}]").expect("written");
    drop(file);
    let window = desk.open(&[text(&capture)]);
    window.until("the way to stop", |window| button(&window.look(), 0));
    // The button moves when there is something to see behind it, so a press may miss it.
    window.until("the load has stopped", |window| {
        let Some(place) = button(&window.look(), 0) else { return Some(()) };
        window.click(place.middle());
        window.until("the button answers", |window| (button(&window.look(), 0) != Some(place)).then_some(()));
        window.point((5, 600));
        window.settled();
        None
    });
    let building = || {
        let files = fs::read_dir(desk.cache().join("longspan")).into_iter().flatten().flatten();
        let names: Vec<_> = files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
        names.into_iter().filter(|name| name.contains("building") || name.contains("spill")).collect::<Vec<_>>()
    };
    until("no half of a store", || building().is_empty().then_some(()));
    let kept = fs::read_dir(desk.cache().join("longspan")).into_iter().flatten().count();
    assert_eq!(kept, 0, "the load was over before it was stopped");
    let stopped = window.settled();
    window.key("ctrl+o");
    window.until("the picker", |window| (window.look() != stopped).then_some(()));
    window.settled();
    window.enter(text(&desk.file("next.json", TWO_SPANS)));
    window.until_title("next.json - Longspan");
    window.until_found("the span", span_color("alpha"));
}

#[test]
fn a_window_in_which_nothing_happens_uses_no_processor() {
    let desk = Desk::new();
    let window = desk.open(&[text(&desk.file("two.json", TWO_SPANS))]);
    window.until_found("the spans", span_color("alpha"));
    window.point((700, 700));
    let pid = window.process.0.id();
    let ticks = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
        // The name, which may hold blanks, ends with the last parenthesis; user and system time are fields 14 and 15.
        let fields: Vec<_> = stat.rsplit(')').next().expect("a name").split_whitespace().collect();
        [fields[11], fields[12]].map(|ticks| ticks.parse::<u64>().expect("a number")).iter().sum::<u64>()
    };
    // What the pointer and the load set off comes to its end, also on a busy machine; what repeats does not.
    let mut last = (ticks(), Instant::now());
    window.until("the end of all work", |_| {
        let now = ticks();
        if now != last.0 {
            last = (now, Instant::now());
        }
        (last.1.elapsed() > Duration::from_secs(1)).then_some(())
    });
    let before = ticks();
    // The one time that is waited for: it is what is measured.
    std::thread::sleep(Duration::from_secs(3));
    let used = ticks() - before;
    assert!(used <= 3, "{used} ticks in three seconds");
}
