//! Fuchsia's trace format (FXT): records of 64-bit words, from several providers one after the other.
//!
//! Records refer to texts and threads by small numbers, which each provider reassigns as it goes, so records are
//! read in order. `wire` splits words, `fields` names their bits, `names` holds the current tables of a provider,
//! `events` makes events and `read` steps from record to record. A damaged record costs only itself. If its length
//! is damaged, the reader searches for the next word that a record could begin with. A record of an unknown type is
//! skipped by its length, and counted.

mod events;
mod fields;
mod names;
pub(crate) mod read;
mod wire;

pub(crate) use read::FORMAT;

#[cfg(test)]
mod tests;
