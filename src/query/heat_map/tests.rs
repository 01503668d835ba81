//! Heat maps against an oracle: a loop over a plain list of spans, with rows found by comparing durations.

use std::collections::BTreeMap;

use super::cells::HeatCells;
use super::sketched::SketchedWork;
use super::{HeatCell, HeatMap, HeatMapAxis, coarse_heat_map, heat_map, sketched};
use crate::base::cancel::Cancel;
use crate::base::files::write_all_at;
use crate::base::progress::Progress;
use crate::model::{NameIdx, TrackIdx};
use crate::query::Snapshot;
use crate::query::filter::Filter;
use crate::query::ledger_traces::{RandomSequence, SMALL, TraceSpan, ranges, spans, store, unfinished};
use crate::query::matcher::Matcher;
use crate::query::scope::Scope;
use crate::store::Store;

fn map(snapshot: &Snapshot, filter: &str, scope: Scope, axis: HeatMapAxis) -> HeatMap {
    let scope = scope.matching(Matcher::new(snapshot, &Filter::parse(filter).unwrap()));
    let progress = Progress::default();
    let map = heat_map(snapshot, &scope, axis, &Cancel::default(), &progress).unwrap();
    assert!(progress.view().fraction().is_none_or(|part| part == 1.0), "{:?}", progress.view());
    map
}

fn coarse(snapshot: &Snapshot, filter: &str, axis: HeatMapAxis) -> Option<(HeatMap, SketchedWork)> {
    let scope = Scope::from_matcher(Matcher::new(snapshot, &Filter::parse(filter).unwrap()));
    sketched(snapshot, &scope, axis, &Cancel::default()).unwrap()
}

/// The bounds of the cells with their counts: first time, first time after it, shortest and longest duration.
type Bounds = BTreeMap<(i64, i64, u64, u64), u64>;

fn bounds(map: &HeatMap, cells: &HeatCells) -> Bounds {
    let bounds = |cell: HeatCell| {
        let (least, most) = cells.durations(cell.row);
        (map.axis.start_of(cell.column), map.axis.start_of(cell.column + 1), least, most)
    };
    cells.filled().map(|(cell, count)| (bounds(cell), count)).collect()
}

/// Returns the shortest and longest duration of a row by bisection: octaves start at powers of two and are divided
/// evenly.
fn row_of(dur_ns: u64, per_octave: u64) -> (u64, u64) {
    let mut octave = 1u64;
    while octave <= dur_ns / 2 {
        octave *= 2;
    }
    let width = (octave / per_octave).max(1);
    let least = if dur_ns < per_octave { dur_ns } else { dur_ns - (dur_ns - octave) % width };
    (least, least + if dur_ns < per_octave { 0 } else { width - 1 })
}

fn oracle(spans: &[TraceSpan], axis: HeatMapAxis, per_octave: u64, passes: impl Fn(&TraceSpan) -> bool) -> Bounds {
    let mut cells = Bounds::new();
    let (from, to, columns) = (i128::from(axis.start_ns()), i128::from(axis.end_ns()), axis.columns() as i128);
    for span in spans.iter().filter(|span| passes(span)) {
        let start = i128::from(span.start_ns);
        // Finds the first column that ends after the start, one by one.
        let end_of = |part: i128| from + ((part + 1) * (to - from) + columns - 1) / columns;
        let Some(part) = (0..columns).find(|&part| start < end_of(part)).filter(|_| start >= from) else { continue };
        let (least, most) = row_of(span.dur_ns, per_octave);
        let start_of = if part == 0 { from } else { end_of(part - 1) };
        *cells.entry((start_of as i64, end_of(part) as i64, least, most)).or_default() += 1;
    }
    cells
}

#[test]
fn cells_are_those_of_a_loop_over_all_spans() {
    for (first_ns, seed) in [(0, 3), (-900_000, 8), (i64::MAX - 40_000, 5), (i64::MIN + 1, 6)] {
        let list = spans(4, 3, 150, seed, first_ns);
        let (_, snapshot) = store(&list, Some(SMALL), 1 << 20);
        let whole = (Some(snapshot.start_ns().min(first_ns)), Some(snapshot.end_ns().saturating_add(1)));
        for (number, (from_ns, to_ns)) in ranges(&snapshot, &mut RandomSequence(seed), 8).into_iter().enumerate() {
            let (from_ns, to_ns) = (from_ns.or(whole.0).unwrap(), to_ns.or(whole.1).unwrap());
            // The oracle does not support a range up to `i64::MAX`.
            let axis = HeatMapAxis::new(from_ns, to_ns.min(i64::MAX - 1), [1, 7, 100, 999][number % 4]);
            let is_name = |span: &TraceSpan| [2, 4].contains(&span.name);
            let named = "/^name [13]$/";
            for (filter, passes) in [
                ("", &(|_: &TraceSpan| true) as &dyn Fn(&TraceSpan) -> bool),
                (named, &is_name),
                ("dur>20ns dur<=100ns", &|span| span.dur_ns > 20 && span.dur_ns <= 100),
                ("nothing", &|_| false),
            ] {
                let found = map(&snapshot, filter, Scope::default(), axis);
                for octave_log2 in 0..=5 {
                    let expected = oracle(&list, axis, 1 << octave_log2, passes);
                    let cells = found.cells(octave_log2);
                    assert_eq!(bounds(&found, &cells), expected, "{filter}, {axis:?}, {octave_log2}");
                    assert_eq!(found.spans, expected.values().sum::<u64>());
                    assert_eq!(cells.most, expected.values().copied().max().unwrap_or(0));
                    for row in 0..cells.rows() {
                        let (least, most) = cells.durations(row);
                        assert_eq!((least, most), row_of(least, 1 << octave_log2), "row {row}");
                        assert_eq!(least == 0, cells.has_zero && row == 0, "spans without a length are by themselves");
                    }
                }
            }
            let on_track = Scope::default().with_tracks(&[TrackIdx(1)]);
            let found = map(&snapshot, "", on_track, axis);
            assert_eq!(bounds(&found, &found.cells(2)), oracle(&list, axis, 4, |span| span.track == 1));
            let within = |span: &&TraceSpan| axis.column_of(span.start_ns).is_some();
            assert_eq!(map(&snapshot, "", Scope::default(), axis).unfinished, {
                unfinished(&list).iter().filter(within).count() as u64
            });
        }
    }
}

#[test]
fn both_ends_of_time_one_nanosecond_and_a_million_spans_at_once_are_counted() {
    let span = |start_ns, dur_ns| TraceSpan { track: 1, lane: 0, start_ns, dur_ns, name: 1 };
    let list = [span(i64::MIN, 0), span(i64::MIN, u64::MAX), span(i64::MAX, 0)];
    let (_, snapshot) = store(&list, None, 1 << 20);
    let found = map(&snapshot, "", Scope::default(), HeatMapAxis::new(i64::MIN, i64::MAX, 10));
    let cells: Vec<_> = found.cells(0).filled().map(|(cell, count)| (cell.column, cell.row, count)).collect();
    assert_eq!(cells, [(0, 0, 1), (0, 1, 1), (9, 0, 1)]);
    assert_eq!(found.cells(0).durations(1), (1 << 63, u64::MAX));
    // A range of one nanosecond has one column.
    let found = map(&snapshot, "", Scope::default(), HeatMapAxis::new(i64::MAX, i64::MAX, 500));
    assert_eq!((found.axis.columns(), found.spans), (1, 1));
    let ties: Vec<_> = (0..1_000_000).map(|_| span(7, 0)).chain([span(7, 5)]).collect();
    let (_, snapshot) = store(&ties, None, 1 << 24);
    let found = map(&snapshot, "", Scope::default(), HeatMapAxis::new(7, 8, 300));
    let cells = found.cells_in(50);
    let zero = HeatCell { column: 0, row: 0 };
    assert_eq!((cells.rows(), cells.count(zero), cells.most, found.spans), (2, 1_000_000, 1_000_000, 1_000_001));
    let nothing = map(&snapshot, "", Scope::default(), HeatMapAxis::new(8, 9, 300));
    assert_eq!((nothing.spans, nothing.cells_in(50).rows(), nothing.cells_in(50).most), (0, 0, 0));
}

#[test]
fn rows_are_no_more_than_there_is_room_for_and_no_fewer_than_they_could_be() {
    let list = spans(3, 3, 200, 11, 0);
    let (_, snapshot) = store(&list, None, 1 << 20);
    let found = map(&snapshot, "", Scope::default(), HeatMapAxis::new(0, snapshot.end_ns() + 1, 64));
    let octaves = found.cells(0).rows();
    for rows_max in [0, 5, octaves, octaves + 1, 30, 60, 200, 2000] {
        let cells = found.cells_in(rows_max);
        assert!(cells.rows() <= rows_max.max(octaves));
        assert_eq!(cells.filled().map(|(_, count)| count).sum::<u64>(), found.spans);
        let finer = (0..=5).map(|log2| found.cells(log2).rows()).filter(|&rows| rows <= rows_max.max(octaves));
        assert_eq!(finer.max(), Some(cells.rows()), "{rows_max}");
        let (least, _) = cells.durations(usize::from(cells.has_zero));
        assert_eq!(cells.scale_position(least), 0.0);
        let (_, most) = cells.durations(cells.rows() - 1);
        assert!(
            cells.scale_position(most) < cells.scale_rows() as f64
                && cells.scale_position(most + 1) == cells.scale_rows() as f64
        );
    }
}

#[test]
fn sketches_have_the_right_durations_and_every_start_within_a_slice() {
    for seed in 0..12 {
        let list = spans(4, 3, 250, seed, -5_000);
        let (_, snapshot) = store(&list, Some(SMALL), 1 << 20);
        let whole = HeatMapAxis::new(snapshot.start_ns().min(-5_000), snapshot.end_ns() + 1, 100);
        let (found, work) = coarse(&snapshot, "", whole).expect("a ledger");
        let exact = map(&snapshot, "", Scope::default(), whole);
        assert_eq!((found.spans, found.counted.clone()), (exact.spans, 0..100));
        assert!(found.blur_ns > 0 && exact.blur_ns == 0);
        assert!(work.nodes > 1 && work.nodes <= super::sketched::NODES_MAX, "{work:?}");
        for filter in ["", "/^name [13]$/"] {
            let (found, exact) =
                (coarse(&snapshot, filter, whole).unwrap().0, map(&snapshot, filter, Scope::default(), whole));
            let of_row = |map: &HeatMap| {
                let cells = map.cells(3);
                (0..cells.rows()).map(|row| cells.row(row).iter().sum::<u64>()).collect::<Vec<_>>()
            };
            assert_eq!(of_row(&found), of_row(&exact), "durations are those of the rows");
            // Up to any time, a count lies between the counts one slice earlier and one slice later.
            let column_ns = (whole.width_ns() / 100) as u64 + 1;
            let slack = (found.blur_ns / column_ns) as usize + 2;
            let until = |map: &HeatMap, column: usize| {
                map.cells(0).filled().filter(|(cell, _)| cell.column < column).map(|(_, count)| count).sum::<u64>()
            };
            for column in 0..=100usize {
                let count = until(&found, column);
                assert!(count >= until(&exact, column.saturating_sub(slack)), "{column}");
                assert!(count <= until(&exact, column + slack), "{column}");
            }
        }
        // Sketches support neither single tracks nor filters of anything but names.
        assert_eq!(coarse(&snapshot, "dur>5", whole), None);
        assert_eq!(coarse(&snapshot, "thread:1", whole), None);
        assert_eq!(coarse(&snapshot, "", HeatMapAxis::new(10, 11, 9)), None, "no node is so short");
    }
}

#[test]
fn a_damaged_node_is_never_believed_and_rows_are_asked_for_again_after_a_stop() {
    let list = spans(4, 3, 250, 2, 0);
    let (file, snapshot) = store(&list, Some(SMALL), 1 << 20);
    let whole = HeatMapAxis::new(0, snapshot.end_ns() + 1, 50);
    let ledger = snapshot.store().ledger().expect("a ledger");
    let tree = ledger.sketches().expect("sketches");
    let last = u32::try_from(ledger.bounds_ns().len() - 1).unwrap();
    let mut node = ledger.cover(tree, 0, last).0[0];
    while let Some(child) = ledger.children(node).first() {
        node = *child;
    }
    write_all_at(&file, &[0xff; 3], ledger.offset(node)).unwrap();
    let damaged = Snapshot::new(Store::from_file(&file, "test".as_ref()).unwrap().into());
    assert_eq!(coarse(&damaged, "", whole), None);
    let expected = oracle(&list, whole, 4, |_| true);
    let found = map(&damaged, "", Scope::default(), whole);
    assert_eq!(bounds(&found, &found.cells(2)), expected);
    let cancel = Cancel::default();
    cancel.cancel();
    assert!(heat_map(&snapshot, &Scope::default(), whole, &cancel, &Progress::default()).is_err());
    let named = Scope::from_matcher(Matcher::default().and_name(NameIdx(1), snapshot.names()));
    assert!(sketched(&snapshot, &named, whole, &cancel).is_err());
}

#[test]
fn a_part_of_the_rows_gives_a_map_where_sketches_cannot() {
    let list = spans(2, 2, 280_000, 5, -5_000);
    let (_, snapshot) = store(&list, Some(SMALL), 1 << 24);
    let first_ns = snapshot.start_ns().min(-5_000);
    let whole = HeatMapAxis::new(first_ns, snapshot.end_ns() + 1, 100);
    let part = HeatMapAxis::new(first_ns / 2, snapshot.end_ns() / 100 * 97, 60);
    for (scope, filter) in [
        (Scope::default().with_tracks(&[TrackIdx(0)]), ""),
        (Scope::default().with_tracks(&[TrackIdx(0)]), "/^name [13]$/"),
        (Scope::default(), "dur>20ns"),
        (Scope::default(), "thread:0"),
    ] {
        for axis in [whole, part] {
            let scope = scope.clone().matching(Matcher::new(&snapshot, &Filter::parse(filter).unwrap()));
            let found = coarse_heat_map(&snapshot, &scope, axis, &Cancel::default()).unwrap().expect("a coarse map");
            let exact = map(&snapshot, filter, scope, axis);
            assert!(found.estimated_by > 1 && !found.is_exact() && exact.is_exact());
            // Each cell has spans, and its share is within the sampling error.
            let (cells, all) = (found.cells(5), exact.cells(5));
            let all = bounds(&exact, &all);
            for cell in bounds(&found, &cells).keys() {
                assert!(all.contains_key(cell), "{cell:?} of {filter:?}");
            }
            let off = found.spans.abs_diff(exact.spans);
            assert!(off <= exact.spans / 50, "{} of {}, {filter:?}", found.spans, exact.spans);
        }
    }
    // Short ranges with few rows are read completely.
    let short = HeatMapAxis::new(100, 5_000, 100);
    let on_track = Scope::default().with_tracks(&[TrackIdx(1)]);
    assert_eq!(coarse_heat_map(&snapshot, &on_track, short, &Cancel::default()).unwrap(), None);
    let cancel = Cancel::default();
    cancel.cancel();
    assert!(coarse_heat_map(&snapshot, &on_track, whole, &cancel).is_err());
}
