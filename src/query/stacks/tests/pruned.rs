//! Call paths from pruned histograms: bars within the reported bound, exact totals, and the exact answer afterwards.

use std::collections::BTreeSet;

use super::super::spans::add_up;
use super::*;
use crate::query::flame::{FlameNodeIdx, FlamePicture, FlameShape, FlameView};
use crate::query::ledger_traces::calls;
use crate::query::ledger_traces::is_failed;
use crate::query::plan::PlanSource;
use crate::store::SWEPT_ROWS;
use crate::store::path_ledger::PathLedger;
use crate::store::pruned_paths::OTHERS;

/// Pruned trees of many levels, for any paths.
const PRUNED: PathShape = PathShape {
    track_paths: 0,
    rows_per_path: u64::MAX,
    pruned: PruneShape { time_parts: 30, count_parts: 10, few_paths: 0 },
    ..SMALL
};

fn scopes(snapshot: &Snapshot, tracks: u32, random: &mut RandomSequence) -> Vec<Scope> {
    let mut scopes = Vec::new();
    for (from_ns, to_ns) in ranges(snapshot, random, 24) {
        let some: Vec<TrackIdx> = (0..tracks).filter(|_| random.below(2) == 0).map(TrackIdx).collect();
        scopes.push(Scope::from_range(from_ns, to_ns));
        scopes.push(Scope::from_range(from_ns, to_ns).with_tracks(&some));
    }
    scopes
}

/// Counts the spans of a path's subtree.
fn count_below(paths: &Paths, path: &[u32]) -> u128 {
    paths.range(path.to_vec()..).take_while(|(other, _)| other.starts_with(path)).map(|(_, sum)| sum[0]).sum()
}

/// Asserts that random scopes have the paths of a loop over all spans, up to the reported bound, and exactly
/// afterwards. Returns the number of inexact answers.
fn assert_pruned(snapshot: &Snapshot, spans: &[TraceSpan], shape: &PathShape, what: &str) -> u64 {
    let mut random = RandomSequence(spans.len() as u64);
    let paths = naive_paths(spans);
    let tracks = 1 + spans.iter().map(|span| span.track).max().unwrap_or(0);
    let mut lacking = 0;
    for scope in scopes(snapshot, tracks, &mut random) {
        let what = format!("{what}: {:?}..{:?} of {:?}", scope.from_ns, scope.to_ns, scope.tracks);
        let exact = naive(spans, &paths, &scope);
        let found = from_spans(snapshot, &scope, &Cancel::default(), &Progress::default()).unwrap();
        let after = exact_spans(snapshot, &scope, &Cancel::default(), &Progress::default()).unwrap();
        assert!(paths_of(&after.tree) == exact && after.is_exact(), "{what}: after all is counted");
        let tree = paths_of(&found.tree);
        if found.is_exact() {
            assert_eq!(tree, exact, "{what}");
            continue;
        }
        lacking += 1;
        assert_eq!(found.tree.whole(), after.tree.whole(), "{what}: all spans and their time");
        let SampleSum { samples, weight } = found.missing;
        // The last pruning of an answer has its own thresholds.
        let parts = u64::min(shape.pruned.time_parts, 1 << 13);
        assert!(weight <= after.tree.whole().weight / parts * 2, "{what}: {weight} of {:?}", after.tree.whole());
        for (path, sum) in &exact {
            let [_, _, known_ns] = tree.get(path).copied().unwrap_or_default();
            assert!(known_ns <= sum[2] && sum[2] <= known_ns + u128::from(weight), "{what}: time of {path:?}");
            let (known, all) = (count_below(&tree, path), count_below(&exact, path));
            assert!(known <= all && all <= known + u128::from(samples), "{what}: spans of {path:?}");
        }
        for path in tree.keys().filter(|path| path.last() != Some(&OTHERS.0)) {
            assert!(exact.contains_key(path), "{what}: {path:?}");
        }
    }
    lacking
}

#[test]
fn any_range_and_tracks_lack_no_more_than_they_say_and_nothing_after_that() {
    for (seed, first_ns) in [(1, 0), (2, -3000), (3, i64::MIN), (4, i64::MAX - 200_000), (5, 77), (6, 0)] {
        let spans = calls(1 + seed as u32 % 4, 14, 2 + seed as u16, 12, seed, first_ns);
        let pruned = PruneShape { time_parts: 5 << seed, count_parts: 1 + seed % 3, few_paths: seed as usize * 3 };
        let kilorow_bytes = [u64::MAX, 20 << 10][seed as usize % 2];
        let shape = PathShape { pruned, kilorow_bytes, fan_out: 2 + seed as u32 % 3, ..PRUNED };
        let (_file, snapshot) = store_of_paths(&spans, Some(shape), 1 << 24);
        assert!(snapshot.store().path_ledger().is_some_and(PathLedger::is_pruned), "seed {seed}");
        let lacking = assert_pruned(&snapshot, &spans, &shape, &format!("seed {seed}"));
        assert!(lacking > 5, "seed {seed}: {lacking} answers lack paths");
    }
}

/// Returns the counts and self weights of the functions of an inverted graph, by text.
fn innermost(snapshot: &Snapshot, scope: &Scope, paths: &CallPaths) -> BTreeMap<String, SampleSum> {
    let view = FlameView { shape: FlameShape::Inverted, ..FlameView::default() };
    let own_sums = own_sums_of_spans(snapshot, scope, paths, &Cancel::default()).unwrap();
    assert_eq!(own_sums.is_empty(), paths.is_exact());
    let calls = (&paths.tree, &*own_sums);
    let picture = FlamePicture::with_own_sums(snapshot, calls, &view, &Cancel::default()).unwrap();
    let functions = picture.tree.children(FlameNodeIdx::ROOT).iter().map(|&child| picture.tree.node(child));
    let text = |function| picture.functions.text(snapshot, function).to_owned();
    functions.map(|node| (text(node.function), node.total)).collect()
}

#[test]
fn innermost_functions_of_pruned_paths_have_the_self_sums_of_all_spans() {
    let (cancel, progress) = (Cancel::default(), Progress::default());
    for seed in 1..5 {
        let spans = calls(1 + seed as u32 % 3, 14, 2 + seed as u16, 12, seed, 0);
        let (_file, snapshot) = store_of_paths(&spans, Some(PRUNED), 1 << 24);
        let mut pruned = 0;
        for scope in scopes(&snapshot, 3, &mut RandomSequence(seed)) {
            let swept = sweep_spans(&snapshot, &scope, &cancel, &progress).unwrap();
            let exact = innermost(&snapshot, &scope, &swept);
            let few = add_up(&snapshot, &scope, &PlanSource::default(), 40, &cancel, &progress).unwrap();
            for found in [from_spans(&snapshot, &scope, &cancel, &progress).unwrap(), few] {
                pruned += u64::from(!found.is_exact());
                let what = format!("{seed}: {:?}..{:?}", scope.from_ns, scope.to_ns);
                assert_eq!(found.tree.whole(), swept.tree.whole(), "{what}");
                let mut functions = innermost(&snapshot, &scope, &found);
                // Totals and paths nest spans by slightly different rules.
                let others = functions.remove("[others]").unwrap_or_default();
                assert!(others.samples == 0 && others.weight <= 2, "{what}: {others:?}");
                assert_eq!(functions.len(), exact.len(), "{what}");
                for (name, sum) in &exact {
                    let SampleSum { samples, weight } = functions[name];
                    let is_near = samples == sum.samples && weight.abs_diff(sum.weight) <= 2;
                    assert!(is_near, "{what}: {name} {samples} {weight} of {sum:?}");
                }
            }
        }
        assert!(pruned > 20, "{seed}: {pruned} answers lack paths");
    }
}

#[test]
fn tracks_with_children_that_overlap_each_other_are_swept_from_there_on() {
    let mut spans = calls(3, 24, 5, 12, 21, 0);
    // From some time on, calls on the second track overlap each other.
    let late_ns = spans.iter().map(TraceSpan::end_ns).max().unwrap() / 2;
    let is_late = |span: &&TraceSpan| (span.track, span.lane) == (1, 0) && span.start_ns > late_ns;
    let late: Vec<TraceSpan> = spans.iter().filter(is_late).copied().collect();
    for root in late {
        for (lane, after_ns) in [(20, 0), (21, 1)] {
            let start_ns = root.start_ns + after_ns;
            spans.push(TraceSpan { lane, name: 7, start_ns, dur_ns: root.dur_ns - 1, ..root });
        }
    }
    spans.sort_by_key(|span| (span.track, span.lane, span.start_ns));
    let (_file, snapshot) = store_of_paths(&spans, Some(PRUNED), 1 << 24);
    let ledger = snapshot.store().path_ledger().expect("a ledger");
    let swept = ledger.swept_from();
    assert!(matches!(swept, [(TrackIdx(1), from)] if *from > 4), "{swept:?}");
    assert!(assert_pruned(&snapshot, &spans, &PRUNED, "overlap") > 5);
    // No track adds up, so a ledger saves nothing.
    let spans = super::spans(3, 4, 200, 5, 0);
    let (_file, snapshot) = store_of_paths(&spans, Some(PRUNED), 1 << 24);
    assert!(snapshot.store().path_ledger().is_none());
}

#[test]
fn few_paths_are_whole_beside_tracks_whose_paths_hardly_repeat() {
    let mut spans = calls(3, 24, 5, 12, 33, 0);
    spans.retain(|span| span.track != 1 || span.lane < 2);
    spans.iter_mut().filter(|span| span.track == 1).for_each(|span| span.name = 1 + u32::from(span.lane));
    let pruned = PruneShape { few_paths: 4, ..PRUNED.pruned };
    let (_file, snapshot) = store_of_paths(&spans, Some(PathShape { pruned, ..PRUNED }), 1 << 24);
    let lacks = |track| !from_track(&snapshot, track).is_exact();
    assert_eq!([lacks(0), lacks(1), lacks(2)], [true, false, true]);
    assert!(from_track(&snapshot, 1).work.nodes > 0);
}

fn from_track(snapshot: &Snapshot, track: u32) -> CallPaths {
    let scope = Scope::default().with_tracks(&[TrackIdx(track)]);
    from_spans(snapshot, &scope, &Cancel::default(), &Progress::default()).unwrap()
}

#[test]
fn small_budgets_leave_no_pruned_ledger_or_a_smaller_one() {
    let spans = calls(4, 16, 5, 12, 5, 0);
    let mut with_ledger = 0;
    for budget_bytes in [0, 1000, 30_000, 60_000, 100_000, 1 << 20] {
        let (_file, snapshot) = store_of_paths(&spans, Some(PRUNED), budget_bytes);
        with_ledger += u32::from(snapshot.store().path_ledger().is_some());
        assert_pruned(&snapshot, &spans, &PRUNED, &format!("{budget_bytes} bytes"));
    }
    assert!((1..6).contains(&with_ledger), "{with_ledger} of 6 stores have a ledger");
}

#[test]
fn the_store_of_pruned_paths_does_not_depend_on_the_number_of_threads() {
    let spans = calls(5, 40, 5, 12, 57, 0);
    let made = || {
        let (_file, snapshot) = store_of_paths(&spans, Some(PRUNED), 1 << 24);
        let scope = Scope::from_range(Some(100), None);
        let paths = from_spans(&snapshot, &scope, &Cancel::default(), &Progress::default()).unwrap();
        assert!(!paths.is_exact());
        (paths.tree, paths.missing)
    };
    let expected = made();
    for threads in 1..4 {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (tree, missing) = pool.install(made);
        assert_eq!((paths_of(&tree), missing), (paths_of(&expected.0), expected.1), "{threads} threads");
    }
}

#[test]
fn a_damaged_pruned_node_is_swept_instead_and_said() {
    let spans = calls(3, 24, 5, 12, 9, 0);
    let (file, snapshot) = store_of_paths(&spans, Some(PRUNED), 1 << 24);
    let trees = snapshot.store().path_ledger().expect("a ledger").trees();
    for tree in [None, Some(TrackIdx(2))] {
        let (nodes, _) = trees.cover(trees.tree(tree).expect("a tree"), 0, trees.bounds_ns().len() as u32 - 1);
        damage_at(&file, trees.offset(nodes[0]));
    }
    let damaged = Snapshot::new(Store::from_file(&file, "test".as_ref()).unwrap().into());
    for (number, scope) in [Scope::default(), Scope::default().with_tracks(&[TrackIdx(2)])].iter().enumerate() {
        let found = from_spans(&damaged, scope, &Cancel::default(), &Progress::default()).unwrap();
        let exact = sweep_spans(&snapshot, scope, &Cancel::default(), &Progress::default()).unwrap();
        assert_eq!(found.tree.whole(), exact.tree.whole());
        assert_eq!((found.work.damaged_nodes, damaged.store().damaged()), (1, number as u64 + 1));
    }
    assert_pruned(&damaged, &spans, &PRUNED, "damaged");
    assert_eq!(damaged.store().damaged_in_all(), 2);
}

#[test]
fn work_for_pruned_paths_of_a_range_grows_with_the_logarithm_of_the_spans() {
    let work = |roots: u64| {
        let spans = calls(4, roots, 4, 12, 9, 0);
        let shape = PathShape { slice_rows: 64, leaf_rows: 64, ..PRUNED };
        let (_file, snapshot) = store_of_paths(&spans, Some(shape), 1 << 26);
        let end_ns = snapshot.end_ns();
        let scope = Scope::from_range(Some(end_ns / 7), Some(end_ns / 7 * 5));
        let one = scope.clone().with_tracks(&[TrackIdx(0)]);
        [scope, one].map(|scope| {
            let found = from_spans(&snapshot, &scope, &Cancel::default(), &Progress::default()).unwrap();
            assert!(!found.is_exact());
            (found.work, spans.len())
        })
    };
    for ((few, _), (many, spans)) in work(60).into_iter().zip(work(3000)) {
        assert!(spans > 40_000, "{spans} spans");
        assert!(many.nodes <= few.nodes + 17 && many.nodes > 0, "{many:?} after {few:?}");
        assert!(many.node_paths <= 24 * few.node_paths.max(100), "{many:?} after {few:?}");
        assert!(many.rows <= few.rows + 1500, "{many:?} after {few:?}, of {spans} spans");
    }
}

#[test]
fn a_sweep_of_too_many_paths_has_the_largest_and_the_exact_rest() {
    let spans = calls(3, 24, 5, 12, 3, 0);
    let (_file, snapshot) = store_of_paths(&spans, None, 1 << 24);
    let swept = |paths_max| {
        let source = PlanSource::default();
        add_up(&snapshot, &Scope::default(), &source, paths_max, &Cancel::default(), &Progress::default()).unwrap()
    };
    let exact = swept(1 << 20);
    assert!(exact.is_exact());
    let nodes = exact.tree.nodes().len();
    for paths_max in [nodes - 1, nodes / 2, nodes / 5] {
        let found = swept(paths_max);
        assert!(!found.is_exact() && found.tree.nodes().len() <= paths_max, "{paths_max}");
        assert_eq!((found.tree.whole(), found.tree.folded.paths), (exact.tree.whole(), 0), "{paths_max}");
        let (tree, missing) = (paths_of(&found.tree), u128::from(found.missing.weight));
        for (path, [_, _, total_ns]) in paths_of(&exact.tree) {
            let [_, _, known_ns] = tree.get(&path).copied().unwrap_or_default();
            assert!(known_ns <= total_ns && total_ns <= known_ns + missing, "{paths_max}: {path:?}");
        }
        assert!(found.is_swept, "{paths_max}: no other count has more paths");
    }
}

#[test]
fn a_single_track_has_nodes_where_its_paths_hardly_repeat_in_the_slices_of_all_tracks() {
    let spans = calls(4, 400, 5, 12, 9, 0);
    // The few spans of one track in a slice have too many paths for its byte limit; the paths of a leaf are pruned.
    let shape =
        PathShape { slice_rows: 64, leaf_rows: 64, pruned_leaf_rows: 1 << 10, kilorow_bytes: 4 << 10, ..PRUNED };
    let (_file, snapshot) = store_of_paths(&spans, Some(shape), 1 << 26);
    for track in 0..4 {
        let found = from_track(&snapshot, track);
        let rows = spans.iter().filter(|span| span.track == track).count() as u64;
        assert!(rows > 4 << 10, "{rows} spans on track {track}");
        assert!(found.work.nodes > 0 && found.work.rows <= rows / 4, "track {track}: {:?} of {rows}", found.work);
    }
    assert_pruned(&snapshot, &spans, &shape, "single tracks");
}

/// Returns whether no track has more paths that are new on it than its spans allow. A failed span has another name.
fn has_few_paths(spans: &[TraceSpan], shape: &PathShape) -> bool {
    let naive = naive_paths(spans);
    let path_of = |mut number: usize| {
        let mut path = Vec::new();
        loop {
            path.push((spans[number].name, is_failed(&spans[number])));
            let Some(around) = naive[number].1 else { return path };
            number = around;
        }
    };
    let mut paths = BTreeSet::new();
    let tracks: BTreeSet<u32> = spans.iter().map(|span| span.track).collect();
    tracks.into_iter().all(|track| {
        let before = paths.len();
        let of_track: Vec<usize> = (0..spans.len()).filter(|&number| spans[number].track == track).collect();
        paths.extend(of_track.iter().map(|&number| path_of(number)));
        (paths.len() - before) as u64 <= shape.track_paths + of_track.len() as u64 / shape.rows_per_path
    })
}

#[test]
fn paths_are_whole_unless_a_track_adds_too_many_and_then_the_first_sweep_ends_early() {
    let limits = [(0, 1), (0, 2), (0, 3), (40, 4), (100, 8), (1000, 64), (0, u64::MAX)];
    let all_swept = || {
        let mut pruned = 0;
        for (seed, (track_paths, rows_per_path)) in (1..7).flat_map(|seed| limits.map(|limit| (seed, limit))) {
            let spans = calls(1 + seed as u32 % 4, 40, 5, 12, seed, 0);
            let shape = PathShape { slice_rows: 1 << 20, track_paths, rows_per_path, ..SMALL };
            let before = SWEPT_ROWS.get();
            let (_file, snapshot) = store_of_paths(&spans, Some(shape), 1 << 24);
            let again = SWEPT_ROWS.get() - before - spans.len() as u64;
            let is_whole = snapshot.store().path_ledger().is_some_and(|ledger| !ledger.is_pruned());
            assert_eq!(is_whole, has_few_paths(&spans, &shape), "seed {seed}, {track_paths}, {rows_per_path}");
            if is_whole {
                assert_eq!(again, 0);
            } else {
                pruned += 1;
            }
            if rows_per_path == u64::MAX {
                assert_eq!(again, 1, "the first path is one too many");
            }
        }
        assert!((12..40).contains(&pruned), "{pruned} of 42");
    };
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(all_swept);
}
