//! Imports traces into stores: the deferred merge sort and the nesting of spans. Runs on background threads.
//!
//! [`pipeline`] combines the parts. [`assemble`] maps a reader's batches to common tables, and [`chunk_cache`] stores
//! their chunks; a chunked trace is read directly. [`untimed`] places samples without times beside other events.
//! [`merge`](mod@merge) emits all events in time order: [`heads`] picks the next of the open runs ([`open_run`]),
//! [`gather`] sorts interleaved ones, [`prefetch`] loads ahead, and [`spill`] stores the chunks beyond the budget.
//! [`nest`] pairs and places spans ([`lanes`], [`ties`], [`tie_sort`], [`asyncs`], [`pending_ends`]), converts samples
//! to flame charts ([`flame`]), and writes rows through [`rows`].
//!
//! [`store_target`] is the cache if it is writable. [`import_store`] imports the store of a sorted trace instead.
//! [`spool`] copies input from pipes to a file.

pub(crate) mod assemble;
pub(crate) mod asyncs;
pub(crate) mod chunk_cache;
pub(crate) mod flame;
mod gather;
pub(crate) mod heads;
mod import_store;
mod lane_index;
mod lane_set;
pub(crate) mod lanes;
mod ledger_budget;
pub(crate) mod load;
pub(crate) mod merge;
pub(crate) mod nest;
pub(crate) mod open_run;
mod open_span;
pub(crate) mod pending_ends;
pub(crate) mod pipeline;
pub(crate) mod prefetch;
mod previews;
pub(crate) mod rows;
pub(crate) mod spill;
pub(crate) mod spill_pool;
pub(crate) mod spool;
mod steps;
pub(crate) mod store_target;
mod text_stack;
mod tie_sort;
pub(crate) mod ties;
mod untimed;

pub(crate) use load::{CachePolicy, Ledgers, LoadError, LoadOptions, Loaded};
pub(crate) use pipeline::{open, open_spooled, open_with_previews};

#[cfg(test)]
mod merge_tests;

#[cfg(test)]
mod nest_tests;
