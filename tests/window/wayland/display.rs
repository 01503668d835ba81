//! The display that the window opens on, and the messages if there is none or it disappears.

use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use super::Sway;
use crate::open::TWO_SPANS;
use crate::picture::{CANVAS, Picture, span_color};
use crate::session::{Process, Session, started, text, until};

#[test]
fn a_compositor_that_is_gone_or_hangs_gives_way_to_the_x_server() {
    let session = Session::new();
    let capture = session.file("two.json", TWO_SPANS);
    let hanging = session.folder.path().join("hanging");
    let listener = UnixListener::bind(&hanging).expect("a socket");
    for socket in ["/nowhere/wayland-0", "wayland-77", text(&hanging)] {
        let window = session.open_by(session.command(&[text(&capture)]).env("WAYLAND_DISPLAY", socket));
        window.until_found("the capture", span_color("alpha"));
        let (status, said) = window.close();
        assert_eq!((status, said.as_str()), (Some(0), ""), "{socket}");
    }
    drop(listener);
}

#[test]
fn where_no_display_answers_the_error_names_each_and_what_to_do() {
    let session = Session::new();
    let capture = session.file("two.json", TWO_SPANS);
    for (display, names) in [("", &["wayland-77"][..]), (":63999", &["wayland-77", "X server"][..])] {
        let mut command = session.command(&[text(&capture)]);
        let output = command.env("WAYLAND_DISPLAY", "wayland-77").env("DISPLAY", display).output();
        let output = output.expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("longspan render") && !said.contains("panicked"), "{said}");
        assert!(names.iter().all(|name| said.contains(name)), "{said}");
    }
}

#[test]
fn a_compositor_that_ends_is_said_and_the_preferences_are_kept() {
    let mut sway = Sway::new();
    let capture = sway.file("two.json", TWO_SPANS);
    let client = sway.open(&[text(&capture)]);
    client.until("the capture", |client| client.sway.look().find(span_color("alpha")));
    let process = client.process;
    sway.process.0.kill().expect("it runs");
    let (status, said) = super::Client { sway: &sway, process }.end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("The connection to the display was lost"), "{said}");
    assert!(!said.contains("panicked") && !said.contains("cannot open a window"), "{said}");
    let kept = std::fs::read_to_string(sway.home.path().join("config/longspan/preferences.json")).expect("kept");
    assert!(kept.contains("two.json"), "{kept}");
}

/// An X server alone: no window manager gives windows the keyboard.
struct BareServer {
    _server: Process,
    display: String,
    session: Session,
}

impl BareServer {
    fn new() -> Self {
        let session = Session::new();
        let folder = session.folder.path().join("bare");
        std::fs::create_dir(&folder).expect("a folder");
        let mut command = Command::new("Xvfb");
        command.args(["-displayfd", "1", "-screen", "0", "1280x800x24", "-nolisten", "tcp", "-noreset", "-fbdir"]);
        let mut server = started(command.arg(&folder).stdout(Stdio::piped()).stderr(Stdio::null()));
        let mut number = String::new();
        let stdout = server.0.stdout.take().expect("a pipe");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut number).expect("its number");
        Self { _server: server, display: format!(":{}", number.trim()), session }
    }

    fn look(&self) -> Option<Picture> {
        Picture::of_screen(&self.session.folder.path().join("bare/Xvfb_screen0"))
    }

    fn xdotool(&self, words: &[&str]) {
        let status = Command::new("xdotool").args(words).env("DISPLAY", &self.display).status();
        assert!(status.expect("xdotool runs").success(), "{words:?}");
    }
}

#[test]
fn without_a_window_manager_the_window_has_the_keyboard_after_a_click() {
    let server = BareServer::new();
    let capture = server.session.file("two.json", TWO_SPANS);
    let mut command = server.session.command(&[text(&capture)]);
    let mut process = started(command.env("DISPLAY", &server.display));
    until("the capture", || server.look()?.find(span_color("alpha")).filter(|place| place.width() > 50).map(drop));
    let canvas = server.look().and_then(|picture| picture.find(CANVAS)).expect("the canvas");
    server.xdotool(&["mousemove", &(canvas.left + 300).to_string(), &(canvas.bottom - 100).to_string(), "click", "1"]);
    until("the program ends by its key", || {
        server.xdotool(&["key", "ctrl+q"]);
        process.0.try_wait().expect("a child")
    });
    assert_eq!(process.0.wait().expect("a child").code(), Some(0));
}
