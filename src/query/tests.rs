//! Queries against oracles: scans over all rows of a lane.

use std::sync::Arc;

use proptest::prelude::*;

use super::counters::{counters, value_at};
use super::cursor::LaneCursor;
use super::pick::{nearest_edge_ns, row_at};
use super::pixels::{self, counter, longest, longest_from_forest, longest_in_order};
use super::rows::SortedRows;
use super::scope::Scope;
use super::{Buckets, Cell, CounterCell, RowCount, Snapshot};
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::model::{Id, Registry, TrackIdx, TrackKey};
use crate::query::ledger_traces::RandomSequence;
use crate::store::{LaneIdx, LaneKind, Meta, Row, Store, StoreWriter, Summary};

fn snapshot_of(lanes: &[(LaneKind, Vec<Row>)], write_held_every: usize) -> Snapshot {
    let mut registry = Registry::default();
    let key = TrackKey::thread(Id::None, Id::None);
    registry.track(&key);
    let file = tempfile::tempfile().unwrap();
    let mut writer = StoreWriter::new(file.try_clone().unwrap(), 1 << 24).unwrap();
    for (depth, (kind, rows)) in lanes.iter().enumerate() {
        let lane = writer.add_lane(TrackIdx(0), *kind, depth as u16).unwrap();
        for (k, row) in rows.iter().enumerate() {
            writer.push(lane, *row).unwrap();
            if write_held_every > 0 && k % write_held_every == 0 {
                writer.write_held().unwrap();
            }
        }
    }
    let end_ns = |row: &Row| row.start_ns.saturating_add_unsigned(row.value);
    let rows = || lanes.iter().flat_map(|(_, rows)| rows);
    let summary = Summary {
        start_ns: rows().map(|row| row.start_ns).min().unwrap_or(0),
        end_ns: rows().map(end_ns).max().unwrap_or(0),
        ..Summary::default()
    };
    writer.finish(&Meta { tracks: registry.tables().clone(), summary, ..Meta::default() }).unwrap();
    Snapshot::new(Arc::new(Store::from_file(&file, "test".as_ref()).unwrap()))
}

/// Builds spans that do not overlap, with gaps, bursts and zero-length spans.
fn rows_of(base: i64, steps: &[(u16, u16)], count: usize) -> Vec<Row> {
    let mut free_ns = base;
    let row = |k: usize| {
        let (gap, dur) = steps[(k * 31 + k * k / 17) % steps.len()];
        let gap = if k % 211 == 5 { i64::from(gap) * 50 } else { i64::from(gap) };
        let start_ns = free_ns + gap;
        free_ns = start_ns + i64::from(dur);
        Row { start_ns, value: u64::from(dur), detail: 0, name: k as u32 }
    };
    (0..count).map(row).collect()
}

/// Returns, for each bucket, the longest of the spans that touch it, the first one on ties.
fn scan(rows: &[Row], buckets: Buckets) -> Vec<Option<(u64, u64)>> {
    let answer = |bucket: i64| {
        let (start, end) = (i128::from(bucket) << buckets.width_log2, (i128::from(bucket) + 1) << buckets.width_log2);
        let touches = |row: &Row| {
            let (from, to) = (i128::from(row.start_ns), i128::from(row.start_ns) + i128::from(row.value));
            (from < end && to > start) || (start..end).contains(&from)
        };
        let mut best: Option<(u64, u64)> = None;
        for (index, row) in rows.iter().enumerate() {
            if touches(row) && best.is_none_or(|(_, longest)| row.value > longest) {
                best = Some((index as u64, row.value));
            }
        }
        best
    };
    (buckets.first..buckets.end()).map(answer).collect()
}

fn spread(cells: &[Cell], buckets: Buckets) -> Vec<Option<(u64, u64)>> {
    let mut answers = vec![None; buckets.count as usize];
    for cell in cells {
        for bucket in cell.first_bucket..cell.first_bucket + i64::from(cell.bucket_count) {
            let slot = &mut answers[(bucket - buckets.first) as usize];
            assert!(slot.is_none(), "two answers for bucket {bucket}");
            *slot = Some((cell.row, cell.end_ns.abs_diff(cell.start_ns)));
        }
    }
    answers
}

fn any_steps() -> impl Strategy<Value = Vec<(u16, u16)>> {
    proptest::collection::vec((0u16..40, prop_oneof![3 => 0u16..30, 1 => 0u16..2000, 1 => Just(0)]), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_longest_span_of_each_bucket_equals_a_scan(
        base in prop_oneof![Just(0i64), Just(-40_000), Just(1_700_000_000_000_000_000), Just(i64::MIN)],
        steps in any_steps(),
        count in prop_oneof![Just(0usize), 1usize..200, 4000usize..9000],
        width_log2 in 0u32..24,
        first in 0.0f64..1.0,
        bucket_count in 1u32..80,
        write_held_every in prop_oneof![Just(0usize), 1usize..500],
    ) {
        let rows = rows_of(base, &steps, count);
        let snapshot = snapshot_of(&[(LaneKind::Spans, rows.clone())], write_held_every);
        if rows.is_empty() {
            prop_assert_eq!(snapshot.store().lane_count(), 0);
            return Ok(());
        }
        let span_ns = rows.last().unwrap().start_ns.abs_diff(base) + 2000;
        // Some views start before the first row and end after the last.
        let start_ns = base.saturating_add_unsigned((span_ns as f64 * first) as u64).saturating_sub(100);
        let buckets = Buckets { first: start_ns >> width_log2, count: bucket_count, width_log2 };
        let mut cells = Vec::new();
        let count = longest_from_forest(&snapshot, LaneIdx(0), buckets, &mut cells);
        prop_assert_eq!(spread(&cells, buckets), scan(&rows, buckets));
        prop_assert!(count.blocks <= 5 * u64::from(bucket_count) + 4, "{:?}", count);
        let mut in_order = Vec::new();
        longest_in_order(&snapshot, LaneIdx(0), buckets, &mut in_order);
        prop_assert_eq!(&in_order, &cells);
        let mut started = Vec::new();
        pixels::starts(&snapshot, LaneIdx(0), buckets, &mut started);
        let in_bucket = |bucket: i64| rows.iter().filter(|row| row.start_ns >> width_log2 == bucket).count() as u64;
        prop_assert_eq!(started, (buckets.first..buckets.end()).map(in_bucket).collect::<Vec<_>>());
        for cell in &cells {
            let starts = |bucket: i64| RowCount::from_count(in_bucket(bucket));
            let last = cell.end_bucket() - 1;
            let last_rows = if last > cell.first_bucket { starts(last) } else { RowCount::default() };
            prop_assert_eq!((cell.first_rows, cell.last_rows), (starts(cell.first_bucket), last_rows));
        }
    }

    #[test]
    fn the_range_of_a_counter_equals_a_scan(
        steps in any_steps(),
        count in prop_oneof![1usize..200, 4000usize..6000],
        width_log2 in 0u32..16,
        first in -0.1f64..1.0,
        bucket_count in 1u32..60,
    ) {
        let mut rows = rows_of(-500, &steps, count);
        rows.iter_mut().for_each(|row| row.value = (f64::from(row.name).sin() * 100.0).to_bits());
        let snapshot = snapshot_of(&[(LaneKind::Counter, rows.clone())], 0);
        let span_ns = rows.last().unwrap().start_ns.abs_diff(-500) as f64;
        let start_ns = (span_ns * first) as i64 - 500;
        let buckets = Buckets { first: start_ns >> width_log2, count: bucket_count, width_log2 };
        let mut cells = Vec::new();
        counter(&snapshot, LaneIdx(0), buckets, &mut cells);
        let mut found: Vec<Option<(f64, f64, f64)>> = vec![None; bucket_count as usize];
        let mut sampled: Vec<(i64, i64)> = Vec::new();
        for CounterCell { first_bucket, bucket_count, sampled_ns, min, max, last } in cells {
            for bucket in first_bucket..first_bucket + i64::from(bucket_count) {
                found[(bucket - buckets.first) as usize] = Some((min, max, last));
            }
            sampled.extend(sampled_ns.map(|ts_ns| (first_bucket, ts_ns)));
        }
        for bucket in buckets.first..buckets.end() {
            let value = |row: &Row| f64::from_bits(row.value);
            let starts_then = rows.iter().any(|row| row.start_ns == buckets.start_ns(bucket));
            let before = rows.iter().rev().find(|row| row.start_ns >> width_log2 < bucket);
            let held = before.filter(|_| !starts_then).map(value);
            let inside = rows.iter().filter(|row| row.start_ns >> width_log2 == bucket).map(value);
            let values: Vec<f64> = held.into_iter().chain(inside).collect();
            let expected = values.last().map(|&last| {
                let min = values.iter().copied().fold(f64::INFINITY, f64::min);
                let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                (min, max, last)
            });
            prop_assert_eq!(found[(bucket - buckets.first) as usize], expected);
        }
        let mut last_of_bucket: Vec<(i64, i64)> = Vec::new();
        for start_ns in rows.iter().map(|row| row.start_ns) {
            let bucket = start_ns >> width_log2;
            last_of_bucket.retain(|(known, _)| *known != bucket);
            last_of_bucket.extend((buckets.first..buckets.end()).contains(&bucket).then_some((bucket, start_ns)));
        }
        prop_assert_eq!(sampled, last_of_bucket);
    }

    #[test]
    fn the_nearest_edge_equals_that_of_a_scan(
        steps in prop::collection::vec((0u16..40, 0u16..30), 1..9),
        count in 1usize..300,
        times in prop::collection::vec(-100i64..9000, 1..20),
    ) {
        let rows = rows_of(0, &steps, count);
        let snapshot = snapshot_of(&[(LaneKind::Spans, rows.clone())], 0);
        let edges = || rows.iter().flat_map(|row| [row.start_ns, row.start_ns.saturating_add_unsigned(row.value)]);
        for ts_ns in times {
            let distance = edges().map(|edge_ns| edge_ns.abs_diff(ts_ns)).min();
            let found_ns = nearest_edge_ns(&snapshot, LaneIdx(0), ts_ns);
            prop_assert_eq!(found_ns.map(|edge_ns| edge_ns.abs_diff(ts_ns)), distance, "at {}", ts_ns);
            prop_assert!(found_ns.is_none_or(|found_ns| edges().any(|edge_ns| edge_ns == found_ns)));
        }
    }

    #[test]
    fn the_numbers_of_a_counter_equal_a_walk_through_every_nanosecond(
        steps in prop::collection::vec((0i64..40, 0u8..12), 1..40),
        from in prop::option::of(-20i64..400),
        length in 1i64..500,
    ) {
        let mut ts_ns = 0;
        let rows: Vec<Row> = steps.iter().map(|&(gap, value)| {
            ts_ns += gap;
            let value = if value == 11 { f64::NAN } else { f64::from(value) - 4.0 };
            Row { start_ns: ts_ns, value: value.to_bits(), ..Row::default() }
        }).collect();
        let snapshot = snapshot_of(&[(LaneKind::Counter, rows.clone())], 0);
        let to = from.unwrap_or(0) + length;
        for at_ns in [i64::MIN, -1, 0, length, to, ts_ns, i64::MAX] {
            let until = rows.iter().filter(|row| row.start_ns <= at_ns).collect::<Vec<_>>();
            let bits = |back: usize| until.len().checked_sub(back).map(|index| until[index].value);
            let held = value_at(&snapshot, LaneIdx(0), at_ns);
            prop_assert_eq!(held.map(|held| held.value.to_bits()), bits(1));
            prop_assert_eq!(held.map(|held| held.since_ns), until.last().map(|row| row.start_ns));
            prop_assert_eq!(held.and_then(|held| held.before).map(f64::to_bits), bits(2));
            let next_ns = rows.iter().map(|row| row.start_ns).find(|&start_ns| start_ns > at_ns);
            let next = rows.iter().rfind(|row| Some(row.start_ns) == next_ns).map(|row| (row.start_ns, row.value));
            let held_next = held.and_then(|held| held.next).map(|(ts_ns, value)| (ts_ns, value.to_bits()));
            prop_assert_eq!(held_next, next.filter(|_| held.is_some()));
        }
        let scope = Scope::from_range(from, Some(to));
        let found = counters(&snapshot, &scope, &Cancel::default(), &Progress::default()).unwrap();
        if from.is_some_and(|from| from > snapshot.end_ns()) {
            prop_assert!(found.is_empty(), "beyond the end of the trace, no value is known");
            return Ok(());
        }
        // The current value at each nanosecond of the range is the value of the last sample.
        let (first_ns, end_ns) = (from.unwrap_or(i64::MIN), to.min(snapshot.end_ns()));
        let value = |row: &Row| Some(f64::from_bits(row.value)).filter(|value| value.is_finite());
        let inside: Vec<&Row> =
            rows.iter().filter(|row| row.start_ns >= first_ns && row.start_ns < to).collect();
        let begins = from.filter(|from| inside.first().is_none_or(|row| row.start_ns > *from));
        let before = begins.and_then(|from| rows.iter().rev().find(|row| row.start_ns < from)).and_then(value);
        let mut changes: Vec<(i64, Option<f64>)> = before.map(|value| (first_ns, Some(value))).into_iter().collect();
        changes.extend(inside.iter().map(|row| (row.start_ns, value(row))));
        let values: Vec<(i64, f64)> = changes.iter().filter_map(|&(ts_ns, value)| Some((ts_ns, value?))).collect();
        let Some(&(known_ns, first)) = values.first() else {
            prop_assert!(found.is_empty());
            return Ok(());
        };
        let last = values[values.len() - 1].1;
        let held: Vec<f64> = (known_ns..end_ns.max(known_ns))
            .filter_map(|at| changes.iter().rev().find(|(ts_ns, _)| *ts_ns <= at)?.1)
            .collect();
        let mean = if held.is_empty() { last } else { held.iter().sum::<f64>() / held.len() as f64 };
        let extreme = |fold: fn(f64, f64) -> f64| values.iter().map(|(_, value)| *value).reduce(fold).unwrap();
        let stats = found[0];
        let extremes = (extreme(f64::min), extreme(f64::max));
        prop_assert_eq!((stats.samples, (stats.min, stats.max)), (inside.len() as u64, extremes));
        prop_assert!((stats.mean - mean).abs() < 1e-9, "{} and {mean}", stats.mean);
        prop_assert_eq!((stats.first, stats.last), (first, last));
        prop_assert_eq!(stats.known_ns, end_ns.abs_diff(known_ns.min(end_ns)));
    }

    #[test]
    fn the_mean_of_a_counter_scales_with_its_values(
        steps in prop::collection::vec((0i64..1 << 40, -1e3f64..1e3), 1..20),
        exponent in 0i32..1013,
    ) {
        // Powers of two scale exactly, as long as the values are finite.
        let mean = |power: i32| {
            let mut ts_ns = 0;
            let rows: Vec<Row> = steps.iter().map(|&(gap, value)| {
                ts_ns += gap;
                Row { start_ns: ts_ns, value: (value * 2f64.powi(power)).to_bits(), ..Row::default() }
            }).collect();
            let snapshot = snapshot_of(&[(LaneKind::Counter, rows)], 0);
            let scope = Scope::from_range(None, Some(ts_ns + 1000));
            counters(&snapshot, &scope, &Cancel::default(), &Progress::default()).unwrap()[0].mean
        };
        let expected = mean(0) * 2f64.powi(exponent);
        prop_assert_eq!(mean(exponent), expected);
    }

    #[test]
    fn the_span_under_a_point_equals_that_of_a_scan(
        steps in any_steps(),
        count in 1usize..300,
        at in 0.0f64..1.0,
        tolerance_ns in 0u64..50,
    ) {
        let rows = rows_of(0, &steps, count);
        let snapshot = snapshot_of(&[(LaneKind::Spans, rows.clone())], 0);
        let ts_ns = (rows.last().unwrap().start_ns as f64 * at) as i64;
        let picked = row_at(&snapshot, LaneIdx(0), ts_ns, tolerance_ns).map(|row| &rows[row.row as usize]);
        let end_ns = |row: &Row| row.start_ns + row.value as i64;
        let is_under = |row: &&Row| row.start_ns == ts_ns || (row.start_ns <= ts_ns && end_ns(row) > ts_ns);
        if let Some(under) = rows.iter().rev().find(is_under) {
            prop_assert_eq!(picked, Some(under));
        } else {
            let distance =
                |row: &Row| if row.start_ns > ts_ns { row.start_ns - ts_ns } else { ts_ns - end_ns(row) };
            prop_assert!(picked.is_none_or(|row| distance(row) <= tolerance_ns as i64));
            let starts_near = rows.iter().any(|row| row.start_ns.abs_diff(ts_ns) <= tolerance_ns);
            prop_assert!(picked.is_some() || !starts_near);
        }
    }

    #[test]
    fn the_position_of_every_time_equals_a_scan(
        steps in any_steps(),
        count in 1usize..5000,
        write_held_every in 0usize..300,
    ) {
        let rows = rows_of(7, &steps, count);
        let snapshot = snapshot_of(&[(LaneKind::Spans, rows.clone())], write_held_every);
        let mut cursor = LaneCursor::new(snapshot.store(), LaneIdx(0));
        for k in 0..200 {
            let ts_ns = rows[(k * 7919) % rows.len()].start_ns + [0, 1, -1, 500, i64::MAX / 2][k % 5];
            let position = cursor.first_from(ts_ns);
            prop_assert_eq!(position.row, rows.partition_point(|row| row.start_ns < ts_ns) as u64);
            prop_assert_eq!(cursor.row_at(position), rows.get(position.row as usize).copied());
            prop_assert_eq!(cursor.position_of(position.row), position);
        }
    }

    #[test]
    fn rows_of_all_lanes_come_in_one_order(
        a in any_steps(),
        b in any_steps(),
        from in 0i64..3000,
        length in 0i64..5000,
    ) {
        let lanes = [(LaneKind::Spans, rows_of(0, &a, 700)), (LaneKind::Spans, rows_of(3, &b, 300))];
        let snapshot = snapshot_of(&lanes, 0);
        let sorted: Vec<_> = SortedRows::new(&snapshot, [LaneIdx(0), LaneIdx(1)], Some(from), Some(from + length))
            .map(|row| (row.row.start_ns, row.index.lane.0, row.index.row))
            .collect();
        let mut expected = Vec::new();
        for (lane, (_, rows)) in lanes.iter().enumerate() {
            for (index, row) in rows.iter().enumerate() {
                if row.start_ns < from + length && (row.start_ns >= from || row.start_ns + row.value as i64 > from) {
                    expected.push((row.start_ns, lane as u32, index as u64));
                }
            }
        }
        expected.sort_unstable();
        prop_assert_eq!(sorted, expected);
    }
}

#[test]
fn a_row_at_the_last_nanosecond_is_picked() {
    let row = |start_ns| Row { start_ns, ..Row::default() };
    let snapshot = snapshot_of(&[(LaneKind::Instants, vec![row(10), row(i64::MAX)])], 0);
    assert_eq!(row_at(&snapshot, LaneIdx(0), i64::MAX, 0).map(|row| row.row), Some(1));
    assert_eq!(nearest_edge_ns(&snapshot, LaneIdx(0), i64::MAX), Some(i64::MAX));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn the_pyramid_and_the_forest_give_the_same_answer(
        base in prop_oneof![Just(0i64), Just(-3_000_000), Just(1_700_000_000_000_000_000)],
        steps in any_steps(),
        coarser in 0u32..30,
        first in 0.0f64..1.0,
    ) {
        let rows = rows_of(base, &steps, 40_000);
        let snapshot = snapshot_of(&[(LaneKind::Spans, rows.clone())], 0);
        let lane = snapshot.store().lane(LaneIdx(0));
        let finest = (0..63).find(|&width_log2| lane.overview(width_log2, i64::MIN..i64::MAX).is_some()).unwrap();
        let span_ns = rows.last().unwrap().start_ns.abs_diff(base);
        let start_ns = base + (span_ns as f64 * first) as i64 - 1000;
        for width_log2 in [finest, finest + 1, (finest + coarser).min(62)] {
            let buckets = Buckets { first: start_ns >> width_log2, count: 3000, width_log2 };
            let (mut from_overview, mut from_forest) = (Vec::new(), Vec::new());
            let count = longest(&snapshot, LaneIdx(0), buckets, &mut from_overview);
            longest_from_forest(&snapshot, LaneIdx(0), buckets, &mut from_forest);
            prop_assert_eq!(count.blocks, 0);
            prop_assert_eq!(&from_overview, &from_forest);
            let mut started = Vec::new();
            pixels::starts(&snapshot, LaneIdx(0), buckets, &mut started);
            let shown = buckets.first..buckets.end();
            let inside = rows.iter().filter(|row| shown.contains(&(row.start_ns >> width_log2)));
            prop_assert_eq!(started.iter().sum::<u64>(), inside.count() as u64);
        }
    }
}

#[test]
fn a_preview_shows_all_rows_so_far_and_stays_as_it_is_while_more_come() {
    let rows = rows_of(0, &[(3, 5), (10, 1)], 10_000);
    let file = tempfile::tempfile().unwrap();
    let mut writer = StoreWriter::new(file, 1 << 24).unwrap();
    let mut registry = Registry::default();
    registry.track(&TrackKey::thread(Id::None, Id::None));
    let meta = || Meta { tracks: registry.tables().clone(), ..Meta::default() };
    let lane = writer.add_lane(TrackIdx(0), LaneKind::Spans, 0).unwrap();
    let mut previews = Vec::new();
    for (k, row) in rows.iter().enumerate() {
        writer.push(lane, *row).unwrap();
        if k % 1777 == 5 {
            writer.flush().unwrap();
            previews.push((k + 1, Snapshot::new(Arc::new(writer.preview(meta()).unwrap()))));
        }
    }
    for (count, snapshot) in previews {
        let seen: Vec<Row> = SortedRows::new(&snapshot, [LaneIdx(0)], Some(0), None).map(|row| row.row).collect();
        assert_eq!(seen, rows[..count]);
        let buckets = Buckets { first: 0, count: 300, width_log2: 8 };
        let mut cells = Vec::new();
        longest(&snapshot, LaneIdx(0), buckets, &mut cells);
        assert_eq!(spread(&cells, buckets), scan(&rows[..count], buckets));
    }
}

#[test]
fn rows_of_more_lanes_than_stay_decoded_come_in_the_same_order() {
    const LANES: usize = 50;
    // Half of the lanes have all their rows in a burst, one lane after the other; the others have rows all the time.
    let lane = |lane: usize| {
        let (from, step) = if lane.is_multiple_of(2) { (lane as i64 * 1000, 3) } else { (lane as i64, 700) };
        let row =
            |k: i64| Row { start_ns: from + k * step, value: 2, detail: 0, name: (lane * 1000) as u32 + k as u32 };
        (LaneKind::Spans, (0..130).map(row).collect::<Vec<_>>())
    };
    let lanes: Vec<_> = (0..LANES).map(lane).collect();
    let snapshot = snapshot_of(&lanes, 0);
    let all = || (0..LANES as u32).map(LaneIdx);
    let mut expected: Vec<_> = lanes
        .iter()
        .enumerate()
        .flat_map(|(depth, (_, rows))| rows.iter().map(move |row| (row.start_ns, depth, *row)))
        .collect();
    expected.sort_by_key(|&(start_ns, depth, _)| (start_ns, depth));
    for (max, decoded_max) in [(1000, 50 * 3), (30, 50 * 3 + 25 * 130 / 4), (4, 50 * 130), (1, 50 * 130)] {
        let mut sorted = SortedRows::with_decoded_lanes(&snapshot, all(), (None, None), max);
        let mut found = Vec::new();
        for row in &mut sorted {
            found.push((row.row.start_ns, row.index.lane.index(), row.row));
        }
        assert!(found == expected, "with {max}");
        let (blocks, decoded) = sorted.decoded();
        assert!(blocks <= max && blocks <= LANES && decoded <= decoded_max, "{blocks} of {max}, {decoded} decoded");
    }
}

#[test]
fn a_view_of_the_whole_of_time_is_answered() {
    let rows = vec![
        Row { start_ns: i64::MIN, value: 10, detail: 0, name: 1 },
        Row { start_ns: 0, value: i64::MAX as u64, detail: 0, name: 2 },
        Row { start_ns: i64::MAX, value: 0, detail: 0, name: 3 },
    ];
    let snapshot = snapshot_of(&[(LaneKind::Spans, rows.clone())], 0);
    for width_log2 in [62, 60, 50] {
        let buckets = Buckets::covering(i64::MIN, i64::MAX, 1 << width_log2);
        let mut cells = Vec::new();
        longest(&snapshot, LaneIdx(0), buckets, &mut cells);
        assert_eq!(spread(&cells, buckets), scan(&rows, buckets));
    }
}

#[test]
fn a_view_of_everything_reads_as_much_of_a_large_lane_as_of_a_small_one() {
    for count in [1 << 17, 1 << 19, 1 << 21] {
        let rows = rows_of(0, &[(3, 5), (10, 1), (0, 30)], count);
        let end_ns = rows.last().unwrap().start_ns + 100;
        let snapshot = snapshot_of(&[(LaneKind::Spans, rows)], 0);
        let buckets = Buckets::covering(0, end_ns, end_ns.unsigned_abs() / 1920);
        let read = longest(&snapshot, LaneIdx(0), buckets, &mut Vec::new());
        // A bucket of the pyramid has 32 bytes, and is as wide as one of the view.
        assert!(read.blocks == 0 && read.bytes <= 32 * u64::from(buckets.count), "{count} rows: {read:?}");
    }
}

#[test]
fn at_some_blocks_a_bucket_most_stay_packed() {
    let mut sequence = RandomSequence(7);
    let mut random = move |below: u64| sequence.below(below);
    let mut free_ns = 0;
    let rows: Vec<Row> = (0..1 << 17)
        .map(|name| {
            let longest_ns = 1 << random(12);
            let (gap_ns, dur_ns) = (random(64), random(longest_ns));
            let start_ns = free_ns + gap_ns.cast_signed();
            free_ns = start_ns + dur_ns.cast_signed();
            Row { start_ns, value: dur_ns, detail: 0, name }
        })
        .collect();
    let snapshot = snapshot_of(&[(LaneKind::Spans, rows.clone())], 0);
    let rows_ns = free_ns.unsigned_abs() / rows.len() as u64;
    // Minimum rows per bucket, and how many of 1000 blocks may be unpacked for them.
    for (rows_per_bucket, unpacked_max) in [(64, 450), (128, 130), (256, 35), (512, 10), (1024, 3)] {
        let buckets = Buckets::covering(0, free_ns, rows_per_bucket * rows_ns);
        let mut cells = Vec::new();
        let read = longest_from_forest(&snapshot, LaneIdx(0), buckets, &mut cells);
        assert_eq!(spread(&cells, buckets), scan(&rows, buckets));
        let unpacked = read.blocks * 1000 / (rows.len() as u64 / 64);
        assert!(unpacked <= unpacked_max, "{unpacked} of 1000 blocks with {rows_per_bucket} rows a bucket");
    }
}

#[test]
fn the_mean_of_values_near_the_largest_number_is_finite() {
    let mean = |values: &[f64]| {
        let row = |(at, value): (i64, &f64)| Row { start_ns: at, value: value.to_bits(), ..Row::default() };
        let rows = (0..).step_by(1_000_000_000).zip(values).map(row).collect();
        let snapshot = snapshot_of(&[(LaneKind::Counter, rows)], 0);
        let scope = Scope::from_range(None, Some(values.len() as i64 * 1_000_000_000));
        counters(&snapshot, &scope, &Cancel::default(), &Progress::default()).unwrap()[0].mean
    };
    assert_eq!(mean(&[1e300, 1e300]).to_bits(), 1e300f64.to_bits());
    assert_eq!(mean(&[f64::MAX; 3]).to_bits(), f64::MAX.to_bits());
    assert_eq!(mean(&[f64::MIN, f64::MAX]).to_bits(), 0f64.to_bits());
    assert_eq!(mean(&[1.0, f64::MAX, f64::MIN, 3.0]).to_bits(), 1f64.to_bits());
}

#[test]
fn a_lane_of_an_earlier_snapshot_is_that_of_its_depth_among_the_later_ones() {
    let lanes = |count: usize| vec![(LaneKind::Spans, rows_of(0, &[(1, 1)], 3)); count];
    let (earlier, later) = (snapshot_of(&lanes(5), 0), snapshot_of(&lanes(300), 0));
    for lane in (0..5).map(LaneIdx) {
        let depth = |snapshot: &Snapshot, lane| snapshot.lane(lane).depth;
        let found = later.lane_since(&earlier, lane).expect("a lane");
        assert_eq!(depth(&later, found), depth(&earlier, lane));
        assert_eq!(earlier.lane_since(&later, found), Some(lane));
    }
    assert_eq!(earlier.lane_since(&later, LaneIdx(200)), None);
    assert_eq!(later.lane_since(&later.clone(), LaneIdx(200)), Some(LaneIdx(200)));
}
