//! The log of all written extents of a store under construction, in file order. Each lane has the index of its last
//! entry, and each entry links to the previous one of its lane. Never reads the extents themselves.
//!
//! A trace may have millions of lanes with one small extent each. An entry takes 48 bytes; four vectors per lane took
//! about 300.

use std::io;

use super::extent::ExtentRecord;
use super::iforest::{self, Aggregate, LongestNs, MinMax};
use super::row_limit::next_index;
use super::signature;

/// A packed extent without a position in the file.
#[derive(Debug, Clone)]
pub(super) struct PackedExtent {
    /// Its offset is set when it is written.
    pub(crate) record: ExtentRecord,
    /// Aggregate of its rows, as words.
    pub(crate) aggregate: [u64; 2],
    /// Words of the [`signature`] of its names.
    pub(crate) signature: Vec<u64>,
}

/// The extents of one lane: a linked list in the [`ExtentLog`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct LaneExtents {
    /// One plus the index of the last entry; 0 for a lane without extents.
    last: u32,
    count: u32,
}

impl LaneExtents {
    /// Number of extents of the lane.
    pub(super) fn count(self) -> usize {
        self.count as usize
    }

    /// Drops the first extents of the lane.
    pub(super) fn drop_first(&mut self, extents: usize) {
        self.count = self.count.saturating_sub(u32::try_from(extents).unwrap_or(u32::MAX));
    }
}

#[derive(Debug)]
struct LogEntry {
    offset: u64,
    first_start_ns: i64,
    rows: u32,
    bytes: u32,
    aggregate: [u64; 2],
    /// The previous extent of the lane, numbered like [`LaneExtents::last`].
    previous: u32,
    /// Index of the first word of its signature.
    signature: u32,
}

const _: () = assert!(size_of::<LogEntry>() == 48);

/// The extents of all lanes in file order, linked by lane.
#[derive(Debug, Default)]
pub(super) struct ExtentLog {
    entries: Vec<LogEntry>,
    signatures: Vec<u64>,
}

impl ExtentLog {
    /// Adds an extent that was written at `offset` to the lane of `extents`. Returns an error beyond 2^32 extents or
    /// signature words, which need terabytes of rows.
    pub(super) fn push(&mut self, extents: &mut LaneExtents, packed: &PackedExtent, offset: u64) -> io::Result<()> {
        let position = next_index(self.entries.len(), "extents")?;
        let signature = next_index(self.signatures.len(), "words of signatures")?;
        self.signatures.extend_from_slice(&packed.signature);
        let ExtentRecord { first_start_ns, rows, bytes, .. } = packed.record;
        let (aggregate, previous) = (packed.aggregate, extents.last);
        self.entries.push(LogEntry { offset, first_start_ns, rows, bytes, aggregate, previous, signature });
        extents.last = position + 1;
        extents.count += 1;
        Ok(())
    }

    /// Number of entries, including dropped extents.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns a copy without dropped extents. Fails as [`Self::push`] does.
    pub(super) fn compacted<'a>(&self, lanes: impl Iterator<Item = &'a mut LaneExtents>) -> io::Result<Self> {
        let mut compacted = Self::default();
        for extents in lanes {
            let mut moved = LaneExtents::default();
            for position in self.lane(*extents).positions {
                let &LogEntry { offset, first_start_ns, rows, bytes, aggregate, signature, .. } =
                    &self.entries[position as usize];
                let first = signature as usize;
                let signature = self.signatures[first..first + signature::words(rows)].to_vec();
                let record = ExtentRecord { offset, first_start_ns, first_row: 0, rows, bytes };
                compacted.push(&mut moved, &PackedExtent { record, aggregate, signature }, offset)?;
            }
            *extents = moved;
        }
        Ok(compacted)
    }

    /// Returns the extents of a lane, first to last.
    pub(super) fn lane(&self, extents: LaneExtents) -> LaneLog<'_> {
        let mut positions = Vec::with_capacity(extents.count());
        let mut next = extents.last;
        // Earlier entries were dropped.
        while let Some(position) = next.checked_sub(1).filter(|_| positions.len() < extents.count()) {
            positions.push(position);
            next = self.entries[position as usize].previous;
        }
        positions.reverse();
        LaneLog { log: self, positions }
    }
}

/// The extents of one lane.
#[derive(Debug)]
pub(super) struct LaneLog<'a> {
    log: &'a ExtentLog,
    positions: Vec<u32>,
}

impl LaneLog<'_> {
    /// Returns the positions of the extents; rows are counted from the first extent that is not dropped.
    pub(super) fn records(&self) -> impl Iterator<Item = ExtentRecord> + '_ {
        let mut next_row = 0;
        self.entries().map(move |&LogEntry { offset, first_start_ns, rows, bytes, .. }| {
            let first_row = next_row;
            next_row += u64::from(rows);
            ExtentRecord { offset, first_start_ns, first_row, rows, bytes }
        })
    }

    /// Returns the words of the signatures.
    pub(super) fn signatures(&self) -> impl Iterator<Item = u64> + '_ {
        self.entries().flat_map(|entry| {
            let first = entry.signature as usize;
            self.log.signatures[first..first + signature::words(entry.rows)].iter().copied()
        })
    }

    /// Builds the forest above the extents, as words.
    pub(super) fn forest(&self, is_counter: bool) -> Vec<u64> {
        self.forest_with(is_counter, std::iter::empty())
    }

    /// Builds the forest above the extents and other aggregates after them.
    pub(super) fn forest_with(&self, is_counter: bool, later: impl Iterator<Item = [u64; 2]>) -> Vec<u64> {
        if is_counter {
            let leaf = |[min, max]: [u64; 2]| MinMax { min: f64::from_bits(min), max: f64::from_bits(max) };
            bytemuck::cast_slice(&self.nodes(later, leaf)).to_vec()
        } else {
            bytemuck::cast_slice(&self.nodes(later, |[longest, _]| LongestNs(longest))).to_vec()
        }
    }

    fn nodes<A: Aggregate>(&self, later: impl Iterator<Item = [u64; 2]>, leaf: impl Fn([u64; 2]) -> A) -> Vec<A> {
        let mut nodes = Vec::with_capacity(iforest::node_count(self.positions.len()));
        let aggregates = self.entries().map(|entry| entry.aggregate).chain(later);
        aggregates.for_each(|aggregate| iforest::push(&mut nodes, leaf(aggregate)));
        nodes
    }

    fn entries(&self) -> impl Iterator<Item = &LogEntry> {
        self.positions.iter().map(|&position| &self.log.entries[position as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extents_of_lanes_that_take_turns_come_back_lane_by_lane() {
        let mut log = ExtentLog::default();
        let mut lanes = [LaneExtents::default(); 3];
        // 1,024 rows have a signature of four words.
        let rows = |turn: u64| if turn.is_multiple_of(2) { 1024 } else { 10 };
        let packed = |turn: u64, first_row| PackedExtent {
            record: ExtentRecord { offset: 0, first_start_ns: turn as i64, first_row, rows: rows(turn), bytes: 8 },
            aggregate: [turn % 7, 0],
            signature: vec![turn; signature::words(rows(turn))],
        };
        let mut lane_rows = [0u64; 3];
        let mut expected = [const { Vec::new() }; 3];
        for turn in 0..20u64 {
            let lane = (turn % 3) as usize;
            let packed = packed(turn, lane_rows[lane]);
            log.push(&mut lanes[lane], &packed, turn * 100).unwrap();
            expected[lane].push(ExtentRecord { offset: turn * 100, ..packed.record });
            lane_rows[lane] += u64::from(rows(turn));
        }
        for (lane, extents) in lanes.into_iter().enumerate() {
            let of_lane: Vec<u64> = (0..20).filter(|turn| turn % 3 == lane as u64).collect();
            let found = log.lane(extents);
            assert_eq!(extents.count(), of_lane.len());
            let fields = |record: &ExtentRecord| {
                let &ExtentRecord { offset, first_start_ns, first_row, rows, bytes } = record;
                (offset, first_start_ns, first_row, rows, bytes)
            };
            let records = found.records().map(|record| fields(&record));
            assert!(records.eq(expected[lane].iter().map(fields)));
            let signatures = of_lane.iter().flat_map(|&turn| vec![turn; if turn % 2 == 0 { 4 } else { 0 }]);
            assert!(found.signatures().eq(signatures));
            let mut nodes = Vec::new();
            of_lane.iter().for_each(|turn| iforest::push(&mut nodes, LongestNs(turn % 7)));
            assert_eq!(found.forest(false), nodes.iter().map(|node| node.0).collect::<Vec<_>>());
        }
        assert_eq!(log.lane(LaneExtents::default()).records().count(), 0);
    }
}
