//! Images of real traces as shown in the window, drawn by a software renderer and compared with the reviewed images in
//! `tests/pictures/kept`.
//!
//! `UPDATE_SNAPSHOTS=1 cargo test --test pictures` writes new ones, which must be reviewed.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};

use longspan::facade::app::picture::{PictureOptions, render};
use longspan::facade::base::cancel::Cancel;
use longspan::facade::base::progress::Progress;
use longspan::facade::ingest::{self, CachePolicy, LoadOptions};
use longspan::facade::query::Snapshot;
use longspan::facade::query::scope::Scope;
use longspan::facade::render::readback::Pixels;
use longspan::facade::scene::color::Shade;

/// A view to draw: image name, trace, time range in milliseconds from its start, size in pixels, pixels per point, and
/// theme.
type View = (&'static str, &'static str, Option<(f64, f64)>, [u32; 2], f32, Shade);

const VIEWS: [View; 13] = [
    ("chromium", "chromium.pftrace.gz", None, [1000, 600], 1.0, Shade::Dark),
    ("chromium_part", "chromium.pftrace.gz", Some((480.0, 560.0)), [1000, 600], 1.0, Shade::Light),
    ("chromium_twice", "chromium.pftrace.gz", Some((640.0, 700.0)), [1600, 900], 2.0, Shade::Dark),
    ("groups", "nested_tracks.pftrace.gz", None, [1000, 700], 1.0, Shade::Dark),
    ("jax", "jax.trace.json.gz", None, [1000, 600], 1.0, Shade::Light),
    ("scheduling", "perf_sched.data.gz", None, [1000, 600], 1.0, Shade::Dark),
    ("samples", "samply.json.gz", None, [1000, 600], 1.0, Shade::Light),
    ("async", "tracing_chrome_async.json.gz", None, [1600, 900], 2.0, Shade::Light),
    ("kernel", "ftrace.txt.gz", None, [1000, 600], 1.0, Shade::Dark),
    ("threads", "viztracer_ring.json.gz", Some((108.8, 110.8)), [1000, 600], 1.0, Shade::Dark),
    ("failures", "failures.json", None, [640, 400], 1.0, Shade::Light),
    ("losses", "ugly.json", None, [640, 400], 1.0, Shade::Dark),
    ("stacks", "pyspy_collapsed.txt", None, [1000, 600], 1.0, Shade::Dark),
];

/// Tolerance per colour channel, for rounding in blending and at the edges of letters by different drivers.
const LEVELS_MAX: u8 = 12;

/// Maximum number of pixels per million beyond the tolerance. A line of text that moves by one pixel is a few thousand.
const DIFFERENT_PPM_MAX: usize = 300;

/// Environment variables that select other drivers or fonts than the reviewed images have.
const CHOICES: [&str; 7] = ["WGPU_", "VK_", "LIBGL_", "MESA_", "GALLIUM_", "__EGL_", "FONTCONFIG_"];

/// Repeats a test without the variables that select drivers, if the environment has any. Returns whether it did.
fn ran_without_choices(test: &str) -> bool {
    let names = std::env::vars_os().map(|(name, _)| name);
    let choices: Vec<_> =
        names.filter(|name| CHOICES.iter().any(|start| name.to_string_lossy().starts_with(start))).collect();
    if choices.is_empty() {
        return false;
    }
    let mut command = std::process::Command::new(std::env::current_exe().expect("a program"));
    choices.iter().for_each(|name| {
        command.env_remove(name);
    });
    let status = command.args(["--exact", test, "--nocapture"]).status().expect("the test starts");
    assert!(status.success(), "{status}");
    true
}

#[test]
fn real_traces_are_drawn_as_in_the_reference_images() {
    if ran_without_choices("real_traces_are_drawn_as_in_the_reference_images") {
        return;
    }
    let updates = std::env::var_os("UPDATE_SNAPSHOTS").is_some();
    let mut problems = Vec::new();
    for (name, trace, range_ms, size_px, scale, shade) in VIEWS {
        let pixels = draw(trace, range_ms, size_px, scale, shade);
        let reference = folder("tests/pictures/kept").join(format!("{name}.png"));
        if updates {
            write(&reference, &pixels);
        } else if let Err(problem) = compare(&pixels, &reference) {
            let drawn = folder("target/pictures").join(format!("{name}.png"));
            write(&drawn, &pixels);
            problems.push(format!("{name}: {problem}; as drawn: {}", drawn.display()));
        }
    }
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

/// Tests the comparison, which must detect a visible difference.
#[test]
fn an_image_with_one_span_of_another_colour_differs() {
    let same = Pixels { width: 100, height: 100, rgba: vec![40; 40_000] };
    let mut other = Pixels { width: 100, height: 100, rgba: vec![40; 40_000] };
    assert_eq!(difference(&same.rgba, &other.rgba), 0);
    other.rgba[400..440].fill(40 + LEVELS_MAX);
    assert_eq!(difference(&same.rgba, &other.rgba), 0, "as a driver rounds");
    other.rgba[400..440].fill(90);
    assert_eq!(difference(&same.rgba, &other.rgba), 10);
    assert!(different_ppm(10, &same) > DIFFERENT_PPM_MAX);
}

fn draw(trace: &str, range_ms: Option<(f64, f64)>, size_px: [u32; 2], scale: f32, shade: Shade) -> Pixels {
    let path = folder("tests/data").join(trace);
    let options = LoadOptions { cache: CachePolicy::None, ..LoadOptions::default() };
    let loaded = ingest::open(&path, &options, &Cancel::default(), &Progress::default());
    let snapshot = Snapshot::new(loaded.unwrap_or_else(|error| panic!("{trace}: {error}")).store);
    let at = |ms: f64| snapshot.start_ns() + (ms * 1e6) as i64;
    let (from_ns, to_ns) = (range_ms.map(|(from, _)| at(from)), range_ms.map(|(_, to)| at(to)));
    let options = PictureOptions {
        size_px,
        scale,
        scope: Scope::from_range(from_ns, to_ns),
        shade,
        title: trace.to_owned(),
        ..PictureOptions::default()
    };
    render(snapshot, &options).unwrap_or_else(|error| panic!("{error}; `.ci/setup` installs what is missing"))
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Compares an image with the reviewed one. Returns an error with the number of different pixels if it exceeds the
/// limit.
fn compare(pixels: &Pixels, reference: &Path) -> Result<(), String> {
    let file = File::open(reference).map_err(|error| format!("{}: {error}", reference.display()))?;
    let mut reader = png::Decoder::new(BufReader::new(file)).read_info().map_err(|error| error.to_string())?;
    let mut bytes = vec![0; reader.output_buffer_size().ok_or("too large")?];
    let info = reader.next_frame(&mut bytes).map_err(|error| error.to_string())?;
    if (info.width, info.height) != (pixels.width, pixels.height) {
        return Err(format!(
            "{}x{} pixels, the reference image has {}x{}",
            pixels.width, pixels.height, info.width, info.height
        ));
    }
    let different = difference(&pixels.rgba, &bytes);
    if different_ppm(different, pixels) > DIFFERENT_PPM_MAX {
        return Err(format!("{different} pixels differ from {}", reference.display()));
    }
    Ok(())
}

fn different_ppm(different: usize, of: &Pixels) -> usize {
    different * 1_000_000 / (of.width * of.height) as usize
}

/// Returns the number of pixels whose difference exceeds the tolerance.
fn difference(a: &[u8], b: &[u8]) -> usize {
    let differs = |(a, b): &(&[u8; 4], &[u8; 4])| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > LEVELS_MAX);
    a.as_chunks().0.iter().zip(b.as_chunks().0).filter(differs).count()
}

fn write(path: &Path, pixels: &Pixels) {
    let mut encoder =
        png::Encoder::new(BufWriter::new(File::create(path).expect("a file")), pixels.width, pixels.height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(&pixels.rgba).expect("pixels");
    writer.finish().expect("written");
}
