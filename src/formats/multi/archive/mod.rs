//! Zip and tar archives: all traces in an archive share one timeline, each with its own clock. Processes of different
//! files stay separate. Refuses nested archives, and files with an extreme compression ratio.
//!
//! Each file is unpacked to a temporary file (`members`), one at a time, and read like any other (`read`). Pictures and
//! bodies that belong to a trace are not losses (`attachments`). The directories (`tar`, `zip`) are read one entry at a
//! time, so that no size or count in an archive can exhaust memory.

mod attachments;
mod members;
pub(crate) mod read;
mod tar;
mod zip;

#[cfg(test)]
mod tests;

pub(crate) use read::{TAR, ZIP, empty_archive};
pub(crate) use tar::is_empty_tar;
