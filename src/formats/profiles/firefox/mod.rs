//! Profiles of Firefox's profiler, which samply and others write too: the processed form, whose tables are columns,
//! and the Gecko form, whose tables are rows with a schema, with a profile inside of it for each further process.
//!
//! `wire` is the JSON of both forms, `thread` converts both to one shape, `read` makes samples, markers and counters.
//! Times count from the start of the first process.

pub(crate) mod read;
mod thread;
mod wire;

pub(crate) use read::FORMAT;

#[cfg(test)]
mod tests;
