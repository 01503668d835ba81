//! Filters, searches and filtered pixels against oracles: scans over all rows.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::filter::{Filter, RowData, Test};
use super::filtered;
use super::matcher::Matcher;
use super::rows::SortedRows;
use super::scan::blocks_read;
use super::scope::Scope;
use super::search::{Hit, PARTS, search};
use super::{Buckets, Snapshot};
use crate::base::cancel::Cancel;
use crate::base::disk::SystemDisk;
use crate::base::progress::Progress;
use crate::model::args::Detail;
use crate::model::{Id, NameIdx, NameRow, Names, Registry, StackIdx, Stacks, TrackIdx, TrackKey, TrackKind};
use crate::query::ledger_traces::{RandomSequence, TraceSpan, store};
use crate::store::details::DetailReader;
use crate::store::ledger::LedgerShape;
use crate::store::ledger_build::LedgerContext;
use crate::store::path_ledger::PathShape;
use crate::store::sample_ledger::SampleShape;
use crate::store::{DetailRef, LaneIdx, LaneKind, Meta, Row, Store, StoreWriter, Summary};

/// Builds lanes of a few tracks with spans that do not overlap. One name in a hundred is rare.
fn trace(lanes: usize, rows_per_lane: usize, seed: u64) -> Snapshot {
    trace_with_ledger(lanes, [rows_per_lane; 2], seed, None)
}

/// Builds the same lanes with these numbers of spans and instants per lane, and a ledger of a shape.
fn trace_with_ledger(lanes: usize, [spans, instants]: [usize; 2], seed: u64, ledger: Option<LedgerShape>) -> Snapshot {
    let mut sequence = RandomSequence(seed | 1);
    let mut below = move |bound: u64| sequence.below(bound);
    let mut names = Names::default();
    for name in 0..60 {
        names.intern(&format!("Task {name:02}"), [None, Some("io"), Some("gpu")][name % 3]);
    }
    let regular = names.clone();
    for name in (1..=60).map(NameIdx) {
        names.intern_row(NameRow { is_failed: true, ..regular.get(name) });
    }
    let mut registry = Registry::default();
    for lane in 0..lanes as i64 {
        let (pid, tid) = (Id::Number(lane % 2), Id::Number(lane));
        registry.track(&TrackKey::thread(pid, tid));
    }
    let file = tempfile::tempfile().unwrap();
    let disk = std::sync::Arc::new(SystemDisk);
    let mut writer = StoreWriter::on(disk, file.try_clone().unwrap(), 1 << 24).unwrap();
    let mut end_ns = 0;
    for lane in 0..lanes {
        let kind = if lane % 4 == 3 { LaneKind::Instants } else { LaneKind::Spans };
        let index = writer.add_lane(TrackIdx(lane as u32), kind, 0).unwrap();
        let mut free_ns = 0;
        for row in 0..if kind == LaneKind::Spans { spans } else { instants } {
            let start_ns = free_ns + below(3) as i64 * below(40) as i64;
            let dur_ns = if kind == LaneKind::Spans { below(50) * below(50) } else { 0 };
            free_ns = start_ns + dur_ns as i64;
            // Names change in phases, so that extents differ, plus a rare one.
            let name = if below(700) == 0 { 59 } else { (row / 3000 * 7) as u64 % 50 + below(8) };
            let args = format!(r#"{{"k":{},"in":{{"s":"text {}"}},"x.y z":{}}}"#, below(5), below(3), below(4));
            let args = if row % 7 == 0 { "{ }" } else { &args };
            let mut blob = Vec::new();
            Detail { args_json: args, ..Detail::default() }.encode_into(&mut blob);
            let detail = if below(3) == 0 { writer.push_detail(&blob).unwrap().0 } else { 0 };
            // The names of failures follow the others.
            let is_failed = kind == LaneKind::Spans && row % 5 == 0;
            let name = 1 + name as u32 + if is_failed { 60 } else { 0 };
            writer.push(index, Row { start_ns, value: dur_ns, detail, name }).unwrap();
        }
        end_ns = free_ns.max(end_ns);
    }
    let summary = Summary { end_ns, ..Summary::default() };
    let meta = Meta { names: names.into(), tracks: registry.tables().clone(), summary, ..Meta::default() };
    let (cancel, progress) = (Cancel::default(), Progress::default());
    let context = ledger.map(|shape| LedgerContext {
        shape,
        samples: SampleShape::default(),
        paths: PathShape::default(),
        budget_bytes: 1 << 24,
        started: std::time::Instant::now(),
        cancel: &cancel,
        progress: &progress,
    });
    writer.finish_with_ledger(meta, context.as_ref(), |_| {}).unwrap();
    Snapshot::new(Store::from_file(&file, "test".as_ref()).unwrap().into())
}

/// Tests a row term by term, with nothing precomputed.
fn passes(snapshot: &Snapshot, filter: &Filter, lane: LaneIdx, row: &Row, reader: &mut DetailReader) -> bool {
    filter.terms.iter().all(|term| {
        let name = snapshot.names().get(NameIdx(row.name));
        let track = snapshot.track(snapshot.lane(lane).track);
        let holds = match &term.test {
            Test::Name(test) => test.holds(name.text),
            Test::Category(test) => name.category.is_some_and(|category| test.holds(category)),
            Test::Failed => name.is_failed,
            Test::Thread(test) => test.holds(&track.name) || test.holds(&track.key.tid.to_string()),
            Test::Process(test) => test.holds("") || test.holds(&track.key.pid.to_string()),
            Test::Duration(range) => range.contains(&row.value),
            Test::Start(test) => test.on_clock_of(snapshot.start_ns()).contains(&row.start_ns),
            Test::Argument { path, test } => {
                let blob = snapshot.store().detail(DetailRef(row.detail), reader);
                let value: serde_json::Value = serde_json::from_str(Detail::decode(blob).args_json).unwrap_or_default();
                let nested = value.pointer(&format!("/{}", path.dotted().replace('.', "/")));
                let value = value.get(path.dotted()).or(nested).cloned();
                value.is_some_and(|value| test.holds(&value.as_str().map_or(value.to_string(), str::to_owned)))
            }
            Test::Has(RowData::Arguments) => {
                let blob = snapshot.store().detail(DetailRef(row.detail), reader);
                let value: serde_json::Value = serde_json::from_str(Detail::decode(blob).args_json).unwrap_or_default();
                value.as_object().is_some_and(|members| !members.is_empty())
            }
            Test::Has(RowData::Stack) => snapshot.lane(lane).kind == LaneKind::Samples && row.value != 0,
            Test::Has(RowData::Flow) => unreachable!("flow_rows/tests.rs has an oracle of it"),
            Test::Inside(_) | Test::Within(_) => unreachable!("inside_tests.rs has an oracle of them"),
        };
        holds != term.negated
    })
}

fn scanned(snapshot: &Snapshot, filter: &Filter, range: (Option<i64>, Option<i64>)) -> Vec<Hit> {
    let mut reader = DetailReader::default();
    let mut hits: Vec<Hit> = SortedRows::new(snapshot, snapshot.event_lanes(), range.0, range.1)
        .filter(|row| passes(snapshot, filter, row.index.lane, &row.row, &mut reader))
        .map(|row| Hit {
            start_ns: row.row.start_ns,
            row: row.index,
            dur_ns: row.row.value,
            name: NameIdx(row.row.name),
        })
        .collect();
    hits.sort();
    hits
}

const FILTERS: [&str; 27] = [
    "",
    "is:failed",
    "-is:failed task",
    "is:failed dur>5",
    "task",
    "\"Task 59\"",
    "/Task [0-2]/",
    "~t4",
    "nothing",
    "cat:io",
    "-cat:io dur>100ns",
    "dur>2000ns",
    "dur<=0",
    "thread:1 process:1",
    "arg.k=3",
    "-arg.in.s:1 arg.k:/[12]/",
    "arg.x.\"y z\"=2",
    "-arg.\"x.y z\":/[03]/",
    "-dur<5 -\"Task 59\"",
    "start>=100us start<400us dur>100",
    "-start>200us cat:io",
    "start<+250us -start<=+9us",
    "start<0",
    "has:args",
    "-has:args dur>100ns",
    "has:stack",
    "-has:stack has:args \"Task 59\"",
];

fn whole(range: (Option<i64>, Option<i64>)) -> Scope {
    Scope { from_ns: range.0, to_ns: range.1, ..Scope::default() }
}

#[test]
fn every_filter_finds_what_a_scan_finds_page_by_page_and_in_both_directions() {
    check_every_filter(&trace(5, 9000, 11), 0..=0);
}

#[test]
fn hits_that_the_ledger_counts_are_those_of_a_scan() {
    for (slice_rows, seed) in [(300, 11), (4000, 12)] {
        let shape = LedgerShape { rows_min: 1, slice_rows, leaf_rows: 100, fan_out: 3, sketch_slices: 2 };
        let snapshot = trace_with_ledger(5, [9000, 300], seed, Some(shape));
        assert!(snapshot.store().ledger().is_some_and(|ledger| ledger.bounds_ns().len() > 8));
        check_every_filter(&snapshot, 4..=2 * FILTERS.len());
    }
}

/// Compares searches with scans of all rows. The number of searches without a scan must be in `by_slices`.
fn check_every_filter(snapshot: &Snapshot, by_slices: std::ops::RangeInclusive<usize>) {
    let end_ns = snapshot.end_ns();
    let mut count_by_slices = 0;
    for range in [(None, None), (Some(end_ns / 3), Some(end_ns / 2))] {
        for text in FILTERS {
            let filter = Filter::parse(text).unwrap();
            let expected = scanned(snapshot, &filter, range);
            let matcher = Matcher::new(snapshot, &filter);
            let scope = whole(range).matching(matcher);
            let hits = search(snapshot, &scope, &Cancel::default(), &Progress::default()).unwrap();
            count_by_slices += usize::from(hits.is_by_slices());
            assert_eq!(hits.total(), expected.len() as u64, "{text}");
            assert!(hits.from(i64::MIN).eq(expected.iter().copied()), "{text}: the whole list");
            let part_of = |hit: &Hit| (hit.start_ns as usize * PARTS / end_ns as usize).min(PARTS - 1);
            let parts: BTreeSet<usize> = expected.iter().map(part_of).collect();
            assert!(hits.ticks().parts().eq(parts), "{text}: where they are");
            let count = expected.len();
            for first in [0, 1, count / 3, count / 2, count.saturating_sub(2), count, count + 5] {
                let page = hits.page(first as u64, 10);
                assert_eq!(page, expected[first.min(count)..(first + 10).min(count)], "{text}: page at {first}");
            }
            for index in (0..count).step_by(count / 20 + 1) {
                let hit = expected[index];
                assert_eq!(hits.next(hit.start_ns, Some(hit.row)), expected.get(index + 1).copied(), "{text}");
                let before = index.checked_sub(1).map(|before| expected[before]);
                assert_eq!(hits.previous(hit.start_ns, Some(hit.row)), before, "{text}");
                for ts_ns in [hit.start_ns, hit.start_ns + 1] {
                    let rank = expected.partition_point(|hit| hit.start_ns < ts_ns);
                    assert_eq!(hits.rank(ts_ns), rank as u64, "{text}");
                    assert_eq!(hits.previous(ts_ns, None), rank.checked_sub(1).map(|last| expected[last]), "{text}");
                    let after = expected.partition_point(|hit| hit.start_ns <= ts_ns);
                    assert_eq!(hits.next(ts_ns, None), expected.get(after).copied(), "{text}");
                }
            }
        }
    }
    assert!(by_slices.contains(&count_by_slices), "{count_by_slices} without a scan");
}

#[test]
fn a_page_reads_no_lane_that_ended_before_it() {
    let span = |track: u32| TraceSpan { track, lane: 0, start_ns: i64::from(track) * 100, dur_ns: 90, name: 1 };
    let (_, snapshot) = store(&(0..400).map(span).collect::<Vec<_>>(), None, 1 << 20);
    let scope = Scope::from_matcher(Matcher::new(&snapshot, &Filter::parse("dur>5ns").unwrap()));
    // On one thread, whose reads are counted.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        let hits = search(&snapshot, &scope, &Cancel::default(), &Progress::default()).unwrap();
        assert!(!hits.is_by_slices());
        let blocks_of = |question: &dyn Fn() -> Option<Hit>, start_ns| {
            let before = blocks_read();
            assert_eq!(question().map(|hit| hit.start_ns), Some(start_ns));
            blocks_read() - before
        };
        let page = blocks_of(&|| hits.page(300, 10).pop(), 30_900);
        let previous = blocks_of(&|| hits.previous(35_000, None), 34_900);
        assert!(page < 50 && previous < 3, "{page} and {previous} blocks");
    });
}

#[test]
fn a_rare_name_is_found_without_reading_what_cannot_hold_it() {
    let snapshot = trace(2, 40_000, 5);
    let filter = Filter::parse("\"Task 52\"").unwrap();
    let matcher = Matcher::new(&snapshot, &filter);
    let expected = scanned(&snapshot, &filter, (None, None));
    let extents = |matcher: &Matcher| {
        let scope = Scope::default();
        let lanes: Vec<_> = scope.lanes(&snapshot, matcher).collect();
        let scans = lanes.into_iter().map(|lane| super::scan::LaneScan::new(&snapshot, matcher, &scope, lane));
        scans.map(|scan| scan.extents().count()).sum::<usize>()
    };
    let all = extents(&Matcher::new(&snapshot, &Filter::default()));
    let scope = Scope::from_matcher(matcher.clone());
    let hits = search(&snapshot, &scope, &Cancel::default(), &Progress::default()).unwrap();
    assert!(hits.total() > 0 && hits.total() == expected.len() as u64);
    assert!(extents(&matcher) * 2 < all, "{} of {all} extents", extents(&matcher));
    let none = Matcher::new(&snapshot, &Filter::parse("nothing").unwrap());
    assert_eq!(extents(&none), 0, "what no row is named is looked for nowhere");
    let long = Matcher::new(&snapshot, &Filter::parse("dur>1ms").unwrap());
    assert_eq!(extents(&long), 0, "nothing is that long");
}

/// Builds one thread with two samples in `read`, called by `main`, and their bars.
fn profile() -> Snapshot {
    let (mut names, mut registry) = (Names::default(), Registry::default());
    let [main, read] = ["main", "read"].map(|name| names.intern(name, None).0);
    let (pid, tid) = (Id::Number(1), Id::Number(1));
    let key = TrackKey::thread(pid, tid);
    let thread = registry.track(&key).unwrap();
    let chart = registry.derived(thread, TrackKind::Samples, "", "samples").unwrap();
    let file = tempfile::tempfile().unwrap();
    let disk = std::sync::Arc::new(SystemDisk);
    let mut writer = StoreWriter::on(disk, file.try_clone().unwrap(), 1 << 24).unwrap();
    let samples = writer.add_lane(thread, LaneKind::Samples, 0).unwrap();
    let mut stacks = Stacks::default();
    let stack = stacks.intern(StackIdx::EMPTY, NameIdx(read));
    for (start_ns, value) in [(0, u64::from(stack.0)), (10, 0)] {
        writer.push(samples, Row { start_ns, value, detail: 0, name: read }).unwrap();
    }
    for (depth, name) in [main, read].into_iter().enumerate() {
        let bars = writer.add_lane(chart, LaneKind::Spans, depth as u16).unwrap();
        writer.push(bars, Row { start_ns: 0, value: 20, detail: 0, name }).unwrap();
    }
    let summary = Summary { end_ns: 20, ..Summary::default() };
    let tracks = registry.tables().clone();
    let meta = Meta { names: names.into(), stacks: stacks.into(), tracks, summary, ..Meta::default() };
    writer.finish(&meta).unwrap();
    Snapshot::new(Store::from_file(&file, "test".as_ref()).unwrap().into())
}

#[test]
fn the_bars_of_samples_are_found_where_they_are_seen_and_not_where_events_are_listed() {
    let snapshot = profile();
    let found = |text: &str, with_charts| {
        let matcher = Matcher::new(&snapshot, &Filter::parse(text).unwrap());
        let scope = Scope { with_charts, ..Scope::from_matcher(matcher) };
        let hits = search(&snapshot, &scope, &Cancel::default(), &Progress::default()).unwrap();
        hits.from(i64::MIN).map(|hit| (hit.start_ns, hit.dur_ns)).collect::<Vec<_>>()
    };
    // The first text matches no sample's name; the second matches two.
    assert_eq!((found("main", false), found("main", true)), (vec![], vec![(0, 20)]));
    assert_eq!((found("read", false), found("read", true)), (vec![(0, 0), (10, 0)], vec![(0, 0), (0, 20), (10, 0)]));
    assert_eq!((found("dur>5ns", false), found("dur>5ns", true)), (vec![], vec![(0, 20), (0, 20)]));
    // One sample has a stack, and the bars have none of their own.
    assert_eq!((found("has:stack", false), found("has:stack", true)), (vec![(0, 0)], vec![(0, 0)]));
    let others = vec![(0, 20), (0, 20), (10, 0)];
    assert_eq!((found("-has:stack", false), found("-has:stack", true)), (vec![(10, 0)], others));
    let spans = Scope { spans_only: true, ..Scope::default() };
    assert_eq!(spans.lanes(&snapshot, &Matcher::new(&snapshot, &Filter::default())).count(), 0, "nothing to add up");
}

#[test]
fn a_search_that_is_stopped_says_so() {
    let snapshot = trace(2, 5000, 5);
    let cancel = Cancel::default();
    cancel.cancel();
    assert!(search(&snapshot, &Scope::default(), &cancel, &Progress::default()).is_err());
}

#[test]
fn progress_ends_with_all_rows_and_all_hits() {
    let snapshot = trace(3, 5000, 9);
    let progress = Progress::default();
    let matcher = Matcher::new(&snapshot, &Filter::parse("task").unwrap());
    let hits = search(&snapshot, &Scope::from_matcher(matcher), &Cancel::default(), &progress).unwrap();
    assert_eq!((progress.view().fraction(), progress.view().events), (Some(1.0), hits.total()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_pixel_shows_the_longest_span_that_matches(
        filter in prop::sample::select(&FILTERS[..]),
        seed in 0u64..4,
        lane in 0u32..4,
        start in 0.0f64..1.0,
        width_log2 in 0u32..20,
        count in 1i64..300,
    ) {
        let snapshot = trace(4, 3000, seed);
        let parsed = Filter::parse(filter).unwrap();
        let start_ns = (snapshot.end_ns() as f64 * start) as i64;
        let buckets = Buckets::covering(start_ns, start_ns + (count << width_log2), 1 << width_log2);
        let lane = crate::store::LaneIdx(lane);
        let cells =
            filtered::longest(&snapshot, &Matcher::new(&snapshot, &parsed), lane, buckets, &Cancel::default()).unwrap();
        let hits: Vec<Hit> =
            scanned(&snapshot, &parsed, (None, None)).into_iter().filter(|hit| hit.row.lane == lane).collect();
        let mut found = cells.iter().flat_map(|cell| {
            (cell.first_bucket..cell.first_bucket + i64::from(cell.bucket_count)).map(move |bucket| (bucket, cell.row))
        }).peekable();
        for bucket in buckets.first..buckets.end() {
            let (from, to) = (bucket << buckets.width_log2, (bucket + 1) << buckets.width_log2);
            let touches = |hit: &&Hit| {
                let end_ns = hit.start_ns + hit.dur_ns as i64;
                (hit.start_ns < to && end_ns > from) || (from..to).contains(&hit.start_ns)
            };
            let best = hits.iter().filter(touches).rev().max_by_key(|hit| hit.dur_ns);
            let cell = found.next_if(|(at, _)| *at == bucket);
            prop_assert_eq!(cell.map(|(_, row)| row), best.map(|hit| hit.row.row), "bucket {}", bucket);
        }
        prop_assert!(found.next().is_none());
    }
}
