//! Firefox profiler profiles, as also written by samply and others. The processed form has tables as columns. The Gecko
//! form has tables as rows with a schema, and a nested profile for each other process.
//!
//! `wire` parses the JSON of both forms, `thread` unifies them, `read` builds samples, markers and counters. Times are
//! relative to the start of the first process.

pub(crate) mod read;
mod thread;
mod wire;

pub(crate) use read::FORMAT;

#[cfg(test)]
mod tests;
