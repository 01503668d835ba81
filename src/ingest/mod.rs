//! Captures in, published stores out: the deferred merge sort and the nesting of spans. Runs on background threads.
//!
//! [`pipeline`] puts the parts together. [`assemble`] maps a reader's batches to common tables and [`chunk_cache`]
//! keeps them; a chunked capture is used as it is. [`merge`](mod@merge) emits all events in order of time: [`heads`]
//! says which chunk goes on, [`prefetch`] loads ahead, and [`spill`] takes the chunks that do not fit. [`nest`] pairs
//! and places spans ([`lanes`], [`ties`], [`tie_sort`], [`asyncs`], [`pending_ends`]), lays samples out as a chart
//! ([`flame`]) and writes both to the store through [`rows`]. The [`store_target`] is the cache wherever that can be
//! written. A store that came with the capture is adopted there instead. Input from a pipe is written to a file by
//! [`spool`] first.

pub(crate) mod assemble;
pub(crate) mod asyncs;
pub(crate) mod chunk_cache;
pub(crate) mod flame;
pub(crate) mod heads;
mod import_store;
mod lane_index;
mod lane_set;
pub(crate) mod lanes;
mod ledger_budget;
pub(crate) mod load;
pub(crate) mod merge;
pub(crate) mod nest;
mod open_span;
pub(crate) mod pending_ends;
pub(crate) mod pipeline;
pub(crate) mod prefetch;
mod previews;
pub(crate) mod rows;
pub(crate) mod spill;
pub(crate) mod spool;
mod steps;
pub(crate) mod store_target;
mod text_stack;
mod tie_sort;
pub(crate) mod ties;

pub(crate) use load::{CachePolicy, LoadError, LoadOptions, Loaded};
pub(crate) use pipeline::{open, open_spooled, open_with_previews};

#[cfg(test)]
mod merge_tests;

#[cfg(test)]
mod nest_tests;
