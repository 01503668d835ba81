//! Iterates lazily over the longest spans of a scope, longest first, equal ones in time order.
//!
//! A best-first search. A priority queue holds parts of the scope, each with an upper bound for its spans: lanes,
//! forest nodes, extents, blocks. The part with the largest bound is replaced by its children, until a single span is
//! on top: no other can be longer. For any number of rows, `n` spans cost about `n` paths down the forests. Each lane
//! costs one query, for the longest span of its range.
//!
//! A name filter starts with the nodes of the ledger, which have the longest span of each name; the forests have only
//! the overall longest. All filters except tracks and a minimum duration test the rows of whole extents, several at
//! once on all threads. If few long spans match, this is a scan.
//!
//! Equivalent to sorting all matches by duration.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::Range;

use rayon::prelude::*;

use super::scan::LaneScan;
use super::scope::Scope;
use super::search::{Hit, search};
use super::slices::{RowsPart, cover_starts, only_track, starts_in};
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::Progress;
use crate::model::{NameIdx, TrackIdx};
use crate::store::block::{BLOCK_ROWS, Block};
use crate::store::details::DetailReader;
use crate::store::iforest::{self, LongestNs};
use crate::store::ledger::LedgerNode;
use crate::store::sums::NameSums;
use crate::store::{LaneIdx, LaneKind, RowIdx};

/// Extents whose rows are tested at once: about 1 ms.
const EXTENTS_AT_ONCE: usize = 64;

/// The spans of a scope, longest first. It can be kept between pages: it takes about 100 bytes per lane and per block
/// read.
#[derive(Debug)]
pub struct LongestSpans {
    snapshot: Snapshot,
    /// The scope, narrowed to spans.
    scope: Scope,
    /// Time ranges whose lanes are in the queue; the first is the range of the scope.
    ranges: Vec<RowsPart>,
    lanes: Vec<LanePart>,
    queue: BinaryHeap<QueuePart>,
    /// Spans found for a page that was cancelled.
    ready: Vec<Hit>,
    reader: DetailReader,
    work: LongestWork,
    /// The part count at the next check for cancellation.
    next_check: u64,
}

/// Amount of work for the longest spans; repeats exactly for the same query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LongestWork {
    /// Parts taken from the queue, including spans.
    pub parts: u64,
    /// Blocks whose rows were tested.
    pub blocks: u64,
    /// Nodes of the ledger that were read.
    pub nodes: u64,
}

/// Rows of a lane that are in scope.
#[derive(Debug)]
struct LanePart {
    lane: LaneIdx,
    rows: Range<u64>,
    /// Upper bound for the duration of its matches.
    bound_ns: u64,
}

/// A part of the scope in the queue.
#[derive(Debug, Clone, Copy)]
struct QueuePart {
    /// Upper bound for the duration of its matches.
    bound_ns: u64,
    /// Lower bound for the start and index of its matches.
    first: (i64, RowIdx),
    content: SearchNode,
}

#[derive(Debug, Clone, Copy)]
enum SearchNode {
    /// A node of a track's ledger tree.
    Node { node: LedgerNode, track: TrackIdx },
    /// A lane in one of the ranges, whose rows are not located yet.
    Lane { range: usize },
    /// A node of the forest above a lane's extents, with half its number of leaves.
    Extents { lane: usize, position: usize, half: usize },
    /// A node of an extent's forest.
    Blocks { lane: usize, extent: usize, position: usize, half: usize },
    /// A span, and the remaining rows of its block, which are not longer.
    Row { lane: usize, extent: usize, block: usize, left: u64, name: NameIdx },
}

impl PartialEq for QueuePart {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for QueuePart {}

impl PartialOrd for QueuePart {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The longest part is the greatest; among equals, the earliest.
impl Ord for QueuePart {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.bound_ns, Reverse(self.first)).cmp(&(other.bound_ns, Reverse(other.first)))
    }
}

/// Returns the `count` longest matching spans of a scope, or all if there are fewer.
///
/// # Errors
/// Returns `Cancelled` if cancelled.
pub fn longest(snapshot: &Snapshot, scope: &Scope, count: usize, cancel: &Cancel) -> Result<Vec<Hit>, Cancelled> {
    LongestSpans::new(snapshot, scope).page(count, cancel)
}

/// Returns the same spans by sorting all matches, which is faster if many of them are returned. Takes 40 bytes per
/// match. Returns `Cancelled` if cancelled.
pub(crate) fn sorted_longest(
    snapshot: &Snapshot,
    scope: &Scope,
    count: usize,
    cancel: &Cancel,
) -> Result<Vec<Hit>, Cancelled> {
    let found = search(snapshot, &scope.clone().spans(), cancel, &Progress::default())?;
    let mut hits = Vec::with_capacity(usize::try_from(found.total()).unwrap_or(0));
    hits.extend(found.from(i64::MIN));
    hits.par_sort_unstable_by_key(|hit| (Reverse(hit.dur_ns), hit.start_ns, hit.row));
    hits.truncate(count);
    Ok(hits)
}

/// Returns the duration of the longest span of a lane, or 0 for other lanes. Reads no rows.
#[must_use]
pub(crate) fn longest_of_lane(snapshot: &Snapshot, index: LaneIdx) -> u64 {
    if snapshot.lane(index).kind != LaneKind::Spans {
        return 0;
    }
    let lane = snapshot.store().lane(index);
    let forest = lane.forest::<LongestNs>();
    iforest::cover(0..lane.extents().len()).map(|(position, _)| bound_at(forest, position)).max().unwrap_or(0)
}

impl LongestSpans {
    /// Starts with the lanes of a scope. Reads no rows.
    #[must_use]
    pub fn new(snapshot: &Snapshot, scope: &Scope) -> Self {
        let scope = scope.clone().spans();
        let mut longest = Self {
            snapshot: snapshot.clone(),
            ranges: vec![RowsPart { scope: scope.clone(), with_open: true }],
            scope,
            lanes: Vec::new(),
            queue: BinaryHeap::new(),
            ready: Vec::new(),
            reader: DetailReader::default(),
            work: LongestWork::default(),
            next_check: 0,
        };
        longest.begin();
        longest
    }

    /// Returns the next `count` spans, or fewer at the end.
    ///
    /// # Errors
    /// Returns `Cancelled` if cancelled; the next page then starts where this one would have.
    pub fn page(&mut self, count: usize, cancel: &Cancel) -> Result<Vec<Hit>, Cancelled> {
        while self.ready.len() < count {
            if self.work.parts >= self.next_check {
                cancel.check()?;
                self.next_check = self.work.parts + 256;
            }
            let Some(part) = self.queue.pop() else { break };
            self.work.parts += 1;
            let hit = self.split(part);
            self.ready.extend(hit);
        }
        Ok(self.ready.drain(..count.min(self.ready.len())).collect())
    }

    /// Returns the amount of work.
    #[must_use]
    pub fn work(&self) -> LongestWork {
        self.work
    }

    fn begin(&mut self) {
        let (snapshot, scope) = (self.snapshot.clone(), self.scope.clone());
        let only_track = only_track(&snapshot);
        let mut before: Option<(TrackIdx, bool)> = None;
        let mut nodes = Vec::new();
        for lane in scope.lanes(&snapshot, &scope.matcher) {
            let track = snapshot.lane(lane).track;
            // The lanes of a track are contiguous.
            let last = before.filter(|(last, _)| *last == track).map(|(_, has_nodes)| has_nodes);
            let has_nodes = last.unwrap_or_else(|| self.take_nodes_of(track, only_track == Some(track), &mut nodes));
            before = Some((track, has_nodes));
            if !has_nodes {
                self.push_lane(lane, 0, u64::MAX);
            }
        }
        self.push_nodes(&nodes, u64::MAX);
    }

    /// Adds the nodes of a track's tree to `nodes` if they are more selective than the forests. Returns whether it did.
    fn take_nodes_of(&mut self, track: TrackIdx, is_only: bool, nodes: &mut Vec<(LedgerNode, TrackIdx)>) -> bool {
        let matcher = &self.scope.matcher;
        if matcher.is_every_name() || matcher.is_by_failure() || self.snapshot.track(track).key.kind.is_derived() {
            return false;
        }
        let ledger = self.snapshot.store().ledger();
        // With a single track, the tree of all tracks is its tree.
        let Some(tree) = ledger.and_then(|ledger| ledger.tree((!is_only).then_some(track))) else { return false };
        let (covering, rest) = cover_starts(&self.snapshot, &self.scope, tree);
        if covering.is_empty() {
            return false;
        }
        nodes.extend(covering.into_iter().map(|node| (node, track)));
        for range in rest {
            self.push_range(range, track, u64::MAX);
        }
        true
    }

    /// Queues nodes, each bounded by the longest matching span that starts in its time.
    fn push_nodes(&mut self, nodes: &[(LedgerNode, TrackIdx)], bound_ns: u64) {
        self.work.nodes += nodes.len() as u64;
        let (store, matcher) = (self.snapshot.store(), &self.scope.matcher);
        let read = nodes.par_iter().map(|&(node, _)| {
            let mut longest_ns = None;
            let is_intact = store.ledger_node(node, |name, sums: NameSums| {
                if sums.starts > 0 && matcher.has_name(name) {
                    longest_ns = longest_ns.max(Some(sums.max_ns));
                }
            });
            (is_intact, longest_ns)
        });
        let read: Vec<(bool, Option<u64>)> = read.collect();
        for (&(node, track), (is_intact, longest_ns)) in nodes.iter().zip(read) {
            if !is_intact {
                self.push_rows_of(node, track, bound_ns);
            } else if let Some(longest_ns) = longest_ns {
                let bounds_ns = self.snapshot.store().ledger().map_or(&[][..], |ledger| ledger.bounds_ns());
                let start_ns = bounds_ns.get(node.from as usize).copied().unwrap_or(i64::MIN);
                let first = (start_ns, RowIdx { lane: LaneIdx(0), row: 0 });
                self.push(QueuePart {
                    bound_ns: longest_ns.min(bound_ns),
                    first,
                    content: SearchNode::Node { node, track },
                });
            }
        }
    }

    /// Queues the lanes of a track in the time of a node.
    fn push_rows_of(&mut self, node: LedgerNode, track: TrackIdx, bound_ns: u64) {
        if let Some(range) = starts_in(&self.snapshot, &self.scope, node) {
            self.push_range(range, track, bound_ns);
        }
    }

    fn push_range(&mut self, range: RowsPart, track: TrackIdx, bound_ns: u64) {
        self.ranges.push(range);
        for lane in self.snapshot.lanes_of(track).map(LaneIdx) {
            if self.snapshot.lane(lane).kind == LaneKind::Spans {
                self.push_lane(lane, self.ranges.len() - 1, bound_ns);
            }
        }
    }

    /// Queues a lane, bounded by its longest span in a range. Reads no rows.
    fn push_lane(&mut self, index: LaneIdx, range: usize, bound_ns: u64) {
        let lane = self.snapshot.store().lane(index);
        let (extents, Scope { from_ns, to_ns, .. }) = (lane.extents(), &self.ranges[range].scope);
        // The last row before the range may reach into it.
        let first = from_ns.map_or(0, |from_ns| extents.partition_point(|extent| extent.first_start_ns < from_ns));
        let first = first.saturating_sub(1);
        let end = to_ns.map_or(extents.len(), |to_ns| extents.partition_point(|extent| extent.first_start_ns < to_ns));
        let Some(record) = extents.get(first).filter(|_| first < end) else { return };
        let forest = lane.forest::<LongestNs>();
        let nodes = iforest::cover(first..end).map(|(position, _)| bound_at(forest, position));
        let bound_ns = nodes.max().unwrap_or(0).min(bound_ns);
        let first = (record.first_start_ns, RowIdx { lane: index, row: record.first_row });
        self.push(QueuePart { bound_ns, first, content: SearchNode::Lane { range } });
    }

    fn push(&mut self, part: QueuePart) {
        if self.scope.matcher.may_be_in(LaneKind::Spans, &[], part.bound_ns) {
            self.queue.push(part);
        }
    }

    /// Replaces a part by its children. Returns it if it is a span.
    fn split(&mut self, part: QueuePart) -> Option<Hit> {
        match part.content {
            SearchNode::Node { node, track } => {
                let ledger = self.snapshot.store().ledger();
                let children = ledger.map(|ledger| ledger.children(node)).unwrap_or_default();
                if children.is_empty() {
                    self.push_rows_of(node, track, part.bound_ns);
                }
                let children: Vec<_> = children.into_iter().map(|child| (child, track)).collect();
                self.push_nodes(&children, part.bound_ns);
            }
            SearchNode::Lane { range } => self.look_up(part.first.1.lane, range, part.bound_ns),
            SearchNode::Extents { lane, position, half: 0 } if self.scope.matcher.takes_the_longest() => {
                self.open(lane, position / 2);
            }
            SearchNode::Extents { lane, position, half: 0 } => self.judge_extents((lane, position / 2)),
            SearchNode::Extents { lane, position, half } => {
                for position in [position - half, position + half] {
                    self.push_extents(lane, position, half / 2);
                }
            }
            SearchNode::Blocks { lane, extent, position, half: 0 } => {
                self.queue_longest_of(lane, extent, position / 2);
            }
            SearchNode::Blocks { lane, extent, position, half } => {
                for position in [position - half, position + half] {
                    self.push_blocks(lane, extent, position, half / 2);
                }
            }
            SearchNode::Row { lane, extent, block, left, name } => {
                if left != 0
                    && let Some(extent_data) = self.snapshot.store().lane(self.lanes[lane].lane).extent(extent)
                {
                    let first_row =
                        self.first_row(lane, extent) + u64::from(extent_data.directory()[block].first_row());
                    let next = next_row(&extent_data.block(block), left, (self.lanes[lane].lane, first_row));
                    self.queue.extend(next.map(|(hit, left)| row_part(hit, (lane, extent, block), left)));
                }
                let (start_ns, row) = part.first;
                return Some(Hit { start_ns, row, dur_ns: part.bound_ns, name });
            }
        }
        None
    }

    /// Locates the rows of a lane in a range.
    fn look_up(&mut self, index: LaneIdx, range: usize, bound_ns: u64) {
        let (matcher, RowsPart { scope, with_open }) = (&self.scope.matcher, &self.ranges[range]);
        let scan = if *with_open { LaneScan::new } else { LaneScan::from_starts };
        let scan = scan(&self.snapshot, matcher, scope, index);
        let rows = scan.rows.clone();
        if rows.is_empty() {
            return;
        }
        let nodes: Vec<(usize, usize)> = if matcher.is_every_name() {
            let records = scan.lane().extents();
            let first = records.partition_point(|extent| extent.first_row <= rows.start).saturating_sub(1);
            let end = records.partition_point(|extent| extent.first_row < rows.end);
            iforest::cover(first..end).collect()
        } else {
            // Signatures are stored in extent order, so they are read in one pass.
            scan.extents().map(|extent| (2 * extent, 0)).collect()
        };
        let lane = self.lanes.len();
        self.lanes.push(LanePart { lane: index, rows, bound_ns });
        for (position, half) in nodes {
            self.push_extents(lane, position, half);
        }
    }

    fn push_extents(&mut self, lane: usize, position: usize, half: usize) {
        let LanePart { lane: index, bound_ns, .. } = self.lanes[lane];
        let store_lane = self.snapshot.store().lane(index);
        let bound_ns = bound_at(store_lane.forest(), position).min(bound_ns);
        // A node has as many leaves on its left as on its right, so its first leaf is that far to its left.
        let record = &store_lane.extents()[first_leaf(position, half)];
        let first = (record.first_start_ns, RowIdx { lane: index, row: record.first_row });
        self.push(QueuePart { bound_ns, first, content: SearchNode::Extents { lane, position, half } });
    }

    /// Queues the blocks of an extent that have rows in scope; none for a damaged extent.
    fn open(&mut self, lane: usize, extent: usize) {
        let LanePart { lane: index, rows, .. } = &self.lanes[lane];
        let Some(extent_data) = self.snapshot.store().lane(*index).extent(extent) else { return };
        let first_row = self.first_row(lane, extent);
        let [start, end] = [rows.start, rows.end].map(|row| row.saturating_sub(first_row));
        let first =
            extent_data.directory().partition_point(|entry| u64::from(entry.first_row()) <= start).saturating_sub(1);
        let end = extent_data.directory().partition_point(|entry| u64::from(entry.first_row()) < end);
        for (position, half) in iforest::cover(first..end) {
            self.push_blocks(lane, extent, position, half);
        }
    }

    fn push_blocks(&mut self, lane: usize, extent: usize, position: usize, half: usize) {
        let LanePart { lane: index, bound_ns, .. } = self.lanes[lane];
        let Some(extent_data) = self.snapshot.store().lane(index).extent(extent) else { return };
        let bound_ns = extent_data.longest().at(position).map_or(u64::MAX, |longest| longest.dur_ns).min(bound_ns);
        let entry = &extent_data.directory()[first_leaf(position, half)];
        let row = self.first_row(lane, extent) + u64::from(entry.first_row());
        let first = (entry.first_start_ns, RowIdx { lane: index, row });
        self.push(QueuePart { bound_ns, first, content: SearchNode::Blocks { lane, extent, position, half } });
    }

    /// Queues the longest matching row of each block of an extent, and of the extents that follow it in the queue. One
    /// by one, extents would occupy a single thread, and their blocks would fill the queue.
    fn judge_extents(&mut self, first: (usize, usize)) {
        let mut extents = vec![first];
        while extents.len() < EXTENTS_AT_ONCE
            && let Some(&QueuePart { content: SearchNode::Extents { lane, position, half: 0 }, .. }) = self.queue.peek()
        {
            self.queue.pop();
            extents.push((lane, position / 2));
        }
        self.work.parts += extents.len() as u64 - 1;
        let judged = extents.par_iter().map(|&(lane, extent)| {
            let LanePart { lane: index, rows, .. } = &self.lanes[lane];
            let scan = LaneScan::from_rows(&self.snapshot, &self.scope.matcher, *index, rows.clone());
            let mut reader = DetailReader::default();
            let hits = scan.blocks(extent, 0, &mut reader).filter_map(|(block, hits)| {
                let (hit, left) = next_row(&hits.block, hits.mask, (*index, hits.first_row))?;
                Some(row_part(hit, (lane, extent, block), left))
            });
            (scan.rows_in(extent).div_ceil(BLOCK_ROWS as u64), hits.collect::<Vec<_>>())
        });
        let judged: Vec<(u64, Vec<QueuePart>)> = judged.collect();
        for (blocks, parts) in judged {
            self.work.blocks += blocks;
            self.queue.extend(parts);
        }
    }

    /// Queues the longest matching row of a block.
    fn queue_longest_of(&mut self, lane: usize, extent: usize, block: usize) {
        self.work.blocks += 1;
        let LanePart { lane: index, rows, .. } = &self.lanes[lane];
        let scan = LaneScan::from_rows(&self.snapshot, &self.scope.matcher, *index, rows.clone());
        let Some(extent_data) = scan.lane().extent(extent) else { return };
        let Some(hits) = scan.block(extent, extent_data, block, &mut self.reader) else { return };
        let longest = next_row(&hits.block, hits.mask, (*index, hits.first_row));
        self.queue.extend(longest.map(|(hit, left)| row_part(hit, (lane, extent, block), left)));
    }

    /// Returns the index of an extent's first row in the lane.
    fn first_row(&self, lane: usize, extent: usize) -> u64 {
        self.snapshot.store().lane(self.lanes[lane].lane).extents()[extent].first_row
    }
}

/// Returns the longest of the masked rows of a block, the first one on ties, and the mask of the rest.
fn next_row(block: &Block<'_>, mask: u64, (lane, first_row): (LaneIdx, u64)) -> Option<(Hit, u64)> {
    let (mut starts, mut durs) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS]);
    block.times(&mut starts, &mut durs);
    let slots = (0..block.rows()).filter(|slot| mask >> slot & 1 != 0);
    let slot = slots.max_by_key(|&slot| (durs[slot], Reverse(slot)))?;
    let row = RowIdx { lane, row: first_row + slot as u64 };
    let hit = Hit { start_ns: starts[slot], row, dur_ns: durs[slot], name: NameIdx(block.name(slot)) };
    Some((hit, mask & !(1 << slot)))
}

fn row_part(hit: Hit, (lane, extent, block): (usize, usize, usize), left: u64) -> QueuePart {
    let content = SearchNode::Row { lane, extent, block, left, name: hit.name };
    QueuePart { bound_ns: hit.dur_ns, first: (hit.start_ns, hit.row), content }
}

/// Returns the first leaf of a node of a forest.
fn first_leaf(position: usize, half: usize) -> usize {
    (position - (2 * half).saturating_sub(1)) / 2
}

/// Returns the longest duration below a node; unbounded if the node is missing.
fn bound_at(forest: &[LongestNs], position: usize) -> u64 {
    forest.get(position).map_or(u64::MAX, |longest| longest.0)
}

#[cfg(test)]
mod tests;
