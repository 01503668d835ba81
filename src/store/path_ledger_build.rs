//! Builds the ledger of paths of a store whose rows are all written: sweeps bands of slices, each track on a thread of
//! its own, and appends the nodes to the file.
//!
//! Paths are numbered in the order of bands, tracks and starts, so that a store is the same for any number of threads.
//! Memory is bounded by a budget. A track whose paths are too many is left to sweeps from there on. Where the sums of
//! all tracks do not fit, the store gets no ledger of paths; where those of single tracks do not, their trees go.

use std::io;
use std::ops::Range;

use rayon::prelude::*;

use super::append::AppendFile;
use super::bounded_tree::{BoundedTree, fit};
use super::lane::LaneIdx;
use super::ledger::LedgerIndex;
use super::ledger_build::{LedgerContext, span_rows, span_tracks};
use super::path_ledger::{PathLedgerIndex, PathShape};
use super::paths::{PathIdx, PathRow, PathSumTable, PathSums, PathTable};
use super::read::Store;
use super::slice_bounds::slice_bounds;
use super::sums::Additive as _;
use super::sweep::{EveryRow, PathSweep};
use crate::base::progress::Stage;
use crate::model::TrackIdx;

/// Tracks of one task, at most.
const TRACKS_PER_TASK: usize = 16;

/// Slices that are swept together, at most: a sweep begins with a search in each lane.
const BAND_SLICES_MAX: usize = 8;

/// Bytes of the sums of a path while they wait or are merged.
const SUMS_BYTES: usize = 2 * size_of::<(PathIdx, PathSums)>();

type Sums = Vec<(PathIdx, PathSums)>;
type PathTree = BoundedTree<Sums>;

/// A track of events with spans.
struct TrackPaths {
    track: TrackIdx,
    lanes: Range<u32>,
    /// The first start and the last end.
    first_ns: i64,
    last_ns: i64,
    tree: Option<Box<PathTree>>,
    /// Its spans, and the paths that no track before had, in the bands so far.
    rows: u64,
    new_paths: u64,
    /// The slice from which on it is left to sweeps.
    swept_from: Option<usize>,
}

/// The sums of a track in a band, by paths of its own.
struct BandPaths {
    paths: Vec<PathRow>,
    /// Slices that have sums, in order.
    slices: Vec<(usize, Sums)>,
    /// The slice in which the paths became too many.
    too_many_in: Option<usize>,
}

/// Builds the ledger of paths of all spans of `store`, whose file `out` appends to. `None` for few spans, for paths
/// that hardly repeat on most tracks, for more of them than the budget has room for, and if it was cancelled.
///
/// # Errors
/// I/O errors of a write, such as a full disk.
pub(super) fn build(
    store: &Store,
    context: &LedgerContext<'_>,
    out: &mut AppendFile,
) -> io::Result<Option<PathLedgerIndex>> {
    let shape = &context.paths;
    let (rows, lanes) = span_rows(store);
    // As in the ledger by name: a slice begins with the spans that are open.
    let open_rows = 4 * lanes;
    if rows < shape.rows_min.max(open_rows).max(1) {
        return Ok(None);
    }
    let mut tracks = tracks_of(store, shape);
    let lanes = || tracks.iter().flat_map(|track| track.lanes.clone()).map(|lane| store.lane(LaneIdx(lane)));
    let Some(plan) = PathMemoryPlan::new(context, open_rows) else { return Ok(None) };
    let bounds_ns = slice_bounds(lanes, plan.slice_rows);
    let slices = bounds_ns.len() - 1;
    context.progress.begin(Stage::Publishing, slices as u64);

    let mut paths = PathTable::new(plan.paths_max);
    let mut whole = PathTree::new(None, shape.fan_out, 1, shape.kilorow_bytes);
    let numbers: Vec<usize> = (0..slices).collect();
    for band in numbers.chunks(plan.band_slices) {
        if context.cancel.is_cancelled() {
            return Ok(None);
        }
        if tracks.iter().all(|track| track.swept_from.is_some()) {
            break;
        }
        let swept: Vec<Option<BandPaths>> = tracks
            .par_iter()
            .with_max_len(TRACKS_PER_TASK)
            .map(|track| track.sweep(store, &bounds_ns, band, plan.track_paths_max))
            .collect();
        let mut sums: Vec<Sums> = band.iter().map(|_| Sums::new()).collect();
        for (track, swept) in tracks.iter_mut().zip(swept) {
            if let Some(swept) = swept {
                track.add_band(swept, band, &mut paths, &mut sums, shape)?;
            }
        }
        for (&slice, mut sums) in band.iter().zip(sums) {
            merge_equal(&mut sums);
            whole.add_slice(&sums, starts(&sums), slice).map_err(io::Error::other)?;
        }
        whole.nodes.write(out)?;
        for tree in tracks.iter_mut().filter_map(|track| track.tree.as_deref_mut()) {
            tree.nodes.write(out)?;
        }
        if !fit(&whole, tracks.iter_mut().map(|track| &mut track.tree), plan.growing_max) {
            return Ok(None);
        }
        context.progress.advance(band.len() as u64);
    }
    // Little would be gained where most tracks are swept.
    let summed: u64 = tracks.iter().map(|track| track.rows).sum();
    if summed < rows / 8 {
        return Ok(None);
    }
    let whole = whole.finish(slices, out)?;
    let (mut trees, mut swept_from): (Vec<_>, Vec<_>) = (whole.into_iter().collect(), Vec::new());
    for track in tracks {
        let end = track.swept_from.unwrap_or(slices);
        if end < slices {
            // There are no more slices than 32 bits count: leaves are numbered by them.
            swept_from.push((track.track, end as u32));
        }
        if let Some(tree) = track.tree {
            trees.extend(tree.finish(end, out)?);
        }
    }
    if trees.is_empty() {
        return Ok(None);
    }
    let trees = LedgerIndex { bounds_ns, fan_out: shape.fan_out, trees, sketches: None };
    Ok(Some(PathLedgerIndex { paths: paths.into_rows(), swept_from, trees }))
}

/// The tracks of events that have spans, with trees for those of many; of a single one it would be
/// the tree of all again.
fn tracks_of(store: &Store, shape: &PathShape) -> Vec<TrackPaths> {
    let mut tracks: Vec<TrackPaths> = span_tracks(store)
        .map(|(track, lanes)| {
            let infos = lanes.clone().map(|lane| store.lane(LaneIdx(lane)).info());
            let (first_ns, last_ns) = infos.fold((i64::MAX, i64::MIN), |(first_ns, last_ns), info| {
                (first_ns.min(info.start_ns), last_ns.max(info.end_ns))
            });
            TrackPaths { track, lanes, first_ns, last_ns, tree: None, rows: 0, new_paths: 0, swept_from: None }
        })
        .collect();
    if tracks.len() > 1 {
        for track in &mut tracks {
            let rows: u64 = track.lanes.clone().map(|lane| store.lane(LaneIdx(lane)).rows()).sum();
            if rows >= 2 * shape.leaf_rows.max(1) {
                let tree = PathTree::new(Some(track.track), shape.fan_out, shape.leaf_rows, shape.kilorow_bytes);
                track.tree = Some(Box::new(tree));
            }
        }
    }
    tracks
}

/// How the budget is divided: a quarter each for the paths of all tracks, for those of the tracks that are swept at
/// once, for the sums of a band, and for the nodes that grow.
struct PathMemoryPlan {
    paths_max: usize,
    track_paths_max: usize,
    slice_rows: u64,
    band_slices: usize,
    /// Sums in the nodes that grow.
    growing_max: usize,
}

impl PathMemoryPlan {
    /// `None` if there is no room for a slice of `rows_min` spans that have a path each.
    fn new(context: &LedgerContext<'_>, rows_min: u64) -> Option<Self> {
        let part = context.budget_bytes / 4;
        let band_rows = (part / (PathTable::ROW_BYTES + SUMS_BYTES)) as u64;
        let slice_rows = context.paths.slice_rows.clamp(1, band_rows.max(1)).max(rows_min);
        let band_slices = usize::try_from(band_rows / slice_rows).ok()?.min(BAND_SLICES_MAX);
        (band_slices > 0).then(|| Self {
            paths_max: (part / (PathTable::ROW_BYTES + size_of::<PathIdx>())).min(context.paths.paths_max),
            track_paths_max: part / rayon::current_num_threads().max(1) / PathSumTable::ROW_BYTES,
            slice_rows,
            band_slices,
            growing_max: part / SUMS_BYTES,
        })
    }
}

impl TrackPaths {
    /// Adds up the slices of a band; `None` if there is nothing in them.
    fn sweep(&self, store: &Store, bounds_ns: &[i64], band: &[usize], paths_max: usize) -> Option<BandPaths> {
        let (&first, &last) = (band.first()?, band.last()?);
        let is_last = last + 2 == bounds_ns.len();
        let is_over = self.last_ns < bounds_ns[first];
        if self.swept_from.is_some() || is_over || (!is_last && self.first_ns >= bounds_ns[last + 1]) {
            return None;
        }
        let mut sums = PathSumTable::new(paths_max);
        let mut sweep = PathSweep::new(store, self.lanes.clone(), bounds_ns[first], EveryRow, &mut sums);
        let (mut slices, mut too_many_in) = (Vec::new(), None);
        for &slice in band {
            // The last slice has what starts at the very end.
            sweep.sum_to(if slice + 2 == bounds_ns.len() { i64::MAX } else { bounds_ns[slice + 1] }, &mut sums);
            if sums.folded() > 0 {
                too_many_in = Some(slice);
                break;
            }
            let sums = sums.drain();
            if !sums.is_empty() {
                slices.push((slice, sums));
            }
        }
        Some(BandPaths { paths: sums.paths().to_vec(), slices, too_many_in })
    }

    /// Adds the slices of a band to its tree and to the sums of all tracks, with the paths of all tracks.
    fn add_band(
        &mut self,
        band: BandPaths,
        slices: &[usize],
        paths: &mut PathTable,
        sums: &mut [Sums],
        shape: &PathShape,
    ) -> io::Result<()> {
        let before = paths.rows().len();
        let mut shared = vec![PathIdx::ROOT; band.paths.len()];
        for (own, row) in band.paths.iter().enumerate().skip(1) {
            let Some(path) = paths.path(shared[row.parent.index()], row.name) else {
                self.swept_from = slices.first().copied();
                return Ok(());
            };
            shared[own] = path;
        }
        self.new_paths += (paths.rows().len() - before) as u64;
        for (slice, mut own) in band.slices {
            for (path, _) in &mut own {
                *path = shared[path.index()];
            }
            own.sort_unstable_by_key(|&(path, _)| path);
            let rows = starts(&own);
            self.rows += rows;
            if let Some(tree) = &mut self.tree {
                tree.add_slice(&own, rows, slice).map_err(io::Error::other)?;
            }
            sums[slice - slices[0]].extend(own);
        }
        let hardly_repeat = self.new_paths > shape.track_paths + self.rows / shape.rows_per_path.max(1);
        self.swept_from = band.too_many_in.or_else(|| hardly_repeat.then(|| slices[slices.len() - 1] + 1));
        Ok(())
    }
}

fn starts(sums: &Sums) -> u64 {
    sums.iter().map(|(_, sums)| sums.starts).sum()
}

/// Sorts sums by path, and adds up those of one.
fn merge_equal(sums: &mut Sums) {
    sums.sort_unstable_by_key(|&(path, _)| path);
    sums.dedup_by(|next, last| {
        let is_same = next.0 == last.0;
        if is_same {
            last.1.add(&next.1);
        }
        is_same
    });
}
