//! Every way to close the window ends the program with status 0 and without output, at any time.

use std::io::Write;
use std::process::Command;

use x11rb::connection::Connection;
use x11rb::protocol::xproto::{ClientMessageEvent, ConnectionExt, EventMask};

use super::{Client, SIZE, Sway};
use crate::open::TWO_SPANS;
use crate::screenshot::{BUTTON, CANVAS, Rect, span_color};
use crate::session::{Session, text};

/// Height of the title bar drawn by the program. Its close button is a square at the right end.
const TITLE_BAR: usize = 35;

fn open_trace(sway: &Sway) -> Client<'_> {
    let trace = sway.file("two.json", TWO_SPANS);
    let client = sway.open(&[text(&trace)]);
    client.wait_for("the trace", |client| client.sway.screenshot().find(span_color("alpha")));
    client
}

#[test]
fn a_wayland_window_closed_by_key_exits_with_status_0() {
    let sway = Sway::new();
    for _ in 0..3 {
        let client = open_trace(&sway);
        sway.key(&["ctrl"], "q");
        client.assert_ends_well("by key");
    }
}

#[test]
fn a_wayland_window_closed_by_the_compositor_exits_with_status_0() {
    let sway = Sway::new();
    for _ in 0..3 {
        let client = open_trace(&sway);
        sway.swaymsg(&["kill"]);
        client.assert_ends_well("by the compositor");
    }
}

#[test]
fn a_wayland_window_closed_by_its_title_bar_exits_with_status_0() {
    let sway = Sway::new();
    let client = open_trace(&sway);
    let before = sway.screenshot().find(CANVAS).expect("the canvas").top;
    sway.swaymsg(&["floating enable, border csd"]);
    // The bar appears some frames later.
    client.wait_for("the program ends by its title bar", |client| {
        let canvas = client.sway.screenshot().find(CANVAS).filter(|canvas| canvas.top > before + TITLE_BAR);
        if let Some(canvas) = canvas {
            sway.click((canvas.right - TITLE_BAR / 2, canvas.top - before - TITLE_BAR / 2));
        }
        client.has_ended().then_some(())
    });
    client.assert_ends_well("by the title bar");
}

#[test]
fn a_wayland_window_closes_while_a_dialog_is_open_and_while_another_window_stays() {
    let sway = Sway::new();
    let client = open_trace(&sway);
    let other = sway.open_command(sway.command(&[]).env("XDG_RUNTIME_DIR", sway.home.path().join("none")));
    other.wait_for_title("Longspan");
    // Both windows are side by side, and the new one has the keyboard focus. Both are redrawn.
    other.wait_for("both windows", |client| {
        let has_both = client.tree().matches("\"app_id\": \"longspan\"").count() == 2;
        let right = Rect { left: SIZE.0 / 2, top: 0, right: SIZE.0, bottom: SIZE.1 };
        let button = client.sway.screenshot().find_in(right, BUTTON).filter(|rect| rect.width() > 100);
        (has_both && button.is_some()).then_some(())
    });
    let before = sway.screenshot();
    sway.key(&["ctrl"], "o");
    other.wait_for("the dialog", |client| (client.sway.screenshot() != before).then_some(()));
    sway.swaymsg(&["kill"]);
    other.assert_ends_well("with a dialog");
    sway.swaymsg(&["kill"]);
    client.assert_ends_well("after another window");
}

#[test]
fn a_wayland_window_closes_while_a_fifo_is_loaded() {
    let sway = Sway::new();
    let fifo = sway.home.path().join("fifo.json");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
    let client = sway.open(&[text(&fifo)]);
    // One end of the pipe stays open, so the trace does not end.
    let mut pipe = std::fs::OpenOptions::new().write(true).open(&fifo).expect("the program reads the pipe");
    pipe.write_all(br#"[{"ph":"X","name":"alpha","pid":1,"tid":1,"ts":0,"dur":4},"#).expect("written");
    sway.key(&["ctrl"], "q");
    // The program asks about the received bytes, and a second request closes the window.
    client.wait_for("the program ends with a pipe", |client| {
        client.sway.swaymsg(&["kill"]);
        client.has_ended().then_some(())
    });
    client.assert_ends_well("while a pipe is loaded");
}

#[test]
fn an_x11_window_closed_by_the_window_manager_or_its_title_bar_exits_with_status_0() {
    let session = Session::new();
    let trace = session.file("two.json", TWO_SPANS);
    for way in ["the window manager", "the title bar"] {
        let window = session.open(&[text(&trace)]);
        let before = window.settled().find(CANVAS).expect("the canvas").top;
        if way == "the title bar" {
            const REMOVE: u32 = 0;
            let undecorated = atom(&session, "_OB_WM_STATE_UNDECORATED");
            send_to_manager(&session, window.id(), "_NET_WM_STATE", [REMOVE, undecorated, 0, 0, 0]);
            // The button is at the right end of the bar, which is about 20 pixels high.
            let button = window.wait_for("a title bar", |window| {
                let canvas = window.screenshot().find(CANVAS).filter(|canvas| canvas.top > before + 10)?;
                Some((canvas.right - 10, canvas.top - before - 11))
            });
            window.settled();
            window.click(button);
        } else {
            // A task bar closes windows like this.
            send_to_manager(&session, window.id(), "_NET_CLOSE_WINDOW", [0; 5]);
        }
        let mut process = window.process;
        let status = crate::session::wait_for("the program ends", || process.0.try_wait().expect("a child"));
        assert_eq!(status.code(), Some(0), "{way}");
    }
}

/// Returns the atom of a name on the X server.
fn atom(session: &Session, name: &str) -> u32 {
    let (connection, _) = x11rb::connect(Some(session.display())).expect("the X server runs");
    connection.intern_atom(false, name.as_bytes()).expect("sent").reply().expect("an atom").atom
}

/// Sends a request to the window manager.
fn send_to_manager(session: &Session, window: &str, what: &str, data: [u32; 5]) {
    let (connection, screen) = x11rb::connect(Some(session.display())).expect("the X server runs");
    let root = connection.setup().roots[screen].root;
    let message = ClientMessageEvent::new(32, window.parse().expect("a number"), atom(session, what), data);
    let mask = EventMask::SUBSTRUCTURE_REDIRECT | EventMask::SUBSTRUCTURE_NOTIFY;
    connection.send_event(false, root, mask, message).expect("sent").check().expect("accepted");
}
