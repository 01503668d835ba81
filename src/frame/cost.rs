//! The cost of drawing a frame, until the GPU has finished.

use std::time::Duration;

/// The cost of one frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameCost {
    /// Time for layout, queries, rectangles and triangles.
    pub(crate) interface: Duration,
    /// Time to upload them, and to submit the commands.
    pub(crate) submit: Duration,
    /// Time from the submission until the GPU has finished.
    pub(crate) gpu: Duration,
    /// Tiles drawn coarser than they should be, because their answers were late.
    pub(crate) late_tiles: usize,
}
