//! Builds the path ledger of a completely written store from the whole histogram of each slice, and appends its nodes
//! to the file.
//!
//! Paths are numbered in the order of bands, tracks and starts, so a store is the same for any number of threads.
//! Memory is bounded by a budget. Gives up if paths hardly repeat on some track, or do not fit. If only the sums of
//! single tracks do not fit, their trees are dropped.

use std::io;
use std::ops::Range;

use rayon::prelude::*;

use super::append::AppendFile;
use super::bounded_tree::{BoundedTree, fit};
use super::ledger::LedgerIndex;
use super::ledger_build::LedgerContext;
use super::ledger_progress::{LedgerPart, LedgerProgress};
use super::path_bands::{BandPaths, PathMemoryPlan, Sums, TRACKS_PER_TASK, TrackPaths, have_trees, starts, tracks_of};
use super::path_ledger::{PathLedgerIndex, PathShape};
use super::path_tables::PathTables;
use super::paths::{PathIdx, PathTable};
use super::read::Store;
use super::sums::Additive as _;

/// The outcome of building whole histograms.
pub(super) enum WholePaths {
    Built(PathLedgerIndex),
    /// There are too many paths.
    TooMany,
    /// Cancelled, or too few spans.
    None,
}

/// A track, and the tree of its paths.
struct WholeTrack {
    paths: TrackPaths,
    tree: Option<Box<BoundedTree<Sums>>>,
    /// Paths that no earlier track had, in all bands.
    new_paths: u64,
    /// More paths than these in the first band, with the root, are too many whatever the earlier tracks have.
    first_paths_max: usize,
}

/// Builds the ledger of whole histograms over the slices between `bounds_ns`.
///
/// # Errors
/// Returns the I/O error of a failed write.
pub(super) fn build(
    store: &Store,
    context: &LedgerContext<'_>,
    plan: &PathMemoryPlan,
    bounds_ns: &[i64],
    out: &mut AppendFile,
) -> io::Result<WholePaths> {
    let shape = &context.paths;
    let mut tracks = whole_tracks(store, shape);
    let slices = bounds_ns.len() - 1;
    let mut progress = LedgerProgress::begin(context.progress, LedgerPart::Paths, slices);
    let mut paths = PathTable::new(plan.paths_max);
    let tables = PathTables::new(plan.track_paths_max);
    let mut whole: BoundedTree<Sums> = BoundedTree::new(None, shape.fan_out, 1, shape.kilorow_bytes);
    let numbers: Vec<usize> = (0..slices).collect();
    for band in numbers.chunks(plan.band_slices) {
        if context.cancel.is_cancelled() {
            return Ok(WholePaths::None);
        }
        let mut sums: Vec<Sums> = band.iter().map(|_| Sums::new()).collect();
        let is_first = band[0] == 0;
        let sweep = |track: &WholeTrack| {
            let paths_max = if is_first { track.first_paths_max } else { usize::MAX };
            track.paths.sweep(store, bounds_ns, band, &tables, paths_max)
        };
        for group in track_groups(tracks.len(), is_first) {
            let group = &mut tracks[group];
            let swept: Vec<_> = group.par_iter().with_max_len(TRACKS_PER_TASK).map(sweep).collect();
            for (track, swept) in group.iter_mut().zip(swept) {
                if let Some(swept) = swept
                    && !add_band(track, swept, band, &mut paths, &mut sums, shape)?
                {
                    return Ok(WholePaths::TooMany);
                }
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
            return Ok(WholePaths::TooMany);
        }
        progress.advance(band.len());
    }
    let mut trees: Vec<_> = whole.finish(slices, out)?.into_iter().collect();
    for tree in tracks.into_iter().filter_map(|track| track.tree) {
        trees.extend(tree.finish(slices, out)?);
    }
    if trees.is_empty() {
        return Ok(WholePaths::None);
    }
    let trees = LedgerIndex { bounds_ns: bounds_ns.to_vec(), fan_out: shape.fan_out, trees, sketches: None };
    Ok(WholePaths::Built(PathLedgerIndex { paths: paths.into_rows(), swept_from: Vec::new(), trees }))
}

/// Iterates over the groups of tracks that are swept at once. In the first band, groups grow from one track per thread,
/// because a trace with too many paths mostly has them on every track.
fn track_groups(tracks: usize, is_first_band: bool) -> impl Iterator<Item = Range<usize>> {
    let first = if is_first_band { rayon::current_num_threads() } else { tracks };
    let mut end = 0;
    std::iter::from_fn(move || {
        let start = end;
        end = tracks.min(first.max(4 * start));
        (start < end).then_some(start..end)
    })
}

fn whole_tracks(store: &Store, shape: &PathShape) -> Vec<WholeTrack> {
    let tracks = tracks_of(store);
    let have_trees = have_trees(store, &tracks, shape.leaf_rows);
    let tree = |track| BoundedTree::new(Some(track), shape.fan_out, shape.leaf_rows, shape.kilorow_bytes);
    let mut first_paths_max = 1_usize;
    let whole = |(paths, has_tree): (TrackPaths, bool)| {
        let paths_max = shape.paths_max_of(paths.all_rows(store));
        first_paths_max = first_paths_max.saturating_add(usize::try_from(paths_max).unwrap_or(usize::MAX));
        let tree = has_tree.then(|| Box::new(tree(paths.track)));
        WholeTrack { tree, paths, new_paths: 0, first_paths_max }
    };
    tracks.into_iter().zip(have_trees).map(whole).collect()
}

/// Adds the slices of a band to the tree of a track and to the sums of all tracks, with the paths of all tracks.
/// Returns false if there are too many paths.
fn add_band(
    track: &mut WholeTrack,
    band: BandPaths,
    slices: &[usize],
    paths: &mut PathTable,
    sums: &mut [Sums],
    shape: &PathShape,
) -> io::Result<bool> {
    if band.is_too_many {
        return Ok(false);
    }
    let before = paths.rows().len();
    let mut shared = vec![PathIdx::ROOT; band.paths.len()];
    for (index, row) in band.paths.iter().enumerate().skip(1) {
        let Some(path) = paths.path(shared[row.parent.index()], row.name) else { return Ok(false) };
        shared[index] = path;
    }
    track.new_paths += (paths.rows().len() - before) as u64;
    for (slice, mut path_sums) in band.slices {
        for (path, _) in &mut path_sums {
            *path = shared[path.index()];
        }
        path_sums.sort_unstable_by_key(|&(path, _)| path);
        let rows = starts(&path_sums);
        track.paths.rows += rows;
        if let Some(tree) = &mut track.tree {
            tree.add_slice(&path_sums, rows, slice).map_err(io::Error::other)?;
        }
        sums[slice - slices[0]].extend(path_sums);
    }
    Ok(track.new_paths <= shape.paths_max_of(track.paths.rows))
}

/// Sorts sums by path, and merges equal paths.
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
