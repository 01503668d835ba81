//! Sources that still run: bytes as they come in, rows in order of time out. Holds no more than its
//! part of the memory limit, whatever the sources send.
//!
//! [`arrivals`] reads a stream, a file that grows ([`growing_file`]) or the output of a command, and gives every byte to
//! [`spool_files`] first if it is recorded; [`lag`] has a window not hold up a source that is faster than its picture.
//! [`started_command`] ends the command with all that it has started, and [`listen`] has sources that come by
//! themselves. [`feed`] runs the reader of the format on the bytes, and takes its batches apart. [`orderer`] puts the
//! events of all sources in order, [`pairs`] makes rows of them, [`row_filter`] says which are wanted, and [`session`] is
//! all of this for whoever calls its steps. [`picture`] has the rows in a store that can be looked at while it grows, with
//! names and tracks by [`arc_cache`]: [`placing`] finds the lanes of spans, [`tracks`] writes those that do not move any
//! more, and [`density`] counts them for the map of the whole trace. [`follow`] shows pictures of a session until it ends;
//! [`spool_folder`] has what comes meanwhile.

mod arc_cache;
pub(crate) mod arrivals;
pub(crate) mod density;
pub(crate) mod feed;
pub(crate) mod follow;
mod growing_file;
mod lag;
pub(crate) mod listen;
pub(crate) mod orderer;
pub(crate) mod pairs;
pub(crate) mod picture;
mod placing;
pub(crate) mod row_filter;
pub(crate) mod session;
pub(crate) mod spool_files;
pub(crate) mod spool_folder;
mod started_command;
mod tracks;
