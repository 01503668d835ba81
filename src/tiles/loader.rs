//! Loads tiles in the background, so that a frame waits a bounded time even on a slow disk. A frame with late tiles is
//! drawn from wider buckets ([`Tiles`]), and drawn again when they arrive.
//!
//! The blocking alternative is [`Tiles::prepare`], which waits for all tiles.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use rustc_hash::FxHashSet;

use super::cache::{TileQuery, TileResult, Tiles};
use super::source::{TileOwner, TileSource};
use crate::query::Buckets;
use crate::scene::viewport::Viewport;
use crate::store::lane::LaneKind;

/// How long a frame waits for answers: a fifth of the frame time at 60 frames per second. Most frames need less, and
/// are then exact at once.
pub(crate) const FRAME_PATIENCE: Duration = Duration::from_millis(3);

/// Queries that a worker runs between two checks for new requests: at about 40 us each, it sees new requests before a
/// frame ends.
const QUERIES_AT_ONCE: usize = 4;

#[derive(Debug, Clone, Copy)]
pub(crate) struct TileRequest<'a> {
    pub(crate) buckets: Buckets,
    pub(crate) owners: &'a [(TileOwner, LaneKind)],
    /// Buckets to prefetch when all others are loaded.
    pub(crate) ahead: Option<Buckets>,
}

/// Returns the buckets that a zoom from `before` to `now` needs next, at half the width of the current ones. Returns
/// `None` for a zoom out and a pan: wider buckets are derived from cached ones.
///
/// A view that has not moved yet is `before` and `now`. Its first movement is mostly a zoom in, at any point.
#[must_use]
pub(crate) fn ahead_of_zoom(before: &Viewport, now: &Viewport, buckets: Buckets) -> Option<Buckets> {
    let width_log2 = buckets.width_log2.checked_sub(1)?;
    if before == now {
        return Some(Buckets::covering(now.start_ns(), now.end_ns(), 1 << width_log2));
    }
    let slower_ns = before.ns_per_px() - now.ns_per_px();
    if slower_ns <= 0.0 {
        return None;
    }
    // The pixel whose time stays fixed while zooming.
    let fixed_px = before.x_from_time(now.start_ns()) * before.ns_per_px() / slower_ns;
    // The width of a pixel at the zoom where these buckets become the widest that fit it.
    let narrowest_ns = f64::from(now.buckets().width_log2).exp2();
    let mut next = *now;
    next.zoom(now.ns_per_px() / narrowest_ns, fixed_px.clamp(0.0, now.width_px()));
    Some(Buckets::covering(next.start_ns(), next.end_ns(), 1 << width_log2))
}

/// A pool of threads that load tiles. Clones share the threads.
#[derive(Clone)]
pub(crate) struct LoaderPool(Arc<ThreadPool>);

impl LoaderPool {
    /// Starts `count` threads. Returns an error if the system cannot start them.
    pub(crate) fn start(count: usize) -> Result<Self, ThreadPoolBuildError> {
        let named = ThreadPoolBuilder::new().thread_name(|number| format!("tiles {number}"));
        Ok(Self(Arc::new(named.num_threads(count.max(1)).build()?)))
    }

    /// Starts the threads of a window: one per core, and enough that disk reads overlap. Returns an error if the system
    /// cannot start them.
    pub(crate) fn start_for_window() -> Result<Self, ThreadPoolBuildError> {
        /// With fewer threads, an answer from disk would delay answers from memory.
        const COUNT_MIN: usize = 4;
        Self::start(std::thread::available_parallelism().map_or(COUNT_MIN, |cores| cores.get().max(COUNT_MIN)))
    }

    /// Drops a value on one of the threads.
    pub(crate) fn drop_later(&self, value: impl Send + 'static) {
        self.0.spawn(move || drop(value));
    }
}

/// Loads the tiles of one trace for one [`Tiles`]. Dropping it cancels all queries that no worker has taken.
pub(crate) struct TileLoader {
    source: Arc<dyn TileSource>,
    shared: Arc<LoaderShared>,
    pool: LoaderPool,
}

struct LoaderShared {
    state: Mutex<LoaderState>,
    /// Notified when no tile of the frame is missing.
    done: Condvar,
    /// Notified when the workers may resume.
    resumed: Condvar,
}

#[derive(Default)]
struct LoaderState {
    missing: VecDeque<TileQuery>,
    ahead: VecDeque<TileQuery>,
    /// Queries that workers have taken and not answered.
    loading: FxHashSet<TileQuery>,
    missing_loading: usize,
    results: Vec<TileResult>,
    workers: usize,
    is_paused: bool,
}

/// Pauses the workers while a frame is built, because both use all cores. Dropping it resumes them.
#[must_use]
pub(crate) struct PauseGuard(Arc<LoaderShared>);

impl TileLoader {
    /// Starts loading the tiles of a trace with the threads of `pool`.
    #[must_use]
    pub(crate) fn new(source: Arc<dyn TileSource>, pool: &LoaderPool) -> Self {
        let shared = LoaderShared { state: Mutex::default(), done: Condvar::new(), resumed: Condvar::new() };
        Self { source, shared: Arc::new(shared), pool: pool.clone() }
    }

    /// Loads as many of the requested tiles into `tiles` as are ready within `patience`; [`Tiles::pending`] counts the
    /// late tiles. Drops queries of earlier frames that this frame does not need.
    pub(crate) fn prepare(&self, tiles: &mut Tiles, request: TileRequest<'_>, patience: Duration) -> PauseGuard {
        let source = &*self.source;
        let missing = tiles.begin_frame(source, request.buckets, request.owners);
        let ahead = request.ahead.map(|buckets| tiles.missing(source, buckets, request.owners)).unwrap_or_default();
        let results = self.load(missing, ahead, patience);
        tiles.insert_results(results);
        tiles.end_frame(source, request.buckets, request.owners);
        PauseGuard(Arc::clone(&self.shared))
    }

    fn load(&self, missing: Vec<TileQuery>, ahead: Vec<TileQuery>, patience: Duration) -> Vec<TileResult> {
        let mut state = self.shared.lock();
        // Results that arrived after the last frame are not queried again.
        let answered: FxHashSet<TileQuery> = state.results.iter().map(TileResult::query).collect();
        let is_new = |query: &TileQuery| !state.loading.contains(query) && !answered.contains(query);
        let missing = missing.into_iter().filter(is_new).collect();
        // Ranges of counters and open ends are among the queries of the frame.
        let is_tile = |query: &TileQuery| matches!(query, TileQuery::Spans(_) | TileQuery::Counter(_));
        let ahead = ahead.into_iter().filter(is_new).filter(is_tile).collect();
        (state.missing, state.ahead) = (missing, ahead);
        let queries = state.missing.len() + state.ahead.len();
        let workers = self.pool.0.current_num_threads().min(queries.div_ceil(QUERIES_AT_ONCE));
        for _ in state.workers..workers {
            state.workers += 1;
            let worker = LoaderWorker { source: Arc::clone(&self.source), shared: Arc::clone(&self.shared) };
            self.pool.0.spawn(move || worker.run());
        }
        let deadline = Instant::now() + patience;
        while !(state.missing.is_empty() && state.missing_loading == 0) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.shared.done.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_paused = true;
        std::mem::take(&mut state.results)
    }
}

impl Drop for PauseGuard {
    fn drop(&mut self) {
        self.0.lock().is_paused = false;
        self.0.resumed.notify_all();
    }
}

impl Drop for TileLoader {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.missing.clear();
        state.ahead.clear();
        drop(state);
        // No frame is being built any more.
        drop(PauseGuard(Arc::clone(&self.shared)));
    }
}

impl LoaderShared {
    fn lock(&self) -> MutexGuard<'_, LoaderState> {
        // No code panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs queries until none is left.
struct LoaderWorker {
    source: Arc<dyn TileSource>,
    shared: Arc<LoaderShared>,
}

impl LoaderWorker {
    fn run(&self) {
        loop {
            let state = self.shared.lock();
            let state = self.shared.resumed.wait_while(state, |state| state.is_paused);
            let mut state = state.unwrap_or_else(PoisonError::into_inner);
            let is_missing = !state.missing.is_empty();
            let queue = if is_missing { &mut state.missing } else { &mut state.ahead };
            let count = queue.len().min(QUERIES_AT_ONCE);
            let queries: Vec<TileQuery> = queue.drain(..count).collect();
            if queries.is_empty() {
                // Under the same lock: a request from now on starts another worker.
                state.workers -= 1;
                return;
            }
            state.loading.extend(&queries);
            state.missing_loading += if is_missing { count } else { 0 };
            drop(state);
            for query in queries {
                // A panic costs one tile instead of the worker, and the query is not repeated in every frame.
                let result = catch_unwind(AssertUnwindSafe(|| query.run(&*self.source)));
                let mut state = self.shared.lock();
                state.loading.remove(&query);
                state.results.push(result.unwrap_or_else(|_| query.failed()));
            }
            let mut state = self.shared.lock();
            state.missing_loading -= if is_missing { count } else { 0 };
            if state.missing.is_empty() && state.missing_loading == 0 {
                self.shared.done.notify_all();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;
    use crate::model::{NameIdx, TrackIdx};
    use crate::query::open_end::OpenEnd;
    use crate::query::{Cell, CounterCell, ReadCount, RowCount};
    use crate::store::lane::{LaneIdx, LaneInfo, RowIdx};

    const LANES: [(TileOwner, LaneKind); 3] = [
        (TileOwner::Lane(LaneIdx(0)), LaneKind::Spans),
        (TileOwner::Lane(LaneIdx(1)), LaneKind::Spans),
        (COUNTER, LaneKind::Counter),
    ];

    /// The lane that may end with an open span.
    const OPEN: TileOwner = TileOwner::Lane(LaneIdx(1));
    const COUNTER: TileOwner = TileOwner::Lane(LaneIdx(2));

    /// Lanes full of spans of 10 ns. Answers wait for the gate.
    #[derive(Default)]
    struct Gated {
        is_shut: AtomicBool,
        fails: AtomicBool,
        /// Whether a lane ends with an open span.
        is_open: AtomicBool,
        asked: AtomicUsize,
    }

    impl Gated {
        fn pass(&self) {
            self.asked.fetch_add(1, Ordering::SeqCst);
            while self.is_shut.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            assert!(!self.fails.load(Ordering::SeqCst), "as a test wants");
        }

        fn asked(&self) -> usize {
            self.asked.load(Ordering::SeqCst)
        }
    }

    impl TileSource for Gated {
        fn has_open_end(&self, owner: TileOwner) -> bool {
            self.is_open.load(Ordering::SeqCst) && owner == OPEN
        }

        fn open_end(&self, owner: TileOwner) -> Option<OpenEnd> {
            self.pass();
            let row = RowIdx { lane: LaneIdx(1), row: 7 };
            (owner == OPEN).then_some(OpenEnd { row, name: NameIdx(3), dur_ns: 5, from_ns: 1 << 50, to_ns: 1 << 51 })
        }

        fn info(&self, owner: TileOwner) -> Option<LaneInfo> {
            let (_, kind) = *LANES.iter().find(|(lane, _)| *lane == owner)?;
            Some(LaneInfo { track: TrackIdx(0), kind, depth: 0, rows: 1 << 40, start_ns: 0, end_ns: 1 << 50 })
        }

        fn longest(&self, _: TileOwner, buckets: Buckets, cells: &mut Vec<Cell>) -> ReadCount {
            self.pass();
            cells.extend((buckets.first..buckets.end()).map(|bucket| {
                let start_ns = buckets.start_ns(bucket).div_euclid(10) * 10;
                Cell {
                    first_bucket: bucket,
                    bucket_count: 1,
                    row: start_ns.unsigned_abs() / 10,
                    start_ns,
                    end_ns: start_ns + 10,
                    name: NameIdx(0),
                    unfinished: false,
                    first_rows: RowCount::Many,
                    last_rows: RowCount::default(),
                }
            }));
            ReadCount { queries: u64::from(buckets.count), ..ReadCount::default() }
        }

        fn counter(&self, _: TileOwner, buckets: Buckets, cells: &mut Vec<CounterCell>) -> ReadCount {
            self.pass();
            let (min, max, last) = (-1.0, 1.0, 0.0);
            cells.push(CounterCell {
                first_bucket: buckets.first,
                bucket_count: buckets.count,
                sampled_ns: None,
                min,
                max,
                last,
            });
            ReadCount { queries: u64::from(buckets.count), ..ReadCount::default() }
        }
    }

    const LONG: Duration = Duration::from_mins(1);

    fn view(first: i64, width_log2: u32) -> Buckets {
        Buckets { first, count: 1000, width_log2 }
    }

    fn wanted(buckets: Buckets) -> TileRequest<'static> {
        TileRequest { buckets, owners: &LANES, ahead: None }
    }

    fn shown(tiles: &Tiles, buckets: Buckets) -> (Vec<Cell>, Vec<CounterCell>) {
        let (mut cells, mut values) = (Vec::new(), Vec::new());
        tiles.spans(LANES[0].0, buckets, &mut cells);
        tiles.counter(COUNTER, buckets, &mut values);
        (cells, values)
    }

    fn loader_of(capture: &Arc<Gated>) -> TileLoader {
        TileLoader::new(Arc::clone(capture) as _, &LoaderPool::start(2).unwrap())
    }

    #[test]
    fn with_patience_all_tiles_are_loaded_and_equal_those_of_a_blocking_load() {
        let capture = Arc::new(Gated::default());
        let (mut tiles, mut at_once) = (Tiles::default(), Tiles::default());
        let _ = loader_of(&capture).prepare(&mut tiles, wanted(view(500, 12)), LONG);
        at_once.prepare(&*capture, view(500, 12), &LANES);
        assert_eq!((tiles.pending(), tiles.read()), (0, at_once.read()));
        assert_eq!(shown(&tiles, view(500, 12)), shown(&at_once, view(500, 12)));
        assert_eq!(tiles.counter_range(COUNTER), Some((-1.0, 1.0)));
    }

    #[test]
    fn a_slow_disk_delays_no_frame_and_wider_tiles_are_drawn_meanwhile() {
        let capture = Arc::new(Gated::default());
        let loader = loader_of(&capture);
        let mut tiles = Tiles::default();
        let _ = loader.prepare(&mut tiles, wanted(view(500, 12)), LONG);
        capture.is_shut.store(true, Ordering::SeqCst);
        let finer = view(1000, 11);
        let _ = loader.prepare(&mut tiles, wanted(finer), Duration::from_millis(5));
        assert!(tiles.pending() > 0);
        assert!(tiles.unknown().is_empty(), "the wider buckets cover all of it");
        let (cells, _) = shown(&tiles, finer);
        let covered: Vec<i64> = cells.iter().flat_map(|cell| cell.first_bucket..cell.end_bucket()).collect();
        assert!((1000..2000).all(|bucket| covered.binary_search(&bucket).is_ok()));
        assert!(covered.is_sorted_by(|a, b| a < b), "nothing is shown twice");
        // Tiles without a coarser replacement are listed as unknown.
        let _ = loader.prepare(&mut tiles, wanted(view(1 << 30, 11)), Duration::from_millis(1));
        assert_eq!(tiles.unknown().len(), tiles.pending());
        capture.is_shut.store(false, Ordering::SeqCst);
        let _ = loader.prepare(&mut tiles, wanted(finer), LONG);
        let mut at_once = Tiles::default();
        at_once.prepare(&*capture, finer, &LANES);
        assert_eq!(tiles.pending(), 0);
        assert_eq!(shown(&tiles, finer), shown(&at_once, finer));
    }

    #[test]
    fn the_open_end_of_a_lane_is_read_once_and_delays_no_frame() {
        let capture = Arc::new(Gated { is_open: AtomicBool::new(true), ..Gated::default() });
        let loader = loader_of(&capture);
        let (mut tiles, buckets) = (Tiles::default(), view(500, 12));
        let open = capture.open_end(OPEN);
        capture.is_shut.store(true, Ordering::SeqCst);
        let _ = loader.prepare(&mut tiles, wanted(buckets), Duration::ZERO);
        assert_eq!(tiles.open_end(OPEN), None);
        capture.is_shut.store(false, Ordering::SeqCst);
        let _ = loader.prepare(&mut tiles, wanted(buckets), LONG);
        assert_eq!((tiles.open_end(OPEN), tiles.open_end(LANES[0].0), tiles.pending()), (open.as_ref(), None, 0));
        let asked = capture.asked();
        let _ = loader.prepare(&mut tiles, wanted(buckets), Duration::ZERO);
        assert_eq!((capture.asked(), tiles.pending()), (asked, 0));
        // Of a later snapshot, the earlier one is drawn until it is read again.
        tiles.outdate(|owner| Some((owner, capture.info(owner)?)));
        capture.is_shut.store(true, Ordering::SeqCst);
        let missing = tiles.begin_frame(&*capture, buckets, &LANES);
        tiles.end_frame(&*capture, buckets, &LANES);
        assert!(
            missing.contains(&TileQuery::OpenEnd(OPEN)) && tiles.pending() == missing.len() - 1,
            "a range is no tile"
        );
        assert_eq!(tiles.open_end(OPEN), open.as_ref());
        capture.is_shut.store(false, Ordering::SeqCst);
    }

    #[test]
    fn tiles_that_are_no_longer_needed_are_not_queried() {
        let capture = Arc::new(Gated::default());
        let loader = loader_of(&capture);
        let mut tiles = Tiles::default();
        capture.is_shut.store(true, Ordering::SeqCst);
        for index in 0..100 {
            let _ = loader.prepare(&mut tiles, wanted(view(index << 20, 3)), Duration::ZERO);
        }
        capture.is_shut.store(false, Ordering::SeqCst);
        let last = view(99 << 20, 3);
        let _ = loader.prepare(&mut tiles, wanted(last), LONG);
        assert_eq!(tiles.pending(), 0);
        // The last view, and the queries that the two workers were running.
        assert!(capture.asked() <= 16 + 2 * QUERIES_AT_ONCE, "{}", capture.asked());
    }

    #[test]
    fn prefetched_tiles_are_loaded_when_they_are_needed() {
        let capture = Arc::new(Gated::default());
        let loader = loader_of(&capture);
        let mut tiles = Tiles::default();
        let (now, soon) = (view(500, 12), view(1200, 11));
        let _ = loader.prepare(&mut tiles, TileRequest { ahead: Some(soon), ..wanted(now) }, LONG);
        while loader.shared.lock().workers > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let asked = capture.asked();
        let _ = loader.prepare(&mut tiles, wanted(now), Duration::ZERO);
        let _ = loader.prepare(&mut tiles, wanted(soon), Duration::ZERO);
        assert_eq!((tiles.pending(), capture.asked()), (0, asked));
    }

    #[test]
    fn a_query_that_panics_leaves_its_tile_unknown_and_the_worker_running() {
        let capture = Arc::new(Gated::default());
        let loader = loader_of(&capture);
        let mut tiles = Tiles::default();
        capture.fails.store(true, Ordering::SeqCst);
        let _ = loader.prepare(&mut tiles, wanted(view(0, 3)), LONG);
        // No tile is pending, and none counts as loaded.
        assert_eq!(tiles.pending(), 0);
        assert!(!tiles.unknown().is_empty());
        capture.fails.store(false, Ordering::SeqCst);
        let _ = loader.prepare(&mut tiles, wanted(view(1 << 20, 3)), LONG);
        assert_eq!(tiles.pending(), 0);
    }

    #[test]
    fn a_value_is_dropped_on_a_thread_of_the_pool() {
        struct Sender(std::sync::mpsc::Sender<Option<String>>);
        impl Drop for Sender {
            fn drop(&mut self) {
                self.0.send(std::thread::current().name().map(str::to_owned)).ok();
            }
        }
        let (sender, dropped) = std::sync::mpsc::channel();
        LoaderPool::start(1).unwrap().drop_later(Sender(sender));
        assert_eq!(dropped.recv_timeout(LONG), Ok(Some("tiles 0".to_owned())));
    }

    #[test]
    fn zooming_out_queries_nothing_that_narrower_tiles_answer() {
        let capture = Arc::new(Gated::default());
        let mut tiles = Tiles::default();
        tiles.prepare(&*capture, Buckets { first: 1024, count: 1024, width_log2: 5 }, &LANES);
        let asked = capture.asked();
        tiles.prepare(&*capture, Buckets { first: 512, count: 512, width_log2: 6 }, &LANES);
        assert_eq!((capture.asked(), tiles.pending()), (asked, 0));
    }

    #[test]
    fn outdated_tiles_are_drawn_until_their_new_answers_arrive() {
        let capture = Arc::new(Gated::default());
        let mut tiles = Tiles::default();
        tiles.prepare(&*capture, view(500, 12), &LANES);
        let (before, asked) = (shown(&tiles, view(500, 12)), capture.asked());
        tiles.outdate(|owner| Some((owner, capture.info(owner)?)));
        assert!(tiles.begin_frame(&*capture, view(500, 12), &LANES).len() >= asked, "all is asked again");
        tiles.end_frame(&*capture, view(500, 12), &LANES);
        assert!(tiles.pending() > 0 && tiles.unknown().is_empty());
        assert_eq!((shown(&tiles, view(500, 12)), tiles.counter_range(COUNTER)), (before, Some((-1.0, 1.0))));
    }

    #[test]
    fn a_zoom_in_prefetches_the_buckets_that_it_needs_next() {
        let mut before = Viewport::covering(0, 1 << 40, 1000.0, 100.0);
        before.show_exactly(1 << 30, (1 << 30) + 1_000_000);
        let mut now = before;
        now.zoom(1.1, 250.0);
        let ahead = ahead_of_zoom(&before, &now, now.buckets()).unwrap();
        let mut next = now;
        while next.buckets().width_log2 == now.buckets().width_log2 {
            next.zoom(1.01, 250.0);
        }
        let needed = next.buckets();
        assert_eq!(ahead.width_log2, needed.width_log2);
        assert!(ahead.first <= needed.first && ahead.end() >= needed.end(), "{ahead:?} {needed:?}");
        assert_eq!(ahead_of_zoom(&now, &before, before.buckets()), None, "a zoom out");
    }

    #[test]
    fn a_quick_zoom_has_every_tile_prefetched_and_queries_few_more() {
        let capture = Arc::new(Gated::default());
        let loader = loader_of(&capture);
        let mut tiles = Tiles::default();
        let mut view = Viewport::covering(0, 1 << 50, 1920.0, 1080.0);
        let (mut before, mut needed) = (view, FxHashSet::default());
        for frame in 0..200 {
            let buckets = view.buckets();
            let wanted = TileRequest { ahead: ahead_of_zoom(&before, &view, buckets), ..wanted(buckets) };
            let patience = if frame == 0 { LONG } else { Duration::ZERO };
            let _ = loader.prepare(&mut tiles, wanted, patience);
            assert_eq!(tiles.pending(), 0, "of frame {frame}");
            while loader.shared.lock().workers > 0 {
                std::thread::yield_now();
            }
            let tiles_in_view = (buckets.first >> 8)..=((buckets.end() - 1) >> 8);
            needed.extend(tiles_in_view.map(|tile| (buckets.width_log2, tile)));
            before = view;
            // Zooms out half way: wider buckets are derived from narrower ones.
            view.zoom(if frame < 100 { 1.18 } else { 1.0 / 1.18 }, 700.0);
        }
        // One of the three lanes also has a range. Half of the prefetch is never needed if the zoom turns.
        let needed = 3 * needed.len() + 1;
        assert!(capture.asked() <= needed * 5 / 4, "{} for {needed}", capture.asked());
    }
}
