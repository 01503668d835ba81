//! Spall's captures of the manual kind, versions 1 and 3. Refuses those of the automatic kind: their names are
//! addresses in a program that the capture does not hold.
//!
//! Version 1 is one stream of events, each with its thread and a time as a float. Version 3 is a sequence of
//! buffers, each of one thread, with times as whole ticks; damage costs the rest of its buffer. `wire` decodes
//! events, `read` goes through the capture.

pub(crate) mod read;
mod wire;

pub(crate) use read::FORMAT;

#[cfg(test)]
mod tests;
