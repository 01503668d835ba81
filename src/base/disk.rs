//! The requests of Longspan to a disk when it writes a store or a spill file, as one trait: so that a test can refuse
//! every single request. Never reads, never maps, and adds nothing to the system's own calls.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::files;

/// Requests that can fail for want of space or for a failing medium.
pub trait Disk: Debug + Send + Sync {
    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// The error of the system, such as a full disk.
    fn write_all_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Makes durable what is written.
    ///
    /// # Errors
    /// The error of the system, such as a medium that fails.
    fn sync(&self, file: &File) -> io::Result<()>;

    /// Makes durable the names in a folder.
    ///
    /// # Errors
    /// The error of the system, such as a medium that fails.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Gives a file another name, in place of the file that may have it.
    ///
    /// # Errors
    /// The error of the system for the rename.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
}

/// The disks of the system, without a layer between.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemDisk;

impl Disk for SystemDisk {
    fn write_all_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        files::write_all_at(file, bytes, offset)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        files::sync_folder(folder)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }
}
