//! Totals, longest spans, durations over time and call paths against naive loops over all rows.

use std::collections::BTreeMap;

use super::Snapshot;
use super::filter::Filter;
use super::longest::longest;
use super::matcher::Matcher;
use super::over_time::over_time;
use super::rows::{SortedRow, SortedRows};
use super::scope::Scope;
use super::search::Hit;
use super::stacks::{self, CallTree, NodeIdx};
use super::totals::{GrowingTotals, add_up};
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::model::{Id, NameIdx, Names, Registry, TrackIdx, TrackKey, TrackSet};
use crate::query::ledger_traces::RandomSequence;
use crate::store::{LaneKind, Meta, Row, Store, StoreWriter, Summary};

/// Builds two tracks of three lanes. Spans may reach beyond the span above them, like spans that overlap without
/// nesting.
fn trace(rows_per_lane: usize, seed: u64) -> Snapshot {
    let mut sequence = RandomSequence(seed | 1);
    let mut below = move |bound: u64| sequence.below(bound);
    let (mut names, mut registry) = (Names::default(), Registry::default());
    for name in 0..9 {
        names.intern(&format!("name {name}"), None);
    }
    let file = tempfile::tempfile().unwrap();
    let mut writer = StoreWriter::new(file.try_clone().unwrap(), 1 << 24).unwrap();
    let mut end_ns = 0;
    for tid in 0..2 {
        let (pid, tid) = (Id::Number(1), Id::Number(tid));
        let key = TrackKey::thread(pid, tid);
        let track = registry.track(&key).unwrap();
        for depth in 0..3 {
            let lane = writer.add_lane(track, LaneKind::Spans, depth).unwrap();
            let mut free_ns = 0;
            let rows = rows_per_lane << depth;
            for _ in 0..rows {
                let start_ns = free_ns + (below(3) * below(100 >> depth)) as i64;
                let value = below(400 >> (2 * depth)) * below(8);
                free_ns = start_ns + value as i64;
                let name = 1 + if below(50) == 0 { 8 } else { below(8) } as u32;
                writer.push(lane, Row { start_ns, value, detail: 0, name }).unwrap();
            }
            end_ns = free_ns.max(end_ns);
        }
    }
    let summary = Summary { end_ns, ..Summary::default() };
    let meta = Meta { names: names.into(), tracks: registry.tables().clone(), summary, ..Meta::default() };
    writer.finish(&meta).unwrap();
    Snapshot::new(Store::from_file(&file, "test".as_ref()).unwrap().into())
}

/// Returns all spans that overlap the range, with their track and depth.
fn spans(snapshot: &Snapshot, scope: &Scope) -> Vec<(SortedRow, TrackIdx, u16)> {
    let rows = SortedRows::new(snapshot, snapshot.event_lanes(), scope.from_ns, scope.to_ns);
    let rows = rows.map(|row| {
        let lane = snapshot.lane(row.index.lane);
        (row, lane.track, lane.depth)
    });
    rows.filter(|(_, track, _)| scope.tracks.contains(*track)).collect()
}

fn end_ns(row: &SortedRow) -> i64 {
    row.row.start_ns + row.row.value as i64
}

/// Clips `[start_ns, end_ns)` to the range of a scope, and returns its length.
fn within(start_ns: i64, end_ns: i64, scope: &Scope) -> i64 {
    (end_ns.min(scope.to_ns.unwrap_or(i64::MAX)) - start_ns.max(scope.from_ns.unwrap_or(i64::MIN))).max(0)
}

fn scopes(end_ns: i64) -> [Scope; 4] {
    let part = Scope { from_ns: Some(end_ns / 4), to_ns: Some(end_ns / 2), ..Scope::default() };
    let track = Scope { tracks: TrackSet::from_iter([TrackIdx(1)]), ..part.clone() };
    [Scope::default(), part, track, Scope { from_ns: Some(end_ns / 2), ..Scope::default() }]
}

#[test]
fn the_longest_are_those_of_a_full_sort() {
    let snapshot = trace(3000, 8);
    for scope in scopes(snapshot.end_ns()) {
        for filter in ["", "\"name 8\"", "nothing", "dur<50"] {
            let matcher = Matcher::new(&snapshot, &Filter::parse(filter).unwrap());
            let mut expected: Vec<Hit> = spans(&snapshot, &scope)
                .into_iter()
                .map(|(row, ..)| Hit {
                    start_ns: row.row.start_ns,
                    row: row.index,
                    dur_ns: row.row.value,
                    name: NameIdx(row.row.name),
                })
                .filter(|hit| matcher.has_name(hit.name) && matcher.has_duration(hit.dur_ns))
                .collect();
            expected.sort_by_key(|hit| (u64::MAX - hit.dur_ns, hit.start_ns, hit.row));
            for count in [0, 1, 20, 500] {
                let found =
                    longest(&snapshot, &scope.clone().matching(matcher.clone()), count, &Cancel::default()).unwrap();
                assert_eq!(found, expected[..count.min(expected.len())], "{count} of {filter} in {scope:?}");
            }
        }
    }
}

#[test]
fn every_start_is_in_its_part_of_time() {
    let snapshot = trace(2000, 4);
    let (from_ns, to_ns) = (snapshot.end_ns() / 5, snapshot.end_ns() / 2);
    let matcher = Matcher::new(&snapshot, &Filter::parse("/[1-4]/").unwrap());
    let scope = Scope::from_range(Some(from_ns), Some(to_ns)).matching(matcher.clone());
    for columns in [1, 7, 300] {
        let found = over_time(&snapshot, &scope, (from_ns, to_ns), columns, &Cancel::default()).unwrap();
        let mut expected = vec![0; columns];
        for (row, ..) in spans(&snapshot, &scope) {
            if matcher.has_name(NameIdx(row.row.name)) && row.row.start_ns >= from_ns {
                let since_ns = (row.row.start_ns - from_ns) as usize;
                expected[since_ns * columns / (to_ns - from_ns) as usize] += 1;
            }
        }
        assert_eq!(found, expected);
    }
}

/// Number of spans and time within the range, by the path that they end.
type Paths = BTreeMap<Vec<u32>, (u64, i64)>;

fn paths_of(tree: &CallTree) -> Paths {
    let mut paths = Paths::new();
    for (index, node) in tree.nodes().iter().enumerate().skip(1) {
        let (mut path, mut at) = (Vec::new(), NodeIdx(index as u32));
        while at != NodeIdx::ROOT {
            path.push(tree.nodes()[at.index()].name.0);
            at = tree.nodes()[at.index()].parent;
        }
        path.reverse();
        paths.insert(path, (node.count, node.total as i64));
    }
    paths
}

#[test]
fn call_paths_are_those_of_the_spans_around() {
    let snapshot = trace(250, 6);
    for scope in scopes(snapshot.end_ns()) {
        let all = spans(&snapshot, &scope);
        let mut expected = Paths::new();
        for (row, track, depth) in &all {
            let mut path = vec![row.row.name];
            let (mut inner, mut inner_depth) = (row, *depth);
            loop {
                let around = all.iter().filter(|(outer, outer_track, outer_depth)| {
                    outer_track == track
                        && *outer_depth < inner_depth
                        && outer.row.start_ns <= inner.row.start_ns
                        && end_ns(outer) >= end_ns(inner)
                });
                // Among zero-length spans at one time, the last is the parent.
                let Some((outer, _, outer_depth)) = around.max_by_key(|(outer, _, depth)| (*depth, outer.index)) else {
                    break;
                };
                path.push(outer.row.name);
                (inner, inner_depth) = (outer, *outer_depth);
            }
            path.reverse();
            let kept = expected.entry(path).or_default();
            kept.0 += 1;
            kept.1 += within(row.row.start_ns, end_ns(row), &scope);
        }
        let paths = stacks::from_spans(&snapshot, &scope, &Cancel::default(), &Progress::default()).unwrap();
        let tree = paths.tree;
        assert_eq!(tree.folded.paths, 0);
        let found = paths_of(&tree);
        assert!(found.keys().eq(expected.keys()));
        for (path, (count, time_ns)) in expected {
            assert_eq!(found[&path].0, count);
            // If all direct children of a path are leaves, its time equals the time of its spans.
            let is_leaf = !found.keys().any(|other| other.len() > path.len() && other.starts_with(&path));
            assert!(if is_leaf { found[&path].1 == time_ns } else { found[&path].1 >= time_ns }, "{path:?}");
        }
    }
}

#[test]
fn work_that_is_stopped_says_so() {
    let snapshot = trace(100, 6);
    let cancel = Cancel::default();
    cancel.cancel();
    let (scope, progress) = (Scope::default(), Progress::default());
    assert!(add_up(&snapshot, &scope, &GrowingTotals::default(), &cancel, &progress).is_err());
    assert!(longest(&snapshot, &scope, 5, &cancel).is_err());
    assert!(over_time(&snapshot, &scope, (0, 9), 5, &cancel).is_err());
    assert!(stacks::from_spans(&snapshot, &scope, &cancel, &progress).is_err());
}
