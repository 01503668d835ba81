//! Call paths of spans of random ranges and tracks against a loop over all spans, with and without a ledger.

mod call_table;
mod pruned;

use std::collections::BTreeMap;

use super::*;
use crate::base::cancel::Cancel;
use crate::base::files::damage_at;
use crate::base::progress::Progress;
use crate::model::{NameIdx, TrackIdx};
use crate::query::filter::Filter;
use crate::query::ledger_traces::{RandomSequence, TraceSpan, ranges, spans, store_of_paths};
use crate::query::matcher::Matcher;
use crate::query::scope::Scope;
use crate::store::Store;
use crate::store::path_ledger::PathShape;
use crate::store::pruned_paths::PruneShape;

/// Trees of many levels for a thousand spans, for any paths.
const SMALL: PathShape = PathShape {
    rows_min: 1,
    slice_rows: 16,
    leaf_rows: 8,
    pruned_leaf_rows: 24,
    fan_out: 3,
    kilorow_bytes: u64::MAX,
    track_paths: u64::MAX / 2,
    rows_per_path: 1,
    paths_max: 1 << 20,
    pruned: PruneShape { time_parts: 1 << 13, count_parts: 1 << 10, few_paths: 512 },
};

/// Spans, own time and total time by path, outermost name first.
type Paths = BTreeMap<Vec<u32>, [u128; 3]>;

/// The names of the spans that contain a span, outermost first, and its own; and the innermost of these spans.
type NaivePath = (Vec<u32>, Option<usize>);

/// Returns the path of each span.
fn naive_paths(spans: &[TraceSpan]) -> Vec<NaivePath> {
    let mut paths: Vec<NaivePath> = vec![Default::default(); spans.len()];
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by_key(|&number| (spans[number].track, spans[number].start_ns, spans[number].lane, number));
    for &number in &order {
        let span = &spans[number];
        let last_of = |lane: u16| {
            let mut before =
                spans.iter().enumerate().filter(|(_, other)| (other.track, other.lane) == (span.track, lane));
            before.rfind(|(_, other)| other.start_ns <= span.start_ns)
        };
        let around = (0..span.lane).rev().filter_map(last_of).find(|(_, other)| other.end_ns() >= span.end_ns());
        let around = around.map(|(other, _)| other);
        let mut path = around.map_or_else(Vec::new, |other| paths[other].0.clone());
        path.push(span.name);
        paths[number] = (path, around);
    }
    paths
}

/// Sums spans one by one. A span that fails the filter has the time of the nearest spans within it that pass.
fn naive(spans: &[TraceSpan], paths: &[NaivePath], scope: &Scope) -> Paths {
    let (from_ns, to_ns) = (scope.from_ns.unwrap_or(i64::MIN), scope.to_ns.unwrap_or(i64::MAX));
    let passes =
        |span: &TraceSpan| scope.matcher.has_name(NameIdx(span.name)) && scope.matcher.has_duration(span.dur_ns);
    let is_in_range = |span: &TraceSpan| {
        let is_before_end = span.start_ns < to_ns || scope.to_ns.is_none();
        is_before_end && (span.start_ns >= from_ns || span.end_ns() > from_ns)
    };
    let mut sums = Paths::new();
    let in_scope = |span: &&TraceSpan| scope.tracks.contains(TrackIdx(span.track)) && passes(span) && is_in_range(span);
    for (span, (path, around)) in spans.iter().zip(paths).filter(|(span, _)| in_scope(span)) {
        let (start_ns, end_ns) = (span.start_ns.max(from_ns), span.end_ns().min(to_ns));
        let time_ns = if end_ns > start_ns { u128::from(end_ns.abs_diff(start_ns)) } else { 0 };
        for len in 1..path.len() {
            sums.entry(path[..len].to_vec()).or_default();
        }
        sums.entry(path.clone()).or_default()[0] += 1;
        sums.entry(path.clone()).or_default()[2] += time_ns;
        let mut outer = *around;
        while let Some(number) = outer.filter(|&number| !passes(&spans[number])) {
            sums.entry(paths[number].0.clone()).or_default()[2] += time_ns;
            outer = paths[number].1;
        }
    }
    // Longer paths come first.
    let mut longest: Vec<Vec<u32>> = sums.keys().cloned().collect();
    longest.sort_by_key(|path| std::cmp::Reverse(path.len()));
    for path in longest {
        let below = sums.iter().filter(|(other, _)| other.len() == path.len() + 1 && other.starts_with(&path));
        let below_ns: u128 = below.map(|(_, sum)| sum[2]).sum();
        let sum = sums.get_mut(&path).unwrap();
        sum[1] = sum[2].saturating_sub(below_ns);
        sum[2] = sum[2].max(below_ns);
    }
    // Weights have 64 bits.
    sums.values_mut().flatten().for_each(|sum| *sum = (*sum).min(u64::MAX.into()));
    sums
}

fn paths_of(tree: &CallTree) -> Paths {
    let path = |index: usize| {
        let mut path: Vec<u32> = tree.path(NodeIdx(index as u32)).map(|name| name.0).collect();
        path.reverse();
        path
    };
    let nodes = tree.nodes().iter().enumerate().skip(1);
    nodes.map(|(index, node)| (path(index), [node.count, node.own, node.total].map(u128::from))).collect()
}

fn counted(snapshot: &Snapshot, scope: &Scope) -> CallPaths {
    let paths = from_spans(snapshot, scope, &Cancel::default(), &Progress::default()).unwrap();
    assert_eq!(paths.tree.folded.paths, 0);
    paths
}

/// Asserts that random scopes have the paths of a loop over all spans. Returns the number of nodes read.
fn assert_scopes(snapshot: &Snapshot, spans: &[TraceSpan], random: &mut RandomSequence, what: &str) -> u64 {
    let paths = naive_paths(spans);
    let tracks = 1 + spans.iter().map(|span| span.track).max().unwrap_or(0);
    let mut nodes = 0;
    for (from_ns, to_ns) in ranges(snapshot, random, 24) {
        let some: Vec<TrackIdx> = (0..tracks).filter(|_| random.below(2) == 0).map(TrackIdx).collect();
        for scope in [Scope::from_range(from_ns, to_ns), Scope::from_range(from_ns, to_ns).with_tracks(&some)] {
            let found = counted(snapshot, &scope);
            assert_eq!(
                paths_of(&found.tree),
                naive(spans, &paths, &scope),
                "{what}: {from_ns:?}..{to_ns:?} of {:?}",
                scope.tracks
            );
            nodes += found.work.nodes;
            let swept = sweep_spans(snapshot, &scope, &Cancel::default(), &Progress::default()).unwrap();
            assert!(
                swept.tree == found.tree && swept.work.nodes == 0,
                "{what}: a sweep has the same tree in its order"
            );
        }
    }
    nodes
}

#[test]
fn a_filter_of_rows_leaves_those_around_on_the_paths_without_time_of_their_own() {
    for (seed, first_ns) in [(1, 0), (2, -3000), (3, i64::MIN), (4, i64::MAX - 20_000), (6, 0)] {
        let mut random = RandomSequence(seed + 40);
        let spans = spans(3, 1 + seed as u16, 120, seed, first_ns);
        let paths = naive_paths(&spans);
        let (_file, snapshot) = store_of_paths(&spans, Some(SMALL), 1 << 24);
        for (from_ns, to_ns) in ranges(&snapshot, &mut random, 12) {
            let name = random.below(6) as u32;
            let names = snapshot.names();
            let named = Matcher::default().and_names(names.len(), |other| names.regular(other).0 % 6 == name);
            let long = Matcher::new(&snapshot, &Filter::parse(["dur>20ns", "-dur>40ns"][seed as usize % 2]).unwrap());
            let none = Matcher::default().and_names(snapshot.names().len(), |_| false);
            for matcher in [named, long, none] {
                let scope = Scope::from_range(from_ns, to_ns).matching(matcher);
                for scope in [scope.clone().with_tracks(&[TrackIdx(1)]), scope] {
                    let found = counted(&snapshot, &scope);
                    assert_eq!(paths_of(&found.tree), naive(&spans, &paths, &scope), "{seed}: {from_ns:?}..{to_ns:?}");
                    assert_eq!(found.work.nodes, 0, "a ledger has all spans");
                }
            }
        }
    }
}

#[test]
fn the_time_of_a_span_that_passes_stays_whole_beside_one_of_its_path_that_fails() {
    let span = |lane, start_ns, dur_ns, name| TraceSpan { track: 0, lane, start_ns, dur_ns, name };
    let all = [span(0, 0, 1000, 1), span(0, 2000, 40, 1), span(1, 100, 800, 2), span(2, 110, 50, 3)];
    let (_file, snapshot) = store_of_paths(&all, Some(SMALL), 1 << 24);
    let matcher = Matcher::new(&snapshot, &Filter::parse("dur<=100ns").unwrap());
    let found = counted(&snapshot, &Scope::default().matching(matcher));
    let expected = [(vec![1], [1, 40, 90]), (vec![1, 2], [0, 0, 50]), (vec![1, 2, 3], [1, 50, 50])];
    assert_eq!(paths_of(&found.tree), Paths::from(expected));
}

#[test]
fn any_range_and_tracks_have_the_paths_of_a_loop_over_all_spans() {
    for (seed, first_ns) in [(1, 0), (2, -3000), (3, i64::MIN), (4, i64::MAX - 20_000), (5, 77), (6, 0)] {
        let mut random = RandomSequence(seed);
        let spans = spans(1 + seed as u32 % 4, 1 + seed as u16, 120, seed, first_ns);
        let kilorow_bytes = [u64::MAX, 20 << 10][seed as usize % 2];
        for (shape, is_read) in [(None, false), (Some(PathShape { kilorow_bytes, ..SMALL }), true)] {
            let (_file, snapshot) = store_of_paths(&spans, shape, 1 << 24);
            let nodes = assert_scopes(&snapshot, &spans, &mut random, &format!("seed {seed}, {shape:?}"));
            assert_eq!(nodes > 0, is_read, "seed {seed}, {shape:?}");
        }
    }
}

#[test]
fn spans_of_half_of_all_times_and_many_lanes_are_none_too_many() {
    let mut random = RandomSequence(9);
    let long = |track, lane, start_ns| TraceSpan { track, lane, start_ns, dur_ns: u64::MAX >> 1, name: 1 };
    let mut all: Vec<TraceSpan> =
        vec![long(0, 0, i64::MIN), long(0, 0, -1), long(0, 2, i64::MIN), long(0, 4, i64::MIN)];
    all.extend((0..90).map(|lane| TraceSpan {
        track: 1,
        lane,
        start_ns: 5,
        dur_ns: 300,
        name: 1 + u32::from(lane % 3),
    }));
    all.extend(spans(1, 1, 60, 4, 0).into_iter().map(|span| TraceSpan { track: 2, ..span }));
    let (_file, snapshot) = store_of_paths(&all, Some(SMALL), 1 << 24);
    assert_scopes(&snapshot, &all, &mut random, "long spans");
}

#[test]
fn paths_that_do_not_fit_the_budget_leave_no_ledger_or_a_smaller_one() {
    let mut random = RandomSequence(13);
    let spans = spans(4, 4, 200, 5, 0);
    let mut with_ledger = 0;
    for budget_bytes in [0, 1000, 30_000, 60_000, 100_000, 1 << 20] {
        let (_file, snapshot) = store_of_paths(&spans, Some(SMALL), budget_bytes);
        with_ledger += u32::from(snapshot.store().path_ledger().is_some());
        assert_scopes(&snapshot, &spans, &mut random, &format!("{budget_bytes} bytes"));
    }
    assert!((1..6).contains(&with_ledger), "{with_ledger} of 6 stores have a ledger");
}

#[test]
fn the_store_of_paths_does_not_depend_on_the_number_of_threads() {
    let spans = spans(5, 3, 200, 57, 0);
    let made = || {
        let (_file, snapshot) = store_of_paths(&spans, Some(SMALL), 1 << 24);
        let ledger = snapshot.store().path_ledger().expect("a ledger");
        (ledger.paths().to_vec(), counted(&snapshot, &Scope::from_range(Some(100), None)).tree)
    };
    let expected = made();
    for threads in 1..4 {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (paths, tree) = pool.install(made);
        assert_eq!((paths, paths_of(&tree)), (expected.0.clone(), paths_of(&expected.1)), "{threads} threads");
    }
}

#[test]
fn a_damaged_node_of_paths_is_swept_instead_and_said() {
    let spans = spans(3, 3, 400, 5, 0);
    let (file, snapshot) = store_of_paths(&spans, Some(SMALL), 1 << 24);
    let trees = snapshot.store().path_ledger().expect("a ledger").trees();
    for tree in [None, Some(TrackIdx(2))] {
        let (nodes, _) = trees.cover(trees.tree(tree).expect("a tree"), 0, trees.bounds_ns().len() as u32 - 1);
        damage_at(&file, trees.offset(nodes[0]));
    }
    let damaged = Snapshot::new(Store::from_file(&file, "test".as_ref()).unwrap().into());
    let paths = naive_paths(&spans);
    for (number, scope) in [Scope::default(), Scope::default().with_tracks(&[TrackIdx(2)])].iter().enumerate() {
        let found = counted(&damaged, scope);
        assert_eq!(paths_of(&found.tree), naive(&spans, &paths, scope));
        assert_eq!((found.work.damaged_nodes, damaged.store().damaged()), (1, number as u64 + 1));
    }
    assert_eq!(damaged.store().damaged_in_all(), 2);
}

#[test]
fn work_for_the_paths_of_a_range_grows_with_the_logarithm_of_the_spans() {
    let work = |rows: u64| {
        let spans = spans(4, 2, rows, 9, 0);
        let (_file, snapshot) =
            store_of_paths(&spans, Some(PathShape { slice_rows: 64, leaf_rows: 64, ..SMALL }), 1 << 26);
        let end_ns = snapshot.end_ns();
        let scope = Scope::from_range(Some(end_ns / 7), Some(end_ns / 7 * 5));
        [counted(&snapshot, &scope).work, counted(&snapshot, &scope.with_tracks(&[TrackIdx(0)])).work]
    };
    // A hundred times the spans are some four levels of three more: up to 16 nodes.
    for (few, many) in work(200).into_iter().zip(work(20_000)) {
        assert!(many.nodes <= few.nodes + 17 && many.nodes > 0, "{many:?} after {few:?}");
        assert!(many.rows <= few.rows + 1500, "{many:?} after {few:?}, of 80,000 spans");
    }
}
