//! State that a restart restores, and files that cannot be read or written. The input is real; the screen reader, files
//! and pixels check the result.

use std::fs;

use crate::accessibility::view_s;
use crate::open::TWO_SPANS;
use crate::screenshot::{CANVAS, span_color};
use crate::session::{Session, text};
use crate::tracks::{self, find_span};

#[test]
fn named_markers_are_saved_with_the_trace_and_the_ruler_counts_from_the_chosen_one() {
    let session = Session::with_screen_reader();
    let window = tracks::open_trace(&session, "two.json", TWO_SPANS, "omega");
    let omega = find_span(&window.screenshot(), "omega").expect("a span");
    for at in [omega.left - 200, omega.left] {
        window.move_pointer((at, 600));
        window.settled();
        window.key("m");
    }
    window.click_node("Marker 2");
    window.key("ctrl+m");
    window.wait_for_label("Between the last two");
    window.click_node("Name of Marker 2");
    window.wait_for("the name field has the focus", |window| {
        window.nodes().into_iter().find(|node| node.is_focused && node.name == "Name of Marker 2")
    });
    window.xdotool(&["key", "ctrl+a"]);
    window.xdotool(&["type", "--delay", "10", "second half"]);
    window.wait_for_label("Marker second half");
    window.key("ctrl+m");
    window.wait_for_no_label("Between the last two");
    let ruler = window.rect_of("Ruler: drag to select time");
    window.move_pointer((5, 5));
    let before = window.settled();
    window.run_command("Ruler from the chosen marker");
    window.wait_for("other times on the ruler", |window| window.screenshot().differs(&before, ruler).then_some(()));
    let from_marker = window.settled();
    let (status, stderr) = window.close();
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    let window = tracks::reopen_trace(&session, "two.json", "omega");
    let flag = window.rect_of("Marker second half");
    assert!(flag.left.abs_diff(omega.left) <= 2 && window.has_label("Marker 1"), "{flag:?} {omega:?}");
    window.move_pointer((5, 5));
    assert!(!window.settled().differs(&from_marker, ruler), "the ruler counts from another time");
}

#[test]
fn preferences_the_window_size_and_the_view_are_restored() {
    let session = Session::with_screen_reader();
    let window = tracks::open_trace(&session, "two.json", TWO_SPANS, "omega");
    window.run_command("Light theme");
    window.wait_for("the light theme", |window| (window.screenshot().count(CANVAS) == 0).then_some(()));
    window.key("ctrl+plus");
    window.run_command("Preferences...");
    window.wait_for_label("110 %");
    window.key("Escape");
    window.wait_for_no_label("110 %");
    window.resize(1000, 600);
    window.move_pointer((600, 500));
    window.xdotool(&["key", "--repeat", "2", "plus"]);
    window.settled();
    let view = view_s(&window);
    let (status, stderr) = window.close();
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    // Without a file, the recent traces are listed.
    let mut command = session.command(&[]);
    let window = session.open_command_on_canvas(&mut command, [0xff, 0xff, 0xff]);
    assert_eq!(window.size(), (1000, 600));
    window.click_node("two.json");
    window.wait_for_title("two.json - Longspan");
    let again = view_s(&window);
    assert!((again.0 - view.0).abs() < 0.002 && (again.1 - view.1).abs() < 0.002, "{again:?} {view:?}");
    window.run_command("Preferences...");
    window.wait_for_label("110 %");
}

#[test]
fn broken_preferences_are_renamed_and_reported() {
    let session = Session::with_screen_reader();
    let broken = r#"{"shade": "Light", "#;
    fs::create_dir_all(session.folder.path().join("config/longspan")).expect("a folder");
    let path = session.file("config/longspan/preferences.json", broken);
    let window = tracks::open_trace(&session, "two.json", TWO_SPANS, "omega");
    window.wait_for_label("renamed to ");
    assert_eq!(fs::read_to_string(path.with_extension("json.broken")).expect("the renamed file"), broken);
    let (status, stderr) = window.close();
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    let preferences = fs::read_to_string(&path).expect("the new preferences");
    assert!(serde_json::from_str::<serde_json::Value>(&preferences).is_ok(), "{preferences}");
}

#[test]
fn a_truncated_trace_is_shown_up_to_the_cut_and_a_full_disk_is_an_error_message() {
    let session = Session::with_screen_reader();
    let cut = &TWO_SPANS[..TWO_SPANS.len() - 20];
    let window = tracks::open_trace(&session, "cut.json", cut, "alpha");
    window.wait_for_label("Timeline of 1 tracks");
    window.run_command("Import issues");
    window.wait_for_label("The trace ends early");
    window.key("Escape");
    window.key("ctrl+s");
    window.wait_for_label("Export the trace");
    window.enter_text("/dev/full");
    window.wait_for_label("No space left on device");
    // The trace is still open, and another disk has space.
    window.key("Escape");
    window.wait_for_no_label("No space left on device");
    assert!(find_span(&window.settled(), "alpha").is_some());
    let output = session.folder.path().join("sorted.longspan");
    window.key("ctrl+s");
    window.wait_for_label("Export the trace");
    window.enter_text(text(&output));
    window.wait_for("the exported file", |_| output.is_file().then_some(()));
}

#[test]
fn the_file_picker_navigates_folders_and_opens_and_replaces_files() {
    let session = Session::with_screen_reader();
    fs::create_dir_all(session.folder.path().join("traces/old")).expect("folders");
    session.file("traces/two.json", TWO_SPANS);
    let window = session.open(&[]);
    window.wait_for_label("Open a trace...");
    window.click_node("Open a trace...");
    window.click_node("traces/");
    window.click_node("old/");
    window.wait_for_no_label("two.json");
    window.click_node("Up");
    window.click_node("two.json");
    window.click_node("Open");
    window.wait_for_title("two.json - Longspan");
    window.wait_for_color("the span", span_color("alpha"));
    // The first letter replaces the suggested name, but not its extension.
    let written = session.folder.path().join("traces/mine.longspan");
    window.key("ctrl+s");
    window.wait_for_label("Export the trace");
    window.xdotool(&["type", "--delay", "4", "mine"]);
    window.key("Return");
    window.wait_for("the exported file", |_| written.is_file().then_some(()));
    window.wait_for_no_label("Export the trace");
    fs::write(&written, "an older file").expect("written");
    window.key("ctrl+s");
    window.wait_for_label("Export the trace");
    window.xdotool(&["type", "--delay", "4", "mine"]);
    window.wait_for_label("A file of this name exists");
    window.click_node("Replace");
    window.wait_for("the exported file", |_| (fs::metadata(&written).ok()?.len() > 100).then_some(()));
}
