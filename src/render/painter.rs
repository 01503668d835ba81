//! Paints a picture of the window, widgets and rectangles, onto any texture.

use super::gpu::Gpu;
use super::rects::RectPipeline;

/// The output of one egui pass, ready to paint.
pub(crate) struct Picture {
    /// Triangles and callbacks, in drawing order.
    pub(crate) primitives: Vec<egui::ClippedPrimitive>,
    /// Glyphs and images that changed since the last picture.
    pub(crate) textures: egui::TexturesDelta,
    pub(crate) pixels_per_point: f32,
    pub(crate) background: egui::Color32,
}

/// Paints pictures for targets of one format.
pub(crate) struct Painter {
    egui: egui_wgpu::Renderer,
    format: wgpu::TextureFormat,
}

impl Painter {
    /// Creates a painter for targets of this format, which must not be sRGB: colours are gamma-encoded already.
    #[must_use]
    pub(crate) fn new(gpu: &Gpu, format: wgpu::TextureFormat) -> Self {
        let options = egui_wgpu::RendererOptions { dithering: false, ..egui_wgpu::RendererOptions::default() };
        let mut egui = egui_wgpu::Renderer::new(&gpu.device, format, options);
        egui.callback_resources.insert(RectPipeline::new(&gpu.device, format));
        Self { egui, format }
    }

    /// Returns the format of its targets.
    #[must_use]
    pub(crate) fn format(&self) -> wgpu::TextureFormat {
        self.format
    }

    /// Uploads changed glyphs and images without painting. Every delta must be applied, painted or not.
    pub(crate) fn take_textures(&mut self, gpu: &Gpu, textures: &mut egui::TexturesDelta) {
        // Sorted by id, so that runs are reproducible.
        let mut changed: Vec<_> = textures.set.drain().collect();
        changed.sort_by_key(|(id, _)| *id);
        for (id, deltas) in changed {
            for delta in &deltas {
                self.egui.update_texture(&gpu.device, &gpu.queue, id, delta);
            }
        }
    }

    /// Paints onto `target`, whose size is `size_px`.
    pub(crate) fn paint(&mut self, gpu: &Gpu, target: &wgpu::TextureView, size_px: [u32; 2], mut picture: Picture) {
        self.take_textures(gpu, &mut picture.textures);
        let screen =
            egui_wgpu::ScreenDescriptor { size_in_pixels: size_px, pixels_per_point: picture.pixels_per_point };
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("picture") });
        let mut commands =
            self.egui.update_buffers(&gpu.device, &gpu.queue, &mut encoder, &picture.primitives, &screen);
        let [red, green, blue, _] = picture.background.to_normalized_gamma_f32().map(f64::from);
        let pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("picture"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: target,
                resolve_target: None,
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Clear(wgpu::Color { r: red, g: green, b: blue, a: 1.0 }),
                    store: wgpu::StoreOp::Store,
                },
                depth_slice: None,
            })],
            ..wgpu::RenderPassDescriptor::default()
        });
        let mut pass = pass.forget_lifetime();
        self.egui.render(&mut pass, &picture.primitives, &screen);
        drop(pass);
        commands.push(encoder.finish());
        gpu.queue.submit(commands);
        let mut unused: Vec<_> = picture.textures.free.drain().collect();
        unused.sort();
        for id in &unused {
            self.egui.free_texture(id);
        }
    }
}
