//! Builds a path ledger of pruned histograms, for stores whose whole histograms do not fit. Pruned nodes include their
//! paths: a table of all paths could have as many rows as there are spans.
//!
//! For the tree of all tracks, each track is swept in bands, with a path table per band. Tracks with many spans have
//! trees of [`super::track_path_trees`]. The store is the same for any number of threads.
//!
//! Where children of a span overlap each other, widths do not add up: from there on, the track has no nodes and queries
//! sweep it.

use std::io;

use rayon::prelude::*;

use super::append::AppendFile;
use super::bounded_tree::BoundedTree;
use super::ledger::LedgerIndex;
use super::ledger_build::{LedgerContext, span_rows};
use super::ledger_progress::{LedgerPart, LedgerProgress};
use super::path_bands::{BandPaths, PathMemoryPlan, TRACKS_PER_TASK, TrackPaths, have_trees, starts, tracks_of};
use super::path_ledger::{PathLedgerIndex, PathShape};
use super::path_tables::PathTables;
use super::paths::{PathIdx, PathSumTable, PathSums};
use super::pruned_paths::PrunedPaths;
use super::read::Store;
use super::track_path_trees::{self, TrackLeaves};

/// Builds the ledger of pruned histograms over the slices between `bounds_ns`. Returns `None` if the sums of all tracks
/// do not fit, if most spans are on tracks left to sweeps, or if cancelled.
///
/// # Errors
/// Returns the I/O error of a failed write.
pub(super) fn build(
    store: &Store,
    context: &LedgerContext<'_>,
    plan: &PathMemoryPlan,
    bounds_ns: &[i64],
    out: &mut AppendFile,
) -> io::Result<Option<PathLedgerIndex>> {
    let build = PrunedPathBuild { store, context, plan, bounds_ns };
    let (shape, slices) = (&context.paths, build.slices());
    let mut tracks = build.tracks();
    let Some(whole) = build.sum_bands(&mut tracks, out)? else { return Ok(None) };
    // A ledger saves little if most spans are left to sweeps.
    let summed: u64 = tracks.iter().map(|track| track.paths.rows).sum();
    if summed < span_rows(store).0 / 8 {
        return Ok(None);
    }
    let mut trees: Vec<_> = whole.finish(slices, out)?.into_iter().collect();
    let swept_from = tracks.iter().filter_map(|PrunedTrack { paths, .. }| {
        let slice = paths.swept_from.filter(|&slice| slice < slices)?;
        // Slices fit 32 bits, because leaves are numbered by them.
        Some((paths.track, slice as u32))
    });
    let swept_from = swept_from.collect();
    let leaves: Vec<TrackLeaves> = tracks.into_iter().filter_map(|track| track.finish(slices)).collect();
    let Some(track_trees) = track_path_trees::build(store, context, plan, (&leaves, bounds_ns), out)? else {
        return Ok(None);
    };
    trees.extend(track_trees);
    if trees.is_empty() {
        return Ok(None);
    }
    let trees = LedgerIndex { bounds_ns: bounds_ns.to_vec(), fan_out: shape.fan_out, trees, sketches: None };
    Ok(Some(PathLedgerIndex { paths: Vec::new(), swept_from, trees }))
}

/// The input of a ledger of pruned histograms.
struct PrunedPathBuild<'a> {
    store: &'a Store,
    context: &'a LedgerContext<'a>,
    plan: &'a PathMemoryPlan,
    bounds_ns: &'a [i64],
}

/// A track, and the leaves of its own tree, if it gets one.
struct PrunedTrack {
    paths: TrackPaths,
    leaves: Option<TrackLeaves>,
}

impl PrunedPathBuild<'_> {
    fn slices(&self) -> usize {
        self.bounds_ns.len() - 1
    }

    fn tracks(&self) -> Vec<PrunedTrack> {
        let tracks = tracks_of(self.store);
        let have_trees = have_trees(self.store, &tracks, self.context.paths.pruned_leaf_rows);
        let tracks = tracks.into_iter().zip(have_trees).map(|(paths, has_tree)| {
            let leaves = has_tree.then(|| TrackLeaves::new(paths.track, paths.lanes.clone()));
            PrunedTrack { paths, leaves }
        });
        tracks.collect()
    }

    /// Sums the paths of all tracks, and counts the leaves of single tracks. Returns `None` if the sums do not fit, or
    /// if cancelled.
    fn sum_bands(
        &self,
        tracks: &mut [PrunedTrack],
        out: &mut AppendFile,
    ) -> io::Result<Option<BoundedTree<PrunedPaths>>> {
        let Self { context, plan, .. } = *self;
        let shape = &context.paths;
        let mut progress = LedgerProgress::begin(context.progress, LedgerPart::Paths, self.slices());
        let mut whole: BoundedTree<PrunedPaths> = BoundedTree::new(None, shape.fan_out, 1, shape.kilorow_bytes);
        // They are dropped at the end, because leaves of single tracks use the memory of the bands.
        let (band_tables, slice_tables) = (PathTables::new(plan.band_paths_max), PathTables::new(usize::MAX));
        let numbers: Vec<usize> = (0..self.slices()).collect();
        let mut swept_band: Option<SweptBand<'_>> = None;
        // The paths of a band are merged, mostly on one thread, while the next band is swept.
        for band in numbers.chunks(plan.band_slices).map(Some).chain([None]) {
            if context.cancel.is_cancelled() {
                return Ok(None);
            }
            let before = swept_band.take();
            let (swept, sums) = rayon::join(
                || band.map(|band| self.sweep_tracks(tracks, band, &band_tables)),
                || before.as_ref().map(|band| band.sum_slices(plan.slices_at_once, &slice_tables, shape)),
            );
            for sums in sums.into_iter().flatten() {
                let Some(SliceSums { slice, paths, rows }) = sums else { return Ok(None) };
                whole.add_slice(&paths, rows, slice).map_err(io::Error::other)?;
            }
            whole.nodes.write(out)?;
            if whole.growing_items() > plan.growing_max {
                return Ok(None);
            }
            progress.advance(before.map_or(0, |band| band.slices.len()));
            let (Some(band), Some(swept)) = (band, swept) else { break };
            let swept = tracks.iter_mut().zip(swept);
            let bands = swept.filter_map(|(track, swept)| track.accept(swept, band, shape.pruned_leaf_rows));
            swept_band = Some(SweptBand { slices: band, tracks: bands.collect() });
        }
        Ok(Some(whole))
    }

    fn sweep_tracks(&self, tracks: &[PrunedTrack], band: &[usize], tables: &PathTables) -> Vec<SweptTrack> {
        let paths_of = |track: &PrunedTrack| track.paths.sweep(self.store, self.bounds_ns, band, tables, usize::MAX);
        let sweep = |track: &PrunedTrack| match paths_of(track) {
            None => SweptTrack::Empty,
            Some(paths) => checked(paths).map_or(SweptTrack::Rejected, SweptTrack::Paths),
        };
        tracks.par_iter().with_max_len(TRACKS_PER_TASK).map(sweep).collect()
    }
}

impl PrunedTrack {
    /// Counts a swept band and returns its paths. A rejected band ends the nodes of the track.
    fn accept(&mut self, swept: SweptTrack, band: &[usize], leaf_rows: u64) -> Option<BandPaths> {
        match swept {
            SweptTrack::Paths(swept) => {
                self.count_starts(&swept, leaf_rows);
                Some(swept)
            }
            SweptTrack::Rejected => {
                self.paths.swept_from = band.first().copied();
                None
            }
            SweptTrack::Empty => None,
        }
    }

    /// Counts the spans that start in a band, and adds its slices to the leaves of the track's own tree.
    fn count_starts(&mut self, band: &BandPaths, leaf_rows: u64) {
        for (slice, sums) in &band.slices {
            let rows = starts(sums);
            self.paths.rows += rows;
            if let Some(leaves) = &mut self.leaves {
                leaves.add_slice(*slice, rows, leaf_rows);
            }
        }
    }

    /// Ends the leaves at the last slice with nodes.
    fn finish(mut self, slices: usize) -> Option<TrackLeaves> {
        if let Some(leaves) = &mut self.leaves {
            leaves.finish(self.paths.swept_from.unwrap_or(slices));
        }
        self.leaves
    }
}

/// Returns the paths of a track in a band; `None` if there are too many, or if children of a span overlap each other.
fn checked(band: BandPaths) -> Option<BandPaths> {
    if band.is_too_many {
        return None;
    }
    let mut spare_ns = vec![0_i128; band.paths.len()];
    band.slices.iter().all(|(_, sums)| adds_up(&band, sums, &mut spare_ns)).then_some(band)
}

/// Returns whether every path has at least the time of its direct children in a slice. `spare_ns` has a zero per path.
fn adds_up(band: &BandPaths, sums: &[(PathIdx, PathSums)], spare_ns: &mut [i128]) -> bool {
    for &(path, PathSums { total_ns, .. }) in sums {
        // The time of a slice has 64 bits, and a track at most 65,536 lanes.
        let total_ns = total_ns.cast_signed();
        spare_ns[path.index()] += total_ns;
        spare_ns[band.paths[path.index()].parent.index()] -= total_ns;
    }
    let adds_up = sums.iter().all(|(path, _)| spare_ns[path.index()] >= 0);
    for (path, _) in sums {
        spare_ns[path.index()] = 0;
        spare_ns[band.paths[path.index()].parent.index()] = 0;
    }
    adds_up
}

/// The paths of all tracks in a band, not merged yet.
struct SweptBand<'a> {
    slices: &'a [usize],
    tracks: Vec<BandPaths>,
}

/// The pruned paths of all tracks in a slice, and the spans that start in it.
struct SliceSums {
    slice: usize,
    paths: PrunedPaths,
    rows: u64,
}

/// The paths of one track in a band.
enum SweptTrack {
    /// No span is in the band.
    Empty,
    Paths(BandPaths),
    /// There are too many paths, or sums that do not add up.
    Rejected,
}

impl SweptBand<'_> {
    /// Sums and prunes each slice, at most `at_once` of them at a time. Slices that do not add up are `None`.
    fn sum_slices(&self, at_once: usize, tables: &PathTables, shape: &PathShape) -> Vec<Option<SliceSums>> {
        let sum = |&slice: &usize| {
            let (paths, rows) = tables.with(|all| sum_slice(&self.tracks, slice, all, shape))?;
            Some(SliceSums { slice, paths, rows })
        };
        self.slices.chunks(at_once).flat_map(|slices| slices.par_iter().map(sum).collect::<Vec<_>>()).collect()
    }
}

/// Sums and prunes the paths of all tracks in a slice, and counts the spans that start in it. `all` is an empty table.
/// Returns `None` if they do not add up.
fn sum_slice(
    bands: &[BandPaths],
    slice: usize,
    all: &mut PathSumTable,
    shape: &PathShape,
) -> Option<(PrunedPaths, u64)> {
    let mut rows = 0;
    let (mut shared, mut way): (Vec<PathIdx>, Vec<PathIdx>) = (Vec::new(), Vec::new());
    for band in bands {
        let Ok(position) = band.slices.binary_search_by_key(&slice, |&(slice, _)| slice) else { continue };
        shared.clear();
        // The root marks paths that are not mapped yet.
        shared.resize(band.paths.len(), PathIdx::ROOT);
        for &(path, sums) in &band.slices[position].1 {
            let mut at = path;
            while at != PathIdx::ROOT && shared[at.index()] == PathIdx::ROOT {
                way.push(at);
                at = band.paths[at.index()].parent;
            }
            while let Some(next) = way.pop() {
                let row = band.paths[next.index()];
                shared[next.index()] = all.path(shared[row.parent.index()], row.name, PathIdx::ROOT);
            }
            all.add(shared[path.index()], sums);
            rows += sums.starts;
        }
    }
    let paths = PrunedPaths::new(all.paths(), all.sums(), shape.pruned.for_leaf())?;
    Some((paths, rows))
}
