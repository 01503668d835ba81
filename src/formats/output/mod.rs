//! From the records of a capture to batches of events: rows for names and tracks, arguments as JSON, and
//! ends moved to their begins.

pub(crate) mod args;
pub(crate) mod batch;
pub(crate) mod modules;
pub(crate) mod pack;
pub(crate) mod paired_ends;
pub(crate) mod row_index;
