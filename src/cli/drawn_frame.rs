//! The cost of a frame drawn offscreen, in builds with and without the window.

use std::time::Duration;

/// The cost of one drawn frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct DrawnFrame {
    /// Time for layout, queries, rectangles and triangles.
    pub(crate) interface: Duration,
    /// Time to upload them, and to submit the commands.
    pub(crate) submit: Duration,
    /// Time from then until the GPU has finished.
    pub(crate) gpu: Duration,
    /// Tiles drawn coarser than they should be.
    pub(crate) late_tiles: usize,
}
