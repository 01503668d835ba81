//! All rows of some lanes in one order of time: what scripts list and exports write. Memory goes with the lanes, and is a
//! block for each.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::cursor::LaneCursor;
use super::snapshot::Snapshot;
use crate::store::block::{BLOCK_ROWS, Row};
use crate::store::{Lane, LaneIdx, LaneKind, RowIdx};

/// A row with where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortedRow {
    /// Its lane and its place there.
    pub index: RowIdx,
    /// What its lane holds.
    pub kind: LaneKind,
    /// As it is kept.
    pub row: Row,
    /// Whether it has no end in the capture.
    pub unfinished: bool,
}

/// Iterates over the rows of lanes by time, then depth, then lane: parents come before their children.
pub struct SortedRows<'a> {
    snapshot: &'a Snapshot,
    lanes: Vec<LaneRows<'a>>,
    /// The next row of each lane, smallest first.
    heads: BinaryHeap<Reverse<Head>>,
    end_ns: i64,
}

/// Time, depth (instants and counters count as below everything at their time), lane.
type Head = (i64, u32, u32);

/// What is left of one lane, a block at a time.
struct LaneRows<'a> {
    index: LaneIdx,
    kind: LaneKind,
    rank: u32,
    lane: Lane<'a>,
    extent: usize,
    block: usize,
    rows: Vec<Row>,
    next: usize,
    row: u64,
}

impl<'a> SortedRows<'a> {
    /// The rows of `lanes` that start before `end_ns` and reach beyond `start_ns`; instants and values from `start_ns` on.
    #[must_use]
    pub fn new(snapshot: &'a Snapshot, lanes: impl IntoIterator<Item = LaneIdx>, start_ns: i64, end_ns: i64) -> Self {
        let mut rows = Self { snapshot, lanes: Vec::new(), heads: BinaryHeap::new(), end_ns };
        for lane in lanes {
            rows.add(lane, start_ns);
        }
        rows
    }

    fn add(&mut self, index: LaneIdx, start_ns: i64) {
        let mut cursor = LaneCursor::new(self.snapshot, index);
        let from = cursor.first_from(start_ns);
        let before =
            from.row.checked_sub(1).filter(|&row| cursor.span(row).is_some_and(|span| span.end_ns() > start_ns));
        let row = before.unwrap_or(from.row);
        let position = cursor.position_of(row);
        let lane = cursor.lane();
        let info = lane.info();
        let rank = if info.kind == LaneKind::Spans { u32::from(info.depth) } else { u32::MAX };
        let (extent, block, slot) = position.parts();
        let mut rows = LaneRows {
            index,
            kind: info.kind,
            rank,
            lane,
            extent,
            block,
            rows: Vec::with_capacity(BLOCK_ROWS),
            next: slot,
            row,
        };
        rows.fill();
        if let Some(first) = rows.rows.get(rows.next) {
            self.heads.push(Reverse((first.start_ns, rank, self.lanes.len() as u32)));
            self.lanes.push(rows);
        }
    }
}

impl Iterator for SortedRows<'_> {
    type Item = SortedRow;

    fn next(&mut self) -> Option<SortedRow> {
        let mut head = self.heads.peek_mut()?;
        let Reverse((ts_ns, _, lane)) = *head;
        if ts_ns >= self.end_ns {
            return None;
        }
        let rows = &mut self.lanes[lane as usize];
        let row = rows.rows[rows.next];
        let index = RowIdx { lane: rows.index, row: rows.row };
        let sorted = SortedRow { index, kind: rows.kind, row, unfinished: rows.lane.is_unfinished(rows.row) };
        rows.next += 1;
        rows.row += 1;
        if rows.next == rows.rows.len() {
            rows.next = 0;
            rows.block += 1;
            rows.fill();
        }
        match rows.rows.get(rows.next) {
            Some(next) => *head = Reverse((next.start_ns, rows.rank, lane)),
            None => drop(std::collections::binary_heap::PeekMut::pop(head)),
        }
        Some(sorted)
    }
}

impl LaneRows<'_> {
    /// Decodes the block that the rows go on with; no rows at the end of the lane. Damaged extents are passed over.
    fn fill(&mut self) {
        self.rows.clear();
        while let Some(record) = self.lane.extents().get(self.extent) {
            match self.lane.extent(self.extent) {
                Some(extent) if self.block < extent.blocks() => {
                    extent.block(self.block).decode(&mut self.rows);
                    return;
                }
                Some(_) => {}
                None => self.row = record.first_row + u64::from(record.rows),
            }
            self.extent += 1;
            self.block = 0;
        }
    }
}
