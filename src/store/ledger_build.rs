//! Builds the ledger of a completely written store: sweeps bands of slices, each track on its own thread, and appends
//! the nodes to the file.
//!
//! Memory is bounded by a budget. If the sums of all tracks do not fit, the store gets no ledger, and queries sweep its
//! rows. If only the trees of single tracks do not fit, the tracks with the most rows get one.

use std::io;
use std::ops::Range;
use std::sync::Mutex;
use std::time::Instant;

use rayon::prelude::*;

use super::append::AppendFile;
use super::lane::{LaneIdx, LaneInfo, LaneKind};
use super::ledger::{LedgerIndex, LedgerShape, NodeContent, TreeIndex, level_counts};
use super::ledger_progress::{LedgerPart, LedgerProgress};
use super::ledger_tree::TreeBuilder;
use super::path_ledger::PathShape;
use super::read::Store;
use super::sample_ledger::SampleShape;
use super::slice_bounds::slice_bounds;
use super::sums::{ByName, NameSums, SketchTable, SumTable, merge_sorted};
use super::sweep::{EveryRow, TrackSweep, span_lanes};
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::base::sketch::Sketch;
use crate::model::{NameIdx, TrackIdx};

/// Parameters for building the ledgers.
pub(crate) struct LedgerContext<'a> {
    pub(crate) shape: LedgerShape,
    /// Shape of the sample ledger, which has a budget of the same size.
    pub(crate) samples: SampleShape,
    /// Shape of the path ledger, which has a budget of the same size.
    pub(crate) paths: PathShape,
    /// Memory limit for the growing sums.
    pub(crate) budget_bytes: usize,
    /// Start of the import. The summary in the store has the time from then to the end of the ledgers.
    pub(crate) started: Instant,
    pub(crate) cancel: &'a Cancel,
    pub(crate) progress: &'a Progress,
}

/// Minimum number of tasks per band, if there are enough tracks: one track may have most of the rows.
const TASKS: usize = 64;

/// Maximum number of tracks per task.
const TRACKS_PER_TASK: usize = 16;

/// A track of events with spans.
struct TrackBuild {
    track: TrackIdx,
    lanes: Range<u32>,
    rows: u64,
    tree: Option<Box<TreeBuilder<ByName<NameSums>>>>,
}

/// Builds the ledger of all rows of `store`, whose file `out` appends to. Returns `None` for a small trace, for more
/// names than fit the budget, or if cancelled.
///
/// # Errors
/// Returns the I/O error of a failed write.
pub(super) fn build(
    store: &Store,
    context: &LedgerContext<'_>,
    out: &mut AppendFile,
) -> io::Result<Option<LedgerIndex>> {
    let shape = &context.shape;
    let (rows, lanes) = span_rows(store);
    // A slice starts with the open spans, at most one per lane, so it needs several times as many rows. Millions of
    // lanes with few rows each get no ledger, whose memory would not pay.
    let open_rows = 4 * lanes;
    if rows < shape.rows_min.max(open_rows).max(1) {
        return Ok(None);
    }
    let mut tracks = track_builds(store);
    let lanes = || tracks.iter().flat_map(|track| track.lanes.clone()).map(|lane| store.lane(LaneIdx(lane)));
    let bounds_ns = slice_bounds(lanes, shape.slice_rows.max(open_rows));
    let slices = bounds_ns.len() - 1;
    let names = store.meta().names.len();
    let Some(plan) = MemoryPlan::new(context, names, slices, rows) else { return Ok(None) };
    plan.give_trees(&mut tracks, names, shape);

    let mut progress = LedgerProgress::begin(context.progress, LedgerPart::Names, slices);
    let mut whole = TreeBuilder::new(None, shape.fan_out);
    let mut sketches: Option<TreeBuilder<ByName<Sketch>>> =
        plan.has_sketches.then(|| TreeBuilder::new(None, shape.fan_out));
    let sweeps =
        BandSweeps { store, bounds_ns: &bounds_ns, names, has_sketches: plan.has_sketches, spare: Mutex::default() };
    for first in (0..slices).step_by(plan.band_slices) {
        if context.cancel.is_cancelled() {
            return Ok(None);
        }
        let band = first..(first + plan.band_slices).min(slices);
        let band_sums = sweeps.sum_band(&mut tracks, &band)?;
        for (slice, sums) in band.clone().zip(band_sums) {
            let sums = sums.into_inner().map(|mut table| table.drain()).unwrap_or_default();
            whole.add_slice(&sums, slice).map_err(io::Error::other)?;
        }
        whole.write(out)?;
        if let Some(sketches) = &mut sketches
            && (band.end.is_multiple_of(shape.sketch_slices) || band.end == slices)
        {
            sweeps.drain_sketches(&mut sketches.leaf);
            sketches.close_leaf(band.end).map_err(io::Error::other)?;
            sketches.write(out)?;
        }
        for tree in tracks.iter_mut().filter_map(|track| track.tree.as_deref_mut()) {
            tree.write(out)?;
        }
        progress.advance(band.len());
    }
    drop(sweeps);
    let mut trees = vec![finish(whole, slices, out)?];
    for tree in tracks.into_iter().filter_map(|track| track.tree) {
        trees.push(finish(*tree, slices, out)?);
    }
    let sketches = sketches.map(|tree| finish(tree, slices, out)).transpose()?;
    Ok(Some(LedgerIndex { bounds_ns, fan_out: shape.fan_out, trees, sketches }))
}

/// Ends a tree that covers all slices.
fn finish<C: NodeContent>(mut tree: TreeBuilder<C>, slices: usize, out: &mut AppendFile) -> io::Result<TreeIndex> {
    tree.close_last_leaf(slices).map_err(io::Error::other)?;
    tree.finish(out)
}

/// The sums of one task, reused by the next task.
struct TaskTables {
    sums: SumTable,
    /// Distributions of durations since the last leaf of sketches; `None` if sketches do not fit.
    sketches: Option<SketchTable>,
}

/// Sweeps the tracks of a store, a band of slices at a time.
struct BandSweeps<'a> {
    store: &'a Store,
    bounds_ns: &'a [i64],
    names: usize,
    has_sketches: bool,
    /// The tables of ended tasks.
    spare: Mutex<Vec<TaskTables>>,
}

impl BandSweeps<'_> {
    /// Adds a band to the trees of single tracks. Returns the sums of all tracks, for each slice.
    fn sum_band(&self, tracks: &mut [TrackBuild], band: &Range<usize>) -> io::Result<Vec<Mutex<SumTable>>> {
        let sums: Vec<_> = band.clone().map(|_| Mutex::new(SumTable::new(self.names))).collect();
        let tracks_per_task = tracks.len().div_ceil(TASKS).min(TRACKS_PER_TASK);
        let sweep = |tracks: &mut [TrackBuild]| -> Result<(), postcard::Error> {
            let spare = self.spare.lock().ok().and_then(|mut spare| spare.pop());
            let mut tables = spare.unwrap_or_else(|| self.task_tables());
            for track in tracks {
                track.sweep(self.store, self.bounds_ns, band.clone(), &mut tables, &sums)?;
            }
            if let Ok(mut spare) = self.spare.lock() {
                spare.push(tables);
            }
            Ok(())
        };
        // Packing fails only for a node of 4 GiB, and there are not that many names.
        tracks.par_chunks_mut(tracks_per_task).try_for_each(sweep).map_err(io::Error::other)?;
        Ok(sums)
    }

    fn task_tables(&self) -> TaskTables {
        let sketches = self.has_sketches.then(SketchTable::default);
        TaskTables { sums: SumTable::new(self.names), sketches }
    }

    /// Moves the sketches of all tasks to `leaf`.
    fn drain_sketches(&self, leaf: &mut ByName<Sketch>) {
        for table in self.spare.lock().iter_mut().flat_map(|tables| tables.iter_mut()) {
            let counted = table.sketches.as_mut().map(SketchTable::drain).unwrap_or_default();
            merge_sorted(leaf, &counted);
        }
    }
}

/// Counts the spans of events, and the lanes that have them.
pub(super) fn span_rows(store: &Store) -> (u64, u64) {
    let tracks = &store.meta().tracks.tracks;
    let lanes = (0..store.lane_count()).map(|lane| store.lane(LaneIdx(lane)).info());
    let is_event = |info: &LaneInfo| tracks.get(info.track.index()).is_some_and(|track| !track.key.kind.is_derived());
    let spans = lanes.filter(|info| info.kind == LaneKind::Spans && is_event(info));
    spans.fold((0, 0), |(rows, lanes), info| (rows + info.rows, lanes + 1))
}

/// Iterates over the tracks of events with spans, in order, with their span lanes.
pub(super) fn span_tracks(store: &Store) -> impl Iterator<Item = (TrackIdx, Range<u32>)> + '_ {
    let tracks = (0u32..).map(TrackIdx).zip(&store.meta().tracks.tracks);
    let events = tracks.filter(|(_, row)| !row.key.kind.is_derived());
    let lanes = events.map(|(track, _)| (track, span_lanes(store, store.lanes_of(track))));
    // Every lane has rows.
    lanes.filter(|(_, lanes)| !lanes.is_empty())
}

/// Returns these tracks with their row counts.
fn track_builds(store: &Store) -> Vec<TrackBuild> {
    let builds = span_tracks(store).map(|(track, lanes)| {
        let rows = lanes.clone().map(|lane| store.lane(LaneIdx(lane)).rows()).sum();
        TrackBuild { track, lanes, rows, tree: None }
    });
    builds.filter(|build| build.rows > 0).collect()
}

/// The parts of a ledger that fit the budget.
struct MemoryPlan {
    band_slices: usize,
    /// Bytes left for the trees of single tracks.
    tree_bytes: usize,
    has_sketches: bool,
}

/// Estimated bytes of a sketch: 15 octaves of durations are 480 counts.
const SKETCH_BYTES: usize = 2048;

impl MemoryPlan {
    fn new(context: &LedgerContext<'_>, names: usize, slices: usize, rows: u64) -> Option<Self> {
        let LedgerContext { shape, budget_bytes, .. } = context;
        let used = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX).min(names);
        let slice = SumTable::bytes(names, used(shape.slice_rows.max(rows / slices as u64))).max(1);
        let threads = rayon::current_num_threads() * slice;
        let levels = level_counts(slices, shape.fan_out as usize).count();
        let whole = levels * names * size_of::<(NameIdx, NameSums)>();
        let fixed = threads.checked_add(whole)?.checked_add(slice)?;
        let mut rest = budget_bytes.checked_sub(fixed)?;
        let sketch_levels = level_counts(slices.div_ceil(shape.sketch_slices), shape.fan_out as usize).count();
        let sketches = (rayon::current_num_threads() + sketch_levels + 1) * names * SKETCH_BYTES;
        let has_sketches = sketches <= rest / 2;
        if has_sketches {
            rest -= sketches;
        }
        // Half of the rest goes to wider bands, which need fewer searches per track.
        let band_slices = 1 + (rest / 2 / slice).min(shape.sketch_slices - 1);
        // Leaves of sketches are whole bands.
        let band_slices = 1 << band_slices.ilog2();
        Some(Self { band_slices, tree_bytes: rest - (band_slices - 1) * slice, has_sketches })
    }

    /// Starts trees for the tracks with the most rows, until the memory is used up.
    fn give_trees(&self, tracks: &mut [TrackBuild], names: usize, shape: &LedgerShape) {
        if tracks.len() < 2 {
            return; // it would equal the tree of all tracks
        }
        let fits = 2 * shape.leaf_rows.max(1);
        let mut large: Vec<usize> = (0..tracks.len()).filter(|&track| tracks[track].rows >= fits).collect();
        large.sort_by_key(|&track| std::cmp::Reverse(tracks[track].rows));
        let mut left = self.tree_bytes;
        for track in large {
            let rows = tracks[track].rows;
            let leaves = usize::try_from(rows / shape.leaf_rows.max(1)).unwrap_or(usize::MAX);
            let levels = level_counts(leaves, shape.fan_out as usize).count();
            let used = usize::try_from(rows).unwrap_or(usize::MAX).min(names);
            let bytes = (levels + 1) * used * size_of::<(NameIdx, NameSums)>();
            let Some(rest) = left.checked_sub(bytes) else { return };
            left = rest;
            let mut tree = TreeBuilder::new(Some(tracks[track].track), shape.fan_out);
            tree.leaf_rows = shape.leaf_rows;
            tracks[track].tree = Some(Box::new(tree));
        }
    }
}

impl TrackBuild {
    /// Adds up the slices of a band, for all tracks and for the track's own tree.
    fn sweep(
        &mut self,
        store: &Store,
        bounds_ns: &[i64],
        band: Range<usize>,
        tables: &mut TaskTables,
        band_sums: &[Mutex<SumTable>],
    ) -> Result<(), postcard::Error> {
        let from_ns = bounds_ns[band.start];
        let (first_ns, last_ns) = self.lanes.clone().fold((i64::MAX, i64::MIN), |(first_ns, last_ns), lane| {
            let info = store.lane(LaneIdx(lane)).info();
            (first_ns.min(info.start_ns), last_ns.max(info.end_ns))
        });
        let is_last = band.end + 1 == bounds_ns.len();
        if last_ns < from_ns || (!is_last && first_ns >= bounds_ns[band.end]) {
            return Ok(());
        }
        let mut sweep = TrackSweep::new(store, self.lanes.clone(), from_ns, EveryRow);
        for (slice, sums) in band.zip(band_sums) {
            // The last slice includes rows that start exactly at the end.
            let to_ns = if slice + 2 == bounds_ns.len() { i64::MAX } else { bounds_ns[slice + 1] };
            let TaskTables { sums: task_sums, sketches } = &mut *tables;
            match sketches {
                Some(sketches) => sweep.sum_to(to_ns, task_sums, |name, dur_ns| sketches.add(name, dur_ns)),
                None => sweep.sum_to(to_ns, task_sums, |_, _| {}),
            }
            let sorted = task_sums.drain();
            if sorted.is_empty() {
                continue;
            }
            if let Ok(mut sums) = sums.lock() {
                sorted.iter().for_each(|(name, added)| sums.merge(*name, added));
            }
            if let Some(tree) = &mut self.tree {
                tree.add_slice(&sorted, slice)?;
            }
        }
        Ok(())
    }
}

impl TreeBuilder<ByName<NameSums>> {
    /// Adds the sums of a slice. Slices come in order; slices without sums may be skipped.
    fn add_slice(&mut self, sums: &ByName<NameSums>, slice: usize) -> Result<(), postcard::Error> {
        self.leaf.merge(sums);
        self.rows += sums.iter().map(|(_, sums)| sums.starts).sum::<u64>();
        if self.rows >= self.leaf_rows { self.close_leaf(slice + 1) } else { Ok(()) }
    }
}
