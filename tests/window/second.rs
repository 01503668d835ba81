//! A second start of the program: its trace opens in the existing window, or in a new one.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::open::TWO_SPANS;
use crate::picture::span_color;
use crate::session::{Process, Session, Window, text};

/// The same spans with other names.
fn others() -> String {
    TWO_SPANS.replace("alpha", "gamma").replace("omega", "delta")
}

/// Creates a session with a private runtime folder for sockets, apart from other windows.
fn private_session() -> Session {
    private(Session::new())
}

fn private(session: Session) -> Session {
    fs::set_permissions(session.folder.path(), Permissions::from_mode(0o700)).expect("the folder is ours");
    session
}

/// Writes both traces, and returns their paths.
fn captures(session: &Session) -> [PathBuf; 2] {
    [session.file("one.json", TWO_SPANS), session.file("two.json", &others())]
}

/// Opens a separate window with the second trace.
fn second_window<'a>(session: &'a Session, two: &Path) -> Window<'a> {
    let window = session.open(&[text(two)]);
    window.until_title("two.json - Longspan");
    window
}

fn signal(window: &Window<'_>, name: &str) {
    window.session.tool("kill", &[&format!("-{name}"), &window.process.0.id().to_string()]);
}

#[test]
fn a_second_start_hands_its_file_to_the_window_as_a_tab_and_both_stay_to_be_gone_through() {
    let session = private_session();
    let [one, two] = captures(&session);
    let window = session.open(&[text(&one)]);
    window.until_found("the first capture", span_color("alpha"));
    // By a relative path, since the existing window may run in another folder.
    let mut second = session.command(&["two.json"]);
    let second = second.current_dir(two.parent().expect("a folder")).spawn().expect("the program starts");
    let mut second = Process(second);
    let status = window.until("the second start ends", |_| second.0.try_wait().expect("a child"));
    assert!(status.success(), "{status}");
    window.until_title("two.json - Longspan");
    window.until_found("the second capture", span_color("gamma"));
    window.key("ctrl+Tab");
    window.until_title("one.json - Longspan");
    window.until_found("the first capture again", span_color("alpha"));
    window.key("ctrl+w");
    window.until_title("two.json - Longspan");
    let (status, said) = window.close();
    assert_eq!((status, said.as_str()), (Some(0), ""));
}

/// Its size equals that of a pipe. It once opened a separate window that waited without a message.
#[test]
fn an_empty_file_goes_to_the_open_window_which_says_so() {
    let session = private(Session::with_reader());
    let [one, _] = captures(&session);
    let window = session.open(&[text(&one)]);
    window.until_found("the first capture", span_color("alpha"));
    let mut second = Process(session.command(&[text(&session.file("empty.json", ""))]).spawn().expect("it starts"));
    let status = window.until("the second start ends", |_| second.0.try_wait().expect("a child"));
    assert!(status.success(), "{status}");
    window.until_said("empty.json: the file is empty");
}

#[test]
fn without_a_runtime_folder_a_second_start_finds_the_window_too() {
    let session = private_session();
    let [one, two] = captures(&session);
    let mut first = session.command(&[text(&one)]);
    let window = session.open_by(first.env_remove("XDG_RUNTIME_DIR"));
    window.until_found("the first capture", span_color("alpha"));
    let mut second = session.command(&[text(&two)]);
    let mut second = Process(second.env_remove("XDG_RUNTIME_DIR").spawn().expect("the program starts"));
    let status = window.until("the second start ends", |_| second.0.try_wait().expect("a child"));
    assert!(status.success(), "{status}");
    window.until_title("two.json - Longspan");
}

#[test]
fn a_hung_or_crashed_window_does_not_block_a_new_one() {
    let session = private_session();
    let [one, two] = captures(&session);
    let window = session.open(&[text(&one)]);
    window.until_found("the first capture", span_color("alpha"));
    signal(&window, "STOP");
    drop(second_window(&session, &two));
    signal(&window, "KILL");
    drop(window);
    // The socket of the killed window is still there.
    let third = second_window(&session, &two);
    let (status, said) = third.close();
    assert_eq!((status, said.as_str()), (Some(0), ""));
}

#[test]
fn a_second_start_with_a_unit_opens_a_window_of_its_own() {
    let session = private_session();
    let [one, _] = captures(&session);
    let window = session.open(&[text(&one)]);
    window.until_title("one.json - Longspan");
    let second = session.open(&["--unit", "ms", text(&session.file("work.folded", "main;work 2\n"))]);
    second.until_title("work.folded - Longspan");
    assert_eq!(window.title(), "one.json - Longspan");
}

#[test]
fn where_that_is_preferred_a_second_start_opens_a_window_of_its_own() {
    let session = private_session();
    let [one, two] = captures(&session);
    fs::create_dir_all(session.folder.path().join("config/longspan")).expect("a folder");
    session.file("config/longspan/preferences.json", r#"{"second_start":"Window"}"#);
    let window = session.open(&[text(&one)]);
    window.until_title("one.json - Longspan");
    let _second = second_window(&session, &two);
    assert_eq!(window.title(), "one.json - Longspan");
}

#[test]
fn without_a_runtime_folder_no_library_writes_on_stderr() {
    let session = private_session();
    let [one, _] = captures(&session);
    let window = session.open_by(session.command(&[text(&one)]).env_remove("XDG_RUNTIME_DIR"));
    window.until_found("the capture", span_color("alpha"));
    let (status, said) = window.close();
    assert_eq!((status, said.as_str()), (Some(0), ""));
    let mut render = session.command(&["render", text(&one), "-o", "x.png", "--size", "64x64"]);
    let output = render.env_remove("XDG_RUNTIME_DIR").output().expect("the program starts");
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}
