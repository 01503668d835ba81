//! Longspan's own captures: chunks of events as compressed columns, whose headers say enough to fetch and merge them in
//! any order, and which a crash of the writer costs only the chunk being written.

pub mod columns;
mod file;
mod planes;
pub mod read;
mod recover;
pub mod stacks;
pub mod tables;
pub mod wire;
pub mod write;

#[cfg(test)]
mod tests;
