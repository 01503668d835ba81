//! Profiles of pprof (`profile.proto`), as Go, gperftools and many others write them: one message, usually inside gzip.
//!
//! `tables` reads the message, `read` makes samples of it, `write` writes one.

pub(crate) mod fields;
pub(crate) mod read;
pub(super) mod tables;
pub(crate) mod write;

pub(crate) use read::FORMAT;

#[cfg(test)]
mod tests;
