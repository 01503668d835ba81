//! Spall's captures, of the manual kind in versions 0 to 3, of the automatic kind in version 3. Refuses earlier versions
//! of the automatic kind.
//!
//! Versions 0 and 1 are one stream of events, each with its thread and a time as a float. Versions 2 and 3 are a
//! sequence of buffers, each of one thread, with times as whole ticks; damage costs the rest of its buffer. `wire`
//! decodes events, `read` goes through the capture, `auto` through one of the automatic kind.

mod args;
mod auto;
pub(crate) mod read;
mod wire;

pub(crate) use read::FORMAT;

#[cfg(test)]
mod tests;
