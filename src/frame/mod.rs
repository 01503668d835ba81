//! One picture of the canvas as rectangles and labels, from a layout and a viewport of [`crate::scene`] and the tiles
//! of [`crate::tiles`].

mod builder;
mod cost;
pub(crate) mod filtered;
mod lane_tracks;
pub(crate) mod lit;
mod name_colors;
mod overlaid;
pub(crate) mod summary_strip;

pub(crate) use builder::TimelineFrame;
pub use builder::{FrameOptions, RectBudget, build, lanes_in_view};
pub(crate) use cost::FrameCost;
pub(crate) use overlaid::other_lanes;
