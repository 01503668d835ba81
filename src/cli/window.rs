//! `longspan FILE...`, `longspan demo`, `longspan render`: everything that draws, in the window or into a PNG file.

use std::io::IsTerminal as _;
use std::time::Duration;

use super::args::{ImportArgs, Render};
use super::empty_answers::say_no_rows;
use super::error::CliError;
use super::live_args::Follow;
use super::load::retry_if_damaged;
use super::messages::say;
use super::scope::ScopeArgs;
use super::stdout::to_stdout;
use super::symbols::load_with_names;
use super::units::SizeArg;
use crate::app::demo::{demo_folder, demo_trace};
use crate::app::desktop;
use crate::app::drawn_frames::{self, FrameViews};
use crate::app::follow_request::FollowRequest;
use crate::app::picture::{PictureOptions, render_png};
use crate::app::preferences::Folders;
use crate::app::restart;
use crate::app::{self, AppError, AppOptions, SymbolOptions};
use crate::base::cancel::Cancel;
use crate::base::escape::escaped;
use crate::base::progress::Progress;
use crate::formats::ReadError;
use crate::frame::FrameCost;
use crate::ingest::LoadError;
use crate::ingest::spool::is_unseekable;
use crate::model::{Input, Sources};
use crate::query::Snapshot;
use crate::query::hit_count::count;
use crate::scene::color::Shade;
use crate::scene::palette::Colors;
use crate::store::RowIdx;

/// The file of the demo picture without a display.
const DEMO_PICTURE: &str = "longspan-demo.png";

/// Opens the window and returns when it is closed.
pub(super) fn open(sources: Sources, follow: Option<Follow>, demo: bool, import: &ImportArgs) -> Result<(), CliError> {
    restart::without_device_layer();
    let folders = Folders::for_user();
    // Another window cannot read the input of this process, and is not passed a unit of weights.
    let hand_over = import.has_default_options
        && follow.is_none()
        && sources.weight_unit().is_none()
        && !sources.files().iter().any(|file| is_unseekable(&file.input));
    let (load, memory_bytes) = (import.options(), import.memory_bytes);
    let symbols = SymbolOptions { is_off: !import.symbolizes, folders: import.symbols.clone() };
    let follow = follow.map(|Follow { inputs, delay, until, disk_cap, kept, weight_unit }| FollowRequest {
        inputs,
        delay,
        until,
        disk_cap: disk_cap.unwrap_or(u64::MAX),
        kept,
        weight_unit,
    });
    let sources = if follow.is_some() { Sources::default() } else { sources };
    let missing = match missing_file(&sources) {
        // A window would hide the mistyped path from the terminal, and an open window would show it instead.
        Some(error) if std::io::stderr().is_terminal() => return Err(LoadError::Read(error).into()),
        missing => missing,
    };
    let options = AppOptions { load, memory_bytes, demo, hand_over, folders, symbols, follow, ..AppOptions::default() };
    match (app::run(sources, options), missing) {
        // A file manager has no terminal: a window shows the missing file.
        (Err(AppError::NoWindow { .. }), Some(error)) => Err(LoadError::Read(error).into()),
        (result, _) => Ok(result?),
    }
}

/// Returns the error of the first file that does not exist.
fn missing_file(sources: &Sources) -> Option<ReadError> {
    sources.files().iter().find_map(|file| match &file.input {
        Input::File(path) => {
            let source = std::fs::metadata(path).err()?;
            Some(ReadError::inaccessible(path, source))
        }
        Input::Stdin(_) | Input::Fd(_) => None,
    })
}

/// Generates, imports and shows the demo trace; without a display, draws it.
pub(super) fn demo(import: &ImportArgs) -> Result<(), CliError> {
    restart::without_device_layer();
    if has_display() {
        match open(Sources::default(), None, true, import) {
            Err(CliError::App(AppError::NoWindow { reason })) => say(format_args!("no window: {reason}")),
            answer => return answer,
        }
    }
    let trace = demo_trace(&demo_folder(&import.options().cache), &Cancel::default()).map_err(CliError::Demo)?;
    let picture = std::env::current_dir()?.join(DEMO_PICTURE);
    let size = SizeArg { width_px: 1920, height_px: 1080 };
    let (sources, colors, scope) = (Sources::from(&trace), Colors::default(), ScopeArgs::default());
    let (output, shade) = (picture.clone(), Some(Shade::Dark));
    let is_timeline_only = false;
    render(&Render { sources, output, size, is_timeline_only, scale: 1.0, shade, colors, scope }, import)?;
    let picture = picture.display().to_string();
    to_stdout(|out| Ok(writeln!(out, "No display: the demo is drawn in {}", escaped(&picture))?))
}

/// Draws a trace into a PNG file.
pub(super) fn render(render: &Render, import: &ImportArgs) -> Result<(), CliError> {
    restart::without_device_layer();
    retry_if_damaged(&render.sources, import, |import| render_once(render, import))
}

fn render_once(render: &Render, import: &ImportArgs) -> Result<(), CliError> {
    let Render { sources, output, size, is_timeline_only, scale, shade, colors, scope } = render;
    let snapshot = load_with_names(sources, import)?;
    let scope_args = scope;
    let scope = scope_args.on(&snapshot)?;
    let is_before = scope.to_ns.is_some_and(|to_ns| to_ns <= snapshot.start_ns());
    if is_before || scope.from_ns.is_some_and(|from_ns| from_ns > snapshot.end_ns()) {
        // A view is always within the trace.
        say("the image shows the nearest part of the trace");
    }
    if !scope_args.filter.is_empty() {
        // A picture with all rows dimmed does not show why.
        let counted = count(&snapshot, &scope, &Cancel::default(), &Progress::default());
        if counted.is_ok_and(|count| count.hits == 0) {
            say_no_rows(&snapshot, scope_args);
        }
    }
    let title = sources.title();
    let size_px = [size.width_px, size.height_px];
    let shade = shade.or_else(|| desktop::settings().shade).unwrap_or_default();
    let options = PictureOptions {
        size_px,
        scale: *scale,
        scope,
        shade,
        colors: *colors,
        title,
        is_timeline_only: *is_timeline_only,
    };
    Ok(render_png(&snapshot, &options, sources, output)?)
}

/// Draws a frame for each time range offscreen, with `row` in view, one every `frame_time`.
pub(super) fn draw_frames(
    snapshot: &Snapshot,
    row: Option<RowIdx>,
    ranges: Vec<(i64, i64)>,
    SizeArg { width_px, height_px }: SizeArg,
    frame_time: Duration,
) -> Result<Vec<FrameCost>, CliError> {
    let views = FrameViews { row, ranges, size_px: [width_px, height_px], frame_time };
    Ok(drawn_frames::draw_frames(snapshot, &views).map_err(AppError::from)?)
}

/// Returns whether there may be a display. Only systems with a display server can be without one.
fn has_display() -> bool {
    let named = |variable| std::env::var_os(variable).is_some_and(|name| !name.is_empty());
    !cfg!(all(unix, not(target_os = "macos"))) || named("DISPLAY") || named("WAYLAND_DISPLAY")
}
