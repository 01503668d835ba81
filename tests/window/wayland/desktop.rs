//! Desktop integration of the window: the name that links it to the desktop entry, and an icon.

use x11rb::protocol::xproto::{AtomEnum, ConnectionExt};

use super::Sway;
use crate::open::TWO_SPANS;
use crate::session::{Session, text};

#[test]
fn the_window_matches_its_desktop_entry_on_wayland_and_x11() {
    let sway = Sway::new();
    let client = sway.open(&[]);
    let tree = client.tree();
    assert!(tree.contains(r#""app_id": "longspan""#), "{tree}");
    drop(client);
    drop(sway);
    let session = Session::new();
    let window = session.open(&[text(&session.file("two.json", TWO_SPANS))]);
    let class = session.tool("xprop", &["-id", window.id(), "WM_CLASS"]);
    assert!(class.contains(r#""longspan", "longspan""#), "{class}");
    let (connection, _) = x11rb::connect(Some(session.display())).expect("the X server runs");
    let atom = connection.intern_atom(false, b"_NET_WM_ICON").expect("sent").reply().expect("an atom").atom;
    let id = window.id().parse().expect("a number");
    let icon = connection.get_property(false, id, atom, AtomEnum::CARDINAL, 0, 2).expect("sent").reply();
    let size: Vec<_> = icon.expect("a property").value32().expect("numbers").collect();
    assert_eq!(size, [256, 256]);
    let entry = include_str!("../../../assets/longspan.desktop");
    assert!(entry.contains("\nStartupWMClass=longspan\n"), "{entry}");
}
