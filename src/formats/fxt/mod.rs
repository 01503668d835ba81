//! Reader of the Fuchsia trace format (FXT): records of 64-bit words, from several providers in sequence.
//!
//! Records refer to texts and threads by indices, which providers reassign, so records are read in order. `wire` reads
//! words and texts, `fields` defines their bits, and `names` holds the current tables of a provider. `events` builds
//! events, and `read` iterates over the records.
//!
//! A damaged record costs only itself. If its length is damaged, the reader searches for the next possible header. A
//! record of an unknown type is skipped by its length, and counted.

mod events;
mod fields;
mod names;
pub(crate) mod read;
mod wire;

pub(crate) use read::FORMAT;

#[cfg(test)]
mod tests;
