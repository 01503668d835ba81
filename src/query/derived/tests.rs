//! Derived tracks against loops over all spans, at random zooms and edges.

use std::sync::Arc;

use super::columns::ColumnWork;
use super::definition::{DerivedKind, DerivedTrack};
use super::histograms::STRIDE;
use super::make::derive;
use super::points::{DerivedSeries, FAN_OUT};
use super::quantiles::EXACT_MAX;
use super::room::{DerivedError, DerivedRoom};
use super::steps::{CounterSteps, default_step_ns};
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::model::TrackIdx;
use crate::query::Snapshot;
use crate::query::argument_path::ArgumentPath;
use crate::query::buckets::{Buckets, CounterCell};
use crate::query::filter::Filter;
use crate::query::ledger_traces::{RandomSequence, TraceSpan, argument, ranges, spans, store, unfinished};
use crate::query::matcher::Matcher;
use crate::query::scope::Scope;

/// A budget so small that a thousand rows are sorted in several runs.
const FEW_BYTES: u64 = 2048;

fn room(held_bytes: u64) -> DerivedRoom {
    DerivedRoom { folder: std::env::temp_dir(), held_bytes }
}

fn made(snapshot: &Snapshot, scope: &Scope, kind: &DerivedKind, held_bytes: u64) -> DerivedSeries {
    let progress = Progress::default();
    let series = derive(snapshot, scope, kind, &room(held_bytes), &Cancel::default(), &progress).unwrap();
    assert!(progress.view().fraction().is_none_or(|part| part == 1.0));
    series
}

fn kinds() -> Vec<DerivedKind> {
    let sum = DerivedKind::Sum(ArgumentPath::from_parts(["of", "five"]));
    DerivedKind::PLAIN.into_iter().chain([DerivedKind::Quantile(50), DerivedKind::Quantile(99), sum]).collect()
}

/// Returns the smallest and largest value in a closed time range, by a loop over all spans.
fn expected(
    spans: &[TraceSpan],
    kind: &DerivedKind,
    (from_ns, to_ns): (Option<i64>, Option<i64>),
    (start_ns, last_ns): (i64, i64),
) -> Option<(f64, f64)> {
    let is_in_scope = |span: &&TraceSpan| {
        from_ns.is_none_or(|from_ns| span.start_ns >= from_ns) && to_ns.is_none_or(|to_ns| span.start_ns < to_ns)
    };
    let starting: Vec<&TraceSpan> =
        spans.iter().filter(is_in_scope).filter(|span| (start_ns..=last_ns).contains(&span.start_ns)).collect();
    let both = |value: f64| Some((value, value));
    match kind {
        DerivedKind::Count => both(starting.len() as f64),
        DerivedKind::Rate => {
            let width_ns = i128::from(last_ns) - i128::from(start_ns) + 1;
            both(starting.len() as f64 * 1e9 / width_ns as f64)
        }
        DerivedKind::Quantile(percent) => {
            let mut durations: Vec<u64> = starting.iter().map(|span| span.dur_ns).collect();
            durations.sort_unstable();
            let is_enough = |&index: &usize| (index + 1) * 100 >= durations.len() * usize::from(*percent);
            both(durations[(0..durations.len()).find(is_enough)?] as f64)
        }
        DerivedKind::Busy => {
            let open_ns = |span: &TraceSpan| {
                let from_ns = span.start_ns.max(start_ns).max(from_ns.unwrap_or(i64::MIN));
                let to_ns = i128::from(span.end_ns().min(to_ns.unwrap_or(i64::MAX))).min(i128::from(last_ns) + 1);
                (to_ns - i128::from(from_ns)).max(0)
            };
            let width_ns = i128::from(last_ns) - i128::from(start_ns) + 1;
            both(spans.iter().map(open_ns).sum::<i128>() as f64 * 100.0 / width_ns as f64)
        }
        DerivedKind::CounterSum(_) => None,
        DerivedKind::MaxDuration => both(starting.iter().map(|span| span.dur_ns).max()? as f64),
        DerivedKind::Sum(_) => both(starting.iter().filter_map(|span| argument(span)).sum::<u64>() as f64),
        DerivedKind::Concurrency => {
            let clipped = |span: &TraceSpan| {
                let start_ns = from_ns.map_or(span.start_ns, |from_ns| span.start_ns.max(from_ns));
                (start_ns, to_ns.map_or(span.end_ns(), |to_ns| span.end_ns().min(to_ns)))
            };
            let clipped: Vec<(i64, i64)> = spans.iter().map(clipped).collect();
            let open = |ts_ns: i64| clipped.iter().filter(|(start, end)| (*start..*end).contains(&ts_ns)).count();
            // The number of open spans changes only at starts and ends.
            let changes = clipped.iter().flat_map(|&(start, end)| [start, end]);
            let inside = changes.filter(|ts_ns| (start_ns..=last_ns).contains(ts_ns));
            let counts: Vec<usize> = inside.chain([start_ns]).map(open).collect();
            Some((*counts.iter().min()? as f64, *counts.iter().max()? as f64))
        }
    }
}

/// Returns the spans as long as they are open: a span without an end lasts to the end of the trace.
fn open_spans(spans: &[TraceSpan]) -> Vec<TraceSpan> {
    let (unfinished, end_ns) = (unfinished(spans), spans.iter().map(TraceSpan::end_ns).max().unwrap_or(0));
    let opened = |span: &TraceSpan| {
        let is_open = unfinished.contains(span);
        TraceSpan { dur_ns: if is_open { end_ns.abs_diff(span.start_ns) } else { span.dur_ns }, ..*span }
    };
    spans.iter().map(opened).collect()
}

/// Returns whether a kind counts spans while they are open.
fn is_of_open(kind: &DerivedKind) -> bool {
    matches!(kind, DerivedKind::Concurrency | DerivedKind::Busy)
}

/// Expands cells to one value per column.
fn by_column(cells: &[CounterCell]) -> Vec<(i64, (f64, f64))> {
    let columns = cells
        .iter()
        .flat_map(|cell| (cell.first_bucket..cell.end_bucket()).map(move |bucket| (bucket, (cell.min, cell.max))));
    columns.collect()
}

fn views(snapshot: &Snapshot, random: &mut RandomSequence, count: usize) -> Vec<Buckets> {
    let (start_ns, end_ns) = (snapshot.start_ns().min(0) - 100, snapshot.end_ns());
    let length_ns = end_ns.abs_diff(start_ns).max(1);
    let mut views = vec![Buckets::covering(start_ns, end_ns.saturating_add(100), length_ns / 50)];
    while views.len() < count {
        let from_ns = start_ns.saturating_add_unsigned(random.below(length_ns + 300));
        let width_ns = 1 << random.below(u64::from(64 - length_ns.leading_zeros()));
        views.push(Buckets::covering(
            from_ns,
            from_ns.saturating_add_unsigned(width_ns * (1 + random.below(70))),
            width_ns,
        ));
    }
    views
}

#[test]
fn columns_are_those_of_a_loop_over_all_spans_at_every_zoom() {
    let mut random = RandomSequence(3);
    for (tracks, lanes, rows, first_ns) in [(1, 1, 1, 7), (3, 3, 60, -4000), (8, 2, 80, 0)] {
        let spans = spans(tracks, lanes, rows, rows, first_ns);
        assert!(tracks == 1 || open_spans(&spans) != spans, "some have no end");
        let (_file, snapshot) = store(&spans, None, 0);
        for (from_ns, to_ns) in ranges(&snapshot, &mut random, 3) {
            for (filter, name) in [("", None), ("/^name 3$/", Some(4))] {
                let matcher = Matcher::new(&snapshot, &Filter::parse(filter).unwrap());
                let scope = Scope::from_range(from_ns, to_ns).matching(matcher);
                let named = |spans: &[TraceSpan]| -> Vec<TraceSpan> {
                    spans.iter().copied().filter(|span| name.is_none_or(|name| span.name == name)).collect()
                };
                let (started, open) = (named(&spans), named(&open_spans(&spans)));
                for kind in kinds() {
                    let meant = if is_of_open(&kind) { &open } else { &started };
                    let all = made(&snapshot, &scope, &kind, 1 << 20);
                    let spilled = made(&snapshot, &scope, &kind, FEW_BYTES);
                    for view in views(&snapshot, &mut random, 8) {
                        let (mut cells, mut same) = (Vec::new(), Vec::new());
                        all.columns(view, &mut cells);
                        spilled.columns(view, &mut same);
                        assert_eq!(cells, same, "{kind} {filter:?} {view:?}");
                        let columns = (view.first..view.end()).filter_map(|bucket| {
                            let column = (view.start_ns(bucket), view.last_ns(bucket));
                            let value = expected(meant, &kind, (from_ns, to_ns), column);
                            assert_eq!(all.value(column, &mut ColumnWork::default()), value, "{kind} {column:?}");
                            Some((bucket, value?))
                        });
                        let columns: Vec<_> = columns.collect();
                        assert_eq!(by_column(&cells), columns, "{kind} {filter:?} {from_ns:?}..{to_ns:?} {view:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn spans_at_both_ends_of_time_and_none_at_all() {
    let span = |start_ns, dur_ns| TraceSpan { track: 0, lane: 0, start_ns, dur_ns, name: 1 };
    let far = vec![span(i64::MIN, 3), span(-1, 0), span(0, u64::MAX >> 1), span(i64::MAX, 0)];
    // The time of these open spans takes more than 64 bits.
    let long = |track| TraceSpan { track, ..span(i64::MIN + i64::from(track), u64::MAX - u64::from(track)) };
    for spans in [far, (0..12).map(long).collect(), vec![span(5, 0)], Vec::new()] {
        let (_file, snapshot) = store(&spans, None, 0);
        for kind in kinds() {
            let series = made(&snapshot, &Scope::default(), &kind, 1 << 20);
            for view in [
                Buckets::covering(i64::MIN, i64::MAX, 1 << 59),
                Buckets::covering(i64::MIN, i64::MIN + 9, 1),
                Buckets::covering(i64::MAX - 9, i64::MAX, 1),
                Buckets::covering(-5, 9, 1),
            ] {
                let mut cells = Vec::new();
                series.columns(view, &mut cells);
                let columns = (view.first..view.end()).filter_map(|bucket| {
                    let column = (view.start_ns(bucket), view.last_ns(bucket));
                    Some((bucket, expected(&spans, &kind, (None, None), column)?))
                });
                assert_eq!(by_column(&cells), columns.collect::<Vec<_>>(), "{kind} {view:?}");
            }
            let steps: Vec<_> = CounterSteps::new(Arc::new(series), None, (None, None)).take(5000).collect();
            assert!(steps.len() < 5000 && steps.is_sorted_by(|one, next| one.0 < next.0), "{kind}");
        }
    }
}

#[test]
fn the_steps_of_a_counter_are_the_columns_of_a_loop() {
    let spans = spans(2, 2, 60, 11, 250);
    let (_file, snapshot) = store(&spans, None, 0);
    let (end_ns, open) = (snapshot.end_ns(), open_spans(&spans));
    for kind in kinds() {
        let spans = if is_of_open(&kind) { &open } else { &spans };
        let series = Arc::new(made(&snapshot, &Scope::default(), &kind, 1 << 20));
        for every_ns in [Some(7), Some(1000), Some(u64::MAX), None] {
            let is_every_change = every_ns.is_none() && kind == DerivedKind::Concurrency;
            let width_ns = match every_ns {
                _ if is_every_change => 1,
                Some(width_ns) => width_ns,
                None => default_step_ns(end_ns.abs_diff(snapshot.start_ns())),
            };
            let mut steps = Vec::new();
            let mut start_ns = Some(snapshot.start_ns());
            while let Some(from_ns) = start_ns.filter(|&start_ns| start_ns <= end_ns) {
                let last_ns = from_ns.saturating_add_unsigned(width_ns - 1);
                let value = expected(spans, &kind, (None, None), (from_ns, last_ns)).map_or(0.0, |(_, most)| most);
                if steps.last().is_none_or(|&(_, last)| last != value) {
                    steps.push((from_ns, value));
                }
                start_ns = from_ns.checked_add_unsigned(width_ns);
            }
            let made: Vec<_> = CounterSteps::new(Arc::clone(&series), every_ns, (None, None)).collect();
            assert_eq!(made, steps, "{kind} {every_ns:?}");
        }
    }
}

#[test]
fn work_for_a_column_grows_with_the_logarithm_of_the_points() {
    let work = |rows: u64, kind: &DerivedKind| {
        let spans = spans(4, 2, rows, 9, 0);
        let (_file, snapshot) = store(&spans, None, 0);
        let series = made(&snapshot, &Scope::default(), kind, 64 << 20);
        let end_ns = snapshot.end_ns();
        let (mut work, mut cells) = (ColumnWork::default(), Vec::new());
        let _ = series.value((end_ns / 7, end_ns / 7 * 5), &mut work);
        let view = Buckets::covering(0, end_ns, end_ns.unsigned_abs() / 1000);
        let all = series.columns(view, &mut cells);
        (work, all, u64::from(view.count))
    };
    for kind in kinds().into_iter().filter(|kind| !matches!(kind, DerivedKind::Quantile(_))) {
        let ((few, ..), (many, all, columns)) = (work(100, &kind), work(20_000, &kind));
        // Two hundred times as many points mean eight more doublings, and two levels at both ends.
        assert!(many.probes <= few.probes + 4 * 8, "{kind}: {many:?} after {few:?}");
        assert!(many.nodes <= few.nodes + 2 * 2 * FAN_OUT as u64, "{kind}: {many:?} after {few:?}");
        // Each column starts where the previous one ended.
        assert!(all.probes <= columns * 20 && all.nodes <= columns * 60, "{kind}: {all:?} for {columns} columns");
    }
}

#[test]
fn a_cancelled_track_is_not_made_and_neither_is_one_without_room_on_the_disk() {
    let (_file, snapshot) = store(&spans(2, 2, 400, 5, 0), None, 0);
    let cancel = Cancel::default();
    cancel.cancel();
    let (scope, progress) = (Scope::default().with_tracks(&[TrackIdx(1)]), Progress::default());
    let stopped = derive(&snapshot, &scope, &DerivedKind::Rate, &room(FEW_BYTES), &cancel, &progress);
    assert!(matches!(stopped, Err(DerivedError::Cancelled(_))), "{stopped:?}");
    let nowhere = DerivedRoom { folder: "/nowhere/at/all".into(), held_bytes: FEW_BYTES };
    let failed = derive(&snapshot, &scope, &DerivedKind::Rate, &nowhere, &Cancel::default(), &progress);
    assert!(failed.unwrap_err().to_string().contains("temporary file"));
}

#[test]
fn tracks_of_a_scope_take_part_alone_and_rows_are_counted() {
    let spans = spans(3, 2, 100, 4, 0);
    let (_file, snapshot) = store(&spans, None, 0);
    let scope = Scope::default().with_tracks(&[TrackIdx(1)]);
    let series = made(&snapshot, &scope, &DerivedTrack::parse("count").unwrap().kind, 1 << 20);
    assert_eq!(series.rows(), spans.iter().filter(|span| span.track == 1).count() as u64);
    assert!(series.bytes() >= 16 && series.bytes() <= 16 * series.rows());
}

#[test]
fn quantiles_of_many_spans_are_within_a_bucket_and_their_work_is_bounded() {
    let rows = 3 * STRIDE as u64 + 500;
    let spans = spans(1, 1, rows, 9, -77);
    let (_file, snapshot) = store(&spans, None, 0);
    for percent in [1, 50, 99] {
        let kind = DerivedKind::Quantile(percent);
        let series = made(&snapshot, &Scope::default(), &kind, 1 << 22);
        let start = |row: usize| spans[row].start_ns;
        let last = spans.len() - 1;
        for (first, end) in [(0, last), (5, EXACT_MAX + 10), (100, STRIDE), (100, 2 * STRIDE + 7), (STRIDE - 3, last)] {
            let column = (start(first), start(end) - 1);
            let (exact, _) = expected(&spans, &kind, (None, None), column).unwrap();
            let mut work = ColumnWork::default();
            let (least, most) = series.value(column, &mut work).unwrap();
            assert!(least <= exact && exact <= most && most <= least * 33.0 / 32.0, "{exact} in {least}..{most}");
            assert!(work.nodes <= 2 * STRIDE as u64 + 2, "{work:?}");
            let is_exact =
                spans.iter().filter(|span| (column.0..=column.1).contains(&span.start_ns)).count() <= EXACT_MAX;
            assert!(!is_exact || least == most);
        }
    }
}

#[test]
fn counters_of_a_name_are_summed_while_they_hold_their_values() {
    let mut random = RandomSequence(8);
    let samples: Vec<(u64, i64, i64)> =
        (0..300).map(|number| (number % 3, 40 + (number / 4) as i64 * 5, random.below(90) as i64 - 30)).collect();
    let line = |&(pid, ts, value): &(u64, i64, i64)| {
        let name = if pid == 2 { "other" } else { "rss" };
        format!(r#"{{"ph":"C","name":"{name}","pid":{pid},"ts":{ts},"args":{{"value":{value}}}}}"#)
    };
    let span = r#"{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":900}"#.to_owned();
    let lines: Vec<String> = samples.iter().map(line).chain([span]).collect();
    let snapshot = crate::scene::tests::snapshot(&format!("[{}]", lines.join(",")));
    let names = snapshot.tracks().tracks.iter().map(|track| track.name.to_string());
    let kind = DerivedKind::CounterSum(names.into_iter().find(|name| name.starts_with("rss")).unwrap());
    for (from_ns, to_ns) in
        [(None, None), (Some(61_000), None), (Some(120_001), Some(300_000)), (Some(0), Some(40_000))]
    {
        let is_in_range =
            |ts_ns: i64| from_ns.is_none_or(|from_ns| ts_ns >= from_ns) && to_ns.is_none_or(|to_ns| ts_ns < to_ns);
        let level = |ts_ns: i64| {
            let held = |of: u64| {
                let mut until = samples.iter().filter(|&&(pid, ts, _)| pid == of && ts * 1000 <= ts_ns);
                until.next_back().map_or(0, |&(_, _, value)| value)
            };
            if is_in_range(ts_ns) { (held(0) + held(1)) as f64 } else { 0.0 }
        };
        for held_bytes in [FEW_BYTES, 1 << 20] {
            let series = made(&snapshot, &Scope::from_range(from_ns, to_ns), &kind, held_bytes);
            for _ in 0..300 {
                let start_ns = random.below(500_000) as i64 - 20_000;
                let width_log2 = random.below(18);
                let last_ns = start_ns + random.below(1 << width_log2) as i64;
                let edges = [from_ns, to_ns].into_iter().flatten();
                let times = samples.iter().map(|sample| sample.1 * 1000).chain(edges);
                let inside = times.filter(|ts_ns| (start_ns..=last_ns).contains(ts_ns)).chain([start_ns]);
                let levels: Vec<f64> = inside.map(level).collect();
                let bounds = levels
                    .iter()
                    .fold((f64::MAX, f64::MIN), |(least, most), level| (level.min(least), level.max(most)));
                let found = series.value((start_ns, last_ns), &mut ColumnWork::default());
                assert_eq!(found, Some(bounds), "{from_ns:?}..{to_ns:?} {start_ns}..={last_ns}");
            }
        }
    }
    let of_one = Scope::from_matcher(Matcher::new(&snapshot, &Filter::parse("process:1").unwrap()));
    let series = made(&snapshot, &of_one, &kind, 1 << 20);
    assert_eq!(series.rows(), 100);
}

#[test]
fn counters_of_another_name_or_unit_are_not_summed() {
    let counter = |name: &str, pid: u32, value: u32| {
        format!(r#"{{"ph":"C","name":"{name}","pid":{pid},"ts":1,"args":{{"":{value}}}}}"#)
    };
    let lines = [
        counter("rss", 1, 5),
        counter("rss (KB)", 2, 100),
        counter("rss (max)", 3, 1000),
        counter("heap (KB)", 4, 10),
        counter("heap (KB)", 5, 20),
        counter("heap (max)", 6, 1000),
        counter("size (KB)", 7, 1),
        counter("size (MB)", 8, 2),
    ];
    let snapshot = crate::scene::tests::snapshot(&format!("[{}]", lines.join(",")));
    for (name, sum) in
        [("rss", 5.0), ("rss (KB)", 100.0), ("rss (max)", 1000.0), ("heap", 30.0), ("size", 0.0), ("size (MB)", 2.0)]
    {
        let series = made(&snapshot, &Scope::default(), &DerivedKind::CounterSum(name.to_owned()), 1 << 20);
        let found = series.value((1000, 1000), &mut ColumnWork::default());
        assert_eq!(found, Some((sum, sum)), "{name}");
    }
}

#[test]
fn a_sum_beyond_the_largest_number_is_exported_as_that_number() {
    let values = [(0, "1"), (10, "1.7e308"), (20, "1.7e308"), (30, "5"), (40, "-1.7e308"), (41, "-1.7e308"), (60, "2")];
    let line = |(ts, value): (u32, &str)| {
        format!(r#"{{"ph":"X","name":"a","pid":1,"tid":1,"ts":{ts},"dur":1,"args":{{"v":{value}}}}}"#)
    };
    let snapshot = crate::scene::tests::snapshot(&format!("[{}]", values.map(line).join(",")));
    let kind = DerivedKind::Sum(ArgumentPath::from_parts(["v"]));
    let series = Arc::new(made(&snapshot, &Scope::default(), &kind, 1 << 20));
    let steps: Vec<_> = CounterSteps::new(series, Some(30_000), (None, None)).collect();
    assert_eq!(steps, [(0, f64::MAX), (30_000, f64::MIN), (60_000, 2.0)]);
}
