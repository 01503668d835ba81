//! Chrome's trace event format in JSON: the array form and the object form, as tracers really write them.
//!
//! In reading order: `split` guesses where to cut, `scan` steps over JSON, `wire` finds the fields of a record, and
//! `phases` interprets its phase. `events` makes events of it, `samples` those with call stacks, whose table is in
//! `frames` or, in V8's profiles, comes piece by piece in `profiles`. `records` is the whole array, `envelope` the
//! syntax around it, and `read` does all of that on several threads; [`write`](mod@write) goes the other way.

mod envelope;
mod events;
mod frames;
mod phases;
mod profiles;
pub(crate) mod read;
mod records;
mod split;
mod tables;
mod wire;
pub(crate) mod write;

pub(crate) use read::FORMAT;

#[cfg(test)]
mod tests;
