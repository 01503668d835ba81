//! Files are opened from the clipboard on Wayland, where they cannot be dropped.

use super::Sway;
use crate::open::TWO_SPANS;
use crate::screenshot::span_color;
use crate::session::text;

#[test]
fn a_path_copied_in_a_file_manager_is_opened_on_wayland() {
    let sway = Sway::new();
    let trace = sway.file("pasted here.json", TWO_SPANS);
    let client = sway.open(&[]);
    sway.copy(text(&trace), "text/plain;charset=utf-8");
    sway.key(&["ctrl"], "v");
    client.wait_for_title("pasted here.json - Longspan");
    client.wait_for("the trace", |client| client.sway.screenshot().find(span_color("alpha")));
    sway.key(&["ctrl"], "q");
    client.assert_ends_well("after a paste");
}
