//! The panels beside the timeline, one file each. A panel shows what it is given and returns commands.

pub(crate) mod details;
pub(crate) mod flame;
pub(crate) mod search;
pub(crate) mod statistics;
