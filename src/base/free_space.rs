//! The free space of disks. Writers of large files leave some of it to other programs, and check it now and then.

use std::fs;
use std::io;
use std::path::Path;

use super::files;

/// Minimum free space to leave on a disk, for other programs.
pub(crate) const FREE_BYTES_MIN: u64 = 256 << 20;

/// Number of written bytes between two checks.
pub(crate) const CHECK_EVERY_BYTES: u64 = 16 << 20;

/// Returns an error if the disk of a folder has too little free space for more writes.
pub(crate) fn check(folder: &Path) -> io::Result<()> {
    match files::free_bytes(folder) {
        Some(free) if free < FREE_BYTES_MIN => {
            let why = format!("only {free} bytes are free there, and Longspan leaves {FREE_BYTES_MIN} free");
            Err(io::Error::new(io::ErrorKind::StorageFull, why))
        }
        // If the system does not report free space, the disk is written until it is full.
        _ => Ok(()),
    }
}

/// Returns whether two folders are on the same disk, as far as the system reports it.
#[must_use]
pub(crate) fn is_same_disk(a: &Path, b: &Path) -> bool {
    let device = |folder| fs::metadata(folder).map(|metadata| files::identity(&metadata).0).ok();
    device(a) == device(b)
}
