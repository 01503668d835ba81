//! Captures in, published stores out: the deferred merge sort and the nesting of spans. Runs on background threads.
//!
//! [`pipeline`] puts the parts together: a reader's batches are mapped to common tables by [`assemble`] and kept by
//! [`kept`], or a chunked capture is used as it is; [`merge`](mod@merge) emits all events in order of time, with the
//! [`heads`] that say which chunk goes on, [`prefetch`] that loads ahead, and [`spill`] for what does not fit; [`nest`]
//! pairs and places spans ([`lanes`], [`ties`], [`asyncs`], [`ends_to_come`]), lays samples out as a chart ([`flame`]) and writes them to the store, behind [`rows`], whose
//! [`place`] is the cache wherever that can be written. A store that came with the capture is adopted there instead. What comes through a pipe is [`received`] first.

mod adopt;
pub mod assemble;
pub mod asyncs;
pub mod ends_to_come;
pub mod flame;
pub mod heads;
pub mod kept;
mod lane_index;
mod lane_set;
pub mod lanes;
pub mod load;
pub mod merge;
pub mod nest;
pub mod pipeline;
pub mod place;
pub mod prefetch;
mod previews;
pub mod received;
pub mod rows;
pub mod spill;
mod steps;
mod text_stack;
pub mod ties;

pub use load::{CachePolicy, LoadError, LoadOptions, LoadReport, Loaded};
pub use pipeline::{open, open_with_previews};
pub use previews::PreviewSink;

#[cfg(test)]
mod merge_tests;

#[cfg(test)]
mod nest_tests;
