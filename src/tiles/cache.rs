//! The tile cache. A tile is an aligned run of buckets. So a drag loads only what scrolls into view, and a zoom within
//! a power of two loads nothing. A zoom out past a power of two derives the wider buckets from the narrower ones.
//!
//! The caller either waits for all tiles ([`Tiles::prepare`], for pictures), or loads them in the background and draws
//! coarser ones meanwhile ([`super::loader`], for the window).

use std::ops::{Range, RangeInclusive};

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::rebucket::TileCell;
use super::source::{TileOwner, TileSource};
use crate::query::open_end::OpenEnd;
use crate::query::{Buckets, Cell, CounterCell, ReadCount};
use crate::store::lane::{LaneInfo, LaneKind};

/// Binary logarithm of the buckets per tile: 256, so that a drag loads little and a full view needs few tiles.
const TILE_LOG2: u32 = 8;

/// Limit for the cached cells, about 64 MiB at 64 bytes each. A view of 54 lanes has at most about 200,000, and the
/// prefetch of a zoom as many.
const CELLS_KEPT: usize = 1 << 20;

/// Maximum number of doublings in width of buckets that are drawn for missing ones. A one-pixel span is then up to 64
/// pixels wide for a moment; beyond that, marking the buckets as unknown is more honest.
const STAND_IN_LEVELS: u32 = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TileKey {
    owner: TileOwner,
    width_log2: u32,
    tile: i64,
}

/// A query to a [`TileSource`], from any thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TileQuery {
    Spans(TileKey),
    Counter(TileKey),
    /// The smallest and largest value of a counter.
    Range(TileOwner),
    /// The span that is open at the end of a lane.
    OpenEnd(TileOwner),
}

/// The answer to a [`TileQuery`].
#[derive(Debug)]
pub(crate) struct TileResult {
    query: TileQuery,
    answer: TileAnswer,
    read: ReadCount,
}

impl TileResult {
    #[must_use]
    pub(crate) fn query(&self) -> TileQuery {
        self.query
    }
}

#[derive(Debug)]
enum TileAnswer {
    Spans(Box<[Cell]>),
    Counter(Box<[CounterCell]>),
    Range(f64, f64),
    OpenEnd(Option<OpenEnd>),
    /// The query failed; it is not repeated.
    Failed,
}

impl TileQuery {
    pub(crate) fn run(self, source: &dyn TileSource) -> TileResult {
        let mut read = ReadCount::default();
        let answer = match self {
            TileQuery::Spans(key) => {
                let mut cells = Vec::with_capacity(1 << TILE_LOG2);
                read = source.longest(key.owner, buckets_of_tile(key), &mut cells);
                TileAnswer::Spans(cells.into_boxed_slice())
            }
            TileQuery::Counter(key) => {
                let mut cells = Vec::new();
                read = source.counter(key.owner, buckets_of_tile(key), &mut cells);
                TileAnswer::Counter(cells.into_boxed_slice())
            }
            TileQuery::Range(owner) => {
                let (min, max) = whole_range(source, owner);
                TileAnswer::Range(min, max)
            }
            TileQuery::OpenEnd(owner) => TileAnswer::OpenEnd(source.open_end(owner)),
        };
        TileResult { query: self, answer, read }
    }

    /// Returns the failure of this query: its area stays marked as unknown.
    #[must_use]
    pub(crate) fn failed(self) -> TileResult {
        TileResult { query: self, answer: TileAnswer::Failed, read: ReadCount::default() }
    }
}

/// Cached tiles of one cell type.
#[derive(Debug)]
struct TileMap<T> {
    tiles: FxHashMap<TileKey, Tile<T>>,
    cells: usize,
}

#[derive(Debug)]
struct Tile<T> {
    cells: Box<[T]>,
    used_in_frame: u64,
    /// Whether the trace has grown since. The tile is drawn until the new answer arrives.
    is_outdated: bool,
}

impl<T> Default for TileMap<T> {
    fn default() -> Self {
        Self { tiles: FxHashMap::default(), cells: 0 }
    }
}

/// The smallest and largest value of a counter.
#[derive(Debug, Clone, Copy)]
struct CounterRange {
    min: f64,
    max: f64,
    /// Whether the trace has grown since. The range is used until the new answer arrives.
    is_outdated: bool,
}

/// The span that is open at the end of a lane; `None` if its row is damaged.
#[derive(Debug, Clone, Copy)]
struct CachedOpenEnd {
    open: Option<OpenEnd>,
    /// Whether the trace has grown since. The span is drawn until the new answer arrives.
    is_outdated: bool,
}

/// Cached tiles, keyed by lane, bucket width and tile index.
#[derive(Debug, Default)]
pub struct Tiles {
    spans: TileMap<Cell>,
    counters: TileMap<CounterCell>,
    counter_ranges: FxHashMap<TileOwner, CounterRange>,
    /// Of the lanes with an open end.
    open_ends: FxHashMap<TileOwner, CachedOpenEnd>,
    /// Failed queries, which are not repeated.
    failed: FxHashSet<TileQuery>,
    frame: u64,
    read: ReadCount,
    pending: usize,
    unknown: Vec<(TileOwner, Buckets)>,
}

impl Tiles {
    /// Queries every missing tile of `owners` in view, in parallel, and waits for all answers.
    pub fn prepare(&mut self, source: &dyn TileSource, buckets: Buckets, owners: &[(TileOwner, LaneKind)]) {
        let missing = self.begin_frame(source, buckets, owners);
        let results = missing.par_iter().map(|query| query.run(source)).collect();
        self.insert_results(results);
        self.end_frame(source, buckets, owners);
    }

    /// Starts a frame, and returns the queries for its tiles that are neither cached nor derivable from cached ones.
    pub(crate) fn begin_frame(
        &mut self,
        source: &dyn TileSource,
        buckets: Buckets,
        owners: &[(TileOwner, LaneKind)],
    ) -> Vec<TileQuery> {
        self.frame += 1;
        self.read = ReadCount::default();
        self.missing(source, buckets, owners)
    }

    /// Returns the queries for tiles missing from the cache. `buckets` may differ from the frame's, to prefetch.
    pub(crate) fn missing(
        &mut self,
        source: &dyn TileSource,
        buckets: Buckets,
        owners: &[(TileOwner, LaneKind)],
    ) -> Vec<TileQuery> {
        let (mut missing, mut spans, mut counters) = (Vec::new(), Vec::new(), Vec::new());
        for &(owner, kind) in owners {
            let Some(info) = source.info(owner) else { continue };
            let keys = keys_of(owner, buckets).filter(|&key| reaches(&info, key));
            if kind == LaneKind::Counter {
                counters.extend(keys.filter(|&key| !self.counters.find(key, self.frame)).map(|key| (info, key)));
                if self.counter_ranges.get(&owner).is_none_or(|range| range.is_outdated) {
                    missing.push(TileQuery::Range(owner));
                }
            } else {
                if kind == LaneKind::Spans && self.misses_open_end(source, owner) {
                    missing.push(TileQuery::OpenEnd(owner));
                }
                spans.extend(keys.filter(|&key| !self.spans.find(key, self.frame)).map(|key| (info, key)));
            }
        }
        missing.extend(self.spans.derive(spans, self.frame).into_iter().map(TileQuery::Spans));
        missing.extend(self.counters.derive(counters, self.frame).into_iter().map(TileQuery::Counter));
        missing.retain(|query| !self.failed.contains(query));
        missing
    }

    /// Returns whether the open end of a lane is to be loaded. Forgets one that the lane no longer has.
    fn misses_open_end(&mut self, source: &dyn TileSource, owner: TileOwner) -> bool {
        if !source.has_open_end(owner) {
            self.open_ends.remove(&owner);
            return false;
        }
        self.open_ends.get(&owner).is_none_or(|end| end.is_outdated)
    }

    /// Inserts answers, in any order.
    pub(crate) fn insert_results(&mut self, results: Vec<TileResult>) {
        for TileResult { query, answer, read } in results {
            self.read = self.read.plus(read);
            match (query, answer) {
                (TileQuery::Spans(key), TileAnswer::Spans(cells)) => self.spans.keep(key, cells, self.frame),
                (TileQuery::Counter(key), TileAnswer::Counter(cells)) => self.counters.keep(key, cells, self.frame),
                (TileQuery::Range(owner), TileAnswer::Range(min, max)) => {
                    self.counter_ranges.insert(owner, CounterRange { min, max, is_outdated: false });
                }
                (TileQuery::OpenEnd(owner), TileAnswer::OpenEnd(open)) => {
                    self.open_ends.insert(owner, CachedOpenEnd { open, is_outdated: false });
                }
                (_, TileAnswer::Failed) => drop(self.failed.insert(query)),
                _ => debug_assert!(false, "an answer to another query"),
            }
        }
    }

    /// Ends a frame: records which tiles are missing, and evicts unused ones.
    pub(crate) fn end_frame(&mut self, source: &dyn TileSource, buckets: Buckets, owners: &[(TileOwner, LaneKind)]) {
        self.unknown.clear();
        self.pending = 0;
        for &(owner, kind) in owners {
            let Some(info) = source.info(owner) else { continue };
            if kind == LaneKind::Spans && self.misses_open_end(source, owner) {
                self.pending += usize::from(!self.failed.contains(&TileQuery::OpenEnd(owner)));
            }
            for key in keys_of(owner, buckets).filter(|&key| reaches(&info, key)) {
                let (query, (is_known, is_shown)) = match kind {
                    LaneKind::Counter => (TileQuery::Counter(key), self.counters.state(key, self.frame)),
                    _ => (TileQuery::Spans(key), self.spans.state(key, self.frame)),
                };
                self.pending += usize::from(!is_known && !self.failed.contains(&query));
                if !is_shown {
                    self.unknown.push((owner, buckets_of_tile(key)));
                }
            }
        }
        if self.spans.cells + self.counters.cells > CELLS_KEPT {
            self.spans.forget(CELLS_KEPT / 2);
            self.counters.forget(CELLS_KEPT / 4);
        }
    }

    /// Replaces `out` by a lane's cells in view, equal to a single query for all `buckets`. Where answers are pending,
    /// uses wider buckets.
    pub(crate) fn spans(&self, owner: TileOwner, buckets: Buckets, out: &mut Vec<Cell>) {
        out.clear();
        out.reserve(self.span_count(owner, buckets));
        self.each_span(owner, buckets, |cell| out.push(*cell));
    }

    /// Calls `take` with each cell of [`Tiles::spans`], in time order.
    pub(crate) fn each_span(&self, owner: TileOwner, buckets: Buckets, mut take: impl FnMut(&Cell)) {
        let mut last_cell: Option<Cell> = None;
        for key in keys_of(owner, buckets) {
            self.spans.each(key, |cell| {
                // Only cells on both sides of a tile boundary may have to be merged.
                if !last_cell.as_mut().is_some_and(|last_cell| last_cell.extend(&cell))
                    && let Some(whole) = last_cell.replace(cell)
                {
                    take(&whole);
                }
            });
        }
        last_cell.iter().for_each(take);
    }

    /// Estimates the number of a lane's cells in view.
    #[must_use]
    pub(crate) fn span_count(&self, owner: TileOwner, buckets: Buckets) -> usize {
        keys_of(owner, buckets).map(|key| self.spans.cells_of(key)).sum()
    }

    /// Replaces `out` by a counter's cells in view, by bucket.
    pub(crate) fn counter(&self, owner: TileOwner, buckets: Buckets, out: &mut Vec<CounterCell>) {
        out.clear();
        for key in keys_of(owner, buckets) {
            self.counters.each(key, |cell| out.push(cell));
        }
    }

    /// Returns the smallest and largest value of a counter, if it is loaded.
    #[must_use]
    pub(crate) fn counter_range(&self, owner: TileOwner) -> Option<(f64, f64)> {
        self.counter_ranges.get(&owner).map(|range| (range.min, range.max))
    }

    /// Returns the span that is open at the end of a lane, if it is loaded.
    #[must_use]
    pub(crate) fn open_end(&self, owner: TileOwner) -> Option<&OpenEnd> {
        self.open_ends.get(&owner)?.open.as_ref()
    }

    /// Returns the reads of all results that arrived since the frame started.
    #[must_use]
    pub(crate) fn read(&self) -> ReadCount {
        self.read
    }

    /// Number of tiles of the frame that are drawn from wider buckets, or not at all, until their own answers arrive.
    #[must_use]
    pub(crate) fn pending(&self) -> usize {
        self.pending
    }

    /// Returns the buckets of the frame without any tile.
    #[must_use]
    pub(crate) fn unknown(&self) -> &[(TileOwner, Buckets)] {
        &self.unknown
    }

    /// Switches to a later snapshot of the same trace, with other lane indices. The old tiles are loaded again, and
    /// drawn until then, within the new bounds of their lanes: nothing beyond them would be loaded again.
    pub(crate) fn outdate(&mut self, owner_now: impl Fn(TileOwner) -> Option<(TileOwner, LaneInfo)>) {
        self.spans.outdate(&owner_now);
        self.counters.outdate(&owner_now);
        let ranges = std::mem::take(&mut self.counter_ranges).into_iter();
        let outdated =
            ranges.map(|(owner, range)| Some((owner_now(owner)?.0, CounterRange { is_outdated: true, ..range })));
        self.counter_ranges = outdated.flatten().collect();
        let open_ends = std::mem::take(&mut self.open_ends).into_iter();
        let outdated =
            open_ends.map(|(owner, end)| Some((owner_now(owner)?.0, CachedOpenEnd { is_outdated: true, ..end })));
        self.open_ends = outdated.flatten().collect();
        self.failed.clear();
    }
}

impl<T: TileCell> TileMap<T> {
    /// Returns whether a tile is cached, and marks it as used.
    fn find(&mut self, key: TileKey, frame: u64) -> bool {
        let tile = self.tiles.get_mut(&key).filter(|tile| !tile.is_outdated);
        tile.map(|tile| tile.used_in_frame = frame).is_some()
    }

    /// Derives tiles from narrower ones, and returns the keys of the others.
    fn derive(&mut self, keys: Vec<(LaneInfo, TileKey)>, frame: u64) -> Vec<TileKey> {
        // When a zoom out passes a power of two, all tiles of a view are derived at once.
        let derived: Vec<Option<Box<[T]>>> = keys.par_iter().map(|(info, key)| self.derive_tile(info, *key)).collect();
        let mut left = Vec::new();
        for ((_, key), cells) in keys.into_iter().zip(derived) {
            match cells {
                Some(cells) => self.keep(key, cells, frame),
                None => left.push(key),
            }
        }
        left
    }

    /// Derives a tile from the two of half its width, if both are loaded.
    fn derive_tile(&self, info: &LaneInfo, key: TileKey) -> Option<Box<[T]>> {
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
        // An empty tile takes space too.
        self.cells += cells.len() + 1;
        if let Some(before) = self.tiles.insert(key, Tile { cells, used_in_frame, is_outdated: false }) {
            self.cells -= before.cells.len() + 1;
        }
    }

    /// Returns whether a tile is up to date, and whether anything can be drawn for it. Marks the drawn tile as used.
    fn state(&mut self, key: TileKey, frame: u64) -> (bool, bool) {
        for (levels, key) in stand_ins(key) {
            if let Some(tile) = self.tiles.get_mut(&key) {
                tile.used_in_frame = frame;
                return (levels == 0 && !tile.is_outdated, true);
            }
        }
        (false, false)
    }

    /// Returns the tile to draw for another: itself, or the narrowest wider one that is cached, with the number of
    /// doublings.
    fn drawn_tile(&self, key: TileKey) -> Option<(u32, &Tile<T>)> {
        stand_ins(key).find_map(|(levels, key)| Some((levels, self.tiles.get(&key)?)))
    }

    /// Number of cells of a tile, if it is cached.
    fn cells_of(&self, key: TileKey) -> usize {
        self.tiles.get(&key).map_or(0, |tile| tile.cells.len())
    }

    /// Calls `take` with each cell that is drawn for a tile.
    fn each(&self, key: TileKey, mut take: impl FnMut(T)) {
        let Some((levels, Tile { cells, .. })) = self.drawn_tile(key) else { return };
        if levels == 0 {
            return cells.iter().copied().for_each(take);
        }
        let wanted = buckets_of_tile(key);
        let narrower = |cell: &T| cell.narrower(levels, wanted.first..wanted.end());
        cells.iter().filter_map(narrower).for_each(&mut take);
    }

    /// Evicts the least recently used tiles until at most `cells_max` cells are left, but none of the last frame.
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

    fn outdate(&mut self, owner_now: &impl Fn(TileOwner) -> Option<(TileOwner, LaneInfo)>) {
        let before = std::mem::take(&mut self.tiles);
        let outdated = before.into_iter().filter_map(|(key, tile)| {
            let (owner, info) = owner_now(key.owner)?;
            let (key, left) = (TileKey { owner, ..key }, reached_buckets(&info, key.width_log2));
            if !reaches(&info, key) {
                return None;
            }
            let covered = buckets_of_tile(key);
            let is_whole = left.start <= covered.first && covered.end() <= left.end;
            let cells = if is_whole {
                tile.cells
            } else {
                tile.cells.iter().filter_map(|cell| cell.narrower(0, left.clone())).collect()
            };
            Some((key, Tile { cells, is_outdated: true, ..tile }))
        });
        self.tiles = outdated.collect();
        self.cells = self.tiles.values().map(|tile| tile.cells.len() + 1).sum();
    }
}

fn buckets_of_tile(key: TileKey) -> Buckets {
    Buckets { first: key.tile << TILE_LOG2, count: 1 << TILE_LOG2, width_log2: key.width_log2 }
}

/// Iterates over a tile and the wider ones that can be drawn for it, each with the number of doublings.
fn stand_ins(key: TileKey) -> impl Iterator<Item = (u32, TileKey)> {
    (0..=STAND_IN_LEVELS).map(move |levels| {
        let (width_log2, tile) = (key.width_log2 + levels, key.tile >> levels);
        (levels, TileKey { width_log2, tile, ..key })
    })
}

/// Iterates over the tiles of a lane that overlap `buckets`.
fn keys_of(owner: TileOwner, buckets: Buckets) -> impl Iterator<Item = TileKey> {
    let tiles: RangeInclusive<i64> = buckets.first >> TILE_LOG2..=(buckets.end() - 1) >> TILE_LOG2;
    tiles.map(move |tile| TileKey { owner, width_log2: buckets.width_log2, tile })
}

/// Returns whether a lane has any data in a tile.
fn reaches(info: &LaneInfo, key: TileKey) -> bool {
    let covered = buckets_of_tile(key);
    let starts_later = info.start_ns >= covered.start_ns(covered.end());
    // A counter keeps its last value beyond its last row.
    let ended_before = info.kind != LaneKind::Counter && info.end_ns < covered.start_ns(covered.first);
    info.rows > 0 && !starts_later && !ended_before
}

/// Returns the buckets in which a lane has any data.
fn reached_buckets(info: &LaneInfo, width_log2: u32) -> Range<i64> {
    // As in `reaches`, a counter has no end.
    let end = if info.kind == LaneKind::Counter { i64::MAX } else { (info.end_ns >> width_log2).saturating_add(1) };
    info.start_ns >> width_log2..end
}

/// Returns the range of a counter over all time; NaN values are ignored.
fn whole_range(source: &dyn TileSource, owner: TileOwner) -> (f64, f64) {
    let Some(info) = source.info(owner) else { return (0.0, 0.0) };
    let mut cells = Vec::new();
    // Several buckets are queried instead of one, so that a NaN does not spoil the whole range.
    let width_ns = info.end_ns.abs_diff(info.start_ns) / 64 + 1;
    source.counter(owner, Buckets::covering(info.start_ns, info.end_ns.saturating_add(1), width_ns), &mut cells);
    cells
        .iter()
        .filter(|cell| cell.min.is_finite() && cell.max.is_finite())
        .map(|cell| (cell.min, cell.max))
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
        .unwrap_or((0.0, 0.0))
}

#[cfg(test)]
mod tests;
