//! Merges the hits of several lanes in order.
//!
//! A lane keeps the position of its next hit and one bit per hit of its block, about 60 bytes. The rows of blocks are
//! cached for a bounded number of lanes.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::{Hit, Hits};
use crate::model::NameIdx;
use crate::query::decoded_blocks::{CacheSlot, DECODED_LANES_MAX, DecodedBlocks};
use crate::store::details::DetailReader;
use crate::store::{LaneIdx, LaneKind, RowIdx};

/// The hits that start at or after a time, in order.
pub(super) struct SortedHits<'a> {
    hits: &'a Hits,
    from_ns: i64,
    heads: BinaryHeap<Reverse<Head>>,
    decoded: DecodedBlocks,
    reader: DetailReader,
}

/// A lane in the heap, by the start of its next hit, or by a lower bound of this start.
struct Head {
    at: (i64, LaneIdx),
    /// The remaining hits of one block, a bit per row; 0 if the next hit is unknown.
    hits: u64,
    /// Row of the block's first slot.
    first_row: u64,
    /// Index into the lanes with hits.
    lane_index: u32,
    /// Index into the lane's extents with hits.
    extent_index: u32,
    /// The block of `hits`, or the next to test.
    block: u32,
    decoded: CacheSlot,
}

impl<'a> SortedHits<'a> {
    pub(super) fn new(hits: &'a Hits, from_ns: i64) -> Self {
        Self::with_decoded_lanes(hits, from_ns, DECODED_LANES_MAX)
    }

    /// Creates an iterator that caches blocks of at most `decoded_max` lanes.
    fn with_decoded_lanes(hits: &'a Hits, from_ns: i64, decoded_max: usize) -> Self {
        let head = |(lane_index, of_lane): (u32, &super::LaneHits)| {
            let lane = hits.0.snapshot.store().lane(of_lane.lane);
            if lane.info().end_ns < from_ns {
                return None;
            }
            let records = lane.extents();
            // The last extent that starts before `from_ns` may still have later hits.
            let after = of_lane.extents.partition_point(|&(extent, _)| records[extent].first_start_ns < from_ns);
            let next = after.saturating_sub(1);
            let &(extent, _) = of_lane.extents.get(next)?;
            Some(Reverse(Head {
                at: (records[extent].first_start_ns.max(from_ns), of_lane.lane),
                hits: 0,
                first_row: 0,
                lane_index,
                extent_index: next as u32,
                block: 0,
                decoded: CacheSlot::default(),
            }))
        };
        let heads = (0..).zip(&hits.0.lanes).filter_map(head).collect();
        let decoded = DecodedBlocks::new(decoded_max);
        Self { hits, from_ns, heads, decoded, reader: DetailReader::default() }
    }

    /// Advances to the next block with a hit at or after the start, or to the end of the extent. Returns false after
    /// the last extent.
    fn advance(&mut self, head: &mut Head) -> bool {
        let of_lane = &self.hits.0.lanes[head.lane_index as usize];
        let scan = self.hits.scan(of_lane);
        let Some(&(extent, _)) = of_lane.extents.get(head.extent_index as usize) else { return false };
        for (block, block_hits) in scan.blocks(extent, head.block as usize, &mut self.reader) {
            let rows = self.decoded.rows(head.lane_index, &mut head.decoded, || Some(block_hits.block));
            let later = rows.partition_point(|row| row.start_ns < self.from_ns);
            let hits = block_hits.mask & u64::MAX.checked_shl(later as u32).unwrap_or(0);
            if let Some(next) = rows.get(hits.trailing_zeros() as usize) {
                (head.at, head.hits) = ((next.start_ns, of_lane.lane), hits);
                (head.first_row, head.block) = (block_hits.first_row, block as u32);
                return true;
            }
            self.decoded.used_up(head.lane_index, head.decoded);
        }
        (head.extent_index, head.block) = (head.extent_index + 1, 0);
        let Some(&(extent, _)) = of_lane.extents.get(head.extent_index as usize) else { return false };
        // The extent may have no hit, so others may come first.
        head.at = (scan.lane().extents()[extent].first_start_ns.max(self.from_ns), of_lane.lane);
        true
    }

    /// Takes the next hit of a lane, and advances to the following hit in the same block.
    fn take_hit(&mut self, head: &mut Head) -> Hit {
        let of_lane = &self.hits.0.lanes[head.lane_index as usize];
        let lane = self.hits.0.snapshot.store().lane(of_lane.lane);
        let (extent, _) = of_lane.extents[head.extent_index as usize];
        let decode = || Some(lane.extent(extent)?.block(head.block as usize));
        let rows = self.decoded.rows(head.lane_index, &mut head.decoded, decode);
        let slot = head.hits.trailing_zeros();
        let row = rows.get(slot as usize).copied().unwrap_or_default();
        let hit = Hit {
            start_ns: row.start_ns,
            row: RowIdx { lane: of_lane.lane, row: head.first_row + u64::from(slot) },
            dur_ns: if lane.info().kind == LaneKind::Spans { row.value } else { 0 },
            name: NameIdx(row.name),
        };
        head.hits &= head.hits - 1;
        if let Some(next) = rows.get(head.hits.trailing_zeros() as usize) {
            head.at.0 = next.start_ns;
        } else {
            self.decoded.used_up(head.lane_index, head.decoded);
            head.block += 1;
        }
        hit
    }
}

impl Iterator for SortedHits<'_> {
    type Item = Hit;

    fn next(&mut self) -> Option<Hit> {
        loop {
            let Reverse(mut head) = self.heads.pop()?;
            let hit = (head.hits != 0).then(|| self.take_hit(&mut head));
            if head.hits != 0 || self.advance(&mut head) {
                self.heads.push(Reverse(head));
            }
            if hit.is_some() {
                return hit;
            }
        }
    }
}

impl Head {
    /// Returns the order in the heap. A bound comes before a hit at the same time, because the lane of the bound may
    /// come before the lane of the hit.
    fn key(&self) -> (i64, bool, LaneIdx) {
        (self.at.0, self.hits != 0, self.at.1)
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::cancel::Cancel;
    use crate::base::progress::Progress;
    use crate::query::ledger_traces::{TraceSpan, store};
    use crate::query::scope::Scope;
    use crate::query::search::search;

    #[test]
    fn hits_of_more_lanes_than_stay_decoded_come_in_the_same_order() {
        const LANES: u32 = 50;
        // Half of the lanes have all their spans in a burst; the others have spans all the time.
        let span = |track: u32, row: i64| {
            let from = i64::from(track);
            let start_ns = if track.is_multiple_of(2) { from * 1000 + row * 3 } else { from + row * 700 };
            TraceSpan { track, lane: 0, start_ns, dur_ns: 2, name: 1 + track % 7 }
        };
        let spans: Vec<_> = (0..LANES).flat_map(|track| (0..130).map(move |row| span(track, row))).collect();
        let (_, snapshot) = store(&spans, None, 1 << 20);
        let hits = search(&snapshot, &Scope::default(), &Cancel::default(), &Progress::default()).unwrap();
        let mut expected: Vec<_> = spans.iter().map(|span| (span.start_ns, span.track, span.dur_ns)).collect();
        expected.sort_unstable();
        for from_ns in [i64::MIN, 24_000] {
            let later: Vec<_> = expected.iter().copied().filter(|hit| hit.0 >= from_ns).collect();
            for (max, decoded_max) in [(1000, 50 * 3), (30, 50 * 3 + 25 * 130 / 4), (4, 51 * 130), (1, 51 * 130)] {
                let mut sorted = SortedHits::with_decoded_lanes(&hits, from_ns, max);
                let found: Vec<_> = sorted.by_ref().map(|hit| (hit.start_ns, hit.row.lane.0, hit.dur_ns)).collect();
                assert!(found == later, "with {max} from {from_ns}");
                let (blocks, decoded) = sorted.decoded.counts();
                assert!(blocks <= max && decoded <= decoded_max, "{blocks} of {max}, {decoded} decoded");
            }
        }
    }
}
