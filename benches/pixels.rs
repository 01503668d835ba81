//! The queries of a frame: the longest span of each bucket of a view, at several zooms. Compares the pyramid where it
//! is fine enough, the forest alone, a pass over the rows in order, and a scan of the visible rows. Nanoseconds per
//! bucket with warm pages, best of three rounds.
//!
//! `cargo bench --no-default-features --bench pixels -- [SPANS]`

mod support;

use std::hint::black_box;
use std::io;
use std::time::Instant;

use longspan::facade::query::cursor::LaneCursor;
use longspan::facade::query::{Buckets, Cell, Snapshot, pixels};
use longspan::facade::store::LaneIdx;
use support::{Random, lanes_of_spans};

const SPANS: u64 = 2_000_000;
const LANES: u32 = 16;
/// About one view of 1920 pixels with a few lanes.
const BUCKETS: usize = 10_000;
const ROUNDS: usize = 3;

fn main() -> io::Result<()> {
    let spans = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(SPANS);
    let started = Instant::now();
    let (snapshot, end_ns) = lanes_of_spans(spans, LANES)?;
    let seconds = started.elapsed().as_secs_f64();
    println!("{spans} spans in {LANES} lanes, {} bytes, written in {seconds:.1} s", snapshot.store().file_bytes());
    println!(
        "{:<10}{:>16}{:>16}{:>16}{:>16}{:>24}{:>12}",
        "zoom", "rows a bucket", "as asked, ns", "forest, ns", "in order, ns", "scan, ns", "blocks"
    );
    for zoom in [1, 2, 4, 8, 64, 1000, 100_000] {
        measure(&snapshot, end_ns, zoom);
    }
    Ok(())
}

fn measure(snapshot: &Snapshot, end_ns: i64, zoom: i64) {
    let mut random = Random(zoom.cast_unsigned());
    let length_ns = (end_ns / zoom).max(1);
    let mut views = Vec::new();
    let mut buckets = 0;
    while buckets < BUCKETS {
        let start_ns = random.below((end_ns - length_ns).max(1).cast_unsigned()) as i64;
        let view = Buckets::covering(start_ns, start_ns + length_ns, (length_ns / 1920).max(1).cast_unsigned());
        buckets += view.count as usize;
        views.push((LaneIdx(random.below(LANES.into()) as u32), view));
    }
    let mut cells = Vec::new();
    let mut blocks = 0;
    for &(lane, view) in &views {
        let (mut exact, mut scanned) = (Vec::new(), Vec::new());
        blocks += pixels::longest_from_forest(snapshot, lane, view, &mut exact).blocks;
        scan(snapshot, lane, view, &mut scanned);
        cells.clear();
        pixels::longest(snapshot, lane, view, &mut cells);
        let spread = |cells: &[Cell]| -> Vec<(i64, u64)> {
            let of_cell = |cell: &Cell| cell.first_bucket..cell.first_bucket + i64::from(cell.bucket_count);
            cells.iter().flat_map(|cell| of_cell(cell).map(|bucket| (bucket, cell.row))).collect()
        };
        assert!(spread(&exact) == spread(&cells), "pyramid and forest answer alike");
        assert!(spread(&exact) == scanned, "forest and scan answer alike");
    }
    let rows: u64 = views
        .iter()
        .map(|&(lane, view)| {
            let mut cursor = LaneCursor::new(snapshot.store(), lane);
            let from = cursor.first_from(view.start_ns(view.first)).row;
            cursor.first_from(view.start_ns(view.end())).row - from
        })
        .sum();
    let best_ns = |work: &mut dyn FnMut(LaneIdx, Buckets)| {
        let round = |_| {
            let started = Instant::now();
            views.iter().for_each(|&(lane, view)| work(lane, view));
            started.elapsed().as_nanos()
        };
        (0..ROUNDS).map(round).min().unwrap_or(0) as f64 / buckets as f64
    };
    let as_asked_ns = best_ns(&mut |lane, view| {
        cells.clear();
        pixels::longest(snapshot, lane, view, &mut cells);
        black_box(&cells);
    });
    let forest_ns = best_ns(&mut |lane, view| {
        cells.clear();
        pixels::longest_from_forest(snapshot, lane, view, &mut cells);
        black_box(&cells);
    });
    let in_order_ns = best_ns(&mut |lane, view| {
        cells.clear();
        pixels::longest_in_order(snapshot, lane, view, &mut cells);
        black_box(&cells);
    });
    let mut results = Vec::new();
    let scan_ns = best_ns(&mut |lane, view| {
        results.clear();
        scan(snapshot, lane, view, &mut results);
        black_box(&results);
    });
    println!(
        "{:<10}{:>16.2}{as_asked_ns:>16.1}{forest_ns:>16.1}{in_order_ns:>16.1}{:>24}{:>12.2}",
        format!("1/{zoom}"),
        rows as f64 / buckets as f64,
        format!("{scan_ns:.1} ({:.1} x)", scan_ns / as_asked_ns),
        blocks as f64 / buckets as f64,
    );
}

/// The brute-force baseline: reads every row in view, in all extents that may contain one.
fn scan(snapshot: &Snapshot, lane: LaneIdx, view: Buckets, results: &mut Vec<(i64, u64)>) {
    let (start_ns, end_ns) = (view.start_ns(view.first), view.start_ns(view.end()));
    let lane = snapshot.store().lane(lane);
    let mut longest: Vec<Option<(u64, u64)>> = vec![None; view.count as usize];
    let first = lane.extents().partition_point(|extent| extent.first_start_ns < start_ns).saturating_sub(1);
    let mut decoded = Vec::new();
    for (index, record) in lane.extents().iter().enumerate().skip(first) {
        if record.first_start_ns >= end_ns {
            break;
        }
        let Some(extent) = lane.extent(index) else { continue };
        decoded.clear();
        (0..extent.blocks()).for_each(|block| extent.block(block).decode(&mut decoded));
        for (row, stored) in (record.first_row..).zip(&decoded) {
            let row_end_ns = stored.start_ns.saturating_add_unsigned(stored.value);
            if row_end_ns <= start_ns && stored.start_ns < start_ns || stored.start_ns >= end_ns {
                continue;
            }
            let last = (row_end_ns - 1).max(stored.start_ns).min(end_ns - 1);
            for bucket in view.bucket_at(stored.start_ns.max(start_ns))..=view.bucket_at(last) {
                let best = &mut longest[(bucket - view.first) as usize];
                if best.is_none_or(|(dur_ns, _)| stored.value > dur_ns) {
                    *best = Some((stored.value, row));
                }
            }
        }
    }
    let found = longest.iter().zip(view.first..);
    results.extend(found.filter_map(|(best, bucket)| best.map(|(_, row)| (bucket, row))));
}
