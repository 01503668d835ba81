//! Divides the rows of several lanes into slices of time, to be sorted on different threads. The slices follow each
//! other without gaps, so their rows one after the other are those of [`super::rows::SortedRows`].
//!
//! Only directories of extents are read to divide them. A block on a boundary belongs to both slices, and is decoded
//! for each: one block per lane and slice.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::cursor::LaneCursor;
use super::rows::{block_from, first_reaching, rank};
use super::snapshot::Snapshot;
use crate::store::block::{BLOCK_ROWS, Row};
use crate::store::{LaneIdx, Store};

/// Limit for the lanes: with more, most blocks would be decoded for several slices.
const LANES_MAX: usize = 4096;

/// A slice with more blocks than this many times its usual ones has too many rows of one time.
const CROWDED: usize = 4;

/// An iterator over the slices of some lanes. It may end before their last row: see [`RowSlices::rest_from_ns`].
pub(crate) struct RowSlices<'a> {
    store: &'a Store,
    /// By depth, then in the given order, as rows of one time are sorted.
    lanes: Vec<LaneIdx>,
    /// By lane: the first block that belongs to no slice yet.
    next: Vec<SliceBlock>,
    /// The start of that block of each lane, the smallest first.
    heads: BinaryHeap<Reverse<(i64, u32)>>,
    /// By lane: the last block of earlier slices, whose last rows may belong to the next one.
    open: Vec<SliceBlock>,
    from_ns: i64,
    to_ns: Option<i64>,
    /// Number of blocks of a slice, unless many rows have the same time.
    slice_blocks: usize,
    is_crowded: bool,
}

/// A block of a lane.
#[derive(Debug, Clone, Copy)]
struct SliceBlock {
    /// Index in the lanes of the slices.
    lane: u32,
    extent: u32,
    block: u16,
    /// First row to read.
    slot: u16,
}

/// The rows of a slice: rows of `blocks` from a time up to another.
#[derive(Debug)]
pub(crate) struct RowSlice {
    /// Sorted by lane, then by position.
    blocks: Vec<(LaneIdx, SliceBlock)>,
    from_ns: i64,
    to_ns: Option<i64>,
}

/// Consecutive rows of a lane.
pub(crate) struct LaneRun<'a> {
    pub(crate) lane: LaneIdx,
    pub(crate) rows: &'a [Row],
    /// Whether the end of the last row is missing from the trace.
    pub(crate) is_unfinished: bool,
}

impl<'a> RowSlices<'a> {
    /// Creates slices of about `slice_rows` rows of `lanes`, with the rows of [`super::rows::SortedRows::new`]. Returns
    /// `None` for too many lanes.
    #[must_use]
    pub(crate) fn new(
        snapshot: &'a Snapshot,
        lanes: &[LaneIdx],
        (from_ns, to_ns): (Option<i64>, Option<i64>),
        slice_rows: usize,
    ) -> Option<Self> {
        if lanes.len() > LANES_MAX {
            return None;
        }
        let store = snapshot.store();
        let mut lanes = lanes.to_vec();
        lanes.sort_by_key(|&lane| rank(store.lane(lane).info()));
        let (mut next, mut heads) = (Vec::new(), BinaryHeap::new());
        for (number, &lane) in (0..).zip(&lanes) {
            let mut cursor = LaneCursor::new(store, lane);
            let position = first_reaching(&mut cursor, from_ns.unwrap_or(i64::MIN));
            let (extent, block, slot) = position.parts();
            next.push(SliceBlock { lane: number, extent: extent as u32, block: block as u16, slot: slot as u16 });
            if let Some((first_ns, _)) = cursor.times_at(position) {
                heads.push(Reverse((first_ns, number)));
            }
        }
        let slice_blocks = slice_rows.div_ceil(BLOCK_ROWS);
        let (open, from_ns) = (Vec::new(), i64::MIN);
        Some(Self { store, lanes, next, heads, open, from_ns, to_ns, slice_blocks, is_crowded: false })
    }

    /// Returns the time from which on rows are in no slice, because too many of them start at that time. Returns `None`
    /// if all rows are in slices.
    #[must_use]
    pub(crate) fn rest_from_ns(&self) -> Option<i64> {
        self.is_crowded.then_some(self.from_ns)
    }
}

impl Iterator for RowSlices<'_> {
    type Item = RowSlice;

    fn next(&mut self) -> Option<RowSlice> {
        if self.is_crowded {
            return None;
        }
        let Self { store, lanes, next, heads, .. } = self;
        let mut blocks = self.open.clone();
        let (mut added, mut last_ns) = (0, None);
        while let Some(mut head) = heads.peek_mut() {
            let Reverse((first_ns, lane)) = *head;
            let is_within = self.to_ns.is_none_or(|to_ns| first_ns < to_ns);
            // The rows of a time stay together.
            if !is_within || (added >= self.slice_blocks && last_ns != Some(first_ns)) {
                break;
            }
            if added >= CROWDED * self.slice_blocks {
                self.is_crowded = true;
                return None;
            }
            (added, last_ns) = (added + 1, Some(first_ns));
            let block = &mut next[lane as usize];
            blocks.push(*block);
            match block_from(store.lane(lanes[lane as usize]), block.extent, block.block + 1) {
                Some((extent, number, next_ns)) => {
                    *block = SliceBlock { lane, extent, block: number, slot: 0 };
                    *head = Reverse((next_ns, lane));
                }
                None => drop(PeekMut::pop(head)),
            }
        }
        let first_ns = heads.peek().map(|Reverse((first_ns, _))| *first_ns);
        let to_ns = first_ns.filter(|&first_ns| self.to_ns.is_none_or(|to_ns| first_ns < to_ns)).or(self.to_ns);
        if blocks.is_empty() {
            return None;
        }
        blocks.sort_by_key(|block| (block.lane, block.extent, block.block));
        self.open.clear();
        self.open.extend(blocks.chunk_by(|a, b| a.lane == b.lane).filter_map(<[_]>::last));
        self.open
            .retain(|block| to_ns.is_some_and(|to_ns| store.lane(lanes[block.lane as usize]).info().end_ns >= to_ns));
        if first_ns.is_none() || to_ns == self.to_ns {
            self.open.clear();
        }
        let blocks = blocks.into_iter().map(|block| (lanes[block.lane as usize], block)).collect();
        let slice = RowSlice { blocks, from_ns: self.from_ns, to_ns };
        self.from_ns = to_ns.unwrap_or(i64::MAX);
        Some(slice)
    }
}

impl RowSlice {
    /// Calls `each` with the rows of each lane in order. Lanes are sorted as rows of one time are, so that a stable
    /// sort of all rows by time gives their order. Rows of damaged blocks are missing.
    pub(crate) fn each_run(&self, store: &Store, mut each: impl FnMut(LaneRun<'_>)) {
        let mut rows = Vec::with_capacity(BLOCK_ROWS);
        let of_one_extent =
            |a: &(LaneIdx, SliceBlock), b: &(LaneIdx, SliceBlock)| (a.0, a.1.extent) == (b.0, b.1.extent);
        for blocks in self.blocks.chunk_by(of_one_extent) {
            let (lane, SliceBlock { extent, .. }) = blocks[0];
            let stored = store.lane(lane);
            let Some(readable) = stored.extent(extent as usize) else { continue };
            let before = stored.extents()[extent as usize].first_row;
            for &(_, SliceBlock { block, slot, .. }) in blocks {
                rows.clear();
                readable.block(block.into()).decode(&mut rows);
                let start = rows.partition_point(|row| row.start_ns < self.from_ns).max(slot.into());
                let end = self.to_ns.map_or(rows.len(), |to_ns| rows.partition_point(|row| row.start_ns < to_ns));
                let Some(within @ [.., _]) = rows.get(start..end) else { continue };
                let first_row = before + u64::from(readable.directory()[usize::from(block)].first_row());
                each(LaneRun { lane, rows: within, is_unfinished: stored.is_unfinished(first_row + end as u64 - 1) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::ledger_traces::{TraceSpan, spans, store};
    use crate::query::rows::SortedRows;

    type FoundRow = (LaneIdx, Row, bool);

    /// Returns the rows of all slices, then the rows in no slice, and the numbers of slices and of decoded blocks.
    fn sliced(
        snapshot: &Snapshot,
        range: (Option<i64>, Option<i64>),
        slice_rows: usize,
    ) -> (Vec<FoundRow>, usize, usize) {
        let lanes: Vec<LaneIdx> = snapshot.event_lanes().collect();
        let mut slices = RowSlices::new(snapshot, &lanes, range, slice_rows).unwrap();
        let (mut found, mut count, mut blocks) = (Vec::new(), 0, 0);
        for slice in &mut slices {
            let mut rows: Vec<FoundRow> = Vec::new();
            slice.each_run(snapshot.store(), |run| {
                rows.extend(run.rows.iter().map(|&row| (run.lane, row, false)));
                rows.last_mut().unwrap().2 = run.is_unfinished;
            });
            rows.sort_by_key(|(_, row, _)| row.start_ns);
            found.extend(rows);
            (count, blocks) = (count + 1, blocks + slice.blocks.len());
        }
        if let Some(from_ns) = slices.rest_from_ns() {
            let range = (Some(range.0.map_or(from_ns, |start_ns| start_ns.max(from_ns))), range.1);
            found.extend(merged(snapshot, range).filter(|(_, row, _)| row.start_ns >= from_ns));
        }
        (found, count, blocks)
    }

    fn merged(snapshot: &Snapshot, (from_ns, to_ns): (Option<i64>, Option<i64>)) -> impl Iterator<Item = FoundRow> {
        let rows = SortedRows::new(snapshot, snapshot.event_lanes(), from_ns, to_ns);
        rows.map(|row| (row.index.lane, row.row, row.unfinished))
    }

    #[test]
    fn slices_one_after_the_other_have_the_rows_of_a_merge() {
        let crowd = |number: u64| TraceSpan { track: 0, lane: 0, start_ns: (number / 900) as i64, dur_ns: 0, name: 1 };
        let lists = [spans(5, 3, 300, 3, -999), spans(1, 1, 9, 3, i64::MIN), (0..2700).map(crowd).collect(), vec![]];
        for (number, list) in lists.iter().enumerate() {
            let (_file, snapshot) = store(list, None, 0);
            for range in
                [(None, None), (Some(0), None), (None, Some(700)), (Some(1), Some(701)), (Some(i64::MAX), None)]
            {
                let expected: Vec<FoundRow> = merged(&snapshot, range).collect();
                for slice_rows in [1, 64, 200, 1000, 100_000] {
                    let (found, slices, _) = sliced(&snapshot, range, slice_rows);
                    assert!(found == expected, "list {number}, {range:?}, {slice_rows} rows, {slices} slices");
                }
            }
        }
    }

    #[test]
    fn a_slice_decodes_one_more_block_per_lane_than_it_has() {
        let (_file, snapshot) = store(&spans(3, 2, 20_000, 7, 0), None, 0);
        let lanes = snapshot.event_lanes().count();
        let blocks = sliced(&snapshot, (None, None), usize::MAX / 2).2;
        for slice_rows in [1000, 4000] {
            let (found, slices, decoded) = sliced(&snapshot, (None, None), slice_rows);
            let expected = found.len() / slice_rows;
            assert!((expected / 2..=expected + 1).contains(&slices), "{slices} slices of {slice_rows}");
            assert!(decoded <= blocks + slices * lanes, "{decoded} of {blocks} blocks, {slices} slices, {lanes} lanes");
        }
    }

    #[test]
    fn rows_of_too_many_lanes_are_not_divided() {
        let (_file, snapshot) = store(&spans(2, 1, 10, 3, 0), None, 0);
        let lanes = |count| vec![LaneIdx(0); count];
        assert!(RowSlices::new(&snapshot, &lanes(LANES_MAX), (None, None), 100).is_some());
        assert!(RowSlices::new(&snapshot, &lanes(LANES_MAX + 1), (None, None), 100).is_none());
    }
}
