//! Derived tracks: rate, number, concurrency, share of time, durations or sums of the rows of a scope, as curves.
//!
//! A curve is made by one pass over the matching rows, a part of its time after the other. They stand in order of time in
//! a temporary file, whose map answers each column of a view by two searches and one descent: exact at every zoom,
//! whatever the number of rows. Memory is bounded by the room that the caller gives, beside a part with a few rows for
//! each lane; the file takes 16 bytes for each row, and 32 for concurrency. Quantiles of
//! many durations come from histograms and say so; all other numbers are exact.
//!
//! The slow answer: a loop over all matching rows for each column.

mod columns;
mod counter_changes;
mod definition;
mod entries;
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

#[cfg(test)]
mod tests;

pub(crate) use definition::{DerivedKind, DerivedTrack};
pub(crate) use make::derive;
pub(crate) use points::DerivedSeries;
pub(crate) use room::{DerivedError, DerivedRoom};
pub(crate) use steps::CounterSteps;
