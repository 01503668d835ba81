//! pprof profiles (`profile.proto`), as written by Go, gperftools and many others: a single message, usually gzipped.
//!
//! `tables` parses the message, `stacks` builds a tree of its stacks without frames in `dropped_frames`, `read` adds
//! the samples, `write` writes one. `own_fields` lists the fields that this program adds.

mod dropped_frames;
pub(crate) mod fields;
pub(crate) mod own_fields;
pub(crate) mod read;
mod stacks;
pub(super) mod tables;
mod units;
pub(crate) mod write;

pub(crate) use read::FORMAT;

#[cfg(test)]
mod tests;
