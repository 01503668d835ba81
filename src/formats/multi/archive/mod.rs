//! Archives of captures, zip and tar: every file in them that is a capture goes onto one timeline, each by its
//! own clock. Processes of different files stay apart. Refuses archives in archives, and files that unpack to
//! far more than they are.
//!
//! A file of an archive is unpacked to a temporary file, one at a time (`members`), and read like any other (`read`),
//! apart from the others. The lists of files (`tar`, `zip`) are read one entry at a time: no size, count or length that
//! an archive claims makes them larger in memory.

mod members;
pub(crate) mod read;
mod tar;
mod zip;

#[cfg(test)]
mod tests;

pub(crate) use read::{TAR, ZIP};
