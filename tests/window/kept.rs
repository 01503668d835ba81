//! State that a restart restores, and files that cannot be read or written. With real input, checked by screen reader,
//! files and pixels.

use std::fs;

use crate::open::TWO_SPANS;
use crate::picture::{CANVAS, span_color};
use crate::rows::{self, span_on};
use crate::session::{Session, text};
use crate::told::view_s;

#[test]
fn marks_keep_their_names_with_the_capture_and_the_ruler_counts_from_the_chosen_one() {
    let session = Session::with_reader();
    let window = rows::opened(&session, "two.json", TWO_SPANS, "omega");
    let omega = span_on(&window.look(), "omega").expect("a span");
    for at in [omega.left - 200, omega.left] {
        window.point((at, 600));
        window.settled();
        window.key("m");
    }
    window.press("Marker 2");
    window.key("ctrl+m");
    window.until_said("Between the last two");
    window.press("Name of Marker 2");
    window.until("the name has the keys", |window| {
        window.nodes().into_iter().find(|told| told.is_focused && told.name == "Name of Marker 2")
    });
    window.xdotool(&["key", "ctrl+a"]);
    window.xdotool(&["type", "--delay", "10", "second half"]);
    window.until_said("Marker second half");
    window.key("ctrl+m");
    window.until_unsaid("Between the last two");
    let ruler = window.place_of("Ruler: drag to select time");
    window.point((5, 5));
    let before = window.settled();
    window.give("Ruler from the chosen marker");
    window.until("other times on the ruler", |window| window.look().differs(&before, ruler).then_some(()));
    let counted = window.settled();
    let (status, said) = window.close();
    assert_eq!((status, said.as_str()), (Some(0), ""));
    let window = rows::reopened(&session, "two.json", "omega");
    let flag = window.place_of("Marker second half");
    assert!(flag.left.abs_diff(omega.left) <= 2 && window.says("Marker 1"), "{flag:?} {omega:?}");
    window.point((5, 5));
    assert!(!window.settled().differs(&counted, ruler), "the ruler counts from elsewhere");
}

#[test]
fn preferences_the_size_of_the_window_and_what_was_in_view_are_there_again() {
    let session = Session::with_reader();
    let window = rows::opened(&session, "two.json", TWO_SPANS, "omega");
    window.give("Light theme");
    window.until("the light theme", |window| (window.look().count(CANVAS) == 0).then_some(()));
    window.key("ctrl+plus");
    window.give("Preferences...");
    window.until_said("110 %");
    window.key("Escape");
    window.until_unsaid("110 %");
    window.resize(1000, 600);
    window.point((600, 500));
    window.xdotool(&["key", "--repeat", "2", "plus"]);
    window.settled();
    let view = view_s(&window);
    let (status, said) = window.close();
    assert_eq!((status, said.as_str()), (Some(0), ""));
    // Without a file, the recent traces are listed.
    let mut command = session.command(&[]);
    let window = session.open_lit_by(&mut command, [0xff, 0xff, 0xff]);
    assert_eq!(window.size(), (1000, 600));
    window.press("two.json");
    window.until_title("two.json - Longspan");
    let again = view_s(&window);
    assert!((again.0 - view.0).abs() < 0.002 && (again.1 - view.1).abs() < 0.002, "{again:?} {view:?}");
    window.give("Preferences...");
    window.until_said("110 %");
}

#[test]
fn broken_preferences_are_set_aside_and_told_of() {
    let session = Session::with_reader();
    let broken = r#"{"shade": "Light", "#;
    fs::create_dir_all(session.folder.path().join("config/longspan")).expect("a folder");
    let path = session.file("config/longspan/preferences.json", broken);
    let window = rows::opened(&session, "two.json", TWO_SPANS, "omega");
    window.until_said("renamed to ");
    assert_eq!(fs::read_to_string(path.with_extension("json.broken")).expect("set aside"), broken);
    let (status, said) = window.close();
    assert_eq!((status, said.as_str()), (Some(0), ""));
    let kept = fs::read_to_string(&path).expect("new ones");
    assert!(serde_json::from_str::<serde_json::Value>(&kept).is_ok(), "{kept}");
}

#[test]
fn a_capture_that_breaks_off_is_shown_up_to_there_and_a_full_disk_is_a_sentence() {
    let session = Session::with_reader();
    let cut = &TWO_SPANS[..TWO_SPANS.len() - 20];
    let window = rows::opened(&session, "cut.json", cut, "alpha");
    window.until_said("Timeline of 1 tracks");
    window.give("Import issues");
    window.until_said("The trace ends early");
    window.key("Escape");
    window.key("ctrl+s");
    window.until_said("Export the sorted trace");
    window.enter("/dev/full");
    window.until_said("No space left on device");
    // The trace is still open, and another disk has space.
    window.key("Escape");
    window.until_unsaid("No space left on device");
    assert!(span_on(&window.settled(), "alpha").is_some());
    let output = session.folder.path().join("sorted.longspan");
    window.key("ctrl+s");
    window.until_said("Export the sorted trace");
    window.enter(text(&output));
    window.until("the exported file", |_| output.is_file().then_some(()));
}

#[test]
fn the_picker_leads_through_folders_and_opens_what_is_clicked() {
    let session = Session::with_reader();
    fs::create_dir_all(session.folder.path().join("captures/old")).expect("folders");
    session.file("captures/two.json", TWO_SPANS);
    let window = session.open(&[]);
    window.until_said("Open a trace...");
    window.press("Open a trace...");
    window.press("captures/");
    window.press("old/");
    window.until_unsaid("two.json");
    window.press("Up");
    window.press("two.json");
    window.press("Open");
    window.until_title("two.json - Longspan");
    window.until_found("the span", span_color("alpha"));
    // The first letter replaces the suggested name, but not its extension.
    let written = session.folder.path().join("captures/mine.longspan");
    window.key("ctrl+s");
    window.until_said("Export the sorted trace");
    window.xdotool(&["type", "--delay", "4", "mine"]);
    window.key("Return");
    window.until("the exported file", |_| written.is_file().then_some(()));
    window.until_unsaid("Export the sorted trace");
    fs::write(&written, "an older file").expect("written");
    window.key("ctrl+s");
    window.until_said("Export the sorted trace");
    window.xdotool(&["type", "--delay", "4", "mine"]);
    window.until_said("A file of this name exists");
    window.press("Replace");
    window.until("the exported file", |_| (fs::metadata(&written).ok()?.len() > 100).then_some(()));
}
