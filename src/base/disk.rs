//! The disk operations for stores and spill files, as a trait, so that a test can make every single one fail.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::files;

/// Operations that can fail for lack of space or on a failing medium.
pub trait Disk: Debug + Send + Sync {
    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// Returns the error of the system, such as a full disk.
    fn write_all_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Waits until the content and the metadata of `file` are on the medium.
    ///
    /// # Errors
    /// Returns the error of the system, such as a failing medium.
    fn sync(&self, file: &File) -> io::Result<()>;

    /// Syncs the names in a folder.
    ///
    /// # Errors
    /// Returns the error of the system, such as a failing medium.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Renames a file, and replaces an existing one.
    ///
    /// # Errors
    /// Returns the error of the system.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
}

/// The disks of the system.
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

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A disk that refuses all writes but the first ones.
    #[derive(Debug)]
    pub(crate) struct FullAfter {
        left: AtomicUsize,
    }

    impl FullAfter {
        pub(crate) fn new(writes: usize) -> Self {
            Self { left: AtomicUsize::new(writes) }
        }
    }

    impl Disk for FullAfter {
        fn write_all_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
            let left = self.left.try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            left.map_err(|_| io::ErrorKind::StorageFull)?;
            SystemDisk.write_all_at(file, bytes, offset)
        }

        fn sync(&self, file: &File) -> io::Result<()> {
            SystemDisk.sync(file)
        }

        fn sync_folder(&self, folder: &Path) -> io::Result<()> {
            SystemDisk.sync_folder(folder)
        }

        fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
            SystemDisk.rename(from, to)
        }
    }
}
