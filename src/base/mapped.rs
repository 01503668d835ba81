//! Read-only maps of published files: the one place with `unsafe`. Never maps a capture, never writes through a map.

#![expect(unsafe_code, reason = "mapping a file is unsafe wherever it is done; it is done here alone")]

use std::fs::File;
use std::io;
use std::ops::Deref;

/// A file mapped read-only.
#[derive(Debug)]
pub struct Mapped(memmap2::Mmap);

impl Mapped {
    /// Maps the whole of `file` as it is now; growth after this call is not seen.
    ///
    /// Only for files that Longspan itself writes and never truncates: a store, or the store that a load is growing.
    /// The capture is read with `pread` instead, since another program may cut it under the map.
    ///
    /// # Errors
    /// What the system says, such as no memory for another map.
    pub fn of_store(file: &File) -> io::Result<Self> {
        // SAFETY: the store's writer only appends, and never changes or truncates what it has appended; a published
        // store is only ever replaced by rename, which leaves this map on the old file. The cache folder is the
        // user's own (0700), so no other user can cut the file.
        unsafe { memmap2::Mmap::map(file) }.map(Self)
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
