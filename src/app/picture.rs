//! The picture of a window without a window: the same panels and shaders, drawn into memory and into a PNG.

use std::path::Path;
use std::sync::Arc;

use super::state::App;
use super::{AppError, AppOptions};
use crate::app::offscreen::{Headless, TimelinePicture, write_png};
use crate::base::cancel::Cancel;
use crate::export;
use crate::frame::filtered::Filtered;
use crate::model::Sources;
use crate::query::Snapshot;
use crate::query::matcher::Matcher;
use crate::query::scope::Scope;
use crate::render::readback::{self, Pixels, paint_offscreen};
use crate::render::{Gpu, GpuError, Painter};
use crate::scene::color::Shade;
use crate::scene::palette::Colors;
use crate::tiles::trace_summary::TraceSummary;
use crate::ui::settings::Navigation;

/// The options of a picture.
#[derive(Debug, Clone)]
pub struct PictureOptions {
    /// Width and height in physical pixels.
    pub size_px: [u32; 2],
    /// Physical pixels per point.
    pub scale: f32,
    /// The visible time and tracks. Rows that fail its filter are dimmed, as by a search.
    pub scope: Scope,
    /// The theme of the picture, dark or light.
    pub shade: Shade,
    /// The colour scheme of spans in the picture.
    pub colors: Colors,
    /// The displayed name of the trace.
    pub title: String,
    /// Whether to draw the timeline alone, as the window exports an image: without menus, fields and scroll bars.
    pub is_timeline_only: bool,
}

impl Default for PictureOptions {
    fn default() -> Self {
        Self {
            size_px: [1920, 1080],
            scale: 1.0,
            scope: Scope::default(),
            shade: Shade::Dark,
            colors: Colors::default(),
            title: String::new(),
            is_timeline_only: false,
        }
    }
}

/// Draws a trace as the window would show it, and writes a PNG. The PNG replaces a file only when it is complete, and
/// never one of `sources`. Returns [`AppError::Gpu`] if nothing can draw, or [`AppError::Write`] if the file cannot be
/// written.
pub(crate) fn render_png(
    snapshot: &Snapshot,
    options: &PictureOptions,
    sources: &Sources,
    path: &Path,
) -> Result<(), AppError> {
    let pixels = if options.is_timeline_only {
        render_timeline(snapshot.clone(), options)?
    } else {
        render(snapshot.clone(), options)?
    };
    export::check(snapshot.store())?;
    Ok(write_png(&pixels, path, sources)?)
}

/// Draws a trace as the window would show it.
///
/// # Errors
/// Returns a [`GpuError`] if nothing can draw.
pub fn render(snapshot: Snapshot, options: &PictureOptions) -> Result<Pixels, GpuError> {
    let gpu = Gpu::headless()?;
    let mut painter = Painter::new(&gpu, readback::FORMAT);
    let range = shown_range(&snapshot, options);
    let mut app = app_with_trace(&gpu, snapshot, options);
    let mut headless = Headless::new(&gpu, options.size_px, options.scale);
    let background = app.theme().canvas;
    let mut show = |app: &mut App| {
        headless.pass(&gpu, &mut painter, background, |ui| {
            app.show(ui);
        })
    };
    // The first pass lays out; only then does the view have its width.
    show(&mut app);
    if let (Some(timeline), Some((from_ns, to_ns))) = (app.timeline_mut(), range) {
        timeline.show_exactly(from_ns, to_ns);
    }
    show(&mut app);
    if has_filter(options) {
        dim(&mut app, &options.scope.matcher);
    }
    let picture = show(&mut app);
    paint_offscreen(&gpu, &mut painter, options.size_px, picture)
}

/// Draws the timeline of a trace alone, in the size of the whole picture.
fn render_timeline(snapshot: Snapshot, options: &PictureOptions) -> Result<Pixels, AppError> {
    let gpu = Gpu::headless()?;
    let range = shown_range(&snapshot, options);
    let mut app = app_with_trace(&gpu, snapshot.clone(), options);
    let theme = app.theme().clone();
    // The app has a timeline; without one, the window would be all that there is.
    let Some(timeline) = app.timeline_mut() else { return Ok(render(snapshot, options)?) };
    let mut still = timeline.still(1.0);
    if has_filter(options) {
        still.set_matcher(&options.scope.matcher);
    }
    TimelinePicture::from_still(still, theme, (options.size_px, options.scale), range).draw_with(&gpu)
}

/// Returns the time range of the picture; `None` for the whole trace.
fn shown_range(snapshot: &Snapshot, options: &PictureOptions) -> Option<(i64, i64)> {
    let Scope { from_ns, to_ns, .. } = options.scope;
    let is_part = from_ns.is_some() || to_ns.is_some();
    is_part.then(|| (from_ns.unwrap_or(snapshot.start_ns()), to_ns.unwrap_or(snapshot.end_ns())))
}

/// Returns whether the scope has a filter, whose matches are not dimmed.
fn has_filter(options: &PictureOptions) -> bool {
    !options.scope.matcher.is_every_row_of_lane() || !options.scope.matcher.is_every_track()
}

/// Creates an app that shows the tracks of a scope.
fn app_with_trace(gpu: &Gpu, snapshot: Snapshot, options: &PictureOptions) -> App {
    let mut app = app_without_window(gpu, options.shade, options.colors);
    let summary = TraceSummary::from_snapshot(&snapshot, &Cancel::default());
    app.show_trace(snapshot, Sources::from(&options.title), false);
    app.disable_repair();
    if let Some(timeline) = app.timeline_mut() {
        timeline.wait_for_all();
        if !options.scope.tracks.is_all() {
            timeline.show_only(&options.scope.tracks);
        }
        if let Ok(summary) = summary {
            timeline.set_trace_summary(Arc::new(summary));
        }
    }
    app
}

/// Creates an app that draws without a window: nothing moves by itself, and no background work is answered.
pub(super) fn app_without_window(gpu: &Gpu, shade: Shade, colors: Colors) -> App {
    let navigation = Some(Navigation::STILL);
    let options = AppOptions { shade, colors, navigation, ..AppOptions::default() };
    let mut app = App::new(options, Arc::new(|_| {}));
    // Without the name of the GPU, so that a picture is the same on any machine.
    app.set_adapter(String::new(), gpu.is_software());
    app.wait_for_fonts();
    app
}

/// Dims everything that does not match.
fn dim(app: &mut App, matcher: &Arc<Matcher>) {
    let Some(timeline) = app.timeline_mut() else { return };
    timeline.set_matcher(matcher);
    if let Some((matcher, asked)) = timeline.unfiltered()
        && let Ok(matching) = Filtered::find(matcher, timeline.snapshot(), asked, &Cancel::default())
    {
        timeline.set_matching(&Arc::new(matching));
    }
}

#[cfg(test)]
mod tests;
