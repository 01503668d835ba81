//! The answers of past frames. A frame asks a lane for aligned tiles of buckets, so that while dragging only what scrolled
//! into view is asked again, while zooming within a power of two nothing is, and when zooming out past one the wider
//! buckets follow from the narrower ones.
//!
//! Whether all answers are waited for ([`Tiles::prepare`], for pictures) or come from the background while coarser ones
//! stand in for them ([`super::loader`], for the window) is not decided here.

use std::ops::RangeInclusive;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::rebucket::Answer;
use crate::model::TrackKind;
use crate::query::{Buckets, Cell, CounterCell, ReadCount, Snapshot, pixels};
use crate::scene::titles::track_title;
use crate::store::lane::{LaneIdx, LaneInfo, LaneKind};

/// What a frame asks of a capture. Work is bounded by the buckets asked for.
pub trait TileSource: Send + Sync {
    /// What is known of a lane without its rows.
    fn lane(&self, lane: LaneIdx) -> LaneInfo;
    /// The name of the track that a lane is of.
    fn track_name(&self, lane: LaneIdx) -> &str;
    /// Whether a lane is of states of a thread.
    fn is_of_states(&self, _lane: LaneIdx) -> bool {
        false
    }
    /// What tells the track that a lane is of from others, as text: for its colour.
    fn track_text(&self, lane: LaneIdx) -> String {
        self.track_name(lane).to_owned()
    }
    /// Appends the longest span of each bucket that has any, neighbours with the same answer as one cell.
    fn longest(&self, lane: LaneIdx, buckets: Buckets, cells: &mut Vec<Cell>) -> ReadCount;
    /// Appends the values of a counter in each bucket, neighbours with the same answer as one cell.
    fn counter(&self, lane: LaneIdx, buckets: Buckets, cells: &mut Vec<CounterCell>) -> ReadCount;
}

impl TileSource for Snapshot {
    fn lane(&self, lane: LaneIdx) -> LaneInfo {
        self.lane(lane)
    }

    fn track_name(&self, lane: LaneIdx) -> &str {
        &self.track(self.lane(lane).track).name
    }

    fn is_of_states(&self, lane: LaneIdx) -> bool {
        self.track(self.lane(lane).track).key.kind == TrackKind::State
    }

    fn track_text(&self, lane: LaneIdx) -> String {
        let (title, beside) = track_title(self.track(self.lane(lane).track));
        format!("{title} {beside}")
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

/// Cells that are kept, at 64 bytes each about 64 MiB: a view of 54 lanes has some 200,000 at most, and what is asked ahead
/// of a zoom as many.
const CELLS_KEPT: usize = 1 << 20;

/// How many halvings wider the buckets may be that stand in for missing ones: a span of a pixel is then drawn up to 64
/// pixels wide for a moment; beyond that, saying that nothing is known yet is more honest.
const STAND_IN_LEVELS: u32 = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct TileKey {
    lane: LaneIdx,
    width_log2: u32,
    tile: i64,
}

/// Something to ask of a capture, from any thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TileQuery(Asked);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Asked {
    Spans(TileKey),
    Counter(TileKey),
    /// The values that a counter ever takes.
    Range(LaneIdx),
}

/// The answer to a [`TileQuery`].
#[derive(Debug)]
pub(crate) struct TileResult {
    query: TileQuery,
    found: Found,
    read: ReadCount,
}

impl TileResult {
    /// What was asked.
    #[must_use]
    pub(crate) fn query(&self) -> TileQuery {
        self.query
    }
}

#[derive(Debug)]
enum Found {
    Spans(Box<[Cell]>),
    Counter(Box<[CounterCell]>),
    Range(f64, f64),
    /// The question cannot be answered.
    Nothing,
}

impl TileQuery {
    /// Asks.
    pub(crate) fn ask(self, answers: &dyn TileSource) -> TileResult {
        let mut read = ReadCount::default();
        let found = match self.0 {
            Asked::Spans(key) => {
                let mut cells = Vec::with_capacity(1 << TILE_LOG2);
                read = answers.longest(key.lane, buckets_of_tile(key), &mut cells);
                Found::Spans(cells.into_boxed_slice())
            }
            Asked::Counter(key) => {
                let mut cells = Vec::new();
                read = answers.counter(key.lane, buckets_of_tile(key), &mut cells);
                Found::Counter(cells.into_boxed_slice())
            }
            Asked::Range(lane) => {
                let (min, max) = whole_range(answers, lane);
                Found::Range(min, max)
            }
        };
        TileResult { query: self, found, read }
    }

    /// Says that it cannot be answered: what it is about stays veiled.
    #[must_use]
    pub(crate) fn failed(self) -> TileResult {
        TileResult { query: self, found: Found::Nothing, read: ReadCount::default() }
    }
}

/// Tiles of one kind of answer.
#[derive(Debug)]
struct Kept<T> {
    tiles: FxHashMap<TileKey, Tile<T>>,
    cells: usize,
}

#[derive(Debug)]
struct Tile<T> {
    cells: Box<[T]>,
    used_in_frame: u64,
    /// Whether the capture has grown since: it is drawn until the new answer is there.
    is_outdated: bool,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self { tiles: FxHashMap::default(), cells: 0 }
    }
}

/// The values that a counter ever takes.
#[derive(Debug, Clone, Copy)]
struct CounterRange {
    min: f64,
    max: f64,
    /// Whether the capture has grown since: it holds until the new answer is there.
    is_outdated: bool,
}

/// Answers by lane, bucket width and place.
#[derive(Debug, Default)]
pub struct Tiles {
    spans: Kept<Cell>,
    counters: Kept<CounterCell>,
    counter_ranges: FxHashMap<LaneIdx, CounterRange>,
    /// What cannot be answered, and is not asked again.
    failed: FxHashSet<TileQuery>,
    frame: u64,
    read: ReadCount,
    pending: usize,
    unknown: Vec<(LaneIdx, Buckets)>,
}

impl Tiles {
    /// Asks for every tile of `lanes` in view that is not known yet, in parallel, and waits for all answers.
    pub fn prepare(&mut self, answers: &dyn TileSource, buckets: Buckets, lanes: &[(LaneIdx, LaneKind)]) {
        let missing = self.begin_frame(answers, buckets, lanes);
        let results = missing.par_iter().map(|query| query.ask(answers)).collect();
        self.take(results);
        self.end_frame(answers, buckets, lanes);
    }

    /// Begins a frame: what must be asked for it, beyond what is known or follows from that.
    pub(crate) fn begin_frame(
        &mut self,
        answers: &dyn TileSource,
        buckets: Buckets,
        lanes: &[(LaneIdx, LaneKind)],
    ) -> Vec<TileQuery> {
        self.frame += 1;
        self.read = ReadCount::default();
        self.missing(answers, buckets, lanes)
    }

    /// What is not known yet of other buckets than those of the frame, to be asked ahead of a frame that may come.
    pub(crate) fn missing(
        &mut self,
        answers: &dyn TileSource,
        buckets: Buckets,
        lanes: &[(LaneIdx, LaneKind)],
    ) -> Vec<TileQuery> {
        let (mut missing, mut spans, mut counters) = (Vec::new(), Vec::new(), Vec::new());
        for &(lane, kind) in lanes {
            let info = answers.lane(lane);
            let keys = keys_of(lane, buckets).filter(|&key| reaches(&info, key));
            if kind == LaneKind::Counter {
                counters.extend(keys.filter(|&key| !self.counters.find(key, self.frame)).map(|key| (info, key)));
                if self.counter_ranges.get(&lane).is_none_or(|range| range.is_outdated) {
                    missing.push(TileQuery(Asked::Range(lane)));
                }
            } else {
                spans.extend(keys.filter(|&key| !self.spans.find(key, self.frame)).map(|key| (info, key)));
            }
        }
        missing.extend(self.spans.derive(spans, self.frame).into_iter().map(|key| TileQuery(Asked::Spans(key))));
        missing
            .extend(self.counters.derive(counters, self.frame).into_iter().map(|key| TileQuery(Asked::Counter(key))));
        missing.retain(|query| !self.failed.contains(query));
        missing
    }

    /// Takes answers, in any order.
    pub(crate) fn take(&mut self, results: Vec<TileResult>) {
        for TileResult { query, found, read } in results {
            self.read = self.read.plus(read);
            match (query.0, found) {
                (Asked::Spans(key), Found::Spans(cells)) => self.spans.keep(key, cells, self.frame),
                (Asked::Counter(key), Found::Counter(cells)) => self.counters.keep(key, cells, self.frame),
                (Asked::Range(lane), Found::Range(min, max)) => {
                    self.counter_ranges.insert(lane, CounterRange { min, max, is_outdated: false });
                }
                (_, Found::Nothing) => drop(self.failed.insert(query)),
                _ => debug_assert!(false, "an answer to another query"),
            }
        }
    }

    /// Ends the asking for a frame: finds what is still missing, and what may be forgotten.
    pub(crate) fn end_frame(&mut self, answers: &dyn TileSource, buckets: Buckets, lanes: &[(LaneIdx, LaneKind)]) {
        self.unknown.clear();
        self.pending = 0;
        for &(lane, kind) in lanes {
            let info = answers.lane(lane);
            for key in keys_of(lane, buckets).filter(|&key| reaches(&info, key)) {
                let (query, (is_known, is_shown)) = match kind {
                    LaneKind::Counter => (Asked::Counter(key), self.counters.state(key, self.frame)),
                    _ => (Asked::Spans(key), self.spans.state(key, self.frame)),
                };
                self.pending += usize::from(!is_known && !self.failed.contains(&TileQuery(query)));
                if !is_shown {
                    self.unknown.push((lane, buckets_of_tile(key)));
                }
            }
        }
        if self.spans.cells + self.counters.cells > CELLS_KEPT {
            self.spans.forget(CELLS_KEPT / 2);
            self.counters.forget(CELLS_KEPT / 4);
        }
    }

    /// Replaces `out` by a lane's cells in view, as one question for all `buckets` would have answered; where answers are
    /// pending, by those of wider buckets.
    pub(crate) fn spans(&self, lane: LaneIdx, buckets: Buckets, out: &mut Vec<Cell>) {
        out.clear();
        out.reserve(self.span_count(lane, buckets));
        self.each_span(lane, buckets, |cell| out.push(*cell));
    }

    /// Calls `take` with each cell of [`Tiles::spans`], in order of time.
    pub(crate) fn each_span(&self, lane: LaneIdx, buckets: Buckets, mut take: impl FnMut(&Cell)) {
        let mut held: Option<Cell> = None;
        for key in keys_of(lane, buckets) {
            self.spans.each(key, |cell| {
                // Only neighbours on both sides of a tile's edge may be one.
                if !held.as_mut().is_some_and(|held| held.extend(&cell))
                    && let Some(whole) = held.replace(cell)
                {
                    take(&whole);
                }
            });
        }
        held.iter().for_each(take);
    }

    /// About how many cells a lane has in view.
    #[must_use]
    pub(crate) fn span_count(&self, lane: LaneIdx, buckets: Buckets) -> usize {
        keys_of(lane, buckets).map(|key| self.spans.cells_of(key)).sum()
    }

    /// Replaces `out` by a counter's cells in view, by bucket.
    pub(crate) fn counter(&self, lane: LaneIdx, buckets: Buckets, out: &mut Vec<CounterCell>) {
        out.clear();
        for key in keys_of(lane, buckets) {
            self.counters.each(key, |cell| out.push(cell));
        }
    }

    /// The least and the largest value that a counter ever takes.
    #[must_use]
    pub(crate) fn counter_range(&self, lane: LaneIdx) -> (f64, f64) {
        self.counter_ranges.get(&lane).map_or((0.0, 0.0), |range| (range.min, range.max))
    }

    /// What was read for the answers that came since the frame began.
    #[must_use]
    pub(crate) fn read(&self) -> ReadCount {
        self.read
    }

    /// How many tiles of the frame are shown from wider buckets, or not at all, until their own answers come.
    #[must_use]
    pub(crate) fn pending(&self) -> usize {
        self.pending
    }

    /// The buckets of the frame of which nothing is known yet.
    #[must_use]
    pub(crate) fn unknown(&self) -> &[(LaneIdx, Buckets)] {
        &self.unknown
    }

    /// Takes a later look at the same capture, in which lanes have other numbers: what is known is asked again, and shown
    /// until it is answered.
    pub(crate) fn outdate(&mut self, lane_now: impl Fn(LaneIdx) -> Option<LaneIdx>) {
        self.spans.outdate(&lane_now);
        self.counters.outdate(&lane_now);
        let ranges = std::mem::take(&mut self.counter_ranges).into_iter();
        let outdated = ranges.map(|(lane, range)| Some((lane_now(lane)?, CounterRange { is_outdated: true, ..range })));
        self.counter_ranges = outdated.flatten().collect();
        self.failed.clear();
    }
}

impl<T: Answer> Kept<T> {
    /// Whether a tile is known; marks it as used.
    fn find(&mut self, key: TileKey, frame: u64) -> bool {
        let known = self.tiles.get_mut(&key).filter(|tile| !tile.is_outdated);
        known.map(|tile| tile.used_in_frame = frame).is_some()
    }

    /// Keeps those of some tiles that follow from narrower ones, and returns the others.
    fn derive(&mut self, keys: Vec<(LaneInfo, TileKey)>, frame: u64) -> Vec<TileKey> {
        // All of a view follow at once when a zoom out passes a power of two.
        let derived: Vec<Option<Box<[T]>>> = keys.par_iter().map(|(info, key)| self.of_halves(info, *key)).collect();
        let mut left = Vec::new();
        for ((_, key), cells) in keys.into_iter().zip(derived) {
            match cells {
                Some(cells) => self.keep(key, cells, frame),
                None => left.push(key),
            }
        }
        left
    }

    /// A tile from the two of the width below, if both are known.
    fn of_halves(&self, info: &LaneInfo, key: TileKey) -> Option<Box<[T]>> {
        let width_log2 = key.width_log2.checked_sub(1)?;
        let mut halves: [&[T]; 2] = [&[]; 2];
        for (half, tile) in halves.iter_mut().zip(key.tile * 2..) {
            let key = TileKey { width_log2, tile, ..key };
            match self.tiles.get(&key) {
                Some(tile) if !tile.is_outdated => *half = &tile.cells,
                None if !reaches(info, key) => {}
                _ => return None,
            }
        }
        Some(T::wider(halves.concat().into_iter()).into_boxed_slice())
    }

    fn keep(&mut self, key: TileKey, cells: Box<[T]>, used_in_frame: u64) {
        // An empty tile is an answer too, and takes room.
        self.cells += cells.len() + 1;
        if let Some(before) = self.tiles.insert(key, Tile { cells, used_in_frame, is_outdated: false }) {
            self.cells -= before.cells.len() + 1;
        }
    }

    /// Whether a tile's own answer is known, and whether there is anything to show for it; marks what is shown as used.
    fn state(&mut self, key: TileKey, frame: u64) -> (bool, bool) {
        let Some((levels, stand_in)) = self.shown(key) else { return (false, false) };
        let is_known = levels == 0 && !self.tiles[&stand_in].is_outdated;
        if let Some(tile) = self.tiles.get_mut(&stand_in) {
            tile.used_in_frame = frame;
        }
        (is_known, true)
    }

    /// The tile that is shown for another: itself, or the next wider one that is known, and by how many halvings.
    fn shown(&self, key: TileKey) -> Option<(u32, TileKey)> {
        (0..=STAND_IN_LEVELS)
            .map(|levels| {
                let (width_log2, tile) = (key.width_log2 + levels, key.tile >> levels);
                (levels, TileKey { width_log2, tile, ..key })
            })
            .find(|(_, wider)| self.tiles.contains_key(wider))
    }

    /// How many cells a tile has, if its own answer is known.
    fn cells_of(&self, key: TileKey) -> usize {
        self.tiles.get(&key).map_or(0, |tile| tile.cells.len())
    }

    /// Calls `take` with each cell that is shown for a tile.
    fn each(&self, key: TileKey, mut take: impl FnMut(T)) {
        let Some((levels, stand_in)) = self.shown(key) else { return };
        let cells = &self.tiles[&stand_in].cells;
        if levels == 0 {
            return cells.iter().copied().for_each(take);
        }
        let wanted = buckets_of_tile(key);
        let narrower = |cell: &T| cell.narrower(levels, wanted.first..wanted.end());
        cells.iter().filter_map(narrower).for_each(&mut take);
    }

    /// Forgets the tiles that were used longest ago until at most `cells_max` cells are left, but none of the last frame.
    fn forget(&mut self, cells_max: usize) {
        let newest = self.tiles.values().map(|tile| tile.used_in_frame).max().unwrap_or(0);
        let mut uses: Vec<(u64, usize)> =
            self.tiles.values().map(|tile| (tile.used_in_frame, tile.cells.len() + 1)).collect();
        uses.sort_unstable();
        let mut left = self.cells;
        let mut keep_from = 0;
        for (used_in_frame, cells) in uses {
            if left <= cells_max || used_in_frame == newest {
                break;
            }
            left -= cells;
            keep_from = used_in_frame + 1;
        }
        self.tiles.retain(|_, tile| tile.used_in_frame >= keep_from);
        self.cells = self.tiles.values().map(|tile| tile.cells.len() + 1).sum();
    }

    fn outdate(&mut self, lane_now: &impl Fn(LaneIdx) -> Option<LaneIdx>) {
        let before = std::mem::take(&mut self.tiles);
        let outdated = before.into_iter().filter_map(|(key, tile)| {
            Some((TileKey { lane: lane_now(key.lane)?, ..key }, Tile { is_outdated: true, ..tile }))
        });
        self.tiles = outdated.collect();
        self.cells = self.tiles.values().map(|tile| tile.cells.len() + 1).sum();
    }
}

fn buckets_of_tile(key: TileKey) -> Buckets {
    Buckets { first: key.tile << TILE_LOG2, count: 1 << TILE_LOG2, width_log2: key.width_log2 }
}

/// The tiles of a lane that hold any of `buckets`.
fn keys_of(lane: LaneIdx, buckets: Buckets) -> impl Iterator<Item = TileKey> {
    let tiles: RangeInclusive<i64> = buckets.first >> TILE_LOG2..=(buckets.end() - 1) >> TILE_LOG2;
    tiles.map(move |tile| TileKey { lane, width_log2: buckets.width_log2, tile })
}

/// Whether a lane has anything to say about a tile.
fn reaches(info: &LaneInfo, key: TileKey) -> bool {
    let covered = buckets_of_tile(key);
    let starts_later = info.start_ns >= covered.start_ns(covered.end());
    // A counter keeps its last value beyond its last row.
    let ended_before = info.kind != LaneKind::Counter && info.end_ns < covered.start_ns(covered.first);
    info.rows > 0 && !starts_later && !ended_before
}

/// The range of a counter over the whole of time; values that are no numbers are passed over.
fn whole_range(answers: &dyn TileSource, lane: LaneIdx) -> (f64, f64) {
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
