//! Ways to open a trace, and failures to open one.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::picture::{ERROR, span_color};
use crate::session::{Session, text};

/// Two spans on one thread, in the first and last two fifths of a second.
pub(crate) const TWO_SPANS: &str = r#"[
    {"ph":"X","name":"alpha","cat":"test","pid":1,"tid":1,"ts":0,"dur":400000,"args":{"answer":42}},
    {"ph":"X","name":"omega","cat":"test","pid":1,"tid":1,"ts":600000,"dur":400000}]"#;

#[test]
fn a_file_on_the_command_line_is_shown_and_the_first_picture_does_not_wait_for_it() {
    let session = Session::new();
    let window = session.open(&[text(&session.file("two.json", TWO_SPANS))]);
    writeln!(std::io::stderr(), "first picture after {} ms", window.first_picture.as_millis()).expect("stderr");
    // A build with few optimisations, with software rendering, on a busy machine.
    assert!(window.first_picture < Duration::from_secs(15), "{:?}", window.first_picture);
    window.until_title("two.json - Longspan");
    let alpha = window.until_found("the first span", span_color("alpha"));
    let omega = window.until_found("the second span", span_color("omega"));
    assert!(alpha.width().abs_diff(omega.width()) <= 3, "{alpha:?} {omega:?}");
    assert!((omega.left - alpha.right).abs_diff(alpha.width() / 2) <= 3, "{alpha:?} {omega:?}");
    let (status, said) = window.close();
    assert_eq!((status, said.as_str()), (Some(0), ""));
}

#[test]
fn where_the_system_has_no_dialog_a_path_is_typed_into_the_window() {
    let session = Session::new();
    let capture = session.file("typed.json", TWO_SPANS);
    let window = session.open(&[]);
    let welcome = window.settled();
    window.key("ctrl+o");
    window.until("the picker", |window| (window.look() != welcome).then_some(()));
    window.settled();
    window.enter(text(&capture));
    window.until_title("typed.json - Longspan");
    window.until_found("the span", span_color("alpha"));
}

#[test]
fn a_dropped_file_is_opened() {
    let session = Session::new();
    let capture = session.file("dropped here.json", TWO_SPANS);
    let window = session.open(&[]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/window/drop.py");
    // The system's Python, for which `.ci/setup` installs the X library.
    let said = window.session.tool("/usr/bin/python3", &[script, window.id(), text(&capture)]);
    assert_eq!(said.trim(), "accepted", "the window does not take the file");
    window.until_title("dropped here.json - Longspan");
    window.until_found("the span", span_color("alpha"));
}

#[test]
fn an_unreadable_file_is_a_sentence_and_the_window_opens_the_next_one() {
    let session = Session::new();
    let (bad, good) = (session.file("bad.json", "this is no trace"), session.file("good.json", TWO_SPANS));
    let window = session.open(&[text(&bad)]);
    window.until_found("the message", ERROR);
    assert_eq!(window.title(), "Longspan");
    window.key("Escape");
    window.until("the message is gone", |window| window.look().find(ERROR).is_none().then_some(()));
    let welcome = window.settled();
    window.key("ctrl+o");
    window.until("the picker", |window| (window.look() != welcome).then_some(()));
    window.settled();
    window.enter(text(&good));
    window.until_title("good.json - Longspan");
}

#[test]
fn a_missing_file_is_an_error_on_a_terminal_that_opens_no_window() {
    let session = Session::new();
    let given = session.command(&["/nonexistent/trace.json"]);
    let line = format!("{} /nonexistent/trace.json", given.get_program().to_str().expect("text"));
    // A window would stay.
    let mut on_terminal = Command::new("timeout");
    on_terminal.args(["20", "script", "--quiet", "--return", "--command", &line, "/dev/null"]).stdin(Stdio::null());
    // The window has a `PATH` without programs.
    for (name, value) in given.get_envs().filter(|(name, _)| *name != "PATH") {
        match value {
            Some(value) => on_terminal.env(name, value),
            None => on_terminal.env_remove(name),
        };
    }
    let output = on_terminal.output().expect("`script` runs; `.ci/setup` installs it");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!((output.status.code(), shown.contains("no such file")), (Some(1), true), "{shown}");
}

#[test]
fn a_machine_without_anything_that_draws_is_an_error_that_says_what_to_do() {
    let session = Session::new();
    let capture = session.file("two.json", TWO_SPANS);
    let mut command = session.command(&[text(&capture)]);
    // Without a driver of either kind: both loaders search only here.
    command.env("VK_DRIVER_FILES", "/nowhere").env("VK_ICD_FILENAMES", "/nowhere");
    command.env("__EGL_VENDOR_LIBRARY_FILENAMES", "/nowhere").env("LIBGL_DRIVERS_PATH", "/nowhere");
    let output = command.output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("mesa-vulkan-drivers") && !said.contains("panicked"), "{said}");
}

#[test]
fn a_display_that_does_not_answer_is_an_error_that_says_what_to_do() {
    let session = Session::new();
    let capture = session.file("two.json", TWO_SPANS);
    for display in ["", ":63999"] {
        let output = session.command(&[text(&capture)]).env("DISPLAY", display).output().expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("longspan render") && !said.contains("panicked"), "{said}");
    }
}
