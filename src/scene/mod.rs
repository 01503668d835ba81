//! From a snapshot and a viewport to what is drawn: rectangles, labels, ticks. Numbers in, instances out; knows neither
//! the window nor the graphics card, so that all geometry is tested without either.
//!
//! All lengths are physical pixels. Time stays in whole nanoseconds relative to the viewport's start until the last step,
//! because one step of an `f32` at today's epoch is more than two minutes.

pub mod arrange;
pub mod asker;
pub mod clock_ruler;
pub mod color;
pub mod counters;
pub mod filtered;
pub mod frame;
pub mod labels;
pub mod live_tiles;
pub mod markers;
pub mod marks;
pub mod minimap;
pub mod motion;
pub mod palette;
pub mod pick;
pub mod process_lanes;
mod rebucket;
pub mod rects;
pub mod rows;
pub mod ruler;
pub mod strips;
mod sums;
pub mod survey;
pub mod tiles;
pub mod titles;
pub mod viewport;

#[cfg(test)]
mod gate_tests;
#[cfg(test)]
pub mod tests;
