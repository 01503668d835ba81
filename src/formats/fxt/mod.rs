//! Fuchsia's trace format (FXT): records of 64-bit words, from several providers one after the other.
//!
//! Texts and threads are referred to by small numbers that each provider gives anew as it goes, so records are read in
//! their order. `wire` takes words apart, `names` is what the numbers of a provider stand for at a time, `events` makes
//! events, `read` goes from record to record. A damaged record costs itself, unless it is its length that is damaged:
//! then what follows is searched for the next word that a record could begin with.

mod events;
mod fields;
mod names;
pub(crate) mod read;
mod wire;

pub(crate) use read::FORMAT;

#[cfg(test)]
mod tests;
