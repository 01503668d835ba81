//! Sweeps over the spans of one track in order of start, and sums them by name over consecutive ranges of time.
//!
//! The parent of a span is the innermost span of a shallower lane of its track that is open at its start. So the parent
//! starts no later, and ends after that start. A parent is covered while at least one child runs; the rest is its self
//! time. A child may outlast its parent, and covers it only up to the parent's end.
//!
//! A sweep can start at any time, with a search in each lane, so ranges are independent of each other. The naive way
//! compares every span with all spans of the track.

mod by_path;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::block::{BLOCK_ROWS, Block};
use super::extent::Extent;
use super::lane::{LaneIdx, LaneKind};
use super::read::{Lane, Store};
use super::sums::SumTable;
use crate::model::{NameIdx, Names};

pub(crate) use self::by_path::PathSweep;

/// Selects the rows that a sweep sums. All others still cover their parents.
pub(crate) trait BlockFilter {
    /// Returns a bit per passing row of a block, the first row lowest. Bits beyond its rows are ignored. `first_row` is
    /// the index in the lane of the block's first row.
    fn rows(&mut self, lane: LaneIdx, first_row: u64, block: &Block<'_>) -> u64;

    /// Replaces the names of passing rows by the keys to sum by. Keeps the names by default.
    fn regroup(&mut self, _block: &Block<'_>, _passing: u64, _names: &mut [u64; BLOCK_ROWS]) {}
}

impl<F: BlockFilter> BlockFilter for &mut F {
    fn rows(&mut self, lane: LaneIdx, first_row: u64, block: &Block<'_>) -> u64 {
        (**self).rows(lane, first_row, block)
    }

    fn regroup(&mut self, block: &Block<'_>, passing: u64, names: &mut [u64; BLOCK_ROWS]) {
        (**self).regroup(block, passing, names);
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct EveryRow;

impl BlockFilter for EveryRow {
    fn rows(&mut self, _: LaneIdx, _: u64, _: &Block<'_>) -> u64 {
        u64::MAX
    }
}

pub(crate) struct TrackSweep<'a, F> {
    filter: F,
    lanes: Vec<LaneSweep<'a>>,
    /// The next start of each lane, by time, then by lane: parents come before children.
    next: StartQueue,
    /// Last started span of each lane.
    open: Vec<SweptRow>,
    /// A bit for each lane whose last span may still be open.
    open_bits: Vec<u64>,
    /// All spans that start before this time are swept.
    at_ns: i64,
}

/// A span that has started.
#[derive(Clone, Copy)]
struct SweptRow {
    start_ns: i64,
    end_ns: i64,
    /// Time up to which children have covered it; a later child covers it only from here on.
    covered_to_ns: i64,
    dur_ns: u64,
    name: NameIdx,
    /// Lane of its parent; [`NO_PARENT`] for none.
    parent: u32,
    /// Slot in the table of sums; [`NOT_SUMMED`] if it fails the filter.
    slot: u32,
    passes: bool,
}

const NO_PARENT: u32 = u32::MAX;
const NOT_SUMMED: u32 = u32::MAX;

impl SweptRow {
    const NONE: Self = Self {
        start_ns: i64::MAX,
        end_ns: i64::MIN,
        covered_to_ns: i64::MIN,
        dur_ns: 0,
        name: NameIdx::EMPTY,
        parent: NO_PARENT,
        slot: NOT_SUMMED,
        passes: false,
    };

    /// Returns whether it is open at `ts_ns`, which is not before its start.
    fn is_open_at(&self, ts_ns: i64) -> bool {
        self.start_ns <= ts_ns && ts_ns < self.end_ns
    }
}

/// Returns the span lanes among the lanes of a track.
pub(crate) fn span_lanes(store: &Store, lanes: Range<u32>) -> Range<u32> {
    // Lanes are sorted by kind.
    let is_before = |lane: u32, kind: LaneKind| store.lane(LaneIdx(lane)).info().kind < kind;
    let first = lanes.clone().find(|&lane| !is_before(lane, LaneKind::Spans)).unwrap_or(lanes.end);
    let has_flows = lanes.end > first && store.lane(LaneIdx(lanes.end - 1)).info().kind > LaneKind::Spans;
    first..lanes.end - u32::from(has_flows)
}

impl<'a, F: BlockFilter> TrackSweep<'a, F> {
    /// Starts at `from_ns` with the spans of a track; `lanes` are its [`span_lanes`].
    #[must_use]
    pub(crate) fn new(store: &'a Store, lanes: Range<u32>, from_ns: i64, filter: F) -> Self {
        let count = lanes.len();
        let decoded_max = decoded_rows_max(count);
        let mut sweep = Self {
            filter,
            lanes: lanes.map(|lane| LaneSweep::new(store, LaneIdx(lane), decoded_max)).collect(),
            next: StartQueue::default(),
            open: vec![SweptRow::NONE; count],
            open_bits: vec![0; count.div_ceil(64)],
            at_ns: from_ns,
        };
        for lane in 0..count {
            if let Some(open) =
                sweep.lanes[lane].seek(from_ns, &mut sweep.filter).filter(|open| open.is_open_at(from_ns))
            {
                sweep.open[lane] = open;
                sweep.open_bits[lane / 64] |= 1 << (lane % 64);
            }
            if let Some(start_ns) = sweep.lanes[lane].start_ns() {
                sweep.next.push((start_ns, lane as u32));
            }
        }
        for lane in 0..count {
            if sweep.open[lane].is_open_at(from_ns) {
                sweep.open[lane].parent = sweep.parent_at_start(lane);
            }
        }
        sweep
    }

    /// Returns the lane of the parent of a span that is open at the start of the sweep, if the parent is open as well.
    /// A span takes the first free lane, so the lane just above usually decides.
    fn parent_at_start(&self, lane: usize) -> u32 {
        let start_ns = self.open[lane].start_ns;
        for above in (0..lane).rev() {
            if self.open[above].start_ns <= start_ns {
                return above as u32;
            }
            // A parent that has ended is no longer covered, and hides the spans above it.
            if self.lanes[above].is_open_at(start_ns) {
                return NO_PARENT;
            }
        }
        NO_PARENT
    }

    /// Counts the spans that are open at the start of the sweep and start before `to_ns` as starting in the range.
    /// Calls `each` with the name and whole duration of each.
    pub(crate) fn count_open(&self, to_ns: i64, sums: &mut SumTable, mut each: impl FnMut(NameIdx, u64)) {
        let is_counted = |open: &&SweptRow| open.passes && open.is_open_at(self.at_ns) && open.start_ns < to_ns;
        for open in self.open.iter().filter(is_counted) {
            let slot = sums.slot(open.name);
            sums.at(slot).add_whole(open.dur_ns);
            each(open.name, open.dur_ns);
        }
    }

    /// Sums the range from the last end to `to_ns`; `i64::MAX` means no end. Only spans that pass are summed; all cover
    /// their parents. Calls `each` with the name and whole duration of each passing span that starts in the range.
    pub(crate) fn sum_to(&mut self, to_ns: i64, sums: &mut SumTable, mut each: impl FnMut(NameIdx, u64)) {
        let from_ns = self.at_ns;
        sums.begin_range();
        // The table may have been drained since the last range.
        self.each_open(from_ns, |sweep, lane| {
            let open = &mut sweep.open[lane];
            open.slot = if open.passes { sums.slot(open.name) as u32 } else { NOT_SUMMED };
            open.covered_to_ns = from_ns;
        });
        self.each_open(from_ns, |sweep, lane| {
            sweep.add_time(lane, from_ns, sweep.open[lane].end_ns.min(to_ns), sums);
        });
        while let Some((start_ns, lane)) = self.next.first() {
            if start_ns >= to_ns && to_ns < i64::MAX {
                break;
            }
            let rows = &mut self.lanes[lane as usize];
            let mut open = rows.open_span();
            self.next.replace_first(rows.advance(&mut self.filter).map(|after_ns| (after_ns, lane)));
            let lane = lane as usize;
            open.parent = self.parent_of(lane, start_ns);
            if open.passes {
                let slot = sums.slot(open.name);
                sums.at(slot).add_whole(open.dur_ns);
                open.slot = slot as u32;
                each(open.name, open.dur_ns);
            }
            let end_ns = open.end_ns.min(to_ns);
            self.open[lane] = open;
            self.open_bits[lane / 64] |= 1 << (lane % 64);
            self.add_time(lane, start_ns, end_ns, sums);
        }
        self.at_ns = to_ns;
    }

    /// Calls `work` for each lane whose span is open at `ts_ns`, and clears the bits of the others.
    fn each_open(&mut self, ts_ns: i64, mut work: impl FnMut(&mut Self, usize)) {
        for word in 0..self.open_bits.len() {
            let mut bits = self.open_bits[word];
            while bits != 0 {
                let lane = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if self.open[lane].is_open_at(ts_ns) {
                    work(self, lane);
                } else {
                    self.open_bits[word] &= !(1 << (lane % 64));
                }
            }
        }
    }

    /// Returns the lane of the innermost span above `lane` that is open at `ts_ns`. Clears the bits of ended spans, so
    /// that each is visited once.
    #[inline]
    fn parent_of(&mut self, lane: usize, ts_ns: i64) -> u32 {
        let mut word = lane / 64;
        let mut bits = self.open_bits[word] & ((1 << (lane % 64)) - 1);
        loop {
            while bits != 0 {
                let bit = 63 - bits.leading_zeros() as usize;
                let above = word * 64 + bit;
                if self.open[above].end_ns > ts_ns {
                    return above as u32;
                }
                bits &= !(1 << bit);
                self.open_bits[word] &= !(1 << bit);
            }
            let Some(before) = word.checked_sub(1) else { return NO_PARENT };
            word = before;
            bits = self.open_bits[word];
        }
    }

    /// Adds the time `[from_ns, to_ns)` of a lane's open span to its name and to the coverage of its parent.
    #[inline]
    fn add_time(&mut self, lane: usize, from_ns: i64, to_ns: i64, sums: &mut SumTable) {
        if to_ns <= from_ns {
            return;
        }
        let SweptRow { start_ns, parent, slot, .. } = self.open[lane];
        if slot != NOT_SUMMED {
            sums.add_time(slot as usize, from_ns, to_ns);
        }
        if parent != NO_PARENT {
            let parent = &mut self.open[parent as usize];
            let (covers_from_ns, covers_to_ns) = (from_ns.max(parent.covered_to_ns), to_ns.min(parent.end_ns));
            // The parent's lane may have a later span by now.
            if parent.start_ns <= start_ns && covers_from_ns < covers_to_ns {
                parent.covered_to_ns = covers_to_ns;
                if parent.slot != NOT_SUMMED {
                    sums.at(parent.slot as usize).covered_ns += u128::from(covers_to_ns.abs_diff(covers_from_ns));
                }
            }
        }
    }
}

/// Priority queue of the lanes' next starts. The nearest are in a sorted array, because the next row of a lane usually
/// comes soon. The rest is in a heap, which only tracks with many lanes need.
#[derive(Default)]
struct StartQueue {
    /// Sorted last to first. Empty only if `far` is.
    near: Vec<(i64, u32)>,
    /// None of them is before any of `near`.
    far: BinaryHeap<Reverse<(i64, u32)>>,
}

impl StartQueue {
    /// Longer arrays would cost more to shift than a heap operation.
    const NEAR_MAX: usize = 64;

    fn first(&self) -> Option<(i64, u32)> {
        self.near.last().copied()
    }

    fn push(&mut self, start: (i64, u32)) {
        if self.far.peek().is_some_and(|Reverse(first)| start > *first) {
            self.far.push(Reverse(start));
            return;
        }
        let before = self.near.iter().rev().take_while(|&&near| near < start).count();
        self.near.insert(self.near.len() - before, start);
        if self.near.len() > Self::NEAR_MAX {
            self.far.extend(self.near.drain(..Self::NEAR_MAX / 2).map(Reverse));
        }
    }

    /// Replaces the first start by the next one of its lane.
    #[inline]
    fn replace_first(&mut self, next: Option<(i64, u32)>) {
        if let Some(next) = next.filter(|next| self.far.peek().is_none_or(|Reverse(first)| next <= first)) {
            // Moves the starts before it in place, which is cheaper than a removal and an insertion.
            let Some(mut index) = self.near.len().checked_sub(1) else { return };
            while index > 0 && self.near[index - 1] < next {
                self.near[index] = self.near[index - 1];
                index -= 1;
            }
            self.near[index] = next;
            return;
        }
        self.near.pop();
        self.far.extend(next.map(Reverse));
        if self.near.is_empty() {
            self.near.extend((0..Self::NEAR_MAX / 2).map_while(|_| self.far.pop().map(|Reverse(start)| start)));
            self.near.reverse();
        }
    }
}

/// Reads the rows of one lane forward, block by block. Skips damaged extents.
struct LaneSweep<'a> {
    index: LaneIdx,
    lane: Lane<'a>,
    /// The names of the store if some spans failed: they have names of their own, but are summed with the others.
    names: Option<&'a Names>,
    extent: usize,
    block: usize,
    block_count: usize,
    current: Option<Extent<'a>>,
    /// Rows of the current block.
    rows: usize,
    /// A bit for each passing row of the current block.
    passing: u64,
    /// Next row of the current block.
    next: usize,
    /// Decoded rows of the block from `decoded_from` on.
    decoded: Vec<DecodedRow>,
    decoded_from: usize,
    /// Limit for the decoded rows.
    decoded_max: usize,
}

/// A decoded row. Its name is a key to sum by.
struct DecodedRow {
    start_ns: i64,
    dur_ns: u64,
    name: u32,
}

/// Returns how many rows of each of this many lanes are decoded at a time. These are whole blocks, unless the blocks of
/// so many lanes would take more memory than the lanes themselves. Then a block is decoded again for its next rows.
fn decoded_rows_max(lanes: usize) -> usize {
    /// Decoded rows of all lanes: 12 MiB. The deepest track has 65,536 lanes, and so at least 8 rows each. Tests decode
    /// parts of blocks.
    const DECODED_ROWS: usize = if cfg!(test) { 64 } else { 1 << 19 };
    (DECODED_ROWS / lanes.max(1)).clamp(1, BLOCK_ROWS)
}

impl<'a> LaneSweep<'a> {
    fn new(store: &'a Store, index: LaneIdx, decoded_max: usize) -> Self {
        let (lane, current) = (store.lane(index), None);
        let names = Some(&*store.meta().names).filter(|names| names.has_failed());
        let (decoded, decoded_from) = (Vec::new(), 0);
        Self {
            index,
            lane,
            names,
            extent: 0,
            block: 0,
            block_count: 0,
            current,
            rows: 0,
            passing: 0,
            next: 0,
            decoded,
            decoded_from,
            decoded_max,
        }
    }

    /// Seeks the first row that starts at or after `ts_ns`, and returns the row before it. Rows of a lane do not
    /// overlap, so only that row can be open then.
    fn seek(&mut self, ts_ns: i64, filter: &mut impl BlockFilter) -> Option<SweptRow> {
        let after = self.lane.extents().partition_point(|extent| extent.first_start_ns < ts_ns);
        let Some(extent) = after.checked_sub(1) else {
            self.enter(0, filter);
            return None;
        };
        let Some(entered) = self.lane.extent(extent) else {
            self.enter(extent + 1, filter);
            return None;
        };
        // The extent starts before that time, so one of its blocks does as well.
        let block = entered.directory().partition_point(|entry| entry.first_start_ns < ts_ns).saturating_sub(1);
        self.place_at(extent, entered, block, filter);
        let mut starts = [0; BLOCK_ROWS];
        entered.block(block).starts(&mut starts);
        let next = starts[..self.rows].partition_point(|&start_ns| start_ns < ts_ns);
        self.next = next.saturating_sub(1);
        self.decode_next(filter);
        if next == 0 {
            return None;
        }
        let before = self.open_span();
        self.advance(filter);
        Some(before)
    }

    /// Returns whether a span of the lane is open at `ts_ns`.
    fn is_open_at(&self, ts_ns: i64) -> bool {
        let mut other = Self { decoded: Vec::new(), ..*self };
        let last = other.seek(ts_ns.saturating_add(1), &mut EveryRow);
        last.is_some_and(|span| span.is_open_at(ts_ns))
    }

    /// Returns the start of the next row.
    fn start_ns(&self) -> Option<i64> {
        self.decoded.get(self.next.checked_sub(self.decoded_from)?).map(|row| row.start_ns)
    }

    /// Returns the next row as an open span. The row must exist.
    #[inline]
    fn open_span(&self) -> SweptRow {
        let next = self.decoded.get(self.next.wrapping_sub(self.decoded_from));
        let Some(&DecodedRow { start_ns, dur_ns, name }) = next else { return SweptRow::NONE };
        SweptRow {
            start_ns,
            end_ns: start_ns.saturating_add_unsigned(dur_ns),
            covered_to_ns: start_ns,
            dur_ns,
            name: NameIdx(name),
            parent: NO_PARENT,
            slot: NOT_SUMMED,
            passes: self.passing >> self.next & 1 != 0,
        }
    }

    /// Advances to the next row, and returns its start.
    #[inline]
    fn advance(&mut self, filter: &mut impl BlockFilter) -> Option<i64> {
        self.next += 1;
        if self.next >= self.decoded_from + self.decoded.len() {
            self.load_more(filter);
        }
        self.start_ns()
    }

    /// Decodes the next rows of the block. If the block is used up, decodes rows of the next non-empty block.
    fn load_more(&mut self, filter: &mut impl BlockFilter) {
        if self.next < self.rows {
            self.decode_next(filter);
        } else if let Some(extent) = self.current.filter(|_| self.block + 1 < self.block_count) {
            self.enter_block(self.extent, extent, self.block + 1, filter);
        } else {
            self.enter(self.extent + 1, filter);
        }
    }

    /// Decodes the first block of the first intact extent from `extent` on.
    fn enter(&mut self, extent: usize, filter: &mut impl BlockFilter) {
        (self.rows, self.next, self.block_count, self.current) = (0, 0, 0, None);
        self.decoded.clear();
        for index in extent..self.lane.extents().len() {
            if let Some(extent) = self.lane.extent(index) {
                self.enter_block(index, extent, 0, filter);
                return;
            }
        }
    }

    fn enter_block(&mut self, extent: usize, entered: Extent<'a>, block: usize, filter: &mut impl BlockFilter) {
        self.place_at(extent, entered, block, filter);
        self.decode_next(filter);
    }

    /// Goes to the first row of a block, and decodes none of it.
    fn place_at(&mut self, extent: usize, entered: Extent<'a>, block: usize, filter: &mut impl BlockFilter) {
        (self.extent, self.block, self.block_count, self.current) = (extent, block, entered.blocks(), Some(entered));
        let first_row = self.lane.extents()[extent].first_row + u64::from(entered.directory()[block].first_row());
        let block = entered.block(block);
        (self.rows, self.next) = (block.rows(), 0);
        self.passing = filter.rows(self.index, first_row, &block);
    }

    /// Decodes the rows of the current block from `next` on, as many as may be decoded.
    fn decode_next(&mut self, filter: &mut impl BlockFilter) {
        self.decoded.clear();
        self.decoded_from = self.next;
        let Some(extent) = self.current else { return };
        let block = extent.block(self.block);
        let (mut starts, mut durs, mut names) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS], [0; BLOCK_ROWS]);
        block.times(&mut starts, &mut durs);
        block.names(&mut names);
        let rows = self.next..self.rows.min(self.next + self.decoded_max);
        if let Some(regular) = self.names {
            for name in &mut names[rows.clone()] {
                *name = regular.regular(NameIdx(*name as u32)).0.into();
            }
        }
        // Each row is regrouped once, since that may read its arguments.
        let decoded_bits = rows.clone().fold(0, |bits, row| bits | 1_u64 << row);
        filter.regroup(&block, self.passing & decoded_bits, &mut names);
        // Most lanes have few rows, so no more is reserved than the block has.
        self.decoded.reserve_exact(rows.len());
        // Names have 32 bits; the column is unpacked into 64-bit words.
        let row = |row: usize| DecodedRow { start_ns: starts[row], dur_ns: durs[row], name: names[row] as u32 };
        self.decoded.extend(rows.map(row));
    }
}
