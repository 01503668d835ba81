//! The sorted trace on disk: per-lane blocks of rows with their indexes, in one file that is mapped read-only.
//!
//! Rows, from small to large: a [`block`] packs 64 rows of a [`lane`] with [`pack`] and [`patched`]; an [`extent`] has
//! 64 blocks with the lower levels of its forest ([`longest_blocks`] or [`iforest`]) and a [`signature`] of its names.
//! A lane has its extents with the upper levels, and an [`overview`] pyramid for zoomed-out views. Arguments are apart
//! from the rows in [`details`]; [`flow`] encodes points of flows.
//!
//! The file: [`lane_builder`] makes extents of pushed rows. The [`writer`] appends them with [`append`], and logs them
//! in [`extent_log`]. [`tables`] writes the sections at the end, each a [`table`] within the limits of [`row_limit`].
//! [`format`](mod@format) defines the layout. [`read`] maps the finished file, [`verified`] checks each part on its
//! first read, also those of a [`parted_section`], and the [`cache`] names the files.
//!
//! Ledgers, trees of sums for slices of time ([`slice_bounds`]): [`ledger`] by name, of the [`sums`] that a [`sweep`]
//! yields; [`path_ledger`] by call path, of [`paths`], or of [`pruned_paths`] if these do not fit; [`sample_ledger`] by
//! stack, of [`sample_rows`] in [`sample_node`]s. Each has its `_build` after all rows are written, over
//! [`ledger_tree`] or [`bounded_tree`], with one [`ledger_progress`]. [`path_bands`] sums the paths of many tracks at
//! once with [`path_tables`], for [`whole_path_build`] or for [`pruned_path_build`], which has its
//! [`track_path_trees`].
//!
//! Other stores: one [`carried`] by a file of another format, and a [`growing`] one that is queried while it is
//! written, whose [`live_lanes`] move.
//!
//! Independent of trace formats, chunks and pixels.

pub(crate) mod append;
pub(crate) mod block;
mod bounded_tree;
pub(crate) mod cache;
pub(crate) mod carried;
pub(crate) mod details;
pub(crate) mod extent;
mod extent_log;
pub(crate) mod flow;
pub(crate) mod format;
pub(crate) mod growing;
pub(crate) mod iforest;
pub(crate) mod lane;
mod lane_builder;
pub(crate) mod ledger;
pub(crate) mod ledger_build;
mod ledger_progress;
mod ledger_tree;
pub(crate) mod live_lanes;
pub(crate) mod longest_blocks;
pub(crate) mod overview;
pub(crate) mod pack;
mod parted_section;
mod patched;
mod path_bands;
pub(crate) mod path_ledger;
mod path_ledger_build;
mod path_tables;
pub(crate) mod paths;
mod pruned_path_build;
pub(crate) mod pruned_paths;
pub(crate) mod read;
mod row_limit;
pub(crate) mod sample_ledger;
mod sample_ledger_build;
pub(crate) mod sample_node;
pub(crate) mod sample_rows;
pub(crate) mod signature;
pub(crate) mod slice_bounds;
pub(crate) mod sums;
pub(crate) mod sweep;
mod table;
mod tables;
mod track_path_trees;
pub(crate) mod verified;
mod whole_path_build;
pub(crate) mod writer;

pub(crate) use block::Row;
pub(crate) use details::DetailPositions;
pub(crate) use format::{LoadStats, Meta, Summary};
pub(crate) use lane::{DetailRef, LaneIdx, LaneInfo, LaneKind, RowIdx, Span};
#[cfg(test)]
pub(crate) use path_bands::SWEPT_ROWS;
pub(crate) use read::{Lane, Store, StoreError};
pub(crate) use writer::{FinishedStore, StoreWriter, next_lane};

#[cfg(test)]
mod carried_tests;
