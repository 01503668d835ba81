//! Commands that draw without a display: an image if the build can draw, a clear error if not.

use std::fs;

use crate::harness::{command, data, folder, longspan, text, wait};

#[cfg(feature = "window")]
#[test]
fn a_picture_has_the_size_that_was_asked_for_and_something_in_it() {
    let folder = folder();
    let output = folder.path().join("picture.png");
    let capture = data("viztracer_ring.json.gz");
    longspan(&["render", "--no-cache", text(&capture), "-o", text(&output), "--size", "801x402"]).done();
    let all = fs::read(&output).expect("written");
    assert_eq!(size_of_png(&all), (801, 402));
    let words =
        ["render", "--no-cache", text(&capture), "-o", text(&output), "--size", "801x402", "--from", "+10ms", "--to"];
    let answer = longspan(&[&words[..], &["+20ms", "--filter", "no_such_name"]].concat());
    assert!(answer.stderr.contains("no rows in this part: none matches --from and --to and --filter"), "{answer:?}");
    longspan(&[&words[..], &["+20ms"]].concat()).done();
    assert!(fs::read(&output).expect("written") != all, "a part looks like the whole");
}

#[cfg(feature = "window")]
#[test]
fn the_frames_of_a_zoom_are_drawn_only_if_asked_for() {
    let capture = data("viztracer_ring.json.gz");
    let report = |more: &[&str]| {
        let words = ["bench", "--no-cache", text(&capture), "--frames", "5", "--size", "300x200"];
        let printed = longspan(&[&words[..], more].concat()).done();
        serde_json::from_str::<serde_json::Value>(&printed).expect("one JSON object")
    };
    assert!(report(&[])["drawn"].is_null());
    let drawn = &report(&["--draw"])["drawn"];
    let ms = |part: &str, at: &str| drawn[part][at].as_f64().unwrap_or_else(|| panic!("{part} has no {at}: {drawn}"));
    for part in ["interface_ms", "submit_ms", "gpu_ms"] {
        assert!(ms(part, "p50") > 0.0 && ms(part, "p50") <= ms("frame_ms", "p50"), "{part}: {drawn}");
        assert!(ms(part, "p50") <= ms(part, "p99") && ms(part, "p99") <= ms(part, "max"), "{part}: {drawn}");
    }
}

#[cfg(feature = "window")]
#[test]
fn each_way_to_colour_spans_draws_another_picture() {
    let folder = folder();
    let output = folder.path().join("picture.png");
    let capture = data("viztracer_ring.json.gz");
    let mut pictures: Vec<_> = ["name", "thread", "duration"]
        .into_iter()
        .flat_map(|color| ["usual", "colorblind"].map(|palette| (color, palette)))
        .map(|(color, palette)| {
            let words = ["render", "--no-cache", text(&capture), "-o", text(&output), "--size", "400x300"];
            longspan(&[&words[..], &["--color", color, "--palette", palette]].concat()).done();
            fs::read(&output).expect("written")
        })
        .collect();
    pictures.sort();
    assert!(pictures.windows(2).all(|pair| pair[0] != pair[1]), "two look alike");
}

#[cfg(feature = "window")]
#[test]
fn a_picture_has_the_theme_and_the_scale_that_were_asked_for() {
    let folder = folder();
    let output = folder.path().join("picture.png");
    let capture = data("viztracer_ring.json.gz");
    // The session bus of the user must have no effect.
    let draw = |more: &[&str]| {
        let words = ["render", "--no-cache", text(&capture), "-o", text(&output), "--size", "600x400"];
        let words = [&words[..], more].concat();
        let mut child =
            command(&words).env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere").spawn().expect("it starts");
        assert_eq!(wait(&mut child, &words), Some(0));
        fs::read(&output).expect("written")
    };
    let usual = draw(&[]);
    assert!(draw(&["--theme", "dark", "--scale", "1"]) == usual, "these are what is usual");
    assert!(draw(&["--theme", "system"]) == usual, "without a desktop it is dark");
    let light = draw(&["--theme", "light"]);
    let large = draw(&["--scale", "2"]);
    assert!(light != usual && large != usual && light != large);
    assert_eq!(size_of_png(&large), (600, 400), "the size is in pixels, whatever the scale");
}

#[cfg(feature = "window")]
#[test]
fn a_picture_that_cannot_be_written_is_an_error_that_names_it_and_leaves_what_was_there() {
    let folder = folder();
    // Traces are recognised by their content, so the extension of a picture is no obstacle.
    let capture = folder.path().join("a.png");
    fs::copy(data("ugly.json"), &capture).expect("copied");
    let before = fs::read(&capture).expect("readable");
    let message = longspan(&["render", "--no-cache", text(&capture), "-o", text(&capture)]).failed(1);
    assert!(message.contains("a.png: is an open trace"), "{message}");
    assert!(fs::read(&capture).expect("readable") == before);
    let nowhere = folder.path().join("none/picture.png");
    let message = longspan(&["render", "--no-cache", text(&capture), "-o", text(&nowhere)]).failed(1);
    assert!(message.contains("picture.png: cannot write"), "{message}");
    let message = longspan(&["render", "--no-cache", text(&capture), "-o", "/dev/full"]).failed(1);
    assert!(message.contains("/dev/full: cannot write: No space left"), "{message}");
}

#[cfg(feature = "window")]
#[test]
fn the_demo_is_drawn_where_there_is_no_display() {
    let folder = folder();
    let cache = folder.path().join("cache");
    let words = ["demo", "--cache", text(&cache)];
    let mut child = command(&words).current_dir(folder.path()).spawn().expect("the program starts");
    assert_eq!(wait(&mut child, &words), Some(0));
    let picture = fs::read(folder.path().join("longspan-demo.png")).expect("the picture it promises");
    assert_eq!(size_of_png(&picture), (1920, 1080));
}

#[cfg(feature = "window")]
#[test]
fn a_window_without_a_display_is_an_error_that_says_what_to_do() {
    let message = longspan(&[text(&data("ugly.json"))]).failed(1);
    assert!(message.contains("longspan render"), "{message}");
}

#[cfg(feature = "window")]
fn size_of_png(bytes: &[u8]) -> (u32, u32) {
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.len() > 5_000, "{} bytes", bytes.len());
    let side = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    (side(16), side(20))
}

#[cfg(not(feature = "window"))]
#[test]
fn a_build_without_the_window_says_so_and_writes_nothing() {
    let folder = folder();
    let output = folder.path().join("picture.png");
    for words in [&["demo"][..], &["render", text(&data("ugly.json")), "-o", text(&output)], &[], &["--demo"]] {
        let mut child = command(words).current_dir(folder.path()).spawn().expect("the program starts");
        assert_eq!(wait(&mut child, words), Some(1));
        assert!(longspan(words).failed(1).contains("no window"));
    }
    assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 0);
}
