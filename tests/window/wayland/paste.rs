//! Files are opened by the clipboard where they cannot be dropped.

use super::Sway;
use crate::open::TWO_SPANS;
use crate::picture::span_color;
use crate::session::text;

#[test]
fn a_file_that_a_file_manager_has_copied_is_opened_on_wayland() {
    let sway = Sway::new();
    let capture = sway.file("pasted here.json", TWO_SPANS);
    let client = sway.open(&[]);
    sway.copy(text(&capture), "text/plain;charset=utf-8");
    sway.key(&["ctrl"], "v");
    client.until_title("pasted here.json - Longspan");
    client.until("the capture", |client| client.sway.look().find(span_color("alpha")));
    sway.key(&["ctrl"], "q");
    client.assert_ends_well("after a paste");
}
