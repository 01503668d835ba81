//! The sorted result on disk: per-lane blocks of rows with their indexes, one file, mapped read-only.
//!
//! From small to large: a [`block`] packs 64 rows, an [`extent`] holds 64 blocks with the lower levels of the [`iforest`],
//! a lane has its extents with the upper levels, and an [`overview`] pyramid for views from far away. The [`writer`]
//! appends extents as they fill up; [`format`](mod@format) says where everything stands; [`read`] maps the finished file.
//! A store may be [`carried`] by a file of another kind.
//!
//! Knows nothing of captures, chunks or pixels.

pub mod append;
pub mod block;
pub mod cache;
pub mod carried;
pub mod details;
pub mod extent;
mod extent_log;
pub mod flow;
pub mod format;
pub mod iforest;
pub mod lane;
mod lane_builder;
pub mod overview;
pub mod pack;
pub mod read;
pub mod signature;
mod tables;
pub mod verified;
pub mod writer;

pub use block::Row;
pub use details::DetailPositions;
pub use format::{LoadStats, Meta, Summary};
pub use lane::{DetailRef, LaneIdx, LaneInfo, LaneKind, RowIdx, Span};
pub use read::{Lane, Store, StoreError};
pub use writer::StoreWriter;

#[cfg(test)]
mod carried_tests;
