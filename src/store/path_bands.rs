//! The tracks of a store whose call paths are summed, band by band: each a run of slices that is swept together, each
//! track on a thread of its own. Knows how memory is divided, and nothing of what becomes of the sums.

use std::ops::Range;

use super::lane::LaneIdx;
use super::ledger_build::{LedgerContext, span_tracks};
use super::paths::{PathIdx, PathRow, PathSumTable, PathSums, PathTable};
use super::read::Store;
use super::sweep::{EveryRow, PathSweep};
use crate::model::TrackIdx;

/// Tracks of one task, at most.
pub(super) const TRACKS_PER_TASK: usize = 16;

/// Slices that are swept together, at most: a sweep begins with a search in each lane.
const BAND_SLICES_MAX: usize = 8;

/// Bytes of the sums of a path while they wait or are merged.
const SUMS_BYTES: usize = 2 * size_of::<(PathIdx, PathSums)>();

/// Bytes of a path while the leaf of a single track is swept and pruned: its sums, the time and the spans of it and all
/// below it, and its others.
const LEAF_PATH_BYTES: usize = PathSumTable::ROW_BYTES + size_of::<(u128, u64)>() + 2 * size_of::<PathSums>();

/// Spans of a leaf of a single track, as a multiple of those that it has at least: it ends with a slice of all tracks.
const LEAF_ROWS_MAX: u64 = 2;

/// Leaves of single tracks that are swept at once for each thread, so that no thread waits long for the slowest.
const LEAVES_PER_THREAD: usize = 4;

pub(super) type Sums = Vec<(PathIdx, PathSums)>;

/// A track of events with spans.
pub(super) struct TrackPaths {
    pub(super) track: TrackIdx,
    pub(super) lanes: Range<u32>,
    /// The first start and the last end.
    first_ns: i64,
    last_ns: i64,
    /// Spans in the bands so far.
    pub(super) rows: u64,
    /// The slice from which on it is left to sweeps.
    pub(super) swept_from: Option<usize>,
}

/// The sums of a track in a band, by paths of its own.
pub(super) struct BandPaths {
    pub(super) paths: Vec<PathRow>,
    /// Slices that have sums, in order.
    pub(super) slices: Vec<(usize, Sums)>,
    /// Whether there are more paths than the memory has room for.
    pub(super) is_too_many: bool,
}

/// The tracks of events that have spans.
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

/// Which of `tracks` get a tree of their own: those with spans for two leaves. The tree of the only track would be that
/// of all again.
pub(super) fn have_trees(store: &Store, tracks: &[TrackPaths], leaf_rows: u64) -> Vec<bool> {
    let rows = |track: &TrackPaths| track.lanes.clone().map(|lane| store.lane(LaneIdx(lane)).rows()).sum::<u64>();
    tracks.iter().map(|track| tracks.len() > 1 && rows(track) >= 2 * leaf_rows.max(1)).collect()
}

/// How the budget is divided: a quarter each for the paths of all tracks, for those of the tracks that are swept at
/// once, for the sums of a band, and for the nodes that grow.
pub(super) struct PathMemoryPlan {
    pub(super) paths_max: usize,
    pub(super) track_paths_max: usize,
    /// The paths of all tracks in a band, which has fewer spans.
    pub(super) band_paths_max: usize,
    pub(super) slice_rows: u64,
    pub(super) band_slices: usize,
    /// Slices whose paths of all tracks are summed at once.
    pub(super) slices_at_once: usize,
    /// Sums in the nodes that grow.
    pub(super) growing_max: usize,
    /// Leaves of pruned paths of single tracks that are swept at once, and the paths of each.
    pub(super) leaves_at_once: usize,
    pub(super) leaf_paths_max: usize,
}

impl PathMemoryPlan {
    /// `None` if there is no room for a slice of `rows_min` spans that have a path each.
    pub(super) fn new(context: &LedgerContext<'_>, rows_min: u64) -> Option<Self> {
        let part = context.budget_bytes / 4;
        let leaf_paths = usize::try_from(LEAF_ROWS_MAX * context.paths.pruned_leaf_rows).unwrap_or(usize::MAX);
        let leaves_max = LEAVES_PER_THREAD * rayon::current_num_threads();
        let leaves_at_once = (part / leaf_paths.saturating_mul(LEAF_PATH_BYTES)).clamp(1, leaves_max.max(1));
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
            leaves_at_once,
            leaf_paths_max: part / leaves_at_once / LEAF_PATH_BYTES,
        })
    }
}

impl TrackPaths {
    /// Adds up the slices of a band; `None` if there is nothing in them.
    pub(super) fn sweep(
        &self,
        store: &Store,
        bounds_ns: &[i64],
        band: &[usize],
        paths_max: usize,
    ) -> Option<BandPaths> {
        let (&first, &last) = (band.first()?, band.last()?);
        let is_last = last + 2 == bounds_ns.len();
        let is_over = self.last_ns < bounds_ns[first];
        if self.swept_from.is_some() || is_over || (!is_last && self.first_ns >= bounds_ns[last + 1]) {
            return None;
        }
        let mut sums = PathSumTable::new(paths_max);
        let mut sweep = PathSweep::new(store, self.lanes.clone(), bounds_ns[first], EveryRow, &mut sums);
        let mut slices = Vec::new();
        for &slice in band {
            // The last slice has what starts at the very end.
            sweep.sum_to(if slice + 2 == bounds_ns.len() { i64::MAX } else { bounds_ns[slice + 1] }, &mut sums);
            if sums.folded() > 0 {
                return Some(BandPaths { paths: Vec::new(), slices: Vec::new(), is_too_many: true });
            }
            let sums = sums.drain();
            if !sums.is_empty() {
                slices.push((slice, sums));
            }
        }
        Some(BandPaths { paths: sums.into_paths(), slices, is_too_many: false })
    }
}

/// How many spans start in the time of some sums.
pub(super) fn starts(sums: &Sums) -> u64 {
    sums.iter().map(|(_, sums)| sums.starts).sum()
}
