//! Sums call paths of a store's tracks band by band. A band is a run of slices swept together, each track on its own
//! thread. Divides the memory budget; callers decide what to do with the sums.

use std::ops::Range;

use super::lane::LaneIdx;
use super::ledger_build::{LedgerContext, span_tracks};
use super::path_tables::PathTables;
use super::paths::{PathIdx, PathRow, PathSumTable, PathSums, PathTable};
use super::read::Store;
use super::sweep::{EveryRow, PathSweep};
use crate::model::TrackIdx;

/// Maximum number of tracks per task.
pub(super) const TRACKS_PER_TASK: usize = 16;

/// Maximum number of slices per band. Each sweep of a band starts with a search in each lane.
const BAND_SLICES_MAX: usize = 8;

/// Bytes of a path's sums while queued or merged.
const SUMS_BYTES: usize = 2 * size_of::<(PathIdx, PathSums)>();

/// Bytes of a path while the leaf of a single track is swept and pruned. They hold its sums, the time and spans of its
/// subtree, and its others.
const LEAF_PATH_BYTES: usize = PathSumTable::ROW_BYTES + size_of::<(u128, u64)>() + 2 * size_of::<PathSums>();

/// Leaves of single tracks swept at once per thread, so that no thread waits long for the slowest.
const LEAVES_PER_THREAD: usize = 4;

pub(super) type Sums = Vec<(PathIdx, PathSums)>;

#[cfg(test)]
thread_local! {
    /// Number of rows that the bands of this thread have swept.
    pub(crate) static SWEPT_ROWS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Reports the rows of a band to tests.
fn count_rows(sweep: &PathSweep<'_, EveryRow>) {
    #[cfg(test)]
    SWEPT_ROWS.set(SWEPT_ROWS.get() + sweep.rows());
    _ = sweep;
}

/// A track of events with spans.
pub(super) struct TrackPaths {
    pub(super) track: TrackIdx,
    pub(super) lanes: Range<u32>,
    /// First start and last end.
    first_ns: i64,
    last_ns: i64,
    /// Spans in the bands swept.
    pub(super) rows: u64,
    /// Slice from which the track has no nodes and is swept by queries.
    pub(super) swept_from: Option<usize>,
}

/// The sums of a track in a band, by the track's own path indices.
pub(super) struct BandPaths {
    pub(super) paths: Vec<PathRow>,
    /// Slices with sums, in order.
    pub(super) slices: Vec<(usize, Sums)>,
    /// Whether there are more paths than wanted, or than fit in memory.
    pub(super) is_too_many: bool,
}

/// Returns the tracks of events with spans.
pub(super) fn tracks_of(store: &Store) -> Vec<TrackPaths> {
    span_tracks(store)
        .map(|(track, lanes)| {
            let infos = lanes.clone().map(|lane| store.lane(LaneIdx(lane)).info());
            let (first_ns, last_ns) = infos.fold((i64::MAX, i64::MIN), |(first_ns, last_ns), info| {
                (first_ns.min(info.start_ns), last_ns.max(info.end_ns))
            });
            TrackPaths { track, lanes, first_ns, last_ns, rows: 0, swept_from: None }
        })
        .collect()
}

/// Returns which of `tracks` get their own tree: each track with spans for two leaves. A single track gets none, since
/// its tree would equal the tree of all tracks.
pub(super) fn have_trees(store: &Store, tracks: &[TrackPaths], leaf_rows: u64) -> Vec<bool> {
    tracks.iter().map(|track| tracks.len() > 1 && track.all_rows(store) >= 2 * leaf_rows.max(1)).collect()
}

/// Division of the budget into quarters.
///
/// The first quarter is for the paths of all tracks, the second for the paths of the tracks that are swept at once. The
/// third is for the sums of a band, or of two bands whose sums no longer grow. The fourth is for the growing nodes.
/// Leaves of single tracks are swept after the bands, so they use the first three quarters.
pub(super) struct PathMemoryPlan {
    pub(super) paths_max: usize,
    pub(super) track_paths_max: usize,
    /// Maximum number of paths of all tracks in a band, even if the band has more spans.
    pub(super) band_paths_max: usize,
    pub(super) slice_rows: u64,
    pub(super) band_slices: usize,
    /// Slices whose paths of all tracks are summed at once.
    pub(super) slices_at_once: usize,
    /// Maximum number of sums in growing nodes.
    pub(super) growing_max: usize,
    /// Maximum number of leaves of single tracks swept at once, and of the paths of all of them.
    pub(super) leaves_at_once: usize,
    pub(super) leaf_paths_max: usize,
}

impl PathMemoryPlan {
    /// Returns `None` if a slice of `rows_min` spans with a path each does not fit.
    pub(super) fn new(context: &LedgerContext<'_>, rows_min: u64) -> Option<Self> {
        let part = context.budget_bytes / 4;
        let band_rows = (part / (PathTable::ROW_BYTES + SUMS_BYTES)) as u64;
        let slice_rows = context.paths.slice_rows.clamp(1, band_rows.max(1)).max(rows_min);
        let band_slices = usize::try_from(band_rows / slice_rows).ok()?.min(BAND_SLICES_MAX);
        (band_slices > 0).then(|| Self {
            paths_max: (part / (PathTable::ROW_BYTES + size_of::<PathIdx>())).min(context.paths.paths_max),
            track_paths_max: part / rayon::current_num_threads().max(1) / PathSumTable::ROW_BYTES,
            band_paths_max: part / PathSumTable::ROW_BYTES,
            slice_rows,
            band_slices,
            slices_at_once: (band_rows / slice_rows).max(1) as usize,
            growing_max: part / SUMS_BYTES,
            leaves_at_once: LEAVES_PER_THREAD * rayon::current_num_threads(),
            leaf_paths_max: 3 * part / LEAF_PATH_BYTES,
        })
    }
}

impl TrackPaths {
    pub(super) fn all_rows(&self, store: &Store) -> u64 {
        self.lanes.clone().map(|lane| store.lane(LaneIdx(lane)).rows()).sum()
    }

    /// Adds up the slices of a band; `None` if they are empty. Gives up at more than `paths_max` paths with the root.
    pub(super) fn sweep(
        &self,
        store: &Store,
        bounds_ns: &[i64],
        band: &[usize],
        tables: &PathTables,
        paths_max: usize,
    ) -> Option<BandPaths> {
        let (&first, &last) = (band.first()?, band.last()?);
        let is_last = last + 2 == bounds_ns.len();
        let is_over = self.last_ns < bounds_ns[first];
        if self.swept_from.is_some() || is_over || (!is_last && self.first_ns >= bounds_ns[last + 1]) {
            return None;
        }
        Some(tables.with(|sums| {
            let mut sweep = PathSweep::new(store, self.lanes.clone(), bounds_ns[first], EveryRow, sums);
            let mut slices = Vec::new();
            for &slice in band {
                // The last slice includes rows that start exactly at the end.
                let to_ns = if slice + 2 == bounds_ns.len() { i64::MAX } else { bounds_ns[slice + 1] };
                sweep.sum_few_to(to_ns, paths_max, sums);
                if sums.folded() > 0 || sums.paths().len() > paths_max {
                    count_rows(&sweep);
                    return BandPaths { paths: Vec::new(), slices: Vec::new(), is_too_many: true };
                }
                let sums = sums.drain();
                if !sums.is_empty() {
                    slices.push((slice, sums));
                }
            }
            count_rows(&sweep);
            BandPaths { paths: sums.paths().to_vec(), slices, is_too_many: false }
        }))
    }
}

/// Counts the spans that start in the range of the sums.
pub(super) fn starts(sums: &Sums) -> u64 {
    sums.iter().map(|(_, sums)| sums.starts).sum()
}
