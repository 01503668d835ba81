//! Draws without a window: the window's shaders, into memory and into a PNG.

use super::AppError;
use super::fonts::Fonts;
use crate::export::output::OutputFile;
use crate::export::{self, ExportError};
use crate::model::Sources;
use crate::render::readback::{self, Pixels, paint_offscreen};
use crate::render::{Gpu, Painter, Picture};
use crate::ui::purpose::PictureSize;
use crate::ui::theme::Theme;
use crate::ui::timeline::state::Timeline;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// A picture of a timeline as the window shows it, drawn in the background.
pub(crate) struct TimelinePicture {
    timeline: Timeline,
    theme: Theme,
    size_px: [u32; 2],
    scale: f32,
    /// The time range to show; `None` for the range in view.
    range: Option<(i64, i64)>,
}

impl TimelinePicture {
    /// Creates the picture of a still timeline in another size than its last frame.
    #[must_use]
    pub(super) fn from_still(
        timeline: Timeline,
        theme: Theme,
        (size_px, scale): ([u32; 2], f32),
        range: Option<(i64, i64)>,
    ) -> Self {
        Self { timeline, theme, size_px, scale, range }
    }

    /// Captures the timeline in its present state.
    #[must_use]
    pub(crate) fn from_timeline(timeline: &Timeline, theme: Theme, size: PictureSize) -> Self {
        let times: u8 = match size {
            PictureSize::AsShown => 1,
            PictureSize::Doubled => 2,
        };
        let (points, scale) = timeline.shown_size();
        let scale = scale * f32::from(times);
        let size_px = [points.x, points.y].map(|points| (points * scale).round() as u32);
        Self { timeline: timeline.still(f64::from(times)), theme, size_px, scale, range: None }
    }

    /// Draws the picture, without a time limit. Returns an error for a missing GPU driver, or a damaged store.
    pub(crate) fn draw(self) -> Result<Pixels, AppError> {
        self.draw_with(&Gpu::headless()?)
    }

    /// Draws the picture with this GPU, as [`TimelinePicture::draw`] does.
    pub(super) fn draw_with(self, gpu: &Gpu) -> Result<Pixels, AppError> {
        let Self { mut timeline, theme, size_px, scale, range } = self;
        let mut painter = Painter::new(gpu, readback::FORMAT);
        let mut headless = Headless::new(gpu, size_px, scale);
        theme.apply(&headless.context);
        headless.context.set_font_providers(vec![Arc::new(Fonts::at_once())]);
        let mut show = |timeline: &mut Timeline| {
            headless.pass(gpu, &mut painter, theme.canvas, |ui| {
                egui::CentralPanel::no_frame().show(ui, |ui| timeline.show_still(ui, &theme));
            })
        };
        // The first pass lays out, and queries the filter's matches. Only then does the view have its width.
        show(&mut timeline);
        if let Some((from_ns, to_ns)) = range {
            timeline.show_exactly(from_ns, to_ns);
        }
        show(&mut timeline);
        let picture = show(&mut timeline);
        export::check(timeline.snapshot().store())?;
        Ok(paint_offscreen(gpu, &mut painter, size_px, picture)?)
    }
}

/// The state of drawing without a window: egui's context, its input, and the number of passes.
pub(super) struct Headless {
    context: egui::Context,
    input: egui::RawInput,
    passes: u32,
}

impl Headless {
    pub(super) fn new(gpu: &Gpu, [width, height]: [u32; 2], scale: f32) -> Self {
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

    pub(super) fn pass(
        &mut self,
        gpu: &Gpu,
        painter: &mut Painter,
        background: egui::Color32,
        mut show: impl FnMut(&mut egui::Ui),
    ) -> Picture {
        // A simulated clock: animations are finished, and every run is the same.
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

/// Writes pixels as a PNG, which replaces a file only when it is complete, and never one of `sources`. Returns the I/O
/// error of a failed write.
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
