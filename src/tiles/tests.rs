//! Bounds the work of a frame: it does not grow with threads or spans, in any order of rows. The same holds for the
//! summary of a process and of the whole trace.

use super::source::{TileOwner, TileSource};
use super::summaries::TrackSummaries;
use super::trace_summary::TraceSummary;
use crate::base::cancel::Cancel;
use crate::model::ProcessIdx;
use crate::query::{Buckets, ReadCount, Snapshot};
use crate::scene::arrange;
use crate::scene::arrange::{Arrangement, TrackOrder};
use crate::scene::fenwick_heights::lookups;
use crate::scene::rows::RowHeights;
use crate::scene::tests::{snapshot, threads};

/// Buckets of a summary strip in view.
const COLUMNS: u64 = 200;

/// Builds threads of one process, each with consecutive spans of very different lengths. They take 4 ms, followed by a
/// gap of half a millisecond, and one more span at the end.
fn busy_threads(threads: u32, spans: u32) -> Snapshot {
    let mut lines = Vec::new();
    // Pseudo-random numbers that are the same each time.
    let mut drawn = 1_u64;
    for thread in 0..threads {
        let mut start_us = thread % 7;
        for _ in 0..spans {
            drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let room_us = 4000 / spans;
            let dur_us = 1 + u32::try_from(drawn >> 40).unwrap() % room_us;
            lines.push(format!(
                r#"{{"ph":"X","name":"n{}","pid":1,"tid":{thread},"ts":{start_us},"dur":{dur_us}}}"#,
                thread % 50
            ));
            start_us += room_us;
        }
        lines.push(format!(r#"{{"ph":"X","name":"end","pid":1,"tid":{thread},"ts":4600,"dur":{}}}"#, 1 + thread % 20));
    }
    snapshot(&format!("[{}]", lines.join(",")))
}

#[test]
fn scrolling_takes_no_more_for_more_threads_whatever_their_order_and_with_a_filter() {
    const VIEW_PX: u64 = 1080;
    let of_all = [60, 6000].map(|threads| busy_threads(threads, 1));
    for (order, filter) in [
        (TrackOrder::Activity, ""),
        (TrackOrder::FirstEvent, ""),
        (TrackOrder::Name, ""),
        (TrackOrder::Activity, "7"),
        (TrackOrder::Trace, "7"),
    ] {
        let most = of_all.each_ref().map(|snapshot| {
            let arrangement = Arrangement { order, filter: filter.to_owned(), ..Arrangement::default() };
            let layout = arrange::layout(snapshot, &arrangement, None, &RowHeights::at_scale(1.0));
            let frames = (0..=layout.height_px() / VIEW_PX).map(|frame| {
                let before = lookups::so_far();
                let shown = layout.groups_within(frame * VIEW_PX, (frame + 1) * VIEW_PX).len();
                let lanes = layout.lanes_within(frame * VIEW_PX, (frame + 1) * VIEW_PX).len();
                (lookups::so_far() - before, shown.max(lanes))
            });
            frames.max().unwrap()
        });
        for (lookups, shown) in most {
            assert!(lookups <= 16 + 8 * shown as u64 && shown < 64, "{lookups} lookups for {shown} rows by {order:?}");
        }
    }
}

/// Returns the reads of the only process's summary for a view of [`COLUMNS`] buckets from `from_ns`.
fn reads_of_a_strip(snapshot: &Snapshot, width_log2: u32, from_ns: i64) -> ReadCount {
    let precomputed = Buckets { first: 0, count: 1200, width_log2: 12 };
    let lanes = TrackSummaries::from_snapshot(snapshot, precomputed, &Cancel::default()).unwrap();
    let mut cells = Vec::new();
    let buckets = Buckets { first: from_ns >> width_log2, count: COLUMNS as u32, width_log2 };
    lanes.longest(TileOwner::Process(ProcessIdx(0)), buckets, &mut cells)
}

#[test]
fn a_strip_queries_no_more_for_more_threads_or_spans() {
    /// The lanes that are queried one by one, times a few queries for each; with more lanes, all would be precomputed.
    const LANES: u64 = 512;
    // From the whole trace to a few microseconds, both busy and idle.
    for (threads, spans) in [(20, 4), (500, 4), (520, 4), (4000, 4), (20, 400), (20, 2000), (600, 100)] {
        let snapshot = busy_threads(threads, spans);
        for width_log2 in [14, 12, 10, 8, 6] {
            for from_ns in [1_000_000, 4_200_000] {
                let reads = reads_of_a_strip(&snapshot, width_log2, from_ns);
                let most = if u64::from(threads) < LANES { 8 * LANES } else { 2 * COLUMNS };
                let what = format!("{threads} threads of {spans} spans, buckets of 2^{width_log2} ns from {from_ns}");
                assert!(reads.queries <= most && reads.blocks <= most, "{reads:?} for {what}");
            }
        }
    }
}

#[test]
fn the_map_has_as_many_buckets_for_any_number_of_threads_and_spans() {
    for (threads, spans) in [(1, 4), (1, 4000), (3000, 2)] {
        let summary = TraceSummary::from_snapshot(&busy_threads(threads, spans), &Cancel::default()).unwrap();
        // Two for each column of the widest map: what a frame scans.
        assert!(summary.filled.len() <= 2050, "{} parts for {threads} threads", summary.filled.len());
        assert_eq!(summary.columns(0, 4_620_000, 640).len(), 640);
    }
}

#[test]
fn the_map_shows_time_that_only_overlapping_spans_fill() {
    // The second span is on the lane below, and reaches further than the first.
    let json = r#"[{"ph":"X","name":"early","pid":1,"tid":1,"ts":100,"dur":300},
        {"ph":"X","name":"late","pid":1,"tid":1,"ts":300,"dur":500},
        {"ph":"X","name":"end","pid":1,"tid":2,"ts":2000,"dur":1}]"#;
    let snapshot = snapshot(json);
    let summary = TraceSummary::from_snapshot(&snapshot, &Cancel::default()).unwrap();
    let columns = summary.columns(100_000, 2_000_000, 19);
    // A bucket at the edge reaches into the next column.
    let free = &columns[8..18];
    assert!(columns[..7].iter().all(|&column| column > 0.0) && free.iter().all(|&column| column == 0.0), "{columns:?}");
    // The track counts once if both spans are open.
    assert_eq!(columns[1], columns[5], "{columns:?}");
}

#[test]
fn a_column_of_the_map_is_the_mean_of_its_buckets() {
    // Buckets of 16 ns from 32 ns on.
    let filled = vec![3, 0, 8, 1, 0, 0, 5, 2];
    let buckets = Buckets { first: 2, count: 8, width_log2: 4 };
    let summary = TraceSummary::from_filled(buckets, filled.clone());
    for (start_ns, end_ns, count) in [(32, 160, 8), (32, 160, 16), (32, 160, 4), (40, 136, 3), (0, 192, 6), (64, 68, 4)]
    {
        let width_ns = (end_ns - start_ns) / count;
        let at = |ns: i64| usize::try_from((ns >> 4) - 2).ok().and_then(|bucket| filled.get(bucket)).map_or(0, |&n| n);
        let sums = (0..count).map(|column| {
            let from_ns = start_ns + column * width_ns;
            (from_ns..from_ns + width_ns).map(at).sum::<u32>()
        });
        let sums: Vec<u32> = sums.collect();
        let most = f64::from(*sums.iter().max().unwrap());
        let columns = summary.columns(start_ns, end_ns, count as usize);
        for (column, sum) in columns.iter().zip(&sums) {
            let expected = (f64::from(*sum) / most).sqrt();
            assert!((f64::from(*column) - expected).abs() < 1e-6, "{start_ns} to {end_ns}: {columns:?} for {sums:?}");
        }
        assert_eq!(columns.len(), sums.len());
    }
    assert_eq!(summary.columns(64, 64, 3), [1.0; 3], "no time at all");
    assert_eq!(summary.columns(1 << 20, 1 << 21, 2), [0.0; 2], "after the trace");
}

#[test]
fn the_map_shows_the_instants_of_tracks_with_spans() {
    let json = r#"[{"ph":"i","name":"call","pid":1,"tid":1,"ts":0},{"ph":"i","name":"call","pid":1,"tid":1,"ts":550},
        {"ph":"X","name":"a","pid":1,"tid":1,"ts":950,"dur":50}]"#;
    let snapshot = snapshot(json);
    let summary = TraceSummary::from_snapshot(&snapshot, &Cancel::default()).unwrap();
    let columns = summary.columns(snapshot.start_ns(), snapshot.end_ns(), 10);
    let filled: Vec<_> = (0..10).filter(|&column| columns[column] > 0.0).collect();
    assert_eq!(filled, [0, 5, 9], "{columns:?}");
}

#[test]
fn the_map_of_a_trace_of_a_few_nanoseconds_is_filled_by_its_span() {
    for dur_ns in [1, 2, 50, 200] {
        let dur_us = f64::from(dur_ns) / 1000.0;
        let snapshot = snapshot(&format!(r#"[{{"ph":"X","name":"a","pid":1,"tid":1,"ts":5,"dur":{dur_us}}}]"#));
        let summary = TraceSummary::from_snapshot(&snapshot, &Cancel::default()).unwrap();
        let columns = summary.columns(snapshot.start_ns(), snapshot.end_ns(), 1000);
        assert!(columns.iter().all(|&column| column == 1.0), "{dur_ns}: {columns:?}");
    }
}

#[test]
fn the_summary_sees_where_spans_are() {
    let mut spans = vec![("a", "quiet", 0)];
    spans.extend((0..40).map(|n| ("a", "busy", 500 + n * 2)));
    spans.push(("a", "quiet", 1000));
    let snapshot = threads(&spans);
    let summary = TraceSummary::from_snapshot(&snapshot, &Cancel::default()).unwrap();
    let columns = summary.columns(snapshot.start_ns(), snapshot.end_ns(), 10);
    let most = columns.iter().copied().fold(0.0, f32::max);
    assert_eq!(columns[5], most, "{columns:?}");
    assert!(columns[0] > 0.0 && columns[9] > 0.0 && columns[2] == 0.0, "{columns:?}");
    assert!(summary.track_summaries.is_some_and(|summaries| summaries.has(TileOwner::Process(ProcessIdx(0)))));
    let stopped = Cancel::default();
    stopped.cancel();
    assert!(TraceSummary::from_snapshot(&snapshot, &stopped).is_err());
}

#[test]
fn the_map_of_counters_alone_shows_where_they_have_values_and_spans_hide_them() {
    let value = |ts: u32| format!(r#"{{"ph":"C","name":"n","pid":1,"ts":{ts},"args":{{"v":{ts}}}}}"#);
    let mut values: Vec<_> = (0..40).map(|number| value(500 + number)).collect();
    values.extend([value(0), value(1000)]);
    let counters = snapshot(&format!("[{}]", values.join(",")));
    let summary = TraceSummary::from_snapshot(&counters, &Cancel::default()).unwrap();
    let columns = summary.columns(counters.start_ns(), counters.end_ns(), 10);
    assert!(columns[0] > 0.0 && columns[2] == 0.0 && columns[9] > 0.0, "{columns:?}");
    assert_eq!(columns[5], 1.0, "{columns:?}");
    values.push(r#"{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":100}"#.to_owned());
    let mixed = snapshot(&format!("[{}]", values.join(",")));
    let summary = TraceSummary::from_snapshot(&mixed, &Cancel::default()).unwrap();
    assert_eq!(summary.columns(mixed.start_ns(), mixed.end_ns(), 10)[5], 0.0);
}
