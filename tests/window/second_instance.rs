//! A second start of the program: its trace opens in the existing window, or in a new one.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::open::TWO_SPANS;
use crate::screenshot::span_color;
use crate::session::{Process, Session, Window, text};

/// The same spans with other names.
fn other_spans() -> String {
    TWO_SPANS.replace("alpha", "gamma").replace("omega", "delta")
}

/// Creates a session with a private runtime folder for sockets, apart from other windows.
fn private_session() -> Session {
    make_private(Session::new())
}

fn make_private(session: Session) -> Session {
    fs::set_permissions(session.folder.path(), Permissions::from_mode(0o700)).expect("the folder is ours");
    session
}

/// Writes both traces, and returns their paths.
fn write_traces(session: &Session) -> [PathBuf; 2] {
    [session.file("one.json", TWO_SPANS), session.file("two.json", &other_spans())]
}

/// Opens a separate window with the second trace.
fn second_window<'a>(session: &'a Session, two: &Path) -> Window<'a> {
    let window = session.open(&[text(two)]);
    window.wait_for_title("two.json - Longspan");
    window
}

fn send_signal(window: &Window<'_>, name: &str) {
    window.session.tool("kill", &[&format!("-{name}"), &window.process.0.id().to_string()]);
}

#[test]
fn a_second_start_opens_its_file_as_a_tab_of_the_open_window_and_both_tabs_stay() {
    let session = private_session();
    let [one, two] = write_traces(&session);
    let window = session.open(&[text(&one)]);
    window.wait_for_color("the first trace", span_color("alpha"));
    // The path is relative, since the existing window may run in another folder.
    let mut second = session.command(&["two.json"]);
    let second = second.current_dir(two.parent().expect("a folder")).spawn().expect("the program starts");
    let mut second = Process(second);
    let status = window.wait_for("the second start ends", |_| second.0.try_wait().expect("a child"));
    assert!(status.success(), "{status}");
    window.wait_for_title("two.json - Longspan");
    window.wait_for_color("the second trace", span_color("gamma"));
    window.key("ctrl+Tab");
    window.wait_for_title("one.json - Longspan");
    window.wait_for_color("the first trace again", span_color("alpha"));
    window.key("ctrl+w");
    window.wait_for_title("two.json - Longspan");
    let (status, stderr) = window.close();
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
}

/// An empty file has the size of a pipe. It once opened a separate window that waited without a message.
#[test]
fn an_empty_file_is_passed_to_the_open_window_which_reports_it() {
    let session = make_private(Session::with_screen_reader());
    let [one, _] = write_traces(&session);
    let window = session.open(&[text(&one)]);
    window.wait_for_color("the first trace", span_color("alpha"));
    let mut second = Process(session.command(&[text(&session.file("empty.json", ""))]).spawn().expect("it starts"));
    let status = window.wait_for("the second start ends", |_| second.0.try_wait().expect("a child"));
    assert!(status.success(), "{status}");
    window.wait_for_label("empty.json: the file is empty");
}

#[test]
fn without_a_runtime_folder_a_second_start_finds_the_window_too() {
    let session = private_session();
    let [one, two] = write_traces(&session);
    let mut first = session.command(&[text(&one)]);
    let window = session.open_command(first.env_remove("XDG_RUNTIME_DIR"));
    window.wait_for_color("the first trace", span_color("alpha"));
    let mut second = session.command(&[text(&two)]);
    let mut second = Process(second.env_remove("XDG_RUNTIME_DIR").spawn().expect("the program starts"));
    let status = window.wait_for("the second start ends", |_| second.0.try_wait().expect("a child"));
    assert!(status.success(), "{status}");
    window.wait_for_title("two.json - Longspan");
}

#[test]
fn a_hung_or_crashed_window_does_not_block_a_new_one() {
    let session = private_session();
    let [one, two] = write_traces(&session);
    let window = session.open(&[text(&one)]);
    window.wait_for_color("the first trace", span_color("alpha"));
    send_signal(&window, "STOP");
    drop(second_window(&session, &two));
    send_signal(&window, "KILL");
    drop(window);
    // The socket of the killed window is still there.
    let third = second_window(&session, &two);
    let (status, stderr) = third.close();
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_second_start_with_a_unit_opens_a_separate_window() {
    let session = private_session();
    let [one, _] = write_traces(&session);
    let window = session.open(&[text(&one)]);
    window.wait_for_title("one.json - Longspan");
    let second = session.open(&["--unit", "ms", text(&session.file("work.folded", "main;work 2\n"))]);
    second.wait_for_title("work.folded - Longspan");
    assert_eq!(window.title(), "one.json - Longspan");
}

#[test]
fn a_second_start_opens_a_separate_window_if_that_preference_is_set() {
    let session = private_session();
    let [one, two] = write_traces(&session);
    fs::create_dir_all(session.folder.path().join("config/longspan")).expect("a folder");
    session.file("config/longspan/preferences.json", r#"{"second_start":"Window"}"#);
    let window = session.open(&[text(&one)]);
    window.wait_for_title("one.json - Longspan");
    let _second = second_window(&session, &two);
    assert_eq!(window.title(), "one.json - Longspan");
}

#[test]
fn without_a_runtime_folder_no_library_writes_to_stderr() {
    let session = private_session();
    let [one, _] = write_traces(&session);
    let window = session.open_command(session.command(&[text(&one)]).env_remove("XDG_RUNTIME_DIR"));
    window.wait_for_color("the trace", span_color("alpha"));
    let (status, stderr) = window.close();
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    let mut render = session.command(&["render", text(&one), "-o", "x.png", "--size", "64x64"]);
    let output = render.env_remove("XDG_RUNTIME_DIR").output().expect("the program starts");
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}
