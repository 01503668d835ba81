//! Commands that draw without a display: an image if the build can draw, a clear error if not.

use std::fs;

use crate::harness::{command, data, folder, longspan, text, wait};

#[cfg(feature = "window")]
#[test]
fn an_image_has_the_requested_size_and_is_not_empty() {
    let folder = folder();
    let output = folder.path().join("image.png");
    let trace = data("viztracer_ring.json.gz");
    longspan(&["render", "--no-cache", text(&trace), "-o", text(&output), "--size", "801x402"]).done();
    let all = fs::read(&output).expect("written");
    assert_eq!(size_of_png(&all), (801, 402));
    let args =
        ["render", "--no-cache", text(&trace), "-o", text(&output), "--size", "801x402", "--from", "+10ms", "--to"];
    let result = longspan(&[&args[..], &["+20ms", "--filter", "no_such_name"]].concat());
    assert!(result.stderr.contains("no rows in this part: none matches --from and --to and --filter"), "{result:?}");
    longspan(&[&args[..], &["+20ms"]].concat()).done();
    assert!(fs::read(&output).expect("written") != all, "a part looks like the whole");
}

#[cfg(feature = "window")]
#[test]
fn an_image_of_a_range_outside_of_the_trace_says_that_it_shows_another_one() {
    let folder = folder();
    let (trace, output) = (data("viztracer_ring.json.gz"), folder.path().join("image.png"));
    let shows_another = |range: [&str; 2]| {
        let args = ["render", "--no-cache", text(&trace), "-o", text(&output), "--size", "300x200"];
        longspan(&[&args[..], &range].concat()).stderr.contains("the image shows the nearest part of the trace")
    };
    assert!(shows_another(["--from", "+100s"]) && shows_another(["--to", "-1s"]));
    assert!(!shows_another(["--from", "+1ms"]));
}

#[cfg(feature = "window")]
#[test]
fn the_frames_of_a_zoom_are_drawn_only_on_request() {
    let trace = data("viztracer_ring.json.gz");
    let report = |more: &[&str]| {
        let args = ["bench", "--no-cache", text(&trace), "--frames", "5", "--size", "300x200"];
        let printed = longspan(&[&args[..], more].concat()).done();
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
fn each_colouring_of_spans_draws_a_different_image() {
    let folder = folder();
    let output = folder.path().join("image.png");
    let trace = data("viztracer_ring.json.gz");
    let mut pictures: Vec<_> = ["name", "thread", "duration"]
        .into_iter()
        .flat_map(|color| ["usual", "colorblind"].map(|palette| (color, palette)))
        .map(|(color, palette)| {
            let args = ["render", "--no-cache", text(&trace), "-o", text(&output), "--size", "400x300"];
            longspan(&[&args[..], &["--color", color, "--palette", palette]].concat()).done();
            fs::read(&output).expect("written")
        })
        .collect();
    pictures.sort();
    assert!(pictures.windows(2).all(|pair| pair[0] != pair[1]), "two look alike");
}

#[cfg(feature = "window")]
#[test]
fn an_image_has_the_requested_theme_and_scale() {
    let folder = folder();
    let output = folder.path().join("image.png");
    let trace = data("viztracer_ring.json.gz");
    // The session bus of the user must have no effect.
    let draw = |more: &[&str]| {
        let args = ["render", "--no-cache", text(&trace), "-o", text(&output), "--size", "600x400"];
        let args = [&args[..], more].concat();
        let mut child =
            command(&args).env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere").spawn().expect("it starts");
        assert_eq!(wait(&mut child, &args), Some(0));
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
fn an_unwritable_image_is_an_error_that_names_it_and_keeps_the_old_file() {
    let folder = folder();
    // Traces are recognised by their content, so the extension of an image does not matter.
    let trace = folder.path().join("a.png");
    fs::copy(data("ugly.json"), &trace).expect("copied");
    let before = fs::read(&trace).expect("readable");
    let message = longspan(&["render", "--no-cache", text(&trace), "-o", text(&trace)]).failed(1);
    assert!(message.contains("a.png: is one of the sources"), "{message}");
    assert!(fs::read(&trace).expect("readable") == before);
    let nowhere = folder.path().join("none/image.png");
    let message = longspan(&["render", "--no-cache", text(&trace), "-o", text(&nowhere)]).failed(1);
    assert!(message.contains("image.png: cannot write"), "{message}");
    let message = longspan(&["render", "--no-cache", text(&trace), "-o", "/dev/full"]).failed(1);
    assert!(message.contains("/dev/full: cannot write: No space left"), "{message}");
}

#[cfg(feature = "window")]
#[test]
fn the_demo_is_drawn_without_a_display() {
    let folder = folder();
    let cache = folder.path().join("cache");
    let args = ["demo", "--cache", text(&cache)];
    let mut child = command(&args).current_dir(folder.path()).spawn().expect("the program starts");
    assert_eq!(wait(&mut child, &args), Some(0));
    let picture = fs::read(folder.path().join("longspan-demo.png")).expect("the image of the demo");
    assert_eq!(size_of_png(&picture), (1920, 1080));
}

#[cfg(feature = "window")]
#[test]
fn a_window_without_a_display_is_an_error_with_advice() {
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
fn a_build_without_the_window_reports_it_and_writes_nothing() {
    let folder = folder();
    let output = folder.path().join("image.png");
    for args in [&["demo"][..], &["render", text(&data("ugly.json")), "-o", text(&output)], &[], &["--demo"]] {
        let mut child = command(args).current_dir(folder.path()).spawn().expect("the program starts");
        assert_eq!(wait(&mut child, args), Some(1));
        assert!(longspan(args).failed(1).contains("no window"));
    }
    assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 0);
}
