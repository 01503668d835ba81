//! Evaluates the filter term `has:flow`: which rows of a block have a point of a flow, which starts, passes or ends
//! there.
//!
//! The points of a track are swept on first use, and a bit per row is cached, so each row then costs one bit test. If
//! the bits of all tracks exceed [`KEPT_BYTES_MAX`], only the points around a block are swept, for each block.
//!
//! A flow counts even if its other end is not in the trace: finding that needs all points of the trace.
//!
//! The naive way searches, for each row, the points of its track around it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::FxHashMap;

use super::cursor::LaneCursor;
use super::flow_points::{flow_row, lanes_of_kind, span_of};
use super::snapshot::Snapshot;
use super::span_sweep::SpanSweep;
use crate::model::TrackIdx;
use crate::store::{LaneIdx, LaneKind, RowIdx};

/// Limit for the cached bits of one term: 32 MiB, for 268 million rows of tracks with flows.
const KEPT_BYTES_MAX: usize = 32 << 20;

/// Rows per word of bits.
const WORD_ROWS: u64 = u64::BITS as u64;

/// The rows that have flows.
#[derive(Debug)]
pub(super) struct FlowRows {
    /// By track, computed on first use; `None` if the bits exceed the limit.
    tracks: Box<[OnceLock<Option<Box<RowBits>>>]>,
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
        Self { tracks, kept_bytes: AtomicUsize::new(0), kept_max }
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

    /// Returns the bits of a track, unless all of them would be too many.
    fn track_bits(&self, snapshot: &Snapshot, track: TrackIdx) -> Option<&RowBits> {
        // The closure does not wait for other threads, so others may wait for it.
        let bits = self.tracks.get(track.index())?.get_or_init(|| {
            let words = snapshot.lanes_of(track).map(|lane| words_of(snapshot, LaneIdx(lane)));
            let bytes = words.sum::<usize>().saturating_mul(size_of::<u64>());
            if bytes > self.kept_max.saturating_sub(self.kept_bytes.load(Ordering::Relaxed)) {
                return None;
            }
            let mut bits = RowBits::default();
            each_row(snapshot, track, (i64::MIN, i64::MAX), |row| bits.set(snapshot, row));
            let kept = bits.0.values().map(|words| size_of_val(&**words)).sum();
            self.kept_bytes.fetch_add(kept, Ordering::Relaxed);
            Some(Box::new(bits))
        });
        bits.as_deref()
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
    let mut cursor = LaneCursor::new(snapshot.store(), lane);
    // A point that binds to the next span lies between the previous one and the first; a departure of the last one lies
    // between it and the next.
    let before = first_row.checked_sub(1).and_then(|row| cursor.span(row));
    let last = cursor.span((first_row + rows).saturating_sub(1));
    let after = cursor.span(first_row + rows);
    let to_ns = after.zip(last).map_or(i64::MAX, |(after, last)| after.start_ns.max(last.end_ns()));
    let mut mask = 0;
    let from_ns = before.map_or(i64::MIN, |before| before.start_ns);
    each_row(snapshot, snapshot.lane(lane).track, (from_ns, to_ns), |row| {
        if row.lane == lane && (first_row..first_row + rows).contains(&row.row) {
            mask |= 1 << (row.row - first_row);
        }
    });
    mask
}

/// Passes the row of each point on a track from `from_ns` to `to_ns`, both included.
fn each_row(snapshot: &Snapshot, track: TrackIdx, (from_ns, to_ns): (i64, i64), mut take: impl FnMut(RowIdx)) {
    let mut sweep = SpanSweep::new(snapshot, track);
    for lane in lanes_of_kind(snapshot, track, LaneKind::Flows) {
        let mut cursor = LaneCursor::new(snapshot.store(), lane);
        let from = cursor.first_from(from_ns).row;
        let to = to_ns.checked_add(1).map_or(cursor.lane().rows(), |after_ns| cursor.first_from(after_ns).row);
        for number in from..to {
            let point = flow_row(&mut cursor, number, track);
            if let Some(row) = point.and_then(|point| span_of(snapshot, &mut sweep, &point)) {
                take(row);
            }
        }
    }
}

#[cfg(test)]
mod tests;
