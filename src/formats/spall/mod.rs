//! Reader of Spall traces: versions 0 to 3 of the manual format, and version 3 of the automatic format. Earlier
//! versions of the automatic format are rejected.
//!
//! Versions 0 and 1 are one stream of events, each with its thread and a time as a float. Versions 2 and 3 are a
//! sequence of buffers of one thread each, with times in integer ticks; damage costs the rest of a buffer. `wire`
//! decodes events, `read` reads the manual format, and `auto` the automatic one.

mod args;
mod auto;
mod buffer_header;
mod event_check;
pub(crate) mod read;
mod wire;

pub(crate) use read::FORMAT;

#[cfg(test)]
mod tests;
