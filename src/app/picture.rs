//! The window's picture with no window: the same panels, the same shaders, onto memory and into a PNG.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use super::fonts::Fonts;
use super::state::App;
use super::{AppError, AppOptions};
use crate::base::cancel::Cancel;
use crate::export::output::OutputFile;
use crate::export::{self, ExportError};
use crate::model::Sources;
use crate::query::Snapshot;
use crate::render::readback::{self, Pixels, paint_offscreen};
use crate::render::{Gpu, GpuError, Painter, Picture};
use crate::scene::color::Shade;
use crate::scene::palette::Colors;
use crate::tiles::trace_summary::TraceSummary;
use crate::ui::purpose::PictureSize;
use crate::ui::settings::Navigation;
use crate::ui::theme::Theme;
use crate::ui::timeline::state::Timeline;

/// What to draw.
#[derive(Debug, Clone)]
pub struct PictureOptions {
    /// Width and height in physical pixels.
    pub size_px: [u32; 2],
    /// Physical pixels for each point.
    pub scale: f32,
    /// The first time in view; the start of the capture if not given.
    pub from_ns: Option<i64>,
    /// The last time in view; the end of the capture if not given.
    pub to_ns: Option<i64>,
    /// Dark or light.
    pub shade: Shade,
    /// How spans are coloured.
    pub colors: Colors,
    /// The name that is shown for the capture.
    pub title: String,
}

impl Default for PictureOptions {
    fn default() -> Self {
        Self {
            size_px: [1920, 1080],
            scale: 1.0,
            from_ns: None,
            to_ns: None,
            shade: Shade::Dark,
            colors: Colors::default(),
            title: String::new(),
        }
    }
}

/// Draws a capture as the window would show it, and writes a PNG, in place of what was there only when it is whole, and
/// never over one of `sources`.
///
/// # Errors
/// [`AppError::Gpu`] if nothing can draw, [`AppError::Write`] if the file cannot be written.
pub(crate) fn render_png(
    snapshot: &Snapshot,
    options: &PictureOptions,
    sources: &Sources,
    path: &Path,
) -> Result<(), AppError> {
    let pixels = render(snapshot.clone(), options)?;
    export::check(snapshot.store())?;
    Ok(write_png(&pixels, path, sources)?)
}

/// Draws a capture as the window would show it.
///
/// # Errors
/// What is missing to draw.
pub fn render(snapshot: Snapshot, options: &PictureOptions) -> Result<Pixels, GpuError> {
    let gpu = Gpu::headless()?;
    let mut painter = Painter::new(&gpu, readback::FORMAT);
    let navigation = Some(Navigation::STILL);
    let app_options = AppOptions { shade: options.shade, colors: options.colors, navigation, ..AppOptions::default() };
    let mut app = App::new(app_options, Arc::new(|_| {}));
    // Without the adapter's name: a picture is of the capture, and the same wherever it is drawn.
    app.set_adapter(String::new(), gpu.is_software());
    app.wait_for_fonts();
    let range = (options.from_ns.unwrap_or(snapshot.start_ns()), options.to_ns.unwrap_or(snapshot.end_ns()));
    let survey = TraceSummary::of(&snapshot, &Cancel::default());
    app.show_capture(snapshot, Sources::from(&options.title), false);
    app.leave_damage();
    if let Some(timeline) = app.timeline_mut() {
        timeline.wait_for_all();
        if let Ok(survey) = survey {
            timeline.set_survey(Arc::new(survey));
        }
    }
    let mut headless = Headless::new(&gpu, options.size_px, options.scale);
    let background = app.theme().canvas;
    let mut show = |app: &mut App| {
        headless.pass(&gpu, &mut painter, background, |ui| {
            app.show(ui);
        })
    };
    // The first pass lays out; only then the view has the width that the range is for.
    show(&mut app);
    if let Some(timeline) = app.timeline_mut().filter(|_| options.from_ns.is_some() || options.to_ns.is_some()) {
        timeline.show_exactly(range.0, range.1);
    }
    show(&mut app);
    let picture = show(&mut app);
    paint_offscreen(&gpu, &mut painter, options.size_px, picture)
}

/// A picture of a timeline as the window shows it, to be drawn in the background.
pub(crate) struct TimelinePicture {
    timeline: Timeline,
    theme: Theme,
    size_px: [u32; 2],
    scale: f32,
}

impl TimelinePicture {
    /// Of a timeline as it is now.
    #[must_use]
    pub(crate) fn of(timeline: &Timeline, theme: Theme, size: PictureSize) -> Self {
        let times: u8 = match size {
            PictureSize::AsShown => 1,
            PictureSize::Doubled => 2,
        };
        let (points, scale) = timeline.shown_size();
        let scale = scale * f32::from(times);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the size of a window")]
        let size_px = [points.x, points.y].map(|points| (points * scale).round() as u32);
        Self { timeline: timeline.still(f64::from(times)), theme, size_px, scale }
    }

    /// Draws it, however long that takes.
    ///
    /// # Errors
    /// A missing graphics driver, or a damaged store.
    pub(crate) fn draw(self) -> Result<Pixels, AppError> {
        let Self { mut timeline, theme, size_px, scale } = self;
        let gpu = Gpu::headless()?;
        let mut painter = Painter::new(&gpu, readback::FORMAT);
        let mut headless = Headless::new(&gpu, size_px, scale);
        theme.apply(&headless.context);
        headless.context.set_font_providers(vec![Arc::new(Fonts::at_once())]);
        let mut show = || {
            headless.pass(&gpu, &mut painter, theme.canvas, |ui| {
                egui::CentralPanel::no_frame().show(ui, |ui| timeline.show_still(ui, &theme));
            })
        };
        // The first pass lays out and asks what matches the filter.
        show();
        show();
        let picture = show();
        export::check(timeline.snapshot().store())?;
        Ok(paint_offscreen(&gpu, &mut painter, size_px, picture)?)
    }
}

/// What draws without a window.
struct Headless {
    context: egui::Context,
    input: egui::RawInput,
    passes: u32,
}

impl Headless {
    fn new(gpu: &Gpu, [width, height]: [u32; 2], scale: f32) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "sizes of pictures are far below 2^24")]
        let size = egui::vec2(width as f32, height as f32) / scale;
        let mut input = egui::RawInput {
            screen_rect: Some(egui::Rect::from_min_size(egui::Pos2::ZERO, size)),
            max_texture_side: usize::try_from(gpu.texture_side_max()).ok(),
            focused: false,
            ..egui::RawInput::default()
        };
        input.viewports.entry(egui::ViewportId::ROOT).or_default().native_pixels_per_point = Some(scale);
        Self { context: egui::Context::default(), input, passes: 0 }
    }

    fn pass(
        &mut self,
        gpu: &Gpu,
        painter: &mut Painter,
        background: egui::Color32,
        mut show: impl FnMut(&mut egui::Ui),
    ) -> Picture {
        // A clock of its own: fades and bars are where they end, and every run is like the other.
        self.passes += 1;
        let input = egui::RawInput { time: Some(f64::from(self.passes)), ..self.input.clone() };
        let output = self.context.run_ui(input, |ui| show(ui));
        let mut textures = output.textures_delta;
        painter.take_textures(gpu, &mut textures);
        Picture {
            primitives: self.context.tessellate(output.shapes, output.pixels_per_point),
            textures,
            pixels_per_point: output.pixels_per_point,
            background,
        }
    }
}

/// Writes pixels as a PNG, in place of what was there only when it is whole, and never over one of `sources`.
///
/// # Errors
/// What the system says.
pub(crate) fn write_png(pixels: &Pixels, path: &Path, sources: &Sources) -> Result<(), ExportError> {
    let mut file = OutputFile::create(path, sources)?;
    encode_png(pixels, file.writer()).map_err(|source| ExportError::Io { path: path.to_owned(), source })?;
    file.publish().map(drop)
}

fn encode_png(pixels: &Pixels, out: &mut dyn Write) -> std::io::Result<()> {
    let mut encoder = png::Encoder::new(out, pixels.width, pixels.height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let failed = |error| match error {
        png::EncodingError::IoError(error) => error,
        other => std::io::Error::other(other),
    };
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(&pixels.rgba).map_err(failed)?;
    writer.finish().map_err(failed)
}

#[cfg(test)]
mod tests;
