//! The display that the window opens on, and the messages if there is none or it disappears.

use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use super::Sway;
use crate::open::TWO_SPANS;
use crate::screenshot::{CANVAS, Screenshot, span_color};
use crate::session::{Process, Session, spawn, text, wait_for};

#[test]
fn a_missing_or_hung_compositor_falls_back_to_the_x_server() {
    let session = Session::new();
    let trace = session.file("two.json", TWO_SPANS);
    let hanging = session.folder.path().join("hanging");
    let listener = UnixListener::bind(&hanging).expect("a socket");
    for socket in ["/nowhere/wayland-0", "wayland-77", text(&hanging)] {
        let window = session.open_command(session.command(&[text(&trace)]).env("WAYLAND_DISPLAY", socket));
        window.wait_for_color("the trace", span_color("alpha"));
        let (status, stderr) = window.close();
        assert_eq!((status, stderr.as_str()), (Some(0), ""), "{socket}");
    }
    drop(listener);
}

#[test]
fn without_a_reachable_display_the_error_names_each_one_and_gives_advice() {
    let session = Session::new();
    let trace = session.file("two.json", TWO_SPANS);
    for (display, names) in [("", &["wayland-77"][..]), (":63999", &["wayland-77", "X server"][..])] {
        let mut command = session.command(&[text(&trace)]);
        let output = command.env("WAYLAND_DISPLAY", "wayland-77").env("DISPLAY", display).output();
        let output = output.expect("the program starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("longspan render") && !stderr.contains("panicked"), "{stderr}");
        assert!(names.iter().all(|name| stderr.contains(name)), "{stderr}");
    }
}

#[test]
fn a_lost_compositor_is_reported_and_the_preferences_are_saved() {
    let mut sway = Sway::new();
    let trace = sway.file("two.json", TWO_SPANS);
    let client = sway.open(&[text(&trace)]);
    client.wait_for("the trace", |client| client.sway.screenshot().find(span_color("alpha")));
    let process = client.process;
    sway.process.0.kill().expect("it runs");
    let (status, stderr) = super::Client { sway: &sway, process }.end();
    assert_eq!(status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("The connection to the display was lost"), "{stderr}");
    assert!(!stderr.contains("panicked") && !stderr.contains("cannot open a window"), "{stderr}");
    let preferences = std::fs::read_to_string(sway.home.path().join("config/longspan/preferences.json"))
        .expect("the saved preferences");
    assert!(preferences.contains("two.json"), "{preferences}");
}

#[test]
fn a_window_that_another_program_destroys_is_reported_and_the_preferences_are_saved() {
    let session = Session::new();
    let trace = session.file("two.json", TWO_SPANS);
    let window = session.open(&[text(&trace)]);
    window.wait_for_color("the trace", span_color("alpha"));
    let (status, stderr) = window.destroy();
    assert_eq!((status, stderr.as_str()), (Some(1), "longspan: The connection to the display was lost\n"));
}

/// An X server without a window manager, so that no window gets the keyboard focus by itself.
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
        let mut server = spawn(command.arg(&folder).stdout(Stdio::piped()).stderr(Stdio::null()));
        let mut number = String::new();
        let stdout = server.0.stdout.take().expect("a pipe");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut number).expect("its number");
        Self { _server: server, display: format!(":{}", number.trim()), session }
    }

    fn screenshot(&self) -> Option<Screenshot> {
        Screenshot::of_screen(&self.session.folder.path().join("bare/Xvfb_screen0"))
    }

    fn xdotool(&self, args: &[&str]) {
        let status = Command::new("xdotool").args(args).env("DISPLAY", &self.display).status();
        assert!(status.expect("xdotool runs").success(), "{args:?}");
    }
}

#[test]
fn without_a_window_manager_a_click_gives_the_window_the_keyboard_focus() {
    let server = BareServer::new();
    let trace = server.session.file("two.json", TWO_SPANS);
    let mut command = server.session.command(&[text(&trace)]);
    let mut process = spawn(command.env("DISPLAY", &server.display));
    wait_for("the trace", || server.screenshot()?.find(span_color("alpha")).filter(|rect| rect.width() > 50).map(drop));
    let canvas = server.screenshot().and_then(|screenshot| screenshot.find(CANVAS)).expect("the canvas");
    server.xdotool(&["mousemove", &(canvas.left + 300).to_string(), &(canvas.bottom - 100).to_string(), "click", "1"]);
    wait_for("the program ends by Ctrl+Q", || {
        server.xdotool(&["key", "ctrl+q"]);
        process.0.try_wait().expect("a child")
    });
    assert_eq!(process.0.wait().expect("a child").code(), Some(0));
}
