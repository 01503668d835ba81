//! Read-only maps of published files, and hints to the processor about them: the one place with `unsafe`. Never maps a
//! capture, never writes through a map.

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

/// Has the processor bring `bytes` near while it goes on with something else. Changes nothing but how long it takes to read
/// them then: some hundred nanoseconds for each place in a map that was not read lately.
pub fn fetch_soon(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        /// What a processor of this kind brings at once.
        const LINE_BYTES: usize = 64;
        for line in bytes.chunks(LINE_BYTES) {
            // SAFETY: a prefetch reads nothing that the program sees, and faults on no address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes; // other processors have no such hint that Rust offers without nightly features
}
