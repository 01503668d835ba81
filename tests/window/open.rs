//! Ways to open a trace, and failures to open one.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::screenshot::{ERROR, span_color};
use crate::session::{Session, text};

/// Two spans on one thread, in the first and last two fifths of a second.
pub(crate) const TWO_SPANS: &str = r#"[
    {"ph":"X","name":"alpha","cat":"test","pid":1,"tid":1,"ts":0,"dur":400000,"args":{"answer":42}},
    {"ph":"X","name":"omega","cat":"test","pid":1,"tid":1,"ts":600000,"dur":400000}]"#;

#[test]
fn a_file_on_the_command_line_is_opened_and_does_not_delay_the_first_frame() {
    let session = Session::new();
    let window = session.open(&[text(&session.file("two.json", TWO_SPANS))]);
    writeln!(std::io::stderr(), "first frame after {} ms", window.first_frame.as_millis()).expect("stderr");
    // The build has few optimisations and a software renderer, and the machine may be busy.
    assert!(window.first_frame < Duration::from_secs(15), "{:?}", window.first_frame);
    window.wait_for_title("two.json - Longspan");
    let alpha = window.wait_for_color("the first span", span_color("alpha"));
    let omega = window.wait_for_color("the second span", span_color("omega"));
    assert!(alpha.width().abs_diff(omega.width()) <= 3, "{alpha:?} {omega:?}");
    assert!((omega.left - alpha.right).abs_diff(alpha.width() / 2) <= 3, "{alpha:?} {omega:?}");
    let (status, stderr) = window.close();
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
}

#[test]
fn without_a_system_dialog_a_typed_path_is_opened() {
    let session = Session::new();
    let trace = session.file("typed.json", TWO_SPANS);
    let window = session.open(&[]);
    let welcome = window.settled();
    window.key("ctrl+o");
    window.wait_for("the picker", |window| (window.screenshot() != welcome).then_some(()));
    window.settled();
    window.enter_text(text(&trace));
    window.wait_for_title("typed.json - Longspan");
    window.wait_for_color("the span", span_color("alpha"));
}

#[test]
fn a_dropped_file_is_opened() {
    let session = Session::new();
    let trace = session.file("dropped here.json", TWO_SPANS);
    let window = session.open(&[]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/window/drop.py");
    // `.ci/setup` installs the X library for the system's Python.
    let output = window.session.tool("/usr/bin/python3", &[script, window.id(), text(&trace)]);
    assert_eq!(output.trim(), "accepted", "the window does not accept the file");
    window.wait_for_title("dropped here.json - Longspan");
    window.wait_for_color("the span", span_color("alpha"));
}

#[test]
fn an_unreadable_file_is_an_error_message_and_the_next_file_opens() {
    let session = Session::new();
    let (bad, good) = (session.file("bad.json", "this is no trace"), session.file("good.json", TWO_SPANS));
    let window = session.open(&[text(&bad)]);
    window.wait_for_color("the message", ERROR);
    assert_eq!(window.title(), "Longspan");
    window.key("Escape");
    window.wait_for("the message is gone", |window| window.screenshot().find(ERROR).is_none().then_some(()));
    let welcome = window.settled();
    window.key("ctrl+o");
    window.wait_for("the picker", |window| (window.screenshot() != welcome).then_some(()));
    window.settled();
    window.enter_text(text(&good));
    window.wait_for_title("good.json - Longspan");
}

#[test]
fn a_missing_file_is_an_error_on_the_terminal_without_a_window() {
    let session = Session::new();
    let command = session.command(&["/nonexistent/trace.json"]);
    let line = format!("{} /nonexistent/trace.json", command.get_program().to_str().expect("text"));
    // A window would not close, so the time is limited.
    let mut on_terminal = Command::new("timeout");
    on_terminal.args(["20", "script", "--quiet", "--return", "--command", &line, "/dev/null"]).stdin(Stdio::null());
    // The window has a `PATH` without programs.
    for (name, value) in command.get_envs().filter(|(name, _)| *name != "PATH") {
        match value {
            Some(value) => on_terminal.env(name, value),
            None => on_terminal.env_remove(name),
        };
    }
    let output = on_terminal.output().expect("`script` runs; `.ci/setup` installs it");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!((output.status.code(), printed.contains("no such file")), (Some(1), true), "{printed}");
}

#[test]
fn a_missing_graphics_driver_is_an_error_with_advice() {
    let session = Session::new();
    let trace = session.file("two.json", TWO_SPANS);
    let mut command = session.command(&[text(&trace)]);
    // Both loaders search only here, so they find no driver of either kind.
    command.env("VK_DRIVER_FILES", "/nowhere").env("VK_ICD_FILENAMES", "/nowhere");
    command.env("__EGL_VENDOR_LIBRARY_FILENAMES", "/nowhere").env("LIBGL_DRIVERS_PATH", "/nowhere");
    let output = command.output().expect("the program starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("mesa-vulkan-drivers") && !stderr.contains("panicked"), "{stderr}");
}

#[test]
fn an_unreachable_display_is_an_error_with_advice() {
    let session = Session::new();
    let trace = session.file("two.json", TWO_SPANS);
    for display in ["", ":63999"] {
        let output = session.command(&[text(&trace)]).env("DISPLAY", display).output().expect("the program starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("longspan render") && !stderr.contains("panicked"), "{stderr}");
    }
}
