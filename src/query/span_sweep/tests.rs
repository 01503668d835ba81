//! The sweep against scans over all spans of a track.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;
use crate::query::describe::ancestors;
use crate::scene::tests::snapshot;

/// Builds a trace with these spans, `(start, duration)`, on one thread.
fn captured(spans: &[(u16, u16)]) -> Snapshot {
    let mut json = String::from("[");
    for (number, (start, dur)) in spans.iter().enumerate() {
        let comma = if number == 0 { "" } else { "," };
        write!(json, r#"{comma}{{"ph":"X","name":"s{number}","pid":1,"tid":1,"ts":{start},"dur":{dur}}}"#).unwrap();
    }
    snapshot(&(json + "]"))
}

/// Start, end and row of a span.
type ScannedSpan = (i64, i64, RowIdx);

/// Returns all spans, lane by lane, with the depths of the lanes.
fn all_spans(snapshot: &Snapshot) -> Vec<(u16, Vec<ScannedSpan>)> {
    let lanes = snapshot.lanes_of(TrackIdx(0)).map(LaneIdx);
    let of_lane = |lane: LaneIdx| {
        let rows = (0..snapshot.lane(lane).rows).map(move |row| RowIdx { lane, row });
        let span = |row| (snapshot.row(row).start_ns, snapshot.row(row).end_ns(), row);
        (snapshot.lane(lane).depth, rows.map(span).collect())
    };
    lanes.filter(|&lane| snapshot.lane(lane).kind == LaneKind::Spans).map(of_lane).collect()
}

fn check(snapshot: &Snapshot, sweep: &mut SpanSweep<'_>, ts_ns: i64) -> Result<(), TestCaseError> {
    let lanes = all_spans(snapshot);
    sweep.seek(ts_ns);
    let last = |spans: &Vec<ScannedSpan>| spans.iter().rev().find(|span| span.0 <= ts_ns).copied();
    for inside in 0..=lanes.len() as u16 + 1 {
        let starting = lanes.iter().filter(|(depth, _)| *depth >= inside);
        let starting = starting.flat_map(|(_, spans)| spans).find(|span| span.0 == ts_ns);
        let later = lanes.iter().filter_map(|(_, spans)| spans.iter().find(|span| span.0 > ts_ns));
        let next = starting.or_else(|| later.min_by_key(|span| span.0)).map(|span| span.2);
        prop_assert_eq!(sweep.next_from(inside), next);
        let of_depth = lanes.iter().find(|(depth, _)| *depth == inside);
        let begun = of_depth.and_then(|(_, spans)| last(spans)).map(|(start_ns, _, row)| (row, start_ns));
        prop_assert_eq!(sweep.begun_at_depth(inside), begun);
    }
    let begun: Vec<_> = lanes.iter().filter_map(|(_, spans)| last(spans)).collect();
    let around = begun.iter().rev().find(|span| span.1 > ts_ns || span.0 == ts_ns);
    prop_assert_eq!(sweep.innermost(), around.map(|span| span.2));
    prop_assert_eq!(sweep.last_begun(), begun.iter().max_by_key(|span| (span.0, span.2)).map(|span| span.2));
    Ok(())
}

proptest! {
    #[test]
    fn spans_at_a_time_are_those_that_a_scan_finds(
        spans in prop::collection::vec((0u16..60, 0u16..20), 1..40),
        times in prop::collection::vec(0i64..80_000, 1..30),
        is_sorted in any::<bool>(),
    ) {
        let snapshot = captured(&spans);
        let mut sweep = SpanSweep::new(&snapshot, TrackIdx(0));
        // Whole microseconds, where spans start and end, and times between.
        let mut times: Vec<i64> = times.into_iter().map(|ns| if ns % 3 == 0 { ns } else { ns / 1000 * 1000 }).collect();
        if is_sorted {
            times.sort_unstable();
        }
        for ts_ns in times {
            check(&snapshot, &mut sweep, ts_ns)?;
        }
    }

    #[test]
    fn spans_around_are_handed_out_once_and_none_is_missing(
        spans in prop::collection::vec((0u16..60, 0u16..20), 1..40),
        times in prop::collection::vec((0i64..80, 0u16..8), 1..30),
    ) {
        let snapshot = captured(&spans);
        let mut sweep = SpanSweep::new(&snapshot, TrackIdx(0));
        let mut times: Vec<_> = times.into_iter().map(|(us, depth)| (us * 1000, depth)).collect();
        times.sort_unstable();
        let (mut handed_out, mut expected) = (Vec::new(), BTreeSet::new());
        for (ts_ns, depth) in times {
            sweep.seek(ts_ns);
            handed_out.extend(sweep.take_around(depth, ts_ns));
            expected.extend(ancestors(&snapshot, TrackIdx(0), depth, ts_ns, ts_ns));
        }
        prop_assert_eq!(handed_out.len(), expected.len());
        prop_assert_eq!(handed_out.into_iter().collect::<BTreeSet<_>>(), expected);
    }
}

/// A lane is read again only when one of its spans starts, so many times cost as much as the spans.
#[test]
fn a_deep_track_is_read_once_for_any_number_of_times() {
    let deep: Vec<(u16, u16)> = (0..600).map(|depth| (depth, 2000 - 2 * depth)).collect();
    let snapshot = captured(&deep);
    let mut sweep = SpanSweep::new(&snapshot, TrackIdx(0));
    for ts_ns in (0..2_000_000).step_by(100) {
        sweep.seek(ts_ns);
        sweep.take_around(u16::MAX, ts_ns);
    }
    // Each lane is read once at the first time, and once when its span starts.
    assert!(sweep.lane_reads() <= 2 * 600, "{}", sweep.lane_reads());
}
