//! Tests that a tile of a lane that has become shorter is not drawn beyond the lane.

use super::*;
use crate::model::{NameIdx, TrackIdx};
use crate::query::RowCount;
use crate::store::lane::LaneIdx;

const LANE: TileOwner = TileOwner::Lane(LaneIdx(0));
const COUNTER: TileOwner = TileOwner::Lane(LaneIdx(1));
const LANES: [(TileOwner, LaneKind); 2] = [(LANE, LaneKind::Spans), (COUNTER, LaneKind::Counter)];

/// A lane with one span, and a counter with one value.
#[derive(Clone, Copy)]
struct OneSpan {
    start_ns: i64,
    end_ns: i64,
}

impl TileSource for OneSpan {
    fn info(&self, owner: TileOwner) -> Option<LaneInfo> {
        let (_, kind) = *LANES.iter().find(|(lane, _)| *lane == owner)?;
        let end_ns = if owner == LANE { self.end_ns } else { self.start_ns };
        Some(LaneInfo { track: TrackIdx(0), kind, depth: 0, rows: 1, start_ns: self.start_ns, end_ns })
    }

    fn longest(&self, _: TileOwner, buckets: Buckets, cells: &mut Vec<Cell>) -> ReadCount {
        let first = buckets.first.max(self.start_ns >> buckets.width_log2);
        let end = buckets.end().min((self.end_ns >> buckets.width_log2) + 1);
        cells.extend((first..end).map(|bucket| Cell {
            first_bucket: bucket,
            bucket_count: 1,
            row: 0,
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            name: NameIdx(0),
            unfinished: false,
            first_rows: RowCount::One,
            last_rows: RowCount::default(),
        }));
        ReadCount::default()
    }

    fn counter(&self, _: TileOwner, buckets: Buckets, cells: &mut Vec<CounterCell>) -> ReadCount {
        let first_bucket = buckets.first.max(self.start_ns >> buckets.width_log2);
        if let Ok(bucket_count @ 1..) = u32::try_from(buckets.end() - first_bucket) {
            cells.push(CounterCell { first_bucket, bucket_count, sampled_ns: None, min: 1.0, max: 1.0, last: 1.0 });
        }
        ReadCount::default()
    }
}

/// Returns the buckets that are drawn: of the lane, and of the counter.
fn drawn(tiles: &Tiles, buckets: Buckets) -> [Option<(i64, i64)>; 2] {
    let (mut cells, mut values) = (Vec::new(), Vec::new());
    tiles.spans(LANE, buckets, &mut cells);
    tiles.counter(COUNTER, buckets, &mut values);
    let ends = |first: Option<i64>, end: Option<i64>| first.zip(end);
    [
        ends(cells.first().map(|cell| cell.first_bucket), cells.last().map(Cell::end_bucket)),
        ends(values.first().map(|cell| cell.first_bucket), values.last().map(CounterCell::end_bucket)),
    ]
}

#[test]
fn a_lane_that_has_become_shorter_is_drawn_no_longer() {
    let long = OneSpan { start_ns: 0, end_ns: 1 << 20 };
    for later in [OneSpan { end_ns: 5000, ..long }, OneSpan { start_ns: 300_000, ..long }] {
        // A view of several tiles, and a narrower one that is drawn from them.
        let wide = Buckets { first: 0, count: 1024, width_log2: 10 };
        for seen in [wide, Buckets { first: 600, count: 300, width_log2: 9 }] {
            let mut tiles = Tiles::default();
            tiles.prepare(&long, wide, &LANES);
            tiles.outdate(|owner| Some((owner, later.info(owner)?)));
            let missing = tiles.begin_frame(&later, seen, &LANES);
            tiles.end_frame(&later, seen, &LANES);
            let before = drawn(&tiles, seen);
            tiles.insert_results(missing.iter().map(|query| query.run(&later)).collect());
            tiles.end_frame(&later, seen, &LANES);
            assert_eq!((tiles.pending(), tiles.unknown()), (0, &[][..]));
            let mut at_once = Tiles::default();
            at_once.prepare(&later, seen, &LANES);
            assert_eq!(drawn(&tiles, seen), drawn(&at_once, seen), "after the answers");
            // Until then, a bucket of the wider tile may be drawn for both of its halves.
            let exact = drawn(&at_once, seen);
            for (before, exact) in before.iter().zip(exact) {
                let spans = |range: Option<(i64, i64)>| range.map_or(0, |(first, end)| end - first);
                assert!(spans(*before).abs_diff(spans(exact)) <= 1, "{before:?} {exact:?}");
            }
        }
    }
}
