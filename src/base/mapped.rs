//! Read-only maps of published files, prefetch hints, and handling of lost pages: the only file with `unsafe`. Never
//! maps a trace, never writes through a map.

#![expect(
    unsafe_code,
    reason = "maps, prefetches and the handler of lost pages are unsafe wherever they are; they are here alone"
)]

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::files;

/// A file mapped read-only, of a fixed length.
#[derive(Debug)]
pub(crate) struct Mapped {
    map: memmap2::Mmap,
    /// The mapped file, even after another has taken its name.
    file: Arc<File>,
    number: u64,
    /// Bytes passed to [`Mapped::fetch`].
    #[cfg(test)]
    fetched: AtomicU64,
    /// Of these, the bytes before the first call of [`Mapped::check_copy`].
    #[cfg(test)]
    fetched_at_first_check: std::sync::OnceLock<u64>,
}

/// A map in use, for the message about a lost page.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux tells which page is lost"))]
struct LiveMap {
    number: u64,
    path: PathBuf,
    file: Arc<File>,
    bytes: u64,
}

static LIVE: Mutex<Vec<LiveMap>> = Mutex::new(Vec::new());

impl Mapped {
    /// Maps the whole of `file` at its current length. `path` is for messages. Returns the error of the system, such as
    /// no memory for another map.
    ///
    /// Only for files whose mapped bytes Longspan itself never changes or truncates: stores, published or growing.
    /// Traces are read with `pread`, because another program may truncate them.
    pub(crate) fn from_store(file: &File, path: &Path) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let file_copy = Arc::new(file.try_clone()?);
        // SAFETY: the store's writer only appends, and never changes or truncates earlier bytes. A published store is
        // only replaced by rename, which leaves this map on the old file. The cache folder is private (0700), so no
        // other user can truncate the file. If another program of the user does, reading a lost page ends the program
        // with a message; see `hold_faulting_threads`.
        let map = unsafe { memmap2::Mmap::map(file) }?;
        let (number, bytes) = (COUNT.fetch_add(1, Ordering::Relaxed), map.len() as u64);
        let live = LiveMap { number, path: path.into(), file: Arc::clone(&file_copy), bytes };
        LIVE.lock().unwrap_or_else(PoisonError::into_inner).push(live);
        Ok(Self {
            map,
            file: file_copy,
            number,
            #[cfg(test)]
            fetched: AtomicU64::default(),
            #[cfg(test)]
            fetched_at_first_check: std::sync::OnceLock::new(),
        })
    }

    /// Starts to read a part of the map from the disk. Without this, the first read of a page also reads what is around
    /// it, up to the readahead of the disk, which may be megabytes.
    pub(crate) fn fetch(&self, bytes: &[u8]) {
        /// Linux reads no more than the readahead of the disk for one hint, 128 KiB by default.
        const HINT_BYTES: usize = 128 << 10;
        #[cfg(test)]
        self.fetched.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        for hint in bytes.chunks(HINT_BYTES) {
            if let Some(offset) = self.offset_of(hint) {
                self.will_need(offset, hint.len()).ok(); // it is only slower without
            }
        }
    }

    /// Passes a hint for the file, not for the map: hints for a map lock the address space of the process, for which
    /// the allocator of a frame may wait.
    #[cfg(target_os = "linux")]
    fn will_need(&self, offset: usize, bytes: usize) -> io::Result<()> {
        let bytes = std::num::NonZeroU64::new(bytes as u64);
        Ok(rustix::fs::fadvise(&self.file, offset as u64, bytes, rustix::fs::Advice::WillNeed)?)
    }

    #[cfg(all(unix, not(target_os = "linux")))]
    fn will_need(&self, offset: usize, bytes: usize) -> io::Result<()> {
        self.map.advise_range(memmap2::Advice::WillNeed, offset, bytes)
    }

    #[cfg(not(unix))]
    fn will_need(&self, _: usize, _: usize) -> io::Result<()> {
        Ok(()) // other systems read ahead as they do
    }

    /// Calls `check` with a copy of a part of the map, at a multiple of 8 in memory, which is read from the file. The
    /// part is then in the page cache, so that no later read of the map waits for the disk.
    ///
    /// The alternative is to read the map itself: it waits in a page fault, which some systems serve while they lock
    /// the address space of all threads.
    pub(crate) fn check_copy(&self, bytes: &[u8], check: impl FnOnce(&[u8]) -> bool) -> bool {
        /// Larger parts are rare, and each thread keeps its buffer.
        const COPY_BYTES_MAX: usize = 256 << 10;
        thread_local! {
            static WORDS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
        }
        #[cfg(test)]
        self.fetched_at_first_check.get_or_init(|| self.fetched());
        let Some(offset) = self.offset_of(bytes).filter(|_| bytes.len() <= COPY_BYTES_MAX) else { return check(bytes) };
        WORDS.with_borrow_mut(|words| {
            let length = bytes.len().div_ceil(size_of::<u64>());
            if words.len() < length {
                words.resize(length, 0);
            }
            let copy = &mut bytemuck::cast_slice_mut(words)[..bytes.len()];
            match files::read_exact_at(&self.file, copy, offset as u64) {
                Ok(()) => check(copy),
                // The map reports a lost page to the user; see `hold_faulting_threads`.
                Err(_) => check(bytes),
            }
        })
    }

    /// Returns the position of a part in the map; `None` if it is elsewhere.
    fn offset_of(&self, bytes: &[u8]) -> Option<usize> {
        let offset = bytes.as_ptr().addr().wrapping_sub(self.map.as_ptr().addr());
        offset.checked_add(bytes.len()).filter(|&end| end <= self.map.len()).map(|_| offset)
    }

    #[cfg(test)]
    pub(crate) fn fetched(&self) -> u64 {
        self.fetched.load(Ordering::Relaxed)
    }

    #[cfg(test)]
    pub(crate) fn fetched_at_first_check(&self) -> Option<u64> {
        self.fetched_at_first_check.get().copied()
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        LIVE.lock().unwrap_or_else(PoisonError::into_inner).retain(|live| live.number != self.number);
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

/// Removes the Rust runtime's handler for SIGBUS. It handles only stack overflows, which are SIGSEGV on Linux, and
/// passes every other signal back to the system. So a second thread would end the program before the message.
#[cfg(target_os = "linux")]
pub(crate) fn forget_runtime_handler() {
    // SAFETY: the default handler is valid for any signal, and no other thread of this program changes handlers.
    unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
}

/// Returns a sentence about the maps with a lost page: maps of files that are shorter now, or else all maps.
#[must_use]
#[cfg(target_os = "linux")]
pub(crate) fn describe_lost_page() -> String {
    let live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
    let cut = live.iter().find_map(|map| {
        let bytes = map.file.metadata().ok()?.len();
        (bytes < map.bytes).then(|| (map.path.display(), bytes, map.bytes))
    });
    if let Some((path, bytes, mapped)) = cut {
        return format!("{path}: the sorted store was cut from {mapped} to {bytes} bytes while it was read");
    }
    let paths: Vec<_> = live.iter().map(|map| map.path.display().to_string()).collect();
    format!("a mapped file cannot be read; its disk may be failing. Mapped files: {}", paths.join(", "))
}

/// Blocks a thread that reads a lost page of a map (SIGBUS), so that the signal watcher can report the file and end the
/// program. Requires such a watcher: the thread blocks for ever.
#[cfg(target_os = "linux")]
pub(crate) fn hold_faulting_threads() {
    let wait = || {
        loop {
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
    };
    // SAFETY: the handler does nothing but sleep, which is one call of the system, takes no lock and allocates nothing.
    unsafe { signal_hook::low_level::register(signal_hook::consts::SIGBUS, wait) }.ok();
}

/// Prefetches `bytes` into the CPU cache. It saves a few hundred nanoseconds for each part of a map that was not read
/// lately.
pub(crate) fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        /// Length of a cache line.
        const LINE_BYTES: usize = 64;
        for line in bytes.chunks(LINE_BYTES) {
            // SAFETY: a prefetch reads nothing that the program sees, and faults on no address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes; // stable Rust has no such hint for other processors
}
