//! The panels beside the timeline, one file each. A panel shows what it is given and returns commands.

pub(crate) mod bookmarks;
pub(crate) mod details;
pub(crate) mod flame;
pub(crate) mod keys;
pub(crate) mod losses;
pub(crate) mod preferences;
pub(crate) mod search;
pub(crate) mod sources;
pub(crate) mod statistics;
