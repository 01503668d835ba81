//! A cache of one value per track, limited in bytes. A value is computed by the first thread that needs it, can be
//! cancelled, and is shared by all threads. The caller computes without a value where it would exceed the limit.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::snapshot::Snapshot;
use crate::base::cancel::Cancelled;
use crate::model::TrackIdx;

/// Number of locks: more than threads, so that few wait for another track.
const LOCKS: usize = 64;

#[derive(Debug)]
pub(super) struct TrackCache<T> {
    /// By track; `None` if the value exceeds the limit.
    tracks: Box<[OnceLock<Option<Box<T>>>]>,
    /// Locked while the value of a track is computed, by the index of the track.
    computing: Box<[Mutex<()>; LOCKS]>,
    reserved_bytes: AtomicUsize,
    max_bytes: usize,
}

impl<T> TrackCache<T> {
    #[must_use]
    pub(super) fn new(snapshot: &Snapshot, max_bytes: usize) -> Self {
        let tracks = (0..snapshot.tracks().tracks.len()).map(|_| OnceLock::new()).collect();
        let computing = Box::new([const { Mutex::new(()) }; LOCKS]);
        Self { tracks, computing, reserved_bytes: AtomicUsize::new(0), max_bytes }
    }

    /// Returns the value of a track; `None` if `compute` returned that. `compute` reserves the bytes of the value. It
    /// must not wait for other threads, which may wait for it.
    ///
    /// # Errors
    /// Returns the error of `compute`. The next call computes the value again.
    pub(super) fn get_or_compute(
        &self,
        track: TrackIdx,
        compute: impl FnOnce() -> Result<Option<T>, Cancelled>,
    ) -> Result<Option<&T>, Cancelled> {
        let Some(cell) = self.tracks.get(track.index()) else { return Ok(None) };
        if cell.get().is_none() {
            let lock = &self.computing[track.index() % LOCKS];
            let _computing = lock.lock().unwrap_or_else(PoisonError::into_inner);
            if cell.get().is_none() {
                cell.set(compute()?.map(Box::new)).ok(); // only one thread is here
            }
        }
        Ok(cell.get().and_then(Option::as_deref))
    }

    /// Returns the number of bytes that are not reserved.
    #[cfg(test)]
    pub(super) fn left_bytes(&self) -> usize {
        self.max_bytes.saturating_sub(self.reserved_bytes.load(Ordering::Relaxed))
    }

    /// Reserves bytes for a value. Returns whether they are within the limit.
    #[must_use]
    pub(super) fn reserve(&self, bytes: usize) -> bool {
        let with_more = |reserved: usize| reserved.checked_add(bytes).filter(|&sum| sum <= self.max_bytes);
        self.reserved_bytes.try_update(Ordering::Relaxed, Ordering::Relaxed, with_more).is_ok()
    }

    /// Releases reserved bytes that a value does not need.
    pub(super) fn release(&self, bytes: usize) {
        self.reserved_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}
