//! The first rows in an order against an oracle: all matching spans, sorted by the column.

use std::cmp::Reverse;

use super::{RowValues, first_rows};
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::model::{NameIdx, TrackIdx};
use crate::query::Snapshot;
use crate::query::filter::Filter;
use crate::query::ledger_traces::{RandomSequence, TraceSpan, ranges, spans, store};
use crate::query::matcher::Matcher;
use crate::query::scan::blocks_read;
use crate::query::scope::Scope;
use crate::query::search::Hit;

/// Start, track, lane and duration: identifies spans, and sorts equal ones like the answer.
type Span = (i64, u32, u16, u64);

fn found(snapshot: &Snapshot, scope: &Scope, (values, is_ascending): (&RowValues, bool), count: usize) -> Vec<Span> {
    let work = (&Cancel::default(), &Progress::default());
    let hits = first_rows(snapshot, scope, (values, is_ascending), count, work).unwrap();
    let span = |hit: &Hit| {
        let lane = snapshot.lane(hit.row.lane);
        (hit.start_ns, lane.track.0, lane.depth, hit.dur_ns)
    };
    hits.iter().map(span).collect()
}

/// Sorts spans by a value, and equal ones by time.
fn sorted<V: Ord + Copy>(spans: &[TraceSpan], is_ascending: bool, value: impl Fn(&TraceSpan) -> V) -> Vec<Span> {
    let mut sorted: Vec<(V, Span)> =
        spans.iter().map(|span| (value(span), (span.start_ns, span.track, span.lane, span.dur_ns))).collect();
    if is_ascending {
        sorted.sort_by_key(|&(value, (start_ns, track, lane, _))| (value, start_ns, track, lane));
    } else {
        sorted.sort_by_key(|&(value, (start_ns, track, lane, _))| (Reverse(value), start_ns, track, lane));
    }
    sorted.into_iter().map(|(_, span)| span).collect()
}

#[test]
fn the_first_rows_are_those_of_a_sort_in_each_order() {
    let mut random = RandomSequence(31);
    let tracks: Vec<u32> = vec![2, 0, 1, 1];
    let name_rank = |name: NameIdx| name.0 * 7 % 5;
    for (track_count, lanes, rows) in [(1, 3, 400), (4, 2, 300)] {
        let all = spans(track_count, lanes, rows, rows, -500);
        let (_file, snapshot) = store(&all, None, 0);
        // Spans that failed have names of their own.
        let names = (0..snapshot.names().len() as u32).map(|name| snapshot.names().regular(NameIdx(name)));
        let names: Vec<u32> = names.map(name_rank).collect();
        for (from_ns, to_ns) in ranges(&snapshot, &mut random, 6) {
            for (filter, dur_min_ns) in [("", 0), ("dur>100", 101)] {
                let matcher = Matcher::new(&snapshot, &Filter::parse(filter).unwrap());
                let scope = Scope::from_range(from_ns, to_ns).with_tracks(&[TrackIdx(0), TrackIdx(3)]);
                let scope = scope.matching(matcher);
                let reaches =
                    |span: &TraceSpan| from_ns.is_none_or(|from| span.end_ns() > from || span.start_ns >= from);
                let is_meant = |span: &&TraceSpan| {
                    [0, 3].contains(&span.track)
                        && reaches(span)
                        && to_ns.is_none_or(|to| span.start_ns < to)
                        && span.dur_ns >= dur_min_ns
                };
                let meant: Vec<TraceSpan> = all.iter().filter(is_meant).copied().collect();
                for is_ascending in [true, false] {
                    let by = |value: &dyn Fn(&TraceSpan) -> i64| sorted(&meant, is_ascending, value);
                    let orders = [
                        (RowValues::Name(names.clone()), by(&|span| name_rank(NameIdx(span.name)).into())),
                        (RowValues::Track(tracks.clone()), by(&|span| tracks[span.track as usize].into())),
                        (RowValues::Duration, by(&|span| span.dur_ns as i64)),
                        (RowValues::Start, by(&|span| span.start_ns)),
                    ];
                    for (values, expected) in &orders {
                        for count in [1, 7, 5000] {
                            let found = found(&snapshot, &scope, (values, is_ascending), count);
                            let expected = &expected[..expected.len().min(count)];
                            assert_eq!(found, expected, "{values:?} {is_ascending} {from_ns:?}..{to_ns:?} {filter:?}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn an_order_by_track_or_start_reads_only_the_rows_that_come_first() {
    let span = |track, row: i64| TraceSpan { track, lane: 0, start_ns: row * 10, dur_ns: 7, name: 1 };
    let all: Vec<TraceSpan> = (0..2).flat_map(|track| (0..100_000).map(move |row| span(track, row))).collect();
    let (_file, snapshot) = store(&all, None, 0);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let blocks = |values: RowValues, is_ascending| {
        pool.install(|| {
            let before = blocks_read();
            let found = found(&snapshot, &Scope::default(), (&values, is_ascending), 100);
            (blocks_read() - before, found[0].0, found[0].1)
        })
    };
    let all_blocks = 200_000 / 64;
    for (values, is_ascending, first) in [
        (RowValues::Track(vec![5, 3]), true, (0, 1)),
        (RowValues::Track(vec![5, 3]), false, (0, 0)),
        (RowValues::Start, false, (999_990, 0)),
    ] {
        let text = format!("{values:?}");
        let (read, start_ns, track) = blocks(values, is_ascending);
        assert!(read < all_blocks / 8, "{text}: {read} of {all_blocks} blocks");
        assert_eq!((start_ns, track), first, "{text}");
    }
}

#[test]
fn a_cancelled_order_has_no_rows() {
    let (_file, snapshot) = store(&spans(1, 1, 100, 3, 0), None, 0);
    let cancel = Cancel::default();
    cancel.cancel();
    let order = (&RowValues::Duration, true);
    assert!(first_rows(&snapshot, &Scope::default(), order, 10, (&cancel, &Progress::default())).is_err());
}
