//! Paints onto a texture without a window, and reads its pixels back. Row padding is removed here.

use super::gpu::{Gpu, GpuError};
use super::painter::{Painter, Picture};

/// The format of offscreen pictures.
pub(crate) const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

/// RGBA pixels, row by row from the top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pixels {
    /// The width in physical pixels.
    pub width: u32,
    /// The height in physical pixels.
    pub height: u32,
    /// Four bytes per pixel.
    pub rgba: Vec<u8>,
}

impl Pixels {
    /// Returns a pixel, for tests; transparent black outside.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn at(&self, x: u32, y: u32) -> [u8; 4] {
        let start = (y as usize * self.width as usize + x as usize) * 4;
        let inside = x < self.width && y < self.height;
        self.rgba.get(start..).filter(|_| inside).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default()
    }
}

/// A texture to paint onto in place of a window.
pub(crate) struct OffscreenTarget {
    texture: wgpu::Texture,
    view: wgpu::TextureView,
}

impl OffscreenTarget {
    /// Creates a texture of this size and format. Returns [`GpuError::TooLarge`] if the GPU does not support the size.
    pub(crate) fn new(gpu: &Gpu, format: wgpu::TextureFormat, [width, height]: [u32; 2]) -> Result<Self, GpuError> {
        let limit = gpu.texture_side_max();
        if width == 0 || height == 0 || width.max(height) > limit {
            return Err(GpuError::TooLarge { width, height, limit });
        }
        let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("offscreen"),
            size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        Ok(Self { texture, view })
    }

    /// Returns the view that a [`Painter`] paints onto.
    pub(crate) fn view(&self) -> &wgpu::TextureView {
        &self.view
    }
}

/// Paints a picture onto a new texture, in the format of its `painter`, and reads it back. Returns
/// [`GpuError::TooLarge`] if the GPU does not support the size, or [`GpuError::Lost`] if it is lost meanwhile.
pub(crate) fn paint_offscreen(
    gpu: &Gpu,
    painter: &mut Painter,
    [width, height]: [u32; 2],
    picture: Picture,
) -> Result<Pixels, GpuError> {
    let target = OffscreenTarget::new(gpu, painter.format(), [width, height])?;
    painter.paint(gpu, target.view(), [width, height], picture);
    let row_bytes = width * 4;
    let padded_row_bytes = row_bytes.next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
    let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("readback"),
        size: u64::from(padded_row_bytes) * u64::from(height),
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("readback") });
    encoder.copy_texture_to_buffer(
        target.texture.as_image_copy(),
        wgpu::TexelCopyBufferInfo {
            buffer: &buffer,
            layout: wgpu::TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: Some(padded_row_bytes),
                rows_per_image: Some(height),
            },
        },
        target.texture.size(),
    );
    gpu.queue.submit([encoder.finish()]);
    let (answer, mapped) = std::sync::mpsc::channel();
    buffer.map_async(wgpu::MapMode::Read, .., move |result| {
        answer.send(result).ok(); // the receiver is gone once the device is lost
    });
    gpu.finish()?;
    let lost = |reason: &dyn std::fmt::Display| GpuError::Lost { reason: reason.to_string() };
    mapped.recv().map_err(|error| lost(&error))?.map_err(|error| lost(&error))?;
    let mapped = buffer.get_mapped_range(..).map_err(|error| lost(&error))?;
    let mut rgba = Vec::with_capacity(row_bytes as usize * height as usize);
    for row in mapped.chunks(padded_row_bytes as usize) {
        rgba.extend(row.iter().take(row_bytes as usize));
    }
    if painter.format() == wgpu::TextureFormat::Bgra8Unorm {
        for pixel in rgba.as_chunks_mut::<4>().0 {
            pixel.swap(0, 2);
        }
    }
    Ok(Pixels { width, height, rgba })
}
