//! Running sources: bytes in as they arrive, rows out in time order. Memory stays within a share of the memory limit,
//! whatever the sources send.
//!
//! [`arrivals`] receives the bytes of a stream, a growing file ([`growing_file`]) or a command; its [`reading_thread`]
//! first writes every byte to [`spool_files`] if it is recorded. A [`stoppable_stream`] ends after a request to stop.
//! [`lag`] keeps the window from blocking a source that is faster than its snapshot. [`started_command`] ends a command
//! with all its descendants. [`listen`] accepts sources that connect. [`feed`] runs the reader of the format, and
//! splits its batches. [`orderer`] sorts the events of all sources, with [`steady_lag`] for different clocks, [`pairs`]
//! makes rows of them, [`row_filter`] selects rows, and [`session`] combines all of these in steps, with a
//! [`live_source`] for each source and [`distinct_names`] for connections. [`source_names`] distinguishes processes of
//! several sources.
//!
//! [`live_store`] writes the rows to a store that is queried while it grows, with names and tracks through
//! [`arc_cache`]. [`placing`] assigns lanes to spans, [`tracks`] writes spans that no longer move, and [`density`]
//! counts them for the minimap. [`follow`] shows snapshots of a session until it ends, with open spans that grow during
//! [`silence`]; [`spool_folder`] holds the recorded bytes.

mod arc_cache;
pub(crate) mod arrivals;
pub(crate) mod density;
mod distinct_names;
pub(crate) mod feed;
pub(crate) mod follow;
mod growing_file;
mod lag;
pub(crate) mod listen;
pub(crate) mod live_source;
pub(crate) mod live_store;
pub(crate) mod orderer;
pub(crate) mod pairs;
mod placing;
pub(crate) mod reading_thread;
pub(crate) mod refused_trace;
pub(crate) mod row_filter;
pub(crate) mod session;
mod silence;
mod source_clocks;
pub(crate) mod source_names;
pub(crate) mod source_note;
pub(crate) mod spool_files;
pub(crate) mod spool_folder;
mod started_command;
mod steady_lag;
mod stoppable_stream;
mod tracks;
