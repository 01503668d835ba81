//! Builds the sample ledger of a completely written store. Counts bands of slices, each slice on its own thread, and
//! appends the nodes to the file.
//!
//! Memory is bounded by a budget. If the sums of all tracks do not fit, the store gets no sample ledger, and queries
//! read its rows. If only the trees of single tracks do not fit, the largest are dropped.

use std::io;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::append::AppendFile;
use super::bounded_tree::{BoundedTree, fit};
use super::lane::LaneIdx;
use super::ledger::LedgerIndex;
use super::ledger_build::LedgerContext;
use super::ledger_progress::{LedgerPart, LedgerProgress};
use super::read::Store;
use super::sample_ledger::{SampleLedgerIndex, SampleShape};
use super::sample_node::{EventKey, SampleNode, TrackSamples};
use super::sample_rows::{SamplePart, each_measured, sample_lanes};
use super::slice_bounds::slice_bounds;
use crate::base::cancel::Cancel;
use crate::model::{SampleEvents, SampleSum, StackIdx, TrackIdx};

/// Bytes of a stack while it is counted or merged, in a hash table that is half full at worst.
const STACK_BYTES: usize = 2 * size_of::<(TrackIdx, EventKey<StackIdx>, SampleSum)>();

struct LaneBuild {
    track: TrackIdx,
    lane: LaneIdx,
    tree: Option<Box<SampleTree>>,
}

type SampleTree = BoundedTree<SampleNode>;

/// The samples of a slice.
#[derive(Default)]
struct SampleCounts {
    events: SampleEvents,
    /// By index of the lane.
    tracks: FxHashMap<EventKey<usize>, TrackSamples>,
    /// By index of the lane; 0 for all lanes if no track has its own tree.
    stacks: FxHashMap<(usize, EventKey<StackIdx>), SampleSum>,
    /// Whether all stacks fit in memory.
    has_all: bool,
}

/// Builds the ledger of all samples of `store`, whose file `out` appends to. Returns `None` for few samples, for stacks
/// that hardly repeat, if the budget is too small, or if cancelled.
///
/// # Errors
/// Returns the I/O error of a failed write.
pub(super) fn build(
    store: &Store,
    context: &LedgerContext<'_>,
    out: &mut AppendFile,
) -> io::Result<Option<SampleLedgerIndex>> {
    let shape = &context.samples;
    let rows: u64 = sample_lanes(store).map(|(_, info)| info.rows).sum();
    let lane_rows = shape.rows_per_lane * sample_lanes(store).count() as u64;
    if rows < shape.rows_min.max(lane_rows).max(1) {
        return Ok(None);
    }
    let mut lanes = lanes_of(store, shape);
    let with_trees = lanes.iter().any(|lane| lane.tree.is_some());
    let bounds_ns = slice_bounds(|| lanes.iter().map(|lane| store.lane(lane.lane)), shape.slice_rows.max(lane_rows));
    let slices = bounds_ns.len() - 1;
    let mut progress = LedgerProgress::begin(context.progress, LedgerPart::Samples, slices);

    let mut events = SampleEvents::default();
    let mut whole = SampleTree::new(None, shape.fan_out, 1, shape.kilorow_bytes());
    let band_slices = 2 * rayon::current_num_threads();
    let stacks_max = context.budget_bytes / 2 / band_slices / STACK_BYTES;
    let numbers: Vec<usize> = (0..slices).collect();
    for band in numbers.chunks(band_slices) {
        if context.cancel.is_cancelled() {
            return Ok(None);
        }
        let counted: Vec<Option<SampleCounts>> = band
            .par_iter()
            .map(|&slice| count_slice(store, &lanes, (&bounds_ns, slice), (with_trees, stacks_max), context.cancel))
            .collect();
        for (&slice, counted) in band.iter().zip(counted) {
            let Some(counted) = counted.filter(|counted| counted.has_all) else { return Ok(None) };
            if counted.events.are_too_many() || !counted.add_to(&mut whole, &mut lanes, &mut events, slice)? {
                return Ok(None);
            }
        }
        whole.nodes.write(out)?;
        for tree in lanes.iter_mut().filter_map(|lane| lane.tree.as_deref_mut()) {
            tree.nodes.write(out)?;
        }
        let trees = lanes.iter_mut().map(|lane| &mut lane.tree);
        if !fit(&whole, trees, context.budget_bytes / 2 / STACK_BYTES) {
            return Ok(None);
        }
        progress.advance(band.len());
    }
    let Some(whole) = whole.finish(slices, out)? else { return Ok(None) };
    let mut trees = vec![whole];
    for tree in lanes.into_iter().filter_map(|lane| lane.tree) {
        trees.extend(tree.finish(slices, out)?);
    }
    let trees = LedgerIndex { bounds_ns, fan_out: shape.fan_out, trees, sketches: None };
    Ok(Some(SampleLedgerIndex { events: events.into_rows(), trees }))
}

/// Returns the lanes of samples. A lane with many samples gets a tree. A single lane gets none, since its tree would
/// equal the tree of all lanes.
fn lanes_of(store: &Store, shape: &SampleShape) -> Vec<LaneBuild> {
    let mut lanes: Vec<LaneBuild> =
        sample_lanes(store).map(|(lane, info)| LaneBuild { track: info.track, lane, tree: None }).collect();
    if lanes.len() > 1 {
        for lane in &mut lanes {
            if store.lane(lane.lane).rows() >= 2 * shape.leaf_rows.max(1) {
                lane.tree = Some(Box::new(SampleTree::new(
                    Some(lane.track),
                    shape.fan_out,
                    shape.leaf_rows,
                    shape.kilorow_bytes(),
                )));
            }
        }
    }
    lanes
}

/// Counts the samples of a slice; `None` if cancelled.
fn count_slice(
    store: &Store,
    lanes: &[LaneBuild],
    (bounds_ns, slice): (&[i64], usize),
    (by_lane, stacks_max): (bool, usize),
    cancel: &Cancel,
) -> Option<SampleCounts> {
    let is_last = slice + 2 == bounds_ns.len();
    // The last slice includes samples exactly at the end.
    let (from_ns, to_ns) = (bounds_ns[slice], (!is_last).then(|| bounds_ns[slice + 1]));
    let is_there = |lane: &LaneBuild| {
        let info = store.lane(lane.lane).info();
        info.end_ns >= from_ns && to_ns.is_none_or(|to_ns| info.start_ns < to_ns)
    };
    let (numbers, parts): (Vec<usize>, Vec<SamplePart>) = lanes
        .iter()
        .enumerate()
        .filter(|(_, lane)| is_there(lane))
        .map(|(number, lane)| (number, SamplePart { lane: lane.lane, from_ns, to_ns }))
        .unzip();
    let mut counts = SampleCounts::default();
    let SampleCounts { events, tracks, stacks, has_all } = &mut counts;
    *has_all = true;
    each_measured(store, &parts, cancel, |sample, measure| {
        let (event, weight) = events.row_of_sample(measure);
        let (number, event, sum) = (numbers[sample.part], event as u32, SampleSum { samples: 1, weight });
        let one = TrackSamples { sum, first: (sample.ts_ns, sample.row) };
        tracks.entry((number, event)).and_modify(|samples| samples.merge(&one)).or_insert(one);
        let part = if by_lane { number } else { 0 };
        // Samples without times may all be in one slice.
        *has_all &= stacks.len() < stacks_max;
        if *has_all {
            stacks.entry((part, (sample.stack, event))).or_default().add(sum);
        }
    })
    .ok()?;
    Some(counts)
}

impl SampleCounts {
    /// Adds the samples of a slice to the tree of all tracks and to the trees of single tracks. Returns false if there
    /// are too many events.
    fn add_to(
        self,
        whole: &mut SampleTree,
        lanes: &mut [LaneBuild],
        events: &mut SampleEvents,
        slice: usize,
    ) -> io::Result<bool> {
        let rows: Vec<u32> = self.events.rows().iter().map(|event| events.row_of(event) as u32).collect();
        if events.rows().len() > SampleEvents::MAX {
            return Ok(false);
        }
        let mut tracks: Vec<(EventKey<usize>, TrackSamples)> =
            self.tracks.into_iter().map(|((lane, event), item)| ((lane, rows[event as usize]), item)).collect();
        tracks.sort_unstable_by_key(|&(key, _)| key);
        let mut stacks: Vec<((usize, EventKey<StackIdx>), SampleSum)> = self.stacks.into_iter().collect();
        for ((_, (_, event)), _) in &mut stacks {
            *event = rows[*event as usize];
        }
        stacks.sort_unstable_by_key(|&(key, _)| key);
        let mut of_all: Vec<(EventKey<StackIdx>, SampleSum)> = Vec::with_capacity(stacks.len());
        of_all.extend(stacks.iter().map(|&((_, key), sum)| (key, sum)));
        of_all.sort_unstable_by_key(|&(key, _)| key);
        of_all.dedup_by(|next, last| {
            let is_same = next.0 == last.0;
            if is_same {
                last.1.add(next.1);
            }
            is_same
        });
        let (mut rest_tracks, mut rest_stacks) = (&*tracks, &*stacks);
        let mut all = SampleNode { tracks: Vec::with_capacity(tracks.len()), stacks: of_all };
        while let Some(&((number, _), _)) = rest_tracks.first() {
            let (own_tracks, others) =
                rest_tracks.split_at(rest_tracks.partition_point(|((lane, _), _)| *lane <= number));
            let before = rest_stacks.partition_point(|((lane, _), _)| *lane < number);
            let end = rest_stacks.partition_point(|((lane, _), _)| *lane <= number);
            let LaneBuild { track, tree, .. } = &mut lanes[number];
            let own_tracks = own_tracks.iter().map(|&((_, event), item)| ((*track, event), item));
            all.tracks.extend(own_tracks.clone());
            if let Some(tree) = tree {
                let own_stacks = rest_stacks[before..end].iter().map(|&((_, key), sum)| (key, sum));
                let node = SampleNode { tracks: own_tracks.collect(), stacks: own_stacks.collect() };
                tree.add_slice(&node, node.samples(), slice).map_err(io::Error::other)?;
            }
            (rest_tracks, rest_stacks) = (others, &rest_stacks[end..]);
        }
        // Lanes are sorted by track.
        whole.add_slice(&all, all.samples(), slice).map_err(io::Error::other)?;
        Ok(true)
    }
}
