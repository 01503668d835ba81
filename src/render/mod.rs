//! Draws frames and widgets with wgpu. Decides nothing about the content.

pub(crate) mod gpu;
pub(crate) mod painter;
pub(crate) mod readback;
pub(crate) mod rects;
pub(crate) mod surface;

pub(crate) use gpu::{Gpu, GpuError};
pub(crate) use painter::{Painter, Picture};
pub(crate) use rects::Rects;
