//! Tiles of query answers, between the store and a frame: a cache of aligned runs of buckets, and the threads that load
//! them. Also summaries of processes, of groups of tracks and of the whole trace. Independent of the window and the
//! GPU.

mod cache;
pub(crate) mod derived;
pub(crate) mod live;
pub(crate) mod loader;
mod rebucket;
mod source;
pub(crate) mod summaries;
pub(crate) mod trace_summary;

pub use cache::Tiles;
pub(crate) use source::{TileOwner, TileSource};

#[cfg(test)]
mod tests;
