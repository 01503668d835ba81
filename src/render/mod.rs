//! From a frame and the window's widgets to pixels. Knows the graphics card; decides nothing about what is shown.

pub mod gpu;
pub mod painter;
pub mod readback;
pub mod rects;
pub mod surface;

pub use gpu::{Gpu, GpuError};
pub use painter::{Painter, Picture};
pub use rects::Rects;
