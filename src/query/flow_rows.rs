//! Evaluates the filter term `has:flow`: which rows of a block have a point of a flow, which starts, passes or ends
//! there.
//!
//! The points of a track are swept on first use, and a bit per row is cached, so each row then costs one bit test. If
//! the bits of all tracks exceed [`KEPT_BYTES_MAX`], only the points around a block are swept, for each block.
//!
//! A flow counts even if its other end is not in the trace: finding that needs all points of the trace.
//!
//! The naive way searches, for each row, the points of its track around it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use super::flow_points::{PointRange, each_point, lanes_of_kind};
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::model::TrackIdx;
use crate::store::{LaneIdx, LaneKind, RowIdx};

/// Limit for the cached bits of one term: 32 MiB, for 268 million rows of tracks with flows.
const KEPT_BYTES_MAX: usize = 32 << 20;

/// Number of locks: more than threads, so that few wait for another track.
const LOCKS: usize = 64;

/// Rows per word of bits.
const WORD_ROWS: u64 = u64::BITS as u64;

/// The rows that have flows.
#[derive(Debug)]
pub(super) struct FlowRows {
    /// By track, computed on first use; `None` if the bits exceed the limit.
    tracks: Box<[OnceLock<Option<Box<RowBits>>>]>,
    /// Locked while the bits of a track are computed, by the index of the track.
    computing: [Mutex<()>; LOCKS],
    kept_bytes: AtomicUsize,
    kept_max: usize,
}

/// A bit per row of each lane that has one with a flow.
#[derive(Debug, Default)]
struct RowBits(FxHashMap<LaneIdx, Box<[u64]>>);

impl FlowRows {
    #[must_use]
    pub(super) fn new(snapshot: &Snapshot) -> Self {
        Self::with_kept_max(snapshot, KEPT_BYTES_MAX)
    }

    /// Caches at most `kept_max` bytes.
    pub(super) fn with_kept_max(snapshot: &Snapshot, kept_max: usize) -> Self {
        let tracks = (0..snapshot.tracks().tracks.len()).map(|_| OnceLock::new()).collect();
        let computing = [const { Mutex::new(()) }; LOCKS];
        Self { tracks, computing, kept_bytes: AtomicUsize::new(0), kept_max }
    }

    /// Returns whether rows of a track may have flows.
    #[must_use]
    pub(super) fn may_be_on(snapshot: &Snapshot, track: TrackIdx) -> bool {
        lanes_of_kind(snapshot, track, LaneKind::Flows).next().is_some()
    }

    /// Returns a bit per row with a flow, of at most 64 rows from `first_row` on.
    #[must_use]
    pub(super) fn rows_of(&self, snapshot: &Snapshot, lane: LaneIdx, first_row: u64, rows: usize) -> u64 {
        let track = snapshot.lane(lane).track;
        if !Self::may_be_on(snapshot, track) {
            return 0;
        }
        let mask = match self.track_bits(snapshot, track) {
            Some(bits) => bits.mask_from(lane, first_row),
            None => around_block(snapshot, lane, first_row, rows as u64),
        };
        mask & (u64::MAX >> (WORD_ROWS as usize - rows.clamp(1, WORD_ROWS as usize)))
    }

    /// Computes the bits of a track, if they are not known. Otherwise [`Self::rows_of`] does, which cannot be
    /// cancelled.
    ///
    /// # Errors
    /// Returns an error if cancelled.
    pub(super) fn prepare(&self, snapshot: &Snapshot, track: TrackIdx, cancel: &Cancel) -> Result<(), Cancelled> {
        let Some(cell) = self.tracks.get(track.index()) else { return Ok(()) };
        if cell.get().is_none() {
            let lock = &self.computing[track.index() % self.computing.len()];
            // The sweep does not wait for other threads, so others may wait for it.
            let _computing = lock.lock().unwrap_or_else(PoisonError::into_inner);
            if cell.get().is_none() {
                cell.set(self.bits(snapshot, track, cancel)?).ok(); // only one thread is here
            }
        }
        Ok(())
    }

    /// Returns the bits of a track, unless all of them would be too many.
    fn track_bits(&self, snapshot: &Snapshot, track: TrackIdx) -> Option<&RowBits> {
        self.prepare(snapshot, track, &Cancel::default()).ok()?;
        self.tracks.get(track.index())?.get()?.as_deref()
    }

    /// Sweeps the points of a track; `None` if the bits would be too many.
    fn bits(&self, snapshot: &Snapshot, track: TrackIdx, cancel: &Cancel) -> Result<Option<Box<RowBits>>, Cancelled> {
        let words = snapshot.lanes_of(track).map(|lane| words_of(snapshot, LaneIdx(lane)));
        let bytes_max = words.sum::<usize>().saturating_mul(size_of::<u64>());
        // Reserved first: threads sweep several tracks at once.
        if self.kept_bytes.fetch_add(bytes_max, Ordering::Relaxed).saturating_add(bytes_max) > self.kept_max {
            self.kept_bytes.fetch_sub(bytes_max, Ordering::Relaxed);
            return Ok(None);
        }
        let mut bits = RowBits::default();
        let swept = each_point(snapshot, track, PointRange::ALL, cancel, |_, row| bits.set(snapshot, row));
        let kept = if swept.is_ok() { bits.0.values().map(|words| size_of_val(&**words)).sum() } else { 0 };
        self.kept_bytes.fetch_sub(bytes_max.saturating_sub(kept), Ordering::Relaxed);
        swept.map(|()| Some(Box::new(bits)))
    }
}

impl RowBits {
    fn set(&mut self, snapshot: &Snapshot, row: RowIdx) {
        let words = self.0.entry(row.lane).or_insert_with(|| vec![0; words_of(snapshot, row.lane)].into());
        let word = usize::try_from(row.row / WORD_ROWS).ok().and_then(|word| words.get_mut(word));
        if let Some(word) = word {
            *word |= 1 << (row.row % WORD_ROWS);
        }
    }

    /// Returns the bits of 64 rows.
    fn mask_from(&self, lane: LaneIdx, first_row: u64) -> u64 {
        let Some(words) = self.0.get(&lane) else { return 0 };
        let word = |at: u64| usize::try_from(at).ok().and_then(|at| words.get(at)).copied().unwrap_or(0);
        let (at, shift) = (first_row / WORD_ROWS, first_row % WORD_ROWS);
        let above = if shift == 0 { 0 } else { word(at + 1) << (WORD_ROWS - shift) };
        word(at) >> shift | above
    }
}

/// Returns the number of words for a bit per row of a lane. Flow points are no rows.
fn words_of(snapshot: &Snapshot, lane: LaneIdx) -> usize {
    let info = snapshot.lane(lane);
    if info.kind == LaneKind::Flows { 0 } else { usize::try_from(info.rows.div_ceil(WORD_ROWS)).unwrap_or(usize::MAX) }
}

/// Returns a bit per row with a flow of a part of a lane, from the points around it.
fn around_block(snapshot: &Snapshot, lane: LaneIdx, first_row: u64, rows: u64) -> u64 {
    let mut mask = 0;
    let range = PointRange::around(snapshot, lane, first_row..first_row + rows);
    let swept = each_point(snapshot, snapshot.lane(lane).track, range, &Cancel::default(), |_, row| {
        if row.lane == lane && (first_row..first_row + rows).contains(&row.row) {
            mask |= 1 << (row.row - first_row);
        }
    });
    swept.map_or(0, |()| mask) // never cancelled
}

#[cfg(test)]
mod tests;
