//! Derived tracks: rate, count, concurrency, share of time, durations or sums of the rows of a scope, as series.
//!
//! A series is built in one pass over the matching rows, part by part in time. It is stored sorted by time in a mapped
//! temporary file. A column of a view costs two searches and one descent, and is exact at every zoom, for any number of
//! rows. Memory is bounded by the given limit plus a part of a few rows per lane. The file takes 16 bytes per row, or
//! 32 for concurrency. Percentiles of many durations come from histograms and are marked so; all other numbers are
//! exact.
//!
//! The naive way is a loop over all matching rows per column.

mod columns;
mod counter_changes;
mod definition;
mod histograms;
mod lane_rows;
mod make;
mod part_points;
mod points;
mod quantiles;
mod room;
mod running;
mod steps;
mod time_parts;
mod unknown_counter;

#[cfg(test)]
mod tests;

pub(crate) use definition::{DerivedKind, DerivedTrack};
pub(crate) use make::derive;
pub(crate) use points::DerivedSeries;
pub(crate) use room::{DerivedError, DerivedRoom};
pub(crate) use steps::CounterSteps;
pub(crate) use unknown_counter::UnknownCounter;
