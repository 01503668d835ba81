//! `longspan bench`: a scripted zoom from everything to one span and back, frame by frame as the window builds them, and
//! what each frame took. Measures the work of the processor: nothing is drawn.
//!
//! The zoom runs twice. *Cold*: the system is asked to drop the pages of the store first, so that they come from the disk;
//! only for a store that is kept, as one without a name cannot be closed and opened again. *Warm*: with all pages in
//! memory. Each time the tiles of a new window are empty at first, and serve the later frames as they do there.

use std::path::Path;
use std::time::Instant;

use rayon::ThreadPool;
use serde::Serialize;

use super::args::Load;
use super::load::load;
use super::units::SizeArg;
use super::{CliError, to_stdout};
use crate::query::Snapshot;
use crate::scene::color::{Palette, Shade};
use crate::scene::frame::{self, FrameOptions, RectBudget};
use crate::scene::rects::Rect;
use crate::scene::rows::{Folded, RowHeights, RowLayout, TrackRows};
use crate::scene::tiles::{Tiles, buckets_of};
use crate::scene::viewport::Viewport;
use crate::store::{LaneIdx, LaneKind, RowIdx};

/// The object that is printed: names are a contract with scripts.
#[derive(Debug, Serialize)]
struct Report {
    spans: u64,
    /// At most, of all frames.
    lanes_in_view: usize,
    frames: u32,
    /// Of the warm frames, as all that follows.
    #[serde(flatten)]
    warm: Distributions,
    cold: Option<Distributions>,
    /// The graphics adapter that the window would use here.
    adapter: Option<String>,
    steps: Vec<Step>,
}

#[derive(Debug, Serialize)]
struct Distributions {
    queries_per_frame: Distribution<u64>,
    ns_per_query: Distribution<f64>,
    cpu_ms: Percentiles,
    read_bytes: Distribution<u64>,
    instances: Distribution<u64>,
    uploaded_bytes: Distribution<u64>,
}

#[derive(Debug, Serialize)]
struct Distribution<T> {
    p50: T,
    max: T,
}

#[derive(Debug, Serialize)]
struct Percentiles {
    p50: f64,
    p95: f64,
    p99: f64,
    max: f64,
}

/// One frame.
#[derive(Debug, Clone, Copy, Serialize)]
struct Step {
    pass: Pass,
    /// How many times less than everything is in view.
    zoom: f64,
    queries: u64,
    cpu_ms: f64,
    /// Wall time of the queries, which share the threads; `None`: there was nothing to ask.
    ns_per_query: Option<f64>,
    read_bytes: u64,
    #[serde(skip)]
    instances: u64,
    #[serde(skip)]
    lanes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Pass {
    Cold,
    Warm,
}

/// Measures, and prints one JSON object.
pub fn print(file: &Path, frames: u32, size: SizeArg, how: &Load) -> Result<(), CliError> {
    let loaded = load(file, how)?;
    let store_path = loaded.store.path().to_owned();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(how.threads).build();
    let pool = pool.map_err(|error| CliError::Output(std::io::Error::other(error)))?;
    let adapter = adapter();
    let rects = match adapter {
        Some((_, false)) => RectBudget::HARDWARE,
        _ => RectBudget::SOFTWARE,
    };
    let script = Script { frames, size, rects };

    let mut steps = Vec::new();
    let store = if how.cache.is_some() && store_path.is_file() {
        drop(loaded);
        drop_pages(&store_path).map_err(|source| CliError::File { path: store_path.clone(), source })?;
        let kept = load(file, how)?.store;
        steps.extend(script.run(&Snapshot::new(kept.clone()), Pass::Cold, &pool));
        kept
    } else {
        loaded.store
    };
    let snapshot = Snapshot::new(store);
    if steps.is_empty() {
        script.run(&snapshot, Pass::Warm, &pool); // brings the pages into memory
    }
    steps.extend(script.run(&snapshot, Pass::Warm, &pool));

    let of = |pass| Distributions::of(&steps.iter().filter(|step| step.pass == pass).copied().collect::<Vec<_>>());
    let report = Report {
        spans: snapshot.summary().spans,
        lanes_in_view: steps.iter().map(|step| step.lanes).max().unwrap_or(0),
        frames,
        warm: of(Pass::Warm),
        cold: (steps.first().map(|step| step.pass) == Some(Pass::Cold)).then(|| of(Pass::Cold)),
        adapter: adapter.map(|(name, _)| name),
        steps,
    };
    to_stdout(|out| {
        serde_json::to_writer(&mut *out, &report).map_err(std::io::Error::from)?;
        Ok(writeln!(out)?)
    })
}

/// What is measured.
#[derive(Debug, Clone, Copy)]
struct Script {
    frames: u32,
    size: SizeArg,
    rects: RectBudget,
}

impl Script {
    /// Zooms in for half of the frames, and out again for the rest.
    fn run(&self, snapshot: &Snapshot, pass: Pass, pool: &ThreadPool) -> Vec<Step> {
        let layout = layout_of(snapshot);
        let (width_px, height_px) = (f64::from(self.size.width_px), f64::from(self.size.height_px));
        let mut view = Viewport::of_capture(snapshot.start_ns(), snapshot.end_ns(), width_px, height_px);
        let palette = Palette::new(Shade::Dark);
        let options = FrameOptions { palette: &palette, rects: self.rects, scale: 1.0 };
        let whole_ns = view.width_ns();
        let (middle_ns, target_ns) = match target(snapshot) {
            Some(row) => {
                let span = snapshot.row(row);
                scroll_to(&mut view, &layout, snapshot, row);
                (span.start_ns.saturating_add_unsigned(span.dur_ns / 2), ns(span.dur_ns) * 3.0)
            }
            None => (snapshot.start_ns(), whole_ns),
        };
        let half = (self.frames / 2).max(1);
        let factor = (whole_ns / target_ns.max(1.0)).max(1.0).powf(1.0 / f64::from(half));
        let mut tiles = Tiles::default();
        let mut steps = Vec::new();
        for frame in 0..self.frames {
            let mut step = pool.install(|| measured(snapshot, &layout, &view, &mut tiles, options));
            (step.pass, step.zoom) = (pass, whole_ns / view.width_ns());
            steps.push(step);
            let factor = if frame < half { factor } else { factor.recip() };
            view.zoom(factor, view.x_from_time(middle_ns));
        }
        steps
    }
}

/// Builds one frame as the window does, its queries apart from the rest.
fn measured(
    snapshot: &Snapshot,
    layout: &RowLayout,
    view: &Viewport,
    tiles: &mut Tiles,
    options: FrameOptions<'_>,
) -> Step {
    let began = Instant::now();
    let rows = frame::rows_in_view(layout, view);
    let lanes: Vec<_> = rows.iter().map(|row| (row.lane, row.kind)).collect();
    tiles.prepare(snapshot, buckets_of(view), &lanes);
    let asked = began.elapsed();
    let read = tiles.read();
    // finds every tile there
    let frame = frame::build(snapshot, snapshot.names(), layout, view, tiles, options);
    let built = began.elapsed();
    Step {
        pass: Pass::Warm,
        zoom: 1.0,
        queries: read.queries,
        cpu_ms: built.as_secs_f64() * 1e3,
        ns_per_query: (read.queries > 0).then(|| asked.as_secs_f64() * 1e9 / ns(read.queries)),
        read_bytes: read.bytes,
        instances: frame.rects.len() as u64,
        lanes: lanes.len(),
    }
}

/// All tracks unfolded, as the window shows a capture first.
fn layout_of(snapshot: &Snapshot) -> RowLayout {
    let tracks = snapshot.display_order().iter().map(|&track| TrackRows {
        track,
        process: snapshot.track(track).process,
        lanes: snapshot.lanes_of(track),
    });
    RowLayout::new(tracks, |lane| snapshot.lane(lane).kind, &Folded::default(), &RowHeights::at_scale(1.0))
}

/// The middle span of the lane that has most.
fn target(snapshot: &Snapshot) -> Option<RowIdx> {
    let lanes = (0..snapshot.store().lane_count()).map(|lane| (LaneIdx(lane), snapshot.lane(LaneIdx(lane))));
    let spans = lanes.filter(|(_, info)| info.kind == LaneKind::Spans && info.rows > 0);
    spans.max_by_key(|(_, info)| info.rows).map(|(lane, info)| RowIdx { lane, row: info.rows / 2 })
}

fn scroll_to(view: &mut Viewport, layout: &RowLayout, snapshot: &Snapshot, row: RowIdx) {
    let Some(lane) = layout.row_of(row.lane, snapshot.lane(row.lane).track) else { return };
    view.scroll_to(ns(lane.top_px) - view.height_px() / 2.0, ns(layout.height_px()));
}

impl Distributions {
    fn of(steps: &[Step]) -> Self {
        let whole = |of: fn(&Step) -> u64| {
            let mut values: Vec<u64> = steps.iter().map(of).collect();
            values.sort_unstable();
            Distribution { p50: percentile(&values, 50).unwrap_or(0), max: values.last().copied().unwrap_or(0) }
        };
        let sorted = |mut values: Vec<f64>| {
            values.sort_unstable_by(f64::total_cmp);
            values
        };
        let asked = sorted(steps.iter().filter_map(|step| step.ns_per_query).collect());
        let cpu = sorted(steps.iter().map(|step| step.cpu_ms).collect());
        let of_cpu = |percent| percentile(&cpu, percent).unwrap_or(0.0);
        Self {
            queries_per_frame: whole(|step| step.queries),
            ns_per_query: Distribution {
                p50: percentile(&asked, 50).unwrap_or(0.0),
                max: asked.last().copied().unwrap_or(0.0),
            },
            cpu_ms: Percentiles { p50: of_cpu(50), p95: of_cpu(95), p99: of_cpu(99), max: of_cpu(100) },
            read_bytes: whole(|step| step.read_bytes),
            instances: whole(|step| step.instances),
            uploaded_bytes: whole(|step| step.instances * size_of::<Rect>() as u64),
        }
    }
}

/// The smallest value that at least `percent` of all are not above.
fn percentile<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

/// The adapter's name, and whether it is software.
#[cfg(feature = "window")]
fn adapter() -> Option<(String, bool)> {
    crate::render::Gpu::headless().ok().map(|gpu| (gpu.name(), gpu.is_software()))
}

#[cfg(not(feature = "window"))]
fn adapter() -> Option<(String, bool)> {
    None
}

/// Asks the system to forget what it keeps of a file in memory.
#[cfg(target_os = "linux")]
fn drop_pages(path: &Path) -> std::io::Result<()> {
    let file = std::fs::File::open(path)?;
    Ok(rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?)
}

#[cfg(not(target_os = "linux"))]
fn drop_pages(_path: &Path) -> std::io::Result<()> {
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "what is measured has three digits")]
fn ns(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let values: Vec<u32> = (1..=200).collect();
        assert_eq!([50, 95, 99, 100].map(|percent| percentile(&values, percent)), [100, 190, 198, 200].map(Some));
        assert_eq!(percentile(&[7], 50), Some(7));
        assert_eq!(percentile::<u32>(&[], 50), None);
    }
}
