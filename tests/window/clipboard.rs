//! Copy and paste by the desktop clipboard, and screenshots of the window.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::Path;
use std::process::Stdio;

use crate::open::TWO_SPANS;
use crate::screenshot::span_color;
use crate::session::{Session, text, wait_for};
use crate::tracks::{find_span, open_trace};

#[test]
fn the_selected_span_is_copied_as_text_that_another_program_can_paste() {
    let session = Session::new();
    let window = open_trace(&session, "two.json", TWO_SPANS, "omega");
    let alpha = find_span(&window.settled(), "alpha").expect("the span");
    window.click((alpha.right - 20, alpha.middle().1));
    window.settled();
    window.key("ctrl+c");
    let copied = window.wait_for("the text", |window| {
        let copied = window.session.tool("xclip", &["-selection", "clipboard", "-out"]);
        copied.contains("name: alpha").then_some(copied)
    });
    assert!(copied.contains("duration: 400000000 ns") && copied.contains(r#"{"answer":42}"#), "{copied}");
}

#[test]
fn paths_copied_in_a_file_manager_are_opened_as_one_trace() {
    let session = Session::new();
    let others = TWO_SPANS.replace("alpha", "gamma").replace("omega", "delta");
    let (one, two) = (session.file("one.json", TWO_SPANS), session.file("two b.json", &others));
    let window = session.open(&[]);
    window.settled();
    let copied = format!("file://{}\n{}\n", text(&one), text(&two));
    let mut owner = session.program("xclip");
    owner.args(["-selection", "clipboard", "-in"]).stdin(Stdio::piped());
    let mut owner = owner.spawn().unwrap_or_else(|error| panic!("xclip: {error}; `.ci/setup` installs it"));
    owner.stdin.take().expect("a pipe").write_all(copied.as_bytes()).expect("written");
    assert!(owner.wait().expect("a child").success());
    window.key("ctrl+v");
    window.wait_for_title("one.json and two b.json - Longspan");
    window.wait_for_color("a span of the first", span_color("alpha"));
    window.wait_for_color("a span of the second", span_color("delta"));
}

#[test]
fn an_exported_image_has_the_pixels_of_the_timeline_on_the_screen() {
    let session = Session::new();
    let window = open_trace(&session, "two.json", TWO_SPANS, "omega");
    window.xdotool(&["key", "--repeat", "2", "plus"]);
    window.move_pointer((5, 5));
    let screen = window.settled();
    // Users often release Ctrl first. S alone zooms out while it is held.
    window.xdotool(&["keydown", "ctrl", "keydown", "shift", "keydown", "s", "keyup", "ctrl", "keyup", "shift"]);
    window.wait_for("the picker", |window| (window.screenshot() != screen).then_some(()));
    window.xdotool(&["keyup", "s"]);
    window.settled();
    let output = session.folder.path().join("timeline.png");
    window.enter_text(text(&output));
    wait_for("the image file", || output.is_file().then_some(()));
    let ((width, height), bytes) = decoded(&output);
    assert!(width == 1280 && height > 600, "{width} x {height}");
    // The image lacks the status bar. The border around the window depends on the window manager. The edges of slanted
    // lines round differently at other positions.
    let differs = |(x, y): (usize, usize), edge: usize| {
        let shown = screen.at(x + edge, y + 776 - height + edge);
        let drawn = &bytes[4 * (y * width + x)..][..3];
        drawn.iter().zip(shown).any(|(drawn, shown)| drawn.abs_diff(shown) > 12)
    };
    let different = |edge| {
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        pixels.filter(|&pixel| differs(pixel, edge)).count()
    };
    let different = (0..3).map(different).min().expect("three");
    assert!(different * 1000 < width * height, "{different} pixels differ");
}

/// Returns the width and height of an image file, and its bytes.
fn decoded(path: &Path) -> ((usize, usize), Vec<u8>) {
    let file = BufReader::new(File::open(path).expect("readable"));
    let mut reader = png::Decoder::new(file).read_info().expect("an image");
    let mut bytes = vec![0; reader.output_buffer_size().expect("not too large")];
    let info = reader.next_frame(&mut bytes).expect("an image");
    ((info.width as usize, info.height as usize), bytes)
}

#[test]
fn an_exported_image_of_the_window_has_its_panels_and_all_of_its_pixels() {
    let session = Session::new();
    let window = open_trace(&session, "two.json", TWO_SPANS, "omega");
    window.key("ctrl+t");
    window.move_pointer((5, 5));
    let screen = window.settled();
    window.key("ctrl+shift+p");
    window.wait_for("the list of commands", |window| (window.screenshot() != screen).then_some(()));
    window.xdotool(&["type", "--delay", "10", "image of the window"]);
    window.key("Return");
    window.settled();
    let output = session.folder.path().join("window.png");
    window.enter_text(text(&output));
    wait_for("the image file", || output.is_file().then_some(()));
    let ((width, height), bytes) = decoded(&output);
    assert_eq!((width, height), (1280, 800));
    // The status bar is left out, since it reports the export. The border around the window depends on the window
    // manager.
    let height = height - 24;
    let different = |edge: usize| {
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        let differs = |&(x, y): &(usize, usize)| {
            let drawn = &bytes[4 * (y * width + x)..][..3];
            drawn.iter().zip(screen.at(x + edge, y + edge)).any(|(drawn, shown)| drawn.abs_diff(shown) > 12)
        };
        pixels.filter(differs).count()
    };
    let different = (0..3).map(different).min().expect("three");
    assert!(different * 1000 < width * height, "{different} pixels differ");
}
