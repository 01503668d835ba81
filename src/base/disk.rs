//! What Longspan asks of a disk when it writes a store or a spill file, as one trait: so that a test can refuse every
//! single request. Never reads, never maps, and adds nothing to what the system does.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Requests that can fail for want of space or for a failing medium.
pub trait Disk: Debug + Send + Sync {
    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// What the system says, such as that the disk is full.
    fn write_all_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Makes durable what is written. Of a folder: the names in it.
    ///
    /// # Errors
    /// What the system says, such as that the medium fails.
    fn sync(&self, file: &File) -> io::Result<()>;

    /// Gives a file another name, in place of the file that may have it.
    ///
    /// # Errors
    /// What the system says.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
}

/// The system's disks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemDisk;

impl Disk for SystemDisk {
    fn write_all_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        file.write_all_at(bytes, offset)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }
}
