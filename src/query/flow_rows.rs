//! Evaluates the filter term `has:flow`: which rows of a block have a point of a flow, which starts, passes or ends
//! there.
//!
//! The points of a track are swept on first use, and a bit per row is cached, so each row then costs one bit test. If
//! the bits of all tracks exceed [`KEPT_BYTES_MAX`], only the points around a block are swept, for each block.
//!
//! A flow counts even if its other end is not in the trace: finding that needs all points of the trace.
//!
//! The naive way searches, for each row, the points of its track around it.

use rustc_hash::FxHashMap;

use super::flow_points::{PointRange, each_point, lanes_of_kind};
use super::snapshot::Snapshot;
use super::track_cache::TrackCache;
use crate::base::cancel::{Cancel, Cancelled};
use crate::model::TrackIdx;
use crate::store::{LaneIdx, LaneKind, RowIdx};

/// Limit for the cached bits of one term: 32 MiB, for 268 million rows of tracks with flows.
const KEPT_BYTES_MAX: usize = 32 << 20;

/// Rows per word of bits.
const WORD_ROWS: u64 = u64::BITS as u64;

/// The rows that have flows.
#[derive(Debug)]
pub(super) struct FlowRows(TrackCache<RowBits>);

/// A bit per row of each lane that has one with a flow.
#[derive(Debug, Default)]
struct RowBits(FxHashMap<LaneIdx, Box<[u64]>>);

impl FlowRows {
    #[must_use]
    pub(super) fn new(snapshot: &Snapshot) -> Self {
        Self::with_kept_max(snapshot, KEPT_BYTES_MAX)
    }

    /// Caches at most `max_bytes`.
    pub(super) fn with_kept_max(snapshot: &Snapshot, max_bytes: usize) -> Self {
        Self(TrackCache::new(snapshot, max_bytes))
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
        let mask = match self.bits(snapshot, track, &Cancel::default()).ok().flatten() {
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
        if !Self::may_be_on(snapshot, track) {
            return Ok(());
        }
        self.bits(snapshot, track, cancel).map(drop)
    }

    /// Returns the bits of a track; `None` if the bits of all tracks would be too many.
    fn bits(&self, snapshot: &Snapshot, track: TrackIdx, cancel: &Cancel) -> Result<Option<&RowBits>, Cancelled> {
        self.0.get_or_compute(track, || self.swept(snapshot, track, cancel))
    }

    /// Sweeps the points of a track; `None` if the bits would be too many.
    fn swept(&self, snapshot: &Snapshot, track: TrackIdx, cancel: &Cancel) -> Result<Option<RowBits>, Cancelled> {
        let words = snapshot.lanes_of(track).map(|lane| words_of(snapshot, LaneIdx(lane)));
        let bytes_max = words.sum::<usize>().saturating_mul(size_of::<u64>());
        // Reserved first: threads sweep several tracks at once.
        if !self.0.reserve(bytes_max) {
            return Ok(None);
        }
        let mut bits = RowBits::default();
        let swept = each_point(snapshot, track, PointRange::ALL, cancel, |_, row| bits.set(snapshot, row));
        let kept = if swept.is_ok() { bits.0.values().map(|words| size_of_val(&**words)).sum() } else { 0 };
        self.0.release(bytes_max.saturating_sub(kept));
        swept.map(|()| Some(bits))
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

/// Returns the number of words for a bit per row of a lane. Flow points are not rows.
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
