//! Derived tracks: rate, number, concurrency, longest duration or sum of an argument of the rows of a scope, as curves.
//!
//! A curve is made by one pass over the matching rows, a part of its time after the other. They stand in order of time in
//! a temporary file, whose map answers each column of a view by two searches and one descent: exact at every zoom,
//! whatever the number of rows. Memory is bounded by the room that the caller gives, beside a part with a few rows for
//! each lane; the file takes 16 bytes for each row, and 32 for concurrency.
//!
//! The slow answer: a loop over all matching rows for each column.

mod columns;
mod definition;
mod entries;
mod make;
mod part_points;
mod points;
mod room;
mod steps;
mod time_parts;

#[cfg(test)]
mod tests;

pub(crate) use definition::{DerivedKind, DerivedTrack};
pub(crate) use make::derive;
pub(crate) use points::DerivedSeries;
pub(crate) use room::{DerivedError, DerivedRoom};
pub(crate) use steps::CounterSteps;
