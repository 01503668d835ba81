//! `longspan bench`: a scripted zoom from the whole trace to one span and back, with the cost of each frame. Frames are
//! built as in the window. Measures CPU work: nothing is drawn, unless [`Bench::draws`] adds a run with drawing.
//!
//! The zoom runs three times, each time with an empty tile cache. *Cold*: the page cache of the store is dropped first,
//! so that it is read from disk. This needs a cached store, because a store without a name cannot be reopened. *Warm*:
//! all pages are in memory. Both run as in the window, at 60 frames per second. Each frame waits a few milliseconds for
//! its tiles, and draws coarser ones if they are late. *Whole*: warm, with every frame waiting for all of its tiles,
//! which shows their cost.

mod report;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rayon::ThreadPool;

use self::report::{Distributions, DrawTimings, FrameTiming, Pass, Report};
use super::args::{Bench, ImportArgs};
use super::error::CliError;
use super::load::{load, retry_if_damaged};
use super::stdout::to_stdout;
use super::units::SizeArg;
use super::window::draw_frames;
use crate::base::escape::write_json;
use crate::export::check;
use crate::frame::{self, FrameOptions, RectBudget};
use crate::query::Snapshot;
use crate::scene::color::Shade;
use crate::scene::palette::Palette;
use crate::scene::rows::{Folded, RowHeights, RowLayout, TrackRows};
use crate::scene::viewport::Viewport;
use crate::store::{LaneIdx, LaneKind, RowIdx};
use crate::tiles::Tiles;
use crate::tiles::loader::{FRAME_PATIENCE, LoaderPool, TileLoader, TileRequest, ahead_of_zoom};

/// Runs the benchmark, and prints one JSON object.
pub(super) fn print(bench: &Bench, import: &ImportArgs) -> Result<(), CliError> {
    #[cfg(feature = "window")]
    crate::app::restart::without_device_layer();
    retry_if_damaged(&bench.sources, import, |import| print_once(bench, import))
}

fn print_once(bench: &Bench, import: &ImportArgs) -> Result<(), CliError> {
    let Bench { sources, frames, size, draws } = bench;
    let loaded = load(sources, import)?;
    let store_path = loaded.store.path().to_owned();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(import.threads).build();
    let pool = pool.map_err(|error| CliError::Threads(std::io::Error::other(error)))?;
    let adapter = adapter();
    let rects = match adapter {
        Some((_, false)) => RectBudget::HARDWARE,
        _ => RectBudget::SOFTWARE,
    };
    let script = Script { frames: *frames, size: *size, rects };

    let mut steps = Vec::new();
    let store = if import.cache.is_some() && store_path.is_file() {
        drop(loaded);
        drop_pages(&store_path).map_err(|source| CliError::File { path: store_path.clone(), source })?;
        let cached_store = load(sources, import)?.store;
        steps.extend(script.run(&Snapshot::new(cached_store.clone()), Pass::Cold, &pool)?);
        cached_store
    } else {
        loaded.store
    };
    let snapshot = Snapshot::new(store);
    script.run(&snapshot, Pass::Whole, &pool)?; // reads the pages into memory
    steps.extend(script.run(&snapshot, Pass::Whole, &pool)?);
    steps.extend(script.run(&snapshot, Pass::Warm, &pool)?);
    let drawn = draws.then(|| script.draw(&snapshot)).transpose()?;
    check(snapshot.store())?;

    let distributions =
        |pass| Distributions::from_steps(&steps.iter().filter(|step| step.pass == pass).copied().collect::<Vec<_>>());
    let report = Report {
        spans: snapshot.summary().spans,
        lanes_in_view: steps.iter().map(|step| step.lanes).max().unwrap_or(0),
        frames: *frames,
        warm: distributions(Pass::Warm),
        cold: (steps.first().map(|step| step.pass) == Some(Pass::Cold)).then(|| distributions(Pass::Cold)),
        whole: distributions(Pass::Whole),
        adapter: adapter.map(|(name, _)| name),
        drawn,
        steps,
    };
    to_stdout(|out| {
        write_json(&mut *out, &report)?;
        Ok(writeln!(out)?)
    })
}

/// The length of the zoom in frames, the size of the view, and the limit of rectangles.
#[derive(Debug, Clone, Copy)]
struct Script {
    frames: u32,
    size: SizeArg,
    rects: RectBudget,
}

/// Frame time at 60 frames per second.
const FRAME_TIME: Duration = Duration::from_nanos(1_000_000_000 / 60);

impl Script {
    /// Zooms in for half of the frames, and out again for the other half.
    fn run(&self, snapshot: &Snapshot, pass: Pass, pool: &ThreadPool) -> Result<Vec<FrameTiming>, CliError> {
        let loader = match pass {
            Pass::Whole => None,
            Pass::Cold | Pass::Warm => {
                let workers = LoaderPool::start_for_window();
                let workers = workers.map_err(|error| CliError::Threads(std::io::Error::other(error)))?;
                Some(TileLoader::new(Arc::new(snapshot.clone()), &workers))
            }
        };
        let layout = layout_of(snapshot);
        let (width_px, height_px) = (f64::from(self.size.width_px), f64::from(self.size.height_px));
        let mut view = Viewport::covering(snapshot.start_ns(), snapshot.end_ns(), width_px, height_px);
        let zoom = Zoom::new(snapshot, &view, self.frames);
        let palette = Palette::new(Shade::Dark);
        let options = FrameOptions {
            palette: &palette,
            rects: self.rects,
            scale: 1.0,
            filtered: None,
            lit: None,
            counters: &[],
            overlaid: &[],
        };
        let whole_ns = view.width_ns();
        if let Some(row) = target(snapshot) {
            scroll_to(&mut view, &layout, snapshot, row);
        }
        let mut tiles = Tiles::default();
        let mut steps = Vec::new();
        let (mut before, mut due) = (view, Instant::now());
        for frame in 0..self.frames {
            let input = FrameInput { snapshot, layout: &layout, before: &before, view: &view, loader: loader.as_ref() };
            let mut step = pool.install(|| input.measured(&mut tiles, options));
            let cpu_before = processor_time();
            (step.pass, step.zoom) = (pass, whole_ns / view.width_ns());
            before = view;
            if loader.is_some() {
                due = (due + FRAME_TIME).max(Instant::now());
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            step.between_ms = processor_time_since(cpu_before).map_or(0.0, |time| time.as_secs_f64() * 1e3);
            steps.push(step);
            zoom.advance(&mut view, frame);
        }
        Ok(steps)
    }

    /// Draws the frames of the zoom offscreen, as the window draws them.
    fn draw(&self, snapshot: &Snapshot) -> Result<DrawTimings, CliError> {
        let (width_px, height_px) = (f64::from(self.size.width_px), f64::from(self.size.height_px));
        let mut view = Viewport::covering(snapshot.start_ns(), snapshot.end_ns(), width_px, height_px);
        let zoom = Zoom::new(snapshot, &view, self.frames);
        let ranges = (0..self.frames).map(|frame| {
            let range = (view.start_ns(), view.end_ns());
            zoom.advance(&mut view, frame);
            range
        });
        let frames = draw_frames(snapshot, target(snapshot), ranges.collect(), self.size, FRAME_TIME)?;
        Ok(DrawTimings::from_frames(&frames))
    }
}

/// A zoom to the middle of a span, and out again.
struct Zoom {
    middle_ns: i64,
    /// Factor from one frame to the next.
    factor: f64,
    /// Frames until the zoom turns back.
    half: u32,
}

impl Zoom {
    /// Creates a zoom from `view` until the span fills a third of it.
    fn new(snapshot: &Snapshot, view: &Viewport, frames: u32) -> Self {
        let whole_ns = view.width_ns();
        let (middle_ns, target_ns) = match target(snapshot) {
            Some(row) => {
                let span = snapshot.row(row);
                (span.start_ns.saturating_add_unsigned(span.dur_ns / 2), ns(span.dur_ns) * 3.0)
            }
            None => (snapshot.start_ns(), whole_ns),
        };
        let half = (frames / 2).max(1);
        let factor = (whole_ns / target_ns.max(1.0)).max(1.0).powf(1.0 / f64::from(half));
        Self { middle_ns, factor, half }
    }

    /// Moves the view of a frame to the view of the next.
    fn advance(&self, view: &mut Viewport, frame: u32) {
        let factor = if frame < self.half { self.factor } else { self.factor.recip() };
        view.zoom(factor, view.x_from_time(self.middle_ns));
    }
}

/// The input of one frame.
struct FrameInput<'a> {
    snapshot: &'a Snapshot,
    layout: &'a RowLayout,
    before: &'a Viewport,
    view: &'a Viewport,
    loader: Option<&'a TileLoader>,
}

impl FrameInput<'_> {
    /// Builds the frame as the window does, and measures its queries separately.
    fn measured(&self, tiles: &mut Tiles, options: FrameOptions<'_>) -> FrameTiming {
        let (began, cpu_before) = (Instant::now(), processor_time());
        let lanes = frame::lanes_in_view(self.layout, self.view);
        let buckets = self.view.buckets();
        let mut pause_guard = None;
        match self.loader {
            Some(loader) => {
                let ahead = ahead_of_zoom(self.before, self.view, buckets);
                pause_guard =
                    Some(loader.prepare(tiles, TileRequest { buckets, owners: &lanes, ahead }, FRAME_PATIENCE));
            }
            None => tiles.prepare(self.snapshot, buckets, &lanes),
        }
        let query_time = began.elapsed();
        let read = tiles.read();
        let frame = frame::build(self.snapshot, self.snapshot.names(), self.layout, self.view, tiles, options);
        let built = began.elapsed();
        let cpu = processor_time_since(cpu_before).unwrap_or(built);
        // Work from here on does not belong to this frame.
        drop(pause_guard);
        FrameTiming {
            pass: Pass::Warm,
            zoom: 1.0,
            queries: read.queries,
            cpu_ms: cpu.as_secs_f64() * 1e3,
            wall_ms: built.as_secs_f64() * 1e3,
            between_ms: 0.0,
            ns_per_query: (read.queries > 0).then(|| query_time.as_secs_f64() * 1e9 / ns(read.queries)),
            read_bytes: read.bytes,
            late_tiles: frame.pending as u64,
            instances: frame.rects.len() as u64,
            lanes: lanes.len(),
        }
    }
}

/// Lays out all tracks unfolded and ungrouped, which gives the maximum number of rows that the window can show.
fn layout_of(snapshot: &Snapshot) -> RowLayout {
    let tracks = snapshot.display_order().iter().map(|&track| TrackRows {
        track,
        process: snapshot.track(track).process,
        custom_group: None,
        lanes: snapshot.lanes_of(track),
        group: None,
        starts_folded: false,
        curves: 0,
    });
    let kind_of = |lane| snapshot.lane(lane).kind;
    RowLayout::new(tracks, kind_of, |_| None, &Folded::default(), &RowHeights::at_scale(1.0))
}

/// Returns the middle span of the lane with most spans.
fn target(snapshot: &Snapshot) -> Option<RowIdx> {
    let lanes = (0..snapshot.store().lane_count()).map(|lane| (LaneIdx(lane), snapshot.lane(LaneIdx(lane))));
    let spans = lanes.filter(|(_, info)| info.kind == LaneKind::Spans && info.rows > 0);
    spans.max_by_key(|(_, info)| info.rows).map(|(lane, info)| RowIdx { lane, row: info.rows / 2 })
}

fn scroll_to(view: &mut Viewport, layout: &RowLayout, snapshot: &Snapshot, row: RowIdx) {
    let Some(lane) = layout.row_of(row.lane, snapshot.lane(row.lane).track) else { return };
    view.scroll_to(ns(lane.top_px) - view.height_px() / 2.0, ns(layout.height_px()));
}

/// Returns the name of the GPU, and whether it is a software renderer.
#[cfg(feature = "window")]
fn adapter() -> Option<(String, bool)> {
    crate::render::Gpu::headless().ok().map(|gpu| (gpu.name(), gpu.is_software()))
}

#[cfg(not(feature = "window"))]
fn adapter() -> Option<(String, bool)> {
    None
}

/// Returns the CPU time used since `before`.
fn processor_time_since(before: Option<Duration>) -> Option<Duration> {
    Some(processor_time()?.saturating_sub(before?))
}

/// Returns the CPU time used by this process; `None` if the system does not report it.
#[cfg(target_os = "linux")]
fn processor_time() -> Option<Duration> {
    Duration::try_from(rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime)).ok()
}

#[cfg(not(target_os = "linux"))]
fn processor_time() -> Option<Duration> {
    None
}

/// Asks the system to drop the page cache of a file.
#[cfg(target_os = "linux")]
fn drop_pages(path: &Path) -> std::io::Result<()> {
    let file = std::fs::File::open(path)?;
    Ok(rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?)
}

#[cfg(not(target_os = "linux"))]
fn drop_pages(_path: &Path) -> std::io::Result<()> {
    Ok(())
}

fn ns(count: u64) -> f64 {
    count as f64
}
