//! Builds batches of events from records: rows of names and tracks, arguments as JSON, and pairs of span begins and
//! ends.

pub(crate) mod args;
pub(crate) mod batch;
pub(crate) mod modules;
pub(crate) mod pack;
pub(crate) mod paired_ends;
pub(crate) mod row_index;
