//! Converts a snapshot and a viewport to rectangles, labels and ticks. Independent of the window and the GPU, so that
//! all geometry is tested without either.
//!
//! All lengths are physical pixels. Time stays in whole nanoseconds relative to the viewport's start until the last
//! step. One step of an `f32` at today's epoch is more than two minutes.

pub(crate) mod arrange;
pub(crate) mod bookmarks;
pub(crate) mod clock_ruler;
pub(crate) mod color;
pub(crate) mod counter_form;
pub(crate) mod counter_overlay;
pub(crate) mod counters;
pub(crate) mod custom_groups;
pub(crate) mod derived;
pub(crate) mod fenwick_heights;
pub(crate) mod flame;
mod function_names;
pub(crate) mod heat_map;
pub(crate) mod instant_shapes;
pub(crate) mod labels;
pub(crate) mod minimap;
pub(crate) mod motion;
pub(crate) mod natural_order;
pub(crate) mod palette;
pub(crate) mod pick;
pub(crate) mod rects;
pub(crate) mod rows;
pub(crate) mod ruler;
pub(crate) mod titles;
pub(crate) mod viewport;

#[cfg(test)]
pub(crate) mod tests;
