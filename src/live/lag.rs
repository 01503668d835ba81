//! Decouples the window from a source that is faster than the ordering of its rows. The source is not blocked, because
//! everything is spooled; the spool is read again from disk as fast as the receiver takes it. When such a source ends,
//! the rest is left to the final sort.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::base::threads;

/// Bytes per read of the spool.
const BLOCK_BYTES: usize = 64 << 10;

/// A source with fewer bytes left at its end is shown to its end.
pub(super) const REST_BYTES: u64 = 4 << 20;

/// The spool of a source that is ahead of its reader.
#[derive(Debug, Default)]
pub(super) struct Lag {
    state: Mutex<LagState>,
    /// Notified when more is spooled, when the source has ended, and when everything is sent.
    grown: Condvar,
}

#[derive(Debug, Default)]
struct LagState {
    kept_bytes: u64,
    has_ended: bool,
    /// The receiver is gone, or a read has failed.
    is_over: bool,
}

impl Lag {
    /// Starts a thread that sends a file from a position on; `kept_bytes` are spooled so far. `send` blocks, and
    /// returns false once the receiver is gone. Returns the error of the system.
    pub(super) fn start(
        path: &Path,
        from: u64,
        kept_bytes: u64,
        mut send: impl FnMut(io::Result<Vec<u8>>) -> bool + Send + 'static,
    ) -> io::Result<Arc<Self>> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(from))?;
        let lag = Arc::new(Self::default());
        lag.state().kept_bytes = kept_bytes;
        let shared = Arc::clone(&lag);
        threads::start("catch up", move || {
            let mut sent = from;
            while let Some(bytes) = shared.next_bytes(sent) {
                let mut block = vec![0; bytes];
                let read = file.read_exact(&mut block).map(|()| block);
                let is_read = read.is_ok();
                if !send(read) || !is_read {
                    break;
                }
                sent += bytes as u64;
            }
            shared.state().is_over = true;
            shared.grown.notify_all();
        })?;
        Ok(lag)
    }

    /// Records that more is spooled. Returns false once the receiver is gone.
    pub(super) fn grow(&self, bytes: u64) -> bool {
        let mut state = self.state();
        state.kept_bytes += bytes;
        self.grown.notify_all();
        !state.is_over
    }

    /// Records that the source has ended.
    pub(super) fn end(&self) {
        self.state().has_ended = true;
        self.grown.notify_all();
    }

    /// Waits until everything is sent, or the receiver is gone.
    pub(super) fn wait(&self) {
        drop(self.grown.wait_while(self.state(), |state| !state.is_over));
    }

    /// Waits until more is spooled than sent, and returns the number of bytes to read; `None` at the end.
    fn next_bytes(&self, sent: u64) -> Option<usize> {
        let is_waited_for = |state: &mut LagState| state.kept_bytes == sent && !state.has_ended;
        let state = self.grown.wait_while(self.state(), is_waited_for).unwrap_or_else(PoisonError::into_inner);
        let left = state.kept_bytes - sent;
        let is_skipped = state.has_ended && left > REST_BYTES;
        (left > 0 && !is_skipped).then(|| usize::try_from(left).unwrap_or(usize::MAX).min(BLOCK_BYTES))
    }

    fn state(&self) -> MutexGuard<'_, LagState> {
        // No code panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::thread;
    use std::time::Duration;

    use crossbeam_channel::bounded;

    use super::*;

    #[test]
    fn stored_bytes_arrive_whole_and_in_order_while_more_are_added() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let bytes: Vec<u8> = (0..3_000_000_u32).map(|byte| (byte % 251) as u8).collect();
        file.write_all(&bytes[..500_000]).unwrap();
        let (out, came) = bounded(1);
        let send = move |block: io::Result<Vec<u8>>| out.send(block.unwrap()).is_ok();
        let lag = Lag::start(file.path(), 1000, 500_000, send).unwrap();
        let reader = thread::spawn(move || came.iter().flatten().collect::<Vec<u8>>());
        for part in bytes[500_000..].chunks(70_001) {
            file.write_all(part).unwrap();
            assert!(lag.grow(part.len() as u64));
        }
        lag.end();
        assert_eq!(reader.join().unwrap(), &bytes[1000..]);
    }

    #[test]
    fn much_that_is_left_at_the_end_is_skipped_and_nothing_is_kept_for_nobody() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let bytes = REST_BYTES * 4;
        file.as_file().set_len(bytes).unwrap();
        let (out, came) = bounded(1);
        let send = move |block: io::Result<Vec<u8>>| out.send(block.unwrap()).is_ok();
        let lag = Lag::start(file.path(), 0, bytes, send).unwrap();
        lag.end();
        let taken: u64 = came.iter().map(|block: Vec<u8>| block.len() as u64).sum();
        assert!(taken < REST_BYTES, "{taken}");
        drop(came);
        while lag.grow(1) {
            thread::sleep(Duration::from_millis(1));
        }
    }
}
