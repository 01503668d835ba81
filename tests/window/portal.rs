//! The file dialog of a desktop, by its real portal: the installed services run on a separate bus.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::open::TWO_SPANS;
use crate::screenshot::span_color;
use crate::session::{Process, Session, Window, spawn, text};

/// A bus that starts the services of this machine. They draw on the display of the session.
const BUS_SETTINGS: &str = r#"<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><auth>EXTERNAL</auth>
  <servicedir>/usr/share/dbus-1/services</servicedir>
  <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>"#;

/// The bus and its address.
fn bus(session: &Session) -> (Process, String) {
    let settings = session.file("services.xml", BUS_SETTINGS);
    let mut command = session.program("dbus-daemon");
    command.arg("--config-file").arg(settings).args(["--nofork", "--print-address"]);
    command.env("XDG_CURRENT_DESKTOP", "GNOME").env("NO_AT_BRIDGE", "1").env("GTK_THEME", "Adwaita");
    let mut bus = spawn(command.stdout(Stdio::piped()).stderr(Stdio::null()));
    let mut address = String::new();
    BufReader::new(bus.0.stdout.take().expect("a pipe")).read_line(&mut address).expect("the bus prints its address");
    let address = address.trim().to_owned();
    let reply = session
        .program("dbus-send")
        .env("DBUS_SESSION_BUS_ADDRESS", &address)
        .args(["--print-reply", "--dest=org.freedesktop.DBus", "/", "org.freedesktop.DBus.ListActivatableNames"])
        .output()
        .expect("dbus-send runs; `.ci/setup` installs it");
    let names = String::from_utf8_lossy(&reply.stdout).into_owned();
    assert!(
        names.contains("org.freedesktop.impl.portal.desktop.gtk"),
        "there is no portal: `.ci/setup` installs xdg-desktop-portal-gtk"
    );
    (bus, address)
}

/// Returns the focused window if it belongs to another program.
fn dialog(window: &Window<'_>) -> Option<String> {
    let focused = window.xdotool(&["getwindowfocus"]).trim().to_owned();
    (!focused.is_empty() && focused != window.id()).then_some(focused)
}

#[test]
fn a_file_chosen_in_the_portal_dialog_is_opened() {
    let session = Session::new();
    let (_bus, address) = bus(&session);
    let trace = session.file("chosen.json", TWO_SPANS);
    let window = session.open_command(session.command(&[]).env("DBUS_SESSION_BUS_ADDRESS", &address));
    window.settled();
    window.key("ctrl+o");
    let chooser = window.wait_for("the dialog of the portal", dialog);
    // A typed slash opens the path field of the dialog. Before it is drawn, the dialog drops keys.
    window.wait_for("the dialog is drawn", |window| {
        window.session.tool("xprop", &["-id", &chooser, "WM_NAME"]).contains('=').then_some(())
    });
    window.settled();
    window.key("ctrl+l");
    window.settled();
    window.enter_text(text(&trace));
    // While it looks up completions, the dialog ignores Return.
    window.wait_for("the dialog accepts the path", |window| {
        let is_there = dialog(window).is_some();
        if is_there {
            window.key("Return");
        }
        (!is_there).then_some(())
    });
    window.wait_for_title("chosen.json - Longspan");
    window.wait_for_color("the span", span_color("alpha"));
    let (status, stderr) = window.close();
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
}

#[test]
fn closing_the_portal_dialog_leaves_the_window_unchanged() {
    let session = Session::new();
    let (_bus, address) = bus(&session);
    let window = session.open_command(session.command(&[]).env("DBUS_SESSION_BUS_ADDRESS", &address));
    let welcome = window.settled();
    window.key("ctrl+o");
    window.wait_for("the dialog of the portal", dialog);
    window.settled();
    window.key("Escape");
    window.wait_for("the dialog is gone", |window| dialog(window).is_none().then_some(()));
    window.wait_for("the same screen without a file picker", |window| (window.settled() == welcome).then_some(()));
    let (status, stderr) = window.close();
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
}
