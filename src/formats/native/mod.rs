//! Longspan's own trace format: chunks of events as compressed columns. Chunk headers suffice to fetch and merge chunks
//! in any order. A crash of the writer costs only the chunk being written.

pub(crate) mod batches;
pub(crate) mod columns;
mod file;
mod live;
mod planes;
pub(crate) mod read;
mod recover;
pub(crate) mod stacks;
pub(crate) mod tables;
pub(crate) mod wire;
pub(crate) mod write;

pub(crate) use read::FORMAT;

#[cfg(test)]
mod tests;
