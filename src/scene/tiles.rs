//! The answers of past frames. A frame asks a lane for aligned tiles of buckets, so that while dragging only what scrolled
//! into view is asked again, and while zooming within a power of two nothing is.

use std::ops::RangeInclusive;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::viewport::Viewport;
use crate::query::{Buckets, Cell, CounterCell, ReadCount, Snapshot, pixels};
use crate::store::lane::{LaneIdx, LaneInfo, LaneKind};

/// What a frame asks of a capture. Work is bounded by the buckets asked for.
pub trait LaneAnswers: Sync {
    /// What is known of a lane without its rows.
    fn lane(&self, lane: LaneIdx) -> LaneInfo;
    /// The name of the track that a lane is of.
    fn track_name(&self, lane: LaneIdx) -> &str;
    /// Appends the longest span of each bucket that has any, neighbours with the same answer as one cell.
    fn longest(&self, lane: LaneIdx, buckets: Buckets, cells: &mut Vec<Cell>) -> ReadCount;
    /// Appends the values of a counter in each bucket, neighbours with the same answer as one cell.
    fn counter(&self, lane: LaneIdx, buckets: Buckets, cells: &mut Vec<CounterCell>) -> ReadCount;
}

impl LaneAnswers for Snapshot {
    fn lane(&self, lane: LaneIdx) -> LaneInfo {
        self.lane(lane)
    }

    fn track_name(&self, lane: LaneIdx) -> &str {
        &self.track(self.lane(lane).track).name
    }

    fn longest(&self, lane: LaneIdx, buckets: Buckets, cells: &mut Vec<Cell>) -> ReadCount {
        pixels::longest(self, lane, buckets, cells)
    }

    fn counter(&self, lane: LaneIdx, buckets: Buckets, cells: &mut Vec<CounterCell>) -> ReadCount {
        pixels::counter(self, lane, buckets, cells)
    }
}

/// The binary logarithm of the buckets in a tile: 256, so that a drag asks for little and a full view for few tiles.
const TILE_LOG2: u32 = 8;

/// Cells that are kept; at 64 bytes each about 32 MiB.
const CELLS_KEPT: usize = 1 << 19;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct TileKey {
    lane: LaneIdx,
    width_log2: u32,
    tile: i64,
}

#[derive(Debug)]
struct Tile<T> {
    cells: Box<[T]>,
    used_in_frame: u64,
}

/// Answers by lane, bucket width and place.
#[derive(Debug, Default)]
pub struct Tiles {
    spans: FxHashMap<TileKey, Tile<Cell>>,
    counters: FxHashMap<TileKey, Tile<CounterCell>>,
    counter_ranges: FxHashMap<LaneIdx, (f64, f64)>,
    cells_kept: usize,
    frame: u64,
    read: ReadCount,
}

/// The buckets of a view: as wide as half a pixel to a whole one, so that columns are sharp.
#[must_use]
pub fn buckets_of(view: &Viewport) -> Buckets {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and a float to u64 saturates"
    )]
    let least_ns = (view.ns_per_px() / 2.0).ceil() as u64;
    Buckets::covering(view.start_ns(), view.end_ns(), least_ns)
}

impl Tiles {
    /// Asks for every tile of `lanes` in view that is not known yet, lanes and tiles in parallel.
    pub fn prepare(&mut self, answers: &impl LaneAnswers, buckets: Buckets, lanes: &[(LaneIdx, LaneKind)]) {
        self.frame += 1;
        self.read = ReadCount::default();
        let (spans, counters): (Vec<_>, Vec<_>) = lanes.iter().partition(|(_, kind)| *kind != LaneKind::Counter);
        let missing = touch(&mut self.spans, self.frame, answers, buckets, &spans);
        let (cells, read) = ask(&mut self.spans, self.frame, &missing, |key, out| {
            answers.longest(key.lane, buckets_of_tile(*key), out)
        });
        self.cells_kept += cells;
        self.read = self.read.plus(read);
        let missing = touch(&mut self.counters, self.frame, answers, buckets, &counters);
        let (cells, read) = ask(&mut self.counters, self.frame, &missing, |key, out| {
            answers.counter(key.lane, buckets_of_tile(*key), out)
        });
        self.cells_kept += cells;
        self.read = self.read.plus(read);
        for &(lane, _) in counters {
            self.counter_ranges.entry(lane).or_insert_with(|| whole_range(answers, lane));
        }
        if self.cells_kept > CELLS_KEPT {
            self.drop_unused();
        }
    }

    /// Replaces `out` by a lane's cells in view, as one question for all `buckets` would have answered.
    pub fn spans(&self, lane: LaneIdx, buckets: Buckets, out: &mut Vec<Cell>) {
        out.clear();
        for cell in cells_in(&self.spans, lane, buckets) {
            match out.last_mut() {
                Some(last)
                    if last.row == cell.row
                        && last.first_bucket + i64::from(last.bucket_count) == cell.first_bucket =>
                {
                    last.bucket_count = last.bucket_count.saturating_add(cell.bucket_count);
                    last.rows = last.rows.saturating_add(cell.rows);
                }
                _ => out.push(*cell),
            }
        }
    }

    /// A counter's cells in view, by bucket.
    pub fn counter(&self, lane: LaneIdx, buckets: Buckets) -> impl Iterator<Item = &CounterCell> {
        cells_in(&self.counters, lane, buckets)
    }

    /// The least and the largest value that a counter ever takes.
    #[must_use]
    pub fn counter_range(&self, lane: LaneIdx) -> (f64, f64) {
        self.counter_ranges.get(&lane).copied().unwrap_or((0.0, 0.0))
    }

    /// What the last [`Tiles::prepare`] had to read.
    #[must_use]
    pub fn read(&self) -> ReadCount {
        self.read
    }

    fn drop_unused(&mut self) {
        let frame = self.frame;
        self.spans.retain(|_, tile| tile.used_in_frame == frame);
        self.counters.retain(|_, tile| tile.used_in_frame == frame);
        let kept = self.spans.values().map(|tile| tile.cells.len()).sum::<usize>()
            + self.counters.values().map(|tile| tile.cells.len()).sum::<usize>();
        self.cells_kept = kept;
    }
}

fn buckets_of_tile(key: TileKey) -> Buckets {
    Buckets { first: key.tile << TILE_LOG2, count: 1 << TILE_LOG2, width_log2: key.width_log2 }
}

/// The tiles that hold any of `buckets`.
fn tiles_of(buckets: Buckets) -> RangeInclusive<i64> {
    buckets.first >> TILE_LOG2..=(buckets.end() - 1) >> TILE_LOG2
}

/// Marks the known tiles as used, and returns the unknown ones that the lane reaches into.
fn touch<T>(
    known: &mut FxHashMap<TileKey, Tile<T>>,
    frame: u64,
    answers: &impl LaneAnswers,
    buckets: Buckets,
    lanes: &[&(LaneIdx, LaneKind)],
) -> Vec<TileKey> {
    let mut missing = Vec::new();
    for &&(lane, kind) in lanes {
        let info = answers.lane(lane);
        for tile in tiles_of(buckets) {
            let key = TileKey { lane, width_log2: buckets.width_log2, tile };
            if let Some(tile) = known.get_mut(&key) {
                tile.used_in_frame = frame;
                continue;
            }
            let covered = buckets_of_tile(key);
            let starts_later = info.start_ns >= covered.start_ns(covered.end());
            // A counter keeps its last value beyond its last row.
            let ended_before = kind != LaneKind::Counter && info.end_ns < covered.start_ns(covered.first);
            if info.rows > 0 && !starts_later && !ended_before {
                missing.push(key);
            }
        }
    }
    missing
}

/// Asks for the missing tiles and returns how many cells came, and what it took to read them.
fn ask<T: Send>(
    known: &mut FxHashMap<TileKey, Tile<T>>,
    frame: u64,
    missing: &[TileKey],
    question: impl Fn(&TileKey, &mut Vec<T>) -> ReadCount + Sync,
) -> (usize, ReadCount) {
    let answered: Vec<(Box<[T]>, ReadCount)> = missing
        .par_iter()
        .map(|key| {
            let mut cells = Vec::new();
            let read = question(key, &mut cells);
            (cells.into_boxed_slice(), read)
        })
        .collect();
    let (mut cell_count, mut total) = (0, ReadCount::default());
    for (key, (cells, read)) in missing.iter().zip(answered) {
        // An empty tile is an answer too, and takes room.
        cell_count += cells.len() + 1;
        total = total.plus(read);
        known.insert(*key, Tile { cells, used_in_frame: frame });
    }
    (cell_count, total)
}

fn cells_in<T>(known: &FxHashMap<TileKey, Tile<T>>, lane: LaneIdx, buckets: Buckets) -> impl Iterator<Item = &T> {
    tiles_of(buckets)
        .filter_map(move |tile| known.get(&TileKey { lane, width_log2: buckets.width_log2, tile }))
        .flat_map(|tile| tile.cells.iter())
}

/// The range of a counter over the whole of time; values that are no numbers are passed over.
fn whole_range(answers: &impl LaneAnswers, lane: LaneIdx) -> (f64, f64) {
    let info = answers.lane(lane);
    let mut cells = Vec::new();
    // A few buckets and not one: a single value that is no number must not spoil the whole.
    let width_ns = info.end_ns.abs_diff(info.start_ns) / 64 + 1;
    answers.counter(lane, Buckets::covering(info.start_ns, info.end_ns.saturating_add(1), width_ns), &mut cells);
    cells
        .iter()
        .filter(|cell| cell.min.is_finite() && cell.max.is_finite())
        .map(|cell| (cell.min, cell.max))
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
        .unwrap_or((0.0, 0.0))
}
