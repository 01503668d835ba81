//! The cost of a frame in microseconds, at several zooms: querying all of its tiles, and building rectangles from
//! cached tiles. Also after a drag by 100 pixels. Compared with a plain loop over the visible rows that keeps the
//! longest span under each pixel. Warm pages, best of three rounds.
//!
//! `cargo bench --no-default-features --bench frame -- [SPANS]`

mod support;

use std::hint::black_box;
use std::io;
use std::time::Instant;

use longspan::facade::frame::{self, FrameOptions, RectBudget};
use longspan::facade::model::{ProcessIdx, TrackIdx};
use longspan::facade::query::Snapshot;
use longspan::facade::scene::color::Shade;
use longspan::facade::scene::palette::Palette;
use longspan::facade::scene::rows::{Folded, RowHeights, RowLayout, TrackRows};
use longspan::facade::scene::viewport::Viewport;
use longspan::facade::store::LaneIdx;
use longspan::facade::tiles::Tiles;
use support::lanes_of_spans;

const SPANS: u64 = 4_000_000;
/// Number of lanes on a screen of 1080 pixels.
const LANES: u32 = 54;
const WIDTH_PX: f64 = 1920.0;
const ROUNDS: usize = 3;

fn main() -> io::Result<()> {
    let spans = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(SPANS);
    let (snapshot, end_ns) = lanes_of_spans(spans, LANES)?;
    let track = TrackRows {
        track: TrackIdx(0),
        process: ProcessIdx(0),
        custom_group: None,
        lanes: 0..LANES,
        group: None,
        starts_folded: false,
        curves: 0,
    };
    let heights = RowHeights::at_scale(1.0);
    let layout = RowLayout::new([track], |lane| snapshot.lane(lane).kind, |_| None, &Folded::default(), &heights);
    let palette = Palette::new(Shade::Dark);
    let options = FrameOptions {
        palette: &palette,
        rects: RectBudget::HARDWARE,
        scale: 1.0,
        filtered: None,
        lit: None,
        counters: &[],
        overlaid: &[],
    };
    println!("{spans} spans in {LANES} lanes");
    println!(
        "{:<10}{:>14}{:>14}{:>14}{:>20}{:>12}",
        "zoom", "ask, us", "build, us", "drag, us", "loop, us", "rectangles"
    );
    for zoom in [1, 8, 64, 1000, 100_000] {
        let mut view = Viewport::covering(0, end_ns, WIDTH_PX, 1080.0);
        view.show_exactly(end_ns / 3, end_ns / 3 + end_ns / zoom);
        let lanes = frame::lanes_in_view(&layout, &view);
        let mut tiles = Tiles::default();
        let ask_us = best_us(|| {
            tiles = Tiles::default();
            tiles.prepare(&snapshot, view.buckets(), &lanes);
        });
        let mut rects = 0;
        let build_us = best_us(|| {
            let frame = frame::build(&snapshot, snapshot.names(), &layout, &view, &tiles, options);
            rects = black_box(frame).rects.len();
        });
        let drag_us = best_us(|| {
            view.pan(100.0);
            tiles.prepare(&snapshot, view.buckets(), &lanes);
            black_box(frame::build(&snapshot, snapshot.names(), &layout, &view, &tiles, options));
        });
        let loop_us =
            best_us(|| (0..LANES).for_each(|lane| drop(black_box(longest_of_pixels(&snapshot, lane, &view)))));
        let whole_us = ask_us + build_us;
        println!(
            "{:<10}{ask_us:>14.0}{build_us:>14.0}{drag_us:>14.0}{:>20}{rects:>12}",
            format!("1/{zoom}"),
            format!("{loop_us:.0} ({:.1} x)", loop_us / whole_us),
        );
    }
    Ok(())
}

fn best_us(mut work: impl FnMut()) -> f64 {
    let round = |_| {
        let started = Instant::now();
        work();
        started.elapsed().as_secs_f64() * 1e6
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

/// The brute-force baseline: reads each row of the visible extents.
fn longest_of_pixels(snapshot: &Snapshot, lane: u32, view: &Viewport) -> Vec<(u64, u32)> {
    let lane = snapshot.store().lane(LaneIdx(lane));
    let mut longest = vec![(0, u32::MAX); WIDTH_PX as usize];
    let after = |ts_ns| lane.extents().partition_point(|extent| extent.first_start_ns < ts_ns);
    let mut rows = Vec::new();
    for extent in after(view.start_ns()).saturating_sub(1)..after(view.end_ns()) {
        let Some(extent) = lane.extent(extent) else { continue };
        rows.clear();
        (0..extent.blocks()).for_each(|block| extent.block(block).decode(&mut rows));
        for row in &rows {
            let (x0, x1) = (view.x_from_time(row.start_ns), view.x_from_time(row.start_ns + row.value as i64));
            if x1 < 0.0 || x0 >= WIDTH_PX {
                continue;
            }
            for pixel in &mut longest[x0.max(0.0) as usize..=x1.min(WIDTH_PX - 1.0) as usize] {
                *pixel = (*pixel).max((row.value, row.name));
            }
        }
    }
    longest
}
