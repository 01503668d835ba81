//! pprof profiles (`profile.proto`), as written by Go, gperftools and many others: a single message, usually gzipped.
//!
//! `tables` parses the message, `read` builds samples from it, `write` writes one.

pub(crate) mod fields;
pub(crate) mod read;
pub(super) mod tables;
pub(crate) mod write;

pub(crate) use read::FORMAT;

#[cfg(test)]
mod tests;
