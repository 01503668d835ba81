//! The window's surface: configured, painted, presented, and recreated when the system takes it away. Skips frames that
//! cannot be seen.

use super::gpu::{Gpu, GpuError};
use super::painter::{Painter, Picture};
use super::readback::{Pixels, paint_offscreen};

/// A window's surface with its painter.
pub(crate) struct WindowSurface {
    gpu: Gpu,
    painter: Painter,
    surface: wgpu::Surface<'static>,
    config: wgpu::SurfaceConfiguration,
}

/// The outcome of presenting a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presented {
    /// The picture is on the screen.
    Shown,
    /// The surface was not ready: paint again.
    Retry,
    /// The window is not visible: paint when it is.
    Hidden,
    /// The surface is lost until [`WindowSurface::replace_surface`] creates another.
    SurfaceLost,
    /// The device is lost: create a new [`WindowSurface`].
    DeviceLost,
}

impl WindowSurface {
    /// Prepares to draw on a window of this size. Returns a [`GpuError`] if that is impossible.
    pub(crate) fn new<W>(
        window: W,
        display: impl wgpu::wgt::WgpuHasDisplayHandle,
        size_px: [u32; 2],
    ) -> Result<Self, GpuError>
    where
        W: Into<wgpu::SurfaceTarget<'static>>,
    {
        let instance =
            wgpu::Instance::new(wgpu::InstanceDescriptor::new_with_display_handle_from_env(Box::new(display)));
        let surface = instance.create_surface(window)?;
        let gpu = Gpu::from_instance(instance, Some(&surface))?;
        let config = config(&gpu, &surface, size_px)?;
        let painter = Painter::new(&gpu, config.format);
        let window_surface = Self { gpu, painter, surface, config };
        window_surface.configure();
        Ok(window_surface)
    }

    #[must_use]
    pub(crate) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Returns the size of the surface in physical pixels.
    #[must_use]
    pub(crate) fn size_px(&self) -> [u32; 2] {
        [self.config.width, self.config.height]
    }

    /// Sets the window's new size; ignores the zero size of a minimised window.
    pub(crate) fn resize(&mut self, [width, height]: [u32; 2]) {
        let limit = self.gpu.texture_side_max();
        let size = [width.min(limit), height.min(limit)];
        if width > 0 && height > 0 && size != self.size_px() {
            [self.config.width, self.config.height] = size;
            self.configure();
        }
    }

    /// Creates another surface after [`Presented::SurfaceLost`]. Returns [`GpuError::NoSurface`] if the window cannot
    /// be drawn on any more.
    pub(crate) fn replace_surface<W>(&mut self, window: W) -> Result<(), GpuError>
    where
        W: Into<wgpu::SurfaceTarget<'static>>,
    {
        self.surface = self.gpu.instance.create_surface(window)?;
        self.configure();
        Ok(())
    }

    /// Reads the pixels of a picture that is presented later. Returns [`GpuError::Lost`] if the GPU is lost meanwhile.
    pub(crate) fn read_back(&mut self, picture: &mut Picture) -> Result<Pixels, GpuError> {
        // New textures are uploaded once; freed textures stay until the picture is presented.
        self.painter.take_textures(&self.gpu, &mut picture.textures);
        let same = Picture {
            primitives: picture.primitives.clone(),
            textures: egui::TexturesDelta::default(),
            pixels_per_point: picture.pixels_per_point,
            background: picture.background,
        };
        paint_offscreen(&self.gpu, &mut self.painter, [self.config.width, self.config.height], same)
    }

    /// Paints and presents a picture.
    pub(crate) fn present(&mut self, mut picture: Picture) -> Presented {
        if self.gpu.lost().is_some() {
            // The next painter starts with all textures, including these changes.
            picture.textures.clear();
            return Presented::DeviceLost;
        }
        let (frame, stale) = match self.surface.get_current_texture() {
            wgpu::CurrentSurfaceTexture::Success(frame) => (frame, false),
            wgpu::CurrentSurfaceTexture::Suboptimal(frame) => (frame, true),
            other => {
                self.painter.take_textures(&self.gpu, &mut picture.textures);
                picture.textures.clear();
                return match other {
                    wgpu::CurrentSurfaceTexture::Outdated => {
                        self.configure();
                        Presented::Retry
                    }
                    wgpu::CurrentSurfaceTexture::Lost => Presented::SurfaceLost,
                    wgpu::CurrentSurfaceTexture::Occluded => Presented::Hidden,
                    _ => Presented::Retry,
                };
            }
        };
        let view = frame.texture.create_view(&wgpu::TextureViewDescriptor::default());
        let size_px = [frame.texture.width(), frame.texture.height()];
        self.painter.paint(&self.gpu, &view, size_px, picture);
        self.gpu.queue.present(frame);
        if stale {
            self.configure();
        }
        if self.gpu.lost().is_some() { Presented::DeviceLost } else { Presented::Shown }
    }

    fn configure(&self) {
        self.surface.configure(&self.gpu.device, &self.config);
    }
}

fn config(
    gpu: &Gpu,
    surface: &wgpu::Surface<'_>,
    [width, height]: [u32; 2],
) -> Result<wgpu::SurfaceConfiguration, GpuError> {
    let limit = gpu.texture_side_max();
    let (width, height) = (width.clamp(1, limit), height.clamp(1, limit));
    let no_format = || GpuError::NoFormat { adapter: gpu.name() };
    let mut config = surface.get_default_config(&gpu.adapter, width, height).ok_or_else(no_format)?;
    // An sRGB format is not used, even if it is listed first: colours are gamma-encoded already.
    let formats = surface.get_capabilities(&gpu.adapter).formats;
    let plain = |format: &&wgpu::TextureFormat| {
        matches!(format, wgpu::TextureFormat::Bgra8Unorm | wgpu::TextureFormat::Rgba8Unorm)
    };
    config.format = *formats.iter().find(plain).ok_or_else(no_format)?;
    config.present_mode = wgpu::PresentMode::AutoVsync;
    // One frame of latency: a drag follows the pointer closely.
    config.desired_maximum_frame_latency = 1;
    config.view_formats = Vec::new();
    Ok(config)
}
