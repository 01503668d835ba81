//! Counts samples from the nodes of the sample ledger and the rows that make up a scope.

use rayon::prelude::*;

use super::{CountWork, SampleHistogram};
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::{Progress, Stage};
use crate::model::{SampleEvents, TrackIdx};
use crate::query::scope::Scope;
use crate::query::slices::{Slices, time_of};
use crate::query::snapshot::Snapshot;
use crate::store::LaneIdx;
use crate::store::ledger::LedgerNode;
use crate::store::sample_ledger::SampleLedger;
use crate::store::sample_rows::{SamplePart, each_measured, sample_lanes};
use crate::store::slice_bounds::slice_bounds;

/// Minimum number of samples that one thread reads at once.
const ROWS_PER_TASK: u64 = 64 * 1024;

/// The parts of a scope, which are disjoint.
struct SamplePlan {
    nodes: Vec<LedgerNode>,
    /// Rows that no node covers.
    parts: Vec<SamplePart>,
    /// The sampled tracks in scope, with their lanes.
    tracks: Vec<(TrackIdx, LaneIdx)>,
}

/// Counts the samples in a scope whose filter depends only on tracks. Returns `None` if there are too many events to
/// count out of order, or `Cancelled` if cancelled.
pub(super) fn from_ledger(
    snapshot: &Snapshot,
    scope: &Scope,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<Option<SampleHistogram>, Cancelled> {
    let mut plan = SamplePlan::new(snapshot, scope);
    let mut histogram = SampleHistogram::default();
    let mut damaged = Vec::new();
    for &node in &plan.nodes {
        cancel.check()?;
        if !histogram.add_node(snapshot, node) {
            damaged.push(node);
        }
    }
    histogram.work =
        CountWork { nodes: plan.nodes.len() as u64, damaged_nodes: damaged.len() as u64, ..CountWork::default() };
    plan.read_damaged(snapshot, &damaged);
    let read = read_parts(snapshot, &plan.parts, cancel, progress)?;
    histogram.merge(&read);
    histogram.work.rows = read.work.rows;
    let is_whole = !read.events.are_too_many() && !histogram.events.are_too_many();
    Ok(is_whole.then(|| histogram.in_order_of_first()))
}

impl SamplePlan {
    fn new(snapshot: &Snapshot, scope: &Scope) -> Self {
        let store = snapshot.store();
        let in_scope = |(lane, track): (LaneIdx, TrackIdx)| scope.has_track(track).then_some((track, lane));
        let all = || sample_lanes(store).map(|(lane, info)| (lane, info.track));
        let tracks: Vec<_> = all().filter_map(in_scope).collect();
        let has_all = tracks.len() == all().count();
        let mut plan = Self { nodes: Vec::new(), parts: Vec::new(), tracks };
        let (from_ns, to_ns) = (scope.from_ns, scope.to_ns);
        let ledger = store.sample_ledger().map(|ledger| {
            let trees = ledger.trees();
            (trees, Slices::new(trees, from_ns, to_ns))
        });
        // The leaves of all tracks have the same bounds, so their edges are the same.
        let whole =
            ledger.as_ref().filter(|_| has_all).and_then(|(trees, slices)| slices.cover(trees, trees.tree(None)?));
        for &(track, lane) in &plan.tracks {
            let covered = match (&whole, &ledger) {
                (Some((_, covered)), Some((trees, slices))) => Some((*trees, slices, covered.clone())),
                (None, Some((trees, slices))) => trees.tree(Some(track)).and_then(|tree| {
                    let (nodes, covered) = slices.cover(trees, tree)?;
                    plan.nodes.extend(nodes);
                    Some((*trees, slices, covered))
                }),
                _ => None,
            };
            let info = store.lane(lane).info();
            let mut push = |part: SamplePart| {
                let is_there = info.end_ns >= part.from_ns && part.is_before_end(info.start_ns);
                plan.parts.extend(is_there.then_some(part));
            };
            let from_ns = from_ns.unwrap_or(i64::MIN);
            let Some((trees, slices, covered)) = covered else {
                push(SamplePart { lane, from_ns, to_ns });
                continue;
            };
            let edges = slices.edges(trees, &covered);
            if edges.before_ns.is_some() {
                push(SamplePart { lane, from_ns, to_ns: edges.before_ns });
            }
            if let Some(from_ns) = edges.after_ns {
                push(SamplePart { lane, from_ns, to_ns });
            }
        }
        plan.nodes.extend(whole.into_iter().flat_map(|(nodes, _)| nodes));
        plan
    }

    /// Adds the time of damaged nodes to the rows to read.
    fn read_damaged(&mut self, snapshot: &Snapshot, damaged: &[LedgerNode]) {
        let Some(trees) = snapshot.store().sample_ledger().map(SampleLedger::trees) else { return };
        for node in damaged {
            let (from_ns, to_ns) = time_of(trees, node.from..node.to);
            let track = trees.track_of(*node);
            let lanes = self.tracks.iter().filter(|(own_track, _)| track.is_none_or(|track| track == *own_track));
            self.parts.extend(lanes.map(|&(_, lane)| SamplePart { lane, from_ns, to_ns }));
        }
    }
}

/// Reads the samples of parts on all threads, each a time range of all parts: their details are side by side.
fn read_parts(
    snapshot: &Snapshot,
    parts: &[SamplePart],
    cancel: &Cancel,
    progress: &Progress,
) -> Result<SampleHistogram, Cancelled> {
    let store = snapshot.store();
    let rows: u64 = parts.iter().map(|part| part.rows_at_most(store)).sum();
    progress.begin(Stage::Counting, rows);
    if rows < 2 * ROWS_PER_TASK {
        return read_task(snapshot, parts, cancel, progress);
    }
    let lanes = || parts.iter().map(|part| store.lane(part.lane));
    // Visiting a part takes as long as reading some samples.
    let task_rows = ROWS_PER_TASK.max(64 * parts.len() as u64);
    let bounds_ns = slice_bounds(lanes, task_rows);
    let slices = bounds_ns.len() - 1;
    let tasks = (0..slices).into_par_iter().map(|slice| {
        // Nothing is before the first bound; the last slice includes samples exactly at its end.
        let (from_ns, to_ns) = (bounds_ns[slice], (slice + 1 < slices).then(|| bounds_ns[slice + 1]));
        let within = parts.iter().map(|part| part.within(from_ns, to_ns));
        let within: Vec<_> = within.filter(|part| part.to_ns.is_none_or(|to_ns| part.from_ns < to_ns)).collect();
        read_task(snapshot, &within, cancel, progress)
    });
    tasks.try_reduce(SampleHistogram::default, |mut left, right| {
        left.merge(&right);
        Ok(left)
    })
}

fn read_task(
    snapshot: &Snapshot,
    parts: &[SamplePart],
    cancel: &Cancel,
    progress: &Progress,
) -> Result<SampleHistogram, Cancelled> {
    let tracks: Vec<TrackIdx> = parts.iter().map(|part| snapshot.lane(part.lane).track).collect();
    let mut histogram = SampleHistogram::default();
    each_measured(snapshot.store(), parts, cancel, |sample, measure| {
        histogram.work.rows += 1;
        histogram.add(tracks[sample.part], (sample.ts_ns, sample.row), sample.stack, measure);
    })?;
    progress.advance(histogram.work.rows);
    Ok(histogram)
}

impl SampleHistogram {
    /// Adds the samples of a node. Returns false if it is damaged.
    fn add_node(&mut self, snapshot: &Snapshot, node: LedgerNode) -> bool {
        let store = snapshot.store();
        let Some(ledger) = store.sample_ledger() else { return false };
        if self.events.rows().is_empty() {
            self.events = SampleEvents::from_rows(ledger.events().to_vec());
            self.sums.resize_with(ledger.events().len(), Default::default);
        }
        // The event indices of the ledger are valid here.
        let sums = &mut self.sums;
        let mut tracks = Vec::new();
        let is_intact = store.sample_node(
            node,
            |key, samples| tracks.push((key, samples)),
            |(stack, event), sum| {
                if let Some(sums) = sums.get_mut(event as usize) {
                    sums.stacks.entry(stack).or_default().add(sum);
                }
            },
        );
        for ((track, event), samples) in tracks {
            self.add_track(event as usize, track, &samples);
        }
        is_intact
    }

    /// Adds the samples of another part of the scope.
    fn merge(&mut self, other: &Self) {
        if self.events.are_too_many() {
            return;
        }
        for (event, sums) in other.events.rows().iter().zip(&other.sums) {
            let row = self.events.row_of(event);
            // The order does not matter: these are sums.
            sums.stacks.iter().for_each(|(&stack, &sum)| self.add_stack(row, stack, sum));
            sums.tracks.iter().for_each(|(&track, samples)| self.add_track(row, track, samples));
        }
        self.work.rows += other.work.rows;
    }

    /// Sorts the events by first appearance, and drops events without samples.
    fn in_order_of_first(self) -> Self {
        // Among samples at one time, the samples of the first track come first.
        let first = |sums: &super::EventSums| {
            let firsts = sums.tracks.iter().map(|(&track, samples)| (samples.first.0, track, samples.first.1));
            firsts.min()
        };
        let mut rows: Vec<_> = self.events.into_rows().into_iter().zip(self.sums).collect();
        rows.retain(|(_, sums)| !sums.tracks.is_empty());
        rows.sort_by_cached_key(|(_, sums)| first(sums));
        let mut sorted = Self { work: self.work, ..Self::default() };
        for (event, sums) in rows {
            sorted.events.row_of(&event);
            sorted.sums.push(sums);
        }
        sorted
    }
}
