//! `has:flow` against an oracle: for each row, a loop over all points of its track.

use proptest::prelude::*;
use rustc_hash::FxHashSet;

use super::*;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::query::cursor::LaneCursor;
use crate::query::filter::Filter;
use crate::query::flow_chain::flows_of;
use crate::query::flow_points::{flow_row, span_of};
use crate::query::ledger_traces::RandomSequence;
use crate::query::matcher::Matcher;
use crate::query::scope::Scope;
use crate::query::search::search;
use crate::query::span_sweep::SpanSweep;
use crate::query::totals::{GrowingTotals, add_up};
use crate::scene::tests::snapshot;

/// Builds two threads of nested spans, instants and points of flows, on a clock so coarse that they coincide, and one
/// thread without flows.
fn trace(events: usize, seed: u64) -> Snapshot {
    let mut sequence = RandomSequence(seed | 1);
    let mut below = move |bound: u64| sequence.below(bound);
    let mut texts = Vec::new();
    for tid in 0..3 {
        // Ends of the open spans, which nest.
        let (mut ts, mut ends) = (0, Vec::<u64>::new());
        for _ in 0..events {
            ts += below(3);
            ends.retain(|&end| end > ts);
            let kind = below(if tid == 2 { 2 } else { 5 });
            let thread = format!(r#""pid":1,"tid":{tid},"ts":{ts}"#);
            let flow = format!(r#""name":"x","cat":"k","id":{},{thread}"#, below(9));
            texts.push(match kind {
                0 => format!(r#"{{"ph":"i","s":"t","name":"i",{thread}}}"#),
                1 => {
                    let dur = below(20).min(ends.last().map_or(u64::MAX, |end| end - ts));
                    ends.push(ts + dur);
                    format!(r#"{{"ph":"X","name":"a{}","dur":{dur},{thread}}}"#, below(3))
                }
                2 => format!(r#"{{"ph":"s",{flow}}}"#),
                3 => format!(r#"{{"ph":"t",{flow}}}"#),
                _ => format!(r#"{{"ph":"f"{},{flow}}}"#, [r#","bp":"e""#, ""][below(2) as usize]),
            });
        }
    }
    snapshot(&format!("[{}]", texts.join(",")))
}

fn rows_of_kind(snapshot: &Snapshot, kinds: &[LaneKind]) -> Vec<RowIdx> {
    let lanes = (0..snapshot.store().lane_count()).map(LaneIdx);
    let lanes = lanes.filter(|&lane| kinds.contains(&snapshot.lane(lane).kind));
    lanes.flat_map(|lane| (0..snapshot.lane(lane).rows).map(move |row| RowIdx { lane, row })).collect()
}

fn has_flow(snapshot: &Snapshot, row: RowIdx) -> bool {
    let track = snapshot.lane(row.lane).track;
    let lanes = snapshot.lanes_of(track).map(LaneIdx).filter(|&lane| snapshot.lane(lane).kind == LaneKind::Flows);
    let mut points = lanes.flat_map(|lane| (0..snapshot.lane(lane).rows).map(move |number| (lane, number)));
    points.any(|(lane, number)| {
        let point = flow_row(&mut LaneCursor::new(snapshot.store(), lane), number, track).unwrap();
        span_of(snapshot, &mut SpanSweep::new(snapshot, track), &point) == Some(row)
    })
}

fn scope_of(snapshot: &Snapshot, text: &str) -> Scope {
    Scope::from_matcher(Matcher::new(snapshot, &Filter::parse(text).unwrap()))
}

#[test]
fn a_cancelled_sweep_leaves_no_bits_and_reserves_no_memory() {
    let snapshot = trace(60, 7);
    let rows = FlowRows::new(&snapshot);
    let track = TrackIdx(0);
    let cancel = Cancel::default();
    cancel.cancel();
    assert!(rows.prepare(&snapshot, track, &cancel).is_err());
    assert_eq!(rows.0.left_bytes(), KEPT_BYTES_MAX);
    rows.prepare(&snapshot, track, &Cancel::default()).unwrap();
    assert!(rows.0.left_bytes() < KEPT_BYTES_MAX);
    let scope = scope_of(&snapshot, "has:flow");
    assert!(search(&snapshot, &scope, &cancel, &Progress::default()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn rows_with_flows_are_those_that_a_loop_over_all_points_finds(seed in 0u64..1 << 40, events in 4usize..120) {
        let snapshot = trace(events, seed);
        let rows = rows_of_kind(&snapshot, &[LaneKind::Spans, LaneKind::Instants]);
        let with_flow: FxHashSet<RowIdx> = rows.iter().copied().filter(|&row| has_flow(&snapshot, row)).collect();
        for &row in &rows {
            prop_assert_eq!(!flows_of(&snapshot, row, &Cancel::default()).unwrap().is_empty(), with_flow.contains(&row), "the details of {:?}", row);
        }
        // Runs of rows that are not blocks of the store have the same bits, with and without the cache.
        for (rows_at_once, kept_max) in [(64, usize::MAX), (64, 0), (5, usize::MAX), (5, 0)] {
            let flows = FlowRows::with_kept_max(&snapshot, kept_max);
            for lane in (0..snapshot.store().lane_count()).map(LaneIdx) {
                let count = snapshot.lane(lane).rows;
                for first in (0..count).step_by(rows_at_once) {
                    let rows = rows_at_once.min((count - first) as usize);
                    let mask = flows.rows_of(&snapshot, lane, first, rows);
                    let expected = (0..rows).fold(0_u64, |mask, slot| {
                        let row = RowIdx { lane, row: first + slot as u64 };
                        mask | u64::from(with_flow.contains(&row)) << slot
                    });
                    prop_assert_eq!(mask, expected, "{:?} from {}, {} bytes", lane, first, kept_max);
                }
            }
        }
        // Searches and totals select exactly these rows.
        for (text, is_wanted) in [("has:flow", true), ("-has:flow", false)] {
            let scope = scope_of(&snapshot, text);
            let hits = search(&snapshot, &scope, &Cancel::default(), &Progress::default()).unwrap();
            let found: FxHashSet<RowIdx> = hits.from(i64::MIN).map(|hit| hit.row).collect();
            let expected: FxHashSet<RowIdx> =
                rows.iter().copied().filter(|row| with_flow.contains(row) == is_wanted).collect();
            prop_assert_eq!(hits.total(), expected.len() as u64, "{}", text);
            prop_assert!(found == expected, "{}", text);
            let growing = GrowingTotals::default();
            add_up(&snapshot, &scope, &growing, &Cancel::default(), &Progress::default()).unwrap();
            let spans = expected.iter().filter(|row| snapshot.lane(row.lane).kind == LaneKind::Spans).count();
            let counted: u64 = growing.so_far().by_group().iter().map(|(_, totals)| totals.count).sum();
            prop_assert_eq!(counted, spans as u64, "{}", text);
        }
    }
}

#[test]
fn flows_that_start_pass_and_end_are_found_even_if_the_other_end_is_missing() {
    let snapshot = snapshot(
        r#"[{"ph":"X","name":"from","pid":1,"tid":1,"ts":0,"dur":9},{"ph":"s","name":"x","id":1,"pid":1,"tid":1,"ts":5},
        {"ph":"X","name":"through","pid":1,"tid":2,"ts":20,"dur":9},{"ph":"t","name":"x","id":1,"pid":1,"tid":2,"ts":25},
        {"ph":"f","name":"x","id":1,"pid":1,"tid":3,"ts":35},{"ph":"X","name":"to","pid":1,"tid":3,"ts":40,"dur":9},
        {"ph":"X","name":"none","pid":1,"tid":3,"ts":60,"dur":9},{"ph":"X","name":"alone","pid":1,"tid":2,"ts":80,"dur":9},
        {"ph":"s","name":"y","id":2,"pid":1,"tid":2,"ts":85},{"ph":"X","name":"other","pid":1,"tid":4,"ts":80,"dur":9}]"#,
    );
    let named = |text: &str| {
        let scope = scope_of(&snapshot, text);
        let hits = search(&snapshot, &scope, &Cancel::default(), &Progress::default()).unwrap();
        hits.from(i64::MIN).map(|hit| snapshot.names().get(hit.name).text.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(named("has:flow"), ["from", "through", "to", "alone"]);
    assert_eq!(named("-has:flow"), ["none", "other"]);
    assert_eq!(named("has:flow dur>1us -thread:2"), ["from", "to"]);
    assert!(named("has:flow -has:flow").is_empty());
}
